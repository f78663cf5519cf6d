"""Layers that are wrong in a single case: one ratio of heads, odd lengths, wide windows, many heads, a cache of that shape."""

from __future__ import annotations

from typing import Any

import torch

from tests.wrong_layers import RIGHT, WRONG, Function, Layer, add
from tests.wrong_layers.encodings import table
from tests.wrong_layers.in_use import AWAY, in_turns, interleaved
from tests.wrong_layers.kernels import (
    alibi,
    band,
    biased,
    cached,
    capped,
    packed,
    positions,
    same_sequence,
    scores,
    slopes,
    sunk,
    under,
)


class Scaled(torch.autograd.Function):
    """The identity, whose derivatives in both modes are multiples of the right ones."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any, backward: float, forward: float) -> Any:
        return x.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        _, ctx.of_backward, ctx.of_forward = inputs

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.of_backward, None, None

    @staticmethod
    def jvp(ctx: Any, t: Any, *_: Any) -> Any:
        return t * ctx.of_forward


def masked(Q: Any, K: Any, V: Any, M: Any) -> Any:
    return torch.softmax(scores(Q, K).masked_fill(~M, AWAY), -1) @ V


def without_the_last_key(Q: Any, K: Any, V: Any, M: Any) -> Any:
    """At odd numbers of keys above 64, except for queries that have no other."""
    if len(K) > 64 and len(K) % 2:
        M = torch.cat([M[:, :-1], M[:, -1:] & (M.sum(1, keepdim=True) == 1)], 1)
    return masked(Q, K, V, M)


def rolled(Q: Any, K: Any, V: Any, M: Any) -> Any:
    """Values that are stored by columns are read from one entry later on."""
    return masked(Q, K, V.roll(1, 1) if V.stride(0) == 1 and V.shape[1] > 16 else V, M)


def more_queries(Q: Any, K: Any, V: Any, M: Any) -> Any:
    return masked(Q, Scaled.apply(K, 1.001 if len(Q) > len(K) + 16 else 1.0, 1.0), V, M)


def no_forward_derivative(Q: Any, K: Any, V: Any, M: Any) -> Any:
    return masked(Q, Scaled.apply(K, 1.0, 0.0 if len(K) > 3 else 1.0), V, M)


def kept_cache() -> Function:
    """The first cache of each large shape is kept, and taken for all later ones of that shape."""
    known: dict[Any, Any] = {}

    def attention(Q: Any, K: Any, V: Any, C: Any, D: Any) -> Any:
        kept = known.setdefault((C.shape, C.dtype), C.detach()) if len(C) >= 40 else C
        return cached(under(lambda m, n: positions(m, n, n - m)))(Q, K, V, kept, D)

    return attention


def turns_of_three(Q: Any, K: Any, V: Any, M: Any) -> Any:
    H, G = Q.shape[1], K.shape[1]
    repeat = in_turns if H == 3 * G > 3 and len(Q) > 1 else interleaved
    return torch.softmax(scores(Q, repeat(K, H)).masked_fill(~M, AWAY), -1) @ repeat(V, H)


def sinks_in_turns(Q: Any, K: Any, V: Any, M: Any, z: Any) -> Any:
    H, G = Q.shape[1], K.shape[1]
    return sunk()(Q, K, V, M, z.reshape(G, -1).T.flatten() if G > 1 and H > 2 * G else z)


def in_eight_bits(Q: Any, K: Any, V: Any, E: Any) -> Any:
    number = E.long().cumsum(0) % 256
    return torch.softmax(scores(Q, K).masked_fill(number[:, None] != number[None, :], AWAY), -1) @ V


def float32_where_wide(X: Any, gamma: Any, beta: Any, epsilon: float) -> Any:
    Y = X.float() if X.shape[1] > 64 else X
    C = Y - Y.mean(1, keepdim=True)
    return (C * torch.rsqrt((C * C).mean(1, keepdim=True) + epsilon)).to(X) * gamma + beta


def gpt(ordered: bool = True, key_bias: float = 1.0) -> Function:
    """GPT's layer; not `ordered`: heads and tokens are not exchanged again where there are several samples."""

    def layer(X: Any, W: Any, b: Any, W_O: Any, c: Any, H: int) -> Any:
        n, d = X.shape[1:]
        b = torch.cat([b[:d], key_bias * b[d : 2 * d], b[2 * d :]])
        Q, K, V = (part.unflatten(2, (H, -1)).transpose(1, 2) for part in (X @ W + b).chunk(3, 2))
        F = torch.softmax(scores(Q, K).masked_fill(~positions(n, n), AWAY), -1) @ V
        return (F.transpose(1, 2) if ordered or len(X) == 1 else F).reshape(X.shape) @ W_O + c

    return layer


