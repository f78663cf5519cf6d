"""The table of real bugs: every layer that it names is caught as it says, and a right layer beside it passes."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch

from tests.efforts import is_deep
from tests.wrong_layers import Layer, history, layers
from verify.gate.checking import gate
from verify.gate.findings import BROKEN, SATISFIED, Finding

pytestmark = pytest.mark.kept("docs/history.md")

PAGE = Path(__file__).resolve().parents[1] / "docs/history.md"
CAUGHT, OPEN = 8, 4  #: columns of both tables
PAIRS = history()
COLLECTED = {layer.name: layer for layer in layers()[0]}


def rows(columns: int) -> list[list[str]]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    found = [line[2:-2].split(" | ") for line in lines if line.startswith("| ")]
    return [row for row in found if len(row) == columns and row[0] != "project"]


def found_by(check: str, layer: Layer, effort: str, dtype: str) -> Finding:
    """What one check finds of a layer."""
    torch.manual_seed(0)  # a layer that drops weights at random may give the same values a dozen times at few of them
    claims = f"{layer.subject.split('.')[0]}.*"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = gate(layer.subject, layer.make(), adapter=layer.adapter, claims=claims, dtypes=[dtype], effort=effort)
        return made.run(check, dtype, shrinking=False)


WAYS = sorted({tuple(row[4:]) for row in rows(CAUGHT)})


@pytest.mark.parametrize(("number", "way"), list(enumerate(WAYS)), ids=[way[0] for way in WAYS])
def test_every_bug_is_caught_by_the_check_that_is_named(number, way, pytestconfig):
    """And the right layer beside it passes; below effort deep every other one of these is tried."""
    name, check, effort, dtype = way
    wrong, right = PAIRS[name] if name in PAIRS else (COLLECTED[name], None)
    assert found_by(check, wrong, effort, dtype).status == BROKEN
    if right is not None and (number % 2 == 0 or is_deep(pytestconfig)):
        assert found_by(check, right, effort, dtype).status == SATISFIED


def test_many_reports_are_in_the_table_and_each_once() -> None:
    bugs = rows(CAUGHT)
    assert len(bugs) >= 60 and len({(*row[:2], row[4]) for row in bugs}) == len(bugs)
    for project, report, *rest in bugs + rows(OPEN):
        assert "/" in project and report[0] == "#" and report[1:].isdigit() and all(rest)
    for number in (f"{len(bugs)} reports are caught", f"{len(rows(OPEN))} are out of reach"):
        assert number in PAGE.read_text(encoding="utf-8")


def test_every_layer_of_history_is_in_a_table() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in PAIRS if name not in text] == []


def test_what_is_out_of_reach_is_not_caught_by_now() -> None:
    """Where a reason names a layer: once the gate catches it, its report belongs to the other table."""
    name = "small weights lost, the sum counts them"
    assert f"(layer: {name})" in PAGE.read_text(encoding="utf-8")
    for check in ("definition", "first-derivatives", "sizes", "long-sequences"):
        assert found_by(check, PAIRS[name][0], "quick", "bfloat16").status == SATISFIED
