"""Which comparisons right implementations meet: at effort deep all of them, else a part that is always the same.

What costs most of a comparison is what the definition gives at its points, and there are dozens of theorems about one
subject.  So an implementation meets the definition at small inputs, and of the other comparisons and of the theorems those
of its number in a list: a list of four meets them all.  One attention layer meets everything (`tests/test_gate.py`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterator, Sequence
from typing import Any

import pytest

import verify
from tests.efforts import is_deep
from verify.gate.checking import Gate, gate
from verify.gate.findings import (
    BIAS,
    BROKEN,
    COMPARISONS,
    DEFINITION,
    FIRST,
    FORWARD,
    LAW,
    LONG,
    SECOND,
    SIZES,
    SubjectReport,
)

#: What is dealt in turns.
GROUPS = ((FIRST,), (SECOND, FORWARD), (SIZES,), (LONG,))


#: Of so many theorems an implementation meets one.
TURNS = 4


def part(checks: Sequence[tuple[str, str]], number: int, named: Container[str] = ()) -> list[tuple[str, str]]:
    """Of the checks of a gate those that the implementation of this number meets below effort deep, and those that are `named`."""
    theorems = list(dict.fromkeys(check for check, _ in checks if check not in (DEFINITION, *COMPARISONS)))
    first = number % max(1, min(TURNS, len(theorems)))
    mine = {DEFINITION, LAW, BIAS, *GROUPS[number % len(GROUPS)], *theorems[first::TURNS]}
    return [(check, dtype) for check, dtype in checks if check in mine or check in named]


@contextlib.contextmanager
def in_part(number: int, config: pytest.Config, named: Container[str] = ()) -> Iterator[None]:
    """Inside the block every gate has no other checks than its part, unless everything is asked for."""
    every = Gate.checks.fget  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:
        if not is_deep(config):
            patch.setattr(Gate, "checks", property(lambda made: part(every(made), number, named)))
        yield


def reported(
    number: int, config: pytest.Config, subject: str, implementation: Any, *, named: Container[str] = (), **options: Any
) -> SubjectReport:
    """The report of `verify.check` at effort deep; else one of the checks that are met, wrong values alone made small."""
    if is_deep(config):
        return verify.check(subject, implementation, **options)
    made = gate(subject, implementation, **options)
    report = SubjectReport(subject, made.title)
    for check, dtype in part(made.checks, number, named):
        briefly = bool(report.with_status(BROKEN))
        report.findings.append(made.run(check, dtype, briefly, shrinking=check == DEFINITION))
    for finding in report.with_status(BROKEN)[:1]:
        report.causes = made.causes_of(finding)
    return report
