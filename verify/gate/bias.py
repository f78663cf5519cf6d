"""Half precision: whether an implementation is off by more than a rounding on average, which one rounding of each entry hides.

At one point the error of a result, projected on the result, is sum(E * G) / sum(G * G): near zero for errors of roundings, which
have no preferred sign, and -0.1 for a gradient that is a tenth too small.  Over many points its mean is held to one rounding
unit of the precision by Student's t.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch

from verify.arithmetics import is_real
from verify.gate.autograd import Point
from verify.oracles.statistics import FALSE_ALARM, two_sided_p


@dataclass(frozen=True)
class Bias:
    """The mean relative error of one result, and the probability that roundings alone make it so large."""

    name: str
    mean: float
    p: float

    @property
    def is_rejected(self) -> bool:
        return self.p < FALSE_ALARM


def relative_errors(
    points: Iterable[Point],
    implementation: Callable[..., Any],
    definition: Callable[..., Any],
    dtype: torch.dtype,
    device: str,
) -> dict[str, list[float]]:
    """The projected errors of each result, one for every point at which it is finite and not zero.

    The definition is evaluated in float64 at the numbers of half precision.
    """
    found: dict[str, list[float]] = {}
    for point in points:
        given = point.in_dtype(dtype, device)
        wide = {name: x.cpu().double() if is_real(x) else x for name, x in given.items()}
        truth, yours = point.evaluate(definition, wide), point.evaluate(implementation, given)
        for name, expected in truth.items():
            error, size = yours[name].cpu().double() - expected, float((expected * expected).sum())
            if bool(error.isfinite().all()) and 0 < size < math.inf:
                found.setdefault(name, []).append(float((error * expected).sum()) / size)
    return found


def biases(errors: dict[str, list[float]], eps: float) -> list[Bias]:
    """Of every result with enough points, the worst last."""
    found = []
    for name, values in errors.items():
        if len(values) < 3:
            continue
        n, mean = len(values), sum(values) / len(values)
        spread = math.sqrt(sum((value - mean) ** 2 for value in values) / (n - 1) / n)
        beyond = abs(mean) - eps  # as if roundings themselves were all to one side
        p = 1.0 if beyond <= 0 else two_sided_p(beyond / spread, n - 1) if spread > 0 else 0.0
        found.append(Bias(name, mean, p))
    return sorted(found, key=lambda bias: (-bias.p, abs(bias.mean)))
