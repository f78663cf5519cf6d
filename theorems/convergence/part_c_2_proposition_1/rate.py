"""The rate of Proposition 1: the PL inequality, the last line of its proof, and a checker of its conditions.

`proposition_1_conditions` is to be imported.  What is surprising: sigma_min >= alpha / 2 gives half the printed rate; Eq. (3)
has room for the printed one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

from theorems.convergence import CONVERGENCE, definitions
from theorems.convergence.definitions import KeyWeights, Labels, OutputWeights, QueryWeights, Samples, ValueWeights
from theorems.convergence.part_c_1_lemmas.constants import (
    NOT_NARROW, THETA_T, Bounds, PositiveScale, by_name, joined, sample_bound, stacked,
)  # fmt: skip
from verify.matrix import frobenius_norm, rational, smallest_singular_value, total
from verify.oracles import jacobian, jacobians
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Doubt, Real

Share = Annotated[Any, Real(0.0625, 1.0)]


# -- reference: are the conditions of Proposition 1 met? ---------------------------------------------------------------


@dataclass(frozen=True)
class Conditions:
    """Both sides of Eqs. (2) and (3) and the constants of Proposition 1, C_Q = C_K = C_V = C_O = 1.

    alpha: sigma_min(F_pre).  second, third: (left side, right side) of Eqs. (2) and (3), the third with lambda_Q in z, as
    Appendix C.2 needs it.  C: Eq. (37) as printed; C_of_fixed_pattern: the constant that holds while no ReLU changes its
    state.  Scalars in the arithmetic of the inputs.
    """

    alpha: Any
    second: tuple[Any, Any]
    third: tuple[Any, Any]
    C: Any
    C_of_fixed_pattern: Any

    @property
    def met(self) -> bool:
        """Whether Eqs. (2) and (3) both hold, for certain where the inputs are balls."""
        return all(bool(left >= right) for left, right in (self.second, self.third))


def proposition_1_conditions(X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights,
                             w_O: OutputWeights, tau_0: Any, tau_1: Any) -> Conditions:  # fmt: skip
    """The conditions of Proposition 1 at weights theta^0, C_x as small as Assumption 1 allows (Eqs. (2), (3), (37)).

    X (N, d_s, d), y (N, 1), W_Q, W_K, W_V (d_m, d), w_O (d_m, 1); needs d_m >= N.  A step size gamma <= 1/C does not
    guarantee Eq. (4) where a ReLU changes its state (convergence.prop-1).
    """
    b = Bounds(X, W_Q, W_K, W_V, w_O, tau_0, tau_1, sample_bound(X))
    error = frobenius_norm(definitions.outputs(X, W_Q, W_K, W_V, w_O, tau_0, tau_1) - y)
    return Conditions(
        alpha=b.alpha,
        second=(b.alpha**2, b.condition_2() * error),
        third=(b.alpha**3, b.condition_3(b.Q) * error),
        C=b.C(error),
        C_of_fixed_pattern=b.C_of_fixed_pattern(error),
    )


def _gradient(X: Any, y: Any, W: dict[str, Any], tau_0: Any, tau_1: Any) -> Any:
    """grad l over all weights by differentiation, a row, in the arithmetic of tau_1 where plain zeros come back."""
    slopes = jacobians(definitions.squared_loss, list(W))(X, y, **W, tau_0=tau_0, tau_1=tau_1)
    return joined(*(slope.reshape(1, -1) for slope in slopes.values())) + tau_1 * 0


def _smallest_eigenvalues(X: Any, W: dict[str, Any], tau_0: Any, tau_1: Any) -> tuple[Any, Any]:
    """lambda_min of the tangent kernel, by differentiation, and of F_pre F_pre^T."""
    blocks = jacobians(definitions.outputs, definitions.WEIGHTS)(X, **W, tau_0=tau_0, tau_1=tau_1)
    J = joined(*blocks.values()) + tau_1 * 0
    F = definitions.last_hidden_layer(X, W["W_Q"], W["W_K"], W["W_V"], tau_0, tau_1)
    return smallest_singular_value(J) ** 2, smallest_singular_value(F) ** 2


PL = Claim(CONVERGENCE, "convergence.pl-inequality", label="Section 4.1, proof sketch",
    statement=r"""\|\nabla\ell(\theta)\|_2^2\ge2\lambda_{\min}(K)\ell(\theta) \ge2\lambda_{\min}(K)\
        2\lambda_{\min}(F_{pre}F_{pre}^\top)\ell(\theta)""",
    assumptions=[
        Definition("K the tangent kernel over all weights", by=_smallest_eigenvalues),
        Definition("f as in Eqs. (1.1)-(1.2)", by=definitions.outputs), NOT_NARROW,
    ],
    name="Polyak-Lojasiewicz inequality", relation=AtMost(ascent=False),
    sizes={"N": (1, 2), "d_s": (1, 3), "d": (1, 2), "d_m": (1, 2)},
    doubt=Doubt(
        r"2\lambda_{\min}(K)\ell(\theta) \ge 2\lambda_{\min}(K)$ "
        r"$2\lambda_{\min}(\mathbf{F}_{\text{pre}}\mathbf{F}_{\text{pre}}^{\top})\ell(\boldsymbol{\theta})",
        r"The extraction repeats $2 \lambda_{\min}(K)$."))  # fmt: skip


@PL.formula
def squared_gradient(X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                     tau_0: PositiveScale, tau_1: PositiveScale) -> Any:  # fmt: skip
    """||grad l||^2 and 2 lambda_min(K) l, shape (2,)."""
    W = by_name(W_Q, W_K, W_V, w_O)
    gradient, loss = _gradient(X, y, W, tau_0, tau_1), definitions.squared_loss(X, y, **W, tau_0=tau_0, tau_1=tau_1)
    return stacked([total(gradient * gradient), 2 * _smallest_eigenvalues(X, W, tau_0, tau_1)[0] * loss])


@PL.oracle
def kernel_bounds(X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any) -> Any:
    loss = definitions.squared_loss(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1)
    kernel, hidden = _smallest_eigenvalues(X, by_name(W_Q, W_K, W_V, w_O), tau_0, tau_1)
    return stacked([2 * kernel * loss, 2 * hidden * loss])


PL.mutant("half the squared gradient", "total(gradient * gradient) -> total(gradient * gradient) * rational(1, 2)")


@PL.mutant("gradient in w_O alone for the kernel")
def _(X: Any, y: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any) -> Any:
    loss = definitions.squared_loss(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1)
    slope = jacobian(definitions.squared_loss, "w_O")(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1) + tau_1 * 0
    hidden = _smallest_eigenvalues(X, by_name(W_Q, W_K, W_V, w_O), tau_0, tau_1)[1]
    return stacked([total(slope * slope), 2 * hidden * loss])


def loss_after_one_step(loss: PositiveScale, gamma: PositiveScale, sigma: PositiveScale) -> Any:
    """l - gamma sigma^2 (2 l) / 2, twice."""
    return stacked([loss - gamma * sigma**2 * (2 * loss) / 2] * 2)


POSITIVE = Assumption("l, gamma, alpha > 0", positive=lambda loss, gamma, alpha: stacked([loss, gamma, alpha]))

LAST_LINE = Claim(CONVERGENCE, "convergence.rate-last-line", label="C.2, last line of the final chain",
    statement=r"""\ell(\theta^\top)-\tfrac12\gamma(\sigma_{\min}(F_{pre}^t))^2\|f^t-y\|_2^2
        \le(1-\gamma\tfrac\alpha2)\ell(\theta^\top)\quad(\text{By induction assumption});\qquad (25):\
        \sigma_{\min}(F_{pre}^s)\ge\tfrac12\alpha,\ \ell(\theta^s)\le\big(1-\gamma\tfrac{\alpha^2}2\big)^s\ell(\theta^0)
    """,
    assumptions=[
        Definition("||f - y||^2 = 2 l", by=loss_after_one_step),
        Assumption("sigma_min(F_pre^t) >= alpha / 2", nonnegative=lambda alpha, sigma: sigma - alpha / 2),
        POSITIVE,
    ],
    name="convergence rate from half the singular value", relation=AtMost(signed=True), expects="refuted",
    severity="error", correction="convergence.rate-from-condition-3",
    doubt=Doubt((r"(1 - \gamma \frac{\alpha}{2}) \ell", THETA_T), r"""Eqs. (4) and (25) have $\alpha^2/2$ in this place;
            the counterexample breaks both. $\theta^\top$ stands for $\theta^t$, as in Lemma 12."""),
    note=r"""$\sigma_{\min} \ge \alpha/2$ gives the factor $1 - \gamma \alpha^2 / 4$, not $1 - \gamma \alpha^2 / 2$. The
        printed $\alpha/2$ would need $\alpha \ge 2$. Eq. (4) can be saved: Eq. (3) has room for $\sigma_{\min} \ge 7
        \alpha / 8$ (convergence.rate-from-condition-3).""")  # fmt: skip


@LAST_LINE.inputs
def singular_value_allowed(loss: PositiveScale, gamma: PositiveScale, alpha: PositiveScale,
                           excess: Share) -> dict[str, Any]:  # fmt: skip
    """sigma_min between alpha / 2 and alpha."""
    return {"loss": loss, "gamma": gamma, "alpha": alpha, "sigma": alpha * rational(1, 2) * (1 + excess)}


@LAST_LINE.formula
def printed_factors(loss: PositiveScale, gamma: PositiveScale, alpha: PositiveScale) -> Any:
    """(1 - gamma alpha / 2) l and (1 - gamma alpha^2 / 2) l, shape (2,)."""
    return stacked([loss * (1 - gamma * alpha / 2), loss * (1 - gamma * alpha**2 / 2)])


LAST_LINE.oracle(loss_after_one_step)
LAST_LINE.mutant("no 1/2", "gamma * alpha / 2 -> gamma * alpha; gamma * alpha ** 2 / 2 -> gamma * alpha ** 2")
LAST_LINE.mutant("alpha / 4",
    "gamma * alpha / 2 -> gamma * alpha / 4; gamma * alpha ** 2 / 2 -> gamma * alpha ** 2 / 4")  # fmt: skip
LAST_LINE.counterexample(
    "alpha = 1, sigma_min = 1/2, gamma = 1/10: 39/40 of the loss is left, 19/20 printed",
    loss=Fraction(1), gamma=Fraction(1, 10), alpha=Fraction(1), sigma=Fraction(1, 2),
)  # fmt: skip


def least_fall(loss: PositiveScale, gamma: PositiveScale, alpha: PositiveScale, q: PositiveScale) -> Any:
    sigma = alpha - 4 * q / alpha**2
    kept = (1 - gamma * alpha**2 * rational(49, 64)) * loss
    return stacked([alpha * rational(7, 8), loss - gamma * sigma**2 * (2 * loss) / 2, kept])


RATE = Claim(CONVERGENCE, "convergence.rate-from-condition-3", label="The rate of Eq. (4), from Eq. (3)",
    statement=r"""\alpha^3\ge32\rho^2z\sqrt{2\ell(\theta^0)}/\bar\lambda_O,\ \|F_{pre}^t-F_{pre}^0\|_F\le\rho^2\tfrac
        z{\bar\lambda_O}\tfrac4{\alpha^2}\sqrt{2\ell(\theta^0)}\ \Rightarrow\ \sigma_{\min}(F_{pre}^t)\ge\tfrac78\alpha,
        \ \ell(\theta^t)-\tfrac12\gamma\sigma_{\min}(F_{pre}^t)^2\|f^t-y\|_2^2\le(1-\tfrac{49}{64}\gamma\alpha^2)\ell(
        \theta^t)\le(1-\tfrac12\gamma\alpha^2)\ell(\theta^t)""",
    assumptions=[
        Assumption("Eq. (3): alpha^3 >= 32 q", nonnegative=lambda alpha, q: alpha**3 - 32 * q),
        Definition(
            "q stands for rho^2 z sqrt(2 l(theta^0)) / lambda_O; sigma_min(F_pre^t) is the least that Weyl's inequality allows,"
            " alpha - 4 q / alpha^2",
            by=least_fall,
        ),
        POSITIVE,
    ],
    name="convergence rate from Eq. (3)", relation=AtMost(signed=True), all_sizes=True, corrects="convergence.rate-last-line",
    of_project=True,
    note=r"""$\gamma \sum_s u^s \le 4 / \alpha^2$ after Eq. (27), so the $16 / \alpha^2$ of the chain for $F_{pre}$ is
        four times more than needed. The induction of C.2 then closes with the printed rate of Eq. (4), as far as Eq.
        (37) may be granted.""")  # fmt: skip


@RATE.inputs
def condition_3_met(loss: PositiveScale, gamma: PositiveScale, alpha: PositiveScale, share: Share) -> dict[str, Any]:
    return {"loss": loss, "gamma": gamma, "alpha": alpha, "q": alpha**3 * share * rational(1, 32)}


@RATE.formula
def rate_of_equation_4(loss: PositiveScale, gamma: PositiveScale, alpha: PositiveScale, q: PositiveScale) -> Any:
    """What bounds 7 alpha / 8, the loss after a step, and the factor 49/64, shape (3,)."""
    kept = (1 - gamma * alpha**2 * rational(49, 64)) * loss
    return stacked([alpha - 4 * q / alpha**2, kept, (1 - gamma * alpha**2 / 2) * loss])


RATE.oracle(least_fall)
RATE.mutant("16 / alpha^2, as in the chain", "4 -> 16")
RATE.mutant(
    "gamma alpha^2",
    "gamma * alpha ** 2 * rational(49, 64) -> gamma * alpha ** 2; gamma * alpha ** 2 / 2 -> gamma * alpha ** 2",
)
