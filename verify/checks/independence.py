"""Whether an oracle shares code with the formula it checks, as far as that can be seen from the code objects.

Followed: names that a function's code refers to, in its globals and closure, through functions of the same top-level
package.  Not followed: the engine's own primitives (both sides may use `kron`), and registered definitions of
`verify.vocabulary.subjects`, which are what both sides speak about.  What this cannot see (a copied formula) is left to review.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

from verify.vocabulary.referred import bare, named_values
from verify.vocabulary.subjects import is_dispatcher


def _callees(function: types.FunctionType) -> Iterator[types.FunctionType]:
    for value in named_values(function).values():
        if isinstance(value, types.FunctionType) and value.__module__.split(".")[0] != "verify":
            yield value


def shared_code(oracle: Callable[..., Any], formula: Callable[..., Any]) -> str | None:
    """The name through which `oracle` reaches `formula`, or None."""
    seen: set[int] = set()
    stack = [oracle]
    while stack:
        current = stack.pop()
        if isinstance(current, types.FunctionType) and not is_dispatcher(current):
            current = bare(current)
        if current is formula:
            return getattr(formula, "__qualname__", repr(formula))
        if id(current) in seen or not isinstance(current, types.FunctionType) or is_dispatcher(current):
            continue
        seen.add(id(current))
        stack.extend(_callees(current))
    return None
