"""Bounds of ours that nothing brings near equality say why: planted ones are found, and the registry has none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from verify.evidence.released import FILE, read_released
from verify.evidence.verdicts import Verdict, judge_all
from verify.report.looseness import nearest
from verify.vocabulary import AtMost, Claim, Equal, Paper, load

pytestmark = pytest.mark.kept

#: Below this quotient a bound of ours says why it is loose.
LOOSE = 0.5
PAPER = Paper("toy", "Toy claims", "nobody", "row-major")


def claim(relation: Any = AtMost(), of_project: bool = True, loose: str | None = None) -> Claim:  # noqa: B008
    return Claim(PAPER, "toy.a", "a", name="toy", statement="x", relation=relation, of_project=of_project, loose=loose)


def unexplained(claims: Mapping[str, Claim], verdicts: Mapping[str, Verdict]) -> dict[str, str]:
    """Bounds of ours that are loose and do not say why, and those that say why and are not loose, each with its fault."""
    found = {}
    for claim_id, claim in claims.items():
        ratio = nearest(claim, verdicts[claim_id]) if claim.of_project else None
        if claim.loose is None and ratio is not None and ratio < LOOSE:
            found[claim_id] = f"no search came nearer than {ratio:.3g}, and `loose` does not say why"
        elif claim.loose is not None and (ratio is None or ratio >= LOOSE):
            found[claim_id] = (
                f"`loose` is for bounds that nothing brings near equality; the largest quotient is {ratio}"
            )
    return found


def found(it: Claim, ratio: float | None, status: str = "holds") -> dict[str, str]:
    return unexplained({"toy.a": it}, {"toy.a": Verdict("toy.a", status, "", tightest_ratio=ratio)})


def test_a_loose_bound_that_does_not_say_why_is_found() -> None:
    assert "no search came nearer than 0.3" in found(claim(), 0.3)["toy.a"]
    assert found(claim(loose="Two norms are added up."), 0.3) == {}
    assert found(claim(), 0.7) == {}


@pytest.mark.parametrize("ratio", [0.7, None])
def test_a_reason_for_what_is_not_loose_is_found(ratio: float | None) -> None:
    assert "the largest quotient is" in found(claim(loose="Two norms are added up."), ratio)["toy.a"]


def test_what_is_printed_or_has_no_quotient_needs_no_reason() -> None:
    assert found(claim(of_project=False), 0.3) == {}
    assert found(claim(AtMost(signed=True)), 0.0) == {}
    assert found(claim(Equal()), None) == {}
    assert found(claim(), 0.3, "refuted") == {}


def test_the_reason_is_part_of_the_note() -> None:
    assert claim(loose="Two norms are added up.").note == "Two norms are added up."
    assert nearest(claim(), Verdict("toy.a", "holds", "", tightest_ratio=0.3)) == 0.3


def test_every_loose_bound_of_ours_says_why() -> None:
    claims, released = load(), read_released(Path(__file__).parents[1] / "theorems" / FILE)
    assert released is not None
    verdicts = judge_all(claims, [record for records in released.records.values() for record in records])
    assert unexplained(claims, verdicts) == {}
