"""Norms of matrices of symbolic sizes: proofs of bounds for all inputs and sizes at once.

A matrix is an expression; a norm of it is a quantity, and is bounded by rules, each with a name.  Importing this package
teaches the primitives of `verify.matrix` to work on such operands within `derivation`.
"""

from verify.arithmetics.norms import (  # noqa: F401  (gives the primitives their forms)
    bounded_forms,
    diagonals,
    differentials,
    gaps,
    gram_matrices,
    kept_lengths,
    moments,
    singular_polynomials,
    smallest,
)
from verify.arithmetics.norms.bounded import Bounded, input_matrix
from verify.arithmetics.norms.world import derivation, world

__all__ = ["Bounded", "derivation", "input_matrix", "world"]
