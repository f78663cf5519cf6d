"""The example of docs/adding-a-theorem.md: short, wrong as it stands, and right after the change that it asks for."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from verify.checks import checks_of
from verify.checks.settings import settings_for
from verify.evidence.runner import judge, run_check
from verify.evidence.verdicts import judge_alone
from verify.vocabulary import Claim

pytestmark = pytest.mark.kept("docs/adding-a-theorem.md")

PAGE = (Path(__file__).parents[1] / "docs" / "adding-a-theorem.md").read_text()
EXAMPLE = re.findall(r"```python\n(.*?)```", PAGE, re.S)[0]
SETTINGS = settings_for("quick")


@pytest.fixture
def declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Claim]]:
    """The claim that a text declares, as a module of its own."""
    monkeypatch.syspath_prepend(tmp_path)

    def load(text: str) -> Claim:
        (tmp_path / "example_of_the_docs.py").write_text(text)
        return importlib.import_module("example_of_the_docs").LEMMA

    yield load
    sys.modules.pop("example_of_the_docs", None)


def test_the_claim_with_two_mutants_takes_at_most_twenty_lines() -> None:
    lines = EXAMPLE.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("LEMMA = "))
    assert len(lines) - first <= 20 and EXAMPLE.count("LEMMA.mutant") == 2


def test_the_wrong_sign_fails_everywhere(declared: Callable[[str], Claim]) -> None:
    claim = declared(EXAMPLE)
    records = [run_check(claim, check, SETTINGS) for check in checks_of(claim, SETTINGS)]
    assert [record.check for record in records] == ["sampled float64", "sampled float32", "enclosed", "exact"]
    assert all(record.outcome == "violated" for record in records)
    assert "u" in records[0].details["inputs"] and records[0].worst_residual > 1e15


def test_the_right_sign_holds(declared: Callable[[str], Claim]) -> None:
    claim = declared(EXAMPLE.replace("diag(v) + v.T @ v  # wrong: should be minus", "diag(v) - v.T @ v"))
    records = [run_check(claim, check, SETTINGS) for check in checks_of(claim, SETTINGS)]
    assert all(judge(claim, record).ok for record in records)
    assert judge_alone(claim, records).status == "holds"
