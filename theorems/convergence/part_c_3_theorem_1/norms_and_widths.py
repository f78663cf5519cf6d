"""What Eqs. (2) and (3) ask of norms and width under LeCun initialisation: Eqs. (44)-(46), (49)-(52), (54), (55).

The orders in N and d_m are right; in d_s and C_x, which Eq. (45) displays, it is too weak.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.settings import Dimension, Length, SampleCount, Width
from verify.oracles import LawTest, at_most_probability, largest
from verify.vocabulary import Assumption, Claim, Definition, FollowsLaw, OrderOfGrowth, Reading, Setting, Size

Bound = Annotated[int, Size("C_x")]


def squared_conditions(N: int, d_s: int, C_x: int, tau_0_squared: Fraction, tau_1_squared: Fraction,
                       norm_squared: Fraction, output_squared: Fraction) -> list[Fraction]:  # fmt: skip
    """Squares of the right-hand sides of Eqs. (2) and (3) over sqrt(2 l(theta^0)), for equal norms of W_Q, W_K, W_V.

    z is taken with lambda_Q^2 in its inner bracket (Table 2).
    """
    rho_squared = N * d_s**3 * C_x**2 * tau_1_squared
    logits = 4 * tau_0_squared * C_x**4 * d_s**2
    most = largest(norm_squared, output_squared, logits * norm_squared**2 * output_squared)
    z_over_output = output_squared * (1 + logits * norm_squared * 2 * norm_squared) ** 2
    return [64 * rho_squared * most, (32 * rho_squared) ** 2 * z_over_output]


def lecun_conditions(N: int, d_s: int, C_x: int, d: int, d_m: int) -> list[Fraction]:
    """Eqs. (2), (3) at tau_0 = d_m^{-1/2}, then at 1/d_m, squared, with the norms of Eq. (44)."""
    rows = []
    for power in (1, 2):
        rows += squared_conditions(
            N, d_s, C_x, Fraction(1) / d_m**power, Fraction(1), Fraction(16) * d_m / d, Fraction(16)
        )
    return rows


CONSTANTS = Definition("C_Q = C_K = C_V = C_O = 1, and the lambdas at their bounds", by=squared_conditions)

WIDE = Setting(CONVERGENCE, "Appendix C.3: d_m >= d", where=lambda sizes: sizes["d_m"] >= sizes["d"])
ORDERS = WIDE.extended(sizes={"N": (1, 4), "d_s": (1, 3), "C_x": (1, 3), "d": (1, 3), "d_m": (3, 6)})
LECUN = ORDERS.extended(
    assumptions=[
        Definition("LeCun initialisation, the lambdas of (44) with the constant 4", by=lecun_conditions),
        CONSTANTS,
        Assumption("d_m >= d", sizes=lambda sizes: sizes["d_m"] >= sizes["d"]),
    ]
)


# -- the norms at initialisation ---------------------------------------------------------------------------------------

EQ_44 = Claim(WIDE, "convergence.eq-44", label="Eq. (44)", name="norms of weights at LeCun initialisation",
    statement=r"""\text{LeCun},\ C_\bullet=1:\ \text{w.p.}\ge1-8e^{-d_m/2}:\ \bar\lambda_V=\mathcal O(\sqrt{d_m/d}),\
        \bar\lambda_O=\mathcal O(1),\ \bar\lambda_Q=\mathcal O(\sqrt{d_m/d}),\ \bar\lambda_K=\mathcal O(\sqrt{d_m/d})
    """,
    assumptions=[Assumption("d_m >= d", sizes=lambda sizes: sizes["d_m"] >= sizes["d"])],
        relation=FollowsLaw(samples=4000, instances=5),
    sizes={"d_m": (12, 20), "d": (1, 4)}, uses=("convergence.lemma-5", "convergence.lemma-6"),
    note=r"""Proved with the constant 4 in all four orders. Lemma 5 with $\zeta = \sqrt{d_m}$ gives $\|W\| \le 3
        \sqrt{d_m}$ for every standard normal $W$, also for the column $w_O$; the variances divide by $\sqrt{d}$ and
        $\sqrt{d_m}$, and $1 \le \sqrt{d_m/d}$ takes the added $C = 1$. Four events fail with at most $2 \exp(-d_m/2)$
        each. For $d_m \le 4$ the probability is empty, $8 \exp(-d_m/2) > 1$.""",
)  # fmt: skip


@EQ_44.formula
def norms_at_initialisation(d_m: Width, d: Dimension) -> tuple[float, float]:
    """Bounds of lambda_V, lambda_Q, lambda_K and of lambda_O (Eq. (44) with the constant 4)."""
    return 4 * math.sqrt(d_m / d), 4.0


@EQ_44.part("laws")
def norm_exceedances(formula: Any, generator: Any, samples: int, d_m: Width, d: Dimension) -> list[LawTest]:
    """Whether one of the four norms exceeds its bound more often than stated."""
    import torch

    large, small = formula(d_m, d)
    W = torch.randn(3, samples, d_m, d, generator=generator, device=generator.device, dtype=torch.float64)
    w_O = torch.randn(samples, d_m, generator=generator, device=generator.device, dtype=torch.float64)
    norms = torch.linalg.eigvalsh(W.mT @ W)[..., -1].clamp(min=0).sqrt() / math.sqrt(d) + 1
    above = (norms > large).any(0) | (w_O.norm(dim=1) / math.sqrt(d_m) + 1 > small)
    return [at_most_probability("a norm above its bound", int(above.sum()), above.numel(), 8 * math.exp(-d_m / 2))]


EQ_44.mutant("constant 2", "4 -> 2; 4.0 -> 2.0")
EQ_44.mutant("O(1) for all", "4 * math.sqrt(d_m / d) -> 4.0")


# -- what Eqs. (2) and (3) ask for -------------------------------------------------------------------------------------


EQ_45_46 = Claim(LECUN, "convergence.eq-45-46", label="Eqs. (45), (46) (and (51), (52))",
    statement=r"""(45)\ \alpha^2\ge\mathcal O(\sqrt Nd_s^{3/2}C_x\sqrt{d_m/d})\sqrt{2\ell(\theta^0)},\ (46)\
        \alpha^3\ge\mathcal O(Nd_s^3C_x^2(1+4C_x^4d_s^2d_md^{-2}))\sqrt{2\ell(\theta^0)}\ [\tau_0=d_m^{-1/2}];\quad
        (51)\ \alpha^2\ge\mathcal O(\sqrt Nd_s^{3/2}C_x\sqrt{d_m/d})\sqrt{2\ell(\theta^0)},\ (52)\ \alpha^3\ge\mathcal
        O(Nd_s^3C_x^2(1+4C_x^4d_s^2d^{-2}))\sqrt{2\ell(\theta^0)}\ [\tau_0=d_m^{-1}]:\ \text{Plugging Eq. (44) into Eqs.
        (2) and (3), it suffices to prove the following equations}""",
    name="convergence conditions under LeCun initialisation", relation=OrderOfGrowth(along=("N", "d_m", "N d_m")), all_sizes=True,
    uses=("convergence.eq-44",), expects="reading",
    reading=Reading((
        r"\alpha^2 \ge \mathcal{O}\left(\sqrt{N}d_s^{3/2}C_x\sqrt{d_m/d}\right)",
        r"\mathcal{O}\left(Nd_{s}^{3}C_{x}^{2}(1+4C_{x}^{4}d_{s}^{2}d^{-2})\right)",
    ),
        r"""a lower bound by $O(\cdot)$ in several variables: a constant times it, the constant depending on $d_s$,
            $C_x$ and $d$, while $N$ and $d_m$ grow"""),
    note=r"""In $d_s$ and $C_x$, which the orders display, (45) is too weak: the third and fourth member of the maximum
        in (2), $2 C_x^2 d_s \tau_0 \bar\lambda_K \bar\lambda_V \bar\lambda_O$, have a factor $C_x^2 d_s$ more than the first. See
        convergence.eq-45-in-all-sizes. With constants that depend on nothing (45) and (51) do not suffice, though the
        orders display $d_s$, $C_x$ and $d$, and (57) keeps these factors of the largest member of (2); the conclusion
        drawn from them is an order in $N$ alone.""",
)  # fmt: skip


@EQ_45_46.formula
def printed_lecun_conditions(N: SampleCount, d_s: Length, C_x: Bound, d: Dimension, d_m: Width) -> list[Fraction]:
    """Squares of the printed orders (45), (46), (51), (52)."""
    first = Fraction(1) * N * d_s**3 * C_x**2 * d_m / d
    outer = N**2 * d_s**6 * C_x**4
    return [
        first,
        outer * (1 + Fraction(4) * C_x**4 * d_s**2 * d_m / d**2) ** 2,
        first,
        outer * (1 + Fraction(4) * C_x**4 * d_s**2 / d**2) ** 2,
    ]


EQ_45_46.part("cost", lecun_conditions)


@EQ_45_46.part("constant")
def constants_of_lecun_conditions(d_s: Length, C_x: Bound, d: Dimension) -> list[Any]:
    """Squares of the constants: those of (45), (51) depend on what is held, those of (46), (52) on nothing."""
    first = 2**10 * (1 + Fraction(2**10) * C_x**4 * d_s**2 / d)
    return [first, 2**32, first, 2**32]


EQ_45_46.mutant("(45) without d_m", lambda value, d_m: [value[0] / d_m, *value[1:]])
EQ_45_46.mutant("(46) as (52)", lambda value: [value[0], value[3], *value[2:]])
EQ_45_46.mutant("sqrt(N) in (52)", lambda value, N: [*value[:3], value[3] / N])


EQ_45_ALL = Claim(LECUN, "convergence.eq-45-in-all-sizes", label="Eqs. (45), (46), (51), (52) in all sizes",
    statement=r"""(45')\ \alpha^2\ge\mathcal O(\sqrt
        Nd_s^{3/2}C_x\sqrt{d_m/d}\,(1+C_x^2d_sd^{-1/2}))\sqrt{2\ell(\theta^0)},\ (51')\ \alpha^2\ge\mathcal O(\sqrt
        Nd_s^{3/2}C_x\sqrt{d_m/d}\,(1+C_x^2d_s(dd_m)^{-1/2}))\sqrt{2\ell(\theta^0)}\text{ with (46), (52) suffice for
        (2), (3), uniformly in }N,d_s,C_x,d\le d_m""",
    name="convergence conditions under LeCun initialisation, all sizes",
    relation=OrderOfGrowth(along=("N", "d_s", "C_x", "d_m", "d d_m")), all_sizes=True, uses=("convergence.eq-44",), of_project=True,
    note=r"""Compared at whole numbers $C_x$. Each member of the maximum in (2), and each term of (3), has a power of $C_x$ that
        one term of the order has too, so that the constants serve every $C_x > 0$.""",
)  # fmt: skip


@EQ_45_ALL.formula
def lecun_conditions_in_all_sizes(N: SampleCount, d_s: Length, C_x: Bound, d: Dimension, d_m: Width) -> list[Fraction]:
    """Squares of the orders (45'), (46), (51'), (52), up to constants."""
    rows = printed_lecun_conditions(N, d_s, C_x, d, d_m)
    mixed = C_x**4 * d_s**2
    return [rows[0] * (1 + Fraction(1) * mixed / d), rows[1], rows[2] * (1 + Fraction(1) * mixed / (d * d_m)), rows[3]]


EQ_45_ALL.part("cost", lecun_conditions)
EQ_45_ALL.part("constant", lambda: [2**20, 2**32, 2**20, 2**32])

EQ_45_ALL.mutant("(45) as printed", "Fraction(1) * mixed / d -> 0")
EQ_45_ALL.mutant("(51) as printed", "Fraction(1) * mixed / (d * d_m) -> 0")


# -- the widths --------------------------------------------------------------------------------------------------------


def _smallest_width(holds: Callable[[int], bool]) -> int:
    """The smallest width at which `holds`, which stays true from there on."""
    high = 1
    while not holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def smallest_widths(N: int, d_s: int, C_x: int, d: int) -> list[Fraction]:
    """The smallest d_m at which the squares of both inequalities hold, for each tau_0."""
    quarter = Fraction(1, 4 * d * d_s)
    from_first = Fraction(N**2 * d_s**3 * C_x**2, d) / quarter**2
    rows = []
    for power in (1, 0):

        def holds(d_m: int, power: int = power) -> bool:
            bracket = 1 + Fraction(4 * C_x**4 * d_s**2 * d_m**power, d**2)
            return (d_m * quarter) ** 3 >= N**3 * d_s**6 * C_x**4 * bracket**2

        rows.append(max(from_first, Fraction(_smallest_width(holds))))
    return rows


C3_WIDTHS = Claim(CONVERGENCE, "convergence.c3-widths", label="C.3, (49)-(50), (54)-(55)",
    statement=r"""(49)\ d_m\lambda_0/4\ge\tilde{\mathcal O}(Nd_s^{3/2}C_x\sqrt{d_m/d}),\ (50)\
        (d_m\lambda_0/4)^{3/2}\ge\tilde{\mathcal O}(N^{3/2}d_s^3C_x^2(1+4C_x^4d_s^2d_md^{-2})):\ \text{when
        }d_m\ge\tilde\Omega(N^3)\text{, all of the above conditions hold }[\tau_0=d_m^{-1/2}];\quad (54)\
        d_m\lambda_0/4\ge\tilde{\mathcal O}(Nd_s^{3/2}C_x\sqrt{d_m/d}),\ (55)\ (d_m\lambda_0/4)^{3/2}\ge\tilde{\mathcal
        O}(N^{3/2}d_s^3C_x^2(1+4C_x^4d_s^2d^{-2})):\ \text{when }d_m\ge\tilde\Omega(N^2)\text{, all of the above
        conditions hold }[\tau_0=d_m^{-1}]""",
    assumptions=[Definition("lambda_0 = 1/(d d_s), the least that Theta(1/(d d_s)) allows; d, d_s, C_x constants",
        by=smallest_widths)],
    name="required width under LeCun initialisation", relation=OrderOfGrowth(along=("N",)),
    sizes={"N": (2, 5), "d_s": (1, 3), "C_x": (1, 2), "d": (1, 3)}, presumes=("convergence.lemma-15",), expects="gap",
    reading=Reading((r"d_m \ge \tilde{\Omega}(N^3)", r"d_m \ge \tilde{\Omega}(N^2)"), r"""hidden constants 1 and
            $\lambda_0 = 1/(d d_s)$; the smallest width that meets both inequalities is $O(N^3)$, or $O(N^2)$"""),
    note=r"""The exponents are right: (50) decides at $\tau_0 = d_m^{-1/2}$, (54) at $1/d_m$. But $\lambda_0 \ge
        \Theta(1/(d d_s))$ for every $N$ is Lemma 15, which is false: at fixed $d$ and $d_s$ it tends to 0 as $N$ grows.
        No width in $N$ alone can be given in their place; for one token and given samples convergence.thm-1-one-token
        has the width in $N$ and $\lambda_0$.""")  # fmt: skip


@C3_WIDTHS.formula
def printed_width_orders(N: SampleCount, d_s: Length, C_x: Bound, d: Dimension) -> list[int]:
    """The widths for tau_0 = d_m^{-1/2} and for 1/d_m (Appendix C.3)."""
    return [N**3, N**2]


C3_WIDTHS.part("cost", smallest_widths)


C3_WIDTHS.mutant("N^2 for both", "N ** 3 -> N ** 2")
C3_WIDTHS.mutant("N for tau_0 = 1/d_m", "N ** 2 -> N")
