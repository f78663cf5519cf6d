"""The grade *kernel*: for a proof whose very certificate Rocq's kernel accepted, with real derivatives, and for no other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.test_proofs import check_of, cyclic_trace
from verify.checks.record import VIOLATED, Record
from verify.evidence import by_rocq
from verify.evidence.verdicts import GRADES, judge_alone

pytestmark = pytest.mark.kept

MET: dict[str, Any] = {"inputs": 3, "not met": {}}
GOOD: dict[str, Any] = {"certificate": "abc", "real": True, "met": MET}


def judged(monkeypatch: pytest.MonkeyPatch, entry: dict[str, Any] | None, **changed: Any) -> str | None:
    """The grade where `kernel.json` says this of the claim, and the record of its proof has the certificate `abc`."""
    claim = cyclic_trace()
    record: Record = check_of(claim)
    record = replace(record, details=record.details | {"certificate": {"sha256": "abc"}}, **changed)
    claims = {} if entry is None else {claim.id: entry}
    monkeypatch.setattr(by_rocq, "checked_by_rocq", lambda package: {"claims": claims, "axioms": []})
    return judge_alone(claim, [record]).grade


def test_the_certificate_that_the_kernel_accepted_has_the_grade(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(monkeypatch, GOOD) == "kernel"
    assert GRADES.index("kernel") > GRADES.index("all sizes")


NOT_MET = {"inputs": 3, "not met": {"IsPositive 8": "it does not hold at an input of the domain 'kinks' with n = 2"}}


@pytest.mark.parametrize(
    "entry",
    [
        None,
        {**GOOD, "certificate": "stale"},
        {**GOOD, "real": False},
        {**GOOD, "met": NOT_MET},
        {**GOOD, "met": {"inputs": 0, "not met": {}}},
        {"certificate": "abc", "real": True},
    ],
)
def test_no_other_has_it(monkeypatch: pytest.MonkeyPatch, entry: dict[str, Any] | None) -> None:
    """Nothing checked; another certificate than that of the evidence; a derivative that is not a real one.

    A condition that does not hold at an input of the claim; conditions that were tested at no input, or of which nothing is said.
    """
    assert judged(monkeypatch, entry) == "all sizes"


def test_a_proof_that_fails_has_no_grade(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(monkeypatch, GOOD, outcome=VIOLATED) is None
