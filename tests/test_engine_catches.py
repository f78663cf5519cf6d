"""Every way of faking a verdict, and the run that fails because of it."""

from __future__ import annotations

import pytest

from tests import claims_that_fail as toy
from verify.checks import checks_of
from verify.checks.record import CERTIFIED, ERROR, UPHELD, VIOLATED, Record
from verify.checks.settings import settings_for
from verify.evidence.fingerprints import fingerprint
from verify.evidence.runner import judge, run_check
from verify.evidence.verdicts import disagreements, judge_all
from verify.vocabulary import Claim, Registry, RegistryError

pytestmark = pytest.mark.kept

SETTINGS = settings_for("quick")


def evidence_of(claim: Claim) -> list[Record]:
    return [run_check(claim, check, SETTINGS) for check in checks_of(claim, SETTINGS)]


def verdict_of(*claims: Claim) -> tuple[str, str]:
    """Status and reason for the first claim, from the evidence of all."""
    registry = Registry(claims)
    verdicts = judge_all(registry, [record for claim in claims for record in evidence_of(claim)])
    verdict = verdicts[claims[0].id]
    return verdict.status, verdict.why


def failing_checks(claim: Claim) -> dict[str, str]:
    return {r.check: judge(claim, r).why for r in evidence_of(claim) if not judge(claim, r).ok}


@pytest.mark.parametrize(
    "claim", [toy.TRUE_IDENTITY, toy.TRUE_BOUND, toy.RIGHT_LIMIT, toy.SLOW_LIMIT, toy.OFTEN_REACHED], ids=lambda c: c.id
)
def test_sound_claims_hold(claim: Claim) -> None:
    assert failing_checks(claim) == {}
    assert verdict_of(claim)[0] == "holds"


@pytest.mark.parametrize("seed", range(3))
def test_a_mean_as_far_from_its_limit_as_it_spreads_is_no_violation(seed: int) -> None:
    deep = settings_for("deep", seed)
    check = checks_of(toy.ONE_SIDED_LIMIT, deep)[0]  # further ones compare its inputs with its assumptions
    record = run_check(toy.ONE_SIDED_LIMIT, check, deep)
    assert judge(toy.ONE_SIDED_LIMIT, record).ok, record.message
    assert record.details["p"] > 1e-6
    assert all(mutant["killed"] for mutant in record.mutants.values())


@pytest.mark.parametrize(
    "claim",
    [
        toy.FALSE_IDENTITY,
        toy.CORNER_BOUND,
        toy.WRONG_LIMIT,
        toy.WRONG_EXPONENT,
        toy.WRONG_DETERMINISTIC_LIMIT,
        toy.LIMIT_MISSED,
        toy.RATE_MISSED,
        toy.WRONG_VARIANCE,
        toy.WRONG_LAYOUT,
        toy.BROKEN_STRUCTURE,
    ],
    ids=lambda c: c.id,
)
def test_false_statements_fail(claim: Claim) -> None:
    records = evidence_of(claim)
    assert any(record.outcome == VIOLATED for record in records)
    assert not all(judge(claim, record).ok for record in records)
    assert verdict_of(claim)[0] == "open"


@pytest.mark.parametrize("claim", [toy.IDENTITY_FALSE_AT_SCALE, toy.BOUND_FALSE_AT_SCALE], ids=lambda c: c.id)
def test_sizes_that_a_source_names_are_decided_too(claim: Claim) -> None:
    """True at every size drawn; only the check at the declared sizes fails."""
    assert set(failing_checks(claim)) == {"at scale"}
    assert verdict_of(claim)[0] == "open"


def test_sizes_that_break_the_claims_condition_are_refused() -> None:
    with pytest.raises(RegistryError, match="does not give all of"):
        toy.TRUE_IDENTITY.at_scale("incomplete", m=3)


def test_random_draws_alone_miss_the_corner() -> None:
    """The bound is broken only near ties of the two largest logits; the attack finds it, blind sampling does not."""
    import torch

    t = torch.randn(4000, 1, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) * 4
    p = torch.softmax(3 * t, -1)
    norms = torch.linalg.matrix_norm(torch.diag_embed(p[:, 0]) - p.mT @ p, 2)
    assert (norms > 0.45).double().mean() < 0.05
    record = next(r for r in evidence_of(toy.CORNER_BOUND) if r.check == "attacked float64")
    assert record.outcome == VIOLATED
    assert record.tightest_ratio is not None and record.tightest_ratio > 1.1
    assert "inputs" in record.details


def test_surviving_mutant_fails_the_run() -> None:
    failures = failing_checks(toy.SURVIVING_MUTANT)
    assert "transposed first" in failures["sampled float64"]
    assert verdict_of(toy.SURVIVING_MUTANT)[0] == "open"


