"""What a check found when it was run again, beside the evidence that was kept of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from verify.checks.record import Record

#: Relative to each other, how far numbers may be apart that depend on how a processor rounds.
CLOSE = 1e-3
#: What has to be the same whatever was drawn, and what where the draws are the same.
ALWAYS = ("arithmetic", "outcome", "surviving")
SAME_DRAWS = ("examples", "satisfied", "undefined", "domains")


def differences(kept: Record, again: Record) -> Iterator[str]:
    """Where two records of one check about the same code differ, in words: the outcome, the mutants, what was drawn, how tight.

    Of draws at another effort or seed nothing is compared but the outcome and the mutants.
    """
    same_draws = (kept.effort, kept.seed) == (again.effort, again.seed)
    for name in (*ALWAYS, *SAME_DRAWS) if same_draws else ALWAYS:
        before, now = getattr(kept, name), getattr(again, name)
        if before != now:
            yield f"{name}: kept {_short(before)}, now {_short(now)}"
    before, now = kept.tightest_ratio, again.tightest_ratio
    if same_draws and not _close(before, now):
        yield f"tightest ratio: kept {before}, now {now}"


def _short(value: Any) -> str:
    return f"{value!r:.200}"


def _close(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=CLOSE)
