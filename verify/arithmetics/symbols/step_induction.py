"""Induction over the steps of iterates: what is left of a difference, as an equation in the matrices that move.

The equation has to hold of the starts.  A step has to take any matrices of which it holds to matrices of which it holds.
Then it holds of the iterates, whatever their number of steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from verify.arithmetics.symbols.heads import Head, Size, tensor
from verify.arithmetics.symbols.hypothesis_rules import vanishing
from verify.arithmetics.symbols.indexed import Indexed, lifted
from verify.arithmetics.symbols.iterates import ITERATE
from verify.arithmetics.symbols.recurrences import STEPPED, members, state_of
from verify.arithmetics.symbols.sums import Sum, contract, extra_rules, note_rule, single, step_named
from verify.vocabulary.errors import ArithmeticUnsupported

BY_STEPS = step_named(
    "what holds of the starts, and of all images of what it holds of, holds of the iterates, by induction"
)


@dataclass(frozen=True)
class StepInduction:
    """The iterates that take part, and the equations in them that are shown: sums that vanish.

    `members` gives for each iterate those on which its map depends, in the order in which the map has them.
    """

    iterates: tuple[Head, ...]
    equations: tuple[Sum, ...]
    members: Mapping[Head, Sequence[Head]]

    @property
    def count(self) -> Size:
        """The number of steps of all of them."""
        return self.iterates[0].parameter.count

    def about(self, named: Callable[[Head], str]) -> list[Sum]:
        """The equations about tensors with these names in the place of the iterates."""
        made = {one: tensor(named(one), one.sizes) for one in self.iterates}
        points = {one: single(other, range(len(one.sizes)), one.sizes) for one, other in made.items()}
        return [_replaced(equation, points) for equation in self.equations]

    def image(self, made: Head, named: Callable[[Head], str]) -> Sum:
        """The image of an iterate, where all of them are the tensors of these names."""
        if made.kind == STEPPED:
            return made.parameter.image([named(other) for other in self.members[made]])  # type: ignore[no-any-return]
        slots, rows = made.sizes, made.parameter.rows
        point = Indexed(single(tensor(named(made), slots), range(len(slots)), slots), (rows, len(slots) - rows))
        return lifted(made.parameter.step(point)).value  # type: ignore[no-any-return]


def shown_by_induction(parts: Sequence[Sum]) -> StepInduction | None:
    """The induction that shows that these sums vanish, if there is one."""
    equations = tuple(part for part in parts if any(not value.vanishes() for value in part.terms.values()))
    try:
        # what the matrices were after each step agrees where they always do
        equations += tuple(before for part in equations if (before := _before(part)) is not None)
        met = sorted({one for part in equations for one in part.heads() if _moves(one)}, key=lambda one: one.number)
        own = {one: members(one) if one.kind == STEPPED else [one] for one in met}
        every = tuple(dict.fromkeys(other for one in met for other in own[one]))
        if len({one.parameter.count for one in every}) != 1:
            return None
        own |= {one: members(one) for one in every if one not in own}
        found = StepInduction(every, equations, own)
        return found if _starts(found) and _is_kept(found) else None
    except ArithmeticUnsupported:
        return None


def _before(equation: Sum) -> Sum | None:
    """An equation in what matrices were after each step, as one in these matrices; None where it is no such equation."""
    last: set[int] = set()
    slots = range(len(equation.slots))
    terms = []
    for key, value in equation.terms.items():
        states = [(k, at) for k, (made, at) in enumerate(key) if made.kind == STEPPED and state_of(made) is not None]
        if len(states) != 1:
            return None
        ((place, at),) = states
        last.add(at[-1])
        if sum(index == at[-1] for _, other in key for index in other) != 1:
            return None
        terms.append((key, value, place))
    if len(last) != 1 or not last < set(slots):
        return None
    (gone,) = last
    out = [slot for slot in slots if slot != gone]
    total = Sum([equation.slots[slot] for slot in out], {})
    for key, value, place in terms:
        parts = []
        for k, (made, at) in enumerate(key):
            one, at = (state_of(made), at[:-1]) if k == place else (made, at)
            assert one is not None
            parts.append((single(one, range(len(at)), one.sizes), at))
        total = total.plus(contract(parts, out, {slot: equation.slots[slot] for slot in out}), value)
    return total


def _moves(made: Head) -> bool:
    """Whether a head is an iterate of which start and image are known, over the same indices."""
    return made.kind == STEPPED or (made.kind == ITERATE and made.inner.slots == made.sizes)


def _starts(found: StepInduction) -> bool:
    """Whether the equations hold of the starts."""
    points = {one: start_of(one) for one in found.iterates}
    return not any(_replaced(equation, points).terms for equation in found.equations)


def _is_kept(found: StepInduction) -> bool:
    """Whether the equations hold of the images of any matrices that meet them."""

    def named(one: Head) -> str:
        return f"{BY_STEPS}~{found.iterates.index(one)}"

    with extra_rules(vanishing(BY_STEPS, found.about(named)).rules()):
        points = {one: found.image(one, named) for one in found.iterates}
        after = [_replaced(equation, points) for equation in found.equations]
    if any(equation.terms for equation in after):
        return False
    note_rule(BY_STEPS)
    return True


def start_of(made: Head) -> Sum:
    """The start of an iterate."""
    if made.kind == ITERATE:
        return made.inner  # type: ignore[no-any-return]
    recurrence = made.parameter
    return recurrence.motion.starts[recurrence.places[recurrence.own]].value  # type: ignore[no-any-return]


def _replaced(equation: Sum, points: Mapping[Head, Sum]) -> Sum:
    """The equation with points in the place of iterates; none of them may stand in the argument of a function."""
    total, out = Sum(equation.slots, {}), list(range(len(equation.slots)))
    for key, value in equation.terms.items():
        parts = []
        for made, at in key:
            if made.inner is not None and made not in points and any(map(_moves, made.inner.heads())):
                raise ArithmeticUnsupported("a function of an iterate in what an induction is to show")
            parts.append((points[made] if made in points else single(made, range(len(at)), made.sizes), at))
        total = total.plus(contract(parts, out, dict(enumerate(equation.slots))), value)
    return total


__all__ = ["BY_STEPS", "StepInduction", "shown_by_induction", "start_of"]
