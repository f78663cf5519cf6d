"""The benchmarks measure what they say, and their command runs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from tests import loaded

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


def a_run(cpu: str, **measured: float) -> dict[str, Any]:
    """A run on a processor: topics with one goal each."""
    topics = [{"name": name, "goals": [{"text": name, "measured": value}]} for name, value in measured.items()]
    return {"machine": {"cpu": cpu, "device": "cpu", "torch": "2"}, "topics": topics}


def test_runs_of_processors_stand_side_by_side(measuring: Any) -> None:
    import records

    runs = records.together([a_run("one", speed=3.0, space=1.0), a_run("other", speed=2.0)], a_run("one", speed=4.0))
    kept = {run["machine"]["cpu"]: {t["name"]: t["goals"][0]["measured"] for t in run["topics"]} for run in runs}
    assert kept == {"one": {"speed": 4.0, "space": 1.0}, "other": {"speed": 2.0}}


def test_the_worst_processor_decides_a_goal(measuring: Any) -> None:
    import records

    text = "best peer (%s) over ours, N = 8"
    runs = [a_run("one", **{text % "a": 3.0}), a_run("other", **{text % "b": 2.0}), a_run("third", else_=1.0)]
    goal, cpu = records.worst(measuring.Goal(text % "c", 2.5, 3.5), runs)
    assert (goal.measured, goal.met, cpu) == (2.0, False, "other")
    goal, cpu = records.worst(measuring.Goal(text % "c", 2.5, 1.5, least=False), runs)
    assert (goal.measured, goal.met, cpu) == (3.0, False, "one")
    assert records.worst(measuring.Goal("new", 1.0, 1.5), runs) == (measuring.Goal("new", 1.0, 1.5), "")


def test_a_page_keeps_what_was_not_measured(measuring: Any, tmp_path: Path) -> None:
    import compare

    page = tmp_path / "page.md"
    page.write_text("before\n<!-- tables -->\n\n## One\n\nold\n\n## Other\n\nkept\n\n<!-- end -->\n## After\n")
    compare.write_page([measuring.Topic("One", [], [], [], ["new"])], [], str(page))
    text = page.read_text()
    assert "old" not in text and text.index("new") < text.index("## Other\n\nkept") < text.index("## After")


def test_every_point_of_attention_has_a_row_and_a_goal(measuring: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without measuring, which takes minutes: whoever is not run at a size has a reason in the table."""
    import attention_derivatives
    import compare

    def measured(cases: list[Any], device: str, quick: bool, least: int) -> None:
        for case in cases:
            case.seconds.update({entry.name: 1.0 for entry in case.entries if entry.run is not None})

    monkeypatch.setattr(attention_derivatives, "measure", measured)
    monkeypatch.setattr(attention_derivatives, "memory", lambda *given: 1.0)
    monkeypatch.setattr(attention_derivatives, "operands", lambda *given: None)
    topic = attention_derivatives.topic("cpu", quick=False)
    text = compare.in_words(topic, [])
    assert all(goal.text in text for goal in topic.goals) and len(topic.goals) == len(topic.cases) + 4
    assert all(entry.absent for case in topic.cases for entry in case.entries if entry.run is None)
    assert {1024, 2048, 4096, 8192} <= {case.size for case in topic.cases}


@pytest.mark.kept(".")
@pytest.mark.long("it measures")
def test_the_command_writes_what_it_measured(tmp_path: Path) -> None:
    written, page = tmp_path / "found.json", tmp_path / "page.md"
    page.write_text("before\n<!-- tables -->\nold\n<!-- end -->\nafter\n")
    command = ["--quick", "--topic", "ntk", "--json", str(written), "--page", str(page)]
    environment = {**os.environ, "PYTHONPATH": str(FOLDER.parent), "OMP_NUM_THREADS": "1"}
    done = loaded.run("compare", command, FOLDER, environment)
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(written.read_text())["runs"]
    (topic,) = run["topics"]
    assert "| goal |" in done.stdout and topic["goals"] and topic["errors"]
    assert all(seconds > 0 for case in topic["cases"] for seconds in case["median_seconds"].values())
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text and topic["name"] in text
