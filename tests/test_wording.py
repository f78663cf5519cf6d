"""What reports say of verdicts: every sentence from made-up records, so that a wrong word is seen without a run."""

from __future__ import annotations

import copy
import functools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests import claims_that_fail as toy
from verify.checks.record import CERTIFIED, UPHELD, VIOLATED, Record
from verify.evidence.data_files import data_file
from verify.evidence.fingerprints import fingerprint
from verify.evidence.released import FILE, Released
from verify.evidence.store import EvidenceWriter, Rejected
from verify.evidence.verdicts import Verdict, judge_all
from verify.report import model
from verify.report.errata import (
    CertifiedCounterexample,
    Erratum,
    counterexamples_of,
    errata,
    errata_markdown,
    erratum_markdown,
    of_paper,
    remarks_of,
    without_repeats,
)
from verify.report.model import (
    KINDS_OF_VERDICT,
    REPEATED,
    Report,
    build,
    counts,
    kinds,
    nonzero,
    quality,
    restricted,
    status_of,
)
from verify.report.sides import Sides, Violation, arranged, described, in_its_own_sign, negated, number, short, sides_of
from verify.report.weights import weights_of
from verify.report.wording import (
    KIND_NAMES,
    capital,
    counted,
    does_not_hold,
    how_known,
    how_sure,
    listed,
    number_word,
    resting,
    sentence,
    titled,
)
from verify.vocabulary import (
    Assumption,
    AtMost,
    Claim,
    Construction,
    Convention,
    Definition,
    Doubt,
    Equal,
    FollowsLaw,
    OrderOfGrowth,
    Paper,
    PowerRate,
    QuadraticRate,
    Reading,
    Realised,
    TendsTo,
)

pytestmark = pytest.mark.kept

OTHER = Paper("other", "Another paper that does not exist", "no one, never", "row-major")
OURS = Paper("ours", "Claims of this project", "", "row-major", of_project=True)
MUTANTS = ("one", "two")


def claim(name: str, relation: Any = None, mutants: tuple[str, ...] = MUTANTS, **options: Any) -> Claim:
    """A claim with mutants of these names."""
    found = toy.toy(name, relation or Equal(), **options)
    found.formula(toy.product_transposed)
    found.oracle(toy.transposed_product)
    for mutant in mutants:
        found.mutant(mutant, lambda value: value)
    return found


def evidence(of: Claim, check: str = "sampled float64", killed: tuple[str, ...] = MUTANTS, **values: Any) -> Record:
    """A record of a check that upheld its claim and killed some mutants."""
    own: dict[str, Any] = {
        "arithmetic": "float64", "outcome": UPHELD, "examples": 90, "satisfied": 70, "separation": 1e6,
        "mutants": {mutant.name: {"residual": 1e6, "killed": mutant.name in killed} for mutant in of.mutants},
    }  # fmt: skip
    return Record(claim=of.id, check=check, fingerprint="f", **{**own, **values})


def certificate(title: str = "two by two", arithmetic: str = "exact", **values: Any) -> dict[str, Any]:
    """A counterexample as records keep it."""
    own = {"title": title, "arithmetic": arithmetic, "inputs": {"A": [["1"]], "B": [["2"]]}, "entry": 0}
    return {**own, "formula": "3", "oracle": "2", "violation": "1", **values}


def refuting(of: Claim, *found: dict[str, Any], arithmetic: str = "exact", **values: Any) -> Record:
    """A record of certified counterexamples."""
    own = {"outcome": CERTIFIED, "arithmetic": arithmetic, "examples": len(found), "satisfied": len(found)}
    return evidence(of, "counterexample", details={"certificates": list(found)}, **{**own, **values})


def verdict(of: Claim, status: str = "holds", severity: str | None = None, **values: Any) -> Verdict:
    return Verdict(of.id, status, "why", severity=severity, **values)


HOLDS = claim("held")

# -- words -------------------------------------------------------------------------------------------------------------


def test_words_that_sentences_are_made_of() -> None:
    nameless = Claim(toy.PAPER, "toy.bare", label="bare", statement="bare", relation=Equal())
    assert titled(HOLDS) == "held: toy held" and titled(nameless) == "bare"
    assert [sentence(text) for text in ("a X", "a. ", "a..", "a!", "a? ", "a…")] == [
        "a X.",
        "a.",
        "a.",
        "a!",
        "a?",
        "a…",
    ]
    assert (capital("ab c"), capital("")) == ("Ab c", "")
    assert [counted(n, "claim") for n in (0, 1, 2, 2054)] == ["0 claims", "1 claim", "2 claims", "2,054 claims"]
    assert (counted(1, "claim has", "claims have"), counted(2, "claim has", "claims have")) == (
        "1 claim has", "2 claims have",
    )  # fmt: skip
    assert [number_word(n) for n in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 1300)] == [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "13", "1,300",
    ]  # fmt: skip
    assert [listed(items) for items in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "none",
        "a",
        "a and b",
        "a, b and c",
    ]
    assert (resting(1), resting(3)) == ("1 claim rests on it", "3 claims rest on it")


def test_every_kind_of_verdict_has_its_word() -> None:
    kinds_of = (("refuted", "error"), ("refuted", "slip"), ("gap", None), ("open", None), ("reading", None))
    found = [status_of(verdict(HOLDS, status, severity)) for status, severity in kinds_of]
    assert [KIND_NAMES[kind] for kind in found] == ["error", "slip", "gap", "open", "reading"]
    assert KIND_NAMES["empirical"] == "empirical" and KIND_NAMES["holds"] == "holds"
    assert KIND_NAMES[REPEATED] == "repeated" and len(KIND_NAMES) == len(KINDS_OF_VERDICT)


@pytest.mark.parametrize(
    ("errors", "slips", "gaps", "said"),
    [
        (0, 0, 0, "No printed claim is refuted."),
        (1, 0, 0, "1 printed claim is false."),
        (2, 0, 0, "2 printed claims are false."),
        (0, 1, 0, "1 printed claim is a misprint."),
        (0, 2, 1, "2 printed claims are misprints and 1 printed claim stands with a gap."),
        (1, 1, 2, "1 printed claim is false, 1 printed claim is a misprint and 2 printed claims stand with a gap."),
    ],
)
def test_errata_are_counted_by_kind(errors: int, slips: int, gaps: int, said: str) -> None:
    found = [verdict(HOLDS, "refuted", "error")] * errors + [verdict(HOLDS, "refuted", "slip")] * slips
    found += [verdict(HOLDS, "gap")] * gaps
    assert does_not_hold(found) == does_not_hold(iter(found)) == said


