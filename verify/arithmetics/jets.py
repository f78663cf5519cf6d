"""Truncated Taylor numbers: exact first and second derivatives over any scalar arithmetic.

A jet in k directions carries a value, a gradient of shape (k,) and, at second order, a Hessian of shape (k, k).
Entries are whatever scalars the value is made of, so a jet over rationals differentiates exactly and a jet over
balls encloses the derivative.  Nothing here shares code with torch's autodiff; it is the second oracle.
"""

from __future__ import annotations

import sys
from typing import Any

import flint
import numpy as np

from verify.arithmetics.rational_functions import refuse_decision


def _quotient(a: Any, b: Any) -> Any:
    """a / b for scalars; integers divide exactly."""
    return flint.fmpq(a) / b if isinstance(a, int) and not isinstance(b, float) else a / b


def _defers_to(other: Any) -> bool:
    """Whether the operation is the other operand's: it is an array, or takes on our arithmetic itself."""
    return isinstance(other, np.ndarray) or getattr(type(other), "__array_ufunc__", type(other)) is None


class _Flat:
    """In the place of a Hessian of zeros, which a jet keeps through all linear steps: entries would cost (k, k) products."""


FLAT = _Flat()


def _times(hessian: Any, factor: Any, count: int) -> Any:
    """A Hessian in `count` directions, times a number.  What is unbounded or undefined leaves no zeros."""
    if hessian is FLAT:
        if isinstance(factor, flint.arb) and not factor.is_finite():
            return np.full((count, count), factor * 0, dtype=object)
        return FLAT
    return None if hessian is None else hessian * factor


def _plus(one: Any, other: Any) -> Any:
    """The sum of two Hessians."""
    if one is FLAT:
        return other
    return one if other is FLAT or one is None else one + other


class Jet:
    """value + gradient . e + 1/2 e . hessian . e in k infinitesimal directions e.

    `gradient` has shape (k,), `hessian` shape (k, k), or is `FLAT` where all of it is zero and None for a first-order jet.
    """

    __slots__ = ("gradient", "hessian", "value")

    def __init__(self, value: Any, gradient: np.ndarray, hessian: Any = None) -> None:
        self.value, self.gradient, self.hessian = value, gradient, hessian

    def __eq__(self, other: object) -> bool:
        """Whether it is this very jet; a claim's function in a proof at given sizes may not ask."""
        refuse_decision(sys._getframe(1))
        return self is other

    def __bool__(self) -> bool:
        refuse_decision(sys._getframe(1))
        return True

    __hash__ = object.__hash__

    def chain(self, value: Any, first: Any, second: Any) -> Jet:
        """The jet of g(self), given g, g' and g'' at `self.value`."""
        gradient = self.gradient * first
        if self.hessian is None:
            return Jet(value, gradient)
        curved = np.outer(self.gradient, self.gradient) * second
        return Jet(value, gradient, _plus(_times(self.hessian, first, len(gradient)), curved))

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Jet):
            return Jet(self.value + other.value, self.gradient + other.gradient, _plus(self.hessian, other.hessian))
        if _defers_to(other):
            return NotImplemented
        return Jet(self.value + other, self.gradient, self.hessian)

    __radd__ = __add__

    def __neg__(self) -> Jet:
        return Jet(-self.value, -self.gradient, _times(self.hessian, -1, len(self.gradient)))

    def __sub__(self, other: Any) -> Any:
        if _defers_to(other):
            return NotImplemented
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Jet):
            gradient = other.gradient * self.value + self.gradient * other.value
            if self.hessian is None:
                return Jet(self.value * other.value, gradient)
            cross = np.outer(self.gradient, other.gradient)
            k = len(gradient)
            linear = _plus(_times(other.hessian, self.value, k), _times(self.hessian, other.value, k))
            return Jet(self.value * other.value, gradient, _plus(linear, cross + cross.T))
        if _defers_to(other):
            return NotImplemented
        if isinstance(other, int) and other == 0:
            return 0  # keeps structural zeros cheap
        return Jet(self.value * other, self.gradient * other, _times(self.hessian, other, len(self.gradient)))

    __rmul__ = __mul__

    def reciprocal(self) -> Jet:
        """1 / self."""
        inverse = _quotient(1, self.value)
        return self.chain(inverse, -inverse * inverse, 2 * inverse * inverse * inverse)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Jet):
            return self * other.reciprocal()
        if _defers_to(other):
            return NotImplemented
        return self * _quotient(1, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self.reciprocal() * other

    def __pow__(self, exponent: int) -> Any:
        result: Any = 1
        for _ in range(exponent):
            result = result * self
        return result

    def __repr__(self) -> str:
        return f"Jet({self.value!r}, {self.gradient!r}, {self.hessian!r})"


def variables(arrays: list[np.ndarray], order: int) -> list[np.ndarray]:
    """Object arrays of the same shapes whose entries are independent jet variables, numbered in row-major order."""
    count = sum(array.size for array in arrays)
    floats = any(isinstance(entry, float) for array in arrays for entry in array.flat)
    zero, one = (0.0, 1.0) if floats else (flint.fmpq(0), flint.fmpq(1))
    result, position = [], 0
    for array in arrays:
        lifted = np.empty(array.shape, dtype=object)
        for index in np.ndindex(*array.shape):
            gradient = np.full(count, zero, dtype=object)
            gradient[position] = one
            lifted[index] = Jet(array[index], gradient, _no_hessian(zero, count, order))
            position += 1
        result.append(lifted)
    return result


def _no_hessian(zero: Any, count: int, order: int) -> Any:
    """The Hessian of what is linear; of floats in full, as 0 times what has overflowed is no number to them."""
    if order == 1:
        return None
    return np.full((count, count), zero, dtype=object) if isinstance(zero, float) else FLAT


def constants(array: np.ndarray, count: int, order: int) -> np.ndarray:
    """An object array as jets in `count` directions that do not move, same shape."""
    lifted = np.empty(array.shape, dtype=object)
    for index in np.ndindex(*array.shape):
        zero = 0.0 if isinstance(array[index], float) else 0
        lifted[index] = Jet(array[index], np.zeros(count, dtype=object), _no_hessian(zero, count, order))
    return lifted


def value_part(entry: Any) -> Any:
    """The value of a jet, or the scalar itself."""
    return entry.value if isinstance(entry, Jet) else entry


def gradient_part(entry: Any, count: int) -> np.ndarray:
    """The gradient of a jet, shape (count,), zero for a plain scalar."""
    return entry.gradient if isinstance(entry, Jet) else np.zeros(count, dtype=object)


def hessian_part(entry: Any, count: int) -> np.ndarray:
    """The Hessian of a second-order jet, shape (count, count), zero for a plain scalar."""
    if isinstance(entry, Jet) and entry.hessian is FLAT:
        return np.full((count, count), flint.fmpq(0), dtype=object)
    if isinstance(entry, Jet) and entry.hessian is not None:
        return entry.hessian
    return np.zeros((count, count), dtype=object)
