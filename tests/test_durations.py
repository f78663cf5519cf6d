"""A test that takes too long fails the run, by its processor time."""

from __future__ import annotations

import pytest

from tests import durations

TESTS = """
    import time

    import pytest


    def spin(seconds):
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass


    def test_waits():
        time.sleep(0.6)


    def test_works():
        spin({seconds})


    @pytest.mark.long("it works")
    def test_works_for_a_reason():
        spin(0.3)
"""


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fifth of a second, half a one with a reason, and a processor that is as fast as it has to be."""
    monkeypatch.setattr(durations, "USUAL", 0.2)
    monkeypatch.setattr(durations, "MOST", 0.5)
    monkeypatch.setattr(durations, "slowness", lambda: 1.0)


@pytest.mark.parametrize(("seconds", "status"), [(0.0, pytest.ExitCode.OK), (0.3, pytest.ExitCode.TESTS_FAILED)])
def test_what_takes_too_long_fails_the_run_and_is_named(
    pytester: pytest.Pytester, limits: None, seconds: float, status: pytest.ExitCode
) -> None:
    pytester.makepyfile(TESTS.replace("{seconds}", str(seconds)))
    result = pytester.runpytest_inprocess("-p", "tests.durations", "--long-tests=fail")
    result.assert_outcomes(passed=3)
    named = [line for line in result.outlines if "TOO LONG" in line]
    assert result.ret == status and [line.split("::")[1] for line in named] == ["test_works"] * (status != 0)
    assert pytester.runpytest_inprocess("-p", "tests.durations").ret == pytest.ExitCode.OK


def test_a_slow_processor_has_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert durations.slowness() >= 1.0
    monkeypatch.setattr(durations, "SECONDS", durations.SECONDS / 1000)
    found = durations.Durations(fails=True)
    found.found["slow"] = 4 * durations.USUAL, durations.USUAL
    assert found.times > 100 and not found.too_long
