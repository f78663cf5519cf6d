"""Whether what a claim states is what its checks look at.

Three questions, each answered by the machine: is every assumption of a kind that it knows, and does what the assumption
names really take part (`problems_of_assumptions`); does any size stay undrawn that no assumption excludes
(`undrawn_sizes`); and does the statement hold at inputs that meet the tested assumptions and nothing else
(`broken_as_stated`), which are not made by the claim's own preparation.
"""

from __future__ import annotations

import inspect
import itertools
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np

from verify.arithmetics import precision
from verify.checks.decisions import PRECISIONS, Decision
from verify.checks.evaluation import UNDEFINED, defect_of, flat_objects, flat_tensor, raw_tensors
from verify.checks.record import UNCERTIFIED, UPHELD, VIOLATED, Record, blank
from verify.checks.settings import Settings
from verify.inputs.generators import systematic
from verify.vocabulary.assumptions import Assumption, Construction, Convention, Definition, objects_of
from verify.vocabulary.claims import Claim
from verify.vocabulary.relations import AtMost, Equal, HasStructure
from verify.vocabulary.shapes import Shape, sizes_in

#: Steps of the search for inputs that meet the conditions, and how well they are met at the end, relative to the inputs.
STEPS, MET = 12, 1e-13
#: By how much prepared inputs are moved where free ones lead nowhere, relative to their largest entry.
MOVED = 2.0**-4
#: Which slopes count as none there, relative to the largest.
SMALL = 0.2
#: Above so many free entries one point is tried: there the search for it is what takes the time.
MANY = 48
#: What lies above this, relative to both sides and the floor, is no rounding of double precision at inputs of order one.
CLEAR, FLOOR = 1e-5, 1e-3
#: By how much inputs have to meet a strict condition.
MARGIN = 1e-3


# -- kinds of assumptions ----------------------------------------------------------------------------------------------


def problems_of_assumptions(claim: Claim) -> list[str]:
    """What is wrong with the assumptions of a claim, a line each; empty where all are of a kind and take part."""
    found = []
    reached = _reached(claim)
    for item in claim.assumptions:
        if isinstance(item, str):
            found.append(f"{item!r} is words alone; expected a condition, definition, convention or construction")
        elif isinstance(item, Assumption):
            if not item.tested:
                found.append(f"{item.text!r} is a condition without a test")
        elif isinstance(item, (Definition, Convention)):
            absent = [_name(each) for each in objects_of(item) if id(_bare(each)) not in reached]
            if absent:
                found.append(f"{item.text!r} names {', '.join(absent)}, which no function of the claim reaches")
        elif isinstance(item, Construction):
            found += [f"{item.text!r}: {problem}" for problem in _misshapen(claim, item)]
    return found


def _misshapen(claim: Claim, item: Construction) -> Iterator[str]:
    known = {name: spec.dims for name, spec in _annotated(claim).items()}
    if not any(name in known for name in item.shapes):
        yield f"none of {', '.join(item.shapes)} is an input with a shape"
    for name, dims in item.shapes.items():
        if name in known and known[name] != tuple(dims):
            yield f"{name} has the shape {known[name]}"


def _annotated(claim: Claim) -> dict[str, Shape]:
    """The shapes that the claim's functions give their matrices."""
    shapes: dict[str, Shape] = {}
    for function in claim.named_functions().values():
        for name, hint in _hints(function).items():
            for spec in getattr(hint, "__metadata__", ()):
                if isinstance(spec, Shape):
                    shapes.setdefault(name, spec)
    return shapes


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return inspect.get_annotations(function, eval_str=True)
    except (NameError, TypeError):  # of a callable object, or of names known to a type checker alone
        return {}


def _bare(value: Any) -> Any:
    return inspect.unwrap(value) if isinstance(value, types.FunctionType) else value


def _name(value: Any) -> str:
    return getattr(value, "__qualname__", repr(value))


def _reached(claim: Claim) -> set[int]:
    """The ids of the functions and values that the claim's functions refer to, directly or not."""
    seen: set[int] = set()
    stack = list(claim.named_functions().values())
    while stack:
        current = _bare(stack.pop())
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, types.FunctionType):
            stack.extend(_referred_to(current))
        elif isinstance(current, type):
            stack.extend(value for value in vars(current).values() if isinstance(value, types.FunctionType))
            stack.extend(current.__bases__)
        elif isinstance(current, (tuple, list)):
            stack.extend(current)
        elif callable(current) and hasattr(current, "__dict__"):  # a callable object, such as a derivative
            stack.extend(value for value in vars(current).values() if callable(value))
            stack.append(type(current))
    return seen


