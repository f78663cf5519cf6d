"""Free exponentials: exp as an arbitrary function of rationals, so that identities can be decided exactly."""

from __future__ import annotations

import contextlib
import contextvars
import hashlib
from collections.abc import Iterator

import flint

_free: contextvars.ContextVar[int | None] = contextvars.ContextVar("free_exponentials", default=None)


@contextlib.contextmanager
def free_exponentials(seed: int) -> Iterator[None]:
    """Inside the block, exp of a rational t is an arbitrary positive rational E(t), with E' = E, instead of an error.

    An identity that holds for every such E holds for exp, and can be decided in exact arithmetic: softmax rows become
    free points of the simplex, the matrix exponential a polynomial with free coefficients and constant term I.  The
    additive law exp(a + b) = exp(a) exp(b) is not available, so an identity that needs it fails here although true.
    """
    token = _free.set(seed)
    try:
        yield
    finally:
        _free.reset(token)


def free_rational(label: str) -> flint.fmpq:
    """A positive rational up to 2^11 that depends on the active seed and on `label` alone."""
    digest = hashlib.sha256(f"{_free.get()}:{label}".encode()).digest()
    return flint.fmpq(1 + int.from_bytes(digest[:4], "big") % 2**21, 2**10)


def exponentials_are_free() -> bool:
    """Whether a `free_exponentials` block is active."""
    return _free.get() is not None
