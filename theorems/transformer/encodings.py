"""The objects under study, continued: positions as rotations with tables of their own, and as biases in buckets.

A rotary table begins at any position and has any base.  T5 puts differences of positions into buckets, of which each head
has a bias.  Letters are those of `theorems.transformer.definitions`.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from theorems.transformer.definitions import rotary
from theorems.transformer.kernels import TokenHeadKeys, TokenHeadQueries, TokenHeadValues
from verify.arithmetics import Constant
from verify.matrix import cos, exp, indexed, log, masked_softmax, rational, sin, softmax
from verify.vocabulary import InputError, Real, Shape, Size, subject

TurnedRows = Annotated[Any, Shape("n", "d", role="query")]
Base = Annotated[Any, Real(4.0, 16384.0)]
Offset = Annotated[int, Size("o")]
Table = Annotated[Any, Shape("N", "H")]
Farthest = Annotated[int, Size("D")]
Classes = Annotated[Any, Shape("m", "n", "N", role="mask")]

# -- rotary tables -----------------------------------------------------------------------------------------------------


def frequencies(p: int, b: Any) -> Any:
    """The angles by which a step of one position turns the p pairs: b^(-k/p) for k = 0, ..., p - 1, shape (1, p).

    The base b has shape (1, 1).
    """
    exponents = Constant(np.arange(p).astype(object)).reshape(1, -1) * rational(-1, p)
    return exp(log(b) @ exponents)


def rotary_angles(n: int, p: int, b: Any, o: int) -> Any:
    """The angles of n rows at the positions o, ..., o + n - 1, shape (n, p); b has shape (1, 1)."""
    return Constant(np.arange(o, o + n).astype(object)).reshape(-1, 1) @ frequencies(p, b)


@subject("transformer.rotary_table")
def rotary_table(X: TurnedRows, b: Base, o: Offset) -> Any:
    """Pairs (X_ik, X_i,p+k) of each row turned by the angle (o + i) b^(-k/p), i and k from 0, shape (n, d), d = 2 p.

    Row i is the token at position o + i: behind a cache of o tokens, o is not 0.
    """
    n, p = X.shape[0], X.shape[1] // 2
    angles = rotary_angles(n, p, X[:1, :1] * 0 + b, o)
    return rotary(X, cos(angles), sin(angles))


# -- biases in buckets -------------------------------------------------------------------------------------------------


def bucket_of(distance: int, N: int, D: int) -> int:
    """The bucket of a distance among N, as in T5 (Raffel et al., 2020, and their code), by integers alone.

    The distances 0, ..., e - 1 have one each, e = N / 2 rounded down; e and beyond have e + t, where t is
    (N - e) log(distance / e) / log(D / e), rounded down, and at most N - 1 - e.
    """
    e = N // 2
    if distance < e:
        return distance
    t = 0
    while e + t + 1 < N and D ** (t + 1) * e ** (N - e) <= distance ** (N - e) * e ** (t + 1):
        t += 1
    return e + t


def buckets(n: int, N: int, D: int, causal: bool = False) -> Any:
    """The bucket of query i and key j, integers, shape (n, n).

    Of keys up to the query the first half of the N buckets, of later ones the second; `causal`: all N, by i - j, and later
    keys have that of the distance 0.  Raises `InputError` unless N is at least 2 (4 if not `causal`), and even if not
    `causal`, and D more than the distances that have a bucket of their own.
    """
    half = N if causal else N // 2
    if half < 2 or (N % 2 and not causal):
        raise InputError("N", "at least 2 buckets" if causal else "an even number of buckets, at least 4", str(N))
    if half // 2 >= D:
        raise InputError("D", f"a distance above {half // 2}, up to which each has a bucket of its own", str(D))
    of = np.array([bucket_of(distance, half, D) for distance in range(n)])
    apart = np.arange(n)[None, :] - np.arange(n)[:, None]
    if causal:
        return of[np.maximum(-apart, 0)]
    return of[np.abs(apart)] + (apart > 0) * half


def bias_in_buckets(A: Table, n: int, D: int, causal: bool = False) -> Any:
    """A bias for each of H heads, of which query i and key j have that of their bucket, shape (H, n, n)."""
    which = buckets(n, A.shape[0], D, causal).reshape(-1)
    return indexed("ijh->(h)(i)(j)", A[which.tolist()].reshape(n, n, -1))


def logits_in_buckets(Q: TokenHeadQueries, K: TokenHeadKeys, A: Table, D: int, causal: bool = False) -> Any:
    """Q K^T, which T5 does not scale, plus the bias of the head, shape (B H n, n)."""
    B, H, n, _ = Q.shape
    T = indexed("bhic,bhjc->(b)(h)(i)(j)", Q, K) + bias_in_buckets(A, n, D, causal).reshape(1, H, n, n)
    return T.reshape(B * H * n, n)


def _values(P: Any, V: TokenHeadValues) -> Any:
    """Weights, shape (B H n, n), times values, shape (B, H, n, d_V)."""
    B, H, n, _ = V.shape
    return indexed("bhij,bhja->(b)(h)(i)(a)", P.reshape(B, H, n, n), V)


@subject("transformer.bucketed_attention")
def bucketed_attention(Q: TokenHeadQueries, K: TokenHeadKeys, V: TokenHeadValues, A: Table, D: Farthest) -> Any:
    """Attention as in the encoder of T5: the softmax of Q K^T plus A_rh, r the bucket of i and j, shape (B, H, n, d_V)."""
    return _values(softmax(logits_in_buckets(Q, K, A, D)), V)


@subject("transformer.bucketed_causal_attention")
def bucketed_causal_attention(Q: TokenHeadQueries, K: TokenHeadKeys, V: TokenHeadValues, A: Table, D: Farthest) -> Any:
    """Attention as in the decoder of T5: the same with a causal mask, and with all buckets for earlier keys.

    Shape (B, H, n, d_V).
    """
    B, H, n, _ = Q.shape
    T = logits_in_buckets(Q, K, A, D, causal=True)
    allowed = Constant(np.tile(np.tri(n, dtype=int), (B * H, 1)).astype(object))
    return _values(masked_softmax(T, allowed), V)


def logits_of_classes(Q: Any, K: Any, Z: Classes, a: Any) -> Any:
    """Q K^T plus the sum over r of Z_ijr a_r, shape (m, n): any classes of pairs of queries and keys, a bias for each."""
    return Q @ K.T + indexed("ijr,r->(i)(j)", Z, a)


def attention_with_classes(Q: Any, K: Any, V: Any, Z: Classes, a: Any) -> Any:
    """Attention with the logits `logits_of_classes`, shape (m, d_V)."""
    return softmax(logits_of_classes(Q, K, Z, a)) @ V
