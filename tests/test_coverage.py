"""Every sentence of a paper is compared, or it is said why not; against the texts where they are beside this checkout."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from verify.report.coverage import COVERED, MISSING, NO_CLAIM, PARTLY, Coverage, coverage_of, read, row_of
from verify.vocabulary import InputError, Paper, load

REGISTRY = load()
PAPERS = {claim.paper.key: claim.paper for claim in REGISTRY.values() if not claim.paper.of_project}
TEXTS = Path(__file__).resolve().parents[2] / "shared" / "papers"
#: How much of what can be compared has to be.
LEAST = 0.95
#: The number of a display: "(12)" at the end of a line, or as a tag.
DISPLAY = re.compile(r"\\tag\{\s*(\d+)\s*\}|(?<![\w}])\(\s*(\d{1,3})\s*\)\W*$", re.MULTILINE)


def rows_of(key: str) -> Coverage:
    found = coverage_of(PAPERS[key], REGISTRY)
    assert found is not None, f"theorems/{key}/coverage.yaml is not there"
    return found


def text_of(key: str) -> str:
    """The text of a paper without any white space."""
    (path,) = TEXTS.glob(f"{key}-*.txt")
    return "".join(path.read_text(encoding="utf-8").split())


@pytest.mark.parametrize("key", PAPERS)
def test_every_id_is_a_claim_and_every_printed_claim_is_reached(key: str) -> None:
    reached = {claim_id for row in rows_of(key).rows for claim_id in row.claims}
    assert reached - set(REGISTRY) == set()
    printed = {claim.id for claim in REGISTRY.values() if claim.paper.key == key and not claim.of_project}
    assert printed - reached == set()


@pytest.mark.parametrize("key", PAPERS)
def test_most_sentences_that_can_be_compared_are(key: str) -> None:
    coverage = rows_of(key)
    assert coverage.counts[COVERED] >= LEAST * coverage.checkable


def test_the_readme_says_how_much_is_compared() -> None:
    found = [rows_of(key) for key in PAPERS]
    whole, done = sum(item.checkable for item in found), sum(item.counts[COVERED] for item in found)
    text = " ".join((Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8").split())
    assert f"{done:,} of the {whole:,} sentences and formulas that can be compared" in text


@pytest.mark.skipif(not TEXTS.is_dir(), reason="the texts of the papers are not beside this checkout")
@pytest.mark.parametrize("key", PAPERS)
def test_every_quotation_stands_in_the_text_in_its_order(key: str) -> None:
    text, place = text_of(key), 0
    for number, row in enumerate(rows_of(key).rows, 1):
        found = text.find("".join(row.quote.split()), place)
        assert found >= 0, f"row {number}, {row.quote!r}: not in the text from where the row before it stands"
        place = found


@pytest.mark.skipif(not TEXTS.is_dir(), reason="the texts of the papers are not beside this checkout")
@pytest.mark.parametrize("key", PAPERS)
def test_no_numbered_display_is_skipped(key: str) -> None:
    (path,) = TEXTS.glob(f"{key}-*.txt")
    printed = {int(one or other) for one, other in DISPLAY.findall(path.read_text(encoding="utf-8"))}
    assert len(printed) > 20, "the numbers of displays are not found"
    labels = {int(number) for row in rows_of(key).rows for number in re.findall(r"\((\d+)\)", row.label)}
    assert printed - labels == set()


@pytest.mark.parametrize(
    ("row", "state"),
    [
        ({"quote": "A = B", "claims": ["a.b"]}, COVERED),
        ({"quote": "A = B = C", "claims": ["a.b"], "partly": "B = C"}, PARTLY),
        ({"quote": "we win", "missing": "the share of wins"}, MISSING),
        ({"quote": "we hope", "reason": "outlook"}, NO_CLAIM),
        ({"quote": "again", "reason": "repeats", "claims": ["a.b"]}, NO_CLAIM),
    ],
)
def test_a_row_has_one_state(row: dict[str, Any], state: str) -> None:
    assert row_of(row, "here").state == state


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("A = B", "a mapping with a quote"),
        ({"claims": ["a.b"]}, "a mapping with a quote"),
        ({"quote": "A"}, "claims .and what they leave out., or what is missing, or a reason"),
        ({"quote": "A", "claim": ["a.b"]}, "the keys claims, label"),
        ({"quote": "A", "reason": "lazy"}, "one of motivation"),
        ({"quote": "A", "missing": "x", "claims": ["a.b"]}, "or what is missing, or a reason"),
        ({"quote": "A", "missing": "x", "reason": "outlook"}, "or what is missing, or a reason"),
        ({"quote": "A", "partly": "x"}, "or what is missing, or a reason"),
    ],
)
def test_a_wrong_row_is_refused(row: Any, what: str) -> None:
    with pytest.raises(InputError, match=what):
        row_of(row, "here")


def test_a_coverage_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "coverage.yaml"
    path.write_text(
        "- quote: A = B\n  claims: [a.b]\n- quote: C = D\n  missing: C - D\n- quote: hm\n  reason: motivation\n",
        encoding="utf-8",
    )
    found = read(path)
    assert (found.checkable, found.counts[COVERED], found.complete) == (2, 1, False)
    assert [row.quote for row in found.rows if row.claims == ("a.b",)] == ["A = B"]
    path.with_name("other.yaml").write_text("quote: A\n", encoding="utf-8")
    with pytest.raises(InputError, match="a list of rows"):
        read(path.with_name("other.yaml"))


def test_a_paper_without_a_file_has_no_coverage() -> None:
    assert coverage_of(Paper("toy", "Toy claims", "nobody", "row-major"), REGISTRY) is None
