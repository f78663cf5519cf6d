"""What a certificate says of groupings, selections and comparisons of positions: inputs such as L(n, n, 0), and their identities.

Each identity has the name of the rule by which products are rewritten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from verify.arithmetics.symbols.heads import Head, Size
from verify.arithmetics.symbols.positions import (
    ITSELF,
    NARROWER,
    ORDER,
    THE_FIRST,
    is_never_negative,
    on_diagonal,
    smaller,
)
from verify.arithmetics.symbols.product_rules import COLUMNS, TWO_PARTS

#: An index as a certificate binds it, its name and its size.
Bound = list[str]
Fact = tuple[str, Sequence[Bound], list[Any], list[Any]]


def of_structure(
    name: str, head: Head, others: Mapping[str, Head], index: Callable[[Size], Bound]
) -> list[dict[str, Any]]:
    """What is known of a structure of this name, alone and beside others; `index` gives new indices."""
    known = {"grouping": _of_grouping, "selection": _of_selection, ORDER: _of_positions}
    return [
        {"name": title, "indices": list(indices), "left": left, "right": right}
        for title, indices, left, right in known[head.kind](name, head, others, index)
    ]


def _entry(name: str, *indices: Bound) -> list[Any]:
    return ["t", name, [index for index, _ in indices]]


def _of_grouping(name: str, head: Head, _: Mapping[str, Head], index: Callable[[Size], Bound]) -> Iterator[Fact]:
    """G(i, p, q) is 1 where i is the pair (p, q): one pair for each i, one i for each pair."""
    (i, j), (p, r), (q, s) = ([index(size) for _ in range(2)] for size in head.sizes)
    G = _entry(name, i, p, q)
    yield TWO_PARTS, [p, q], ["sum", i, G], ["q", 1, 1]
    yield TWO_PARTS, [i], ["sum", p, ["sum", q, G]], ["q", 1, 1]
    same = [["delta", p[0], r[0]], ["delta", q[0], s[0]]]
    yield TWO_PARTS, [i, p, q, r, s], ["*", G, _entry(name, i, r, s)], ["*", *same, G]
    yield TWO_PARTS, [i, j, p, q], ["*", G, _entry(name, j, p, q)], ["*", ["delta", i[0], j[0]], G]


def _of_selection(name: str, head: Head, others: Mapping[str, Head], index: Callable[[Size], Bound]) -> Iterator[Fact]:
    """S(i, a) is 1 where i is the start plus a: a column of the identity for each a; others have none of them."""
    (i, _), (a, b) = ([index(size) for _ in range(2)] for size in head.sizes)
    S = _entry(name, i, a)
    yield COLUMNS, [a, b], ["sum", i, ["*", S, _entry(name, i, b)]], ["delta", a[0], b[0]]
    yield COLUMNS, [a], ["sum", i, S], ["q", 1, 1]
    for other, following in others.items():
        if following.kind == "selection" and head.parameter + head.sizes[1] == following.parameter:
            c = index(following.sizes[1])
            yield COLUMNS, [a, c], ["sum", i, ["*", S, _entry(other, i, c)]], ["q", 0, 1]


def _of_positions(name: str, head: Head, others: Mapping[str, Head], index: Callable[[Size], Bound]) -> Iterator[Fact]:
    """Of two comparisons the narrower decides; L_s(i, i) is 1 or 0 by the sign of s; L_s(i, 0) is 1 for s >= 0."""
    for other, second in others.items():
        if second.kind != ORDER or second.sizes != head.sizes or other < name:
            continue
        kept = smaller(head, second)
        if kept is not None:
            i, j = (index(size) for size in head.sizes)
            both = ["*", _entry(name, i, j), _entry(other, i, j)]
            yield NARROWER, [i, j], both, _entry(name if kept is head else other, i, j)
    value = on_diagonal(head) if head.sizes[0] == head.sizes[1] else None
    if value is not None:
        i = index(head.sizes[0])
        yield ITSELF, [i], _entry(name, i, i), ["q", value, 1]
    if is_never_negative(head.parameter):
        i, first = (index(size) for size in head.sizes)
        yield THE_FIRST, [i], ["sum", first, ["*", ["unit", 0, first[0]], _entry(name, i, first)]], ["q", 1, 1]
