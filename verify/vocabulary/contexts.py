"""Values that code reads from its context: set inside a block, what they were after it."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any, TypeVar

T = TypeVar("T")


@contextlib.contextmanager
def assigned(variable: contextvars.ContextVar[Any], value: T) -> Iterator[T]:
    """Let a context variable have a value inside the block, which `as` names.

    >>> depth = contextvars.ContextVar("depth", default=0)
    >>> with assigned(depth, 1) as inside:
    ...     inside, depth.get()
    (1, 1)
    >>> depth.get()
    0
    """
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)
