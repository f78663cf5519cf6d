"""Rules for softmax rows beside uniform weights and of larger logits, and for sums of absolute values of their differences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from verify.arithmetics.norms import nodes
from verify.arithmetics.norms.atoms import FROBENIUS, LARGEST, norm
from verify.arithmetics.norms.deciding import at_most
from verify.arithmetics.norms.signs import is_nonnegative
from verify.arithmetics.norms.statements import RuleBound, rule
from verify.arithmetics.norms.telescoping import PRODUCTS, by_pieces
from verify.arithmetics.norms.world import Node, quantities_in, world


def is_softmax_column(node: Node) -> bool:
    """Whether a node is one softmax row, as a column."""
    return node.kind == "transpose" and node.parts[0].kind == "softmax" and node.parts[0].shape[0] == 1


def covariance_of(node: Node) -> Node | None:
    """The softmax row p, of shape (1, n), where a node is diag(p) - p^T p."""
    for (c, A), (d, B) in nodes.both_orders(node):
        if c == 1 and d == -1 and A.kind == "diagonal" and is_softmax_column(A.parts[0]) and B.kind == "product":
            p = A.parts[0]
            if B.parts == (p, nodes.transposed(p)):
                return nodes.transposed(p)
    return None


def covariances_of(node: Node) -> Node | None:
    """The softmax where a node is blockdiag(diag(p_i) - p_i^T p_i) for its rows p_i."""
    for (c, A), (d, B) in nodes.both_orders(node):
        if (c, A.kind, d, B.kind) == (1, "rows as diagonals", -1, "rows as outer products"):
            return A.parts[0] if A.parts == B.parts and A.parts[0].kind == "softmax" else None
    return None


def in_the_1_norm(node: Node) -> list[RuleBound]:
    """Bounds of the sum of all absolute values of c (softmax(T) - softmax(T'))."""
    name = "softmax in the 1-norm"
    for whole in (node, nodes.transposed(node)):
        terms = nodes.terms_of(whole)
        for (c, A), (d, B) in [terms] if len(terms) == 2 else []:
            if A.kind == B.kind == "softmax" and d == -c:
                change = norm(LARGEST, nodes.minus(*A.parts, *B.parts))
                return [RuleBound(name, abs(c) * whole.shape[0] * change, (name, *A.parts, *B.parts))]
    return []


def from_uniform(kind: str, c: Any, A: Node, d: Any, B: Node) -> Iterator[RuleBound]:
    """Bounds of c A + d B where B has uniform weights 1/n = softmax(0) in the place of the softmax rows of A."""
    ours, theirs = nodes.factors_of(A), nodes.factors_of(B)
    places = [k for k, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] is not pair[1]]
    if (
        len(ours) != len(theirs)
        or not places
        or any(theirs[k].kind != "ones" or theirs[k].shape != ours[k].shape for k in places)
    ):
        return
    logits = [T for k in places if (T := _logits(ours[k])) is not None]
    if len(logits) < len(places) or d != -c / sympy.Mul(*(T.shape[1] for T in logits)):
        return
    uniform = list(ours)
    for k, T in zip(places, logits, strict=True):
        uniform[k] = nodes.scaled(1 / T.shape[1], theirs[k])
    if len(ours) == 1:
        if kind == FROBENIUS:
            name, (T,) = "softmax is 1/2-Lipschitz", logits
            written = lambda _: [[(name, T, nodes.zeros(T.shape))]]  # noqa: E731
            yield RuleBound(name, abs(c) * sympy.Rational(1, 2) * norm(FROBENIUS, T), written)
        return
    for first, second in ((uniform, ours), (ours, uniform)):
        pieces = [nodes.product([*first[:k], nodes.minus(ours[k], uniform[k]), *second[k + 1 :]]) for k in places]
        yield by_pieces(PRODUCTS, kind, pieces, c)


def _logits(node: Node) -> Node | None:
    """T of softmax(T) or of its transpose."""
    inner = node.parts[0] if node.kind == "transpose" else node
    return inner.parts[0] if inner.kind == "softmax" else None


@rule(
    "softmax of larger logits",
    says="||softmax(c T)||_F <= ||softmax(d T)||_F for 0 <= c <= d",
    rests_on=("softmax-of-larger-logits",),
)
def of_larger_logits(kind: str, node: Node) -> Iterator[RuleBound]:
    """The Frobenius norms of softmax(d T) that an aim speaks of, for softmax(c T) with 0 <= c <= d."""
    c, T = nodes.single(node.parts[0])
    targets = quantities_in(world().targets, FROBENIUS) if kind == FROBENIUS and is_nonnegative(c) else []
    for other in (world().atoms[target].payload[0] for target in targets):
        d, core = nodes.single(other.parts[0]) if other.kind == "softmax" else (None, None)
        if core is T and at_most(c, d):
            name = "softmax of larger logits"
            yield RuleBound(name, norm(FROBENIUS, other), (name, c, d, T))
