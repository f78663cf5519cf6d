"""Rational functions of indeterminates: what is zero here is zero at every input.

An entry is a quotient of polynomials with rational coefficients.  The denominator is kept as a product of powers of known
factors, so sums need no greatest common divisor, and a quotient is zero when its numerator is.  Three kinds of
functions are adjoined as further indeterminates:

* exp(t) of a rational function t: the arguments that have occurred are kept linearly independent over the rationals, and each
  of them has a unit; the exponential of a combination is the product of the units' powers, so exp(a + b) = exp(a) exp(b).
  Exponentials of linearly independent functions are algebraically independent over the rational functions, so no
  relation is missed;
* sqrt(r) of a rational function r: a unit s with s^2 = r, reduced to degree one at most;
* square roots of integers: a root of each prime;
* exp(A) of matrices: a polynomial of A with further indeterminates as coefficients, of a degree that admits one which has the
  values of exp at all the matrices that occur. What holds for all coefficients then holds for those of exp.

A zero is therefore a proof: every relation used is an identity of real functions.  Signs, maxima and absolute values of what is
not a constant are refused.
"""

from __future__ import annotations

import contextlib
import contextvars
import math
import sys
import types
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from verify.arithmetics.spectra import Spectra
from verify.vocabulary.contexts import assigned
from verify.vocabulary.errors import ArithmeticUnsupported

#: Exponents of the factors of a denominator, by their number in the field.
Factors = tuple[tuple[int, int], ...]

#: Denominators of at most so many terms are factored; longer ones are kept whole.
FACTORED = 60

#: Products of two terms that a field may take for multiplications, about a second's worth; the same on every machine.
AFFORDABLE = 20_000_000

#: Generators for units are added so many at a time.
SPARE = 8


class RootsNeeded(Exception):
    """exp(t / n) is needed and only exp(t) is there: `parts` says into how many parts all exponents have to be divided."""

    def __init__(self, parts: int) -> None:
        super().__init__(f"exponentials of arguments divided by {parts}")
        self.parts = parts


@dataclass
class Root:
    """A unit s with s^2 = radicand; `position` is that of s among the generators."""

    position: int
    radicand: Quotient


@dataclass
class AdjoinedExponential:
    """A unit u = exp(argument / parts of the field)."""

    position: int
    argument: Quotient


