"""Matrices that move together from step to step, a symbolic number of times, by a map that may depend on the step.

This is the form of `verify.matrix.stepped` for symbolic sizes.  Stacked inputs, such as the weights of all layers, are read at
the step, as products with its unit vector, whose size is the number of steps; this vector stands in the map alone.  Nothing is
known of the values but what `step_induction` shows, and none of them is differentiated: no variable may stand in a start or in
the map.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import sympy

from verify.arithmetics.conditions import rely_on_at_least
from verify.arithmetics.formal import register_forms
from verify.arithmetics.guarded import unguarded
from verify.arithmetics.symbols.blocks import as_matrix
from verify.arithmetics.symbols.extents import note_for_each, recording_extents
from verify.arithmetics.symbols.families import IndexedFamily
from verify.arithmetics.symbols.head_kinds import below, head_kind
from verify.arithmetics.symbols.heads import AT_STEP, Head, Size, at_step, delta, head, tensor
from verify.arithmetics.symbols.indexed import Indexed
from verify.arithmetics.symbols.sizes import steps_of
from verify.arithmetics.symbols.summation import StepNumber, SummationIndex, taken_at
from verify.arithmetics.symbols.sums import Product, Sum, contract, rule, sum_of_head
from verify.vocabulary.errors import ArithmeticUnsupported

#: The kind of the value of one of the matrices after all steps.
STEPPED = "stepped"
#: A start of more characters than this is not written out in full.
LONGEST_START = 200


def state_name(place: int) -> str:
    """The name of the tensor that stands for the matrix at a place before a step: no input and no variable has it."""
    return f"stepped~state {place}"


@dataclass(frozen=True)
class Motion:
    """Matrices that move by one map: how they are read from their step, whatever they are called.

    The last `kept` of them, with one index more, hold what as many of the others were after each step.  `reached` says for each
    on which of all it depends.
    """

    step: Callable[..., Any]
    count: Size
    starts: tuple[Indexed, ...]
    kept: int = 0
    reached: tuple[tuple[int, ...], ...] = ()

    def images(self, names: Sequence[str]) -> list[Sum]:
        """What a step makes of the tensors with these names."""
        made = [
            Indexed(sum_of_head(tensor(name, start.value.slots)), start.axes)
            for name, start in zip(names, self.starts, strict=True)
        ]
        number = StepNumber(self.count)
        with taken_at(number):
            found = self.step(number, *made)
        every = found if isinstance(found, (list, tuple)) else (found,)
        if len(every) != len(made):
            raise ArithmeticUnsupported(f"a step from {len(made)} matrices to {len(every)}")
        return [self._image(one, start) for one, start in zip(every, self.starts, strict=True)]

    def _image(self, found: Any, start: Indexed) -> Sum:
        image = as_matrix(found)
        if image.value.slots != start.value.slots or image.axes != start.axes or image.bound:
            raise ArithmeticUnsupported("a step that leads to a matrix of another shape")
        return image.value


@dataclass(frozen=True)
class Recurrence:
    """One of the matrices of a motion: the starts and images of those on which it depends, and which of them it is.

    Starts and images tell recurrences apart; `motion` and the places in it of those matrices say how they were made.
    """

    count: Size
    starts: tuple[Any, ...]
    images: tuple[Any, ...]
    own: int
    motion: Motion = field(compare=False, repr=False)
    places: tuple[int, ...] = field(compare=False)

    @property
    def sums(self) -> tuple[list[Sum], list[Sum]]:
        """The starts, and the images of the tensors `state_name(0)`, ...."""
        starts, images = ([Sum(slots, dict(terms)) for slots, terms in keys] for keys in (self.starts, self.images))
        return starts, images

    def image(self, names: Sequence[str]) -> Sum:
        """The image of this matrix, where those on which it depends are the tensors of these names."""
        known = dict(zip(self.places, names, strict=True))
        every = [known.get(place, state_name(-1 - place)) for place in range(len(self.motion.starts))]
        return self.motion.images(every)[self.places[self.own]]


def stepped(count: Any, step: Callable[..., Any], *starts: Any) -> Any:
    """The states after step(0, ...), step(1, ...), ..., step(count - 1, ...)."""
    number = unguarded(count)
    if isinstance(number, int):
        states = [starts, *_one_by_one(number, step, starts)][-1]
        return states[0] if len(states) == 1 else tuple(states)
    values = _moved(steps_of(count), step, tuple(map(as_matrix, starts)), 0)
    return values[0] if len(values) == 1 else tuple(values)


def _one_by_one(count: int, step: Callable[..., Any], states: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """The states after each of a given number of steps."""
    for k in range(count):
        found = step(k, *states)
        states = found if isinstance(found, (list, tuple)) else (found,)
        yield states


def _moved(size: Size, step: Callable[..., Any], starts: tuple[Indexed, ...], kept: int) -> list[Indexed]:
    """The values after all steps, of which the last `kept` hold what came before."""
    motion = Motion(step, size, starts, kept)
    if any(start.bound for start in starts):
        raise ArithmeticUnsupported("a start that depends on a summation index")
    names = {state_name(place): place for place in range(len(starts))}
    with recording_extents() as inside:
        images = motion.images(list(names))
    note_for_each((size,), inside)
    if any("~" in made.name and made.name not in names for value in images for made in value.heads()) or any(
        "~" in made.name for start in starts for made in start.value.heads()
    ):
        raise ArithmeticUnsupported("the derivative of what moves from step to step has no symbolic form")
    if any(made.kind == AT_STEP for image in images for made in image.heads()):
        rely_on_at_least(size, 1, always=True)  # a number of steps may be 0, the size of what is read may not
    own = [{names[made.name] for made in image.heads() if made.name in names} for image in images]
    motion = replace(motion, reached=tuple(_reached(place, own) for place in range(len(starts))))
    values = []
    for place, start in enumerate(starts):
        values.append(Indexed(sum_of_head(_head(motion, place)), start.axes))
    return values


def visited(count: Any, step: Callable[..., Any], *starts: Any) -> Any:
    """The states after each step, as families over the number of the step.

    Beside the states move tensors with one index more, from zero: a step adds its states at its own number.
    """
    number = unguarded(count)
    if isinstance(number, int):
        lists = tuple(map(list, zip(*_one_by_one(number, step, starts), strict=True))) or tuple([] for _ in starts)
        return lists[0] if len(starts) == 1 else lists
    points, size = list(map(as_matrix, starts)), steps_of(count)
    kept = [Indexed(Sum((*point.value.slots, size), {}), (*point.axes, 1)) for point in points]

    def further(k: StepNumber, *every: Indexed) -> list[Indexed]:
        moved = step(k, *every[: len(points)])
        made = [as_matrix(one) for one in (moved if isinstance(moved, (list, tuple)) else (moved,))]
        return [
            *made,
            *(before + _at_one_step(one, size) for before, one in zip(every[len(points) :], made, strict=True)),
        ]

    values = _moved(size, further, (*points, *kept), len(kept))[len(points) :]
    families = []
    for value, point in zip(values, points, strict=True):
        index = SummationIndex(size)
        families.append(IndexedFamily(index, Indexed(value.value, point.axes, (index,))))
    return families[0] if len(families) == 1 else tuple(families)


def _at_one_step(operand: Indexed, size: Size) -> Indexed:
    """The matrix times the unit vector of the step."""
    own = range(len(operand.value.slots))
    value = contract([(operand.value, own), (sum_of_head(at_step(size)), [len(own)])], [*own, len(own)])
    return Indexed(value, (*operand.axes, 1), operand.bound)


def _reached(place: int, own: Sequence[set[int]]) -> tuple[int, ...]:
    found, waiting = {place}, [place]
    while waiting:
        more = own[waiting.pop()] - found
        found |= more
        waiting += more
    return tuple(sorted(found))


def _head(motion: Motion, place: int) -> Head:
    """The value after all steps, told apart by those alone on which it depends."""
    places = motion.reached[place]
    every = [state_name(-1 - other) for other in range(len(motion.starts))]
    for number, other in enumerate(places):
        every[other] = state_name(number)
    images = motion.images(every)
    starts = tuple(motion.starts[other].value.key for other in places)
    keys, own = tuple(images[other].key for other in places), places.index(place)
    recurrence = Recurrence(motion.count, starts, keys, own, motion, places)
    return head(STEPPED, STEPPED, motion.starts[place].value.slots, (), None, recurrence)


def members(made: Head) -> list[Head]:
    """The values of the matrices on which one depends, itself among them, in the order of its recurrence."""
    return [_head(made.parameter.motion, place) for place in made.parameter.places]


def state_of(made: Head) -> Head | None:
    """Of a value that holds what a matrix was after each step, the value of that matrix."""
    motion, place = made.parameter.motion, made.parameter.places[made.parameter.own]
    first = len(motion.starts) - motion.kept
    return _head(motion, place - first) if place >= first else None


@rule("the unit vector of one step", AT_STEP)
def _one_step(product: Product, slots: int) -> list[Product] | None:
    """e_i e_j = delta_ij e_i for the unit vector e of a step."""
    coefficient, factors, summed = product
    own = [k for k, (made, _) in enumerate(factors) if made.kind == AT_STEP]
    for one, other in itertools.combinations(own, 2):
        if factors[one][0] is factors[other][0]:
            (made, (i,)), (_, (j,)) = factors[one], factors[other]
            rest = [factor for k, factor in enumerate(factors) if k != other]
            return [(coefficient, rest if i == j else [*rest, (delta(made.sizes[0]), (i, j))], summed)]
    return None


def _values(made: Head, point: Any) -> Any:
    """The value of what moves from step to step, with all on which it depends."""
    starts, images = made.parameter.sums
    states, count = list(map(point.values, starts)), point.size(made.parameter.count)
    for unit in np.eye(count):
        here = point.at({AT_STEP: unit, **{state_name(place): state for place, state in enumerate(states)}})
        states = list(map(here.values, images))
    return states[made.parameter.own]


def _latex(made: Head, at: Sequence[str], written: Callable[..., str]) -> str:
    start = written(made.parameter.sums[0][made.parameter.own], LONGEST_START)
    return rf"[({start})^{{\langle {sympy.latex(made.parameter.count)}\rangle}}]{below(at)}"


head_kind(STEPPED, values=_values, latex=_latex)
register_forms({"stepped": stepped, "visited": visited})
