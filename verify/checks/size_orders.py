"""Orders of sizes: which sizes an assumption says to be at most others, read off the assumption itself."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from verify.checks.operands import size_symbol
from verify.vocabulary.claims import Claim

#: A size, and how often it is taken.
Multiple = tuple[str, int]

#: At most so many courses of an assumption are followed.
MOST_COURSES = 64


class _Unread(Exception):
    """An assumption does something else with sizes than to compare two of them, or multiples of them."""


class _Course:
    """One course that an assumption takes: what each comparison gives, the first ones as told and all others true."""

    def __init__(self, told: tuple[bool, ...]) -> None:
        self.told, self.met = told, list[tuple[Multiple, Multiple, bool]]()

    def compared(self, small: Multiple, large: Multiple) -> bool:
        """Whether small <= large in this course."""
        place = len(self.met)
        self.met.append((small, large, self.told[place] if place < len(self.told) else True))
        return self.met[-1][2]


class _Name:
    """A size of which nothing is known but its name: it can be multiplied by a number and compared with others in order."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: Multiple, course: _Course) -> None:
        self.name, self.course = name, course

    def _other(self, other: Any) -> Multiple:
        if not isinstance(other, _Name):
            raise _Unread
        return other.name

    def __mul__(self, number: Any) -> _Name:
        if type(number) is not int or number < 1:
            raise _Unread
        return _Name((self.name[0], self.name[1] * number), self.course)

    __rmul__ = __mul__

    def __le__(self, other: Any) -> bool:
        return self.course.compared(self.name, self._other(other))

    def __ge__(self, other: Any) -> bool:
        return self.course.compared(self._other(other), self.name)

    def __lt__(self, other: Any) -> bool:
        return not self >= other

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __eq__(self, other: Any) -> bool:
        raise _Unread

    def __ne__(self, other: Any) -> bool:
        raise _Unread

    def __bool__(self) -> bool:  # whether it is 0
        raise _Unread

    def __repr__(self) -> str:
        raise _Unread


def size_orders(claim: Claim) -> list[Any]:
    """b - a for each a <= b that an assumption on sizes says of two sizes a and b, in symbols.

    An assumption is followed in all courses that its comparisons can take; it says a <= b where that holds in each course in
    which it is met.  One that does anything else with sizes says nothing.

    >>> from verify.vocabulary.registry import load
    >>> size_orders(load("theorems")["norms.smallest-of-a-product"])
    [m - n, m - p, n - p]
    """
    found = set[tuple[Multiple, Multiple]]()
    for assumption in claim.assumptions:
        test = getattr(assumption, "sizes", None)
        if test is not None:
            found |= _said(test, tuple(claim.sizes))
    return _differences(found)


def orders_of(condition: Callable[..., Any], names: tuple[str, ...]) -> list[Any]:
    """The same of a condition on the sizes of these names.

    >>> orders_of(lambda sizes: 2 * sizes["d"] <= sizes["N"], ("N", "d"))
    [N - 2*d]
    """
    return _differences(_said(condition, names))


def _differences(pairs: set[tuple[Multiple, Multiple]]) -> list[Any]:
    def expression(multiple: Multiple) -> Any:
        return size_symbol(multiple[0]) * multiple[1]

    return [expression(large) - expression(small) for small, large in sorted(pairs, key=lambda pair: pair[::-1])]


def _said(test: Callable[..., Any], names: tuple[str, ...]) -> set[tuple[Multiple, Multiple]]:
    """The pairs (a, b) with a <= b in every course in which an assumption is met."""
    try:
        met = [known for known, holds in _courses(test, names) if holds]
    except Exception:  # a size has no attribute of a number; what is asked of it is not known
        return set()
    return set.intersection(*map(_consequences, met)) if met else set()


def _courses(
    test: Callable[..., Any], names: tuple[str, ...]
) -> Iterator[tuple[list[tuple[Multiple, Multiple, bool]], bool]]:
    """What the comparisons give in each course, and whether the assumption is met there; `_Unread` where they are too many."""
    open_ones: list[tuple[bool, ...]] = [()]
    for number in itertools.count():
        if not open_ones:
            return
        if number == MOST_COURSES:
            raise _Unread
        told = open_ones.pop()
        course = _Course(told)
        holds = test({name: _Name((name, 1), course) for name in names})
        if not isinstance(holds, bool):
            raise _Unread
        yield course.met, holds
        taken = [outcome for _, _, outcome in course.met]
        open_ones += [(*taken[:k], False) for k in range(len(told), len(taken))]


def _consequences(met: list[tuple[Multiple, Multiple, bool]]) -> set[tuple[Multiple, Multiple]]:
    """The pairs (a, b) with a <= b by what comparisons give: a > b for one that is false."""
    found = {(small, large) if holds else (large, small) for small, large, holds in met}
    while more := {(a, d) for a, b in found for c, d in found if b == c} - found:
        found |= more
    return {(a, b) for a, b in found if a != b}


__all__ = ["size_orders"]
