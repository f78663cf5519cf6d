"""Eqs. (18)-(20): moments of the logits C = alpha X Z X^T + beta X X^T, and of gamma = C_ii - C_ij with its limiting law.

Eq. (19) inherits the error of Eq. (17), and Eq. (20) that of Eq. (19); `skipless.logit-moments` has what holds.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from theorems.skipless.part_a4_1_logits.enumeration import (
    DRAWN_LOGITS, LOGITS, NOISE, TOKENS, Scale, covariance, gap, mean_and_variance, other_logit, own_logit, raw_moment,
        sampled_pair,
)  # fmt: skip
from theorems.skipless.sampling import near_law
from theorems.skipless.settings import AT_PRINTED_DIMENSIONS, PRINTED_SCALES, Dimension, dimension_alone
from verify.matrix import column, concatenate
from verify.oracles import LawTest, Moments, NormalLaw, moment_test
from verify.vocabulary import Assumption, Claim, Definition, Equal, FollowsLaw

if TYPE_CHECKING:
    import torch

LOGIT_MOMENTS = Claim(LOGITS, "skipless.logit-moments", label="First and second moments of the logits",
    statement=r"""\mathbb{E}[\mathbf{C}_{ii}]=\beta d,\ \mathbb{E}[\mathbf{C}_{ij}]=0,\ \mathrm{Var}(\mathbf{C}_{ii})=
        \alpha^2(d+2)+2\beta^2d,\ \mathrm{Var}(\mathbf{C}_{ij})=(\alpha^2+\beta^2)d,\ \mathrm{Cov}(\mathbf{C}_{ii},
        \mathbf{C}_{ij})=0\quad(i\ne j)""",
    name="moments of the logits", relation=Equal(), all_sizes=True, of_project=True,
    note=r"""$(\alpha, \beta) = (0, 1)$ gives $A$, $(1, 0)$ gives $B$. Cross terms of $A$ and $B$ are odd in $Z$, and
        $C_{ij}$ is odd in row $j$.""")  # fmt: skip


@LOGIT_MOMENTS.formula
def logit_moments_exactly(alpha: Scale, beta: Scale, d: Dimension) -> Any:
    """E C_ii, E C_ij, Var C_ii, Var C_ij, Cov(C_ii, C_ij), shape (5, 1)."""
    a, b = alpha * alpha, beta * beta
    return column(beta * d, 0 * a, a * (d + 2) + b * (2 * d), (a + b) * d, 0 * b)


@LOGIT_MOMENTS.oracle
def logit_moments_expected(alpha: Scale, beta: Scale, d: Dimension) -> Any:
    own = mean_and_variance(own_logit, alpha, beta, d)
    other = mean_and_variance(other_logit, alpha, beta, d)
    return column(own[:1], other[:1], own[1:], other[1:], covariance(alpha, beta, d))


LOGIT_MOMENTS.mutant("diagonal variance without the 2 of d + 2", "d + 2 -> d")
LOGIT_MOMENTS.mutant("off-diagonal variance as in Eq. (19)", "(a + b) * d -> a + b * d")
LOGIT_MOMENTS.mutant("entries of a row correlated", "0 * b -> a")

SAMPLED = Claim(DRAWN_LOGITS.extended(sizes={"d": (1, 8)}, inputs=dimension_alone), "skipless.logit-moments-sampled",
    label="First and second moments of the logits, by simulation", name="moments of the logits by simulation",
    statement=LOGIT_MOMENTS.statement,
    assumptions=[Definition("(alpha, beta) = (2, 3/5), (9/5, 1), (0, 1/2), as in Sections 6.1, 6.2 and A.8", by=PRINTED_SCALES)],
    relation=FollowsLaw(samples=4_000, instances=3), of_project=True, uses=("skipless.logit-moments",),
    note="A second oracle that shares nothing with the expectations.")  # fmt: skip


@SAMPLED.formula
def logit_moments_in_numbers(alpha: float, beta: float, d: int) -> tuple[float, float, float, float]:
    """E C_ii, Var C_ii, Var C_ij, Cov(C_ii, C_ij)."""
    return beta * d, alpha**2 * (d + 2) + 2 * beta**2 * d, (alpha**2 + beta**2) * d, 0.0


@SAMPLED.part("laws")
def laws_of_row(formula: Callable[..., Any], generator: torch.Generator, samples: int, d: int) -> list[LawTest]:
    tests = []
    for alpha, beta in PRINTED_SCALES:
        own, other = sampled_pair(generator, samples, d, alpha, beta)
        mean, variance, off, covariance = formula(alpha, beta, d)
        name = f"alpha = {alpha}, beta = {beta}, d = {d}"
        tests += Moments(mean, variance).tests(f"C_ii, {name}", own)
        tests += Moments(0.0, off).tests(f"C_ij, {name}", other)
        tests.append(moment_test(f"covariance, {name}", (own - mean) * other, covariance))
    return tests


@SAMPLED.at_scale("token dimension of Section 6.2", d=384)
@SAMPLED.at_scale("token dimension of Section 6.1", d=768)
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Nothing is fixed but d."""


