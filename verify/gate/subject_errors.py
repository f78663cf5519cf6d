"""What can go wrong when an implementation stands in the place of a definition."""

from __future__ import annotations

from verify.vocabulary.errors import InputError

#: What torch says of tensors on several devices, from version to version, and what to do about it.
_ELSEWHERE = ("same device", "on the expected device", "is on cpu,")
MOVED = (
    "the masks and tables that it makes, and the parameters that it holds, have to be on the device of its arguments: "
    "write device=X.device where it makes a tensor, and module.to(device) for a module"
)


def described(problem: BaseException) -> str:
    """The type and the first line of what an implementation raised; of tensors on several devices, what to do as well."""
    line = next(iter(str(problem).splitlines()), "")[:200]
    told = any(words in line for words in _ELSEWHERE)
    return f"{type(problem).__name__}: {line}{f' ({MOVED})' if told else ''}"


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
