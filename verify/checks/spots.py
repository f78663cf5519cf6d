"""What a proof for all sizes says, held against the functions in numbers: both sides against each other and their normal forms.

Left is compared with right at sizes of the claim's ranges in floats and once in balls, and at sizes far beyond them, where a
factor shows that is too small to be seen at the others.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np

from verify.arithmetics import midpoints
from verify.arithmetics.symbols.difference import Proof, float_values
from verify.arithmetics.symbols.extents import work
from verify.arithmetics.symbols.points import NumericPoint
from verify.checks.evaluation import UNDEFINED, as_balls, flat_objects, one_of
from verify.checks.operands import admitted_sizes, free_parameters, multiplied_sizes, real_symbol, sides_of, size_symbol
from verify.inputs.generators import Draw
from verify.vocabulary.claims import Claim
from verify.vocabulary.shapes import Real, Shape, Size

#: How far a normal form may be from the functions in floats, relative to the largest entry; the unit of all residuals here.
AGREEMENT = 1e-8
#: Where every entry is smaller, both sides count as zero, and differences are taken as they are.
SMALLEST = 1e-5
#: Random assignments of sizes for the spot check, and where a certificate is kept; the smallest sizes come on top.
SPOTS, WITH_CERTIFICATE = 2, 1
#: The smallest of those with different values are drawn from.
MOST_TELLING = 6
#: Attempts at a point where both sides have finite values.
TRIES = 20
#: Far beyond the range of a claim its sizes are multiplied by the largest of these that is not too much work.
MULTIPLES = (100, 24, 8)
#: No more entries than this in all matrices that both sides make, no more matrices than that: loops run over sizes.
MOST_ENTRIES = 500_000
MOST_MATRICES = 1_000
#: Draws at which both sides are compared in balls, until one has finite values.
BALL_TRIES = 8


@dataclass
class SpotCheck:
    """The sides of an identity in floats, against each other and their normal forms, and what mutants leave, in numbers."""

    sizes: dict[str, int]
    worst: float
    mutants: dict[str, float]

    @property
    def agrees(self) -> bool:
        return self.worst <= AGREEMENT


# -- at the sizes of the claim -----------------------------------------------------------------------------------------


def spot_check(claim: Claim, proof: Proof, sizes: Mapping[str, int], seed: int) -> SpotCheck:
    """The largest difference between the functions that users import and the normal forms of both, at random inputs.

    `mutants` gives the largest entry that the terms left by each comparable mutant add up to, relative to the same scale.
    """
    found = SpotCheck(dict(sizes), np.inf, {})
    values = _sides_in_floats(claim, sizes, seed)
    if values is None:
        return found
    point, left, right, scale = values
    found.worst = max(
        _distance(left, right),
        _distance(left, float_values(proof.left, point)),
        _distance(right, float_values(proof.right, point)),
    )
    found.worst /= scale
    for name, remains in proof.mutants.items():
        if remains.value is not None:
            gaps = [float(np.abs(point.values(part)).max(initial=0.0)) for part in remains.value]
            found.mutants[name] = max(gaps, default=0.0) / scale
    return found


def _sides_in_floats(
    claim: Claim, sizes: Mapping[str, int], seed: int, scaled: bool = False
) -> tuple[NumericPoint, np.ndarray, np.ndarray, float] | None:
    """A random point where both sides have finite values, these values, and their scale; None where none was found."""
    rng = np.random.default_rng([seed, zlib.crc32(claim.id.encode()), *sizes.values()])
    formula, oracle, _ = sides_of(claim)
    for _ in range(TRIES):
        point, inputs = _random_point(claim, sizes, rng, scaled)
        left = _floats(formula(inputs))
        right = _floats(oracle(inputs)) if oracle is not None else np.zeros_like(left)
        if np.isfinite(left).all() and np.isfinite(right).all():
            largest = max(float(np.abs(left).max(initial=0.0)), float(np.abs(right).max(initial=0.0)))
            return point, left, right, largest if largest > SMALLEST else 1.0
    return None


def _random_point(
    claim: Claim, sizes: Mapping[str, int], rng: np.random.Generator, scaled: bool
) -> tuple[NumericPoint, dict[str, Any]]:
    """Random values for the operands at these sizes, and the same as inputs of the claim's functions.

    Where `scaled`, rows have norms of about one, so that products of many factors stay of their order.
    """
    import torch

    scalars: dict[Any, float] = {size_symbol(name): value for name, value in sizes.items()}
    raw: dict[str, Any] = {}
    for name, spec in claim.parameters.items():
        if isinstance(spec, Size):
            raw[name] = sizes[spec.name]
        elif isinstance(spec, Real):
            raw[name] = torch.tensor(_random_scalar(spec, rng), dtype=torch.float64)
        else:
            shape = spec.resolve(sizes)
            drawn = rng.standard_normal(shape)
            raw[name] = torch.as_tensor(drawn / np.sqrt(shape[-1]) if scaled and shape else drawn)
    inputs = claim.prepare(raw)
    arrays = {}
    for name, spec in {**claim.parameters, **free_parameters(claim)}.items():
        value = inputs.get(name, raw.get(name))
        if value is not None and isinstance(spec, Shape):
            arrays[name] = _floats(value)
            for dim, size in zip(spec.dims, value.shape, strict=True):
                if not dim.isdigit():  # a size that only the preparation knows
                    scalars.setdefault(size_symbol(dim), int(size))
        elif value is not None and isinstance(spec, Real):
            scalars[real_symbol(name, spec)] = float(value)
    return NumericPoint(scalars, arrays), inputs


def _random_scalar(spec: Real, rng: np.random.Generator) -> float:
    value = float(rng.uniform(spec.low, spec.high))
    return value if value or not spec.avoid_zero else spec.high


def _floats(value: Any) -> np.ndarray:
    """The entries of a side in floats, flattened; of several matrices one after the other."""
    if isinstance(value, (list, tuple)):
        return np.concatenate([_floats(part) for part in value])
    plain = value.detach().numpy() if hasattr(value, "detach") else midpoints(value)
    return np.asarray(plain, dtype=np.float64).reshape(-1)


def _distance(one: np.ndarray, other: np.ndarray) -> float:
    if one.shape != other.shape or not np.isfinite(other).all():
        return np.inf
    return float(np.abs(one - other).max(initial=0.0))


def spot_sizes(claim: Claim, seed: int, count: int = SPOTS) -> list[dict[str, int]]:
    """Some random assignments of sizes, with few ones where that can be helped, and the smallest, where sizes coincide.

    A size that may be 0 is so in one of them at least: the symbol that stands for it is positive.
    """
    admitted = admitted_sizes(claim)
    if not admitted:
        return []
    telling = _telling(admitted)[:MOST_TELLING]
    rng = np.random.default_rng([seed, zlib.crc32(claim.id.encode())])
    chosen = [telling[int(k)] for k in rng.permutation(len(telling))[:count]]
    while len(chosen) < count:
        chosen.append(admitted[int(rng.integers(len(admitted)))])
    chosen.append(admitted[0])
    for name, (low, _) in claim.sizes.items():
        if low < 1 and not any(sizes[name] < 1 for sizes in chosen):
            chosen += _telling([one for one in admitted if one[name] < 1])[:1]
    return chosen


def _telling(admitted: list[dict[str, int]]) -> list[dict[str, int]]:
    """Those with few ones, and as many different values as there are: what holds for equal sizes only shows."""
    rank = {id(sizes): (sum(v == 1 for v in sizes.values()), -len(set(sizes.values()))) for sizes in admitted}
    least = min(rank.values(), default=None)
    return [sizes for sizes in admitted if rank[id(sizes)] == least]


# -- far beyond them ---------------------------------------------------------------------------------------------------


def far_sizes(claim: Claim, proof: Proof) -> list[dict[str, int]]:
    """Assignments of large sizes that the claim's condition admits: all that have a range together, then each alone.

    Each is as large as both sides can be evaluated at with so many entries; a size that cannot be large is left out.
    """
    admitted = admitted_sizes(claim)
    if not admitted:
        return []
    return multiplied_sizes(claim, _telling(admitted)[0], MULTIPLES, lambda sizes: _is_feasible(claim, proof, sizes))


def _is_feasible(claim: Claim, proof: Proof, sizes: Mapping[str, int]) -> bool:
    """Whether both sides can be evaluated at these sizes in reasonable time and memory."""
    point = NumericPoint({size_symbol(name): value for name, value in sizes.items()}, {})
    try:
        entries, matrices = work(proof.extents, point.size)
    except ValueError:  # a size that only the preparation knows
        return False
    drawn = sum(
        int(np.prod(spec.resolve(sizes))) ** (1 + claim.prepares_inputs)  # which may be orthonormal columns, say
        for spec in claim.parameters.values()
        if isinstance(spec, Shape)
    )
    return entries <= MOST_ENTRIES and matrices <= MOST_MATRICES and drawn <= MOST_ENTRIES * 100


def far_spot(claim: Claim, sizes: Mapping[str, int], seed: int) -> SpotCheck:
    """The largest difference between both sides in floats at large sizes, where normal forms take too long."""
    found = SpotCheck(dict(sizes), np.inf, {})
    for scaled in (True, False):  # what is too small to compare where rows have norm one is larger where entries are
        values = _sides_in_floats(claim, sizes, seed, scaled)
        if values is not None:
            _, left, right, scale = values
            found.worst = _distance(left, right) / scale
            if scale != 1.0 or not found.agrees:
                break
    return found


# -- in balls ----------------------------------------------------------------------------------------------------------


def agree_in_balls(claim: Claim, sizes: Mapping[str, int], seed: int) -> bool | None:
    """Whether no entry of one side certainly differs from that of the other; None where none of the draws has a value."""
    formula, oracle, _ = claim.sides()
    for attempt in range(BALL_TRIES):
        draw = Draw(tuple(sizes.items()), "generic", seed + attempt)
        with contextlib.suppress(*UNDEFINED):
            inputs = claim.prepare(as_balls(one_of(claim, draw.arrays(claim, 1), 0)))
            left = flat_objects(claim.evaluate(formula, inputs))
            right = np.zeros_like(left) if oracle is None else flat_objects(claim.evaluate(oracle, inputs))
            pairs = [(flint.arb(one), flint.arb(other)) for one, other in zip(left, right, strict=True)]
            if all(one.is_finite() and other.is_finite() for one, other in pairs):
                return all(one.overlaps(other) for one, other in pairs)
    return None
