"""Appendix C.7, what the framework gives for the residual Transformer: Lemma 9, single tokens, Weyl's inequality."""

from __future__ import annotations

from typing import Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import Samples
from theorems.convergence.part_c_1_lemmas.constants import (
    ASSUMPTION_1, SCALES_POSITIVE, TAU_1_POSITIVE, NormBounds, PositiveScale, at_both_ends, sample_bound, stacked,
)  # fmt: skip
from theorems.convergence.part_c_4_theorem_2_and_discussion.residual_transformer import SquareOutput, last_member
from theorems.convergence.part_d_1_limiting_kernel.gradients import Tokens, attention_rows
from theorems.convergence.settings import Square, SquareQuery
from verify.matrix import (
    each, frobenius_norm, maximum, rational, relu, row_norms, smallest_singular_value, spectral_norm, sqrt, stack_rows, summed,
    total,
)  # fmt: skip
from verify.vocabulary import AtMost, Claim, Construction, Definition, Setting


def residual_layer(X: Any, W_Q: Any, W_K: Any, W_V: Any, tau_0: Any, tau_1: Any, residual: int = 1) -> Any:
    """F_pre, shape (N, d_m), row n the sum over tokens of tau_1 relu(W_V X^T beta_i + X^(i)); F_pre^* for `residual` 0."""

    def row(n: int) -> Any:
        betas = attention_rows(X[n], W_Q, W_K, tau_0)
        return summed(X.shape[1], lambda i: relu(betas[i].T @ X[n] @ W_V.T + X[n][i : i + 1] * residual)) * tau_1

    return stack_rows(each(X.shape[0], row))


RESIDUAL = Setting(
    CONVERGENCE, "Appendix C.7",
    assumptions=[
        Construction("d = d_m, without which A_1 is not defined", shapes={"W_V": ("d", "d")}),
        Definition("F_pre of Table 2, of vectors, with the sum over tokens; F_pre^* without the residual connection",
                   by=residual_layer),
    ],
    sizes={"N": (1, 3), "d_s": (1, 3), "d": (1, 3)},
)  # fmt: skip

# -- Lemma 9 -----------------------------------------------------------------------------------------------------------

LEMMA_9 = Claim(RESIDUAL, "convergence.c7-lemma-9", label="C.7, Lemma 9 for the residual Transformer",
    statement=r"""\text{In Lemma 9, only the first step in the proof changes while the remaining part does not change
        because the term
        }X^{(i:)^\top}\text{ in two adjacent time steps cancels out}:\quad\|F_{pre}^{t'}-F_{pre}^t\|_F\le\rho(\|W_V^{t'}-W_V^t\|_2
        +\bar\lambda_V2\tau_0C_x^2d_s(\bar\lambda_Q\|W_K^{t'}-W_K^t\|_2+\bar\lambda_K\|W_Q^{t'}-W_Q^t\|_2))""",
    name="Lipschitz bound of the residual hidden layer", relation=AtMost(ascent=False), all_sizes=True,
    assumptions=[ASSUMPTION_1, *SCALES_POSITIVE],
    uses=("convergence.lemma-9",), sizes={"N": (1, 2), "d_s": (1, 3), "d": (1, 2)},
    note="relu is 1-Lipschitz, and the token is the same on both sides of the difference, inside the ReLU.",
)  # fmt: skip


@LEMMA_9.formula
def bound_of_lemma_9(X: Samples, W_Q: SquareQuery, W_K: Square, W_V: Square, W_Q_0: SquareQuery, W_K_0: Square,
                     W_V_0: Square, tau_0: PositiveScale, tau_1: PositiveScale) -> Any:  # fmt: skip
    """The right-hand side of Lemma 9, a scalar (Appendix C.7)."""
    b = NormBounds(X, list(at_both_ends(W_Q, W_K, W_V, W_Q_0, W_K_0, W_V_0)), tau_0, tau_1)
    attention = b.kappa * (b.Q * spectral_norm(W_K - W_K_0) + b.K * spectral_norm(W_Q - W_Q_0))
    return b.rho * (spectral_norm(W_V - W_V_0) + b.V * attention)


@LEMMA_9.oracle
def change_of_the_residual_layer(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_Q_0: Any, W_K_0: Any, W_V_0: Any, tau_0: Any,
                                 tau_1: Any) -> Any:  # fmt: skip
    F = residual_layer(X, W_Q, W_K, W_V, tau_0, tau_1)
    return frobenius_norm(F - residual_layer(X, W_Q_0, W_K_0, W_V_0, tau_0, tau_1))


LEMMA_9.mutant("change of W_V dropped", "spectral_norm(W_V - W_V_0) -> 0")
LEMMA_9.mutant("d_s^{3/2} dropped in rho", lambda value, X: value / (X.shape[1] * sqrt(X.shape[1])))
LEMMA_9.mutant("change of attention dropped", "b.V * attention -> b.V * 0")


# -- single tokens -----------------------------------------------------------------------------------------------------

