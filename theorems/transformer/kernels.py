"""The objects under study, continued: what kernels of attention have besides a mask.

Queries that may attend to no key; causal masks of unequal numbers of queries and keys, windows, packed sequences, a cache;
a bias of the logits, logits that are capped, and a sink, one more term in the sum of the softmax.  Letters are those of
`theorems.transformer.definitions`.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from theorems.transformer.definitions import HeadKeys, HeadQueries, HeadValues, masked_attention, softmax_under_mask
from theorems.transformer.settings import Keys, Logits, Mask, Queries, Values
from verify.arithmetics import Constant
from verify.matrix import concatenate, indexed, kron, masked_softmax, not_later, ones, rational, row_sums, sqrt, step
from verify.vocabulary import Real, Shape, Size, subject

TokenQueries = Annotated[Any, Shape("n", "d_K", role="query")]
NewKeys = Annotated[Any, Shape("m", "d_K")]
NewValues = Annotated[Any, Shape("m", "d_V")]
CachedKeys = Annotated[Any, Shape("p", "d_K")]
CachedValues = Annotated[Any, Shape("p", "d_V")]
Starts = Annotated[Any, Shape("n", role="mask")]
Window = Annotated[int, Size("w")]
Before = Annotated[int, Size("a")]
After = Annotated[int, Size("b")]
Bias = Annotated[Any, Shape("m", "n")]
Scale = Annotated[Any, Real(-2.0, 2.0)]
HeadBias = Annotated[Any, Shape("H", "m", "n")]
SampleMask = Annotated[Any, Shape("B", "m", "n", role="mask")]
Sinks = Annotated[Any, Shape("H")]
TokenHeadQueries = Annotated[Any, Shape("B", "H", "n", "d_K", role="query")]
TokenHeadKeys = Annotated[Any, Shape("B", "H", "n", "d_K")]
TokenHeadValues = Annotated[Any, Shape("B", "H", "n", "d_V")]
RowSinks = Annotated[Any, Shape("m", "1")]
Cap = Annotated[Any, Real(0.5, 4.0)]

# -- queries that may attend to no key ---------------------------------------------------------------------------------


def with_some_key(M: Mask) -> Any:
    """1 where a query may attend to some key, 0 where to none, shape (m, 1)."""
    return step(row_sums(M))


def all_keys_for_none(M: Mask) -> Any:
    """The mask M with ones in the rows that have none, shape (m, n)."""
    return M + (1 - with_some_key(M)) * ones(1, M.shape[1])


def in_numbers(M: Any, like: Any) -> Any:
    """The mask M with entries of the arithmetic of `like`, which has its shape or extends to it: M may be boolean."""
    return M + like * 0


def softmax_or_zero(T: Logits, M: Mask) -> Any:
    """The softmax of T under the mask M, and a row of zeros where M has one, shape (m, n)."""
    M = in_numbers(M, T)
    return softmax_under_mask(T, all_keys_for_none(M)) * with_some_key(M)


def softmax_or_uniform(T: Logits, M: Mask) -> Any:
    """The softmax of T under the mask M, and weights 1/n where M has a row of zeros, shape (m, n)."""
    return softmax_or_zero(T, M) + (1 - with_some_key(in_numbers(M, T))) * ones(1, T.shape[1]) * rational(1, T.shape[1])


@subject("transformer.fully_masked_zero")
def attention_or_zero(Q: Queries, K: Keys, V: Values, M: Mask) -> Any:
    """Attention under a mask, and zeros for a query that may attend to no key, shape (m, d_V)."""
    return softmax_or_zero(Q @ K.T / sqrt(Q.shape[1]), M) @ V


@subject("transformer.fully_masked_uniform")
def attention_or_mean(Q: Queries, K: Keys, V: Values, M: Mask) -> Any:
    """Attention under a mask, and the mean of all values for a query that may attend to no key, shape (m, d_V)."""
    return softmax_or_uniform(Q @ K.T / sqrt(Q.shape[1]), M) @ V


@subject("transformer.fully_masked_undefined")
def attention_where_defined(Q: Queries, K: Keys, V: Values, M: Mask) -> Any:
    """Attention under a mask; rows of queries that may attend to no key are not read, and 0 here, shape (m, d_V)."""
    return attention_or_zero(Q, K, V, M)


# -- masks that follow from positions ----------------------------------------------------------------------------------


def mask_from_the_first(m: int, n: int) -> Any:
    """1 where key j is not later than query i, both counted from the first, 0 elsewhere, shape (m, n)."""
    return not_later(m, n)


def mask_to_the_last(m: int, n: int) -> Any:
    """1 where key j is not later than query i, the last of both being the same token, 0 elsewhere, shape (m, n)."""
    return not_later(m, n, n - m)


@subject("transformer.causal_from_the_first")
def causal_from_the_first(Q: Queries, K: Keys, V: Values) -> Any:
    """Attention of m queries to n keys in which query i attends to the keys 1, ..., i, shape (m, d_V).

    The first query and the first key are the same token: the mask is aligned to the upper left.
    """
    return masked_attention(Q, K, V, mask_from_the_first(Q.shape[0], K.shape[0]))


@subject("transformer.causal_to_the_last")
def causal_to_the_last(Q: Queries, K: Keys, V: Values) -> Any:
    """Attention of m queries to n >= m keys in which query i attends to the keys 1, ..., n - m + i, shape (m, d_V).

    The last query and the last key are the same token: the mask is aligned to the lower right.
    """
    return masked_attention(Q, K, V, mask_to_the_last(Q.shape[0], K.shape[0]))


@subject("transformer.cached_attention")
def cached_attention(Q: Queries, K: NewKeys, V: NewValues, C: CachedKeys, D: CachedValues) -> Any:
    """Causal attention of m new tokens after p cached ones with the keys C and the values D, shape (m, d_V)."""
    return causal_to_the_last(Q, concatenate([C, K], axis=0), concatenate([D, V], axis=0))


def window_mask(n: int, w: int) -> Any:
    """1 where the key is one of the last w up to the query, 0 elsewhere, shape (n, n)."""
    return not_later(n, n) - not_later(n, n, -w)


@subject("transformer.window_attention")
def window_attention(Q: TokenQueries, K: Keys, V: Values, w: Window) -> Any:
    """Causal attention in which token i attends to the last w tokens, i - w + 1, ..., i, shape (n, d_V)."""
    return masked_attention(Q, K, V, window_mask(Q.shape[0], w))


def mask_of_two_sides(n: int, a: int, b: int) -> Any:
    """1 where the key is at most a tokens before the query and at most b after it, 0 elsewhere, shape (n, n)."""
    return not_later(n, n, b) - not_later(n, n, -a - 1)


@subject("transformer.window_both_ways")
def window_both_ways(Q: TokenQueries, K: Keys, V: Values, a: Before, b: After) -> Any:
    """Attention in which token i attends to the tokens i - a, ..., i + b, or to those that there are, shape (n, d_V)."""
    return masked_attention(Q, K, V, mask_of_two_sides(Q.shape[0], a, b))


def of_one_sequence(E: Starts, like: Any) -> Any:
    """1 where query and key belong to the same of several sequences, 0 elsewhere, shape (n, n).

    `like`, of shape (n, 1), has the arithmetic: E may be boolean.
    """
    n = E.shape[0]
    number = not_later(n, n) @ in_numbers(E.reshape(-1, 1), like)  # that of the sequence
    apart = number - number.T
    return 1 - step(apart * apart)


def mask_of_packed(E: Starts, like: Any) -> Any:
    """1 where the key is not later than the query and no sequence begins between them, 0 elsewhere, shape (n, n).

    `like`, of shape (n, 1), has the arithmetic: E may be boolean.
    """
    return of_one_sequence(E, like) * not_later(E.shape[0], E.shape[0])


@subject("transformer.packed_attention")
def packed_attention(Q: TokenQueries, K: Keys, V: Values, E: Starts) -> Any:
    """Causal attention in each of several sequences, one after the other, shape (n, d_V).

    E is 1 where a sequence begins, 0 elsewhere; the first token always begins one.
    """
    return masked_attention(Q, K, V, mask_of_packed(E, Q[:, :1]))


@subject("transformer.packed_both_ways")
def packed_both_ways(Q: TokenQueries, K: Keys, V: Values, E: Starts) -> Any:
    """Attention of every token to all tokens of its sequence, several sequences one after the other, shape (n, d_V).

    E is 1 where a sequence begins, 0 elsewhere; the first token always begins one.
    """
    return masked_attention(Q, K, V, of_one_sequence(E, Q[:, :1]))


# -- biases, caps, sinks -----------------------------------------------------------------------------------------------


def biased_weights(Q: Queries, K: Keys, B: Bias, M: Mask, s: Scale) -> Any:
    """P = the softmax of s Q K^T + B under the mask M, shape (m, n)."""
    return softmax_under_mask(Q @ K.T * s + B, M)


@subject("transformer.biased_attention")
def biased_attention(Q: Queries, K: Keys, V: Values, B: Bias, M: Mask, s: Scale) -> Any:
    """F = P V, where P is the softmax of s Q K^T + B under the mask M, shape (m, d_V)."""
    return biased_weights(Q, K, B, M, s) @ V


@subject("transformer.biased_heads")
def biased_heads(Q: HeadQueries, K: HeadKeys, V: HeadValues, A: HeadBias, M: SampleMask) -> Any:
    """Attention of H heads in B samples, with a bias A of the logits for each head and a mask for each sample.

    Shape (B, H, m, d_V); H / G consecutive heads share one of G keys and values.
    """
    B, H, m, d_K = Q.shape
    G, n = K.shape[1], K.shape[2]
    T = indexed("bgric,bgjc->(b)(g r)(i)(j)", Q.reshape(B, G, -1, m, d_K), K) / sqrt(d_K)
    logits = (T + A.reshape(1, H, m, n)).reshape(-1, n)
    P = softmax_under_mask(logits, indexed("bij,h->(b h i)(j)", M, ones(H, 1).reshape(-1))).reshape(B, G, -1, m, n)
    return indexed("bgrij,bgja->(b)(g r)(i)(a)", P, V)


def tanh(X: Any) -> Any:
    """Entrywise 2 exp(2 X) / (exp(2 X) + 1) - 1, shape (m, n), by a softmax of 2 X and 0, which cannot overflow."""
    twice = indexed("ij->(i j)()", X) * 2
    both = concatenate([twice, 0 * twice], axis=1)
    P = masked_softmax(both, in_numbers(ones(both.shape[0], 2), both))
    return (P[:, :1] * 2 - 1).reshape(X.shape[0], X.shape[1])


@subject("transformer.capped_attention")
def capped_attention(Q: Queries, K: Keys, V: Values, M: Mask, c: Cap) -> Any:
    """F = P V, where P is the softmax of c tanh(Q K^T / (c sqrt(d_K))) under the mask M, shape (m, d_V).

    Logits are capped first and masked then: those of masked keys do not count, however large c is.
    """
    return softmax_under_mask(tanh(Q @ K.T / sqrt(Q.shape[1]) / c) * c, M) @ V


def softmax_with_sink(T: Logits, M: Mask, z: RowSinks) -> Any:
    """P_ij = M_ij exp(T_ij) / (exp(z_i) + sum_k M_ik exp(T_ik)), shape (m, n)."""
    m, n = T.shape
    return softmax_under_mask(concatenate([T, z], axis=1), concatenate([in_numbers(M, T), ones(m, 1)], axis=1))[:, :n]


@subject("transformer.sink_attention")
def sink_attention(Q: HeadQueries, K: HeadKeys, V: HeadValues, M: Mask, z: Sinks) -> Any:
    """Attention of H heads in B samples in which exp(z_h) stands in the sum of the softmax too, shape (B, H, m, d_V).

    Weights of a row sum to less than one, and a query that may attend to no key gets zeros.
    """
    B, H, m, d_K = Q.shape
    G, n = K.shape[1], K.shape[2]
    T = indexed("bgric,bgjc->(b g r i)(j)", Q.reshape(B, G, -1, m, d_K), K) / sqrt(d_K)
    sinks = indexed("h,bi->(b h i)()", z, ones(B, m))
    P = softmax_with_sink(T, kron(ones(B * H, 1), M), sinks).reshape(B, G, -1, m, n)
    return indexed("bgrij,bgja->(b)(g r)(i)(a)", P, V)


def alibi_slopes(H: int, two: Any) -> list[Any]:
    """The slopes of H heads: 2^(-8 i / N) for i = 1, ..., N if H = N is a power of two (Press et al., 2022, and their code).

    Otherwise those of the next smaller power N, and then, of the slopes of 2 N heads, the first, third, fifth, ...  `two` is
    the number 2 in the arithmetic asked for.
    """
    N = 1 << (H.bit_length() - 1)

    def power(numerator: int, denominator: int) -> Any:
        """2^(-numerator / denominator), for a denominator that is a power of two, by square roots."""
        found, root, fraction = two / two, two, numerator % denominator
        for _ in range(numerator // denominator):
            found = found / two
        while fraction:
            root, fraction = sqrt(root), 2 * fraction
            if fraction >= denominator:
                found, fraction = found / root, fraction - denominator
        return found

    return [power(8 * i, N) for i in range(1, N + 1)] + [power(8 * i, 2 * N) for i in range(1, 2 * (H - N), 2)]


@subject("transformer.alibi_attention")
def alibi_attention(Q: TokenHeadQueries, K: TokenHeadKeys, V: TokenHeadValues) -> Any:
    """Causal attention of H heads with slope_h (j - i) added to the logit of query i and key j, shape (B, H, n, d_V)."""
    B, H, n, _ = Q.shape
    slopes = alibi_slopes(H, Q[:1, :1, :1, 0] * 0 + 2)
    at = Constant(np.arange(n).astype(object)).reshape(1, -1)
    A = concatenate([slope.reshape(1, 1) * (at - at.T) for slope in slopes], axis=0).reshape(H, n, n)
    return biased_heads(Q, K, V, A, indexed("ij,b->(b)(i)(j)", mask_from_the_first(n, n), ones(B, 1).reshape(-1)))
