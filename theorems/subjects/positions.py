"""What the gate knows of positions in layers: windows and packed sequences in both directions, rotary tables, buckets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from theorems.subjects.kernels import rows_of_one_sequence, sequences, two_sequences
from theorems.subjects.layers import extreme_domains, wrong_scales
from theorems.transformer import encodings, kernels
from theorems.transformer import definitions as layers
from verify.arithmetics import is_tensor
from verify.gate.profiles import Large, Profile
from verify.matrix import indexed

# -- masks in both directions ------------------------------------------------------------------------------------------

SIZES = {"n": (1, 6), "d_K": (1, 4), "d_V": (1, 3)}
WINDOW = Profile(
    "transformer.window_both_ways", sizes={**SIZES, "a": (0, 3), "b": (0, 3)},
    layout="tokens are rows; token i attends to the tokens i - a, ..., i + b, or to those that there are",
)  # fmt: skip


@WINDOW.rows()
def window_rows(rows: Sequence[int], Q: Any, K: Any, V: Any, a: int, b: int) -> Any:
    return layers.masked_attention(Q[list(rows)], K, V, kernels.mask_of_two_sides(Q.shape[0], a, b)[list(rows)])


extreme_domains(WINDOW)
WINDOW.long("a wide window", sizes=lambda length: {"a": length // 2, "b": length // 4})


def _of_window(change: Callable[[int, int], tuple[int, int]]) -> Callable[..., Any]:
    return lambda Q, K, V, a, b: kernels.window_both_ways(Q, K, V, *change(a, b))


WINDOW.variant("the window is one token too long before")(_of_window(lambda a, b: (a + 1, b)))
WINDOW.variant("the window is one token too long after")(_of_window(lambda a, b: (a, b + 1)))
WINDOW.variant("the window is one token too short on both sides")(
    _of_window(lambda a, b: (max(a - 1, 0), max(b - 1, 0)))
)
WINDOW.variant("the sides of the window are exchanged")(_of_window(lambda a, b: (b, a)))
WINDOW.variant("tokens after the query are masked")(_of_window(lambda a, b: (a, 0)))
WINDOW.variant("there is no window")(lambda Q, K, V, a, b: kernels.window_both_ways(Q, K, V, len(Q), len(Q)))
wrong_scales(WINDOW, kernels.window_both_ways)

PACKED = Profile(
    "transformer.packed_both_ways", sizes=SIZES,
    layout="tokens are rows, of several sequences one after the other; E is a boolean vector, true where one begins, at the"
    " first token always; a token attends to all of its sequence",
)  # fmt: skip


PACKED.inputs(sequences)


@PACKED.rows()
def packed_rows(rows: Sequence[int], Q: Any, K: Any, V: Any, E: Any) -> Any:
    return layers.masked_attention(Q[list(rows)], K, V, rows_of_one_sequence(rows, E, Q))


extreme_domains(PACKED)
PACKED.domain("one sequence", lambda arrays, sizes, rng: arrays.update(S=-np.abs(arrays["S"]) - 1))
PACKED.long("two sequences", two_sequences)
PACKED.domain("sequences of one token", lambda arrays, sizes, rng: arrays.update(S=np.abs(arrays["S"]) + 1))
PACKED.variant("sequences see each other")(
    lambda Q, K, V, E: layers.masked_attention(Q, K, V, Q.new_ones(len(Q), len(Q)))
)
PACKED.variant("a causal mask is applied too")(lambda Q, K, V, E: kernels.packed_attention(Q, K, V, E))
wrong_scales(PACKED, kernels.packed_both_ways)

# -- rotary tables -----------------------------------------------------------------------------------------------------

ROTARY = Profile(
    "transformer.rotary_table", sizes={"n": (1, 4), "d": (2, 8), "o": (0, 40)}, where=lambda s: s["d"] % 2 == 0,
    large=Large(counts=("o",), where=lambda s: s["d"] % 2 == 0),
    layout="row i is the token at position o + i, from 0; entries k and d/2 + k make one pair, turned by the position times"
    " b^(-2k/d), k from 0; b is a number",
)  # fmt: skip


@ROTARY.inputs
def rows_to_turn(X: encodings.TurnedRows, b: encodings.Base, o: encodings.Offset) -> dict[str, Any]:
    return {"X": X, "b": float(b) if is_tensor(b) else b, "o": o}


@ROTARY.rows()
def rows_of_table(rows: Sequence[int], X: Any, b: Any, o: int) -> Any:
    angles = encodings.rotary_angles(X.shape[0], X.shape[1] // 2, X[:1, :1] * 0 + b, o)[list(rows)]
    return layers.rotary(X[list(rows)], angles.cos(), angles.sin())


ROTARY.long("far into a sequence", sizes=lambda length: {"o": 4 * length - 1})


def _turned(X: Any, positions: Any, frequencies: Any) -> Any:
    angles = X.new_tensor(positions)[:, None] * X.new_tensor(frequencies)
    return layers.rotary(X, angles.cos(), angles.sin())


def _rotary(
    positions: Callable[[int, int], Any] = lambda n, o: np.arange(o, o + n),
    frequencies: Callable[[int, float], Any] = lambda p, b: b ** (-np.arange(p) / p),
) -> Callable[..., Any]:
    """Rotations with other positions, functions of (n, o), or other frequencies, functions of (d / 2, b)."""
    return lambda X, b, o: _turned(X, positions(len(X), o), frequencies(X.shape[1] // 2, b))


ROTARY.variant("positions begin at 0, whatever o is")(_rotary(lambda n, o: np.arange(n)))
ROTARY.variant("positions are one too large")(_rotary(lambda n, o: np.arange(o + 1, o + n + 1)))
ROTARY.variant("all rows have the position o")(_rotary(lambda n, o: np.full(n, o)))
ROTARY.variant("the base is 10000, whatever b is")(_rotary(frequencies=lambda p, b: 1e4 ** (-np.arange(p) / p)))
ROTARY.variant("angles are b^(-k/d), half the exponent")(_rotary(frequencies=lambda p, b: b ** (-np.arange(p) / p / 2)))
ROTARY.variant("rows are turned backwards")(_rotary(frequencies=lambda p, b: -(b ** (-np.arange(p) / p))))


@ROTARY.variant("pairs are neighbours, entries 2 k and 2 k + 1")
def _(X: Any, b: Any, o: int) -> Any:
    n, d = X.shape
    halves = indexed("ikj->(i)(j k)", X.reshape(n, d // 2, 2))
    return indexed("ijk->(i)(k j)", encodings.rotary_table(halves, b, o).reshape(n, 2, d // 2))


# -- buckets -----------------------------------------------------------------------------------------------------------

BUCKETS = {"B": (1, 2), "H": (1, 3), "n": (1, 6), "d_K": (1, 3), "d_V": (1, 3), "N": (4, 10), "D": (3, 12)}


def _admissible(sizes: Mapping[str, int]) -> bool:
    return sizes["N"] % 2 == 0 and sizes["D"] > sizes["N"] // 2


def _cheap(sizes: Mapping[str, int]) -> bool:
    return _admissible(sizes) and sizes["B"] * sizes["H"] * sizes["n"] <= 24


def _profile_of_buckets(name: str, what: str) -> Profile:
    return Profile(
        name, sizes=BUCKETS, where=_cheap, large=Large(counts=("B", "H", "N", "D"), where=_admissible),
        layout="axes are sample, head, token, feature; A has a bias for each of N buckets and each head, the softmax that of"
        f" Q K^T + A[bucket of i and j], without a scale; {what}; D is the distance of the last bucket",
    )  # fmt: skip


ENCODER = _profile_of_buckets(
    "transformer.bucketed_attention", "N / 2 buckets are for keys up to the query, N / 2 for later ones"
)
DECODER = _profile_of_buckets(
    "transformer.bucketed_causal_attention", "later keys are masked, and all N buckets are for earlier ones"
)


for _profile in (ENCODER, DECODER):
    _profile.sums("B")


def _buckets(
    causal: bool, find: Callable[..., Any], scale: Callable[[int], float] = lambda d_K: 1.0
) -> Callable[..., Any]:
    """Attention with the bias that ``find(A, n, D)`` gives, shape (H, n, n)."""

    def attention(Q: Any, K: Any, V: Any, A: Any, D: int) -> Any:
        T = Q @ K.mT * scale(Q.shape[3]) + find(A, Q.shape[2], D)
        return (T.masked_fill(T.new_ones(T.shape[2:]).triu(1) > 0, -math.inf) if causal else T).softmax(-1) @ V

    return attention


def _usual(causal: bool) -> Callable[..., Any]:
    return lambda A, n, D: encodings.bias_in_buckets(A, n, D, causal)


for _profile, _causal in ((ENCODER, False), (DECODER, True)):
    _profile.variant("the logits are divided by sqrt(d_K)")(_buckets(_causal, _usual(_causal), lambda d_K: d_K**-0.5))
    _profile.variant("the bias is left out")(_buckets(_causal, lambda A, n, D, c=_causal: 0 * _usual(c)(A, n, D)))
    _profile.variant("all heads have the bias of the first")(
        _buckets(_causal, lambda A, n, D, c=_causal: _usual(c)(A[:, :1].expand_as(A), n, D))
    )
    _profile.variant("the bias of query i and key j is that of query j and key i")(
        _buckets(_causal, lambda A, n, D, c=_causal: _usual(c)(A, n, D).mT)
    )
    _profile.variant("the distance of the last bucket is far larger than D")(
        _buckets(_causal, lambda A, n, D, c=_causal: _usual(c)(A, n, 10**6))
    )
ENCODER.variant("both directions share all N buckets, as in the decoder")(_buckets(False, _usual(True)))
ENCODER.variant("later keys are masked")(_buckets(True, _usual(False)))
DECODER.variant("half of the buckets are kept for later keys, as in the encoder")(_buckets(True, _usual(False)))
DECODER.variant("later keys are not masked")(_buckets(False, _usual(True)))


def _rows_in_buckets(causal: bool) -> Callable[..., Any]:
    def rows_of(rows: Sequence[int], Q: Any, K: Any, V: Any, A: Any, D: int) -> Any:
        n = Q.shape[2]
        which = encodings.buckets(n, A.shape[0], D, causal)[list(rows)]
        T = Q[:, :, list(rows)] @ K.mT + A[which].permute(2, 0, 1)
        return (T.masked_fill(_later(rows, n, T), -math.inf) if causal else T).softmax(-1) @ V

    return rows_of


def _later(rows: Sequence[int], n: int, like: Any) -> Any:
    return like.new_tensor(np.arange(n)[None, :] - np.array(rows)[:, None]) > 0


ENCODER.rows("n", axis=2)(_rows_in_buckets(causal=False))
DECODER.rows("n", axis=2)(_rows_in_buckets(causal=True))