SAMPLED.mutant("off-diagonal variance as in Eq. (19)", "(alpha ** 2 + beta ** 2) * d -> alpha ** 2 + beta ** 2 * d")
SAMPLED.mutant("covariance beta^2 d", "0.0 -> beta ** 2 * d")

EQ_18 = Claim(LOGITS, "skipless.eq-18", label="Eq. (18)", name="variance of diagonal logits",
    statement=r"""\text{For the combined matrix (attention map) }\mathbf{C}=\alpha\mathbf{B}+\beta\mathbf{A}\text{, we
        have Diagonal entries }(i=j):\ \mathbb{E}[\mathbf{C}_{ii}]=\beta d,\
        \mathrm{Var}(\mathbf{C}_{ii})\approx\alpha^2(d+2)+\beta^2(2d)""",
    relation=Equal(), all_sizes=True, uses=("skipless.eq-14", "skipless.eq-16", "skipless.logit-moments-sampled"),
    note="Exact, not approximate: the covariance of $A_{ii}$ and $B_{ii}$ is odd in $Z$ and vanishes.")  # fmt: skip


@EQ_18.formula
def diagonal_logit_moments(alpha: Scale, beta: Scale, d: Dimension) -> Any:
    """Mean and variance of C_ii, shape (2, 1) (Eq. (18))."""
    a, b = alpha * alpha, beta * beta
    return column(beta * d, a * (d + 2) + b * (2 * d))


EQ_18.oracle(lambda alpha, beta, d: mean_and_variance(own_logit, alpha, beta, d))

EQ_18.mutant("standard deviations added instead of variances", "b * (2 * d) -> (b + alpha * beta) * (2 * d)")
EQ_18.mutant("alpha and beta exchanged", "a * (d + 2) + b * (2 * d) -> b * (d + 2) + a * (2 * d)")
EQ_18.mutant("mean beta, as if A were divided by d", "beta * d -> beta * 1")

EQ_19 = Claim(LOGITS, "skipless.eq-19", label="Eq. (19)", name="variance of off-diagonal logits",
    statement=r"""\text{Off-diagonal entries }(i\ne j):\ \mathbb{E}[\mathbf{C}_{ij}]=0,\
        \mathrm{Var}(\mathbf{C}_{ij})\approx\alpha^2+\beta^2d""",
    relation=Equal(), expects="refuted", severity="error", uses=("skipless.eq-15", "skipless.eq-17"),
    correction="skipless.eq-19-corrected",
    consequence=r"""The spread of the logits is underestimated, at the printed $\alpha = 2$, $\beta = 0.6$ by a factor
        12 in the variance; use $(\alpha^2+\beta^2)d$ (skipless.eq-19-corrected).""",
    note=r"""Inherited from Eq. (17). The variance is $(\alpha^2 + \beta^2)d$; what is printed is short of it by
        $\alpha^2(d - 1)$, which is no small part of it unless $\alpha$ is small beside $\beta$: at $\alpha = 2$, $\beta
        = 3/5$, $d = 768$ it is 280 against 3348. No reading of the sign saves it.""")  # fmt: skip


