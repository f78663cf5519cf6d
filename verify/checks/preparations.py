"""Whether a claim's preparation reaches every input that the stated equations admit.

Equations that free draws never meet (orthonormal columns, unit rows, a stationary point) are met by a preparation, which
makes inputs from free parameters.  It may make a thin part of the admissible inputs alone: matrices of rank one, a fixed
vector, a bound that is met with equality.  `coverage` counts directions, whatever the formula of the preparation: those in
which the inputs move with the parameters, and those in which the stated equations let them.  Where fewer are reached the
preparation says which inputs it leaves out (`verify.vocabulary.realises`), and otherwise why it reaches all.

A part of full dimension (positive diagonals, rotations alone) is no matter of directions: it is found as a property that
all drawn inputs have (`verify.checks.invariants`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verify.arithmetics import is_real
from verify.checks.evaluation import flat_tensor, raw_tensors
from verify.checks.free_inputs import masks_of
from verify.checks.record import UNCERTIFIED, UPHELD, Record, blank
from verify.checks.settings import Settings
from verify.inputs.generators import applicable_domains, systematic
from verify.vocabulary.claims import Claim
from verify.vocabulary.shapes import parameter_names

if TYPE_CHECKING:
    import torch

    Tensor = torch.Tensor

#: At how many sizes directions are counted, and at how many points of each until none is missing.
SIZES, POINTS = 5, 3
#: Slopes below this part of the largest are none.
NONE = 1e-8


@dataclass(frozen=True)
class Directions:
    """Directions of a claim's inputs at a point: all, those that the preparation goes, those that equations forbid."""

    entries: int
    gone: int
    forbidden: int
    realised: tuple[str, ...] = ()  #: the conditions whose equations forbid some

    @property
    def missing(self) -> int:
        """Directions that the stated equations leave open, and in which the preparation never goes."""
        return max(self.entries - self.forbidden - self.gone, 0)


@dataclass(frozen=True)
class _Point:
    """A preparation at one draw: of which drawn numbers its inputs `moving` are made, all as one vector each."""

    parameters: Tensor
    inputs: Mapping[str, Any]
    moving: tuple[str, ...]
    make: Callable[[Tensor], Tensor]

    def with_moving(self, values: Tensor) -> dict[str, Any]:
        """The inputs, those that move with other values."""
        import torch

        parts = torch.split(values, [self.inputs[name].numel() for name in self.moving])
        changed = {name: part.reshape(self.inputs[name].shape) for name, part in zip(self.moving, parts, strict=True)}
        return {**self.inputs, **changed}


def coverage(claim: Claim, settings: Settings) -> Directions | None:
    """In which directions the claim's preparation moves its inputs; None where it changes no input of real entries.

    Masks and other choices (inputs that jump from draw to draw and do not move) stay as they are drawn.
    """
    if not claim.prepares_inputs:
        return None
    drawn = _drawn(claim, settings)
    names = _changed(drawn) - masks_of(claim)
    if not names:
        return None
    choices = {name for name in names if _jumps(claim, drawn, name)}
    worst: Directions | None = None
    for at_size in drawn:
        best: Directions | None = None
        for raw, inputs in at_size:
            moving = tuple(
                name for name, value in inputs.items() if is_real(value) and name not in choices | masks_of(claim)
            )
            counted = _counted(claim, _point(claim, raw, inputs, moving)) if moving else None
            if counted is not None and (best is None or counted.missing < best.missing):
                best = counted
            if best is not None and not best.missing:
                break
        if best is not None and (worst is None or best.missing > worst.missing):
            worst = best
    return worst


_Drawn = tuple[dict[str, Any], dict[str, Any]]


def _drawn(claim: Claim, settings: Settings) -> list[list[_Drawn]]:
    """Drawn numbers and the inputs made of them, a few points at a few sizes."""
    domain = "generic" if "generic" in applicable_domains(claim) else None
    found, taken = [], _taken(claim)
    for draw in systematic(claim, SIZES, settings.seed, domain=domain):
        batch = raw_tensors(claim, draw.arrays(claim, POINTS), settings, "float64")
        at_size = []
        for k in range(POINTS):
            raw = {name: value if isinstance(value, int) else value[k] for name, value in batch.items()}
            at_size.append((raw, {name: value for name, value in claim.prepare(raw).items() if name in taken}))
        found.append(at_size)
    return found


def _taken(claim: Claim) -> set[str]:
    """The inputs that the claim's functions and tests take; a preparation may make others besides."""
    sides = [function for name, function in claim.named_functions().items() if name != "inputs"]
    tests = [test for item in claim.tested_assumptions for test in item.tests]
    return {name for function in (*sides, *tests) for name in parameter_names(function)}


