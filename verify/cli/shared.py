"""What several commands say in the same words."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from verify.vocabulary.errors import InputError

if TYPE_CHECKING:
    from verify.evidence.store import Rejected


def tell_rejected(rejected: Sequence[Rejected]) -> None:
    for item in rejected:
        print(f"rejected evidence: {item.path}:{item.line}: {item.reason}", file=sys.stderr)


def one_of(option: str, value: str | None, allowed: set[str]) -> None:
    if value is not None and value not in allowed:
        raise InputError(option, f"one of {sorted(allowed)}", repr(value))
