"""Trees of boxes for inequalities between a few scalars, which the checker of certificates decides (`verify.kernel.boxes`).

Nothing here is trusted: a tree is sought, and only what the checker accepts counts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import sympy

from verify.arithmetics.norms.derivation_search import Step
from verify.arithmetics.norms.recording import NotCertified, Writer
from verify.arithmetics.norms.statements import rule
from verify.arithmetics.norms.text import scalar_text
from verify.arithmetics.norms.world import world
from verify.kernel import bounds as kernel
from verify.kernel import boxes, quantities
from verify.kernel.refusal import Refused

BOXES = "boxes"
rule(BOXES)
#: Variables beyond which no tree is sought, and nodes of trees that are tried.
MOST_VARIABLES, MOST_NODES = 3, 600
#: How often a box is split in a row, and how many slopes are taken of slopes, in the order in which they are tried.
ORDERS = ((0, 0), (0, 3), (1, 1), (2, 1), (3, 1), (3, 2), (4, 2))
#: The first places at which an interval without an end is split.
FIRST = (Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 2), Fraction(-1, 2))

Box = Mapping[Any, tuple[Any, Any]]
Tree = list[Any]


def decided(left: Any, right: Any) -> tuple[Step, ...] | None:
    """The step that a tree of boxes makes of left <= right, for scalars; None where none is found.

    >>> from verify.arithmetics.norms.world import derivation
    >>> x = sympy.Symbol("x", real=True)
    >>> with derivation():
    ...     decided(1 + x, sympy.exp(x))[0].rule, decided(1 + 2 * x, sympy.exp(x))
    ('boxes', None)
    """
    known = world()
    symbols = sympy.Add(left, right, evaluate=False).free_symbols
    if not symbols or len(symbols) > 2 * MOST_VARIABLES or symbols & known.atoms.keys():
        return None
    writer, facts = Writer(known), {}
    try:
        sides = [writer.value(writer.scalar(side)) for side in (left, right)]
    except (NotCertified, Refused, *kernel.ERRORS):
        return None
    for fact in known.facts:
        with contextlib.suppress(NotCertified, Refused):
            facts[fact] = writer.value(writer.scalar(fact))
    tree = tree_of(sides[1] - sides[0], list(facts.values()))
    if tree is None:
        return None
    known.used |= {f"{scalar_text(list(facts)[k], known)} >= 0" for k in _used(tree)}
    return (Step(BOXES, left, right),)


def _used(tree: Tree) -> set[int]:
    """The numbers of the assumptions that a tree uses."""
    own = {tree[1]} if tree[0] in ("beyond", "instead") else set()
    return own.union(*(_used(item) for item in tree if isinstance(item, list) and item and isinstance(item[0], str)))


def tree_of(gap: Any, facts: list[Any]) -> Tree | None:
    """A tree by which the checker accepts 0 <= gap where no assumption is below 0; None where none is found.

    Raises nothing: what the checker refuses is no tree.
    """
    try:
        gap, plain = boxes.without_factors(gap), tuple(map(boxes.in_variables, facts))
        box = {g: boxes.declared(g) for value in (gap, *plain) for g in boxes.variables(value)}
        if not gap.terms or len(boxes.variables(gap)) > MOST_VARIABLES:
            return None
        tree = _Search().of_domain(gap, box, plain)
        if tree is not None:
            boxes.holds(gap, tree, facts)
    except (Refused, *kernel.ERRORS):
        return None
    return tree


class _Search:
    """The search for a tree, which gives up after so many nodes."""

    def __init__(self) -> None:
        self.nodes = 0

    def of_domain(self, gap: Any, box: Box, facts: tuple[Any, ...]) -> Tree | None:
        """The tree of all points at which the assumptions hold, as far as they give variables or cut off a side."""
        for orders in (ORDERS[:2], ORDERS):  # a few slopes are tried of every variable, before boxes are split
            for k, x in ((k, x) for k, fact in enumerate(facts) for x in _sorted(boxes.variables(fact) & box.keys())):
                several = len(boxes.variables(facts[k])) > 1
                state = _tried(lambda k=k, x=x: boxes.moved(gap, [], box, facts, k, x)) if several else None
                inner = None if state is None else self._of_box(state[0], state[2], orders)
                if inner is not None:
                    return ["instead", k, x[1], inner]
        for x, (low, high) in box.items():
            for point in (point for point in FIRST if low < point < high):
                below, above = {**box, x: (low, point)}, {**box, x: (point, high)}
                for cut, rest in ((below, above), (above, below)):
                    beyond = self._beyond(gap, cut, facts, x)
                    inner = None if beyond is None else self.of_domain(gap, rest, facts)
                    if inner is not None:
                        return ["split", x[1], _pair(point), *((beyond, inner) if cut is below else (inner, beyond))]
        return self._of_box(gap, box)

    def _of_box(self, gap: Any, box: Box, orders: Any = ORDERS) -> Tree | None:
        for splits, slopes in orders:
            tree = self.tree(gap, box, splits, slopes)
            if tree is not None:
                return tree
        return None

    def tree(self, gap: Any, box: Box, splits: int, slopes: int) -> Tree | None:
        """A tree for all points of a box."""
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise Refused("too many boxes")
        if _enclosed(gap, box)[0] >= 0:
            return ["holds"]
        if self._is_below(gap, box):
            return None
        return next(filter(None, self._choices(gap, box, splits, slopes)), None)

    def _choices(self, gap: Any, box: Box, splits: int, slopes: int) -> Iterator[Tree | None]:
        signs = _tried(lambda: boxes.signs(gap, box))
        if signs:
            inner = self.tree(boxes.with_values(gap, signs), box, splits, slopes)
            yield None if inner is None else ["signs", inner]
            return
        for x in _sorted(boxes.variables(gap)) if slopes else ():
            for side in ("low", "high"):
                yield self._rising(gap, box, x, side, splits, slopes - 1)
            yield self._concave(gap, box, x, slopes - 2) if slopes > 1 else None
        for x in _sorted(boxes.variables(gap)) if splits else ():
            for point in _points(box[x]):
                first = self.tree(gap, {**box, x: (box[x][0], point)}, splits - 1, slopes)
                other = None if first is None else self.tree(gap, {**box, x: (point, box[x][1])}, splits - 1, slopes)
                yield None if other is None else ["split", x[1], _pair(point), first, other]

    def _beyond(self, gap: Any, box: Box, facts: Any, x: Any) -> Tree | None:
        """The reason why a box lies beyond an assumption, which is 0 on a side of it, where it does."""
        for k, fact in enumerate(facts):
            for side in ("low", "high"):
                face = ["beyond", k, x[1], side, ["holds"]]
                if boxes.variables(fact) == {x} and _tried(lambda face=face: self._accepted(gap, face, box, facts)):
                    return face
        return None

    def _accepted(self, gap: Any, tree: Tree, box: Box, facts: Any) -> bool:
        boxes.decided(gap, tree, box, facts)
        return True

    def _rising(self, gap: Any, box: Box, x: Any, side: str, splits: int, slopes: int) -> Tree | None:
        state = _tried(lambda: boxes.at_side(gap, [], box, (), x, side))
        if state is None or _tried(lambda: boxes.enclosed(gap, box)) is None:
            return None
        away = _tried(lambda: boxes.slope(gap, x) * quantities.number(1 if side == "low" else -1))
        face = None if away is None else self.tree(state[0], state[2], splits, slopes)
        why = None if face is None else self.tree(away, box, splits, slopes)
        return None if why is None else ["rises", x[1], side, why, face]

    def _concave(self, gap: Any, box: Box, x: Any, slopes: int) -> Tree | None:
        bend = _tried(lambda: boxes.slope(boxes.slope(gap, x), x) * quantities.number(-1))
        why = None if bend is None else self.tree(bend, box, 0, slopes)
        sides = [_tried(lambda side=side: boxes.at_side(gap, [], box, (), x, side)) for side in ("low", "high")]
        if why is None or None in sides:
            return None
        faces = [self.tree(state[0], state[2], 0, slopes) for state in sides]
        return None if None in faces else ["concave", x[1], why, *faces]

    def _is_below(self, gap: Any, box: Box) -> bool:
        """Whether a scalar is certainly below 0 in a point of a box."""
        for share in (0, Fraction(1, 2), 1, Fraction(1, 9), Fraction(8, 9)):
            point = {x: (at, at) for x, (low, high) in box.items() for at in [_between(low, high, share)]}
            if _enclosed(gap, point)[1] < 0:
                return True
        return False


def _tried(found: Any) -> Any:
    """What the checker gives, or None where it refuses."""
    try:
        return found()
    except (Refused, *kernel.ERRORS):
        return None


def _enclosed(value: Any, box: Box) -> tuple[Any, Any]:
    found = _tried(lambda: boxes.enclosed(value, box))
    return (-boxes.INFINITY, boxes.INFINITY) if found is None else found


def _points(ends: tuple[Any, Any]) -> list[Fraction]:
    """Where an interval is split: at simple numbers as long as it has an end that is infinitely far."""
    low, high = ends
    if low > -boxes.INFINITY and high < boxes.INFINITY:
        return [Fraction(0)] if low < 0 < high else [(low + high) / 2]
    first = [point for point in FIRST if low < point < high]
    return first or [_between(low, high, Fraction(1, 2))]


def _between(low: Any, high: Any, share: Any) -> Fraction:
    """A point of an interval; of one without an end one that is not far."""
    start = Fraction(low) if low > -boxes.INFINITY else (Fraction(high) if high < boxes.INFINITY else Fraction(1)) - 2
    stop = Fraction(high) if high < boxes.INFINITY else start * 2 + 2 if start >= 0 else start / 2 + 1
    return start + (stop - start) * share


def _sorted(some: Any) -> list[Any]:
    """Variables in a fixed order."""
    return sorted(some, key=str)


def _pair(value: Fraction) -> list[int]:
    return [value.numerator, value.denominator]
