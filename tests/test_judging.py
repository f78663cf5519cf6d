"""How evidence is judged, recorded and read: verdicts, checks run, assumptions tested, one decision at a time."""

from __future__ import annotations

import json
import math
import os
import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import flint
import pytest
import torch

from tests import claims_that_fail as toy
from verify.arithmetics import DEFAULT_BITS
from verify.checks.attack import Check
from verify.checks.record import (
    CERTIFIED,
    ERROR,
    SCHEMA,
    SEPARATION,
    UNCERTIFIED,
    UPHELD,
    VIOLATED,
    Record,
    blank,
    scored,
    separation_of,
    sizes_text,
)
from verify.checks.satisfied import float_satisfies, satisfies
from verify.checks.settings import EFFORTS, Settings, settings_for
from verify.evidence import store
from verify.evidence.fingerprints import code_of, fingerprint
from verify.evidence.runner import CONFIRMING, judge, problems_of_declaration, run_check
from verify.evidence.store import EvidenceWriter, in_force, rank_of, read
from verify.evidence.verdicts import GRADES, Verdict, disagreements, grade_of, judge_all, judge_alone
from verify.matrix import total
from verify.vocabulary import (
    Assumption,
    AtMost,
    Claim,
    Doubt,
    Equal,
    HasStructure,
    InputError,
    OrderOfGrowth,
    PowerRate,
    Reading,
    RegistryError,
    TendsTo,
)

pytestmark = pytest.mark.kept


def claim(name: str, **options: Any) -> Claim:
    """A claim with the mutants "one" and "two"."""
    found = toy.toy(name, options.pop("relation", Equal()), **options)
    found.formula(toy.product_transposed)
    for mutant in ("one", "two"):
        found.mutant(mutant, lambda value: value)
    return found


def evidence(of: Claim | str, check: str = "sampled float64", **values: Any) -> Record:
    """A record of a check that upheld its claim, every mutant dead."""
    own: dict[str, Any] = {
        "arithmetic": "float64",
        "outcome": UPHELD,
        "examples": 9,
        "satisfied": 7,
        "separation": 1e6,
        "mutants": {name: {"residual": 1e6, "killed": True} for name in ("one", "two")},
    }
    claim_id = of if isinstance(of, str) else of.id
    return Record(claim=claim_id, check=check, fingerprint="f", **{**own, **values})


def verdict(of: Claim, *records: Record) -> tuple[str, str]:
    found = judge_alone(of, list(records))
    return found.status, found.why


CLAIM = claim("judged")
REFUTED = claim("judged-refuted", expects="refuted", severity="slip")

# -- a claim's own evidence --------------------------------------------------------------------------------------------


def test_what_is_upheld_holds_with_the_facts_of_its_records() -> None:
    found = judge_alone(
        CLAIM,
        [
            evidence(CLAIM, tightest_ratio=0.5, separation=1e5),
            evidence(CLAIM, "enclosed", arithmetic="ball", satisfied=3, tightest_ratio=0.9, separation=1e4),
        ],
    )
    assert found == Verdict(
        CLAIM.id, "holds", "upheld by every check", "enclosed", None, 10, 1e5, 0.9
    )  # the separation of the search, not of what confirms it
    assert found.decided and not replace(found, status="open").decided


def test_without_records_nothing_is_decided() -> None:
    found = judge_alone(CLAIM, [])
    assert found == Verdict(CLAIM.id, "open", "no evidence about the present code")
    assert not found.decided and found.grade is None and found.examples == 0 and found.tightest_ratio is None


def test_an_error_opens_the_verdict_whatever_else_was_found() -> None:
    crash = evidence(CLAIM, "enclosed", outcome=ERROR, message="ZeroDivisionError: x")
    assert verdict(CLAIM, evidence(CLAIM), crash) == ("open", "enclosed: ZeroDivisionError: x")
    certified = evidence(REFUTED, "counterexample", outcome=CERTIFIED)
    assert verdict(REFUTED, certified, crash)[0] == "open"


SURE = {"arithmetic": "ball", "details": {"inputs": {"t": [0.5]}}}


@pytest.mark.parametrize(
    ("check", "values", "why"),
    [
        ("enclosed", SURE, "refuted by search (enclosed): they differ; declare the counterexample to certify it"),
        ("enclosed", {"arithmetic": "ball"}, "violated, but not for certain: enclosed: they differ"),
        (
            "sampled float64",
            {**SURE, "arithmetic": "float64"},
            "violated, but not for certain: sampled float64: they differ",
        ),
        ("counterexample", {"outcome": UNCERTIFIED}, "not certified: counterexample: they differ"),
        ("proved", {"arithmetic": "symbols"}, "not proved: they differ; without all_sizes the other checks decide"),
        (
            "proved at sizes",
            {"arithmetic": "polynomials"},
            "not proved: they differ; without at_sizes the other checks decide",
        ),
    ],
)
def test_what_is_not_upheld_is_open_and_says_how_sure_that_is(check: str, values: dict[str, Any], why: str) -> None:
    broken = evidence(CLAIM, check, **{"outcome": VIOLATED, "message": "they differ", **values})
    assert verdict(CLAIM, evidence(CLAIM), broken) == ("open", why)
    unsure = evidence(CLAIM, "proved", outcome=VIOLATED, message="2 terms remain")
    assert verdict(CLAIM, unsure, broken)[1].startswith(why[:10]), "a violation says more than an unfinished proof"