def test_misprints_that_repeat_one_are_counted_apart() -> None:
    slips = [verdict(HOLDS, "refuted", "slip")] * 4
    for repeated, said in (
        (1, "3 printed claims are misprints and 1 more repeats one of these misprints."),
        (2, "2 printed claims are misprints and 2 more repeat one of these misprints."),
        (3, "1 printed claim is a misprint and 3 more repeat one of these misprints."),
    ):
        assert does_not_hold(slips, repeated) == said
    again = claim("misprinted-again", expects="refuted", severity="slip", repeats="toy.misprinted")
    both = report_of(SLIP, again, WRONG)
    assert [both.is_repeated(of) for of in (SLIP, again, WRONG)] == [False, True, False]
    assert nonzero(both.kinds()) == {"refuted (error)": 1, "refuted (slip)": 1, "refuted (repeated)": 1}
    assert list(both.kinds()) == list(KINDS_OF_VERDICT)
    alone = report_of(again, WRONG)
    assert not alone.is_repeated(again) and nonzero(alone.kinds()) == {"refuted (error)": 1, "refuted (slip)": 1}
    for own, first in (("slip", "error"), ("error", "slip"), ("error", "error")):
        of = report_of(SLIP, again)
        of.verdicts.update({again.id: verdict(again, "refuted", own), SLIP.id: verdict(SLIP, "refuted", first)})
        assert not of.is_repeated(again)


# -- how sure ----------------------------------------------------------------------------------------------------------


def sure(of: Claim, *records: Record, status: str = "holds", severity: str | None = None) -> str:
    return how_sure(of, verdict(of, status, severity), list(records))


def test_what_is_open_is_undecided_whatever_else_is_known() -> None:
    assert sure(HOLDS, evidence(HOLDS, "proved", arithmetic="symbols"), status="open") == "Undecided."
    balls = evidence(HOLDS, "enclosed", arithmetic="ball", outcome=VIOLATED, details={"inputs": {"A": [["1"]]}})
    assert sure(HOLDS, evidence(HOLDS), balls, status="open") == (
        "False at an input that a search found, for certain; no counterexample is declared."
    )
    assert sure(HOLDS, replace(balls, arithmetic="float64"), status="open") == "Undecided."


def test_what_was_tried_is_no_proof() -> None:
    tried = evidence(HOLDS)
    assert sure(HOLDS, tried) == "Not a proof: checked at 70 inputs; both wrong variants detected."
    balls, exact = evidence(HOLDS, "enclosed", arithmetic="ball"), evidence(HOLDS, "exact", arithmetic="exact")
    assert sure(HOLDS, tried, balls) == (
        "Not a proof: checked at 140 inputs, 70 of them in balls; both wrong variants detected."
    )
    assert sure(HOLDS, tried, replace(exact, satisfied=3), balls) == (
        "Not a proof: checked at 143 inputs, 3 of them in exact arithmetic, 70 in balls; both wrong variants detected."
    )
    assert sure(HOLDS, tried, exact) == (
        "Not a proof: checked at 140 inputs, 70 of them in exact arithmetic; both wrong variants detected."
    )
    assert sure(HOLDS, replace(tried, satisfied=1), status="empirical") == (
        "An observation, no theorem: checked at 1 input; both wrong variants detected."
    )


def test_what_is_proved_is_said_to_be_by_which_means() -> None:
    proof = evidence(HOLDS, "proved", arithmetic="symbols", satisfied=12)
    besides = " Besides, checked at 70 inputs; both wrong variants detected."
    reduced = "both sides reduce to one normal form"
    assert sure(HOLDS, evidence(HOLDS), proof) == f"Proved for all sizes: {reduced}.{besides}"
    bound = claim("bounded", AtMost())
    records = evidence(bound), evidence(bound, "proved", arithmetic="norms", satisfied=12)
    assert sure(bound, *records) == f"Proved for all sizes, by a derivation from rules for norms.{besides}"
    assert sure(HOLDS, evidence(HOLDS), proof, status="gap") == (
        f"Proved for all sizes: {reduced}; the gap is in what it rests on.{besides}"
    )
    limit = claim("limit", TendsTo((16, 64, 256, 1024, 4096), PowerRate(0.5)))
    assert "at fixed inputs, the mean of the squared error is" in sure(limit, evidence(limit, "proved", satisfied=12))
    order = claim("order", OrderOfGrowth(along=("m",)))
    counted = replace(evidence(order, "proved", arithmetic="norms"), details={"sizes from": 2})
    assert sure(order, counted).startswith(
        "Proved for all sizes from 2 on: the count is at most a stated constant times the order."
    )
    counted = replace(counted, details={"sizes from": 1, "constants from below": ["3"]})
    assert sure(order, counted).startswith(
        "Proved for all sizes: the count lies between two stated multiples of the order."
    )
    missing = claim("needs-more", presumes=["toy.held"], expects="gap", missing="t > 0")
    records = evidence(missing), evidence(missing, "proved", arithmetic="symbols")
    assert sure(missing, *records, status="gap") == (
        f"Proved for all sizes under the hypothesis that is missing: {reduced}.{besides}"
    )
    assert sure(missing, *records) == f"Proved for all sizes: {reduced}.{besides}", (
        "the hypothesis is only missing of a gap"
    )


@pytest.mark.parametrize("outcome", [VIOLATED, "error", "not certified"])
def test_a_proof_that_failed_proves_nothing(outcome: str) -> None:
    failed = evidence(HOLDS, "proved", arithmetic="symbols", outcome=outcome)
    assert sure(HOLDS, evidence(HOLDS), failed) == "Not a proof: checked at 70 inputs; both wrong variants detected."


@pytest.mark.parametrize("check", ["proved at sizes", "exact"])
def test_only_the_proof_for_all_sizes_is_called_so(check: str) -> None:
    assert sure(HOLDS, evidence(HOLDS, check)).startswith("Not a proof: ")


