"""The initialised layer of Appendix C: orthonormal weights, and J = J_1 + J_2 of Theorem C.1 there.

Throughout W^V = U, W^O = V^T with U, V in V_{d_v}(R^d), and [W^Q, W^K] in V_{2 d_v}(R^d), 2 d_v <= d.  Every bound is
proved for all such weights, so their laws do not matter.
"""

from __future__ import annotations

from typing import Any

from theorems.osa import OSA
from theorems.osa.definitions import attention_matrix, orthonormal_columns
from theorems.osa.settings import (
    ORTHONORMAL_OUTPUTS,
    ORTHONORMAL_QUERIES_AND_KEYS,
    ORTHONORMAL_VALUES,
    newton_schulz_attention_matrix,
    orthonormal_queries_and_keys,
    two_heads,
)
from theorems.osa.shapes import Alpha, Decay, Epsilon, Frame, HeadSize, Share, Steps, Tokens
from verify.claims import Setting
from verify.derivatives import jacobian
from verify.matrix import (
    COLUMN,
    absolute,
    exp,
    eye,
    frobenius_norm,
    kron,
    maximum,
    rational,
    singular_values,
    spectral_norm,
    sqrt,
)

ORTHONORMAL_WEIGHTS = [ORTHONORMAL_QUERIES_AND_KEYS, ORTHONORMAL_VALUES, ORTHONORMAL_OUTPUTS]
NEWTON_SCHULZ = (
    "A = I + B (exp[S] - I) B^T with B from K Newton-Schulz steps on M / (||M||_F + eps), M = [X W^Q, X W^K]"
)
THE_CONSTANT = (
    "C = (2 + 4 sqrt 2) R^2 / sqrt(d_v) for ||X||_2 <= R: it depends on d_v and R alone, not on N, d, eps, K or the weights;"
    " alpha >= 0, or |alpha| in its place"
)


def small(sizes: Any) -> bool:
    """Sizes with 2 d_v <= d at which the N d singular values of J are enclosed quickly."""
    return two_heads(sizes) and sizes["N"] * sizes["d"] <= 8


def orthonormal_weights(pair: Any, left: Any, right: Any, d_v: int) -> dict[str, Any]:
    """Orthonormal weights from three free (d, d) matrices."""
    V, O = orthonormal_columns(left, d_v), orthonormal_columns(right, d_v).T
    return {**orthonormal_queries_and_keys(pair, d_v), "W_V": V, "W_O": O}


def initialised(
    X: Tokens,
    pair: Frame,
    left: Frame,
    right: Frame,
    alpha: Alpha,
    decay: Decay,
    epsilon: Epsilon,
    K: Steps,
    d_v: HeadSize,
) -> Any:
    """Tokens and initialised weights, alpha of either sign and of all sizes up to 2."""
    return {
        "X": X,
        **orthonormal_weights(pair, left, right, d_v),
        "alpha": alpha * exp(-decay),
        "epsilon": epsilon,
        "K": K,
    }


#: Weights, alpha and basis as initialised.  For N = 1 the skew matrix S vanishes, A = 1 and J_1 = 0.
AT_INITIALISATION = Setting(
    OSA, "Appendix C.3", sizes={"N": (2, 3), "d": (2, 4), "d_v": (1, 2), "K": (0, 3)}, where=small, inputs=initialised
)
INITIALISED = AT_INITIALISATION.extended(assumptions=ORTHONORMAL_WEIGHTS)


def initialised_with_small_alpha(
    X: Tokens, pair: Frame, left: Frame, right: Frame, share: Share, epsilon: Epsilon, K: Steps, d_v: HeadSize
) -> Any:
    """Tokens and initialised weights, alpha > 0 with C alpha < share <= 1, so that C alpha < 1 whatever is drawn."""
    # 2 + 4 sqrt 2 < 8
    alpha = share * (sqrt(d_v) / 8) / (squared(frobenius_norm(X)) + rational(1, 256))
    return {"X": X, **orthonormal_weights(pair, left, right, d_v), "alpha": alpha, "epsilon": epsilon, "K": K}


def initialised_with_moderate_alpha(
    X: Tokens, pair: Frame, left: Frame, right: Frame, share: Share, epsilon: Epsilon, K: Steps, d_v: HeadSize
) -> Any:
    """Tokens and initialised weights, alpha > 0 up to where J_1 takes up the margin 1 - delta - ||J_1||_2, and beyond."""
    alpha = share * (sqrt(d_v) / 2) / (squared(frobenius_norm(X)) + rational(1, 256))
    return {"X": X, **orthonormal_weights(pair, left, right, d_v), "alpha": alpha, "epsilon": epsilon, "K": K}


def squared(x: Any) -> Any:
    return x * x


def attention_at(X: Any, W_Q: Any, W_K: Any, alpha: Any, epsilon: Any, K: int | None) -> Any:
    """The attention matrix: from K Newton-Schulz steps, or exp(S), which any QR basis gives, for K = None."""
    if K is None:
        return attention_matrix(X, W_Q, W_K, alpha)
    return newton_schulz_attention_matrix(X, W_Q, W_K, alpha, epsilon, K)


def first_jacobian_term(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any = None, K: int | None = None
) -> Any:
    """J_1 = (X W_V W_O (x) I_N)^T dvec A / dvec X, shape (N d, N d)."""
    dA = jacobian(lambda X: attention_at(X, W_Q, W_K, alpha, epsilon, K), "X", COLUMN)(X)
    return kron(X @ W_V @ W_O, eye(X.shape[0])).T @ dA


def second_jacobian_term(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any = None, K: int | None = None
) -> Any:
    """J_2 = (W_V W_O)^T (x) A, shape (N d, N d)."""
    return kron((W_V @ W_O).T, attention_at(X, W_Q, W_K, alpha, epsilon, K))


def layer_jacobian(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any, epsilon: Any = None, K: int | None = None
) -> Any:
    """J, shape (N d, N d), column-major, by differentiation of the layer."""
    return jacobian(lambda X: attention_at(X, W_Q, W_K, alpha, epsilon, K) @ X @ W_V @ W_O, "X", COLUMN)(X)


def largest_deviation_from_one(values: Any) -> Any:
    """max_i |sigma_i - 1|."""
    return maximum(absolute(values - 1))


def delta_of(X: Any, W_Q: Any, W_K: Any, alpha: Any, epsilon: Any, K: int) -> Any:
    """delta = max_i |sigma_i(A) - 1|, the smallest that Theorem C.4 allows."""
    return largest_deviation_from_one(singular_values(newton_schulz_attention_matrix(X, W_Q, W_K, alpha, epsilon, K)))


def unit_of_bounds(X: Any, W_V: Any, alpha: Any) -> Any:
    """||X||_2^2 alpha / sqrt(d_v), at least ||S||_2 for orthonormal [W_Q, W_K]."""
    return squared(spectral_norm(X)) * alpha * (1 / sqrt(W_V.shape[1]))


def linear_bound(X: Any, W_V: Any, alpha: Any) -> Any:
    """C alpha with R = ||X||_2: (2 + 4 sqrt 2) ||X||_2^2 alpha / sqrt(d_v)."""
    unit = unit_of_bounds(X, W_V, alpha)
    return unit * 2 + unit * sqrt(32)


def condition_excess(t: Any) -> Any:
    """(1 + t) / (1 - t) - 1 = 2 t / (1 - t), without cancellation for small t."""
    return 2 * t / (1 - t)
