"""What was measured, as data: a run for each processor, kept side by side in one file, and the worst of them."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from measure import Goal, Topic, by_series, growth

Run = dict[str, Any]


def processor() -> str:
    """The processor's name where the system tells it, with family and model, since one name stands for several; its kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    found = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in reversed(lines))}
    if "model name" not in found:
        return platform.machine()
    kind = ", ".join(
        f"{name} {found[key]}" for name, key in (("family", "cpu family"), ("model", "model")) if key in found
    )
    return f"{found['model name']} ({kind}), {platform.machine()}"


def as_run(topics: Iterable[Topic], device: str) -> Run:
    """All numbers of topics measured on this machine."""
    return {
        "machine": {"cpu": processor(), "device": device, "torch": torch.__version__},
        "topics": [
            {
                "name": topic.name,
                "cases": [
                    {
                        "series": case.series,
                        "label": case.label,
                        "size": case.size,
                        "median_seconds": case.seconds,
                        "least_seconds": case.spread,
                    }
                    for case in topic.cases
                ],
                "growth": {series: growth(cases) for series, cases in by_series(topic.cases).items()},
                "errors": [asdict(error) for error in topic.errors],
                "goals": [{**asdict(goal), "met": goal.met} for goal in topic.goals],
                "breakdowns": [asdict(found) for found in topic.breakdowns],
                "notes": topic.notes,
            }
            for topic in topics
        ],
    }


def read(path: str | None) -> list[Run]:
    """The runs of a file, none if there is no such file."""
    if path is None or not Path(path).exists():
        return []
    return list(json.loads(Path(path).read_text())["runs"])


def together(runs: list[Run], new: Run) -> list[Run]:
    """`runs` with a new one, whose topics take the place of those of the same processor and device."""
    same = [run for run in runs if all(run["machine"][key] == new["machine"][key] for key in ("cpu", "device"))]
    measured = {topic["name"] for topic in new["topics"]}
    kept = [topic for run in same for topic in run["topics"] if topic["name"] not in measured]
    return [*(run for run in runs if run not in same), {**new, "topics": [*new["topics"], *kept]}]


def write(runs: list[Run], path: str) -> None:
    Path(path).write_text(json.dumps({"runs": runs}, indent=1) + "\n")


def worst(goal: Goal, runs: Iterable[Run]) -> tuple[Goal, str]:
    """The goal as the least favourable of all runs measured it, and the processor of that run; "" if no run has it."""
    found = [
        (kept["measured"], run["machine"]["cpu"])
        for run in runs
        for topic in run["topics"]
        for kept in topic["goals"]
        if _of_whom(kept["text"]) == _of_whom(goal.text)
    ]
    if not found:
        return goal, ""
    measured, cpu = min(found) if goal.least else max(found)
    return Goal(goal.text, goal.target, measured, goal.least), cpu


def _of_whom(text: str) -> str:
    """A goal without the name of the best peer, which is another one on another processor."""
    return re.sub(r"best peer \([^)]*\)", "best peer", text)
