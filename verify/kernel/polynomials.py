"""Polynomials of one number on [0, 1], which rules about iterations ask for: their bounds, slopes and curvatures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from verify.kernel.quantities import Scalar
from verify.kernel.refusal import Refused


def bernstein(coefficients: list[Fraction]) -> list[Fraction]:
    """The coefficients of a polynomial in the Bernstein basis of its degree: it is nowhere on [0, 1] below the least."""
    n = len(coefficients) - 1
    return [
        sum((Fraction(math.comb(k, j), math.comb(n, j)) * coefficients[j] for j in range(k + 1)), Fraction(0))
        for k in range(n + 1)
    ]


def odd(p: Sequence[Scalar]) -> list[Fraction]:
    """The coefficients of s p(s^2) by the powers of s."""
    return [Fraction(0) if k % 2 == 0 else rational(p[k // 2]) for k in range(2 * len(p))]


def slope(p: list[Fraction]) -> list[Fraction]:
    return [k * c for k, c in enumerate(p)][1:]


def rational(c: Scalar) -> Fraction:
    value = c.number()
    if value is None:
        raise Refused("no rational number")
    return value


def is_concave(g: list[Fraction]) -> bool:
    """Whether a polynomial that is 0 at 0 rises and is concave on [0, 1], and at most 1 at 1."""
    signs = all(c >= 0 for c in bernstein(slope(g))) and all(c <= 0 for c in bernstein(slope(slope(g))))
    return signs and sum(g) <= 1


def stays_within(p: list[Fraction], c: Any) -> bool:
    """Whether a polynomial is at most c in size on [0, 1]."""
    return all(abs(value) <= c for value in bernstein(p))


def stays_below(p: Sequence[Scalar], c: Fraction, k: Fraction, r: Fraction) -> bool:
    """Whether |x p(x)| <= c - k (x - r)^2 on [0, 1] for k >= 0."""
    limit, own = [c - k * r * r, 2 * k * r, -k], [Fraction(0), *map(rational, p)]
    padded = [[*side, *[Fraction(0)] * (max(3, len(own)) - len(side))] for side in (limit, own)]
    return k >= 0 and all(
        value >= 0 for sign in (1, -1) for value in bernstein([a - sign * b for a, b in zip(*padded, strict=True)])
    )
