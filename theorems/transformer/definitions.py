"""The objects under study: attention under masks, in batches and groups of heads; rotary positions; normalisation.

Row-major vec, numerator layout.  m queries and n keys of width d_K, values of width d_V.  A mask M is 1 where a query
may attend to a key, 0 elsewhere.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.transformer.settings import Keys, Logits, Mask, Queries, Values
from verify.matrix import (
    causal_mask, centred, concatenate, eye, indexed, kron, masked_softmax, ones, rational, row_sums, sqrt,
)  # fmt: skip
from verify.vocabulary import Real, Shape, Size, subject

HeadQueries = Annotated[Any, Shape("B", "H", "m", "d_K", role="query")]
HeadKeys = Annotated[Any, Shape("B", "G", "n", "d_K")]
HeadValues = Annotated[Any, Shape("B", "G", "n", "d_V")]
Samples = Annotated[Any, Shape("B", "n", "d")]
TokenMask = Annotated[Any, Shape("n", "n", role="mask")]
Rows = Annotated[Any, Shape("n", "d")]
Angles = Annotated[Any, Shape("n", "p")]
Gain = Annotated[Any, Shape("d", role="gate")]
Shift = Annotated[Any, Shape("d")]
Epsilon = Annotated[Any, Real(2.0**-8, 2.0)]


@subject("transformer.masked_softmax")
def softmax_under_mask(T: Logits, M: Mask) -> Any:
    """P_ij = M_ij exp(T_ij) / sum_k M_ik exp(T_ik), shape (m, n)."""
    return masked_softmax(T, M)


def masked_weights(Q: Queries, K: Keys, M: Mask) -> Any:
    """P = the softmax of Q K^T / sqrt(d_K) under the mask M, shape (m, n)."""
    return softmax_under_mask(Q @ K.T / sqrt(Q.shape[1]), M)


@subject("transformer.masked_attention")
def masked_attention(Q: Queries, K: Keys, V: Values, M: Mask) -> Any:
    """F = P V, where P is the softmax of Q K^T / sqrt(d_K) under the mask M, shape (m, d_V)."""
    return masked_weights(Q, K, M) @ V


@subject("transformer.causal_attention")
def causal_attention(Q: Annotated[Any, Shape("n", "d_K", role="query")], K: Keys, V: Values) -> Any:
    """Attention in which token i attends to the tokens 1, ..., i, shape (n, d_V)."""
    return masked_attention(Q, K, V, causal_mask(Q.shape[0]))


@subject("transformer.batched_attention")
def batched_attention(Q: HeadQueries, K: HeadKeys, V: HeadValues, M: Mask) -> Any:
    """Attention of H heads in B samples, shape (B, H, m, d_V); H / G consecutive heads share one of G keys and values."""
    B, H, m, d_K = Q.shape
    G, n = K.shape[1], K.shape[2]
    T = indexed("bgric,bgjc->(b g r i)(j)", Q.reshape(B, G, -1, m, d_K), K) / sqrt(d_K)
    P = softmax_under_mask(T, kron(ones(B * H, 1), M)).reshape(B, G, -1, m, n)
    return indexed("bgrij,bgja->(b)(g r)(i)(a)", P, V)


@subject("transformer.attention_layer")
def attention_layer(
    X: Samples, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, M: TokenMask, H: Annotated[int, Size("H")],
    G: Annotated[int, Size("G")],
) -> Any:  # fmt: skip
    """Self-attention of B samples, H heads of width e = d / H in G groups, projected by W_O, shape (B, n, d).

    W_Q (d, H e), W_K (d, G e), W_V (d, G e) and W_O (H e, d) act from the right; heads and groups are consecutive parts of
    their columns, heads of the rows of W_O.
    """
    Q, K, V = (
        indexed("bid,dhe->(b)(h)(i)(e)", X, W.reshape(W.shape[0], count, -1))
        for W, count in ((W_Q, H), (W_K, G), (W_V, G))
    )
    return indexed("bhia,hao->(b)(i)(o)", batched_attention(Q, K, V, M), W_O.reshape(H, -1, W_O.shape[1]))


@subject("transformer.rotary")
def rotary(X: Rows, C: Angles, S: Angles) -> Any:
    """Pairs (X_ik, X_i,p+k) of each row turned by the angle with cosine C_ik and sine S_ik, shape (n, d), d = 2 p."""
    first, second = X[:, : C.shape[1]], X[:, C.shape[1] :]
    return concatenate([first * C - second * S, second * C + first * S], axis=1)


@subject("transformer.layer_norm")
def layer_norm(X: Rows, gamma: Gain, beta: Shift, epsilon: Epsilon) -> Any:
    """(X_i - mean) / sqrt(variance + epsilon), times gamma, plus beta, for every row, shape (n, d)."""
    return rms_norm(centred(X), gamma, epsilon) + beta.reshape(1, -1)


@subject("transformer.rms_norm")
def rms_norm(X: Rows, gamma: Gain, epsilon: Epsilon) -> Any:
    """X_i / sqrt(mean square + epsilon), times gamma, for every row, shape (n, d)."""
    return X / root_mean_squares(X, epsilon) * gamma.reshape(1, -1)


def root_mean_squares(X: Rows, epsilon: Epsilon) -> Any:
    """sqrt(mean square + epsilon) of every row, shape (n, 1)."""
    return sqrt(row_sums(X * X) * rational(1, X.shape[1]) + epsilon)


def softmax_covariances(P: Any) -> Any:
    """dP/dT = blockdiag(diag(P_i) - P_i P_i^T), shape (m n, m n)."""
    return indexed("ij,ik,jl->(i j)(k l)", P, eye(P.shape[0]), eye(P.shape[1])) - indexed(
        "ij,il,ik->(i j)(k l)", P, P, eye(P.shape[0])
    )


def logit_curvature(P: Any, V: Values) -> Any:
    """d^2F_ia / dT_ij dT_il, shape (m, d_V, n, n): zero unless both logits belong to query i."""
    deviations = indexed("ij,ja->(i)(a)(j)", P, V) - indexed("ij,ik,ka->(i)(a)(j)", P, P, V)  # P_ij (V_ja - F_ia)
    mixed = indexed("iaj,il->(i)(a)(j)(l)", deviations, P)
    return indexed("iaj,jl->(i)(a)(j)(l)", deviations, eye(V.shape[0])) - mixed - indexed("iajl->(i)(a)(l)(j)", mixed)
