"""Matrices joined from blocks of symbolic sizes: a grid that is added, multiplied and compared block by block."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy

from verify.arithmetics.constants import Constant
from verify.arithmetics.formal import EntryByEntry, Formal
from verify.arithmetics.symbols.heads import unit
from verify.arithmetics.symbols.indexed import Indexed, filled, identity, lifted
from verify.arithmetics.symbols.positions import in_blocks
from verify.arithmetics.symbols.scalars import ZERO
from verify.arithmetics.symbols.sizes import plain, size_of
from verify.arithmetics.symbols.sums import sum_of_head
from verify.vocabulary.errors import ArithmeticUnsupported, InputError

#: The sum of matrices, at least one.
_total = functools.partial(functools.reduce, operator.add)
#: A matrix of more given numbers is not taken apart.
MOST_NUMBERS = 64


class Blocks(EntryByEntry):
    """A grid of `Indexed` matrices; blocks of one row have equally many rows, of one column equally many columns.

    A grid that is written as one column interleaves the rows of its blocks: such a column keeps its blocks, each with
    a tag (sizes of the rows and columns of blocks, and its place among them), and takes part in sums and multiples only.
    """

    def __init__(self, grid: Sequence[Sequence[Indexed]], tags: Sequence[Any] = ()) -> None:
        self.grid = [list(row) for row in grid]
        self.tags = list(tags) or [None] * len(self.grid)
        for row in self.grid:
            if len(row) != len(self.grid[0]):
                raise InputError("blocks", "equally many in each row", str([len(one) for one in self.grid]))
            for block, above in zip(row, self.grid[0], strict=True):
                if block.dims[0] != row[0].dims[0] or block.dims[1] != above.dims[1]:
                    raise InputError("blocks", f"shape ({row[0].dims[0]}, {above.dims[1]})", str(block.dims))

    @property
    def shape(self) -> tuple[Any, Any]:
        return self.dims

    @property
    def dims(self) -> tuple[Any, Any]:
        """The shape as sympy has it."""
        rows = sympy.Add(*(row[0].dims[0] for row in self.grid))
        return plain(rows), plain(sympy.Add(*(block.dims[1] for block in self.grid[0])))

    @property
    def ndim(self) -> int:
        return 2

    @property
    def T(self) -> Blocks:
        self._require_plain("the transpose")
        return Blocks([[row[k].T for row in self.grid] for k in range(len(self.grid[0]))])

    def adapted(self, other: Any) -> Any:
        """A constant or exact scalar in this arithmetic."""
        return self.grid[0][0].adapted(other)

    def __repr__(self) -> str:
        return f"Blocks({[[block.dims for block in row] for row in self.grid]})"

    def _require_plain(self, operation: str) -> None:
        if any(tag is not None for tag in self.tags):
            raise ArithmeticUnsupported(f"{operation} of a column of interleaved blocks")

    @property
    def every(self) -> list[Indexed]:
        """All blocks, row by row."""
        return [block for row in self.grid for block in row]

    def each(self, function: Callable[[Indexed], Indexed]) -> Blocks:
        """A function of every block."""
        return Blocks([[function(block) for block in row] for row in self.grid], self.tags)

    def _with(self, other: Any, operation: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, Indexed) and len(self.grid) == 1 and other.dims == (self.grid[0][0].dims[0], 1):
            other = Blocks([[other]])
        if isinstance(other, Formal) and not isinstance(other, (Blocks, Indexed)):
            return NotImplemented
        if isinstance(other, Blocks):
            if self.partition[1] == other.partition[0] == [1] and not any(
                (*self.tags, *other.tags)
            ):  # a column and a row
                return Blocks([[operation(a, b) for b in other.grid[0]] for (a,) in self.grid])
            if other.partition == (self.partition[0], [1]) != self.partition and self.tags == other.tags:
                rows = zip(self.grid, other.grid, strict=True)  # a column, beside every column
                return Blocks([[operation(a, beside) for a in row] for row, (beside,) in rows], self.tags)
            if self.partition != other.partition or self.tags != other.tags:
                raise InputError("blocks", f"sizes {self.partition}", str(other.partition))
            rows = zip(self.grid, other.grid, strict=True)
            return Blocks([[operation(a, b) for a, b in zip(one, two, strict=True)] for one, two in rows], self.tags)
        other = lifted(other) if isinstance(other, Constant) else other
        if isinstance(other, Indexed) and any(other.axes):
            return self._with(self._split_alike(other), operation)
        return self.each(lambda block: operation(block, other))

    def _split_alike(self, other: Indexed) -> Blocks:
        """A multiple of the identity, or a matrix of equal entries, in blocks of the same sizes."""
        rows, columns = self.partition
        terms = list(other.value.terms.items())
        if other.dims == self.dims and not other.bound and not any(self.tags):
            grid = in_blocks(other, rows, columns)
            if grid is not None:
                return Blocks(grid)
        if other.dims == self.dims and not other.bound and len(terms) <= 1:
            kinds = [made.kind for key, _ in terms for made, _ in key]
            value = terms[0][1] if terms else ZERO
            if not kinds:
                return Blocks([[filled(value, m, n) for n in columns] for m in rows], self.tags)
            if kinds == ["delta"] and rows == columns and not any(self.tags):
                places = list(enumerate(rows))
                return Blocks(
                    [
                        [identity(m) * value.expression if i == j else filled(ZERO, m, n) for j, n in places]
                        for i, m in places
                    ]
                )
        raise ArithmeticUnsupported(f"an operation of blocks with a matrix of shape {other.dims}")

    def _split_positions(self, other: Indexed) -> Blocks:
        """A comparison of the positions of the rows with each other, in blocks of their sizes."""
        rows, (size, _) = self.partition[0], self.dims
        grid = in_blocks(other, rows, rows) if other.dims == (size, size) and not other.bound else None
        if grid is None:
            raise ArithmeticUnsupported(f"a matrix that is not split alike times {self!r}")
        return Blocks(grid)

    @property
    def partition(self) -> tuple[list[Any], list[Any]]:
        """The sizes of the rows of blocks and of the columns of blocks."""
        return [row[0].dims[0] for row in self.grid], [block.dims[1] for block in self.grid[0]]

    def by_single_rows(self) -> Blocks:
        """Blocks whose number of rows is given, taken apart row by row."""
        rows, tags = [], []
        for row, tag in zip(self.grid, self.tags, strict=True):
            height = row[0].dims[0]
            single = tag is None and isinstance(height, int) and 1 < height <= MOST_NUMBERS
            rows += [[block[i : i + 1] for block in row] for i in range(height)] if single else [row]
            tags += [tag] * (height if single else 1)
        return Blocks(rows, tags)

    def __truediv__(self, other: Any) -> Any:
        return self._with(other, operator.truediv)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Indexed):
            if len(self.grid[0]) > 1:
                raise ArithmeticUnsupported(f"{self!r} times a matrix that is not split alike")
            other = Blocks([[other]])
        if not isinstance(other, Blocks):
            return NotImplemented
        self._require_plain("a product")
        other._require_plain("a product")
        inner = [other.grid[k][0].dims[0] for k in range(len(other.grid))]
        if inner != self.partition[1]:
            raise InputError("blocks", f"rows split as {self.partition[1]}", str(inner))
        return _single(
            Blocks(
                [
                    [_total([row[k] @ other.grid[k][j] for k in range(len(row))]) for j in range(len(other.grid[0]))]
                    for row in self.grid
                ]
            )
        )

    def __rmatmul__(self, other: Any) -> Any:
        if isinstance(other, Indexed):
            if len(self.grid) > 1:
                return self._split_positions(other) @ self
            return Blocks([[other]]) @ self
        return NotImplemented

    def __getitem__(self, key: Any) -> Any:
        self._require_plain("a part")
        keys = list(key) if isinstance(key, tuple) else [key]
        keys += [slice(None)] * (2 - len(keys))
        if keys[0] == slice(None) and len(self.grid[0]) == 1:
            return Blocks([[block[:, keys[1]]] for (block,) in self.grid])
        rows, columns = (_range(item, sizes) for item, sizes in zip(keys, self.partition, strict=True))
        return _single(Blocks([row[columns] for row in self.grid[rows]]))

    def reshape(self, *dims: Any) -> Any:
        """As one column, or rows of other lengths, where the blocks are on top of each other."""
        if len(dims) == 2 and dims[0] == -1 and dims[1] != 1 and len(self.grid[0]) == 1:
            self._require_plain("a reshape")
            return Blocks([[block.reshape(*dims)] for (block,) in self.grid])
        if tuple(dims) == (-1, 1):
            if len(self.grid[0]) == 1:
                return Blocks([[block.reshape(-1, 1)] for (block,) in self.grid], self.tags)
            place = (tuple(self.partition[0]), tuple(self.partition[1]))
            tags = [(place, i, j) for i in range(len(self.grid)) for j in range(len(self.grid[0]))]
            if all(row[0].dims[0] == 1 for row in self.grid):
                tags = []
            return Blocks([[block.reshape(-1, 1)] for row in self.grid for block in row], tags)
        if tuple(dims) == (1, -1):
            return self.reshape(-1, 1).T
        if tuple(dims) == (-1,) and self.partition[1] == [1]:
            self._require_plain("a reshape")
            return FlatBlocks(self)
        if tuple(dims) == (-1,) and len(self.grid) == 1:
            return merged(self).reshape(-1)
        raise ArithmeticUnsupported(f"reshape to {dims} of {self!r}")

    def sum(self, axis: int | None = None) -> Any:
        """The sum over one axis, or over all entries."""
        if axis == 0:
            return self.T.sum(1).T
        if axis is None:
            return _total([block.sum() for block in self.every])
        if axis == 1:
            sums = [_total([block.sum(1) for block in row]).reshape(-1, 1) for row in self.grid]
            return _single(Blocks([[block] for block in sums]))
        raise ArithmeticUnsupported(f"sums over axis {axis} of {self!r}")


class FlatBlocks(Formal):
    """A column of blocks without its axis of size 1: it can only be made a column, or a row, again."""

    __array_ufunc__ = None

    def __init__(self, column: Blocks) -> None:
        self.column = column

    @property
    def shape(self) -> tuple[Any]:
        """The number of entries."""
        return (self.column.shape[0],)

    @property
    def ndim(self) -> int:
        return 1

    def reshape(self, *dims: Any) -> Blocks:
        """As one column, or one row."""
        if tuple(dims) not in ((-1, 1), (1, -1)):
            raise ArithmeticUnsupported(f"reshape to {dims} of {self.column!r}")
        return self.column if tuple(dims) == (-1, 1) else self.column.T


def _range(item: Any, sizes: Sequence[Any]) -> slice:
    """The blocks that a slice whose ends lie between blocks selects."""
    ends = [sympy.Add(*sizes[:k]) for k in range(len(sizes) + 1)]
    if isinstance(item, slice) and item.step is None:
        start = 0 if item.start is None else sympy.sympify(item.start)
        stop = ends[-1] if item.stop is None else sympy.sympify(item.stop)
        if start in ends and stop in ends:
            return slice(ends.index(start), ends.index(stop))
    raise ArithmeticUnsupported(f"the part {item} of blocks of sizes {list(sizes)}")


def _single(blocks: Blocks) -> Any:
    """The matrix itself where there is only one block."""
    return blocks.grid[0][0] if len(blocks.grid) == len(blocks.grid[0]) == 1 else blocks


def joined(blocks: Sequence[Any], axis: int) -> Any:
    """Blocks on top of each other (0) or side by side (1)."""
    parts: list[Blocks] = []
    for block in blocks:
        found: Any = block if isinstance(block, Formal) else _of_numbers(block)
        if isinstance(found, Indexed):
            if 0 in found.dims:
                continue
            if found.ndim != 2:
                raise InputError("blocks", "matrices (two dimensions)", f"shape {found.dims}")
            found = Blocks([[found]])
        parts.append(found)
    if axis == 1:
        heights = {len(part.grid) for part in parts}
        if len(heights) != 1:
            raise ArithmeticUnsupported("blocks side by side that are split differently")
        for part in parts:
            part._require_plain("a neighbour")
        return _single(Blocks([[block for part in parts for block in part.grid[k]] for k in range(heights.pop())]))
    rows = [row for part in parts for row in part.grid]
    return _single(Blocks(rows, [tag for part in parts for tag in part.tags]))


def _of_numbers(block: Any) -> Indexed | Blocks:
    """A small matrix of numbers and sizes as blocks of one entry."""
    array = block.array if isinstance(block, Constant) else block
    if isinstance(array, np.ndarray) and array.ndim == 2 and array.size <= MOST_NUMBERS:
        return Blocks([[lifted(entry).reshape(1, 1) for entry in row] for row in array])
    found = lifted(block)
    return found if found.ndim == 2 else found.reshape(1, 1)


def from_numbers(value: Any) -> Any:
    """An array of numbers and sizes as blocks of one entry; anything else as it is."""
    if isinstance(value, (Constant, np.ndarray)) and len(value.shape) == 2:
        found = _of_numbers(value)
        return _single(found) if isinstance(found, Blocks) else value
    return value


def merged(blocks: Blocks) -> Indexed:
    """Blocks of one shape as a matrix with one more index of its rows, and one of its columns, for the place of a block."""
    blocks._require_plain("one matrix")
    rows, columns = len(blocks.grid), len(blocks.grid[0])
    first = blocks.grid[0][0]
    total: Any = None
    for p, row in enumerate(blocks.grid):
        for q, block in enumerate(row):
            if [block.sizes(0), block.sizes(1)] != [first.sizes(0), first.sizes(1)]:
                raise ArithmeticUnsupported(f"{blocks!r}, blocks of several shapes, as one matrix")
            four = (_unit(rows, p) @ _unit(columns, q).T)[:, None, :, None] * block[None, :, None, :]
            axes = (four.axes[0] + four.axes[1], four.axes[2] + four.axes[3])
            placed = Indexed(four.value, axes, four.bound)
            total = placed if total is None else total + placed
    return total


def _unit(count: int, place: int) -> Indexed:
    """The unit vector e_place as a column, without an index where there is but one."""
    size = size_of("count", count)
    if count == 1:
        return lifted(1).reshape(1, 1)
    return Indexed(sum_of_head(unit(size, place)), (1, 0))


def as_matrix(operand: Any) -> Indexed:
    """An operand, or blocks of one shape, as one matrix."""
    found = merged(operand) if isinstance(operand, Blocks) else lifted(operand)
    if not isinstance(found, Indexed):
        raise ArithmeticUnsupported(f"{operand!r} as one matrix")
    return found
