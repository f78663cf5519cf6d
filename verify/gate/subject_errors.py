"""What can go wrong when an implementation stands in the place of a definition."""

from __future__ import annotations

from verify.vocabulary.errors import InputError


class NotDifferentiable(ArithmeticError):
    """An implementation was asked for a derivative that it cannot give; the claim is not decided, and not passed."""


class OnceDifferentiable(NotDifferentiable):
    """A second derivative was asked of what is marked as differentiable once only."""


class Raised(RuntimeError):
    """An implementation raised at arguments for which the definition has a value."""


class WrongResult(InputError):
    """An implementation returned something of another shape, dtype or device, or changed its arguments."""


class SubjectFailure(AssertionError):
    """An implementation breaks a theorem, or is not the definition."""
