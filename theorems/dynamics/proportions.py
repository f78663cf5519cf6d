"""Observed proportions against stated ones, by the exact binomial law: for claims about what most runs do."""

from __future__ import annotations

import math

from verify.relations.follows_law import SMALLEST_P, LawTest


def at_least(name: str, successes: int, trials: int, proportion: float) -> LawTest:
    """One-sided test of independent outcomes that succeed with probability at least `proportion`, strictly between 0 and 1.

    The p-value is P(successes or fewer) at that probability: exact, so that few trials can tell 1/2 from 99/100.
    """
    logarithms = [
        math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1)
        + k * math.log(proportion) + (trials - k) * math.log1p(-proportion)
        for k in range(successes + 1)
    ]  # fmt: skip
    largest = max(logarithms)
    tail = math.exp(largest) * sum(math.exp(entry - largest) for entry in logarithms)
    observed = {
        "mean": successes / trials,
        "error": math.sqrt(proportion * (1 - proportion) / trials),
        "stated": proportion,
    }
    return LawTest(name, min(1.0, max(tail, SMALLEST_P)), trials, observed)
