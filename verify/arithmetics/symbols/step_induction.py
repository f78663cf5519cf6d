"""Induction over the steps of iterates: what is left of a difference, as an equation in the matrices that move.

The equation has to hold of the starts.  A step has to take any matrices of which it holds to matrices of which it holds.
Then it holds of the iterates, whatever their number of steps.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from verify.arithmetics.symbols.calculus import derivative
from verify.arithmetics.symbols.heads import Head, Size, head, tensor
from verify.arithmetics.symbols.hypothesis_rules import vanishing
from verify.arithmetics.symbols.indexed import Indexed, lifted
from verify.arithmetics.symbols.iterates import ITERATE, ITERATE_SLOPE
from verify.arithmetics.symbols.recurrences import STEPPED, members, state_of
from verify.arithmetics.symbols.scalars import ONE
from verify.arithmetics.symbols.sums import (
    Sum,
    contract,
    extra_rules,
    identity_over,
    keeping_origins,
    note_rule,
    step_named,
    sum_of_head,
)
from verify.vocabulary.errors import ArithmeticUnsupported

BY_STEPS = step_named(
    "what holds of the starts, and of all images of what it holds of, holds of the iterates, by induction"
)


@dataclass(frozen=True)
class StepInduction:
    """The iterates that take part, and the equations in them that are shown: sums that vanish.

    `members` gives for each iterate those on which its map depends, in the order in which the map has them.  `moves` are starts
    and images, and `invariants` the equations, as they are written down.  `others` are matrices that move from step to step of
    which nothing has to be shown: what they are is written down too.
    """

    iterates: tuple[Head, ...]
    equations: tuple[Sum, ...]
    members: Mapping[Head, Sequence[Head]]
    moves: Mapping[Head, tuple[Sum, Sum]] = field(default_factory=dict)
    invariants: tuple[Sum, ...] = ()
    others: tuple[Head, ...] = ()

    @property
    def declared(self) -> tuple[Head, ...]:
        """All of which start and map are written down."""
        return (*self.iterates, *self.others)

    @property
    def count(self) -> Size:
        """The number of steps of all of them."""
        return self.iterates[0].parameter.count

    def about(self, named: Callable[[Head], str]) -> list[Sum]:
        """The equations about tensors with these names in the place of the iterates.

        Terms stand in the order of the iterates, so that of equal iterates the earlier one gives way to the later one.
        """
        made = {one: tensor(named(one), one.sizes) for one in self.iterates}
        points = {one: sum_of_head(other) for one, other in made.items()}
        found = [_replaced(equation, points) for equation in self.equations]
        return [
            Sum(one.slots, dict(sorted(one.terms.items(), key=lambda term: [made.number for made, _ in term[0]])))
            for one in found
        ]

    def variable(self, made: Head) -> str:
        """The name of what stands for an iterate in starts, images and invariants as they are written down."""
        return f"state {self.declared.index(made) + 1}~"

    def settled(self) -> StepInduction:
        """The same with what is written down of it, made at once: the order of terms and factors is that of this proof."""
        with keeping_origins():
            moves = {made: (start_of(made), self.image(made, self.variable)) for made in self.declared}
        return replace(self, moves=moves, invariants=tuple(self.about(self.variable)))

    def image(self, made: Head, named: Callable[[Head], str]) -> Sum:
        """The image of an iterate, where all of them are the tensors of these names."""
        if made.kind == STEPPED:
            return made.parameter.image([named(other) for other in self.members[made]])  # type: ignore[no-any-return]
        value, slots, rows = self.members[made][0], _argument(made).slots, made.parameter.rows
        generic = tensor(named(value), slots)
        point = Indexed(sum_of_head(generic), (rows, len(slots) - rows))
        image: Sum = lifted(made.parameter.step(point)).value
        if made.kind == ITERATE:
            return image
        # the derivative of the image in the iterate, times that of the iterate in the start
        own, ends = range(len(slots)), range(2 * len(slots), 3 * len(slots))
        middle = range(len(slots), 2 * len(slots))
        slope = sum_of_head(tensor(named(made), made.sizes))
        return contract([(derivative(image, generic), [*own, *middle]), (slope, [*middle, *ends])], [*own, *ends])


def shown_by_induction(parts: Sequence[Sum]) -> StepInduction | None:
    """The induction that shows that these sums vanish, if there is one."""
    equations = tuple(part for part in parts if any(not value.vanishes() for value in part.terms.values()))
    try:
        # what the matrices were after each step agrees where they always do
        equations += tuple(before for part in equations if (before := _before(part)) is not None)
        met = sorted({one for part in equations for one in part.heads() if _moves(one)}, key=lambda one: one.number)
        own = {one: _members(one) for one in met}
        every = tuple(dict.fromkeys(other for one in met for other in own[one]))
        if len({one.parameter.count for one in every}) != 1:
            return None
        own |= {one: _members(one) for one in every if one not in own}
        found = StepInduction(every, equations, own)
        return _with_as_many_as_hold(found, []) or _with_as_many_as_hold(found, _of_like_starts(found))
    except ArithmeticUnsupported:
        return None


def with_others(induction: StepInduction | None, sides: Sequence[Sum]) -> StepInduction | None:
    """The induction, if any, and whatever else moves from step to step in both sides: without it equal values are any matrices."""
    met = sorted({one for side in sides for one in side.heads() if one.kind == STEPPED}, key=lambda one: one.number)
    known = induction.iterates if induction is not None else ()
    others = tuple(one for one in dict.fromkeys(other for one in met for other in members(one)) if one not in known)
    if not others:
        return induction
    found = induction if induction is not None else StepInduction((), (), {})
    own = {**found.members, **{one: members(one) for one in others}}
    return replace(found, members=own, others=others).settled()


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
            parts.append((sum_of_head(one), at))
        total = total.plus(contract(parts, out, {slot: equation.slots[slot] for slot in out}), value)
    return total


def _moves(made: Head) -> bool:
    """Whether a head is an iterate of which start and image are known, over the same indices."""
    if made.kind in (ITERATE, ITERATE_SLOPE):
        return _argument(made).slots == made.sizes[: len(_argument(made).slots)]
    return made.kind == STEPPED


def _members(made: Head) -> list[Head]:
    """The iterates on which the map of one depends, itself among them: that of a slope depends on the value."""
    if made.kind == STEPPED:
        return members(made)
    value = head(ITERATE, ITERATE, _argument(made).slots, (), made.inner, made.parameter)
    return [value] if made.kind == ITERATE else [value, made]


def _hold_of_starts(found: StepInduction) -> bool:
    """Whether the equations hold of the starts."""
    points = {one: start_of(one) for one in found.iterates}
    return not any(_replaced(equation, points).terms for equation in found.equations)


def _of_like_starts(induction: StepInduction) -> list[Sum]:
    """For iterates of one start: that they agree, which may or may not be so, and is no equation yet."""
    known = {made.key for one in induction.equations for made in (one, one.times(-ONE))}
    found = []
    for one, other in itertools.combinations(induction.iterates, 2):
        if one.sizes == other.sizes and start_of(one).key == start_of(other).key:
            found.append(sum_of_head(one).plus(sum_of_head(other), -ONE))
    return [one for one in found if one.key not in known]


def _with_as_many_as_hold(found: StepInduction, more: Sequence[Sum]) -> StepInduction | None:
    """The induction with as many further equations as hold of starts and are kept; None where its own do not."""
    own = len(found.equations)
    if not _hold_of_starts(found):
        return None
    trial = replace(found, equations=(*found.equations, *more))
    while (failing := _not_kept(trial)) and min(failing) >= own:
        kept = [equation for place, equation in enumerate(trial.equations) if place not in failing]
        trial = replace(trial, equations=tuple(kept))
    if failing:
        return None
    note_rule(BY_STEPS)
    return trial.settled()


def _not_kept(found: StepInduction) -> list[int]:
    """The places of equations that may not hold of the images of matrices that meet all of them."""

    def named(one: Head) -> str:
        return f"{BY_STEPS}~{found.iterates.index(one)}"

    with extra_rules(vanishing(BY_STEPS, found.about(named)).rules):
        points = {one: found.image(one, named) for one in found.iterates}
        return [place for place, one in enumerate(found.equations) if _replaced(one, points).terms]


def _argument(made: Head) -> Sum:
    """The start of an iterate of a map that does not depend on the step, or of its slope."""
    found: Sum = made.inner
    return found


def start_of(made: Head) -> Sum:
    """The start of an iterate."""
    if made.kind == ITERATE:
        return _argument(made)
    if made.kind == ITERATE_SLOPE:
        return identity_over(_argument(made).slots)
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
            parts.append((points[made] if made in points else sum_of_head(made), at))
        total = total.plus(contract(parts, out, dict(enumerate(equation.slots))), value)
    return total
