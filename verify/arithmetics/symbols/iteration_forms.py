"""The form of `verify.matrix.iterated` for symbolic sizes: a loop where the count is a number, a head of its own elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from verify.arithmetics.formal import Formal, register_forms
from verify.arithmetics.symbols.blocks import Blocks
from verify.arithmetics.symbols.extents import note_for_each, recording_extents
from verify.arithmetics.symbols.guarded import unguarded
from verify.arithmetics.symbols.heads import tensor, unit
from verify.arithmetics.symbols.indexed import Indexed, lifted
from verify.arithmetics.symbols.iterates import Iteration, iterate_of
from verify.arithmetics.symbols.sizes import is_size, size_of
from verify.arithmetics.symbols.sums import single
from verify.vocabulary.errors import ArithmeticUnsupported

#: The generic matrix to which a step is applied once: no input and no variable has this name.
GENERIC = "iterate~generic"


def iterated(count: Any, step: Callable[[Any], Any], start: Any) -> Any:
    """step(step(... start)), `count` times."""
    number = unguarded(count)
    if isinstance(number, int):
        for _ in range(number):
            start = step(start)
        return start
    if not isinstance(start, Formal):
        raise ArithmeticUnsupported(f"a symbolic number of steps from {start!r}")
    number = size_of("count", number) if is_size(number) else None
    if number is None:
        raise ArithmeticUnsupported(f"{count!r} steps, which may be no number of steps")
    point = merged(start) if isinstance(start, Blocks) else lifted(start)
    if not isinstance(point, Indexed) or point.ndim != 2 or point.bound:
        raise ArithmeticUnsupported(f"a symbolic number of steps from {start!r}")
    with recording_extents() as inside:
        image = _image(step, point)
    note_for_each((number,), inside)
    iteration = Iteration(number, image, point.axes[0], step)
    value = iterate_of(point.value, iteration)
    axes = [int(size != 1) for size in point.dims]
    return Indexed(value, axes, (), ("iterate", point.tree, str(number)))


def _image(step: Callable[[Any], Any], point: Indexed) -> Any:
    """What a step makes of a generic matrix; raises where that depends on more than the matrix."""
    slots = point.value.slots
    made = tensor(GENERIC, slots)
    found = lifted(step(Indexed(single(made, range(len(slots)), slots), point.axes, (), "M")))
    if not isinstance(found, Indexed) or found.value.slots != slots or found.axes != point.axes or found.bound:
        raise ArithmeticUnsupported("a step that leads to a matrix of another shape")
    if any(other.kind == "tensor" and other is not made for other in found.value.heads()):
        raise ArithmeticUnsupported("a step in which other matrices stand")
    return found.value.key


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


register_forms({"iterated": iterated})
__all__ = ["iterated", "merged"]
