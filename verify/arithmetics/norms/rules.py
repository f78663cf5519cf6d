"""Rules: upper bounds of one quantity by others, each with a name.

A rule maps a quantity to candidates (name, expression), where the expression is monotone in the quantities it contains.
`tests/test_norms_rules.py` holds every one of them against random and structured matrices.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sympy

from verify.arithmetics.norms import chain_rule, entries, nodes
from verify.arithmetics.norms.assumed import assumed_bounds
from verify.arithmetics.norms.atoms import (
    FROBENIUS,
    LARGEST,
    NORMS,
    SHIFT,
    SPECTRAL,
    is_vector,
    largest_over,
    norm,
    sum_over,
)  # fmt: skip
from verify.arithmetics.norms.deciding import at_most
from verify.arithmetics.norms.signs import is_nonnegative
from verify.arithmetics.norms.softmaxes import from_uniform, in_the_1_norm, of_larger_logits
from verify.arithmetics.norms.world import Node, unused_index, world

#: The property that a hypothesis states of M where x^T M x <= 0.
DISSIPATIVE = "has a symmetric part without positive eigenvalues"
Candidate = tuple[str, Any]
HALF = sympy.Rational(1, 2)


def candidates(symbol: sympy.Symbol) -> list[Candidate]:
    """Upper bounds of one quantity by others."""
    return [*assumed_bounds(symbol), *_derived(symbol)]


def _derived(symbol: sympy.Symbol) -> list[Candidate]:
    atom = world().atoms[symbol]
    if atom.kind in (SPECTRAL, FROBENIUS, LARGEST):
        node = atom.payload[0]
        found = [("assumption", world().assumed[symbol])] if symbol in world().assumed else []
        found += _of_norm(atom.kind, node)
        return [(name, bound) for name, bound in found if symbol not in bound.free_symbols]
    if atom.kind == "spectral radius":
        return [("spectral radius", norm(SPECTRAL, atom.payload[0]))]
    if atom.kind == SHIFT:
        return [("Weyl", norm(SPECTRAL, nodes.minus(*atom.payload)))]
    if atom.kind == "total":  # of non-negative entries, or it would be no such quantity
        inner = atom.payload[0].parts[0] if atom.payload[0].kind == "absolute" else atom.payload[0]
        found = [("Cauchy-Schwarz", sympy.sqrt(inner.shape[0] * inner.shape[1]) * norm(FROBENIUS, inner))]
        found += in_the_1_norm(inner)
        return [*found, *QUANTITIES.get("total", no_candidates)(*atom.payload)]
    return list(QUANTITIES.get(atom.kind, no_candidates)(*atom.payload))


#: Rules for quantities that are no norms, by their kind.
QUANTITIES: dict[str, Callable[..., Iterator[Candidate]]] = {}


def _of_norm(kind: str, node: Node) -> Iterator[Candidate]:
    if kind == SPECTRAL and {node.number, nodes.transposed(node).number} & world().contractions:
        yield "orthonormal", sympy.Integer(1)
    yield from RULES.get(node.kind, no_candidates)(kind, node)
    yield from entries.by_all_entries(kind, node)
    is_aim = kind == SPECTRAL and node.kind == "sum" and norm(FROBENIUS, node) in world().targets
    if node.kind != "sum" or node.shape == (1, 1) or is_aim or any(part.kind in NONLINEAR for part in node.parts):
        yield from _by_another_norm(kind, node)


#: Nodes whose spectral norm is bounded through the Frobenius norm.
NONLINEAR = ("softmax", "relu", "step", "entrywise", "transpose", "reshape")


def _by_another_norm(kind: str, node: Node) -> Iterator[Candidate]:
    if kind == SPECTRAL and not is_vector(node) and node.kind not in ("product", "kronecker"):
        yield "spectral at most Frobenius", norm(FROBENIUS, node)
    if kind == LARGEST:
        yield "largest entry", norm(SPECTRAL, node)
    if kind == LARGEST and node.shape == (1, 1):
        yield "largest entry", norm(FROBENIUS, node)
    if kind == FROBENIUS and _is_spoken_of(norm(LARGEST, node)):
        yield "largest of all entries", sympy.sqrt(node.shape[0] * node.shape[1]) * norm(LARGEST, node)
    if kind == FROBENIUS and node.kind in ("input", "derivative") and not is_vector(node):
        for size in node.shape:
            yield "rank", sympy.sqrt(size) * norm(SPECTRAL, node)


def _is_spoken_of(quantity: Any) -> bool:
    """Whether an assumption or the right-hand side contains a quantity."""
    return quantity in world().targets or any(quantity in fact.free_symbols for fact in world().facts)


def no_candidates(*of: Any, **named: Any) -> Iterator[Candidate]:
    return iter(())


def _input(kind: str, node: Node) -> Iterator[Candidate]:
    known = {which for which, name in world().properties if name == node.data[0]}
    if kind == SPECTRAL and known & {"has orthonormal columns", "has orthonormal rows"}:
        yield "orthonormal", sympy.Integer(1)
    if kind == SPECTRAL and "has singular values at most 1" in known:
        yield "contraction", sympy.Integer(1)
    if kind != LARGEST and "has Frobenius norm at most 1" in known:
        yield "unit direction", sympy.Integer(1)
    if kind == FROBENIUS and "has unit rows" in known:
        yield "unit rows", sympy.sqrt(node.shape[0])
    if kind == FROBENIUS and "has orthonormal columns" in known:
        yield "orthonormal", sympy.sqrt(node.shape[1])


def _product(kind: str, node: Node) -> Iterator[Candidate]:
    factors = node.parts
    yield from _number_among(kind, factors)
    if kind == LARGEST:
        if world().entrywise:
            yield from entries.largest_of_product(node)
        yield from entries.by_lengths(node)
        return
    if factors[0].kind == "ones" and factors[0].shape[0] == 1 and factors[0].shape[1] != 1:
        index = unused_index(factors[0].shape[1], node)
        row = nodes.rows(nodes.product(factors[1:]), index, index + 1, 1)
        yield "sum over an index", sum_over(index, norm(kind, row))
    if kind == FROBENIUS and norm(SPECTRAL, node) in world().targets:
        for size in dict.fromkeys(factor.shape[1] for factor in factors[:-1]):
            yield "rank", sympy.sqrt(size) * norm(SPECTRAL, node)
    if kind == SPECTRAL and norm(FROBENIUS, node) in world().targets:
        yield "spectral at most Frobenius", norm(FROBENIUS, node)
    for pieces in [factors, *_with_known_piece(factors)]:
        spectral = [norm(SPECTRAL, piece) for piece in pieces]
        if kind == SPECTRAL:
            yield "product", sympy.Mul(*spectral)
            continue
        seen = set()
        for place, piece in enumerate(pieces):
            bound = sympy.Mul(*spectral[:place], norm(FROBENIUS, piece), *spectral[place + 1 :])
            if bound not in seen:
                seen.add(bound)
                yield "product", bound


def _number_among(kind: str, factors: tuple[Node, ...]) -> Iterator[Candidate]:
    """||A c B|| = |c| ||A B|| for neighbours c of shape (1, 1), where |c| is aimed at or largest entries are compared."""
    for start, stop in itertools.combinations(range(len(factors) + 1), 2):
        rest = [*factors[:start], *factors[stop:]]
        if factors[start].shape[0] == 1 == factors[stop - 1].shape[1] and any(other.shape != (1, 1) for other in rest):
            size = norm(FROBENIUS, nodes.product(factors[start:stop]))
            if kind == LARGEST or size.free_symbols & world().targets:
                yield "number among the factors", size * norm(kind, nodes.product(rest))


def _with_known_piece(factors: tuple[Node, ...]) -> Iterator[list[Node]]:
    """The factors with some neighbours multiplied, where a quantity of their product is known already."""
    for start in range(len(factors)):
        for stop in range(start + 2, len(factors) + 1):
            if stop - start == len(factors):
                continue
            if tuple(part.number for part in factors[start:stop]) in world().pieces:
                yield [*factors[:start], nodes.product(factors[start:stop]), *factors[stop:]]


def _one(name: str, bound: Callable[[str, Node], Any], *kinds: str) -> Callable[[str, Node], Iterator[Candidate]]:
    """The rule with one bound, in the norms named."""

    def candidates_of(kind: str, node: Node) -> Iterator[Candidate]:
        if kind in kinds:
            yield name, bound(kind, node)

    return candidates_of


def _of_the_part(kind: str, node: Node) -> Any:
    """The same norm of the operand."""
    return norm(kind, node.parts[0])


def _at_most_one(kind: str, node: Node) -> Any:
    return sympy.Integer(1)


def _of_squares(kind: str, node: Node) -> Any:
    """The root of the sum of the squares of the norms of blocks over an index."""
    return sympy.sqrt(sum_over(node.data[0], norm(kind, node.parts[0]) ** 2))


def _transpose(kind: str, node: Node) -> Iterator[Candidate]:
    yield from RULES.get(node.parts[0].kind, no_candidates)(kind, node.parts[0])


def _concatenate(kind: str, node: Node) -> Iterator[Candidate]:
    if kind != LARGEST and all(
        part.kind == "product" and part.parts[-1] is node.parts[0].parts[-1] for part in node.parts
    ):
        blocks = nodes.concatenated([nodes.product(part.parts[:-1]) for part in node.parts], 0)
        yield "common factor", norm(kind, nodes.product([blocks, node.parts[0].parts[-1]]))
    if kind != LARGEST:
        yield "blocks", sympy.sqrt(sympy.Add(*(norm(kind, part) ** 2 for part in node.parts)))


def _block_diagonal(kind: str, node: Node) -> Iterator[Candidate]:
    if kind == SPECTRAL:
        yield "block diagonal", largest_over(node.data[0], norm(kind, node.parts[0]))
    if kind == FROBENIUS:
        yield "block diagonal", _of_squares(kind, node)


def _sum_over(kind: str, node: Node) -> Iterator[Candidate]:
    index, coefficient = node.data
    yield "sum over an index", sum_over(index, abs(coefficient) * norm(kind, node.parts[0]))


def _softmax(kind: str, node: Node) -> Iterator[Candidate]:
    yield from of_larger_logits(kind, node)
    if kind == FROBENIUS:
        yield "softmax row", sympy.sqrt(node.shape[0])
    if kind == LARGEST:
        yield "softmax row", sympy.Integer(1)


def _entrywise(kind: str, node: Node) -> Iterator[Candidate]:
    for one, other in (node.parts, node.parts[::-1]):
        if one.kind == "step" or (one.kind == "transpose" and one.parts[0].kind == "step"):
            if kind in (FROBENIUS, LARGEST):
                yield "gate", norm(kind, other)
            return
    A, B = node.parts
    if kind == SPECTRAL:
        yield "entrywise product", norm(SPECTRAL, A) * norm(SPECTRAL, B)
    if kind == FROBENIUS:
        yield "entrywise product", norm(LARGEST, A) * norm(FROBENIUS, B)
        yield "entrywise product", norm(FROBENIUS, A) * norm(LARGEST, B)


def _exponential(kind: str, node: Node) -> Iterator[Candidate]:
    if nodes.is_skew(node.parts[0]):
        if kind != LARGEST:
            yield "exponential of a skew matrix", sympy.Integer(1) if kind == SPECTRAL else sympy.sqrt(node.shape[0])
    elif kind == SPECTRAL:
        yield from _exponential_of_multiple(*nodes.single(node.parts[0]))
        yield "exponential", sympy.exp(norm(SPECTRAL, node.parts[0]))


def _exponential_of_multiple(c: Any, A: Node) -> Iterator[Candidate]:
    """Bounds of ||exp(c A)||_2."""
    if A.kind == "product" and nodes.are_inverse(A.parts[0], A.parts[-1]):
        inner = nodes.of("exponential", nodes.scaled(c, nodes.product(A.parts[1:-1])))
        yield "similar matrices", norm(SPECTRAL, A.parts[0]) * norm(SPECTRAL, A.parts[-1]) * norm(SPECTRAL, inner)
    leaf = A.parts[0] if A.kind == "transpose" else A
    square = leaf.shape[0] == leaf.shape[1]
    if is_nonnegative(c) and leaf.kind == "input" and square and (DISSIPATIVE, leaf.data[0]) in world().properties:
        yield "exponential of a dissipative matrix", sympy.Integer(1)


def _iterate(kind: str, node: Node) -> Iterator[Candidate]:
    if kind == SPECTRAL and starts_in_unit_ball(node.parts[0], node.data[1:]):
        yield "iterated polynomial", sympy.Integer(1)


def is_contraction(node: Node) -> bool:
    """Whether ||A||_2 <= 1 is an assumption, or known at once."""
    symbol = norm(SPECTRAL, node)
    if symbol not in world().atoms:
        return False
    found = candidates(symbol) if node.kind in ("input", "iterate") else []
    return bool(world().assumed.get(symbol, 2) <= 1) or any(bound == 1 for _, bound in found)


def starts_in_unit_ball(start: Node, coefficients: tuple[Any, ...]) -> bool:
    """Whether no singular value of the start is above 1, and M p(M^T M) with these coefficients keeps it so."""
    multiple, core = nodes.single(start)
    assumed = _input(SPECTRAL, core) if core.kind == "input" else ()
    largest = [norm(FROBENIUS, core), *(bound for _, bound in assumed)]
    inside = (multiple == 1 and is_contraction(core)) or any(at_most(abs(multiple) * x, 1) for x in largest)
    return keeps_unit_interval(coefficients) and inside


@functools.cache
def keeps_unit_interval(coefficients: tuple[Any, ...]) -> bool:
    """Whether |s p(s^2)| <= 1 for all s in [0, 1], decided at the ends and at the real critical points."""
    s = sympy.Symbol("s", real=True)
    value = sympy.Poly(sympy.Add(*(c * s ** (2 * k + 1) for k, c in enumerate(coefficients))), s)
    places = [sympy.Integer(1), *(root for root in sympy.real_roots(value.diff(s)) if 0 <= root <= 1)]
    return all(abs(value.eval(place)) <= 1 for place in places)


def _derivative(kind: str, node: Node) -> Iterator[Candidate]:
    apart = chain_rule.taken_apart(node)
    if apart is not node:
        yield "chain rule", norm(kind, apart)


# -- sums --------------------------------------------------------------------------------------------------------------


def _sum(kind: str, node: Node) -> Iterator[Candidate]:
    terms = nodes.terms_of(node)
    if kind == LARGEST:
        yield from entries.with_common_ends(terms)
        return
    if len(terms) == 1:
        return
    if len(terms) == 2:
        yield from _recognised(kind, terms)
    for pairs, rest in [_pairing(terms)]:
        single = [abs(c) * norm(kind, part) for c, part in rest]
        if not pairs:
            yield "triangle inequality", sympy.Add(*single)
            continue
        options: list[list[Any]] = [[]]
        for c, A, B in pairs:
            options = [
                [*before, (name, abs(c) * bound)] for before in options for name, bound in difference(kind, A, B)
            ]
        for option in options:
            names = list(dict.fromkeys(name for name, _ in option))
            if rest or len(option) > 1:
                names.append("triangle inequality")
            yield "; ".join(names), sympy.Add(*(bound for _, bound in option), *single)


def _pairing(terms: list[tuple[Any, Node]]) -> tuple[list[tuple[Any, Node, Node]], list[tuple[Any, Node]]]:
    """Terms c A, -c B of like form as differences, and the rest."""
    rest, pairs = list(terms), []
    for c, A in terms:
        if (c, A) not in rest:
            continue
        partners = [item for item in rest if item[1] is not A and item[0] == -c and _alike(A, item[1])]
        if partners:
            partner = max(partners, key=lambda item: _common(nodes.factors_of(A), nodes.factors_of(item[1])))
            pairs.append((c, A, partner[1]))
            rest = [item for item in rest if item[1] is not A and item[1] is not partner[1]]
    return pairs, rest


def _alike(A: Node, B: Node) -> bool:
    if A.kind != B.kind:
        return False
    if A.kind == "product":
        return bool(_common(A.parts, B.parts)) or len(A.parts) == len(B.parts)
    if A.kind == "transpose":
        return _alike(A.parts[0], B.parts[0])
    if A.kind in ("stack", "sum over", "block diagonal"):
        return A.data[0].size == B.data[0].size
    if A.kind in ("rows", "concatenate"):
        return A.data == B.data and [p.shape for p in A.parts] == [p.shape for p in B.parts]
    return A.kind != "input"


def _recognised(kind: str, terms: list[tuple[Any, Node]]) -> Iterator[Candidate]:
    """Known sums of two terms: multiples of diag(p) - p p^T and of exp(A) - I."""
    for (c, A), (d, B) in (terms, terms[::-1]):
        yield from from_uniform(kind, c, A, d, B)
    for (c, A), (d, B) in (terms, terms[::-1]):
        if d != -c:
            return
        if kind == SPECTRAL and A.kind == "product" and B is nodes.transposed(A):
            yield from _antisymmetric(abs(c), A, B)
            return
        if kind == SPECTRAL and A.kind == "diagonal" and is_softmax_column(A.parts[0]) and B.kind == "product":
            p = A.parts[0]
            if len(B.parts) == 2 and B.parts[0] is p and B.parts[1] is nodes.transposed(p):
                yield "covariance of a softmax row", abs(c) * HALF
        rows = A.kind == "rows as diagonals" and B.kind == "rows as outer products" and A.parts[0] is B.parts[0]
        if kind == SPECTRAL and rows and A.parts[0].kind == "softmax":
            yield "covariance of a softmax row", abs(c) * HALF
        if A.kind == "exponential" and B.kind == "identity":
            if nodes.is_skew(A.parts[0]):
                yield "exponential of a skew matrix", abs(c) * norm(kind, A.parts[0])
            elif kind == SPECTRAL:
                yield "exponential", abs(c) * (sympy.exp(norm(SPECTRAL, A.parts[0])) - 1)


def _antisymmetric(c: Any, A: Node, B: Node) -> Iterator[Candidate]:
    """Bounds of the spectral norm of c (A - A^T) for a product A."""
    left, right = nodes.shared_ends(A.parts, B.parts)
    if left or right:
        ends = A.parts[:left], A.parts[len(A.parts) - right :]
        inner = [nodes.product(X.parts[left : len(X.parts) - right]) for X in (A, B)]
        yield "difference of products", c * norm(SPECTRAL, nodes.product([*ends[0], nodes.minus(*inner), *ends[1]]))
        return
    for split in range(1, len(A.parts)):
        pair = [nodes.product(A.parts[:split]), nodes.transposed(nodes.product(A.parts[split:]))]
        orders = [nodes.concatenated(blocks, 1) for blocks in (pair, pair[::-1])]
        known = [frame for frame in orders if {frame.number, nodes.transposed(frame).number} & world().contractions]
        yield "antisymmetric product", c * norm(SPECTRAL, (known or orders)[0]) ** 2


def is_softmax_column(node: Node) -> bool:
    """Whether a node is one softmax row, as a column."""
    return node.kind == "transpose" and node.parts[0].kind == "softmax" and node.parts[0].shape[0] == 1


# -- differences -------------------------------------------------------------------------------------------------------


def difference(kind: str, A: Node, B: Node) -> list[Candidate]:
    """Bounds of the norm of A - B for nodes of like form."""
    found = list(DIFFERENCES.get(A.kind, _no_difference)(kind, A, B)) if A.kind == B.kind else []
    return found or [("triangle inequality", norm(kind, A) + norm(kind, B))]


def _no_difference(kind: str, A: Node, B: Node) -> Iterator[Candidate]:
    return iter(())


def _common(one: tuple[Node, ...], other: tuple[Node, ...]) -> int:
    """How many factors two products share at their ends."""
    left, right = nodes.shared_ends(one, other)
    return left + right


def _products(kind: str, A: Node, B: Node) -> Iterator[Candidate]:
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
            yield "difference of products", norm(kind, nodes.product([*ends[0], nodes.minus(*inner), *ends[1]]))
        return
    if left + right and nodes.product(theirs) is nodes.transposed(nodes.product(ours)):
        turned = nodes.minus(nodes.product(ours), nodes.product(theirs))
        yield "difference of products", norm(kind, nodes.product([*ends[0], turned, *ends[1]]))
    yield from _telescoped(kind, ours, theirs, ends)


def _telescoped(kind: str, ours: Sequence[Node], theirs: Sequence[Node], ends: Any) -> Iterator[Candidate]:
    places = [k for k in range(len(ours)) if ours[k] is not theirs[k]]
    for first, second in ((theirs, ours), (ours, theirs)):
        pieces = [
            nodes.product([*ends[0], *first[:k], nodes.minus(ours[k], theirs[k]), *second[k + 1 :], *ends[1]])
            for k in places
        ]
        yield "difference of products", sympy.Add(*(norm(kind, piece) for piece in pieces))
        if len(places) == 1:
            return


def _entrywise_products(kind: str, A: Node, B: Node) -> Iterator[Candidate]:
    for one, other in (A.parts, A.parts[::-1]):
        for two, rest in (B.parts, B.parts[::-1]):
            if one is two:
                yield "difference of products", norm(kind, nodes.hadamard(one, nodes.minus(other, rest)))
                return
    a, b = (sorted(X.parts, key=lambda part: part.kind == "step") for X in (A, B))
    for (p, q), (r, s) in ((a, b), (b, a)):
        first, second = nodes.hadamard(nodes.minus(p, r), q), nodes.hadamard(r, nodes.minus(q, s))
        yield "difference of products", norm(kind, first) + norm(kind, second)


def _kronecker_products(kind: str, A: Node, B: Node) -> Iterator[Candidate]:
    (a, b), (c, d) = A.parts, B.parts
    first, second = nodes.kronecker(nodes.minus(a, c), b), nodes.kronecker(c, nodes.minus(b, d))
    yield "difference of products", norm(kind, first) + norm(kind, second)


def _inside(name: str, factor: Any = 1, kinds: tuple[str, ...] = (FROBENIUS,)) -> Callable[..., Iterator[Candidate]]:
    """A function that moves by at most `factor` times its argument, in the norms named."""

    def bound(kind: str, A: Node, B: Node) -> Iterator[Candidate]:
        if kind == SPECTRAL and SPECTRAL not in kinds:
            kind = FROBENIUS
        if kind in kinds:
            yield name, factor * norm(kind, nodes.minus(A.parts[0], B.parts[0]))

    return bound


def _linear(kind: str, A: Node, B: Node) -> Iterator[Candidate]:
    """f(A) - f(B) = f(A - B) for what is linear in its one operand."""
    inner = nodes.minus(A.parts[0], B.parts[0])
    yield "difference of products", norm(kind, nodes.rebuilt(A, [inner], A.data))


def _block(kind: str, A: Node, B: Node) -> Iterator[Candidate]:
    """The same rows of A and B, or their entries in another shape."""
    if (
        A.data == B.data
        and A.parts[0].shape == B.parts[0].shape
        and (kind != SPECTRAL or A.kind == "rows" or is_vector(A))
    ):
        kind = FROBENIUS if A.kind == "reshape" and kind == SPECTRAL else kind
        yield "block", norm(kind, nodes.minus(A.parts[0], B.parts[0]))


def _over_an_index(kind: str, A: Node, B: Node) -> Iterator[Candidate]:
    index = A.data[0]
    if index != B.data[0] and index in B.indices | B.parts[0].indices:
        return  # it would be taken for the one that B is a sum over
    other = nodes.at(B.parts[0], B.data[0], index)
    if A.kind == "sum over":
        if A.data[1] != nodes.at(B.data[1], B.data[0], index):
            return
        yield "sum over an index", sum_over(index, abs(A.data[1]) * norm(kind, nodes.minus(A.parts[0], other)))
    else:
        yield "blocks", norm(kind, nodes.rebuilt(A, [nodes.minus(A.parts[0], other)], A.data))


def _transposes(kind: str, A: Node, B: Node) -> Iterator[Candidate]:
    yield from difference(kind, A.parts[0], B.parts[0])


def _concatenations(kind: str, A: Node, B: Node) -> Iterator[Candidate]:
    if [part.shape for part in A.parts] == [part.shape for part in B.parts]:
        parts = [nodes.minus(*pair) for pair in zip(A.parts, B.parts, strict=True)]
        yield "blocks", norm(kind, nodes.concatenated(parts, 0))


def _exponentials(kind: str, A: Node, B: Node) -> Iterator[Candidate]:
    if kind != LARGEST and nodes.is_skew(A.parts[0]) and nodes.is_skew(B.parts[0]):
        yield "exponential of a skew matrix", norm(kind, nodes.minus(A.parts[0], B.parts[0]))


def one_after_another(*rules: Callable[[str, Node], Iterator[Candidate]]) -> Callable[[str, Node], Iterator[Candidate]]:
    """The candidates of several rules."""
    return lambda kind, node: (candidate for rule in rules for candidate in rule(kind, node))


DIFFERENCES: dict[str, Callable[..., Iterator[Candidate]]] = {
    "product": _products,
    "entrywise": _entrywise_products,
    "kronecker": _kronecker_products,
    "softmax": _inside("softmax is 1/2-Lipschitz", HALF),
    "relu": _inside("relu", 1, (FROBENIUS, LARGEST)),
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

RULES: dict[str, Callable[..., Iterator[Candidate]]] = {
    "input": _input,
    "product": _product,
    "sum": _sum,
    "kronecker": _one(
        "Kronecker product", lambda kind, node: norm(kind, node.parts[0]) * norm(kind, node.parts[1]), *NORMS
    ),
    "transpose": _transpose,
    "rows": _one("block", _of_the_part, *NORMS),
    "concatenate": _concatenate,
    "stack": _one("blocks", _of_squares, SPECTRAL, FROBENIUS),
    "block diagonal": _block_diagonal,
    "sum over": _sum_over,
    "softmax": _softmax,
    "relu": _one("relu", _of_the_part, FROBENIUS, LARGEST),
    "step": one_after_another(
        _one("gate", _at_most_one, LARGEST),
        _one("gate", lambda kind, node: sympy.sqrt(node.shape[0] * node.shape[1]), FROBENIUS),
    ),
    "absolute": _one("absolute values", _of_the_part, FROBENIUS, LARGEST),
    "entrywise": _entrywise,
    "exponential": _exponential,
    "iterate": _iterate,
    "derivative": _derivative,
    "projection": _one("projection", _at_most_one, SPECTRAL),
    "normalised rows": _one("unit rows", lambda kind, node: sympy.sqrt(node.shape[0]), FROBENIUS),
    "part": _one("block", _of_the_part, *NORMS),
    "permutation": _one("permutation", _at_most_one, SPECTRAL),
    "unit": _one("unit vector", _at_most_one, *NORMS),
    "row norms": _one("row norms", _of_the_part, FROBENIUS),
}