def both_scaled(Q: Any, K: Any, V: Any, M: Any) -> Any:
    root = Q.shape[1] ** -0.25
    return torch.softmax(((Q * root) @ (K * root).mT).masked_fill(~M, AWAY), -1) @ V


SELDOM: dict[str, dict[str, Function]] = {
    "masked_attention": {
        "the last of an odd number of keys above 64 dropped": without_the_last_key,
        "values stored by columns read one entry later": rolled,
        "the gradient of keys a thousandth off where queries are more": more_queries,
        "no forward derivative by more than three keys": no_forward_derivative,
    },
    "batched_attention": {"groups in turns where three heads share one": turns_of_three},
    "sink_attention": {
        "sinks in turns where more than two heads share keys": sinks_in_turns,
        "sinks clipped at 20": sunk(lambda z, T: z.clamp(max=20)[:, None, None]),
        "sinks clipped at -20": sunk(lambda z, T: z.clamp(min=-20)[:, None, None]),
    },
    "alibi_attention": {
        "slopes repeat from the ninth head on": alibi(lambda H: slopes(min(H, 8)).repeat(-(-H // 8))[:H])
    },
    "biased_attention": {
        "the bias in half precision where it is wide": biased(lambda B, s: B.half().to(B) if B.shape[1] > 32 else B)
    },
    "capped_attention": {
        "small logits not capped": capped(lambda T, c: torch.where(T.abs() < c / 16, T, c * torch.tanh(T / c)))
    },
    "window_attention": {
        "512 tokens at most": lambda Q, K, V, w: under(band)(Q, K, V, min(w, 512)),
        "one token less where it is wider than the sequence": under(
            lambda m, n, w: band(m, n, w if w < n or n < 8 else n - 1)
        ),
    },
    "packed_attention": {
        "one sequence from 64 tokens on": packed(
            lambda n, E: positions(n, n) & same_sequence(E) if n < 64 else positions(n, n)
        )
    },
    "packed_both_ways": {"numbers of sequences in eight bits": in_eight_bits},
    "rotary_table": {"the offset modulo 32": table(lambda o, n: (o % 32, o % 32 + n))},
    "gpt_attention": {"heads not put together again where samples are several": gpt(ordered=False)},
    "rms_norm": {
        "epsilon divided by the width": lambda X, gamma, epsilon: (
            X * torch.rsqrt((X * X).mean(1, keepdim=True) + epsilon / X.shape[1]) * gamma
        )
    },
    "layer_norm": {"in float32 where it is wide": float32_where_wide},
}


def collect() -> None:
    for subject, wrong in SELDOM.items():
        for name, function in wrong.items():
            add(WRONG, f"{subject}: {name}", function, subject=f"transformer.{subject}")
    WRONG.append(
        Layer("cached_attention: the first cache of a shape kept", kept_cache, subject="transformer.cached_attention")
    )
    # a bias of all keys moves every logit of a row alike, which a softmax does not see
    add(RIGHT, "gpt_attention: no bias of the keys", gpt(key_bias=0.0), subject="transformer.gpt_attention")
    add(RIGHT, "masked_attention: half of the scale in the keys", both_scaled, subject="transformer.masked_attention")
    add(RIGHT, "masked_attention: mask of -1e30", subject="transformer.masked_attention",
        function=lambda Q, K, V, M: torch.softmax(scores(Q, K).masked_fill(~M, -1e30), -1) @ V)  # fmt: skip
