"""Scalars of symbolic sizes in normal form, and their signs.

A scalar is a polynomial with rational exponents in generators, of which some are norms of matrices or made of other scalars.
Equal scalars have equal normal forms as far as the laws of rings, roots and exponentials tell.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

from verify.kernel.refusal import Refused

#: A rational number, an int where it is known to be whole; nothing but a `Fraction` is divided or taken to a power below 0.
Number = int | Fraction
Monomial = frozenset[tuple[Any, Number]]
BINDERS = ("sum over", "max over", "stack", "block diagonal")  # their first datum is an index that they bind
SPECTRAL = (
    "spectral radius", "smallest singular value", "smallest eigenvalue", "largest shift of singular values", "smallest gain",
)  # fmt: skip
NONNEGATIVE = ("size", "norm", "exp", "abs", "power", "mean of exponentials", "weight off the diagonal", *SPECTRAL)


class Index(NamedTuple):
    """An index; it runs from 0 to size - 1."""

    name: str
    size: Scalar


class Expression:
    """A scalar or a matrix: multiples of products, each of which knows its free indices and the inputs in it."""

    __slots__ = ("_inputs", "terms")
    terms: dict[Any, Any]
    _inputs: frozenset[Any] | None

    @property
    def free(self) -> frozenset[Index]:
        raise NotImplementedError


#: What of a datum may have indices or inputs in it.
PARTS = (Expression, tuple, frozenset)


def free_in(item: Any) -> frozenset[Index]:
    """The free indices of a datum: of a generator or an atom, or of what these are made of."""
    if isinstance(item, Index):
        return frozenset({item})
    if isinstance(item, Expression):
        return item.free
    if isinstance(item, (tuple, frozenset)):
        found = frozenset().union(*[free_in(part) for part in item if isinstance(part, PARTS)])
        return found - {item[1]} if isinstance(item, tuple) and item and item[0] in BINDERS else found
    return frozenset()


def inputs_in(item: Any) -> frozenset[Any]:
    """The names of the inputs that occur in a datum, whether a derivative binds them or not."""
    if isinstance(item, Expression):
        if item._inputs is None:  # found once: a scalar or matrix does not change
            item._inputs = inputs_in(tuple(item.terms.items()))
        return item._inputs
    if not isinstance(item, (tuple, frozenset)):
        return frozenset()
    found = frozenset().union(*[inputs_in(part) for part in item if isinstance(part, PARTS)])
    return found | {item[4]} if isinstance(item, tuple) and item[:1] == ("input",) else found


class Scalar(Expression):
    """A sum of multiples of monomials; `terms` maps monomials to coefficients."""

    __slots__ = ("_free", "_hash", "_key")

    def __init__(self, terms: dict[Monomial, Number]) -> None:
        self.terms = {monomial: c for monomial, c in terms.items() if c}
        self._key: frozenset[tuple[Monomial, Number]] | None = None
        self._hash: int | None = None
        self._free: frozenset[Index] | None = None
        self._inputs: frozenset[Any] | None = None

    @property
    def key(self) -> frozenset[tuple[Monomial, Number]]:
        """The terms as a set, made when it is asked for: most scalars on the way to another are never compared."""
        if self._key is None:
            self._key = frozenset(self.terms.items())
        return self._key

    @property
    def free(self) -> frozenset[Index]:
        """The free indices, found when they are asked for: most scalars on the way to another are never asked."""
        if self._free is None:
            self._free = frozenset().union(*(free_in(g) for m in self.terms for g, _ in m))
        return self._free

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Scalar):
            return self is other
        if self.key is not other.key:
            if self.key != other.key:
                return False
            other._key = self.key  # the next comparison finds one key
        return True

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.key)
        return self._hash

    def __add__(self, other: Scalar) -> Scalar:
        found = dict(self.terms)
        for monomial, c in other.terms.items():
            found[monomial] = found[monomial] + c if monomial in found else c
        return Scalar(found)

    def __sub__(self, other: Scalar) -> Scalar:
        return self + other * number(-1)

    def __mul__(self, other: Scalar) -> Scalar:
        found = Scalar({})
        terms: dict[Monomial, Number] = {}
        for one, c in self.terms.items():
            for two, d in other.terms.items():
                if not (one and two) and not any(g[0] in REDUCIBLE or not e for g, e in one or two):
                    monomial = one or two
                    terms[monomial] = terms[monomial] + c * d if monomial in terms else c * d
                    continue
                exponents = dict(one)
                for g, e in two:
                    exponents[g] = exponents[g] + e if g in exponents else e
                rest = _reduced(exponents)
                monomial = frozenset([(g, plain(e)) for g, e in exponents.items() if e])
                if rest is None:
                    terms[monomial] = terms[monomial] + c * d if monomial in terms else c * d
                else:
                    found = found + Scalar({monomial: c * d}) * rest
        return found + Scalar(terms) if found.terms else Scalar(terms)

    def __pow__(self, exponent: Any) -> Scalar:
        e = Fraction(exponent)
        if e.denominator == 1 and e >= 0:
            found = number(1)
            for _ in range(int(e)):
                found = found * self
            return found
        if len(self.terms) != 1:
            if not self.terms and e < 0:
                raise Refused("a division by zero")
            return generator("sum", self, exponent=e) if self.terms else self
        ((monomial, c),) = self.terms.items()
        if e.denominator != 1 and (c < 0 or not all(nonnegative_power(g, d) for g, d in monomial)):
            raise Refused("a fractional power of what may be negative")
        found = number(Fraction(c) ** e) if e.denominator == 1 else _root_of_number(c, e)
        for g, d in monomial:  # the root of x^2 is |x|
            is_even = e.denominator > 1 and d % 2 == 0
            found = found * (absolute(generator_of(g)) ** (d * e) if is_even else generator_of(g, d * e))
        return found

    def over(self, divisor: Scalar) -> Scalar:
        """The quotient by a monomial, generator by generator."""
        ((shared, d),) = divisor.terms.items()
        found = {}
        for monomial, c in self.terms.items():
            exponents = dict(monomial)
            for g, e in shared:
                exponents[g] = exponents.get(g, 0) - e
            found[frozenset((g, plain(e)) for g, e in exponents.items() if e)] = plain(Fraction(c) / d)
        return Scalar(found)

    def number(self) -> Fraction | None:
        """Its value, where it is a rational number."""
        return Fraction(self.terms.get(frozenset(), 0)) if self.terms.keys() <= {frozenset()} else None


def plain(value: Number) -> Number:
    """The number as an int where it is whole."""
    return value if type(value) is int else value.numerator if value.denominator == 1 else value


#: The generators that `_reduced` may take out of a monomial.
REDUCIBLE = ("sum", "abs")


def _reduced(exponents: dict[Any, Number]) -> Scalar | None:
    """Takes whole powers of sums and even ones of absolute values out of a monomial, and returns their product."""
    found = None
    for g, e in list(exponents.items()):
        if g[0] == "sum":
            value = g[1].number()
            whole = math.floor(e) if value is not None or e >= 1 else 0
            if whole:
                exponents[g] = e - whole
                more = number(value**whole) if value is not None else g[1] ** whole
                found = more if found is None else found * more
        elif g[0] == "abs" and e and e % 2 == 0:
            del exponents[g]
            more = Scalar({frozenset({(g[1], e)}): 1})
            found = more if found is None else found * more
    return found


def _root_of_number(c: Number, e: Fraction) -> Scalar:
    """c^e for an odd multiple e of 1/2: a rational number times the root of a whole one without small square factors."""
    whole, square = c.numerator * c.denominator, 1
    for p in range(2, 100):
        while whole % (p * p) == 0:
            whole, square = whole // (p * p), square * p
    root = math.isqrt(whole) if whole == math.isqrt(whole) ** 2 else 0
    left = number(root) if root else generator("sum", number(whole), exponent=Fraction(1, 2))
    if e.denominator != 2:
        raise Refused(f"the power {e} of {c}")
    return left * number(Fraction(square, c.denominator) * Fraction(c) ** (e - Fraction(1, 2)).numerator)


def is_whole(value: Scalar, least: int = 0) -> bool:
    """Whether a scalar is made of whole numbers and sizes, and at least 0 or 1; or one product of sizes by another."""
    whole = all(g[0] == "size" and e.denominator == 1 and e > 0 for monomial in value.terms for g, e in monomial)
    whole = whole and all(c.denominator == 1 for c in value.terms.values())
    return is_quotient(value) or (whole and is_nonnegative(value - number(least)))


def is_quotient(value: Scalar) -> bool:
    """Whether a scalar is a product of sizes by another, or by a number: a size only where it is whole, as is to be asked."""
    if len(value.terms) != 1:
        return False
    ((monomial, c),) = value.terms.items()
    of_sizes = c > 0 and bool(monomial) and all(g[0] == "size" and e.denominator == 1 for g, e in monomial)
    return of_sizes and (c.denominator > 1 or any(e < 0 for _, e in monomial))


def number(value: Any) -> Scalar:
    return Scalar({frozenset(): value if type(value) is int else plain(Fraction(value))})


def generator(*data: Any, exponent: Any = 1) -> Scalar:
    return Scalar({frozenset({(data, plain(Fraction(exponent)))}): 1}) * number(1)


def generator_of(g: Any, exponent: Any = 1) -> Scalar:
    """A power of a generator as a scalar."""
    return generator(*g, exponent=exponent)


def is_positive_generator(g: Any) -> bool:
    return g[0] in ("size", "exp", "power") or (g[0] == "scalar" and g[2] == "positive")


def only_generator(value: Scalar) -> tuple[Scalar, Any]:
    """c and q of a scalar c q with a generator q and a positive number or product of sizes c; anything else is refused."""
    if len(value.terms) == 1:
        ((monomial, c),) = value.terms.items()
        rest = {(g, e) for g, e in monomial if g[0] != "exp" and (is_positive_generator(g) or _is_number(g))}
        moving = [g for g, e in monomial - rest if e == 1]
        if c > 0 and len(monomial) - len(rest) == len(moving) == 1:
            return Scalar({frozenset(rest): c}), moving[0]
    raise Refused("the left side of a rule is no positive multiple of a quantity")


# -- signs -------------------------------------------------------------------------------------------------------------


def is_nonnegative_generator(g: Any) -> bool:
    if g[0] == "scalar":
        return g[2] != "real"
    if g[0] in ("sum", "sum over", "max over"):
        return is_nonnegative(g[-1])
    return any(map(is_nonnegative, g[1])) if g[0] == "max" else g[0] in NONNEGATIVE


def nonnegative_power(g: Any, e: Number) -> bool:
    return e % 2 == 0 or (e.denominator != 1 and g[0] == "sum") or is_nonnegative_generator(g)


def is_nonnegative(value: Scalar) -> bool:
    """Whether every term is certainly at least 0, or so with (1 + t)^2, t >= 0, for each size and each e^x with x >= 0."""
    found = {g for m in value.terms for g, _ in m if g[0] in ("size", "exp")}
    return any(_terms_are_nonnegative(in_roots_of_sizes(value, some)) for some in (set(), *({g} for g in found), found))


def is_positive(value: Scalar) -> bool:
    """Whether a scalar is certainly above 0: no term is negative, and one is a multiple of what is positive."""
    positive = [m for m in value.terms if all(is_positive_generator(g) for g, _ in m)]
    return bool(positive) and _terms_are_nonnegative(value)


def _is_nonpositive_power(g: Any, e: Number) -> bool:
    """Whether an odd power is taken of the largest of numbers none of which is above 0, so that it is not above 0 either."""
    return g[0] == "max" and e % 2 == 1 and all(is_nonnegative(value * number(-1)) for value in g[1])


def _is_number(g: Any) -> bool:
    return g[0] == "sum" and g[1].number() is not None


def _terms_are_nonnegative(value: Scalar) -> bool:
    totals: dict[Any, Number] = {}
    for monomial, c in value.terms.items():
        rest = frozenset((g, e) for g, e in monomial if not _is_number(g))
        turned = [item for item in rest if not nonnegative_power(*item)]
        if not all(_is_nonpositive_power(g, e) for g, e in turned):
            return False
        c = c if len(turned) % 2 == 0 else -c  # the same for all terms with these factors
        for g, e in monomial - rest:  # roots of numbers, from below where they add, from above where they are taken off
            c *= _root(g[1].number(), e, up=c < 0)
        totals[rest] = totals.get(rest, 0) + c
    return all(total >= 0 for total in totals.values())


def _root(value: Fraction, e: Number, up: bool) -> Fraction:
    """A rational number at most value^e, or with `up` at least, for a positive number and 0 < e < 1; a square root."""
    if e != Fraction(1, 2) or value <= 0:
        raise Refused(f"the power {e} of {value}")
    digits = 10**40
    return Fraction(math.isqrt(value.numerator * value.denominator * digits**2) + up, value.denominator * digits)


def in_roots_of_sizes(value: Scalar, some: set[Any]) -> Scalar:
    """A scalar times powers of sizes, with s = (1 + t)^2 for some sizes s and t >= 0; no exponent of s is below 0 then.

    Powers of e with an exponent that is not negative are at least 1 as sizes are.
    """
    for g in {g for g in some if g[0] == "size" or is_nonnegative(g[1])}:
        least = min(dict(m).get(g, 0) for m in value.terms)
        root, found = number(1) + generator("scalar", ("root of", g), "nonnegative"), Scalar({})
        for monomial, c in value.terms.items():
            count = 2 * (dict(monomial).get(g, 0) - least)
            if count.denominator != 1:
                return value
            found = found + Scalar({frozenset(i for i in monomial if i[0] != g): c}) * root**count
        value = found
    return value


# -- largest values and sums --------------------------------------------------------------------------------------------


def exponential(x: Scalar) -> Scalar:
    """e^x, which is the inverse of e^-x where all terms of x are negative."""
    if x.terms and all(c < 0 for c in x.terms.values()):
        return generator("exp", x * number(-1)) ** -1
    return generator("exp", x) if x.terms else number(1)


def mean_of_exponentials(x: Scalar) -> Scalar:
    """The integral of e^(t x) over t from 0 to 1, which grows with x: (e^x - 1) / x, and 1 at 0."""
    return generator("mean of exponentials", x) if x.terms else number(1)


def logarithm(x: Scalar) -> Scalar:
    """log x."""
    return number(0) if x == number(1) else generator("log", x)


def largest(values: Any) -> Scalar:
    distinct = frozenset(values)
    return next(iter(distinct)) if len(distinct) == 1 else generator("max", distinct)


def over(kind: str, index: Index, value: Scalar) -> Scalar:
    """The sum ("sum over") or the largest value ("max over") of a scalar over an index; what is fixed stands outside."""
    if index not in value.free:
        return value * index.size if kind == "sum over" else value
    if kind == "max over" and len(value.terms) > 1:
        return generator(kind, index, value)
    found = Scalar({})
    for monomial, c in value.terms.items():
        fixed = Scalar({frozenset(item for item in monomial if index not in free_in(item[0])): abs(c)})
        moving = Scalar({frozenset(item for item in monomial if index in free_in(item[0])): 1 if c > 0 else -1})
        if kind == "max over" and not is_nonnegative(fixed):
            fixed, moving = number(1), value
        found = found + (fixed * index.size * moving if moving.number() else fixed * generator(kind, index, moving))
    return found


def absolute(value: Scalar) -> Scalar:
    """The absolute value, of a monomial factor by factor; of an entry, the norm of the matrix of shape (1, 1)."""
    if len(value.terms) != 1:
        either = next(filter(is_nonnegative, (value, value * number(-1))), None)
        return either if either is not None else generator("abs", ("sum", value))
    ((monomial, c),) = value.terms.items()
    found = number(abs(c))
    for g, e in monomial:
        is_plain = nonnegative_power(g, e)
        size = g[1].length ** e if g[0] == "entry" and not is_plain else generator("abs", g, exponent=e)
        found = found * (Scalar({frozenset({(g, e)}): 1}) if is_plain else size)
    return found
