"""What the gate knows of attention layers in use: layouts, sizes, how masks are drawn, and the mistakes that layers have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from theorems.transformer import definitions as layers
from theorems.transformer.settings import (
    Keys, Logits, Queries, Signs, Values, mask_of, masked_logits, masked_operands,
)  # fmt: skip
from verify.arithmetics import is_tensor
from verify.gate.profiles import Large, Profile
from verify.matrix import causal_mask, centred, concatenate, indexed, masked_softmax, ones, row_sums, softmax, sqrt
from verify.vocabulary import Shape, Size

MASK = "M is a boolean mask, true where a query may attend to a key; each may attend to some key"


def far_below(arrays: dict[str, Any], sizes: Mapping[str, int], rng: Any) -> None:
    """Queries near (256, ..., 256), every other key near (-256, ..., -256), the rest small: logits of -65536 sqrt(d_K) and of 0."""
    Q, K = arrays["Q"], arrays["K"]
    Q[...], K[...] = 256 + Q / 4, K / 4
    K[..., ::2, :] -= 256


FAR_BELOW = "logits of allowed keys far below those of masked ones"


def before_the_scale(arrays: dict[str, Any], sizes: Mapping[str, int], rng: Any) -> None:
    """Products of queries and keys of up to 80000, which is beyond float16, and within it once they are divided by sqrt(d_K)."""
    Q, K = arrays["Q"], arrays["K"]
    width = Q.shape[-1]
    size = float(round((80000 / width if width > 1 else 40000) ** 0.5))
    Q[...] = size
    for place in range(K.shape[-2]):
        K[..., place, :] = size - 16 * place


BEFORE_THE_SCALE = "logits beyond float16 before they are scaled"


def tokens_before_the_scale(arrays: dict[str, Any], sizes: Mapping[str, int], rng: Any) -> None:
    """The same of tokens with weights: token i is 1 - i/16, in every entry, and weights give queries and keys of equal entries."""
    X, W_Q, W_K = arrays["X"], arrays["W_Q"], arrays["W_K"]
    width = sizes.get("e", W_Q.shape[-1])
    size = float(round((80000 / width if width > 1 else 40000) ** 0.5))
    for place in range(X.shape[-2]):
        X[..., place, :] = 1 - place / 16
    W_Q[...] = W_K[...] = size / X.shape[-1]


def extreme_domains(profile: Profile) -> None:
    """Declare the domains of logits far from zero."""
    profile.domain(FAR_BELOW, far_below)
    profile.domain(BEFORE_THE_SCALE, before_the_scale, in_half=True)


def nothing_masked(arrays: dict[str, Any], sizes: Mapping[str, int], rng: Any) -> None:
    arrays["S"] = np.abs(arrays["S"]) + 1


def made_causal(arrays: dict[str, Any], sizes: Mapping[str, int], rng: Any) -> None:
    arrays["S"] = np.where(np.tri(*arrays["S"].shape[-2:]) > 0, 1.0, -1.0) * np.ones_like(arrays["S"])


def wrong_scales(profile: Profile, definition: Callable[..., Any]) -> None:
    """Declare the usual mistakes in the scale of Q K^T, of a function of queries, keys, values and whatever follows."""

    def declare(name: str, factor: Callable[[Any, Any], Any]) -> None:
        profile.variant(name)(lambda Q, K, V, *M, **rest: definition(Q * factor(Q, V), K, V, *M, **rest))

    declare("the scale 1/sqrt(d_K) is missing", lambda Q, V: sqrt(Q.shape[-1]))
    declare("the logits are divided by d_K instead of sqrt(d_K)", lambda Q, V: 1 / sqrt(Q.shape[-1]))
    declare("the logits are multiplied by sqrt(d_K), not divided", lambda Q, V: Q.shape[-1])
    declare(
        "the logits are divided by sqrt(d_V), of the width of the values, not of the keys",
        lambda Q, V: sqrt(Q.shape[-1]) / sqrt(V.shape[-1]),
    )


# -- under a mask ------------------------------------------------------------------------------------------------------

SOFTMAX = Profile(
    "transformer.masked_softmax", sizes={"m": (1, 4), "n": (1, 6)}, layout=f"one distribution per row; {MASK}"
)


def boolean(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The same inputs with the mask M, as layers take it, of the type bool where it is a tensor."""
    return {**inputs, "M": inputs["M"] != 0 if is_tensor(inputs["M"]) else inputs["M"]}


