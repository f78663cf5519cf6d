"""Appendix B.2, sub-exponential variables: Lemmas 2-4, checked at laws that meet the definition with equality."""

from __future__ import annotations

from typing import Annotated, Any

import flint

from theorems.convergence import CONVERGENCE
from theorems.convergence.part_c_1_lemmas.constants import stacked
from verify.arithmetics import is_tensor
from verify.matrix import exp, log, maximum, rational, sqrt
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Real, Setting, Shape

Spread = Annotated[Any, Real(0.125, 4.0)]
Excess = Annotated[Any, Real(0.03125, 4.0)]
Factor = Annotated[Any, Real(0.25, 4.0)]
Share = Annotated[Any, Real(-1.0, 1.0, avoid_zero=True)]
Level = Annotated[Any, Real(0.00390625, 30.0)]


def logarithm(x: Any) -> Any:
    """log x of a positive scalar: a tensor, a ball or a symbol."""
    return log(x)


def log_mgf_laplace(b: Any, l: Any) -> Any:
    """log E exp(l X) of the Laplace law of scale b, for |l| < 1/b."""
    return -logarithm(1 - (b * l) ** 2)


def log_mgf_exponential(b: Any, l: Any) -> Any:
    """log E exp(l (X - b)) of the exponential law of mean b, for l < 1/b."""
    return -logarithm(1 - b * l) - b * l


def log_mgf_normal(b: Any, l: Any) -> Any:
    """log E exp(l X) of the normal law of deviation b."""
    return (b * l) ** 2 * rational(1, 2)


LOG_MGFS = (log_mgf_laplace, log_mgf_exponential, log_mgf_normal)


def smallest_nu_squared(log_mgf: Any, b: Any, alpha: Any) -> Any:
    """The smallest nu^2 for a given alpha: 2 log_mgf(l) / l^2 grows with l, so it is its value at l = 1/alpha.

    (The power series of all three cumulant generating functions have nonnegative coefficients, and negative l give less.)
    """
    return log_mgf(b, 1 / alpha) * alpha**2 * 2


DEFINITION = Definition(
    "X ~ SE(nu, alpha): E exp(l (X - mu)) <= exp(nu^2 l^2 / 2) for |l| < 1/alpha; for alpha = 0, for every l",
    by=smallest_nu_squared,
)
LAWS = Definition(
    "Laplace and exponential laws of scale b with alpha > b and the smallest nu that the definition allows, normal laws"
    " of deviation b with nu = b: the definition is met with equality at the end of the range or everywhere",
    by=LOG_MGFS,
)
POSITIVE_LEVEL = Assumption("delta = exp(-level) in (0, 1)", positive=lambda level: level)
SPREAD_AND_EXCESS = Assumption(
    "b > 0, alpha = b (1 + excess) > b: the laws are in the class", positive=lambda b, excess: stacked([b, excess])
)
IN_RANGE = Assumption(
    "l = share / alpha other than 0 and at most 1 / alpha in size",
    positive=lambda share: share * share, nonnegative=lambda share: 1 - share * share,
)  # fmt: skip
SUB_EXPONENTIAL = Setting(CONVERGENCE, "Appendix B.2", assumptions=[DEFINITION, LAWS])


LEMMA_2 = Claim(SUB_EXPONENTIAL, "convergence.lemma-2", label="Lemma 2", name="scaled sub-exponential variable",
    statement=r"X\sim SE(\nu,\alpha),\ s\in\mathbb R^+\Rightarrow sX\sim SE(s\nu,s\alpha)",
    assumptions=[
        Assumption("s > 0; b > 0, alpha = b (1 + excess) > b", positive=lambda s, b, excess: stacked([s, b, excess])),
        IN_RANGE,
    ], relation=AtMost(left="1", ascent=False),
    note=r"""Put $s \ell$ for $\ell$ in the definition. Checked as the quotient of both sides of the definition, in
        logarithms.""",
)  # fmt: skip


def _quotients_of_scaled(b: Any, excess: Any, s: Any, share: Any, nu_factor: Any, alpha_factor: Any) -> Any:
    """(nu'^2 l^2 / 2) / log E exp(l (sX - s mu)) at l = share / alpha', for each law."""
    alpha = b * (1 + excess)
    l = share / (alpha * alpha_factor)
    return stacked(
        [
            smallest_nu_squared(log_mgf, b, alpha) * nu_factor**2 * l**2 * rational(1, 2) / log_mgf(s * b, l)
            for log_mgf in LOG_MGFS
        ]
    )