def _referred_to(function: types.FunctionType) -> Iterator[Any]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    closure = {name: cell.cell_contents for name, cell in cells if _filled(cell)}
    names = set(_names_in(function.__code__))
    for name in names:
        value = closure.get(name, function.__globals__.get(name))
        yield value
        if isinstance(value, types.ModuleType):  # `definitions.outputs`: the attribute is a name of its own
            yield from (vars(value)[attribute] for attribute in names if attribute in vars(value))
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    outer = function.__qualname__.split(".")[0]  # what made it: `jacobian(...)` returns a function of its own
    if outer in function.__globals__:
        yield function.__globals__[outer]


def _filled(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _names_in(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    yield from code.co_freevars
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names_in(constant)


# -- sizes -------------------------------------------------------------------------------------------------------------


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

    def exceeded(values: tuple[int, ...]) -> bool:
        return any(all(mine <= its for mine, its in zip(values, other, strict=True)) for other in drawn)

    return [dict(zip(names, values, strict=True)) for values in others if exceeded(values)]


def _sizes_of_inputs(claim: Claim) -> set[str]:
    """The sizes of the inputs themselves; others are of what the preparation draws to make them."""
    found: set[str] = set()
    for role, function in claim.named_functions().items():
        if role != "inputs":
            for hint in _hints(function).values():
                found.update(dim for spec in getattr(hint, "__metadata__", ()) for dim in sizes_in(spec))
    return found


# -- inputs ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Broken:
    """Inputs that meet every tested assumption of a claim, at which its statement fails."""

    claim: str
    inputs: Mapping[str, Any]
    excess: float  #: by how much, relative to both sides

    def __str__(self) -> str:
        shown = ", ".join(f"{name} = {_shown(value)}" for name, value in self.inputs.items())
        return f"{self.claim}: the tested assumptions hold, the statement does not (off by {self.excess:.2g}): {shown}"


def _shown(value: Any) -> str:
    return str(value.tolist() if hasattr(value, "tolist") else value)


@dataclass(frozen=True)
class Freed:
    """What a search at free inputs saw: how many points met the conditions and were compared, and what broke."""

    compared: int
    broken: Broken | None


def broken_as_stated(claim: Claim, settings: Settings, count: int) -> Freed:
    """Look for inputs that meet the tested assumptions and nothing else, and break the statement.

    Inputs have the shapes that the claim's preparation gives them, and values that it does not choose.  Equations among
    the assumptions are met by Newton's method from there, inequalities by a penalty.  Where it converges from no free
    values, it starts at prepared ones that are moved a little.
    """
    import torch

    compared, worst = 0, None
    masks = {name for name, spec in _annotated(claim).items() if spec.role == "mask"}
    for draw in systematic(claim, count, settings.seed):
        raw = {
            name: value if isinstance(value, int) else value[0]
            for name, value in raw_tensors(claim, draw.arrays(claim, 1), settings, "float64").items()
        }
        if compared and sum(value.numel() for value in raw.values() if isinstance(value, torch.Tensor)) > MANY:
            continue
        generator = torch.Generator().manual_seed(draw.seed % 2**31)
        prepared = claim.prepare(raw)
        found = _met(claim, _free(prepared, masks, generator), masks)
        if found is None and not compared:
            found = _met(claim, _moved(prepared, masks, generator), masks, SMALL)
        excess = None if found is None else _excess(claim, found)
        if found is None or excess is None or (excess > CLEAR and not _certainly_broken(claim, found)):
            continue
        compared += 1
        if excess > CLEAR and (worst is None or excess > worst.excess):
            worst = Broken(claim.id, found, excess)
    return Freed(compared, worst)


def _free(prepared: Mapping[str, Any], masks: set[str], generator: Any) -> dict[str, Any]:
    """Inputs of the same shapes with free values of order one; integers and masks stay."""
    import torch

    free = {}
    for name, value in prepared.items():
        if name in masks:
            free[name] = value
        elif isinstance(value, torch.Tensor) and value.is_floating_point():
            free[name] = torch.randn(value.shape, generator=generator, dtype=torch.float64)
        elif isinstance(value, float):
            free[name] = torch.randn((), generator=generator, dtype=torch.float64)
        else:
            free[name] = value
    return free


def _moved(prepared: Mapping[str, Any], masks: set[str], generator: Any) -> dict[str, Any]:
    """Prepared inputs, moved by a part of their size."""
    import torch

    free = _free(prepared, masks, generator)
    return {
        name: value
        if value is prepared[name]
        else torch.as_tensor(prepared[name]) + MOVED * value * torch.as_tensor(prepared[name]).abs().max()
        for name, value in free.items()
    }


def _met(claim: Claim, start: dict[str, Any], fixed: set[str], small: float | None = None) -> dict[str, Any] | None:
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
                return at(point.detach())
            slope = torch.func.jacrev(missed)(point)
            if not slope.isfinite().all():
                return None
            point = point - torch.linalg.lstsq(slope, left, rcond=small, driver="gelsd").solution
    except (RuntimeError, ZeroDivisionError, ValueError):  # undefined there, or no tensor: nothing to compare
        return None
    return None


def _excess(claim: Claim, inputs: Mapping[str, Any]) -> float | None:
    """By how much the statement fails, relative to both sides; None where that cannot be said."""
    like = next(value for value in inputs.values() if hasattr(value, "new_zeros"))
    try:
        if isinstance(claim.relation, HasStructure):
            value = flat_tensor(claim.evaluate(claim.the_formula, inputs), like)
            left, right = flat_tensor(claim.evaluate(defect_of(claim, claim.the_formula), inputs), like), value[:0]
            size = 1 + float(value.abs().max())
            difference = left.abs()
        else:
            right = flat_tensor(claim.evaluate(claim.the_formula, inputs), like)
            left = flat_tensor(claim.evaluate(claim.the_oracle, inputs), like)
            size = float(left.abs().max()) + float(right.abs().max())
            difference = (left - right).abs() if isinstance(claim.relation, Equal) else left - right
    except (RuntimeError, ZeroDivisionError, ValueError, TypeError, IndexError):
        return None
    if not bool(difference.isfinite().all()) or difference.numel() == 0:
        return None
    return float(difference.max()) / (size + FLOOR)


def _certainly_broken(claim: Claim, inputs: Mapping[str, Any]) -> bool:
    """Whether the statement fails for certain, in balls around `inputs` that hold inputs which meet equations exactly.

    Floats alone do not show it: they cancel (minors of a matrix of low rank), and a small miss of an equation may be
    amplified (a token whose length is off by a rounding, under exp).
    """
    equations = any(item.zero is not None for item in claim.tested_assumptions)
    with precision(PRECISIONS[0]):
        near = {name: _ball_around(value, MET if equations else 0.0) for name, value in inputs.items()}
        try:
            if isinstance(claim.relation, HasStructure):
                defect = flat_objects(claim.evaluate(defect_of(claim, claim.the_formula), near))
                return any(not flint.arb(entry).contains(0) for entry in defect)
            right = flat_objects(claim.evaluate(claim.the_formula, near))
            left = flat_objects(claim.evaluate(claim.the_oracle, near))
        except (*UNDEFINED, ValueError, TypeError):
            return False
        if isinstance(claim.relation, Equal):
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


def comparable(claim: Claim) -> bool:
    """Whether the statement of a claim can be tried at free inputs.

    It is expected to hold, entry by entry, and none of its assumptions is words alone, which free inputs need not meet.
    """
    in_words = any(
        isinstance(item, str) or (isinstance(item, Assumption) and not item.tested) for item in claim.assumptions
    )
    holds = claim.expects in ("holds", "reading", "gap")
    return isinstance(claim.relation, (Equal, HasStructure, AtMost)) and holds and not in_words


def as_stated(claim: Claim, settings: Settings) -> Record:
    """The search at free inputs as a check; where no input met the conditions nothing is upheld."""
    freed = broken_as_stated(claim, settings, settings.effort.enclosed)
    if not freed.compared:
        missed = "no inputs were found that meet the stated conditions: nothing was compared"
        return blank(claim, "as stated", "float64", UNCERTIFIED, examples=settings.effort.enclosed, message=missed)
    return blank(
        claim,
        "as stated",
        "float64",
        UPHELD if freed.broken is None else VIOLATED,
        examples=settings.effort.enclosed,
        satisfied=freed.compared,
        message="" if freed.broken is None else str(freed.broken),
    )
