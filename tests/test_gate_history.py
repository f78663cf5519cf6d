"""The table of real bugs: every layer it names is in the collection, and is caught by the check it names."""

from __future__ import annotations

from pathlib import Path

from tests.wrong_layers import layers

DOCS = Path(__file__).resolve().parents[1] / "docs"


def rows(page: str, columns: int) -> list[list[str]]:
    found = [
        line[2:-2].split(" | ") for line in (DOCS / page).read_text(encoding="utf-8").splitlines() if line[:2] == "| "
    ]
    return [row for row in found if len(row) == columns and row[0] not in ("project", "wrong layer")]


def test_every_bug_is_caught_by_the_check_that_is_named() -> None:
    caught = {
        row[0]: row[1] for row in rows("wrong-layers.md", 5)
    }  # which the test of the collection holds to what is so
    wrong = {layer.name for layer in layers()[0]}
    bugs = rows("history.md", 6)
    assert len(bugs) >= 7
    for project, report, *_, layer, check in bugs:
        assert "/" in project and report[0] == "#" and report[1:].isdigit()
        assert layer in wrong and caught[layer] == check, layer


def test_what_is_out_of_reach_has_its_reason() -> None:
    for project, report, what, why in rows("history.md", 4):
        assert "/" in project and report[0] == "#" and what and why
