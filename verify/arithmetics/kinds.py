"""Which arithmetic an expression runs in, recognised from its operands."""

from __future__ import annotations

import enum
import sys
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from verify.arithmetics.adaptable import Adaptable
from verify.arithmetics.jets import Jet
from verify.arithmetics.numbers import Number
from verify.arithmetics.rational_functions import Quotient
from verify.vocabulary.errors import InputError
from verify.vocabulary.shapes import is_tensor


class Kind(enum.IntEnum):
    """Arithmetics in the order in which mixed operands are promoted."""

    EXACT = 0
    POLYNOMIAL = 1
    ADDED = 2  #: a class of `Number`
    SYMBOLIC = 3
    BALL = 4
    FLOAT = 5


#: The arithmetic of an entry of these types; others have to be looked at.
_BY_TYPE = {
    int: Kind.EXACT,
    flint.fmpz: Kind.EXACT,
    flint.fmpq: Kind.EXACT,
    Quotient: Kind.POLYNOMIAL,
    flint.arb: Kind.BALL,
}


def is_symbolic(value: Any) -> bool:
    """Whether `value` is an expression in symbols: one of sympy's, or such a number as the formulas of a proof see it."""
    sympy_module = sys.modules.get("sympy")
    return sympy_module is not None and (
        isinstance(value, sympy_module.Basic) or getattr(type(value), "is_symbolic", False)
    )


def scalar_kind(value: Any) -> Kind:
    """The arithmetic of one scalar entry; raises `InputError` for anything that is not one."""
    if isinstance(value, Jet):
        return Kind.FLOAT if isinstance(value.value, float) else scalar_kind(value.value)
    if isinstance(value, flint.arb):
        return Kind.BALL
    if isinstance(value, (int, np.integer, flint.fmpq, flint.fmpz, Fraction)):
        return Kind.EXACT
    if isinstance(value, Quotient):
        return Kind.POLYNOMIAL
    if isinstance(value, Number):
        return Kind.ADDED
    if is_symbolic(value):
        return Kind.SYMBOLIC
    raise InputError(
        "entries of a matrix",
        "integers, flint.fmpq, flint.arb, sympy expressions or jets (floats belong in a torch tensor)",
        f"{type(value).__name__} {value!r}",
    )


def kind_of(*operands: Any) -> Kind:
    """The arithmetic in which an expression of these operands is evaluated."""
    kind = Kind.EXACT
    for operand in operands:
        if is_tensor(operand):
            return Kind.FLOAT
        if isinstance(operand, np.ndarray):
            kind = max(kind, _kind_of_entries(list(operand.flat)))
        elif not isinstance(operand, Adaptable):
            kind = max(kind, scalar_kind(operand))
    return kind


def _kind_of_entries(entries: list[Any]) -> Kind:
    """The arithmetic of a list of scalars, by the types that occur; an entry at a time would cost more than the arithmetic."""
    kind = Kind.EXACT
    for found in set(map(type, entries)):
        known = _BY_TYPE.get(found)
        if known is None and found is Jet:
            values = [entry.value for entry in entries if type(entry) is Jet]
            known = Kind.FLOAT if any(isinstance(value, float) for value in values) else _kind_of_entries(values)
        elif known is None:
            known = max(scalar_kind(entry) for entry in entries if type(entry) is found)
        kind = max(kind, known)
    return kind


def number_class(*operands: Any) -> type[Number] | None:
    """The class of `Number` that entries of the operands are of, also within jets; None where there is none.

    Raises `InputError` for numbers of two such classes, which have no arithmetic in common.
    """
    entries = (
        entry for operand in operands for entry in (operand.flat if isinstance(operand, np.ndarray) else [operand])
    )
    values = (entry.value if isinstance(entry, Jet) else entry for entry in entries)
    found = {type(value) for value in values if isinstance(value, Number)}
    if len(found) > 1:
        names = " and ".join(sorted(each.__name__ for each in found))
        raise InputError("operands", "numbers of one arithmetic", names)
    return next(iter(found), None)


def has_jets(array: Any) -> bool:
    """Whether any entry of an object array is a jet."""
    return isinstance(array, np.ndarray) and Jet in set(map(type, array.flat))