@EQ_19.formula
def printed_off_diagonal_moments(alpha: Scale, beta: Scale, d: Dimension) -> Any:
    """Mean and variance of C_ij, shape (2, 1) (Eq. (19))."""
    a, b = alpha * alpha, beta * beta
    return column(0 * alpha, a + b * d)


EQ_19.oracle(lambda alpha, beta, d: mean_and_variance(other_logit, alpha, beta, d))
EQ_19.counterexample("d = 2, alpha = beta = 1: variance 4, not 3", alpha=[[1]], beta=[[1]], d=2)
EQ_19.counterexample("d = 3, alpha = 2, beta = 3/5, the values of Section 6.1: 327/25, not 127/25", alpha=[[2]],
    beta=[[Fraction(3, 5)]], d=3)  # fmt: skip

EQ_19.mutant("variance of the diagonal, Eq. (18)", "a + b * d -> a * (d + 2) + b * (2 * d)")
EQ_19.mutant("d on the wrong term", "a + b * d -> a * d * d + b")

EQ_19_CORRECTED = EQ_19.corrected("skipless.eq-19-corrected", label="Eq. (19), corrected",
    statement=r"\mathbb{E}[\mathbf{C}_{ij}]=0,\ \mathrm{Var}(\mathbf{C}_{ij})=(\alpha^2+\beta^2)d\quad(i\ne j)",
    name="variance of off-diagonal logits, corrected", all_sizes=True, uses=("skipless.logit-moments-sampled",))  # fmt: skip


@EQ_19_CORRECTED.formula
def off_diagonal_logit_moments(alpha: Scale, beta: Scale, d: Dimension) -> Any:
    """Mean and variance of C_ij, shape (2, 1) (Eq. (19), corrected)."""
    a, b = alpha * alpha, beta * beta
    return column(0 * alpha, (a + b) * d)


EQ_19_CORRECTED.mutant("as printed", printed_off_diagonal_moments)
EQ_19_CORRECTED.mutant("covariance of the two terms not zero", "a + b -> (alpha + beta) * (alpha + beta)")

EQ_20_COVARIANCE = Claim(LOGITS, "skipless.eq-20-covariance", label="Parenthesis after Eq. (20)",
    statement=r"""\text{The covariance between }\mathbf{C}_{ii}\text{ and }\mathbf{C}_{ij}\text{ is close to 0 when
        }d\text{ is large}""",
    name="covariance of logits in a row", relation=Equal(), all_sizes=True, uses=("skipless.logit-moments-sampled",),
    note="""It is 0, at every $d$, because $C_{ij}$ is odd in row $j$ and $C_{ii}$ does not contain that row: close in
        any sense. Uncorrelated, not independent: both contain row $i$.""")  # fmt: skip


def _with_covariance(own: Any, between: Any, other: Any) -> Any:
    rows = [concatenate([own, between], axis=1), concatenate([between, other], axis=1)]
    return concatenate(rows, axis=0)


@EQ_20_COVARIANCE.formula
def covariance_of_row(alpha: Scale, beta: Scale, d: Dimension) -> Any:
    """The covariance matrix of (C_ii, C_ij), shape (2, 2): diagonal."""
    a, b = alpha * alpha, beta * beta
    return _with_covariance(a * (d + 2) + b * (2 * d), 0 * a, (a + b) * d)


@EQ_20_COVARIANCE.oracle
def covariance_expected(alpha: Scale, beta: Scale, d: Dimension) -> Any:
    own = mean_and_variance(own_logit, alpha, beta, d)[1:]
    other = mean_and_variance(other_logit, alpha, beta, d)[1:]
    return _with_covariance(own, covariance(alpha, beta, d), other)


