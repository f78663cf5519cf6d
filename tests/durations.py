"""The processor time of every test: which took longest, and which take too long.

Wall time says little on a machine that others use.  The limits are for the processor that the tests were last measured on;
a slower one has more time, by a fixed piece of work that is timed before the tests and after them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from typing import Any

import pytest

from tests import loaded

#: Processor seconds that a test may take, and that one may which says why: `@pytest.mark.long("reason")`.
USUAL, MOST = 5.0, 10.0
#: How many of the longest are listed.
LISTED = 10
#: The piece of work, and how many seconds it takes where the tests were measured.
WORK, SECONDS = 400_000, 0.03
NAME = "processor seconds"


def pytest_addoption(parser: pytest.Parser) -> None:
    told = (
        f"list the longest tests; fail if one takes over {USUAL:g} s of processor time, or over {MOST:g} with a reason"
    )
    parser.getgroup("terminal reporting").addoption("--long-tests", choices=("list", "fail"), help=told)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"long(reason): takes more than {USUAL:g} s of processor time")
    if wanted := config.getoption("--long-tests"):
        config.pluginmanager.register(Durations(fails=wanted == "fail"), "durations")


def slowness() -> float:
    """How many times longer than where the tests were measured this processor takes, at least one."""
    found = []
    for _ in range(5):
        start = time.process_time()
        sum(k * k for k in range(WORK))
        found.append(time.process_time() - start)
    return max(1.0, min(found) / SECONDS)


def processor_seconds() -> float:
    """What this process, those that it started and saw end, and forks of the loaded process have used."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system + loaded.processor_seconds()


def limit_of(item: pytest.Item) -> float:
    """How many seconds a test may take."""
    marker = item.get_closest_marker("long")
    return MOST if item.get_closest_marker("theorem") or (marker and marker.args) else USUAL


class Durations:
    """The seconds and the limit of each test; workers of pytest-xdist send theirs with their reports."""

    def __init__(self, fails: bool) -> None:
        self.fails = fails
        self.found: dict[str, tuple[float, float]] = {}
        self.times = slowness()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        start = processor_seconds()
        try:
            return (yield)
        finally:
            item.user_properties.append((NAME, f"{processor_seconds() - start:.2f} of {limit_of(item):g}"))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == NAME and report.when == "call":
                seconds, _, limit = str(value).partition(" of ")
                self.found[report.nodeid] = float(seconds), float(limit)

    @property
    def too_long(self) -> set[str]:
        """Tests above their limits."""
        return {name for name, (seconds, limit) in self.found.items() if seconds > limit * self.times}

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.times = max(self.times, slowness())
        if self.fails and self.too_long and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.section("processor time")
        wrong = self.too_long
        for name, (seconds, limit) in sorted(self.found.items(), key=lambda pair: -pair[1][0])[:LISTED]:
            mark = f"TOO LONG, over {limit * self.times:.1f} s  " if name in wrong else ""
            terminalreporter.line(f"{seconds:6.1f} s  {mark}{name}", red=bool(mark))