def test_examples_that_satisfy_the_assumptions_are_needed_in_some_check() -> None:
    nothing = evidence(CLAIM, satisfied=0)
    assert verdict(CLAIM, nothing, nothing) == ("open", "no example satisfied the assumptions")
    assert verdict(CLAIM, nothing, evidence(CLAIM, "enclosed"))[0] == "holds"


def test_every_mutant_of_the_claim_has_to_die_somewhere() -> None:
    one = evidence(CLAIM, mutants={"one": {"residual": 1e6, "killed": True}, "two": {"residual": 1.0, "killed": False}})
    two = evidence(CLAIM, "exact", mutants={"two": {"residual": 1e6, "killed": True}})
    assert verdict(CLAIM, one) == ("open", "mutants survive: two")
    assert verdict(CLAIM, evidence(CLAIM, mutants={})) == ("open", "mutants survive: one, two")
    assert verdict(CLAIM, one, two)[0] == "holds"


@pytest.mark.parametrize("separation", [None, 0.0, 999.9, math.nan, -math.inf])
def test_right_and_wrong_have_to_be_a_thousand_apart(separation: float | None) -> None:
    why = f"right and wrong are only {separation} apart, 1000 are needed"
    assert verdict(CLAIM, evidence(CLAIM, separation=separation)) == ("open", why)
    assert verdict(CLAIM, evidence(CLAIM, separation=1000.0))[0] == "holds"
    assert verdict(CLAIM, evidence(CLAIM, separation=math.inf))[0] == "holds"


def test_separation_is_the_worst_among_the_searches_else_among_what_confirms() -> None:
    assert verdict(CLAIM, evidence(CLAIM, separation=1e6), evidence(CLAIM, "rate", separation=10.0))[0] == "open"
    assert verdict(CLAIM, evidence(CLAIM, "exact", separation=1e6), evidence(CLAIM, "enclosed", separation=2.0)) == (
        "open",
        "right and wrong are only 2.0 apart, 1000 are needed",
    )
    for order in ((math.nan, 1e6), (1e6, math.nan)):
        assert verdict(CLAIM, *(evidence(CLAIM, separation=value) for value in order))[0] == "open"
    for check in CONFIRMING:
        assert verdict(CLAIM, evidence(CLAIM), evidence(CLAIM, check, separation=2.0))[0] == "holds"


def test_a_certified_counterexample_refutes() -> None:
    certified = evidence(
        REFUTED,
        "counterexample",
        arithmetic="exact",
        outcome=CERTIFIED,
        separation=50.0,
        details={"certificates": [{"title": "two by two"}, {"title": "three"}]},
    )
    found = judge_alone(REFUTED, [evidence(REFUTED, outcome=VIOLATED, separation=1e9), certified])
    assert (found.status, found.why) == ("refuted", "certified counterexample: two by two")
    assert (found.grade, found.severity, found.separation) == ("exact", "slip", 50.0)
    untitled = replace(certified, details={}, separation=None)
    found = judge_alone(CLAIM, [untitled, evidence(CLAIM, separation=7.0)])
    assert (found.why, found.severity, found.separation) == ("certified counterexample: ", "error", 7.0)
    assert judge_alone(REFUTED, [certified, replace(certified, separation=20.0)]).separation == 20.0


def test_a_counterexample_decides_nothing_while_mutants_live() -> None:
    alive = {name: {"residual": 1.0, "killed": False} for name in ("one", "two")}
    certified = evidence(REFUTED, "counterexample", outcome=CERTIFIED, mutants=alive)
    assert verdict(REFUTED, certified) == ("open", "a counterexample is certified, but mutants survive: one, two")


@pytest.mark.parametrize(
    ("arithmetic", "grade"),
    [
        ("ball", "enclosed"), ("exact", "exact"), ("polynomials", "some sizes"), ("symbols", "all sizes"),
        ("norms", "all sizes"), ("float64", "sampled"), ("counted", "sampled"), ("exact or ball", "sampled"),
    ],
)  # fmt: skip
def test_grades_are_those_of_the_strongest_arithmetic(arithmetic: str, grade: str) -> None:
    assert grade_of(arithmetic) == grade and grade in GRADES
    records = [evidence(CLAIM), evidence(CLAIM, "another", arithmetic=arithmetic), evidence(CLAIM, "third")]
    assert judge_alone(CLAIM, records).grade == grade


def test_observations_and_readings_are_called_so() -> None:
    read_as = claim("judged-reading", expects="reading", reading=Reading("close to", "within 1 %"))
    observed = claim("judged-empirical", expects="empirical", observed="five seeds")
    assert verdict(read_as, evidence(read_as)) == (
        "reading",
        "under a reading: \u201cclose to\u201d is read as: within 1 %",
    )
    assert verdict(observed, evidence(observed)) == ("empirical", "observed: five seeds")
    for found in (judge_alone(read_as, [evidence(read_as)]), judge_alone(observed, [evidence(observed)])):
        assert found.grade == "sampled" and found.decided


# -- in the context of what it rests on --------------------------------------------------------------------------------


