"""Layers that are wrong at sizes for which kernels have cases of their own: widths, ratios of heads, batches, rows in a block."""

from __future__ import annotations

from typing import Any

import torch

from tests.wrong_layers import WRONG, Function, Layer, add
from tests.wrong_layers.encodings import table
from tests.wrong_layers.in_use import grouped, in_turns, interleaved, masked
from tests.wrong_layers.values import attention

#: The layers of this module: nothing but such sizes shows what is wrong with them.
CASES: list[Layer] = []


def at_width(width: int) -> Function:
    """The scale of the next multiple of 64 at one width of keys."""
    right = attention()

    def wrong(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
        d = W_Q.shape[1]
        return right(X, W_Q * ((d / (-(-d // 64) * 64 + 64)) ** 0.5 if d == width else 1.0), W_K, W_V)

    return wrong


def at_ratio(ratio: int) -> Function:
    """Groups in turns where so many heads share one."""
    return grouped(lambda x, H: (in_turns if H // x.shape[1] == ratio else interleaved)(x, H))


def at_groups(admitted: Function) -> Function:
    """Groups in turns where there are such numbers of heads and of groups."""
    return grouped(lambda x, H: (in_turns if admitted(H, x.shape[1]) else interleaved)(x, H))


def scale_of_values(Q: Any, K: Any, V: Any, M: Any) -> Any:
    """The scale of the width of values, where 8 divides both widths."""
    d, e = Q.shape[1], V.shape[1]
    return masked()(Q * ((d / e) ** 0.5 if d % 8 == e % 8 == 0 else 1.0), K, V, M)


def no_mask_for_one(Q: Any, K: Any, V: Any, M: Any) -> Any:
    """No mask for a single query with many keys, as where one token after the other is generated."""
    return masked()(Q, K, V, M | (len(Q) == 1 and len(K) > 16))


def last_samples_lost(Q: Any, K: Any, V: Any, M: Any) -> Any:
    """Zeros for samples and heads beyond the 64th."""
    F = grouped(interleaved)(Q, K, V, M)
    return torch.where((torch.arange(F.shape[0] * F.shape[1]) < 64).reshape(*F.shape[:2], 1, 1), F, 0.0)


def last_row_lost(low: int, high: int) -> Function:
    """Zeros in the last row where there are so many queries."""
    return lambda Q, K, V, M: (
        torch.cat([(F := masked()(Q, K, V, M))[:-1], 0 * F[-1:]]) if low <= len(Q) <= high else masked()(Q, K, V, M)
    )


def collect() -> None:
    for width in (80, 96, 112, 128, 256):
        add(CASES, f"widths: no scale of its own at {width}", at_width(width))
    for ratio in (5, 7, 8):
        add(
            CASES,
            f"heads: groups in turns at {ratio} heads for each",
            at_ratio(ratio),
            subject="transformer.batched_attention",
        )
    heads, one_head = "transformer.batched_attention", "transformer.masked_attention"
    add(CASES, "heads: groups in turns at 4 groups of 2", at_groups(lambda H, G: (H, G) == (8, 4)), subject=heads)
    add(CASES, "heads: groups in turns where groups are more than 4", at_groups(lambda H, G: G > 4), subject=heads)
    add(CASES, "widths: the scale of values where 8 divides both", scale_of_values, subject=one_head)
    add(CASES, "rows: no mask for one query with many keys", no_mask_for_one, subject=one_head)
    add(CASES, "rotary: positions from one beyond 64 tokens, offset 0", subject="transformer.rotary_table",
        function=table(lambda o, n: (o + (o == 0 and n > 64), n + o + (o == 0 and n > 64))))  # fmt: skip
    add(CASES, "heads: samples times heads beyond 64 lost", last_samples_lost, subject="transformer.batched_attention")
    add(CASES, "rows: the last of 66 to 127 lost", last_row_lost(66, 127), subject="transformer.masked_attention")
    WRONG.extend(CASES)
