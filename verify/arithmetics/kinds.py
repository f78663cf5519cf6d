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
from verify.arithmetics.polynomials import Quotient
from verify.vocabulary.errors import InputError
from verify.vocabulary.shapes import is_tensor


class Kind(enum.IntEnum):
    """Arithmetics in the order in which mixed operands are promoted."""

    EXACT = 0
    POLYNOMIAL = 1
    SYMBOLIC = 2
    BALL = 3
    FLOAT = 4


def is_symbolic(value: Any) -> bool:
    sympy_module = sys.modules.get("sympy")
    return sympy_module is not None and isinstance(value, sympy_module.Basic)


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
            for entry in operand.flat:
                if type(entry) is not int:
                    kind = max(kind, scalar_kind(entry))
        elif not isinstance(operand, Adaptable):
            kind = max(kind, scalar_kind(operand))
    return kind


def has_jets(array: Any) -> bool:
    """Whether any entry of an object array is a jet."""
    return isinstance(array, np.ndarray) and any(isinstance(entry, Jet) for entry in array.flat)
