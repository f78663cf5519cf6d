"""A run says how far it is, how long it still takes and what takes long, on a terminal and elsewhere."""

from __future__ import annotations

import io
import time

import pytest

from verify.checks.record import Record
from verify.evidence import progress
from verify.evidence.progress import Progress
from verify.evidence.runner import Judgement

TASKS = [("a.one", "law"), ("a.two", "law"), ("a.two", "enclosed")]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def ended(task: tuple[str, str], duration: float) -> Record:
    return Record(task[0], task[1], "float64", "upheld", "0", duration=duration)


def test_the_rest_is_estimated_by_what_checks_and_others_of_their_kind_took() -> None:
    assert Progress(TASKS, io.StringIO(), {}, 1).rest() == ""
    assert Progress(TASKS, io.StringIO(), dict.fromkeys(TASKS, 40.0), 1).rest() == "about 2 min"
    assert Progress(TASKS, io.StringIO(), dict.fromkeys(TASKS, 40.0), 2).rest() == "about 60 s"
    found = Progress(TASKS, io.StringIO(), {TASKS[0]: 30.0}, 1)
    assert found.rest() == "", "of one kind nothing is known"
    found.step(ended(("a.three", "enclosed"), 10.0), Judgement(True, ""))
    assert found.rest() == "about 70 s"
    found.step(ended(TASKS[0], 50.0), Judgement(False, ""))
    assert found.rest() == "about 50 s" and (found.done, found.bad) == (2, 1)


def test_elsewhere_every_check_has_a_line_and_silence_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    with Progress(TASKS[:2], stream, dict.fromkeys(TASKS, 4.0), 1) as found:
        found.begin(TASKS[0])
        found.name_long_ones()
        found.begun[TASKS[0]] -= 12.0
        found.name_long_ones()
        found.spoken -= 2 * progress.SILENT
        found.name_long_ones()
        found.step(ended(TASKS[0], 12.0), Judgement(True, ""))
    first, running, line = stream.getvalue().splitlines()
    assert first == "2 checks to run, about 8 s by what they took before"
    assert running.startswith("[0/2] ") and running.endswith("about 8 s left  running: a.one law (12 s)")
    assert line.startswith("[1/2] ") and line.endswith("about 4 s left  a.one law ok (12.00 s)")


def test_a_terminal_is_rewritten_and_what_takes_long_is_named_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LOOK", 0.01)
    stream = Terminal()
    with Progress(TASKS[:1], stream, {}, 1) as found:
        found.begin(TASKS[0])
        found.begun[TASKS[0]] -= 12.0
        end = time.monotonic() + 30
        while "running: a.one law (12 s)" not in stream.getvalue():
            assert time.monotonic() < end
            time.sleep(0.01)
        found.step(ended(TASKS[0], 12.0), Judgement(True, ""))
    assert stream.getvalue().count("\n") == 1 and "\r\x1b[K[1/1]" in stream.getvalue()
    assert Progress([], Terminal(), {}, 1).__enter__().stream.getvalue() == ""  # type: ignore[attr-defined]
