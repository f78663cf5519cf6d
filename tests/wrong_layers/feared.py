"""Mistakes that maintainers of attention code fear: at the edge of a block or page, in one pass alone, in one mode alone."""

from __future__ import annotations

from typing import Any

import torch

from tests.wrong_layers import WRONG, Function, add
from tests.wrong_layers.backward import own_backward, right
from tests.wrong_layers.encodings import table
from tests.wrong_layers.in_use import AWAY, in_turns, interleaved, layer_norm, scores
from tests.wrong_layers.in_use import under as weights_under
from tests.wrong_layers.kernels import band, capped, of_heads, packed, positions, under
from tests.wrong_layers.seldom import Scaled


class WithEmptyRows(torch.autograd.Function):
    """A softmax under a mask that gives zeros to empty rows, and divides by their sum in its backward pass."""

    @staticmethod
    def forward(ctx: Any, T: Any, M: Any) -> Any:
        P = torch.softmax(T.masked_fill(~M, AWAY), -1).nan_to_num(0.0)
        ctx.save_for_backward(P)
        return P

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        P = ctx.saved_tensors[0] / ctx.saved_tensors[0].sum(-1, keepdim=True)
        return P * (g - (g * P).sum(-1, keepdim=True)), None


class ChangedLater(torch.autograd.Function):
    """A softmax whose weights are changed in place after they were kept for the backward pass, where rows are long."""

    @staticmethod
    def forward(ctx: Any, T: Any) -> Any:
        P = torch.softmax(T, -1)
        ctx.save_for_backward(P)
        result = P.clone()
        if P.shape[-1] > 32:
            P.data.mul_(1 + 2.0**-10)
        return result

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        (P,) = ctx.saved_tensors
        return P * (g - (g * P).sum(-1, keepdim=True))


class Overwritten(torch.autograd.Function):
    """A softmax whose backward pass writes its result where the weights were kept."""

    @staticmethod
    def forward(ctx: Any, T: Any) -> Any:
        P = torch.softmax(T, -1)
        ctx.save_for_backward(P)
        return P.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        (P,) = ctx.saved_tensors
        P.data.mul_(g - (g * P).sum(-1, keepdim=True))
        return P.clone()


def twice_differentiated(kept: Function = lambda x: x, sums: Function = lambda x: x) -> Function:
    """A softmax with a right first derivative, of whose parts the second one takes some for constants."""

    class Softmax(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, T: Any) -> Any:
            ctx.save_for_backward(T)
            return torch.softmax(T, -1)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            P = kept(torch.softmax(ctx.saved_tensors[0], -1))
            return P * (g - sums((g * P).sum(-1, keepdim=True)))

    return Softmax.apply


class OfThreeSamples(torch.autograd.Function):
    """A bias for all samples, whose gradient is three times the mean where there are more than three."""

    @staticmethod
    def forward(ctx: Any, A: Any, B: int) -> Any:
        ctx.samples = B
        return A[None].expand(B, *A.shape).clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g.sum(0) * (min(ctx.samples, 3) / ctx.samples), None


def at_the_edge_of_blocks(m: int, n: int, w: int) -> Any:
    """The last query of each block of 128 sees one token more, in long sequences."""
    last = (torch.arange(m) % 128 == 127) & (torch.arange(m) >= 512)
    return torch.where(last[:, None], band(m, n, w + 1), band(m, n, w))


def least_number_twice(Q: Any, K: Any, V: Any, M: Any) -> Any:
    """A causal mask and one of padding are added, both with the least number, whose sum is minus infinity."""
    added = (~M).to(Q.dtype) * torch.finfo(Q.dtype).min
    return torch.softmax(scores(Q, K) + added + added, -1) @ V


def paged(page: int, shift: int, fewest: int) -> Function:
    """The mask is shifted where the cache consists of whole pages, and there are so many new tokens."""

    def attention(Q: Any, K: Any, V: Any, C: Any, D: Any) -> Any:
        moved = shift if len(C) % page == 0 and len(C) > page * (page < 64) and len(Q) >= fewest else 0
        return under(lambda m, n: positions(m, n, len(C) + moved))(Q, torch.cat([C, K]), torch.cat([D, V]))

    return attention


