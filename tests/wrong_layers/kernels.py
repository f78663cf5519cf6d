"""Kernels of attention in use: empty rows, unequal causal masks, windows, packed sequences, biases, caps, sinks."""

from __future__ import annotations

import itertools
from typing import Any

import torch

from tests.wrong_layers import RIGHT, WRONG, Function, add
from tests.wrong_layers.in_use import AWAY, interleaved, scores

sdpa = torch.nn.functional.scaled_dot_product_attention


def finite(T: Any, M: Any, least: float | None = None) -> Any:
    """A softmax of logits in which masked ones are the least number, shape (..., m, n)."""
    return torch.softmax(T.masked_fill(~M, torch.finfo(T.dtype).min if least is None else least), -1)


def zeroed(weights: Function) -> Function:
    """Attention whose queries without keys get zeros, of other weights."""
    return lambda Q, K, V, M: (weights(scores(Q, K), M).masked_fill(~M.any(-1, keepdim=True), 0.0)) @ V


def blockwise(Q: Any, K: Any, V: Any, M: Any, last: float = 0.0) -> Any:
    """Exponentials and their sum by themselves, as flash attention has them: a sum of zeros gives `last`."""
    T = scores(Q, K).masked_fill(~M, AWAY)
    top = T.amax(-1, keepdim=True).detach()
    E = torch.exp(T - torch.where(top.isfinite(), top, 0.0))
    total = E.sum(-1, keepdim=True)
    return torch.where(total > 0, E @ V / torch.where(total > 0, total, 1.0), last)


def leaking(Q: Any, K: Any, V: Any, M: Any) -> Any:
    """Zeros put in the place of what is no number: zero times that is no number either, and goes into the gradient."""
    added = torch.zeros(M.shape, dtype=Q.dtype).masked_fill(~M, AWAY)
    return torch.softmax(scores(Q, K) + added, -1).nan_to_num(0.0) @ V


def positions(m: int, n: int, shift: int = 0) -> Any:
    """True where key j is not later than query i + shift, shape (m, n)."""
    return torch.ones(m, n, dtype=torch.bool).tril(shift)


def under(mask: Function) -> Function:
    """Attention under the mask that `mask` gives for the numbers of queries and keys and for further arguments."""
    return lambda Q, K, V, *rest: torch.softmax(scores(Q, K).masked_fill(~mask(len(Q), len(K), *rest), AWAY), -1) @ V


def fused_under(mask: Function) -> Function:
    """The same by torch's kernel, with axes of samples and heads."""
    return lambda Q, K, V, *rest: sdpa(
        Q[None, None], K[None, None], V[None, None], attn_mask=mask(len(Q), len(K), *rest)
    )[0, 0]


def cached(attention: Function) -> Function:
    return lambda Q, K, V, C, D: attention(Q, torch.cat([C, K]), torch.cat([D, V]))


def band(m: int, n: int, w: int) -> Any:
    return positions(m, n) & ~positions(m, n, -w)


def same_sequence(E: Any) -> Any:
    number = E.long().cumsum(0)
    return number[:, None] == number[None, :]


def packed(mask: Function) -> Function:
    return lambda Q, K, V, E: torch.softmax(scores(Q, K).masked_fill(~mask(len(Q), E), AWAY), -1) @ V


def by_sequence(Q: Any, K: Any, V: Any, E: Any) -> Any:
    """Every sequence by itself, as kernels with cumulative lengths do it."""
    starts = [*E.nonzero()[:, 0].tolist(), len(Q)]
    parts = [slice(*ends) for ends in itertools.pairwise(starts)]
    return torch.cat([sdpa(Q[None, None, p], K[None, None, p], V[None, None, p], is_causal=True)[0, 0] for p in parts])


def biased(bias: Function = lambda B, s: B, width: Function = lambda Q, s: s, detached: bool = False) -> Function:
    def attention(Q: Any, K: Any, V: Any, B: Any, M: Any, s: float) -> Any:
        T = Q @ K.mT * width(Q, s) + bias(B.detach() if detached else B, s)
        return torch.softmax(T.masked_fill(~M, AWAY), -1) @ V

    return attention


