"""Matrices of which only some rows count, which ones depending on a summation index: the keys up to the query i, a window.

All rows are carried, together with a mask that is 1 at those that count.  Whatever is summed over such an axis is summed
under the mask: products, sums and the denominators of softmax rows.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import sympy

from verify.arithmetics.formal import EntryByEntry, Formal, register_forms
from verify.arithmetics.guarded import guarded, unguarded
from verify.arithmetics.symbols.blocks import Blocks, joined
from verify.arithmetics.symbols.indexed import Indexed, filled, lifted
from verify.arithmetics.symbols.indexed_forms import FORMS
from verify.arithmetics.symbols.positions import is_never_negative, not_later
from verify.arithmetics.symbols.scalars import ONE
from verify.arithmetics.symbols.summation import ShiftedIndex, SummationIndex
from verify.vocabulary.errors import ArithmeticUnsupported, InputError

Operand = Any


class Length(Formal):
    """The number of rows that count: those before `end`, out of `size`."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, end: ShiftedIndex, size: Any) -> None:
        self.end, self.size = end, size

    def _undecided(self, other: Any) -> Any:
        raise ArithmeticUnsupported("a decision on a number of rows that depends on an index")

    def __eq__(self, other: Any) -> bool:
        """What is certain: a number is equal to itself, and one of at least 1 is not 0."""
        if isinstance(other, Length) and other.end.index is self.end.index and other.size == self.size:
            if other.end.offset == self.end.offset:
                return True
        elif isinstance(other, int) and other == 0 and is_never_negative(self.end.offset - 1):
            return False
        return bool(self._undecided(other))

    def __ne__(self, other: Any) -> bool:
        return not self == other

    __lt__ = __le__ = __gt__ = __ge__ = _undecided

    def mask(self) -> Operand:
        """1 at the positions before the end, shape (1, size)."""
        return _before(self.end, self.size)


class Mask:
    """Which positions of an axis count: a row of zeros and ones; and their number, where they are the first ones."""

    def __init__(self, row: Operand, length: Length | None = None) -> None:
        self.row, self.length = row, length


class Ragged(EntryByEntry):
    """A matrix with a mask for its rows, for its columns, or for both."""

    def __init__(self, every: Operand, rows: Mask | None = None, columns: Mask | None = None) -> None:
        self.every, self.rows, self.columns = every, rows, columns

    def __repr__(self) -> str:
        return f"Ragged({self.every!r})"

    @property
    def shape(self) -> tuple[Any, Any]:
        """The number of rows and columns that count."""
        return _number(self.rows, self.every.dims[0]), _number(self.columns, self.every.dims[1])

    @property
    def called(self) -> str:
        return "a matrix with a mask"  # its number of rows may depend on an index, and has no text

    @property
    def ndim(self) -> int:
        return 2

    @property
    def T(self) -> Ragged:
        return Ragged(self.every.T, self.columns, self.rows)

    def adapted(self, other: Any) -> Any:
        """A constant or exact scalar in this arithmetic."""
        return self.every.adapted(other)

    def entrywise(self, function: Callable[[Operand], Operand]) -> Ragged:
        """A function of every entry."""
        return Ragged(function(self.every), self.rows, self.columns)

    def __matmul__(self, other: Any) -> Any:
        if not isinstance(other, Ragged):
            if self.columns is not None:
                raise ArithmeticUnsupported("a sum over some columns of one factor, and all rows of the other")
            return _unless_whole(self.every @ other, self.rows, None)
        left = self.every
        if (self.columns is None) != (other.rows is None):
            raise ArithmeticUnsupported("a sum over some columns of one factor, and all rows of the other")
        if self.columns is not None and other.rows is not None:
            _require_equal(self.columns, other.rows)
            left = _under(left, self.columns)
        return _unless_whole(left @ other.every, self.rows, other.columns)

    def __rmatmul__(self, other: Any) -> Any:
        if self.rows is not None:
            raise ArithmeticUnsupported("a sum over all columns of one factor, and some rows of the other")
        return _unless_whole(lifted(other) @ self.every, None, self.columns)

    def _with(self, other: Any, operation: Callable[[Any, Any], Any]) -> Ragged:
        if isinstance(other, Ragged):
            for own, its in ((self.rows, other.rows), (self.columns, other.columns)):
                if (own is None) != (its is None):
                    raise ArithmeticUnsupported("matrices of which other rows or columns count")
                if own is not None and its is not None:
                    _require_equal(own, its)
            return self.entrywise(lambda every: operation(every, other.every))
        if isinstance(other, Formal) and any(size != 1 for size in getattr(other, "dims", (0,))):
            raise ArithmeticUnsupported("matrices of which other rows or columns count")
        return self.entrywise(lambda every: operation(every, other))

    def __truediv__(self, other: Any) -> Ragged:
        return self._with(other, operator.truediv)

    def __getitem__(self, key: Any) -> Any:
        """The row i:i + 1, which has to be one of those that count."""
        if not isinstance(key, slice) or not isinstance(key.start, SummationIndex) or self.rows is None:
            raise ArithmeticUnsupported(f"the part {key!r} of a matrix with a mask")
        counts = lifted(self.rows.row)[:, key]
        if not isinstance(counts, Indexed) or list(counts.value.terms.items()) != [((), ONE)]:
            raise ArithmeticUnsupported(f"the row {key!r} of a matrix in which it may not count")
        return _unless_whole(self.every[key], None, self.columns)


