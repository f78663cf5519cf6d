"""Orthogonal self-attention: the linear-cost layer beside softmax attention, the dense exponential and the paper's bases."""

from __future__ import annotations

import math
from typing import Any

import torch
from measure import FLOOR, OURS, PEER, Case, Entry, Error, Goal, Topic, breakdown, measure, peak_memory, relative_error

from theorems.osa.definitions import queries_and_keys
from theorems.osa.fast.layers import newton_schulz, orthogonal_self_attention
from theorems.osa.fast.linear_cost import LARGEST_LOSS, linear_cost_attention, push_through_loss
from theorems.osa.part_2_4_cost.basis_layer import attention_through_basis
from theorems.osa.part_2_4_cost.push_through import attention_pushed_through
from verify.arithmetics import midpoints, precision, to_balls

D = 64
OURS_NAME, SOFTMAX = "linear_cost_attention", "scaled_dot_product_attention"
STEPS = 10


def layer(N: int, d: int, kappa: float, weights: str, seed: int, dtype: Any, device: str) -> tuple[Any, ...]:
    """X with condition number kappa and weights with ||S|| = 4.

    Weights are "Gaussian", or "turning": larger in the weak directions of the tokens, so that S turns these as well.
    """
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    U, V = torch.linalg.qr(normal(N, d)).Q, torch.linalg.qr(normal(d, d)).Q
    sizes = torch.logspace(0, -math.log10(kappa), d, dtype=torch.float64)
    W_Q, W_K, W_V, W_O = (normal(d, d) / math.sqrt(d) for _ in range(4))
    if weights == "turning":
        W_Q, W_K = V @ (W_Q / sizes[:, None]), V @ (W_K / sizes[:, None])
    R = sizes[:, None] * V.T
    half = R @ W_Q @ W_K.T @ R.T / math.sqrt(d)
    alpha = 4 / float(torch.linalg.matrix_norm(half - half.T, 2))
    X = (U * sizes) @ V.T
    return (*(value.to(device, dtype) for value in (X, W_Q, W_K, W_V, W_O)), alpha)


def softmax_layer(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any) -> Any:
    """The softmax layer with one head that orthogonal attention stands in for."""
    Q, K, V = (X @ W for W in (W_Q, W_K, W_V))
    return torch.nn.functional.scaled_dot_product_attention(Q[None, None], K[None, None], V[None, None])[0, 0] @ W_O


def through_qr(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: float) -> Any:
    """The paper's exact form: an orthonormal basis of [Q, K] by QR."""
    scale = torch.tensor(alpha, dtype=X.dtype, device=X.device)
    B = torch.linalg.qr(queries_and_keys(X, W_Q, W_K)).Q
    return attention_through_basis(X, W_Q, W_K, W_V, W_O, scale, B)


def through_newton_schulz(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: float) -> Any:
    """The paper's approximate form: ten steps of Newton-Schulz."""
    scale = torch.tensor(alpha, dtype=X.dtype, device=X.device)
    B = newton_schulz(queries_and_keys(X, W_Q, W_K), STEPS)
    return attention_through_basis(X, W_Q, W_K, W_V, W_O, scale, B)


def _forward(N: int, device: str, roof: Any, cold: bool = False) -> Case:
    arguments = layer(N, D, 1.0, "Gaussian", 0, torch.float32, device)
    X, W_Q, W_K, W_V, W_O, _ = arguments
    dense = None if N > 1024 else lambda: orthogonal_self_attention(*arguments, method="dense")
    entries = [
        Entry(OURS_NAME, OURS, lambda: linear_cost_attention(*arguments)),
        Entry("  in the frame of X", OURS, lambda: linear_cost_attention(*arguments, form="frame")),
        Entry(SOFTMAX, PEER, lambda: softmax_layer(X, W_Q, W_K, W_V, W_O)),
        Entry("matrix_exp of N x N", PEER, dense, "minutes"),
        Entry("paper: QR of [Q, K]", PEER, lambda: through_qr(*arguments)),
        Entry(f"paper: Newton-Schulz, {STEPS} steps", PEER, lambda: through_newton_schulz(*arguments)),
        Entry("floor: X^T X and one product with X", FLOOR, lambda: X @ (X.T @ X)),
        Entry("GEMM roof: a product 1024 x 1024", FLOOR, lambda: roof @ roof),
    ]
    series = "layer, forward, d = 64, float32" + (", among other work" if cold else "")
    return Case(series, f"N = {N}", N, entries, cold=cold)


