"""The objects under study, continued: layers as modules write them, with biases, fused projections and axes of samples."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.transformer.definitions import (
    Epsilon, Gain, Samples, Shift, batched_attention, layer_norm, rms_norm,
)  # fmt: skip
from verify.matrix import causal_mask, indexed
from verify.vocabulary import Shape, Size, subject

FusedWeights = Annotated[Any, Shape("d", "t")]
FusedShift = Annotated[Any, Shape("t")]
OutputWeights = Annotated[Any, Shape("d", "d")]
Heads = Annotated[int, Size("H")]
MatrixGain = Annotated[Any, Shape("n", "d", role="gate")]
MatrixShift = Annotated[Any, Shape("n", "d")]


@subject("transformer.gpt_attention")
def gpt_attention(X: Samples, W: FusedWeights, b: FusedShift, W_O: OutputWeights, c: Shift, H: Heads) -> Any:
    """Causal self-attention as GPT writes it: one projection with a bias, H heads, one projection out, shape (B, n, d).

    The t = 3 d columns of W, and entries of b, are those of queries, keys and values, in this order; each third consists of heads
    of width d / H, one after the other, as do the rows of W_O.  Weights act from the right.
    """
    B, n, d = X.shape
    parts = (indexed("bid,dk->(b i)(k)", X, W) + b.reshape(1, -1)).reshape(B, n, 3, H, -1)
    Q, K, V = (indexed("bihe->(b)(h)(i)(e)", parts[:, :, part]) for part in range(3))
    F = batched_attention(Q, K, V, causal_mask(n))
    return (indexed("bhia,hao->(b i)(o)", F, W_O.reshape(H, -1, d)) + c.reshape(1, -1)).reshape(B, n, d)


@subject("transformer.layer_norm_of_samples")
def layer_norm_of_samples(X: Samples, gamma: Gain, beta: Shift, epsilon: Epsilon) -> Any:
    """LayerNorm over the last of three axes, shape (B, n, d)."""
    return layer_norm(X.reshape(-1, X.shape[2]), gamma, beta, epsilon).reshape(*X.shape)


@subject("transformer.rms_norm_of_samples")
def rms_norm_of_samples(X: Samples, gamma: Gain, epsilon: Epsilon) -> Any:
    """RMSNorm over the last of three axes, shape (B, n, d)."""
    return rms_norm(X.reshape(-1, X.shape[2]), gamma, epsilon).reshape(*X.shape)


@subject("transformer.layer_norm_of_matrices")
def layer_norm_of_matrices(X: Samples, gamma: MatrixGain, beta: MatrixShift, epsilon: Epsilon) -> Any:
    """LayerNorm over the last two of three axes: mean and variance of all n d entries of a sample, shape (B, n, d)."""
    flat = X.reshape(X.shape[0], -1)
    return layer_norm(flat, gamma.reshape(-1), beta.reshape(-1), epsilon).reshape(*X.shape)
