"""What a search will look at, known beforehand.

Its draws do not depend on what is found at them, as long as nothing is: those of equal sizes are evaluated together, since
to call the functions costs more than a few more seeds.  A search that repeats an earlier one needs fewer of them.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from verify.checks.evaluation import all_in_batch, raw_tensors
from verify.checks.search import Tally, drawn, everywhere
from verify.checks.settings import Settings
from verify.inputs.generators import Arrays, Draw, choices_of, draws_among, size_features, systematic
from verify.inputs.witnesses import Given, Witnesses
from verify.vocabulary.claims import Claim
from verify.vocabulary.shapes import Shape, Size

#: Seeds evaluated together at most; more only take memory.
TOGETHER = 256
#: Sizes at which a search that repeats another draws every domain once: of a claim that is proved for all sizes, and of others.
SIZES, MORE_SIZES = 1, 2
#: Seeds of a draw of a claim whose functions take one at a time.
SINGLY = 16


@dataclass(frozen=True)
class Evaluated:
    """A draw's arrays, the same as tensors, and the values of the functions there, each of shape (seeds, entries)."""

    arrays: Arrays
    raw: dict[str, Any]
    values: Sequence[Any]


@functools.lru_cache(maxsize=1024)
def foreseen(claim: Claim, settings: Settings, examples: int) -> tuple[Draw, ...]:
    """The draws that a search of a claim examines which finds nothing, one of every domain first; the same in all arithmetics."""
    sizes, domains = choices_of(claim)
    asked = settings.seed if settings.seeded else None
    found = [
        replace(draw, sizes=sizes[draw.sizes[0][1]], domain=domains[int(draw.domain)])
        for draw in _places(len(sizes), len(domains), examples, asked)
    ]
    return (*everywhere(claim, settings), *found)


@functools.cache
def _places(sizes: int, domains: int, examples: int, seed: int | None) -> tuple[Draw, ...]:
    """What Hypothesis draws among so many sizes and domains, which are named by their places.

    Many claims have as many, and to let Hypothesis draw takes longer than to evaluate a short formula at what it drew.
    """
    seen: list[Draw] = []
    among = [(("", place),) for place in range(sizes)], [str(place) for place in range(domains)]
    drawn("places", draws_among(*among), Settings(seed=seed or 0, seeded=seed is not None), seen.append, examples)
    return tuple(seen)


@dataclass(frozen=True)
class Plan:
    """The draws of a search after the kept ones, in their order.

    After the first `most` of them it passes over those of kinds of inputs that it has decided, as of those of `further`, which
    come last, and are made only if one of `kinds` is left undecided.
    """

    draws: tuple[Draw, ...]
    most: int
    kinds: frozenset[str] = frozenset()
    further: Callable[[], Sequence[Draw]] = tuple

    @property
    def certain(self) -> tuple[Draw, ...]:
        """The draws that are examined whatever is found."""
        return self.draws[: self.most]

    def examined(self, tally: Tally) -> Iterator[Draw]:
        """The draws that a search examines, which counts each in `tally` before it asks for the next."""
        for place, draw in enumerate(self.draws):
            if place < self.most or not tally.has_decided(draw):
                yield draw
        if not tally.has_decided_kinds(self.kinds):
            for draw in self.further():
                if not tally.has_decided(draw):
                    yield draw


def plan(claim: Claim, settings: Settings, kept: Witnesses, dtype: str = "float64") -> Plan:
    """What is drawn for a claim after the kept points.

    Where the search repeats the one that found these: one draw of every domain, at few sizes, and others only of kinds of
    inputs that nothing has decided.  Of a claim that is proved for all sizes, one of every domain alone, which ties the
    functions to what is proved.

    In float32 beside float64 fewer, since both precisions run the same functions: one draw of every domain and a quarter of
    the others; a quarter of all where the claim is proved, or where the search repeats an earlier one, and then none if all
    wrong variants are dead at the kept points.
    """
    examples = settings.effort.tying(settings.effort.examples, claim.all_sizes)
    first, repeats = everywhere(claim, settings), settings.repeats(kept.code)
    if repeats and claim.all_sizes:
        few = at_few_sizes(claim, kept.starts, first)
        found = Plan((*few, *first), len(few))
    elif repeats:
        few = at_few_sizes(claim, kept.starts, first, MORE_SIZES)

        def further() -> Sequence[Draw]:
            others = systematic(claim, examples, settings.seed + 1)
            sizes = {kind: each for each in reversed(choices_of(claim)[0]) for kind in size_features(dict(each))}
            of_kinds = [replace(draw, sizes=each) for draw, each in zip(others, sizes.values(), strict=False)]
            return _of_fewer_seeds(claim, (*first, *of_kinds, *others))

        found = Plan(tuple(few), len(few), kinds_of(claim), further)
    else:
        draws = foreseen(claim, settings, examples)
        found = Plan(draws, len(draws))
    if repeats:
        found = replace(found, draws=_of_fewer_seeds(claim, found.draws))
    if dtype != "float32" or settings.effort.anew or "float64" not in settings.dtypes:
        return found
    if repeats and kept.dead.keys() >= {mutant.name for mutant in claim.mutants}:
        return Plan((), 0)
    whole = 0 if claim.all_sizes or repeats else len(first)
    most = whole + settings.effort.tying(len(found.certain) - whole, proved=True)
    return Plan(found.draws[:most], most)


