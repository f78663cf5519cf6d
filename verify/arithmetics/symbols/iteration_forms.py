"""The form of `verify.matrix.iterated` for symbolic sizes: a loop where the count is a number, a head of its own elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from verify.arithmetics.formal import Formal, register_forms
from verify.arithmetics.guarded import unguarded
from verify.arithmetics.symbols.blocks import Blocks, merged
from verify.arithmetics.symbols.extents import note_for_each, recording_extents
from verify.arithmetics.symbols.heads import Head, tensor
from verify.arithmetics.symbols.indexed import Indexed, lifted
from verify.arithmetics.symbols.iterates import Iteration, iterate_of
from verify.arithmetics.symbols.sizes import is_size, size_of
from verify.arithmetics.symbols.sums import Product, collected, note_rule, single, step_named
from verify.arithmetics.tracing import handed_over
from verify.vocabulary.errors import ArithmeticUnsupported

#: The generic matrix to which a step is applied once: no input and no variable has this name.
GENERIC = "iterate~generic"
BY_INDUCTION = step_named("iterates commute with what each step commutes with, by induction")


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
    iteration = Iteration(number, image, point.axes[0], handed_over(step))
    commuting = commuting_factor(step, point)
    if commuting is not None:
        note_rule(BY_INDUCTION)
        rest, factor = commuting
        start_alone = Indexed(iterate_of(rest.value, iteration), (1, 1), ())
        return start_alone @ factor
    value = iterate_of(point.value, iteration)
    axes = [int(size != 1) for size in point.dims]
    return Indexed(value, axes, ())


def _image(step: Callable[[Any], Any], point: Indexed) -> Any:
    """What a step makes of a generic matrix; raises where that depends on more than the matrix."""
    slots = point.value.slots
    made = tensor(GENERIC, slots)
    found = lifted(step(Indexed(single(made, range(len(slots)), slots), point.axes, ())))
    if not isinstance(found, Indexed) or found.value.slots != slots or found.axes != point.axes or found.bound:
        raise ArithmeticUnsupported("a step that leads to a matrix of another shape")
    if any(other.kind == "tensor" and other is not made for other in found.value.heads()):
        raise ArithmeticUnsupported("a step in which other matrices stand")
    return found.value.key


# -- induction over the steps -------------------------------------------------------------------------------------------


def commuting_factor(step: Callable[[Any], Any], point: Indexed) -> tuple[Indexed, Indexed] | None:
    """M and R where the start is M R for a square input R with step(Z R) = step(Z) R for every Z; None where it is not.

    Then the iterates commute with R too.  None of the steps changes M R to M R, and if step^k(Z R) = step^k(Z) R for every Z,
    then step^(k+1)(Z R) = step(step^k(Z) R) = step^(k+1)(Z) R.
    """
    found = _last_factor(point)
    if found is None:
        return None
    rest, factor = found
    slots = point.value.slots
    generic = Indexed(single(tensor(GENERIC, slots), (0, 1), slots), (1, 1), ())
    left, right = lifted(step(generic @ factor)), lifted(step(generic)) @ factor
    if not isinstance(left, Indexed) or left.dims != right.dims or (left - right).value.terms:
        return None
    return rest, factor


def _last_factor(point: Indexed) -> tuple[Indexed, Indexed] | None:
    """M and R where every term of a matrix is one of M times the square input R, or its transpose."""
    if point.axes != (1, 1):
        return None
    factors: set[tuple[Head, int]] = set()
    products: list[Product] = []
    for key, coefficient in point.value.terms.items():
        own = [(made, indices) for made, indices in key if 1 in indices]
        if (
            len(own) != 1
            or own[0][0].kind != "tensor"
            or len(own[0][1]) != 2
            or own[0][0].sizes[0] != own[0][0].sizes[1]
        ):
            return None
        made, indices = own[0]
        column = indices.index(1)
        middle = indices[1 - column]
        if middle < 2:
            return None
        factors.add((made, column))
        kept = [(other, tuple(1 if i == middle else i for i in at)) for other, at in key if 1 not in at]
        summed = {i: other.sizes[k] for other, at in kept for k, i in enumerate(at) if i >= 2}
        products.append((coefficient, kept, summed))
    if len(factors) != 1:
        return None
    ((made, column),) = factors
    factor = Indexed(single(made, (0, 1), made.sizes), (1, 1), ())
    rest = Indexed(collected(products, point.value.slots), (1, 1), ())
    return rest, factor if column == 1 else factor.T


register_forms({"iterated": iterated})
__all__ = ["BY_INDUCTION", "commuting_factor", "iterated"]