def _backward(N: int, device: str) -> Case:
    *tensors, alpha = layer(N, D, 1.0, "Gaussian", 0, torch.float32, device)
    leaves = [value.requires_grad_() for value in tensors]

    def differentiated(value: Any) -> Any:
        return torch.autograd.grad(value, leaves, torch.ones_like(value))

    entries = [
        Entry(OURS_NAME, OURS, lambda: differentiated(linear_cost_attention(*leaves, alpha))),
        Entry("  in the frame of X", OURS, lambda: differentiated(linear_cost_attention(*leaves, alpha, form="frame"))),
        Entry(SOFTMAX, PEER, lambda: differentiated(softmax_layer(*leaves))),
        Entry("paper: QR of [Q, K]", PEER, lambda: differentiated(through_qr(*leaves, alpha)), ""),
    ]
    return Case("layer, forward and backward, d = 64, float32", f"N = {N}", N, entries)


def _error(N: int, d: int, kappa: float, weights: str) -> tuple[Error, float]:
    """Errors in float32 against balls, and the loss that was predicted of the push-through form."""
    *tensors, alpha = layer(N, d, kappa, weights, 1, torch.float32, "cpu")
    alpha = float(torch.tensor(alpha, dtype=torch.float32))
    with precision(200):
        balls = [to_balls(value.double().numpy()) for value in tensors]
        exact = torch.from_numpy(midpoints(attention_pushed_through(*balls, to_balls(alpha).item())))
    forms = {form: linear_cost_attention(*tensors, alpha, form=form) for form in ("automatic", "push-through", "frame")}
    forms["dense"] = orthogonal_self_attention(*tensors, alpha, method="dense")
    forms["paper: QR of [Q, K]"] = through_qr(*tensors, alpha)
    label = f"N = {N}, d = {d}, kappa = {kappa:.0e}, {weights} weights"
    found = {name: relative_error(value, exact) for name, value in forms.items()}
    return Error(label, found), push_through_loss(*tensors, alpha)


def topic(device: str, quick: bool) -> Topic:
    """Sizes from 256 to 4096 tokens; errors for condition numbers up to 10^6."""
    sizes = (256, 1024) if quick else (256, 1024, 2048, 4096)
    roof = torch.randn(1024, 1024, device=device)
    forward = [_forward(N, device, roof) for N in sizes]
    backward = [_backward(N, device) for N in sizes]
    alone = [_forward(N, device, roof, cold=True) for N in sizes]
    measure([*forward, *backward, *alone], device, quick)

    goals = []
    for case in forward:
        ratio = case.seconds[SOFTMAX] / case.seconds[OURS_NAME]
        for N, target in ((1024, 7.0), (4096, 45.0)):
            if case.size == N:
                goals.append(Goal(f"{SOFTMAX} over ours, N = {N}", target, ratio))
    for case in alone:
        if case.size == 4096:
            ratio = case.seconds[SOFTMAX] / case.seconds[OURS_NAME]
            goals.append(Goal(f"{SOFTMAX} over ours among other work, N = 4096", 40.0, ratio))
    largest = forward[-1]
    N = int(largest.size)
    roof_seconds = largest.seconds["GEMM roof: a product 1024 x 1024"] * 4 * N * D**2 / (2 * 1024**3)
    of_floor = largest.seconds["floor: X^T X and one product with X"] / largest.seconds[OURS_NAME]
    goals.append(Goal(f"share of the GEMM roof, N = {N}", 0.6, roof_seconds / largest.seconds[OURS_NAME]))
    goals.append(Goal(f"share of the two products alone, N = {N}", 0.6, of_floor))
    arguments = layer(N, D, 1.0, "Gaussian", 0, torch.float32, device)
    bytes_used = peak_memory(lambda: linear_cost_attention(*arguments))
    goals.append(Goal(f"memory with the result, in N d numbers, N = {N}", 1.5, bytes_used / (4 * N * D), least=False))

    points = [(64, 16, kappa, weights) for weights in ("Gaussian", "turning") for kappa in (1.0, 1e1, 1e2, 1e3)]
    points += [(64, 16, 1e6, "Gaussian"), (64, 4, 1e2, "Gaussian"), (64, 4, 1e3, "Gaussian")]
    found = [_error(*point) for point in ([(64, 64, 1.0, "Gaussian"), *(points[1::2] if quick else points)])]
    errors = [error for error, _ in found]
    goals.append(Goal("relative error in float32, ||S|| = 4, d = 64", 4e-6, errors[0].errors["automatic"], least=False))
    losses = [error.errors["automatic"] / min(error.errors["frame"], error.errors["push-through"]) for error in errors]
    goals.append(Goal("error of the form chosen over that of the better one", 8.0, max(losses), least=False))
    notes = [
        f"`automatic` takes the frame where the predicted loss exceeds {LARGEST_LOSS:g}; predicted: "
        + ", ".join(f"{loss:.2g}" for _, loss in found)
        + ", in the order of the table."
    ]
    profiles = [] if device != "cpu" else [breakdown(f"layer, N = {N}", lambda: linear_cost_attention(*arguments))]
    cases = [*forward, *backward, *alone]
    return Topic("Orthogonal self-attention", cases, errors, goals, notes, profiles)