def judged(claims: list[Claim], **records: Record | None) -> dict[str, Verdict]:
    """Verdicts by name; claims without a record of their own are upheld, with None they have none."""
    given = [records.get(c.id.split(".")[1].replace("-", "_"), evidence(c)) for c in claims]
    found = judge_all({c.id: c for c in claims}, [record for record in given if record is not None])
    return {claim_id.split(".")[1]: verdict for claim_id, verdict in found.items()}


def counterexample(of: Claim | str) -> Record:
    return evidence(of, "counterexample", outcome=CERTIFIED, details={"certificates": [{"title": "zero"}]})


def test_records_of_other_claims_do_not_count() -> None:
    stranger = evidence("toy.stranger", outcome=ERROR)
    assert judge_all({CLAIM.id: CLAIM}, [stranger, evidence(CLAIM)])[CLAIM.id].status == "holds"
    assert set(judge_all({CLAIM.id: CLAIM}, [stranger])) == {CLAIM.id}


@pytest.mark.parametrize(("link", "words"), [("presumes", "presupposes"), ("proof", "its printed proof uses")])
def test_what_rests_on_an_error_is_a_gap(link: str, words: str) -> None:
    wrong = claim("wrong", expects="refuted", severity="error")
    second = claim("second", expects="refuted", severity="error")
    top = claim("top", expects="gap", **{link: ["toy.wrong", "toy.second"]})
    found = judged([top, wrong, second], wrong=counterexample(wrong), second=counterexample(second))["top"]
    assert found.why == f"the statement stands, but {words} what is refuted: toy.wrong, toy.second"
    top = claim("top", expects="gap", **{link: ["toy.wrong"]})
    found = judged([top, wrong], wrong=counterexample(wrong))["top"]
    assert (found.status, found.why) == ("gap", f"the statement stands, but {words} what is refuted: toy.wrong")
    assert found.grade == "sampled" and found.unsound_uses == ()
    assert (
        judged([top, wrong], wrong=counterexample(wrong), top=evidence(top, outcome=VIOLATED))["top"].status == "open"
    )


def test_an_evident_misprint_on_the_way_is_named_and_leaves_the_verdict() -> None:
    """Several are named in the order in which the claim names them."""
    slip = claim("slip", expects="refuted", severity="slip")
    second = claim("second", expects="refuted", severity="slip")
    top = claim("top", proof=["toy.slip"], presumes=["toy.second"])
    found = judged([top, slip, second], slip=counterexample(slip), second=counterexample(second))["top"]
    assert (found.status, found.why) == (
        "holds",
        "upheld by every check; evident misprints on the way: toy.second, toy.slip",
    )


def test_a_missing_hypothesis_is_told_from_errors_of_the_proof() -> None:
    without = claim("without", expects="refuted", severity="error")
    step = claim("step", expects="refuted", severity="error")
    options: dict[str, Any] = {"expects": "gap", "missing": "alpha >= 0", "presumes": ["toy.without"]}
    records = {"without": counterexample(without), "step": counterexample(step)}
    found = judged([claim("top", **options), without, step], **records)["top"]
    assert found.why == "true if alpha >= 0, which is nowhere assumed; without it refuted: toy.without"
    more, other = (claim(name, expects="refuted", severity="error") for name in ("more", "other"))
    records |= {"more": counterexample(more), "other": counterexample(other)}
    options |= {"presumes": ["toy.without", "toy.more"], "proof": ["toy.step", "toy.other"]}
    found = judged([claim("top", **options), without, step, more, other], **records)["top"]
    assert found.why == (
        "true if alpha >= 0, which is nowhere assumed; without it refuted: toy.without, toy.more;"
        " its printed proof uses what is refuted: toy.step, toy.other"
    )


@pytest.mark.parametrize("link", ["presumes", "proof"])
def test_what_rests_on_something_undecided_is_undecided(link: str) -> None:
    step, wrong = claim("step"), claim("wrong", expects="refuted", severity="error")
    top = claim("top", **{link: ["toy.step"]})
    found = judged([top, step], step=None)["top"]
    assert (found.status, found.why) == ("open", "undecided: toy.step")
    two = judged([claim("top", **{link: ["toy.step", "toy.next"]}), step, claim("next")], step=None, next=None)["top"]
    assert two.why == "undecided: toy.step, toy.next"
    both = claim("top", expects="gap", **{link: ["toy.wrong", "toy.step"]})
    found = judged([both, step, wrong], step=None, wrong=counterexample(wrong))["top"]
    assert found.status == "gap"  # what is refuted decides, whatever else is open


def test_readings_rest_on_their_steps_like_what_holds_and_observations_do_not() -> None:
    step = claim("step")
    read_as = claim("top", expects="reading", reading=Reading("a", "b"), proof=["toy.step"])
    observed = claim("top", expects="empirical", observed="once", proof=["toy.step"])
    assert judged([read_as, step], step=None)["top"].status == "open"
    assert judged([observed, step], step=None)["top"].status == "empirical"


def test_what_a_claim_stands_on_is_followed_through_all_it_uses() -> None:
    wrong, other = (claim(name, expects="refuted", severity="slip") for name in ("wrong", "other"))
    step = claim("step", uses=["toy.wrong", "toy.top", "toy.good"])
    gap = claim("gap", expects="gap", presumes=["toy.hard"])
    hard = claim("hard", expects="refuted", severity="error")
    good, top = claim("good", uses=["toy.step"]), claim("top", uses=["toy.step", "toy.gap", "toy.other"])
    records = {name: counterexample(f"toy.{name}") for name in ("wrong", "other", "hard")}
    found = judged([top, step, wrong, other, gap, hard, good], **records)["top"]
    assert found.unsound_uses == ("toy.gap", "toy.other", "toy.wrong") and found.status == "holds"


