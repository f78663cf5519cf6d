"""Readings and doubts quote the paper; gaps name what is missing."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from tests.made_up_evidence import made_up, with_links
from theorems.osa import OSA
from verify.evidence.verdicts import judge_all
from verify.vocabulary import Claim, Doubt, Equal, Reading, RegistryError, load

pytestmark = pytest.mark.kept("../shared/papers")

REGISTRY = load()
PAPERS = Path(__file__).resolve().parents[2] / "shared" / "papers"


def squeezed(text: str) -> str:
    """Text without white space, hyphens of line breaks, and ligatures, to compare quotations with an extraction."""
    return re.sub(r"-\n|\s+", "", unicodedata.normalize("NFKC", text))


@pytest.mark.skipif(not PAPERS.is_dir(), reason="the papers' texts are not beside this checkout")
@pytest.mark.parametrize("paper", sorted({c.paper.key for c in REGISTRY.values() if c.reading or c.doubt}))
def test_readings_and_doubts_quote_the_text(paper: str) -> None:
    (path,) = PAPERS.glob(f"{paper}-*.txt")
    text = squeezed(path.read_text(encoding="utf-8"))
    claims = [claim for claim in REGISTRY.values() if claim.paper.key == paper]
    assert {claim.id: missing for claim in claims if (missing := unquoted(claim, text))} == {}


def unquoted(claim: Claim, text: str) -> list[str]:
    """The passages of a claim's judgements that stand neither in the text of its paper nor in its statement."""
    judgements = [judgement for judgement in (claim.reading, claim.doubt) if judgement is not None]
    whole = text + squeezed(claim.statement)
    return [passage for each in judgements for passage in each.passages if squeezed(passage) not in whole]


def unsaved(claim: Claim) -> str | None:
    """What is wrong with a refuted claim that rests on a meaning of ours, and does not say why no other meaning saves it."""
    if claim.expects != "refuted" or claim.reading is None:
        return None
    _, found, reason = claim.note.partition(SAVED_BY_NONE)
    return (
        None
        if found and len(reason.split()) >= 10
        else f"{claim.id}: its note says why: {SAVED_BY_NONE!r} and the reason"
    )


#: With these words the note of a refuted claim goes on to the other meanings of the words that it reads.
SAVED_BY_NONE = "No other meaning saves it: "


def test_a_reading_is_refuted_only_where_no_other_meaning_saves_it() -> None:
    assert [fault for claim in REGISTRY.values() if (fault := unsaved(claim))] == []


def test_a_refuted_reading_without_its_other_meanings_is_found() -> None:
    def refuted(note: str, expects: str = "refuted") -> Claim:
        severity = "error" if expects == "refuted" else None
        read = Reading("close to", "within 1 %")
        return Claim(OSA, "osa.toy", "", "", Equal(), expects=expects, severity=severity, reading=read, note=note)

    assert unsaved(refuted("It fails at 2.")) is not None
    assert unsaved(refuted(SAVED_BY_NONE + "it is false.")) is not None, "a reason is more than that"
    assert (
        unsaved(refuted(SAVED_BY_NONE + "within a factor of two it fails as well, at the same input and by more."))
        is None
    )
    assert unsaved(refuted("", expects="reading")) is None


@pytest.mark.parametrize(
    "declare",
    [
        lambda: Reading("", "a meaning"),
        lambda: Reading("close to", "  "),
        lambda: Reading((), "a meaning"),
        lambda: Doubt(("x", ""), "a reason"),
    ],
)
def test_empty_judgements_are_refused(declare: object) -> None:
    with pytest.raises(RegistryError, match="none of them empty"):
        declare()  # type: ignore[operator]


def test_what_is_checked_of_mean_exponents_follows_from_the_reading() -> None:
    """Of the derivative J of two steps (89) has log of an eigenvalue of J^T J, divided by 4: e^max <= K e^mean is taken to 4n."""
    claim, rng = REGISTRY["dynamics.sec-5.3-mean"], np.random.default_rng(0)
    assert (
        claim.reading is not None and r"K^{4n}\det\Lambda$ with $n = SD$ and $K^{4n} = 10^6$" in claim.reading.meaning
    )
    seen = set()
    for scale in rng.uniform(0, 3, 400):
        n = int(rng.integers(1, 7))
        squares = np.exp(2 * rng.uniform(-scale, scale, n))
        exponents, K = np.log(squares) / 4, 10 ** (6 / (4 * n))
        is_alike = np.exp(exponents.max()) <= K * np.exp(exponents.mean())
        seen.add(is_alike)
        assert not is_alike or squares.mean() ** n <= 10**6 * squares.prod()
    assert seen == {True, False}


def test_a_reading_prints_its_words() -> None:
    assert (
        str(Reading(("close to", "small"), "within 1 %"))
        == "\u201cclose to\u201d, \u201csmall\u201d is read as: within 1 %"
    )


def test_judgements_are_objects() -> None:
    with pytest.raises(RegistryError, match="Reading"):
        Claim(OSA, "osa.toy", "", "", Equal(), reading="some words")  # type: ignore[arg-type]
    with pytest.raises(RegistryError, match="Doubt"):
        Claim(OSA, "osa.toy", "", "", Equal(), doubt="some glyphs")  # type: ignore[arg-type]


def test_verdicts_that_lean_on_something_name_it() -> None:
    with pytest.raises(RegistryError, match="quotes the words"):
        Claim(OSA, "osa.toy", "", "", Equal(), expects="reading")
    with pytest.raises(RegistryError, match="names what it presumes"):
        Claim(OSA, "osa.toy", "", "", Equal(), expects="gap")


def test_a_missing_hypothesis_belongs_to_a_gap_that_presumes_its_refutation() -> None:
    with pytest.raises(RegistryError, match="missing hypothesis"):
        Claim(OSA, "osa.toy", "", "", Equal(), missing="alpha >= 0")
    with pytest.raises(RegistryError, match="missing hypothesis"):
        Claim(OSA, "osa.toy", "", "", Equal(), expects="gap", missing="alpha >= 0")
    Claim(OSA, "osa.toy", "", "", Equal(), expects="gap", missing="alpha >= 0", presumes=["osa.other"])


def test_a_gap_tells_what_its_hypothesis_mends_from_errors_of_its_proof() -> None:
    claims = with_links(REGISTRY, ["osa.thm-2.1"])
    verdict = judge_all(claims, made_up(claims))["osa.thm-2.1"]
    assert verdict.status == "gap"
    without, used = verdict.why.split("; its printed proof uses what is refuted: ")
    assert without.endswith("without it refuted: osa.thm-2.1-rank")
    assert "osa.f1-image" in used.split(", ") and "osa.thm-2.1-rank" not in used