def test_variants_are_counted_as_they_were_detected() -> None:
    tried = "Not a proof: checked at 70 inputs"
    three = claim("of-three", mutants=("one", "two", "three"))
    assert sure(three, evidence(three, killed=("one", "two"))) == f"{tried}; 2 of 3 wrong variants detected."
    assert sure(three, evidence(three, killed=())) == f"{tried}; 0 of 3 wrong variants detected."
    assert sure(three, evidence(three, killed=("one", "two", "three"))) == f"{tried}; all 3 wrong variants detected."
    by_two = evidence(three, killed=("one", "two"), satisfied=30), evidence(three, killed=("three",), satisfied=40)
    assert sure(three, *by_two) == f"{tried}; all 3 wrong variants detected."
    single, none = claim("of-one", mutants=("one",)), claim("of-none", mutants=())
    assert sure(single, evidence(single)) == f"{tried}; the one wrong variant detected."
    assert sure(single, evidence(single, killed=())) == f"{tried}; 0 of 1 wrong variant detected."
    assert sure(none, evidence(none)) == f"{tried}."
    stray = evidence(single, killed=(), mutants={"of another version": {"residual": 1.0, "killed": True}})
    assert sure(single, stray) == f"{tried}; 0 of 1 wrong variant detected."


def test_what_is_refuted_is_certain_and_says_in_which_arithmetic() -> None:
    exact, ball = refuting(HOLDS, certificate()), refuting(HOLDS, certificate(), arithmetic="ball")
    certain = "every assumption holds, and the violation is"
    assert sure(HOLDS, exact, status="refuted") == (
        f"Certain. At one explicit input {certain} computed in rational numbers."
    )
    for records in ([ball], [replace(ball, satisfied=1)]):
        assert sure(HOLDS, *records, status="refuted") == (
            f"Certain. At one explicit input {certain} enclosed away from zero by balls."
        )
    for records in ([exact, ball], [ball, exact]):
        assert sure(HOLDS, *records, status="refuted") == (
            f"Certain. At each of two explicit inputs {certain} enclosed away from zero by balls."
        ), "one ball is enough that not all was rational"
    as_read = claim("as-read", expects="refuted", severity="error", reading=Reading("near", "within 1"))
    assert sure(as_read, refuting(as_read, certificate()), status="refuted") == (
        f"Certain, of the statement as it is read here. At one explicit input {certain} computed in rational numbers."
    )
    assert sure(HOLDS, evidence(HOLDS), status="refuted").startswith("Not a proof: ")
    assert sure(HOLDS, evidence(HOLDS), exact, status="holds").startswith("Not a proof: ")


def test_what_was_tried_is_named_by_the_relation() -> None:
    law, order = claim("law", FollowsLaw()), claim("order", OrderOfGrowth(("n",)))
    power = claim("power", TendsTo((1, 2, 3, 4, 5), PowerRate(1.0)))
    quadratic = claim("quadratic", TendsTo((1, 2, 3, 4, 5), QuadraticRate()))
    both = "; both wrong variants detected."
    assert sure(law, evidence(law, "law")) == f"Not a proof: tested on 70 random samples{both}"
    assert sure(order, evidence(order, "order", arithmetic="counted")) == f"Not a proof: counted at 70 inputs{both}"
    assert sure(power, evidence(power, "rate")) == f"Not a proof: followed along growing scales in 70 random runs{both}"
    assert sure(quadratic, evidence(quadratic, "rate", arithmetic="ball")) == (
        f"Not a proof: followed along growing scales at 70 inputs, 70 of them in balls{both}"
    )


# -- errata ------------------------------------------------------------------------------------------------------------


def report_of(*claims: Claim, records: tuple[Record, ...] = (), **values: Any) -> Report:
    """A report of these claims with the verdicts that they expect."""
    registry = {item.id: item for item in claims}
    verdicts = {item.id: verdict(item, item.expects, item.severity) for item in claims}
    return Report(registry, list(records), verdicts, [], **values)


TRUE = claim("true-statement")
WRONG = claim(
    "wrong", expects="refuted", severity="error", correction="toy.true-statement", consequence="Nothing holds"
)
SLIP = claim("misprinted", expects="refuted", severity="slip", correction="toy.step-corrected")
STEP = claim("step", expects="refuted", severity="error", correction="toy.step-corrected")
STEP_CORRECTED = claim("step-corrected")
PRESUMED = claim("presumed", expects="refuted", severity="error", correction="toy.presumed-corrected")
PRESUMED_CORRECTED = claim("presumed-corrected")
GAP = claim("gapped", expects="gap", presumes=["toy.presumed"], proof=["toy.step"])
EVERYTHING = (TRUE, GAP, SLIP, WRONG, STEP, STEP_CORRECTED, PRESUMED, PRESUMED_CORRECTED)


def names(items: list[Any]) -> list[str]:
    return [item.claim.id.removeprefix("toy.") for item in items]


def test_errata_are_the_printed_claims_that_do_not_hold_gravest_first() -> None:
    user = claim("user", uses=["toy.step"])
    weights = {"toy.presumed": "core", "toy.wrong": "core"}
    found = errata(report_of(*EVERYTHING, user, weights=weights))
    assert names(found) == ["presumed", "wrong", "step", "gapped", "misprinted"]
    assert [item.resting for item in found] == [1, 0, 2, 0, 0]
    assert [item.status for item in found] == [
        "refuted (error)",
        "refuted (error)",
        "refuted (error)",
        "gap",
        "refuted (slip)",
    ]
    assert [item.weight for item in found] == ["core", "core", "text", "text", "text"]
    assert found[0].gravity == (0, 0, -1) and found[3].gravity[0] == 1 and found[4].gravity[0] == 2


def test_an_erratum_names_the_corrections_of_all_that_it_rests_on() -> None:
    (gap,) = [item for item in errata(report_of(*EVERYTHING)) if item.claim is GAP]
    assert [(item.id, found.claim) for item, found in gap.corrections] == [
        ("toy.presumed-corrected", "toy.presumed-corrected"), ("toy.step-corrected", "toy.step-corrected"),
    ]  # fmt: skip
    (wrong,) = [item for item in errata(report_of(*EVERYTHING)) if item.claim is WRONG]
    assert [item.id for item, _ in wrong.corrections] == ["toy.true-statement"]
    (alone,) = errata(report_of(GAP))
    assert alone.corrections == [] and alone.counterexamples == [], "what a report does not show is not followed"
    own = claim("own", expects="gap", proof=["toy.step", "toy.misprinted"], correction="toy.step-corrected")
    (found,) = [item for item in errata(report_of(own, *EVERYTHING)) if item.claim is own]
    assert [item.id for item, _ in found.corrections] == ["toy.step-corrected"], "each once"


