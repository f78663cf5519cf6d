"""Conversions: the same numbers in every arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import flint
import numpy as np

from verify.arithmetics.adaptable import elementwise
from verify.arithmetics.constants import Surd
from verify.arithmetics.kinds import Kind
from verify.vocabulary.errors import InputError

if TYPE_CHECKING:
    import torch


def to_tensor(array: np.ndarray, *, dtype: torch.dtype, device: str = "cpu") -> torch.Tensor:
    """A float array (or an exact object array) as a tensor of the same shape."""
    import torch

    return torch.as_tensor(np.asarray(array, dtype=np.float64), dtype=dtype, device=device)


def exact_scalar(value: Any) -> flint.fmpq:
    """A finite float, integer, fraction or surd with rational value as ``flint.fmpq``, without rounding."""
    if isinstance(value, Surd):
        return value.as_scalar(Kind.EXACT)
    if isinstance(value, (flint.fmpq, flint.fmpz)):
        return flint.fmpq(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError("value", "a finite number", repr(value))
        return flint.fmpq(*value.as_integer_ratio())
    fraction = Fraction(value)
    return flint.fmpq(int(fraction.numerator), int(fraction.denominator))


def to_rationals(array: Any) -> np.ndarray:
    """An array of floats, integers or fractions as an object array of exact rationals, same shape."""
    return elementwise(exact_scalar, np.asarray(array, dtype=object))


def to_balls(array: Any) -> np.ndarray:
    """An array of floats, integers or rationals as an object array of balls of radius zero or one rounding, same shape."""
    return elementwise(lambda value: flint.arb(exact_scalar(value)), np.asarray(array, dtype=object))
