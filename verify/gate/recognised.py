"""Modules and kernels that are known by their names, so that nobody has to name an adapter for them.

The packages that hold definitions say which they know, `recognise(...)`; a subclass is known by its bases.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

Adapter = Callable[[Callable[..., Any]], Callable[..., Any]]
A = TypeVar("A", bound=Adapter)

_known: dict[tuple[str, str], Adapter] = {}


def recognise(subject: str, *names: str) -> Callable[[A], A]:
    """Declare an adapter for what has one of these names, "torch.nn.modules.normalization.LayerNorm", as `subject`."""

    def declare(adapter: A) -> A:
        _known.update({(subject, name): adapter for name in names})
        return adapter

    return declare


def names_of(implementation: Any) -> list[str]:
    """The names by which an implementation may be known: its own, or those of its class and the bases of that."""
    if not inspect.isclass(implementation) and hasattr(implementation, "__name__"):
        module = getattr(implementation, "__module__", None)
        return [f"{module}.{implementation.__name__}" if module else implementation.__name__]
    own = implementation if inspect.isclass(implementation) else type(implementation)
    return [f"{base.__module__}.{base.__qualname__}" for base in own.__mro__]


def known_as(subject: str) -> list[str]:
    """The names that are known as a subject, without their modules."""
    return sorted({name.rpartition(".")[2] for known, name in _known if known == subject})


def recognised(subject: str, implementation: Any) -> Adapter | None:
    """The adapter for an implementation of `subject` that is known by name; None for others."""
    return next((_known[subject, name] for name in names_of(implementation) if (subject, name) in _known), None)