def test_a_correction_that_does_not_hold_is_named() -> None:
    wrong = claim("wrong", expects="refuted", severity="error", correction="toy.right")
    right = claim("right", corrects="toy.wrong", of_project=True)
    found = judged([wrong, right], wrong=counterexample(wrong), right=None)["wrong"]
    assert (found.status, found.why) == (
        "refuted",
        "certified counterexample: zero; its correction toy.right does not hold: no evidence about the present code",
    )
    assert judged([wrong, right], wrong=counterexample(wrong))["wrong"].why == "certified counterexample: zero"
    read_as = claim("right", corrects="toy.wrong", expects="reading", reading=Reading("a", "b"))
    assert judged([wrong, read_as], wrong=counterexample(wrong))["wrong"].why == "certified counterexample: zero"
    observed = claim("right", corrects="toy.wrong", expects="empirical", observed="twice")
    assert judged([wrong, observed], wrong=counterexample(wrong))["wrong"].why == "certified counterexample: zero"


def derived_from(of: Claim, *facts: str) -> list[Record]:
    """Evidence of a claim with a derivation by these facts."""
    return [evidence(of), evidence(of, "proved", arithmetic="norms", details={"facts": list(facts)})]


@pytest.mark.parametrize(
    ("fact", "other", "why"),
    [
        (claim("fact"), [evidence("toy.fact", outcome=VIOLATED)], "toy.fact is not upheld"),
        (
            claim("fact"),
            [evidence("toy.fact"), evidence("toy.fact", "counterexample", outcome=CERTIFIED)],
            "not upheld",
        ),
        (claim("fact", expects="refuted", severity="error"), [], "toy.fact is refuted"),
        (claim("another"), [], "toy.fact is no claim"),
    ],
)
def test_a_derivation_by_a_fact_that_does_not_stand_proves_nothing(fact: Claim, other: list[Record], why: str) -> None:
    claims = {item.id: item for item in (fact, claim("lemma"), claim("theorem"))}
    records = [
        *other,
        *derived_from(claims["toy.lemma"], "toy.fact"),
        *derived_from(claims["toy.theorem"], "toy.lemma"),
    ]
    found = judge_all(claims, records)
    assert found["toy.lemma"].status == "open" and found["toy.lemma"].grade is None
    assert why in found["toy.lemma"].why and "toy.lemma is not proved" in found["toy.theorem"].why


def test_a_reading_that_is_derived_stands_with_its_facts_and_all_that_do_not_stand_are_named() -> None:
    read = claim("read", reading=Reading("large", "above 1"), expects="reading")
    found = judge_all({read.id: read}, derived_from(read, "toy.thm-2.1", "toy.eq-3.4"))["toy.read"]
    wrong = "toy.thm-2.1 is no claim; toy.eq-3.4 is no claim"
    assert found.why == f"not proved, its derivation uses what does not stand: {wrong}" and found.status == "open"


def test_a_derivation_stands_with_its_facts_and_where_nothing_is_known_of_them() -> None:
    lemma, fact = claim("lemma"), claim("fact")
    read = claim("read", reading=Reading("large", "above 1"), expects="reading")
    for claims, records in (
        ([lemma, fact], [evidence(fact), *derived_from(lemma, "toy.fact")]),
        ([lemma, fact], derived_from(lemma, "toy.fact")),
        ([lemma], derived_from(lemma, "elsewhere.fact")),
        ([lemma, read], [evidence(read), *derived_from(lemma, "toy.read")]),
    ):
        verdict = judge_all({item.id: item for item in claims}, records)["toy.lemma"]
        assert (verdict.status, verdict.grade) == ("holds", "all sizes")


def test_disagreements_name_what_was_expected_and_why_not() -> None:
    verdicts = {CLAIM.id: Verdict(CLAIM.id, "open", "a reason"), REFUTED.id: Verdict(REFUTED.id, "refuted", "yes")}
    assert disagreements({CLAIM.id: CLAIM, REFUTED.id: REFUTED}, verdicts) == [
        "toy.judged: expected holds, evidence says open (a reason)"
    ]


def test_zero_is_a_seed_and_no_seed_is_none() -> None:
    assert settings_for("quick", 0).seeded and not settings_for("quick").seeded
    assert settings_for("quick", 0).seed == settings_for("quick").seed == 0


def test_chosen_dtypes_are_those_of_the_run() -> None:
    assert settings_for("quick", dtypes=("float32", "float32")).dtypes == ("float32",)
    assert settings_for("quick").dtypes == settings_for("quick", dtypes=()).dtypes == ("float64", "float32")


@pytest.mark.parametrize("device", [None, 0, "no such device"])
def test_a_device_that_is_none_is_named(device: Any) -> None:
    with pytest.raises(InputError, match=r"^device: expected cpu, or an accelerator that torch can use here; got "):
        settings_for(device=device)


# -- one check ---------------------------------------------------------------------------------------------------------


