"""Layers as they are used, of the subjects `transformer.*`: masks, heads, fused projections, rotations, norms."""

from __future__ import annotations

from typing import Any

import torch

from tests.wrong_layers import RIGHT, WRONG, Function, add

kernel = torch.nn.functional.scaled_dot_product_attention
AWAY = -torch.inf


def scores(Q: Any, K: Any, width: float | None = None) -> Any:
    return Q @ K.mT / (width or Q.shape[-1]) ** 0.5


def under(T: Any, M: Any, masked: float = AWAY) -> Any:
    return torch.softmax(T.masked_fill(~M, masked), -1)


def masked(weights: Function | None = None, chosen: Function = lambda Q, K, M: M) -> Function:
    """Attention under a mask, shape (m, d_V), with other weights or another mask."""
    find = weights or under
    return lambda Q, K, V, M: find(scores(Q, K), chosen(Q, K, M)) @ V


def lower(n: int, above: int = 0, window: int | None = None) -> Any:
    allowed = torch.ones(n, n, dtype=torch.bool).tril(above)
    return allowed if window is None else allowed & allowed.new_ones(n, n).triu(1 - window)


def causal(above: int = 0, window: int | None = None) -> Function:
    return lambda Q, K, V: under(scores(Q, K), lower(len(Q), above, window)) @ V


def strictly_causal(Q: Any, K: Any, V: Any) -> Any:
    """Tokens attend to earlier ones, and the first to itself."""
    allowed = lower(len(Q), -1)
    allowed[0, 0] = True
    return under(scores(Q, K), allowed) @ V


def causal_in_blocks(size: int, rescaled: bool = True) -> Function:
    """Keys in blocks, with running maxima and sums."""

    def attention(Q: Any, K: Any, V: Any) -> Any:
        T, top, total, out = scores(Q, K), None, 0.0, 0.0
        for start in range(0, len(K), size):
            columns = slice(start, start + size)
            block = T[:, columns].masked_fill(~lower(len(K))[:, columns], AWAY)
            peak = block.amax(1, keepdim=True).clamp(min=-1e30)
            new = peak if top is None else torch.maximum(top, peak)
            E, scale = torch.exp(block - new), 1.0 if top is None or not rescaled else torch.exp(top - new)
            total, out, top = total * scale + E.sum(1, keepdim=True), out * scale + E @ V[columns], new
        return out / total

    return attention


def grouped(
    repeat: Function, width: Function = lambda Q: Q.shape[-1], chosen: Function = lambda Q, K, M: M
) -> Function:
    """Attention of heads with the keys that `repeat` gives them, shape (B, H, m, d_V)."""

    def attention(Q: Any, K: Any, V: Any, M: Any) -> Any:
        K, V = repeat(K, Q.shape[1]), repeat(V, Q.shape[1])
        return under(scores(Q, K, width(Q)), chosen(Q, K, M)) @ V

    return attention


