"""What a rewriting takes for granted of sizes and scalars, noted where it does so."""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sympy

from verify.vocabulary.contexts import assigned
from verify.vocabulary.errors import ArithmeticUnsupported


@dataclass(frozen=True)
class Condition:
    """`expression` is at least `least`; or without one: is a whole number where `whole`, is not zero elsewhere.

    A statement may divide by a scalar, and then says nothing of where it vanishes.  Where the proof alone divides by it, as
    it does to solve an assumption for a matrix, the scalar is `always` different from zero, or nothing is proved.
    """

    expression: sympy.Expr
    least: int | None = None
    whole: bool = False
    always: bool = False

    def __str__(self) -> str:
        if self.whole:
            return f"{self.expression} is a whole number"
        return f"{self.expression} is not 0" if self.least is None else f"{self.expression} >= {self.least}"

    def holds(self, values: Mapping[Any, int]) -> bool | None:
        """Whether it holds at these sizes; None where it speaks of more than sizes."""
        if not self.expression.free_symbols <= values.keys():
            return None
        numerator, denominator = _parts(self.expression)
        over, under = numerator(values), denominator(values)
        if under == 0:
            return False
        if self.whole:
            return bool(over % under == 0)
        return bool(over != 0) if self.least is None else bool((over - self.least * under) * under >= 0)


@functools.lru_cache(maxsize=4096)
def _parts(expression: sympy.Expr) -> tuple[Callable[[Mapping[Any, int]], Any], ...]:
    """Numerator and denominator as functions of the sizes, exact: Python's integers where they are polynomials in them."""
    return tuple(map(_function, sympy.fraction(sympy.together(expression))))


def _function(part: sympy.Expr) -> Callable[[Mapping[Any, int]], Any]:
    symbols = sorted(part.free_symbols, key=str)
    if not (
        symbols and part.is_polynomial(*symbols) and all(c.is_Integer for c in sympy.Poly(part, *symbols).coeffs())
    ):
        return part.subs  # type: ignore[no-any-return]
    compiled = sympy.lambdify(symbols, part, modules=[])
    return lambda values: compiled(*(values[symbol] for symbol in symbols))


_noted: contextvars.ContextVar[set[Condition] | None] = contextvars.ContextVar("conditions", default=None)


def recording_conditions() -> contextlib.AbstractContextManager[set[Condition]]:
    """Collect the conditions that are relied on inside the block."""
    return assigned(_noted, set())


def conditions_noted() -> set[Condition] | None:
    """Where conditions are collected at present."""
    return _noted.get()


def _note(condition: Condition) -> None:
    noted = _noted.get()
    if noted is not None:
        noted.add(replace(condition, expression=_exact(condition.expression)))


def is_certain_at_least(expression: Any, least: int) -> bool:
    """Whether an expression in sizes is at least `least` at all values of its symbols."""
    difference = sympy.expand(sympy.sympify(expression) - least)
    if difference.is_nonnegative:
        return True
    # a sum of positive integers less a number: sympy does not see that n - 1 >= 0
    symbols = difference.free_symbols
    if not all(symbol.is_integer and symbol.is_positive for symbol in symbols) or not difference.is_polynomial(
        *symbols
    ):
        return False
    grows = all(coefficient > 0 for term, coefficient in difference.as_coefficients_dict().items() if term != 1)
    return bool(grows and difference.subs(dict.fromkeys(symbols, 1)) >= 0)


def rely_on_at_least(expression: Any, least: int, always: bool = False) -> None:
    """Note that a size expression is at least `least`, unless that is certain; `always` for what may be no size elsewhere."""
    if always or not is_certain_at_least(expression, least):
        _note(Condition(sympy.sympify(expression), least))


def rely_on_whole(size: Any) -> None:
    """Note that a quotient of sizes is a whole number, unless that is certain."""
    found = sympy.sympify(size)
    if not found.is_integer:
        _note(Condition(found, whole=True))


def rely_on_nonzero(expression: Any, always: bool = False) -> None:
    """Note that a scalar does not vanish, unless that is certain."""
    found = sympy.sympify(expression)
    if not found.is_nonzero:
        _note(Condition(found, always=always))


def _exact(expression: Any) -> sympy.Expr:
    """The expression with fractions for its floats, which sympy would round where it takes out factors."""
    found = sympy.sympify(expression)
    return found.xreplace({one: sympy.Rational(one) for one in found.atoms(sympy.Float)})


def rely_on_divisor(expression: Any) -> None:
    """Note that no size makes what a formula divides by vanish, whatever the scalars in it are.

    A statement is about the inputs at which it is defined, but about every size that its claim admits: 1 / (n - 1) needs n > 1,
    and so does 1 / (c (n - 1)).
    """
    found = _exact(expression)
    if found.is_zero:
        raise ArithmeticUnsupported("a division by 0")
    if found.is_nonzero or not any(symbol.is_integer for symbol in found.free_symbols):
        return
    for factor in sympy.Mul.make_args(sympy.factor(sympy.fraction(sympy.together(found))[0])):
        base = factor.as_base_exp()[0]
        scalars = [symbol for symbol in base.free_symbols if not symbol.is_integer]
        if not scalars:
            rely_on_nonzero(base)
        elif base.is_polynomial(*scalars):
            parts = sympy.Poly(base, *scalars).coeffs()
            if not any(part.is_nonzero for part in parts):  # sizes at which all of them vanish leave nothing
                rely_on_nonzero(sympy.expand(sympy.Add(*(part**2 for part in parts))))


def rely_on_root(expression: Any) -> None:
    """Note that no size makes what a formula takes a root of negative, as far as sizes decide its sign."""
    found = _exact(expression)
    if found.is_negative:
        raise ArithmeticUnsupported(f"a root of {found}")
    if found.is_nonnegative or not any(symbol.is_integer for symbol in found.free_symbols):
        return
    signed = sympy.Mul(*(one for one in sympy.Mul.make_args(sympy.factor(found)) if not one.is_nonnegative))
    if all(symbol.is_integer for symbol in signed.free_symbols):
        rely_on_at_least(signed, 0)


def rely_on_power(base: Any, exponent: Any) -> None:
    """Note what sizes have to be for a power to be defined: no negative power of 0, no root of a negative number."""
    base, exponent = sympy.sympify(base), sympy.sympify(exponent)
    if not exponent.is_nonnegative:
        rely_on_divisor(base)
    if not exponent.is_integer:
        rely_on_root(base)


def rely_on_different(one: Any, other: Any) -> None:
    """Note that two sizes are different ones."""
    rely_on_nonzero(sympy.expand(sympy.sympify(one) - sympy.sympify(other)), always=True)