def test_an_erratum_shows_the_counterexamples_of_all_that_it_rests_on() -> None:
    records = tuple(refuting(item, certificate(item.label)) for item in (STEP, PRESUMED, WRONG))
    report = report_of(*EVERYTHING, records=records)
    (gap,) = [item for item in errata(report) if item.claim is GAP]
    assert names(gap.counterexamples) == ["presumed", "step"]
    assert [counterexample.certificate["title"] for counterexample in counterexamples_of(report, WRONG)] == ["wrong"]
    assert counterexamples_of(report_of(TRUE, records=(evidence(TRUE),)), TRUE) == []
    kept = {item.claim.id: item for item in without_repeats(errata(report))}
    assert names(kept["toy.presumed"].counterexamples) == ["presumed"] and kept["toy.presumed"].elsewhere == ()
    assert kept["toy.gapped"].counterexamples == [] and kept["toy.gapped"].elsewhere == ("toy.presumed", "toy.step")
    third = replace(gap, claim=TRUE, counterexamples=gap.counterexamples[:1])
    only = without_repeats(
        [*(replace(gap, counterexamples=[counterexample]) for counterexample in gap.counterexamples), third]
    )
    assert [names(item.counterexamples) for item in only] == [["presumed"], ["step"], []], "what was shown stays shown"
    only = without_repeats([gap, replace(gap, claim=TRUE)])
    assert names(only[0].counterexamples) == ["presumed", "step"] and only[0].elsewhere == ()
    assert only[1].counterexamples == [] and only[1].elsewhere == ("toy.presumed", "toy.step")


def test_errata_of_a_paper_are_its_own() -> None:
    elsewhere = Claim(
        OTHER, "other.wrong", label="w", name="w", statement="w", relation=Equal(), expects="refuted", severity="error"
    )
    elsewhere.formula(toy.product_transposed)
    items = errata(report_of(WRONG, elsewhere))
    assert names(of_paper(items, toy.PAPER)) == ["wrong"] and names(of_paper(items, OTHER)) == ["other.wrong"]


def test_a_counterexample_names_both_sides_and_their_difference() -> None:
    counterexample = CertifiedCounterexample(WRONG, certificate())
    assert counterexample.sides == [("as printed", "3"), ("in truth", "2"), ("difference", "1")]
    assert counterexample.snippet.startswith('from verify import at_inputs\nat_inputs("toy.wrong", ')
    bound = claim("broken-bound", AtMost(left="the norm", right="its bound"), expects="refuted", severity="error")
    found = CertifiedCounterexample(bound, certificate(formula="2", oracle="3")).violation
    assert (found.sides, found.left, found.right, found.sign) == (Sides("the norm", "its bound", "≤"), "3", "2", ">")
    assert found.title == certificate()["title"]
    assert found.one_line == "the norm = 3 > 2 = its bound" and found.ratio == 1.5 and found.arithmetic == "exact"


def test_an_erratum_as_markdown() -> None:
    item = Erratum(
        WRONG,
        verdict(WRONG, "refuted", "error"),
        "core",
        0,
        [CertifiedCounterexample(WRONG, certificate())],
        [(TRUE, verdict(TRUE))],
        ("toy.step", "toy.user"),
    )
    assert erratum_markdown(item) == [
        "### wrong: toy wrong (`toy.wrong`): refuted (error)", "", "$$wrong$$", "", "why.", "",
        "What follows: Nothing holds.", "",
        "Counterexample to `toy.wrong`, exact arithmetic: two by two", "",
        "Violated: as printed = 3 ≠ 2 = in truth", "",
        "```python", item.counterexamples[0].snippet, "# as printed: 3", "# in truth: 2", "# difference: 1", "```", "",
        "Counterexamples that it shares: see `toy.step`, `toy.user`.", "",
        "Correction `toy.true-statement` (holds):", "", "$$true-statement$$", "",
    ]  # fmt: skip
    assert erratum_markdown(item, 2)[0].startswith("## wrong")
    bare = Erratum(STEP, verdict(STEP, "refuted", "error"), "text", 0, [], [])
    assert erratum_markdown(bare) == [
        "### step: toy step (`toy.step`): refuted (error)",
        "",
        "$$step$$",
        "",
        "why.",
        "",
    ]
    text = errata_markdown(toy.PAPER, [item, bare], ["Partial evidence."])
    head = "# Errata: A paper that does not exist\n\nnobody, never. 2 printed claims are false.\n\n"
    assert text.startswith(f"{head}**Partial evidence.**\n\n## wrong") and text.count("\n## ") == 2
    assert (
        errata_markdown(toy.PAPER, [], [])
        == "# Errata: A paper that does not exist\n\nnobody, never. No printed claim is refuted.\n"
    )


def test_remarks_stand_under_their_heading() -> None:
    doubt = Doubt("t", "a dot may be lost")
    assert remarks_of(claim("doubted", doubt=doubt)) == [("Doubt about the text", str(doubt))]
    noted = claim("noted", note="A note", presumes=["toy.step"], expects="gap", missing="t > 0")
    assert remarks_of(noted) == [("Missing hypothesis", "t > 0"), ("Note", "A note")] and remarks_of(TRUE) == []
    lines = erratum_markdown(Erratum(noted, verdict(noted, "gap"), "text", 0, [], []))
    assert lines[-4:] == ["Missing hypothesis: t > 0", "", "Note: A note", ""]


# -- the two sides -----------------------------------------------------------------------------------------------------


