"""Sizes that an implementation admits: `sizes=` and `where=` narrow those at which everything is drawn.

A kernel may need d_K = d_V, or a multiple of 8: ``where=lambda sizes: sizes["d_K"] == sizes["d_V"]``.
"""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from verify.gate.arguments import named
from verify.inputs.generators import Draw, applicable_domains, sizes_within, systematic
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import InputError, in_one_line, shown

#: So many draws are kept; then all are forgotten.
MOST = 5_000
_arrays: dict[tuple[Any, ...], dict[str, Any]] = {}

#: How many sizes a claim is given from a range that does not meet its own: exact and ball arithmetic need small ones.
FEW = 16


@dataclass
class Choice:
    """Ranges by the name of a size, and a condition; without either everything is admitted."""

    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)
    condition: Callable[[Mapping[str, int]], Any] | None = None

    @staticmethod
    def of(sizes: Mapping[str, Any] | None, where: Callable[..., Any] | str | None) -> Choice:
        """From what people write: a number or a pair for each size; raises `InputError` for anything else."""
        expected = "sizes by name, each an integer >= 1 or a pair (lowest, highest)"
        if sizes is not None and not isinstance(sizes, Mapping):
            raise InputError("sizes", expected, shown(sizes))
        ranges = {}
        for name, value in (sizes or {}).items():
            pair = (value, value) if isinstance(value, int) else value
            numbers = isinstance(pair, (list, tuple)) and len(pair) == 2 and all(type(n) is int for n in pair)
            if not numbers or not 1 <= pair[0] <= pair[1]:
                raise InputError(f"sizes[{name!r}]", expected, shown(value))
            ranges[name] = (pair[0], pair[1])
        return Choice(ranges, None if where is None else named(where, "where"))

    def admits(self, sizes: Mapping[str, int]) -> bool:
        """Whether the condition holds.  Raises `InputError` when it fails, `KeyError` for a size that it needs."""
        try:
            return self.condition is None or bool(self.condition(dict(sizes)))
        except KeyError:
            raise
        except Exception as problem:
            raise InputError("where", f"a condition on the sizes {sorted(sizes)}", in_one_line(problem)) from problem

    def narrowed(self, claim: Claim) -> Claim | None:
        """The claim at sizes that are chosen, as near to its own as there are; None where there are none."""
        if not self.ranges and self.condition is None:
            return claim
        found = copy.copy(claim)
        meets = {name: _meeting(claim.sizes[name], given) for name, given in self.ranges.items() if name in claim.sizes}
        found.sizes = {**claim.sizes, **meets}
        found.where = lambda sizes: claim.where(sizes) and self.admits(sizes)
        spans = {name: range(low, high + 1) for name, (low, high) in found.sizes.items()}
        try:
            every = (dict(zip(spans, lengths, strict=True)) for lengths in itertools.product(*spans.values()))
            return found if any(found.where(sizes) for sizes in every) else None
        except KeyError:  # this claim names its sizes otherwise: nothing says that the implementation admits them
            return None


@dataclass(frozen=True)
class _Drawn:
    """What sizes and draws of a claim depend on, and the claim: many claims are made anew for every check."""

    id: str
    sizes: tuple[tuple[str, tuple[int, int]], ...]
    where: Callable[[Mapping[str, int]], bool]
    domains: tuple[str, ...]
    own: tuple[str, ...]
    claim: Claim = field(compare=False, repr=False)

    @staticmethod
    def of(claim: Claim) -> _Drawn:
        domains = applicable_domains(claim)
        return _Drawn(
            claim.id, tuple(claim.sizes.items()), claim.where, tuple(domains), tuple(claim.special_domains), claim
        )


def draws_of(claim: Claim, count: int, seed: int) -> list[Draw]:
    """Systematic draws, made once for all precisions and comparisons."""
    return list(_systematic(_Drawn.of(claim), count, seed))


@functools.lru_cache(maxsize=256)
def _systematic(drawn: _Drawn, count: int, seed: int) -> list[Draw]:
    return systematic(drawn.claim, count, seed)


def arrays_of(claim: Claim, draw: Draw) -> dict[str, Any]:
    """The arrays of one seed of a draw, with a batch axis of length 1: drawn once, and copies, which may be changed."""
    edits = (claim.special_domains.get(draw.domain), claim.scales.get(draw.domain))
    key = (draw, *claim.parameters.items(), *edits)
    if key not in _arrays:
        if len(_arrays) >= MOST:
            _arrays.clear()
        _arrays[key] = draw.arrays(claim, 1)
    return {name: value if isinstance(value, int) else value.copy() for name, value in _arrays[key].items()}


def sizes_of(claim: Claim) -> list[dict[str, int]]:
    """All sizes that a claim admits, smallest first."""
    return list(map(dict, _sizes(_Drawn.of(claim))))


@functools.lru_cache(maxsize=64)
def _sizes(drawn: _Drawn) -> list[dict[str, int]]:
    return sizes_within(dict(drawn.sizes), drawn.where)


def square_draws(claim: Claim, seed: int) -> list[Draw]:
    """Draws at sizes as many of which as possible are equal, to 2 and to 3, generic ones and those of the claim's own domains.

    What takes one axis for another where both have the same length is right at all other sizes.
    """
    return list(_square(_Drawn.of(claim), seed))


@functools.lru_cache(maxsize=64)
def _square(drawn: _Drawn, seed: int) -> list[Draw]:
    every, found = _sizes(drawn), []
    for number, domain in enumerate(("generic", "generic", *drawn.own)):
        length = 2 + number % 2
        counts = [list(sizes.values()).count(length) for sizes in every]
        most = every[counts.index(max(counts))]
        if max(counts) > 1:
            found.append(Draw(tuple(most.items()), domain, seed * 1000 + number))
    return found


def _meeting(own: tuple[int, int], given: tuple[int, int]) -> tuple[int, int]:
    low, high = max(own[0], given[0]), min(own[1], given[1])
    return (low, high) if low <= high else (given[0], min(given[1], given[0] + FEW))
