"""Kinds of inputs that are drawn and never decide: they are listed, and each has a reason that the machine finds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest

import theorems
from verify.checks.record import Record
from verify.checks.settings import settings_for
from verify.evidence.released import read_released
from verify.evidence.undecided import undecided, why_undecided
from verify.matrix import exp
from verify.vocabulary import Assumption, Claim, Equal, Paper, Real, load

#: Of claims that are not refuted, kinds of inputs that no check decides and at some of which nothing is the matter: to become none.
UNEXPLAINED = 18


def record(check: str, **domains: int) -> Record:
    return Record("toy.a", check, "float64", "upheld", "", domains=domains)


def test_a_kind_that_no_check_decides_is_listed() -> None:
    found = undecided({"toy.a": [record("sampled", huge=0, tied=3), record("enclosed", huge=0, tiny=0)]})
    assert found == {"toy.a": ["huge", "tiny"]}


def test_a_kind_that_one_check_decides_is_not() -> None:
    found: dict[str, Any] = {"toy.a": [record("sampled", huge=0), record("enclosed", huge=1)], "toy.b": []}
    assert undecided(found) == {}


Number = Annotated[Any, Real(-4.0, 4.0)]


def itself(c: Number) -> Any:
    return c


def about(preparation: Any = None, *assumptions: Assumption, formula: Any = itself) -> Claim:
    paper = Paper("toy", "Toy claims", "nobody", "row-major")
    it = Claim(paper, "toy.a", "a", name="toy", statement="x", relation=Equal(), assumptions=assumptions)
    if preparation is not None:
        it.inputs(preparation)
    it.formula(formula)
    it.oracle(formula)
    return it


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        (about(None, Assumption("c > 9", positive=lambda c: c - 9)), "the condition 'c > 9' fails"),
        (about(formula=lambda c: exp(c * 0 + 1000)), "no finite value in double precision"),
        (about(lambda c: {"c": c / (c * 0)}), "makes no finite inputs"),
    ],
)
def test_the_reason_is_what_is_the_matter_with_all_inputs_of_the_kind(claim: Claim, reason: str) -> None:
    for function in claim.named_functions().values():
        function.__annotations__ = {"c": Number}
    assert reason in (why_undecided(claim, "generic", settings_for("quick", 0)) or "")


def test_where_nothing_is_the_matter_there_is_no_reason() -> None:
    assert why_undecided(about(), "generic", settings_for("quick", 0)) is None


def test_of_the_released_evidence_undecided_kinds_have_a_reason() -> None:
    released = read_released(Path(theorems.__file__).with_name("released.jsonl.xz"))
    assert released is not None
    claims, settings = load(), settings_for("quick", 0)
    unexplained = [
        (claim_id, kind)
        for claim_id, kinds in undecided(released.records).items()
        if claim_id in claims and claims[claim_id].expects != "refuted"
        for kind in kinds
        if kind not in claims[claim_id].without_domains and why_undecided(claims[claim_id], kind, settings) is None
    ]
    assert len(unexplained) <= UNEXPLAINED, unexplained
