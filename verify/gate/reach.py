"""Which claims speak about a subject: those whose functions lead to it, as far as code objects show.

Followed: globals, closures, defaults, containers of functions.  What is reached here but never called in a check is
reported as "not reached" by the check itself.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from verify.vocabulary.claims import Claim
from verify.vocabulary.referred import defaults_of, named_values
from verify.vocabulary.registry import load
from verify.vocabulary.subjects import is_dispatcher, name_of

#: Verdicts of claims that an implementation has to satisfy.
GATING = ("holds", "reading")


def _functions_in(value: Any) -> Iterator[types.FunctionType]:
    if isinstance(value, types.FunctionType):
        yield value
    elif isinstance(value, Mapping):
        yield from (item for item in value.values() if isinstance(item, types.FunctionType))
    elif isinstance(value, (list, tuple)):
        yield from (item for item in value if isinstance(item, types.FunctionType))


def _called_by(function: types.FunctionType) -> Iterator[types.FunctionType]:
    for value in (*named_values(function).values(), *defaults_of(function)):
        yield from _functions_in(value)


#: The functions that a function calls, by the function.
Calls = dict[types.FunctionType, list[types.FunctionType]]


def reached_subjects(functions: Iterable[Callable[..., Any]], known: Calls | None = None) -> frozenset[str]:
    """The subjects that `functions` call, directly or not; which function calls which is looked up in `known`, and kept there."""
    known = {} if known is None else known
    seen: set[int] = set()
    found: set[str] = set()
    stack: list[Any] = list(functions)
    while stack:
        function = stack.pop()
        if id(function) in seen or not isinstance(function, types.FunctionType):
            continue
        seen.add(id(function))
        if is_dispatcher(function):
            found.add(name_of(function))
        inner = inspect.unwrap(function)
        # checking wrappers hide a dispatcher below them
        while function is not inner:
            function = function.__wrapped__  # type: ignore[attr-defined]
            if is_dispatcher(function):
                found.add(name_of(function))
        if inner not in known:
            known[inner] = list(_called_by(inner))
        stack.extend(known[inner])
    return frozenset(found)


@functools.cache
def claims_by_subject(package: str) -> dict[str, list[Claim]]:
    """For each subject, the claims of `package` that hold and speak about it, in order of id."""
    found: dict[str, list[Claim]] = {}
    known: Calls = {}  # claims share most of what they call
    for claim in sorted(load(package).values(), key=lambda claim: claim.id):
        if claim.expects in GATING:
            for name in reached_subjects(claim.named_functions().values(), known):
                found.setdefault(name, []).append(claim)
    return found
