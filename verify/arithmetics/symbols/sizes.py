"""Sizes: integers, or sympy expressions in positive integer symbols."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy

from verify.arithmetics.conditions import rely_on_at_least, rely_on_whole
from verify.arithmetics.guarded import unguarded
from verify.arithmetics.symbols.heads import Size
from verify.vocabulary.errors import ArithmeticUnsupported, InputError


def is_size(value: Any) -> bool:
    """Whether `value` can be the size of an axis: an integer, or a sympy expression that is a positive integer."""
    if isinstance(value, sympy.Expr):
        return bool(value.is_integer and value.is_positive is not False and not value.is_number) or bool(
            (value.is_Integer and value >= 0) or _is_quotient(value)
        )
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= 0)


def _is_quotient(value: sympy.Expr) -> bool:
    """Whether `value` is a quotient of sizes, such as D / H, which its user takes for a whole number."""
    numerator, denominator = value.as_numer_denom()
    return not value.is_number and all(part.is_integer and part.is_positive for part in (numerator, denominator))


def size_of(argument: str, value: Any) -> Size:
    """`value` as a size; raises `InputError` naming the argument where it is none."""
    if not is_size(value):
        raise InputError(argument, "an integer or an expression in positive integer symbols", repr(value))
    size = sympy.sympify(int(value) if isinstance(value, np.integer) else value)
    if not size.is_number:
        if not size.is_positive:  # what is positive and whole is at least 1
            rely_on_at_least(size, 1)
        rely_on_whole(size)
    return size


def steps_of(count: Any) -> Size:
    """A number of steps that is a symbol, as a size."""
    if not is_size(number := unguarded(count)):
        raise ArithmeticUnsupported(f"{count!r} steps, which may be no number of steps")
    return size_of("count", number)


def plain(size: Size) -> Any:
    """A size as a Python integer where it is one."""
    return int(size) if sympy.sympify(size).is_Integer else size


def divides(size: Size, whole: Size) -> bool:
    """Whether the size divides the other as a product of symbols and integers."""
    quotient = sympy.sympify(whole) / size
    return bool(sympy.denom(quotient) == 1)
