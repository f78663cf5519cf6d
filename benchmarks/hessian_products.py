"""Products with the attention Hessian: one vector, and blocks of sixteen with stored moments."""

from __future__ import annotations

from typing import Any

import torch
from attention_loss import curvlinops_hessian, instance, loss
from dense_hessian import conditions
from measure import FLOOR, OURS, PEER, Case, Entry, Error, Goal, Topic, breakdown, measure, relative_error

from theorems.hessian.fast.operators import AttentionCurvature, curvature_product
from theorems.hessian.part_3_structure.whole_hessian import full_hessian, full_outer_product_hessian
from verify.arithmetics import midpoints, precision, to_balls

BLOCK = 16
ONE_SHOT, DOUBLE_BACKWARD = "curvature_product", "double backward"
STORED, SET_UP = "AttentionCurvature @ V", "  its moments, once"
FROM_NOTHING = "  the moments and the products"
TOGETHER = "curvature_product of the block"


def _gradient(w: Any, X: Any, Y: Any, d_K: int) -> tuple[Any, Any]:
    leaf = w.detach().requires_grad_()
    return torch.autograd.grad(loss(leaf, X, Y, d_K), leaf, create_graph=True)[0], leaf


def _cases(L: int, d: int, device: str) -> tuple[Case, Case]:
    arguments = instance(L, d, d, device)
    X, W_Q, W_K, W_V, Y = arguments
    w = torch.cat([W.flatten() for W in (W_Q, W_K, W_V)])
    V = torch.randn(len(w), BLOCK, dtype=X.dtype, device=device)
    v = V[:, 0].contiguous()
    stored, operator = AttentionCurvature(*arguments), curvlinops_hessian(*arguments)
    attention, room = torch.randn(L, L, dtype=X.dtype, device=device), torch.empty(L, L, dtype=X.dtype, device=device)
    moments, changes = torch.randn(L, d, 2 * d, dtype=X.dtype, device=device), torch.randn(L, 2 * d, BLOCK).to(X)
    side = torch.randn(d, d * BLOCK, dtype=X.dtype, device=device)

    def large_products() -> None:
        for _ in range(4):
            torch.mm(X, X.T, out=room)
            attention @ X

    def stored_products() -> None:
        torch.bmm(moments, changes)
        torch.bmm(moments[:, :, d:], changes[:, d:])
        for _ in range(3):
            X.T @ (X @ side)

    def double_backward() -> Any:
        gradient, leaf = _gradient(w, X, Y, d)
        return torch.autograd.grad(gradient, leaf, v)[0]

    def one_after_another() -> Any:
        gradient, leaf = _gradient(w, X, Y, d)
        return torch.stack([torch.autograd.grad(gradient, leaf, u, retain_graph=True)[0] for u in V.T], dim=1)

    def batched() -> Any:
        gradient, leaf = _gradient(w, X, Y, d)
        return torch.autograd.grad(gradient, leaf, V.T, is_grads_batched=True)[0].T

    def forward_over_reverse() -> Any:
        return torch.func.jvp(lambda w: torch.func.grad(loss)(w, X, Y, d), (w,), (v,))[1]

    one = [
        Entry(ONE_SHOT, OURS, lambda: curvature_product(*arguments, v)),
        Entry("  of the Gauss-Newton matrix", OURS, lambda: curvature_product(*arguments, v, part="outer-product")),
        Entry(DOUBLE_BACKWARD, PEER, double_backward),
        Entry("jvp of grad", PEER, forward_over_reverse),
        Entry("curvlinops", PEER, None if operator is None else lambda: operator @ v, "not installed"),
        Entry("floor: its products with all tokens", FLOOR, large_products),
    ]
    block = [
        Entry(STORED, OURS, lambda: stored @ V),
        Entry(SET_UP, OURS, lambda: AttentionCurvature(*arguments)),
        Entry(FROM_NOTHING, OURS, lambda: AttentionCurvature(*arguments) @ V),
        Entry(TOGETHER, OURS, lambda: curvature_product(*arguments, V)),
        Entry(DOUBLE_BACKWARD + ", one graph", PEER, one_after_another),
        Entry(DOUBLE_BACKWARD + ", batched", PEER, batched),
        Entry("curvlinops, block", PEER, None if operator is None else lambda: operator @ V, "not installed"),
        Entry("floor: reading the moments, its products", FLOOR, stored_products),
    ]
    label = f"L = {L}, d = {d}"
    return Case(f"one product, d = {d}, float64", label, L, one), Case(
        f"a block of {BLOCK} products, d = {d}, float64", label, L, block
    )


def _errors(label: str, change: Any) -> list[Error]:
    """Errors of both kinds of product in float64 against the certified matrices in balls."""
    arguments = change(*instance(6, 3, 2, "cpu", seed=3))
    n = 2 * 6 + 9
    v = torch.arange(1, n + 1, dtype=torch.float64).sin()
    found = []
    with precision(200):
        balls = [to_balls(value.numpy()) for value in arguments]
        matrices = {"hessian": full_hessian(*balls), "outer-product": full_outer_product_hessian(*balls[:4])}
        exact = {part: torch.from_numpy(midpoints(H @ to_balls(v.numpy()))) for part, H in matrices.items()}
    for part, product in exact.items():
        forms = {
            ONE_SHOT: curvature_product(*arguments, v, part=part),
            STORED: AttentionCurvature(*arguments, part=part) @ v,
        }
        if part == "hessian":
            X, W_Q, W_K, W_V, Y = arguments
            w = torch.cat([W.flatten() for W in (W_Q, W_K, W_V)])
            gradient, leaf = _gradient(w, X, Y, 2)
            forms[DOUBLE_BACKWARD] = torch.autograd.grad(gradient, leaf, v)[0]
        found.append(Error(f"{part} product, {label}", {k: relative_error(f, product) for k, f in forms.items()}))
    return found


def topic(device: str, quick: bool) -> Topic:
    """Sequences from 128 to 1024 tokens, heads of 16 and of 64."""
    points = ((128, 16), (512, 16)) if quick else ((128, 16), (512, 16), (1024, 16), (128, 32), (512, 64))
    pairs = [_cases(L, d, device) for L, d in points]
    cases = [case for pair in pairs for case in pair]
    measure(cases, device, quick)
    goals, notes = [], []
    for (L, _), (one, block) in zip(points, pairs, strict=True):
        ratio = one.seconds[DOUBLE_BACKWARD] / one.seconds[ONE_SHOT]
        goals.append(Goal(f"double backward over one product, {one.label}", 2.2, ratio))
        peer, seconds = block.best_peer()
        ratio = seconds / min(block.seconds[FROM_NOTHING], block.seconds[TOGETHER])
        goals.append(Goal(f"best peer ({peer}) over sixteen products with set-up, {block.label}", 2.0, ratio))
        if L >= 512:
            goals.append(
                Goal(f"best peer ({peer}) over stored moments, {block.label}", 10.0, seconds / block.seconds[STORED])
            )
            saved = (seconds - block.seconds[STORED]) / BLOCK
            notes.append(f"At {block.label} the moments are repaid after {block.seconds[SET_UP] / saved:.1f} products.")
    errors = [error for label, change in conditions().items() for error in _errors(label, change)]
    runs = {f"{case.entries[0].name}, {case.label}": case.entries[0].run for case in cases}
    profiles = [] if device != "cpu" else [breakdown(label, run) for label, run in runs.items() if run is not None]
    return Topic("Hessian- and Gauss-Newton-vector products", cases, errors, goals, notes, profiles)
