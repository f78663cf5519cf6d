"""Signs of scalars: of numbers by balls, of expressions in quantities by the signs of their parts.

Nothing here guesses: a sign that is not certain at all values of the quantities is none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import flint
import sympy

from verify.arithmetics.balls import precision

#: Bits at which the sign of a number is asked for, one precision after another; what is still open then is not decided.
PRECISIONS = (64, 256, 1024)
EXPONENTIAL = sympy.exp


@functools.lru_cache(maxsize=50_000)
def symbols_of(value: Any) -> frozenset[Any]:
    """The symbols of an expression, which sympy collects anew each time."""
    return frozenset(value.free_symbols)


@functools.lru_cache(maxsize=50_000)
def sign_of(value: Any) -> int | None:
    """1 where a scalar is at least 0 wherever it is defined, -1 where it is at most 0, None where neither is certain.

    Symbols stand for real numbers.  A number is 1 or -1 only where balls tell it from zero, or where it is 0 itself.

    >>> sign_of(1 / (sympy.sqrt(2) - 2)), sign_of(sympy.Symbol("x", real=True) ** 2)
    (-1, 1)
    """
    if not symbols_of(value):
        return _sign_of_number(value)
    if value.is_Symbol:
        return 1 if value.is_nonnegative else -1 if value.is_nonpositive else None
    if isinstance(value, (sympy.Abs, sympy.exp)):
        return 1
    if value.is_Mul:
        signs = [sign_of(factor) for factor in value.args]
        return None if None in signs else int(sympy.prod(signs))
    if value.is_Pow:
        if sign_of(value.base) == 1 or value.exp.is_even or (value.exp.is_Rational and value.exp.q % 2 == 0):
            return 1  # a root is at least 0 where it is defined
        return -1 if value.exp.is_odd and sign_of(value.base) == -1 else None
    if value.is_Add:
        return _sign_of_sum(value)
    return None


def is_nonnegative(value: Any) -> bool:
    """Whether a scalar is certainly at least 0 where it is defined: 1/q of a quantity q is."""
    return sign_of(value) == 1


def is_positive(value: Any) -> bool:
    """Whether a scalar is certainly above 0: a positive symbol or number, an exponential, a sum or product of such.

    One positive term is enough in a sum whose others are not negative.
    """
    if not symbols_of(value):
        return _sign_of_number(value) == 1 and value != 0
    if value.is_Symbol:
        return bool(value.is_positive)
    if value.is_Add:
        if all(sign_of(term) == 1 for term in value.args):
            return any(map(is_positive, value.args))
        above_one = _above_one(value) if sign_of(value) == 1 else None
        return above_one is not None and is_positive(above_one.coeff_monomial(1))  # n - 1 may be 0
    if value.is_Mul:
        return all(map(is_positive, value.args))
    if value.is_Pow:
        return is_positive(value.base)
    return isinstance(value, sympy.exp)


def is_nonzero(value: Any) -> bool:
    """Whether a scalar is certainly not 0."""
    return is_positive(value) or is_positive(-value) or value.is_nonzero is True


def _sign_of_sum(value: Any) -> int | None:
    for sign in (1, -1):
        if all(sign_of(term) == sign or term == 0 for term in value.args):
            return sign
    if (above_one := _above_one(value)) is not None:
        for sign in (1, -1):
            if all(_sign_of_number(sign * c) == 1 for c in above_one.coeffs()):
                return sign
    return None


def _above_one(value: Any) -> Any:
    """A polynomial in sizes as one in what each of them is above 1: a square of sizes may fall before it grows."""
    sizes = sorted(symbols_of(value), key=str)
    if all(size.is_integer and size.is_positive for size in sizes) and value.is_polynomial(*sizes):
        return sympy.Poly(value.xreplace({size: size + 1 for size in sizes}), *sizes)
    return None


@functools.lru_cache(maxsize=50_000)
def _sign_of_number(value: Any) -> int | None:
    if value.is_Rational:
        return 1 if value >= 0 else -1
    for bits in PRECISIONS:
        with precision(bits):
            ball = ball_of(value)
        if ball is None or not ball.is_finite():
            continue
        if ball > 0 or ball < 0:
            return 1 if ball > 0 else -1
    return None


def ball_of(value: Any, of_symbol: Callable[[Any], flint.arb | None] = lambda _: None) -> flint.arb | None:
    """An enclosure of a real number at values of its symbols.

    None of one that is not made of rationals and of symbols with a value by sums, products, powers and exponentials.
    """
    if value.is_Symbol:
        return of_symbol(value)
    if value.is_Rational:
        return flint.arb(flint.fmpq(int(value.p), int(value.q)))
    if isinstance(value, EXPONENTIAL) or value is sympy.E:
        inner = ball_of(value.args[0] if value.args else sympy.Integer(1), of_symbol)
        return None if inner is None else inner.exp()
    if isinstance(value, sympy.Abs):
        return None if (inner := ball_of(value.args[0], of_symbol)) is None else abs(inner)
    if not (value.is_Add or value.is_Mul or value.is_Pow):
        return None
    parts = [ball_of(part, of_symbol) for part in value.args]
    found = parts[0]
    for part in parts[1:]:
        if found is None or part is None:
            return None
        found = found + part if value.is_Add else found * part if value.is_Mul else _power(found, part, value.exp)
    return found


def _power(base: flint.arb, exponent: flint.arb, exact: Any) -> flint.arb:
    """A power of a positive number, or a whole one of any; what is neither is no real number."""
    if exact.is_Integer:
        return base ** int(exact)
    return base**exponent if base > 0 else flint.arb("nan")
