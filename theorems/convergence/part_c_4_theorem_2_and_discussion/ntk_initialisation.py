"""Appendix C.4: what Eqs. (2) and (3) ask for under NTK initialisation, Eqs. (56)-(58), and Eqs. (60) and (61).

The last two lost tau_1^2 = 1/d_m: with it the width drops out of both sides.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.part_c_1_lemmas.constants import stacked
from theorems.convergence.part_c_3_theorem_1.hidden_layer import (
    ANY_PHI, CONDITIONED, DELTAS, PHI_FIXED, eigenvalue_shortfalls,
)  # fmt: skip
from theorems.convergence.part_c_3_theorem_1.minimum_eigenvalue import lambda_0
from theorems.convergence.part_c_3_theorem_1.norms_and_widths import CONSTANTS, ORDERS, Bound, squared_conditions
from theorems.convergence.settings import Dimension, Features, Length, SampleCount, Variance, Width, drawn
from verify.matrix import rational
from verify.vocabulary import Assumption, AtMost, Claim, Definition, FollowsLaw, OrderOfGrowth, Reading, Real, checked

EQ_57_58 = Claim(ORDERS, "convergence.eq-57-58", label="Eqs. (56)-(58)",
    statement=r"""\text{NTK}:\ \bar\lambda_V,\bar\lambda_Q,\bar\lambda_K=\mathcal O(\sqrt{d_m}+\sqrt d),\
        \bar\lambda_O=\mathcal O(\sqrt{d_m});\ d_m\ge d:\ (57)\ \alpha^2\ge\mathcal O(\sqrt
        Nd_s^{5/2}C_x^3)\sqrt{2\ell(\theta^0)},\ (58)\ \alpha^3\ge\mathcal
        O(Nd_s^3C_x^2(1+4C_x^4d_s^2))\sqrt{2\ell(\theta^0)}\ \text{suffice for (2),(3)}""",
    name="convergence conditions under NTK initialisation",
    assumptions=[Definition("tau_0 = 1/d_m, tau_1 = d_m^{-1/2}", by=squared_conditions), CONSTANTS],
    relation=OrderOfGrowth(along=("N", "d_s", "C_x", "d_m", "d d_m")), all_sizes=True, expects="reading",
    reading=Reading(r"\alpha^2 \ge \mathcal{O}(\sqrt{N}d_s^{5/2}C_x^3)\sqrt{2\ell(\boldsymbol{\theta}^0)}",
        r"""a lower bound by $O(\cdot)$ in several variables: an absolute constant times it, for $N$, $d_s$, $C_x$, $d$,
            $d_m$ from 1 on, as they grow"""),
    note=r"""With all four norms at $4 \sqrt{d_m}$, by Lemma 5 as for Eq. (44). Assumption 1 allows any larger $C_x$, so
        $C_x \ge 1$ is no loss. For $C_x^2 d_s < 1/2$ the first member of the maximum in (2) is the largest, and $C_x^3$
        is too small. (58) could carry a further $d_m^{-1/2}$: $\rho^2$ has $1/d_m$, $\lambda_O$ only $\sqrt{d_m}$.""",
)  # fmt: skip


@EQ_57_58.formula
def printed_ntk_conditions(N: SampleCount, d_s: Length, C_x: Bound, d: Dimension, d_m: Width) -> list[int]:
    """Squares of the printed orders (57) and (58)."""
    return [N * d_s**5 * C_x**6, N**2 * d_s**6 * C_x**4 * (1 + 4 * C_x**4 * d_s**2) ** 2]


@EQ_57_58.part("cost")
def ntk_conditions(N: int, d_s: int, C_x: int, d: int, d_m: int) -> list[Fraction]:
    norm = Fraction(16) * d_m
    return squared_conditions(N, d_s, C_x, Fraction(1) / d_m**2, Fraction(1) / d_m, norm, norm)


EQ_57_58.part("constant", lambda: [2**20, 2**32])


EQ_57_58.mutant("(57) with d_s^{3/2}", "5 -> 3")
EQ_57_58.mutant("(58) with sqrt(N)", "N ** 2 -> N")
EQ_57_58.mutant("(57) with C_x", "C_x ** 6 -> C_x ** 2")


Failure = Annotated[Any, Real(0.0625, 0.5)]


@checked
def expected_eigenvalue_at_most(Phi: Features, d_m: Width) -> Any:
    """lambda_min(E F F^T) = tau_1^2 d_m lambda_min(E relu relu^T), an upper bound of E lambda_min(F F^T); a scalar."""
    return lambda_0(Phi, 1)


def printed_expectation_at_least(Phi: Features, delta: Failure, d_m: Width) -> Any:
    """(1 - delta) d_m lambda_0 / 4, below E lambda_min(F F^T) if the printed bound holds with probability 1 - delta."""
    return (1 - delta) * lambda_0(Phi, 1) * rational(d_m, 4)


EQ_60_61 = Claim(CONVERGENCE, "convergence.eq-60-61", label='C.4, "By Eq. (48)" and (60), (61)',
    statement=r"""\text{NTK initialization}:\ \lambda_{\min}(\hat F_{pre}\hat F_{pre}^\top)\ge d_m\lambda_0/4;\ (60)\
        d_m\lambda_0/4\ge\tilde{\mathcal O}(Nd_s^{5/2}C_x^3),\ (61)\ (d_m\lambda_0/4)^{3/2}\ge\tilde{\mathcal
        O}(N^{3/2}d_s^3C_x^2(1+4C_x^4d_s^2));\ \text{all hold when }d_m=\tilde\Omega(N)""",
    assumptions=[
        Definition(
            r"\hat F_{pre}\hat F_{pre}^T = tau_1^2 sigma_r(Phi W_V^T) sigma_r(Phi W_V^T)^T, tau_1 = d_m^{-1/2}",
            by=expected_eigenvalue_at_most,
        ),
        Definition("the first bound holds with probability at least 1 - delta", by=printed_expectation_at_least),
        Assumption("0 < delta < 1", positive=lambda delta: stacked([delta, 1 - delta])),
    ],
    name="required width under NTK initialisation",
    relation=AtMost(left="(1 - delta) d_m lambda_0 / 4", ascent=False, signed=True),
    sizes={"N": (1, 3), "d": (1, 3), "d_m": (1, 16)}, expects="refuted", severity="error",
    correction="convergence.eq-60-61-scaled",
    note=r"""$\tau_1^2 = 1/d_m$ was lost. $\lambda_{\min}$ is concave, so $E \lambda_{\min}(F F^\top) \le
        \lambda_{\min}(E F F^\top) = \lambda_0$, while the printed bound would make it at least $(1 - \delta) d_m
        \lambda_0/4$. With $\lambda_0/4$ in place of $d_m \lambda_0/4$ the width drops out of the left sides of (60) and
        (61): wherever $\sqrt{2 \ell}$ is of order $\sqrt{N}$, no width meets (57) for large $N$, since $\lambda_0$ is
        at most $\eta_V d_s C_x^2/2$.""")  # fmt: skip


EQ_60_61.formula(expected_eigenvalue_at_most)
EQ_60_61.oracle(printed_expectation_at_least)
EQ_60_61.mutant("tau_1 = 1", lambda value, d_m: value * d_m)
EQ_60_61.mutant("tau_1 = 1/d_m", lambda value, d_m: value * rational(1, d_m))
EQ_60_61.inputs(drawn(Phi=Features, delta=Failure, d_m=Width))
EQ_60_61.counterexample("Phi = 1, d_m = 16, delta = 1/10: the expectation is 1/2, the printed bound makes it 9/5",
    Phi=[[1]], delta="1/10", d_m=16)  # fmt: skip


EQ_60_SCALED = Claim(CONDITIONED, "convergence.eq-60-61-scaled", label="C.4, with tau_1",
    statement=r"""\text{NTK initialization}:\ \lambda_{\min}(\hat F_{pre}\hat F_{pre}^\top)\ge\lambda_0/4\
        \text{w.p.}\ge1-\delta\text{ as long as }d_m\ge105\tfrac S{\lambda_0}\log\tfrac{23S}{\lambda_0}\log\tfrac
        N\delta,\ S=\|\Phi\|_F^2""",
    name="hidden-layer eigenvalue under NTK initialisation", assumptions=[PHI_FIXED],
    levels={"delta": DELTAS},
    relation=FollowsLaw(samples=100, instances=2), domains=[], corrects="convergence.eq-60-61", of_project=True,
    needless=ANY_PHI,
    note=r"""The width is that of the reading of Eq. (48) (convergence.eq-48), whose note has the proof: 105 is above
        $16/0.153$ and 23 is above $16\sqrt2$. $\eta_V = 1$. Tested at $\delta = 1/2$, 1/8 and 1/32.""",
)  # fmt: skip


@EQ_60_SCALED.formula
def quarter_of_lambda_0(Phi: Features, eta_V: Variance, d_m: Any) -> float:
    """lambda_0 / 4 at eta_V = 1."""
    return float(lambda_0(Phi, eta_V)) / 4


EQ_60_SCALED.part(
    "laws",
    lambda formula, generator, samples, Phi: eigenvalue_shortfalls(formula, generator, samples, Phi, 1.0, ntk=True),
)
EQ_60_SCALED.inputs(drawn(Phi=Features))
EQ_60_SCALED.mutant("d_m lambda_0 / 4, as printed", "4 -> 4 / d_m")
EQ_60_SCALED.mutant("lambda_0", "4 -> 1")
