"""Numeric shrinking: a found violation made small enough to read.

Hypothesis shrinks draws; this shrinks the arrays themselves, which is what a person checks by hand.  Every step keeps
the violation, as decided by the caller's predicate (in balls).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from verify.vocabulary.claims import Claim
from verify.vocabulary.shapes import Shape, Size

Predicate = Callable[[dict[str, Any]], bool]


def shrunk(claim: Claim, raw: dict[str, Any], breaks: Predicate, tries: int = 400) -> dict[str, Any]:
    """Smaller inputs that still break the claim: fewer rows, more zeros, then shorter numbers."""
    current = {
        name: value if isinstance(value, int) else np.array(value, dtype=np.float64) for name, value in raw.items()
    }
    budget = tries
    progress = True
    while progress and budget > 0:
        progress = False
        for candidate in _smaller(claim, current):
            budget -= 1
            if budget <= 0:
                break
            if breaks(candidate):
                current, progress = candidate, True
                break
    return current


def _smaller(claim: Claim, raw: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from _fewer_indices(claim, raw)
    yield from _rounded(raw)
    yield from _simpler_entries(raw)


def _fewer_indices(claim: Claim, raw: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Drop the last index of one named size from every array that has it."""
    specs = claim.parameters
    sizes: dict[str, int] = {}
    for name, value in raw.items():
        spec = specs[name]
        if isinstance(spec, Shape):
            sizes.update({dim: length for dim, length in zip(spec.dims, value.shape, strict=True) if not dim.isdigit()})
        elif isinstance(spec, Size):
            sizes[spec.name] = value
    for dim, length in sizes.items():
        smaller = {**sizes, dim: length - 1}
        if dim not in claim.sizes or length - 1 < claim.sizes[dim][0] or not claim.where(smaller):
            continue
        cut = dict(raw)
        for name, value in raw.items():
            spec = specs[name]
            if isinstance(spec, Shape) and dim in spec.dims:
                cut[name] = value[tuple(slice(0, -1) if axis == dim else slice(None) for axis in spec.dims)]
            elif isinstance(spec, Size) and spec.name == dim:
                cut[name] = length - 1
        yield cut


def _rounded(raw: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All entries rounded to integers, halves, or few bits."""
    for grid in (1.0, 0.5, 0.125, 2.0**-8):
        rounded = {
            # asarray: numpy turns arrays without axes into scalars
            name: value if isinstance(value, int) else np.asarray(np.round(value / grid) * grid)
            for name, value in raw.items()
        }
        if any(not isinstance(value, int) and np.any(rounded[name] != value) for name, value in raw.items()):
            yield rounded


def _simpler_entries(raw: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One entry replaced by 0, by a sign, or by an integer nearer to zero."""
    for name, value in raw.items():
        if isinstance(value, int):
            continue
        for index in np.ndindex(*value.shape):
            x = float(value[index])
            for simpler in (0.0, float(np.sign(x)), float(np.trunc(x)), float(np.trunc(x / 2))):
                if _weight(simpler) < _weight(x):
                    changed = value.copy()
                    changed[index] = simpler
                    yield {**raw, name: changed}


def _weight(x: float) -> tuple[int, float]:
    """How hard a number is to read: bits of its denominator, then its size."""
    return (0 if x == 0 else 1 + len(str(x)), abs(x))
