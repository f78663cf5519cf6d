"""Blocks of one shape as one matrix, by unit vectors for the place of each block."""

from __future__ import annotations

from typing import Any

from verify.arithmetics.symbols.blocks import Blocks
from verify.arithmetics.symbols.heads import unit
from verify.arithmetics.symbols.indexed import Indexed, lifted
from verify.arithmetics.symbols.sizes import size_of
from verify.arithmetics.symbols.sums import single
from verify.vocabulary.errors import ArithmeticUnsupported


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
            placed = Indexed(four.value, axes, four.bound, block.tree)
            total = placed if total is None else total + placed
    return Indexed(
        total.value, total.axes, total.bound, ("blocks", *(block.tree for row in blocks.grid for block in row))
    )


def _unit(count: int, place: int) -> Indexed:
    """The unit vector e_place as a column, without an index where there is but one."""
    size = size_of("count", count)
    if count == 1:
        return lifted(1).reshape(1, 1)
    return Indexed(single(unit(size, place), (0,), (size,)), (1, 0))


__all__ = ["merged"]
