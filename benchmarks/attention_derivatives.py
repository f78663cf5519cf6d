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
MATH, WRITTEN, BATCHED = "math path", "softmax written out", "math path, products in one batch"
SINGLE, DOUBLE = torch.float32, torch.float64
#: Memory that a peer may take; beyond it, it is not run.
ROOM = 5 * 2**30
Attend = Callable[..., Any]


def math_path(query: Any, key: Any, value: Any, is_causal: bool) -> Any:
    with sdpa_kernel(SDPBackend.MATH):
        return scaled_dot_product_attention(query, key, value, is_causal=is_causal)


def written_out(query: Any, key: Any, value: Any, is_causal: bool) -> Any:
    logits = (query / math.sqrt(query.shape[-1])) @ key.mT
    if is_causal:
        logits = logits + torch.full(logits.shape[-2:], -math.inf, dtype=logits.dtype, device=logits.device).triu(1)
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


def batched(attend: Attend, given: tuple[Any, ...], causal: bool) -> Any:
    """The same, one run through the graph for all."""
    leaves = [X.detach().requires_grad_() for X in given[:3]]
    gradient = torch.autograd.grad(loss(attend, causal)(*leaves), leaves, create_graph=True)
    along = [X.expand(BLOCK, *X.shape) for X in given[3:]]
    return torch.autograd.grad(gradient, leaves, along, is_grads_batched=True)


FIRST, TWICE, FORWARD, MANY = (
    "first derivative", "double backward", "forward over reverse", f"a block of {BLOCK} products",
)  # fmt: skip
WAYS = {FIRST: first, TWICE: double_backward, FORWARD: forward_over_reverse, MANY: block}


def held_by_peers(way: str, N: int, shape: tuple[int, int], dtype: torch.dtype) -> float:
    """Bytes of the math path: about 12 arrays of weights in second derivatives, 4 in first ones (the notes measure it)."""
    arrays = 4 if way == FIRST else 12
    return float(arrays * math.prod(shape) * N * N * dtype.itemsize)


def _case(way: str, N: int, shape: tuple[int, int], dtype: torch.dtype, causal: bool, device: str) -> Case:
    given, run = operands(N, *shape, dtype, device), WAYS[way]
    held = held_by_peers(way, N, shape, dtype)
    absent = f"{held / 2**30:.0f} GiB" if held > ROOM else ""

    def entry(name: str, attend: Attend, run: Callable[..., Any], absent: str = "") -> Entry:
        return Entry(name, PEER, None if absent else lambda: run(attend, given, causal), absent)

    peers = [
        entry(MATH, math_path, run, absent),
        entry(WRITTEN, written_out, run, absent or ("not measured" if N > 1024 else "")),
    ]
    if way == FIRST:
        peers.append(entry(FUSED, scaled_dot_product_attention, run))
    if way == MANY:
        peers.append(entry(BATCHED, math_path, batched, "not measured" if N > 256 else ""))
    ours = Entry(OURS_NAME, OURS, lambda: run(attention, given, causal))
    kind = str(dtype).removeprefix("torch.") + (", causal" if causal else "")
    return Case(f"{way}, batch and heads {shape}, d = {WIDTH}, {kind}", f"N = {N}", N, [ours, *peers])


#: (N, (batch, heads), dtype) of first and second derivatives, each with and without a causal mask.  Long sequences have fewer
#: heads, for which the math path has memory; the time of a head does not depend on their number there.
POINTS = [
    *((N, (1, 8), SINGLE) for N in (256, 1024, 2048)), (4096, (1, 2), SINGLE), (8192, (1, 1), SINGLE),
    (256, (8, 16), SINGLE), (256, (1, 8), DOUBLE), (1024, (1, 8), DOUBLE),
]  # fmt: skip
#: The same for blocks of products, without a mask.
BLOCKS = [(256, (1, 8), SINGLE), (1024, (1, 2), SINGLE), (2048, (1, 1), SINGLE), (1024, (1, 2), DOUBLE)]


def _target(way: str, N: int, causal: bool) -> float:
    """Products: 4 times from N = 4096 on and under a causal mask, 2.5 times before, about as fast as the best for small N.

    First derivatives, and many products from one graph, are not to be slower than others'.
    """
    if way in (FIRST, MANY):
        return 1.0
    return 0.9 if N <= 256 else 4.0 if causal or N >= 4096 else 2.5


def memory(N: int, heads: int, attend: Attend, way: str, causal: bool, device: str) -> float:
    """Peak memory over that of inputs and outputs, of which there are nine arrays, float32."""
    given = operands(N, 1, heads, SINGLE, device)
    held = sum(X.nbytes for X in given)
    return (peak_memory(lambda: WAYS[way](attend, given, causal)) + held) / (1.5 * held)


def topic(device: str, quick: bool) -> Topic:
    """Sequences from 256 to 8192 tokens; memory at 8192."""
    points, blocks = ([(128, (1, 2), SINGLE)], [(128, (1, 2), SINGLE)]) if quick else (POINTS, BLOCKS)
    cases, goals, notes = [], [], []
    asked = [(way, *point, causal) for way in (FIRST, TWICE, FORWARD) for causal in (False, True) for point in points]
    for way, N, shape, dtype, causal in [*asked, *((MANY, *point, False) for point in blocks)]:
        case = _case(way, N, shape, dtype, causal, device)
        large = N >= 1024 or math.prod(shape) > 8
        measure([case], device, quick or large, least=3 if N < 2048 else 2 if N < 8192 else 1)
        # first derivatives are held against torch's own, second ones against the best way there is
        peer, seconds = (FUSED, case.seconds[FUSED]) if way == FIRST else case.best_peer()
        text = f"{peer} over ours" if way == FIRST else f"best peer ({peer}) over ours"
        ratio = seconds / case.seconds[OURS_NAME]
        goals.append(Goal(f"{text}, {case.series}, {case.label}", _target(way, N, causal), ratio))
        cases.append(case)
    longest, for_peers = (1024, 256) if quick else (8192, 1024)
    for way in (TWICE, FORWARD):
        for causal in (False, True):
            text = f"peak memory over inputs and outputs, {way}{', causal' if causal else ''}, N = {longest}"
            goals.append(Goal(text, 6.0, memory(longest, 1, attention, way, causal, device), least=False))
        ratio = memory(for_peers, 8, math_path, way, False, device)
        notes.append(
            f"Peak memory of the math path, {way}, N = {for_peers}: {ratio:.0f} times inputs and outputs; it grows as N, so"
            f" that it is {ratio * longest / for_peers:.0f} times at N = {longest}."
        )
    return Topic("Derivatives of attention", cases, [], goals, notes)
