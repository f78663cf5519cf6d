"""How an expression of one growing variable grows: c e^(r t) t^p log(t)^q, or a refusal.

An expression has a leading term where it is made of numbers, t, sums, products, rational powers, exponentials of c t + d,
logarithms, what is rounded up, and largest and smallest of several.  Of everything else, and of sums whose leading terms
cancel, nothing is said.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import sympy

from verify.vocabulary.errors import ArithmeticUnsupported


@dataclass(frozen=True, order=True)
class Growth:
    """e^(rate t) t^power log(t)^logs; of two of them the one that is larger, in this order, outgrows the other."""

    rate: Any
    power: Any
    logs: Any

    def __mul__(self, other: Growth) -> Growth:
        return Growth(self.rate + other.rate, self.power + other.power, self.logs + other.logs)

    def __pow__(self, exponent: Any) -> Growth:
        return Growth(self.rate * exponent, self.power * exponent, self.logs * exponent)

    def __str__(self) -> str:
        parts = ((f"e^({self.rate} t)", self.rate), (f"t^{self.power}", self.power), (f"log(t)^{self.logs}", self.logs))
        return " ".join(text for text, exponent in parts if exponent) or "1"


CONSTANT = Growth(sympy.Integer(0), sympy.Integer(0), sympy.Integer(0))


def leading(expression: Any, t: sympy.Symbol) -> tuple[Growth, Any]:
    """The growth of an expression and its coefficient c != 0, free of t: their product over the expression tends to 1.

    Raises `ArithmeticUnsupported` where there is no such term, or where it is not certain which one it is.

    >>> t, n = sympy.Symbol("t", positive=True), sympy.Symbol("n", positive=True)
    >>> growth, coefficient = leading((2 * n * t**2 + t) / sympy.sqrt(t), t)
    >>> print(growth, coefficient)
    t^3/2 2*n
    """
    expression = sympy.expand(sympy.sympify(expression))
    if not expression.has(t):
        if expression.is_zero is not False:
            raise ArithmeticUnsupported(f"the growth of {expression}, which may be 0")
        return CONSTANT, expression
    if expression == t:
        return Growth(sympy.Integer(0), sympy.Integer(1), sympy.Integer(0)), sympy.Integer(1)
    if isinstance(expression, sympy.Add):
        terms = [leading(term, t) for term in expression.args]
        growth = max(found for found, _ in terms)
        return growth, _nonzero(sympy.Add(*(c for found, c in terms if found == growth)), expression)
    if isinstance(expression, sympy.Mul):
        factors = [leading(factor, t) for factor in expression.args]
        growth = functools.reduce(Growth.__mul__, (found for found, _ in factors))
        return growth, sympy.Mul(*(c for _, c in factors))
    if isinstance(expression, sympy.exp):  # before powers, of which sympy takes it for one
        (exponent,) = expression.args
        slope, rest = exponent.coeff(t, 1), exponent.coeff(t, 0)
        if not slope.is_Rational or sympy.expand(exponent - slope * t - rest) != 0:
            raise ArithmeticUnsupported(f"the growth of {expression}, whose exponent is not c {t} + d for a rational c")
        return Growth(slope, sympy.Integer(0), sympy.Integer(0)), sympy.exp(rest)
    if isinstance(expression, sympy.Pow) and expression.exp.is_Rational:
        growth, c = leading(expression.base, t)
        if not expression.exp.is_Integer:
            _positive(c, expression)
        return growth**expression.exp, c**expression.exp
    if isinstance(expression, sympy.log):
        growth, c = leading(expression.args[0], t)
        _positive(c, expression)
        if growth.rate:
            return Growth(sympy.Integer(0), sympy.Integer(1), sympy.Integer(0)), growth.rate
        if growth.power:
            return Growth(sympy.Integer(0), sympy.Integer(0), sympy.Integer(1)), growth.power
    if isinstance(expression, sympy.ceiling):
        growth, c = leading(expression.args[0], t)
        if growth > CONSTANT:  # less than 1 is added
            return growth, c
    if isinstance(expression, (sympy.Max, sympy.Min)):
        largest = isinstance(expression, sympy.Max)
        return leading(functools.reduce(lambda a, b: _chosen(a, b, t, largest), expression.args), t)
    raise ArithmeticUnsupported(f"the growth of {expression}")


def _nonzero(coefficient: Any, expression: Any) -> Any:
    coefficient = sympy.expand(coefficient)
    if coefficient.is_zero is not False:
        raise ArithmeticUnsupported(f"the growth of {expression}, whose leading terms may cancel")
    return coefficient


def _positive(coefficient: Any, expression: Any) -> None:
    if coefficient.is_positive is not True:
        raise ArithmeticUnsupported(f"the growth of {expression}, of something that may be negative")


def _chosen(one: Any, other: Any, t: sympy.Symbol, largest: bool) -> Any:
    """The larger or smaller one of two expressions from some t on."""
    gap = sympy.expand(one - other)
    if gap == 0:
        return one
    _, coefficient = leading(gap, t)
    if coefficient.is_positive is None:
        raise ArithmeticUnsupported(f"which of {one} and {other} is larger")
    return one if bool(coefficient.is_positive) == largest else other


def tends_to_zero(expression: Any, t: sympy.Symbol) -> bool:
    """Whether an expression tends to 0 as t grows; raises `ArithmeticUnsupported` where its growth is not known.

    >>> t = sympy.Symbol("t", positive=True)
    >>> tends_to_zero(1 / sympy.sqrt(t), t), tends_to_zero(t / (t + 1), t), tends_to_zero(t**9 * sympy.exp(-t), t)
    (True, False, True)
    """
    expression = sympy.expand(sympy.sympify(expression))
    return expression == 0 or leading(expression, t)[0] < CONSTANT
