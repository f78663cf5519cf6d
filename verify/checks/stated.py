"""Whether what a claim states is what its checks look at.

Three questions, each answered by the machine: is every assumption of a kind that it knows, and does what the assumption
names really take part (`problems_of_assumptions`); does any size stay undrawn that no assumption excludes
(`undrawn_sizes`); and does the statement hold at inputs that meet the tested assumptions and nothing else
(`broken_as_stated`), which are not made by the claim's own preparation.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from verify.checks.evaluation import raw_tensors
from verify.checks.free_inputs import (
    SMALL,
    annotated_shapes,
    certainly_broken,
    excess,
    free,
    hints_of,
    masks_of,
    met,
    moved,
)  # fmt: skip
from verify.checks.record import UNCERTIFIED, UPHELD, VIOLATED, Record, blank
from verify.checks.settings import Settings
from verify.inputs.generators import systematic
from verify.vocabulary.assumptions import Assumption, Construction, Convention, Definition, objects_of
from verify.vocabulary.claims import Claim
from verify.vocabulary.referred import bare, defaults_of, named_values, names_in
from verify.vocabulary.relations import AtMost, Equal, HasStructure
from verify.vocabulary.shapes import Shape, Size, parameter_names, sizes_in

#: Above so many free entries one point is tried: there the search for it is what takes the time.
MANY = 48
#: What lies above this, relative to both sides and the floor, is no rounding of double precision at inputs of order one.
CLEAR = 1e-5
#: How often inputs are sought at sizes that are not drawn.
ATTEMPTS = 4


# -- kinds of assumptions ----------------------------------------------------------------------------------------------


def problems_of_assumptions(claim: Claim) -> list[str]:
    """What is wrong with the assumptions of a claim, a line each; empty where all are of a kind and take part."""
    found = []
    reached, own = _reached(claim), claim.named_functions().get("inputs")
    for item in claim.assumptions:
        if isinstance(item, str):
            found.append(f"{item!r} is words alone; expected a condition, definition, convention or construction")
        elif isinstance(item, Assumption):
            if not item.tested:
                found.append(f"{item.text!r} is a condition without a test")
        elif isinstance(item, (Definition, Convention)):
            absent = [_name(each) for each in objects_of(item) if id(bare(each)) not in reached]
            if absent:
                found.append(f"{item.text!r} names {', '.join(absent)}, which no function of the claim reaches")
            if own is not None and any(bare(each) is bare(own) for each in objects_of(item)):
                found.append(f"{item.text!r} names the preparation of the inputs: expected a condition that tests them")
        elif isinstance(item, Construction):
            found += [f"{item.text!r}: {problem}" for problem in _misshapen(claim, item)]
    return found


def _misshapen(claim: Claim, item: Construction) -> Iterator[str]:
    known = {name: spec.dims for name, spec in annotated_shapes(claim).items()}
    if not any(name in known for name in item.shapes):
        yield f"none of {', '.join(item.shapes)} is an input with a shape"
    for name, dims in item.shapes.items():
        if name in known and known[name] != tuple(dims):
            yield f"{name} has the shape {known[name]}"


def _name(value: Any) -> str:
    return getattr(value, "__qualname__", repr(value))


def _reached(claim: Claim) -> set[int]:
    """The ids of the functions and values that the claim's functions refer to, directly or not."""
    seen: set[int] = set()
    stack = list(claim.named_functions().values())
    while stack:
        current = bare(stack.pop())
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
    names = set(names_in(function.__code__))
    for value in named_values(function).values():
        yield value
        if isinstance(value, types.ModuleType):  # `definitions.outputs`: the attribute is a name of its own
            yield from (vars(value)[attribute] for attribute in names if attribute in vars(value))
    yield from defaults_of(function)
    outer = function.__qualname__.split(".")[0]  # what made it: `jacobian(...)` returns a function of its own
    if outer in function.__globals__:
        yield function.__globals__[outer]


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


@dataclass(frozen=True)
class Undrawn:
    """What a claim does at sizes that are never drawn and that no stated condition excludes."""

    sizes: Mapping[str, int]
    outcome: str  #: "holds", "fails", "no inputs" that meet the conditions were found, or "unknown"


def at_undrawn_sizes(claim: Claim, settings: Settings, count: int = 6) -> list[Undrawn]:
    """The statement at the first of the undrawn sizes, at free inputs that meet the tested assumptions there."""
    return [Undrawn(sizes, _at_sizes(claim, sizes, settings)) for sizes in undrawn_sizes(claim)[:count]]


def _at_sizes(claim: Claim, sizes: Mapping[str, int], settings: Settings) -> str:
    import torch

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
    masks = masks_of(claim)
    for draw in systematic(claim, count, settings.seed):
        raw = {
            name: value if isinstance(value, int) else value[0]
            for name, value in raw_tensors(claim, draw.arrays(claim, 1), settings, "float64").items()
        }
        if compared and sum(value.numel() for value in raw.values() if isinstance(value, torch.Tensor)) > MANY:
            continue
        generator = torch.Generator().manual_seed(draw.seed % 2**31)
        prepared = claim.prepare(raw)
        found = met(claim, free(prepared, masks, generator), masks)
        if found is None and not compared:
            found = met(claim, moved(prepared, masks, generator), masks, SMALL)
        off = None if found is None else excess(claim, found)
        if found is None or off is None or (off > CLEAR and not certainly_broken(claim, found)):
            continue
        compared += 1
        if off > CLEAR and (worst is None or off > worst.excess):
            worst = Broken(claim.id, found, off)
    return Freed(compared, worst)


def comparable(claim: Claim) -> bool:
    """Whether the statement of a claim can be tried at free inputs.

    It is expected to hold, entry by entry, and none of its assumptions is words alone, which free inputs need not meet.
    """
    words_alone = any(
        isinstance(item, str) or (isinstance(item, Assumption) and not item.tested) for item in claim.assumptions
    )
    holds = claim.expects in ("holds", "reading", "gap")
    return isinstance(claim.relation, (Equal, HasStructure, AtMost)) and holds and not words_alone


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
