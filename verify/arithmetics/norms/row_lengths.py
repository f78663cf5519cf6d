"""Norms of matrices whose rows have a given length, by an assumption that the sums of the squares of rows are a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy

from verify.arithmetics.norms import nodes
from verify.arithmetics.norms.atoms import FROBENIUS, norm
from verify.arithmetics.norms.bounded import Bounded
from verify.arithmetics.norms.statements import rule
from verify.arithmetics.norms.world import Node, world


@rule("rows of a given length", says="||A||_F = sqrt(m c) for m rows of squared length c", rests_on=("rows",))
def row_lengths_in(value: Any) -> list[Any]:
    """sqrt(m c) - ||A||_F for each A (m, n) of which an assumption says that the squares of each row add up to c."""
    parts = _columns(value.node) if isinstance(value, Bounded) else []
    found = [pair for part in parts if (pair := _squared_length(part)) is not None]
    if found:
        world().simplified.add("rows of a given length")
    return [sympy.sqrt(A.shape[0] * c) - norm(FROBENIUS, A) for A, c in found]


def _columns(node: Node) -> Sequence[Node]:
    """The columns on top of each other that a column consists of."""
    return node.parts if node.kind == "concatenate" and node.shape[1] == 1 else (node,)


def _squared_length(node: Node) -> tuple[Node, Any] | None:
    """A and c where a node is (A o A) 1 - c 1, for a number c."""
    for (a, sums), (c, flat) in nodes.both_orders(node):
        if a != 1 or flat.kind != "ones" or flat.shape[1] != 1 or sums.kind != "product" or len(sums.parts) != 2:
            continue
        squares, ones = sums.parts
        if (
            squares.kind == "entrywise"
            and squares.parts[0] is squares.parts[1]
            and (ones.kind, ones.shape[1]) == ("ones", 1)
        ):
            return squares.parts[0], -c
    return None