def documented(text: str | None, name: str = "_norm_of_it_") -> Any:
    """A function with this docstring and name."""

    def function(A: toy.A_mn) -> Any:
        return A

    function.__doc__, function.__name__ = text, name
    return function


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The norm of A.", "the norm of A"),
        ("The norm of A, shape (m, n) (Lemma 2).", "the norm of A"),
        ("Both norms, each of shape (m,).", "both norms"),
        ("The norm, a scalar.", "the norm"),
        ("The norm, an entry.", "the norm, an entry"),
        ("Norm of A (Eq. (3)).  It is large.", "norm of A"),
        ("Norm of A (Section 4, Table (2)).", "norm of A"),
        ("Norm of A (of the paper).", "norm of A (of the paper)"),
        ("Norm\n  of A\n\nMore text.", "norm of A"),
        ("Norm of A; and more.", "norm of A"),
        ("Norm of A...", "norm of A"),
        ("Norm of X.", "norm of X"),
        ("A" + "b" * 23 + ", " + "c" * 60, ("a" + "b" * 23 + ", " + "c" * 60)[:71] + "…"),
        ("Norm of A: and more.", "norm of A"),
        (
            "Norm by Eq. (3) and Fig. 4, cf. others, i.e. e.g. such.",
            "norm by Eq. (3) and Fig. 4, cf. others, i.e. e.g. such",
        ),
        ("F of A.", "F of A"),
        ("||A||_2 of A.", "||A||_2 of A"),
        ("DE/dt of A.", "DE/dt of A"),
        ("x" * 72, "x" * 72),
        ("x" * 73, "x" * 71 + "…"),
        ("A" + "b" * 39 + ", " + "c" * 40, "a" + "b" * 39),
        ("A" + "b" * 19 + ", " + "c" * 60, ("a" + "b" * 19 + ", " + "c" * 60)[:71] + "…"),
        ("A" + "b" * 29 + " (c, d" + "e" * 60, ("a" + "b" * 29 + " (c, d" + "e" * 60)[:71] + "…"),
        ("A" + "b" * 29 + " for c with [d of " + "e" * 60, "a" + "b" * 29 + " for c"),
        ("A" + "b" * 29 + " at {c} of " + "e" * 60, "a" + "b" * 29 + " at {c}"),
        (None, "norm of it"),
    ],
)
def test_a_function_is_called_by_the_first_words_of_its_docstring(text: str | None, said: str) -> None:
    assert described(documented(text)) == said


def test_a_function_without_words_is_called_by_its_name_or_expression() -> None:
    twice = lambda A: 2 * A  # noqa: E731
    nothing = lambda A: zeros(A)  # noqa: E731, F821, PLW0108
    long = lambda A: A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A  # noqa: E731
    pair = (lambda A: A, lambda A: 2 * A)
    assert described(twice) == "`2 * A`" and described(nothing) == "0"
    assert described(long) == "" and described(pair[0]) == "", "too long, or one of several"
    assert described(eval("lambda A: 2 * A")) == "", "no source"
    just = lambda A: A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + A + 1000  # noqa: E731
    assert len(described(just)) == len("``") + 72, "as long as it may be"
    assert described(documented(None, "X_of_X")) == "X of X"

    @functools.wraps(documented("The inner one."))
    def outer(A: toy.A_mn) -> Any:
        return A

    assert described(outer) == "the inner one"


def test_sides_have_the_names_that_the_claim_gives_or_those_of_its_functions() -> None:
    def of(relation: Any, left: str = "The norm.", right: str = "The bound.", oracle: bool = True) -> Sides:
        found = toy.toy("sided", relation)
        found.formula(documented(right))
        if oracle:
            found.oracle(documented(left))
        return sides_of(found)

    assert of(AtMost()) == Sides("the norm", "the bound", "≤")
    assert of(AtMost(left="a", right="b")) == Sides("a", "b", "≤")
    assert of(AtMost(), "Same.", "Same.") == Sides("same, left", "same, right", "≤")
    assert of(AtMost(), oracle=False) == Sides("left side", "the bound", "≤")
    assert of(AtMost(), " ", " ") == Sides("left side", "right side", "≤")
    assert of(Equal()) == Sides("as printed", "in truth", "=") and of(Equal(left="a", right="b")) == Sides(
        "a", "b", "="
    )
    own = Claim(OURS, "ours.a", label="a", name="a", statement="a", relation=Equal())
    own.formula(toy.product_transposed)
    assert sides_of(own) == Sides("as stated", "in truth", "=")


def test_numbers_of_enclosures_and_rationals() -> None:
    read = {"[0.25 +/- 1e-30]": 0.25, "3/8": 0.375, "-2": -2.0, "[+/- 1e-9]": 0.0, "1e5": 1e5}
    assert {text: number(text) for text in read} == read
    assert number("9" * 400) == math.inf and number("-" + "9" * 400) == -math.inf
    assert [short(text) for text in ("3/8", "-1234567", "12345678", "[0.333333333 +/- 1e-30]")] == [
        "3/8", "-1234567", "1.23457e+07", "0.333333",
    ]  # fmt: skip
    assert short("[0.333333333 +/- 1e-30]", 2) == "0.33"
    assert number("inf") == math.inf and math.isnan(number("nan"))


def test_a_ratio_is_given_where_the_right_side_is_above_zero() -> None:
    def of(left: str, right: str, difference: str = "1") -> Violation:
        return Violation("t", Sides("a", "b", "≤"), left, right, difference, "exact")

    assert of("3", "2").ratio == 1.5 and of("3", "0").ratio is None and of("3", "-2").ratio is None
    assert of("1e300", "1e-10").ratio is None
    assert of("3", "-4", "2").roundings == 2 / (4 * 2.0**-53) == of("-4", "1", "-2").roundings
    assert of("0", "0", "1").roundings == pytest.approx(1 / (1e-300 * 2.0**-53))
    assert Violation("t", Sides("a", "b", "="), "1", "2", "1", "exact").sign == "≠"


BOUND = "the claimed bound"


