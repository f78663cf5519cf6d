"""Points at which an inequality between scalars is false for certain: of one that is, no derivation is looked for.

A derivation holds at all values of the symbols that their signs allow, and where the assumptions that it uses are met.  So one
such value at which balls see the inequality fail says that there is none, in a small part of the time that the search takes.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import flint

from verify.arithmetics.balls import precision
from verify.arithmetics.norms.signs import PRECISIONS, ball_of

#: So many points are tried: the largest values of quantities at them, in turn.
POINTS, LARGEST = 9, (4, 1, 16)
#: Values are whole multiples of this part of the largest.
GRID = 1 << 12


def failing_points(left: Any, right: Any) -> Iterator[int]:
    """The points, by their numbers, at which left <= right is false for certain.

    >>> import sympy
    >>> x = sympy.Symbol("x", nonnegative=True)
    >>> len(list(failing_points(x, x + 1))), len(list(failing_points(x + 1, x))) == POINTS
    (0, True)
    """
    return (k for k in range(POINTS) if _is_at_least(left, right, k, strictly=True))


def is_refuted(points: Iterable[int], facts: Sequence[Any]) -> bool:
    """Whether all of these facts e >= 0 hold for certain at one of the points."""
    return any(all(_is_at_least(fact, 0, k) for fact in facts) for k in points)


def _is_at_least(one: Any, other: Any, k: int, strictly: bool = False) -> bool:
    """Whether one scalar is at least another (or above it) at a point, for certain."""
    with precision(PRECISIONS[0]):
        a, b = (_at(value, k) if not isinstance(value, int) else flint.arb(value) for value in (one, other))
        if a is None or b is None or not (a.is_finite() and b.is_finite()):
            return False
        return bool(a > b if strictly else a >= b)


@functools.lru_cache(maxsize=50_000)
def _at(value: Any, k: int) -> flint.arb | None:
    """An enclosure of a scalar at a point, at the first precision; None of one that is not made as `ball_of` reads it."""
    return ball_of(value, lambda symbol: _value(symbol, k))


@functools.lru_cache(maxsize=50_000)
def _value(symbol: Any, k: int) -> flint.arb | None:
    """A value of a symbol, of the sign that it has; None where too little is known of it."""
    drawn = zlib.crc32(f"{symbol.name} {getattr(symbol, 'dummy_index', 0)} {k}".encode())
    if symbol.is_integer:
        least = 1 if symbol.is_positive else 0 if symbol.is_nonnegative else None
        return None if least is None else flint.arb(least + drawn % (2 * LARGEST[k % len(LARGEST)]))
    size = flint.arb(LARGEST[k % len(LARGEST)] * (1 + drawn % GRID)) / GRID
    if symbol.is_nonnegative:
        return size
    return None if not symbol.is_real or symbol.is_nonpositive else size if drawn & GRID else -size
