"""Closed forms of derivatives: what stands in their place where norms are bounded, each named with the claims that prove it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class ClosedForm:
    """The Jacobian of a definition in one argument, or its Hessian in two, as an expression; `by`: claims that prove it."""

    value: Callable[..., Any]
    by: tuple[str, ...]


#: The argument, or both, that is differentiated in.
Arguments = str | tuple[str, str]
_known: dict[tuple[Any, Arguments, str], ClosedForm] = {}


def closed_form(f: Callable[..., Any], wrt: Arguments, *by: str, layout: str = "row-major") -> Callable[[F], F]:
    """Declare the function below as the closed form of the Jacobian of `f` in `wrt`, or of its Hessian in two arguments.

    The claims `by` prove it.  Its parameters are named as those of `f`, of which it takes any.
    """

    def declare(value: F) -> F:
        _known[(f, wrt, layout)] = ClosedForm(value, by)
        return value

    return declare


def closed_form_of(f: Callable[..., Any], wrt: Arguments, layout: str) -> ClosedForm | None:
    """The closed form declared for a Jacobian or Hessian, if any."""
    return _known.get((f, wrt, layout))


def closed_forms() -> dict[tuple[Any, Arguments, str], ClosedForm]:
    """Every closed form that was declared, by definition, argument and layout."""
    return dict(_known)
