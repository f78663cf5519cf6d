"""What a counterexample looks like: both sides of a refuted statement along a line through it, as SVG text.

One input moves, all others stay: a number, one entry of a matrix, or a matrix by a factor.  Of these lines that one is drawn
on which the statement holds at one end, if there is one, and is seen to fail at the counterexample.  Where an assumption is
not met for certain, or a side is not defined, nothing is drawn.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from verify.arithmetics import midpoints
from verify.checks.evaluation import flat_objects, lifted_to_balls
from verify.checks.satisfied import satisfies
from verify.report.sides import arranged, in_its_own_sign, sides_of
from verify.site.chart import Axis, Chart
from verify.site.plots import UNDRAWABLE, Plot
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import ArithmeticUnsupported, InputError, NotFiniteError, RegistryError
from verify.vocabulary.shapes import Shape, Size, Spec, parameter_specs

#: Steps from the counterexample to either end: while a line is chosen, and while it is drawn.
COARSE, FINE = 3, 24
#: Lines tried of one counterexample, and entries of one matrix.
MOST_LINES, MOST_ENTRIES = 10, 3
#: Inputs with more entries than this are too slow to follow.
LARGEST = 100
#: The sides have to be so far apart at the counterexample, as a part of the picture's height.
LEAST_GAP, CLEAR_GAP = 0.03, 0.15
#: That two sides agree where both are smaller says nothing.
TRIFLE = 1e-12
#: A point that lies so far from both its neighbours, as a part of the picture's height, stands alone.
JUMP = 0.35
#: Both sides positive, and the largest value more than this times the smallest: the scale is logarithmic.
MANY_TIMES = 30.0

_UNDEFINED = (ArithmeticUnsupported, ZeroDivisionError, NotFiniteError, InputError, RegistryError, *UNDRAWABLE)


@dataclass(frozen=True)
class Line:
    """How one input moves: its name in words, its value at the counterexample, half the length, and the inputs at a value."""

    moved: str
    here: Fraction
    reach: Fraction
    at: Callable[[Fraction], Mapping[str, Any]]

    def places(self, steps: int) -> list[Fraction]:
        """Values at equal distances, from one end to the other."""
        return [self.here + self.reach * Fraction(k, steps) for k in range(-steps, steps + 1)]


@dataclass(frozen=True)
class SidesAt:
    """The two sides at one value of what moves; None where an assumption fails or a side is not defined."""

    place: Fraction
    sides: tuple[float, float] | None


@dataclass(frozen=True)
class Course:
    """What a line shows: its points, and whether the statement holds somewhere on it where the sides do not both vanish."""

    line: Line
    points: list[SidesAt]
    holds: bool
    one_entry: bool  #: whether the sides are matrices, of which one entry is shown

    @property
    def drawn(self) -> list[tuple[float, float, float]]:
        return [(float(point.place), *point.sides) for point in self.points if point.sides is not None]

    @property
    def gap(self) -> float:
        """How far the sides are apart at the counterexample, as a part of the picture's height."""
        axis = self.axis
        left, right = (axis.place(value) for value in self.here)
        return abs(left - right)

    @property
    def here(self) -> tuple[float, float]:
        return next(point.sides for point in self.points if point.place == self.line.here and point.sides is not None)

    @property
    def moves(self) -> bool:
        """Whether anything changes along the line."""
        return any(len({round(value, 12) for value in side}) > 1 for side in tuple(zip(*self.drawn, strict=True))[1:])

    @property
    def axis(self) -> Axis:
        values = [value for _, *sides in self.drawn for value in sides]
        many = min(values) > 0 and max(values) > MANY_TIMES * min(values)
        return Axis.around(values, many)


def picture(claim: Claim, certificate: Mapping[str, Any]) -> Plot | None:
    """Both sides along a line through a certified counterexample; None where no line shows anything."""
    if not (claim.relation.entrywise and "oracle" in claim.relation.parts) or _entries(certificate["inputs"]) > LARGEST:
        return None
    courses = []
    sides_at = _sides_once(claim, certificate["entry"])
    for line in lines(claim, certificate["inputs"]):
        found = _course(claim, sides_at, line, COARSE)
        if found is not None and found.moves and found.gap >= LEAST_GAP:
            courses.append(found)
            if found.holds and found.gap > CLEAR_GAP:
                break
    if not courses:
        return None
    chosen = max(courses, key=lambda course: (course.holds, min(course.gap, CLEAR_GAP)))
    fine = _course(claim, sides_at, chosen.line, FINE)
    if fine is None or not fine.moves:
        return None
    chart = _chart(claim, certificate, fine)
    return Plot("line", chart.caption, chart.svg())


# -- the lines ---------------------------------------------------------------------------------------------------------


