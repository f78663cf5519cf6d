"""Coefficients: sums of monomials in sizes and real scalars, with rational exponents.

A monomial is a tuple of (base, exponent), sorted; bases are sympy expressions (a symbol, a prime under a root, or a sum
that stays in a denominator), known here by interned names.  Sizes are positive, so that their roots multiply.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import sympy

from verify.arithmetics.conditions import rely_on_divisor, rely_on_nonzero, rely_on_root
from verify.arithmetics.constants import Surd
from verify.vocabulary.errors import ArithmeticUnsupported

#: A rational number, an int where it is known to be whole.
Number = int | Fraction
Monomial = tuple[tuple[str, Number], ...]

_bases: dict[str, sympy.Expr] = {}
_names: dict[sympy.Expr, str] = {}


def _name(base: sympy.Expr) -> str:
    """A name that no other base has: it tells symbols of one name but different assumptions apart."""
    if base not in _names:
        name = f"{base} {sympy.srepr(base)}"
        _names[base], _bases[name] = name, base
    return _names[base]


def _plain(value: Number) -> Number:
    """The number as an int where it is whole."""
    return value if type(value) is int else value.numerator if value.denominator == 1 else value


class Scalar:
    """An immutable sum of (rational) x (monomial); zero has no terms."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: dict[Monomial, Number]) -> None:
        self.terms = terms
        self._hash: int | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scalar) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __bool__(self) -> bool:
        return bool(self.terms)

    @property
    def is_one(self) -> bool:
        return self.terms == {(): 1}

    @property
    def key(self) -> tuple[Any, ...]:
        """Sortable, equal exactly for equal scalars."""
        return tuple(sorted(self.terms.items()))

    def __add__(self, other: Scalar) -> Scalar:
        found = dict(self.terms)
        for monomial, value in other.terms.items():
            summed = found.get(monomial, 0) + value
            if summed:
                found[monomial] = _plain(summed)
            else:
                found.pop(monomial, None)
        return Scalar(found)

    def __neg__(self) -> Scalar:
        return Scalar({monomial: -value for monomial, value in self.terms.items()})

    def __mul__(self, other: Scalar) -> Scalar:
        if self.is_one:
            return other
        if other.is_one:
            return self
        found: dict[Monomial, Number] = {}
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                for monomial, value in _product(left, right):
                    found[monomial] = found.get(monomial, 0) + value * a * b
        return Scalar({monomial: _plain(value) for monomial, value in found.items() if value})

    def power(self, exponent: Fraction) -> Scalar:
        """self ** exponent, as a root of a sum stays one opaque base."""
        if exponent < 0:
            rely_on_nonzero(self.expression)
            rely_on_divisor(self.expression)
        if exponent.denominator % 2 == 0:
            rely_on_root(self.expression)
        return scalar(self.expression ** sympy.Rational(exponent.numerator, exponent.denominator))

    def divided(self, other: Scalar) -> Scalar | None:
        """The quotient by a scalar of one term, None where it divides by what is not certainly different from zero."""
        quotient = self * scalar(1 / other.expression)
        uncertain = {name for monomial in other.terms for name, _ in monomial if not _bases[name].is_nonzero}
        if any(name in uncertain and exponent < 0 for monomial in quotient.terms for name, exponent in monomial):
            return None
        return quotient

    @property
    def expression(self) -> sympy.Expr:
        """As a sympy expression."""
        return sympy.Add(*(_monomial_expression(monomial, value) for monomial, value in self.terms.items()))

    @property
    def is_positive(self) -> bool:
        """Whether the scalar is certainly positive: all its terms are."""
        return bool(self.terms) and all(
            value > 0 and all(_bases[name].is_positive for name, _ in monomial)
            for monomial, value in self.terms.items()
        )

    def vanishes(self) -> bool:
        """Whether the scalar is zero as a function: decided by sympy where sums stand in denominators."""
        if not self.terms:
            return True
        if all(_bases[name].is_Atom for monomial in self.terms for name, _ in monomial):
            return False
        found = self._numerator()
        if found is not None:
            return not found
        return bool(sympy.ratsimp(sympy.together(self.expression)) == 0)

    def _numerator(self) -> Scalar | None:
        """The scalar times the polynomials that it is divided by, where nothing else is in it than these and symbols.

        Such polynomials are not zero as functions: so it is zero exactly where the product has no terms.
        """
        least: dict[str, Number] = {}
        for monomial in self.terms:
            for name, exponent in monomial:
                if not _bases[name].is_Atom:
                    least[name] = min(exponent, least.get(name, 0))
        if any(Fraction(exponent).denominator > 1 or not _is_polynomial(name) for name, exponent in least.items()):
            return None
        multiplied = self * Scalar({tuple(sorted((name, -least[name]) for name in least)): 1})
        is_whole = all(_bases[name].is_Symbol for monomial in multiplied.terms for name, _ in monomial)
        return multiplied if is_whole or not multiplied else None

    def __iter__(self) -> Iterator[Scalar]:
        for monomial, value in self.terms.items():
            yield Scalar({monomial: value})

    def __repr__(self) -> str:
        return str(self.expression)


