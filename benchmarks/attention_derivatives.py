"""Derivatives of attention: `theorems.layers.attention` beside torch's math path and a softmax written out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from measure import OURS, PEER, Case, Entry, Goal, Topic, measure, peak_memory
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from theorems.layers import attention

WIDTH, BLOCK = 64, 16
OURS_NAME, FUSED = "theorems.layers.attention", "scaled_dot_product_attention, fused"
MATH, WRITTEN = "math path", "softmax written out"
Attend = Callable[..., Any]


def math_path(query: Any, key: Any, value: Any, is_causal: bool) -> Any:
    with sdpa_kernel(SDPBackend.MATH):
        return scaled_dot_product_attention(query, key, value, is_causal=is_causal)


def written_out(query: Any, key: Any, value: Any, is_causal: bool) -> Any:
    logits = query @ key.mT / math.sqrt(query.shape[-1])
    if is_causal:
        later = torch.ones(logits.shape[-2:], dtype=torch.bool, device=logits.device).triu(1)
        logits = logits.masked_fill(later, -math.inf)
    return torch.softmax(logits, dim=-1) @ value


def operands(N: int, batch: int, heads: int, dtype: torch.dtype, device: str) -> tuple[Any, ...]:
    generator = torch.Generator().manual_seed(N)
    drawn = [torch.randn(batch, heads, N, WIDTH, generator=generator, dtype=torch.float64) for _ in range(6)]
    return tuple(X.to(device, dtype) for X in drawn)


def loss(attend: Attend, causal: bool) -> Callable[..., Any]:
    return lambda query, key, value: attend(query, key, value, is_causal=causal).square().sum()


def first(attend: Attend, given: tuple[Any, ...], causal: bool) -> Any:
    leaves = [X.detach().requires_grad_() for X in given[:3]]
    return torch.autograd.grad(loss(attend, causal)(*leaves), leaves)


def double_backward(attend: Attend, given: tuple[Any, ...], causal: bool) -> Any:
    leaves = [X.detach().requires_grad_() for X in given[:3]]
    gradient = torch.autograd.grad(loss(attend, causal)(*leaves), leaves, create_graph=True)
    return torch.autograd.grad(gradient, leaves, given[3:])


def forward_over_reverse(attend: Attend, given: tuple[Any, ...], causal: bool) -> Any:
    gradient = torch.func.grad(loss(attend, causal), argnums=(0, 1, 2))
    return torch.func.jvp(gradient, given[:3], given[3:])[1]


def block(attend: Attend, given: tuple[Any, ...], causal: bool) -> Any:
    """Sixteen products, from one graph of the gradient."""
    leaves = [X.detach().requires_grad_() for X in given[:3]]
    gradient = torch.autograd.grad(loss(attend, causal)(*leaves), leaves, create_graph=True)
    return [torch.autograd.grad(gradient, leaves, given[3:], retain_graph=True) for _ in range(BLOCK)]


WAYS = {
    "first derivative": first, "double backward": double_backward, "forward over reverse": forward_over_reverse,
    f"a block of {BLOCK} products": block,
}  # fmt: skip


def _case(way: str, N: int, shape: tuple[int, int], dtype: torch.dtype, causal: bool, device: str) -> Case:
    given, run = operands(N, *shape, dtype, device), WAYS[way]
    peers: list[tuple[str, Attend]] = [(MATH, math_path)]
    if N < 2048:
        peers.append((WRITTEN, written_out))
    if run is first:
        peers.append((FUSED, scaled_dot_product_attention))
    ours = Entry(OURS_NAME, OURS, lambda: run(attention, given, causal))
    others = [Entry(name, PEER, lambda f=attend: run(f, given, causal)) for name, attend in peers]  # type: ignore[misc]
    kind = str(dtype).removeprefix("torch.") + (", causal" if causal else "")
    return Case(f"{way}, batch and heads {shape}, d = {WIDTH}, {kind}", f"N = {N}", N, [ours, *others])


def _points(quick: bool) -> list[tuple[str, int, tuple[int, int], torch.dtype, bool]]:
    single, double = torch.float32, torch.float64
    if quick:
        return [(way, 128, (1, 2), single, causal) for way in WAYS for causal in (False, True)]
    found = []
    for way in list(WAYS)[:3]:
        for causal in (False, True):
            found += [(way, N, (1, 8), single, causal) for N in (256, 1024, 2048)]
        found += [(way, 1024, (1, 8), double, False), (way, 256, (8, 16), single, False)]
    found += [("double backward", 4096, (1, 8), single, causal) for causal in (False, True)]
    return [*found, (list(WAYS)[3], 256, (1, 8), single, False), (list(WAYS)[3], 1024, (1, 8), single, False)]


def _target(way: str, N: int, causal: bool) -> float:
    """What was asked for: 4 times from N = 4096 on and under a causal mask, 2.5 times before, as fast as the best for small N."""
    if way == "first derivative":
        return 1.0
    return 0.9 if N <= 256 else 4.0 if causal or N >= 4096 else 2.5


def memory(N: int, attend: Attend, way: str, device: str) -> float:
    """Peak memory over that of inputs and outputs, of which there are nine arrays, eight heads, float32."""
    given = operands(N, 1, 8, torch.float32, device)
    held = sum(X.nbytes for X in given)
    return (peak_memory(lambda: WAYS[way](attend, given, False)) + held) / (1.5 * held)


def topic(device: str, quick: bool) -> Topic:
    """Sequences from 256 to 4096 tokens; memory at 8192."""
    cases, goals = [], []
    for way, N, shape, dtype, causal in _points(quick):
        case = _case(way, N, shape, dtype, causal, device)
        measure([case], device, quick or N >= 1024)
        peer, seconds = case.best_peer()
        text = f"best peer ({peer}) over ours, {case.series}, {case.label}"
        goals.append(Goal(text, _target(way, N, causal), seconds / case.seconds[OURS_NAME]))
        cases.append(case)
    longest, for_peers = (512, 256) if quick else (8192, 1024)
    notes = []
    for way in list(WAYS)[1:3]:
        goals.append(Goal(f"peak memory over inputs and outputs, {way}, N = {longest}", 6.0,
                          memory(longest, attention, way, device), least=False))  # fmt: skip
        ratio = memory(for_peers, math_path, way, device)
        notes.append(
            f"Peak memory of the math path, {way}, N = {for_peers}: {ratio:.0f} times inputs and outputs; it grows as N."
        )
    return Topic("Derivatives of attention", cases, [], goals, notes)
