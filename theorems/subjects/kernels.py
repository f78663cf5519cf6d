"""What the gate knows of attention kernels: empty rows, causal masks of unequal sizes, windows, biases, caps, sinks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from theorems.subjects.layers import MASK, boolean, extreme_domains, made_causal, nothing_masked, wrong_scales
from theorems.transformer import definitions as layers
from theorems.transformer import kernels
from theorems.transformer.settings import Keys, Queries, Signs, Values, mask_of
from verify.arithmetics import is_tensor
from verify.gate.profiles import Large, Profile
from verify.matrix import concatenate, eye, indexed, masked_softmax, ones, softmax, sqrt, step
from verify.vocabulary import Shape

# -- queries that may attend to no key ---------------------------------------------------------------------------------

#: Of what it is drawn whether a query may attend to some key: it may where this is positive.
RowSigns = Annotated[Any, Shape("m", "1", role="gate")]

EMPTY = "M is a boolean mask, true where a query may attend to a key; some queries may attend to none, "
SIZES = {"m": (1, 4), "n": (1, 5), "d_K": (1, 4), "d_V": (1, 3)}


def operands_with_empty_rows(Q: Queries, K: Keys, V: Values, S: Signs, R: RowSigns) -> dict[str, Any]:
    return boolean({"Q": Q, "K": K, "V": V, "M": mask_of(S) * step(R)})


def _rows_without_keys(arrays: dict[str, Any], sizes: Mapping[str, int], rng: Any) -> None:
    arrays["R"] = -np.abs(arrays["R"]) - 1


def _rows_with_keys(arrays: dict[str, Any], sizes: Mapping[str, int], rng: Any) -> None:
    arrays["R"] = np.abs(arrays["R"]) + 1


def _with_empty_rows(
    name: str, what: str, definition: Callable[..., Any], others: Mapping[str, Callable[..., Any]]
) -> Profile:
    """The profile of attention whose empty rows are `what`; `others` are what they may be instead, by name."""
    profile = Profile(name, sizes=SIZES, layout=f"queries, keys and values are rows; {EMPTY}{what}")
    profile.inputs(operands_with_empty_rows)
    profile.domain("no query has keys", _rows_without_keys)
    profile.domain("every query has keys", _rows_with_keys)
    extreme_domains(profile)
    profile.rows("m", "n")(lambda rows, Q, K, V, M: definition(Q[list(rows)], K, V, M[list(rows)]))
    for cause, other in others.items():
        profile.variant(cause)(other)
    profile.variant("the mask is left out")(lambda Q, K, V, M: layers.masked_attention(Q, K, V, M >= 0))
    wrong_scales(profile, definition)
    return profile


IN_NO_NUMBERS = "a query that may attend to no key gets what is no number"
MEAN = "a query that may attend to no key gets the mean of the values"
ZERO = "a query that may attend to no key gets zeros"

_with_empty_rows(
    "transformer.fully_masked_zero", "and get zeros", kernels.attention_or_zero,
    {MEAN: kernels.attention_or_mean, IN_NO_NUMBERS: layers.masked_attention},
)  # fmt: skip
_with_empty_rows(
    "transformer.fully_masked_uniform", "and get the mean of the values, without a gradient in queries and keys",
    kernels.attention_or_mean, {ZERO: kernels.attention_or_zero, IN_NO_NUMBERS: layers.masked_attention},
)  # fmt: skip
UNDEFINED = _with_empty_rows(
    "transformer.fully_masked_undefined", "whose rows of the result are not read; no gradient of the others goes through them",
    kernels.attention_where_defined, {},
)  # fmt: skip


@UNDEFINED.reads
def rows_that_have_keys(value: Any, Q: Any, K: Any, V: Any, M: Any) -> Any:
    """The value with zeros in the rows of queries without keys."""
    return value.masked_fill(~M.any(1, keepdim=True), 0.0)


# -- masks that follow from positions ----------------------------------------------------------------------------------


def _under(mask: Callable[..., Any]) -> Callable[..., Any]:
    """Attention of m queries to n keys under the mask that `mask` gives for (m, n)."""
    return lambda Q, K, V, *rest: layers.masked_attention(Q, K, V, mask(Q.shape[0], K.shape[0]))


NO_MASK = "the causal mask is left out"
FIRST = Profile(
    "transformer.causal_from_the_first", sizes=SIZES,
    layout="queries, keys and values are rows; query i attends to the keys 1, ..., i: the first of both are one token",
)  # fmt: skip
LAST = Profile(
    "transformer.causal_to_the_last", sizes=SIZES, where=lambda s: s["m"] <= s["n"],
    large=Large(where=lambda s: s["m"] <= s["n"]),
    layout="queries, keys and values are rows, no more queries than keys; the last of both are one token",
)  # fmt: skip

for _profile, _mask, _cause, _other in (
    (FIRST, kernels.mask_from_the_first, "the mask is aligned to the last key, not to the first", kernels.mask_to_the_last),
    (LAST, kernels.mask_to_the_last, "the mask is aligned to the first key, not to the last", kernels.mask_from_the_first),
):  # fmt: skip
    extreme_domains(_profile)
    _profile.variant(_cause)(_under(_other))
    _profile.variant(NO_MASK)(_under(lambda m, n: ones(m, n)))
    wrong_scales(_profile, _under(_mask))


@FIRST.rows("m", "n")
def rows_from_the_first(rows: Sequence[int], Q: Any, K: Any, V: Any) -> Any:
    mask = kernels.mask_from_the_first(Q.shape[0], K.shape[0])
    return layers.masked_attention(Q[list(rows)], K, V, mask[list(rows)])


@LAST.rows("m", "n")
def rows_to_the_last(rows: Sequence[int], Q: Any, K: Any, V: Any) -> Any:
    mask = kernels.mask_to_the_last(Q.shape[0], K.shape[0])
    return layers.masked_attention(Q[list(rows)], K, V, mask[list(rows)])


CACHED = Profile(
    "transformer.cached_attention", sizes={"m": (1, 4), "p": (1, 4), "d_K": (1, 4), "d_V": (1, 3)},
    layout="Q, K and V of m new tokens, C and D the keys and values of p tokens before them; all are rows",
)  # fmt: skip


@CACHED.rows("m", "p")
def rows_after_the_cache(rows: Sequence[int], Q: Any, K: Any, V: Any, C: Any, D: Any) -> Any:
    return rows_to_the_last(rows, Q, concatenate([C, K], axis=0), concatenate([D, V], axis=0))


def _of_cached(attention: Callable[..., Any]) -> Callable[..., Any]:
    """A function of queries, keys and values at the cached and the new ones."""
    return lambda Q, K, V, C, D: attention(Q, concatenate([C, K], axis=0), concatenate([D, V], axis=0))


extreme_domains(CACHED)
CACHED.variant("new tokens do not see the cache")(lambda Q, K, V, C, D: kernels.causal_to_the_last(Q, K, V))
CACHED.variant("new tokens do not see each other")(lambda Q, K, V, C, D: softmax(Q @ C.T / sqrt(Q.shape[1])) @ D)
CACHED.variant("the mask begins at the first key of the cache")(_of_cached(kernels.causal_from_the_first))
CACHED.variant("new tokens see those after them")(_of_cached(_under(lambda m, n: ones(m, n))))
CACHED.variant("the cache comes after the new tokens")(
    lambda Q, K, V, C, D: kernels.causal_to_the_last(Q, concatenate([K, C], axis=0), concatenate([V, D], axis=0))
)
wrong_scales(CACHED, kernels.cached_attention)

WINDOW = Profile(
    "transformer.window_attention", sizes={"n": (1, 6), "w": (1, 5), "d_K": (1, 4), "d_V": (1, 3)},
    layout="tokens are rows; token i attends to the w tokens i - w + 1, ..., i, or to those that there are",
)  # fmt: skip


@WINDOW.rows()
def window_rows(rows: Sequence[int], Q: Any, K: Any, V: Any, w: int) -> Any:
    return layers.masked_attention(Q[list(rows)], K, V, kernels.window_mask(Q.shape[0], w)[list(rows)])


extreme_domains(WINDOW)
WINDOW.long("a wide window", sizes=lambda length: {"w": 3 * length // 4})
WINDOW.long("a window wider than the sequence", sizes=lambda length: {"w": length + 1})


def _of_window(change: Callable[[int], int]) -> Callable[..., Any]:
    return lambda Q, K, V, w: kernels.window_attention(Q, K, V, change(w))


WINDOW.variant("the window is one token too long")(_of_window(lambda w: w + 1))
WINDOW.variant("the window is one token too short")(_of_window(lambda w: max(w - 1, 1)))
WINDOW.variant("there is no window: all earlier tokens count")(lambda Q, K, V, w: layers.causal_attention(Q, K, V))
WINDOW.variant("the window reaches as far ahead as back")(
    lambda Q, K, V, w: layers.masked_attention(
        Q, K, V, (m := kernels.window_mask(Q.shape[0], w)) + m.T - eye(Q.shape[0])
    )
)
wrong_scales(WINDOW, kernels.window_attention)


def two_sequences(arrays: dict[str, Any]) -> None:
    """A short sequence, and a long one after it: their rows add up as many weights as there are tokens."""
    S = arrays["S"]
    S[...] = -np.abs(S) - 1
    S[..., S.shape[-1] // 8] = 1


def rows_of_one_sequence(rows: Sequence[int], E: Any, like: Any) -> Any:
    """Some rows of the mask of sequences that begin where the tensor E says so, 1 for keys of the same one, as `like`."""
    number = E.long().cumsum(0)
    return (number[list(rows), None] == number[None, :]).to(like)


PACKED = Profile(
    "transformer.packed_attention", sizes={"n": (1, 6), "d_K": (1, 4), "d_V": (1, 3)},
    layout="tokens are rows, of several sequences one after the other; E is a boolean vector, true where one begins, at the"
    " first token always; a token attends to those of its sequence up to itself",
)  # fmt: skip


@PACKED.inputs
def sequences(
    Q: kernels.TokenQueries, K: Keys, V: Values, S: Annotated[Any, Shape("n", role="gate")]
) -> dict[str, Any]:
    n = S.shape[0]
    first = eye(n)[0].adapt(S) if not is_tensor(S) else eye(n).adapt(S)[0]
    E = first + (1 - first) * step(S)
    return {"Q": Q, "K": K, "V": V, "E": E != 0 if is_tensor(E) else E}


@PACKED.rows()
def packed_rows(rows: Sequence[int], Q: Any, K: Any, V: Any, E: Any) -> Any:
    n = Q.shape[0]
    return layers.masked_attention(
        Q[list(rows)], K, V, rows_of_one_sequence(rows, E, Q) * kernels.mask_from_the_first(n, n)[list(rows)]
    )


extreme_domains(PACKED)
PACKED.domain("one sequence", lambda arrays, sizes, rng: arrays.update(S=-np.abs(arrays["S"]) - 1))
PACKED.long("two sequences", two_sequences)
PACKED.domain("sequences of one token", lambda arrays, sizes, rng: arrays.update(S=np.abs(arrays["S"]) + 1))
PACKED.variant("sequences see those before them")(lambda Q, K, V, E: layers.causal_attention(Q, K, V))
PACKED.variant("tokens see later ones of their sequence")(
    lambda Q, K, V, E: layers.masked_attention(
        Q, K, V, (m := kernels.mask_of_packed(E, Q[:, :1])) + m.T - eye(Q.shape[0])
    )
)
wrong_scales(PACKED, kernels.packed_attention)

# -- biases, caps, sinks -----------------------------------------------------------------------------------------------

BIASED = Profile(
    "transformer.biased_attention", sizes=SIZES,
    layout=f"queries, keys and values are rows; B is added to s Q K^T; s is a number; {MASK}",
)  # fmt: skip


@BIASED.inputs
def operands_with_bias(Q: Queries, K: Keys, V: Values, B: kernels.Bias, S: Signs, s: kernels.Scale) -> dict[str, Any]:
    return boolean({"Q": Q, "K": K, "V": V, "B": B, "M": mask_of(S), "s": float(s) if is_tensor(s) else s})


@BIASED.rows("m", "n")
def biased_rows(rows: Sequence[int], Q: Any, K: Any, V: Any, B: Any, M: Any, s: Any) -> Any:
    return kernels.biased_attention(Q[list(rows)], K, V, B[list(rows)], M[list(rows)], s)


BIASED.domain("no key masked", nothing_masked)
BIASED.variant("the bias is left out")(lambda Q, K, V, B, M, s: kernels.biased_attention(Q, K, V, 0 * B, M, s))
BIASED.variant("the bias is scaled too")(lambda Q, K, V, B, M, s: kernels.biased_attention(Q, K, V, B * s, M, s))
BIASED.variant("the bias is subtracted")(lambda Q, K, V, B, M, s: kernels.biased_attention(Q, K, V, 0 - B, M, s))
BIASED.variant("the mask is left out")(lambda Q, K, V, B, M, s: kernels.biased_attention(Q, K, V, B, M >= 0, s))
BIASED.variant("logits are divided by sqrt(d_K), whatever s is")(
    lambda Q, K, V, B, M, s: kernels.biased_attention(Q / sqrt(Q.shape[1]), K, V, B, M, 1.0)
)

HEADS = Profile(
    "transformer.biased_heads",
    sizes={"B": (1, 3), "H": (1, 4), "G": (1, 2), "m": (1, 3), "n": (1, 4), "d_K": (1, 4), "d_V": (1, 3)},
    where=lambda s: s["H"] % s["G"] == 0 and s["B"] * s["H"] * s["m"] <= 24,
    large=Large(counts=("B", "H", "G"), where=lambda s: s["H"] % s["G"] == 0),
    layout="axes are sample, head, token, feature; A is a bias for each head, M a boolean mask for each sample, true where a"
    " query may attend to a key; each may attend to some key",
)  # fmt: skip


@HEADS.inputs
def heads_with_bias(
    Q: layers.HeadQueries, K: layers.HeadKeys, V: layers.HeadValues, A: kernels.HeadBias,
    S: Annotated[Any, Shape("B", "m", "n", role="gate")],
) -> dict[str, Any]:  # fmt: skip
    B, m, n = S.shape
    masks = concatenate([mask_of(S[b]).reshape(1, m * n) for b in range(B)], axis=0).reshape(B, m, n)
    return boolean({"Q": Q, "K": K, "V": V, "A": A, "M": masks})


@HEADS.rows("m", "n", axis=2)
def rows_of_heads(rows: Sequence[int], Q: Any, K: Any, V: Any, A: Any, M: Any) -> Any:
    chosen = list(rows)
    return kernels.biased_heads(Q[:, :, chosen], K, V, A[:, chosen], M[:, chosen])


HEADS.domain("no key masked", nothing_masked)
extreme_domains(HEADS)
HEADS.sums("B")
HEADS.variant("the bias is left out")(lambda Q, K, V, A, M: kernels.biased_heads(Q, K, V, 0 * A, M))
HEADS.variant("all heads have the bias of the first")(
    lambda Q, K, V, A, M: kernels.biased_heads(
        Q, K, V, indexed("xij,h->(h)(i)(j)", A[:1], ones(Q.shape[1], 1).reshape(-1)), M
    )
)
HEADS.variant("all samples have the mask of the first")(
    lambda Q, K, V, A, M: kernels.biased_heads(Q, K, V, A, M[:1].expand_as(M))
)
HEADS.variant("the bias is divided by sqrt(d_K) too")(
    lambda Q, K, V, A, M: kernels.biased_heads(Q, K, V, A / sqrt(Q.shape[3]), M)
)
wrong_scales(HEADS, kernels.biased_heads)

ALIBI = Profile(
    "transformer.alibi_attention", sizes={"B": (1, 2), "H": (1, 7), "n": (1, 4), "d_K": (1, 3), "d_V": (1, 3)},
    where=lambda s: s["B"] * s["H"] * s["n"] <= 30, large=Large(counts=("B", "H")),
    layout="axes are sample, head, token, feature; token i attends to the tokens 1, ..., i, with slope_h (j - i) added to the"
    " logit of token j; the slopes of numbers of heads that are no powers of two are those of the paper's code",
)  # fmt: skip


extreme_domains(ALIBI)


def _alibi(slopes: Callable[[int, Any], list[Any]], after: bool = True) -> Callable[..., Any]:
    """ALiBi with other slopes; `after`: after the scale."""

    def attention(Q: Any, K: Any, V: Any) -> Any:
        _, H, n, d_K = Q.shape
        at = np.arange(n) - np.arange(n)[:, None]
        T = indexed("bhic,bhjc->(b)(h)(i)(j)", Q, K) / sqrt(d_K)
        scale = 1 if after else 1 / sqrt(d_K)
        A = Q.new_tensor(np.stack([float(m) * at for m in slopes(H, 2.0)]))
        P = (T + A * scale).masked_fill(Q.new_tensor(at) > 0, -np.inf).softmax(-1)
        return P @ V

    return attention


def bias_undone(arrays: dict[str, Any]) -> None:
    """In the head of the least slope, keys of which the first feature takes the bias back: its weights are nearly equal.

    Rows of the other heads add up weights of few keys, those that are near.
    """
    Q, K = arrays["Q"], arrays["K"]
    H, n, d_K = K.shape[-3:]
    slopes = [float(m) for m in _slopes(H, 2.0)]
    head = int(np.argmin(slopes))
    Q[..., head, :, 0] = 1
    K[..., head, :, 0] = -slopes[head] * d_K**0.5 * np.arange(n)


ALIBI.long("a bias that keys take back", bias_undone)


@ALIBI.rows("n", axis=2)
def rows_of_alibi(rows: Sequence[int], Q: Any, K: Any, V: Any) -> Any:
    H, n = Q.shape[1:3]
    at = Q.new_tensor(np.arange(n)[None, :] - np.array(rows)[:, None])
    slopes = Q.new_tensor([float(m) for m in _slopes(H, 2.0)])[:, None, None]
    T = Q[:, :, list(rows)] @ K.mT / Q.shape[3] ** 0.5 + slopes * at
    return T.masked_fill(at > 0, -np.inf).softmax(-1) @ V


def _slopes(H: int, two: Any) -> list[Any]:
    import torch

    return kernels.alibi_slopes(H, torch.tensor(2.0, dtype=torch.float64))


ALIBI.variant("slopes are 2^(-8 i / H) for any number of heads")(
    _alibi(lambda H, two: [two ** (-8 * (i + 1) / H) for i in range(H)])
)
ALIBI.variant("the bias is left out")(_alibi(lambda H, two: [0.0] * H))
ALIBI.variant("keys far away are preferred, not those near")(_alibi(lambda H, two: [-m for m in _slopes(H, two)]))
ALIBI.variant("the bias is divided by sqrt(d_K) too")(_alibi(_slopes, after=False))
wrong_scales(ALIBI, kernels.alibi_attention)

CAPPED = Profile(
    "transformer.capped_attention", sizes=SIZES,
    layout=f"queries, keys and values are rows; logits become c tanh(logit / c), then M masks; c is a number; {MASK}",
)  # fmt: skip


@CAPPED.inputs
def operands_to_cap(Q: Queries, K: Keys, V: Values, S: Signs, c: kernels.Cap) -> dict[str, Any]:
    return boolean({"Q": Q, "K": K, "V": V, "M": mask_of(S), "c": float(c) if is_tensor(c) else c})


CAPPED.rows("m", "n", of=lambda rows, Q, K, V, M, c: kernels.capped_attention(Q[list(rows)], K, V, M[list(rows)], c))
CAPPED.domain("no key masked", nothing_masked)


def _capped_logits(Q: Any, K: Any, c: Any) -> Any:
    return kernels.tanh(Q @ K.T / sqrt(Q.shape[1]) / c) * c


@CAPPED.variant("logits are capped after the mask: masked keys count with the weight of -c")
def _(Q: Any, K: Any, V: Any, M: Any, c: Any) -> Any:
    T = _capped_logits(Q, K, c)
    return softmax(T * M - (M == 0) * c) @ V


CAPPED.variant("the cap is left out")(lambda Q, K, V, M, c: layers.masked_attention(Q, K, V, M))
CAPPED.variant("capped logits are not multiplied by c again")(
    lambda Q, K, V, M, c: masked_softmax(kernels.tanh(Q @ K.T / sqrt(Q.shape[1]) / c), M) @ V
)
CAPPED.variant("logits are clamped, not capped smoothly")(
    lambda Q, K, V, M, c: masked_softmax((Q @ K.T / sqrt(Q.shape[1])).clamp(-c, c), M) @ V
)
CAPPED.variant("logits are capped before they are divided by sqrt(d_K)")(
    lambda Q, K, V, M, c: masked_softmax(kernels.tanh(Q @ K.T / c) * c / sqrt(Q.shape[1]), M) @ V
)
CAPPED.variant("the mask is left out")(lambda Q, K, V, M, c: softmax(_capped_logits(Q, K, c)) @ V)
wrong_scales(CAPPED, kernels.capped_attention)

SINK = Profile(
    "transformer.sink_attention",
    sizes={"B": (1, 2), "H": (1, 4), "G": (1, 2), "m": (1, 3), "n": (1, 4), "d_K": (1, 4), "d_V": (1, 3)},
    where=lambda s: s["H"] % s["G"] == 0 and s["B"] * s["H"] * s["m"] <= 24,
    large=Large(counts=("B", "H", "G"), where=lambda s: s["H"] % s["G"] == 0),
    layout="axes are sample, head, token, feature; z has the logit of each head's sink; M is a boolean mask, true where a query"
    " may attend to a key; some queries may attend to none, and get zeros",
)  # fmt: skip


@SINK.inputs
def heads_with_sinks(
    Q: layers.HeadQueries, K: layers.HeadKeys, V: layers.HeadValues, S: Signs, R: RowSigns, z: kernels.Sinks
) -> dict[str, Any]:
    return boolean({"Q": Q, "K": K, "V": V, "M": mask_of(S) * step(R), "z": z})


SINK.rows(
    "m", "n", axis=2, of=lambda rows, Q, K, V, M, z: kernels.sink_attention(Q[:, :, list(rows)], K, V, M[list(rows)], z)
)


def _sinks_and_logits_about(size: int) -> Callable[[dict[str, Any], Mapping[str, int], Any], None]:
    """An edit after which logits, and sinks with them, differ from `size` by little: a sink that is clipped counts otherwise."""

    def edit(arrays: dict[str, Any], sizes: Mapping[str, int], rng: Any) -> None:
        root = sizes["d_K"] ** 0.5
        arrays["Q"] = 6 + arrays["Q"] / 16
        arrays["K"] = round(size / 6 / root) + arrays["K"] / 16
        arrays["z"] = round(6 * round(size / 6 / root) * root) + arrays["z"]

    return edit


def _all_keys_allowed(arrays: dict[str, Any]) -> None:
    arrays.update({name: abs(arrays[name]) for name in ("S", "R")})


extreme_domains(SINK)
SINK.sums("B", "m", edit=_all_keys_allowed, H=4)
SINK.domain("no query has keys", _rows_without_keys)
SINK.domain("every query has keys", _rows_with_keys)
SINK.domain("a causal mask", made_causal)
SINK.domain("sinks and logits far above zero", _sinks_and_logits_about(36))
SINK.domain("sinks and logits far below zero", _sinks_and_logits_about(-36))


def _without_a_sink(Q: Any, K: Any, V: Any, M: Any, z: Any) -> Any:
    return layers.batched_attention(Q, K, V, M)


SINK.variant("there is no sink")(_without_a_sink)
SINK.variant("all heads have the sink of the first")(
    lambda Q, K, V, M, z: kernels.sink_attention(Q, K, V, M, z[:1].expand_as(z))
)
SINK.variant("exp(z) is one: the sink is a constant")(lambda Q, K, V, M, z: kernels.sink_attention(Q, K, V, M, 0 * z))
SINK.variant("the sink is divided by sqrt(d_K) too")(
    lambda Q, K, V, M, z: kernels.sink_attention(Q, K, V, M, z / sqrt(Q.shape[3]))
)
wrong_scales(SINK, kernels.sink_attention)