def masked_above(arrays: dict[str, Any], sizes: Mapping[str, int], rng: Any) -> None:
    """Every other logit near -2^15, so that what stands for minus infinity has to be far below."""
    arrays["T"][..., ::2] -= 2.0**15


SOFTMAX.domain("no key masked", nothing_masked)
SOFTMAX.domain("logits of allowed keys about -2^15", masked_above, in_half=True)
SOFTMAX.rows("m", "n", of=lambda rows, T, M: masked_softmax(T[list(rows)], M[list(rows)]))


@SOFTMAX.inputs
def logits(T: Logits, S: Signs) -> dict[str, Any]:
    return boolean(masked_logits(T, S))


SOFTMAX.variant("the mask is left out", lambda T, M: softmax(T))
SOFTMAX.variant("the mask is the wrong way round: 1 is taken for masked", lambda T, M: masked_softmax(T, M == 0))
SOFTMAX.variant("masked logits are 0, not minus infinity", lambda T, M: softmax(T * M))
SOFTMAX.variant("masked weights are dropped after the softmax and the rest not normalised", lambda T, M: softmax(T) * M)

ATTENTION = Profile(
    "transformer.masked_attention", sizes={"m": (1, 4), "n": (1, 5), "d_K": (1, 4), "d_V": (1, 3)},
    layout=f"queries, keys and values are rows; {MASK}",
)  # fmt: skip


extreme_domains(ATTENTION)
ATTENTION.domain("no key masked", nothing_masked)
ATTENTION.domain("a causal mask", made_causal)
ATTENTION.rows("m", "n", of=lambda rows, Q, K, V, M: layers.masked_attention(Q[list(rows)], K, V, M[list(rows)]))


@ATTENTION.inputs
def operands(Q: Queries, K: Keys, V: Values, S: Signs) -> dict[str, Any]:
    return boolean(masked_operands(Q, K, V, S))


ATTENTION.variant("the mask is left out", lambda Q, K, V, M: layers.masked_attention(Q, K, V, M >= 0))
ATTENTION.variant(
    "the mask is the wrong way round: 1 is taken for masked",
    lambda Q, K, V, M: layers.masked_attention(Q, K, V, M == 0),
)
ATTENTION.variant(
    "masked logits are 0, not minus infinity", lambda Q, K, V, M: softmax(Q @ K.T / sqrt(Q.shape[1]) * M) @ V
)
ATTENTION.variant(
    "masked weights are dropped after the softmax and the rest not normalised",
    lambda Q, K, V, M: (softmax(Q @ K.T / sqrt(Q.shape[1])) * M) @ V,
)
ATTENTION.variant(
    "the mask is added to the logits as it is, 1 for allowed keys",
    lambda Q, K, V, M: softmax(Q @ K.T / sqrt(Q.shape[1]) + M) @ V,
)

wrong_scales(ATTENTION, layers.masked_attention)


CAUSAL = Profile(
    "transformer.causal_attention", sizes={"n": (1, 5), "d_K": (1, 4), "d_V": (1, 3)},
    layout="tokens are rows; token i attends to the tokens 1, ..., i",
)  # fmt: skip


extreme_domains(CAUSAL)


@CAUSAL.rows()
def causal_rows(rows: Sequence[int], Q: Any, K: Any, V: Any) -> Any:
    allowed = causal_mask(Q.shape[0])[list(rows)]
    return layers.masked_attention(Q[list(rows)], K, V, allowed)


