"""Measuring an implementation: the float checks of a claim, with the implementation in the place of the definition.

A residual is counted in rounding units that balls measure on the printed formula, as in every check of the project.
Balls bound the rounding of the printed formula.  An implementation may lose `LOST_BITS` bits more than that, for other
orders of summation and library functions that are not correctly rounded, and the report says how far it is.

Everything is called seed by seed with plain tensors, since other people's functions need not survive vmap.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from verify.arithmetics import is_tensor, midpoints
from verify.checks import attack_on
from verify.checks.evaluation import UNDEFINED, as_balls, at_objects, in_batch, one_of, raw_tensors
from verify.checks.laws import law_tests
from verify.checks.limits import LimitAttack
from verify.checks.record import UPHELD
from verify.checks.satisfied import float_satisfies, float_tests
from verify.checks.settings import HALVES, Settings, torch_dtype
from verify.checks.units import BITS, Unit, unit_at
from verify.gate.batch_places import place, places
from verify.gate.choice import arrays_of, draws_of, sizes_of, square_draws
from verify.gate.findings import (
    BROKEN,
    DEFINITION,
    LEFT_OUT,
    NOT_DIFFERENTIABLE,
    SATISFIED,
    UNCHECKABLE,
    UNREACHED,
    Finding,
)
from verify.gate.known import found_once
from verify.gate.profiles import WITHIN_HALF
from verify.gate.reach import Calls, reached_subjects
from verify.gate.standing import Standing
from verify.gate.subject_errors import NotDifferentiable, Raised, WrongResult, described
from verify.inputs.generators import Draw, applicable_domains, systematic
from verify.inputs.shrinking import shrunk
from verify.oracles.statistics import FALSE_ALARM, LawTest
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import NotFiniteError
from verify.vocabulary.relations import FollowsLaw, PowerRate, Relation, TendsTo, by_type
from verify.vocabulary.shapes import Real

#: How many more bits than the printed formula's evaluation an implementation may lose.
LOST_BITS = 4
#: The same as a number of rounding units.
ALLOWED = 2.0**LOST_BITS
#: In half precision queries, keys, logits and weights may be rounded once each, and nothing more is lost.
ALLOWED_IN_HALF = 2.0

#: How many ulps one rounding unit may have where errors are given in ulps.
WELL_CONDITIONED = 1024.0

#: As many places as two leading axes have: after a round, places meet draws of the other parity.
ROUND = len(places(2))

#: How often an implementation that is wrong is called again, to see whether it is random.
CALLS = 12
#: What is said of an implementation that is no function of its arguments.
TWICE = "two calls at the same arguments differ: it is random, or keeps a state"

#: Evaluations that the search for a small example may cost, half as many of a theorem.
TRIES = 120

#: Where an example has more entries than these, so many of the smallest sizes are tried before anything else.
READABLE, SMALLEST = 64, 40

#: Samples and instances of a statistical test: initialisers are called once per sample.
LAW_SAMPLES, LAW_INSTANCES = 2_000, 3


def allowed(dtype: str) -> float:
    """How many rounding units an implementation may be off."""
    return ALLOWED_IN_HALF if dtype in HALVES else ALLOWED


#: Which function calls which, and which subjects, directly or not, as far as it was looked up.
_CALLED: Calls = {}
_REACHED: dict[Callable[..., Any], frozenset[str]] = {}


@dataclass
class ComparedSides:
    """The two functions that a claim compares, and how their difference counts."""

    left: Callable[..., Any]
    right: Callable[..., Any] | None
    bound: bool
    standing: Standing | None = None

    @staticmethod
    def of(claim: Claim, standing: Standing | None = None) -> ComparedSides | None:
        """The sides as the attack on the claim's relation compares them; None for relations that floats do not decide."""
        compared = attack_on(claim).compared(claim)
        return None if compared is None else ComparedSides(*compared, claim.relation.one_sided, standing)

    @property
    def functions(self) -> list[Callable[..., Any]]:
        return [self.left] + ([self.right] if self.right is not None else [])

    def reached(self, function: Callable[..., Any]) -> frozenset[str]:
        """The subjects that a side calls, directly or not, looked up once for all draws and implementations."""
        if function not in _REACHED:
            _REACHED[function] = reached_subjects([function], _CALLED)
        return _REACHED[function]

    def calls(self) -> int:
        """How often the implementation was called."""
        return 0 if self.standing is None else self.standing.calls

    def excess(self, left: Any, right: Any) -> Any:
        """Entrywise, how far the statement is from holding."""
        return (left - right).clamp(min=0) if self.bound else (left - right).abs()