@LEMMA_2.formula
def definition_for_scaled(b: Spread, excess: Excess, s: Factor, share: Share) -> Any:
    """Right over left side of the definition for sX with (s nu, s alpha), one entry per law, at l = share/(s alpha)."""
    return _quotients_of_scaled(b, excess, s, share, s, s)


LEMMA_2.oracle(lambda b, excess, s, share: stacked([b / b] * len(LOG_MGFS)))
LEMMA_2.mutant("nu not scaled", nu_factor=1)
LEMMA_2.mutant("alpha not scaled", alpha_factor=1)
LEMMA_2.mutant("nu scaled by sqrt(s)", lambda value, s: value / s)


Spreads = Annotated[Any, Shape("N", "1")]


def _summands(scales: Any, excesses: Any) -> list[tuple[Any, Any, Any, Any]]:
    """(log_mgf, b_i, alpha_i, nu_i^2) of each summand; the kinds of law take turns."""
    found = []
    for i in range(scales.shape[0]):
        b, r = scales[i, 0] ** 2 + rational(1, 8), excesses[i, 0] ** 2 + rational(17, 16)
        log_mgf = LOG_MGFS[i % 3]
        alpha = b * r
        found.append((log_mgf, b, alpha * 0 if i % 3 == 2 else alpha, smallest_nu_squared(log_mgf, b, alpha)))
    return found


def _quotient_of_sum(scales: Any, excesses: Any, share: Any, combined: Any, widest: Any) -> Any:
    """(nu^2 l^2 / 2) / log E exp(l sum (X_i - mu_i)) at l = share / alpha."""
    laws = _summands(scales, excesses)
    l = share / widest(stacked([alpha for _, _, alpha, _ in laws]))
    moments = exp(stacked([log_mgf(b, l) for log_mgf, b, _, _ in laws]))
    product = moments[0]
    for i in range(1, len(laws)):
        product = product * moments[i]
    return combined([nu_squared for *_, nu_squared in laws]) * l**2 * rational(1, 2) / logarithm(product)


LEMMA_3 = Claim(SUB_EXPONENTIAL, "convergence.lemma-3", label="Lemma 3", name="sum of sub-exponential variables",
    statement=r"""\text{independent sub-exponential }X_i\sim(\nu_i,\alpha_i)\text{ for }i\in1,...,N\ \Rightarrow\
        \sum_{i=1}^NX_i\sim\Big(\sqrt{\textstyle\sum_{i=1}^N\nu_i^2},\ \max_i\alpha_i\Big)""",
    assumptions=[
        Definition("X_1, ..., X_N independent: the moment generating function of the sum is the product", by=_quotient_of_sum),
        IN_RANGE,
    ], relation=AtMost(left="1", ascent=False), sizes={"N": (1, 5)},
    note=r"""The printed $X_i \sim (\nu_i, \alpha_i)$ is $SE(\nu_i, \alpha_i)$, as in Lemma 2. The moment generating
        function of the sum is the product of those of the summands; the range of $\ell$ shrinks to the smallest of the
        ranges, that of $\max \alpha_i$. Laws of all three kinds are added, normal ones with $\alpha_i = 0$.
        Compared are both sides of the inequality that defines the class.""",
)  # fmt: skip


@LEMMA_3.formula
def definition_for_sum(scales: Spreads, excesses: Spreads, share: Share) -> Any:
    """Right over left side of the definition for the sum with (sqrt(sum nu_i^2), max alpha_i), a scalar."""
    return _quotient_of_sum(scales, excesses, share, sum, maximum)


LEMMA_3.oracle(lambda scales, excesses, share: share / share)
LEMMA_3.mutant("largest nu_i only", combined=lambda squares: maximum(stacked(squares)))
LEMMA_3.mutant("mean of the nu_i^2", combined=lambda squares: sum(squares) * rational(1, len(squares)))
LEMMA_3.mutant("half of the largest alpha_i", widest=lambda alphas: maximum(alphas) * rational(1, 2))


LEMMA_4 = Claim(SUB_EXPONENTIAL, "convergence.lemma-4", label="Lemma 4", name="sub-exponential tail bound",
    statement=r"""X\sim SE(\nu,\alpha),\ \mathbb EX=\mu:\ \text{with probability at least }1-\delta:\
        |X-\mu|<\max\big(\nu\sqrt{2\log\tfrac2\delta},\,2\alpha\log\tfrac2\delta\big)""",
    levels={"delta": "level"}, assumptions=[POSITIVE_LEVEL, SPREAD_AND_EXCESS], relation=AtMost(ascent=False),
    note=r"""With $t$ the printed maximum, Chernoff's bound gives $P(|X - \mu| \ge t) \le 2 \max(\exp(-t^2/(2 \nu^2)),
        \exp(-t/(2 \alpha)))$ in its two regimes, hence $\le \delta$. It fails for a constant alone, which is SE(0,
        0) where 1/0 is taken as
        infinite: then $|X - \mu| < 0$ is never true, and $<$ has to be $\le$
        (convergence.lemma-4-with-equality). The paper has no constant among its variables.""",
)  # fmt: skip


