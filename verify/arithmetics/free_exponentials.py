"""Free exponentials: exp as an arbitrary function of rationals, so that identities can be decided exactly."""

from __future__ import annotations

import contextlib
import contextvars
import hashlib
from collections.abc import Sequence
from typing import Any

import flint

from verify.vocabulary.contexts import assigned

#: The degree of the polynomial that stands for the exponential of a matrix where exponentials are free.
FREE_DEGREE = 5

_series: contextvars.ContextVar[Sequence[Any] | None] = contextvars.ContextVar("series", default=None)
_free: contextvars.ContextVar[int | None] = contextvars.ContextVar("free_exponentials", default=None)


def free_exponentials(seed: int) -> contextlib.AbstractContextManager[int]:
    """Inside the block, exp of a rational t is an arbitrary positive rational E(t), with E' = E, instead of an error.

    An identity that holds for every such E holds for exp, and can be decided in exact arithmetic: softmax rows become
    free points of the simplex, the matrix exponential a polynomial with free coefficients and constant term I.  The
    additive law exp(a + b) = exp(a) exp(b) is not available, so an identity that needs it fails here although true.
    """
    return assigned(_free, seed)


def polynomial_for_expm(coefficients: Sequence[Any]) -> contextlib.AbstractContextManager[Sequence[Any]]:
    """Inside the block, exp(A) of a matrix of rationals or balls is I + c_1 A + c_2 A^2 + ... with these coefficients."""
    return assigned(_series, coefficients)


def series_coefficients() -> Sequence[Any] | None:
    """The coefficients c_1, c_2, ... of the polynomial that stands for the exponential of a matrix, None where none does."""
    given = _series.get()
    if given is None and exponentials_are_free():
        return [free_rational(f"power series {k}") for k in range(1, FREE_DEGREE + 1)]
    return given


def free_rational(label: str) -> flint.fmpq:
    """A positive rational up to 2^11 that depends on the active seed and on `label` alone."""
    digest = hashlib.sha256(f"{_free.get()}:{label}".encode()).digest()
    return flint.fmpq(1 + int.from_bytes(digest[:4], "big") % 2**21, 2**10)


def exponentials_are_free() -> bool:
    """Whether a `free_exponentials` block is active."""
    return _free.get() is not None