def lines(claim: Claim, inputs: Mapping[str, Any]) -> Iterator[Line]:
    """Lines through explicit inputs, the simplest first."""
    specs = _specs(claim)
    numbers = [name for name, value in inputs.items() if not isinstance(value, list) and _moves(specs.get(name), value)]
    matrices = [name for name, value in inputs.items() if isinstance(value, list) and not _is_mask(specs.get(name))]
    found: list[Line] = []
    for name in numbers:
        found += _both_reaches(name, Fraction(inputs[name]), partial(_replaced, inputs, name, ()))
    for name in matrices:
        if any(Fraction(entry) for _, entry in _leaves(inputs[name])):
            words = f"t, with t {name} in the place of {name}"
            found.append(Line(words, Fraction(1), Fraction(1), partial(_scaled, inputs, name)))
    for name in matrices:
        for place, entry in _telling(inputs[name]):
            where = ", ".join(str(index + 1) for index in place)
            words = f"entry {f'({where})' if len(place) > 1 else where} of {name}"
            found += _both_reaches(words, Fraction(entry), partial(_replaced, inputs, name, place))[:1]
    yield from found[:MOST_LINES]


def _both_reaches(moved: str, here: Fraction, at: Callable[[Fraction], Mapping[str, Any]]) -> list[Line]:
    """A line that passes 0 and a shorter one that keeps the sign."""
    reaches = 2 * abs(here) or Fraction(1), (abs(here) or Fraction(1)) * Fraction(9, 10)
    return [Line(moved, here, reach, at) for reach in reaches]


def _replaced(inputs: Mapping[str, Any], name: str, place: tuple[int, ...], value: Fraction) -> Mapping[str, Any]:
    """Inputs with another value of a number, or of one entry of a matrix."""
    if not place:
        return {**inputs, name: str(value)}
    changed = copy.deepcopy(inputs[name])
    inner = changed
    for index in place[:-1]:
        inner = inner[index]
    inner[place[-1]] = str(value)
    return {**inputs, name: changed}


def _scaled(inputs: Mapping[str, Any], name: str, factor: Fraction) -> Mapping[str, Any]:
    """Inputs with a multiple of one matrix."""

    def times(value: Any) -> Any:
        return [times(item) for item in value] if isinstance(value, list) else str(factor * Fraction(value))

    return {**inputs, name: times(inputs[name])}


def _specs(claim: Claim) -> Mapping[str, Spec]:
    found: dict[str, Spec] = {}
    for function in (claim.the_formula, claim.the_oracle):
        try:
            found = {**parameter_specs(function), **found}
        except RegistryError:
            continue
    return found


def _moves(spec: Spec | None, value: Any) -> bool:
    """Whether an input is a real number; whole numbers of which nothing is said may be sizes."""
    return not isinstance(spec, Size) and (spec is not None or not isinstance(value, int))


def _is_mask(spec: Spec | None) -> bool:
    return isinstance(spec, Shape) and spec.role == "mask"


def _leaves(value: Any, place: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Any]]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, (*place, index))
    else:
        yield place, value


def _telling(matrix: Any) -> list[tuple[tuple[int, ...], Any]]:
    """Entries worth moving: the largest first."""
    found = sorted(_leaves(matrix), key=lambda leaf: -abs(Fraction(leaf[1])))
    return found[:MOST_ENTRIES]


def _entries(inputs: Mapping[str, Any]) -> int:
    return sum(1 for value in inputs.values() for _ in _leaves(value))


# -- along one of them -------------------------------------------------------------------------------------------------


#: Both sides at given inputs, as far as they are defined.
SidesOf = Callable[[Mapping[str, Any]], tuple[float, float] | None]


def _sides_once(claim: Claim, entry: int) -> SidesOf:
    """`_sides`, found once for the same inputs: all lines meet at the counterexample, and the chosen one is followed again."""
    found: dict[str, tuple[float, float] | None] = {}

    def sides_at(given: Mapping[str, Any]) -> tuple[float, float] | None:
        key = repr(sorted((name, _in_lowest_terms(value)) for name, value in given.items()))
        if key not in found:
            found[key] = _sides(claim, given, entry)
        return found[key]

    return sides_at


def _in_lowest_terms(value: Any) -> Any:
    """An input with its entries as numbers: 2/4 is 1/2. Whole numbers that may be sizes are told from others."""
    if isinstance(value, list):
        return [_in_lowest_terms(item) for item in value]
    return Fraction(value) if isinstance(value, str) else value


def _course(claim: Claim, sides_at: SidesOf, line: Line, steps: int) -> Course | None:
    """The sides along a line, as far as they are defined without a break around the counterexample.

    They are followed from the counterexample to either side, and no further than they are defined.
    """
    places = line.places(steps)
    middle = SidesAt(line.here, sides_at(line.at(line.here)))
    if middle.sides is None:
        return None
    before = _followed(sides_at, line, reversed(places[:steps]))
    kept = [*reversed(before), middle, *_followed(sides_at, line, places[steps + 1 :])]
    if len(kept) < steps:
        return None
    one_entry = _size(claim, line.at(line.here)) > 1
    return Course(line, kept, any(_holds(claim, point.sides) for point in kept if point.sides is not None), one_entry)


