"""Attacks on equalities of a formula with its oracle, and on structure as a defect that vanishes."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import flint
import numpy as np

from verify.arithmetics import free_exponentials, midpoints
from verify.checks.attack import Attack, Check
from verify.checks.evaluation import (
    UNDEFINED,
    all_in_batch,
    as_balls,
    as_rationals,
    defect_of,
    flat_objects,
    one_of,
    shapes_differ,
)
from verify.checks.fixed_sizes import proved_at_sizes
from verify.checks.foresight import Ahead, Evaluated, Plan, plan
from verify.checks.record import SEPARATION, UPHELD, VIOLATED, Record, blank, scored, separation_of
from verify.checks.satisfied import float_tests, floats_meet, satisfies
from verify.checks.search import Tally, Violated, search
from verify.checks.settings import Settings
from verify.checks.units import BITS, Unit, magnitude, unit_at
from verify.inputs.generators import WIDE, Arrays, Draw, at_scales, systematic
from verify.inputs.witnesses import Given, Witnesses, data_of, witnesses_of
from verify.vocabulary.claims import Claim, Mutant
from verify.vocabulary.errors import ArithmeticUnsupported
from verify.vocabulary.relations import Equal, HasStructure

#: A right formula stays below one unit: the unit already adds the rounding of the formula to that of the oracle.
ROUNDING_LIMIT = 1.0
#: Where fewer than one draw in so many is decided, the draws that are become witnesses.
RARE = 2
#: Draws made for each that is wanted where none of the first ones can be decided: square roots of sizes may be in the way.
FURTHER = 64
#: A mutant this many units away is not measured again.
CLEARLY_DEAD = 10 * SEPARATION
#: So many seeds of a batch that balls cannot decide are passed over for the next worst one.
UNDECIDED = 4


class EqualityAttack(Attack[Equal | HasStructure]):
    """Both sides compared on floats in rounding units, in balls, and exactly where the claim allows it."""

    def left(self, claim: Claim) -> Callable[..., Any]:
        return claim.the_formula

    def right(self, claim: Claim) -> Callable[..., Any] | None:
        return claim.the_oracle

    def compared(self, claim: Claim) -> tuple[Callable[..., Any], Callable[..., Any] | None]:
        return self.left(claim), self.right(claim)

    def mutated(self, claim: Claim, function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    def checks(self, claim: Claim, settings: Settings) -> list[Check]:
        checks = [
            Check(f"sampled {dtype}", dtype, lambda claim, settings, dtype=dtype: self.sampled(claim, settings, dtype))  # type: ignore[misc]
            for dtype in settings.dtypes
        ]
        checks.append(Check("enclosed", "ball", self.enclosed))
        if claim.exact:
            checks.append(Check("exact", "exact", self.decided))
        if claim.all_sizes:
            checks.append(Check("proved", "symbols", self.proved))
        if claim.proved_at_sizes:
            checks.append(Check("proved at sizes", "polynomials", proved_at_sizes))
        if claim.scales:
            checks.append(Check("at scale", "ball", self.scaled))
        return checks

    def proved(self, claim: Claim, settings: Settings) -> Record:
        from verify.checks.proofs import proved

        return proved(claim, settings)

    # -- floats against the oracle -------------------------------------------------------------------------------------

    def sampled(self, claim: Claim, settings: Settings, dtype: str) -> Record:
        """Compare on batches of drawn tensors; the worst seed of each batch is measured in rounding units."""
        try:
            return self._sampled(
                claim, settings, dtype, plan(claim, settings, witnesses_of(claim, f"sampled {dtype}"), dtype)
            )
        except Violated as found:  # a search draw by draw finds it again, and shrinks it
            record = self._sampled(claim, settings, dtype)
            if record.outcome == UPHELD:  # but what was found stands, even if it is not found again
                record.outcome, record.message = VIOLATED, str(found)
                record.details.update(found.details)
            return record
        except Exception:  # the draw that raises is found, and shrunk, by a search
            return self._sampled(claim, settings, dtype)

    def _sampled(self, claim: Claim, settings: Settings, dtype: str, planned: Plan | None = None) -> Record:
        """As `sampled`: at these draws, which are evaluated ahead, where what is violated raises; or by a search."""
        sampling, violated = _Sampling(self, claim, settings, dtype), None
        if planned is None:
            violated = sampling.search()
        else:
            sampling.through(planned)
        record = self._record(
            claim, f"sampled {dtype}", dtype, sampling.tally, sampling.worst, sampling.mutants, violated, settings
        )
        record.details["witnesses"] = sampling.found.data()
        return record

    def differing(self, claim: Claim, seed: dict[str, Any], draw: Draw | Given) -> Violated | None:
        """What balls find at one seed: that both sides differ for certain, or None."""
        try:
            inputs = claim.prepare(as_balls(seed))
            if satisfies(claim, inputs) is not True:
                return None
            left, right, problem = self._both(claim, inputs)
            residual = math.inf if problem else _object_residual(left, right, "ball")[0]
        except UNDEFINED:
            return None
        if residual <= 1.0:
            return None
        described = _described(draw, seed, midpoints(left), midpoints(right), residual)
        return Violated("the two sides differ for certain (ball), where floats overflow", described)

    def _both(self, claim: Claim, inputs: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, str | None]:
        """Both sides at prepared inputs of one seed, in ball or exact arithmetic, and how their shapes differ.

        The oracle goes first, as in floats the formula does: neither can read what the other leaves somewhere.
        """
        oracle = self.right(claim)
        other = claim.evaluate(oracle, inputs) if oracle is not None else None
        value = claim.evaluate(self.left(claim), inputs)
        left = flat_objects(value)
        if oracle is None:
            return left, np.zeros(left.shape, dtype=object), None
        return left, flat_objects(other), shapes_differ(value, other)

    def sides(self, claim: Claim) -> list[Callable[..., Any]]:
        right = self.right(claim)
        return [self.left(claim)] + ([right] if right is not None else [])

    def compared_in_shape(self, claim: Claim) -> list[Callable[..., Any]]:
        """Both sides, each call of the oracle after one of the formula at the same inputs, with values of one shape."""
        left, *right = self.sides(claim)
        values: list[Any] = []

        @functools.wraps(left)
        def noted(*args: Any, **inputs: Any) -> Any:
            values[:] = [left(*args, **inputs)]
            return values[0]

        def like_left(function: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(function)
            def compared(*args: Any, **inputs: Any) -> Any:
                value = function(*args, **inputs)
                if (problem := shapes_differ(values[0], value)) is not None:
                    raise Violated(problem, {})
                return value

            return compared

        return [noted, *map(like_left, right)]

    def _record(
        self,
        claim: Claim,
        check: str,
        arithmetic: str,
        tally: Tally,
        worst: float,
        mutants: dict[str, float],
        found: Violated | None,
        settings: Settings,
        limit: float = ROUNDING_LIMIT,
    ) -> Record:
        details = dict(found.details) if found else {}
        violated = found is not None or worst > limit
        message = str(found) if found else "no example satisfied the assumptions" if tally.satisfied == 0 else ""
        return blank(
            claim,
            check,
            arithmetic,
            VIOLATED if violated or tally.satisfied == 0 else UPHELD,
            device=settings.device if arithmetic.startswith("float") else "cpu",
            **tally.values(),
            worst_residual=worst,
            separation=separation_of(mutants, worst),
            mutants={name: scored(value) for name, value in mutants.items()},
            message=message,
            details=details,
        )

    # -- balls and rationals against jets ------------------------------------------------------------------------------

    def enclosed(self, claim: Claim, settings: Settings) -> Record:
        """Both sides in balls at full precision: every difference must contain zero, every mutant exclude it."""
        most = settings.effort.tying(settings.effort.enclosed, claim.all_sizes)
        draws = systematic(claim, 8 * most, settings.seed)
        further = _further_draws(claim, FURTHER * most, settings.seed)
        return self._objects(claim, settings, "enclosed", "ball", draws, most, further)

    def scaled(self, claim: Claim, settings: Settings) -> Record:
        """The same at the sizes that the source names; mutants die at smaller ones."""
        draws = at_scales(claim, settings.effort.scaled, settings.seed)
        return self._objects(claim, settings, "at scale", "ball", draws, len(draws), with_mutants=False)

    def decided(self, claim: Claim, settings: Settings) -> Record:
        """Both sides in exact arithmetic with free exponentials: every difference must be zero.

        Inputs are random rationals of large height, so a zero decides an identity of rational functions at those sizes
        but for a probability below (degree / 2^21) per point.
        """
        draws = systematic(claim, 8 * settings.effort.exact, settings.seed, domain=WIDE)
        with free_exponentials(settings.seed):
            further = _further_draws(claim, FURTHER * settings.effort.exact, settings.seed, WIDE)
            return self._objects(claim, settings, "exact", "exact", draws, settings.effort.exact, further)

    def _objects(
        self,
        claim: Claim,
        settings: Settings,
        check: str,
        arithmetic: str,
        attempts: list[Draw],
        count: int,
        further: Iterable[Draw] = (),
        with_mutants: bool = True,
    ) -> Record:
        """Decide the claim at the first `count` of the attempted draws that satisfy the assumptions.

        Where none of them does, at the first of `further` ones.  A claim that is proved needs fewer once its mutants are dead,
        but for the sizes that a source names, each of which is to be decided.  One that is expected to be broken, and is,
        needs no more.
        """
        fewer = settings.effort.confirming(count, claim.all_sizes) if with_mutants else count
        refuted = claim.expects == "refuted" and not settings.effort.anew  # which its counterexample decides
        tally, worst, agreement, met_at = Tally(), 0.0, -math.inf, Witnesses()
        tried = claim.mutants if with_mutants else []
        mutants = {mutant.name: 0.0 for mutant in tried}
        found: Violated | None = None
        lift = as_balls if arithmetic == "ball" else as_rationals
        first = [*witnesses_of(claim, check).starts, *attempts]
        for number, draw in enumerate(itertools.chain(first, further)):
            dead = all(score >= SEPARATION for score in mutants.values())
            if tally.satisfied >= ((fewer if dead else count) if number < len(first) else 1):
                break
            if refuted and found is not None and dead:
                break
            seed = one_of(claim, draw.arrays(claim, 1), 0)
            try:
                inputs = claim.prepare(lift(seed))
                met = satisfies(claim, inputs)
                if met is not True:
                    tally.count(draw, 1, 0, 0)
                    continue
                left, right, problem = self._both(claim, inputs)
                residual, digits = (math.inf, -math.inf) if problem else _object_residual(left, right, arithmetic)
                for mutant in tried:
                    if mutants[mutant.name] >= CLEARLY_DEAD and not settings.effort.anew:
                        continue
                    wrong = flat_objects(claim.evaluate(self.mutated(claim, mutant.function), inputs))
                    gap = math.inf if wrong.shape != right.shape else _object_residual(wrong, right, arithmetic)[0]
                    mutants[mutant.name] = max(mutants[mutant.name], gap)
            except UNDEFINED:
                tally.count(draw, 1, 0, 1)
                continue
            tally.count(draw, 1, 1, 0)
            met_at.points.append(data_of(draw, 1))
            worst, agreement = max(worst, residual), max(agreement, digits)
            if residual > 1.0 and found is None:
                found = Violated(
                    problem or f"the two sides differ for certain ({arithmetic})",
                    _described(draw, seed, midpoints(left), midpoints(right), residual),
                )
        record = self._record(claim, check, arithmetic, tally, worst, mutants, found, settings, limit=1.0)
        if arithmetic == "ball" and math.isfinite(agreement):
            record.details["agreement"] = 10.0**agreement
        if tally.examples > RARE * tally.satisfied:
            record.details["witnesses"] = met_at.data()
        return record


class _Sampling:
    """How far both sides are apart on floats, and how far each mutant is from the truth, at the draws examined so far."""

    def __init__(self, attack: EqualityAttack, claim: Claim, settings: Settings, dtype: str) -> None:
        self.attack, self.claim, self.settings, self.dtype = attack, claim, settings, dtype
        self.ahead: Ahead | None = None
        self.sides = attack.sides(claim)
        self.tally, self.worst = Tally(), 0.0
        self.mutants = {mutant.name: 0.0 for mutant in claim.mutants}
        self.found = Witnesses()
        self._kept = witnesses_of(claim, f"sampled {dtype}")
        self._repeats = settings.repeats(self._kept.code)
        #: Units at which a mutant is not measured again; where an earlier search found how far away it is, it need only be dead.
        self._settled = SEPARATION if self._repeats else CLEARLY_DEAD
        #: Where that search found mutants dead, with those that it found dead elsewhere and that are measured there.
        self._waiting = self._kept.elsewhere() if self._repeats else {}
        self._elsewhere: frozenset[str] = frozenset()
        self._starts = list(self._waiting) or self._kept.starts

    def search(self) -> Violated | None:
        """The kept draws first, then what is searched for."""
        examples = self.settings.effort.tying(self.settings.effort.examples, self.claim.all_sizes)
        return search(self.claim, self.settings, self.examine, examples, first=self._starts)

    def through(self, planned: Plan) -> None:
        """The kept draws and these; raises `Violated`."""
        self.ahead = self._ahead([*self._starts, *planned.certain])
        for draw in self._starts:
            self.examine(draw)
        if self._repeats and self.worst > ROUNDING_LIMIT and self.claim.expects == "refuted":
            return  # it is broken, where it was broken before: its counterexample decides, not this search
        for draw in planned.examined(self.tally):
            self.examine(draw)

    def examine(self, draw: Draw | Given) -> None:
        """Compare at one draw, and keep it where it shows more than those before; raises `Violated`."""
        before, worst_before, seeds = dict(self.mutants), self.worst, draw.seeds or self.settings.effort.batch
        self._elsewhere = self._waiting.get(draw, frozenset())
        try:
            self._compare(draw)
        finally:
            self.found.note(before, self.mutants, data_of(draw, seeds), SEPARATION)
            if self.worst > max(worst_before, ROUNDING_LIMIT):  # of a claim that is refuted, where it breaks
                self.found.points[:] = [data_of(draw, seeds)]
        if self._starts and draw is self._starts[-1]:
            self._kept.require_dead(self.claim, self.mutants, SEPARATION)

    def _compare(self, draw: Draw | Given) -> None:
        at = self._evaluated(draw)
        left, right = at.values[0], at.values[1] if len(self.sides) == 2 else at.values[0] * 0
        finite = (left.isfinite() & right.isfinite()).all(1)
        usable = floats_meet(self.claim, at.values[len(self.sides) :], finite)

        def count(decided: int) -> None:
            self.tally.count(draw, len(finite), decided, int((~finite).sum()))

        one_sided = (left.isfinite() != right.isfinite()).any(1) if len(self.sides) == 2 else ~finite
        if bool(one_sided.any()):  # at one of these seeds balls say whether the sides differ or floats overflow
            seed = one_of(self.claim, at.arrays, int(one_sided.nonzero()[0, 0]))
            if broken := self.attack.differing(self.claim, seed, draw):
                self.worst = math.inf
                if self.claim.expects != "refuted":
                    count(int(usable.sum()))
                    raise broken
        if not bool(usable.any()):
            return count(0)
        difference = (left - right).abs().amax(1) if left.shape[1] else left.sum(1)
        # halves, of which no sum overflows
        size = (left.abs() / 2 + right.abs() / 2).amax(1) if left.shape[1] else left.sum(1)
        found = self._worst_seed(at, difference, size, usable)
        if found is None:
            return count(int(usable.sum()))
        index, unit = found
        if not (unit.usable and bool(usable.any())):
            return count(0)
        count(int(usable.sum()))
        residual = _in_units(float(difference[index]), unit.value)
        self.worst = max(self.worst, residual)
        self._score(at, right, size, usable, index, unit)
        if residual > ROUNDING_LIMIT and self.claim.expects != "refuted":
            raise Violated(
                f"residual {residual:.3g} units",
                _described(draw, one_of(self.claim, at.arrays, index), left[index], right[index], residual),
            )
        return None

    def _evaluated(self, draw: Draw | Given) -> Evaluated:
        if self.ahead is not None and draw in self.ahead:
            return self.ahead.at(draw)
        return self._ahead([draw]).at(draw)

    def _ahead(self, points: Sequence[Draw | Given]) -> Ahead:
        functions = [*self.attack.compared_in_shape(self.claim), *float_tests(self.claim)]
        return Ahead(self.claim, functions, points, self.settings, self.dtype)

    def _worst_seed(self, at: Evaluated, difference: Any, size: Any, usable: Any) -> tuple[int, Unit] | None:
        """The seed where the sides differ most, with its unit; None where it is no worse than what is known.

        Seeds at which digits are lost by underflow, or nothing can be decided, are left out and struck from `usable`.
        """
        undecided = 0
        while True:
            index = int(_relative(difference, size).masked_fill(~usable, -1.0).argmax())
            # a unit is no less than one rounding of the largest entries, which shows what cannot be worse
            rounding = 2.0 ** (1 - BITS[self.dtype]) * float(size[index])
            settled = not self._alive()
            # of a search that repeats another it is enough to know that a difference is no violation
            known = ROUNDING_LIMIT if self._repeats else min(self.worst, ROUNDING_LIMIT)
            known = known if settled else 0.0
            if settled and _in_units(float(difference[index]), rounding) <= max(self.worst, known):
                return None
            # nor is it less than the unit of the first side, which is often the shorter one; every violation is measured
            least = float(difference[index]) / known if known > 0 else math.inf
            unit = self._unit(at.arrays, index, least)
            if unit.usable and unit.value >= least:
                return None
            if not unit.usable and undecided < UNDECIDED and int(usable.sum()) > 1:
                usable[index], undecided = False, undecided + 1  # the next worst seed decides
                continue
            if not (unit.usable and bool(usable.any())):
                return index, unit
            residual = _in_units(float(difference[index]), unit.value)
            if (
                residual <= ROUNDING_LIMIT
                or self.worst > ROUNDING_LIMIT
                or not _underflows(self.claim, self.sides, at.raw, index)
            ):
                return index, unit
            usable[index] = False  # the next worst seed decides

    def _unit(self, arrays: Arrays, index: int, least: float = math.inf) -> Unit:
        return unit_at(self.claim, self.sides, one_of(self.claim, arrays, index), BITS[self.dtype], least)

    def _alive(self) -> list[Mutant]:
        """The mutants that are still to be measured, at the draw that is examined."""
        return [
            mutant
            for mutant in self.claim.mutants
            if self.mutants[mutant.name] < self._settled and mutant.name not in self._elsewhere
        ]

    # -- mutants -------------------------------------------------------------------------------------------------------

    def _score(self, at: Evaluated, right: Any, size: Any, usable: Any, index: int, unit: Unit) -> None:
        """Measure the mutants that are not clearly dead: at the worst seed, at a typical one, and each where it is farthest."""
        alive = self._alive()
        functions = [self.attack.mutated(self.claim, mutant.function) for mutant in alive]
        values = all_in_batch(self.claim, functions, at.raw)
        wrong = {mutant.name: value for mutant, value in zip(alive, values, strict=True)}
        self._score_at(wrong, right, index, unit)
        if self._alive():
            # the seed that is worst for the truth is also the one at which it is hardest to tell from a mutant
            typical = int(usable.nonzero()[0, 0])
            self._score_at(wrong, right, typical, self._unit(at.arrays, typical))
            self._score_survivors(at.arrays, wrong, right, size, usable)

    def _score_at(self, wrong: Mapping[str, Any], right: Any, index: int, unit: Unit) -> None:
        if not unit.usable or unit.value == 0.0:  # undecidable, or everything vanishes: nothing to tell apart
            return
        for name, value in wrong.items():
            if self.mutants[name] < self._settled:
                gap = _mismatch(value[index], right[index])
                self.mutants[name] = max(self.mutants[name], _in_units(gap, unit.value))

    def _score_survivors(self, arrays: Arrays, wrong: Mapping[str, Any], right: Any, size: Any, usable: Any) -> None:
        """Measure every mutant that is not dead at the seed of the batch where it is relatively farthest from the truth."""
        for name in [name for name in wrong if self.mutants[name] < SEPARATION]:
            if wrong[name].shape != right.shape:
                self.mutants[name] = math.inf
                continue
            if not right.shape[1]:
                continue
            gaps = (wrong[name] - right).abs().nan_to_num(0.0, 0.0, 0.0).amax(1)
            index = int(_relative(gaps, size).masked_fill(~usable, -1.0).argmax())
            unit = self._unit(arrays, index)
            if unit.usable and unit.value > 0.0:
                self.mutants[name] = max(self.mutants[name], _in_units(float(gaps[index]), unit.value))


def _further_draws(claim: Claim, count: int, seed: int, domain: str | None = None) -> Iterator[Draw]:
    """Draws other than those of `systematic` with the same seed, made when they are asked for."""
    yield from systematic(claim, count, seed + 1, domain)


class StructureAttack(EqualityAttack):
    """The defect of the formula's value compared with zero."""

    def left(self, claim: Claim) -> Callable[..., Any]:
        return self.mutated(claim, claim.the_formula)

    def right(self, claim: Claim) -> Callable[..., Any] | None:
        return None

    def mutated(self, claim: Claim, function: Callable[..., Any]) -> Callable[..., Any]:
        return defect_of(claim, function)


