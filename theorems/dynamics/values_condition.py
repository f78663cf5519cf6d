"""Condition (11) on W^V and the update Delta that follows from it, Eqs. (37)-(38) of the proof of Proposition 4.1."""

from __future__ import annotations

from typing import Any

from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import Beta, QueryWeights, SquareWeights, Tokens, attention_head
from theorems.dynamics.energy import Factor, on_the_sphere
from theorems.dynamics.energy_gradient import SETTING, SIZES, nilpotent_weights
from verify.matrix import rational, softmax, zeros
from verify.vocabulary import Claim, Equal, HasStructure

SYMMETRISED = r"W^{Q\top}W^K in (11) and (31) is read as W^K W^{Q\top}, so that W^V = (A^\top + A)/2"


def printed_values(W_Q: Any, W_K: Any) -> Any:
    """(W_Q^T W_K + W_Q W_K^T)/2, shape (D, D) for square weights (Eqs. (11), (31))."""
    return (W_Q.T @ W_K + W_Q @ W_K.T) * rational(1, 2)


def symmetrised_values(W_Q: Any, W_K: Any) -> Any:
    """(A^T + A)/2 for A = W_Q W_K^T, shape (D, D), for any head dimension."""
    return (W_K @ W_Q.T + W_Q @ W_K.T) * rational(1, 2)


def climbing_weights() -> dict[str, Any]:
    """Two tokens on the axes, W^K = I, W^Q = [[-1, 3], [0, 0]]: the energy grows (Proposition 4.1)."""
    return {"X": [[1, 0], [0, 1]], "W_Q": [[-1, 3], [0, 0]], "W_K": [[1, 0], [0, 1]], "beta": 1}


# -- the condition on W^V ----------------------------------------------------------------------------------------------

EQ_11 = Claim(
    DYNAMICS,
    "dynamics.eq-11-form",
    label="Eq. (11) and text 'W_V should remain symmetric'",
    statement=r"W^V=(W^{Q\top}W^K+W^QW^{K\top})/2\ \text{is a well-defined symmetric matrix in }\mathbb R^{D\times D}\ "
    r"\text{for }W^Q,W^K\in\mathbb R^{D\times D_H}",
    assumptions=["D_H = D; for D_H < D the summands have the shapes D_H x D_H and D x D"],
    relation=Equal(),
    sizes={"D": (2, 4)},
    expects="refuted",
    severity="slip",
    correction="dynamics.eq-11-symmetrised",
    note=r"W^{Q\top}W^K stands for W^K W^{Q\top}, the transpose of the other summand: then both are D x D, W^V is symmetric, and"
    r" Eq. (38) is what follows. Eqs. (11), (13), (31), (47) and the text before Proposition 4.1 all have W^{Q\top}W^K.",
)


@EQ_11.formula
def skew_part_of_values(W_Q: QueryWeights, W_K: SquareWeights) -> Any:
    """W^V - W^{V T} for W^V of Eq. (11), shape (D, D)."""
    W_V = printed_values(W_Q, W_K)
    return W_V - W_V.T


EQ_11.oracle(lambda W_Q, W_K: zeros(W_Q.shape[0], W_Q.shape[0]))


@EQ_11.counterexample("two unit matrices")
def _() -> dict[str, Any]:
    """By hand: W^V = E_21 / 2."""
    return {"W_Q": [[0, 1], [0, 0]], "W_K": [[1, 0], [0, 0]]}


EQ_11.mutant("first summand transposed", "printed_values(W_Q, W_K) -> (W_K.T @ W_Q + W_Q @ W_K.T) * rational(1, 2)")
EQ_11.mutant("first summand W^K W^{Q T}", "printed_values -> symmetrised_values")


EQ_11_SYMMETRISED = Claim(
    DYNAMICS,
    "dynamics.eq-11-symmetrised",
    label="Eq. (11) with W^K W^{Q T}",
    statement=r"W^V=(W^QW^{K\top}+W^KW^{Q\top})/2\in\mathbb R^{D\times D}\ \text{is symmetric for }"
    r"W^Q,W^K\in\mathbb R^{D\times D_H}",
    relation=HasStructure(),
    sizes={"D": (2, 4), "D_H": (1, 4)},
    exact=True,
    of_project=True,
    corrects="dynamics.eq-11-form",
)


@EQ_11_SYMMETRISED.formula
def values_of_symmetrised_condition(W_Q: Factor, W_K: Factor) -> Any:
    """(W_Q W_K^T + W_K W_Q^T)/2, shape (D, D), for any head dimension."""
    return symmetrised_values(W_Q, W_K)


@EQ_11_SYMMETRISED.part("structure")
def skew_part(value: Any, W_Q: Factor) -> Any:
    """W^V - W^{V T}, with the shape (D, D) built in."""
    return value - value.T + zeros(W_Q.shape[0], W_Q.shape[0])


EQ_11_SYMMETRISED.mutant("not symmetrised", lambda W_Q, W_K: W_Q @ W_K.T)
EQ_11_SYMMETRISED.mutant("minus between the summands", lambda W_Q, W_K: (W_Q @ W_K.T - W_K @ W_Q.T) * rational(1, 2))


# -- the update Delta --------------------------------------------------------------------------------------------------