@dataclass
class Sample:
    """Both sides at one seed: values, and the distance of one from the other in rounding units.

    `ulps` is the error of an implementation in eps times the largest entry, where its definition is well-conditioned;
    `roundings` the difference of two equal sides in roundings of their largest entries, each of which is part of a unit.
    """

    left: Any
    right: Any
    residual: float
    ulps: float | None = None
    unit: float = math.inf
    arrays: dict[str, Any] = field(default_factory=dict)
    gap: float = math.inf
    roundings: float = math.inf


def examine(
    claim: Claim,
    standing: Standing,
    settings: Settings,
    dtype: str,
    check: str | None = None,
    briefly: bool = False,
    shrinking: bool = True,
    again: bool = False,
) -> Finding:
    """The finding of one claim in one dtype; `standing` has to be active in `verify.vocabulary.replaced`.

    `briefly`: at one draw, for theorems about an implementation that is known to be wrong.  `shrinking`: whether a small
    example is looked for where it breaks.  `again`: for a theorem that was tried in another precision, and an implementation
    that is compared with its definition in this one as well: at a quarter of the draws.
    """
    finding = Finding(check or claim.id, claim.label, dtype, UNCHECKABLE)
    standing.calls, standing.differentiated = 0, False
    try:
        if (measured := by_type(MEASURES, claim.relation)) is not None:
            measured(claim, finding, settings)
        else:
            _compare(copy.copy(claim), standing, finding, settings, briefly, shrinking, again)
    except (WrongResult, Raised) as problem:
        finding.status, finding.why = BROKEN, f"it raised {problem}" if isinstance(problem, Raised) else str(problem)
    except NotDifferentiable as problem:
        finding.why = f"{NOT_DIFFERENTIABLE}: {problem}"
    except Exception as problem:  # a derivative that torch refuses, or what the implementation's values led to
        text = described(problem)
        finding.why = f"{NOT_DIFFERENTIABLE}: {text}" if standing.differentiated else f"no value: {text}"
    finding.calls = standing.calls
    if finding.status == SATISFIED and standing.calls == 0:
        finding.status, finding.why = UNREACHED, "no check of this claim called the implementation"
    return finding


