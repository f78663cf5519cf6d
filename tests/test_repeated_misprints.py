"""A misprint that a paper repeats is counted once, and wherever totals stand the claims that repeat it are named apart."""

from __future__ import annotations

from tests.numbers import kind_of
from tests.test_wording import HOLDS, claim, report_of, verdict
from verify.report.data import as_json
from verify.report.errata import errata, erratum_markdown, in_all
from verify.report.markdown import as_markdown, as_summary
from verify.report.model import REPEATED, nonzero, restricted
from verify.report.wording import does_not_hold
from verify.vocabulary import load

FIRST = claim("first", expects="refuted", severity="slip")
AGAIN = claim("again", expects="refuted", severity="slip", repeats="toy.first")
OTHER = claim("other", expects="refuted", severity="slip")


def test_totals_count_a_misprint_once() -> None:
    report = report_of(HOLDS, FIRST, AGAIN, OTHER)
    assert nonzero(report.kinds(own=False)) == {"refuted (slip)": 2, REPEATED: 1, "holds": 1}
    assert sum(report.kinds().values()) == len(report.chosen())
    assert in_all(errata(report)) == "2 printed claims are misprints and 1 more repeats one of these misprints."
    assert "| 2 | 1 | 1 |" in as_summary(report)
    assert "2 refuted (slip), 1 refuted (repeated)" in as_markdown(report)
    again = next(item for item in as_json(report)["claims"] if item["id"] == "toy.again")
    assert again["links"]["repeats"] == "toy.first" and again["verdict"] == "refuted"
    assert as_json(report)["summary"]["printed"] == {"refuted (slip)": 2, REPEATED: 1, "holds": 1}


def test_it_counts_where_the_first_is_absent_or_has_another_verdict() -> None:
    report = report_of(HOLDS, FIRST, AGAIN)
    alone = restricted(report, [AGAIN])
    assert nonzero(alone.kinds()) == {"refuted (slip)": 1}
    report.verdicts["toy.first"] = verdict(FIRST, "open")
    assert report.kinds()["refuted (slip)"] == 1 and report.kinds()[REPEATED] == 0


def test_its_erratum_names_the_first() -> None:
    [item] = [item for item in errata(report_of(FIRST, AGAIN)) if item.claim is AGAIN]
    assert "It repeats the misprint of `toy.first`, which is counted there." in erratum_markdown(item)


def test_words_for_what_is_repeated() -> None:
    slips = [verdict(FIRST, "refuted", "slip")] * 4
    assert does_not_hold(slips, 2) == "2 printed claims are misprints and 2 more repeat one of these misprints."


def test_claims_that_repeat_have_the_label_of_the_first() -> None:
    claims = load("theorems")
    repeated = [item for item in claims.values() if item.repeats]
    assert repeated and all(kind_of(item) == "repeated" for item in repeated)
    assert all(claims[str(item.repeats)].severity == item.severity == "slip" for item in repeated)
