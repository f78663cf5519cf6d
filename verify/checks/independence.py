"""Whether an oracle shares code with the formula it checks, as far as that can be seen from the code objects.

Followed: names that a function's code refers to, in its globals and closure, through functions of the same top-level
package.  Not followed: the engine's own primitives (both sides may use `kron`), and registered definitions of
`verify.vocabulary.subjects`, which are what both sides speak about.  What this cannot see (a copied formula) is left to review.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

from verify.vocabulary.subjects import is_dispatcher


def _referenced(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    yield from code.co_freevars
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _referenced(constant)


def _callees(function: types.FunctionType) -> Iterator[types.FunctionType]:
    closure = dict(
        zip(function.__code__.co_freevars, (cell.cell_contents for cell in function.__closure__ or ()), strict=False)
    )
    for name in _referenced(function.__code__):
        value = closure.get(name, function.__globals__.get(name))
        if isinstance(value, types.FunctionType) and value.__module__.split(".")[0] != "verify":
            yield value


def shared_code(oracle: Callable[..., Any], formula: Callable[..., Any]) -> str | None:
    """The name through which `oracle` reaches `formula`, or None."""
    seen: set[int] = set()
    stack = [oracle]
    while stack:
        current = stack.pop()
        if isinstance(current, types.FunctionType) and not is_dispatcher(current):
            current = inspect.unwrap(current)
        if current is formula:
            return getattr(formula, "__qualname__", repr(formula))
        if id(current) in seen or not isinstance(current, types.FunctionType) or is_dispatcher(current):
            continue
        seen.add(id(current))
        stack.extend(_callees(current))
    return None