def test_a_record_is_judged_by_what_the_expected_verdict_needs() -> None:
    def of(expected: Claim, **values: Any) -> tuple[bool, str]:
        found = judge(expected, evidence(expected, **values))
        return found.ok, found.why

    alive = {"one": {"residual": 1.0, "killed": False}, "two": {"residual": 2.0, "killed": False}}
    assert of(CLAIM) == (True, "")
    assert of(CLAIM, outcome=ERROR, message="crash") == (False, "crash")
    assert of(REFUTED, outcome=ERROR, message="crash") == (False, "crash")
    assert of(REFUTED, outcome=VIOLATED) == (True, "") and of(REFUTED, mutants=alive) == (True, "")
    assert of(REFUTED, check="counterexample", outcome=CERTIFIED) == (True, "")
    assert of(REFUTED, check="counterexample", outcome=UNCERTIFIED, message="harmless") == (False, "harmless")
    assert of(REFUTED, check="counterexample", outcome=UPHELD) == (False, "")
    assert of(CLAIM, outcome=VIOLATED, message="by two") == (False, "by two")
    assert of(CLAIM, outcome=VIOLATED) == (False, "the statement is violated")
    assert of(CLAIM, mutants=alive) == (False, "mutants survive: one, two")
    for check in CONFIRMING[:-1]:
        assert of(CLAIM, check=check, mutants=alive) == (True, "")
    assert CONFIRMING == ("enclosed", "exact", "at scale", "proved", "proved at sizes", "as stated", "counterexample")


def test_what_is_missing_of_a_declaration_is_named() -> None:
    bare = toy.toy("bare", Equal())
    bare.formula(toy.product_transposed)
    assert problems_of_declaration(bare) == [
        "toy.bare: no oracle is declared",
        "toy.bare: a claim declares at least two mutants, this one 0",
    ]
    structure = toy.toy("bare-structure", HasStructure())
    structure.formula(toy.product_transposed)
    structure.mutant("one", lambda value: value)
    assert problems_of_declaration(structure) == [
        "toy.bare-structure: relation 'structure' needs a part called 'structure'",
        "toy.bare-structure: a claim declares at least two mutants, this one 1",
    ]
    promised = claim("promised", expects="refuted", severity="slip")
    promised.oracle(toy.transposed_product)
    assert problems_of_declaration(promised) == ["toy.promised: expected to be refuted but declares no counterexample"]
    assert problems_of_declaration(toy.TRUE_IDENTITY) == []
    (shared,) = problems_of_declaration(toy.SHARED_ORACLE)
    assert shared == ("toy.shared-oracle: the oracle calls the formula it checks, through product_transposed_once_more")


def test_mutants_that_do_not_apply_or_use_what_is_nothing_are_named() -> None:
    wrong = claim("ill-mutated")
    wrong.oracle(toy.transposed_product)
    wrong.mutant("absent", "A @ A -> A")
    wrong.mutant("unknown", "B.T @ A.T -> B.T @ C.T")
    first, second = problems_of_declaration(wrong)
    assert first == "toy.ill-mutated: mutant 'absent': product_transposed: 'A @ A' does not occur in it"
    assert second == "toy.ill-mutated: mutant 'unknown' uses ['C'], which is neither imported nor an input"


def test_a_check_that_runs_is_recorded_with_the_run_it_was_part_of() -> None:
    given = settings_for("quick", seed=7)
    made = blank(toy.TRUE_IDENTITY, "made", "float64", UPHELD)
    record = run_check(toy.TRUE_IDENTITY, Check("made", "float64", lambda claim, settings: made), given)
    assert record is made and (record.effort, record.seed) == ("quick", 7)
    assert record.fingerprint == fingerprint(toy.TRUE_IDENTITY) and 0 <= record.duration < 60


def test_what_a_check_is_given_is_the_claim_and_the_settings() -> None:
    seen: list[Any] = []

    def run(*given: Any) -> Record:
        seen.extend(given)
        return blank(toy.TRUE_IDENTITY, "made", "ball", UPHELD)

    settings = Settings(EFFORTS["quick"])
    run_check(toy.TRUE_IDENTITY, Check("made", "ball", run), settings)
    claim, given = seen
    assert claim is toy.TRUE_IDENTITY and given == replace(settings, code=code_of(claim))


def test_a_crash_is_recorded_with_its_last_lines() -> None:
    def run(claim: Claim, settings: Settings) -> Record:
        raise ZeroDivisionError("by zero")

    record = run_check(toy.TRUE_IDENTITY, Check("crashed", "ball", run), settings_for("ci", seed=3))
    assert (record.claim, record.check, record.arithmetic) == (toy.TRUE_IDENTITY.id, "crashed", "ball")
    assert (record.outcome, record.message) == (ERROR, "ZeroDivisionError: by zero")
    assert (record.effort, record.seed) == ("ci", 3) and record.fingerprint == fingerprint(toy.TRUE_IDENTITY)
    assert (
        record.details["traceback"].endswith("ZeroDivisionError: by zero\n") and "in run" in record.details["traceback"]
    )


def test_only_the_end_of_a_long_traceback_is_kept() -> None:
    def deeper(levels: int) -> Record:
        if not levels:
            raise ValueError("at the bottom")
        return deeper(levels - 1) if levels % 2 else other(levels - 1)

    def other(levels: int) -> Record:
        return deeper(levels)

    check = Check("crashed", "ball", lambda claim, settings: deeper(9))
    text = run_check(toy.TRUE_IDENTITY, check, settings_for("quick")).details["traceback"]
    assert text.count("File ") == 5 and text.endswith("ValueError: at the bottom\n")


