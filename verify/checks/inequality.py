"""Attacks on bounds, oracle <= formula, by targeted search and by gradient ascent, then confirmed in balls."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import flint
import numpy as np

from verify.checks.ascent import ascents
from verify.checks.attack import Attack, Check
from verify.checks.decisions import Decision, Place
from verify.checks.evaluation import all_in_batch, as_balls, at_objects, exact_text, one_of, raw_tensors
from verify.checks.foresight import Ahead, Plan, plan
from verify.checks.record import SEPARATION, UPHELD, VIOLATED, Record, blank, scored, separation_of
from verify.checks.satisfied import float_tests, floats_meet
from verify.checks.search import Tally, search
from verify.checks.settings import Settings
from verify.inputs.generators import Draw, at_scales, systematic
from verify.inputs.shrinking import shrunk
from verify.inputs.witnesses import Given, Witnesses, data_of, given, witnesses_of
from verify.vocabulary.claims import Claim
from verify.vocabulary.relations import AtMost

#: Of how many seeds of a batch, those of the highest scores, balls are asked.
TELLING = 3
#: How many of the tightest inputs balls decide, and how many are kept for that, as balls may say nothing of the tightest.
KEPT, RESERVE = 6, 32
#: How many of them balls decide of a claim that is proved for all sizes, and in a search that repeats an earlier one.
FEW = 2
#: How many points of the rise of the score a record keeps.
RISES = 48
#: A mutant whose bound is broken by this many units is not attacked further.
CLEARLY_DEAD = 1e6
#: By so little floats may see an attained bound broken again in a search that repeats an earlier one, and balls are not asked.
NOISE = 2.0**-40
#: The score of a bound that is broken by more than a ratio can say.
BEYOND = 1e300


@dataclass(order=True)
class Candidate:
    """Inputs at which the bound is tight or broken."""

    score: float
    order: int
    place: Place = field(compare=False)
    sizes: dict[str, int] = field(compare=False)


class Hall:
    """The candidates with the highest scores, and how the highest came about as more inputs were seen."""

    def __init__(self, of: str = "ratio", most: int = KEPT) -> None:
        self.of, self.most = of, most
        self._heap: list[Candidate] = []
        self._counter = itertools.count()
        self.seen = 0
        self.climbing_from: int | None = None
        self._rises: list[tuple[int, float]] = []

    def offer(self, score: float, place: Place, sizes: dict[str, int]) -> None:
        if not math.isfinite(score):
            return
        if not self._rises or score > self._rises[-1][1]:
            self._rises.append((self.seen, score))
        heapq.heappush(self._heap, Candidate(score, next(self._counter), place, sizes))
        if len(self._heap) > RESERVE:
            heapq.heappop(self._heap)

    def decided(self, bound: Callable[..., Any]) -> list[tuple[Candidate, Decision]]:
        """The best candidates and what balls say of them: those at which they find a ratio or a violation come first.

        Where balls cannot tell whether an assumption holds, or find that both sides vanish, the ratio of floats is noise, and
        must not crowd out others.
        """
        found: list[tuple[Candidate, Decision]] = []
        silent: list[tuple[Candidate, Decision]] = []
        for candidate in sorted(self._heap, reverse=True):
            decision = candidate.place.decide(bound)
            if decision is not None:
                (found if decision.certain or decision.ratio is not None else silent).append((candidate, decision))
            if len(found) == self.most:
                break
        return [*found, *silent][: self.most]

    def history(self) -> dict[str, Any]:
        """The highest score so far over the number of inputs seen, in at most `RISES` points, first and last included."""
        last = len(self._rises) - 1
        kept = {round(last * k / (RISES - 1)) for k in range(RISES)} if last >= RISES else range(last + 1)
        return {
            "of": self.of,
            "inputs": self.seen,
            "ascent from": self.climbing_from,
            "rises": [[self._rises[k][0], float(f"{self._rises[k][1]:.9g}")] for k in sorted(kept)],
        }


@dataclass
class Scores:
    """What floats say of a batch: per seed the score, by how much the bound is broken, and what may be believed of that.

    `usable`: both sides are finite and the assumptions hold.  `unclear`: something overflowed or is no number, so that balls
    have to be asked.
    """

    left: Any
    score: Any
    excess: Any
    usable: Any
    unclear: Any
    undefined: int

    def telling(self, count: int) -> list[int]:
        """The seeds to look at: so many of the highest scores, the bounds that are broken by most, and one of which floats say
        nothing."""
        broken = _largest(self.excess, self.usable & (self.excess > 0), 1)
        beyond = _largest(self.excess, self.usable & self.score.isposinf(), 1)
        finite = _largest(self.score, self.usable & self.score.isfinite(), count)
        return list(dict.fromkeys([*finite, *broken, *beyond, *_largest(self.score, self.unclear, 1)]))


class BoundAttack(Attack[AtMost]):
    """Targeted search and gradient ascent on the violation; what comes closest is decided in balls."""

    def compared(self, claim: Claim) -> tuple[Callable[..., Any], Callable[..., Any]]:
        return claim.the_oracle, claim.the_formula

    def violation(self, formula: np.ndarray, oracle: np.ndarray) -> np.ndarray:
        return oracle - formula

    def excludes(self, excess: Any) -> bool:
        return bool(excess > 0)

    def checks(self, claim: Claim, settings: Settings) -> list[Check]:
        checks = [Check("attacked float64", "float64", self.attacked), Check("enclosed", "ball", self.enclosed)]
        if claim.scales:
            checks.append(Check("at scale", "ball", self.scaled))
        if claim.all_sizes:
            checks.append(Check("proved", "norms", self.proved))
        return checks

    def proved(self, claim: Claim, settings: Settings) -> Record:
        from verify.checks.bound_proofs import proved_bound

        return proved_bound(claim, settings)

    # -- the attack ----------------------------------------------------------------------------------------------------

    def attacked(self, claim: Claim, settings: Settings) -> Record:
        """Search for a violation; whatever comes closest is decided in balls, and shrunk if it breaks the bound."""
        import hypothesis

        tally = Tally()
        mutants = {mutant.name: 0.0 for mutant in claim.mutants}
        starts: list[tuple[float, Draw | Given]] = []
        refuted = False  # a claim that is expected to be broken, and is: its counterexample decides, not this search
        attained, limit = False, 0.0 if self.relation.signed else 1.0
        kept, found_now = witnesses_of(claim, "attacked float64"), Witnesses()
        repeats = settings.repeats(kept.code)
        few = (repeats and claim.expects != "refuted") or (claim.all_sizes and not settings.effort.anew)
        hall = Hall("relative excess" if self.relation.signed else "ratio", FEW if few else KEPT)
        # a mutant is measured where the earlier search found it dead; everywhere, where this one may end before that
        waiting = kept.elsewhere() if repeats and claim.expects != "refuted" else {}
        first = list(waiting) or kept.starts
        planned = plan(claim, settings, kept) if repeats else Plan((), 0)
        ahead = self._ahead(claim, [*first, *planned.certain], settings)
        # of what an earlier search found it is enough that it is found again
        dead, each = (SEPARATION, 1) if repeats else (CLEARLY_DEAD, TELLING)

        def examine(draw: Draw | Given) -> None:
            nonlocal refuted, attained
            if refuted:
                return
            before, seeds = dict(mutants), draw.seeds or settings.effort.batch
            values = (ahead if draw in ahead else self._ahead(claim, [draw], settings)).at(draw)
            arrays, raw, found = values.arrays, values.raw, self._scores(claim, values.values)
            tally.count(draw, len(found.usable), int(found.usable.sum()), found.undefined)
            hall.seen = tally.examples
            best = -math.inf
            places: dict[int, Place] = {}

            def at(index: int) -> Place:
                return places.setdefault(index, Place(claim, one_of(claim, arrays, index)))

            for index in found.telling(each):
                score = float(found.score[index])
                if repeats and attained and limit < score <= limit + NOISE:
                    best = max(best, limit)
                    continue
                value = self._settled(score, at(index))
                hall.offer(value, at(index), dict(draw.sizes))
                best = max(best, value)
                attained = attained or (score > limit and limit - NOISE <= value <= limit)  # as balls say
            refuted = claim.expects == "refuted" and best > limit
            if not bool(found.usable.any()):
                return
            starts.append((best, draw))
            elsewhere = waiting.get(draw, frozenset())
            alive = [each for each in claim.mutants if mutants[each.name] < dead and each.name not in elsewhere]
            sides = all_in_batch(claim, [mutant.function for mutant in alive], raw)
            for mutant, side in zip(alive, sides, strict=True):
                wrong = self._score(found.left, side)
                beyond = _largest((found.left - side).amax(1), found.usable & wrong.isposinf(), 1)
                # where both sides nearly vanish an infinite ratio may be rounding, which must not crowd out others
                near = _largest(wrong.nan_to_num(-math.inf, -math.inf, -math.inf), found.usable, TELLING)
                for index in [*near, *beyond]:
                    if mutants[mutant.name] >= dead:
                        break
                    mutants[mutant.name] = max(mutants[mutant.name], at(index).excess(mutant.function))
            found_now.note(before, mutants, data_of(draw, seeds), SEPARATION)
            if math.isfinite(best) and hypothesis.currently_in_test_context():  # only what Hypothesis drew
                hypothesis.target(best, label="closeness to violation")

        for start in first:
            examine(start)
        known = max((score for score, _ in starts), default=-math.inf)
        if not refuted:
            kept.require_dead(claim, mutants, SEPARATION)
        for draw in planned.examined(tally):
            examine(draw)
        if not repeats:
            search(claim, settings, examine, settings.effort.tying(settings.effort.examples, claim.all_sizes))
        # from a kept witness that no draw beats, for the same code, an ascent has nothing to gain
        climbed = kept.code == settings.code != "" and known >= max((score for score, _ in starts), default=-math.inf)
        if self.relation.ascent and starts and not refuted and (settings.effort.anew or not climbed):
            hall.climbing_from = hall.seen
            best_draws = [draw for _, draw in heapq.nlargest(4, starts, key=lambda pair: pair[0])]
            self._climb(claim, settings, best_draws, hall)
        before = dict(mutants)
        record = self._judged(claim, "attacked float64", "float64", settings, tally, hall, mutants, dead)
        best = [candidate.place for candidate, _ in hall.decided(claim.the_formula)[:2]]
        for mutant in claim.mutants:  # dead only where an ascent led to
            if mutants[mutant.name] > before[mutant.name] and mutants[mutant.name] >= SEPARATION:
                excess = [place.excess(mutant.function) for place in best]
                found_now.dead[mutant.name] = given(best[excess.index(max(excess))].raw)
        found_now.points = [given(place.raw) for place in best[:1]]
        record.details["witnesses"] = found_now.data()
        return record

    def _sides(self, claim: Claim) -> list[Callable[..., Any]]:
        """What floats are asked for: both sides, and the tests of inequalities."""
        return [claim.the_formula, claim.the_oracle, *float_tests(claim)]

    def _ahead(self, claim: Claim, points: Sequence[Draw | Given], settings: Settings) -> Ahead:
        return Ahead(claim, self._sides(claim), points, settings, "float64")

    def _scores(self, claim: Claim, values: Sequence[Any]) -> Scores:
        """What floats say of the claim at every seed of a batch, given the values of `_sides`."""
        import torch

        right, left, *tests = values
        defined = right.isfinite().all(1) & left.isfinite().all(1)
        usable = floats_meet(claim, tests, defined)
        finite = torch.stack([defined, *(test.isfinite().all(1) for test in tests)]).all(0)
        unclear = ~finite & ~usable
        score = self._score(left, right).masked_fill(unclear, math.nan)
        return Scores(left, score, (left - right).amax(1), usable, unclear, int((~defined).sum()))

    def _score(self, left: Any, right: Any) -> Any:
        """Per seed how near the entry that is nearest to its bound comes to it, shape (batch,).

        By ratio: left / right, and right / left where the right side is below -left, so that the score grows with the way to a
        broken bound through every sign of the sides.  It is above 1 if and only if a bound is broken, infinite where the
        right side is not positive and the left not negative; 0 <= 0 holds, and is not tight.
        """
        if self.relation.signed:  # halves, of which no sum overflows
            scale = (5e-301 + left.abs() / 2 + right.abs() / 2).amax(1, keepdim=True)
            return ((left / 2 - right / 2) / scale).amax(1)
        below = (left < 0) & (right < -left)
        ratio = (right / left.where(below, -1.0)).where(below, left / right.masked_fill(right <= 0, 1.0))
        ratio = ratio.masked_fill((right <= 0) & (left >= 0), math.inf)
        return ratio.masked_fill((right == 0) & (left == 0), 0.0).amax(1)

    def _settled(self, score: float, place: Place) -> float:
        """The score of one seed, taken from balls where floats see a violation or nothing: rounding must not crowd out tight
        inputs, and what overflows may be broken.

        Where both sides nearly vanish, the ratio of their float values is noise and may be anything.
        """
        if score <= (0.0 if self.relation.signed else 1.0):
            return score
        decision = place.ranked(place.claim.the_formula)
        if decision is None:
            return -math.inf
        if decision.certain:
            return min(BEYOND, score)  # which is no number where floats say nothing
        if self.relation.signed:  # where floats say nothing and no violation is certain, nothing is near
            return -math.inf if math.isnan(score) else 0.0
        return -math.inf if decision.ratio is None else min(decision.ratio, 1.0)

    def _climb(self, claim: Claim, settings: Settings, starts: list[Draw | Given], hall: Hall) -> None:
        """Adam on the score of all seeds of a batch at once, from the most promising draws, until it stops rising."""
        batch = min(settings.effort.batch, 16)
        raws = [raw_tensors(claim, draw.arrays(claim, batch), settings, "float64") for draw in starts]
        steps = settings.effort.tying(settings.effort.ascent, claim.all_sizes)

        def score(current: Mapping[str, Any]) -> Any:
            return self._score(*all_in_batch(claim, [claim.the_oracle, claim.the_formula], current))

        for draw, ascent in zip(starts, ascents(claim.parameters, raws, score, steps), strict=True):
            hall.seen += ascent.seen
            for raw in (ascent.raw, *ascent.crossed):
                found = self._scores(claim, all_in_batch(claim, self._sides(claim), raw))
                for index in found.telling(TELLING):
                    place = Place(claim, {
                        name: value if isinstance(value, int) else value[index].cpu().numpy()
                        for name, value in raw.items()
                    })  # fmt: skip
                    hall.offer(self._settled(float(found.score[index]), place), place, dict(draw.sizes))

    def _judged(
        self,
        claim: Claim,
        check: str,
        arithmetic: str,
        settings: Settings,
        tally: Tally,
        hall: Hall,
        mutants: dict[str, float],
        dead: float = CLEARLY_DEAD,
    ) -> Record:
        broken: Candidate | None = None
        ratio: float | None = None
        decided = hall.decided(claim.the_formula)
        for candidate, decision in decided:
            if decision.certain and broken is None:
                broken = candidate
            if decision.ratio is not None:
                ratio = decision.ratio if ratio is None else max(ratio, decision.ratio)
        for mutant in claim.mutants:
            for candidate, _ in decided[:2]:
                if mutants[mutant.name] < dead:
                    mutants[mutant.name] = max(mutants[mutant.name], candidate.place.excess(mutant.function))
        message = ""
        details: dict[str, Any] = {}
        if broken is not None:
            message, details = self._shrunk_violation(claim, broken, settings)
        elif tally.satisfied == 0:
            message = "no example satisfied the assumptions"
        return blank(
            claim,
            check,
            arithmetic,
            VIOLATED if broken is not None or tally.satisfied == 0 else UPHELD,
            device=settings.device if arithmetic.startswith("float") else "cpu",
            **tally.values(),
            worst_residual=0.0 if broken is None else math.inf,
            tightest_ratio=ratio,
            separation=separation_of(mutants, 1.0),
            mutants={name: scored(value) for name, value in mutants.items()},
            message=message,
            details={"search": hall.history(), **details},
        )

    def _shrunk_violation(self, claim: Claim, candidate: Candidate, settings: Settings) -> tuple[str, dict[str, Any]]:
        def breaks(raw: dict[str, Any]) -> bool:
            decision = Place(claim, raw).decide(claim.the_formula)
            return decision is not None and decision.certain

        # a claim expected to be refuted has its readable counterexample already
        tries = 400 if claim.expects != "refuted" else 40 if settings.effort.anew else 0
        small = shrunk(claim, candidate.place.raw, breaks, tries)
        lifted = as_balls(small)
        right, left = at_objects(claim, claim.the_formula, lifted), at_objects(claim, claim.the_oracle, lifted)
        entry = max(range(len(left)), key=lambda i: float((left[i] - right[i if len(right) > 1 else 0]).mid()))
        return "the bound is broken for certain", {
            "inputs": {
                name: value if isinstance(value, int) else np.asarray(value).tolist() for name, value in small.items()
            },
            "oracle": exact_text(flint.arb(left[entry])),
            "formula": exact_text(flint.arb(right[entry if len(right) > 1 else 0])),
        }

    # -- balls ---------------------------------------------------------------------------------------------------------

    def enclosed(self, claim: Claim, settings: Settings) -> Record:
        """The bound decided in balls at drawn inputs of every domain; equality within the enclosure counts as upheld."""
        tally, hall = Tally(), Hall()
        mutants = {mutant.name: 0.0 for mutant in claim.mutants}
        wanted = settings.effort.confirming(settings.effort.enclosed, claim.all_sizes)
        refuted = False  # as in `attacked`
        places: list[Draw | Given] = [*systematic(claim, 4 * settings.effort.enclosed, settings.seed)]
        # where a bound is tight its assumptions are met: of use where they are so rarely
        places += [point for point in witnesses_of(claim, "attacked float64").starts if isinstance(point, Given)]
        for draw in places:
            dead = all(excess >= SEPARATION for excess in mutants.values())
            if tally.satisfied >= (wanted if dead else settings.effort.enclosed) or (refuted and dead):
                break
            place = Place(claim, one_of(claim, draw.arrays(claim, 1), 0))
            decision = place.decide(claim.the_formula)
            tally.count(draw, 1, int(decision is not None), int(decision is None))
            hall.seen = tally.examples
            if decision is None:
                continue
            score = math.inf if decision.certain else (decision.ratio if decision.ratio is not None else 0.0)
            refuted = (decision.certain and claim.expects == "refuted" and not settings.effort.anew) or refuted
            hall.offer(min(score, BEYOND), place, dict(draw.sizes))
            for mutant in claim.mutants:
                if mutants[mutant.name] < SEPARATION or settings.effort.anew:
                    mutants[mutant.name] = max(mutants[mutant.name], place.excess(mutant.function))
        return self._judged(claim, "enclosed", "ball", settings, tally, hall, mutants)

    def scaled(self, claim: Claim, settings: Settings) -> Record:
        """The bound decided in balls at the sizes that the source names; the searches are what mutants die in."""
        tally, ratio, message = Tally(), None, ""
        for draw in at_scales(claim, settings.effort.scaled, settings.seed):
            decision = Place(claim, one_of(claim, draw.arrays(claim, 1), 0)).decide(claim.the_formula)
            tally.count(draw, 1, int(decision is not None), int(decision is None))
            if decision is None:
                continue
            if decision.ratio is not None:
                ratio = decision.ratio if ratio is None else max(ratio, decision.ratio)
            if decision.certain:
                message = f"the bound is broken for certain: {draw.domain}, seed {draw.seed}"
        if tally.satisfied == 0:
            message = "no example satisfied the assumptions"
        return blank(
            claim,
            "at scale",
            "ball",
            VIOLATED if message else UPHELD,
            **tally.values(),
            tightest_ratio=ratio,
            message=message,
        )


def _largest(score: Any, usable: Any, count: int) -> list[int]:
    """Indices of the largest scores among the usable seeds, best first."""
    order = score.masked_fill(~usable, -math.inf).argsort(descending=True)
    return [int(index) for index in order[:count] if bool(usable[index])]