CAUSAL.variant("the causal mask is left out", lambda Q, K, V: softmax(Q @ K.T / sqrt(Q.shape[1])) @ V)
CAUSAL.variant(
    "the causal mask is transposed: tokens attend to themselves and later ones",
    lambda Q, K, V: layers.masked_attention(Q, K, V, causal_mask(Q.shape[0]).T),
)
CAUSAL.variant(
    "masked weights are dropped after the softmax and the rest not normalised",
    lambda Q, K, V: (softmax(Q @ K.T / sqrt(Q.shape[1])) * causal_mask(Q.shape[0])) @ V,
)


@CAUSAL.variant("token i attends to token i + 1 too")
def _(Q: Any, K: Any, V: Any) -> Any:
    n = Q.shape[0]
    wider = concatenate([causal_mask(n)[1:], ones(1, n)], axis=0)
    return layers.masked_attention(Q, K, V, wider)


wrong_scales(CAUSAL, layers.causal_attention)


# -- batches and heads -------------------------------------------------------------------------------------------------

BATCHED = Profile(
    "transformer.batched_attention",
    sizes={"B": (1, 3), "H": (1, 6), "G": (1, 3), "m": (1, 3), "n": (1, 4), "d_K": (1, 4), "d_V": (1, 3)},
    where=lambda s: s["H"] % s["G"] == 0 and (s["H"] > s["G"] > 1 or s["H"] <= 2) and s["B"] * s["H"] * s["m"] <= 24,
    large=Large(counts=("B", "H", "G"), where=lambda s: s["H"] % s["G"] == 0),
    layout=f"axes are sample, head, token, feature; head h has the keys of group h G / H, rounded down; {MASK}",
)  # fmt: skip


extreme_domains(BATCHED)
BATCHED.domain("no key masked", nothing_masked)
BATCHED.domain("a causal mask", made_causal)
BATCHED.rows(
    "m", "n", axis=2, of=lambda rows, Q, K, V, M: layers.batched_attention(Q[:, :, list(rows)], K, V, M[list(rows)])
)


@BATCHED.inputs
def heads(Q: layers.HeadQueries, K: layers.HeadKeys, V: layers.HeadValues, S: Signs) -> dict[str, Any]:
    return boolean({"Q": Q, "K": K, "V": V, "M": mask_of(S)})


