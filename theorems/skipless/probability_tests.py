"""Tests of probabilities and laws that are known up to an allowance; their p-values are valid for every sample size."""

from __future__ import annotations

from collections.abc import Callable
from math import erf, exp, sqrt

import numpy as np

from verify.oracles import SMALLEST_P, LawTest


def _limited(p: float) -> float:
    return min(1.0, max(p, SMALLEST_P))


def near_probability(name: str, successes: int, trials: int, probability: float, allowance: float) -> LawTest:
    """Test that an event has the given probability up to `allowance` (Hoeffding's bound)."""
    excess = max(abs(successes / trials - probability) - allowance, 0.0)
    return LawTest(name, _limited(2 * exp(-2 * trials * excess**2)), trials)


def near_law(name: str, samples: np.ndarray, cdf: Callable[[np.ndarray], np.ndarray], allowance: float) -> LawTest:
    """Test that the law is within a Kolmogorov distance `allowance` of the given one (Dvoretzky-Kiefer-Wolfowitz)."""
    x = np.sort(samples)
    n, f = len(x), cdf(x)
    distance = max(np.max(np.arange(1, n + 1) / n - f), np.max(f - np.arange(n) / n))
    return LawTest(name, _limited(2 * exp(-2 * n * max(distance - allowance, 0.0) ** 2)), n)


def standard_normal(x: np.ndarray) -> np.ndarray:
    """The standard normal distribution function."""
    return np.array([(1 + erf(t / sqrt(2))) / 2 for t in x])
