"""What a rewriting takes for granted of sizes and scalars, noted where it does so."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sympy


@dataclass(frozen=True)
class Condition:
    """`expression` is at least `least`; or without one: is a whole number where `whole`, is not zero elsewhere."""

    expression: sympy.Expr
    least: int | None = None
    whole: bool = False

    def __str__(self) -> str:
        if self.whole:
            return f"{self.expression} is a whole number"
        return f"{self.expression} is not 0" if self.least is None else f"{self.expression} >= {self.least}"

    def holds(self, values: dict[Any, int]) -> bool | None:
        """Whether it holds at these sizes; None where it speaks of more than sizes."""
        found = self.expression.subs(values)
        if not found.is_number:
            return None
        if self.whole:
            return bool(found.is_integer)
        return bool(found != 0) if self.least is None else bool(found >= self.least)


_noted: contextvars.ContextVar[set[Condition] | None] = contextvars.ContextVar("conditions", default=None)


@contextlib.contextmanager
def recording_conditions() -> Iterator[set[Condition]]:
    """Collect the conditions that are relied on inside the block."""
    found: set[Condition] = set()
    token = _noted.set(found)
    try:
        yield found
    finally:
        _noted.reset(token)


def _note(condition: Condition) -> None:
    noted = _noted.get()
    if noted is not None:
        noted.add(condition)


def rely_on_at_least(expression: Any, least: int) -> None:
    """Note that a size expression is at least `least`, unless that is certain."""
    difference = sympy.expand(sympy.sympify(expression) - least)
    # a sum of positive integers less a number: sympy does not see that n - 1 >= 0
    floor = difference.subs({symbol: 1 for symbol in difference.free_symbols if symbol.is_positive})
    grows = all(coefficient > 0 for term, coefficient in difference.as_coefficients_dict().items() if term != 1)
    if difference.is_nonnegative or (grows and floor.is_number and floor >= 0):
        return
    _note(Condition(sympy.sympify(expression), least))


def rely_on_whole(size: Any) -> None:
    """Note that a quotient of sizes is a whole number, unless that is certain."""
    found = sympy.sympify(size)
    if not found.is_integer:
        _note(Condition(found, whole=True))


def rely_on_nonzero(expression: Any) -> None:
    """Note that a scalar does not vanish, unless that is certain."""
    found = sympy.sympify(expression)
    if not found.is_nonzero:
        _note(Condition(found))
