"""Inequalities between scalars that follow from assumed ones, by certificates that are checked coefficient by coefficient."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import sympy

from verify.arithmetics.norms.deciding import at_most, is_certain
from verify.arithmetics.norms.polynomials import (
    Monomial,
    Polynomial,
    add_to,
    difference,
    expanded,
    is_nonnegative_monomial,
)
from verify.arithmetics.norms.world import world

#: Multiples of assumptions that are subtracted in a row, and certificates that are tried.
DEPTH, MOST = 6, 400


def follows(left: Any, right: Any, facts: Sequence[Any]) -> tuple[Any, ...] | None:
    """The assumptions e >= 0 among `facts` from which left <= right is certain; None where that is not found."""
    left, right = sympy.sympify(left), sympy.sympify(right)
    if at_most(left, right):
        return ()
    if isinstance(left, sympy.exp) and isinstance(right, sympy.exp):
        return follows(left.args[0], right.args[0], facts)
    for fact in facts:
        if any(is_certain(difference(*moved)) for moved in _substituted(left, right, fact)):
            return (fact,)
    used = _subtracted(difference(right, left), [(fact, expanded(fact)) for fact in facts], DEPTH, [MOST])
    return tuple(dict.fromkeys(used)) if used is not None else None


def _substituted(left: Any, right: Any, fact: Any) -> list[tuple[Any, Any]]:
    """(right, left) in terms of s = fact >= 0 in the place of a symbol that the fact is linear in."""
    found, excess = [], sympy.Dummy("excess", nonnegative=True)
    for symbol in sorted(fact.free_symbols & (left - right).free_symbols, key=sympy.default_sort_key):
        slope = sympy.diff(fact, symbol)
        if slope.is_number and slope != 0:
            instead = symbol - (fact - excess) / slope
            found.append(tuple(sympy.expand(side.xreplace({symbol: sympy.expand(instead)})) for side in (right, left)))
    return found


def _subtracted(gap: Polynomial, facts: list[tuple[Any, Polynomial]], depth: int, left: list[int]) -> list[Any] | None:
    """Assumptions of which non-negative multiples add up to at most `gap`, which is then not negative."""
    if is_certain(gap):
        return []
    left[0] -= 1
    negative = [(monomial, c) for monomial, c in gap.items() if c < 0]
    if depth == 0 or left[0] < 0 or not negative:
        return None
    monomial, c = max(negative, key=lambda item: (sum(exponent for _, exponent in item[0]), str(item)))
    for fact, polynomial in facts:
        for own, d in polynomial.items():
            factor = _quotient(monomial, own) if d < 0 else None
            if factor is None or not is_nonnegative_monomial(factor):
                continue
            rest = dict(gap)
            add_to(rest, {_product(factor, other): e for other, e in polynomial.items()}, -c / d)
            used = _subtracted(rest, facts, depth - 1, left)
            if used is not None:
                return [fact, *used]
    return None


def _product(one: Monomial, other: Monomial, sign: int = 1) -> Monomial:
    exponents = dict(one)
    for generator, exponent in other:
        exponents[generator] = exponents.get(generator, Fraction(0)) + sign * exponent
    return frozenset((generator, exponent) for generator, exponent in exponents.items() if exponent)


def _quotient(one: Monomial, other: Monomial) -> Monomial | None:
    """one / other; None where that has roots of sums or numbers, whose squares would have to be written out."""
    found = _product(one, other, -1)
    return found if all(generator.is_Symbol for generator, _ in found) else None


def assumed_bounds(symbol: sympy.Symbol) -> Iterator[tuple[str, Any]]:
    """Bounds by the assumptions c - q >= 0 of a quantity q."""
    for fact in world().facts:
        if symbol in fact.free_symbols and sympy.diff(fact, symbol) == -1:
            yield "assumption", fact + symbol
