"""Layers for the test of the gate: wrong ones, each with one change to a right one, and right ones of many kinds.

Each wrong layer is the definition with a single mistake; `cause` is what the report has to name, where a name exists.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Function = Callable[..., Any]


@dataclass(frozen=True)
class Layer:
    """One implementation of a subject; `adapter` turns it into one with the parameters of the subject."""

    name: str
    make: Callable[[], Function]
    subject: str = "hessian.attention"
    adapter: Function | None = None
    cause: str = ""


WRONG: list[Layer] = []
RIGHT: list[Layer] = []
#: By the name of a module: the wrong layers that it has added.
BY_MODULE: dict[str, list[Layer]] = {}
#: Layers after reports of other projects, by name, each with a right one of its kind.
HISTORY: dict[str, tuple[Layer, Layer]] = {}


def add(to: list[Layer], name: str, function: Function, **options: Any) -> None:
    """Add a layer that keeps nothing between two checks."""
    to.append(Layer(name, lambda: function, **options))


def beside(name: str, wrong: Function, right: Function, **options: Any) -> None:
    """Add a layer with a mistake of history, and a right one that is as like it as can be."""
    HISTORY[name] = (Layer(name, lambda: wrong, **options), Layer(f"{name}, mended", lambda: right, **options))


@functools.cache
def layers() -> tuple[list[Layer], list[Layer]]:
    """All wrong and all right layers."""
    from tests.wrong_layers import (
        arguments,
        backward,
        batches,
        blocks,
        cases,
        encodings,
        feared,
        in_use,
        kernels,
        modules,
        rights,
        seldom,
        states,
        values,
    )

    for module in (
        values,
        backward,
        blocks,
        batches,
        states,
        in_use,
        kernels,
        modules,
        encodings,
        cases,
        arguments,
        rights,
        seldom,
        feared,
    ):
        known = len(WRONG)
        module.collect()
        BY_MODULE[module.__name__.rpartition(".")[2]] = WRONG[known:]
    return WRONG, RIGHT


@functools.cache
def history() -> dict[str, tuple[Layer, Layer]]:
    """All layers after reports of other projects, by name."""
    from tests.wrong_layers import history, history_backward, summed

    for module in (history, history_backward, summed):
        module.collect()
    return HISTORY
