"""Balls: their precision, and the numbers that they enclose."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from verify.arithmetics.adaptable import settled

#: Precision of ball arithmetic, in bits, unless a `precision` block says otherwise.
DEFAULT_BITS = 300
flint.ctx.prec = DEFAULT_BITS


@contextlib.contextmanager
def precision(bits: int) -> Iterator[None]:
    """Evaluate ball arithmetic with `bits` bits inside the block."""
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        yield
    finally:
        flint.ctx.prec = before


class LargeBalls(np.ndarray):
    """A matrix of many balls, which flint multiplies: numpy goes entry by entry, and takes ten times as long."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """What numpy made of it: a sum of all entries is a ball, as that of other arrays."""
        return array.item() if array.ndim == 0 else array.view(LargeBalls)

    def __matmul__(self, other: Any) -> Any:
        return _product(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _product(other, self)


def _product(left: Any, right: Any) -> Any:
    if not (isinstance(left, np.ndarray) and isinstance(right, np.ndarray)):
        return NotImplemented
    left, right = np.asarray(left), np.asarray(right)
    if left.ndim != 2 or right.ndim != 2 or set(map(type, (*left.flat, *right.flat))) != {flint.arb}:
        return left @ right
    product = flint.arb_mat(left.tolist()) * flint.arb_mat(right.tolist())
    return np.array(product.tolist(), dtype=object).view(LargeBalls)


def midpoint(x: Any) -> float:
    """The float nearest to an exact or ball scalar."""
    if isinstance(x, flint.arb):
        return float(x.mid())
    return float(Fraction(int(x.p), int(x.q))) if isinstance(x, flint.fmpq) else float(x)


def midpoints(array: Any) -> np.ndarray:
    """The float64 array nearest to an object array."""
    array = np.asarray(settled(array), dtype=object)
    if set(map(type, array.flat)) <= {int, float}:
        return array.astype(np.float64)
    return np.array([midpoint(entry) for entry in array.flat], dtype=np.float64).reshape(array.shape)


def radius(x: Any) -> float:
    """The radius of a ball, 0 for exact scalars."""
    return float(x.rad()) if isinstance(x, flint.arb) else 0.0


def largest_radius(array: Any) -> float:
    """The largest radius among the entries of an object array."""
    return max((radius(entry) for entry in np.asarray(settled(array), dtype=object).flat), default=0.0)