@pytest.mark.parametrize(
    ("left", "right", "printed", "signs"),
    [
        ("0", "-q", ("q", BOUND, "≤"), (1, -1, True)),
        ("0, at all inputs", "minus q", ("q", BOUND, "≤"), (1, -1, True)),
        ("0", "-f(a + b)", ("f(a + b)", BOUND, "≤"), (1, -1, True)),
        ("0", "q", ("q", BOUND, "≥"), (1, 1, True)),
        ("0", "a minus b", ("a minus b", BOUND, "≥"), (1, 1, True)),
        # the minus sign is that of a first term alone
        ("0", "-a + b", ("-a + b", BOUND, "≥"), (1, 1, True)),
        ("0", "-a - b", ("-a - b", BOUND, "≥"), (1, 1, True)),
        ("0", "minus a plus b", ("minus a plus b", BOUND, "≥"), (1, 1, True)),
        ("0", "-a (of b)+ c", ("-a (of b)+ c", BOUND, "≥"), (1, 1, True)),
        ("0", "minus (a) minus b", ("minus (a) minus b", BOUND, "≥"), (1, 1, True)),
        ("-p", "-q", ("q", "p", "≤"), (-1, -1, True)),
        ("minus p", "-q", ("q", "p", "≤"), (-1, -1, True)),
        ("p", "-q", ("p", "-q", "≤"), (1, 1, False)),
        ("-p", "q", ("-p", "q", "≤"), (1, 1, False)),
        ("-p", "-a + b", ("-p", "-a + b", "≤"), (1, 1, False)),
        ("0.5", "-q", ("0.5", "-q", "≤"), (1, 1, False)),
        ("p", "q", ("p", "q", "≤"), (1, 1, False)),
    ],
)
def test_a_bound_is_printed_without_signs_that_only_its_encoding_has(
    left: str, right: str, printed: tuple[str, str, str], signs: tuple[int, int, bool]
) -> None:
    assert in_its_own_sign(Sides(left, right, "≤")) == (Sides(*printed), signs)
    equal = Sides(left, right, "=")
    assert in_its_own_sign(equal) == (equal, (1, 1, False)), "an equality stays as it is"


def test_values_take_the_signs_and_places_of_their_names() -> None:
    for signs, placed in {
        (1, 1, False): (2, 3),
        (1, 1, True): (3, 2),
        (1, -1, True): (-3, 2),
        (-1, -1, True): (-3, -2),
        (-1, 1, False): (-2, 3),
    }.items():
        assert arranged(signs, 2, 3, lambda value: -value) == placed
    minus = {
        "3/8": "-3/8",
        "-3/8": "3/8",
        "0": "0",
        "[0.25 +/- 1e-30]": "[-0.25 +/- 1e-30]",
        "[-0.25 +/- 1e-30]": "[0.25 +/- 1e-30]",
        "[+/- 1e-9]": "[+/- 1e-9]",
    }
    assert {text: negated(text) for text in minus} == minus
    found = Violation("t", Sides("0", "-q", "≤"), "0", "-3/8", "3/8", "exact")
    assert found.one_line == "q = 3/8 > 0 = the claimed bound"
    assert (found.as_printed.left, found.as_printed.right, found.as_printed.difference) == ("3/8", "0", "3/8")
    below = Violation("t", Sides("0", "q", "≤"), "0", "-3/8", "3/8", "exact")
    assert below.one_line == "q = -3/8 < 0 = the claimed bound"


# -- the report --------------------------------------------------------------------------------------------------------


def test_kinds_and_statuses_are_counted_worst_first() -> None:
    found = [verdict(HOLDS), verdict(HOLDS), verdict(HOLDS, "refuted", "slip"), verdict(HOLDS, "open")]
    assert list(kinds(found).items()) == [
        ("refuted (error)", 0), ("refuted (slip)", 1), ("refuted (repeated)", 0), ("gap", 0), ("open", 1), ("reading", 0),
        ("empirical", 0), ("holds", 2),
    ]  # fmt: skip
    assert nonzero(kinds(found)) == {"refuted (slip)": 1, "open": 1, "holds": 2}
    assert list(counts({str(i): item for i, item in enumerate(found)}).items()) == [
        ("refuted", 1),
        ("open", 1),
        ("holds", 2),
    ]


def test_quality_is_how_tight_and_how_far_apart() -> None:
    assert quality(verdict(HOLDS)) == ""
    assert quality(verdict(HOLDS, tightest_ratio=0.12345678, separation=1234.5)) == "ratio 0.123457, separation 1.2e+03"
    assert quality(verdict(HOLDS, separation=math.inf)) == "separation exact"


def test_the_quality_of_what_is_refuted_is_its_worst_violation() -> None:
    bound = claim("broken", AtMost(left="a", right="b"), expects="refuted", severity="error")
    mild, bad = certificate("mild", formula="4", oracle="5"), certificate("bad", formula="2", oracle="5")
    below = certificate("below zero", formula="-2", oracle="5")
    assert report_of(bound, records=(refuting(bound, mild, bad),)).quality(bound.id) == "violated: ratio 2.5"
    assert report_of(bound, records=(refuting(bound, bad, mild),)).quality(bound.id) == "violated: ratio 2.5"
    assert report_of(bound, records=(refuting(bound, below),)).quality(bound.id) == "violated: 5 > -2"
    assert report_of(WRONG, records=(refuting(WRONG, certificate()),)).quality(WRONG.id) == "violated: 3 ≠ 2"
    assert report_of(bound, records=(refuting(bound, below, mild),)).quality(bound.id) == "violated: ratio 1.25"
    digits = certificate(formula="[-0.123456789 +/- 1e-30]", oracle="[0.987654321 +/- 1e-30]")
    assert report_of(bound, records=(refuting(bound, digits),)).quality(bound.id) == "violated: 0.9877 > -0.1235"
    third = certificate(formula="3", oracle="5")
    assert report_of(bound, records=(refuting(bound, third),)).quality(bound.id) == "violated: ratio 1.667"
    no_bound = certificate(formula="[2.00000001 +/- 1e-30]", oracle="[4.00000002 +/- 1e-30]")
    assert report_of(WRONG, records=(refuting(WRONG, no_bound),)).quality(WRONG.id) == "violated: 2 ≠ 4"
    zero = certificate(formula="3", oracle="0"), certificate(formula="1", oracle="2")
    assert report_of(WRONG, records=(refuting(WRONG, *zero),)).quality(WRONG.id) == "violated: 1 ≠ 2"
    undecided = report_of(WRONG, records=(refuting(WRONG, certificate()),))
    undecided.verdicts[WRONG.id] = verdict(WRONG, "open", separation=2.0)
    assert undecided.quality(WRONG.id) == "separation 2.0e+00", "a counterexample that decides nothing is not shown"
    plain = report_of(HOLDS)
    plain.verdicts[HOLDS.id] = verdict(HOLDS, tightest_ratio=0.5)
    assert plain.quality(HOLDS.id) == "ratio 0.5"
    assert report_of(bound, TRUE, records=(refuting(bound, mild, bad),)).violations.keys() == {bound.id}


