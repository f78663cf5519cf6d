"""Products with a sum of a diagonal matrix and others, multiplied out; a diagonal matrix times a column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verify.arithmetics.norms import nodes
from verify.arithmetics.norms.atoms import LARGEST, norm
from verify.arithmetics.norms.rules import RULES, one_after_another
from verify.arithmetics.norms.statements import RuleBound, rule
from verify.arithmetics.norms.telescoping import by_pieces
from verify.arithmetics.norms.world import Node, world


def multiplied_out(node: Node) -> list[tuple[Any, Node]]:
    """c and A B C, ... of a product A (c B + ...) C with one sum among the factors, in which a diagonal matrix stands."""
    sums = [k for k, factor in enumerate(node.parts) if factor.kind == "sum"]
    if node.kind != "product" or len(sums) != 1:
        return []
    before, terms, after = node.parts[: sums[0]], nodes.terms_of(node.parts[sums[0]]), node.parts[sums[0] + 1 :]
    if not any(part.kind == "diagonal" for _, part in terms):
        return []
    return [(c, nodes.product([*before, part, *after])) for c, part in terms]


@rule("diagonal of a column", says="diag(v) x = v o x for columns v and x", rests_on=("diagonal-of-a-column",))
def _with_diagonals(kind: str, node: Node) -> Iterator[RuleBound]:
    rest = tuple(factor.number for factor in node.parts if factor.kind != "sum")
    if kind == LARGEST or rest in world().pieces:  # what stands beside the sum has a norm in the right-hand side
        terms = multiplied_out(node)
        if terms:
            yield by_pieces("triangle inequality", kind, [nodes.scaled(c, part) for c, part in terms])
    if len(node.parts) == 2 and node.parts[0].kind == "diagonal" and node.shape[1] == 1:
        name, v, x = "diagonal of a column", node.parts[0].parts[0], node.parts[1]
        yield RuleBound(name, norm(kind, nodes.hadamard(v, x)), (name, kind, v, x))


RULES |= {"product": one_after_another(RULES["product"], _with_diagonals)}
