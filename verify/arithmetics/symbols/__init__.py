"""Matrices of symbolic sizes: proofs of identities for all sizes at once.

A matrix is a sum of (coefficient) x (product of named tensors, Kronecker deltas and functions) over indices whose sizes
are symbols.  Importing this package teaches the primitives of `verify.matrix` to work on it.
"""

from verify.arithmetics.symbols import derivatives, expectation, exponential_rules, exponentials, primitives, rules
from verify.arithmetics.symbols.operand import Index, Indexed, named

__all__ = [
    "Index",
    "Indexed",
    "derivatives",
    "expectation",
    "exponential_rules",
    "exponentials",
    "named",
    "primitives",
    "rules",
]
