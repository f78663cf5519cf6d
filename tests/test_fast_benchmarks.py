"""The benchmarks measure what they say, and their command runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"


@pytest.fixture
def measuring(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    import measure

    return measure


def test_growth_ratios_and_goals(measuring: Any) -> None:
    peers = [measuring.Entry("slow", measuring.PEER, None), measuring.Entry("slower", measuring.PEER, None)]
    cases = [measuring.Case("series", f"n = {n}", n, peers, {"slow": 2e-3 * n**3, "slower": n**3}) for n in (4, 8)]
    assert measuring.growth(cases) == pytest.approx({"slow": 3.0, "slower": 3.0})
    assert cases[0].best_peer() == ("slow", pytest.approx(0.128))
    assert measuring.Goal("fast", 2.0, 2.5).met and not measuring.Goal("small", 2.0, 2.5, least=False).met


def test_entries_are_timed_and_absent_ones_are_not(measuring: Any) -> None:
    X = torch.ones(64, 64)
    entries = [
        measuring.Entry("one", measuring.OURS, lambda: X @ X),
        measuring.Entry("eight", measuring.PEER, lambda: [X @ X for _ in range(8)]),
        measuring.Entry("absent", measuring.PEER, None, "not installed"),
    ]
    case = measuring.Case("series", "n = 64", 64, entries)
    measuring.measure([case], "cpu", quick=True)
    assert set(case.seconds) == {"one", "eight"} and 2 < case.seconds["eight"] / case.seconds["one"] < 32


def test_memory_counts_what_lives_at_once(measuring: Any) -> None:
    X = torch.ones(100)
    assert measuring.peak_memory(lambda: X + 1) == 400
    assert measuring.peak_memory(lambda: (X + 1) + 1) == 800
    assert measuring.peak_memory(lambda: [X.add(1).sum() for _ in range(5)]) < 500
    assert measuring.peak_memory(lambda: X.view(10, 10)) == 0


@pytest.mark.long("it measures")
def test_the_command_writes_what_it_measured(tmp_path: Path) -> None:
    written, page = tmp_path / "found.json", tmp_path / "page.md"
    page.write_text("before\n<!-- tables -->\nold\n<!-- end -->\nafter\n")
    command = [sys.executable, str(FOLDER / "compare.py"), "--quick", "--topic", "ntk", "--json", str(written)]
    environment = {**os.environ, "PYTHONPATH": str(FOLDER.parent), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*command, "--page", str(page)], capture_output=True, text=True, check=True, env=environment)
    (topic,) = json.loads(written.read_text())["topics"]
    assert "| goal |" in done.stdout and topic["goals"] and topic["errors"]
    assert all(seconds > 0 for case in topic["cases"] for seconds in case["median_seconds"].values())
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text and topic["name"] in text
