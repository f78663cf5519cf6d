"""Which comparisons right implementations meet: at effort deep all of them, else a part that is always the same.

What costs most of a comparison is what the definition gives at its points.  So an implementation meets the definition at
small inputs and every theorem, and of the other comparisons those of its number in a list: a list of four meets them all.
"""

from __future__ import annotations

from typing import Any

import pytest

import verify
from tests.efforts import is_deep
from verify.gate.checking import gate
from verify.gate.findings import (
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


def is_met(check: str, number: int) -> bool:
    """Whether the implementation of this number in its list meets a check, below effort deep."""
    return check not in COMPARISONS or check in (DEFINITION, LAW, *GROUPS[number % len(GROUPS)])


def reported(number: int, config: pytest.Config, subject: str, implementation: Any, **options: Any) -> SubjectReport:
    """The report of `verify.check` at effort deep; else one of the checks that are met, wrong values alone made small."""
    if is_deep(config):
        return verify.check(subject, implementation, **options)
    made = gate(subject, implementation, **options)
    report = SubjectReport(subject, made.title)
    for check, dtype in made.checks:
        if is_met(check, number):
            briefly = bool(report.with_status(BROKEN))
            report.findings.append(made.run(check, dtype, briefly, shrinking=check == DEFINITION))
    for finding in report.with_status(BROKEN)[:1]:
        report.causes = made.causes_of(finding)
    return report
