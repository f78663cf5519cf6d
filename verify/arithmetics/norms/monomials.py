"""Sums of monomials with rational exponents, exactly: what expressions in quantities expand to.

A monomial maps generators to exponents: symbols, square roots of numbers and of sums, exponentials, absolute values,
reciprocals of sums.  Coefficients are fractions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import sympy

from verify.arithmetics.norms.signs import is_nonnegative, symbols_of

Monomial = frozenset[tuple[Any, Fraction]]
Polynomial = dict[Monomial, Fraction]

EMPTY_PRODUCT: Monomial = frozenset()
HALF = Fraction(1, 2)


@functools.lru_cache(maxsize=50_000)
def expanded(value: Any) -> Polynomial:
    """An expression as a polynomial in its generators; not to be changed by the caller."""
    if value.is_Rational:
        return {EMPTY_PRODUCT: Fraction(int(value.p), int(value.q))} if value != 0 else {}
    if value.is_Add:
        found: Polynomial = {}
        for part in value.args:
            add_to(found, expanded(part))
        return found
    if value.is_Mul:
        product: Polynomial = {EMPTY_PRODUCT: Fraction(1)}
        for part in value.args:
            product = times(product, expanded(part))
        return product
    if value.is_Pow and value.exp.is_Rational:
        exponent = Fraction(int(value.exp.p), int(value.exp.q))
        if value.base.is_Add and exponent.denominator == 1 and exponent > 0:
            return power(expanded(value.base), int(exponent))
        if value.base.is_Add and exponent.denominator == 2 and exponent > HALF:
            root = {frozenset({(sympy.sqrt(value.base), Fraction(1))}): Fraction(1)}
            return times(power(expanded(value.base), int(exponent - HALF)), root)
        if value.base.is_Integer and exponent.denominator == 2 and value.base > 0:
            whole = exponent - HALF
            root = {frozenset({(sympy.sqrt(value.base), Fraction(1))}): Fraction(int(value.base)) ** int(whole)}
            return root
        if value.base.is_Symbol or isinstance(value.base, (sympy.Abs, sympy.exp)):
            return {frozenset({(value.base, exponent)}): Fraction(1)}
        if value.base.is_Add and exponent < 0 and exponent.denominator == 1:
            return {frozenset({(1 / value.base, -exponent)}): Fraction(1)}
    return {frozenset({(value, Fraction(1))}): Fraction(1)}


def add_to(found: Polynomial, other: Polynomial, factor: Fraction = Fraction(1)) -> None:
    """found += factor * other."""
    for monomial, coefficient in other.items():
        total = found.get(monomial, Fraction(0)) + factor * coefficient
        if total:
            found[monomial] = total
        else:
            found.pop(monomial, None)


def times(one: Polynomial, other: Polynomial) -> Polynomial:
    """The product of two polynomials; squares of square roots are written out."""
    found: Polynomial = {}
    for a, x in one.items():
        for b, y in other.items():
            add_to(found, _monomials(a, b), x * y)
    return found


def _monomials(one: Monomial, other: Monomial) -> Polynomial:
    if not one or not other:
        return {one or other: Fraction(1)}
    exponents = dict(one)
    for generator, exponent in other:
        exponents[generator] = exponents.get(generator, Fraction(0)) + exponent
    rest: Polynomial = {EMPTY_PRODUCT: Fraction(1)}
    for generator, exponent in list(exponents.items()):
        if generator.is_Pow and generator.exp == sympy.Rational(1, 2) and exponent >= 2:  # the root of a number or sum
            rest = times(rest, power(expanded(generator.base), int(exponent // 2)))
            exponents[generator] = exponent % 2
    monomial = frozenset((generator, exponent) for generator, exponent in exponents.items() if exponent)
    return {monomial: Fraction(1)} if rest == {EMPTY_PRODUCT: Fraction(1)} else times({monomial: Fraction(1)}, rest)


def power(base: Polynomial, exponent: int) -> Polynomial:
    found: Polynomial = {EMPTY_PRODUCT: Fraction(1)}
    for _ in range(exponent):
        found = times(found, base)
    return found


def difference(one: Any, other: Any) -> Polynomial:
    """one - other, expanded."""
    found = dict(expanded(one))
    add_to(found, expanded(other), Fraction(-1))
    return found


@functools.lru_cache(maxsize=50_000)
def product_of(one: Monomial, other: Monomial, sign: int = 1) -> Monomial:
    """The product of two monomials, or with the sign -1 their quotient."""
    exponents = dict(one)
    for generator, exponent in other:
        exponents[generator] = exponents.get(generator, Fraction(0)) + sign * exponent
    return frozenset((generator, exponent) for generator, exponent in exponents.items() if exponent)


def absorbed(
    terms: Mapping[Monomial, Fraction], is_nonnegative: Callable[[Monomial], bool], is_size: Callable[[Any], bool]
) -> Polynomial:
    """A sum without terms -c m that terms d m s outweigh, for products s >= 1 of sizes: what is left is no larger."""
    found = dict(terms)
    for monomial in [monomial for monomial, c in terms.items() if c < 0 and is_nonnegative(monomial)]:
        for other in [other for other, d in found.items() if d > 0]:
            more = product_of(other, monomial, -1)
            if found.get(monomial, 0) < 0 and all(is_size(g) and e > 0 for g, e in more):
                part = min(found[other], -found[monomial])
                add_to(found, {other: -part, monomial: part})
    return found


def is_nonnegative_monomial(monomial: Monomial) -> bool:
    """Whether a monomial is certainly at least 0."""
    return all(
        is_nonnegative(generator) or (exponent.denominator == 1 and exponent % 2 == 0)
        for generator, exponent in monomial
    )


def has_no_negative_term(polynomial: Polynomial) -> bool:
    """Whether every coefficient is at least 0, of monomials that are; of one that may have a sign, none is left.

    Roots and other numbers belong to the coefficients: what they add up to has a sign that balls decide.
    """
    totals: dict[Monomial, list[tuple[Fraction, Monomial]]] = {}
    for monomial, coefficient in polynomial.items():
        numbers = frozenset(item for item in monomial if not symbols_of(item[0]))
        rest = monomial - numbers if numbers else monomial
        if not is_nonnegative_monomial(rest):
            return False
        totals.setdefault(rest, []).append((coefficient, numbers))
    return all(_is_nonnegative_number(parts) for parts in totals.values())


def _is_nonnegative_number(parts: list[tuple[Fraction, Monomial]]) -> bool:
    """Whether a sum of products of numbers is certainly at least 0."""
    if not any(numbers for _, numbers in parts):
        return all(coefficient >= 0 for coefficient, _ in parts)
    return is_nonnegative(sympy.Add(*(
        sympy.Rational(c.numerator, c.denominator)
        * sympy.Mul(*(g ** sympy.Rational(e.numerator, e.denominator) for g, e in numbers))
        for c, numbers in parts
    )))  # fmt: skip
