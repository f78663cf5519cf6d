"""The audit of kept evidence: what a check finds now is what was kept of it, or is named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import write_claim
from tests.test_cli import verify
from verify.checks.record import Record
from verify.evidence.audit import differences

pytestmark = pytest.mark.kept

KEPT = Record(
    "a.b", "attacked float64", "float64", "upheld", "0", examples=9, tightest_ratio=0.5, effort="ci",
    mutants={"one": {"residual": 1e9, "killed": True}},
)  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({}, []),
        ({"duration": 3.0, "when": 5.0, "run": "x", "worst_residual": 0.2}, []),
        ({"tightest_ratio": 0.5001}, []),
        ({"tightest_ratio": 0.51}, ["tightest ratio"]),
        ({"tightest_ratio": None}, ["tightest ratio"]),
        ({"outcome": "violated"}, ["outcome"]),
        ({"mutants": {"one": {"residual": 1.0, "killed": False}}}, ["surviving"]),
        ({"examples": 8, "domains": {"generic": 1}}, ["examples", "domains"]),
        ({"effort": "deep", "examples": 8, "tightest_ratio": 0.9}, []),
        ({"effort": "deep", "outcome": "error"}, ["outcome"]),
    ],
)
def test_differences_are_named(changed: dict[str, Any], named: list[str]) -> None:
    assert [text.partition(":")[0] for text in differences(KEPT, replace(KEPT, **changed))] == named


def test_the_command_runs_all_again_and_names_what_differs(tmp_path: Path) -> None:
    write_claim(tmp_path / "demo_claims", "sound")
    nothing = verify(tmp_path, "audit", "--effort", "quick", "--jobs", "1")
    assert nothing.returncode == 2 and "claims with evidence about this code" in nothing.stderr
    assert verify(tmp_path, "run", "--effort", "quick", "--jobs", "1").returncode == 0
    same = verify(tmp_path, "audit", "--effort", "quick", "--jobs", "1")
    assert same.returncode == 0 and "0 of 4 checks found something else" in same.stdout and "[4/4]" in same.stderr
    for path in (tmp_path / ".verify/evidence").iterdir():
        records = [json.loads(line) for line in path.read_text().splitlines()]
        forged = [{**record, "examples": record["examples"] + (record["check"] == "exact")} for record in records]
        path.write_text("".join(json.dumps(record) + "\n" for record in forged))
    other = verify(tmp_path, "audit", "--effort", "quick", "--jobs", "1")
    assert other.returncode == 1 and "1 of 4 checks found something else" in other.stdout
    assert "demo.sound exact: examples: kept " in other.stdout
