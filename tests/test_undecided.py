"""Kinds of inputs that are drawn and never decide: they are listed, and become no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import theorems
from verify.checks.record import Record
from verify.evidence.released import read_released
from verify.evidence.undecided import undecided
from verify.vocabulary import load

#: Of claims that are not refuted, kinds of inputs that no check decides and no claim excuses: to become fewer.
KNOWN = 72


def record(check: str, **domains: int) -> Record:
    return Record("toy.a", check, "float64", "upheld", "", domains=domains)


def test_a_kind_that_no_check_decides_is_listed() -> None:
    found = undecided({"toy.a": [record("sampled", huge=0, tied=3), record("enclosed", huge=0, tiny=0)]})
    assert found == {"toy.a": ["huge", "tiny"]}


def test_a_kind_that_one_check_decides_is_not() -> None:
    found: dict[str, Any] = {"toy.a": [record("sampled", huge=0), record("enclosed", huge=1)], "toy.b": []}
    assert undecided(found) == {}


def test_of_the_released_evidence_no_more_kinds_are_undecided() -> None:
    released = read_released(Path(theorems.__file__).with_name("released.jsonl.xz"))
    assert released is not None
    claims = load()
    open_kinds = [
        (claim_id, kind)
        for claim_id, kinds in undecided(released.records).items()
        if claim_id in claims and claims[claim_id].expects != "refuted"
        for kind in kinds
        if kind not in claims[claim_id].without_domains
    ]
    assert len(open_kinds) <= KNOWN, open_kinds
