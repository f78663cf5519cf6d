"""The points of comparisons with a definition, and what the definition gives there: the same for every implementation."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from verify.checks.settings import Effort, Settings
from verify.gate.autograd import Point
from verify.gate.findings import FIRST, FORWARD, LONG, SECOND, SIZES
from verify.gate.probes import DRAWS_OF_FIRST, DRAWS_OF_SECOND, large_points, long_points, small_points, summing_points
from verify.gate.profiles import Profile
from verify.gate.rounding import Reference
from verify.vocabulary.subjects import definition_of

#: Comparisons at small sizes, in which a derivative that is refused leaves nothing to compare.
SMALL = (FIRST, SECOND, FORWARD)


@dataclasses.dataclass
class Prepared:
    """A point, what the definition gives there, and the drawn arrays where the point can be shrunk."""

    point: Point
    truth: Reference
    arrays: dict[str, Any] | None


class Points:
    """The points at which implementations of a subject are compared with its definition, at one effort and seed."""

    def __init__(self, profile: Profile, effort: Effort, seed: int) -> None:
        self.profile, self.settings = profile, Settings(effort, seed)
        self.claim, self.definition = profile.claim(), definition_of(profile.name)
        self.claim.batched = False
        self._known: dict[tuple[str, bool], list[Prepared]] = {}
        self._pending: dict[tuple[str, bool], Iterator[Prepared]] = {}

    def count(self, check: str) -> int | None:
        """At how many points a comparison is made; None: at all that there are."""
        effort = self.settings.effort.name
        return {FIRST: DRAWS_OF_FIRST[effort], SECOND: DRAWS_OF_SECOND[effort], FORWARD: DRAWS_OF_SECOND[effort]}.get(
            check
        )

    def prepared(self, check: str, in_half: bool = False) -> Iterator[Prepared]:
        """The points of a comparison at which the definition has a value, each made when it is asked for.

        `in_half`: of those that tell something in half precision alone.
        """
        key = check, in_half
        if key not in self._known:
            self._known[key] = []
            self._pending[key] = (
                Prepared(point, truth, arrays)
                for point, arrays in self.drawn(check, in_half)
                if (truth := point.reference(self.definition)) is not None
            )
        known = self._known[key]
        for number in itertools.count():
            if number == len(known):
                known.extend(itertools.islice(self._pending[key], 1))
            if number == len(known):
                return
            yield known[number]

    def drawn(self, check: str, in_half: bool = False) -> Iterable[tuple[Point, dict[str, Any] | None]]:
        """The points of a comparison, or those of half precision alone, and arrays where these can be shrunk."""
        if in_half:
            drawn: Iterable[Point] = ()
            if check == SIZES:
                drawn = summing_points(self.profile, self.settings)
            elif check == LONG:
                drawn = long_points(self.profile, self.settings, in_half=True)
            return ((point, None) for point in drawn)
        if check in SMALL:
            points = small_points(self.claim, 2 if check == SECOND else 1, self.count(check) or 0, self.settings)
            return (
                (dataclasses.replace(point, forward=check == FORWARD, twice=check == FIRST and number % 2 == 1), arrays)
                for number, (point, arrays) in enumerate(points)
            )
        draw = large_points if check == SIZES else long_points
        return ((point, None) for point in draw(self.profile, self.settings))


@functools.lru_cache(maxsize=1)  # of one subject: they take megabytes, and layers of one follow each other
def points_of(profile: Profile, effort: Effort, seed: int) -> Points:
    """The points for a profile, an effort and a seed, found once for implementations that follow each other."""
    return Points(profile, effort, seed)