def test_what_rests_on_a_claim_is_followed_through_every_link() -> None:
    a, b = claim("a"), claim("b", uses=["toy.a"])
    c = claim("c", uses=["toy.b"], proof=["toy.a"])
    d = claim("d", expects="gap", presumes=["toy.c"])
    round_about = claim("e", uses=["toy.f"]), claim("f", uses=["toy.e"])
    report = report_of(a, b, c, d, *round_about)
    assert report.used_by == {
        "toy.a": ["toy.b", "toy.c"],
        "toy.b": ["toy.c"],
        "toy.c": ["toy.d"],
        "toy.d": [],
        "toy.e": ["toy.f"],
        "toy.f": ["toy.e"],
    }
    assert report.resting_on == {"toy.a": 3, "toy.b": 2, "toy.c": 1, "toy.d": 0, "toy.e": 1, "toy.f": 1}
    by_facts = evidence(d, "proved", details={"facts": ["toy.a", "toy.absent"]})
    by_derivation = report_of(a, d, records=(by_facts,))
    assert by_derivation.facts_of == {"toy.a": [], "toy.d": ["toy.a", "toy.absent"]}
    assert by_derivation.fact_in["toy.a"] == ["toy.d"] and by_derivation.used_by["toy.a"] == []


def test_claims_are_chosen_by_paper_origin_and_weight() -> None:
    elsewhere = Claim(OTHER, "other.x", label="x", name="x", statement="x", relation=Equal())
    report = report_of(HOLDS, WRONG, elsewhere, weights={"toy.wrong": "core"})
    assert [item.id for item in report.chosen()] == ["toy.held", "toy.wrong", "other.x"]
    assert [item.id for item in report.chosen(paper="other")] == ["other.x"]
    assert [item.id for item in report.chosen(weight="core")] == ["toy.wrong"]
    assert [item.id for item in report.chosen(weight="text")] == ["toy.held", "other.x"]
    assert report.chosen(own=True) == [] and len(report.chosen(own=False)) == 3
    assert nonzero(report.kinds(paper="toy")) == {"refuted (error)": 1, "holds": 1}
    assert nonzero(report.kinds(own=True)) == {} and nonzero(report.kinds(own=False)) == {
        "refuted (error)": 1,
        "holds": 2,
    }
    assert nonzero(report.kinds(weight="core")) == {"refuted (error)": 1}
    assert [paper.key for paper in report.papers] == ["toy", "other"] == [paper.key for paper in report.printed_papers]


def test_checks_without_evidence_are_named_and_what_rests_on_them() -> None:
    user = claim("user-of-held", uses=["toy.held"])
    records = tuple(evidence(HOLDS, name) for name in ("sampled float64", "sampled float32"))
    report = report_of(HOLDS, user, records=records, outdated=frozenset({"toy.held"}))
    assert report.missing["toy.held"] == ["enclosed"] and report.missing["toy.user-of-held"][0] == "sampled float64"
    assert report.stale == {"toy.held"} and list(report.judged) == ["toy.held"]
    first = report.shortfalls[0]
    assert first.text == (
        "Partial evidence: 2 of 2 claims lack checks, because a run was interrupted or chose claims, or because the code has"
        " changed since."
    )
    assert first.claims == {"toy.held", "toy.user-of-held"} and not first.once
    whole = (*records, evidence(HOLDS, "enclosed", arithmetic="ball"))
    report = report_of(HOLDS, user, records=(*whole, *(replace(item, claim=user.id) for item in whole)))
    assert report.missing == {} and report.stale == frozenset() and len(report.judged) == 2
    partly = report_of(HOLDS, user, records=tuple(replace(item, claim=user.id) for item in whole))
    assert partly.shortfalls[0].claims == {"toy.held", "toy.user-of-held"}, "what rests on it is partial as well"
    assert partly.shortfalls[0].text.startswith("Partial evidence: 1 of 2 claims lack checks")


def test_what_evidence_does_not_cover_is_said(tmp_path: Path) -> None:
    whole = [evidence(HOLDS, name) for name in ("sampled float64", "sampled float32")]
    whole.append(evidence(HOLDS, "enclosed", arithmetic="ball"))
    plain = report_of(HOLDS, records=tuple(whole))
    assert [(item.text, item.once) for item in plain.shortfalls] == [
        ("Floating-point checks ran on the CPU only.", True)
    ]
    assert plain.shortfalls_of(HOLDS.id) == []
    quick = report_of(HOLDS, records=(*whole[1:], replace(whole[0], effort="quick")))
    assert [item.text for item in quick.shortfalls_of(HOLDS.id)] == ["1 claim has checks of effort quick."]
    assert quick.shortfalls_of("toy.other") == []
    on_gpu = report_of(HOLDS, TRUE, records=(*(replace(item, device="cuda") for item in whole), evidence(TRUE)))
    assert on_gpu.shortfalls[-1].text == "For 1 claim, floating-point checks ran on the CPU only."
    assert on_gpu.shortfalls[-1].claims == {TRUE.id}
    rejected = [Rejected(tmp_path / "a.jsonl", 3, "torn"), Rejected(tmp_path / "a.jsonl", 4, "torn too")]
    for count, said in ((1, "1 line of evidence was rejected"), (2, "2 lines of evidence were rejected")):
        found = replace(plain, rejected=rejected[:count]).shortfalls[0]
        assert found.text == f"{said} (first: a.jsonl, line 3: torn)." and found.claims == {HOLDS.id}
    shown = restricted(report_of(HOLDS, TRUE, records=tuple(whole)), [HOLDS])
    assert shown.left_out == 1 and shown.shortfalls[0].text == "This report shows 1 of 2 claims."
    assert list(shown.claims) == list(shown.verdicts) == [HOLDS.id] and len(shown.records) == 3
    both = restricted(report_of(HOLDS, TRUE, records=(*whole, evidence(TRUE))), [HOLDS])
    assert {record.claim for record in both.records} == {HOLDS.id}
    assert restricted(shown, []).left_out == 2 and shown.disagreements == []


