"""How the gradients in W_Q and W_K move between two sets of weights: Eqs. (21)-(24) of the proof of Lemma 14.

All but the corrected forms are refuted: tokens are taken out of a sum (Eq. (21)), a factor C_x^2 d_s is lost (Eq. (22)).
"""

from __future__ import annotations

from fractions import Fraction
import functools
from typing import Any

import numpy as np

from theorems.convergence.part_c_1_lemmas.constants import Theta, stacked
from theorems.convergence.part_c_1_lemmas.extreme_inputs import across_a_kink, equal_ends, opposite_tokens
from theorems.convergence.part_c_1_lemmas.gradient_change import ONE_SAMPLE, SAME_PATTERN, Pair, gradient_change_in
from theorems.convergence.part_d_1_limiting_kernel.gradients import Tokens, softmax_covariance
from verify.matrix import absolute, each, frobenius_norm, maximum, spectral_norm, summed
from verify.vocabulary import AtMost, Claim, Doubt

TWO_TOKENS = ONE_SAMPLE.extended()


class Factors(Pair):
    """U_i = W_K X^T (diag(beta_i) - beta_i beta_i^T) X and h_i = W_V^T (w_O o relu'(W_V X^T beta_i)) at both ends."""

    def __init__(self, X: Any, theta: Any, theta_0: Any, tau_0: Any, tau_1: Any) -> None:
        super().__init__(X, theta, theta_0, tau_0, tau_1)
        self.betas = self.attention()
        gated = self.gated()
        self.covariances = self._at_both(lambda k, i: softmax_covariance(self.betas[k][i]))
        self.outer = self._at_both(lambda k, i: self.ends[k]["W_K"] @ X.T @ self.covariances[k][i])
        self.U = self._at_both(lambda k, i: self.outer[k][i] @ X)
        self.h = self._at_both(lambda k, i: self.ends[k]["W_V"].T @ gated[k][i])

    def _at_both(self, value: Any) -> list[list[Any]]:
        """``value(k, i)`` for every token i, at t' (k = 0) and at t (k = 1)."""
        return [self._each(functools.partial(value, k)) for k in (0, 1)]

    def product_change(self, with_tokens: bool) -> Any:
        """||sum_i U'_i h'_i X^(i,:) - sum_i U_i h_i X^(i,:)||_F, or the same without the tokens."""

        def moved(i: int) -> Any:
            change = self.U[0][i] @ self.h[0][i] - self.U[1][i] @ self.h[1][i]
            return change @ self.X[i : i + 1] if with_tokens else change

        return frobenius_norm(summed(self.X.shape[0], moved))

    def split_change(self, with_h: Any = 1, with_U: Any = 1) -> Any:
        """sum_i ||U'_i|| ||h'_i - h_i|| + ||h_i|| ||U'_i - U_i||, the last line of Eq. (21)."""
        (U, U_0), (h, h_0) = self.U, self.h
        return summed(
            self.X.shape[0],
            lambda i: (
                spectral_norm(U[i]) * frobenius_norm(h[i] - h_0[i]) * with_h
                + frobenius_norm(h_0[i]) * spectral_norm(U[i] - U_0[i]) * with_U
            ),
        )


def _steep(exchanged: bool = False) -> dict[str, Any]:
    """Tokens 32 and -32, a large W_K; W_Q moves by a hundredth where attention bends most; no ReLU changes its state.

    W_Q and W_K may be exchanged.
    """
    a, k = 32, 2**18
    q, v = Fraction(2, 3) / (a * a * k), Fraction(1, 1000 * a)
    ends = ([q, k, v, 1], [q * Fraction(99, 100), k, v, 1])
    theta, theta_0 = ([[W[1], W[0], *W[2:]] if exchanged else W] for W in ends)
    return {"X": [[a], [-a]], "theta": theta, "theta_0": theta_0, "tau_0": 1, "tau_1": 1}


