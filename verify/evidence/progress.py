"""What a run of many checks says while it goes on: how far it is, how long it still takes, what takes long."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TextIO

from verify.checks.record import Record
from verify.evidence.cluster import Task
from verify.evidence.runner import Judgement

#: Seconds after which a check that is under way is named, and after which a silent run says something where no line is rewritten.
LONG, SILENT = 3.0, 10.0
#: Seconds between two looks.
LOOK = 1.0
#: The width of a line on a terminal.
WIDTH = 118


class Progress:
    """A line that is rewritten on a terminal, and elsewhere one line per check.

    `seconds` holds what checks took before, by which the rest is estimated.  As a context it names what takes long.
    """

    def __init__(self, tasks: Sequence[Task], stream: TextIO, seconds: Mapping[Task, float], jobs: int) -> None:
        self.total, self.stream, self.jobs, self.done, self.bad = len(tasks), stream, jobs, 0, 0
        self.left, self.before = dict.fromkeys(tasks), dict(seconds)
        self.begun: dict[Task, float] = {}
        self.started = self.spoken = time.perf_counter()
        self.live = stream.isatty()
        self._took: dict[str, tuple[int, float]] = {}
        for (_, check), duration in seconds.items():
            self._count(check, duration)
        self._lock, self._ended = threading.Lock(), threading.Event()

    def __enter__(self) -> Progress:
        if self.total:
            rest = self.rest()
            told = f", {rest} by what they took before" if rest else ""
            self._say(f"{self.total} check{'s' * (self.total != 1)} to run{told}")
            threading.Thread(target=self._look, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()

    def begin(self, task: Task) -> None:
        """A check is under way."""
        with self._lock:
            self.begun[task] = time.perf_counter()

    def step(self, record: Record, judgement: Judgement) -> None:
        """A check has ended."""
        with self._lock:
            task = record.claim, record.check
            self.begun.pop(task, None)
            self.left.pop(task, None)
            self.done += 1
            self.bad += not judgement.ok
            self._count(record.check, record.duration)
            line = f"{self._so_far()}  {record.claim} {record.check} {'ok' if judgement.ok else 'FAILED'}"
            self._say(line if self.live else f"{line} ({record.duration:.2f} s)", last=self.done == self.total)

    def rest(self) -> str:
        """How long the checks that are left still take, in words; nothing where too little is known."""
        known = [self._expected(task) for task in self.left]
        if not known or None in known:
            return ""
        seconds = sum(filter(None, known)) / self.jobs
        return f"about {seconds / 60:.0f} min" if seconds >= 90 else f"about {max(1.0, seconds):.0f} s"

    def _expected(self, task: Task) -> float | None:
        """What a check takes, by what it took before, or else by what others of its kind took."""
        if task in self.before:
            return self.before[task]
        number, total = self._took.get(task[1], (0, 0.0))
        return total / number if number else None

    def _count(self, check: str, duration: float) -> None:
        number, total = self._took.get(check, (0, 0.0))
        self._took[check] = number + 1, total + duration

    def _so_far(self) -> str:
        elapsed, rest = time.perf_counter() - self.started, self.rest()
        return f"[{self.done}/{self.total}] {elapsed:5.0f} s  {self.bad} failed" + (f"  {rest} left" if rest else "")

    def _look(self) -> None:
        while not self._ended.wait(LOOK):
            self.name_long_ones()

    def name_long_ones(self) -> None:
        """Name the checks that take long, at once on a terminal, elsewhere where nothing was said for a while."""
        with self._lock:
            now = time.perf_counter()
            long = [
                f"{task[0]} {task[1]} ({now - begun:.0f} s)" for task, begun in self.begun.items() if now - begun > LONG
            ]
            if long and (self.live or now - self.spoken > SILENT):
                self._say(f"{self._so_far()}  running: {', '.join(long)}")

    def _say(self, line: str, last: bool = False) -> None:
        self.spoken = time.perf_counter()
        self.stream.write(f"\r\x1b[K{line[:WIDTH]}" + ("\n" if last else "") if self.live else f"{line}\n")
        self.stream.flush()
