"""What the Hessian benchmarks share: instances of the attention loss, and the peers' views of it."""

from __future__ import annotations

import math
from typing import Any

import torch

WEIGHTS = ("W_Q", "W_K", "W_V")


def instance(L: int, d_V: int, d_K: int, device: str, seed: int = 0) -> tuple[torch.Tensor, ...]:
    """X, W_Q, W_K, W_V, Y in float64 with logits of order one."""
    generator = torch.Generator().manual_seed(seed)
    shapes = ((L, d_V), (d_V, d_K), (d_V, d_K), (d_V, d_V), (L, d_V))
    drawn = [torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes]
    scales = (1.0, *(1 / math.sqrt(d_V),) * 3, 1.0)
    return tuple((value * scale).to(device) for value, scale in zip(drawn, scales, strict=True))


def loss(w: Any, X: Any, Y: Any, d_K: int) -> Any:
    """The square loss as a function of all weights in one vector."""
    d_V = X.shape[1]
    n = d_V * d_K
    W_Q, W_K, W_V = w[:n].view(d_V, d_K), w[n : 2 * n].view(d_V, d_K), w[2 * n :].view(d_V, d_V)
    A = torch.softmax((X @ W_Q) @ (X @ W_K).T / math.sqrt(d_K), dim=1)
    return (A @ X @ W_V - Y).square().mean()


class Attention(torch.nn.Module):
    """The layer as a module, for libraries that want one."""

    def __init__(self, W_Q: Any, W_K: Any, W_V: Any) -> None:
        super().__init__()
        for name, W in zip(WEIGHTS, (W_Q, W_K, W_V), strict=True):
            self.register_parameter(name, torch.nn.Parameter(W.clone()))

    def forward(self, X: Any) -> Any:
        logits = (X @ self.W_Q) @ (X @ self.W_K).mT / math.sqrt(self.W_Q.shape[1])
        return torch.softmax(logits, dim=-1) @ X @ self.W_V


def curvlinops_hessian(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any) -> Any:
    """The Hessian as an operator of curvlinops, or None where that is not installed."""
    try:
        from curvlinops import HessianLinearOperator
    except ImportError:
        return None
    model = Attention(W_Q, W_K, W_V)
    data = [(X[None], Y[None])]
    return HessianLinearOperator(model, torch.nn.MSELoss(), list(model.parameters()), data, check_deterministic=False)
