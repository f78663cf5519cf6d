"""What the code of a function refers to, as far as code objects show: names, and the values that they stand for."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from typing import Any


def bare(value: Any) -> Any:
    """A function without what decorates it, and other values as they are."""
    return inspect.unwrap(value) if isinstance(value, types.FunctionType) else value


def names_in(code: types.CodeType) -> Iterator[str]:
    """The names that a function and those within it refer to."""
    yield from code.co_names
    yield from code.co_freevars
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names_in(constant)


def named_values(function: types.FunctionType) -> dict[str, Any]:
    """The values that these names stand for, in its closure or its module; names that have none there are left out."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    closure = {name: cell.cell_contents for name, cell in cells if cell != types.CellType()}
    own = function.__globals__
    return {
        name: closure[name] if name in closure else own[name]
        for name in names_in(function.__code__)
        if name in closure or name in own
    }


def defaults_of(function: types.FunctionType) -> tuple[Any, ...]:
    """The values of its arguments that are not given."""
    return (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