def _compare(
    claim: Claim, standing: Standing, finding: Finding, settings: Settings, briefly: bool, shrinking: bool, again: bool
) -> None:
    sides = ComparedSides.of(claim, standing)
    if sides is None:
        _leave_out(claim, finding)
        return
    claim.batched = False
    of_values = finding.check == DEFINITION
    wanted = (
        _draws_of_values(claim, settings) if of_values else settings.effort.tying(_draws_of_a_theorem(settings), again)
    )
    wanted = 1 if briefly else wanted
    finding.residual, exhausted = 0.0, False
    chosen = draws_of(claim, 4 * wanted, settings.seed)
    if of_values:
        chosen = [*(square := square_draws(claim, settings.seed)), *chosen]
        wanted += len(square)
    draws = enumerate(chosen)
    while finding.examples < wanted and not exhausted:
        # values one after the other, as they are called; of theorems as many as are missing, those that differ most first
        taken = list(itertools.islice(draws, 1 if of_values else wanted - finding.examples))
        found: list[tuple[Sample, Draw, int]] = []
        for number, draw in taken:
            with place(number + number // ROUND):
                sample = _at(
                    claim, sides, arrays_of(claim, draw), settings, finding.dtype, draw.domain not in WITHIN_HALF
                )
            found += [(sample, draw, number)] if sample is not None else []
        exhausted = not taken
        measured = False
        for sample, draw, number in sorted(found, key=lambda each: -each[0].roundings):
            # as in every check of the project, balls measure where sides differ most, if by more than a rounding
            if not of_values and sample.roundings <= (allowed(finding.dtype) if measured else 1.0):
                finding.examples += 1
                measured = True
                finding.residual = max(finding.residual, sample.roundings if sample.roundings <= 1.0 else 0.0)
                continue
            with place(number + number // ROUND):
                if not _measured(claim, sides, sample, finding.dtype, of_values):
                    continue
                measured = True
                finding.examples += 1
                if of_values and _changes(claim, sides, sample, settings, finding.dtype):
                    finding.status, finding.residual, finding.why = BROKEN, math.inf, TWICE
                    return
                if sample.residual >= finding.residual:
                    finding.residual, finding.at = sample.residual, draw.domain
                if sample.residual > allowed(finding.dtype):
                    seed = one_of(claim, sample.arrays, 0)
                    finding.status, finding.entries = BROKEN, _entries(seed)
                    if shrinking:
                        _describe_break(claim, sides, finding, seed, draw, settings)
                    return
            if sample.ulps is not None:
                finding.ulps = max(finding.ulps or 0.0, sample.ulps)
    if finding.examples:
        finding.status = SATISFIED
    else:
        finding.residual, finding.why = None, "no example satisfied the assumptions"


def sample_at(
    claim: Claim, sides: ComparedSides, arrays: dict[str, Any], settings: Settings, dtype: str, of_values: bool = False
) -> Sample | None:
    """Both sides at a batch of one seed, in rounding units; None where assumptions fail or the statement has no value.

    `of_values`: the sides are an implementation and its definition.  Then the implementation is also compared with an
    enclosure of the definition, and has to be finite where the definition is, even if balls of this precision cannot
    say how accurate it has to be.
    """
    sample = _at(claim, sides, arrays, settings, dtype)
    return sample if sample is not None and _measured(claim, sides, sample, dtype, of_values) else None


def _at(
    claim: Claim,
    sides: ComparedSides,
    arrays: dict[str, Any],
    settings: Settings,
    dtype: str,
    may_overflow: bool = True,
) -> Sample | None:
    """Both sides at a batch of one seed, not yet in rounding units; None where both `may_overflow` in half precision, and do."""
    raw = exact = raw_tensors(claim, arrays, settings, dtype)
    if dtype in HALVES:  # the definition is evaluated in float64 at the numbers of half precision
        exact = {name: value if isinstance(value, int) else value.double() for name, value in raw.items()}
        arrays = {name: value if isinstance(value, int) else value.cpu().numpy() for name, value in exact.items()}
        if not all(isinstance(value, int) or bool(value.isfinite().all()) for value in exact.values()):
            return None
    if not _satisfies(claim, sides, exact, arrays, settings):
        return None
    before = sides.calls()
    try:
        left = _side(claim, sides, sides.left, raw, arrays, settings)
        # a formula of the paper's may have no value in this precision, of which no implementation is to blame
        if sides.standing is not None and sides.calls() == before and not bool(left.isfinite().all()):
            return None
        right = _side(claim, sides, sides.right, exact, arrays, settings) if sides.right is not None else left * 0
    except (NotFiniteError, Raised):
        if _has_inputs(claim, raw):
            raise
        return None
    if dtype in HALVES and sides.right is not None:
        if may_overflow and not bool(left.isfinite().all()) and _overflows(claim, sides.right, exact, dtype):
            return None
        left = left.double()
    if not bool(right.isfinite().all()) or (sides.right is None and not bool(left.isfinite().all())):
        return None
    fits = right.shape == left.shape or right.numel() == 1
    gap = math.inf
    if fits and bool(left.isfinite().all()):  # what is not finite is infinitely far, also below a bound
        gap = float(sides.excess(left, right).max()) if left.numel() else 0.0
    sample = Sample(left, right, math.inf, arrays=arrays, gap=gap)
    if math.isfinite(gap) and left.numel() and sides.right is not None and not sides.bound:
        largest = float(left.abs().max() + right.abs().max())
        sample.roundings = _in_units(gap, 2.0 ** -BITS[dtype] * largest)
    return sample


def _satisfies(
    claim: Claim, sides: ComparedSides, exact: dict[str, Any], arrays: dict[str, Any], settings: Settings
) -> bool:
    """Whether a batch of one seed meets the assumptions; where they cannot call the implementation, it is found once."""

    def find() -> bool:
        return bool(float_satisfies(claim, exact).all())

    tests = float_tests(claim)
    asked = [*tests, *filter(None, [claim.named_functions().get("inputs")])]
    if not tests or sides.standing is None or any(sides.standing.name in sides.reached(function) for function in asked):
        return find()
    dtypes = tuple(x.dtype for x in exact.values() if is_tensor(x))
    return found_once(claim, asked, arrays, ("satisfies", dtypes, settings.device), find, sides.calls)


def _has_inputs(claim: Claim, raw: dict[str, Any]) -> bool:
    """Whether a batch of one seed prepares inputs that are finite, as no unit vector is made of a row of zeros."""
    seed = {name: value[0] if is_tensor(value) else value for name, value in raw.items()}
    return all(bool(value.isfinite().all()) for value in claim.prepare(seed).values() if is_tensor(value))


def _side(
    claim: Claim,
    sides: ComparedSides,
    function: Callable[..., Any],
    raw: dict[str, Any],
    arrays: dict[str, Any],
    settings: Settings,
) -> Any:
    """One side at a batch of one seed; one that cannot call the implementation is the same for all, and found once.

    That it was not called this time is not enough: the implementation may not have stood in the place of the definition.
    """

    def find() -> Any:
        return in_batch(claim, function, raw)[0]

    if sides.standing is None or sides.standing.name in sides.reached(function):
        return find()
    # the name: what stands for another subject is called by other sides
    dtypes = tuple(x.dtype for x in raw.values() if is_tensor(x))
    asked = ("side", sides.standing.name, dtypes, settings.device)
    return found_once(claim, [function], arrays, asked, find, sides.calls)


def _measured(claim: Claim, sides: ComparedSides, sample: Sample, dtype: str, of_values: bool) -> bool:
    """Measure a sample in rounding units; whether balls can decide there."""
    seed = one_of(claim, sample.arrays, 0)
    bits = BITS[dtype]
    unit = found_once(
        claim, sides.functions, seed, (unit_at, bits), lambda: unit_at(claim, sides.functions, seed, bits), sides.calls
    )
    if not unit.usable and dtype in HALVES and sides.right is not None and math.isfinite(sample.gap):
        # balls around logits of thousands say nothing, though their largest may be far above the others
        unit = Unit(_spread_of(claim, sides.right, sample.arrays, dtype))
        sample.residual = _in_units(sample.gap, unit.value)
        return unit.usable
    if not unit.usable:
        return of_values and not bool(sample.left.isfinite().all())
    sample.residual, sample.unit = _in_units(sample.gap, unit.value), unit.value
    if of_values and math.isfinite(sample.gap):
        _compare_with_enclosure(claim, sample, seed, unit.value, dtype)
    return True


def _spread_of(claim: Claim, definition: Callable[..., Any], arrays: dict[str, Any], dtype: str) -> float:
    """One rounding unit of half precision as the spread of the definition under roundings; infinite where it has none."""
    import torch

    from verify.gate.rounding import reference

    drawn = {name: torch.as_tensor(x[0]) if isinstance(x, np.ndarray) else x for name, x in arrays.items()}
    truth = reference(lambda at: {"": definition(**at)}, dict(claim.prepare(drawn)))
    return truth.unit("", torch.finfo(torch_dtype(dtype)).eps) if truth is not None and truth.smooth else math.inf


def _overflows(claim: Claim, definition: Callable[..., Any], exact: dict[str, Any], dtype: str) -> bool:
    """Whether the definition's own numbers are too large for half precision."""
    from verify.gate.rounding import RandomRounding, too_large

    with RandomRounding(0.0, 0) as seen:
        in_batch(claim, definition, exact)
    return too_large(seen.largest, torch_dtype(dtype))


def _changes(claim: Claim, sides: ComparedSides, sample: Sample, settings: Settings, dtype: str) -> bool:
    """Whether other calls at the same arguments give other values than the first, rounding aside."""
    for _ in range(CALLS if sample.residual > allowed(dtype) else 1):  # chance gives the same values now and then
        again = in_batch(claim, sides.left, raw_tensors(claim, sample.arrays, settings, dtype))[0]
        gap = float((again - sample.left).abs().nan_to_num(nan=0.0).max()) if again.numel() else 0.0
        # additions in another order, as on an accelerator, differ by units
        if gap > 0.0 and (sample.unit == 0.0 or gap > ALLOWED * sample.unit):
            return True
    return False


def _in_units(gap: float, unit: float) -> float:
    return 0.0 if gap == 0 else gap / unit if unit > 0 else math.inf


def _compare_with_enclosure(claim: Claim, sample: Sample, seed: dict[str, Any], unit: float, dtype: str) -> None:
    """Count the error of the values against an enclosure by the definition, also in ulps of their largest entry.

    At inputs where the definition itself must lose digits, ulps say nothing about an implementation: units do.
    """
    import torch

    truth = found_once(claim, [claim.the_oracle], seed, _enclosed, lambda: _enclosed(claim, seed))
    if truth is None or not sample.left.numel() or not bool(sample.left.isfinite().all()):
        return
    gap = float(np.max(np.abs(sample.left.detach().cpu().double().numpy() - truth)))
    sample.residual = max(sample.residual, _in_units(gap, unit))
    grain = torch.finfo(getattr(torch, dtype)).eps * float(np.max(np.abs(truth)))
    if 0 < unit <= WELL_CONDITIONED * grain:
        sample.ulps = gap / grain


def _enclosed(claim: Claim, seed: dict[str, Any]) -> np.ndarray | None:
    """The midpoints of an enclosure by the definition; None where it has none."""
    try:
        return midpoints(at_objects(claim, claim.the_oracle, as_balls(seed)))
    except UNDEFINED:
        return None


def _describe_break(
    claim: Claim, sides: ComparedSides, finding: Finding, seed: dict[str, Any], draw: Draw, settings: Settings
) -> None:
    """Shrink the inputs while the implementation stays wrong there, and keep what it gives at the smallest."""
    of_values = finding.check == DEFINITION

    def breaks(candidate: dict[str, Any]) -> bool:
        if not in_range(claim, candidate):
            return False
        try:
            sample = _at(claim, sides, batch_of_one(candidate), settings, finding.dtype)
            if sample is None or (sample.roundings <= allowed(finding.dtype) and not of_values):
                return False
            usable = _measured(claim, sides, sample, finding.dtype, of_values)
        except (WrongResult, Raised, NotDifferentiable, RuntimeError):
            return False
        return usable and sample.residual > allowed(finding.dtype)

    if _entries(seed) > READABLE:  # sizes that follow from each other cannot be made less one by one
        for sizes in sizes_of(claim)[:SMALLEST]:
            candidate = one_of(claim, arrays_of(claim, replace(draw, sizes=tuple(sizes.items()))), 0)
            if _entries(candidate) < _entries(seed) and breaks(candidate):
                seed = candidate
                break
    small = shrunk(claim, seed, breaks, TRIES if of_values else TRIES // 2)
    # nothing is excused any more: of a draw whose overflow counts, all smaller inputs may be, and the example is the draw itself
    sample = _at(claim, sides, batch_of_one(small), settings, finding.dtype, may_overflow=False)
    assert sample is not None
    _measured(claim, sides, sample, finding.dtype, of_values)
    finding.status, finding.residual = BROKEN, sample.residual
    finding.drawn = {
        name: value if isinstance(value, int) else (np.asarray(value) + 0.0).tolist() for name, value in small.items()
    }
    finding.inputs = _as_called(claim, small, settings, finding.dtype) if of_values else finding.drawn
    finding.entries = _entries(small)
    finding.yours, finding.expected = sample.left.detach().tolist()[:64], sample.right.detach().tolist()[:64]


def _as_called(claim: Claim, seed: dict[str, Any], settings: Settings, dtype: str) -> dict[str, Any]:
    """The arguments of the definition, and of the implementation, at a seed: a mask M, and not what it was drawn from."""
    raw = raw_tensors(claim, batch_of_one(seed), settings, dtype)
    prepared = claim.prepare({name: value if isinstance(value, int) else value[0] for name, value in raw.items()})
    return {
        name: (x + 0 if x.is_floating_point() else x).tolist() if is_tensor(x) else x for name, x in prepared.items()
    }


def in_range(claim: Claim, seed: dict[str, Any]) -> bool:
    """Whether the numbers of a seed are as the subject declares them, a base of angles not 0: simpler ones are not always."""
    return all(
        spec.low <= float(seed[name]) <= spec.high for name, spec in claim.parameters.items() if isinstance(spec, Real)
    )


def _entries(seed: dict[str, Any]) -> int:
    return sum(np.size(value) for value in seed.values() if not isinstance(value, int))


def batch_of_one(seed: dict[str, Any]) -> dict[str, Any]:
    """The arrays of one seed with a batch axis of length 1."""
    return {name: value if isinstance(value, int) else np.asarray(value)[None] for name, value in seed.items()}


def _draws_of_a_theorem(settings: Settings) -> int:
    """Enough to meet sizes at which an implementation takes another way, such as a fused kernel."""
    return settings.effort.examples // 2


def _draws_of_values(claim: Claim, settings: Settings) -> int:
    """Enough draws to meet every domain at two sizes and every place of a batch twice: values are cheap."""
    return max(2 * len(applicable_domains(claim)), 2 * ROUND, settings.effort.examples)


# -- laws --------------------------------------------------------------------------------------------------------------


def _law_tests(claim: Claim, formula: Callable[..., Any], draw: Draw, settings: Settings) -> list[LawTest]:
    raw = one_of(claim, arrays_of(claim, draw), 0)
    return law_tests(claim, formula, raw, draw.seed, settings, LAW_SAMPLES)


def rejected_laws(claim: Claim, formula: Callable[..., Any], settings: Settings) -> list[LawTest]:
    """The tests that reject the law of `formula`."""
    draws = systematic(claim, LAW_INSTANCES, settings.seed)
    tests = [test for draw in draws for test in _law_tests(claim, formula, draw, settings)]
    return [test for test in tests if test.p < FALSE_ALARM]


def _leave_out(claim: Claim, finding: Finding) -> None:
    finding.status = LEFT_OUT
    finding.why = f"statements of kind {claim.relation.kind!r} are not decided in floats"


def _test_laws(claim: Claim, finding: Finding, settings: Settings) -> None:
    draws = systematic(claim, LAW_INSTANCES, settings.seed)
    judge_laws(finding, [test for draw in draws for test in _law_tests(claim, claim.the_formula, draw, settings)])


def judge_laws(finding: Finding, tests: list[LawTest]) -> None:
    """Broken if one of the tests, each of which rejects a right law with probability `FALSE_ALARM`, rejects this one."""
    rejected = sorted((test for test in tests if not test.p >= FALSE_ALARM), key=lambda test: test.p)
    finding.examples = sum(test.samples for test in tests)
    finding.status = BROKEN if rejected else SATISFIED
    finding.why = (
        f"none of {len(tests)} statistical tests rejects it (false alarm below {len(tests) * FALSE_ALARM:.1g})"
    )
    if rejected:
        told = (f"p = {test.p:.2g}" if test.p == test.p else "a sample is no number" for test in rejected[:3])
        names = "; ".join(dict.fromkeys(f"{test.name}, {why}" for test, why in zip(rejected, told, strict=False)))
        finding.why = f"{len(rejected)} of {len(tests)} statistical tests reject it: {names}"


def _test_limit(claim: Claim, finding: Finding, settings: Settings) -> None:
    """A random limit, by the relation's own check; it draws thousands of networks, so not at effort quick."""
    attack = attack_on(claim)
    if not isinstance(attack, LimitAttack) or not isinstance(attack.relation.rate, PowerRate):
        _leave_out(claim, finding)
        return
    if settings.effort.name == "quick":
        finding.status, finding.why = LEFT_OUT, "a limit over growing widths: checked from effort ci on"
        return
    record = attack.random(claim, settings)
    finding.examples = record.examples
    finding.why = record.message or f"observed rate of convergence: width^{record.details['exponent']:.3g}"
    finding.status = SATISFIED if record.outcome == UPHELD else BROKEN


#: How a statement is measured, by its relation, where it is not compared draw by draw.
MEASURES: dict[type[Relation], Callable[[Claim, Finding, Settings], None]] = {
    FollowsLaw: _test_laws,
    TendsTo: _test_limit,
}