TOKEN = Claim(CONVERGENCE, "convergence.c7-token-norm", label="C.7, the norm of a token",
    statement=r"""\text{Similarly, in the remaining lemmas, we need to add the additional term }C_x\text{ for the upper bound of
        }\|X^{(i:)}\|_2\text{.}""",
    name="norm of one token", relation=AtMost(left="the norm of each token", ascent=False), expects="refuted", severity="error",
    assumptions=[Definition("Assumption 1: ||X||_F <= sqrt(d_s) C_x, with the least C_x for which it holds", by=frobenius_norm)],
    sizes={"d_s": (1, 3), "d": (1, 3)}, correction="convergence.c7-token-norm-root",
    note=r"""Assumption 1 bounds the whole sample: one token may be as long as $\sqrt{d_s} C_x$. The sum over the tokens, which the
        bound for Lemma 10 needs, is at most $d_s C_x$ all the same. Eqs. (21) to (24) have $C_x$ for the norm of a token too.""",
)  # fmt: skip


@TOKEN.formula
def printed_token_bound(X: Tokens) -> Any:
    """C_x for every token, shape (d_s,) (Appendix C.7)."""
    return row_norms(X) * 0 + frobenius_norm(X) / sqrt(X.shape[0])


TOKEN.oracle(lambda X: row_norms(X))
TOKEN.mutant("half of C_x", lambda value: value / 2)
TOKEN.mutant("no bound but 0", lambda value: value * 0)
TOKEN.counterexample("tokens 1 and 0: C_x^2 = 1/2", X=[[1], [0]])


ROOT = Claim(CONVERGENCE, "convergence.c7-token-norm-root", label="The norms of tokens under Assumption 1",
    statement=r"""\|X\|_F\le\sqrt{d_s}C_x\ \Rightarrow\ \|X^{(i,:)}\|_2\le\sqrt{d_s}C_x\text{ for every
        }i,\quad\sum_{i=1}^{d_s}\|X^{(i,:)}\|_2\le d_sC_x""",
    name="norms of tokens and their sum",
    relation=AtMost(left="the largest and the sum of the tokens' norms"), all_sizes=True, sizes={"d_s": (1, 3), "d": (1, 3)},
    assumptions=[Definition("C_x the least for which the premise holds", by=frobenius_norm)],
    corrects="convergence.c7-token-norm", of_project=True)  # fmt: skip


@ROOT.formula
def token_bounds(X: Tokens) -> Any:
    """sqrt(d_s) C_x for the longest token and d_s C_x for the sum, shape (2,)."""
    C_x = frobenius_norm(X) / sqrt(X.shape[0])
    return stacked([C_x * sqrt(X.shape[0]), C_x * X.shape[0]])


ROOT.oracle(lambda X: stacked([maximum(row_norms(X)), total(row_norms(X))]))
ROOT.mutant("C_x for one token, as printed", "C_x * sqrt(X.shape[0]) -> C_x")
ROOT.mutant("sqrt(d_s) C_x for the sum", "C_x * X.shape[0] -> C_x * sqrt(X.shape[0])")


# -- Weyl --------------------------------------------------------------------------------------------------------------

WEYL = Claim(RESIDUAL, "convergence.c7-weyl", label="C.7, Weyl's inequality",
    statement=r"""\alpha_0=\sigma_{\min}(F_{pre})\ge\sigma_{\min}(F_{pre}^*)-\|F_{pre}-F_{pre}^*\|_2""",
    name="smallest singular value with a residual connection", general="It is Weyl's inequality, for all matrices.",
    relation=AtMost(signed=True), all_sizes=True,
    note="For the smallest of the min(N, d_m) singular values.")  # fmt: skip


@WEYL.formula
def residual_singular_value(X: Samples, W_Q: SquareQuery, W_K: Square, W_V: Square, tau_0: PositiveScale,
                            tau_1: PositiveScale) -> Any:  # fmt: skip
    """sigma_min(F_pre), a scalar (Appendix C.7)."""
    return smallest_singular_value(residual_layer(X, W_Q, W_K, W_V, tau_0, tau_1))


@WEYL.oracle
def perturbed_singular_value(X: Any, W_Q: Any, W_K: Any, W_V: Any, tau_0: Any, tau_1: Any) -> Any:
    plain = residual_layer(X, W_Q, W_K, W_V, tau_0, tau_1, 0)
    return smallest_singular_value(plain) - spectral_norm(residual_layer(X, W_Q, W_K, W_V, tau_0, tau_1) - plain)


WEYL.mutant("half", lambda value: value * rational(1, 2))
WEYL.mutant("0", lambda value: value * 0)


