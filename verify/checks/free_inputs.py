"""Inputs that meet the tested assumptions of a claim and nothing else, and by how much its statement fails there.

Values are free (`free`), or those that the claim's preparation makes, moved a little (`moved`); Newton's method leads from
there to inputs that meet the conditions (`met`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import flint
import numpy as np

from verify.arithmetics import precision
from verify.checks.decisions import PRECISIONS, Decision
from verify.checks.evaluation import UNDEFINED, defect_of, flat_objects, flat_tensor
from verify.vocabulary.claims import Claim
from verify.vocabulary.relations import HasStructure
from verify.vocabulary.shapes import Shape

#: Steps of the search for inputs that meet the conditions, and how well they are met at the end, relative to the inputs.
STEPS, MET = 12, 1e-13
#: By how much prepared inputs are moved where free ones lead nowhere, relative to their largest entry.
MOVED = 2.0**-4
#: Which slopes count as none there, relative to the largest.
SMALL = 0.2
#: How large inputs may become: beyond, double precision says nothing of a condition.
FAR = 1e4
#: Added to the size of both sides: what lies below is no matter.
FLOOR = 1e-3
#: By how much inputs have to meet a strict condition.
MARGIN = 1e-3


def annotated_shapes(claim: Claim) -> dict[str, Shape]:
    """The shapes that the claim's functions give their matrices."""
    shapes: dict[str, Shape] = {}
    for function in claim.named_functions().values():
        for name, hint in hints_of(function).items():
            for spec in getattr(hint, "__metadata__", ()):
                if isinstance(spec, Shape):
                    shapes.setdefault(name, spec)
    return shapes


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function; none where they cannot be read."""
    try:
        return _read(function)
    except (NameError, TypeError):  # of a callable object, or of names known to a type checker alone
        return {}


@functools.cache
def _read(function: Callable[..., Any]) -> dict[str, Any]:
    return inspect.get_annotations(function, eval_str=True)


def masks_of(claim: Claim) -> set[str]:
    """The inputs of zeros and ones, which stay as they are drawn."""
    return {name for name, spec in annotated_shapes(claim).items() if spec.role == "mask"}


def free(prepared: Mapping[str, Any], masks: set[str], generator: Any) -> dict[str, Any]:
    """Inputs of the same shapes with free values of order one; integers and masks stay."""
    import torch

    values = {}
    for name, value in prepared.items():
        if name in masks:
            values[name] = value
        elif isinstance(value, torch.Tensor) and value.is_floating_point():
            values[name] = torch.randn(value.shape, generator=generator, dtype=torch.float64)
        elif isinstance(value, float):
            values[name] = torch.randn((), generator=generator, dtype=torch.float64)
        else:
            values[name] = value
    return values


def moved(prepared: Mapping[str, Any], masks: set[str], generator: Any) -> dict[str, Any]:
    """Prepared inputs, moved by a part of their size."""
    import torch

    steps = free(prepared, masks, generator)
    return {
        name: value
        if value is prepared[name]
        else torch.as_tensor(prepared[name]) + MOVED * value * torch.as_tensor(prepared[name]).abs().max()
        for name, value in steps.items()
    }


def met(claim: Claim, start: dict[str, Any], fixed: set[str], small: float | None = None) -> dict[str, Any] | None:
    """Inputs near `start` that meet the tested conditions, or None where the search finds none.

    Slopes below `small`, relative to the largest, count as none: where equations have more roots than one in a direction
    (N^2 = 0 at N != 0), they lead away from the nearest.
    """
    import torch

    moving = [
        name
        for name, value in start.items()
        if name not in fixed and isinstance(value, torch.Tensor) and value.is_floating_point()
    ]
    tests = claim.tested_assumptions
    if not moving:
        return start if not tests else None
    shapes = [start[name].shape for name in moving]
    lengths = [shape.numel() for shape in shapes]

    def at(point: Any) -> dict[str, Any]:
        parts = torch.split(point, lengths)
        return {**start, **{n: part.reshape(s) for n, part, s in zip(moving, parts, shapes, strict=True)}}

    def missed(point: Any) -> Any:
        """What is left of the equations, and by how much inequalities are missed."""
        inputs, parts = at(point), [point[:0]]
        for item in tests:
            if item.zero is not None:
                parts.append(flat_tensor(claim.evaluate(item.zero, inputs), point))
            for test, margin in ((item.positive, MARGIN), (item.nonnegative, 0.0)):
                if test is not None:
                    parts.append((margin - flat_tensor(claim.evaluate(test, inputs), point)).clamp(min=0))
        return torch.cat(parts)

    point = torch.cat([start[name].reshape(-1) for name in moving])
    try:
        for _ in range(STEPS):
            left = missed(point)
            if not left.isfinite().all():
                return None
            if left.numel() == 0 or float(left.abs().max()) <= MET * (1 + float(point.abs().max())):
                return at(point.detach()) if float(point.abs().max()) <= FAR else None
            slope = torch.func.jacrev(missed)(point)
            if not slope.isfinite().all():
                return None
            point = point - torch.linalg.lstsq(slope, left, rcond=small, driver="gelsd").solution
    except (RuntimeError, ZeroDivisionError, ValueError):  # undefined there, or no tensor: nothing to compare
        return None
    return None


def excess(claim: Claim, inputs: Mapping[str, Any]) -> float | None:
    """By how much the statement fails, relative to both sides; None where that cannot be said."""
    like = next(value for value in inputs.values() if hasattr(value, "new_zeros"))
    try:
        if isinstance(claim.relation, HasStructure):
            value = claim.evaluate(claim.the_formula, inputs)
            parts = value if isinstance(value, list) else [value]  # several matrices of which the structure speaks
            size = 1 + max(float(flat_tensor(part, like).abs().max()) for part in parts)
            difference = flat_tensor(claim.evaluate(defect_of(claim, claim.the_formula), inputs), like).abs()
        else:
            right = flat_tensor(claim.evaluate(claim.the_formula, inputs), like)
            left = flat_tensor(claim.evaluate(claim.the_oracle, inputs), like)
            size = float(left.abs().max()) + float(right.abs().max())
            difference = left - right if claim.relation.one_sided else (left - right).abs()
    except (RuntimeError, ZeroDivisionError, ValueError, TypeError, IndexError):
        return None
    if not bool(difference.isfinite().all()) or difference.numel() == 0:
        return None
    return float(difference.max()) / (size + FLOOR)


def certainly_broken(claim: Claim, inputs: Mapping[str, Any]) -> bool:
    """Whether the statement fails for certain, in balls around `inputs` that hold inputs which meet equations exactly.

    Floats alone do not show it: they cancel (minors of a matrix of low rank), and a small miss of an equation may be
    amplified (a token whose length is off by a rounding, under exp).
    """
    equations = any(item.zero is not None for item in claim.tested_assumptions)
    with precision(PRECISIONS[0]):
        near = {name: _ball_around(value, MET if equations else 0.0) for name, value in inputs.items()}
        try:
            formula, oracle, _ = claim.sides()
            right = flat_objects(claim.evaluate(formula, near))
            left = flat_objects(claim.evaluate(oracle, near)) if oracle is not None else np.zeros_like(right)
        except (*UNDEFINED, ValueError, TypeError):
            return False
        if not claim.relation.one_sided:
            return any(not flint.arb(x - y).contains(0) for x, y in np.broadcast(left, right))
        decision = Decision.of(left, right)
        return decision is not None and decision.certain


def _ball_around(value: Any, share: float) -> Any:
    """Floats as balls whose radius is a share of 1 + the largest of them; integers as they are."""
    if isinstance(value, list):
        return [_ball_around(entry, share) for entry in value]
    if not hasattr(value, "detach"):
        return value
    entries = value.detach().cpu().numpy()
    radius = share * (1 + float(abs(entries).max(initial=0.0)))
    balls = np.array([flint.arb(float(entry), radius) for entry in entries.flat], dtype=object).reshape(entries.shape)
    return balls.item() if balls.shape == () else balls
