"""What is wrong with the assumptions of a claim: `problems_of_assumptions`.

Every assumption has to be of a kind that the machine knows, and what it names has to take part.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any

from verify.checks.free_inputs import annotated_shapes
from verify.vocabulary.assumptions import Assumption, Construction, Convention, Definition, objects_of
from verify.vocabulary.claims import Claim
from verify.vocabulary.referred import bare, defaults_of, named_values, names_in


def problems_of_assumptions(claim: Claim) -> list[str]:
    """What is wrong with the assumptions of a claim, a line each; empty where all are of a kind and take part."""
    found = []
    reached, own = _reached(claim), claim.named_functions().get("inputs")
    for item in claim.assumptions:
        if isinstance(item, str):
            found.append(f"{item!r} is words alone; expected a condition, definition, convention or construction")
        elif isinstance(item, Assumption):
            if not item.tested:
                found.append(f"{item.text!r} is a condition without a test")
        elif isinstance(item, (Definition, Convention)):
            absent = [_name(each) for each in objects_of(item) if id(bare(each)) not in reached]
            if absent:
                found.append(f"{item.text!r} names {', '.join(absent)}, which no function of the claim reaches")
            if own is not None and any(bare(each) is bare(own) for each in objects_of(item)):
                found.append(f"{item.text!r} names the preparation of the inputs: expected a condition that tests them")
        elif isinstance(item, Construction):
            found += [f"{item.text!r}: {problem}" for problem in _misshapen(claim, item)]
    return found


def _misshapen(claim: Claim, item: Construction) -> Iterator[str]:
    known = {name: spec.dims for name, spec in annotated_shapes(claim).items()}
    if not any(name in known for name in item.shapes):
        yield f"none of {', '.join(item.shapes)} is an input with a shape"
    for name, dims in item.shapes.items():
        if name in known and known[name] != tuple(dims):
            yield f"{name} has the shape {known[name]}"


def _name(value: Any) -> str:
    return getattr(value, "__qualname__", repr(value))


def _reached(claim: Claim) -> set[int]:
    """The ids of the functions and values that the claim's functions refer to, directly or not."""
    seen: set[int] = set()
    stack = list(claim.named_functions().values())
    while stack:
        current = bare(stack.pop())
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, types.FunctionType):
            stack.extend(_all_referred_to(current))
        elif isinstance(current, type):
            stack.extend(value for value in vars(current).values() if isinstance(value, types.FunctionType))
            stack.extend(current.__bases__)
        elif isinstance(current, (tuple, list)):
            stack.extend(current)
        elif callable(current) and hasattr(current, "__dict__"):  # a callable object, such as a derivative
            stack.extend(value for value in vars(current).values() if callable(value))
            stack.append(type(current))
    return seen


@functools.cache
def _all_referred_to(function: types.FunctionType) -> tuple[Any, ...]:
    """Claims reach the same functions over and over."""
    return tuple(_referred_to(function))


def _referred_to(function: types.FunctionType) -> Iterator[Any]:
    names = set(names_in(function.__code__))
    for value in named_values(function).values():
        yield value
        if isinstance(value, types.ModuleType):  # `definitions.outputs`: the attribute is a name of its own
            yield from (vars(value)[attribute] for attribute in names if attribute in vars(value))
    yield from defaults_of(function)
    outer = function.__qualname__.split(".")[0]  # what made it: `jacobian(...)` returns a function of its own
    if outer in function.__globals__:
        yield function.__globals__[outer]