def _followed(sides_at: SidesOf, line: Line, places: Iterable[Fraction]) -> list[SidesAt]:
    """The points at these places, up to the first at which a side is not defined."""
    found: list[SidesAt] = []
    for place in places:
        sides = sides_at(line.at(place))
        if sides is None:
            break
        found.append(SidesAt(place, sides))
    return found


def _size(claim: Claim, given: Mapping[str, Any]) -> int:
    """How many entries the formula has at given inputs."""
    return len(flat_objects(claim.evaluate(claim.the_formula, {n: lifted_to_balls(v) for n, v in given.items()})))


def _sides(claim: Claim, given: Mapping[str, Any], entry: int) -> tuple[float, float] | None:
    """Left and right side in the sign of the paper."""
    try:
        inputs = {name: lifted_to_balls(value) for name, value in given.items()}
        if satisfies(claim, inputs) is not True:
            return None
        formula = _entry(claim.evaluate(claim.the_formula, inputs), entry)
        oracle = _entry(claim.evaluate(claim.the_oracle, inputs), entry)
    except _UNDEFINED:
        return None
    _, signs = in_its_own_sign(sides_of(claim))
    pair = (oracle, formula) if claim.relation.one_sided else (formula, oracle)
    left, right = arranged(signs, *pair, lambda value: -value)
    return (left, right) if math.isfinite(left) and math.isfinite(right) else None


def _entry(value: Any, entry: int) -> float:
    values = flat_objects(value)
    return float(midpoints([values[entry if len(values) > 1 else 0]])[0])


def _holds(claim: Claim, sides: tuple[float, float]) -> bool:
    left, right = sides
    if max(abs(left), abs(right)) < TRIFLE:
        return False
    if not claim.relation.one_sided:
        return abs(left - right) <= 1e-9 * max(abs(left), abs(right), 1.0)
    return left >= right if in_its_own_sign(sides_of(claim))[0].sign == "≥" else left <= right


# -- the picture -------------------------------------------------------------------------------------------------------


def _chart(claim: Claim, certificate: Mapping[str, Any], course: Course) -> Chart:
    sides, _ = in_its_own_sign(sides_of(claim))
    line, here = course.line, float(course.line.here)
    chart = Chart(
        _caption(claim, course), 170, Axis.around((x for x, _, _ in course.drawn), False), course.axis, (), line.moved
    )
    chart.legend = [
        ("dash", "second", f"{_plain(sides.left)}"),
        ("dashes", "truth", f"{_plain(sides.right)}"),
        ("cross", "wrong", "counterexample"),
    ]
    for side, colour, style in ((2, "truth", "dashed"), (1, "second", "")):
        for piece in _pieces([(point[0], point[side]) for point in course.drawn], course.axis):
            chart.line(colour, piece, style)
    chart.upright("wrong", here)
    for name, value in zip((sides.left, sides.right), course.here, strict=True):
        chart.mark("cross", "wrong", here, value, f"{_plain(name)} at the counterexample: {value:.6g}")
    return chart


def _pieces(points: list[tuple[float, float]], axis: Axis) -> Iterable[list[tuple[float, float]]]:
    """The points as lines: one that lies far from both its neighbours, on one side, is joined to neither."""
    places = [axis.place(y) for _, y in points]
    alone = {
        k
        for k in range(1, len(points) - 1)
        if min(places[k] - places[k - 1], places[k] - places[k + 1]) > JUMP
        or max(places[k] - places[k - 1], places[k] - places[k + 1]) < -JUMP
    }
    start = 0
    for k in sorted(alone):
        yield points[start:k]
        start = k + 1
    yield points[start:]


def _plain(name: str) -> str:
    return name.replace("`", "")


def _caption(claim: Claim, course: Course) -> str:
    sides, _ = in_its_own_sign(sides_of(claim))
    moved = course.line.moved
    what = (
        f"Only {moved} changes"
        if not moved.startswith("t,")
        else f"Only one input changes: {moved.partition('with ')[2]}"
    )
    claimed = {
        "≤": "The statement says that the solid line never lies above the dashed one.",
        "≥": "The statement says that the solid line never lies below the dashed one.",
        "=": "The statement says that both lines are the same.",
    }[sides.sign]
    ends = ""
    if len(course.points) < 2 * FINE + 1:
        ends = " The lines end where an assumption fails or a side is not defined."
    part = "The entry of both sides in which they differ most" if course.one_entry else "Both sides of the statement"
    return f"{part}, near the counterexample. {what}. {claimed}{ends}"
