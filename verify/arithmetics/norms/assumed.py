"""Inequalities between scalars that follow from assumed ones, by certificates that are checked coefficient by coefficient."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sympy

from verify.arithmetics.norms.deciding import at_most, is_certain, substituted, term_by_term
from verify.arithmetics.norms.monomials import (
    Monomial,
    Polynomial,
    absorbed,
    add_to,
    difference,
    expanded,
    has_no_negative_term,
    is_nonnegative_monomial,
    product_of,
)
from verify.arithmetics.norms.refuting import failing_points, is_refuted
from verify.arithmetics.norms.signs import is_nonnegative, is_positive, symbols_of
from verify.arithmetics.norms.statements import RuleBound
from verify.arithmetics.norms.text import scalar_text
from verify.arithmetics.norms.world import quantities_in, world

#: Multiples of assumptions that are subtracted in a row, and what is tried at most.
DEPTH, MOST = 8, 40
#: What is known of numbers that are told apart from their largest, in one case: that many inequalities at most.
CASES = 4
#: The value of a fact.
EXCESS = sympy.Dummy("excess", nonnegative=True)


def follows(left: Any, right: Any, facts: Sequence[Any]) -> tuple[Any, ...] | None:
    """The assumptions e >= 0 among `facts` from which left <= right is certain; None where that is not found."""
    left, right = sympy.sympify(left), sympy.sympify(right)
    if at_most(left, right) or term_by_term(left, right):
        return ()
    if not facts:
        return None
    if isinstance(left, sympy.exp) and isinstance(right, sympy.exp):
        return follows(left.args[0], right.args[0], facts)
    failing = list(failing_points(left, right))
    if is_refuted(failing, facts):
        return None
    for fact in facts:
        if not is_refuted(failing, (fact,)) and any(map(is_certain, _substituted(left, right, fact))):
            return (fact,)
    polynomials = [(fact, expanded(fact)) for fact in facts]
    divisors = _divisors([expanded(left), expanded(right), *(polynomial for _, polynomial in polynomials)])
    used = _subtracted(_absorbed(difference(right, left)), polynomials, divisors, DEPTH, set())
    if used is None and is_certain(expanded(left)) and is_certain(expanded(right)):
        squares = (sympy.expand(side**2) for side in (right, left))
        used = _subtracted(_absorbed(difference(*squares)), polynomials, divisors, DEPTH, set())
    return tuple(dict.fromkeys(used)) if used is not None else None


def follows_in_cases(
    left: Any, right: Any, facts: Sequence[Any], compared: Callable[..., Any] = follows, order: tuple[Any, ...] = ()
) -> tuple[Any, ...] | None:
    """What `follows` finds, with each of several numbers in the place of their largest, which then is at least the others.

    `order`: what is known of the cases so far.  It is tried before the other facts, of which there may be many.
    """
    for known in (order, (*order, *facts)) if order and facts else ((*order, *facts),):
        used: tuple[Any, ...] | None = compared(left, right, known)
        if used is not None:
            return used
    several = largest_in(left, right)
    if not several or len(order) >= CASES:
        return None
    values, found = world().atoms[several[0]].payload, dict[Any, None]()
    for value in values:
        above = tuple(value - other for other in values if other != value)
        one, two = (side.xreplace({several[0]: value}) for side in (left, right))
        used = follows_in_cases(one, two, facts, compared, (*above, *order))
        if used is None:
            return None
        found |= dict.fromkeys(fact for fact in used if fact not in above)
    return tuple(found)


def largest_in(*scalars: Any) -> list[Any]:
    """The largest of several numbers that stand in scalars, where not all of these are quantities: of quotients, for example.

    Those of most such numbers come first.
    """
    known = world().atoms
    found = quantities_in({symbol for value in scalars for symbol in symbols_of(value)}, "largest of")
    compound = {symbol: sum(not value.is_Symbol for value in known[symbol].payload) for symbol in found}
    several = [symbol for symbol, count in compound.items() if count]
    return sorted(several, key=lambda symbol: (-compound[symbol], str(known[symbol].payload)))


def consequences(fact: Any) -> list[Any]:
    """What e >= 0 says of each of several numbers whose largest e decreases in; denominators that are positive are cleared."""
    for symbol in quantities_in(fact.free_symbols, "largest of"):
        values = world().atoms[symbol].payload
        nonnegative = all(map(is_nonnegative, values))
        # one that may be 0 where the largest is not is divided by nowhere: the assumption says nothing of it
        says = fact if all(map(is_positive, values)) else _times_denominator(fact, symbol, nonnegative)
        if _decreases(says, symbol, nonnegative):
            return [item for value in values for item in consequences(says.xreplace({symbol: value}))]
    numerator, denominator = sympy.fraction(sympy.together(fact))
    clear = any(power.base.is_Add and power.exp.is_negative for power in fact.atoms(sympy.Pow))
    return [sympy.expand(numerator)] if clear and is_certain(expanded(sympy.expand(denominator))) else [fact]


def _times_denominator(fact: Any, symbol: Any, nonnegative: bool) -> Any:
    """The fact times the power of a symbol that it is divided by, which is positive then if the symbol is not negative."""
    exponents = [power.exp for power in fact.atoms(sympy.Pow) if power.base == symbol and power.exp.is_number]
    lowest = min([exponent for exponent in exponents if exponent.is_negative], default=sympy.Integer(0))
    return sympy.expand(fact * symbol**-lowest) if nonnegative else fact


def _decreases(value: Any, symbol: Any, nonnegative: bool) -> bool:
    """Whether every term with the symbol is -c q, or for numbers that are not negative -c q^p or c / q^p, c >= 0 and p > 0."""
    for term in sympy.Add.make_args(sympy.expand(value)):
        c, factor = term.as_independent(symbol, as_Add=False)
        if factor == 1:
            continue
        base, exponent = factor.as_base_exp()
        if base != symbol or not exponent.is_number or not (nonnegative or exponent == 1):
            return False
        if not is_nonnegative(-c if is_positive(exponent) else c):
            return False
    return True


def root_of_quotient(value: Any) -> Any:
    """The root of a scalar; of a / b that of a over that of b where a is positive, or b is not negative by an assumption.

    In both cases the one is defined where the other is: for b > 0, and a >= 0.
    """
    above, below = sympy.fraction(value)
    if below.is_Add and not is_nonnegative(below):
        if is_positive(above):
            return sympy.sqrt(above) / sympy.sqrt(below)
        for fact in world().facts:
            if sympy.expand(fact - below) == 0:
                world().used.add(f"{scalar_text(fact, world())} >= 0")
                return sympy.sqrt(above) / sympy.sqrt(below)
    return sympy.sqrt(value)


def _substituted(left: Any, right: Any, fact: Any) -> Iterator[Polynomial]:
    """right - left in terms of s = fact >= 0 in the place of a symbol that the fact is linear in."""
    for symbol in sorted(symbols_of(fact) & symbols_of(left - right), key=sympy.default_sort_key):
        instead = _solved(fact, symbol)
        if instead is None:
            continue
        gap = difference(right, left)
        if _is_polynomial_in(gap, symbol):
            yield substituted(gap, symbol, expanded(instead))
        else:
            yield difference(_moved(right, symbol, instead), _moved(left, symbol, instead))


@functools.lru_cache(maxsize=5_000)
def _solved(fact: Any, symbol: Any) -> Any | None:
    """What a symbol is by a fact that is linear in it, in terms of the value of the fact; None of any other fact."""
    slope = sympy.diff(fact, symbol)
    return sympy.expand(symbol - (fact - EXCESS) / slope) if slope.is_number and slope != 0 else None


@functools.lru_cache(maxsize=5_000)
def _moved(side: Any, symbol: Any, instead: Any) -> Any:
    return sympy.expand(side.xreplace({symbol: instead}))


def _is_polynomial_in(polynomial: Polynomial, symbol: Any) -> bool:
    """Whether a symbol stands in no generator but itself, and with whole powers that are not negative."""
    return all(
        exponent.denominator == 1 and exponent > 0 if generator == symbol else symbol not in symbols_of(generator)
        for monomial in polynomial
        for generator, exponent in monomial
    )


def _divisors(polynomials: Sequence[Polynomial]) -> frozenset[Any]:
    """What is divided by: it is not 0 wherever all polynomials are defined."""
    return frozenset(
        g for polynomial in polynomials for monomial in polynomial for g, exponent in monomial if exponent < 0
    )


def _subtracted(
    gap: Polynomial, facts: list[tuple[Any, Polynomial]], divisors: frozenset[Any], depth: int, seen: set[Any]
) -> list[Any] | None:
    """Assumptions of which non-negative multiples add up to at most `gap`, which is then not negative.

    A multiple divides by nothing but `divisors` and what is positive: of x y >= 0 nothing follows for y where x may be 0.
    """
    if has_no_negative_term(gap):
        return []
    key = frozenset(gap.items())
    if depth == 0 or len(seen) > MOST or key in seen:
        return None
    seen.add(key)
    negative = [(monomial, c) for monomial, c in gap.items() if c < 0]
    if not negative:
        return None
    monomial, c = max(negative, key=lambda item: (sum(exponent for _, exponent in item[0]), str(item)))
    options = []
    for fact, polynomial in facts:
        for own, d in polynomial.items():
            factor = _quotient(monomial, own) if d < 0 else None
            if factor is None or not is_nonnegative_monomial(factor):
                continue
            if any(exponent < 0 and not is_positive(g) and g not in divisors for g, exponent in factor):
                continue
            rest = dict(gap)
            add_to(rest, {product_of(factor, other): e for other, e in polynomial.items()}, -c / d)
            options.append((fact, _absorbed(rest)))
    for fact, rest in sorted(options, key=lambda option: sum(c < 0 for c in option[1].values())):
        used = _subtracted(rest, facts, divisors, depth - 1, seen)
        if used is not None:
            return [fact, *used]
    return None


def _absorbed(gap: Polynomial) -> Polynomial:
    """The polynomial without terms -c m that terms d m s outweigh, for products s >= 1 of sizes: what is left is no larger."""
    return absorbed(gap, is_nonnegative_monomial, lambda g: g.is_integer and g.is_positive)


def _quotient(one: Monomial, other: Monomial) -> Monomial | None:
    """one / other; None where that has roots of sums or numbers, whose squares would have to be written out."""
    found = product_of(one, other, -1)
    return found if all(generator.is_Symbol for generator, _ in found) else None


def assumed_bounds(symbol: sympy.Symbol) -> Iterator[RuleBound]:
    """Bounds by the assumptions c - q >= 0 of a quantity q."""
    for fact in world().facts:
        if symbol in fact.free_symbols and sympy.diff(fact, symbol) == -1:
            yield RuleBound("assumption", fact + symbol, ("assumption", fact, symbol))