def _changed(drawn: Sequence[Sequence[_Drawn]]) -> set[str]:
    """Inputs of real entries that are not handed on as they were drawn, once each."""
    import torch

    found: set[str] = set()
    for raw, inputs in itertools.chain.from_iterable(drawn):
        left = [value for value in raw.values() if is_real(value)]
        for name, value in inputs.items():
            if is_real(value):
                place = next((k for k, each in enumerate(left) if torch.equal(value, each)), None)
                if place is None:
                    found.add(name)
                else:
                    del left[place]
    return found


def _jumps(claim: Claim, drawn: Sequence[Sequence[_Drawn]], name: str) -> bool:
    """Whether an input differs from draw to draw and does not move with what is drawn: signs, a mask, one row of several."""
    import torch

    if all(bool((inputs[name] == at_size[0][1][name]).all()) for at_size in drawn for _, inputs in at_size):
        return False
    for raw, inputs in (at_size[0] for at_size in drawn):
        point = _point(claim, raw, inputs, (name,))
        if point.parameters.numel() and bool((torch.func.jacrev(point.make)(point.parameters) != 0).any()):
            return False
    return True


def _point(claim: Claim, raw: Mapping[str, Any], inputs: Mapping[str, Any], moving: tuple[str, ...]) -> _Point:
    import torch

    names = [name for name, value in raw.items() if is_real(value)]
    lengths = [raw[name].numel() for name in names]

    def make(parameters: Tensor) -> Tensor:
        parts = torch.split(parameters, lengths)
        drawn = {name: part.reshape(raw[name].shape) for name, part in zip(names, parts, strict=True)}
        made = claim.prepare({**raw, **drawn})
        return torch.cat([flat_tensor(made[name], parameters) for name in moving])

    return _Point(torch.cat([torch.zeros(0), *(raw[name].reshape(-1) for name in names)]), inputs, moving, make)


def _counted(claim: Claim, point: _Point) -> Directions | None:
    """Directions at a point; None where the inputs or their slopes are not finite."""
    import torch

    made = point.make(point.parameters)
    if not made.numel() or not made.isfinite().all():
        return None
    slopes, realised = [made.new_zeros(0, made.numel())], []
    for item in claim.tested_assumptions:
        if item.zero is not None:
            slope = _slope_of(claim, point, item.zero, made)
            slopes.append(slope)
            if _rank(slope):
                realised.append(item.text)
    forbidden = torch.cat(slopes)
    gone = torch.func.jacrev(point.make)(point.parameters)
    if not (gone.isfinite().all() and forbidden.isfinite().all()):
        return None
    return Directions(made.numel(), _rank(gone), _rank(forbidden), tuple(realised))


def _slope_of(claim: Claim, point: _Point, test: Callable[..., Any], made: Tensor) -> Tensor:
    import torch

    def equations(values: Tensor) -> Tensor:
        return flat_tensor(claim.evaluate(test, point.with_moving(values)), values)

    return torch.func.jacrev(equations)(made)


def _rank(slopes: Tensor) -> int:
    import torch

    if not slopes.numel() or not slopes.isfinite().all():
        return 0
    sizes = slopes.norm(dim=1)
    rows = slopes[sizes > 0] / sizes[sizes > 0, None]  # entries of very different sizes count alike
    return int((torch.linalg.svdvals(rows) > NONE).sum()) if len(rows) else 0


def problems_of_preparation(claim: Claim, settings: Settings) -> list[str]:
    """What a preparation leaves unsaid or says in vain, a line each; empty where nothing is."""
    declared = claim.realised
    found = coverage(claim, settings)
    if found is None:
        return [f"{claim.id}: the preparation changes nothing and declares what it realises"] if declared else []
    problems = []
    for text in found.realised:
        if declared is None or not declared.of(text):
            problems.append(
                f"{claim.id}: the inputs are made to meet {text!r}; expected @realises with the reason why all are"
            )
    if declared is not None and declared.conditions:
        texts = claim.assumption_texts
        absent = [each for each in declared.conditions if not any(each in text for text in texts)]
        if len(absent) == len(declared.conditions):
            problems.append(
                f"{claim.id}: no assumption says {', '.join(map(repr, absent))}, which the preparation declares"
            )
    # What is refuted at some of the admissible inputs is refuted.
    if found.missing and claim.expects != "refuted" and (declared is None or not declared.but):
        problems.append(
            f"{claim.id}: the preparation goes in {found.gone} of the {found.entries - found.forbidden} directions that the "
            "stated equations leave open; expected @realises(but=...) with what it leaves out and why"
        )
    return problems


def all_reached(claim: Claim, settings: Settings) -> Record:
    """`problems_of_preparation` as a check; what is left unsaid violates no statement, but no verdict stands on it."""
    problems = problems_of_preparation(claim, settings)
    outcome = UNCERTIFIED if problems else UPHELD
    return blank(claim, "all reached", "float64", outcome, examples=SIZES, message="; ".join(problems))