def _in_turns(K: Any, H: int) -> Any:
    """Keys of group h mod G for head h, shape (B, H, n, width)."""
    return indexed("bgjc,r->(b)(r g)(j)(c)", K, ones(1, H // K.shape[1]).reshape(-1))


BATCHED.variant("the mask is left out", lambda Q, K, V, M: layers.batched_attention(Q, K, V, M >= 0))
BATCHED.variant(
    "the mask is the wrong way round: 1 is taken for masked",
    lambda Q, K, V, M: layers.batched_attention(Q, K, V, M == 0),
)
BATCHED.variant(
    "heads take groups of keys in turns: h mod G, not h G / H",
    lambda Q, K, V, M: layers.batched_attention(Q, _in_turns(K, Q.shape[1]), _in_turns(V, Q.shape[1]), M),
)
BATCHED.variant(
    "all heads have the keys and values of the first group",
    lambda Q, K, V, M: layers.batched_attention(Q, K[:, :1], V[:, :1], M),
)


@BATCHED.variant("all samples have the keys and values of the last one")
def _(Q: Any, K: Any, V: Any, M: Any) -> Any:
    B = Q.shape[0]
    keys, values = (indexed("bgjc,xb->(x)(g)(j)(c)", operand[-1:], ones(B, 1)) for operand in (K, V))
    return layers.batched_attention(Q, keys, values, M)


wrong_scales(BATCHED, layers.batched_attention)

BATCHED.variant(
    "the logits are divided by sqrt(H d_K), the width of all heads",
    lambda Q, K, V, M: layers.batched_attention(Q / sqrt(Q.shape[1]), K, V, M),
)

LAYER = Profile(
    "transformer.attention_layer",
    sizes={"B": (1, 2), "n": (1, 4), "H": (1, 4), "G": (1, 2), "e": (1, 3), "d": (1, 8), "k": (1, 8)},
    where=lambda s: s["d"] == s["H"] * s["e"] and s["k"] == s["G"] * s["e"] and s["H"] % s["G"] == 0,
    large=Large(counts=("B", "H", "G"), derived={"d": lambda s: s["H"] * s["e"], "k": lambda s: s["G"] * s["e"]},
                where=lambda s: s["H"] % s["G"] == 0),
    layout=f"samples of tokens that are rows; heads and groups are consecutive columns of the weights; {MASK}",
)  # fmt: skip


LAYER.domain("no key masked", nothing_masked)
LAYER.domain("a causal mask", made_causal)
LAYER.domain(BEFORE_THE_SCALE, tokens_before_the_scale, in_half=True)


@LAYER.rows("n", axis=1)
def rows_of_layer(rows: Sequence[int], X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, M: Any, H: int, G: int) -> Any:
    Q, K, V = (
        (x @ W).unflatten(2, (count, -1)).transpose(1, 2)
        for x, W, count in ((X[:, list(rows)], W_Q, H), (X, W_K, G), (X, W_V, G))
    )
    return layers.batched_attention(Q, K, V, M[list(rows)]).transpose(1, 2).flatten(2) @ W_O


@LAYER.inputs
def layer(
    X: layers.Samples,
    W_Q: Annotated[Any, Shape("d", "d", role="query")],
    W_K: Annotated[Any, Shape("d", "k")],
    W_V: Annotated[Any, Shape("d", "k")],
    W_O: Annotated[Any, Shape("d", "d")],
    S: Annotated[Any, Shape("n", "n", role="gate")],
    H: Annotated[int, Size("H")],
    G: Annotated[int, Size("G")],
    e: Annotated[int, Size("e")],
) -> dict[str, Any]:
    return boolean({"X": X, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "W_O": W_O, "M": mask_of(S), "H": H, "G": G})


LAYER.variant(
    "the mask is left out",
    lambda X, W_Q, W_K, W_V, W_O, M, H, G: layers.attention_layer(X, W_Q, W_K, W_V, W_O, M >= 0, H, G),
)


@LAYER.variant("heads are interleaved: head h has the columns h, h + H, ...")
def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, M: Any, H: Any, G: Any) -> Any:
    def sorted_columns(W: Any, count: int) -> Any:
        return indexed("deh->(d)(h e)", W.reshape(W.shape[0], -1, count))

    return layers.attention_layer(
        X, sorted_columns(W_Q, H), sorted_columns(W_K, G), sorted_columns(W_V, G), W_O, M, H, G
    )


@LAYER.variant("heads are concatenated in the opposite order")
def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, M: Any, H: Any, G: Any) -> Any:
    return layers.attention_layer(X, W_Q, W_K, W_V, W_O.unflatten(0, (H, -1)).flip(0).flatten(0, 1), M, H, G)


def _with_queries(scale: Callable[[int, int], Any]) -> Callable[..., Any]:
    """The layer with queries multiplied by a function of the width d of the model and the number H of heads."""
    return lambda X, W_Q, W_K, W_V, W_O, M, H, G: layers.attention_layer(
        X, W_Q * scale(X.shape[2], H), W_K, W_V, W_O, M, H, G
    )


