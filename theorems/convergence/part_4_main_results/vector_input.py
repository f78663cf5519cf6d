"""Vectors fed as tokens: Corollary 1, F_pre of rank two at d = 1, and the remark on least squares after it."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import Labels, last_hidden_layer, outputs, pooling_weight
from theorems.convergence.part_c_1_lemmas.constants import (
    ASSUMPTION_1, NOT_NARROW, ROOM_ONE, Bounds, sample_bound, stacked,
)  # fmt: skip
from theorems.convergence.settings import Positive
from verify.matrix import concatenate, frobenius_norm, rational, relu, softmax, stack_rows, total
from verify.vocabulary import Assumption, AtMost, Claim, Construction, Definition, Equal, Shape

ScalarTokens = Annotated[Any, Shape("N", "d_s", "1")]
Column = Annotated[Any, Shape("d_m", "1")]
QueryColumn = Annotated[Any, Shape("d_m", "1", role="query")]


def _at_d_1(X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any) -> tuple[Bounds, Any]:
    tau_0 = w_O[0, 0] * 0 + rational(1, W_Q.shape[0])
    tau_1 = w_O[0, 0] * 0 + 1
    b = Bounds(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, sample_bound(X))
    return b, frobenius_norm(outputs(X, W_Q, W_K, W_V, w_O, tau_0, tau_1) - y)


SCALAR_TOKENS = Construction("d = 1", shapes={"X": ("N", "d_s", "1")})


COR_1 = Claim(CONVERGENCE, "convergence.cor-1", label="Corollary 1", name="convergence for vector input",
    statement=r"""\text{Consider LeCun initialization with }\tau_0=d_m^{-1}\text{ scaling, given vector input
        }x\in\mathbb R^{\tilde d}\text{, if one feeds the input to Transformer by setting }d_s=1,d=\tilde d\text{, then
        training with GD can converge to a global minimum. On the contrary, if one sets }d_s=\tilde d,d=1\text{, the
        conditions in Eqs. (2) and (3) do not hold, the convergence can not be guaranteed by our theory.}""",
    assumptions=[
        SCALAR_TOKENS, Definition("tau_0 = 1/d_m, tau_1 = 1", by=_at_d_1), ROOM_ONE, ASSUMPTION_1, NOT_NARROW,
        Assumption("l(theta^0) > 0", positive=lambda X, y, W_Q, W_K, W_V, w_O: _at_d_1(X, y, W_Q, W_K, W_V, w_O)[1]),
    ],
    relation=AtMost(ascent=False, signed=True), sizes={"N": (2, 3), "d_s": (2, 3), "d_m": (3, 4)}, expects="refuted",
    severity="error", correction="convergence.cor-1-rank-two",
    consequence="""Tokens of dimension one are not ruled out for one or two samples; from three samples on the
        hidden layer has rank at most 2 and the conditions fail: use tokens of dimension two or more
        (convergence.cor-1-rank-two).""",
    note=r"""True for $N \ge 3$; nothing is printed about $N$. Judged is the second half, over all weights that Gaussian
        initialisation can produce. With one or two samples $\alpha$ can be positive at $d = 1$, and labels close to the
        outputs then meet Eqs. (2) and (3): a set of positive probability. From three samples on $F_{pre}$ has rank at
        most 2, $\alpha = 0$, and both conditions fail unless $\ell(\theta^0) = 0$. The first half says 'can': labels
        near the outputs meet both conditions wherever $\alpha > 0$.""")  # fmt: skip


@COR_1.formula
def right_sides(X: ScalarTokens, y: Labels, W_Q: QueryColumn, W_K: Column, W_V: Column, w_O: Column) -> Any:
    """The right-hand sides of Eqs. (2) and (3), shape (2,)."""
    b, error = _at_d_1(X, y, W_Q, W_K, W_V, w_O)
    return stacked([b.condition_2() * error, b.condition_3(b.Q) * error])


@COR_1.oracle
def left_sides(X: ScalarTokens, y: Labels, W_Q: QueryColumn, W_K: Column, W_V: Column, w_O: Column) -> Any:
    """alpha^2 and alpha^3: not above them if neither condition holds with room."""
    b, _ = _at_d_1(X, y, W_Q, W_K, W_V, w_O)
    return stacked([b.alpha**2, b.alpha**3])


@COR_1.at_scale("two opposite samples", N=2, d_s=2, d_m=3)
@COR_1.domain("opposite samples, labels near the outputs")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Samples of opposite signs, one neuron for each: both conditions hold for two samples, neither for three."""
    for name in ("X", "W_Q", "W_K", "W_V", "w_O"):
        arrays[name][:] = 0.0
    arrays["X"][:, ::2], arrays["X"][:, 1::2] = 1.0, -1.0
    arrays["W_V"][:, 0, 0], arrays["W_V"][:, 1, 0] = 1.0, -1.0
    arrays["y"][:] = 2.0**-20


