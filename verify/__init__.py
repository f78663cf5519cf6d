"""The engine that draws inputs, evaluates claims in several arithmetics, compares, and records evidence.

For those who bring an implementation of their own: `check`, `subjects` and `parametrize_with_theorems`.
For those who read a report: `replay` and `at_inputs` evaluate both sides of a claim again.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verify.evidence.replay import at_inputs, replay
    from verify.gate import SubjectFailure, SubjectReport, check, parametrize_with_theorems, subjects

__all__ = ["SubjectFailure", "SubjectReport", "at_inputs", "check", "parametrize_with_theorems", "replay", "subjects"]


def __getattr__(name: str) -> Any:
    """What this package offers, imported when it is first asked for: those who want one module need not load them all."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "verify.evidence.replay" if name in ("at_inputs", "replay") else "verify.gate"
    return getattr(importlib.import_module(home), name)
