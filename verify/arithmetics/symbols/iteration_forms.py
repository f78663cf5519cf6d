"""The form of `verify.matrix.iterated` for symbolic sizes: a loop where the count is a number, a head of its own elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from verify.arithmetics.formal import Formal, register_forms
from verify.arithmetics.symbols.blocks import Blocks, merged
from verify.arithmetics.symbols.extents import note_for_each, recording_extents
from verify.arithmetics.symbols.guarded import unguarded
from verify.arithmetics.symbols.heads import tensor
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


register_forms({"iterated": iterated})
__all__ = ["iterated"]
