"""One-sided tests of probabilities: exact tails of the binomial law, and what lies at their ends."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest

from verify.oracles import SMALLEST_P, at_least_probability, at_most_probability


@pytest.mark.parametrize(
    ("successes", "trials", "probability"), [(9, 16, "99/100"), (0, 5, "1/3"), (960, 1000, "99/100")]
)
def test_the_p_value_is_the_tail_of_the_binomial_law(successes: int, trials: int, probability: str) -> None:
    p = Fraction(probability)
    tail = sum(comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(successes + 1))
    assert at_least_probability("", successes, trials, float(p)).p == pytest.approx(float(tail), rel=1e-9)
    mirrored = at_most_probability("", trials - successes, trials, float(1 - p))
    assert mirrored.p == pytest.approx(float(tail), rel=1e-9)


def test_enough_successes_reject_nothing_and_impossible_failures_reject_everything() -> None:
    assert at_least_probability("", 10, 16, 0.5).p == 1.0
    assert at_most_probability("", 1, 16, 2.0).p == 1.0 == at_least_probability("", 0, 16, -1.0).p
    assert at_least_probability("", 15, 16, 1.0).p == SMALLEST_P == at_most_probability("", 1, 16, 0.0).p
    assert at_least_probability("", 16, 16, 1.0).p == 1.0 == at_most_probability("", 0, 16, 0.0).p


def test_what_was_observed_is_kept_for_plots() -> None:
    observed = at_most_probability("", 4, 16, 0.25).observed
    assert observed == {"mean": 0.25, "error": pytest.approx(0.10825, rel=1e-3), "stated": 0.25}
