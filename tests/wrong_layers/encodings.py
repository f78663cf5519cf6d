"""Positions in layers: windows and packed sequences in both directions, rotary tables, biases in buckets as T5 has them."""

from __future__ import annotations

import itertools
import math
from typing import Any

import torch

from tests.wrong_layers import RIGHT, WRONG, Function, add
from tests.wrong_layers.in_use import AWAY, halves
from tests.wrong_layers.kernels import fused_under, packed, positions, same_sequence, sdpa, under


def between(m: int, n: int, a: int, b: int) -> Any:
    """True where the key is at most a tokens before the query and at most b after it, shape (m, n)."""
    return positions(m, n, b) & ~positions(m, n, -a - 1)


def alone(Q: Any, K: Any, V: Any, E: Any) -> Any:
    """Every sequence by itself, with torch's kernel."""
    starts = [*E.nonzero()[:, 0].tolist(), len(Q)]
    parts = [slice(*ends) for ends in itertools.pairwise(starts)]
    return torch.cat([sdpa(Q[None, None, p], K[None, None, p], V[None, None, p])[0, 0] for p in parts])


def table(
    at: Function = lambda o, n: (o, o + n), base: Function = lambda b: b, power: Function = lambda p: torch.arange(p).double() / p,
    angles: Function = lambda angles: angles, dtype: torch.dtype = torch.float64,
) -> Function:  # fmt: skip
    """Rows turned by a table of angles, whose positions, base, exponents and precision may be others."""

    def turned(X: Any, b: float, o: int) -> Any:
        found = base(b) ** -power(X.shape[1] // 2).to(dtype)
        found = angles(torch.arange(*at(o, len(X)), dtype=dtype)[:, None] * found).repeat(1, 2)
        return X * found.cos().to(X) + halves(X) * found.sin().to(X)

    return turned


def by_complex_numbers(X: Any, b: float, o: int) -> Any:
    n, p = len(X), X.shape[1] // 2
    angles = torch.outer(torch.arange(o, o + n).double(), b ** -(torch.arange(p).double() / p))
    turned = torch.complex(X[:, :p], X[:, p:]) * torch.polar(torch.ones_like(angles), angles).to(
        torch.complex128 if X.dtype == torch.float64 else torch.complex64
    )
    return torch.cat([turned.real, turned.imag], 1)


def bucket(apart: Any, N: int, D: int, causal: bool) -> Any:
    """The buckets of differences of positions in floats, as in transformers."""
    found = torch.zeros_like(apart)
    if causal:
        apart = -torch.clamp(apart, max=0)
    else:
        N //= 2
        found, apart = (apart > 0).long() * N, apart.abs()
    e = N // 2
    far = e + (torch.log(apart.clamp(min=1).double() / e) / math.log(D / e) * (N - e)).long()
    return found + torch.where(apart < e, apart, far.clamp(max=N - 1))


def bucketed(
    causal: bool, find: Function = bucket, scale: Function = lambda d: 1.0, table_of: Function = lambda A: A,
    turned: bool = False, masked: bool | None = None,
) -> Function:  # fmt: skip
    """Attention with a bias for each bucket; `turned`: key minus query the wrong way round."""

    def attention(Q: Any, K: Any, V: Any, A: Any, D: int) -> Any:
        n = Q.shape[2]
        apart = torch.arange(n)[None, :] - torch.arange(n)[:, None]
        bias = torch.nn.functional.embedding(find(-apart if turned else apart, len(A), D, causal), table_of(A))
        T = Q @ K.mT * scale(Q.shape[3]) + bias.permute(2, 0, 1)
        if causal if masked is None else masked:
            T = T.masked_fill(apart > 0, AWAY)
        return torch.softmax(T, -1) @ V

    return attention


def by_kernel(causal: bool) -> Function:
    def attention(Q: Any, K: Any, V: Any, A: Any, D: int) -> Any:
        n = Q.shape[2]
        apart = torch.arange(n)[None, :] - torch.arange(n)[:, None]
        bias = A[bucket(apart, len(A), D, causal)].permute(2, 0, 1)[None]
        return sdpa(Q, K, V, attn_mask=bias.masked_fill(apart > 0, AWAY) if causal else bias, scale=1.0)

    return attention


def cut_for_one_sample(A: Any) -> Any:
    """The table without a gradient in its last row."""
    return torch.cat([A[:-1], A[-1:].detach()])


POSITIONS: dict[str, tuple[dict[str, Function], dict[str, Function | tuple[Function, str]]]] = {
    "window_both_ways": ({
        "a band": under(between), "torch's kernel": fused_under(between),
    }, {
        "a token more before": (under(lambda m, n, a, b: between(m, n, a + 1, b)), "the window is one token too long before"),
        "a token more after": (under(lambda m, n, a, b: between(m, n, a, b + 1)), "the window is one token too long after"),
        "sides exchanged": (under(lambda m, n, a, b: between(m, n, b, a)), "the sides of the window are exchanged"),
        "causal": (under(lambda m, n, a, b: between(m, n, a, 0)), "tokens after the query are masked"),
        "no window from 64 tokens on": under(lambda m, n, a, b: between(m, n, a, b) | (n >= 64)),
        "0 taken for no window": under(lambda m, n, a, b: between(m, n, a or n, b or n)),
    }),
    "packed_both_ways": ({
        "a mask": packed(lambda n, E: same_sequence(E)), "sequence by sequence": alone,
    }, {
        "sequences see each other": (packed(lambda n, E: torch.ones(n, n, dtype=torch.bool)), "sequences see each other"),
        "causal": (packed(lambda n, E: same_sequence(E) & positions(n, n)), "a causal mask is applied too"),
        "a sequence ends a token late": packed(lambda n, E: same_sequence(torch.cat([E[:1], E[:-1]]))),
        "two sequences at most": packed(lambda n, E: same_sequence(E & (E.cumsum(0) <= 2))),
        "single tokens see all": packed(lambda n, E: same_sequence(E) | (same_sequence(E).sum(1, keepdim=True) == 1)),
    }),
    "rotary_table": ({
        "cosines and sines": table(), "complex numbers": by_complex_numbers,
    }, {
        "positions from zero": (table(lambda o, n: (0, n)), "positions begin at 0, whatever o is"),
        "positions one too large": (table(lambda o, n: (o + 1, o + n + 1)), "positions are one too large"),
        "the usual base": (table(base=lambda b: 1e4), "the base is 10000, whatever b is"),
        "half the exponents": (table(power=lambda p: torch.arange(p).double() / p / 2), "angles are b^(-k/d), half the exponent"),
        "the last frequency 1/b": table(power=lambda p: torch.arange(p).double() / max(p - 1, 1)),
        "exponents in float32": table(power=lambda p: torch.arange(p) / p),
        "angles in float32": table(dtype=torch.float32),
        "positions in bfloat16": table(angles=lambda x: x * (y := torch.arange(1.0, len(x) + 1)[:, None]).bfloat16() / y),
        "a table of 64 positions": table(angles=lambda x: x[torch.arange(len(x)) % 64]),
    }),
    "bucketed_attention": ({
        "an embedding": bucketed(False), "torch's kernel": by_kernel(False),
    }, {
        "scaled": (bucketed(False, scale=lambda d: d**-0.5), "the logits are divided by sqrt(d_K)"),
        "directions exchanged": (bucketed(False, turned=True), "the bias of query i and key j is that of query j and key i"),
        "buckets of the decoder": (bucketed(False, lambda *given: bucket(*given[:3], True)),
            "both directions share all N buckets, as in the decoder"),
        "the first head's table": (bucketed(False, table_of=lambda A: A[:, :1].expand_as(A)),
            "all heads have the bias of the first"),
        "a far distance of 128": bucketed(False, lambda apart, N, D, c: bucket(apart, N, 128, c)),
        "the last bucket cut": bucketed(False, table_of=cut_for_one_sample),
        "no bias": (bucketed(False, table_of=lambda A: 0 * A), "the bias is left out"),
    }),
    "bucketed_causal_attention": ({
        "an embedding": bucketed(True), "torch's kernel": by_kernel(True),
    }, {
        "buckets of the encoder": (bucketed(True, lambda *given: bucket(*given[:3], False)),
            "half of the buckets are kept for later keys, as in the encoder"),
        "no mask": (bucketed(True, masked=False), "later keys are not masked"),
        "scaled": (bucketed(True, scale=lambda d: d**-0.5), "the logits are divided by sqrt(d_K)"),
        "far keys in the last bucket but one": bucketed(True, lambda apart, N, D, c: bucket(apart, N, D, c).clamp(max=N - 2)),
        "linear beyond 100 tokens": bucketed(True, lambda apart, N, D, c: torch.where(
            apart < -100, 0, bucket(apart, N, D, c))),
    }),
}  # fmt: skip


def collect() -> None:
    for subject, (right, wrong) in POSITIONS.items():
        for name, function in right.items():
            add(RIGHT, f"{subject}: {name}", function, subject=f"transformer.{subject}")
        for name, given in wrong.items():
            function, cause = given if isinstance(given, tuple) else (given, "")
            add(WRONG, f"{subject}: {name}", function, subject=f"transformer.{subject}", cause=cause)
