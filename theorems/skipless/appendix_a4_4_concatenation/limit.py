"""The last sentence of Section A.4.4: kappa of [A B] for incoherent, balanced blocks.

As printed it is false, for rho is not relative to the size of the blocks; it holds for rho small beside s_min^2.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from theorems.skipless.appendix_a4_4_concatenation.eq_37 import (
    BLOCKS,
    SECTION_A4_4,
    Left,
    Right,
    blocks,
    borderline,
    nearly_orthogonal,
    orthogonal,
)
from theorems.skipless.appendix_a4_4_concatenation.rayleigh_quotients import LARGEST, SMALLEST, concatenated
from theorems.skipless.quantities import condition, minimum
from verify.claims import Assumption, Claim
from verify.matrix import column, maximum, sqrt
from verify.relations import AtMost
from verify.shapes import Real

Smallness = Annotated[Any, Real(0.0, 0.25)]
Factor = Annotated[Any, Real(1.0, 16.0)]


def at_an_angle(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """Unit columns, the first of B at an angle to the first of A whose cosine c meets the bound: rho = c, r just above c."""
    count = len(arrays["A"])
    for name, offset in (("A", 0), ("B", sizes["d_1"])):
        arrays[name][:] = 0.0
        for j in range(arrays[name].shape[2]):
            arrays[name][:, offset + j, j] = 1.0
    cosine = rng.choice([0.25, 0.5, 0.75], count)
    arrays["B"][:, 0, 0] = cosine
    arrays["B"][:, sizes["d_1"], 0] = (1 - cosine**2) ** 0.5
    if "r" in arrays:
        arrays["r"][:] = cosine + 2.0**-16  # room for the rounding of the sine


for one in (LARGEST, SMALLEST):
    one.domain("orthogonal blocks")(orthogonal)
    one.domain("nearly orthogonal blocks")(nearly_orthogonal)
    one.domain("rho = s_min^2")(borderline)

TWO_BLOCKS = SECTION_A4_4.extended(sizes={"n": (2, 5), "d_1": (1, 2)}, special_domains=BLOCKS)
COLUMNS_AT_MOST_ROWS = TWO_BLOCKS.extended(
    where=lambda sizes: sizes["n"] >= sizes["d_1"] + sizes["d_2"],  # implied: with more columns s_min^2 <= rho
    special_domains={"columns at an angle": at_an_angle},
)

FIXED_SCALE = Claim(
    COLUMNS_AT_MOST_ROWS,
    "skipless.a4.4-limit-fixed-scale",
    label="Section A.4.4, last sentence, at a fixed s_min",
    statement=r"\rho\le\delta,\ \tau\le1+\delta,\ s_{\min}\ge s>\sqrt\delta\ \Rightarrow\ \kappa(\mathbf{M})\le(1+\delta)"
    r"\sqrt{\frac{1+\delta/s^2}{1-\delta/s^2}}\,\kappa_{\max},\text{ which tends to }\kappa_{\max}\text{ as }\delta\to0",
    assumptions=[
        "delta = max(rho, tau - 1) and s = s_min, or any delta above and s below them",
        Assumption("delta < s^2", positive=lambda delta, s: s * s - delta),
    ],
    relation=AtMost(),
    of_project=True,
    uses=("skipless.eq-37-incoherent", "skipless.a4.4-relative"),
    note="rho has to be small beside s_min^2, as the two fractions of Eq. (37) show.",
)


@FIXED_SCALE.inputs
def smallness_of_blocks(A: Left, B: Right) -> dict[str, Any]:
    """A, B, delta = max(rho, tau - 1) and s = s_min."""
    q = blocks(A, B)
    return {"A": A, "B": B, "delta": maximum(column(q.rho, q.tau - 1)), "s": q.s_min}


@FIXED_SCALE.formula
def bound_near_the_limit(A: Left, B: Right, delta: Any, s: Any) -> Any:
    """(1 + delta) sqrt((1 + delta / s^2) / (1 - delta / s^2)) kappa_max, a scalar."""
    return (1 + delta) * _root(delta, s) * maximum(blocks(A, B).kappas)


def _root(delta: Any, s: Any) -> Any:
    return sqrt((s * s + delta) / (s * s - delta))


FIXED_SCALE.oracle(lambda A, B: condition(concatenated(A, B)))
FIXED_SCALE.mutant("balance dropped", lambda A, B, delta, s: _root(delta, s) * maximum(blocks(A, B).kappas))
FIXED_SCALE.mutant("incoherence dropped", lambda A, B, delta: (1 + delta) * maximum(blocks(A, B).kappas))
FIXED_SCALE.mutant("smaller condition number of the two", "maximum -> minimum")

NEARLY = "small: rho and tau - 1 at most delta; controlled: at most C kappa_max, with delta and C any given numbers"

LIMIT = Claim(
    TWO_BLOCKS,
    "skipless.a4.4-limit",
    label="Section A.4.4, last sentence",
    statement=r"\text{Under a mild block-incoherence condition (i.e. }\rho\to0)\text{ and balanced blocks }(\tau\to1),\text{ the"
    r" concatenated condition number is controlled by the worst block condition number }\kappa_{\max}",
    assumptions=[
        NEARLY,
        Assumption("rho <= delta", nonnegative=lambda A, B, delta: delta - blocks(A, B).rho),
        Assumption("tau <= 1 + delta", nonnegative=lambda A, B, delta: 1 + delta - blocks(A, B).tau),
    ],
    relation=AtMost(ascent=False),
    sizes={"n": (2, 4), "d_1": (1, 2), "d_2": (1, 2)},
    expects="refuted",
    severity="error",
    uses=("skipless.eq-37",),
    correction="skipless.a4.4-relative",
    doubt="Read as a limit at a fixed s_min, which the sentence does not name, it is true (skipless.a4.4-limit-fixed-scale).",
    note="rho is not normalised: A, B -> sA, sB takes rho to s^2 rho and leaves tau and every condition number alone, so rho"
    " can be made as small as one likes for nearly parallel blocks. Two columns s(1, 0) and s(1, e) have kappa_max = 1,"
    " rho = s^2, tau = sqrt(1 + e^2) and kappa(M) > 1/e: no delta and no C serve.",
)


@LIMIT.formula
def multiple_of_worst_block(A: Left, B: Right, delta: Smallness, C: Factor) -> Any:
    """C kappa_max, a scalar."""
    return C * maximum(blocks(A, B).kappas)


LIMIT.oracle(lambda A, B, delta, C: condition(concatenated(A, B)))
SHORT = Fraction(1, 100)
LIMIT.counterexample(
    "two short columns at a small angle: delta = 10^-3, C = 100, kappa(M) > 1000",
    A=[[SHORT], [0]], B=[[SHORT], [SHORT / 1000]], delta=Fraction(1, 1000), C=Fraction(100),
)  # fmt: skip
LIMIT.mutant(
    "smaller condition number of the two, squared, and more",
    lambda A, B, C: 2 * C * minimum(blocks(A, B).kappas) * minimum(blocks(A, B).kappas),
)
LIMIT.mutant("without the factor C", "C -> 1")

RELATIVE = Claim(
    COLUMNS_AT_MOST_ROWS,
    "skipless.a4.4-relative",
    label="Section A.4.4, last sentence, with the incoherence relative to the blocks",
    statement=r"\text{If }\rho\le r\,s_{\min}^2,\ r<1:\quad\kappa(\mathbf{M})\le\tau\sqrt{\frac{1+r}{1-r}}\,\kappa_{\max},\quad"
    r"\text{which tends to }\kappa_{\max}\text{ as }r\to0,\ \tau\to1",
    assumptions=[
        Assumption(
            r"\rho \le r s_min^2, 0 < s_min",
            nonnegative=lambda A, B, r: blocks(A, B).s_min * blocks(A, B).s_min * r - blocks(A, B).rho,
            positive=lambda A, B: blocks(A, B).s_min,
        )
    ],
    relation=AtMost(),
    of_project=True,
    corrects="skipless.a4.4-limit",
    proof=("skipless.eq-37-incoherent",),
    note="rho / s_max^2 <= rho / s_min^2 <= r in the last term of Eq. (37). The constants do not depend on the sizes.",
)

Ratio = Annotated[Any, Real(0.0, 0.9375)]


@RELATIVE.formula
def relative_incoherence_bound(A: Left, B: Right, r: Ratio) -> Any:
    """tau sqrt((1 + r) / (1 - r)) kappa_max, a scalar."""
    q = blocks(A, B)
    return q.tau * sqrt((1 + r) / (1 - r)) * maximum(q.kappas)


RELATIVE.oracle(lambda A, B, r: condition(concatenated(A, B)))
RELATIVE.mutant("tau dropped", "q.tau -> 1")
RELATIVE.mutant("incoherence dropped", "r -> 0 * r")
RELATIVE.mutant("(1 - r) / (1 + r)", "r -> -r")
