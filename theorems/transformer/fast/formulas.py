"""Attention and its derivatives as plain torch: what `blocks` computes in less memory.

Short sequences are computed by `values`, and torch takes their derivatives.  The other functions here are what derivatives
of third order of long sequences are taken of.

P is the softmax of T = scale Q K^T + B over the keys that are not masked, F = P V, and W a cotangent of F.  Along a direction
(dQ, dK, dV, dB, dW), a dot above, the differential of F and of the gradient of <W, F> are

    dF = P. V + P dV,    P. = P o (T. - sum_j P T.),    T. = scale (dQ K^T + Q dK^T) + dB,
    G_B = P o C,  G_Q = scale G_B K,  G_K = scale G_B^T Q,  G_V = P^T W,    C = W V^T - sum_j P (W V^T),
    dG_B = P o (X - sum_j P X),    X = (T. - sum_j P T.) o C + dW V^T + W dV^T,

and dG_Q, dG_K, dG_V by the product rule.  The map from directions to (dG_Q, dG_K, dG_V, dG_B, dF) is the Hessian of
<W, F> in (Q, K, V, B, W), hence symmetric: derivatives of the gradient in reverse and in forward mode are the same products.
A row without keys has F = 0, and all its derivatives vanish.
"""

from __future__ import annotations

from typing import Any

import torch

from theorems.transformer.fast.blocks import Options


def values(Q: Any, K: Any, V: Any, bias: Any, excluded: Any, options: Options) -> Any:
    """F, shape (..., m, d_V); 16 bits are widened to 32 inside."""
    dtype = Q.dtype
    if dtype in (torch.float16, torch.bfloat16):
        Q, K, V, bias = (None if X is None else X.float() for X in (Q, K, V, bias))
    return (weights(Q, K, bias, excluded, options) @ V).to(dtype)


def weights(Q: Any, K: Any, bias: Any, excluded: Any, options: Options) -> Any:
    """P for queries (..., m, d_K) and keys (..., n, d_K), shape (..., m, n); `excluded` is true where a key is masked."""
    # mul.Scalar, since forward mode leads a product with a number of Python through a slow way
    T, mask = torch.ops.aten.mul.Scalar(Q, options.scale) @ K.mT, bias
    if excluded is not None:
        nothing = torch.zeros((), dtype=T.dtype, device=T.device) if bias is None else bias
        mask = torch.where(excluded, -torch.inf, nothing)
    if options.causal:
        later = torch.full(T.shape[-2:], -torch.inf, dtype=T.dtype, device=T.device).triu(1)
        mask = later if mask is None else mask + later
    if mask is None:
        return torch.softmax(T, dim=-1)
    T = T + mask
    if bias is None and excluded is None:  # every query sees the first key
        return torch.softmax(T, dim=-1)
    empty = (-torch.inf == mask).all(-1, keepdim=True)
    return torch.softmax(T.masked_fill(empty, 0.0), dim=-1).masked_fill(empty, 0.0)


def centred(P: Any, X: Any) -> Any:
    """X minus its mean under each row of P."""
    return X - (P * X).sum(-1, keepdim=True)


def differential(P: Any, Q: Any, K: Any, V: Any, dQ: Any, dK: Any, dV: Any, dB: Any, scale: float) -> Any:
    """dF, shape (..., m, d_V)."""
    T = scale * (dQ @ K.mT + Q @ dK.mT)
    if dB is not None:
        T = T + dB
    return (P * centred(P, T)) @ V + P @ dV


def second_differential(
    P: Any, Q: Any, K: Any, V: Any, W: Any, dQ: Any, dK: Any, dV: Any, dB: Any, dW: Any, scale: float
) -> tuple[Any, ...]:
    """dF, dG_Q, dG_K, dG_V and dG_B, the last of shape (..., m, n)."""
    T = scale * (dQ @ K.mT + Q @ dK.mT)
    if dB is not None:
        T = T + dB
    slope = centred(P, T)
    dP = P * slope
    C = centred(P, W @ V.mT)
    G_B = P * C
    dG_B = P * centred(P, slope * C + dW @ V.mT + W @ dV.mT)
    return (
        dP @ V + P @ dV,
        scale * (dG_B @ K + G_B @ dK),
        scale * (dG_B.mT @ Q + G_B.mT @ dQ),
        dP.mT @ W + P.mT @ dW,
        dG_B,
    )
