"""The network with a residual connection: what the connection adds to the last hidden layer, Eq. (62)."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import Samples
from theorems.convergence.appendix_c_1_lemmas.constants import sample_bound, stacked
from theorems.convergence.appendix_d_tangent_kernel.gradients import attention_rows
from theorems.convergence.appendix_c_1_lemmas.constants import ASSUMPTION_1, PositiveScale
from verify.claims import Claim
from verify.matrix import absolute, frobenius_norm, maximum, relu, spectral_norm, sqrt
from verify.relations import AtMost
from verify.shapes import Shape

SquareQuery = Annotated[Any, Shape("d", "d", role="query")]
SquareWeights = Annotated[Any, Shape("d", "d")]
SquareOutput = Annotated[Any, Shape("d", "1")]
SIZES = {"N": (1, 3), "d_s": (1, 3), "d": (1, 3)}

EQ_62 = Claim(
    CONVERGENCE,
    "convergence.eq-62",
    label="Eq. (62)",
    statement=r"\|F_{pre}-F_{pre}^*\|_F\le\sqrt N\|\tau_1w_O^\top\sum_i\sigma_r(W_VX^\top\beta_i+(X^{(i:)})^\top)"
    r"-\tau_1w_O^\top\sum_i\sigma_r(W_VX^\top\beta_i)\|_2\le\sqrt N\tau_1d_s\|w_O\|_2\|W_V\|_2C_x",
    assumptions=[ASSUMPTION_1, "d = d_m", "F_pre^*: the same network without the residual connection"],
    relation=AtMost(ascent=False),
    sizes=SIZES,
    expects="refuted",
    severity="error",
    correction="convergence.eq-62-without-wv",
    doubt="Appendix C.7 writes f_pre with the factor w_O^T, which makes it the output; F_pre is read so, with X the sample"
    " that moves most. With F_pre of Table 2 already the first inequality fails where w_O = 0.",
    note="relu is 1-Lipschitz, so the connection changes each pre-activation by its token, whatever W_V: ||W_V||_2 does not"
    " belong into the bound. It is too small as soon as ||W_V||_2 is, and to the safe side where ||W_V||_2 >= 1.",
)


def _changes(X: Any, W_Q: Any, W_K: Any, W_V: Any, tau_0: Any, tau_1: Any) -> list[Any]:
    """The change of the last hidden layer of each sample, shape (d, 1), for the sum over tokens."""
    changes = []
    for n in range(X.shape[0]):
        attended = [W_V @ X[n].T @ beta for beta in attention_rows(X[n], W_Q, W_K, tau_0)]
        with_residual = sum(relu(a + X[n][i : i + 1].T) for i, a in enumerate(attended))
        changes.append((with_residual - sum(relu(a) for a in attended)) * tau_1)
    return changes


def _middle(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any) -> tuple[Any, Any]:
    """||F_pre - F_pre^*||_F and its bound sqrt(N) max_n |w_O^T change|."""
    outputs = stacked([(w_O.T @ change)[0, 0] for change in _changes(X, W_Q, W_K, W_V, tau_0, tau_1)])
    return frobenius_norm(outputs), maximum(absolute(outputs)) * sqrt(X.shape[0])


def _last(X: Any, w_O: Any, tau_1: Any, norm: Any) -> Any:
    return sqrt(X.shape[0]) * tau_1 * sample_bound(X) * frobenius_norm(w_O) * norm * X.shape[1]


@EQ_62.formula
def printed_residual_bounds(
    X: Samples, W_Q: SquareQuery, W_K: SquareWeights, W_V: SquareWeights, w_O: SquareOutput,
    tau_0: PositiveScale, tau_1: PositiveScale,
) -> Any:  # fmt: skip
    """The second and third members, shape (2,) (Eq. (62))."""
    middle = _middle(X, W_Q, W_K, W_V, w_O, tau_0, tau_1)[1]
    return stacked([middle, _last(X, w_O, tau_1, spectral_norm(W_V))])


EQ_62.oracle(lambda X, W_Q, W_K, W_V, w_O, tau_0, tau_1: stacked(list(_middle(X, W_Q, W_K, W_V, w_O, tau_0, tau_1))))
EQ_62.mutant("Frobenius norm of W_V squared", "spectral_norm(W_V) -> (W_V * W_V).sum()")
EQ_62.mutant("without ||W_V||_2", norm=1)
EQ_62.counterexample(
    "all sizes 1, W_V = 1/2: the output changes by 1, the bound is 1/2",
    X=[[[1]]],
    W_Q=[[0]],
    W_K=[[0]],
    W_V=[["1/2"]],
    w_O=[[1]],
    tau_0=1,
    tau_1=1,
)
EQ_62.counterexample(
    "all sizes 1, W_V = 0: the bound is 0", X=[[[1]]], W_Q=[[0]], W_K=[[0]], W_V=[[0]], w_O=[[1]], tau_0=1, tau_1=1
)


WITHOUT_W_V = Claim(
    CONVERGENCE,
    "convergence.eq-62-without-wv",
    label="Eq. (62), with the norm of the tokens only",
    statement=r"\|F_{pre}-F_{pre}^*\|_F\le\sqrt N\tau_1d_s\|w_O\|_2C_x\text{ with }w_O^\top\text{ in }F_{pre}\text{ as in C.7, }"
    r"\quad\|F_{pre}-F_{pre}^*\|_F\le\sqrt N\tau_1d_sC_x\text{ for }F_{pre}\text{ of Table 2}",
    assumptions=[ASSUMPTION_1, "d = d_m", "F_pre^*: the same network without the residual connection"],
    relation=AtMost(),
    sizes=SIZES,
    corrects="convergence.eq-62",
    of_project=True,
    note="sum_i ||X^{(i,:)}||_2 <= sqrt(d_s) ||X||_F <= d_s C_x. Attained by equal tokens with nonnegative entries.",
)


@WITHOUT_W_V.formula
def residual_bounds(
    X: Samples, W_Q: SquareQuery, W_K: SquareWeights, W_V: SquareWeights, w_O: SquareOutput,
    tau_0: PositiveScale, tau_1: PositiveScale,
) -> Any:  # fmt: skip
    """sqrt(N) tau_1 d_s ||w_O||_2 C_x and sqrt(N) tau_1 d_s C_x, shape (2,)."""
    return stacked([_last(X, w_O, tau_1, 1), sqrt(X.shape[0]) * tau_1 * sample_bound(X) * X.shape[1]])


@WITHOUT_W_V.oracle
def residual_changes_of_both(
    X: Samples, W_Q: SquareQuery, W_K: SquareWeights, W_V: SquareWeights, w_O: SquareOutput,
    tau_0: PositiveScale, tau_1: PositiveScale,
) -> Any:  # fmt: skip
    changes = _changes(X, W_Q, W_K, W_V, tau_0, tau_1)
    hidden = sqrt(sum((change * change).sum() for change in changes))
    return stacked([_middle(X, W_Q, W_K, W_V, w_O, tau_0, tau_1)[0], hidden])


@WITHOUT_W_V.mutant("||W_V||_2 as a factor, as printed")
def _(
    X: Samples, W_Q: SquareQuery, W_K: SquareWeights, W_V: SquareWeights, w_O: SquareOutput,
    tau_0: PositiveScale, tau_1: PositiveScale,
) -> Any:  # fmt: skip
    norm = spectral_norm(W_V)
    return stacked([_last(X, w_O, tau_1, norm), sqrt(X.shape[0]) * tau_1 * sample_bound(X) * norm * X.shape[1]])


WITHOUT_W_V.mutant("d_s^{1/2} in place of d_s", lambda value, X: value / sqrt(X.shape[1]))