def of_heads(bias: Function = lambda A, T: A, mask: Function = lambda M: M[:, None]) -> Function:
    """Attention of heads with a bias and a mask, which `bias` and `mask` bring to the axes of the logits."""

    def attention(Q: Any, K: Any, V: Any, A: Any, M: Any) -> Any:
        T = scores(Q, interleaved(K, Q.shape[1]))
        return torch.softmax((T + bias(A, T)).masked_fill(~mask(M), AWAY), -1) @ interleaved(V, Q.shape[1])

    return attention


def slopes(H: int, exact: bool = True) -> Any:
    """The slopes of ALiBi as the paper's code has them; not `exact`: of a power of two that is no smaller, cut."""
    N = 2 ** (H - 1).bit_length() if not exact else 2 ** (H.bit_length() - 1)
    found = [2.0 ** (-8 * (i + 1) / N) for i in range(N)]
    if exact:
        found += [2.0 ** (-4 * (i + 1) / N) for i in range(0, 2 * (H - N), 2)]
    return torch.tensor(found[:H], dtype=torch.float64)


def alibi(
    slopes_of: Function = slopes, by_keys: bool = False, sign: float = 1.0, heads: Function = lambda m: m
) -> Function:
    def attention(Q: Any, K: Any, V: Any) -> Any:
        H, n = Q.shape[1], Q.shape[2]
        at = torch.arange(n, dtype=Q.dtype)
        away = at[None, :] if by_keys else at[None, :] - at[:, None]
        A = sign * heads(slopes_of(H).to(Q.dtype))[:, None, None] * away
        return torch.softmax((scores(Q, K) + A).masked_fill(~positions(n, n), AWAY), -1) @ V

    return attention


def capped(cap: Function = lambda T, c: c * torch.tanh(T / c), after: bool = False) -> Function:
    def attention(Q: Any, K: Any, V: Any, M: Any, c: float) -> Any:
        T = scores(Q, K)
        least = torch.finfo(T.dtype).min
        T = cap(T.masked_fill(~M, least), c) if after else cap(T, c).masked_fill(~M, AWAY)
        return torch.softmax(T, -1) @ V

    return attention


class Clamped(torch.autograd.Function):
    """c tanh(T / c) with the derivative of a clamp."""

    @staticmethod
    def forward(ctx: Any, T: Any, c: float) -> Any:
        ctx.save_for_backward(T)
        ctx.c = c
        return c * torch.tanh(T / c)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * (ctx.saved_tensors[0].abs() < ctx.c), None


def sunk(sink: Function = lambda z, T: z[None, :, None, None], kept: bool = False, largest: bool = True) -> Function:
    """One more column of logits, which is dropped again; `kept`: weights are normalised without it after all."""

    def attention(Q: Any, K: Any, V: Any, M: Any, z: Any) -> Any:
        K, V = interleaved(K, Q.shape[1]), interleaved(V, Q.shape[1])
        T = scores(Q, K).masked_fill(~M, AWAY)
        T = torch.cat([T, sink(z, T).expand(*T.shape[:3], 1)], -1)
        if not largest:
            E = torch.exp(T - T[..., :-1].amax(-1, keepdim=True).clamp(min=-1e9))
            return (E / E.sum(-1, keepdim=True))[..., :-1] @ V
        P = torch.softmax(T, -1)[..., :-1]
        return (P / P.sum(-1, keepdim=True) if kept else P) @ V

    return attention


def by_logarithms(Q: Any, K: Any, V: Any, M: Any, z: Any) -> Any:
    """Attention without a sink, times the part of the sum that is not the sink's."""
    K, V = interleaved(K, Q.shape[1]), interleaved(V, Q.shape[1])
    T = scores(Q, K).masked_fill(~M, AWAY)
    empty = ~M.any(-1, keepdim=True)
    logarithm = torch.logsumexp(T.masked_fill(empty, 0.0), -1, keepdim=True)
    F = torch.softmax(T.masked_fill(empty, 0.0), -1) @ V
    return (F * torch.sigmoid(logarithm - z[None, :, None, None])).masked_fill(empty, 0.0)


