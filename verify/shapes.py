"""Annotations that say what an argument is: enough to draw it, to make symbols of it, and to reject a wrong one.

    Tokens = Annotated[Any, Shape("L", "d_V")]

A formula whose parameters carry these annotations needs no other description of its inputs.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from verify.errors import RegistryError


@dataclass(frozen=True)
class Shape:
    """A matrix or vector with named sizes, e.g. ``Shape("L", "d_V")``.

    `role` tells the generators what the entries control: "query" marks weights that scale the attention logits,
    "gate" a vector whose zeros and signs matter.
    """

    dims: tuple[str, ...]
    role: str

    def __init__(self, *dims: str, role: str = "free") -> None:
        object.__setattr__(self, "dims", dims)
        object.__setattr__(self, "role", role)

    def resolve(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The shape as integers."""
        return tuple(int(dim) if dim.isdigit() else sizes[dim] for dim in self.dims)


@dataclass(frozen=True)
class Real:
    """A real scalar drawn from [low, high]; `avoid_zero` keeps it away from 0."""

    low: float = -2.0
    high: float = 2.0
    avoid_zero: bool = False


@dataclass(frozen=True)
class Size:
    """A Python integer equal to the named size, for arguments that are counts rather than matrices."""

    name: str


Spec = Shape | Real | Size


def parameter_specs(function: Callable[..., Any]) -> dict[str, Spec]:
    """The specification of each parameter of `function`, read from its annotations."""
    hints = typing.get_type_hints(function, include_extras=True)
    specs: dict[str, Spec] = {}
    for name in inspect.signature(function).parameters:
        metadata = getattr(hints.get(name), "__metadata__", ())
        spec = next((item for item in metadata if isinstance(item, (Shape, Real, Size))), None)
        if spec is None:
            raise RegistryError(f"{function.__qualname__}: parameter {name} has no Shape, Real or Size annotation")
        specs[name] = spec
    return specs
