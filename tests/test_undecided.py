"""Kinds of inputs that are drawn and never decide: they are listed, and each has a reason that the machine finds."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Annotated, Any

import pytest

import theorems
from verify.checks.record import Record
from verify.checks.settings import settings_for
from verify.evidence.released import read_released
from verify.evidence.undecided import decided_further, remarks_on, undecided, why_undecided
from verify.matrix import exp
from verify.vocabulary import Assumption, AtMost, Claim, Equal, Paper, Real, load

pytestmark = pytest.mark.kept


def record(check: str, **domains: int) -> Record:
    return Record("toy.a", check, "float64", "upheld", "", domains=domains)


def test_a_kind_that_no_check_decides_is_listed() -> None:
    found = undecided({"toy.a": [record("sampled", huge=0, tied=3), record("enclosed", huge=0, tiny=0)]})
    assert found == {"toy.a": ["huge", "tiny"]}


def test_a_kind_that_one_check_decides_is_not() -> None:
    found: dict[str, Any] = {"toy.a": [record("sampled", huge=0), record("enclosed", huge=1)], "toy.b": []}
    assert undecided(found) == {}


TOY = Paper("toy", "Toy claims", "nobody", "row-major")
Number = Annotated[Any, Real(-4.0, 4.0)]


def itself(c: Number) -> Any:
    return c


def about(preparation: Any = None, *assumptions: Assumption, formula: Any = itself) -> Claim:
    it = Claim(TOY, "toy.a", "a", name="toy", statement="x", relation=Equal(), assumptions=assumptions)
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


def of_numbers(relation: Any = None, formula: Any = itself, oracle: Any = itself) -> Claim:
    it = Claim(TOY, "toy.a", "a", name="toy", statement="x", relation=relation or Equal())
    it.formula(formula)
    it.oracle(oracle)
    for function in it.named_functions().values():
        function.__annotations__ = {"c": Number}
    return it


def twice(c: Number) -> Any:
    return 2 * c


def less(c: Number) -> Any:
    return c - 1


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        (of_numbers(), "the statement is upheld"),
        (of_numbers(formula=twice), "the statement is broken"),
        (of_numbers(AtMost(), oracle=less), "the statement is upheld"),
        (of_numbers(AtMost(), formula=less), "the statement is broken"),
    ],
)
def test_further_inputs_of_the_kind_decide_what_no_check_did(claim: Claim, found: str) -> None:
    remark = remarks_on(claim, [record("sampled float64", huge=0, tied=1)])
    assert list(remark) == ["huge"] and found in remark["huge"]


def test_further_inputs_are_drawn_at_telling_sizes_first() -> None:
    found = decided_further(load()["dynamics.eq-56-symmetric"], "huge", settings_for("quick", 0))
    assert found is not None and found.domains["huge"] and not found.domains.get("one token")


def test_what_cannot_be_drawn_or_is_refuted_has_no_remark_and_what_raises_says_so() -> None:
    assert remarks_on(of_numbers(), [record("sampled float64", nowhere=0)]) == {}
    refuted, raises = of_numbers(), of_numbers(formula=lambda c: {}["c"])
    refuted.expects = "refuted"
    assert remarks_on(refuted, [record("sampled float64", huge=0)]) == {}
    assert "raises KeyError" in remarks_on(raises, [record("sampled float64", huge=0)])["huge"]


@functools.cache
def undecided_in_the_release() -> tuple[dict[str, list[Record]], dict[str, list[str]]]:
    """The records of every claim, and its kinds of inputs that are never decided."""
    released = read_released(Path(theorems.__file__).with_name("released.jsonl.xz"))
    assert released is not None
    return released.records, undecided(released.records)


@pytest.mark.parametrize("paper", sorted({item.paper.key for item in load().values()}))
def test_of_the_released_evidence_undecided_kinds_have_a_reason_or_are_decided_further(paper: str) -> None:
    claims, wrong = load(), []
    records, found = undecided_in_the_release()
    for claim_id, kinds in found.items():
        if claim_id in claims and claims[claim_id].paper.key == paper and claims[claim_id].expects != "refuted":
            remarks = remarks_on(claims[claim_id], records[claim_id])
            said = {kind: remarks.get(kind, "nothing") for kind in kinds}
            wrong += [(claim_id, kind, text) for kind, text in said.items() if re.search("nothing|broken|raises", text)]
    assert wrong == []