EQ_20_COVARIANCE.mutant("covariance beta^2 d, as between C_ij and C_ji", "0 * a -> b * d")
EQ_20_COVARIANCE.mutant("covariance falling like 1/d", "0 * a -> (a + b) / d")

EQ_20 = Claim(LOGITS, "skipless.eq-20", label="Eq. (20)", name="law of the gap of logits",
    statement=r"""\text{When }\beta>0\text{, the difference between the diagonal elements and an off-diagonal element
        }\gamma=\mathbf{C}_{ii}-\mathbf{C}_{ij}\text{ follows }\gamma\sim\mathcal{N}(\beta d,\alpha^2(d+3)+\beta^2(3d))
        """,
    assumptions=[Assumption("beta > 0", positive=lambda beta: beta)],
    relation=Equal(), expects="refuted", severity="error",
    uses=("skipless.eq-18", "skipless.eq-19", "skipless.eq-20-covariance"), correction="skipless.eq-20-corrected",
    consequence=r"""Probabilities of dominance computed from Eq. (20) are too large; use the variance $\alpha^2(2d+2) +
        3\beta^2 d$, with which the law is normal in the limit (skipless.eq-20-corrected, skipless.eq-20-normal-limit).
        """,
    note=r"""The variance adds Eqs. (18) and (19), so it inherits the error of the latter: $\alpha^2(2d + 2) + 3\beta^2
        d$ is right. Nor is $\gamma$ normal at any $d$: its third central moment $14\beta^3 d + 12\alpha^2\beta(2d + 3)$
        is positive. Its standardised law tends to the normal one, with the variance corrected
        (skipless.eq-20-normal-limit); with the printed one, not even that: the two variances keep the ratio $(2\alpha^2
        + 3\beta^2)/(\alpha^2 + 3\beta^2)$, 1.79 at $(2, 0.6)$ and 1.52 at $(1.8, 1)$.""")  # fmt: skip


@EQ_20.formula
def printed_gap_moments(alpha: Scale, beta: Scale, d: Dimension) -> Any:
    """Mean, variance and third central moment of the printed normal law of gamma, shape (3, 1) (Eq. (20))."""
    return column(beta * d, alpha * alpha * (d + 3) + beta * beta * (3 * d), 0 * alpha)


@EQ_20.oracle
def gap_expected(alpha: Scale, beta: Scale, d: Dimension) -> Any:
    """Mean, variance and third central moment of gamma, by expectations of its powers."""
    m1, m2, m3 = (raw_moment(alpha, beta, d, *[gap] * k) for k in (1, 2, 3))
    return column(m1, m2 - m1 * m1, m3 - 3 * m1 * m2 + 2 * m1 * m1 * m1)


EQ_20.counterexample("d = 2, alpha = beta = 1: variance 12, not 11, and third central moment 112, not 0", alpha=[[1]],
    beta=[[1]], d=2)  # fmt: skip
EQ_20.counterexample("d = 3, alpha = 2, beta = 3/5, the values of Section 6.1: variance 881/25, not 681/25",
    alpha=[[2]], beta=[[Fraction(3, 5)]], d=3)  # fmt: skip
EQ_20.mutant("mean zero", "beta * d -> 0 * beta")
EQ_20.mutant("variances subtracted", "3 -> 1; 3 * d -> d")

EQ_20_CORRECTED = EQ_20.corrected("skipless.eq-20-corrected", label="Eq. (20), corrected",
    statement=r"""\mathbb{E}\gamma=\beta d,\ \mathrm{Var}(\gamma)=\alpha^2(2d+2)+3\beta^2d,\ \mathbb{E}(\gamma-\beta
        d)^3=14\beta^3d+12\alpha^2\beta(2d+3)""", name="moments of the gap of logits, corrected", all_sizes=True,
    uses=("skipless.eq-20-normal-limit",), assumptions=[])  # fmt: skip


