"""Layers with mistakes that other projects had and mended, each beside a right one of the same kind: values.

`docs/history.md` names the reports.  None of this is the code of those projects.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from tests.wrong_layers import Function, beside
from tests.wrong_layers.blocks import layer as of_tokens
from tests.wrong_layers.blocks import padded
from tests.wrong_layers.in_use import (
    fused,
    grouped,
    interleaved,
    layer,
    layer_norm,
    lower,
    masked,
    over_rms,
    scores,
    turned,
    under,
)
from tests.wrong_layers.kernels import alibi, of_heads, slopes, sunk

sdpa = torch.nn.functional.scaled_dot_product_attention


def row_major(x: Any) -> Any:
    """What a kernel reads that takes the memory of `x` for row-major, where it can."""
    if x.storage_offset() or 0 in x.stride():
        return x
    strides = [math.prod(x.shape[axis + 1 :]) for axis in range(x.dim())]
    return x.as_strided(x.shape, strides)


def rows_of_parts(x: Any) -> Any:
    """What is read where entries of a row lie side by side, and rows are taken to follow each other without gaps."""
    side_by_side = x.dim() >= 2 and x.stride(-1) == 1 and 0 not in x.stride() and not x.is_contiguous()
    return x.as_strided(x.shape, x.new_empty(x.shape).stride()) if side_by_side else x


def from_above(T: Any, M: Any, lowest: float) -> Any:
    """Weights under a mask whose running maximum begins at `lowest`."""
    T = T.masked_fill(~M, -math.inf)
    E = torch.exp(T - T.amax(-1, keepdim=True).clamp(min=lowest))
    return E / E.sum(-1, keepdim=True)


def by_quotient(x: Any, H: int) -> Any:
    """Group h / G for head h, not h G / H."""
    G = x.shape[1]
    return x[:, (torch.arange(H) // G).clamp(max=G - 1)]


def in_one_reshape(X: Any, W_Q: Any, W_K: Any, W_V: Any, H: int, G: int) -> Any:
    """Heads cut from the columns by one reshape, which mixes them with tokens."""
    B, n, _ = X.shape
    return [(X @ W).reshape(B, count, n, -1) for W, count in ((W_Q, H), (W_K, G), (W_V, G))]


def in_equal_parts(X: Any, W_Q: Any, W_K: Any, W_V: Any, H: int, G: int) -> Any:
    """Queries, keys and values as thirds of one product, also where there are fewer keys."""
    parts = (X @ torch.cat([W_Q, W_K, W_V], 1)).chunk(3, 2)
    return [x.unflatten(2, (count, -1)).transpose(1, 2) for x, count in zip(parts, (H, G, G), strict=True)]


def group_by_group(X: Any, W_Q: Any, W_K: Any, W_V: Any, H: int, G: int) -> Any:
    """One product of all queries, all keys and all values, read as if each group had its own beside each other."""
    y = (X @ torch.cat([W_Q, W_K, W_V], 1)).unflatten(2, (G, H // G + 2, -1)).movedim(1, 3)
    return y[:, :, :-2].flatten(1, 2), y[:, :, -2], y[:, :, -1]


def in_two_parts(head: int | None) -> Function:
    """Attention over two parts of the keys, put together by the sums of one head, or of each."""

    def attention(Q: Any, K: Any, V: Any, M: Any) -> Any:
        K, V = interleaved(K, Q.shape[1]), interleaved(V, Q.shape[1])
        T = scores(Q, K).masked_fill(~M, -math.inf)
        half = (T.shape[-1] + 1) // 2
        parts = [(T[..., :half], V[..., :half, :]), (T[..., half:], V[..., half:, :])]
        sums = torch.stack([t.logsumexp(-1) for t, _ in parts], -1)
        weights = torch.softmax(sums if head is None else sums[:, head : head + 1].expand_as(sums), -1)
        values = [torch.nan_to_num(torch.softmax(t, -1)) @ v for t, v in parts]
        return sum(weights[..., i, None] * value for i, value in enumerate(values))

    return attention


def in_blocks(size: int, largest: float) -> Function:
    """Blocks of keys whose maximum is kept while no weight is beyond 2^8; weights are clipped at `largest`."""

    def kernel(Q: Any, K: Any, V: Any) -> Any:
        T = scores(Q, K)
        top, total, result = torch.full((len(Q), 1), -math.inf, dtype=T.dtype), 0.0, 0.0
        for start in range(0, len(K), size):
            part = T[:, start : start + size]
            peak = part.amax(-1, keepdim=True)
            new = torch.where(peak > top + math.log(256), peak, top)
            weights, factor = torch.exp(part - new).clamp(max=largest), torch.exp(top - new)
            total = total * factor + weights.sum(-1, keepdim=True)
            result, top = result * factor + weights @ V[start : start + size], new
        return result / total

    return of_tokens(kernel)


def in_float32(weights: Function) -> Function:
    """A kernel for half precision that computes in float32 inside, with these weights."""
    return of_tokens(lambda Q, K, V: (weights(scores(Q.float(), K.float())) @ V.float()).to(V.dtype))


def without_small(T: Any) -> Any:
    """Weights that vanish below 2^-9, the least that eight bits keep, in a sum that counts them."""
    E = torch.exp(T - T.amax(-1, keepdim=True))
    return E * (E >= 2.0**-9) / E.sum(-1, keepdim=True)


def added_in(dtype: torch.dtype) -> Function:
    """Weights over a sum to which one after the other is added in `dtype`."""

    def weights(T: Any) -> Any:
        E = torch.exp(T - T.amax(-1, keepdim=True))
        exact, total = E.sum(1), torch.zeros(len(E), dtype=dtype)
        for column in E.detach().to(dtype).unbind(1):
            total = total + column
        return E / (exact + (total.to(E.dtype) - exact).detach())[:, None]

    return weights


def soft(T: Any) -> Any:
    return torch.softmax(T, -1)


def rows_as_packed(Q: Any, K: Any, V: Any, M: Any) -> Any:
    """Rows of the mask as if heads that share keys stood together among the queries, which they do not."""
    return grouped(interleaved)(Q, K, V, M[torch.arange(len(M)) // (Q.shape[1] // K.shape[1])])


def masked_by_fours(Q: Any, K: Any, V: Any) -> Any:
    """In half precision every query sees what the last of its four may see."""
    last = torch.arange(len(Q)) // 4 * 4 + 3
    allowed = torch.arange(len(Q)) <= last[:, None] if Q.dtype in (torch.float16, torch.bfloat16) else lower(len(Q))
    return (under(scores(Q.float(), K.float()), allowed) @ V.float()).to(V.dtype)


def rounded_at_64(T: Any, M: Any, width: int) -> Any:
    P = under(T, M)
    return P.half().to(P.dtype) if width % 64 == 0 else P


def sample_by_sample(M: Any, H: int) -> Any:
    """Masks of samples, each repeated for all heads in a row, where heads come first, shape (B, H, m, n)."""
    return M.repeat_interleave(H, 0).reshape(H, *M.shape).transpose(0, 1)


def masks_by_sample(Q: Any, K: Any, V: Any, A: Any, M: Any) -> Any:
    return of_heads(lambda A, T: A[None], lambda M: sample_by_sample(M, Q.shape[1]))(Q, K, V, A, M)


def without_sink_for_one(Q: Any, K: Any, V: Any, M: Any, z: Any) -> Any:
    """No sink where there is a single query, as in a step of decoding."""
    return sunk()(Q, K, V, M, z) if Q.shape[2] > 1 else grouped(interleaved)(Q, K, V, M)


def keeping_angles() -> Function:
    """Angles of the first rows of a length and a width are kept for all later ones."""
    kept: dict[Any, Any] = {}

    def rotary(X: Any, C: Any, S: Any) -> Any:
        return turned(X, *kept.setdefault((C.shape, C.dtype), (C.detach(), S.detach())))

    return rotary


def collect() -> None:
    """Add every layer, with the right one beside it."""
    one_head = masked()
    heads = grouped(interleaved)

    under_masks: dict[str, Function] = {
        "no mask": masked(lambda T, M: torch.softmax(T, -1)),
        "masked with -1e-9": masked(lambda T, M: under(T, M, -1e-9)),
        "maxima from -5e4 on": masked(lambda T, M: from_above(T, M, -5e4)),
        "causal where nothing is masked": masked(
            chosen=lambda Q, K, M: torch.ones_like(M).tril() if M.all() and len(M) > 1 else M),
        "queries taken for row-major": lambda Q, K, V, M: under(scores(row_major(Q), K), M) @ V,
        "weights in half precision where 64 divides the width": lambda Q, K, V, M: rounded_at_64(
            scores(Q, K), M, Q.shape[1]) @ V,
    }  # fmt: skip
    for name, wrong in under_masks.items():
        beside(f"masked: {name}", wrong, one_head, subject="transformer.masked_attention")

    causal: dict[str, Function] = {
        "no mask": lambda Q, K, V: torch.softmax(scores(Q, K), -1) @ V,
        "the mask the wrong way round": lambda Q, K, V: sdpa(Q[None], K[None], V[None], attn_mask=~lower(len(Q)))[0],
    }
    for name, wrong in causal.items():
        beside(f"causal: {name}", wrong, lambda Q, K, V: under(scores(Q, K), lower(len(Q))) @ V,
            subject="transformer.causal_attention")  # fmt: skip

    beside("causal: masked once for four queries in half precision", masked_by_fours,
        lambda Q, K, V: (under(scores(Q.float(), K.float()), lower(len(Q))) @ V.float()).to(V.dtype),
        subject="transformer.causal_attention")  # fmt: skip

    over_heads: dict[str, Function] = {
        "rows taken for those of packed heads": rows_as_packed,
        "softmax over the third of four axes": lambda Q, K, V, M: torch.softmax(
            scores(Q, interleaved(K, Q.shape[1])).masked_fill(~M, -math.inf), 2) @ interleaved(V, Q.shape[1]),
        "groups by the number of groups": grouped(by_quotient),
        "two parts of keys, by the sums of the first head": in_two_parts(0),
        "keys taken for row-major": lambda Q, K, V, M: heads(Q, row_major(K), V, M),
        "keys behind tokens taken for row-major": lambda Q, K, V, M: heads(Q, rows_of_parts(K), V, M),
    }  # fmt: skip
    for name, wrong in over_heads.items():
        right = in_two_parts(None) if "two parts" in name else heads
        beside(f"heads: {name}", wrong, right, subject="transformer.batched_attention")

    for name, split in (
        ("heads cut in one reshape", in_one_reshape),
        ("thirds of a product with fewer keys", in_equal_parts),
        ("a product read group by group", group_by_group),
    ):
        beside(f"layer: {name}", layer(split), layer(fused()), subject="transformer.attention_layer")

    for block in (32, 128):
        beside(f"keys padded to a multiple of {block}, not masked", padded(block, 0.0), padded(block, -math.inf))
    beside("blocks of 16, weights against earlier maxima clipped", in_blocks(16, 1.75), in_blocks(16, math.inf))
    beside("small weights lost, the sum counts them", in_float32(without_small), in_float32(soft))
    for dtype in (torch.bfloat16, torch.float16):
        beside(f"sums in {str(dtype)[6:]}", in_float32(added_in(dtype)), in_float32(added_in(torch.float32)))
    beside("logits in half precision before the scale",
        lambda Q, K, V, M: (under((Q @ K.T).float() / math.sqrt(Q.shape[1]), M) @ V.float()).to(V.dtype),
        lambda Q, K, V, M: (under(scores(Q.float(), K.float()), M) @ V.float()).to(V.dtype),
        subject="transformer.masked_attention")  # fmt: skip

    norms: dict[str, Function] = {
        "another epsilon": lambda X, gamma, epsilon: over_rms(X, 1e-6) * gamma,
        "divided by the reciprocal root": lambda X, gamma, epsilon: X / torch.rsqrt(
            (X * X).mean(-1, keepdim=True) + epsilon) * gamma,
        "columns, and the root of the width twice": lambda X, gamma, epsilon: torch.nn.functional.normalize(
            X, dim=-2) * X.shape[1] ** -0.5 * gamma,
    }  # fmt: skip
    for name, wrong in norms.items():
        beside(f"RMSNorm in use: {name}", wrong, lambda X, gamma, epsilon: over_rms(X, epsilon) * gamma,
            subject="transformer.rms_norm")  # fmt: skip
    layer_norms: dict[str, Function] = {
        "deviation over d - 1, beside epsilon": lambda X, gamma, beta, epsilon: (X - X.mean(-1, keepdim=True)) / (
            X.std(-1, keepdim=True) + epsilon) * gamma + beta,
        "variance over d - 1": lambda X, gamma, beta, epsilon: (X - X.mean(-1, keepdim=True)) / (
            X.var(-1, keepdim=True) + epsilon).sqrt() * gamma + beta,
        "squared where a root is meant": lambda X, gamma, beta, epsilon: (X - X.mean(-1, keepdim=True)) / (
            X.var(-1, correction=0, keepdim=True) + epsilon) ** 2 * gamma + beta,
    }  # fmt: skip
    for name, wrong in layer_norms.items():
        beside(f"LayerNorm: {name}", wrong, layer_norm, subject="transformer.layer_norm")
    beside("rotary: angles kept by the length", keeping_angles(), turned, subject="transformer.rotary")

    beside("ALiBi: slopes from one on", alibi(lambda H: slopes(H) * 2 ** (8 / 2 ** (H.bit_length() - 1))), alibi(),
        subject="transformer.alibi_attention")  # fmt: skip
    beside("masks by sample where heads come first", masks_by_sample, of_heads(lambda A, T: A[None]),
        subject="transformer.biased_heads")  # fmt: skip
    beside("sinks left out for a single query", without_sink_for_one, sunk(), subject="transformer.sink_attention")