def _thresholds(b: Any, excess: Any, level: Any, two: int = 2, root: int = 2, least: bool = False) -> Any:
    """The printed maximum for the Laplace, exponential and normal laws, and for +-b with equal probabilities."""
    alpha = b * (1 + excess)
    L = level + logarithm(level * 0 + two)
    found = []
    for log_mgf in (*LOG_MGFS, log_mgf_normal):  # +-b has nu = b and alpha = 0, since cosh x <= exp(x^2 / 2)
        tail = alpha * 0 if log_mgf is log_mgf_normal else alpha
        pair = stacked([sqrt(smallest_nu_squared(log_mgf, b, alpha) * L * root), tail * L * 2])
        found.append(-maximum(-pair) if least else maximum(pair))
    return stacked(found)


@LEMMA_4.formula
def printed_deviation(b: Spread, excess: Excess, level: Level) -> Any:
    """max(nu sqrt(2 log(2/delta)), 2 alpha log(2/delta)) for four laws, shape (4,), delta = exp(-level) (Lemma 4)."""
    return _thresholds(b, excess, level)


def _normal_quantile(delta: Any) -> Any:
    """t with P(|Z| >= t) = delta for a standard normal Z."""
    if is_tensor(delta):
        import torch

        return -torch.special.ndtri(delta / 2)
    return flint.arb(2).sqrt() * (1 - delta).erfinv()


@LEMMA_4.oracle
def quantiles(b: Spread, excess: Excess, level: Level) -> Any:
    """The t with P(|X - mu| >= t) = delta; for +-b the t below which the probability is 1.

    Exponential: P(|X - b| >= t b) is exp(-1 - t) for t >= 1 and 1 - 2 sinh(t) / e below.
    """
    delta, e = exp(-level), exp(level * 0 + 1)
    half = e * (1 - delta) * rational(1, 2)
    inner = logarithm(half + sqrt(half**2 + 1))
    capped = -maximum(stacked([-inner, level * 0 - 1]))
    exponential = maximum(stacked([level - 1, capped]))
    return stacked([b * level, b * exponential, b * _normal_quantile(delta), b])


LEMMA_4.mutant("log(1/delta) for log(2/delta)", two=1)
LEMMA_4.mutant("square root of log(2/delta) without the 2", root=1)
LEMMA_4.mutant("minimum for maximum", least=True)


WITH_EQUALITY = Claim(SUB_EXPONENTIAL, "convergence.lemma-4-with-equality", label="Lemma 4, with <= for <",
    statement=r"""X\sim SE(\nu,\alpha),\ \nu,\alpha\ge0,\ \mathbb EX=\mu:\ \text{with probability at least }1-\delta:\
        |X-\mu|\le \max\big(\nu\sqrt{2\log\tfrac2\delta},\,2\alpha\log\tfrac2\delta\big)""",
    name="sub-exponential tail bound, constants allowed", assumptions=[POSITIVE_LEVEL, SPREAD_AND_EXCESS],
    levels={"delta": "level"},
    relation=AtMost(left="(1 - delta)-quantiles of |X - mu|, and 0", ascent=False), of_project=True,
    note=r"""For $\nu = \alpha = 0$ the variable is constant and both sides are 0; otherwise Chernoff's bound, as for
        Lemma 4.""",
)  # fmt: skip


@WITH_EQUALITY.formula
def deviation_with_constants(b: Spread, excess: Excess, level: Level) -> Any:
    """The printed maximum for the four laws, and 0 for a constant, shape (5,)."""
    return _with_a_constant(_thresholds(b, excess, level))


def _with_a_constant(values: Any) -> Any:
    return stacked([*(values[k] for k in range(4)), values[0] * 0])


WITH_EQUALITY.oracle(lambda b, excess, level: _with_a_constant(quantiles(b, excess, level)))
WITH_EQUALITY.mutant("log(1/delta) for log(2/delta)", two=1)
WITH_EQUALITY.mutant("square root of log(2/delta) without the 2", root=1)
