"""Inequalities between scalars of a few real variables: a tree of boxes, in each of which something decides.

A box maps variables to intervals with rational ends, or infinite ones.  `decided` accepts a scalar as at least 0 in a box, in
all points at which it is defined and the assumptions hold.  Enclosures are made of whole numbers: the only float is an infinite
end, of which nothing but the sign is used.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from verify.kernel import quantities as q
from verify.kernel.expressions import rational
from verify.kernel.quantities import Scalar, number
from verify.kernel.refusal import Refused

Interval = tuple[Any, Any]  # fractions, or an infinity of the sign that its end has
Box = Mapping[Any, Interval]
INFINITY = math.inf
#: Ends are rounded outwards to multiples of 1 / UNIT.
UNIT = 2**64
#: Terms of the series of e^x for |x| <= 1/2, and of the area tangent for |z| <= 1/3.
TERMS = 24
#: Beyond, e^x is enclosed by no number.
LARGEST_EXPONENT = 4000


def rounded(low: Any, high: Any) -> Interval:
    """An interval with ends of few digits around another."""
    down = low if low == -INFINITY or low.denominator <= UNIT else Fraction(math.floor(low * UNIT), UNIT)
    up = high if high == INFINITY or high.denominator <= UNIT else Fraction(math.ceil(high * UNIT), UNIT)
    return down, up


def _times(x: Any, y: Any) -> Any:
    """The product of two ends: 0 times an infinite one is 0, as what has no end is still a number."""
    if x == 0 or y == 0:
        return Fraction(0)
    return (INFINITY if (x > 0) == (y > 0) else -INFINITY) if INFINITY in (abs(x), abs(y)) else x * y


def product(one: Interval, other: Interval) -> Interval:
    ends = [_times(x, y) for x in one for y in other]
    return rounded(min(ends), max(ends))


def power(base: Interval, e: Fraction) -> Interval:
    """The values of x^e; refused where that may be undefined."""
    low, high = base
    if e < 0:
        if low <= 0 <= high:
            raise Refused("a division by what may vanish in a box")
        ends = [Fraction(0) if abs(x) == INFINITY else 1 / x for x in (high, low)]
        return power((ends[0], ends[1]), -e)
    if e.denominator == 2 and low >= 0:
        return power((_root(low, False), _root(high, True)), Fraction(e.numerator))
    if e.denominator != 1:
        raise Refused(f"the power {e} in a box")
    ends = [(x if e % 2 else abs(x)) if abs(x) == INFINITY else x ** int(e) for x in base]
    return rounded(Fraction(0) if low < 0 < high and e % 2 == 0 else min(ends), max(ends))


def _root(x: Any, up: bool) -> Any:
    return x if x == INFINITY else Fraction(math.isqrt(x.numerator * UNIT**2 // x.denominator) + up, UNIT)


def exponential(x: Interval) -> Interval:
    """The values of e^x."""
    low = Fraction(0) if x[0] == -INFINITY else _exponential(x[0])[0]
    return low, INFINITY if x[1] == INFINITY else _exponential(x[1])[1]


@functools.lru_cache(2**12)
def _exponential(x: Fraction) -> Interval:
    """e^x = (e^y)^(2^k) for |y| <= 1/2; what the series leaves is at most 2 |y|^n / n! for its n terms."""
    if abs(x) > LARGEST_EXPONENT:
        return (Fraction(0), Fraction(1)) if x < 0 else (Fraction(1), INFINITY)
    k = max(0, math.ceil(abs(x) * 2) - 1).bit_length()
    y, term, total = x / 2**k, Fraction(1), Fraction(0)
    for n in range(1, TERMS + 1):
        total, term = total + term, term * y / n
    found = rounded(total - 2 * abs(term), total + 2 * abs(term))
    for _ in range(k):
        found = product(found, found)
    return found


def logarithm(x: Interval) -> Interval:
    """The values of log x; refused where x may not be positive."""
    if x[0] <= 0:
        raise Refused("a logarithm of what may not be positive in a box")
    return _logarithm(x[0])[0], INFINITY if x[1] == INFINITY else _logarithm(x[1])[1]


@functools.lru_cache(2**12)
def _logarithm(x: Fraction) -> Interval:
    """log x = k log 2 + log r for r between 1/2 and 2, each 2 artanh(z) at z = (r - 1) / (r + 1)."""
    k = x.numerator.bit_length() - x.denominator.bit_length()
    two, rest = _area_tangent(Fraction(1, 3)), _area_tangent((x / Fraction(2) ** k - 1) / (x / Fraction(2) ** k + 1))
    two = product((Fraction(k), Fraction(k)), two)
    return 2 * (two[0] + rest[0]), 2 * (two[1] + rest[1])


def _area_tangent(z: Fraction) -> Interval:
    """artanh z = z + z^3 / 3 + ... for |z| <= 1/3; what is left after n terms is at most |z|^(2 n + 1) / (1 - z^2)."""
    assert abs(z) <= Fraction(1, 3)
    total = sum((z ** (2 * n + 1) / (2 * n + 1) for n in range(TERMS)), Fraction(0))
    left = abs(z) ** (2 * TERMS + 1) / (1 - z * z)
    return rounded(total - left, total + left)


# -- scalars in a box --------------------------------------------------------------------------------------------------


def enclosed(value: Scalar, box: Box) -> Interval:
    """An interval with all values of a scalar in a box; refused where it may be undefined there."""
    low: Any = Fraction(0)
    high: Any = Fraction(0)
    for monomial, c in value.terms.items():
        term: Interval = (Fraction(c), Fraction(c))
        for g, e in monomial:
            term = product(term, power(_enclosed_generator(g, box), Fraction(e)))
        low = -INFINITY if -INFINITY in (low, term[0]) else low + term[0]
        high = INFINITY if INFINITY in (high, term[1]) else high + term[1]
    return low, high


def _enclosed_generator(g: Any, box: Box) -> Interval:
    if g[0] in ("scalar", "size"):
        return box[g]
    inner = _enclosed_generator(g[1], box) if g[0] == "abs" else enclosed(g[1], box)
    if g[0] == "abs":
        return (Fraction(0) if inner[0] <= 0 <= inner[1] else min(map(abs, inner))), max(map(abs, inner))
    return inner if g[0] == "sum" else exponential(inner) if g[0] == "exp" else logarithm(inner)


def variables(value: Scalar) -> set[Any]:
    """The scalars and sizes that a scalar is made of; refused if it is made of anything else, such as a norm."""
    found: set[Any] = set()
    for g in {g for monomial in value.terms for g, _ in monomial}:
        g = g[1] if g[0] == "abs" else g
        if g[0] in ("scalar", "size"):
            found.add(g)
        elif g[0] in ("sum", "exp", "log"):
            found |= variables(g[1])
        else:
            raise Refused(f"{g[0]!r} has no place in a box")
    return found


def declared(g: Any) -> Interval:
    """The values of a variable that its declaration allows; 0 is added to those of a positive one."""
    low = Fraction(1) if g[0] == "size" else -INFINITY if g[2] == "real" else Fraction(0)
    return low, INFINITY


def with_values(value: Scalar, of: Mapping[Any, Scalar]) -> Scalar:
    """A scalar with others in the place of generators: variables, or absolute values."""
    made = {"sum": lambda x: x, "exp": q.exponential, "log": q.logarithm}
    found = Scalar({})
    for monomial, c in value.terms.items():
        term = number(c)
        for g, e in monomial:
            inner = of.get(g)
            if inner is None and g[0] in made:
                inner = made[g[0]](with_values(g[1], of))
            elif inner is None and g[0] == "abs":
                inner = q.absolute(with_values(q.generator_of(g[1]), of))
            term = term * (inner if inner is not None else q.generator_of(g)) ** e
        found = found + term
    return found


def slope(value: Scalar, x: Any) -> Scalar:
    """The derivative in a variable; refused at absolute values, which have none at 0."""
    found = Scalar({})
    for monomial, c in value.terms.items():
        for g, e in monomial:
            if g == x or (g[0] in ("sum", "exp", "log") and x in variables(g[1])):
                rest = Scalar({monomial - {(g, e)}: c * e}) * q.generator_of(g) ** (e - 1)
                found = found + rest * (number(1) if g == x else _inner_slope(g, x))
            elif g[0] == "abs" and x in variables(q.generator_of(g)):
                raise Refused("the derivative of an absolute value")
    return found


def _inner_slope(g: Any, x: Any) -> Scalar:
    inner = slope(g[1], x)
    return inner if g[0] == "sum" else inner * (q.generator_of(g) if g[0] == "exp" else g[1] ** -1)


# -- trees -------------------------------------------------------------------------------------------------------------


def holds(gap: Scalar, tree: list[Any], assumed: Sequence[Scalar]) -> None:
    """Accept 0 <= gap wherever it is defined and no assumption is below 0, or refuse."""
    facts = tuple(map(in_variables, assumed))
    gap = without_factors(gap)
    decided(gap, tree, {g: declared(g) for value in (gap, *facts) for g in variables(value)}, facts)


def in_variables(fact: Scalar) -> Scalar:
    """An assumption, or 0, of which nothing follows, in the place of one that has no place in a box."""
    try:
        variables(fact)
    except Refused:
        return number(0)
    return fact


def without_factors(gap: Scalar) -> Scalar:
    """A scalar times powers of sizes and positive scalars, so that no term is divided by one, and not all have it.

    A scalar that is not negative is positive wherever it is divided by.
    """
    for g in sorted(variables(gap)):
        least = min(dict(monomial).get(g, 0) for monomial in gap.terms)
        if q.is_positive_generator(g) or (least < 0 and q.is_nonnegative_generator(g)):
            gap = gap * q.generator_of(g, -least)
    return gap


def decided(gap: Scalar, tree: list[Any], box: Box, facts: tuple[Scalar, ...]) -> None:
    """Accept a scalar as at least 0 in a box, for the reason that a tree gives, or refuse.

    All points of the box are spoken of, but those at which an assumption is below 0.  Of a slope no assumption is used: the way
    to a side of the box may lead through points at which none holds.
    """
    name, *rest = tree
    if name == "holds":
        if rest or not enclosed(gap, box)[0] >= 0:
            raise Refused("a box in which the sides are not told apart")
    elif name == "beyond":  # an assumption that is 0 on a side of the box, and below 0 in all other points
        which, x, side, face = rest[0], variable(rest[1], box), *rest[2:]
        low, high = enclosed(slope(facts[which], x), box)
        enclosed(facts[which], box)  # which is refused where it may be undefined
        on_side = with_values(facts[which], {x: number(end(box, x, side))})
        if on_side.terms or not (high < 0 if side == "low" else low > 0):
            raise Refused("a box that is not beyond what is assumed")
        decided(*at_side(gap, face, box, facts, x, side))
    elif name == "split":
        x, point, below, above = variable(rest[0], box), Fraction(rational(*rest[1])), *rest[2:]
        low, high = box[x]
        if not low < point < high:
            raise Refused("a box is split where it is not")
        decided(gap, below, {**box, x: (low, point)}, facts)
        decided(gap, above, {**box, x: (point, high)}, facts)
    elif name == "rises":  # from a side of the box on
        x, side, why, face = variable(rest[0], box), *rest[1:]
        enclosed(gap, box)  # which is refused where it may be undefined
        decided(slope(gap, x) * number(1 if side == "low" else -1), why, box, ())
        decided(*at_side(gap, face, box, (), x, side))
    elif name == "concave":  # so that it is nowhere below both of its values on two sides
        x, why, below, above = variable(rest[0], box), *rest[1:]
        enclosed(gap, box)
        bend = slope(gap, x)
        enclosed(bend, box)
        decided(slope(bend, x) * number(-1), why, box, ())
        decided(*at_side(gap, below, box, (), x, "low"))
        decided(*at_side(gap, above, box, (), x, "high"))
    elif name == "signs":  # of what absolute values are taken of
        decided(with_values(gap, signs(gap, box)), rest[0], box, facts)
    elif name == "instead":  # of a variable, an assumption that has it as a term
        which, x, inner = rest[0], variable(rest[1], box), rest[2]
        decided(*moved(gap, inner, box, facts, which, x))
    else:
        raise Refused(f"no reason {name!r} in a box")


State = tuple[Scalar, list[Any], Box, tuple[Scalar, ...]]


def at_side(gap: Scalar, tree: list[Any], box: Box, facts: tuple[Scalar, ...], x: Any, side: str) -> State:
    """What is left to decide on a side of a box, where a variable is a number."""
    value = {x: number(end(box, x, side))}
    rest = {g: ends for g, ends in box.items() if g != x}
    return with_values(gap, value), tree, rest, tuple(with_values(fact, value) for fact in facts)


def moved(gap: Scalar, tree: list[Any], box: Box, facts: tuple[Scalar, ...], which: int, x: Any) -> State:
    """What is left to decide with m in the place of a variable x, where an assumption is m = c x + ..., so that m >= 0.

    What was known of x is forgotten.  The name of m is a number, as no declared one is.
    """
    m, fact = ("scalar", which, "nonnegative"), facts[which]
    c = Fraction(fact.terms.get(frozenset({(x, 1)}), 0))
    others = fact - q.generator_of(x) * number(c)
    if type(which) is not int or which < 0 or m in box or not c or x in variables(others):
        raise Refused("an assumption that does not give a variable")
    value = {x: (q.generator_of(m) - others) * number(1 / c)}
    rest = {g: ends for g, ends in box.items() if g != x} | {m: declared(m)}
    return with_values(gap, value), tree, rest, tuple(with_values(fact, value) for fact in facts)


def variable(name: Any, box: Box) -> Any:
    """The variable of this name: a string, or the number of an assumption."""
    found = [g for g in box if type(g[1]) is type(name) and g[1] == name]
    if len(found) != 1:
        raise Refused(f"{name!r} is no variable of the box")
    return found[0]


def end(box: Box, x: Any, side: str) -> Fraction:
    """The end of an interval that is a side of a box."""
    found = box[x][("low", "high").index(side)]
    if abs(found) == INFINITY:
        raise Refused("a side that is infinitely far")
    return Fraction(found)


def signs(gap: Scalar, box: Box) -> dict[Any, Scalar]:
    """The absolute values in a scalar whose arguments have one sign in a box, as these arguments or what is opposite."""
    found = {}
    for g in {g for monomial in gap.terms for g, _ in monomial if g[0] == "abs"}:
        low, high = _enclosed_generator(g[1], box)
        if low >= 0 or high <= 0:
            found[g] = q.generator_of(g[1]) * number(1 if low >= 0 else -1)
    return found
