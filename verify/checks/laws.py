"""Attacks on laws: samples drawn from the formula, judged by tests of fixed size and stated false-alarm probability."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from verify.checks.attack import Attack, Check
from verify.checks.record import SEPARATION, UPHELD, VIOLATED, Record, blank, sizes_text
from verify.checks.search import Tally
from verify.checks.settings import FEWER, Settings
from verify.inputs.generators import Draw, at_scales, systematic
from verify.oracles.statistics import FALSE_ALARM, LawTest
from verify.vocabulary.claims import Claim
from verify.vocabulary.relations import FollowsLaw
from verify.vocabulary.shapes import parameter_names

#: Tests of which a record keeps what was observed.
KEPT = 12
#: Mutants are tried on a quarter of the samples first, by the same tests, where these are so many at least.
ENOUGH = 25


class LawAttack(Attack[FollowsLaw]):
    """The claim's own statistical tests, on samples of its formula and of every mutant."""

    def checks(self, claim: Claim, settings: Settings) -> list[Check]:
        return [Check("law", "float64", self.tested)]

    def tested(self, claim: Claim, settings: Settings) -> Record:
        """Every test on every instance; the smallest p-value, times the number of tests, judges the law."""
        tally = Tally()
        found: list[tuple[str, LawTest]] = []
        few = self.relation.samples // FEWER
        draws = dict.fromkeys(systematic(claim, self.relation.instances, settings.seed), self.relation.samples)
        of_source = self.relation.samples if settings.effort.anew else few  # at sizes that it names, which take long
        at_source = dict.fromkeys(at_scales(claim, 1, settings.seed), of_source)
        for draw, samples in {**draws, **at_source}.items():
            tally.count(draw, samples, samples, 0)
            sizes = sizes_text(dict(draw.sizes))
            found += [(sizes, test) for test in self._run(claim, claim.the_formula, draw, settings, samples)]
        p_true = _smallest_p([test for _, test in found])
        budget = FALSE_ALARM * len(found)
        p_mutants = {}
        bar = min(budget, p_true / SEPARATION)
        first = [few] if few >= ENOUGH and not settings.effort.anew else []
        for mutant in claim.mutants:
            for samples in (*first, self.relation.samples):  # until it is dead
                p_mutants[mutant.name] = self._p_of(claim, mutant.function, list(draws), settings, samples, bar)
                if p_mutants[mutant.name] < bar:
                    break
        gaps = {name: p_true / p for name, p in p_mutants.items()}
        sizes, lowest = min(found, key=lambda pair: -1.0 if math.isnan(pair[1].p) else pair[1].p)
        said = "a sample is no number" if math.isnan(lowest.p) else f"p = {lowest.p:.3g}"
        return blank(
            claim,
            "law",
            "float64",
            UPHELD if p_true >= budget else VIOLATED,
            device=settings.device,
            **tally.values(),
            worst_residual=-math.log10(p_true),
            separation=min(gaps.values(), default=None),
            mutants={
                name: {"residual": value, "killed": value >= SEPARATION and p_mutants[name] < budget}
                for name, value in gaps.items()
            },
            message="" if p_true >= budget else f"{lowest.name} at {sizes}: {said}",
            details={
                "tests": [
                    {"sizes": at, "name": t.name, "p": t.p, "samples": t.samples}
                    | ({"observed": t.observed} if t.observed and place < KEPT else {})
                    for place, (at, t) in enumerate(found)
                ],
                "samples": self.relation.samples,
                "false alarm": budget,
            },
        )

    def _p_of(
        self,
        claim: Claim,
        formula: Callable[..., Any],
        draws: Sequence[Draw],
        settings: Settings,
        samples: int,
        bar: float,
    ) -> float:
        """The p-value of a mutant at the first draws, as many as it takes to bring it below `bar`."""
        tests: list[LawTest] = []
        p = 1.0
        for draw in draws:
            tests += self._run(claim, formula, draw, settings, samples)
            p = _smallest_p([test for test in tests if not math.isnan(test.p)])
            if p < bar:
                break
        return p

    def _run(
        self, claim: Claim, formula: Callable[..., Any], draw: Draw, settings: Settings, samples: int
    ) -> list[LawTest]:
        arrays = draw.arrays(claim, 1)
        raw = {name: value if isinstance(value, int) else value[0] for name, value in arrays.items()}
        return law_tests(claim, formula, raw, draw.seed, settings, samples)


def _smallest_p(tests: Sequence[LawTest]) -> float:
    """The smallest p-value times the number of tests, at most 1; NaN where one of them has none."""
    found = [test.p for test in tests]
    return math.nan if any(map(math.isnan, found)) else min([1.0, *(p * len(found) for p in found)])


def law_tests(
    claim: Claim, formula: Callable[..., Any], raw: Mapping[str, Any], seed: int, settings: Settings, samples: int
) -> list[LawTest]:
    """The claim's tests of `samples` samples, at one seed, with `formula` (its own, or a mutant's) as the law."""
    import torch

    generator = torch.Generator(device=settings.device).manual_seed((seed + settings.seed) % 2**31)
    inputs = claim.prepare(raw)
    law = formula if formula is claim.the_formula else called_like(claim.the_formula, formula, inputs)
    given = {**inputs, "formula": law, "generator": generator, "samples": samples}
    return claim.evaluate(claim.the_part("laws"), given)


def called_like(
    formula: Callable[..., Any], variant: Callable[..., Any], inputs: Mapping[str, Any]
) -> Callable[..., Any]:
    """`variant`, which takes any of the claim's inputs by name, as a function with the parameters of `formula`."""
    signature = inspect.signature(formula)

    def called(*args: Any, **kwargs: Any) -> Any:
        known = {**inputs, **signature.bind(*args, **kwargs).arguments}
        return variant(**{name: known[name] for name in parameter_names(variant)})

    return called
