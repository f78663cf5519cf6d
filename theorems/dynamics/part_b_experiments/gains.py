"""Appendix B.5, Table S.2: the gains of trained RMSNorm layers.

Surprising: one row has max_j |gamma_j| above |gamma|, which no rounding explains.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import Gain
from verify.matrix import absolute, column, frobenius_norm, maximum, rational
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Real, Size

#: Table S.2: |gamma| and max_j |gamma_j| as printed, for N = 4, 8, ..., 512.
TABLE_S2 = tuple(
    (Fraction(norm), Fraction(largest))
    for norm, largest in (
        ("0.229", "0.229"),
        ("0.031", "0.052"),
        ("0.098", "0.098"),
        ("0.348", "0.348"),
        ("0.489", "0.489"),
        ("0.841", "0.841"),
        ("0.738", "0.738"),
        ("0.811", "0.811"),
    )
)

Row = Annotated[int, Size("row")]
Rounding = Annotated[Any, Real(-1.0, 1.0)]


def _within_rounding(value: Fraction, share: Any) -> Any:
    return share * rational(1, 2000) + rational(value.numerator, value.denominator)


TABLE = Claim(DYNAMICS, "dynamics.table-s2", label="Table S.2 and text", name="norm and maximum of learned gains",
    statement=r"""(N;\|\gamma\|,\max_j|\gamma_j|):\ (4; 0.229\pm0.0004, 0.229\pm0.0004),\ (8; 0.031\pm0.0017,
        0.052\pm0.0000),\ (16; 0.098\pm0.0062, 0.098\pm0.0062),\ (32; 0.348\pm0.0004, 0.348\pm0.0004),\ (64;
        0.489\pm0.0006, 0.489\pm0.0006),\ (128; 0.841\pm0.0000, 0.841\pm0.0000),\ (256; 0.738\pm0.0004,
        0.738\pm0.0004),\ (512; 0.811\pm0.0002, 0.811\pm0.0002);\ \text{``the trained models exhibit small }
        \gamma\text{ values, with }\max_j|\gamma_j|<1\text{''}""",
    assumptions=[
        Definition(
            "each entry is right up to the rounding to three digits, drawn as a share of half a unit", by=_within_rounding
        ),
        Assumption("|gamma| is rounded by at most half a unit", nonnegative=lambda u: 1 - u * u),
        Assumption("max_j |gamma_j| is rounded by at most half a unit", nonnegative=lambda v: 1 - v * v),
    ],
    relation=AtMost(ascent=False, left="the printed maximum", right="the printed norm"), sizes={"row": (1, 8)},
    expects="refuted", severity="error", correction="dynamics.table-s2-norms",
    consequence="""Row $N = 8$ cannot be a norm beside a maximum of the same gain; do not compare the two columns, whose
        headings may not say what was measured.""",
    note=r"""The two columns are norms of the same $\gamma$, or averages of them over seeds; the second is then at most
        the first. The row $N = 8$ has 0.052 above 0.031; its standard deviations (0.0017 and 0.0000) do not bridge the
        gap. In the seven other rows the two agree to three digits, so that all other entries of $\gamma$ together have
        a norm of at most $\sqrt{0.002\|\gamma\|}$, 0.041 for $N = 128$: one entry dominates, or $\gamma$ has a single
        entry, or the column headings do not say what was measured. A root mean square of the entries is at most the
        largest and equals it where all are of one size: under that heading all eight rows would be possible. So they
        would be if one of the two numbers is a misprint; which is not evident. What the row should be cannot be told
        from the text; dynamics.table-s2-norms is what any entries have to satisfy. That all maxima are below 1 is as
        printed.""")  # fmt: skip
# the row of Table S.2 by number, from 1, and the shares of half a unit by which its entries were rounded
TABLE.inputs(row=Row, u=Rounding, v=Rounding)


@TABLE.formula
def printed_norm_of_gamma(row: Row, u: Rounding) -> Any:
    """|gamma| of one row, a scalar, somewhere in the interval that rounds to the printed value."""
    return _within_rounding(TABLE_S2[row - 1][0], u)


TABLE.oracle(lambda row, v: _within_rounding(TABLE_S2[row - 1][1], v))


TABLE.counterexample("N = 8, rounded in favour of the table", row=2, u=1, v=-1)
TABLE.mutant("square of the norm", lambda value: value * value)
TABLE.mutant("columns exchanged", lambda row, u: _within_rounding(TABLE_S2[row - 1][1], u))


TABLE_NORMS = Claim(DYNAMICS, "dynamics.table-s2-norms", label="Table S.2, what any gamma satisfies",
    statement=r"\max_j\gamma_j^2\le\|\gamma\|^2\le D\max_j\gamma_j^2",
    name="norm and maximum of any gain", relation=AtMost(left="(max_j gamma_j^2, |gamma|^2)"), sizes={"D": (1, 6)},
    all_sizes=True,
    of_project=True,
    corrects="dynamics.table-s2")  # fmt: skip


def _sum_of_squares(gamma: Any) -> Any:
    norm = frobenius_norm(gamma.reshape(1, -1))
    return norm * norm


def _largest_square(gamma: Any) -> Any:
    largest = maximum(absolute(gamma))
    return largest * largest


@TABLE_NORMS.formula
def bounds_on_gamma(gamma: Gain) -> Any:
    """(|gamma|^2, D max gamma_j^2), shape (2, 1)."""
    return column(_sum_of_squares(gamma), _largest_square(gamma) * gamma.shape[0])


TABLE_NORMS.oracle(lambda gamma: column(_largest_square(gamma), _sum_of_squares(gamma)))
TABLE_NORMS.mutant("mean of the squares",
    "_sum_of_squares(gamma) -> _sum_of_squares(gamma) * rational(1, gamma.shape[0])")  # fmt: skip
TABLE_NORMS.mutant("largest square alone", lambda gamma: column(_sum_of_squares(gamma), _largest_square(gamma)))
