"""Subjects: the definitions that claims speak about, looked up by name so that another implementation can stand in.

@subject("attention")
def attention(X, W_Q, W_K, W_V): ...

with replaced("attention", my_attention):
    ...  # every claim about attention now speaks of my_attention
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from verify.vocabulary.contexts import assigned
from verify.vocabulary.errors import InputError, RegistryError, with_neighbours
from verify.vocabulary.shapes import checked

F = TypeVar("F", bound=Callable[..., Any])

_definitions: dict[str, Callable[..., Any]] = {}
_dispatchers: dict[Callable[..., Any], str] = {}
_replacements: contextvars.ContextVar[dict[str, Callable[..., Any]]] = contextvars.ContextVar("replacements")


def subject(name: str) -> Callable[[F], F]:
    """Register a definition under `name`; calls go to its replacement while one is active."""

    def register(definition: F) -> F:
        if name in _definitions:
            raise RegistryError(f"two definitions are registered as subject {name!r}")
        _definitions[name] = definition

        usual = checked(definition)

        @functools.wraps(definition)
        def dispatched(*args: Any, **kwargs: Any) -> Any:
            return _replacements.get({}).get(name, usual)(*args, **kwargs)

        _dispatchers[dispatched] = name
        return dispatched  # type: ignore[return-value]

    return register


def is_dispatcher(function: Any) -> bool:
    """Whether `function` is the public name of a registered definition."""
    return function in _dispatchers


def name_of(dispatcher: Callable[..., Any]) -> str:
    """The subject whose public name `dispatcher` is."""
    return _dispatchers[dispatcher]


def definition_of(name: str) -> Callable[..., Any]:
    """The definition registered under `name`, whatever replaces it; raises `InputError` for an unknown name."""
    if name not in _definitions:
        raise InputError(
            "subject", "one of the names that `verify subjects` prints", with_neighbours(name, sorted(_definitions))
        )
    return _definitions[name]


def public_name_of(name: str) -> Callable[..., Any]:
    """The dispatcher of a subject, which calls its replacement while one is active."""
    definition_of(name)
    return next(dispatcher for dispatcher, known in _dispatchers.items() if known == name)


def subjects() -> dict[str, inspect.Signature]:
    """The names that can be replaced, with the signature that a replacement must accept."""
    return {name: inspect.signature(definition) for name, definition in _definitions.items()}


def is_any_replaced() -> bool:
    """Whether another implementation stands in for any definition, so that nothing kept of the definitions may be used."""
    return bool(_replacements.get({}))


@contextlib.contextmanager
def replaced(name: str, implementation: Callable[..., Any]) -> Iterator[None]:
    """Let `implementation` stand in for the subject inside the block."""
    definition_of(name)
    with assigned(_replacements, {**_replacements.get({}), name: implementation}):
        yield
