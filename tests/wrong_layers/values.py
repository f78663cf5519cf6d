"""Wrong values: scales, masks, axes, exchanged operands, functions in the place of the exponential, low precision."""

from __future__ import annotations

import math
from typing import Any

import torch

from tests.wrong_layers import WRONG, Function, add


def attention(
    scale: Function = lambda d_K, d_V, L: 1 / math.sqrt(d_K),
    logits: Function = lambda T: T,
    weights: Function = lambda T: torch.softmax(T, -1),
    operands: Function = lambda X, W_Q, W_K, W_V: (X @ W_Q, X @ W_K, X @ W_V),
    result: Function = lambda F, A, V: F,
) -> Function:
    """softmax attention with one of its parts exchanged."""

    def layer(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
        Q, K, V = operands(X, W_Q, W_K, W_V)
        A = weights(logits(Q @ K.T * scale(W_Q.shape[1], W_V.shape[1], len(X))))
        return result(A @ V, A, V)

    return layer


SCALES: dict[str, tuple[Function, str]] = {
    "no scale": (lambda k, v, n: 1.0, "the scale 1/sqrt(d_K) is missing"),
    "1/d_K": (lambda k, v, n: 1 / k, "the logits are divided by d_K instead of sqrt(d_K)"),
    "1/sqrt(d_V)": (
        lambda k, v, n: v**-0.5,
        "the logits are divided by sqrt(d_V), of the width of the tokens X, not by sqrt(d_K)",
    ),
    "sqrt(d_K)": (lambda k, v, n: k**0.5, ""),
    "1/sqrt(L)": (lambda k, v, n: n**-0.5, ""),
    "1/sqrt(2 d_K)": (lambda k, v, n: (2 * k) ** -0.5, ""),
    "1/sqrt(d_K + 1)": (lambda k, v, n: (k + 1) ** -0.5, ""),
    "1/(sqrt(d_K) + 1e-6)": (lambda k, v, n: 1 / (k**0.5 + 1e-6), ""),
    "1/sqrt(d_K) in one digit": (lambda k, v, n: round(k**-0.5, 1), ""),
    "1/sqrt(64)": (lambda k, v, n: 0.125, ""),
    "opposite sign": (lambda k, v, n: -(k**-0.5), ""),
    "d_K^-0.25": (lambda k, v, n: k**-0.25, ""),
    "log2(e)": (lambda k, v, n: k**-0.5 * math.log2(math.e), ""),
    "temperature 1.0001": (lambda k, v, n: k**-0.5 / 1.0001, ""),
    "temperature 2": (lambda k, v, n: k**-0.5 / 2, ""),
    "math.isqrt": (lambda k, v, n: 1 / math.isqrt(k), ""),
}

LOGITS: dict[str, tuple[Function, str]] = {
    "transposed": (lambda T: T.T, "W_Q and W_K are exchanged"),
    "causal": (lambda T: T.masked_fill(torch.ones_like(T).triu(1).bool(), -math.inf), "a causal mask is applied"),
    "causal, with -1e9": (lambda T: T + torch.ones_like(T).triu(1) * -1e9, "a causal mask is applied"),
    "anti-causal": (lambda T: T.masked_fill(torch.ones_like(T).tril(-1).bool(), -math.inf), ""),
    "diagonal masked": (lambda T: T - torch.eye(len(T), dtype=T.dtype) * 1e4 if len(T) > 1 else T, ""),
    "diagonal raised": (lambda T: T + torch.eye(len(T), dtype=T.dtype), ""),
    "last key masked": (lambda T: torch.cat([T[:, :-1], T[:, -1:] - 1e4], 1) if len(T) > 1 else T, ""),
    "window of 2": (lambda T: T.masked_fill(torch.ones_like(T).tril(-2).bool(), -math.inf), ""),
    "tanh cap at 50": (lambda T: 50 * torch.tanh(T / 50), ""),
    "tanh cap at 1000": (lambda T: 1000 * torch.tanh(T / 1000), ""),
    "clamped at 10": (lambda T: T.clamp(-10, 10), ""),
    "clamped at 80": (lambda T: T.clamp(max=80), ""),
    "clamped from below": (lambda T: T.clamp(min=-1000), ""),
    "ALiBi": (lambda T: T - (torch.arange(len(T))[:, None] - torch.arange(len(T))).abs() * 0.25, ""),
    "rounded to 2^-8": (lambda T: (T * 256).round() / 256, ""),
    "relu": (torch.relu, ""),
    "absolute": (torch.abs, ""),
    "rows centred by columns": (lambda T: T - T.mean(0), ""),
    "columns normed": (lambda T: T / (T.norm(dim=0, keepdim=True) + 1), ""),
}


def taylor(order: int) -> Function:
    def weights(T: Any) -> Any:
        shifted = T - T.amax(-1, keepdim=True)
        series = sum(shifted**k / math.factorial(k) for k in range(order + 1))
        return series / series.sum(-1, keepdim=True)

    return weights


def by_powers_of_two(T: Any) -> Any:
    exponents = torch.exp2((T - T.amax(-1, keepdim=True)) * 1.4427)
    return exponents / exponents.sum(-1, keepdim=True)


def without_maximum(T: Any) -> Any:
    return torch.exp(T) / torch.exp(T).sum(-1, keepdim=True)


def with_constant(eps: float) -> Function:
    def weights(T: Any) -> Any:
        exponentials = torch.exp(T - T.amax(-1, keepdim=True))
        return exponentials / (exponentials.sum(-1, keepdim=True) + eps)

    return weights


def in_lower(dtype: torch.dtype) -> Function:
    return lambda T: torch.softmax(T.to(dtype), -1).to(T.dtype)


def top(count: int) -> Function:
    def weights(T: Any) -> Any:
        kept = T.topk(min(count, T.shape[-1]), -1).values[:, -1:]
        return torch.softmax(T.masked_fill(kept > T, -math.inf), -1)

    return weights


WEIGHTS: dict[str, tuple[Function, str]] = {
    "over columns": (lambda T: torch.softmax(T, 0), "softmax over the wrong axis: columns sum to 1, not rows"),
    "transposed": (lambda T: torch.softmax(T, -1).T, "the attention matrix is transposed"),
    "missing": (lambda T: T, "the softmax is missing"),
    "whole matrix": (lambda T: torch.softmax(T.reshape(-1), 0).reshape(T.shape), ""),
    "not normalised": (lambda T: torch.exp(T - T.amax(-1, keepdim=True)), ""),
    "normalised twice over columns": (lambda T: torch.softmax(T, -1) / torch.softmax(T, -1).sum(0), ""),
    "one more in the sum": (with_constant(1.0), ""),
    "eps 1e-6 in the sum": (with_constant(1e-6), ""),
    "eps 1e-9 in the sum": (with_constant(1e-9), ""),
    "no maximum": (without_maximum, "it overflows: the maximum is not subtracted before the exponential"),
    "maximum of the matrix": (lambda T: without_maximum(T - T.max()), ""),
    "minimum subtracted": (lambda T: without_maximum(T - T.amin(-1, keepdim=True)),
                           "it overflows: the maximum is not subtracted before the exponential"),
    "Taylor of order 2": (taylor(2), ""),
    "Taylor of order 4": (taylor(4), ""),
    "Taylor of order 8": (taylor(8), ""),
    "log2(e) in four digits": (by_powers_of_two, ""),
    "sigmoid": (torch.sigmoid, ""),
    "softplus": (lambda T: torch.nn.functional.softplus(T) / torch.nn.functional.softplus(T).sum(-1, keepdim=True), ""),
    "squared": (lambda T: torch.softmax(T, -1) ** 2, ""),
    "hard": (lambda T: torch.nn.functional.one_hot(T.argmax(-1), T.shape[-1]).to(T.dtype), ""),
    "top 2": (top(2), ""),
    "small ones cut": (lambda T: torch.softmax(T, -1) * (torch.softmax(T, -1) > 1e-2), ""),
    "in float32": (in_lower(torch.float32), "it computes in float32"),
    "in bfloat16": (in_lower(torch.bfloat16), "it computes in bfloat16"),
    "in float16": (in_lower(torch.float16), "it computes in float16"),
    "half uniform": (lambda T: (torch.softmax(T, -1) + 1 / T.shape[-1]) / 2, ""),
    "dropout of 0.1, as an expectation": (lambda T: torch.softmax(T, -1) * 0.9, "the result has a constant factor 0.9"),
}  # fmt: skip

OPERANDS: dict[str, tuple[Function, str]] = {
    "queries and keys exchanged": (lambda X, Q, K, V: (X @ K, X @ Q, X @ V), "W_Q and W_K are exchanged"),
    "values transposed": (lambda X, Q, K, V: (X @ Q, X @ K, X @ V.T), "W_V is transposed"),
    "queries of the keys": (lambda X, Q, K, V: (X @ K, X @ K, X @ V), ""),
    "keys of the queries": (lambda X, Q, K, V: (X @ Q, X @ Q, X @ V), ""),
    "values without projection": (lambda X, Q, K, V: (X @ Q, X @ K, X), ""),
    "queries of the first token": (lambda X, Q, K, V: (X[:1].expand_as(X) @ Q, X @ K, X @ V), ""),
    "keys shifted by one": (lambda X, Q, K, V: (X @ Q, X.roll(1, 0) @ K, X @ V), ""),
    "values shifted by one": (lambda X, Q, K, V: (X @ Q, X @ K, X.roll(1, 0) @ V), ""),
    "tokens reversed": (lambda X, Q, K, V: (X.flip(0) @ Q, X @ K, X @ V), ""),
    "features reversed": (lambda X, Q, K, V: (X.flip(1) @ Q, X @ K, X @ V), ""),
    "a bias in the keys": (lambda X, Q, K, V: (X @ Q, X @ K + X[:1].sum() * 0.1 * torch.arange(len(X))[:, None], X @ V), ""),
    "a bias in the values": (lambda X, Q, K, V: (X @ Q, X @ K, X @ V + 0.01), ""),
    "keys normalised": (lambda X, Q, K, V: (X @ Q, torch.nn.functional.normalize(X @ K, dim=-1), X @ V), ""),
    "first feature of the keys dropped": (
        lambda X, Q, K, V: (X @ Q, torch.cat([(X @ K)[:, :1] * 0, (X @ K)[:, 1:]], 1), X @ V), ""),
    "weights in float32": (lambda X, Q, K, V: (X @ Q, (X.float() @ K.float()).to(X.dtype), X @ V), ""),
    "queries without weights where square": (lambda X, Q, K, V: (X if Q.shape[0] == Q.shape[1] else X @ Q, X @ K, X @ V), ""),
    "positions added": (lambda X, Q, K, V: (X @ Q + torch.arange(len(X))[:, None] * 0.1, X @ K, X @ V), ""),
}  # fmt: skip

RESULTS: dict[str, tuple[Function, str]] = {
    "doubled": (lambda F, A, V: 2 * F, "the result has a constant factor 2"),
    "opposite sign": (lambda F, A, V: -F, "the result has the opposite sign"),
    "over L": (lambda F, A, V: F / len(F), "the result has a factor L^-1"),
    "times sqrt(L)": (lambda F, A, V: F * len(F) ** 0.5, "the result has a factor L^0.5"),
    "residual": (lambda F, A, V: F + V, ""),
    "first row dropped": (lambda F, A, V: torch.cat([F[:1] * 0, F[1:]]), ""),
    "last row is that of the values": (lambda F, A, V: torch.cat([F[:-1], V[-1:]]), ""),
    "rows reversed": (lambda F, A, V: F.flip(0), ""),
    "in bfloat16": (lambda F, A, V: F.bfloat16().to(F.dtype), "it computes in bfloat16"),
    "in float16": (lambda F, A, V: F.half().to(F.dtype), "it computes in float16"),
    "in float32": (lambda F, A, V: F.float().to(F.dtype), "it computes in float32"),
    "a part in 10^5 off": (lambda F, A, V: F * (1 + 1e-5), "the result has a constant factor 1.00001"),
    "shifted by 1e-3": (lambda F, A, V: F + 1e-3, ""),
    "clamped at 3": (lambda F, A, V: F.clamp(-3, 3), ""),
    "mean of the rows": (lambda F, A, V: F.mean(0, keepdim=True).expand_as(F), ""),
    "not a number set to zero": (lambda F, A, V: torch.where(F.abs() < 2, F, F * 0), ""),
}


def collect() -> None:
    for part, changes in (
        ("scale", SCALES), ("logits", LOGITS), ("weights", WEIGHTS), ("operands", OPERANDS), ("result", RESULTS)
    ):  # fmt: skip
        for name, (change, cause) in changes.items():
            add(WRONG, f"{part}: {name}", attention(**{part: change}), cause=cause)
    for factor in (1.01, 0.5, -2.0):
        add(WRONG, f"softmax times {factor}", lambda T, factor=factor: torch.softmax(T, -1) * factor,
            subject="hessian.softmax")  # fmt: skip
    for name, norm in NORMS.items():
        add(WRONG, f"RMSNorm: {name}", norm[0], subject="dynamics.rms_norm", cause=norm[1])


def _norm(Y: Any, gamma: Any, eps: float = 0.0, shift: Any = 0.0) -> Any:
    Y = Y - shift
    return Y / (Y.square().sum(1, keepdim=True) + eps).sqrt() * gamma


NORMS: dict[str, tuple[Function, str]] = {
    "mean square": (lambda Y, g: _norm(Y, g) * Y.shape[1] ** 0.5,
                    "rows have unit mean square, not unit norm: sqrt(D) times longer than in this paper"),
    "LayerNorm": (lambda Y, g: _norm(Y, g, shift=Y.mean(1, keepdim=True)) if Y.shape[1] > 1 else _norm(Y, g) * 2, ""),
    "no gain": (lambda Y, g: _norm(Y, 1.0), "the gain gamma is missing"),
    "gain 1 + gamma": (lambda Y, g: _norm(Y, 1 + g), "the gain is 1 + gamma"),
    "columns": (lambda Y, g: Y / Y.norm(dim=0) * g, "columns are normalised instead of rows"),
    "sum of absolutes": (lambda Y, g: Y / Y.abs().sum(1, keepdim=True) * g, ""),
    "largest entry": (lambda Y, g: Y / Y.abs().amax(1, keepdim=True) * g, ""),
    "eps 1e-3": (lambda Y, g: _norm(Y, g, 1e-3), ""),
    "gain detached": (lambda Y, g: _norm(Y, g.detach()), ""),
    "norm detached": (lambda Y, g: Y / Y.norm(dim=1, keepdim=True).detach() * g, ""),
}  # fmt: skip