LAYER.variant("the scale 1/sqrt(e) of heads of width e = d / H is missing")(_with_queries(lambda d, H: sqrt(d // H)))
LAYER.variant("the logits are divided by e = d / H instead of sqrt(e)")(_with_queries(lambda d, H: 1 / sqrt(d // H)))
LAYER.variant("the logits are divided by sqrt(d), of the width of the model, not of a head")(
    _with_queries(lambda d, H: 1 / sqrt(H))
)


@LAYER.variant("the output projection W_O is missing")
def _(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, M: Any, H: Any, G: Any) -> Any:
    Q, K, V = (
        indexed("bid,dhe->(b)(h)(i)(e)", X, W.reshape(W.shape[0], n, -1)) for W, n in ((W_Q, H), (W_K, G), (W_V, G))
    )
    return indexed("bhia->(b)(i)(h a)", layers.batched_attention(Q, K, V, M))


# -- positions and normalisation ---------------------------------------------------------------------------------------

ROTARY = Profile(
    "transformer.rotary", sizes={"n": (1, 4), "p": (1, 4), "d": (2, 8)}, where=lambda sizes: sizes["d"] == 2 * sizes["p"],
    large=Large(derived={"d": lambda s: 2 * s["p"]}),
    layout="entries k and p + k of a row of width 2 p make one pair, C and S its cosine and sine",
)  # fmt: skip


@ROTARY.variant("pairs are neighbours, entries 2 k and 2 k + 1")
def _(X: Any, C: Any, S: Any) -> Any:
    n, d = X.shape
    halves = indexed("ikj->(i)(j k)", X.reshape(n, d // 2, 2))
    return indexed("ijk->(i)(k j)", layers.rotary(halves, C, S).reshape(n, 2, d // 2))


ROTARY.variant("rows are turned backwards", lambda X, C, S: layers.rotary(X, C, 0 - S))

LAYER_NORM = Profile("transformer.layer_norm", sizes={"n": (1, 4), "d": (1, 6)}, layout="rows of X are normalised")
LAYER_NORM.sums("n")


def number(epsilon: Any) -> Any:
    """A constant of the layer, by which nobody differentiates, as a plain number where it is a tensor."""
    return float(epsilon) if is_tensor(epsilon) else epsilon


@LAYER_NORM.inputs
def rows_to_normalise(
    X: layers.Rows, gamma: layers.Gain, beta: layers.Shift, epsilon: layers.Epsilon
) -> dict[str, Any]:
    return {"X": X, "gamma": gamma, "beta": beta, "epsilon": number(epsilon)}


LAYER_NORM.variant(
    "the mean of each row is not subtracted, as in RMSNorm",
    lambda X, gamma, beta, epsilon: layers.rms_norm(X, gamma, epsilon) + beta.reshape(1, -1),
)


@LAYER_NORM.variant("the variance is divided by d - 1")
def _(X: Any, gamma: Any, beta: Any, epsilon: Any) -> Any:
    C, d = centred(X), X.shape[1]
    return C / sqrt(row_sums(C * C) / (d - 1) + epsilon) * gamma.reshape(1, -1) + beta.reshape(1, -1)


@LAYER_NORM.variant("epsilon is added to the standard deviation, not under the root")
def _(X: Any, gamma: Any, beta: Any, epsilon: Any) -> Any:
    C = centred(X)
    return C / (sqrt(row_sums(C * C) / X.shape[1]) + epsilon) * gamma.reshape(1, -1) + beta.reshape(1, -1)


LAYER_NORM.variant(
    "the shift beta is missing", lambda X, gamma, beta, epsilon: layers.layer_norm(X, gamma, 0 * beta, epsilon)
)

RMS_NORM = Profile("transformer.rms_norm", sizes={"n": (1, 4), "d": (1, 6)}, layout="rows of X are normalised")
RMS_NORM.sums("n")


@RMS_NORM.inputs
def rows_to_scale(X: layers.Rows, gamma: layers.Gain, epsilon: layers.Epsilon) -> dict[str, Any]:
    return {"X": X, "gamma": gamma, "epsilon": number(epsilon)}


RMS_NORM.variant(
    "the mean of each row is subtracted, as in LayerNorm",
    lambda X, gamma, epsilon: layers.layer_norm(X, gamma, 0 * gamma, epsilon),
)
RMS_NORM.variant(
    "rows have unit norm, not unit mean square",
    lambda X, gamma, epsilon: X / sqrt(row_sums(X * X) + epsilon) * gamma.reshape(1, -1),
)
RMS_NORM.variant("the gain is 1 + gamma", lambda X, gamma, epsilon: layers.rms_norm(X, gamma + 1, epsilon))
