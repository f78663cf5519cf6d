"""Statistical tests: whether samples follow a stated law, by tests of fixed size and stated false-alarm probability.

Sample sizes and thresholds are fixed before anything is drawn.  Each test is allowed `FALSE_ALARM`; with fewer than a
thousand tests in the suite, a run in which everything is true fails with probability below 1e-6.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from verify.vocabulary.errors import InputError

#: Probability with which one test rejects a true law.
FALSE_ALARM = 1e-9
#: p-values are not resolved below this.
SMALLEST_P = 1e-300
#: Points of a distribution function that the result of a test keeps.
CURVE = 33


@dataclass(frozen=True)
class LawTest:
    """The result of one test: its name, p-value and sample size, and what was observed beside what the law states.

    The p-value is NaN where a sample, or the average of a moment, is no number.
    `observed` holds a few numbers to plot: ``{"at", "found", "stated"}`` are values of two distribution functions along
    the sample, ``{"mean", "error", "stated"}`` an average with its standard error.
    """

    name: str
    p: float
    samples: int
    observed: dict[str, Any] | None = None


def two_sided_p(z: float, degrees: int | None = None) -> float:
    """Two-sided p-value of a standard normal (or Student t) statistic, accurate in the far tail."""
    if degrees is None:
        return max(math.erfc(abs(z) / math.sqrt(2)), SMALLEST_P)
    import mpmath

    x = degrees / (degrees + z * z)
    return max(float(mpmath.betainc(degrees / 2, 0.5, 0, x, regularized=True)), SMALLEST_P)


def kolmogorov_smirnov(name: str, samples: Any, cdf: Callable[[np.ndarray], np.ndarray]) -> LawTest:
    """One-sample Kolmogorov-Smirnov test; the p-value is the Dvoretzky-Kiefer-Wolfowitz-Massart bound, valid for every n."""
    x = np.sort(np.asarray(samples, dtype=np.float64).reshape(-1))
    n = len(x)
    f = cdf(x)
    distance = max(np.max(np.arange(1, n + 1) / n - f), np.max(f - np.arange(n) / n))
    at = np.linspace(0, n - 1, min(n, CURVE)).round().astype(int)
    return LawTest(name, _clip(2 * math.exp(-2 * n * distance**2)), n, _curves(x[at], (at + 0.5) / n, f[at]))


def _curves(at: np.ndarray, found: np.ndarray, stated: np.ndarray) -> dict[str, Any]:
    """Two distribution functions, to six digits."""
    return {
        name: [float(f"{entry:.6g}") for entry in values]
        for name, values in (("at", at), ("found", found), ("stated", stated))
    }


def same_law(name: str, a: Any, b: Any) -> LawTest:
    """Two-sample Kolmogorov-Smirnov test of equal laws; p-value by the asymptotic bound 2 exp(-2 D^2 mn/(m+n))."""
    x, y = (np.sort(np.asarray(s, dtype=np.float64).reshape(-1)) for s in (a, b))
    grid = np.concatenate([x, y])
    of_x, of_y = (np.searchsorted(sample, grid, "right") / len(sample) for sample in (x, y))
    # sorting puts what is no number last, where it would count as large
    distance = np.max(np.abs(of_x - of_y)) if not np.isnan(grid).any() else math.nan
    effective = len(x) * len(y) / (len(x) + len(y))
    at = np.argsort(grid)[np.linspace(0, len(grid) - 1, min(len(grid), CURVE)).round().astype(int)]
    p = _clip(2 * math.exp(-2 * effective * distance**2))
    return LawTest(name, p, len(x) + len(y), _curves(grid[at], of_x[at], of_y[at]))


def moment_test(name: str, samples: Any, mean: float, variance: float | None = None) -> LawTest:
    """Test that independent samples have the given mean.

    With the law's own variance a z-test; otherwise Student's test on the means of 200 blocks, which are close to normal
    even for heavy-tailed samples.
    """
    x = np.asarray(samples, dtype=np.float64).reshape(-1)
    if variance is None and len(x) >= 2000:
        blocks = x[: len(x) // 200 * 200].reshape(200, -1).mean(1)
        error = float(blocks.std(ddof=1)) / math.sqrt(200)
        if error > 0:
            p = two_sided_p((float(blocks.mean()) - mean) / error, degrees=199)
            return LawTest(name, p, len(x), _average(blocks.mean(), error, mean))
    spread = math.sqrt((variance if variance is not None else float(x.var(ddof=1))) / len(x))
    average = _average(x.mean(), spread, mean)
    if spread == 0:
        return LawTest(name, 1.0 if abs(x.mean() - mean) < 1e-12 * (1 + abs(mean)) else SMALLEST_P, len(x), average)
    return LawTest(name, two_sided_p((float(x.mean()) - mean) / spread), len(x), average)


def _average(mean: Any, error: float, stated: float) -> dict[str, Any]:
    return {"mean": float(mean), "error": float(error), "stated": float(stated)}


def proportion_test(name: str, successes: Any, probability: float) -> LawTest:
    """Test that independent 0/1 outcomes have the given probability (Hoeffding's bound, valid for every n)."""
    x = np.asarray(successes, dtype=np.float64).reshape(-1)
    gap = abs(float(x.mean()) - probability)
    observed = _average(x.mean(), 0.5 / math.sqrt(len(x)), probability)
    return LawTest(name, _clip(2 * math.exp(-2 * len(x) * gap**2)), len(x), observed)


def at_least_probability(name: str, successes: int, trials: int, probability: float) -> LawTest:
    """Test that independent events have at least the given probability.

    One-sided; the p-value is that of `successes` or fewer at just this probability, exact for every number of trials.
    """
    observed = _of_trials(successes, trials, probability)
    if successes >= probability * trials:
        return LawTest(name, 1.0, trials, observed)
    if probability >= 1:
        return LawTest(name, SMALLEST_P, trials, observed)
    of_trials = math.lgamma(trials + 1)
    logarithms = [
        of_trials - math.lgamma(k + 1) - math.lgamma(trials - k + 1)
        + k * math.log(probability) + (trials - k) * math.log1p(-probability)
        for k in range(successes + 1)
    ]  # fmt: skip
    largest = max(logarithms)
    tail = math.exp(largest) * sum(math.exp(entry - largest) for entry in logarithms)
    return LawTest(name, _clip(tail), trials, observed)


def at_most_probability(name: str, successes: int, trials: int, probability: float) -> LawTest:
    """Test that independent events have at most the given probability, as `at_least_probability` does."""
    p = at_least_probability(name, trials - successes, trials, 1 - probability).p
    return LawTest(name, p, trials, _of_trials(successes, trials, probability))


def _of_trials(successes: int, trials: int, probability: float) -> dict[str, Any]:
    return _average(successes / trials, math.sqrt(max(probability * (1 - probability), 0.0) / trials), probability)


@dataclass(frozen=True)
class Moments:
    """Stated mean and variance of a scalar random variable."""

    mean: float
    variance: float

    def tests(self, name: str, samples: Any) -> list[LawTest]:
        """Tests of both moments on independent samples."""
        x = np.asarray(samples, dtype=np.float64).reshape(-1)
        return [
            moment_test(f"{name}: mean", x, self.mean),
            moment_test(f"{name}: variance", (x - self.mean) ** 2, self.variance),
        ]


@dataclass(frozen=True)
class NormalLaw:
    """The normal law of a scalar of given mean and variance."""

    mean: float = 0.0
    variance: float = 1.0

    def __post_init__(self) -> None:
        if not self.variance > 0:
            raise InputError("variance", "a positive number", repr(self.variance))

    def cdf(self, x: Any) -> np.ndarray:
        """The probability of a value of at most x, entry by entry; x of shape (n,)."""
        scale = math.sqrt(2 * self.variance)
        return np.array([(1 + math.erf((float(t) - self.mean) / scale)) / 2 for t in x])

    def tests(self, name: str, samples: Any) -> list[LawTest]:
        """One test of the whole distribution and one of each moment, on independent samples of any shape."""
        whole = kolmogorov_smirnov(f"{name}: distribution", samples, self.cdf)
        return [whole, *Moments(self.mean, self.variance).tests(name, samples)]


def _clip(p: float) -> float:
    """A p-value that can be told from 0; none where a sample is no number."""
    return p if math.isnan(p) else min(1.0, max(p, SMALLEST_P))
