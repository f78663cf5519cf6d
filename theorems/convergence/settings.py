"""What claims of several parts draw: shapes of data, ranges of scalars, sizes as numbers, widths of limits, weights."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

from verify.oracles import standard_normal
from verify.vocabulary import Definition, Real, Shape, Size

Tokens = Annotated[Any, Shape("d_s", "d")]
Features = Annotated[Any, Shape("N", "d")]
SquareQuery = Annotated[Any, Shape("d", "d", role="query")]
Square = Annotated[Any, Shape("d", "d")]
#: The matrices among which a law of finitely many samples chooses.
Support = Annotated[Any, Shape("m", "d_s", "d")]

Positive = Annotated[Any, Real(0.0625, 2.0)]
Scale = Variance = Positive
#: A constant that the paper hides in Theta or Omega.
Hidden = Annotated[Any, Real(0.00390625, 1.0)]

SampleCount = Annotated[int, Size("N")]
Length = Annotated[int, Size("d_s")]
Dimension = Annotated[int, Size("d")]
Width = Annotated[int, Size("d_m")]

#: Widths at which limits are sampled; from 64 on the logits are small enough for the rate to show.
WIDTHS = (64, 256, 1024, 4096, 16384)

#: What the paper calls standard Gaussian.
GAUSSIAN = Definition("entries independent standard normal", by=standard_normal)


def drawn(**kinds: Any) -> Callable[..., dict[str, Any]]:
    """The inputs of a claim as they are drawn, by name: for a claim whose formula does not take them all."""

    def inputs(**values: Any) -> dict[str, Any]:
        return values

    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in kinds]
    inputs.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    inputs.__annotations__ = kinds
    return inputs