class Field:
    """Rational functions of named indeterminates, and what has been adjoined to them."""

    def __init__(self, names: Sequence[str], parts: int = 1, degree: int = 0) -> None:
        self.names = list(names)
        self.degree = degree
        self.spent = 0
        self.parts = parts
        self.context = flint.fmpq_mpoly_ctx.get(self.names, "degrevlex")
        self.factors: list[flint.fmpq_mpoly] = []
        self.roots: list[Root] = []
        self.exponentials: list[AdjoinedExponential] = []
        self.coefficients: list[int] = []  #: positions of c_1, c_2, ... of the polynomial that stands for expm
        self.spectra = Spectra(self.constant(0), self.constant(1))  #: of the matrices that expm has been applied to

    # -- members -------------------------------------------------------------------------------------------------------

    def constant(self, value: Any) -> Quotient:
        """An integer or rational as a member."""
        return Quotient(self, self.context.constant(_rational(value)), ())

    def generator(self, position: int) -> Quotient:
        """An indeterminate, or an adjoined unit, by its position."""
        return Quotient(self, self.context.gen(position), ())

    def spend(self, products: int) -> None:
        """Count products of terms that are about to be taken; raises when they are no longer affordable."""
        self.spent += products
        if self.spent > AFFORDABLE:
            raise ArithmeticUnsupported(f"more than {AFFORDABLE} products of terms are needed at these sizes")

    def array(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """The array of the indeterminates called ``name_i_j``."""
        result = np.empty(shape, dtype=object)
        for index in np.ndindex(*shape):
            result[index] = self.generator(self.names.index(entry_name(name, index)))
        return result

    def _adjoined(self, name: str) -> int:
        self.names.append(name)
        if len(self.names) > self.context.nvars():
            spare = [f"unit{self.context.nvars() + i}" for i in range(SPARE)]
            self.context = self.context.append_gens(*spare)
            self.factors = [self._lifted(factor) for factor in self.factors]
        return len(self.names) - 1

    def numerator(self, member: Quotient) -> flint.fmpq_mpoly:
        """The numerator of a member, which may have been made before further units were adjoined."""
        if member.num.context() is not self.context:
            member.num = self._lifted(member.num)
        return member.num

    def _lifted(self, polynomial: flint.fmpq_mpoly) -> flint.fmpq_mpoly:
        if polynomial.context() is self.context:
            return polynomial
        return polynomial.project_to_context(self.context)

    # -- denominators --------------------------------------------------------------------------------------------------

    def product(self, factors: Factors) -> flint.fmpq_mpoly:
        """The polynomial with these factors."""
        result = self.context.constant(1)
        for number, exponent in factors:
            result = result * self.factors[number] ** exponent
        return result

    def factored(self, polynomial: flint.fmpq_mpoly) -> tuple[flint.fmpq, Factors]:
        """Constant and known factors of a polynomial that is not zero; what is new among them becomes known."""
        found: dict[int, int] = {}
        for number, factor in enumerate(self.factors):
            polynomial, exponent = _divided(polynomial, factor)
            if exponent:
                found[number] = exponent
        if polynomial.is_constant():
            return polynomial.leading_coefficient(), tuple(sorted(found.items()))
        if len(polynomial) <= FACTORED:
            constant, parts = polynomial.factor()
        else:
            constant, parts = flint.fmpq(1), [(polynomial, 1)]
        for part, exponent in parts:
            leading = part.leading_coefficient()
            constant = constant * leading ** int(exponent)
            self.factors.append(part / leading)
            found[len(self.factors) - 1] = int(exponent)
        return flint.fmpq(constant), tuple(sorted(found.items()))

    # -- adjoined functions --------------------------------------------------------------------------------------------

    def reduced(self, polynomial: flint.fmpq_mpoly) -> Quotient:
        """A polynomial with every adjoined root brought to degree one at most."""
        result = Quotient(self, polynomial, ())
        for root in reversed(self.roots):  # a radicand may hold roots that were adjoined before
            degree = result.num.degrees()[root.position]
            if degree < 2:
                continue
            by_power: dict[int, dict[tuple[int, ...], flint.fmpq]] = {}
            for exponents, coefficient in result.num.to_dict().items():
                power, odd = divmod(exponents[root.position], 2)
                kept = (*exponents[: root.position], odd, *exponents[root.position + 1 :])
                by_power.setdefault(power, {})[kept] = coefficient
            result = Quotient(self, self.context.constant(1), result.den) * sum(
                (
                    Quotient(self, self.context.from_dict(terms), ()) * root.radicand**power
                    for power, terms in by_power.items()
                ),
                self.constant(0),
            )
        return result

    def square_root(self, radicand: Quotient) -> Quotient:
        """The function s >= 0 with s^2 = radicand."""
        if radicand.is_constant():
            return self.root_of_rational(radicand.as_rational())
        for root in self.roots:
            ratio = radicand / root.radicand
            if ratio.is_constant() and ratio.as_rational() > 0:
                return self.generator(root.position) * self.root_of_rational(ratio.as_rational())
        position = self._adjoined(f"sqrt{len(self.names)}")
        self.roots.append(Root(position, radicand))
        return self.generator(position)

    def root_of_rational(self, value: flint.fmpq) -> Quotient:
        """sqrt of a rational >= 0, from the roots of primes."""
        if value < 0:
            raise ArithmeticUnsupported(f"sqrt({value}) is not real")
        if value == 0:
            return self.constant(0)
        result = self.constant(flint.fmpq(1, value.q))
        for prime, exponent in (value.p * value.q).factor():
            result = result * self.constant(int(prime) ** (int(exponent) // 2))
            if exponent % 2:
                result = result * self._root_of_prime(int(prime))
        return result

    def _root_of_prime(self, prime: int) -> Quotient:
        for root in self.roots:
            if root.radicand.is_constant() and root.radicand.as_rational() == prime:
                return self.generator(root.position)
        position = self._adjoined(f"sqrt{len(self.names)}")
        self.roots.append(Root(position, self.constant(prime)))
        return self.generator(position)

    def exponential(self, argument: Quotient) -> Quotient:
        """exp(argument), by powers of the exponentials that are there where it depends on them."""
        if argument.num.is_zero():
            return self.constant(1)
        coordinates = self._coordinates(argument)
        if coordinates is None:
            position = self._adjoined(f"exp{len(self.names)}")
            self.exponentials.append(AdjoinedExponential(position, argument))
            return self.generator(position) ** self.parts
        result = self.constant(1)
        for known, coordinate in zip(self.exponentials, coordinates, strict=True):
            exponent = coordinate * self.parts
            if exponent.q != 1:
                raise RootsNeeded(self.parts * int(exponent.q))
            result = result * self.generator(known.position) ** int(exponent.p)
        return result

    def _coordinates(self, argument: Quotient) -> list[flint.fmpq] | None:
        """`argument` as a combination of the arguments of the known exponentials, None where it is none."""
        for number, known in enumerate(self.exponentials):  # most arguments occur again
            if known.argument.den == argument.den and self.numerator(known.argument) == self.numerator(argument):
                return [flint.fmpq(int(i == number)) for i in range(len(self.exponentials))]
        members = [known.argument for known in self.exponentials] + [argument]
        common: dict[int, int] = {}
        for member in members:
            for number, exponent in member.den:
                common[number] = max(exponent, common.get(number, 0))
        denominator = tuple(sorted(common.items()))
        columns = [member.over(denominator) for member in members]
        monomials = {column.monomial(place) for column in columns for place in {0, len(column) // 2, len(column) - 1}}
        count = len(columns) - 1
        while True:  # some monomials show independence, or the only candidate; that is decided by all of them
            system = flint.fmpq_mat([[column[exponents] for column in columns] for exponents in sorted(monomials)])
            reduced, rank = system.rref()
            if rank > count:
                return None
            coordinates = [flint.fmpq(0)] * count
            for row in range(rank):
                pivot = next(i for i in range(count + 1) if reduced[row, i] != 0)
                if pivot == count:
                    return None
                coordinates[pivot] = reduced[row, count]
            rest = columns[count]
            for coordinate, column in zip(coordinates, columns, strict=False):
                rest = rest - column * coordinate
            if rest.is_zero():
                return coordinates
            monomials.add(rest.monomial(0))

    # -- exponentials of matrices --------------------------------------------------------------------------------------

    def matrix_exponential(self, A: np.ndarray) -> np.ndarray:
        """I + c_1 A + ... + c_m A^m, shape (n, n), in place of exp(A), with m = `degree` indeterminates c_k.

        At any given inputs one polynomial with constant term 1 has the values of exp at all the finitely many matrices that
        occur: it interpolates exp at 0 and at their spectra, with derivatives up to their multiplicities.  What holds
        for all c therefore holds for exp, once the degree is at least `spectra.needed_degree()`.
        """
        n = A.shape[0]
        A = np.array([self.constant(0) + entry for entry in A.flat], dtype=object).reshape(n, n)
        self.spectra.register(A)
        identity = np.eye(n, dtype=int).astype(object)
        result = identity
        for k in range(self.degree):
            if k == len(self.coefficients):
                self.coefficients.append(self._adjoined(f"c_{k + 1}"))
        for position in reversed(self.coefficients):  # I + A (c_1 + A (c_2 + ...)), innermost first
            inner = (
                identity * self.generator(position)
                if result is identity
                else result + identity * self.generator(position)
            )
            result = A @ inner
        return result + identity if self.coefficients else identity

    # -- numbers -------------------------------------------------------------------------------------------------------

    def completed(self, values: Sequence[Any], coefficients: Sequence[Any] = ()) -> list[Any]:
        """Rationals or balls for all generators, from those for the indeterminates that were there first and c_1, c_2, ..."""
        found = list(values)
        given = dict(zip(self.coefficients, coefficients, strict=True))
        own: list[Root | AdjoinedExponential] = [*self.roots, *self.exponentials]
        units = {unit.position: unit for unit in own}
        for position in range(len(values), len(self.names)):
            unit = units.get(position)
            if unit is None:
                found.append(given[position])
            elif isinstance(unit, Root):
                found.append(unit.radicand.at(found).sqrt())
            else:
                found.append((unit.argument.at(found) / self.parts).exp())
        return found


class Quotient:
    """A member of a field: a polynomial over a product of powers of the field's factors."""

    __slots__ = ("den", "field", "num")

    def __init__(self, field: Field, num: flint.fmpq_mpoly, den: Factors) -> None:
        self.field, self.num, self.den = field, num, den

    # -- arithmetic ----------------------------------------------------------------------------------------------------

    def _other(self, value: Any) -> Quotient | None:
        if type(value) is Quotient:
            return value
        scalar = _rational(value)
        return None if scalar is None else self.field.constant(scalar)

    def _made(self, num: flint.fmpq_mpoly, den: Factors) -> Quotient:
        """num / den without adjoined squares, and without the factors of the denominator that divide the numerator."""
        field = self.field
        if field.roots and any(num.degrees()[root.position] > 1 for root in field.roots):
            reduced = field.reduced(num)
            num, den = reduced.num, _merged(reduced.den, den)
        if not den:
            return Quotient(field, num, den)
        if num.is_zero():
            return Quotient(field, num, ())
        left = []
        for number, exponent in den:
            num, taken = _divided(num, field.factors[number], exponent)
            if taken < exponent:
                left.append((number, exponent - taken))
        return Quotient(field, num, tuple(left))

    def over(self, denominator: Factors) -> flint.fmpq_mpoly:
        """The numerator over a denominator that this one's divides."""
        own, num = dict(self.den), self.field.numerator(self)
        missing = tuple((number, e - own.get(number, 0)) for number, e in denominator if e > own.get(number, 0))
        if not missing:
            return num
        factor = self.field.product(missing)
        self.field.spend(len(num) * len(factor))
        return num * factor

    def __add__(self, other: Any) -> Any:
        if type(other) is int and other == 0:
            return self
        b = self._other(other)
        if b is None:
            return NotImplemented
        if b.num.is_zero():
            return self
        if self.num.is_zero():
            return b
        if self.den == b.den:
            return self._made(self.field.numerator(self) + self.field.numerator(b), self.den)
        common = dict(self.den)
        for number, exponent in b.den:
            common[number] = max(exponent, common.get(number, 0))
        denominator = tuple(sorted(common.items()))
        return self._made(self.over(denominator) + b.over(denominator), denominator)

    __radd__ = __add__

    def __neg__(self) -> Quotient:
        return Quotient(self.field, -self.num, self.den)

    def __pos__(self) -> Quotient:
        return self

    def __sub__(self, other: Any) -> Any:
        b = self._other(other)
        return NotImplemented if b is None else self + (-b)

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def __mul__(self, other: Any) -> Any:
        if type(other) is not Quotient:
            scalar = _rational(other)
            if scalar is None:
                return NotImplemented
            return Quotient(self.field, self.num * scalar, self.den if scalar else ())
        if self.num.is_zero():
            return self
        if other.num.is_zero():
            return other
        self.field.spend(len(self.num) * len(other.num))
        return self._made(self.field.numerator(self) * self.field.numerator(other), _merged(self.den, other.den))

    __rmul__ = __mul__

    def reciprocal(self) -> Quotient:
        """1 / self."""
        field, num = self.field, self.field.numerator(self)
        if num.is_zero():
            raise ZeroDivisionError("division by a rational function that is zero")
        constant, factors = field.factored(num)
        result = Quotient(field, field.product(self.den) / constant, ())
        for number, exponent in factors:
            root = next(
                (root for root in field.roots if field.factors[number] == field.context.gen(root.position)), None
            )
            if root is None:
                result = result._made(result.num, _merged(result.den, ((number, exponent),)))
            else:  # 1 / s = s / r
                result = result * (field.generator(root.position) * root.radicand.reciprocal()) ** exponent
        return result

    def __truediv__(self, other: Any) -> Any:
        b = self._other(other)
        if b is None:
            return NotImplemented
        if b.is_constant():
            return Quotient(self.field, self.num / b.as_rational(), self.den)
        return self * b.reciprocal()

    def __rtruediv__(self, other: Any) -> Any:
        return self.reciprocal() * other

    def __pow__(self, exponent: int) -> Quotient:
        if exponent < 0:
            return self.reciprocal() ** -exponent
        den = tuple((number, e * exponent) for number, e in self.den) if exponent else ()
        return self._made(self.field.numerator(self) ** exponent, den)

    def exp(self) -> Quotient:
        """exp(self)."""
        return self.field.exponential(self)

    def sqrt(self) -> Quotient:
        """The root of self that is not negative."""
        return self.field.square_root(self)

    # -- looking at it -------------------------------------------------------------------------------------------------

    def is_constant(self) -> bool:
        return not self.den and bool(self.num.is_constant())

    def as_rational(self) -> flint.fmpq:
        """The value of a constant."""
        return flint.fmpq(self.num.leading_coefficient()) if not self.num.is_zero() else flint.fmpq(0)

    def __eq__(self, other: object) -> Any:
        b = self._other(other)
        return NotImplemented if b is None else (self - b)._is_zero(sys._getframe(1))

    def __bool__(self) -> bool:
        return not self._is_zero(sys._getframe(1))

    def _is_zero(self, caller: types.FrameType) -> bool:
        """Whether it is 0 everywhere; a claim's function may not go on where it is 0 somewhere, since it decides there."""
        if not self.num.is_zero() and not self.is_constant():
            refuse_decision(caller)
        return bool(self.num.is_zero())

    __hash__ = None  # type: ignore[assignment]

    def _compared(self, other: Any) -> flint.fmpq:
        """The difference from `other`, if it is a constant: the order of anything else is not known."""
        difference = self - other
        if not isinstance(difference, Quotient) or not difference.is_constant():
            raise ArithmeticUnsupported("the sign of an expression in indeterminates is not known")
        return difference.as_rational()

    def __lt__(self, other: Any) -> bool:
        return bool(self._compared(other) < 0)

    def __le__(self, other: Any) -> bool:
        return bool(self._compared(other) <= 0)

    def __gt__(self, other: Any) -> bool:
        return bool(self._compared(other) > 0)

    def __ge__(self, other: Any) -> bool:
        return bool(self._compared(other) >= 0)

    def __abs__(self) -> Quotient:
        return -self if self < 0 else self

    def __float__(self) -> float:
        raise ArithmeticUnsupported("an expression in indeterminates is no number")

    @property
    def terms(self) -> int:
        """The number of terms of the numerator."""
        return len(self.num)

    def at(self, values: Sequence[Any]) -> flint.arb:
        """The value where the generators have these values, rationals or balls; there may be more values than are used."""
        result = _value(self.num, values)
        for number, exponent in self.den:
            result = result / _value(self.field.factors[number], values) ** exponent
        return result

    def __repr__(self) -> str:
        if not self.is_constant():  # a decision on these letters would be one on the number that it stands for
            refuse_decision(sys._getframe(1))
        below = [f"({self.field.factors[number]})^{exponent}" for number, exponent in self.den]
        return " / ".join([f"({self.num})", *below])


def _rational(value: Any) -> Any:
    """An exact scalar as an integer or rational of flint, None for what is none."""
    if type(value) in (int, flint.fmpq):
        return value
    if isinstance(value, (int, np.integer, flint.fmpz, flint.fmpq, Fraction)):
        return flint.fmpq(int(value.numerator), int(value.denominator))
    return None


def _divided(
    polynomial: flint.fmpq_mpoly, factor: flint.fmpq_mpoly, most: float = math.inf
) -> tuple[flint.fmpq_mpoly, int]:
    """`polynomial` divided by `factor` as often as that is exact, and how often."""
    times = 0
    while times < most and not polynomial.is_constant():
        try:
            polynomial = polynomial / factor
        except flint.utils.flint_exceptions.DomainError:
            break
        times += 1
    return polynomial, times


def _merged(one: Factors, other: Factors) -> Factors:
    """The factors of a product of two denominators."""
    if not other:
        return one
    if not one:
        return other
    found = dict(one)
    for number, exponent in other:
        found[number] = found.get(number, 0) + exponent
    return tuple(sorted(found.items()))


def _value(polynomial: flint.fmpq_mpoly, values: Sequence[Any]) -> flint.arb:
    """A polynomial at rationals and balls, as a ball."""
    context = polynomial.context()
    rationals = {i: values[i] for i in range(min(context.nvars(), len(values))) if isinstance(values[i], flint.fmpq)}
    polynomial = polynomial.subs(rationals)
    powers: dict[tuple[int, int], flint.arb] = {}
    total = flint.arb(0)
    for exponents, coefficient in polynomial.to_dict().items():
        term = flint.arb(coefficient)
        for position, exponent in enumerate(exponents):
            if exponent:
                if (position, exponent) not in powers:
                    powers[position, exponent] = values[position] ** int(exponent)
                term = term * powers[position, exponent]
        total = total + term
    return total


def entry_name(name: str, index: tuple[int, ...]) -> str:
    """The name of the indeterminate in the place of an entry, its indices counted from 1."""
    return "_".join([name, *(str(i + 1) for i in index)])


_active: contextvars.ContextVar[Field | None] = contextvars.ContextVar("field", default=None)


def within(field: Field) -> contextlib.AbstractContextManager[Field]:
    """Inside the block, exact scalars that meet members of `field` become members of it."""
    return assigned(_active, field)


#: Whether the functions of a claim run, as they do in a proof.
_deciding: contextvars.ContextVar[bool] = contextvars.ContextVar("deciding", default=False)


def without_decisions() -> contextlib.AbstractContextManager[bool]:
    """Inside the block, code outside of the engine may not ask whether an expression that is no constant is 0."""
    return assigned(_deciding, True)


def refuse_decision(caller: types.FrameType) -> None:
    """Raise `ArithmeticUnsupported` where a claim's own code asks inside such a block; the engine's takes them for not 0."""
    if _deciding.get() and caller.f_globals.get("__name__", "").split(".")[0] != "verify":
        raise ArithmeticUnsupported("a decision on whether an expression in indeterminates is 0, as it is somewhere")


def active_field() -> Field:
    """The field of the block that is running."""
    field = _active.get()
    if field is None:
        raise ArithmeticUnsupported("indeterminates belong to a field: evaluate within one")
    return field