def _number(mask: Mask | None, size: Any) -> Any:
    if mask is None:
        return guarded(size)
    if mask.length is None:
        raise ArithmeticUnsupported("the number of rows of a matrix with a mask")
    return mask.length


def _unless_whole(every: Operand, rows: Mask | None, columns: Mask | None) -> Any:
    return every if rows is None and columns is None else Ragged(every, rows, columns)


def _under(every: Operand, columns: Mask) -> Operand:
    """The entries in the columns that count, and 0 in others."""
    if isinstance(every, Blocks) and len(every.grid) > 1:
        raise ArithmeticUnsupported("several rows of blocks under a mask")
    return every * columns.row


def _require_equal(one: Mask, other: Mask) -> None:
    if _parts(one.row) != _parts(other.row):
        raise ArithmeticUnsupported("matrices of which other rows or columns count")


def _parts(row: Operand) -> list[Any]:
    """What tells one mask from another: its entries, and the indices that they depend on."""
    parts = row.grid[0] if isinstance(row, Blocks) else [row]
    return [(part.value.key, [index.number for index in part.bound]) for part in parts]


# -- the primitives ----------------------------------------------------------------------------------------------------


def _before(end: ShiftedIndex, size: Any) -> Indexed:
    """1 at the positions j < i + offset of an axis, 0 elsewhere, shape (1, size)."""
    every = not_later(end.index.size, size, end.offset - 1)
    if end.index.size == 1:
        raise ArithmeticUnsupported("positions compared with an index of size 1")
    found: Indexed = every[end.index : end.index + 1, :]
    return found


def rows_within(M: Any, first: Any, end: Any) -> Ragged:
    """The rows first, ..., end - 1 of M, as far as there are such rows."""
    found = lifted(M)
    if not isinstance(found, Indexed) or found.ndim != 2:
        raise InputError("M", "a matrix (two dimensions)", repr(M))
    size, start = found.dims[0], unguarded(first)
    if not isinstance(end, ShiftedIndex):
        raise ArithmeticUnsupported(f"the rows up to {end!r}")
    before = _before(end, size)
    if isinstance(start, int) and start == 0:
        return Ragged(found, rows=Mask(before, Length(end, size)))
    if not isinstance(start, ShiftedIndex) or start.index is not end.index:
        raise ArithmeticUnsupported(f"the rows from {first!r} to {end!r}")
    if not is_never_negative(end.offset - start.offset):
        raise ArithmeticUnsupported(f"the rows from {first!r} to {end!r}, which may come before it")
    return Ragged(found, rows=Mask(before - _before(start, size)))


def _of_positions(m: Any, n: Any, shift: Any = 0) -> Any:
    """The comparison of positions, of those that count where one of the sizes is such a number."""
    if not isinstance(m, Length) and not isinstance(n, Length):
        return not_later(m, n, shift)
    if isinstance(shift, Length):
        raise ArithmeticUnsupported("positions that are shifted by a number that depends on an index")
    sizes = [length.size if isinstance(length, Length) else unguarded(length) for length in (m, n)]
    masks = [Mask(length.mask(), length) if isinstance(length, Length) else None for length in (m, n)]
    return Ragged(not_later(sizes[0], sizes[1], shift), masks[0], masks[1])


def _entrywise(name: str) -> None:
    """The form of an entrywise function, for matrices with a mask too."""
    plain = FORMS[name]

    def form(x: Any) -> Any:
        return x.entrywise(plain) if isinstance(x, Ragged) else plain(x)

    register_forms({name: form})


def _normalised(weights: Ragged) -> Ragged:
    """Weights over their sums, row by row."""
    assert weights.columns is not None
    sums = _under(weights.every, weights.columns).sum(1).reshape(-1, 1)
    return Ragged(weights.every / sums, weights.rows, weights.columns)


def softmax(T: Any) -> Any:
    """Row softmax over the columns that count."""
    if not isinstance(T, Ragged) or T.columns is None:
        return T.entrywise(FORMS["softmax"]) if isinstance(T, Ragged) else FORMS["softmax"](T)
    return _normalised(T.entrywise(FORMS["exp"]))


def masked_softmax(T: Any, M: Any) -> Any:
    """The same under a mask."""
    if not isinstance(T, Ragged) or T.columns is None:
        return FORMS["masked_softmax"](T, M)
    return _normalised(T.entrywise(FORMS["exp"]) * M)


def concatenate(blocks: Any, axis: int) -> Any:
    """Blocks on top of each other or side by side, some of which have a mask along this axis."""
    if not isinstance(blocks, list) or not any(isinstance(block, Ragged) for block in blocks):
        return FORMS["concatenate"](blocks, axis)
    if axis == 1:
        return concatenate([block.T for block in blocks], 0).T
    every: list[Operand] = []
    masks: list[Operand] = []
    for block in blocks:
        if not isinstance(block, Ragged):
            every.append(lifted(block))
            masks.append(filled(ONE, sympy.Integer(1), sympy.sympify(every[-1].dims[0])))
            continue
        if block.columns is not None or block.rows is None:
            raise ArithmeticUnsupported("blocks with a mask along the other axis")
        every.append(block.every)
        masks.append(block.rows.row)
    return Ragged(joined(every, 0), rows=Mask(joined(masks, 1)))


_entrywise("exp")
register_forms({
    "rows_within": rows_within, "not_later": _of_positions, "softmax": softmax, "masked_softmax": masked_softmax,
    "concatenate": concatenate,
})  # fmt: skip
