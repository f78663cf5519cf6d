"""Differences of matrices of like form: products factor by factor, and what moves no more than its argument."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sympy

from verify.arithmetics.norms import nodes
from verify.arithmetics.norms.atoms import FROBENIUS, LARGEST, SPECTRAL, is_vector, norm, sum_over
from verify.arithmetics.norms.statements import RuleBound, in_turn
from verify.arithmetics.norms.world import Node

HALF = sympy.Rational(1, 2)
PRODUCTS = "difference of products"


def no_candidates(*of: Any, **named: Any) -> Iterator[RuleBound]:
    return iter(())


def by_frobenius(node: Node) -> RuleBound:
    """The spectral norm is at most the Frobenius norm."""
    return RuleBound("spectral at most Frobenius", norm(FROBENIUS, node), ("spectral at most Frobenius", node))


def block_of(kind: str, node: Node, whole: Node) -> Any:
    """How it is written that a node, some rows of an operand or what is made like them of the whole, has no larger norm."""
    return lambda writer: [[("block", kind, whole, writer.start(node), writer.scalar(node.shape[0]))]]


def difference(kind: str, A: Node, B: Node) -> list[RuleBound]:
    """Bounds of the norm of A - B for nodes of like form."""
    found = list(DIFFERENCES.get(A.kind, no_candidates)(kind, A, B)) if A.kind == B.kind else []
    return found or [RuleBound("triangle inequality", norm(kind, A) + norm(kind, B), _added(kind, [A, B], [1, -1]))]


def by_pieces(name: str, kind: str, pieces: Sequence[Node], c: Any = 1) -> RuleBound:
    """The norm of matrices that add up to one, times c, is at most the sum of theirs; of one alone there is nothing to write."""
    bound = abs(c) * sympy.Add(*(norm(kind, piece) for piece in pieces))
    return RuleBound(name, bound, _added(kind, pieces, [c] * len(pieces)) if len(pieces) > 1 else None)


def _added(kind: str, pieces: Sequence[Node], coefficients: Sequence[Any]) -> Any:
    """How the triangle inequality is written for multiples of matrices."""
    return lambda _: [[("triangle inequality", kind, *map(nodes.scaled, coefficients, pieces))]]


def common(one: tuple[Node, ...], other: tuple[Node, ...]) -> int:
    """How many factors two products share at their ends."""
    left, right = nodes.shared_ends(one, other)
    return left + right


def _products(kind: str, A: Node, B: Node) -> Iterator[RuleBound]:
    groups = nodes.grouped(A.parts, B.parts)
    if groups is not None:
        yield from _telescoped(kind, *groups, ((), ()))
        if sum(one is not other for one, other in zip(*groups, strict=True)) > 1:
            return
    left, right = nodes.shared_ends(A.parts, B.parts)
    ends = A.parts[:left], A.parts[len(A.parts) - right :]
    ours, theirs = A.parts[left : len(A.parts) - right], B.parts[left : len(B.parts) - right]
    if len(ours) != len(theirs):
        if left + right:
            inner = [nodes.product(x) if x else nodes.identity(ends[0][-1].shape[1]) for x in (ours, theirs)]
            yield by_pieces(PRODUCTS, kind, [nodes.product([*ends[0], nodes.minus(*inner), *ends[1]])])
        return
    if left + right and nodes.product(theirs) is nodes.transposed(nodes.product(ours)):
        turned = nodes.minus(nodes.product(ours), nodes.product(theirs))
        yield by_pieces(PRODUCTS, kind, [nodes.product([*ends[0], turned, *ends[1]])])
    yield from _telescoped(kind, ours, theirs, ends)


def _telescoped(kind: str, ours: Sequence[Node], theirs: Sequence[Node], ends: Any) -> Iterator[RuleBound]:
    places = [k for k in range(len(ours)) if ours[k] is not theirs[k]]
    for first, second in ((theirs, ours), (ours, theirs)):
        pieces = [
            nodes.product([*ends[0], *first[:k], nodes.minus(ours[k], theirs[k]), *second[k + 1 :], *ends[1]])
            for k in places
        ]
        yield by_pieces(PRODUCTS, kind, pieces)
        if len(places) == 1:
            return


def _entrywise_products(kind: str, A: Node, B: Node) -> Iterator[RuleBound]:
    for one, other in (A.parts, A.parts[::-1]):
        for two, rest in (B.parts, B.parts[::-1]):
            if one is two:
                yield by_pieces(PRODUCTS, kind, [nodes.hadamard(one, nodes.minus(other, rest))])
                return
    a, b = (sorted(X.parts, key=lambda part: part.kind == "step") for X in (A, B))
    for (p, q), (r, s) in ((a, b), (b, a)):
        yield by_pieces(PRODUCTS, kind, [nodes.hadamard(nodes.minus(p, r), q), nodes.hadamard(r, nodes.minus(q, s))])


def _kronecker_products(kind: str, A: Node, B: Node) -> Iterator[RuleBound]:
    (a, b), (c, d) = A.parts, B.parts
    yield by_pieces(PRODUCTS, kind, [nodes.kronecker(nodes.minus(a, c), b), nodes.kronecker(c, nodes.minus(b, d))])


def _softmaxes(kind: str, A: Node, B: Node) -> Iterator[RuleBound]:
    if kind != LARGEST:
        name, (S,), (T,) = "softmax is 1/2-Lipschitz", A.parts, B.parts
        frobenius = by_frobenius(nodes.minus(A, B)).written if kind == SPECTRAL else None
        yield RuleBound(name, HALF * norm(FROBENIUS, nodes.minus(S, T)), in_turn(frobenius, (name, S, T)))


def _relus(kind: str, A: Node, B: Node) -> Iterator[RuleBound]:
    frobenius = by_frobenius(nodes.minus(A, B)).written if kind == SPECTRAL else None
    kind = FROBENIUS if kind == SPECTRAL else kind
    written = in_turn(frobenius, ("relu", kind, *A.parts, *B.parts))
    yield RuleBound("relu", norm(kind, nodes.minus(*A.parts, *B.parts)), written)


def _linear(kind: str, A: Node, B: Node) -> Iterator[RuleBound]:
    """f(A) - f(B) = f(A - B) for what is linear in its one operand."""
    inner = nodes.minus(A.parts[0], B.parts[0])
    yield by_pieces(PRODUCTS, kind, [nodes.rebuilt(A, [inner], A.data)])


def _block(kind: str, A: Node, B: Node) -> Iterator[RuleBound]:
    """The same rows of A and B, or their entries in another shape."""
    if (
        A.data == B.data
        and A.parts[0].shape == B.parts[0].shape
        and (kind != SPECTRAL or A.kind == "rows" or is_vector(A))
    ):
        kind = FROBENIUS if A.kind == "reshape" and kind == SPECTRAL else kind
        whole = nodes.minus(A.parts[0], B.parts[0])
        yield RuleBound("block", norm(kind, whole), block_of(kind, A, whole) if A.kind != "reshape" else None)


def _over_an_index(kind: str, A: Node, B: Node) -> Iterator[RuleBound]:
    index = A.data[0]
    if index != B.data[0] and index in B.indices | B.parts[0].indices:
        return  # it would be taken for the one that B is a sum over
    change = nodes.minus(A.parts[0], nodes.at(B.parts[0], B.data[0], index))
    if A.kind == "sum over":
        c = A.data[1]
        if c == nodes.at(B.data[1], B.data[0], index):
            bound = sum_over(index, abs(c) * norm(kind, change))
            written = lambda _: [[("sum over an index", kind, index, nodes.scaled(c, change))]]  # noqa: E731
            yield RuleBound("sum over an index", bound, written)
    else:
        yield by_pieces("blocks", kind, [nodes.rebuilt(A, [change], A.data)])


def _transposes(kind: str, A: Node, B: Node) -> Iterator[RuleBound]:
    yield from difference(kind, A.parts[0], B.parts[0])


def _concatenations(kind: str, A: Node, B: Node) -> Iterator[RuleBound]:
    if [part.shape for part in A.parts] == [part.shape for part in B.parts]:
        parts = [nodes.minus(*pair) for pair in zip(A.parts, B.parts, strict=True)]
        yield by_pieces("blocks", kind, [nodes.concatenated(parts, 0)])


def _exponentials(kind: str, A: Node, B: Node) -> Iterator[RuleBound]:
    if kind != LARGEST and nodes.is_skew(A.parts[0]) and nodes.is_skew(B.parts[0]):
        written = ("exponentials of skew matrices", kind, *A.parts, *B.parts)
        yield RuleBound("exponential of a skew matrix", norm(kind, nodes.minus(*A.parts, *B.parts)), written)


DIFFERENCES: dict[str, Callable[..., Iterator[RuleBound]]] = {
    "product": _products,
    "entrywise": _entrywise_products,
    "kronecker": _kronecker_products,
    "softmax": _softmaxes,
    "relu": _relus,
    "diagonal": _linear,
    "reshape": _block,
    "rows": _block,
    "part": _block,
    "stack": _over_an_index,
    "sum over": _over_an_index,
    "block diagonal": _over_an_index,
    "transpose": _transposes,
    "concatenate": _concatenations,
    "exponential": _exponentials,
}