def test_an_incomplete_claim_is_an_error_of_every_check_that_never_runs() -> None:
    def run(claim: Claim, settings: Settings) -> Record:
        raise AssertionError("must not run")

    bare = toy.toy("bare-again", Equal())
    bare.formula(toy.product_transposed)
    record = run_check(bare, Check("any", "exact", run), settings_for("quick"))
    assert (record.outcome, record.claim, record.check, record.arithmetic) == (ERROR, bare.id, "any", "exact")
    assert record.message == (
        "toy.bare-again: no oracle is declared; toy.bare-again: a claim declares at least two mutants, this one 0"
    )
    assert "traceback" not in record.details


# -- records and scores ------------------------------------------------------------------------------------------------


def test_scores_and_separations() -> None:
    assert SEPARATION == 1000.0 and scored(1000.0) == {"residual": 1000.0, "killed": True}
    assert scored(999.0) == {"residual": 999.0, "killed": False}
    assert scored(5.0, bar=5.0)["killed"] and not scored(4.0, bar=5.0)["killed"]
    assert separation_of({}, 3.0) is None
    assert separation_of({"one": 6.0, "two": 4.0}, 2.0) == 2.0 and separation_of({"one": 6.0}, 0.5) == 6.0
    assert sizes_text({"n": 3, "d": 4}) == "n = 3, d = 4"


def test_a_blank_record_names_claim_check_and_arithmetic() -> None:
    made = blank(CLAIM, "exact", "balls", UPHELD, examples=2)
    assert (made.claim, made.check, made.arithmetic, made.outcome) == (CLAIM.id, "exact", "balls", UPHELD)
    assert (made.fingerprint, made.examples, made.schema) == ("", 2, SCHEMA)
    mutants = {"one": {"residual": 1.0, "killed": False}, "two": {"residual": 9e9, "killed": True}}
    assert replace(made, mutants=mutants).surviving == ["one"]


# -- assumptions -------------------------------------------------------------------------------------------------------

WIDTH = 2.0 ** (-DEFAULT_BITS / 2)


def under(**tests: Any) -> Claim:
    return claim("assuming", assumptions=["of no test", Assumption("tested", **tests)])


def ball(middle: float, radius: float = 0.0) -> flint.arb:
    return flint.arb(middle, radius)


@pytest.mark.parametrize(
    ("test", "values"),
    [
        ("positive", {(1, 0): True, (0, 0): False, (-1, 0): False, (1, 2): None, (0, WIDTH / 2): None}),
        ("nonnegative", {(1, 0): True, (0, 0): True, (-1, 0): False, (0, WIDTH / 2): True, (0, WIDTH): None, (1, 2): None}),
        ("zero", {(0, 0): True, (1, 0): False, (1, 0.5): False, (0, WIDTH / 2): True, (0, WIDTH): None, (0, 2): None}),
    ],
)  # fmt: skip
def test_assumptions_are_met_broken_or_undecided(test: str, values: dict[tuple[float, float], bool | None]) -> None:
    tested = under(**{test: lambda A: A})
    for (middle, radius), met in values.items():
        assert satisfies(tested, {"A": ball(middle, radius)}) is met, (test, middle, radius)


def test_assumptions_on_rationals_are_decided() -> None:
    for test, below, at, above in (
        ("positive", False, False, True),
        ("nonnegative", False, True, True),
        ("zero", False, True, False),
    ):
        tested = under(**{test: lambda A: A})
        found = [satisfies(tested, {"A": flint.fmpq(k)}) for k in (-1, 0, 1)]
        assert found == [below, at, above], test


def test_every_entry_and_every_assumption_counts() -> None:
    both = under(positive=lambda A: A, nonnegative=lambda B: B)
    three = claim(
        "thrice", assumptions=[Assumption("first", positive=lambda A: A), Assumption("last", zero=lambda B: B)]
    )
    assert satisfies(both, {"A": ball(1), "B": ball(-1)}) is False
    assert satisfies(both, {"A": ball(0, 1), "B": ball(1)}) is None  # undecided, whatever is decided after it
    assert satisfies(both, {"A": ball(0, 1), "B": ball(-1)}) is False
    assert satisfies(three, {"A": ball(1), "B": ball(1)}) is False and satisfies(three, {"A": ball(1), "B": ball(0)})
    entries = under(positive=lambda A: A)
    assert satisfies(entries, {"A": [ball(1), ball(-1)]}) is False
    assert satisfies(entries, {"A": [ball(1), ball(0, 1), ball(2)]}) is None
    assert satisfies(claim("assuming-nothing", assumptions=["of no test"]), {}) is True


def test_an_assumption_without_a_value_is_broken() -> None:
    assert satisfies(under(positive=lambda A: flint.fmpq(1) / A), {"A": flint.fmpq(0)}) is False


