"""Appendix A.2, Eqs. (32)-(36) of the printed proof of Proposition 4.1: the gradient of the single-head energy.

Surprising: Eq. (34) gives both sums the same weights, which is right for symmetric A only; `energy_gradient` is the right one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from theorems.dynamics.definitions import Beta, QueryWeights, SquareWeights, Tokens, energy
from theorems.dynamics.settings import ENERGY, on_the_sphere
from verify.matrix import concatenate, diag, diag_part, each, exp, eye, kron, ones, summed
from verify.oracles import jacobian
from verify.vocabulary import Claim, Construction, Definition, Equal


def nilpotent_weights(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """W^K = I and W^Q = A = 2 E_12: as asymmetric as can be, with exponents of order 1, where float32 has its digits."""
    arrays["W_K"][:] = np.eye(sizes["D"])
    arrays["W_Q"][:] = 0.0
    if sizes["D"] > 1:
        arrays["W_Q"][:, 0, 1] = 2.0
    arrays["beta"][:] = 1.0 + rng.integers(1, 5, len(arrays["beta"])) / 4


def asymmetric_weights() -> dict[str, Any]:
    """Two tokens on the axes, W^K = I and the asymmetric A = W^Q = [[0, 1], [0, 0]], beta = 1."""
    return {"X": [[1, 0], [0, 1]], "W_Q": [[0, 1], [0, 0]], "W_K": [[1, 0], [0, 1]], "beta": 1}


PROOF = ENERGY.extended(
    "Appendix A.2, the proof of Proposition 4.1",
    assumptions=[
        Construction(r"A = W^Q W^{K\top}, not assumed to be symmetric", shapes={"W_Q": ("D", "D"), "W_K": ("D", "D")})
    ],
    sizes={"S": (1, 3), "D": (1, 3)},
    inputs=on_the_sphere,
)
EXACT_PROOF = PROOF.extended(
    "Appendix A.2, lines that hold", exact=True, special_domains={"nilpotent A": nilpotent_weights}
)

# -- the three groups of Eq. (33), each differentiated by itself ----------------------------------------------------------


def pair_exponential(x: Any, y: Any, W_Q: Any, W_K: Any, beta: Any) -> Any:
    """exp(beta x^T A y) for rows x and y (1, D), shape (1, 1)."""
    return exp(x @ W_Q @ W_K.T @ y.T * beta)


def derivatives_of_pairs(X: Any, W_Q: Any, W_K: Any, beta: Any) -> Any:
    """Row i: -sum_{j != i} (d exp(beta x_i^T A x_j) + d exp(beta x_j^T A x_i)) / dx_i, shape (S, D): the left of Eq. (34)."""
    as_left, as_right = jacobian(pair_exponential, "x"), jacobian(pair_exponential, "y")
    S = X.shape[0]
    others = ones(S, S) - eye(S)

    def slope(i: int, j: int) -> Any:
        x, y = X[i : i + 1], X[j : j + 1]
        both = as_left(x, y, W_Q, W_K, beta) + as_right(y, x, W_Q, W_K, beta)
        return both * others[i : i + 1, j : j + 1]

    return -concatenate(each(S, lambda i: summed(S, lambda j: slope(i, j))), axis=0)


def derivatives_of_own(X: Any, W_Q: Any, W_K: Any, beta: Any) -> Any:
    """Row i: -d exp(beta x_i^T A x_i) / dx_i, shape (S, D): the left of Eq. (35)."""
    own = jacobian(lambda x: pair_exponential(x, x, W_Q, W_K, beta), "x")
    return -concatenate(each(X.shape[0], lambda i: own(X[i : i + 1])), axis=0)


def exponentials(X: Any, W_Q: Any, W_K: Any, beta: Any) -> Any:
    """E_ij = exp(beta x_i^T A x_j), shape (S, S)."""
    return exp(X @ W_Q @ W_K.T @ X.T * beta)


def _hollow(E: Any) -> Any:
    """E without its diagonal: the sums over j != i."""
    return E * (ones(*E.shape) - eye(E.shape[0]))


# -- Eq. (33) ----------------------------------------------------------------------------------------------------------

EQ_33 = Claim(EXACT_PROOF, "dynamics.eq-33", label="Eqs. (32)-(33), proof of Prop. 4.1",
    statement=r"""\frac{dE_{\text{single}}(X)}{dX_{[i,:]}}=-\sum_{j\ne i}\frac{d\exp(\beta X_{[i,:]}^\top
        AX_{[j,:]})}{dX_{[i,:]}}-\sum_{j\ne i}\frac{d\exp(\beta X_{[j,:]}^\top
        AX_{[i,:]})}{dX_{[i,:]}}-\frac{d\exp(\beta X_{[i,:]}^\top AX_{[i,:]})}{dX_{[i,:]}}""",
    name="gradient of the single-head energy, three groups", relation=Equal(), all_sizes=True)  # fmt: skip


@EQ_33.formula
def gradient_by_groups(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    """The three groups of Eq. (33), row i for token i, shape (S, D)."""
    pairs, own = derivatives_of_pairs(X, W_Q, W_K, beta), derivatives_of_own(X, W_Q, W_K, beta)
    return pairs + own


@EQ_33.oracle
def gradient_by_differentiation(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    return jacobian(energy, "X")(X, W_Q, W_K, beta).reshape(X.shape[0], X.shape[1])


EQ_33.mutant("diagonal term dropped", "pairs + own -> pairs")
EQ_33.mutant("diagonal term counted in both sums", "own -> 2 * own")
EQ_33.mutant("pairs counted once", "pairs -> -beta * (_hollow(exponentials(X, W_Q, W_K, beta)) @ X @ W_K @ W_Q.T)")


EQ_34 = Claim(PROOF, "dynamics.eq-34", label="Eq. (34), proof of Prop. 4.1",
    statement=r"""-\sum_{j\ne i}\frac{d\exp(\beta X_{[i,:]}^\top AX_{[j,:]})}{dX_{[i,:]}}-\sum_{j\ne i}\frac{d\exp(\beta
        X_{[j,:]}^\top AX_{[i,:]})}{dX_{[i,:]}}=-\sum_{j\ne i}\exp(\beta X_{[i,:]}^\top AX_{[j,:]})A^\top
        X_{[j,:]}-\sum_{j\ne i}\exp(\beta X_{[i,:]}^\top AX_{[j,:]})AX_{[j,:]}""",
    name="gradient of the single-head energy, off-diagonal terms", relation=Equal(), expects="refuted",
    severity="error", correction="dynamics.eq-34-corrected",
    note=r"""The derivative of $\exp(\beta x_j^\top A x_i)$ by $x_i$ keeps the weight $\exp(\beta x_j^\top A x_i)$, but
        the line has $\exp(\beta x_i^\top A x_j)$ in both sums, which is what makes the gradient parallel to $\Delta$ in
        Eq. (43). That $A$ and $A^\top$ have changed places too (the derivative of $\exp(\beta x_i^\top A x_j)$ by $x_i$
        has $A x_j$) does not matter to the sum, since its two weights are equal. A factor $\beta$ is missing besides;
        the counterexample has $\beta = 1$.""")  # fmt: skip


def _pairs(X: Any, W_Q: Any, W_K: Any, left: Any, right: Any, factor: Any) -> Any:
    """factor (left X A^T + right X A), shape (S, D), for weights left and right (S, S)."""
    return (left @ X @ W_K @ W_Q.T + right @ X @ W_Q @ W_K.T) * factor


@EQ_34.formula
def pairs_as_printed(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    """The right-hand side of Eq. (34), row i for token i, shape (S, D)."""
    E = _hollow(exponentials(X, W_Q, W_K, beta))
    return _pairs(X, W_Q, W_K, E, E, -1)


EQ_34.oracle(derivatives_of_pairs)
EQ_34.counterexample("two tokens on the axes, W^K = I, W^Q = [[0, 1], [0, 0]]")(asymmetric_weights)
EQ_34.mutant("first sum only", "_pairs(X, W_Q, W_K, E, E, -1) -> _pairs(X, W_Q, W_K, E, 0 * E, -1)")
EQ_34.mutant("sign", factor=1)


EQ_34_CORRECTED = EQ_34.corrected("dynamics.eq-34-corrected", setting=EXACT_PROOF,
    label="Eq. (34) with the weights of either order",
    statement=r"""-\sum_{j\ne i}\frac{d\exp(\beta X_{[i,:]}^\top AX_{[j,:]})}{dX_{[i,:]}}-\sum_{j\ne i}\frac{d\exp(\beta
        X_{[j,:]}^\top AX_{[i,:]})}{dX_{[i,:]}}=-\beta\sum_{j\ne i}\big(\exp(\beta X_{[i,:]}^\top
        AX_{[j,:]})A+\exp(\beta X_{[j,:]}^\top AX_{[i,:]})A^\top\big)X_{[j,:]}""",
    name="gradient of the single-head energy, off-diagonal terms corrected", all_sizes=True)  # fmt: skip


@EQ_34_CORRECTED.formula
def pair_gradient(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    """-beta sum_{j != i} (E_ij A + E_ji A^T) x_j, row i for token i, shape (S, D)."""
    E = _hollow(exponentials(X, W_Q, W_K, beta))
    return _pairs(X, W_Q, W_K, E, E.T, -beta)


EQ_34_CORRECTED.mutant("the same weight in both sums, as Eq. (34) is printed", "E.T -> E")
EQ_34_CORRECTED.mutant("without beta", factor=-1)
EQ_34_CORRECTED.mutant("weights exchanged", "E -> E.T; E.T -> E")


EQ_35 = Claim(PROOF, "dynamics.eq-35", label="Eq. (35), proof of Prop. 4.1",
    statement=r"""-\frac{d\exp(\beta X_{[i,:]}^\top AX_{[i,:]})}{dX_{[i,:]}}=-\exp(\beta X_{[i,:]}^\top
        AX_{[j,:]})(A^\top+A)X_{[i,:]}""",
    assumptions=[Definition("j is free on the right: the line is taken for every j", by=kron)],
    name="gradient of the single-head energy, diagonal term", relation=Equal(), expects="refuted", severity="error",
    correction="dynamics.eq-35-corrected",
    note=r"""Two defects. Eq. (36) shows that $j$ is a misprint for $i$. The factor $\beta$ is missing besides, as in
        all of Eqs. (34)-(44) and (48)-(56), which nothing in the text mends: a single token shows it.""")  # fmt: skip


@EQ_35.formula
def own_term_as_printed(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    """The right-hand side of Eq. (35), row i S + j for tokens i and j, shape (S^2, D)."""
    images = X @ W_K @ W_Q.T + X @ W_Q @ W_K.T
    return -exponentials(X, W_Q, W_K, beta).reshape(-1, 1) * kron(images, ones(X.shape[0], 1))


# The derivative for token i, repeated for every j
EQ_35.oracle(lambda X, W_Q, W_K, beta: kron(derivatives_of_own(X, W_Q, W_K, beta), ones(X.shape[0], 1)))
EQ_35.counterexample("two tokens on the axes, W^K = I, W^Q = [[0, 1], [0, 0]]")(asymmetric_weights)
EQ_35.counterexample("one token, A = I, beta = 2", X=[[1, 0]], W_Q=[[1, 0], [0, 1]], W_K=[[1, 0], [0, 1]], beta=2)
EQ_35.mutant("sign", lambda value: -value)
EQ_35.mutant("A^T instead of A^T + A", "X @ W_K @ W_Q.T + X @ W_Q @ W_K.T -> X @ W_K @ W_Q.T")


EQ_35_CORRECTED = Claim(EXACT_PROOF, "dynamics.eq-35-corrected", label="Eq. (35) with i for j and the factor beta",
    statement=r"""-\frac{d\exp(\beta X_{[i,:]}^\top AX_{[i,:]})}{dX_{[i,:]}}=-\beta\exp(\beta X_{[i,:]}^\top
        AX_{[i,:]})(A^\top+A)X_{[i,:]}""",
    name="gradient of the single-head energy, diagonal term corrected", relation=Equal(), all_sizes=True,
    of_project=True, corrects="dynamics.eq-35")  # fmt: skip


@EQ_35_CORRECTED.formula
def own_gradient(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    """-beta E_ii (A^T + A) x_i, row i for token i, shape (S, D)."""
    images = X @ W_K @ W_Q.T + X @ W_Q @ W_K.T
    return diag(diag_part(exponentials(X, W_Q, W_K, beta))) @ images * -beta


EQ_35_CORRECTED.oracle(derivatives_of_own)
EQ_35_CORRECTED.mutant("without beta, as Eq. (35) is printed", "-beta -> -1")
EQ_35_CORRECTED.mutant("A^T instead of A^T + A", "X @ W_K @ W_Q.T + X @ W_Q @ W_K.T -> X @ W_K @ W_Q.T")


EQ_36 = Claim(PROOF, "dynamics.eq-36", label="Eq. (36), proof of Prop. 4.1", name="gradient of the single-head energy",
    statement=r"""
        \frac{dE_{\text{single}}(X)}{dX_{[i,:]}}=-\sum_j\exp(\beta X_{[i,:]}^\top AX_{[j,:]})(A^\top+A)X_{[j,:]}""",
    relation=Equal(), expects="refuted", severity="error", correction="dynamics.eq-36-corrected",
    note=r"""Wrong for asymmetric $A$, at $\beta = 1$ too, as the counterexample shows; for symmetric $A$ the factor
        $\beta$ is missing.""")  # fmt: skip


def gradient(X: Any, W_Q: Any, W_K: Any, beta: Any, factor: Any, swapped: bool = True, both: int = 1) -> Any:
    """factor sum_j (E_ij A + E_ji A^T) x_j, shape (S, D); E_ij in both terms unless `swapped`, A^T X dropped if not `both`."""
    E = exponentials(X, W_Q, W_K, beta)
    return _pairs(X, W_Q, W_K, E, (E.T if swapped else E) * both, factor)


@EQ_36.formula
def gradient_as_printed(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    """The right-hand side of Eq. (36), row i for token i, shape (S, D)."""
    return gradient(X, W_Q, W_K, beta, -1, swapped=False)


EQ_36.oracle(gradient_by_differentiation)
EQ_36.counterexample("two tokens on the axes, W^K = I, W^Q = [[0, 1], [0, 0]]")(asymmetric_weights)
EQ_36.mutant("sign", factor=1)
EQ_36.mutant("one of the two sums only", both=0)


EQ_36_CORRECTED = EQ_36.corrected("dynamics.eq-36-corrected", setting=EXACT_PROOF, label="Eq. (36) for any A",
    statement=r"""\frac{dE_{\text{single}}(X)}{dX_{[i,:]}}=-\beta\sum_j\big(\exp(\beta X_{[i,:]}^\top
        AX_{[j,:]})A+\exp(\beta X_{[j,:]}^\top AX_{[i,:]})A^\top\big)X_{[j,:]}""",
    name="gradient of the single-head energy, corrected", all_sizes=True,
    proof=("dynamics.eq-33", "dynamics.eq-34-corrected", "dynamics.eq-35-corrected"))  # fmt: skip


@EQ_36_CORRECTED.formula
def energy_gradient(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    """dE/dX, row i for token i, shape (S, D)."""
    return gradient(X, W_Q, W_K, beta, -beta)


EQ_36_CORRECTED.mutant("the same weight in both sums, as Eq. (36) is printed", swapped=False)
EQ_36_CORRECTED.mutant("without beta", factor=-1)
EQ_36_CORRECTED.mutant("one of the two sums only", both=0)
