"""What a certificate says of comparisons of positions: inputs such as L(n, n, 0), and identities that hold of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from verify.arithmetics.symbols.heads import Head, Size
from verify.arithmetics.symbols.positions import ORDER, is_never_negative, on_diagonal, smaller


def of_positions(
    name: str, head: Head, others: Mapping[str, Head], index: Callable[[Size], list[str]]
) -> list[dict[str, Any]]:
    """Of two comparisons the narrower decides; L_s(i, i) is 1 or 0 by the sign of s; L_s(i, 0) is 1 for s >= 0."""
    found: list[dict[str, Any]] = []
    for other, second in others.items():
        if second.kind != ORDER or second.sizes != head.sizes or other < name:
            continue
        kept = smaller(head, second)
        if kept is not None:
            (i, a), (j, b) = (index(size) for size in head.sizes)
            left: list[Any] = ["*", ["t", name, [i, j]], ["t", other, [i, j]]]
            right: list[Any] = ["t", name if kept is head else other, [i, j]]
            title = "of two comparisons of positions the narrower decides"
            found.append({"name": title, "indices": [[i, a], [j, b]], "left": left, "right": right})
    value = on_diagonal(head) if head.sizes[0] == head.sizes[1] else None
    if value is not None:
        i, a = index(head.sizes[0])
        title = "a position compared with itself"
        found.append({"name": title, "indices": [[i, a]], "left": ["t", name, [i, i]], "right": ["q", value, 1]})
    if is_never_negative(head.parameter):
        (i, a), first = (index(size) for size in head.sizes)
        left = ["sum", first, ["*", ["unit", 0, first[0]], ["t", name, [i, first[0]]]]]
        title = "the first position is not later than any"
        found.append({"name": title, "indices": [[i, a]], "left": left, "right": ["q", 1, 1]})
    return found


__all__ = ["ORDER", "of_positions"]