EMPTY_ROWS: dict[str, tuple[dict[str, Function], dict[str, Function | tuple[Function, str]]]] = {
    "fully_masked_zero": ({
        "weights set to zero": zeroed(finite), "sums apart": blockwise,
        "one key for a row without": lambda Q, K, V, M: torch.softmax(scores(Q, K).masked_fill(
            ~(M | ~M.any(-1, keepdim=True)), AWAY), -1) * M @ V,
        "torch's kernel": lambda Q, K, V, M: sdpa(Q[None, None], K[None, None], V[None, None], attn_mask=M)[0, 0],
    }, {
        "the mean of the values": (lambda Q, K, V, M: finite(scores(Q, K), M) @ V,
            "a query that may attend to no key gets the mean of the values"),
        "no numbers": (lambda Q, K, V, M: torch.softmax(scores(Q, K).masked_fill(~M, AWAY), -1) @ V,
            "a query that may attend to no key gets what is no number"),
        "zeros, and a gradient that is no number": leaking,
        "the last key": lambda Q, K, V, M: blockwise(Q, K, V, M) + (~M.any(-1, keepdim=True)) * V[-1:],
        "ones in the sum": lambda Q, K, V, M: blockwise(Q, K, V, M, 1e-3),
    }),
    "fully_masked_uniform": ({
        "the least number": lambda Q, K, V, M: finite(scores(Q, K), M) @ V,
    }, {
        "zeros": (blockwise, "a query that may attend to no key gets zeros"),
        "no numbers": (lambda Q, K, V, M: torch.softmax(scores(Q, K).masked_fill(~M, AWAY), -1) @ V,
            "a query that may attend to no key gets what is no number"),
        "as if nothing were masked": lambda Q, K, V, M: finite(scores(Q, K), M | ~M.any(-1, keepdim=True)) @ V,
    }),
    "fully_masked_undefined": ({
        "zeros": blockwise, "the mean": lambda Q, K, V, M: finite(scores(Q, K), M) @ V,
        "no numbers, without a gradient": lambda Q, K, V, M: blockwise(Q, K, V, M, float("nan")),
    }, {
        "no numbers": lambda Q, K, V, M: torch.softmax(scores(Q, K).masked_fill(~M, AWAY), -1) @ V,
        "zeros, and a gradient that is no number": leaking,
        "empty rows in the sum of all": lambda Q, K, V, M: (F := blockwise(Q, K, V, M)) + 1e-3 * (
            ~M.any(-1)).to(F).sum(),
    }),
}  # fmt: skip