def steep_attention(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Large opposite tokens, tiny W_V, one of W_Q and W_K tiny and moving: where the second derivative of softmax rules."""
    batch = len(arrays["X"])
    opposite_tokens(arrays, 32.0)
    of_keys = np.arange(batch) % 2 == 0
    tiny = 2.0**-28 * rng.integers(1, 4, batch)
    arrays["W_K"][:, 0, 0] = np.where(of_keys, 2.0**18, tiny)
    arrays["W_Q"][:, 0, 0] = np.where(of_keys, tiny, 2.0**18)
    arrays["W_V"][:, :, 0], arrays["w_O"][:, 0, 0] = 2.0**-15, 1.0
    equal_ends(arrays)
    arrays["W_K_0"][:, 0, 0] *= np.where(of_keys, 1.0, 63 / 64)
    arrays["W_Q_0"][:, 0, 0] *= np.where(of_keys, 63 / 64, 1.0)


EQ_21 = Claim(TWO_TOKENS, "convergence.eq-21", label="Eq. (21)", name="change of the query gradient, split",
    statement=r"""\|\nabla_{W_Q}f(X_n;\theta^{t'})-\nabla_{W_Q}f(X_n;\theta^t)\|_F
        =\tau_0\tau_1\|\sum_iU_{i,n}^{t'}h_{i,n}^{t'}X_n^{(i,:)}-\sum_iU_{i,n}^th_{i,n}^tX_n^{(i,:)}\|_F
        \le\tau_0\tau_1C_x\|\sum_iU_{i,n}^{t'}h_{i,n}^{t'}-\sum_iU_{i,n}^th_{i,n}^t\|_2
        \le\tau_0\tau_1C_x\sum_i(\|U^{t'}_{i,n}\|_2\|h^{t'}_{i,n}-h^t_{i,n}\|_2
        +\|h^t_{i,n}\|_2\|U^{t'}_{i,n}-U^t_{i,n}\|_2)""",
    relation=AtMost(ascent=False), uses=("convergence.d1-gradients",), expects="refuted", severity="error",
    correction="convergence.eq-21-token-norm",
    note=r"""Two defects of the first inequality. The tokens $X^{(i,:)}$ differ with $i$ and cannot be taken out of the
        sum: products that cancel without them need not cancel with them. And Assumption 1 bounds a token by $\sqrt{d_s}
        C_x$, not by $C_x$; the second counterexample breaks the outer inequality, left side against last line.""",
)  # fmt: skip


@EQ_21.formula
def query_gradient_change_bounds(X: Tokens, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    """The second line, the last line, and the last line again as bound of the first, shape (3,)."""
    q = Factors(X, theta, theta_0, tau_0, tau_1)
    second, last = q.product_change(with_tokens=False), q.split_change()
    return stacked([second, last, last]) * (tau_0 * tau_1 * q.b.C_x)


@EQ_21.oracle
def query_gradient_change(X: Tokens, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    """The gradient by differentiation, the second line, the gradient again."""
    q = Factors(X, theta, theta_0, tau_0, tau_1)
    first = q.gradient_change("W_Q")
    return stacked([first, q.product_change(with_tokens=False) * (tau_0 * tau_1 * q.b.C_x), first])


EQ_21.mutant("change of U dropped", "q.split_change() -> q.split_change(with_U=0)")
EQ_21.mutant("change of h dropped", "q.split_change() -> q.split_change(with_h=0)")
EQ_21.counterexample(
    "tokens 1 and -1, each seen by a neuron of its own: 3/2 against 1/2 on the second line",
    X=[[1], [-1]], theta=[[1, 1, 1, 1], [0, 0, -1, Fraction(1, 2)]], theta_0=[[1, 1, 1, 0], [0, 0, -1, 0]],
    tau_0=1, tau_1=1,
)  # fmt: skip
EQ_21.counterexample(
    "tokens (1, 1) and (0, -1), one of them active: the last line is below the left side",
    X=[[1, 1], [0, -1]], theta=[[0, 1, 0, 1, 0, 1, 1]], theta_0=[[0, 1, 0, 1, 0, 1, 0]], tau_0=1, tau_1=1,
)  # fmt: skip


EQ_21_TOKENS = Claim(TWO_TOKENS, "convergence.eq-21-token-norm", label="Eq. (21), with the norm of a token",
    statement=r"""\tau_0,\tau_1>0:\
        \|\nabla_{W_Q}f(X_n;\theta^{t'})-\nabla_{W_Q}f(X_n;\theta^t)\|_F\le\tau_0\tau_1\sqrt{d_s}C_x\sum_i(
        \|U^{t'}_{i,n}\|_2\|h^{t'}_{i,n}-h^t_{i,n}\|_2+\|h^t_{i,n}\|_2\|U^{t'}_{i,n}-U^t_{i,n}\|_2)""",
    name="change of the query gradient, split, corrected",
    relation=AtMost(left="change of the gradient in W_Q", ascent=False), all_sizes=True, corrects="convergence.eq-21",
    of_project=True)  # fmt: skip
EQ_21_TOKENS.domain("steep attention")(steep_attention)


@EQ_21_TOKENS.formula
def query_gradient_change_bound(X: Tokens, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    """The last line of Eq. (21) with sqrt(d_s) C_x for C_x, a scalar."""
    q = Factors(X, theta, theta_0, tau_0, tau_1)
    return q.split_change() * (tau_0 * tau_1 * q.root)


EQ_21_TOKENS.oracle(gradient_change_in("W_Q"))
EQ_21_TOKENS.mutant("change of U dropped", "q.split_change() -> q.split_change(with_U=0)")
EQ_21_TOKENS.mutant("change of h dropped", "q.split_change() -> q.split_change(with_h=0)")


EQ_22 = Claim(TWO_TOKENS, "convergence.eq-22", label="Eq. (22)", name="change of the attention covariance",
    statement=r"""\|U_{i,n}^{t'}-U_{i,n}^t\|_2 \le\|W_K^{t'}X_n^\top(\mathrm{diag}( \beta_{i,n}^{t'})-\beta_{i,n}^{t'}
        \beta_{i,n}^{t'}) -W_K^tX_n^\top(\mathrm{diag}( \beta_{i,n}^t)-\beta_{i,n}^t \beta_{i,n}^t)\|_2\|X_n\|_2 \le
        C_x\sqrt{d_s} \big[\|W_K^{t'}-W_K^t\|_2\|X_n\|_2\| \mathrm{diag}(\beta_{i,n}^{t'})-
        \beta_{i,n}^{t'}\beta_{i,n}^{t'}\|_2 +\|W_K^t\|_2\|X_n\|_2\|\mathrm{diag}( \beta_{i,n}^{t'})-\beta_{i,n}^{t'}
        \beta_{i,n}^{t'} -\mathrm{diag}(\beta_{i,n}^t)-\beta_{i,n}^t\beta_{i,n}^t\|_2\big] \le
        C_x^2d_s\big[\|\theta^{t'}-\theta^t\|_2 +\bar\lambda_K(\|\mathrm{diag}( \beta_{i,n}^{t'})-\mathrm{diag}(
        \beta_{i,n}^t)\|_2 +\|\beta_{i,n}^{t'}\beta_{i,n}^{t'}-\beta_{i,n}^t\beta_{i,n}^t\|_2)\big] \le
        C_x^2d_s\big[\|\theta^{t'}-\theta^t\|_2 +\bar\lambda_K(\|\beta_{i,n}^{t'}-\beta_{i,n}^t\|_\infty
        +(\|\beta_{i,n}^{t'}\|_2+\| \beta_{i,n}^{t'}\|_2)\|\beta_{i,n}^{t'}- \beta_{i,n}^t\|_2)\big] \le
        C_x^2d_s\big[\|\theta^{t'}- \theta^t\|_2+3\bar\lambda_K\| \beta_{i,n}^{t'}-\beta_{i,n}^t\|_2\big] \le
        C_x^2d_s\big[\|\theta^{t'}-\theta^t\|_2 +3\bar\lambda_K2\tau_0C_x^2d_s(\bar\lambda_Q\|W_K^{t'}-W_K^t\|_2
        +\bar\lambda_K\|W_Q^{t'}-W_Q^t\|_2)\big] \le[C_x^2d_s+3\bar\lambda_Kz]\|\theta^{t'}-\theta^t\|_2""",
    relation=AtMost(ascent=False), expects="refuted", severity="error", uses=("convergence.lemma-11",),
    correction="convergence.eq-22-all-factors",
    doubt=Doubt(
        r"\boldsymbol{\beta}_{i,n}^{t'} \boldsymbol{\beta}_{i,n}^{t'} - "
        r"\operatorname{diag}(\boldsymbol{\beta}_{i,n}^{t}) - \boldsymbol{\beta}_{i,n}^{t} "
        r"\boldsymbol{\beta}_{i,n}^{t}",
        r"""The transposes of $\beta \beta^\top$ are lost, and $D^{t'} - D^t$ shows a minus before its last term, where
            the next line needs a plus."""),
    note="""The last line has lost the factor $C_x^2 d_s$ of its second term. It is no misprint: Eqs. (23), (24) and
        $c_3$ in Eq. (14) carry the loss on. Every line before it holds.""")  # fmt: skip


def _lines_22(q: Factors, i: int) -> list[Any]:
    """The right-hand sides of Eq. (22) but for the last, for token i."""
    X, (D, D_0), (beta, beta_0) = q.X, (q.covariances[0][i], q.covariances[1][i]), (q.betas[0][i], q.betas[1][i])
    size, W_K_0, move = spectral_norm(X), spectral_norm(q.ends[1]["W_K"]), frobenius_norm(beta - beta_0)
    outer, uniform = q.root**2, maximum(absolute(beta - beta_0))
    return [
        spectral_norm(q.outer[0][i] - q.outer[1][i]) * size,
        q.root * size * (q.moved("W_K") * spectral_norm(D) + W_K_0 * spectral_norm(D - D_0)),
        outer * (q.distance + q.b.K * (uniform + spectral_norm(beta @ beta.T - beta_0 @ beta_0.T))),
        outer * (q.distance + 3 * q.b.K * move),
        outer * (q.distance + 3 * q.b.K * q.attention_speed()),
    ]


def _change_of_U(q: Factors, i: int) -> Any:
    return spectral_norm(q.U[0][i] - q.U[1][i])


@EQ_22.formula
def covariance_change_bounds(X: Tokens, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    """For the first token the six lines, then the last one as bound of the left side, shape (7,)."""
    q = Factors(X, theta, theta_0, tau_0, tau_1)
    last = (q.root**2 + 3 * q.b.K * q.b.slope) * q.distance
    return stacked([*_lines_22(q, 0), last, last])


@EQ_22.oracle
def covariance_change(X: Tokens, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    q = Factors(X, theta, theta_0, tau_0, tau_1)
    left = _change_of_U(q, 0)
    return stacked([left, *_lines_22(q, 0), left])


EQ_22.mutant("lambda_K for 3 lambda_K", "3 * q.b.K -> q.b.K")
EQ_22.mutant("C_x in place of C_x^2 d_s", "q.root ** 2 -> q.b.C_x")
EQ_22.counterexample(
    "d_s = d = d_m = 1, C_x = 2, W_Q moves from 0 to 1: 100 before, 52 after the last step",
    X=[[2]], theta=[[1, 1, 0, 0]], theta_0=[[0, 1, 0, 0]], tau_0=1, tau_1=1,
)  # fmt: skip
EQ_22.counterexample("C_x = 32: U itself moves by more than the last line allows", _steep)


EQ_22_ALL = Claim(TWO_TOKENS, "convergence.eq-22-all-factors", label="Eq. (22), with the factor C_x^2 d_s kept",
    statement=r"""\tau_0,\tau_1>0:\ \|U_{i,n}^{t'}-U_{i,n}^t\|_2 \le C_x^2d_s[1+3\bar\lambda_Kz]\|\theta^{t'}-\theta^t\|_2,\quad
        z=2\tau_0C_x^2d_s(\bar\lambda_Q+\bar\lambda_K)""",
    name="change of the attention covariance, corrected", relation=AtMost(ascent=False), all_sizes=True,
    sizes={**ONE_SAMPLE.sizes, "d_s": (1, 3)}, uses=("convergence.eq-17-18",), corrects="convergence.eq-22",
    of_project=True,
    loose=r"""The factors $2$ in $z$ and $3$ before it are those of the paper, which bounds $\|\mathrm{diag}(\beta) -
        \beta\beta^\top\|$ by 2 where $1/2$ is sharp (convergence.lemma-12-quarter).""")  # fmt: skip
EQ_22_ALL.domain("steep attention")(steep_attention)


@EQ_22_ALL.formula
def covariance_lipschitz_bound(X: Tokens, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    """C_x^2 d_s (1 + 3 lambda_K z) ||theta' - theta||_2 for every token, shape (d_s,)."""
    q = Pair(X, theta, theta_0, tau_0, tau_1)
    return stacked([each(X.shape[0], lambda i: q.root**2 * (1 + 3 * q.b.K * q.b.slope) * q.distance)])


@EQ_22_ALL.oracle
def change_of_covariances(X: Tokens, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    q = Factors(X, theta, theta_0, tau_0, tau_1)
    return stacked([each(X.shape[0], lambda i: _change_of_U(q, i))])


EQ_22_ALL.mutant("factor C_x^2 d_s lost, as printed",
    "q.root ** 2 * (1 + 3 * q.b.K * q.b.slope) -> q.root ** 2 + 3 * q.b.K * q.b.slope")  # fmt: skip
EQ_22_ALL.mutant("attention taken as fixed", "q.root ** 2 * (1 + 3 * q.b.K * q.b.slope) -> q.root ** 2")


def _printed(q: Pair, norm: Any, gate: Any = 1, mixed: Any = 1) -> Any:
    """The braces of Eqs. (23) and (24), times what stands before them; `norm` is lambda_K in (23), lambda_Q in (24)."""
    first = 2 * norm * q.root**2 * (q.b.V * (q.gate_constant() * gate) + q.b.O)
    second = q.b.V * q.b.O * (q.root**2 + 3 * q.b.K * q.b.slope) * mixed
    return q.tau_0 * q.tau_1 * q.b.C_x * q.b.d_s * (first + second) * q.distance


def _corrected(q: Pair, norm: Any, third: Any = 3, gate: Any = 1, mixed: Any = 1) -> Any:
    inner = 2 * norm * (q.b.V * gate + q.b.O) + q.b.V * q.b.O * (1 + third * norm * q.b.slope) * mixed
    return q.tau_0 * q.b.per_sample * q.root**2 * inner * q.distance


_STATEMENT = (
    r"\|\nabla_{{W_{weight}}}f(X_n;\theta^{{t'}})-\nabla_{{W_{weight}}}f(X_n;\theta^t)\|_F\le\tau_0\tau_1C_xd_s\{{2\bar"
    r"\lambda_{other}d_sC_x^2[\bar\lambda_V(\bar\lambda_OC_x\sqrt{{d_s}}(1+\bar\lambda_Vz)+1)+\bar\lambda_O]+\bar\lambda_V"
    r"\bar\lambda_O[C_x^2d_s+3\bar\lambda_Kz]\}}\|\theta^{{t'}}-\theta^t\|_2"
)
_CORRECTED = (
    r"\tau_0,\tau_1>0:\ "
    r"\text{{If no pre-activation differs in sign, }}\|\nabla_{{W_{weight}}}f(X_n;\theta^{{t'}})-\nabla_{{W_{weight}}}f("
    r"X_n;\theta^t)\|_F\le\tau_0\tau_1C_x^3d_s^{{5/2}}\{{2\bar\lambda_{other}[\bar\lambda_V+\bar\lambda_O]+\bar\lambda_V"
    r"\bar\lambda_O[1+3\bar\lambda_{other}z]\}}\|\theta^{{t'}}-\theta^t\|_2,\ z=2\tau_0C_x^2d_s(\bar\lambda_Q+\bar\lambda_K)"
)

_LOOSE = (
    r"The constants of the paper are kept: each factor of the gradient and of its change is bounded by itself, all tokens are "
    r"taken to be as long as $\|X_n\|_F$, and softmax to move four times as fast as it can (convergence.lemma-12-quarter)."
)

EQ_23 = Claim(TWO_TOKENS, "convergence.eq-23", label="Eq. (23)", name="Lipschitz bound of the query gradient",
    statement=_STATEMENT.format(weight="Q", other="K"),
    relation=AtMost(left="change of the gradient in W_Q", ascent=False), expects="refuted", severity="error",
    proof=("convergence.eq-19", "convergence.eq-21", "convergence.eq-22"), correction="convergence.eq-23-fixed-pattern",
    note=r"""Three defects meet: the jump of $\mathrm{relu}'$ (Eq. (19)), the tokens taken out of the sum with norm
        $C_x$ (Eq. (21)), and the lost factor $C_x^2 d_s$ (Eq. (22)). The second counterexample needs no kink.""",
)  # fmt: skip
EQ_24 = Claim(TWO_TOKENS, "convergence.eq-24", label="Eq. (24)", name="Lipschitz bound of the key gradient",
    statement=_STATEMENT.format(weight="K", other="Q"),
    relation=AtMost(left="change of the gradient in W_K", ascent=False), expects="refuted", severity="error",
    uses=("convergence.gradient-wk",),
    proof=("convergence.eq-19", "convergence.eq-21", "convergence.eq-22"), correction="convergence.eq-24-fixed-pattern",
    note=r"""As Eq. (23), and $W_K$ appears as $3 \lambda_K z$ where the gradient in $W_K$ has $W_Q$. Both
        counterexamples break the line with $\lambda_Q$ in that place as well.""")  # fmt: skip
EQ_23_FIXED = Claim(TWO_TOKENS, "convergence.eq-23-fixed-pattern", label="Eq. (23), while no ReLU differs in state",
    statement=_CORRECTED.format(weight="Q", other="K"),
    assumptions=[SAME_PATTERN],
    name="Lipschitz bound of the query gradient, fixed pattern",
    relation=AtMost(left="change of the gradient in W_Q", ascent=False), all_sizes=True,
    sizes={**ONE_SAMPLE.sizes, "d_s": (1, 3)}, uses=("convergence.eq-21-token-norm", "convergence.eq-22-all-factors"),
    corrects="convergence.eq-23", of_project=True, loose=_LOOSE)  # fmt: skip
EQ_24_FIXED = Claim(TWO_TOKENS, "convergence.eq-24-fixed-pattern", label="Eq. (24), while no ReLU differs in state",
    statement=_CORRECTED.format(weight="K", other="Q"),
    assumptions=[SAME_PATTERN],
    name="Lipschitz bound of the key gradient, fixed pattern",
    relation=AtMost(left="change of the gradient in W_K", ascent=False), all_sizes=True,
    sizes={**ONE_SAMPLE.sizes, "d_s": (1, 3)}, uses=("convergence.gradient-wk",), corrects="convergence.eq-24",
    of_project=True, loose=_LOOSE)  # fmt: skip


def _across_a_kink(W_Q: list[int], W_K: list[int]) -> dict[str, Any]:
    e = Fraction(1, 10**4)
    theta, theta_0 = ([[*W_Q, *W_K, 1, value, 1]] for value in (e, -e))
    return {"X": [[1, 1], [-1, 1]], "theta": theta, "theta_0": theta_0, "tau_0": 1, "tau_1": 1}


@EQ_23.formula
def query_gradient_lipschitz_bound(X: Tokens, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    """The right-hand side of Eq. (23), a scalar."""
    q = Pair(X, theta, theta_0, tau_0, tau_1)
    return _printed(q, q.b.K)


EQ_23.oracle(gradient_change_in("W_Q"))
EQ_23.domain("across a kink")(across_a_kink)
EQ_23.mutant("change of U dropped", mixed=0)
EQ_23.mutant("gate taken as fixed", gate=0)
EQ_23.counterexample(
    "tokens (1, 1) and (-1, 1): W_V crosses a kink and the gradient jumps by 2", lambda: _across_a_kink([0, 0], [1, 0])
)
EQ_23.counterexample("no ReLU changes its state, C_x = 32: the lost factor C_x^2 d_s", _steep)


@EQ_24.formula
def key_gradient_lipschitz_bound(X: Tokens, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    """The right-hand side of Eq. (24), a scalar, with lambda_K in 3 lambda_K z as printed."""
    q = Pair(X, theta, theta_0, tau_0, tau_1)
    return _printed(q, q.b.Q)


EQ_24.oracle(gradient_change_in("W_K"))
EQ_24.domain("across a kink")(across_a_kink)
EQ_24.mutant("change of U dropped", mixed=0)
EQ_24.mutant("gate taken as fixed", gate=0)
EQ_24.counterexample(
    "tokens (1, 1) and (-1, 1): W_V crosses a kink and the gradient jumps by 2", lambda: _across_a_kink([0, 1], [0, 0])
)
EQ_24.counterexample(
    "no ReLU changes its state, C_x = 32, a large W_Q: the lost factor C_x^2 d_s", lambda: _steep(exchanged=True)
)


@EQ_23_FIXED.formula
def query_gradient_bound_of_fixed_pattern(X: Tokens, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    """The corrected right-hand side of Eq. (23), a scalar."""
    q = Pair(X, theta, theta_0, tau_0, tau_1)
    return _corrected(q, q.b.K)


EQ_23_FIXED.oracle(gradient_change_in("W_Q"))
EQ_23_FIXED.domain("steep attention", steep_attention)
EQ_23_FIXED.mutant("attention and its covariance taken as fixed in U", mixed=0)
EQ_23_FIXED.mutant("second derivative of attention dropped", third=0)
EQ_23_FIXED.mutant("factor C_x^2 d_s lost, as printed", "_corrected(q, q.b.K) -> _corrected(q, q.b.K, 3 / q.root ** 2)")


@EQ_24_FIXED.formula
def key_gradient_bound_of_fixed_pattern(X: Tokens, theta: Theta, theta_0: Theta, tau_0: Any, tau_1: Any) -> Any:
    """The corrected right-hand side of Eq. (24), a scalar."""
    q = Pair(X, theta, theta_0, tau_0, tau_1)
    return _corrected(q, q.b.Q)


EQ_24_FIXED.oracle(gradient_change_in("W_K"))
EQ_24_FIXED.domain("steep attention", steep_attention)
EQ_24_FIXED.mutant("attention and its covariance taken as fixed in U", mixed=0)
EQ_24_FIXED.mutant("second derivative of attention dropped", third=0)
EQ_24_FIXED.mutant("factor C_x^2 d_s lost, as printed", "_corrected(q, q.b.Q) -> _corrected(q, q.b.Q, 3 / q.root ** 2)")
