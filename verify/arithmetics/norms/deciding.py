"""Whether one expression is at most another for all non-negative values of the quantities, by exact means.

Sizes are written (1 + t)^2 with t >= 0 and e^a as 1 + a + h with h >= 0; then every coefficient of the difference, over a
common denominator, has to be at least 0.  Where roots of sums are left, squares are compared.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import sympy

from verify.arithmetics.norms.monomials import (
    Polynomial,
    add_to,
    difference,
    expanded,
    has_no_negative_term,
    times,
)  # fmt: skip
from verify.arithmetics.norms.refuting import failing_points
from verify.arithmetics.norms.signs import is_nonnegative

#: Terms of a sum that are compared one by one.
FEW = 4


def at_most(left: Any, right: Any) -> bool:
    """Whether left <= right is certain for all non-negative values of the symbols, positive integers for sizes."""
    left, right = sympy.sympify(left), sympy.sympify(right)
    if is_certain(difference(right, left)):
        return True
    if next(failing_points(left, right), None) is not None:
        return False
    if _has_quotients(left) or _has_quotients(right):
        return _over_a_common_denominator(left, right)
    if not (_roots(left) or _roots(right)) or not (is_certain(expanded(left)) and is_certain(expanded(right))):
        return False
    squares = [times(expanded(side), expanded(side)) for side in (left, right)]
    if any(_roots(generator) for square in squares for monomial in square for generator, _ in monomial):
        return False
    gap = dict(squares[1])
    add_to(gap, squares[0], Fraction(-1))
    return is_certain(gap)


def term_by_term(left: Any, right: Any) -> bool:
    """Whether every term on the left is at most one on the right, each of which is taken once; none of them is negative.

    For sums of a few terms with roots of sums, of which squares cannot be compared.
    """
    return _roots(left) and any(_each_below_one(split(left), split(right)) for split in (_terms, _terms_of_terms))


def _terms(value: Any) -> list[Any]:
    """The terms of a sum, or of a product of which the factors are multiplied out as they stand."""
    return list(sympy.Add.make_args(sympy.expand(value, deep=False)))


def _terms_of_terms(value: Any) -> list[Any]:
    return [term for part in sympy.Add.make_args(value) for term in _terms(part)]


def _each_below_one(ours: list[Any], theirs: list[Any]) -> bool:
    """Whether each of several numbers is at most one of others, taken once, where none is negative."""
    if not 1 < len(ours) <= len(theirs) <= FEW:
        return False
    if not all(is_certain(expanded(term)) for term in (*ours, *theirs)):
        return False
    for term in ours:
        above = [other for other in theirs if at_most(term, other)]
        if not above:
            return False
        theirs.remove(above[0])
    return True


def is_certain(polynomial: Polynomial) -> bool:
    """Whether a polynomial is certainly not negative."""
    return has_no_negative_term(polynomial) or has_no_negative_term(_lifted(polynomial))


def uncovered(left: Any, right: Any) -> Any:
    """The sum of the terms of left - right that stand in the way of left <= right, as they are expanded."""
    return sympy.Add(*(
        sympy.Rational(c.numerator, c.denominator)
        * sympy.Mul(*(g ** sympy.Rational(e.numerator, e.denominator) for g, e in monomial))
        for monomial, c in difference(sympy.sympify(left), sympy.sympify(right)).items()
        if c > 0 or not all(is_nonnegative(g) or e % 2 == 0 for g, e in monomial)
    ))  # fmt: skip


def quotient_of(one: Any, other: Any) -> Any | None:
    """one / other where that is a number, None where it is none; the other is not 0.

    >>> a, b = sympy.symbols("a b", nonnegative=True)
    >>> quotient_of(3 * a * b, 2 * a * b), quotient_of(a, b)
    (3/2, None)
    """
    above, below = expanded(one), expanded(other)
    generators = {generator for side in (above, below) for monomial in side for generator, _ in monomial}
    if above and below and all(generator.is_Symbol for generator in generators):
        # different powers of symbols are independent of each other, so that all coefficients have one quotient
        quotients = {above[monomial] / c for monomial, c in below.items()} if above.keys() == below.keys() else set()
        return sympy.Rational(*quotients.pop().as_integer_ratio()) if len(quotients) == 1 else None
    ratio = sympy.cancel(one / other)
    return ratio if ratio.is_number else None


def _roots(value: Any) -> bool:
    """Whether roots of sums occur."""
    return any(power.base.is_Add and not power.exp.is_Integer for power in value.atoms(sympy.Pow))


def _has_quotients(value: Any) -> bool:
    return any(power.base.is_Add and power.exp.is_negative for power in value.atoms(sympy.Pow))


def _over_a_common_denominator(left: Any, right: Any) -> bool:
    numerator, denominator = sympy.fraction(sympy.together(right - left))
    return (
        is_certain(expanded(sympy.expand(denominator)))
        and not _has_quotients(numerator)
        and is_certain(expanded(sympy.expand(numerator)))
    )


def _lifted(polynomial: Polynomial) -> Polynomial:
    """The polynomial times powers of sizes, in variables that are not negative: s = (1 + t)^2, e^a = 1 + a + h."""
    generators = {generator for monomial in polynomial for generator, _ in monomial}
    sizes = [g for g in generators if g.is_Symbol and g.is_integer and g.is_positive]
    found = polynomial
    for size in sizes:
        found = _in_terms_of_root(found, size)
    for generator in generators:
        if isinstance(generator, sympy.exp) and is_nonnegative(generator.args[0]):
            instead = {frozenset({(sympy.Symbol(f"h({generator})", nonnegative=True), Fraction(1))}): Fraction(1)}
            add_to(instead, expanded(1 + generator.args[0]))
            found = substituted(found, generator, instead)
    return found


def _in_terms_of_root(polynomial: Polynomial, size: Any) -> Polynomial:
    """The polynomial times a power of a size s >= 1, with s = (1 + t)^2."""
    least = min((dict(monomial).get(size, Fraction(0)) for monomial in polynomial), default=Fraction(0))
    t = sympy.Symbol(f"root of {size} less 1", nonnegative=True)
    found: Polynomial = {}
    for monomial, coefficient in polynomial.items():
        exponents = dict(monomial)
        count = 2 * (exponents.pop(size, Fraction(0)) - least)
        if count.denominator != 1:
            return polynomial
        for k in range(int(count) + 1):
            term = frozenset(exponents.items()) | (frozenset({(t, Fraction(k))}) if k else frozenset())
            add_to(found, {term: coefficient * math.comb(int(count), k)})
    return found


def substituted(polynomial: Polynomial, generator: Any, value: Polynomial) -> Polynomial:
    """The polynomial with a value in the place of a generator; itself where that has other than whole powers."""
    found: Polynomial = {}
    for monomial, coefficient in polynomial.items():
        exponents = dict(monomial)
        count = exponents.pop(generator, Fraction(0))
        if count.denominator != 1 or count < 0:
            return polynomial
        term: Polynomial = {frozenset(exponents.items()): coefficient}
        for _ in range(int(count)):
            term = times(term, value)
        add_to(found, term)
    return found
