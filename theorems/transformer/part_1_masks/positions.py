"""Masks that follow from positions: causal ones of unequal numbers of queries and keys, a cache, windows, packed sequences."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.transformer import TRANSFORMER
from theorems.transformer.definitions import causal_attention
from theorems.transformer.kernels import (
    After, Before, CachedKeys, CachedValues, NewKeys, NewValues, TokenQueries, Window, cached_attention,
    causal_from_the_first, causal_to_the_last, packed_attention, packed_both_ways, window_attention, window_both_ways,
)  # fmt: skip
from theorems.transformer.settings import Keys, Values
from verify.matrix import concatenate, each, eye, ones, rows_within, softmax, sqrt  # noqa: F401  (mutants name ones)
from verify.vocabulary import Claim, Equal, Setting, Shape

NewQueries = Annotated[Any, Shape("m", "d_K", role="query")]
EarlierQueries = Annotated[Any, Shape("p", "d_K", role="query")]

AFTER = Setting(
    TRANSFORMER, "Tokens after others", exact=True, sizes={"m": (1, 4), "p": (1, 3), "d_K": (1, 4), "d_V": (1, 2)},
)  # fmt: skip


def tokens_and_further_keys(Q: NewQueries, K: NewKeys, V: NewValues, C: CachedKeys, D: CachedValues) -> dict[str, Any]:
    return {"Q": Q, "K": K, "V": V, "C": C, "D": D}


FURTHER = AFTER.extended("Tokens and keys that come later", inputs=tokens_and_further_keys)
FIRST = Claim(FURTHER, "transformer.causal-from-the-first-keys", label="Causal from the first: more keys than queries",
    statement=r"""F^{\text{causal}}\Big(Q,\begin{bmatrix}K\\C\end{bmatrix},\begin{bmatrix}V\\D\end{bmatrix}\Big) =
        F^{\text{causal}}(Q, K, V),\quad Q, K, V\text{ of the same tokens; query }i\text{ sees the keys }1, \dots, i""",
    name="causal attention aligned to the first key", relation=Equal(), all_sizes=True)  # fmt: skip


@FIRST.formula
def of_first_keys(Q: NewQueries, K: NewKeys, V: NewValues) -> Any:
    """Causal attention of as many queries as keys, shape (m, d_V)."""
    return causal_attention(Q, K, V)


FIRST.oracle(lambda Q, K, V, C, D: causal_from_the_first(Q, concatenate([K, C], axis=0), concatenate([V, D], axis=0)))
FIRST.mutant("the first key alone", "K -> ones(K.shape[0], 1) @ K[:1]")
FIRST.mutant("no mask", "causal_attention(Q, K, V) -> softmax(Q @ K.T / sqrt(Q.shape[1])) @ V")

LAST = Claim(AFTER, "transformer.causal-to-the-last-queries", label="Causal to the last: fewer queries than keys",
    statement=r"""F\Big(Q,\begin{bmatrix}C\\K\end{bmatrix},\begin{bmatrix}D\\V\end{bmatrix}\Big) = \text{the last rows of }
        F^{\text{causal}}\Big(\begin{bmatrix}A\\Q\end{bmatrix},\begin{bmatrix}C\\K\end{bmatrix},
        \begin{bmatrix}D\\V\end{bmatrix}\Big),\quad\text{on the left the last query sees all keys, and each query before it
        one key less}""",
    name="causal attention aligned to the last key", relation=Equal(),
    all_sizes=True)  # fmt: skip


@LAST.formula
def last_rows(A: EarlierQueries, Q: NewQueries, K: NewKeys, V: NewValues, C: CachedKeys, D: CachedValues) -> Any:
    """The rows of the queries Q of causal attention of all tokens, shape (m, d_V)."""
    keys, values = concatenate([C, K], axis=0), concatenate([D, V], axis=0)
    return causal_attention(concatenate([A, Q], axis=0), keys, values)[A.shape[0] :]


LAST.oracle(lambda Q, K, V, C, D: causal_to_the_last(Q, concatenate([C, K], axis=0), concatenate([D, V], axis=0)))
LAST.mutant("the first rows", "concatenate([A, Q], axis=0) -> concatenate([0 * A, 0 * Q], axis=0)")
LAST.mutant("aligned to the first key", lambda Q, K, V, C, D: causal_from_the_first(
    Q, concatenate([C, K], axis=0), concatenate([D, V], axis=0)))  # fmt: skip

CACHED = Claim(AFTER, "transformer.cached-queries", label="Several queries after a cache",
    statement=r"""F_i = \operatorname{softmax}\Big(\frac{Q_i}{\sqrt{d_K}}\begin{bmatrix}C\\K_{1:i}\end{bmatrix}^\top\Big)
        \begin{bmatrix}D\\V_{1:i}\end{bmatrix}\text{ for query }i\text{ behind the cache }C, D""",
    name="a chunk of queries against cached keys", relation=Equal(), all_sizes=True,
    uses=("transformer.causal-to-the-last-queries",))  # fmt: skip


@CACHED.formula
def query_by_query(Q: NewQueries, K: NewKeys, V: NewValues, C: CachedKeys, D: CachedValues) -> Any:
    """Attention of each query to the cache and the new keys up to its own, without a mask, shape (m, d_V)."""
    root = sqrt(Q.shape[1])

    def row(i: int) -> Any:
        keys = concatenate([C, rows_within(K, 0, i + 1)], axis=0)
        values = concatenate([D, rows_within(V, 0, i + 1)], axis=0)
        return softmax(Q[i : i + 1] @ keys.T / root) @ values

    return concatenate(each(Q.shape[0], row), axis=0)


CACHED.oracle(lambda Q, K, V, C, D: cached_attention(Q, K, V, C, D))
CACHED.mutant("all new keys", "rows_within(K, 0, i + 1) -> K; rows_within(V, 0, i + 1) -> V")
CACHED.mutant("no scale", "root -> 1")
CACHED.mutant("values of the cache alike", "D -> ones(D.shape[0], 1) @ D[:1]")

TOKENS = Setting(
    TRANSFORMER, "Causal attention of several kinds", exact=True,
    sizes={"n": (1, 5), "w": (1, 4), "d_K": (1, 4), "d_V": (1, 3)},
)  # fmt: skip

WINDOW = Claim(TOKENS, "transformer.window-keys", label="A sliding window, a token at a time",
    statement=r"""F_i = \operatorname{softmax}\Big(\frac{Q_iK_{a:i}^\top}{\sqrt{d_K}}\Big)V_{a:i},\quad a = \max(i - w + 1, 1)""",
    name="causal attention in a sliding window", relation=Equal(),
    all_sizes=True)  # fmt: skip


@WINDOW.formula
def last_tokens(Q: TokenQueries, K: Keys, V: Values, w: Window) -> Any:
    """Attention of each query to the last w keys up to its own, without a mask, shape (n, d_V)."""
    root = sqrt(Q.shape[1])

    def row(i: int) -> Any:
        keys, values = (rows_within(M, i - w + 1, i + 1) for M in (K, V))
        return softmax(Q[i : i + 1] @ keys.T / root) @ values

    return concatenate(each(Q.shape[0], row), axis=0)


WINDOW.oracle(lambda Q, K, V, w: window_attention(Q, K, V, w))
WINDOW.mutant("a token more", "i - w + 1 -> i - w")
WINDOW.mutant("no window", "i - w + 1 -> 0")
WINDOW.mutant("no scale", "root -> 1")

BOTH_WAYS = Claim(
    Setting(TRANSFORMER, "A window of two sides", exact=True,
        sizes={"n": (1, 5), "a": (0, 3), "b": (0, 3), "d_K": (1, 4), "d_V": (1, 3)}),
    "transformer.window-both-ways-keys", label="A window of two sides, a token at a time",
    statement=r"""F_i = \operatorname{softmax}\Big(\frac{Q_iK_{s:t}^\top}{\sqrt{d_K}}\Big)V_{s:t},\quad s = \max(i - a, 1),\
        t = \min(i + b, n)""",
    name="attention in a window of two sides", relation=Equal(),
    all_sizes=True)  # fmt: skip


@BOTH_WAYS.formula
def tokens_around(Q: TokenQueries, K: Keys, V: Values, a: Before, b: After) -> Any:
    """Attention of each query to the keys of its window, without a mask, shape (n, d_V)."""
    root = sqrt(Q.shape[1])

    def row(i: int) -> Any:
        keys, values = (rows_within(M, i - a, i + b + 1) for M in (K, V))
        return softmax(Q[i : i + 1] @ keys.T / root) @ values

    return concatenate(each(Q.shape[0], row), axis=0)


BOTH_WAYS.oracle(lambda Q, K, V, a, b: window_both_ways(Q, K, V, a, b))
BOTH_WAYS.mutant("a token more before", "i - a -> i - a - 1")
BOTH_WAYS.mutant("a token more after", "i + b + 1 -> i + b + 2")
BOTH_WAYS.mutant("sides exchanged", "i - a -> i - b; i + b + 1 -> i + a + 1")
BOTH_WAYS.mutant("no scale", "root -> 1")

PACKED = Claim(AFTER, "transformer.packed-sequences", label="Packed sequences are sequences by themselves",
    statement=r"""F\Big(\begin{bmatrix}A\\Q\end{bmatrix},\begin{bmatrix}C\\K\end{bmatrix},\begin{bmatrix}D\\V\end{bmatrix},E\Big) =
        \begin{bmatrix}F^{\text{causal}}(A, C, D)\\F^{\text{causal}}(Q, K, V)\end{bmatrix},\quad E = 1\ \text{at the first rows of
        both sequences; a row sees those of its sequence up to its own}""",
    name="attention of packed sequences", relation=Equal(), all_sizes=True,
    note="Of more than two sequences, one after the other.")  # fmt: skip


def starts(A: EarlierQueries, Q: NewQueries) -> Any:
    """1 at the first rows of both sequences, 0 elsewhere, shape (p + m,)."""
    first = concatenate([eye(A.shape[0])[:, :1], eye(Q.shape[0])[:, :1]], axis=0)
    return (first + 0 * concatenate([A, Q], axis=0)[:, :1]).reshape(-1)


@PACKED.formula
def sequence_by_sequence(
    A: EarlierQueries, Q: NewQueries, K: NewKeys, V: NewValues, C: CachedKeys, D: CachedValues
) -> Any:
    """Causal attention of both sequences, on top of each other, shape (p + m, d_V)."""
    return concatenate([causal_attention(A, C, D), causal_attention(Q, K, V)], axis=0)


@PACKED.oracle
def packed_at_once(A: EarlierQueries, Q: NewQueries, K: NewKeys, V: NewValues, C: CachedKeys, D: CachedValues) -> Any:
    keys, values = concatenate([C, K], axis=0), concatenate([D, V], axis=0)
    return packed_attention(concatenate([A, Q], axis=0), keys, values, starts(A, Q))


PACKED.mutant("the second without a mask", "causal_attention(Q, K, V) -> softmax(Q @ K.T / sqrt(Q.shape[1])) @ V")
PACKED.mutant(
    "values of the second alike", "causal_attention(Q, K, V) -> causal_attention(Q, K, ones(V.shape[0], 1) @ V[:1])"
)

PACKED_BOTH_WAYS = Claim(AFTER, "transformer.packed-both-ways", label="Packed sequences without a causal mask",
    statement=r"""F\Big(\begin{bmatrix}A\\Q\end{bmatrix},\begin{bmatrix}C\\K\end{bmatrix},\begin{bmatrix}D\\V\end{bmatrix},E\Big) =
        \begin{bmatrix}\operatorname{softmax}(AC^\top/\sqrt{d_K})D\\\operatorname{softmax}(QK^\top/\sqrt{d_K})V\end{bmatrix},
        \quad E = 1\ \text{at the first rows of both sequences; a row sees all those of its sequence}""",
    name="attention of packed sequences in both directions", relation=Equal(),
    all_sizes=True)  # fmt: skip


@PACKED_BOTH_WAYS.formula
def sequences_alone(A: EarlierQueries, Q: NewQueries, K: NewKeys, V: NewValues, C: CachedKeys, D: CachedValues) -> Any:
    """Attention of both sequences, on top of each other, shape (p + m, d_V)."""
    root = sqrt(Q.shape[1])
    return concatenate([softmax(A @ C.T / root) @ D, softmax(Q @ K.T / root) @ V], axis=0)


PACKED_BOTH_WAYS.oracle(
    lambda A, Q, K, V, C, D: packed_both_ways(
        concatenate([A, Q], axis=0), concatenate([C, K], axis=0), concatenate([D, V], axis=0), starts(A, Q)
    )
)
PACKED_BOTH_WAYS.mutant("the second is causal", "softmax(Q @ K.T / root) @ V -> causal_attention(Q, K, V)")
PACKED_BOTH_WAYS.mutant("no scale", "root -> 1")