def test_tensors_satisfy_strict_and_weak_inequalities_seed_by_seed() -> None:
    A = torch.tensor([[[1.0, 2.0]], [[1.0, 0.0]], [[-1.0, 3.0]]], dtype=torch.float64)
    raw = {"A": A, "n": 2}
    assert float_satisfies(under(positive=lambda A: A), raw).tolist() == [True, False, False]
    assert float_satisfies(under(nonnegative=lambda A: A), raw).tolist() == [True, True, False]
    assert float_satisfies(under(zero=lambda A: A), raw).tolist() == [True, True, True]  # tested in balls
    both = under(positive=lambda A: total(A).reshape(1), nonnegative=lambda A: A)
    assert float_satisfies(both, raw).tolist() == [True, True, False]
    slack = torch.tensor([[-0.9e-9], [-1.1e-9], [-2e-9], [-1.0]], dtype=torch.float64)
    assert float_satisfies(under(nonnegative=lambda A: A), {"A": slack}).tolist() == [True, False, False, False]
    two = claim(
        "two-tests", assumptions=[Assumption("a", positive=lambda A: A), Assumption("b", positive=lambda A: 2 - A)]
    )
    assert float_satisfies(two, raw).tolist() == [False, False, False]


# -- evidence files ----------------------------------------------------------------------------------------------------


def test_lists_in_details_survive_with_what_is_not_finite(tmp_path: Path) -> None:
    sent = evidence(CLAIM, details={"rises": [[1, 0.5], (2, math.inf)], "at": {3: [math.nan]}})
    EvidenceWriter(tmp_path / "a" / "b").append(sent)
    (got,), rejected = read(tmp_path / "a" / "b")
    assert got.details == {"rises": [[1, 0.5], [2, "inf"]], "at": {"3": ["nan"]}} and not rejected


def test_a_run_is_named_after_its_time(tmp_path: Path) -> None:
    recorder = EvidenceWriter(tmp_path)
    day, time_of_day = recorder.run.split("-")[0].split("T")
    assert len(day) == 8 and len(time_of_day) == 6 and (day + time_of_day).isdigit() and len(recorder.run) == 24
    assert recorder.path == tmp_path / f"{recorder.run}-{os.getpid()}.jsonl"


def test_errors_name_the_folder(tmp_path: Path) -> None:
    (tmp_path / "evidence").write_text("")
    for failing in (
        lambda: read(tmp_path / "evidence"),
        lambda: EvidenceWriter(tmp_path / "evidence").append(evidence(CLAIM)),
    ):
        with pytest.raises(InputError, match=str(tmp_path / "evidence")):
            failing()


CERTIFICATE = {
    "title": "t",
    "arithmetic": "exact",
    "formula": "1",
    "oracle": "2",
    "violation": "1",
    "inputs": {"A": "1"},
}


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"schema": SCHEMA + 1}, f"not a record of schema {SCHEMA}"),
        ({"b": 1, "a": 2}, "unknown fields ['a', 'b']"),
        ({"mutants": []}, "mutants: expected dict; got list"),
        (
            {"mutants": {"m": {"residual": None, "killed": True}}},
            "the residual of mutant 'm': expected a number; got NoneType",
        ),
        ({"domains": []}, "domains: expected dict; got list"),
        ({"domains": {"generic": 1.5}}, "domain 'generic': expected int; got float"),
        ({"details": {"certificates": {}}}, "certificates: expected list; got dict"),
        (
            {"details": {"certificates": [{**CERTIFICATE, "oracle": 2}]}},
            "oracle of a certificate: expected str; got int",
        ),
        (
            {"details": {"certificates": [{**CERTIFICATE, "inputs": []}]}},
            "inputs of a certificate: expected dict; got list",
        ),
        ({"seed": True}, "seed: expected int; got bool"),
        ({"satisfied": -1}, "satisfied: expected a count; got -1"),
        ({"undefined": -1}, "undefined: expected a count; got -1"),
        ({"seed": -1}, "seed: expected a count; got -1"),
        ({"tightest_ratio": []}, "tightest_ratio: expected a number; got list"),
        ({"separation": True}, "separation: expected a number; got bool"),
        ({"device": 0}, "device: expected str; got int"),
        ({"message": None}, "message: expected str; got NoneType"),
        ({"effort": 1}, "effort: expected str; got int"),
        ({"run": []}, "run: expected str; got list"),
    ],
)
def test_records_are_rejected_with_the_reason(tmp_path: Path, values: dict[str, Any], reason: str) -> None:
    (tmp_path / "one.jsonl").write_text(json.dumps({**evidence(CLAIM).__dict__, **values}))
    records, (rejected,) = read(tmp_path)
    assert not records and rejected.reason == reason and (rejected.path, rejected.line) == (tmp_path / "one.jsonl", 1)