def interleaved(x: Any, H: int) -> Any:
    return x.repeat_interleave(H // x.shape[1], 1)


def in_turns(x: Any, H: int) -> Any:
    return x.repeat(1, H // x.shape[1], 1, 1)


def rolled(x: Any, H: int) -> Any:
    return interleaved(x.roll(1, 1), H)


def in_query_blocks(size: int) -> Function:
    """Blocks of queries, of which an incomplete last one is left out."""

    def attention(Q: Any, K: Any, V: Any, M: Any) -> Any:
        whole = grouped(interleaved)(Q, K, V, M)
        kept = Q.shape[2] // size * size if Q.shape[2] > size else Q.shape[2]
        return torch.cat([whole[:, :, :kept], 0 * whole[:, :, kept:]], 2)

    return attention


def square_is_causal(Q: Any, K: Any, M: Any) -> Any:
    """A mask that is taken for causal where there are as many queries as keys."""
    return torch.ones_like(M).tril() if M.shape[0] == M.shape[1] > 1 else M


def bottom_right(Q: Any, K: Any, M: Any) -> Any:
    m, n = M.shape
    return M & torch.ones_like(M).tril(n - m) if n > m else M


def layer(
    split: Function | None = None, width: Function = lambda d, H: d // H, merge: Function | None = None,
    bias: Function | None = None, chosen: Function = lambda M: M, out: Function = lambda y, W: y @ W,
) -> Function:  # fmt: skip
    """Self-attention of samples, shape (B, n, d)."""

    def attention(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, M: Any, H: int, G: int) -> Any:
        B, n, d = X.shape
        q, k, v = (
            split(X, W_Q, W_K, W_V, H, G)
            if split
            else ((X @ W).unflatten(2, (c, -1)).transpose(1, 2) for W, c in ((W_Q, H), (W_K, G), (W_V, G)))
        )
        k, v = interleaved(k, H), interleaved(v, H)
        T = scores(q, k, width(d, H))
        T = T + bias(T) if bias else T
        y = under(T, chosen(M)) @ v
        return out(merge(y) if merge else y.transpose(1, 2).reshape(B, n, d), W_O)

    return attention


def fused(order: tuple[int, int, int] = (0, 1, 2), by_head: bool = False) -> Function:
    """One product for queries, keys and values, cut apart again."""

    def split(X: Any, W_Q: Any, W_K: Any, W_V: Any, H: int, G: int) -> Any:
        e, parts = W_Q.shape[1] // H, (W_Q, W_K, W_V)
        if by_head and G == H:  # weights are (3, H, e), and taken for (H, 3, e)
            y = (X @ torch.cat(parts, 1)).unflatten(2, (H, 3, e))
            return [y[..., i, :].transpose(1, 2) for i in range(3)]
        y = (X @ torch.cat(parts, 1)).split([W.shape[1] for W in parts], 2)
        q, k, v = (x.unflatten(2, (-1, e)).transpose(1, 2) for x in y)
        return [(q, k, v)[i] for i in order] if G == H else [q, k, v]

    return split


def across_samples(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, M: Any, H: int, G: int) -> Any:
    """All samples as one sequence, in which tokens see those of the sample before theirs as well."""
    B = len(X)
    blocks = torch.eye(B, dtype=torch.bool) | torch.eye(B, dtype=torch.bool).roll(1, 0)
    wide = torch.kron(blocks.int(), M.int()) > 0
    return layer()(X.reshape(1, -1, X.shape[2]), W_Q, W_K, W_V, W_O, wide, H, G).reshape(X.shape)


def alibi(sign: float) -> Function:
    def bias(T: Any) -> Any:
        at = torch.arange(T.shape[-1], dtype=T.dtype)
        return sign * (at[:, None] - at[None, :]).abs() / 8

    return bias


def halves(X: Any) -> Any:
    a, b = X.chunk(2, -1)
    return torch.cat([-b, a], -1)


def turned(X: Any, C: Any, S: Any) -> Any:
    return X * torch.cat([C, C], -1) + halves(X) * torch.cat([S, S], -1)


def over_rms(X: Any, epsilon: Any) -> Any:
    return X * torch.rsqrt((X * X).mean(-1, keepdim=True) + epsilon)


def layer_norm(X: Any, gamma: Any, beta: Any, epsilon: Any) -> Any:
    return torch.nn.functional.layer_norm(X, X.shape[-1:], gamma, beta, float(epsilon))


def over_columns(X: Any, gamma: Any, beta: Any, epsilon: Any) -> Any:
    """Columns are normalised where there are as many rows."""
    if X.shape[0] != X.shape[1]:
        return layer_norm(X, gamma, beta, epsilon)
    return layer_norm(X.mT, torch.ones_like(gamma), torch.zeros_like(beta), epsilon).mT * gamma + beta


def collect() -> None:
    dropout = torch.nn.functional.dropout
    subjects: dict[str, tuple[dict[str, Function], dict[str, Function | tuple[Function, str]]]] = {
        "masked_attention": ({
            "mask of -inf": masked(),
            "mask of the least number": masked(lambda T, M: torch.softmax(T + (~M).to(T) * torch.finfo(T.dtype).min, -1)),
            "exponentials of masked logits": masked(lambda T, M: (E := torch.exp(
                (T := T.masked_fill(~M, AWAY)) - T.amax(-1, keepdim=True))) / E.sum(-1, keepdim=True)),
        }, {
            "weights masked after the exponential": masked(lambda T, M: (E := torch.exp(
                T - T.masked_fill(~M, AWAY).amax(-1, keepdim=True)).masked_fill(~M, 0)) / E.sum(-1, keepdim=True)),
            "weights masked after the softmax, and normalised again": masked(
                lambda T, M: (P := torch.softmax(T, -1) * M) / P.sum(-1, keepdim=True)),
            "masked with -1e4": masked(lambda T, M: under(T, M, -1e4)),
            "masked with -100": masked(lambda T, M: under(T, M, -100.0)),
            "masked with the least normal number": masked(lambda T, M: under(T, M, torch.finfo(T.dtype).tiny)),
            "square masks transposed": masked(chosen=lambda Q, K, M: M.T if M.shape[0] == M.shape[1] else M),
            "square masks taken for causal": masked(chosen=square_is_causal),
            "causal at the end besides the mask": masked(chosen=bottom_right),
            "softmax over queries where square": masked(
                lambda T, M: under(T.T, M.T).T if M.shape[0] == M.shape[1] and M.all() else under(T, M)),
            "a key more than the mask allows": masked(chosen=lambda Q, K, M: M | M.roll(1, 1)),
            "the mask of the first query for all": masked(chosen=lambda Q, K, M: M[:1].expand_as(M)),
            "no mask beyond 512 keys": masked(chosen=lambda Q, K, M: M | (M.shape[1] > 512)),
            "dropout of weights left on": masked(lambda T, M: dropout(under(T, M), 0.1, True)),
            "weights in float32": (masked(lambda T, M: under(T.float(), M).to(T)), "it computes in float32"),
        }),
        "causal_attention": ({
            "lower triangle": causal(), "causal blocks of 16": causal_in_blocks(16), "causal blocks of 64": causal_in_blocks(64),
        }, {
            "one token ahead": (causal(1), "token i attends to token i + 1 too"),
            "earlier tokens alone": strictly_causal,
            "sliding window of 100": causal(window=100),
            "sliding window of 1024": causal(window=1024),
            "causal blocks of 16, not rescaled": causal_in_blocks(16, rescaled=False),
            "causal blocks of 128, not rescaled": causal_in_blocks(128, rescaled=False),
        }),
        "batched_attention": ({
            "keys repeated": grouped(interleaved),
            "keys as views": grouped(lambda x, H: x[:, :, None].expand(-1, -1, H // x.shape[1], -1, -1).flatten(1, 2)),
        }, {
            "groups in turns": (grouped(in_turns), "heads take groups of keys in turns: h mod G, not h G / H"),
            "groups shifted by one": grouped(rolled),
            "queries in blocks of 16, the last left out": in_query_blocks(16),
            "queries in blocks of 64, the last left out": in_query_blocks(64),
            "scale of 64 for wider heads": grouped(interleaved, width=lambda Q: min(Q.shape[-1], 64)),
            "scale by all heads": grouped(interleaved, width=lambda Q: Q.shape[1] * Q.shape[-1]),
            "square masks taken for causal, in batches": grouped(interleaved, chosen=square_is_causal),
            "grouped: the mask transposed where square": grouped(
                interleaved, chosen=lambda Q, K, M: M.T if M.shape[0] == M.shape[1] else M),
        }),
        "attention_layer": ({
            "heads apart": layer(), "fused projections": layer(fused()),
        }, {
            "fused: keys and queries exchanged": layer(fused((1, 0, 2))),
            "fused: keys and values exchanged": layer(fused((0, 2, 1))),
            "fused: cut head by head": layer(fused(by_head=True)),
            "scale of the model": layer(width=lambda d, H: d),
            "heads not moved back": layer(merge=lambda y: y.reshape(y.shape[0], y.shape[2], -1)),
            "ALiBi": layer(bias=alibi(-1.0)),
            "ALiBi of the other sign": layer(bias=alibi(1.0)),
            "mask the wrong way round": layer(chosen=lambda M: ~M | (~M).all(1, keepdim=True)),
            "output projection transposed": (layer(out=lambda y, W: y @ W.T), "W_O is transposed"),
            "samples see each other": across_samples,
            "output in bfloat16": (layer(out=lambda y, W: (y @ W).bfloat16().to(y)), "it computes in bfloat16"),
            "wide heads: scale of 64": layer(width=lambda d, H: min(d // H, 64)),
        }),
        "rotary": ({
            "by halves": turned,
            "by complex numbers": lambda X, C, S: torch.cat([(z := torch.complex(
                *X.chunk(2, -1)) * torch.complex(C, S)).real, z.imag], -1),
        }, {
            "pairs of neighbours": (lambda X, C, S: torch.stack([
                X[:, ::2] * C - X[:, 1::2] * S, X[:, 1::2] * C + X[:, ::2] * S], -1).flatten(1),
                "pairs are neighbours, entries 2 k and 2 k + 1"),
            "angles of neighbours, pairs by halves": lambda X, C, S: X * C.repeat_interleave(2, 1)
                + halves(X) * S.repeat_interleave(2, 1),
            "backwards": (lambda X, C, S: turned(X, C, -S), "rows are turned backwards"),
            "positions from one": lambda X, C, S: turned(X, C.roll(1, 0), S.roll(1, 0)),
            "first pair not turned": lambda X, C, S: torch.cat([X[:, :1], turned(X, C, S)[:, 1:]], 1),
            "in float32": lambda X, C, S: turned(*(x.float() for x in (X, C, S))).to(X),
        }),
        "layer_norm": ({
            "layer_norm of torch": layer_norm,
            "mean of squares minus square of the mean": lambda X, gamma, beta, epsilon: (
                X - (mean := X.mean(-1, keepdim=True))) * torch.rsqrt(
                ((X * X).mean(-1, keepdim=True) - mean * mean).clamp(min=0) + epsilon) * gamma + beta,
        }, {
            "epsilon beside the root": (lambda X, gamma, beta, epsilon: (X - X.mean(-1, keepdim=True)) / (
                X.var(-1, correction=0, keepdim=True).sqrt() + epsilon) * gamma + beta,
                "epsilon is added to the standard deviation, not under the root"),
            "gain before the mean": lambda X, gamma, beta, epsilon: layer_norm(X * gamma, torch.ones_like(gamma), beta, epsilon),
            "columns where square": over_columns,
            "gain added to one": lambda X, gamma, beta, epsilon: layer_norm(X, 1 + gamma, beta, epsilon),
        }),
        "rms_norm": ({
            "rms_norm of torch": lambda X, gamma, epsilon: torch.nn.functional.rms_norm(
                X, X.shape[-1:], gamma, float(epsilon)),
        }, {
            "epsilon beside the root of squares": lambda X, gamma, epsilon: X / (
                (X * X).mean(-1, keepdim=True).sqrt() + epsilon) * gamma,
            "epsilon twice": lambda X, gamma, epsilon: over_rms(X, 2 * epsilon) * gamma,
            "epsilon 1e-6 too large": lambda X, gamma, epsilon: over_rms(X, epsilon * (1 + 1e-6)) * gamma,
            "mean over rows where square": lambda X, gamma, epsilon: (
                over_rms(X.T, epsilon).T if X.shape[0] == X.shape[1] else over_rms(X, epsilon)) * gamma,
        }),
    }  # fmt: skip
    for subject, (right, wrong) in subjects.items():
        for name, function in right.items():
            add(RIGHT, f"{subject}: {name}", function, subject=f"transformer.{subject}")
        for name, given in wrong.items():
            function, cause = given if isinstance(given, tuple) else (given, "")
            add(WRONG, f"{subject}: {name}", function, subject=f"transformer.{subject}", cause=cause)
