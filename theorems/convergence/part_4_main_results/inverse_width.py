"""LeCun and He initialisation at tau_0 = 1/d_m: the third convergence statement of the paper, and the width for one token.

For one token tau_0 plays no part in the network, so that what refutes Theorem 1 refutes it.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.part_4_main_results.theorems_1_and_2 import (
    ON_SAMPLES, READING_NOTE, THEOREMS, data_under, powers_of_alpha, refuted_by_three_samples,
)  # fmt: skip
from theorems.convergence.part_c_1_lemmas.constants import Scalars, stacked
from theorems.convergence.settings import Dimension, Positive, SampleCount
from verify.matrix import maximum, rational, sqrt
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Real

INVERSE_WIDTH = Claim(THEOREMS, "convergence.c3-inverse-width", label="Remark after Theorem 1; C.3, tau_0 = 1/d_m",
    statement=r"""\text{Besides, our proof framework is also valid for the }\tau_0=d_m^{-1}\text{ setting. We demonstrate that
        }d_m=\tilde\Omega(N^2)\text{ suffices to achieve global convergence, see Appendix C.3 for details. [C.3:] the
        convergence of training Transformer is guaranteed as in Eq. (4). Note that one can achieve the same width requirement
        and probability for He initialization}""",
    name="global convergence under LeCun and He initialisation at inverse width",
    assumptions=data_under("LeCun or He initialisation, tau_0 = 1/d_m"),
    relation=AtMost(left="the stated probability", signed=True), expects="refuted", severity="error",
    correction="convergence.c3-inverse-width-one-token", uses=ON_SAMPLES,
    proof=("convergence.prop-1", "convergence.lemma-15", "convergence.eq-45-46", "convergence.eq-47-psd-sum", "convergence.eq-48"),
    consequence=r"""The quadratic width of the abstract guarantees nothing on data that merely satisfy Assumptions 1 to 3; for
        given samples with $\lambda_0 > 0$ and one token use the explicit width of convergence.c3-inverse-width-one-token.""",
    note=r"""The samples are those that refute Theorem 1. They have one token, which gets all attention, so that $\tau_0$ plays
        no part: the same networks, losses and steps belong to both scalings. """ + READING_NOTE)  # fmt: skip
refuted_by_three_samples(INVERSE_WIDTH)


ONE_TOKEN = Claim(CONVERGENCE, "convergence.c3-inverse-width-one-token",
    label="LeCun initialisation at tau_0 = 1/d_m, for one token and given samples: the width that Eqs. (2) and (3) need",
    statement=r"""d_s=1,\ \lambda_0>0,\ \text{LeCun},\ \tau_0=d_m^{-1},\ d_m\ge\max\Big(d,\ w_{48},\
        \Big(\frac{128NC_xE}{\sqrt d\,\lambda_0}\Big)^2,\ \frac{4096NC_x^3E}{d\lambda_0},\
        \frac{4N}{\lambda_0}\max(1,128C_x^2BE)\Big),\ B=1+\frac{2048C_x^4}{d^2}\ \Rightarrow\ (2),(3)\text{ with probability at
        least }1-8e^{-d_m/2}-\delta_1-\delta_2,\text{ and (4) while no ReLU changes its state}""",
    name="sufficient width for one token, LeCun at inverse width", relation=AtMost(),
    assumptions=[
        Definition(
            "the norms at the bounds of Eq. (44) with the constant 4, an event that fails with probability at most "
            "8 exp(-d_m/2); C_Q = C_K = C_V = C_O = 1", by=Scalars,
        ),
        Definition(
            "alpha^2 at the bound d_m lambda_0 / 4 of Eq. (48), an event that fails with probability at most delta_1 from "
            "the width w_48 of convergence.eq-48 on, which is at least N", by=powers_of_alpha,
        ),
        Definition(
            "sqrt(2 l(theta^0)) at the bound sqrt(N) E, E = C_y + (v/delta_2)^{1/2}, of convergence.loss-init-sqrt-n, an event "
            "that fails with probability at most delta_2", by=sqrt,
        ),
        Assumption("lambda_0, C_x, E > 0", positive=lambda least, C_x, E: stacked([least, C_x, E])),
        Assumption(
            "d_m is at least d and the last three members of the maximum",
            nonnegative=lambda N, d, least, C_x, E, d_m: stacked(
                [d_m - d, *(d_m - width for width in _sufficient_widths(N, d, least, C_x, E))]
            ),
        ),
    ],
    sizes={"N": (1, 4), "d": (1, 4)},
    uses=("convergence.eq-44", "convergence.eq-48", "convergence.loss-init-sqrt-n", "convergence.prop-1-fixed-pattern"),
    corrects="convergence.c3-inverse-width", of_project=True,
    note=r"""The width is of order $N^2 / \lambda_0^2$, as the paper's is where $\lambda_0$ does not depend on $N$. $\max(1, a)
        \ge a^{2/3}$ stands for the power that Eq. (3) asks for. The step sizes
        for which Eq. (4) then holds are those of convergence.prop-1-fixed-pattern.""")  # fmt: skip


def _sufficient_widths(N: int, d: int, least: Any, C_x: Any, E: Any) -> list[Any]:
    """The last three members of the maximum: two from Eq. (2), one from Eq. (3)."""
    one = least * 0 + 1
    B = 1 + C_x**4 * rational(2048, d * d)
    first = (C_x * E * (128 * N) / (sqrt(one * d) * least)) ** 2
    second = C_x**3 * E * (4096 * N) / (least * d)
    return [first, second, maximum(stacked([one, C_x**2 * B * E * 128])) * (4 * N) / least]


@ONE_TOKEN.inputs
def inverse_width_for_one_token(N: SampleCount, d: Dimension, least: Positive, C_x: Positive, E: Positive,
                                extra: Annotated[Any, Real(0.0, 2.0)]) -> dict[str, Any]:  # fmt: skip
    width = maximum(stacked([*_sufficient_widths(N, d, least, C_x, E), least * 0 + d]))
    return {"N": N, "d": d, "least": least, "C_x": C_x, "E": E, "d_m": width * (1 + extra)}


@ONE_TOKEN.formula
def least_powers_of_alpha_at_inverse_width(least: Positive, d_m: Positive) -> Any:
    """alpha^2 and alpha^3 at alpha^2 = d_m lambda_0 / 4, shape (2,)."""
    return powers_of_alpha(least, d_m, rational(1, 4))


@ONE_TOKEN.oracle
def right_sides_at_inverse_width(N: int, d: int, C_x: Positive, E: Positive, d_m: Positive) -> Any:
    """The right-hand sides of Eqs. (2) and (3) with the norms of Eq. (44), shape (2,)."""
    norm, one = 4 * sqrt(d_m / d), C_x * 0 + 1
    b = Scalars(N, 1, 1 / d_m, one, C_x, norm, norm, norm, 4 * one)
    error = sqrt(one * N) * E
    return stacked([b.condition_2() * error, b.condition_3(b.Q) * error])


ONE_TOKEN.mutant("d_m lambda_0 / 8", share=rational(1, 8))
ONE_TOKEN.mutant("lambda_0 / 4, as under NTK initialisation", "d_m -> d_m / d_m")
ONE_TOKEN.mutant("lambda_0^2 for lambda_0", "least -> least * least")
