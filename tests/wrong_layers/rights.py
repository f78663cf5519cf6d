"""Right layers: other orders of operations, kernels, modules, blocks, autograd.Functions, checkpoints, layouts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch.utils.checkpoint import checkpoint

from tests.wrong_layers import RIGHT, Function, add
from tests.wrong_layers.backward import own_backward
from tests.wrong_layers.backward import right as right_products
from tests.wrong_layers.blocks import blocked, padded
from tests.wrong_layers.values import attention
from theorems.adapters import attention_kernel, multihead_attention, rms_norm, sdpa
from verify.gate.adapters import batched, from_numpy

kernel = torch.nn.functional.scaled_dot_product_attention


class OldSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, T: Any) -> Any:
        A = torch.softmax(T, -1)
        ctx.save_for_backward(A)
        return A

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (A,) = ctx.saved_tensors
        return A * (g - (g * A).sum(-1, keepdim=True))


def over_its_sum(exponential: Function) -> Function:
    def weights(T: Any) -> Any:
        E = exponential(T - T.amax(-1, keepdim=True))
        return E / E.sum(-1, keepdim=True)

    return weights


def by_rows(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    rows = [torch.softmax(x @ W_Q @ (X @ W_K).T / math.sqrt(W_Q.shape[1]), -1) @ X @ W_V for x in X]
    return torch.stack(rows)


def collect() -> None:
    layers: dict[str, Function] = {
        "plain": attention(),
        "logits by W_Q W_K^T": lambda X, Q, K, V: torch.softmax(X @ (Q @ K.T) @ X.T / math.sqrt(Q.shape[1]), -1) @ (X @ V),
        "scale in the queries": lambda X, Q, K, V: torch.softmax((X @ Q / math.sqrt(Q.shape[1])) @ (X @ K).T, -1) @ (X @ V),
        "scale in the tokens": lambda X, Q, K, V: torch.softmax((X / Q.shape[1] ** 0.5) @ Q @ K.T @ X.T, -1) @ X @ V,
        "exponential and sum": attention(weights=over_its_sum(torch.exp)),
        "logsumexp": attention(weights=lambda T: torch.exp(T - torch.logsumexp(T, -1, keepdim=True))),
        "log_softmax": attention(weights=lambda T: torch.log_softmax(T, -1).exp()),
        "powers of two": attention(weights=over_its_sum(lambda T: torch.exp2(T / math.log(2)))),
        "softmax of the transpose": attention(weights=lambda T: torch.softmax(T.T, 0).T),
        "row by row": by_rows,
        "einsum": lambda X, Q, K, V: torch.einsum("ij,jk,kl->il", torch.softmax(torch.einsum(
            "ia,ak,bk,jb->ij", X, Q, K, X) / math.sqrt(Q.shape[1]), -1), X, V),
        "float64 inside": lambda *given: attention()(*(x.double() for x in given)).to(given[0].dtype),
        "tokens from right to left": lambda X, Q, K, V: torch.softmax(
            X @ Q @ (X.flip(0) @ K).T / math.sqrt(Q.shape[1]), -1) @ (X.flip(0) @ V),
        "contiguous copies": lambda *given: attention()(*(x.clone(memory_format=torch.contiguous_format) for x in given)),
        "checkpoint": lambda *given: checkpoint(attention(), *given, use_reentrant=False),
        "old-style autograd.Function": own_backward(right_products),
        "new-style autograd.Function": own_backward(right_products, old=False),
        "once differentiable": own_backward(right_products, once=True),
        "old-style softmax": attention(weights=OldSoftmax.apply),
        "mask of -inf for no key": lambda X, Q, K, V: kernel(
            (X @ Q)[None], (X @ K)[None], (X @ V)[None], attn_mask=torch.zeros(len(X), len(X), dtype=X.dtype))[0],
        "boolean mask of ones": lambda X, Q, K, V: kernel(
            (X @ Q)[None], (X @ K)[None], (X @ V)[None], attn_mask=torch.ones(len(X), len(X), dtype=torch.bool))[0],
    }  # fmt: skip
    for name, function in layers.items():
        add(RIGHT, name, function)
    for size in (2, 8, 16, 64):
        add(RIGHT, f"blocks of {size}", blocked(size))
    for size in (8, 64):
        add(RIGHT, f"keys padded to a multiple of {size}", padded(size, -math.inf))
    for layout in ("BHNd", "BNHd", "HNd", "BNd", "Nd"):

        def own(q: Any, k: Any, v: Any, layout: str = layout) -> Any:
            moved = (x.transpose(1, 2) if layout == "BNHd" else x for x in (q, k, v))
            result = kernel(*moved)
            return result.transpose(1, 2) if layout == "BNHd" else result

        add(RIGHT, f"kernel, {layout}", own, adapter=attention_kernel(layout=layout))
    for backend in ("math", "flash"):
        add(RIGHT, f"kernel, {backend}", sdpa(backend), adapter=attention_kernel())
    for subject in ("skipless.self_attention", "dynamics.attention_head", "convergence.self_attention"):
        add(RIGHT, f"kernel as {subject}", sdpa("math"), subject=subject, adapter=attention_kernel(subject))
    add(RIGHT, "torch.nn.MultiheadAttention", torch.nn.MultiheadAttention, subject="dynamics.multi_head_attention",
        adapter=multihead_attention)  # fmt: skip
    add(RIGHT, "torch.nn.RMSNorm", torch.nn.RMSNorm, subject="dynamics.rms_norm", adapter=rms_norm)
    add(RIGHT, "softmax of a batch", lambda T: torch.softmax(T, -1), subject="hessian.softmax", adapter=batched(2))
    add(RIGHT, "softmax, old style", OldSoftmax.apply, subject="hessian.softmax")

    def softmax_of_numpy(T: Any) -> Any:
        E = np.exp(T - T.max(1, keepdims=True))
        return E / E.sum(1, keepdims=True)

    add(RIGHT, "softmax of numpy", softmax_of_numpy, subject="hessian.softmax", adapter=from_numpy)
