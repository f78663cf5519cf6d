"""Section 6.3, Figure 6: the analogy with power iteration, and the alignment of J x with the output of attention.

Surprising: nothing forces the alignment, the two can be opposite; it is near 1 for small logits.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.shared import reached
from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import QueryWeights, SquareWeights, Tokens, normalisation
from theorems.dynamics.part_3_preliminaries.oscillator_update import akorn_increment
from theorems.dynamics.part_6_inference.pseudo_energy import known_eigenvectors
from theorems.dynamics.part_b_experiments.constant_attention import jacobian_times_state
from theorems.dynamics.part_c_details.oscillators import oscillator_normalisation
from verify.matrix import absolute, concatenate, diag, hadamard, maximum, rational, row_sums, softmax, vec_r, zeros
from verify.oracles import LawTest, at_least_probability, jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Definition, FollowsLaw, Reading, Real, Shape, Size, realises

Coupling = Annotated[Any, Shape("n", "n")]
Eigenvalues = Annotated[Any, Shape("1", "n")]
Vector = Annotated[Any, Shape("n", "1")]
Share = Annotated[int, Size("k")]


# -- power iteration ---------------------------------------------------------------------------------------------------


def total_square(V: Any, eigenvalues: Any, x: Any, eta: Any) -> Any:
    """|x + eta J x|^2, shape (1, 1)."""
    y = x + V @ diag(eigenvalues) @ (V.T @ x) * eta
    return y.T @ y


POWER = Claim(DYNAMICS, "dynamics.sec-6.3-power-iteration", label="Section 6.3, text", name="update as power iteration",
    statement=r"""\text{``During inference, the proportion of the state in the top }2\%\text{ eigenspace increases
        monotonically, eventually dominating nearly }40\%\text{. This suggests that the loop effectively performs a
        computation analogous to power iteration, but constrained to real space with positive eigenvalues''}""",
    assumptions=[
        Definition(
            r"x \to \Pi(x + \eta Jx), J = V diag(\lambda) V^T symmetric and constant, \lambda descending", by=known_eigenvectors
        ),
        Assumption("V is orthogonal", zero=lambda V: V.T @ V - diag(V[0] * 0 + 1)),
        Assumption(r"\lambda descending", nonnegative=lambda eigenvalues: eigenvalues[:, :-1] - eigenvalues[:, 1:]),
        Assumption("the top k of n eigenvectors, k < n", sizes=lambda sizes: sizes["k"] < sizes["n"]),
        Assumption(r"\eta \ge 0", nonnegative=lambda eta: eta),
        Assumption(
            r"1+\eta\lambda_n \ge -(1+\eta\lambda_k): no eigenvalue is so negative that it is amplified most",
            nonnegative=lambda eigenvalues, eta, k: (
                eta * (eigenvalues[0, k - 1] + eigenvalues[0, eigenvalues.shape[1] - 1]) + 2
            ),
        ),
        Assumption(r"x + \eta Jx does not vanish", positive=total_square),
        Assumption("x does not vanish", positive=lambda x: x.T @ x),
    ],
    relation=AtMost(), sizes={"n": (2, 4), "k": (1, 3)}, expects="reading",
    reading=Reading("effectively performs a computation analogous to power iteration", """for a constant symmetric drive
            and one normalisation of the whole state, the share of the state in the top $k$ eigenspace never falls in
            one step; the 40 % of a trained model are not checked"""),
    note=r"""Coefficients are multiplied by $1+\eta\lambda_i$. What power iteration selects is the largest
        $|1+\eta\lambda_i|$: with eigenvalues 1 and $-5$ and $\eta = 1$ the factors are 2 and $-4$, and the share of the
        top eigenvector falls. $J_t$ is in general neither symmetric nor constant, and AKOrN normalises each oscillator,
        so this is an analogy, as the text says.""")  # fmt: skip


@POWER.inputs
@realises({"V is orthogonal": reached.ROTATIONS})
def frozen_drive(
    G: Coupling, steps: Eigenvalues, x: Vector, eta: Annotated[Any, Real(0.0, 1.0)], k: Share
) -> dict[str, Any]:
    """Known eigenvectors and descending eigenvalues, as in `known_eigenvectors`."""
    return {**known_eigenvectors(G, steps, x), "eta": eta, "k": k}


@POWER.formula
def share_after_a_step(V: Coupling, eigenvalues: Eigenvalues, x: Vector, eta: Any, k: Share) -> Any:
    """Share of Pi(x + eta J x) in the span of the top k eigenvectors, shape (1, 1)."""
    a = hadamard(V.T @ x, 1 + eta * eigenvalues.T)
    squares = hadamard(a, a)
    return squares[:k].sum(0).reshape(1, 1) / squares.sum(0).reshape(1, 1)


@POWER.oracle
def share_before(V: Coupling, x: Vector, k: Share) -> Any:
    state = normalisation(x.T).T
    y = V[:, :k].T @ state
    return y.T @ y


POWER.mutant("the bottom eigenvectors", "squares[:k] -> squares[-k:]")
POWER.mutant("step against the drive", "eta -> -eta")


# -- alignment along runs ----------------------------------------------------------------------------------------------

COSINE = Claim(DYNAMICS, "dynamics.sec-6.3-cosine", label="Section 6.3 / Figure 6",
    statement=r"""\text{``the cosine similarity between }\operatorname{vec}(\operatorname{MSA}(X^{(t)}))\text{ and
        }J_tx_t\text{ remains high throughout iterations''}""",
    assumptions=[
        Definition("AKOrN (7)-(8); the paper's figure is for a trained model on Sudoku", by=akorn_increment),
    ],
    name="cosine of attention output and linearised output", relation=FollowsLaw(samples=1000, instances=2),
    sizes={"S": (9, 9), "D": (16, 16), "N": (4, 4)}, batched=False, expects="empirical",
    uses=("dynamics.b.5-alignment",),
    observed=r"""untrained AKOrN: $S = 9$, $D = 16$, $N = 4$, one head, $\beta = 1/4$, $\eta = 1$, weights normal with
        variance $1/D$, $\Omega_j$ normal, $C$ and $X^{(0)}$ random unit oscillators; 16 iterations, 1000 runs. The
        smallest cosine of a run exceeds 1/2 in at least 99 % of runs, and 0.9 in at most half of them (fewer than 966
        and 405 of 1000 would reject the one or the other). The trained weights, and what counts as high, are not stated
        """,
    note="""Nothing forces it: the two can be opposite (dynamics.sec-6.3-cosine-sign). It is near 1 for small logits
        (dynamics.sec-6.3-cosine-small-logits).""")  # fmt: skip
# the sizes alone: everything else is drawn by the runs
COSINE.inputs(S=Annotated[int, Size("S")], D=Annotated[int, Size("D")], N=Annotated[int, Size("N")])


@COSINE.formula
def jacobian_times_state_of_one_head(X: Any, W_Q: Any, W_K: Any, M: Any, beta: Any) -> Any:
    """J x as a matrix (S, D) for one head with W^V W^O = M."""
    return jacobian_times_state(X, W_Q, W_K, M, M * 0 + diag(M[0] * 0 + 1), beta, 1)


@COSINE.part("laws")
def smallest_cosines(formula: Any, generator: Any, samples: int, S: int, D: Any, N: int) -> list[LawTest]:
    """The smallest cosine of each run against the stated proportions, one-sided."""
    import torch

    def normal(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator, device=generator.device, dtype=torch.float64)

    beta = 1 / N**0.5 / 2  # 1/sqrt(D_H) = 1/4 at D = 16

    def unit(Y: Any) -> Any:
        return oscillator_normalisation(Y, N)

    def run(X: Any, C: Any, Omega: Any, W_Q: Any, W_K: Any, M: Any) -> Any:
        lowest = X.new_ones(())
        for _ in range(16):
            out = (X @ W_Q @ W_K.T @ X.T * beta).softmax(-1) @ X @ M
            Jx = formula(X=X, W_Q=W_Q, W_K=W_K, M=M, beta=beta)
            lowest = torch.minimum(lowest, (out * Jx).sum() / (out.norm() * Jx.norm()))
            X = unit(X + akorn_increment(X, C, Omega, out, N))
        return lowest

    skew = normal(samples, D // N, N, N)
    Omega = ((skew - skew.mT) / 2).reshape(samples, D, N)
    W_Q, W_K, W_V, W_O = (normal(samples, D, D) / D**0.5 for _ in range(4))
    start = torch.func.vmap(unit)(normal(samples, S, D)), torch.func.vmap(unit)(normal(samples, S, D))
    lowest = torch.func.vmap(run)(*start, Omega, W_Q, W_K, W_V @ W_O)

    return [
        at_least_probability("above 1/2 in 99 % of runs", int((lowest > 0.5).sum()), samples, 0.99),
        at_least_probability("not above 0.9 in half of the runs", int((lowest <= 0.9).sum()), samples, 0.5),
    ]


COSINE.mutant("only the derivative of the attention weights",
    lambda value, X, W_Q, W_K, M, beta: value - softmax(X @ W_Q @ W_K.T @ X.T * beta) @ X @ M)  # fmt: skip
COSINE.mutant("values transposed", "M -> M.T")


SIGN = Claim(DYNAMICS, "dynamics.sec-6.3-cosine-sign",
    label="Section 6.3, J x against the output for arbitrary weights",
    statement=r"\langle\operatorname{vec}(\operatorname{SA}(X)),J x\rangle\ge0",
    assumptions=[
        Definition(r"one head with values M = W^VW^O, A = W^QW^{K\top}; no constraint on the tokens", by=softmax),
    ],
    name="cosine with the linearised output, any weights", relation=AtMost(signed=True, ascent=False),
    sizes={"S": (1, 3), "D": (1, 3)}, expects="refuted", severity="error",
    correction="dynamics.sec-6.3-cosine-small-logits", of_project=True,
    note="At the counterexample the cosine is $-1$.")  # fmt: skip


def _attended(X: Any, A: Any, M: Any) -> Any:
    """SA(X) with logits X A X^T and values X M, shape (S, D)."""
    return softmax(X @ A @ X.T) @ X @ M


def _along_state(X: Any, A: Any, M: Any) -> Any:
    """J x as a matrix, shape (S, D), by differentiating SA."""
    return (jacobian(_attended, "X")(X, A, M) @ vec_r(X)).reshape(*X.shape)


@SIGN.formula
def product_of_output_and_linearisation(X: Tokens, A: QueryWeights, M: SquareWeights) -> Any:
    """<SA(X), J x> above the product of the two norms, shape (2, 1)."""
    y, z = vec_r(_attended(X, A, M)), vec_r(_along_state(X, A, M))
    return concatenate([y.T @ z, (y.T @ y) * (z.T @ z)], axis=0)


SIGN.oracle(lambda: zeros(2, 1))
SIGN.counterexample(
    "two tokens in the plane, opposite directions", X=[[-1, 3], [-1, 0]], A=[[-1, 1], [2, 0]], M=[[0, 0], [0, 1]]
)
SIGN.mutant("P held constant", "z -> y")
SIGN.mutant("sign", "y.T @ z -> -(y.T @ z)")


SMALL_LOGITS = Claim(DYNAMICS, "dynamics.sec-6.3-cosine-small-logits",
    label="Section 6.3, J x against the output for small logits",
    statement=r"""\|(Jx-\operatorname{vec}\operatorname{SA}(X))_i\|\le\tfrac12\big(\max_jL_{ij}-\min_jL_{ij}\big)
        \max_{j,k}\|v_j-v_k\|\text{ for }\operatorname{SA}(X)=\operatorname{softmax}(L)V,\ L=XAX^\top,\ V=XM\text{ with
        the rows }v_j,\ J=\partial\operatorname{SA}/\partial X,\ x=\operatorname{vec}X""",
    name="attention output and linearised output, small logits", relation=AtMost(), sizes={"S": (1, 3), "D": (1, 3)},
    of_project=True, corrects="dynamics.sec-6.3-cosine-sign", uses=("dynamics.b.5-alignment",),
    note="""Compared are the squares of both sides, token by token. The difference is twice the covariance of logits
        and values under row $i$ of $P$, and a covariance is at
        most a quarter of the product of the ranges. So the cosine tends to 1 with the logits, unless the output
        vanishes.""")  # fmt: skip


def _range_bound(X: Any, A: Any, M: Any, share: Any, ranged: bool = True) -> Any:
    """share (max_j L_ij - min_j L_ij)^2 max |v_j - v_k|^2 for each token, shape (S, 1); or with max_j |L_ij| for the range."""
    L, V, S = X @ A @ X.T, X @ M, X.shape[0]
    gaps = [V[j : j + 1] - V[k : k + 1] for j in range(S) for k in range(S)]
    diameter = maximum(concatenate([gap @ gap.T for gap in gaps], axis=0))
    spreads = []
    for i in range(S):
        spread = maximum(L[i]) + maximum(-L[i]) if ranged else maximum(absolute(L[i]))
        spreads.append(L[:1, :1] * 0 + spread * spread * diameter)
    return concatenate(spreads, axis=0) * share


@SMALL_LOGITS.formula
def bound_by_ranges(X: Tokens, A: QueryWeights, M: SquareWeights) -> Any:
    """(range of logits)^2 (diameter of values)^2 / 4 for each token, shape (S, 1)."""
    return _range_bound(X, A, M, rational(1, 4))


@SMALL_LOGITS.oracle
def squared_difference(X: Tokens, A: QueryWeights, M: SquareWeights) -> Any:
    gap = _along_state(X, A, M) - _attended(X, A, M)
    return row_sums(gap * gap)


SMALL_LOGITS.mutant("covariance taken once, not twice", share=rational(1, 16))
SMALL_LOGITS.mutant("2/9 for 1/4", share=rational(2, 9))
SMALL_LOGITS.mutant("largest logit for the range", ranged=False)
