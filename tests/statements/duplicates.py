"""Claims that say what another says: `says_the_same` compares two claims by what they compute.

Two claims say the same if, at the inputs of each, what both assume is met, both sides of the one have the values of the
sides of the other, and the sides of identities come about by the same operations.  (Where an identity holds, all
expressions of one quantity have one value; so another expression is another statement, and values alone tell nothing.)
A claim about fewer inputs than another is no duplicate of it here, and neither is one with inputs of other names.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from tests.statements.emptiness import compared_sides, noted, points_of, values_at
from verify.checks.settings import Settings
from verify.vocabulary.claims import Claim
from verify.vocabulary.relations import AtMost, Equal, HasStructure
from verify.vocabulary.shapes import parameter_names

#: At how many inputs of either claim the two are compared, and at how many they have to be decided.
TRIED, DECIDED = 8, 2
#: Two values within this of each other, relative to the larger, are the same.
NEAR = 1e-9


def duplicates(claims: Mapping[str, Claim], settings: Settings) -> list[tuple[str, str]]:
    """The pairs of claims of one paper that say the same, one of which at least is no printed claim."""
    comparable = [claim for claim in claims.values() if isinstance(claim.relation, (Equal, AtMost, HasStructure))]
    known = {claim.id: _Sampled(claim, settings) for claim in comparable}
    return [
        (one.id, other.id)
        for k, one in enumerate(comparable)
        for other in comparable[k + 1 :]
        if one.paper.key == other.paper.key
        and (one.of_project or other.of_project)
        and (one.expects == "refuted") == (other.expects == "refuted")
        and _same(known[one.id], known[other.id])
    ]


def says_the_same(one: Claim, other: Claim, settings: Settings) -> bool:
    """Whether two claims say the same at inputs of either."""
    return _same(_Sampled(one, settings), _Sampled(other, settings))


class _Sampled:
    """A claim with some of its inputs, and what its sides give and do there, each found out when it is first needed."""

    def __init__(self, claim: Claim, settings: Settings) -> None:
        self.claim, self.sides = claim, compared_sides(claim)
        self.names = {name for side in self.sides for name in parameter_names(side)}
        self._made: list[_Point] = []
        self._inputs = islice((inputs for inputs, _ in points_of(claim, settings)), TRIED)

    def points(self) -> Iterator[_Point]:
        """Inputs, with the values of the sides there."""
        yield from self._made
        for inputs in self._inputs:
            self._made.append(_Point(self, inputs))
            yield self._made[-1]

    def values(self, inputs: Mapping[str, Any]) -> Iterator[np.ndarray | None]:
        """The value of each side, when it is asked for."""
        return (values_at(self.claim, side, inputs) for side in self.sides)

    def operations(self, inputs: Mapping[str, Any]) -> list[list[Any]]:
        """The operations that each side does."""
        return [noted(self.claim, side, inputs)[1] for side in self.sides]


class _Point:
    """Inputs of a claim, and what its sides give and do there."""

    def __init__(self, of: _Sampled, inputs: Mapping[str, Any]) -> None:
        self.inputs, self.values, self._of = inputs, list(of.values(inputs)), of

    @cached_property
    def operations(self) -> list[list[Any]]:
        return self._of.operations(self.inputs)


def _same(one: _Sampled, other: _Sampled) -> bool:
    if type(one.claim.relation) is not type(other.claim.relation) or one.names != other.names or not one.names:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a claim may meet shapes here that it never draws
        return _agree(one, other) and _agree(other, one)


def _agree(at: _Sampled, other: _Sampled) -> bool:
    """Whether `other` is met, and its sides are those of the claim, at the claim's own inputs."""
    decided = 0
    for point in at.points():
        own = [value for value in point.values if value is not None and np.any(np.abs(value) > NEAR)]
        if len(own) < len(point.values):
            continue
        if not all(map(_equal, own, other.values(point.inputs))):  # of few claims a second side is needed
            return False
        # few claims have the values of another, and to note what is done takes longer than to do it
        if isinstance(at.claim.relation, Equal) and point.operations != other.operations(point.inputs):
            return False
        if not _met(other.claim, point.inputs):
            return False
        decided += 1
    return decided >= DECIDED


def _equal(one: np.ndarray, other: np.ndarray | None) -> bool:
    """The same entries up to their order and signs."""
    if other is None or one.size != other.size:
        return False
    return np.allclose(np.sort(np.abs(one)), np.sort(np.abs(other)), rtol=NEAR, atol=NEAR * np.abs(one).max())


def _met(claim: Claim, inputs: Mapping[str, Any]) -> bool:
    """Whether the tested assumptions hold, but for rounding."""
    for item in claim.tested_assumptions:
        zero, nonnegative, positive = (
            None if test is None else values_at(claim, test, inputs)
            for test in (item.zero, item.nonnegative, item.positive)
        )
        if zero is not None and np.abs(zero).max() > 1e-8:
            return False
        if nonnegative is not None and nonnegative.min() < -NEAR:
            return False
        if positive is not None and positive.min() <= 0:
            return False
    return True