def _of_fewer_seeds(claim: Claim, draws: Sequence[Draw]) -> tuple[Draw, ...]:
    """Draws of fewer seeds where each seed costs a call."""
    return tuple(draws if claim.batched else (replace(draw, seeds=SINGLY) for draw in draws))


def kinds_of(claim: Claim) -> frozenset[str]:
    """The kinds of inputs that draws of a claim are counted by: its domains, and the features of its sizes."""
    sizes, domains = choices_of(claim)
    return frozenset(domains).union(*(size_features(dict(each)) for each in dict.fromkeys(sizes)))


def at_few_sizes(claim: Claim, starts: Sequence[Draw | Given], draws: Sequence[Draw], most: int = SIZES) -> list[Draw]:
    """The draws at `most` sizes, those of the first kept one and the most telling of theirs, so that fewer groups are evaluated.

    The claim's own domains stay at their sizes.
    """
    kept = [point.sizes for point in starts if isinstance(point, Draw)][:1]
    sizes = list(dict.fromkeys([*kept, *(draw.sizes for draw in reversed(draws))]))[:most]
    return [
        draw if draw.domain in claim.special_domains else replace(draw, sizes=sizes[place % len(sizes)])
        for place, draw in enumerate(draws)
    ]


class Ahead:
    """The functions at points that are known beforehand, evaluated when the first of a group is asked for."""

    def __init__(
        self,
        claim: Claim,
        functions: Sequence[Callable[..., Any]],
        points: Sequence[Draw | Given],
        settings: Settings,
        dtype: str,
    ) -> None:
        self._claim, self._functions, self._settings, self._dtype = claim, functions, settings, dtype
        self._left = Counter(points)
        self._found: dict[Draw | Given, Evaluated] = {}
        self._groups: dict[Draw | Given, list[Draw | Given]] = {}
        open_groups: dict[Any, list[Draw | Given]] = {}
        for point in self._left:
            alike = shapes_at(claim, point)
            group = open_groups.setdefault(alike, [])
            if group and (not claim.batched or self._seeds(point) + sum(map(self._seeds, group)) > TOGETHER):
                group = open_groups[alike] = []
            group.append(point)
            self._groups[point] = group

    def __contains__(self, point: Draw | Given) -> bool:
        return self._left[point] > 0

    def at(self, point: Draw | Given) -> Evaluated:
        """The functions at a point, which is forgotten when it was asked for as often as it was announced."""
        if point not in self._found:
            self._evaluate(self._groups[point])
        self._left[point] -= 1
        return self._found[point] if self._left[point] else self._found.pop(point)

    def _seeds(self, point: Draw | Given) -> int:
        return point.seeds or self._settings.effort.batch

    def _evaluate(self, group: Sequence[Draw | Given]) -> None:
        import torch

        seeds = list(map(self._seeds, group))
        every = [point.arrays(self._claim, batch) for point, batch in zip(group, seeds, strict=True)]
        raws = [raw_tensors(self._claim, arrays, self._settings, self._dtype) for arrays in every]
        together = {
            name: value if isinstance(value, int) else torch.cat([raw[name] for raw in raws])
            for name, value in raws[0].items()
        }
        values = all_in_batch(self._claim, self._functions, together)
        each = zip(*(value.split(seeds) for value in values), strict=True)
        for point, arrays, raw, own in zip(group, every, raws, each, strict=True):
            self._found[point] = Evaluated(arrays, raw, own)


def shapes_at(claim: Claim, point: Draw | Given) -> tuple[Any, ...]:
    """Of every parameter its value if it is a size, else its shape without the axis of seeds."""
    if isinstance(point, Given):  # its inputs stand in the order in which they were found
        given = [point.inputs[name] for name in claim.parameters if name in point.inputs]
        return tuple(value if isinstance(value, int) else np.shape(value) for value in given)
    sizes = dict(point.sizes)
    return tuple(
        sizes[spec.name] if isinstance(spec, Size) else spec.resolve(sizes) if isinstance(spec, Shape) else ()
        for spec in claim.parameters.values()
    )
