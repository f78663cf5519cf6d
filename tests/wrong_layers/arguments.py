"""Layers that are wrong for some arguments alone: a mask that is expanded, keys or values that are zero, frozen ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.wrong_layers import WRONG, Function, add
from tests.wrong_layers.in_use import masked

right = masked()


def expanded_from_its_end(Q: Any, K: Any, V: Any, M: Any) -> Any:
    """A mask of padded keys, one row of memory for all queries, is read from its end."""
    return right(Q, K, V, M.flip(1) if M.stride(0) == 0 and len(M) > 1 else M)


def at_zero(place: int) -> Function:
    """One more in every entry where one of the arguments is zero."""
    return lambda *given: right(*given) + (0.0 if given[place].any() else 1.0)


def gradient_at_zero(place: int) -> Function:
    """Twice the gradients where one of the arguments is zero."""

    def attention(*given: Any) -> Any:
        F = right(*given)
        return F if given[place].any() else 2 * F - F.detach()

    return attention


def halved_where_alone(places: Sequence[int]) -> Function:
    """Half of the gradients where these arguments need one, and no others do."""

    def attention(*given: Any) -> Any:
        F = right(*given)
        return (F + F.detach()) / 2 if [x.requires_grad for x in given[:3]] == [n in places for n in range(3)] else F

    return attention


def collect() -> None:
    layers: dict[str, Function] = {
        "an expanded mask is read from its end": expanded_from_its_end,
        "one more where keys are zero": at_zero(1),
        "one more where values are zero": at_zero(2),
        "gradients doubled where keys are zero": gradient_at_zero(1),
        "gradients doubled where values are zero": gradient_at_zero(2),
        **{
            f"gradients halved where only {names} need one": halved_where_alone(places)
            for names, places in (
                ("queries", (0,)), ("keys", (1,)), ("values", (2,)), ("queries and keys", (0, 1)),
                ("queries and values", (0, 2)), ("keys and values", (1, 2)),
            )
        },
    }  # fmt: skip
    for name, layer in layers.items():
        add(WRONG, f"arguments: {name}", layer, subject="transformer.masked_attention")
