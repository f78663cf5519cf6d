"""Third central moments of numbers under softmax weights, as derivatives of covariances give them."""

from __future__ import annotations

from collections.abc import Iterator

import sympy

from verify.arithmetics.norms import nodes
from verify.arithmetics.norms.atoms import FROBENIUS, norm
from verify.arithmetics.norms.rules import RULES, one_after_another
from verify.arithmetics.norms.softmaxes import covariance_of
from verify.arithmetics.norms.statements import RuleBound, rule
from verify.arithmetics.norms.world import Node


@rule(
    "third central moment",
    says="x^T G x = sum_k p_k (x_k - p^T x)^3 for G = diag(v) - v p^T - p v^T, v = (diag(p) - p p^T) x; for "
    "weights p it is at most (max x - min x)^3 / (6 sqrt(3)) in size, and max x - min x <= sqrt(2) "
    "||x||_2",
    rests_on=("third-central-moment",),
)
def _third_moment(kind: str, node: Node) -> Iterator[RuleBound]:
    factors, x = node.parts, node.parts[-1]
    is_form = len(factors) == 3 and x.shape[1] == 1 and factors[0] is nodes.transposed(x)
    row = _of_covariance_slope(factors[1], x) if kind == FROBENIUS and is_form else None
    if row is not None:
        bound = sympy.sqrt(6) / 9 * norm(FROBENIUS, x) ** 3
        yield RuleBound("third central moment", bound, ("third central moment", *row.parts, x))


def _of_covariance_slope(node: Node, x: Node) -> Node | None:
    """The softmax row p^T where a node is diag(v) - v p^T - p v^T for v = (diag(p) - p p^T) x; None for any other."""
    for c, A in nodes.terms_of(node):
        v = A.parts[0] if A.kind == "diagonal" and c == 1 else None
        if v is None or v.kind != "product" or len(v.parts) != 2 or v.parts[1] is not x:
            continue
        row = covariance_of(v.parts[0])
        if row is not None:
            p = nodes.transposed(row)
            outer = nodes.product([v, row]), nodes.product([p, nodes.transposed(v)])
            return row if node is nodes.sum_of([(1, A), *((-1, part) for part in outer)], node.shape) else None
    return None


RULES |= {"product": one_after_another(_third_moment, RULES["product"])}
