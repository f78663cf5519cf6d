"""Sizes that stay undrawn though no assumption excludes them, and whether the statement holds there."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from verify.checks.free_inputs import excess, hints_of, masks_of, met
from verify.checks.settings import Settings
from verify.checks.stated import CLEAR
from verify.vocabulary.assumptions import Assumption
from verify.vocabulary.claims import Claim
from verify.vocabulary.shapes import Shape, Size, parameter_names, sizes_in

#: How often inputs are sought at sizes that are not drawn.
ATTEMPTS = 4


def undrawn_sizes(claim: Claim) -> list[dict[str, int]]:
    """Sizes that every stated condition admits and that are never drawn, while sizes at least as large are.

    Of larger ones nothing is asked: a claim is sampled at finitely many sizes, up to what they cost.
    """
    conditions = [item.sizes for item in claim.assumptions if isinstance(item, Assumption) and item.sizes]
    names, spoken_of = list(claim.sizes), _sizes_of_inputs(claim)
    ranges = [range(min(1, low) if name in spoken_of else low, high + 1) for name, (low, high) in claim.sizes.items()]
    drawn, others = [], []
    for values in itertools.product(*ranges):
        sizes = dict(zip(names, values, strict=True))
        inside = all(low <= sizes[name] <= high for name, (low, high) in claim.sizes.items())
        if inside and claim.where(sizes):
            drawn.append(values)
        elif all(condition(sizes) for condition in conditions):
            others.append(values)

    every = np.array(drawn).reshape(len(drawn), len(names))

    def exceeded(values: tuple[int, ...]) -> bool:
        return bool(np.any(np.all(np.array(values) <= every, axis=1)))

    return [dict(zip(names, values, strict=True)) for values in others if exceeded(values)]


@dataclass(frozen=True)
class Undrawn:
    """What a claim does at sizes that are never drawn and that no stated condition excludes."""

    sizes: Mapping[str, int]
    outcome: str  #: "holds", "fails", "no inputs" that meet the conditions were found, or "unknown"


def at_undrawn_sizes(claim: Claim, settings: Settings, count: int = 6) -> list[Undrawn]:
    """The statement at the first of the undrawn sizes, at free inputs that meet the tested assumptions there."""
    return [Undrawn(sizes, _at_sizes(claim, sizes, settings)) for sizes in undrawn_sizes(claim)[:count]]


def _at_sizes(claim: Claim, sizes: Mapping[str, int], settings: Settings) -> str:
    sides = [function for name, function in claim.named_functions().items() if name != "inputs"]
    tests = [test for item in claim.tested_assumptions for test in item.tests]
    specs = {
        name: spec
        for function in (*tests, *sides)
        for name, hint in hints_of(function).items()
        for spec in getattr(hint, "__metadata__", ())
    }
    if not claim.prepares_inputs:
        specs |= claim.parameters
    wanted = {name for function in (*sides, *tests) for name in parameter_names(function)} - {"value"}
    if wanted - set(specs) or {dim for spec in specs.values() for dim in sizes_in(spec)} - set(sizes):
        return "unknown"
    outcome = "no inputs"
    for seed in range(ATTEMPTS):
        generator, drawn = torch.Generator().manual_seed(settings.seed + seed), {}
        for name, spec in specs.items():
            shape = spec.resolve(sizes) if isinstance(spec, Shape) else ()
            drawn[name] = (
                sizes[spec.name]
                if isinstance(spec, Size)
                else torch.randn(shape, generator=generator, dtype=torch.float64)
            )
        found = met(claim, drawn, masks_of(claim))
        off = None if found is None else excess(claim, found)
        if off is not None:
            if off > CLEAR:
                return "fails"
            outcome = "holds"
    return outcome


def _sizes_of_inputs(claim: Claim) -> set[str]:
    """The sizes of the inputs themselves; others are of what the preparation draws to make them."""
    found: set[str] = set()
    for role, function in claim.named_functions().items():
        if role != "inputs":
            for hint in hints_of(function).values():
                found.update(dim for spec in getattr(hint, "__metadata__", ()) for dim in sizes_in(spec))
    return found
