"""Whether one expression is at most another for all non-negative values of the quantities, by exact means.

Sizes are written (1 + t)^2 with t >= 0 and e^a as 1 + a + h with h >= 0; then every coefficient of the difference, over a
common denominator, has to be at least 0.  Where roots of sums are left, squares are compared.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import sympy


def at_most(left: Any, right: Any) -> bool:
    """Whether left <= right is certain for all non-negative values of the symbols, positive integers for sizes."""
    left, right = sympy.sympify(left), sympy.sympify(right)
    if _has_no_negative_term(right - left) or _has_no_negative_term(_lifted(right - left)):
        return True
    if not (_roots(left) or _roots(right)):
        return False
    if not (_is_nonnegative(left) and _is_nonnegative(right)):
        return False
    squares = sympy.expand(left**2), sympy.expand(right**2)
    if _roots(squares[0]) or _roots(squares[1]):
        return False
    return at_most(*squares)


def _is_nonnegative(value: Any) -> bool:
    return bool(value.is_nonnegative) or _has_no_negative_term(value)


def _roots(value: Any) -> bool:
    """Whether roots of sums occur."""
    return any(power.base.is_Add and not power.exp.is_Integer for power in value.atoms(sympy.Pow))


def _lifted(value: Any) -> Any:
    """The numerator over a common denominator of non-negative terms, in variables that are not negative."""
    changes: dict[Any, Any] = {}
    for symbol in value.free_symbols:
        if symbol.is_integer and symbol.is_positive:
            changes[symbol] = (1 + sympy.Dummy(f"t_{symbol}", nonnegative=True)) ** 2
    value = value.xreplace(changes)
    for found in value.atoms(sympy.exp):
        if found.args[0].is_nonnegative:
            value = value.xreplace({found: 1 + found.args[0] + sympy.Dummy("h", nonnegative=True)})
    numerator, denominator = sympy.fraction(sympy.together(value))
    if not all(term.is_nonnegative for factor in sympy.Mul.make_args(denominator)
               for term in sympy.Add.make_args(factor.as_base_exp()[0])):  # fmt: skip
        return sympy.Integer(-1)
    return numerator


def _has_no_negative_term(value: Any) -> bool:
    """Whether every monomial has a coefficient that is at least 0."""
    coefficients: dict[Any, Any] = defaultdict(lambda: sympy.Integer(0))
    for term in sympy.Add.make_args(sympy.expand(value)):
        number, monomial = term.as_independent(*term.free_symbols, as_Add=False) if term.free_symbols else (term, 1)
        if sympy.sympify(monomial).is_nonnegative is not True:
            return False
        coefficients[monomial] += number
    return all(sympy.nsimplify(number).is_nonnegative is True if number.is_Rational else number.is_nonnegative is True
               for number in coefficients.values())  # fmt: skip
