"""Closed forms of derivatives: what stands in their place where norms are bounded, each named with the claims that prove it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class ClosedForm:
    """The Jacobian of a definition in one argument as an expression; `by` are the ids of the claims that prove it."""

    value: Callable[..., Any]
    by: tuple[str, ...]


_known: dict[tuple[Any, str, str], ClosedForm] = {}


def closed_form(f: Callable[..., Any], wrt: str, *by: str, layout: str = "row-major") -> Callable[[F], F]:
    """Declare the function below as the closed form of the Jacobian of `f` in `wrt`, proved by the claims `by`.

    Its parameters are named as those of `f`, of which it takes any.
    """

    def declare(value: F) -> F:
        _known[(f, wrt, layout)] = ClosedForm(value, by)
        return value

    return declare


def closed_form_of(f: Callable[..., Any], wrt: str, layout: str) -> ClosedForm | None:
    """The closed form declared for a Jacobian, if any."""
    return _known.get((f, wrt, layout))


def closed_forms() -> dict[tuple[Any, str, str], ClosedForm]:
    """Every closed form that was declared, by definition, argument and layout."""
    return dict(_known)