COR_1.mutant("no z in (3)", "b.condition_3(b.Q) -> b.rho ** 2 * 32")
COR_1.mutant("squared error", "error -> error ** 2")


@COR_1.counterexample("two samples (1, 1) and (-1, -1), one neuron for each: alpha = 1, both conditions met at once")
def _() -> dict[str, Any]:
    y = Fraction(1, 10**6)
    return {
        "X": [[[1], [1]], [[-1], [-1]]],
        "y": [[y], [y]],
        "W_Q": [[0], [0], [0]],
        "W_K": [[0], [0], [0]],
        "W_V": [[1], [-1], [0]],
        "w_O": [[0], [0], [0]],
    }


RANK_TWO = Claim(CONVERGENCE, "convergence.cor-1-rank-two", label="Corollary 1, at d = 1",
    statement=r"""d=1,\ p=1/d_s:\ F_{pre}=\tau_1p\,[\textstyle\sum_i \sigma_r(X_n^\top\beta_{i,n})]_n
        \sigma_r(w_V)^\top+\tau_1p\,[\textstyle \sum_i\sigma_r(-X_n^\top\beta_{i,n})]_n \sigma_r(-w_V)^\top,\ \text{so
        that }\mathrm{rank}\,F_{pre}\le2,\ \alpha=0\text{ for }N\ge3,\text{ and then (2), (3), with }C_x,\tau_1>0,\text{ hold
        only if }\ell(\theta^0)=0
    """,
    name="hidden layer of rank two in one dimension",
    assumptions=[SCALAR_TOKENS, Definition("p = 1/d_s (average pooling)", by=pooling_weight)], relation=Equal(),
    sizes={"N": (1, 4), "d_s": (1, 3), "d_m": (1, 4)}, corrects="convergence.cor-1", of_project=True, exact=True,
    note=r"""$\mathrm{relu}(m v) = \mathrm{relu}(m) \mathrm{relu}(v) + \mathrm{relu}(-m) \mathrm{relu}(-v)$. Beside the
        identity the determinant of $F_{pre} F_{pre}^\top$ of three samples is computed, which is 0: then $\alpha = 0$
        for $N \ge 3$. The right-hand sides of (2) and (3) are positive multiples of $\sqrt{2 \ell(\theta^0)}$.""",
)  # fmt: skip


def _two_terms(X: Any, W_Q: Any, W_K: Any, W_V: Any, tau_0: Any, tau_1: Any, negative: Any = 1,
               pooling: bool = True) -> Any:  # fmt: skip
    positive_part, negative_part = [], []
    for n in range(X.shape[0]):
        m = softmax(X[n] @ W_Q.T @ W_K @ X[n].T * tau_0) @ X[n]
        positive_part.append(relu(m).sum(0))
        negative_part.append(relu(-m).sum(0))
    p = rational(1, X.shape[1]) if pooling else rational(1)
    P, M = stack_rows(positive_part), stack_rows(negative_part)
    return (P @ relu(W_V).T + M @ relu(-W_V).T * negative) * tau_1 * p


