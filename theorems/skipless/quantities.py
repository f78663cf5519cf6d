"""What several parts of the paper measure: the Jacobians K and A' by differentiation, and condition numbers.

A condition number may be infinite, so that claims compare its inverse, `flatness`.
"""

from __future__ import annotations

from typing import Any

from theorems.skipless.definitions import QueryWeights, Tokens, Weights, attention_matrix, self_attention
from verify.matrix import COLUMN, column, eye, maximum, singular_values, smallest_gain, spectral_norm
from verify.oracles import jacobian
from verify.vocabulary import Convention, Definition


COLUMN_MAJOR = Convention("column-major vec, numerator layout", by=COLUMN)


def input_jacobian(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """K = d vec SA(X) / d vec X by differentiation, shape (n d, n d) (Eq. (7))."""
    return jacobian(self_attention, "X", COLUMN)(X, W_Q, W_K, W_V, W_O)


def jacobian_by_products(X: Any, W: Any, P: Any) -> Any:
    """K for W = W_Q W_K^T and P = W_V W_O, shape (n d, n d)."""
    identity = 0 * W + eye(W.shape[0])
    return input_jacobian(X, W, identity, P, identity)


def initial_product(Z: Any, alpha: Any, beta: Any) -> Any:
    """W_Q W_K^T = alpha Z + beta I, shape (d, d) (Eq. (11))."""
    return Z * alpha + eye(Z.shape[0]) * beta


def attention_slope(X: Any, W_Q: Any, W_K: Any) -> Any:
    """A' = d vec A / d vec X by differentiation, shape (n^2, n d) (Eq. (10))."""
    return jacobian(attention_matrix, "X", COLUMN)(X, W_Q, W_K)


def flatness(M: Any) -> Any:
    """1 / kappa(M) = s_min / s_max, a scalar: 0 for a matrix of deficient rank."""
    values = singular_values(M)
    return values[-1] / values[0]


INVERSE = Definition(
    "kappa = s_max / s_min over the min(rows, columns) singular values, infinite for s_min = 0; compared as 1/kappa, so that"
    " infinite values take part",
    by=flatness,
)


def least(*scalars: Any) -> Any:
    """The smallest of some scalars."""
    return -maximum(-column(*scalars))


def condition(M: Any) -> Any:
    """kappa(M) = max |Mx| / min |Mx| over unit vectors x, a scalar."""
    return spectral_norm(M) / smallest_gain(M)


def minimum(x: Any) -> Any:
    """The smallest entry, a scalar."""
    return -maximum(-x)
