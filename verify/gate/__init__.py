"""Other people's implementations under our theorems: a definition is replaced, and what holds is checked of it."""

from verify.gate.catalogue import SubjectCard, subjects
from verify.gate.checking import check
from verify.gate.findings import Finding, SubjectReport
from verify.gate.parametrize import parametrize_with_theorems
from verify.gate.subject_errors import SubjectFailure

__all__ = [
    "Finding",
    "SubjectCard",
    "SubjectFailure",
    "SubjectReport",
    "check",
    "parametrize_with_theorems",
    "subjects",
]