def test_a_report_is_built_from_the_evidence_about_the_present_code(tmp_path: Path) -> None:
    recorder = EvidenceWriter(tmp_path)
    old = evidence(TRUE, outcome=VIOLATED)
    new = replace(evidence(HOLDS), fingerprint=fingerprint(HOLDS))
    for record in (old, new, evidence(STEP)):  # and one of a claim that is not asked for
        recorder.append(record)
    (tmp_path / "torn.jsonl").write_text("no evidence\n", encoding="utf-8")
    report = build({HOLDS.id: HOLDS, TRUE.id: TRUE}, tmp_path)
    assert [record.claim for record in report.records] == [HOLDS.id]
    assert [item.path.name for item in report.rejected] == ["torn.jsonl"] and report.weights == weights_of(
        report.claims
    )
    assert report.outdated == {TRUE.id} and report.verdicts[HOLDS.id].status == "holds"
    assert report.verdicts[TRUE.id].why == "no evidence about the present code"
    assert report.verdicts == judge_all(report.claims, report.records)


def test_what_was_released_is_shown_of_claims_about_which_nothing_was_found_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Verdicts follow from all of it, and disagreements from what was found here, if anything was."""
    theirs = {
        of.id: [replace(evidence(of), fingerprint=fingerprint(of)), evidence(of, "enclosed", arithmetic="ball")]
        for of in (HOLDS, TRUE, STEP)
    }
    read: list[Path] = []

    def read_released(path: Path) -> Released | None:
        read.append(path)
        return Released({"version": "1.2"}, theirs) if present else None

    monkeypatch.setattr(model, "read_released", read_released)
    claims = {of.id: of for of in (HOLDS, TRUE)}
    present = False
    assert build(claims, tmp_path, released=True).released == frozenset()
    present = True
    read.clear()
    assert build(claims, tmp_path).released == frozenset() and read == []
    whole = build(claims, tmp_path, released=True)
    assert read == [data_file(HOLDS.package, FILE)]
    assert whole.released == set(claims) and whole.releases == {HOLDS.package: {"version": "1.2"}}
    assert whole.records == [*theirs[HOLDS.id], *theirs[TRUE.id]] and whole.found_here == {} and whole.as_released
    assert whole.verdicts == judge_all(claims, whole.records) and whole.outdated_release == set(claims)
    assert restricted(whole, [TRUE]).released == {TRUE.id}
    own = replace(evidence(TRUE, outcome=VIOLATED), fingerprint=fingerprint(TRUE))
    EvidenceWriter(tmp_path).append(own)
    partly = build(claims, tmp_path, released=True)
    assert partly.released == {HOLDS.id} == partly.outdated_release and not partly.as_released
    assert [record.claim for record in partly.records] == [TRUE.id, HOLDS.id, HOLDS.id]
    assert partly.verdicts == judge_all(claims, partly.records)
    assert partly.found_here == judge_all(claims, partly.records[:1]) and partly.disagreements
    theirs[HOLDS.id].pop()
    assert build(claims, tmp_path, released=True).outdated_release == frozenset()
    # packages that were not released are passed over, wherever they come
    others = {f"{package}.{HOLDS.id}": copy.copy(HOLDS) for package in ("a", "z")}
    for name, of in others.items():
        of.id, of.module = name, name
    monkeypatch.setattr(
        model, "read_released", lambda path: Released({}, theirs) if path == data_file(HOLDS.package, FILE) else None
    )
    monkeypatch.setattr(
        model, "data_file", lambda package, name: data_file(HOLDS.package, name) if package == HOLDS.package else Path()
    )
    assert build(claims | others, tmp_path, released=True).released == {HOLDS.id}


@pytest.mark.parametrize(("released", "outdated", "releases", "said"), [
    ((HOLDS, TRUE), (), {"a": {"version": "1.2"}}, "These verdicts are as released with version 1.2."),
    ((HOLDS,), (), {"a": {}}, "1 of 2 verdicts are as released."),
    ((HOLDS,), (), {"b": {"version": "2"}, "a": {"version": "1"}, "c": {"version": "1"}},
     "1 of 2 verdicts are as released with version 1 and 2."),
    ((HOLDS,), (HOLDS, TRUE), {}, "1 of 2 verdicts are as released."),
    ((HOLDS, TRUE), (HOLDS, TRUE), {}, "These verdicts are as released."),
])  # fmt: skip
def test_what_is_shown_as_released_is_said_with_its_version_and_what_has_changed_since(
    released: tuple[Claim, ...], outdated: tuple[Claim, ...], releases: Any, said: str
) -> None:
    ids, changed = frozenset(of.id for of in released), frozenset(of.id for of in outdated)
    report = report_of(HOLDS, TRUE, released=ids, outdated_release=changed, releases=releases)
    first = report.shortfalls[0]
    since = {0: "", 1: " For 1 claim the code or a library has changed since.",
             2: " For 2 claims the code or a library has changed since."}[len(ids & changed)]  # fmt: skip
    assert first.text == f"{said} They were not checked again here; `verify run` does that.{since}"
    assert first.claims == ids and not first.once


def _private() -> None:
    """By its name nobody knows it."""


def test_how_an_assumption_is_known_is_said_by_its_kind() -> None:
    met = Assumption("t > 0", positive=lambda t: t)
    assert how_known(met, False) == "a condition; every input is tested for it"
    assert how_known(met, True).endswith("; the counterexample meets it for certain")
    made = Realised({"t > 0": "t is a square"})
    assert how_known(met, False, made).endswith("; how inputs are made to meet it: t is a square")
    assert how_known(Assumption("s > 0", positive=lambda s: s), False, made) == how_known(met, False)
    assert how_known(Assumption("n >= 2", sizes=lambda sizes: sizes["n"] >= 2), True) == (
        "a condition on sizes; no others are tried"
    )
    assert how_known(Definition("A is the softmax", by=how_sure), True) == "a definition, made so by `how_sure`"
    several = (how_sure, functools.partial(listed), 3, _private, listed)
    assert (
        how_known(Definition("A is the softmax", by=several), True) == "a definition, made so by `how_sure`, `listed`"
    )
    assert how_known(Definition("A is the softmax", by=several[1:4]), True) == (
        "a definition, made so in the functions of the claim"
    )
    assert how_known(Convention("relu'(0) = 0", by=lambda x: x), False) == (
        "a convention, applied in the functions of the claim"
    )
    assert how_known(Construction("X has rows", shapes={"X": ("n", "d")}), True) == "true of every input of this shape"
    assert how_known("X is nice", True) == "in words alone; nothing tests it"
