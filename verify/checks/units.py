"""How large a difference is, in units that the arithmetic itself supplies.

A float residual is divided by the radius that ball arithmetic of the same precision attaches to the same expression
at the same inputs: the radius is eps times the conditioning of the evaluation, cancellation included.  A right formula
therefore lands near or below 1 whatever its conditioning and size, and nothing is tuned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np

from verify.arithmetics import largest_radius, midpoints, precision
from verify.checks.evaluation import UNDEFINED, as_balls, flat_objects
from verify.vocabulary.claims import Claim

BITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
#: What is rounded to fewer bits is computed with so many inside.
INSIDE = 24
#: By bits of precision: below these numbers floats lose relative precision, which balls do not.
SMALLEST_NORMAL = {53: 2.0**-1022, 24: 2.0**-126, 11: 2.0**-14, 8: 2.0**-126}


@dataclass
class Unit:
    """The size of one rounding error of an evaluation at given inputs."""

    value: float

    @property
    def usable(self) -> bool:
        return math.isfinite(self.value)


def rounding_unit(values: list[np.ndarray], bits: int) -> Unit:
    """The unit of a comparison between several ball evaluations made at `bits` bits.

    The sum of their largest radii, plus one rounding of the largest value each, since an evaluation that happens to
    be exact in balls still rounds in floats.
    """
    size = sum(largest_radius(value) for value in values)
    scale = sum(float(np.max(np.abs(midpoints(value)), initial=0.0)) for value in values)
    unit = size + 2.0**-bits * scale
    return Unit(unit + SMALLEST_NORMAL.get(bits, 0.0) if unit else 0.0)


def unit_at(
    claim: Claim, functions: list[Callable[..., Any]], raw: Mapping[str, Any], bits: int, least: float = math.inf
) -> Unit:
    """The rounding unit of `functions` at one seed; unusable (infinite) when balls of this precision cannot decide.

    Where the first of the functions have a unit of `least` already, it is the unit of these alone, which is no greater: to
    know that it is no less, the others need not run.

    The drawn inputs carry one rounding each: an evaluation counts as right when it is right for inputs one rounding
    away, so that backward stable kernels (reverse mode, matrix exponential) are measured fairly.  In half precision the
    inputs and the result carry roundings of theirs, and what is between them those of float32.
    """
    with precision(max(bits, INSIDE)):
        try:
            lifted = {name: _rounded_once(value, bits) for name, value in as_balls(raw).items()}
            inputs, values, unit = claim.prepare(lifted), [], Unit(0.0)
            for function in functions:
                values.append(flat_objects(claim.evaluate(function, inputs)))
                unit = rounding_unit(values, bits)
                if unit.usable and unit.value >= least:
                    break
            return unit
        except UNDEFINED:
            return Unit(math.inf)


def _rounded_once(value: Any, bits: int) -> Any:
    """Balls with the radius of one rounding to `bits` bits added to every entry."""
    if isinstance(value, int):
        return value
    if isinstance(value, flint.arb):
        return value + flint.arb(0, abs(value).upper() * flint.arb(2) ** -bits)
    return np.array([_rounded_once(entry, bits) for entry in value.flat], dtype=object).reshape(value.shape)


def magnitude(array: np.ndarray) -> flint.arb:
    """The largest absolute value of a ball array, as a ball."""
    best = flint.arb(0)
    for entry in array:
        best = best.max(abs(flint.arb(entry)))
    return best
