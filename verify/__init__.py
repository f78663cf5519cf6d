"""The engine that draws inputs, evaluates claims in several arithmetics, compares, and records evidence.

For those who bring an implementation of their own: `check`, `subjects` and `parametrize_with_theorems`.
"""

# The gate imports the module `verify.subjects`; after that the name `subjects` of this package can be the function.
from verify.gate import SubjectFailure, SubjectReport, check, parametrize_with_theorems, subjects

__all__ = ["SubjectFailure", "SubjectReport", "check", "parametrize_with_theorems", "subjects"]
