"""Matrices of symbolic sizes: proofs of identities for all sizes at once.

A matrix is a sum of (coefficient) x (product of named tensors, Kronecker deltas and functions) over indices whose sizes
are symbols.  Importing this package teaches the primitives of `verify.matrix` to work on it.
"""

from verify.arithmetics.symbols import (  # noqa: F401  (gives the primitives their forms)
    exponential_sums,
    indexed_forms,
    iteration_forms,
    jacobians,
    matrix_exponential_rules,
    pairings,
    positions,
    product_rules,
    ragged,
    recurrences,
)
from verify.arithmetics.symbols.indexed import Indexed, named
from verify.arithmetics.symbols.summation import SummationIndex

__all__ = ["Indexed", "SummationIndex", "named"]