EQ_37 = Claim(
    DYNAMICS,
    "dynamics.eq-37",
    label="Eq. (37), proof of Prop. 4.1",
    statement=r"\text{``Under the given condition on the weights, }A=A^\top\text{ we have'' }\ \Delta_{[i,:]}=\big("
    r"\operatorname{softmax}(\beta XW^VX^\top)_{[i,:]}X(A^\top+A)\big)^\top/2",
    assumptions=[*SETTING, r"\Delta = softmax(\beta X W^Q W^{K\top} X^\top) X W^V", "condition (11)/(31) on W^V"],
    relation=Equal(),
    sizes=SIZES,
    expects="refuted",
    severity="slip",
    correction="dynamics.eq-37-corrected",
    doubt=r"'A = A^\top' may be an extra assumption rather than a consequence of (31), which it is not. The first counterexample"
    r" has W^K = I, where W^{Q\top}W^K and W^K W^{Q\top} agree; the second has W^Q = W^K, where A is symmetric. With A = A^\top"
    r" assumed and W^K W^{Q\top} read, W^V = A and the line is right; the text wants A asymmetric.",
    note="Eq. (38) shows that W^V inside the softmax is a misprint for A.",
)

EQ_37.inputs(on_the_sphere)


@EQ_37.formula
def update_as_printed(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    """softmax(beta X W^V X^T) X (A^T + A) / 2, shape (S, D) (Eq. (37))."""
    return softmax(X @ printed_values(W_Q, W_K) @ X.T * beta) @ X @ symmetrised_values(W_Q, W_K)


EQ_37.oracle(lambda X, W_Q, W_K, beta: attention_head(X, W_Q, W_K, printed_values(W_Q, W_K), beta))
EQ_37.counterexample("two tokens on the axes, W^K = I, W^Q = [[-1, 3], [0, 0]]", lambda: climbing_weights())
EQ_37.counterexample(
    "two tokens on the axes, W^Q = W^K = [[1, 1], [0, 1]], so that A is symmetric",
    X=[[1, 0], [0, 1]],
    W_Q=[[1, 1], [0, 1]],
    W_K=[[1, 1], [0, 1]],
    beta=1,
)
EQ_37.mutant("factor 1/2 dropped", lambda value: value * 2)
EQ_37.mutant(
    "A inside the softmax", lambda X, W_Q, W_K, beta: attention_head(X, W_Q, W_K, symmetrised_values(W_Q, W_K), beta)
)


EQ_37_CORRECTED = Claim(
    DYNAMICS,
    "dynamics.eq-37-corrected",
    label="Eq. (37) with A inside the softmax",
    statement=r"W^V=(A^\top+A)/2\ \Rightarrow\ \Delta_{[i,:]}=\big(\operatorname{softmax}(\beta XAX^\top)_{[i,:]}"
    r"X(A^\top+A)\big)^\top/2",
    assumptions=[*SETTING, r"\Delta = softmax(\beta X W^Q W^{K\top} X^\top) X W^V"],
    relation=Equal(),
    sizes=SIZES,
    exact=True,
    of_project=True,
    corrects="dynamics.eq-37",
)

EQ_37_CORRECTED.inputs(on_the_sphere)
EQ_37_CORRECTED.domain("nilpotent A")(nilpotent_weights)


@EQ_37_CORRECTED.formula
def update_through_softmax(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    """softmax(beta X A X^T) X (A^T + A) / 2, shape (S, D)."""
    A = W_Q @ W_K.T
    return softmax(X @ A @ X.T * beta) @ X @ (A.T + A) * rational(1, 2)


@EQ_37_CORRECTED.oracle
def update_under_symmetrised_condition(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    return attention_head(X, W_Q, W_K, symmetrised_values(W_Q, W_K), beta)


@EQ_37_CORRECTED.mutant("W^V inside the softmax, as Eq. (37) is printed")
def _(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    W_V = symmetrised_values(W_Q, W_K)
    return softmax(X @ W_V @ X.T * beta) @ X @ W_V


@EQ_37_CORRECTED.mutant("A not symmetrised")
def _(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    A = W_Q @ W_K.T
    return softmax(X @ A @ X.T * beta) @ X @ A


EQ_38 = Claim(
    DYNAMICS,
    "dynamics.eq-38",
    label="Eq. (38), proof of Prop. 4.1",
    statement=r"\Delta_{[i,:]}=\sum_j\frac{\exp(\beta X_{[i,:]}^\top AX_{[j,:]})}{Z_i}(A^\top+A)X_{[j,:]}/2,\quad Z_i="
    r"\sum_{j'}\exp(\beta X_{[i,:]}^\top AX_{[j',:]})",
    assumptions=[*SETTING, "condition (31) on W^V"],
    relation=Equal(),
    sizes=SIZES,
    exact=True,
    expects="reading",
    reading=SYMMETRISED,
)

EQ_38.inputs(on_the_sphere)
EQ_38.domain("nilpotent A")(nilpotent_weights)


def update_as_sum(X: Any, W_Q: Any, W_K: Any, beta: Any) -> Any:
    """Delta of Eq. (38), shape (S, D); exp(...) / Z_i is a softmax, which does not underflow in floats."""
    A = W_Q @ W_K.T
    return softmax(X @ A @ X.T * beta) @ X @ (A + A.T) * rational(1, 2)


@EQ_38.formula
def update_of_token(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    """sum_j E_ij / Z_i (A^T + A) x_j / 2, row i for token i, shape (S, D) (Eq. (38))."""
    return update_as_sum(X, W_Q, W_K, beta)


EQ_38.oracle(update_under_symmetrised_condition)


@EQ_38.mutant("weights normalised over i instead of j")
def _(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    return softmax(X @ W_K @ W_Q.T @ X.T * beta).T @ X @ symmetrised_values(W_Q, W_K)


EQ_38.mutant("factor 1/2 dropped", lambda value: value * 2)


@EQ_38.mutant("weights exp(beta x_j^T A x_i)")
def _(X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> Any:
    return softmax(X @ W_K @ W_Q.T @ X.T * beta) @ X @ symmetrised_values(W_Q, W_K)