@functools.lru_cache(maxsize=65536)
def _monomial_expression(monomial: Monomial, value: Number) -> sympy.Expr:
    factors = [_bases[name] ** sympy.Rational(exponent) for name, exponent in monomial]
    return sympy.Mul(sympy.Rational(value.numerator, value.denominator), *factors)


@functools.cache
def _is_polynomial(name: str) -> bool:
    """Whether a base is a polynomial in symbols, and not zero."""
    base = _bases[name]
    return bool(base.free_symbols and base.is_polynomial(*base.free_symbols) and sympy.expand(base) != 0)


@functools.lru_cache(maxsize=65536)
def _product(left: Monomial, right: Monomial) -> tuple[tuple[Monomial, Number], ...]:
    """The product of two monomials; integer bases to whole powers and sums to positive ones are multiplied out."""
    exponents: dict[str, Number] = dict(left)
    for name, exponent in right:
        exponents[name] = exponents.get(name, 0) + exponent
    plain, left_over = [], ONE
    for name, exponent in exponents.items():
        base, power = _bases[name], Fraction(exponent)
        if not power:
            continue
        if base.is_Integer and not 0 < power < 1:
            whole = power.numerator // power.denominator
            left_over = left_over * Scalar({(): _plain(Fraction(int(base)) ** whole)})
            if power != whole:
                plain.append((name, _plain(power - whole)))
        elif not base.is_Atom and power.denominator == 1 and power > 0 and base.is_Add:
            left_over = left_over * scalar(sympy.expand(base**power.numerator))
        else:
            plain.append((name, _plain(power)))
    monomial = tuple(sorted(plain))
    if left_over.is_one:
        return ((monomial, 1),)
    if not monomial or all(not key for key in left_over.terms):
        return tuple((tuple(sorted((*monomial, *key))), value) for key, value in left_over.terms.items())
    return tuple((Scalar({monomial: 1}) * left_over).terms.items())


ZERO = Scalar({})
ONE = Scalar({(): 1})


def rational_scalar(value: Fraction | int) -> Scalar:
    """A rational number."""
    return Scalar({(): _plain(Fraction(value))}) if value else ZERO


def scalar(value: Any) -> Scalar:
    """A number, an exact root or a sympy expression as a coefficient; anything else has no symbolic form."""
    if isinstance(value, Scalar):
        return value
    if isinstance(value, Surd):
        return _from_expression(sympy.Rational(value.coefficient) * sympy.sqrt(value.radicand))
    if isinstance(value, sympy.Basic):
        return _from_expression(value)
    try:
        fraction = Fraction(int(value.p), int(value.q)) if hasattr(value, "p") else Fraction(value)
    except (TypeError, ValueError) as error:
        raise ArithmeticUnsupported(f"{type(value).__name__} {value!r} is no symbolic scalar") from error
    if isinstance(value, float) and fraction.denominator > 2**20:
        raise ArithmeticUnsupported(f"the float {value!r} is no exact scalar: write rational(p, q)")
    return rational_scalar(fraction)


@functools.lru_cache(maxsize=65536)
def _from_expression(expression: sympy.Basic) -> Scalar:
    if expression.has(sympy.nan, sympy.zoo, sympy.oo, -sympy.oo):
        raise ArithmeticUnsupported(f"{expression} is no number")
    found = ZERO
    for term in sympy.Add.make_args(sympy.expand(expression)):
        product = ONE
        for factor in sympy.Mul.make_args(term):
            product = product * _from_factor(factor)
        found = found + product
    return found


def _from_factor(factor: sympy.Expr) -> Scalar:
    if factor.is_Rational:
        return rational_scalar(Fraction(int(factor.p), int(factor.q)))
    base, exponent = factor.as_base_exp()
    if not exponent.is_Rational:
        base, exponent = factor, sympy.Integer(1)
    if base.is_Rational and not base.is_Integer:
        return scalar(base.p**exponent) * scalar(sympy.Integer(base.q) ** -exponent)
    if base.is_Add:
        content, base = base.as_content_primitive()
        if content != 1:
            return scalar(content**exponent) * scalar(base**exponent)
    if base.is_Integer and base > 1 and not sympy.isprime(base):
        return product_of(scalar(sympy.Integer(p) ** (exponent * e)) for p, e in sympy.factorint(base).items())
    power = _plain(Fraction(int(exponent.p), int(exponent.q)))
    return Scalar({((_name(base), power),): 1})


def product_of(scalars: Iterable[Scalar]) -> Scalar:
    """The product of some scalars."""
    found = ONE
    for item in scalars:
        found = found * item
    return found
