"""Exponentials exp(A) that keep lengths in a frame, ||X exp(A) v|| = ||X v||: where X^T X A is skew.

A norm of exp(A) itself is then a quotient by the smallest singular value of X.  Such quotients are formed only where the
right-hand side divides by that value, since nothing is said where it is 0.
"""

from __future__ import annotations

from collections.abc import Iterator

from verify.arithmetics.norms import nodes
from verify.arithmetics.norms.atoms import FROBENIUS, SMALLEST, SPECTRAL, norm, smallest
from verify.arithmetics.norms.rules import RULES, one_after_another
from verify.arithmetics.norms.smallest import not_wide
from verify.arithmetics.norms.statements import RuleBound, rule
from verify.arithmetics.norms.world import Node, quantities_in, world


def keeps_lengths(X: Node, A: Node) -> bool:
    """Whether X^T X A is certainly skew, so that ||X exp(A) v|| = ||X v|| for every v."""
    return X.shape[1] == A.shape[0] and nodes.is_skew(nodes.product([nodes.transposed(X), X, A]))


def divided_by() -> list[Node]:
    """The matrices with no more columns than rows by whose smallest singular values the right-hand side divides."""
    found = [world().atoms[symbol].payload[0] for symbol in quantities_in(world().divisors, SMALLEST)]
    return [X for node in found for X in (node, nodes.transposed(node)) if not_wide(X)]


@rule(
    "product from below",
    says="||A B|| >= sigma_min(A) ||B|| where A is not wide, in both norms",
    rests_on=("product-from-below",),
)
def _exponential(kind: str, node: Node) -> Iterator[RuleBound]:
    """Bounds of ||exp(A)||, as ||X exp(A)|| over the smallest singular value of X."""
    if kind not in (SPECTRAL, FROBENIUS):
        return
    name = "product from below"
    for X in divided_by():
        if keeps_lengths(X, node.parts[0]):
            yield RuleBound(name, norm(kind, nodes.product([X, node])) / smallest(X), ("instance", name, kind, X, node))


@rule(
    "exponential that keeps lengths",
    says="||X exp(A) C|| = ||X C|| where X^T X A is skew, in both norms",
    rests_on=("exponential-keeping-lengths",),
)
@rule(
    "exponentials that keep lengths",
    says="sigma_min(Y) ||X (exp(A) - exp(B))|| <= ||Y||_2 ||X (A - B)|| where X^T X B and Y^T Y A are skew and Y is not wide",
    rests_on=("exponentials-keeping-lengths",),
)
def _product(kind: str, node: Node) -> Iterator[RuleBound]:
    if kind not in (SPECTRAL, FROBENIUS):
        return
    for factors in (node.parts, nodes.factors_of(nodes.transposed(node))):
        for k in range(1, len(factors)):
            X, inner = nodes.product(factors[:k]), factors[k]
            if inner.kind == "exponential" and keeps_lengths(X, inner.parts[0]):
                after = factors[k + 1 :] or (nodes.identity(inner.shape[1]),)
                name, bound = "exponential that keeps lengths", norm(kind, nodes.product([X, *after]))
                yield RuleBound(name, bound, (name, kind, X, *inner.parts, nodes.product(after)))
        if len(factors) > 1:
            yield from _difference(kind, nodes.product(factors[:-1]), factors[-1])


def _difference(kind: str, X: Node, last: Node) -> Iterator[RuleBound]:
    """Bounds of ||X (exp(A) - exp(B))||."""
    for (c, one), (d, other) in nodes.both_orders(last):
        if not one.kind == other.kind == "exponential":
            return
        A, B = one.parts[0], other.parts[0]
        if d == -c and keeps_lengths(X, B):
            change, name = norm(kind, nodes.product([X, nodes.minus(A, B)])), "exponentials that keep lengths"
            for Y in divided_by():
                if keeps_lengths(Y, A):
                    bound = abs(c) * norm(SPECTRAL, Y) * change / smallest(Y)
                    yield RuleBound(name, bound, ("instance", name, kind, X, Y, A, B))


RULES |= {
    "exponential": one_after_another(RULES["exponential"], _exponential),
    "product": one_after_another(RULES["product"], _product),
}