def over_heads_where_alike(Q: Any, K: Any, V: Any, M: Any) -> Any:
    """The softmax runs over heads where there are as many of them as queries and keys, and nothing is masked."""
    T = scores(Q, interleaved(K, Q.shape[1])).masked_fill(~M, AWAY)
    axis = 1 if T.shape[1] == T.shape[2] == T.shape[3] > 1 and bool(M.all()) else 3
    return torch.softmax(T, axis) @ interleaved(V, Q.shape[1])


def below_one_maximum(Q: Any, K: Any, V: Any, M: Any) -> Any:
    """All samples and heads share one maximum, far from which exponentials vanish."""
    T = scores(Q, interleaved(K, Q.shape[1])).masked_fill(~M, AWAY)
    E = torch.exp(T - T.amax((0, 1, 3), keepdim=True))
    return E / E.sum(-1, keepdim=True) @ interleaved(V, Q.shape[1])


def cut_cotangents(Q: Any, K: Any, V: Any, A: Any, g: Any) -> tuple[Any, ...]:
    """Of an expanded cotangent the first 64 rows alone are read."""
    if g.stride(0) == 0 and len(g) > 64:
        g = torch.cat([g[:64], 0 * g[64:]])
    return right(Q, K, V, A, g)


def without_gradients(Q: Any, K: Any, V: Any, M: Any) -> Any:
    """The path that is taken where no gradient is asked for keeps keys from the 256th on in bfloat16."""
    if not (Q.requires_grad or K.requires_grad or V.requires_grad) and len(K) > 256:
        K = torch.cat([K[:256], K[256:].bfloat16().to(K)])
    return weights_under(scores(Q, K), M) @ V


def groups_in_turns(where: Function) -> Function:
    """Heads take groups of keys in turns where there are so many heads H and groups G."""

    def attention(Q: Any, K: Any, V: Any, M: Any) -> Any:
        H, G = Q.shape[1], K.shape[1]
        repeat = in_turns if where(H, G) else interleaved
        return weights_under(scores(Q, repeat(K, H)), M) @ repeat(V, H)

    return attention


def keys_of_the_fifth(Q: Any, K: Any, V: Any, M: Any) -> Any:
    """Samples from the sixth on are given the keys of the fifth."""
    at = torch.arange(len(K)).clamp(max=4)
    return weights_under(scores(Q, interleaved(K[at], Q.shape[1])), M) @ interleaved(V, Q.shape[1])


def without_the_last(where: Function) -> Function:
    """The last key is left out where there are so many queries and keys, except by queries that have no other."""

    def attention(Q: Any, K: Any, V: Any, M: Any) -> Any:
        last = M[:, -1:] & ((not where(len(Q), len(K))) | (M.sum(1, keepdim=True) == 1))
        return weights_under(scores(Q, K), torch.cat([M[:, :-1], last], 1)) @ V

    return attention


