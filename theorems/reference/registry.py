"""Exported functions by topic and name, with what the table in docs/reference.md says of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from verify.vocabulary import Shape, parameter_specs

F = TypeVar("F", bound=Callable[..., Any])

#: Eight tokens of four features, heads of two: the sizes at which costs are counted.
EXAMPLE = {
    **dict.fromkeys(("L", "N", "n", "S", "d_s"), 8),
    **dict.fromkeys(("d", "d_V", "D", "m", "r"), 4),
    **dict.fromkeys(("d_K", "d_v"), 2),
}


@dataclass(frozen=True)
class Reference:
    """An exported function: the source's label, the claims that certify it, its cost, and its error in ulps.

    `operations` are counted at `EXAMPLE` sizes, as `verify.oracles.count` does.  `ulps` bounds the error in
    float64 and float32, in ulps of the largest entry at well-conditioned inputs; None for random functions.
    `arguments` are those of an example, shapes of matrices or integers, where annotations do not say them.
    """

    function: Callable[..., Any]
    topic: str
    source: str
    claims: tuple[str, ...]
    operations: int
    ulps: tuple[int, int] | None
    arguments: Mapping[str, tuple[int, ...] | int] | None = None

    def example(self, dtype: Any, generator: Any) -> dict[str, Any]:
        """Arguments of `EXAMPLE` sizes, by name."""
        import torch

        def matrix(*shape: int) -> Any:
            return torch.randn(shape, dtype=dtype, generator=generator)

        if self.arguments is not None:
            made = {name: matrix(*a) if isinstance(a, tuple) else a for name, a in self.arguments.items()}
            return {**made, "generator": generator, "dtype": dtype} if self.ulps is None else made
        specs = parameter_specs(self.function)
        return {
            name: matrix(*spec.resolve(EXAMPLE)) if isinstance(spec, Shape) else matrix()
            for name, spec in specs.items()
        }

    @property
    def name(self) -> str:
        return str(self.function.__name__)

    def row(self) -> str:
        """The row of the table in docs/reference.md."""
        accuracy = "exact law" if self.ulps is None else f"{self.ulps[0]}, {self.ulps[1]}"
        claims = ", ".join(self.claims)
        return f"| `theorems.{self.topic}.{self.name}` | {self.source} | {claims} | {self.operations:,} | {accuracy} |"


_references: dict[str, Reference] = {}


def certified(
    function: F, topic: str, source: str, claims: Sequence[str], operations: int, ulps: tuple[int, int] | None,
    arguments: Mapping[str, tuple[int, ...] | int] | None = None,
) -> F:  # fmt: skip
    """Register `function` for export, and return it."""
    reference = Reference(function, topic, source, tuple(claims), operations, ulps, arguments)
    _references[f"{topic}.{reference.name}"] = reference
    return function


def references() -> dict[str, Reference]:
    """All exported functions by topic and name, the topics imported."""
    from theorems import TOPICS

    for topic in TOPICS:
        importlib.import_module(f"theorems.{topic}")
    return dict(_references)
