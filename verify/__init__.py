"""The engine that draws inputs, evaluates claims in several arithmetics, compares, and records evidence.

For those who bring an implementation of their own: `check`, `subjects` and `parametrize_with_theorems`.
For those who read a report: `replay` and `at_inputs` evaluate both sides of a claim again.
"""

from verify.evidence.replay import at_inputs, replay
from verify.gate import SubjectFailure, SubjectReport, check, parametrize_with_theorems, subjects

__all__ = [
    "SubjectFailure",
    "SubjectReport",
    "at_inputs",
    "check",
    "parametrize_with_theorems",
    "replay",
    "subjects",
]
