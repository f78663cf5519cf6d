"""What claims of several papers draw their inputs from, and matrices over all unit matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from verify.matrix import basis_vector, concatenate, each, eye, inverse


def orthogonal_matrix(G: Any) -> Any:
    """The Cayley transform (I - K)(I + K)^-1 of K = G - G^T, shape that of G (n, n): orthogonal, rational where G is."""
    K, identity = G - G.T, eye(G.shape[0])
    return (identity - K) @ inverse(identity + K)


def over_units(n: int, column_of: Callable[[Any], Any]) -> Any:
    """column_of(E_ij) for the unit matrices E_ij (n, n), side by side in row-major order."""

    def of_unit(i: int, j: int) -> Any:
        return column_of(basis_vector(n, i) @ basis_vector(n, j).T)

    return concatenate(each(n, lambda i: concatenate(each(n, lambda j: of_unit(i, j)), axis=1)), axis=1)
