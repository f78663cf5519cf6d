"""The tangent kernel of the shallow transformer: closed form and limit beside the contraction of per-sample gradients."""

from __future__ import annotations

from typing import Any

import torch
from measure import OURS, PEER, Case, Entry, Error, Goal, Topic, measure, relative_error

from theorems.convergence.fast.tangent_kernel import POOLINGS, finite_width_tangent_kernel, limiting_tangent_kernel
from theorems.convergence.part_4_main_results.limiting_kernel import limiting_kernel
from verify.arithmetics import midpoints, precision, to_balls

FINITE, LIMIT = "finite_width_tangent_kernel", "limiting_tangent_kernel"


def instance(N: int, d_s: int, d: int, width: int, device: str) -> tuple[torch.Tensor, ...]:
    """X, W_Q, W_K, W_V, w_O in float64."""
    generator = torch.Generator().manual_seed(N + width)
    shapes = ((N, d_s, d), (width, d), (width, d), (width, d), (width, 1))
    return tuple(torch.randn(*shape, generator=generator, dtype=torch.float64).to(device) for shape in shapes)


def per_sample_gradients(X: Any, weights: tuple[Any, ...], tau_0: float, tau_1: float, pooling: str) -> list[Any]:
    """The gradients of the network at every sample, by torch.func."""

    def output(weights: tuple[Any, ...], x: Any) -> Any:
        W_Q, W_K, W_V, w_O = weights
        hidden = torch.relu(torch.softmax((x @ W_Q.T) @ (x @ W_K.T).T * tau_0, dim=1) @ (x @ W_V.T)) * tau_1
        return (hidden.mean(0) if pooling == "average" else hidden.sum(0)) @ w_O[:, 0]

    return list(torch.func.vmap(torch.func.grad(output), in_dims=(None, 0))(weights, X))


def _case(N: int, d_s: int, d: int, width: int, device: str, pooling: str) -> Case:
    X, *weights = instance(N, d_s, d, width, device)
    scales = (1 / width, width**-0.5, pooling)

    def flattened() -> Any:
        return sum(J.flatten(1) @ J.flatten(1).T for J in per_sample_gradients(X, tuple(weights), *scales))

    def contracted() -> Any:
        found = per_sample_gradients(X, tuple(weights), *scales)
        return sum(torch.einsum("nab,mab->nm", J, J) for J in found)

    entries = [
        Entry(FINITE, OURS, lambda: finite_width_tangent_kernel(X, *weights, *scales)),
        Entry("functorch, flat gradients", PEER, flattened),
        Entry("functorch, einsum by weight", PEER, contracted),
    ]
    label = f"N = {N}, d_s = {d_s}, d = {d}, width = {width}, {pooling}"
    return Case(f"tangent kernel, width {width}, d_s = {d_s}, {pooling} pooling, float64", label, N, entries)


def _limit(N: int, device: str) -> Case:
    X = instance(N, 8, 16, 1, device)[0]
    entries = [
        Entry(LIMIT, OURS, lambda: limiting_tangent_kernel(X)),
        Entry("  sum pooling", OURS, lambda: limiting_tangent_kernel(X, "sum")),
        Entry("the clear form", PEER, lambda: limiting_kernel(X)),
    ]
    return Case("limiting kernel, float64", f"N = {N}", N, entries)


def _error(label: str, distance: float) -> Error:
    """Errors for mean tokens `distance` apart, in float64 against balls."""
    X, Y = (instance(5, 3, 4, seed, "cpu")[0] for seed in (1, 2))
    X = X[:1] + distance * Y if distance < 1 else X
    with precision(200):
        exact = torch.from_numpy(midpoints(limiting_kernel(to_balls(X.numpy()))))
    found = {LIMIT: limiting_tangent_kernel(X), "the clear form": limiting_kernel(X)}
    return Error(f"limiting kernel, {label}", {name: relative_error(K, exact) for name, K in found.items()})


def topic(device: str, quick: bool) -> Topic:
    """Kernels of 64 to 256 samples at either pooling; the limit for up to 4096."""
    points = (
        ((64, 8, 16, 256), (128, 8, 16, 256)) if quick else ((64, 8, 16, 512), (128, 8, 16, 512), (256, 8, 16, 512))
    )
    finite = [_case(*point, device, pooling) for pooling in POOLINGS for point in points]
    finite += [] if quick else [_case(128, 16, 32, 512, device, "average")]
    limits = [_limit(N, device) for N in ((128, 512) if quick else (128, 1024, 4096))]
    measure([*finite, *limits], device, quick)
    goals = []
    for case in finite:
        peer, seconds = case.best_peer()
        goals.append(Goal(f"best peer ({peer}) over ours, {case.label}", 2.3, seconds / case.seconds[FINITE]))
    largest = limits[-1]
    goals.append(Goal(f"seconds for the limit, {largest.label}", 5.0, largest.seconds[LIMIT], least=False))
    apart = (
        ("generic", 1.0),
        ("tokens 10^-3 apart", 1e-3),
        ("tokens 10^-7 apart", 1e-7),
        ("tokens 10^-10 apart", 1e-10),
    )
    errors = [_error(label, distance) for label, distance in apart]
    goals.append(Goal("error of the limit, worst", 1e-14, max(error.errors[LIMIT] for error in errors), least=False))
    return Topic("Tangent kernel", [*finite, *limits], errors, goals)
