"""Comparisons of positions: L_s(i, j) is 1 where j <= i + s, and 0 elsewhere, for a shift s that is a sum of sizes.

The algebra knows four facts of it.  L_s is 0 or 1; of two shifts the smaller decides; on the diagonal it is 1 for s >= 0 and 0 for
s < 0; it is 1 (0) everywhere where s is at least (below) every j - i.  A shift is compared with another, or with 0, only where
that comes out alike for all sizes, 0 included.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy

from verify.arithmetics.formal import register_forms
from verify.arithmetics.guarded import unguarded
from verify.arithmetics.symbols.canonical import Factor
from verify.arithmetics.symbols.head_kinds import head_kind
from verify.arithmetics.symbols.heads import Head, Size, head
from verify.arithmetics.symbols.indexed import Indexed, filled
from verify.arithmetics.symbols.scalars import ONE, ZERO
from verify.arithmetics.symbols.sizes import size_of
from verify.arithmetics.symbols.sums import Product, rule, sum_of_head
from verify.vocabulary.errors import ArithmeticUnsupported

ORDER = "order"
#: The rules, which certificates name too.
NARROWER, ITSELF = "of two comparisons of positions the narrower decides", "a position compared with itself"
THE_FIRST = "the first position is not later than any"


def is_never_negative(expression: Any) -> bool:
    """Whether a polynomial in sizes is at least 0 whatever they are, each of them being at least 0."""
    found = sympy.expand(expression)
    symbols = sorted(found.free_symbols, key=str)
    if not all(symbol.is_integer and symbol.is_positive for symbol in symbols) or not found.is_polynomial(*symbols):
        return False
    return all(coefficient >= 0 for coefficient in found.as_coefficients_dict().values())


def order_head(rows: Size, columns: Size, shift: Any) -> Head:
    """L_shift over `rows` and `columns` positions."""
    return head(ORDER, "L", (rows, columns), parameter=sympy.expand(shift))


def not_later(m: Any, n: Any, shift: Any = 0) -> Any:
    """1 where j <= i + shift, 0 elsewhere, shape (m, n)."""
    rows, columns, found = size_of("m", m), size_of("n", n), unguarded(shift)
    if isinstance(found, bool) or not isinstance(found, (int, sympy.Expr)) or not sympy.sympify(found).is_integer:
        raise ArithmeticUnsupported(f"positions that are shifted by {shift!r}")
    by = sympy.expand(found)
    if is_never_negative(by - columns + 1):  # every j is at most n - 1
        return filled(ONE, rows, columns)
    if is_never_negative(-by - rows):  # every i + shift is below 0
        return filled(ZERO, rows, columns)
    if 1 in (rows, columns):
        raise ArithmeticUnsupported("the positions of a single row or column")
    made = order_head(rows, columns, by)
    return Indexed(sum_of_head(made), (1, 1), ())


def at_block(made: Head, row: Size, column: Size, rows: Size, columns: Size) -> Indexed:
    """The block of L that begins at a row and a column: its own positions are shifted by the difference."""
    found: Indexed = not_later(rows, columns, made.parameter + row - column)
    return found


def in_blocks(matrix: Indexed, rows: Sequence[Any], columns: Sequence[Any]) -> list[list[Indexed]] | None:
    """A sum of multiples of comparisons of positions and of ones, in blocks of these sizes; None where it is another matrix."""
    kinds = {made.kind for key in matrix.value.terms for made, _ in key}
    if kinds != {ORDER} or any(len(key) > 1 for key in matrix.value.terms):
        return None
    starts = [[sympy.Add(*sizes[:k]) for k in range(len(sizes))] for sizes in (rows, columns)]

    def block(i: int, j: int) -> Any:
        total: Any = filled(ZERO, sympy.sympify(rows[i]), sympy.sympify(columns[j]))
        for key, coefficient in matrix.value.terms.items():
            part = filled(ONE, sympy.sympify(rows[i]), sympy.sympify(columns[j]))
            for made, (row, _) in key:
                if row != 0:  # transposed
                    part = at_block(made, starts[1][j], starts[0][i], columns[j], rows[i]).T
                else:
                    part = at_block(made, starts[0][i], starts[1][j], rows[i], columns[j])
            total = total + part * coefficient.expression
        return total

    return [[block(i, j) for j in range(len(columns))] for i in range(len(rows))]


def smaller(one: Head, other: Head) -> Head | None:
    """Of two comparisons of the same positions that with the smaller shift, None where sizes decide which it is."""
    if is_never_negative(other.parameter - one.parameter):
        return one
    return other if is_never_negative(one.parameter - other.parameter) else None


def on_diagonal(made: Head) -> int | None:
    """L_s(i, i), None where sizes decide."""
    if is_never_negative(made.parameter):
        return 1
    return 0 if is_never_negative(-made.parameter - 1) else None


def _without(factors: Sequence[Factor], *places: int) -> list[Factor]:
    return [factor for k, factor in enumerate(factors) if k not in places]


@rule(NARROWER, ORDER)
def narrower(product: Product, slots: int) -> list[Product] | None:
    """L_s(i, j) L_t(i, j) = L_s(i, j) for s <= t."""
    coefficient, factors, summed = product
    own = [k for k, (made, _) in enumerate(factors) if made.kind == ORDER]
    for place, one in enumerate(own):
        for other in own[place + 1 :]:
            kept = smaller(factors[one][0], factors[other][0]) if factors[one][1] == factors[other][1] else None
            if kept is not None:
                return [(coefficient, _without(factors, other if kept is factors[one][0] else one), summed)]
    return None


@rule(ITSELF, ORDER)
def compared_with_itself(product: Product, slots: int) -> list[Product] | None:
    """L_s(i, i) = 1 for s >= 0, 0 for s < 0."""
    coefficient, factors, summed = product
    for place, (made, indices) in enumerate(factors):
        if made.kind == ORDER and indices[0] == indices[1] and (value := on_diagonal(made)) is not None:
            return [(coefficient, _without(factors, place), summed)] if value else []
    return None


@rule(THE_FIRST, ORDER)
def compared_with_the_first(product: Product, slots: int) -> list[Product] | None:
    """L_s(i, j) e_0(j) = e_0(j) for s >= 0."""
    coefficient, factors, summed = product
    first = {at[0] for made, at in factors if made.kind == "unit" and made.parameter == 0}
    for place, (made, indices) in enumerate(factors):
        if made.kind == ORDER and indices[1] in first and is_never_negative(made.parameter):
            return [(coefficient, _without(factors, place), summed)]
    return None


register_forms({"not_later": not_later})
head_kind(
    ORDER,
    values=lambda made, point: np.tri(*map(point.size, (*made.sizes, made.parameter))),
    latex=lambda made, at, written: rf"[{at[1]} \le {at[0]} + ({sympy.latex(made.parameter)})]",
)
