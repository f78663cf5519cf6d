"""Bounds decided in balls at inputs of one seed: what does not depend on the bound is evaluated once, for all its variants."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np

from verify.arithmetics import precision
from verify.checks.evaluation import UNDEFINED, as_balls, flat_objects
from verify.checks.satisfied import satisfies
from verify.checks.units import BITS, rounding_unit
from verify.vocabulary.claims import Claim

#: Precisions tried in turn when a comparison is too close for balls to decide.
PRECISIONS = (300, 1000)


@dataclass
class Decision:
    """A comparison of two ball vectors."""

    certain: bool  #: some entry is certainly above its bound
    undecided: bool  #: some entry overlaps its bound without being equal to it within the precision
    ratio: float | None  #: the largest lhs/rhs, where the right-hand side is positive
    units: float  #: the excess in rounding units, where certain

    @staticmethod
    def of(left: np.ndarray, right: np.ndarray) -> Decision | None:
        if len(right) == 1 and len(left) > 1:
            right = np.repeat(right, len(left))
        pairs = [(flint.arb(x), flint.arb(y)) for x, y in zip(left, right, strict=True)]
        if not all(x.is_finite() and y.is_finite() for x, y in pairs):
            return None
        certain = [x > y for x, y in pairs]
        undecided = any(not (x > y) and not (x <= y) for x, y in pairs)
        ratios = [float((x / y).mid()) for x, y in pairs if y > 0]
        excess = max(
            (float((x - y).abs_lower()) for (x, y), above in zip(pairs, certain, strict=True) if above), default=0.0
        )
        # in float64 roundings, whatever the precision that decided, so that the numbers of all claims compare
        unit = rounding_unit([left, right], BITS["float64"]).value
        return Decision(any(certain), undecided, max(ratios, default=None), excess / unit if unit else math.inf)


@dataclass
class Lifted:
    """The inputs of one seed in balls of one precision, whether they meet the assumptions, and what needs no bound there."""

    claim: Claim
    raw: Mapping[str, Any]

    def __post_init__(self) -> None:
        self.inputs = self.claim.prepare(as_balls(self.raw))
        self.met = satisfies(self.claim, self.inputs)
        self._left: np.ndarray | None = None

    def compared(self, bound: Callable[..., Any]) -> Decision | None:
        """Whether the oracle is above `bound`; None where a side has no value."""
        if self._left is None:  # first, as in floats it is last: it cannot read what the other side leaves somewhere
            self._left = flat_objects(self.claim.evaluate(self.claim.the_oracle, self.inputs))
        return Decision.of(self._left, flat_objects(self.claim.evaluate(bound, self.inputs)))


class Place:
    """Inputs of one seed, at which a bound and its variants are decided."""

    def __init__(self, claim: Claim, raw: dict[str, Any]) -> None:
        self.claim, self.raw = claim, raw
        self._lifted: dict[int, Lifted | None] = {}
        self._compared: dict[tuple[Callable[..., Any], int], Decision | None] = {}

    def decide(self, bound: Callable[..., Any]) -> Decision | None:
        """Whether oracle > bound for certain; None where the assumptions fail or nothing is defined."""
        return self._decision(bound, patient=True)

    def ranked(self, bound: Callable[..., Any]) -> Decision | None:
        """As `decide`, but sides that overlap at the first precision that encloses them stay undecided, which suffices to rank
        inputs: where a bound is attained no precision decides, and the highest costs as much as all others.
        """
        return self._decision(bound, patient=False)

    def excess(self, bound: Callable[..., Any]) -> float:
        """By how many units the oracle is certainly above `bound`; 0 where it is not, or by less than balls tell at once."""
        decision = self.ranked(bound)
        return decision.units if decision is not None and decision.certain else 0.0

    def _decision(self, bound: Callable[..., Any], patient: bool) -> Decision | None:
        decision: Decision | None = None
        for bits in PRECISIONS:
            lifted = self._lifted_to(bits)
            if lifted is None or lifted.met is None:  # a finer precision may decide
                continue
            if lifted.met is False:
                return None
            found = self._at(bound, bits, lifted)
            decision = found or decision
            if found is not None and not (found.undecided and patient):
                return found
        return decision

    def _at(self, bound: Callable[..., Any], bits: int, lifted: Lifted) -> Decision | None:
        if (bound, bits) not in self._compared:
            try:
                with precision(bits):
                    self._compared[bound, bits] = lifted.compared(bound)
            except UNDEFINED:
                self._compared[bound, bits] = None
        return self._compared[bound, bits]

    def _lifted_to(self, bits: int) -> Lifted | None:
        if bits not in self._lifted:
            try:
                with precision(bits):
                    self._lifted[bits] = Lifted(self.claim, self.raw)
            except UNDEFINED:
                self._lifted[bits] = None
        return self._lifted[bits]