HANDLE = Claim(RESIDUAL, "convergence.c7-can-handle", label="C.7, the framework for the residual Transformer",
    statement=r"""\text{Our proof framework is general and can handle the following residual Transformer. \dots\ The remains step
        follows the same as previous analysis.}""",
    name="lower bound of the framework for a residual network", relation=AtMost(left="0", ascent=False, signed=True),
    assumptions=[
        Definition("to handle: the lower bound of alpha_0 at which Appendix C.7 arrives, sigma_min(F_pre^*) less the last member "
                   "of Eq. (62), is positive, as Eqs. (2) and (3) need it", by=smallest_singular_value),
    ],
    expects="refuted", severity="error", correction="convergence.c7-residual-margin",
    proof=("convergence.c7-weyl", "convergence.eq-62"),
    consequence=r"""Where $\sqrt N \|w_O\|_2 \ge \sqrt{d_s}$ the framework proves nothing about residual networks; bound the
        smallest singular value of the residual layer itself.""",
    note=r"""For $N \le d_m$ no singular value $\sigma_{\min}(F_{pre}^*)$ is larger than the norm of a row, at most $\tau_1
        d_s^{3/2} \|W_V\|_2 C_x$. So the bound $\sigma_{\min}(F_{pre}^*) - \sqrt N \tau_1 d_s \|w_O\|_2 \|W_V\|_2 C_x$ is
        positive at no weights with $\sqrt N \|w_O\|_2 \ge \sqrt{d_s}$; $\|w_O\|_2$ is about 1 under LeCun initialisation,
        $\sqrt 2$ under He, $\sqrt{d_m}$ under NTK. For $N > d_m$ the first term stands for 0 in any case. With $\|F_{pre} -
        F_{pre}^*\|_2$ itself in the place of Eq. (62) it depends on the data. With random tokens of length 1 and $\tau_0 =
        d_m^{-1/2}$ the ratio of the two terms was below 0.6 in 200 draws under LeCun initialisation at $N = 5$, $d_s = 4$, $d =
        d_m = 64$, and below 0.2 at $N = d_s = 10$, $d = d_m = 100$. Under He initialisation at $N = d_s = 1$, $d = d_m = 128$ it
        was above 1 in 40 of 40 draws: there Weyl's inequality is enough. That $\alpha_0$ itself is positive is not denied.""",
)  # fmt: skip


@HANDLE.formula
def lower_bound_of_the_framework(X: Samples, W_Q: SquareQuery, W_K: Square, W_V: Square, w_O: SquareOutput,
                                 tau_0: PositiveScale, tau_1: PositiveScale) -> Any:  # fmt: skip
    """sigma_min(F_pre^*) - sqrt(N) tau_1 d_s ||w_O||_2 ||W_V||_2 C_x, a scalar (Appendix C.7)."""
    plain = residual_layer(X, W_Q, W_K, W_V, tau_0, tau_1, 0)
    return smallest_singular_value(plain) - last_member(X, w_O, tau_1, spectral_norm(W_V))


HANDLE.oracle(lambda tau_0: tau_0 * 0)
HANDLE.mutant("one more", lambda value: value + 1)
HANDLE.mutant("one less", lambda value: value - 1)
HANDLE.counterexample("one sample 1 of one token, W_V = 1, w_O = 2: 1 - 2", X=[[[1]]], W_Q=[[0]], W_K=[[0]], W_V=[[1]],
    w_O=[[2]], tau_0=1, tau_1=1)  # fmt: skip
HANDLE.counterexample("samples e_1 and e_2 of one token, W_V = I, w_O = (1, 1): 1 - 2", X=[[[1, 0]], [[0, 1]]],
    W_Q=[[0, 0], [0, 0]], W_K=[[0, 0], [0, 0]], W_V=[[1, 0], [0, 1]], w_O=[[1], [1]], tau_0=1, tau_1=1)  # fmt: skip


MARGIN = Claim(RESIDUAL, "convergence.c7-residual-margin", label="C.7, where the lower bound is positive",
    statement=r"""\tau_1>0,\ \sqrt N\tau_1d_sC_x<\sigma_{\min}(F_{pre}^*),\ \|X_n\|_F\le\sqrt{d_s}C_x\ \Rightarrow\
        \sigma_{\min}(F_{pre})\ge\sigma_{\min}(F_{pre}^*)-\sqrt N\tau_1d_sC_x>0""",
    name="smallest singular value of a residual network", relation=AtMost(signed=True), all_sizes=True,
    assumptions=[ASSUMPTION_1, TAU_1_POSITIVE],
    uses=("convergence.c7-weyl", "convergence.eq-62-without-wv"), corrects="convergence.c7-can-handle", of_project=True,
    note="The premise asks for value weights that outweigh the tokens; the inequality holds without it, and then says nothing.",
)  # fmt: skip


MARGIN.formula(residual_singular_value)


@MARGIN.oracle
def singular_value_less_tokens(X: Any, W_Q: Any, W_K: Any, W_V: Any, tau_0: Any, tau_1: Any) -> Any:
    plain = residual_layer(X, W_Q, W_K, W_V, tau_0, tau_1, 0)
    return smallest_singular_value(plain) - sqrt(X.shape[0]) * tau_1 * sample_bound(X) * X.shape[1]


@MARGIN.domain("large value weights")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """Samples of one direction each, and W_V a large multiple of the identity."""
    arrays["X"][:] = 0.0
    for n in range(sizes["N"]):
        arrays["X"][:, n, :, n % sizes["d"]] = 1.0
    for k in range(sizes["d"]):
        arrays["W_V"][:, k, :] = 0.0
        arrays["W_V"][:, k, k] = 16.0


MARGIN.mutant("half", lambda value: value * rational(1, 2))
MARGIN.mutant("0", lambda value: value * 0)
