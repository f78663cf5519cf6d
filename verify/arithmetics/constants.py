"""Constant matrices and exact scalars: identities, commutation matrices, 2/3, sqrt(5)."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from verify.arithmetics.adaptable import Adaptable, settled
from verify.arithmetics.balls import midpoints
from verify.arithmetics.formal import Formal
from verify.arithmetics.kinds import Kind, kind_of, number_class
from verify.arithmetics.rational_functions import active_field
from verify.arithmetics.tracing import primitive
from verify.vocabulary.errors import ArithmeticUnsupported, InputError
from verify.vocabulary.shapes import is_tensor


class Constant(Adaptable):
    """A matrix of integers or rationals that adapts to the arithmetic, dtype and device of what it is combined with.

    Shape (m, n).  Produced by `verify.matrix.eye`, `commutation_matrix` and their like.
    """

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array, dtype=object)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def T(self) -> Constant:
        return Constant(self.array.T)

    def __getitem__(self, key: Any) -> Constant:
        return Constant(self.array[key])

    def reshape(self, *shape: int) -> Constant:
        return Constant(self.array.reshape(*shape))

    def sum(self, axis: int) -> Constant:
        return Constant(self.array.sum(axis))

    def settled(self) -> Any:
        return self.array

    def adapt(self, other: Any) -> Any:
        """This matrix in the arithmetic of `other`."""
        if isinstance(other, Formal):
            return other.adapted(self)
        if is_tensor(other):
            torch = sys.modules["torch"]
            return torch.tensor(midpoints(self.array), dtype=other.dtype, device=other.device)
        return self.array

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Constant):
            return Constant(self.array @ other.array)
        return self.adapt(other) @ other

    def __rmatmul__(self, other: Any) -> Any:
        return other @ self.adapt(other)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, (int, Constant)):
            return Constant(self.array * settled(other))
        if isinstance(other, Surd):
            return other * self
        return super().__mul__(other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return rational(1) / other * self if isinstance(other, (int, Surd)) else self.adapt(other) / other

    def __add__(self, other: Any) -> Any:
        return Constant(self.array + other.array) if isinstance(other, Constant) else super().__add__(other)

    def __sub__(self, other: Any) -> Any:
        return Constant(self.array - other.array) if isinstance(other, Constant) else super().__sub__(other)

    def __neg__(self) -> Constant:
        return Constant(-self.array)

    def __repr__(self) -> str:
        return f"Constant({self.array.tolist()!r})"


class Surd(Adaptable):
    """The exact scalar ``coefficient * sqrt(radicand)``; closed under products and quotients with rationals."""

    def __init__(self, coefficient: Fraction | int, radicand: int = 1) -> None:
        if radicand < 0:
            raise InputError("radicand", "an integer >= 0", repr(radicand))
        root = math.isqrt(radicand)
        if root * root == radicand:
            coefficient, radicand = coefficient * root, 1
        self.coefficient = Fraction(coefficient)
        self.radicand = radicand

    @property
    def T(self) -> Surd:
        return self

    def adapt(self, other: Any) -> Any:
        """This scalar in the arithmetic of `other`."""
        if isinstance(other, Formal):
            return other.adapted(self)
        if is_tensor(other):
            return float(self.coefficient) * math.sqrt(self.radicand)
        if isinstance(other, Constant):
            return self.as_scalar(Kind.EXACT)
        return self.as_scalar(kind_of(other), other)

    def as_scalar(self, kind: Kind, like: Any = None) -> Any:
        """This scalar as an entry of the arithmetic `kind`; of the class of `like` where a package adds it."""
        if kind is Kind.ADDED and (numbers := number_class(like)) is not None:
            found = numbers.of(self.coefficient)
            return found if self.radicand == 1 else found * numbers.of(Fraction(self.radicand)).sqrt()
        numerator, denominator = self.coefficient.numerator, self.coefficient.denominator
        if kind is Kind.BALL:
            return flint.arb(flint.fmpq(numerator, denominator)) * flint.arb(self.radicand).sqrt()
        if kind is Kind.SYMBOLIC:
            import sympy

            return sympy.Rational(numerator, denominator) * sympy.sqrt(self.radicand)
        if kind is Kind.FLOAT:
            return float(self.coefficient) * math.sqrt(self.radicand)
        if kind is Kind.POLYNOMIAL:
            field = active_field()
            return field.constant(self.coefficient) * field.root_of_rational(flint.fmpq(self.radicand))
        if self.radicand != 1:
            raise ArithmeticUnsupported(
                f"sqrt({self.radicand}) is irrational: exact arithmetic needs a perfect square here"
            )
        return flint.fmpq(numerator, denominator)

    def _times(self, other: Any) -> Any:
        if isinstance(other, Surd):
            return Surd(self.coefficient * other.coefficient, self.radicand * other.radicand)
        if isinstance(other, (int, Fraction)):
            return Surd(self.coefficient * other, self.radicand)
        if isinstance(other, Constant):
            return Constant(other.array * self.as_scalar(Kind.EXACT))
        return other * self.adapt(other)

    __mul__ = _times
    __rmul__ = _times

    def _inverse(self) -> Surd:
        return Surd(1 / (self.coefficient * self.radicand), self.radicand)

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Surd):
            return self * other._inverse()
        if isinstance(other, (int, Fraction)):
            return Surd(self.coefficient / other, self.radicand)
        return self.adapt(other) / other

    def __rtruediv__(self, other: Any) -> Any:
        return self._inverse() * other

    def __neg__(self) -> Surd:
        return Surd(-self.coefficient, self.radicand)

    def _plus(self, other: Any, sign: int) -> Any:
        if isinstance(other, (int, Fraction)):
            other = Surd(other)
        if isinstance(other, Surd):
            if 0 in (self.coefficient, other.coefficient):
                return self if other.coefficient == 0 else other * sign
            if self.radicand != other.radicand:
                raise ArithmeticUnsupported("sums of different square roots are not kept exact")
            return Surd(self.coefficient + sign * other.coefficient, self.radicand)
        return self.adapt(other) + sign * settled(other)

    def __add__(self, other: Any) -> Any:
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._plus(other, -1)

    def __rsub__(self, other: Any) -> Any:
        return (-self)._plus(other, 1)

    def _sympy_(self) -> Any:
        return self.as_scalar(Kind.SYMBOLIC)  # without it sympy would take the float

    def __float__(self) -> float:
        return float(self.coefficient) * math.sqrt(self.radicand)

    def __repr__(self) -> str:
        return f"{self.coefficient}" if self.radicand == 1 else f"{self.coefficient}*sqrt({self.radicand})"


@primitive
def rational(numerator: int, denominator: int = 1) -> Surd:
    """The exact scalar numerator / denominator, to be combined with matrices of any arithmetic."""
    if not isinstance(numerator, int):
        raise InputError("numerator", "an integer", repr(numerator))
    if not isinstance(denominator, int) or denominator == 0:
        raise InputError("denominator", "a nonzero integer", repr(denominator))
    return Surd(Fraction(numerator, denominator))