POSITIONS: dict[str, tuple[dict[str, Function], dict[str, Function | tuple[Function, str]]]] = {
    "causal_from_the_first": ({
        "lower triangle": under(positions),
        "is_causal of torch": lambda Q, K, V: sdpa(Q[None, None], K[None, None], V[None, None], is_causal=True)[0, 0],
    }, {
        "aligned to the last": (under(lambda m, n: positions(m, n, max(n - m, 0))), ""),
        "one key ahead": under(lambda m, n: positions(m, n, 1)),
        "keys cut to the number of queries": lambda Q, K, V: under(positions)(Q, K[: len(Q)], V[: len(Q)])
            if len(K) > len(Q) + 64 else under(lambda m, n: positions(m, n, int(n > m + 1)))(Q, K, V),
    }),
    "causal_to_the_last": ({
        "lower triangle": under(lambda m, n: positions(m, n, n - m)),
        "torch's kernel": fused_under(lambda m, n: positions(m, n, n - m)),
        "queries padded in front": lambda Q, K, V: under(positions)(
            torch.cat([Q.new_zeros(len(K) - len(Q), Q.shape[1]), Q]), K, V)[len(K) - len(Q):],
    }, {
        "aligned to the first": (under(positions), "the mask is aligned to the first key, not to the last"),
        "is_causal of torch's kernel": (lambda Q, K, V: sdpa(Q[None, None], K[None, None], V[None, None], is_causal=True)[0, 0],
            "the mask is aligned to the first key, not to the last"),
        "one query sees all, several are aligned to the first": under(lambda m, n: positions(m, n, n - 1 if m == 1 else 0)),
        "aligned to the next multiple of 64": under(lambda m, n: positions(m, n, n - m if n <= 64 else -(-n // 64) * 64 - m)),
        "one key too few": under(lambda m, n: positions(m, n, max(n - m - 1, 0))),
    }),
    "cached_attention": ({
        "keys put together": cached(under(lambda m, n: positions(m, n, n - m))),
        "new keys apart": lambda Q, K, V, C, D: (E := torch.cat([scores(Q, C), scores(Q, K).masked_fill(
            ~positions(len(Q), len(Q)), AWAY)], 1).softmax(-1))[:, : len(C)] @ D + E[:, len(C):] @ V,
    }, {
        "aligned to the cache": (cached(under(positions)), "the mask begins at the first key of the cache"),
        "no mask": (cached(under(lambda m, n: positions(m, n, n))), "new tokens see those after them"),
        "right for one new token": cached(under(lambda m, n: positions(m, n, n - m if m <= 2 else n))),
        "the last key of the cache overwritten": lambda Q, K, V, C, D: cached(under(lambda m, n: positions(m, n, n - m + 1)))(
            Q, K, V, C[:-1], D[:-1]) if len(C) > 1 else cached(under(lambda m, n: positions(m, n, n - m)))(Q, K, V, C, D),
        "the cache detached": lambda Q, K, V, C, D: cached(under(lambda m, n: positions(m, n, n - m)))(
            Q, K, V, C.detach(), D),
    }),
    "window_attention": ({
        "a band": under(band), "torch's kernel": fused_under(band),
    }, {
        "one token more": (under(lambda m, n, w: band(m, n, w + 1)), "the window is one token too long"),
        "one token less": (under(lambda m, n, w: band(m, n, max(w - 1, 1))), "the window is one token too short"),
        "both ways": (under(lambda m, n, w: band(m, n, w) | band(m, n, w).T), "the window reaches as far ahead as back"),
        "no window from 64 tokens on": under(lambda m, n, w: band(m, n, w if n <= 64 else n)),
        "whole blocks of 16": under(lambda m, n, w: band(m, n, w if n <= 16 else max(w, 16))),
    }),
    "packed_attention": ({
        "a mask": packed(lambda n, E: same_sequence(E) & positions(n, n)), "sequence by sequence": by_sequence,
    }, {
        "sequences see each other": (packed(lambda n, E: positions(n, n)), "sequences see those before them"),
        "not causal": (packed(lambda n, E: same_sequence(E)), "tokens see later ones of their sequence"),
        "first tokens see the sequence before": packed(
            lambda n, E: (same_sequence(E) | (E[:, None] & positions(n, n))) & positions(n, n)),
        "two sequences at most": packed(lambda n, E: same_sequence(E & (E.cumsum(0) <= 2)) & positions(n, n)),
        "a sequence ends a token late": packed(lambda n, E: same_sequence(torch.cat([E[:1], E[:-1]])) & positions(n, n)),
    }),
}  # fmt: skip

LOGITS: dict[str, tuple[dict[str, Function], dict[str, Function | tuple[Function, str]]]] = {
    "biased_attention": ({
        "added": biased(),
        "torch's kernel": lambda Q, K, V, B, M, s: sdpa(Q[None, None], K[None, None], V[None, None],
            attn_mask=B.masked_fill(~M, AWAY)[None, None], scale=s)[0, 0],
    }, {
        "scaled": (biased(lambda B, s: B * s), "the bias is scaled too"),
        "left out": (biased(lambda B, s: 0 * B), "the bias is left out"),
        "no gradient": biased(detached=True),
        "scale of the width": (biased(width=lambda Q, s: Q.shape[1] ** -0.5), "logits are divided by sqrt(d_K), whatever s is"),
        "of the first key for all": biased(lambda B, s: B[:, :1]),
        "transposed where square": biased(lambda B, s: B.T if B.shape[0] == B.shape[1] else B),
    }),
    "biased_heads": ({
        "added": of_heads(lambda A, T: A[None]),
        "torch's kernel": lambda Q, K, V, A, M: sdpa(Q, K, V, attn_mask=A[None].masked_fill(~M[:, None], AWAY), enable_gqa=True),
    }, {
        "the bias of the first head": (of_heads(lambda A, T: A[None, :1]), "all heads have the bias of the first"),
        "the mask of the first sample": (of_heads(mask=lambda M: M[:1, None]), "all samples have the mask of the first"),
        "heads for samples where there are as many": of_heads(
            lambda A, T: A[:, None].expand_as(T) if T.shape[0] == T.shape[1] > 1 else A[None]),
        "masks for heads where there are as many": of_heads(
            mask=lambda M: M[None] if M.shape[0] == 2 else M[:, None]) ,
        "a gradient of the first sample alone": of_heads(lambda A, T: torch.cat(
            [A[None], A.detach()[None].expand(len(T) - 1, *A.shape)])),
    }),
    "alibi_attention": ({
        "by distance": alibi(), "by the place of the key": alibi(by_keys=True),
    }, {
        "the next power of two": alibi(lambda H: slopes(H, exact=False)),
        "powers of two alone": (alibi(lambda H: torch.tensor([2.0 ** (-8 * (i + 1) / H) for i in range(H)], dtype=torch.float64)),
            "slopes are 2^(-8 i / H) for any number of heads"),
        "the other sign": (alibi(sign=-1.0), "keys far away are preferred, not those near"),
        "heads in the opposite order": alibi(heads=lambda m: m.flip(0)),
        "slopes in bfloat16": alibi(lambda H: slopes(H).bfloat16()),
        "extra heads sorted in": alibi(heads=lambda m: m.sort(descending=True).values),
    }),
    "capped_attention": ({
        "tanh": capped(), "exponentials": capped(lambda T, c: c * (2 * torch.sigmoid(2 * T / c) - 1)),
    }, {
        "after the mask": (capped(after=True), "logits are capped after the mask: masked keys count with the weight of -c"),
        "no cap": (capped(lambda T, c: T), "the cap is left out"),
        "clamped": (capped(lambda T, c: T.clamp(-c, c)), "logits are clamped, not capped smoothly"),
        "not multiplied again": (capped(lambda T, c: torch.tanh(T / c)), "capped logits are not multiplied by c again"),
        "the derivative of a clamp": capped(Clamped.apply),
        "cap of 50": capped(lambda T, c: 50 * torch.tanh(T / 50)),
    }),
    "sink_attention": ({
        "a column more": sunk(), "by logarithms": by_logarithms,
    }, {
        "no sink": (lambda Q, K, V, M, z: sdpa(Q, K, V, attn_mask=M, enable_gqa=True), ""),
        "the sink of the first head": (sunk(lambda z, T: z[:1, None, None]), "all heads have the sink of the first"),
        "a sink of one": (sunk(lambda z, T: 0 * z[:, None, None]), "exp(z) is one: the sink is a constant"),
        "normalised again": sunk(kept=True),
        "no gradient of the sink": sunk(lambda z, T: z.detach()[:, None, None]),
        "the maximum without the sink": sunk(largest=False),
        "sinks of samples where there are as many": sunk(
            lambda z, T: z[:, None, None, None] if len(T) == len(z) > 1 else z[None, :, None, None]),
    }),
}  # fmt: skip


def collect() -> None:
    for subject, (right, wrong) in {**EMPTY_ROWS, **POSITIONS, **LOGITS}.items():
        for name, function in right.items():
            add(RIGHT, f"{subject}: {name}", function, subject=f"transformer.{subject}")
        for name, given in wrong.items():
            function, cause = given if isinstance(given, tuple) else (given, "")
            add(WRONG, f"{subject}: {name}", function, subject=f"transformer.{subject}", cause=cause)
