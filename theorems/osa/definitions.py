"""The objects under study: the skew matrix S, the attention matrix exp(S), the layer, reduced bases, Newton-Schulz.

Column-major vec (Theorem C.1).  N tokens of dimension d, head dimension d_v = d / h for h heads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import flint

from theorems.shared.matrices import orthogonal_matrix
from theorems.osa.shapes import Alpha, Key, Output, Query, SkewMatrix, Tokens, Value
from verify.arithmetics import Kind, is_tensor, kind_of
from verify.matrix import concatenate, expm, eye, frobenius_norm, iterated, rational, singular_values, sqrt, total
from verify.vocabulary import ArithmeticUnsupported, subject


def whole_heads(sizes: Mapping[str, int]) -> bool:
    """Whether d_v = d / h for a whole number h of heads (text below Eq. (4))."""
    return sizes["d"] % sizes["d_v"] == 0


# -- the layer ---------------------------------------------------------------------------------------------------------


@subject("osa.matrix_exponential")
def matrix_exponential(S: SkewMatrix) -> Any:
    """exp(S), shape (N, N) (Eq. (5))."""
    return expm(S)


@subject("osa.skew_matrix")
def skew_matrix(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha) -> Any:
    """S = alpha / sqrt(d_v) (Q K^T - K Q^T) with Q = X W_Q, K = X W_K, shape (N, N) (Eq. (5))."""
    Q, K = X @ W_Q * (alpha / sqrt(W_Q.shape[1])), X @ W_K
    return Q @ K.T - K @ Q.T


def dot_products(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha) -> Any:
    """alpha / sqrt(d_v) Q K^T, shape (N, N): half of S, and the scores of softmax attention."""
    return X @ W_Q @ (X @ W_K).T * (alpha / sqrt(W_Q.shape[1]))


@subject("osa.attention_matrix")
def attention_matrix(X: Tokens, W_Q: Query, W_K: Key, alpha: Alpha) -> Any:
    """A = exp(S), shape (N, N) (Eq. (5))."""
    return matrix_exponential(skew_matrix(X, W_Q, W_K, alpha))


@subject("osa.attention")
def attention(X: Tokens, W_Q: Query, W_K: Key, W_V: Value, W_O: Output, alpha: Alpha) -> Any:
    """OSA(X) = A X W_V W_O, shape (N, d) (Eq. (5))."""
    return attention_matrix(X, W_Q, W_K, alpha) @ X @ W_V @ W_O


def queries_and_keys(X: Tokens, W_Q: Query, W_K: Key) -> Any:
    """M = [Q, K] = [X W_Q, X W_K], shape (N, 2 d_v) (Section 2.3)."""
    return concatenate([X @ W_Q, X @ W_K], axis=1)


def query_key_generator(W_Q: Query, W_K: Key) -> Any:
    """W~ = W_Q W_K^T - W_K W_Q^T, shape (d, d): S = alpha / sqrt(d_v) X W~ X^T (Appendix C.2)."""
    return W_Q @ W_K.T - W_K @ W_Q.T


# -- reduced bases -----------------------------------------------------------------------------------------------------


def exponential_minus_identity(A: Any) -> Any:
    """exp(A) - I, shape (n, n), read off exp [[A, A], [0, 0]] so that small A lose no digits to cancellation."""
    n = A.shape[0]
    upper, lower = concatenate([A, A], axis=1), concatenate([A * 0, A * 0], axis=1)
    return expm(concatenate([upper, lower], axis=0))[:n, n:]


@subject("osa.newton_schulz_iterate")
def newton_schulz_iterate(M: Any, steps: int) -> Any:
    """M_K after K = `steps` steps M_{k+1} = M_k (3 I - M_k^T M_k) / 2 from M_0 = M, shape that of M (Eq. (9))."""
    return iterated(steps, lambda M: M @ (3 * eye(M.shape[1]) - M.T @ M) * rational(1, 2), M)


@subject("osa.newton_schulz_basis")
def newton_schulz_basis(M: Any, steps: int, epsilon: Any) -> Any:
    """The iterate M_K from M_0 = M / (||M||_F + epsilon), whose singular values are below 1; shape that of M (Section 2.3)."""
    return newton_schulz_iterate(M / (frobenius_norm(M) + epsilon), steps)


# -- matrices with known structure, from free parameters ---------------------------------------------------------------


def orthonormal_columns(G: Any, r: int) -> Any:
    """The first r columns of the Cayley transform of G, shape (n, r) for G of shape (n, n)."""
    return orthogonal_matrix(G)[:, :r]


def within_unit_ball(F: Any) -> Any:
    """2 F / (1 + ||F||_F^2), of norm at most 1 as a basis from Newton-Schulz is, shape that of F: rational where F is."""
    return F * 2 / (1 + total(F * F))


def rank(A: Any) -> Any:
    """The rank of A (m, n): exact for rationals, certified or refused for balls, numerical (LAPACK's convention) for floats."""
    if is_tensor(A):
        import torch

        values = singular_values(A)
        return (values > max(A.shape) * torch.finfo(A.dtype).eps * values.max()).sum().to(A.dtype)
    if kind_of(A) is Kind.EXACT:
        return flint.fmpq_mat([[flint.fmpq(entry) for entry in row] for row in A]).rank()
    if all(entry == 0 for entry in A.flat):
        return 0
    values = singular_values(A)
    if not all(value > 0 or value == 0 for value in values):
        raise ArithmeticUnsupported("balls cannot tell a singular value from zero, so they do not determine the rank")
    return sum(1 for value in values if value > 0)