def _underflows(claim: Claim, functions: Sequence[Callable[..., Any]], raw: dict[str, Any], index: int) -> bool:
    from verify.checks.underflow import underflows  # which torch has to be loaded for

    return underflows(claim, functions, raw, index)


def _relative(difference: Any, size: Any) -> Any:
    """Differences in sizes of what they are of, shape (batch,); 0 where both sides vanish."""
    return difference / size.where(size > 0, 1.0)


def _in_units(difference: float, unit: float) -> float:
    if difference == 0.0:
        return 0.0
    return difference / unit if unit > 0 else math.inf


def _mismatch(wrong: Any, right: Any) -> float:
    if wrong.shape != right.shape:
        return math.inf
    gap = (wrong - right).abs()
    # an overflow is no measured mismatch: entries that are not finite do not count
    gap = gap[gap.isfinite()]
    return float(gap.max()) if gap.numel() else 0.0


def _object_residual(left: np.ndarray, right: np.ndarray, arithmetic: str) -> tuple[float, float]:
    """(certain difference in units, log10 of the possible relative difference)."""
    difference = left - right
    if arithmetic == "exact":
        if any(entry != 0 for entry in difference):  # of a ball, which the root of a size is: for certain
            return math.inf, -math.inf
        if not all(entry == 0 for entry in difference):
            raise ArithmeticUnsupported("a side is the root of a size, which is no rational number")
        return 0.0, -math.inf
    if not all(flint.arb(entry).is_finite() for side in (left, right) for entry in side):
        raise ArithmeticUnsupported("an entry is undefined, or its enclosure unbounded, at these inputs")
    scale = magnitude(left) + magnitude(right)
    gap = max((flint.arb(entry).abs_lower() for entry in difference), key=float, default=flint.arb(0))
    spread = max((flint.arb(entry).abs_upper() for entry in difference), key=float, default=flint.arb(0))
    if scale.contains(0):  # both sides vanish, as far as enclosures tell that are narrow
        if gap == 0 and not float(spread) <= 2.0 ** (-flint.ctx.prec / 4):
            raise ArithmeticUnsupported("the enclosure is too wide to decide")
        return (0.0 if gap == 0 else math.inf), -math.inf
    relative = float((spread / scale).mid())
    if relative > 2.0 ** (-flint.ctx.prec / 4):
        if gap == 0:
            raise ArithmeticUnsupported("the enclosure is too wide to decide")
        return float((gap / scale).mid()) * 2.0**flint.ctx.prec, math.log10(relative)
    return (0.0 if gap == 0 else float((gap / scale).mid()) * 2.0**flint.ctx.prec), (
        math.log10(relative) if relative > 0 else -math.inf
    )


def _described(draw: Draw | Given, seed: dict[str, Any], left: Any, right: Any, residual: float) -> dict[str, Any]:
    return {
        "domain": draw.domain,
        "sizes": dict(draw.sizes),
        "inputs": {name: np.asarray(value).tolist() for name, value in seed.items()},
        "formula": (left if hasattr(left, "tolist") else np.asarray(left)).reshape(-1)[:64].tolist(),
        "oracle": right.reshape(-1)[:64].tolist(),
        "residual": residual,
    }