@RANK_TWO.formula
def two_rank_one_terms(X: ScalarTokens, W_Q: QueryColumn, W_K: Column, W_V: Column, tau_0: Positive,
                       tau_1: Positive) -> Any:  # fmt: skip
    """F_pre as a sum of two matrices of rank one, in one row, then 0 for N >= 3; shape (1, N d_m + 1)."""
    F = _two_terms(X, W_Q, W_K, W_V, tau_0, tau_1)
    return concatenate([F.reshape(1, -1), F[:1, :1] * 0], axis=1)


@RANK_TWO.oracle
def hidden_layer_and_gram_determinant(X: Any, W_Q: Any, W_K: Any, W_V: Any, tau_0: Any, tau_1: Any) -> Any:
    """F_pre, then the determinant of F_pre F_pre^T of the first three samples, which makes alpha vanish."""
    F = last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_1)
    G = F[:3] @ F[:3].T
    determinant = F[:1, :1] * 0
    if X.shape[0] >= 3:
        minors = [G[1, (k + 1) % 3] * G[2, (k + 2) % 3] - G[1, (k + 2) % 3] * G[2, (k + 1) % 3] for k in range(3)]
        determinant = determinant + sum(G[0, k] * minors[k] for k in range(3))
    return concatenate([F.reshape(1, -1), determinant], axis=1)


RANK_TWO.mutant("rank one: negative parts dropped", negative=0)
RANK_TWO.mutant("sign of the negative parts", negative=-1)
RANK_TWO.mutant("sum pooling", pooling=False)


def _minors(X: Any) -> list[Any]:
    K, N = X @ X.T, X.shape[0]
    return [K[i, j] * K[j, i] - K[i, i] * K[j, j] for i in range(N) for j in range(i)]


def least_squares(X: Labels, y: Labels) -> Any:
    """|X|^2 |X w - y|^2 at the root of its derivative in w, then zeros."""
    residual = X * (total(X * y) / total(X * X)) - y
    zero = total(X * X) * 0
    return stacked([total(X * X) * total(residual * residual), *[zero] * len(_minors(X))])


COR_1_REMARK = Claim(CONVERGENCE, "convergence.cor-1-remark", label="Remark after Corollary 1",
    statement=r"""\text{given input }X\in\mathbb R^{N\times1}\text{, then the NTK }XX^\top\text{ is a rank-one matrix.
        As a result, when the augmented matrix }[X,y]\text{ is not rank-one, then there is no solution to the linear
        system so that GD training can not converge to zero loss.}""",
    assumptions=[
        Definition("f = X w, w a scalar", by=least_squares),
        Assumption("X nonzero, the degenerate case of the note left out", positive=lambda X: total(X * X)),
    ],
    name="rank-one least squares", relation=Equal(), at_sizes={"N": 3}, sizes={"N": (1, 4)}, exact=True,
    note=r"""$|X|^2 \min_w |X w - y|^2 = \det([X, y]^\top [X, y])$, which for $X \ne 0$ vanishes exactly where $[X, y]$
        has rank one: the least loss is $|y|^2 - (X^\top y)^2/|X|^2$. For the zero input alone both sentences fail: $X
        X^\top$ has rank zero, and with $y = 0$ so has $[X, y]$, while every $w$ is a solution. The paper does not use
        that case, and it is left out here.""")  # fmt: skip


@COR_1_REMARK.formula
def gram_determinant(X: Labels, y: Labels) -> Any:
    """det([X, y]^T [X, y]), then the 2 x 2 minors of X X^T that have to vanish."""
    return stacked([total(X * X) * total(y * y) - total(X * y) * total(X * y), *_minors(X)])


COR_1_REMARK.oracle(least_squares)
COR_1_REMARK.mutant("plus", "total(X * y) * total(X * y) -> -total(X * y) * total(X * y)")
COR_1_REMARK.mutant("|X.y| not squared", "total(X * y) * total(X * y) -> total(X * y)")
