"""What checks keep for the report's pictures: enough to plot, and bounded."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest

from tests import claims_that_fail as toy
from verify.checks import checks_of
from verify.checks.inequality import RISES, Hall
from verify.checks.laws import KEPT
from verify.checks.record import Record
from verify.checks.settings import settings_for
from verify.evidence.runner import run_check
from verify.oracles import NormalLaw, kolmogorov_smirnov, moment_test, proportion_test, same_law
from verify.oracles.statistics import CURVE
from verify.vocabulary import InputError, load

pytestmark = pytest.mark.kept

SETTINGS = settings_for("quick")


@pytest.fixture(scope="module")
def law() -> Record:
    claim = load()["osa.alg-1"]
    (check, *_) = checks_of(claim, SETTINGS)
    return run_check(claim, check, SETTINGS)


def numbers() -> Iterator[np.ndarray]:
    rng = np.random.default_rng(0)
    while True:
        yield rng.normal(size=4000)


def test_a_search_keeps_how_its_best_score_rose() -> None:
    records = [run_check(toy.TRUE_BOUND, check, SETTINGS) for check in checks_of(toy.TRUE_BOUND, SETTINGS)]
    for record in records:
        search = record.details["search"]
        seen, scores = zip(*search["rises"], strict=True)
        assert sorted(seen) == list(seen) and sorted(set(scores)) == list(scores)
        assert search["inputs"] >= seen[-1] and (search["ascent from"] is None) == (record.check == "enclosed")


def test_a_long_rise_is_thinned_and_keeps_both_ends() -> None:
    hall = Hall()
    for k in range(10_000):
        hall.seen = k
        hall.offer(k / 10_000, {}, {})
    rises = hall.history()["rises"]
    assert len(rises) <= RISES and rises[0] == [0, 0.0] and rises[-1] == [9999, 0.9999]


def test_laws_keep_what_was_observed(law: Record) -> None:
    observed = [test["observed"] for test in law.details["tests"] if "observed" in test]
    assert any("at" in item for item in observed) and any("mean" in item for item in observed)
    assert len(observed) <= KEPT
    assert len(json.dumps(law.details)) < 40_000


def test_distributions_are_kept_at_few_points() -> None:
    draws = numbers()
    one = kolmogorov_smirnov("normal", next(draws), lambda x: 0.5 + 0 * x).observed
    two = same_law("normal", next(draws), next(draws)).observed
    for observed in (one, two):
        assert observed is not None and sorted(observed["at"]) == observed["at"]
        assert len(observed["at"]) == len(observed["found"]) == len(observed["stated"]) <= CURVE
    assert two is not None and np.abs(np.subtract(two["found"], two["stated"])).max() < 0.1


def test_averages_are_kept_with_their_error() -> None:
    draws = numbers()
    for test in (moment_test("mean", next(draws), 0.0, 1.0), moment_test("mean", next(draws), 0.0)):
        assert test.observed is not None and abs(test.observed["mean"]) < 6 * test.observed["error"]
    fair = proportion_test("sign", next(draws) > 0, 0.5).observed
    assert fair is not None and fair["stated"] == 0.5 and abs(fair["mean"] - 0.5) < 6 * fair["error"]


def test_a_normal_law_is_accepted_and_its_neighbours_are_not() -> None:
    samples = np.random.default_rng(0).normal(1.0, 2.0, 20_000)
    assert all(test.p > 1e-3 for test in NormalLaw(1.0, 4.0).tests("x", samples))
    for wrong in (NormalLaw(1.2, 4.0), NormalLaw(1.0, 5.0)):
        assert min(test.p for test in wrong.tests("x", samples)) < 1e-9
    uniform = np.random.default_rng(0).uniform(-(3**0.5), 3**0.5, 20_000)  # the same two moments
    whole, *moments = NormalLaw().tests("x", uniform)
    assert whole.p < 1e-9 and all(test.p > 1e-3 for test in moments)
    with pytest.raises(InputError, match="variance"):
        NormalLaw(0.0, 0.0)
