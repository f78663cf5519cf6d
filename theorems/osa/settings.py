"""What sections of the paper assume: shapes, assumptions, and the settings that claims of several parts name."""

from __future__ import annotations

from typing import Any

from theorems.osa.definitions import (
    newton_schulz_basis,
    orthonormal_columns,
    queries_and_keys,
    skew_matrix,
    whole_heads,
)
from theorems.osa.shapes import Alpha, Epsilon, KeyWeights, QueryWeights, Steps, Tokens
from verify.claims import Assumption
from verify.matrix import concatenate, expm, eye
from verify.subjects import subject

ORTHONORMAL = Assumption("the columns of B are orthonormal", zero=lambda B: B.T @ B - eye(B.shape[1]))


def _outside(X: Any, W_Q: Any, W_K: Any, B: Any) -> Any:
    """The part of [Q, K] outside the span of B, shape (N, 2 d_v)."""
    M = queries_and_keys(X, W_Q, W_K)
    return M - B @ (B.T @ M)


CONTAINS_QUERIES_AND_KEYS = Assumption("the columns of B span a space that contains those of Q and K", zero=_outside)


def with_basis(frame: Any, C: Any, W_Q: Any, W_K: Any, alpha: Any) -> dict[str, Any]:
    """Tokens X = B C inside the span of an exactly orthonormal B (N, r), so that Q and K lie in it too."""
    B = orthonormal_columns(frame, C.shape[0])
    return {"X": B @ C, "W_Q": W_Q, "W_K": W_K, "alpha": alpha, "B": B}


@subject("osa.newton_schulz_attention_matrix")
def newton_schulz_attention_matrix(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, alpha: Alpha, epsilon: Epsilon, K: Steps
) -> Any:
    """A = I_N + B (exp[S] - I_{2 d_v}) B^T, shape (N, N), for B from K Newton-Schulz steps on [Q, K] (Sections 2.1, 2.3)."""
    B = newton_schulz_basis(queries_and_keys(X, W_Q, W_K), K, epsilon)
    S = B.T @ skew_matrix(X, W_Q, W_K, alpha) @ B
    return eye(B.shape[0]) + B @ (expm(S) - eye(B.shape[1])) @ B.T


def gram_defect(W: Any) -> Any:
    """W^T W - I, shape (n, n) for W (m, n): zero exactly if the columns of W are orthonormal."""
    return W.T @ W - eye(W.shape[1])


ORTHONORMAL_QUERIES_AND_KEYS = Assumption(
    "[W^Q, W^K] in V_{2 d_v}(R^d), uniform, 2 d_v <= d",
    zero=lambda W_Q, W_K: gram_defect(concatenate([W_Q, W_K], axis=1)),
)
ORTHONORMAL_VALUES = Assumption("W^V = U in V_{d_v}(R^d), uniform", zero=lambda W_V: W_V.T @ W_V - eye(W_V.shape[1]))
ORTHONORMAL_OUTPUTS = Assumption(
    "(W^O)^T = V in V_{d_v}(R^d), uniform", zero=lambda W_O: W_O @ W_O.T - eye(W_O.shape[0])
)


def two_heads(sizes: Any) -> bool:
    """Whether d_v = d / h for h > 1, so that 2 d_v <= d (Appendix C.2)."""
    return whole_heads(sizes) and 2 * sizes["d_v"] <= sizes["d"]