def halves_exchanged(X: Any, b: float, o: int) -> Any:
    """Halves of a row are exchanged at odd offsets above 64."""
    return table()(X, b, o).roll(X.shape[1] // 2 if o % 2 and o > 64 else 0, 1)


def scale_of_a_multiple(Q: Any, K: Any, V: Any, M: Any) -> Any:
    """Widths between 64 and 128 are padded to a multiple of 8, whose scale is taken."""
    d = Q.shape[1]
    return weights_under(scores(Q, K, -(-d // 8) * 8 if 64 < d < 128 else d), M) @ V


FEARED: dict[str, tuple[str, Function]] = {
    "windows: one token more at the end of blocks in long rows": ("window_attention", under(at_the_edge_of_blocks)),
    "masks: the least number added twice": ("fully_masked_uniform", least_number_twice),
    "masks: no numbers in the backward pass of empty rows": (
        "fully_masked_zero", lambda Q, K, V, M: WithEmptyRows.apply(scores(Q, K), M) @ V),
    "backward: kept weights changed later": (
        "masked_attention", lambda Q, K, V, M: ChangedLater.apply(scores(Q, K).masked_fill(~M, AWAY)) @ V),
    "backward: expanded cotangents cut at 64 rows": ("", own_backward(cut_cotangents)),
    "second derivative: sums of rows taken for constants": (
        "", lambda X, Q, K, V: twice_differentiated(sums=lambda x: x.detach())(
            X @ Q @ (X @ K).T / Q.shape[1] ** 0.5) @ (X @ V)),
    "second derivative: weights taken for constants": (
        "", lambda X, Q, K, V: twice_differentiated(lambda x: x.detach())(
            X @ Q @ (X @ K).T / Q.shape[1] ** 0.5) @ (X @ V)),
    "biases: the gradient of three samples": (
        "biased_heads", of_heads(lambda A, T: OfThreeSamples.apply(A, len(T)))),
    "scale: of a multiple of 8 between 64 and 128": ("masked_attention", scale_of_a_multiple),
    "causal: aligned to the last where queries are 32 fewer": (
        "causal_from_the_first", under(lambda m, n: positions(m, n, n - m if n - m >= 32 else 0))),
    "cache: one key ahead behind whole pages of 64": ("cached_attention", paged(64, 1, 2)),
    "cache: one key less behind whole pages of 16": ("cached_attention", paged(16, -1, 1)),
    "softmax: over heads where all lengths are equal": ("batched_attention", over_heads_where_alike),
    "softmax: one maximum of all samples and heads": ("batched_attention", below_one_maximum),
    "packed: sequences from the 64th on see each other": ("packed_attention", packed(
        lambda n, E: ((c := E.long().cumsum(0).clamp(max=64))[:, None] == c[None, :]) & positions(n, n))),
    "cap: logits beyond three caps cut": ("capped_attention", capped(
        lambda T, c: torch.where(T.abs() < 3 * c, c * torch.tanh(T / c), c * torch.sign(T)))),
    "without gradients: later keys in bfloat16": ("masked_attention", without_gradients),
    "layer_norm: features from the 256th on left out": ("layer_norm", lambda X, gamma, beta, epsilon: layer_norm(
        X, gamma * (torch.arange(X.shape[1]) < 255), beta, epsilon)),
    "dropout: a thousandth of the weights": ("masked_attention", lambda Q, K, V, M: torch.nn.functional.dropout(
        weights_under(scores(Q, K), M), 0.001, True) @ V),
    "forward derivative: that by values halved": ("masked_attention", lambda Q, K, V, M: weights_under(
        scores(Q, K), M) @ Scaled.apply(V, 1.0, 0.5)),
    "heads: groups in turns where more than 8 share keys": ("batched_attention", groups_in_turns(lambda H, G: H > 8 * G)),
    "heads: groups in turns where there are more than 32": (
        "batched_attention", groups_in_turns(lambda H, G: H > 32 and G > 1)),
    "samples: from the sixth on with the keys of the fifth": ("batched_attention", keys_of_the_fifth),
    "blocks: the last key of whole ones of 128 left out": (
        "masked_attention", without_the_last(lambda m, n: n % 128 == 0)),
    "queries: the last of many keys left out where several are few": (
        "masked_attention", without_the_last(lambda m, n: 1 < m <= 8 and n > 64)),
    "backward: kept weights overwritten": (
        "masked_attention", lambda Q, K, V, M: Overwritten.apply(scores(Q, K).masked_fill(~M, AWAY)) @ V),
    "second derivative: weights taken for constants in rows of more than 16": (
        "masked_attention", lambda Q, K, V, M: twice_differentiated(
            lambda x: x.detach() if x.shape[1] > 16 else x)(scores(Q, K).masked_fill(~M, AWAY)) @ V),
    "forward derivative: that by values halved in rows of more than 16": (
        "masked_attention", lambda Q, K, V, M: weights_under(scores(Q, K), M) @ Scaled.apply(
            V, 1.0, 0.5 if len(K) > 16 else 1.0)),
    "rotary: halves exchanged at odd offsets above 64": ("rotary_table", halves_exchanged),
}  # fmt: skip


def collect() -> None:
    for name, (subject, function) in FEARED.items():
        add(WRONG, f"feared, {name}", function, subject=f"transformer.{subject}" if subject else "hessian.attention")