def test_a_whole_certificate_is_read(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text(
        json.dumps({**evidence(CLAIM).__dict__, "details": {"certificates": [CERTIFICATE]}})
    )
    assert read(tmp_path)[0][0].details == {"certificates": [CERTIFICATE]}


def test_what_a_record_leaves_out_has_its_default(tmp_path: Path) -> None:
    required = {"claim": "a", "check": "b", "arithmetic": "c", "outcome": UPHELD, "fingerprint": "f", "schema": SCHEMA}
    (tmp_path / "one.jsonl").write_text(json.dumps(required))
    (record,), rejected = read(tmp_path)
    assert record == Record("a", "b", "c", UPHELD, "f") and not rejected
    assert (record.duration, record.when, record.mutants) == (0.0, 0.0, {})
    for name in required:
        (tmp_path / "one.jsonl").write_text(json.dumps({key: value for key, value in required.items() if key != name}))
        assert not read(tmp_path)[0]


def test_one_bad_line_or_file_costs_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = json.dumps(evidence(CLAIM, message="caf\u00e9").__dict__, ensure_ascii=False)
    (tmp_path / "a.jsonl").mkdir()
    (tmp_path / "b.jsonl").write_text("locked")
    (tmp_path / "c.jsonl").write_bytes(line.encode() + b"\n\n \n\xff\xfe\n" + line.encode() + b"\n")
    (tmp_path / "d.jsonl").write_text(json.dumps({"schema": SCHEMA}) + "\n" + line, encoding="utf-8")
    (tmp_path / "d.txt").write_text("nothing of ours")
    ordinary = Path.read_text

    def locked(self: Path, encoding: str = "locale", errors: str = "strict") -> str:
        assert encoding == "utf-8"
        if self.name == "b.jsonl":
            raise PermissionError(13, "Permission denied")
        return ordinary(self, encoding=encoding, errors=errors)

    monkeypatch.setattr(Path, "read_text", locked)
    records, rejected = read(tmp_path)
    assert [record.message for record in records] == ["caf\u00e9"] * 3
    assert [(item.path.name, item.line) for item in rejected] == [
        ("a.jsonl", 0), ("b.jsonl", 0), ("c.jsonl", 4), ("d.jsonl", 1),
    ]  # fmt: skip
    assert rejected[0].reason == "it is not a file" and rejected[1].reason == "Permission denied"


def test_a_short_torn_line_is_closed_too(tmp_path: Path) -> None:
    recorder = EvidenceWriter(tmp_path)
    recorder.path.write_text("{")
    recorder.append(evidence(CLAIM))
    records, (rejected,) = read(tmp_path)
    assert len(records) == 1 and rejected.line == 1


def test_efforts_are_ranked_and_unknown_ones_come_last() -> None:
    assert [rank_of(name) for name in ("quick", "ci", "deep", "", "heroic")] == [0, 1, 2, -1, -1]
    kept = {"claim": "a", "check": "b", "arithmetic": "c", "outcome": UPHELD, "fingerprint": "f"}
    (one,) = in_force([Record(**kept, effort="quick"), Record(**kept, effort="heroic")])
    assert one.effort == "quick"
    places = [Record(**{**kept, **place}) for place in ({}, {"claim": "x"}, {"check": "x"}, {"device": "x"})]
    assert in_force(places) == places


def test_outcomes_that_stand_are_those_that_were_found() -> None:
    assert store.FOUND == (VIOLATED, CERTIFIED)


# -- what is quoted and what a relation needs --------------------------------------------------------------------------


def test_empty_texts_name_what_they_belong_to() -> None:
    with pytest.raises(
        RegistryError, match=r"^a reading: words is text, or several texts, none of them empty; got ''$"
    ):
        Reading("", "x")
    with pytest.raises(RegistryError, match=r"^a reading: meaning is text.*; got ' '$"):
        Reading("x", " ")
    with pytest.raises(RegistryError, match=r"^a doubt: glyphs is text.*; got \(\)$"):
        Doubt((), "x")
    with pytest.raises(RegistryError, match=r"^a doubt: reason is text.*; got ''$"):
        Doubt("x", "")


def test_quotations_are_unwrapped_and_printed() -> None:
    assert Reading("w", "one\n    two").meaning == "one two" and Doubt("g", "one\n   two").reason == "one two"
    assert str(Doubt(("g", "h"), "a reason")) == "\u201cg\u201d, \u201ch\u201d: a reason"
    assert Doubt("g", "r").passages == ("g",) and Reading(("v", "w"), "m").passages == ("v", "w")


def test_limits_and_orders_need_five_scales_that_tell() -> None:
    rate = PowerRate(1.0)
    assert len(TendsTo(scales=(1, 2, 3, 4, 5), rate=rate).scales) == 5
    with pytest.raises(RegistryError, match=r"^a limit is fitted over at least five scales, not 4$"):
        TendsTo(scales=(1, 2, 3, 4), rate=rate)
    assert len(OrderOfGrowth(along=("N",), scales=(1, 2, 4, 8, 16)).scales) == 5
    with pytest.raises(RegistryError, match=r"^an order of growth is fitted over at least five scales, not 4$"):
        OrderOfGrowth(along=("N",), scales=(1, 2, 4, 8))
    with pytest.raises(RegistryError, match=r"^the scales of an order of growth are geometric$"):
        OrderOfGrowth(along=("N",), scales=(1, 2, 4, 8, 15))
    for scales, along in (((1, 1, 1, 1, 1), ("N",)), ((16, 8, 4, 2, 1), ("N",)), ((1, 2, 4, 8, 16), ())):
        with pytest.raises(RegistryError, match=r"^an order of growth needs directions and growing scales$"):
            OrderOfGrowth(along=along, scales=scales)
    assert AtMost.kind == "at most" and Equal.parts == ("oracle",)


# -- what mutation testing reaches ---------------------------------------------------------------------------------------


@pytest.mark.kept(".")  # whether a file is there is seen by nobody
def test_the_modules_and_tests_named_for_mutation_testing_exist() -> None:
    root = Path(__file__).resolve().parents[1]
    tests = runpy.run_path(str(root / ".ci/mutants.py"))["TESTS"]
    named = {*tests, *(test for asked in tests.values() for test in asked)}
    assert [pattern for pattern in named if not list(root.glob(pattern))] == []
