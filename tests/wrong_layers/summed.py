"""Layers with gains, biases or sinks, whose gradients are added up row by row in the precision of the cotangent, or not.

In bfloat16 a sum of ones ends at 256, in float16 at 2048.  Values and all other gradients are right.
"""

from __future__ import annotations

from typing import Any

import torch

from tests.wrong_layers import Function, beside

HALVES = (torch.bfloat16, torch.float16)


class Spread(torch.autograd.Function):
    """A parameter for every row; backward, rows are added one by one as they are, or else in float32 and rounded once."""

    @staticmethod
    def forward(ctx: Any, x: Any, shape: tuple[int, ...], one_by_one: bool) -> Any:
        ctx.shape, ctx.one_by_one = x.shape, one_by_one
        return x.expand(shape).clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        rows = g.reshape(-1, *ctx.shape)
        if not ctx.one_by_one:
            return wide(rows).sum(0).to(g.dtype), None, None
        total = torch.zeros_like(rows[0])
        for row in rows.unbind(0):
            total = total + row
        return total, None, None


def wide(x: Any) -> Any:
    """In float32 at least."""
    return x.float() if x.dtype in HALVES else x


def summed(one_by_one: bool) -> dict[str, Function]:
    """By subject: a layer that computes norms in float32, and adds up gradients of its parameters in one way or the other."""

    def spread(x: Any, *shape: int) -> Any:
        return Spread.apply(x, shape, one_by_one)

    def normalised(X: Any, axes: tuple[int, ...], centred: bool, epsilon: Any) -> Any:
        Y = wide(X)
        Y = Y - Y.mean(axes, keepdim=True) if centred else Y
        return (Y * ((Y * Y).mean(axes, keepdim=True) + epsilon).rsqrt()).to(X.dtype)

    def layer_norm(X: Any, gamma: Any, beta: Any, epsilon: Any) -> Any:
        axes = tuple(range(-gamma.ndim, 0))
        return normalised(X, axes, True, epsilon) * spread(gamma, *X.shape) + spread(beta, *X.shape)

    def rms_norm(X: Any, gamma: Any, epsilon: Any) -> Any:
        return normalised(X, (-1,), False, epsilon) * spread(gamma, *X.shape)

    def unit_norm(Y: Any, gamma: Any, N: int = 0) -> Any:
        parts = wide(Y).unflatten(-1, (-1, N or Y.shape[-1]))
        return (parts / parts.norm(dim=-1, keepdim=True)).flatten(-2).to(Y.dtype) * spread(gamma, *Y.shape)

    def gpt(X: Any, W: Any, b: Any, W_O: Any, c: Any, H: int) -> Any:
        product = X @ W + spread(b, *X.shape[:2], len(b))
        Q, K, V = (part.unflatten(2, (H, -1)).transpose(1, 2) for part in product.chunk(3, 2))
        F = torch.nn.functional.scaled_dot_product_attention(Q, K, V, is_causal=True)
        return F.transpose(1, 2).flatten(2) @ W_O + spread(c, *X.shape)

    def logits(Q: Any, K: Any, V: Any) -> tuple[Any, Any]:
        K, V = (x.repeat_interleave(Q.shape[1] // x.shape[1], 1) for x in (K, V))
        return Q * Q.shape[-1] ** -0.5 @ K.mT, V

    def sink(Q: Any, K: Any, V: Any, M: Any, z: Any) -> Any:
        T, V = logits(Q, K, V)
        beside_them = spread(z, len(Q), Q.shape[2], len(z)).transpose(1, 2).unsqueeze(-1)
        T = torch.cat([T.masked_fill(~M, -torch.inf), beside_them], -1)
        return torch.softmax(T, -1)[..., :-1] @ V

    def biased(Q: Any, K: Any, V: Any, A: Any, M: Any) -> Any:
        T, V = logits(Q, K, V)
        return torch.softmax((T + spread(A, len(Q), *A.shape)).masked_fill(~M.unsqueeze(1), -torch.inf), -1) @ V

    def bucketed(causal: bool) -> Function:
        def attention(Q: Any, K: Any, V: Any, A: Any, D: int) -> Any:
            from theorems.transformer.encodings import bias_in_buckets

            bias = bias_in_buckets(A, Q.shape[2], D, causal)
            T = Q @ K.mT + spread(bias, len(Q), *bias.shape)
            later = torch.ones(T.shape[2:], dtype=torch.bool).triu(1)
            return torch.softmax(T.masked_fill(later, -torch.inf) if causal else T, -1) @ V

        return attention

    return {
        "transformer.layer_norm": layer_norm,
        "transformer.layer_norm_of_samples": layer_norm,
        "transformer.layer_norm_of_matrices": layer_norm,
        "transformer.rms_norm": rms_norm,
        "transformer.rms_norm_of_samples": rms_norm,
        "dynamics.rms_norm": unit_norm,
        "dynamics.oscillator_rms_norm": unit_norm,
        "transformer.gpt_attention": gpt,
        "transformer.sink_attention": sink,
        "transformer.biased_heads": biased,
        "transformer.bucketed_attention": bucketed(False),
        "transformer.bucketed_causal_attention": bucketed(True),
    }


def collect() -> None:
    """Add the norms after which reports were made, each with the right one beside it."""
    wrong, right = summed(one_by_one=True), summed(one_by_one=False)
    for name, subject in (("LayerNorm", "transformer.layer_norm"), ("RMSNorm", "transformer.rms_norm")):
        beside(f"{name}: gradients of parameters added up in half precision", wrong[subject], right[subject],
            subject=subject)  # fmt: skip
