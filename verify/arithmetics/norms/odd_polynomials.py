"""Polynomials g(s) = s p(s^2) on [0, 1], by the rational coefficients of p: decided at the ends and at real critical points."""

from __future__ import annotations

import functools
from typing import Any

import sympy

from verify.vocabulary.errors import ArithmeticUnsupported

S = sympy.Symbol("s", real=True)
Coefficients = tuple[Any, ...]


def _odd(coefficients: Coefficients) -> sympy.Poly:
    return sympy.Poly(sympy.Add(*(c * S ** (2 * k + 1) for k, c in enumerate(coefficients))), S)


def _extremes(value: sympy.Poly) -> list[Any]:
    """The values of a polynomial of which one is the largest, and one the smallest, on [0, 1]."""
    critical = sympy.real_roots(value.diff()) if value.degree() > 1 else []
    return [value.eval(place) for place in (0, 1, *(root for root in critical if 0 <= root <= 1))]


@functools.cache
def keeps_unit_interval(coefficients: Coefficients) -> bool:
    """Whether |g| <= 1 on [0, 1]."""
    return all(abs(value) <= 1 for value in _extremes(_odd(coefficients)))


@functools.cache
def is_concave(coefficients: Coefficients) -> bool:
    """Whether g increases and is concave on [0, 1], with g(1) <= 1."""
    g = _odd(coefficients)
    never_negative = (g.diff(), -g.diff().diff())
    return bool(g.eval(1) <= 1) and all(value >= 0 for side in never_negative for value in _extremes(side))


@functools.cache
def largest_slope(coefficients: Coefficients) -> Any:
    """max |g'| on [-1, 1]; raises `ArithmeticUnsupported` where it is not rational."""
    found = max(map(abs, _extremes(_odd(coefficients).diff())))
    if not found.is_Rational:
        raise ArithmeticUnsupported(f"the largest slope {found}")
    return found


@functools.cache
def largest_on_unit_interval(coefficients: Coefficients) -> Any:
    """max |s g(s)| on [0, 1], that of x p(x)."""
    return max(map(abs, _extremes(sympy.Poly([*reversed(coefficients), 0], S))))
