"""Derivatives of attention as plain torch: what `blocks` computes faster, and what derivatives of third order are taken of.

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


def weights(Q: Any, K: Any, bias: Any, excluded: Any, scale: float) -> Any:
    """P for queries (..., m, d_K) and keys (..., n, d_K), shape (..., m, n); `excluded` is true where a key is masked."""
    T = scale * (Q @ K.mT)
    if bias is not None:
        T = T + bias
    if excluded is not None:
        T = T.masked_fill(excluded, -torch.inf)
    if bias is None and excluded is None:
        return torch.softmax(T, dim=-1)
    empty = (-torch.inf == T).all(-1, keepdim=True)
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