def test_crashing_mutant_is_an_error_not_a_kill() -> None:
    records = evidence_of(toy.CRASHING_MUTANT)
    assert any(record.outcome == ERROR for record in records)
    assert verdict_of(toy.CRASHING_MUTANT)[0] == "open"


def test_assumptions_that_nothing_satisfies_fail() -> None:
    failures = failing_checks(toy.VACUOUS)
    assert "no example satisfied the assumptions" in failures["sampled float64"]
    assert verdict_of(toy.VACUOUS)[0] == "open"


def test_a_good_counterexample_is_certified_exactly() -> None:
    status, why = verdict_of(toy.GOOD_COUNTEREXAMPLE, toy.GOOD_CORRECTION)
    assert status == "refuted" and "two by two" in why
    record = next(r for r in evidence_of(toy.GOOD_COUNTEREXAMPLE) if r.check == "counterexample")
    assert record.outcome == CERTIFIED and record.arithmetic == "exact"


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        (toy.ASSUMPTION_BREAKING, "assumption is violated"),
        (toy.HARMLESS_COUNTEREXAMPLE, "not certainly broken"),
        (toy.MISSHAPEN_COUNTEREXAMPLE, "shape"),
        (toy.HAND_WRITTEN_VERDICT, "not certainly broken"),
    ],
    ids=lambda value: getattr(value, "id", ""),
)
def test_bad_counterexamples_are_not_certified(claim: Claim, reason: str) -> None:
    assert reason in failing_checks(claim)["counterexample"]
    assert verdict_of(claim)[0] == "open"


def test_a_false_correction_fails() -> None:
    status, why = verdict_of(toy.BADLY_CORRECTED, toy.FALSE_CORRECTION)
    assert status == "refuted" and "does not hold" in why
    assert failing_checks(toy.FALSE_CORRECTION)
    registry = Registry([toy.BADLY_CORRECTED, toy.FALSE_CORRECTION])
    records = [record for claim in registry.values() for record in evidence_of(claim)]
    assert any(
        line.startswith("toy.false-correction") for line in disagreements(registry, judge_all(registry, records))
    )


def test_a_verdict_written_by_hand_disagrees_with_evidence() -> None:
    registry = Registry([toy.HAND_WRITTEN_VERDICT])
    verdicts = judge_all(registry, evidence_of(toy.HAND_WRITTEN_VERDICT))
    assert disagreements(registry, verdicts) == [
        f"toy.hand-written-verdict: expected refuted, evidence says open ({verdicts['toy.hand-written-verdict'].why})"
    ]


def test_an_oracle_that_calls_the_formula_is_found() -> None:
    failures = failing_checks(toy.SHARED_ORACLE)
    assert all("the oracle calls the formula" in why for why in failures.values()) and failures


def test_two_mutants_are_required() -> None:
    assert all("at least two mutants" in why for why in failing_checks(toy.ONE_MUTANT).values())


def test_no_evidence_is_open_not_a_pass() -> None:
    registry = Registry([toy.TRUE_IDENTITY])
    assert judge_all(registry, [])["toy.true-identity"].status == "open"


def test_a_separation_below_a_thousand_is_open() -> None:
    records = evidence_of(toy.TRUE_IDENTITY)
    for record in records:
        record.separation = 900.0
    verdict = judge_all(Registry([toy.TRUE_IDENTITY]), records)["toy.true-identity"]
    assert verdict.status == "open" and "900" in verdict.why


def test_runs_are_deterministic() -> None:
    first, second = (evidence_of(toy.TRUE_BOUND) for _ in range(2))
    assert [(r.outcome, r.worst_residual, r.tightest_ratio, r.mutants) for r in first] == [
        (r.outcome, r.worst_residual, r.tightest_ratio, r.mutants) for r in second
    ]


def test_residuals_do_not_grow_with_size_and_stay_below_one_unit() -> None:
    worst = max(r.worst_residual or 0.0 for r in evidence_of(toy.TRUE_IDENTITY))
    assert worst <= 1.0


def test_fingerprints_tell_claims_apart() -> None:
    assert fingerprint(toy.TRUE_IDENTITY) != fingerprint(toy.TRUE_BOUND)
    assert all(record.fingerprint == fingerprint(toy.TRUE_IDENTITY) for record in evidence_of(toy.TRUE_IDENTITY))


def test_upheld_checks_count_only_examples_that_satisfied_the_assumptions() -> None:
    for record in evidence_of(toy.TRUE_IDENTITY):
        assert record.outcome == UPHELD and 0 < record.satisfied <= record.examples
