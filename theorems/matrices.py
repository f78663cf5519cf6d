"""Matrices that claims of several papers draw their inputs from."""

from __future__ import annotations

from typing import Any

from verify.matrix import eye, inverse


def orthogonal_matrix(G: Any) -> Any:
    """The Cayley transform (I - K)(I + K)^-1 of K = G - G^T, shape that of G (n, n): orthogonal, rational where G is."""
    K, identity = G - G.T, eye(G.shape[0])
    return (identity - K) @ inverse(identity + K)