@EQ_20_CORRECTED.formula
def gap_moments(alpha: Scale, beta: Scale, d: Dimension) -> Any:
    """Mean, variance and third central moment of gamma = C_ii - C_ij, shape (3, 1)."""
    a, b = alpha * alpha, beta * beta
    third = b * beta * (14 * d) + a * beta * (12 * (2 * d + 3))
    return column(beta * d, a * (2 * d + 2) + b * (3 * d), third)


EQ_20_CORRECTED.mutant("as printed", printed_gap_moments)
EQ_20_CORRECTED.mutant("d instead of 2d in the variance", "2 * d + 2 -> d + 2")
EQ_20_CORRECTED.mutant("2d + 2 instead of 2d + 3 in the third moment", "2 * d + 3 -> 2 * d + 2")

#: Kolmogorov distance that counts as normal; the skewness of gamma, 14 / sqrt(27 d) at alpha = 0, leaves 0.01 at d = 384.
NORMAL_WITHIN = 0.02


def sampled_gap(generator: torch.Generator, samples: int, d: int, alpha: float, beta: float) -> np.ndarray:
    """Independent copies of gamma from four numbers each, exact in law.

    Given rows x and y the noise x^T Z (x - y) is normal of variance |x|^2 |x - y|^2 / d; of y only the component along x
    and the rest, whose squared norm is chi^2_{d-1}, enter.
    """
    import torch

    rng = np.random.default_rng(int(torch.randint(2**62, (1,), generator=generator, device=generator.device)))
    r, along, rest = np.sqrt(rng.chisquare(d, samples)), rng.standard_normal(samples), rng.chisquare(d - 1, samples)
    noise = rng.standard_normal(samples) * r * np.sqrt((r - along) ** 2 + rest) / sqrt(d)
    return alpha * noise + beta * r * (r - along)


AT_LARGE_DIMENSIONS = AT_PRINTED_DIMENSIONS.extended("Section A.4.1",
    assumptions=[Definition(f"{TOKENS}; {NOISE}; C = alpha X Z X^T + beta X X^T", by=sampled_gap)])  # fmt: skip

NORMAL_LIMIT = Claim(AT_LARGE_DIMENSIONS, "skipless.eq-20-normal-limit",
    label="Eq. (20), the law of gamma at the sizes of the paper", name="normal limit of the gap",
    statement=r"""\sup_t\left|P\Big(\frac{\gamma-\beta d}{\sqrt{\alpha^2(2d+2)+3\beta^2d}}\le
        t\Big)-\Phi(t)\right|\le\tfrac1{50} \quad\text{at }d=384\text{ and }768""",
    assumptions=[Definition("(alpha, beta) = (2, 3/5), (9/5, 1), (0, 1/2)", by=PRINTED_SCALES)],
    relation=FollowsLaw(samples=20_000, instances=2), of_project=True,
    note=r"""A mutant has the printed variance. As $\beta$ part and noise are sums of $d$ terms, each less dependent on
        the others than on itself, the law is normal in the limit.""")  # fmt: skip


@NORMAL_LIMIT.formula
def gap_variance(alpha: float, beta: float, d: int) -> float:
    """Var gamma."""
    return alpha**2 * (2 * d + 2) + 3 * beta**2 * d


@NORMAL_LIMIT.part("laws")
def laws_of_gap(formula: Callable[..., float], generator: torch.Generator, samples: int, d: int) -> list[LawTest]:
    tests = []
    for alpha, beta in PRINTED_SCALES:
        deviation = sqrt(formula(alpha, beta, d))
        drawn = (sampled_gap(generator, samples, d, alpha, beta) - beta * d) / deviation
        tests.append(near_law(f"alpha = {alpha}, beta = {beta}, d = {d}", drawn, NormalLaw().cdf, NORMAL_WITHIN))
    return tests


NORMAL_LIMIT.mutant("variance as printed", lambda alpha, beta, d: alpha**2 * (d + 3) + 3 * beta**2 * d)
NORMAL_LIMIT.mutant("variance of the diagonal entry alone", "2 * d -> d; 3 -> 2")
