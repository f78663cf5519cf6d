"""What a sampled check will look at, known beforehand.

Its draws do not depend on what is found at them, as long as nothing is: those of equal sizes are evaluated together, since
to call the functions costs more than a few more seeds.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from verify.checks.evaluation import all_in_batch, raw_tensors
from verify.checks.search import drawn, everywhere, one_of_each_domain
from verify.checks.settings import Settings
from verify.inputs.generators import Arrays, Draw, choices_of, draws_among
from verify.inputs.witnesses import Given
from verify.vocabulary.claims import Claim

#: Seeds evaluated together at most; more only take memory.
TOGETHER = 256


@dataclass(frozen=True)
class Evaluated:
    """A draw's arrays, the same as tensors, and the values of the functions there, each of shape (seeds, entries)."""

    arrays: Arrays
    raw: dict[str, Any]
    values: Sequence[Any]


def evaluated(
    claim: Claim, functions: Sequence[Callable[..., Any]], arrays: Arrays, settings: Settings, dtype: str
) -> Evaluated:
    """The functions at one draw."""
    raw = raw_tensors(claim, arrays, settings, dtype)
    return Evaluated(arrays, raw, all_in_batch(claim, functions, raw))


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


def in_float32(claim: Claim, settings: Settings, draws: tuple[Draw, ...]) -> tuple[Draw, ...]:
    """The draws that are examined in float32 beside float64: one of every domain and a quarter of the others.

    Of a claim that is proved for all sizes, a quarter of all.  Both precisions run the same functions; at effort deep all
    draws are examined in both.
    """
    if settings.effort.anew or "float64" not in settings.dtypes:
        return draws
    first = 0 if claim.all_sizes else len(one_of_each_domain(claim, settings))
    return draws[: first + settings.effort.tying(len(draws) - first, proved=True)]


class Ahead:
    """The functions at draws that are known beforehand, evaluated when the first of a group is asked for."""

    def __init__(
        self,
        claim: Claim,
        functions: Sequence[Callable[..., Any]],
        draws: Sequence[Draw],
        settings: Settings,
        dtype: str,
    ) -> None:
        self._claim, self._functions, self._settings, self._dtype = claim, functions, settings, dtype
        self._left = Counter(draws)
        self._found: dict[Draw, Evaluated] = {}
        self._groups: dict[Draw, list[tuple[Draw, Arrays]]] = {}
        open_groups: dict[Any, list[tuple[Draw, Arrays]]] = {}
        most = max(1, TOGETHER // settings.effort.batch) if claim.batched else 1
        for draw in self._left:
            arrays = draw.arrays(claim, settings.effort.batch)
            alike = tuple(value if isinstance(value, int) else value.shape[1:] for value in arrays.values())
            group = open_groups.setdefault(alike, [])
            group.append((draw, arrays))
            self._groups[draw] = group
            if len(group) == most:
                del open_groups[alike]

    def __contains__(self, draw: Draw | Given) -> bool:
        return isinstance(draw, Draw) and self._left[draw] > 0

    def at(self, draw: Draw) -> Evaluated:
        """The functions at a draw, which is forgotten when it was asked for as often as it was announced."""
        if draw not in self._found:
            self._evaluate(self._groups[draw])
        self._left[draw] -= 1
        return self._found[draw] if self._left[draw] else self._found.pop(draw)

    def _evaluate(self, group: Sequence[tuple[Draw, Arrays]]) -> None:
        import torch

        raws = [raw_tensors(self._claim, arrays, self._settings, self._dtype) for _, arrays in group]
        together = {
            name: value if isinstance(value, int) else torch.cat([raw[name] for raw in raws])
            for name, value in raws[0].items()
        }
        values = all_in_batch(self._claim, self._functions, together)
        each = zip(*(value.chunk(len(group)) for value in values), strict=True)
        for (draw, arrays), raw, own in zip(group, raws, each, strict=True):
            self._found[draw] = Evaluated(arrays, raw, own)
