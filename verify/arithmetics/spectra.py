"""The spectra of matrices of rational functions, as far as needed to interpolate a function at all of them at once."""

from __future__ import annotations

from typing import Any

import flint
import numpy as np


class Spectra:
    """A product of polynomials in t that the characteristic polynomial of every registered matrix divides.

    Polynomials are lists of coefficients, that of t^0 first, with leading coefficient 1.
    """

    def __init__(self, zero: Any, one: Any) -> None:
        self.one = one
        self.factors: list[list[Any]] = [[zero, one]]  # t, so that eigenvalues 0 are recognised
        self.multiplicities = [0]

    def register(self, A: np.ndarray) -> None:
        """Let the product be a multiple of the characteristic polynomial of A (n, n) too."""
        polynomial = _characteristic(A, self.one)
        for number, factor in enumerate(self.factors):
            times, quotient = 0, _without(polynomial, factor)
            while quotient is not None:
                times, polynomial = times + 1, quotient
                quotient = _without(polynomial, factor)
            self.multiplicities[number] = max(self.multiplicities[number], times)
        if len(polynomial) > 1:
            self.factors.append(polynomial)
            self.multiplicities.append(1)

    def needed_degree(self) -> int:
        """The degree from which on some polynomial, 1 at 0, has the values of exp at every registered matrix.

        Hermite interpolation at the roots of the product, with their multiplicities, and at 0.
        """
        total = sum((len(factor) - 1) * times for factor, times in zip(self.factors, self.multiplicities, strict=True))
        return total - 1 if self.multiplicities[0] else total  # where 0 is among the roots it is no further point


def _characteristic(A: np.ndarray, one: Any) -> list[Any]:
    """The coefficients of det(t - A) for A (n, n), that of t^0 first, by Faddeev and LeVerrier.

    Block triangular matrices, as the derivatives of the exponential have them, are treated block by block.
    """
    n, half = A.shape[0], A.shape[0] // 2
    if n % 2 == 0 and n and all(entry == 0 for entry in A[half:, :half].flat):
        first = _characteristic(A[:half, :half], one)
        equal = all(entry == 0 for entry in (A[:half, :half] - A[half:, half:]).flat)
        return _multiplied(first, first if equal else _characteristic(A[half:, half:], one))
    coefficients, M = [one], np.full((n, n), 0 * one, dtype=object)
    for k in range(1, n + 1):
        M = A @ M + np.eye(n, dtype=int).astype(object) * coefficients[-1]
        coefficients.append((A @ M).diagonal().sum() * flint.fmpq(-1, k))
    return coefficients[::-1]


def _multiplied(one: list[Any], other: list[Any]) -> list[Any]:
    """The product of two polynomials in t."""
    result: list[Any] = [0] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            result[i + j] = a * b + result[i + j]
    return result


def _without(polynomial: list[Any], divisor: list[Any]) -> list[Any] | None:
    """`polynomial` divided by a polynomial in t, both with leading coefficient 1; None where that is not exact."""
    rest, quotient = list(polynomial), []
    while len(rest) >= len(divisor):
        leading = rest[-1]
        quotient.append(leading)
        for i, coefficient in enumerate(reversed(divisor)):
            rest[-1 - i] = rest[-1 - i] - leading * coefficient
        rest.pop()
    return quotient[::-1] if quotient and all(entry == 0 for entry in rest) else None
