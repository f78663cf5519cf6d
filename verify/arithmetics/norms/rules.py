"""Rules: upper bounds of one quantity by others, each with a name.

A rule maps a quantity to candidates: its name, an expression that is monotone in the quantities it contains, and how the
checker of certificates is told (`statements.RuleBound`).
`tests/test_norms_rules.py` holds every one of them against random and structured matrices.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sympy

from verify.arithmetics.norms import chain_rule, entries, isometry_instances, nodes
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
from verify.arithmetics.norms.odd_polynomials import keeps_unit_interval
from verify.arithmetics.norms.signs import is_nonnegative
from verify.arithmetics.norms.softmaxes import (
    covariance_of,
    covariances_of,
    from_uniform,
    in_the_1_norm,
    of_larger_logits,
)  # fmt: skip
from verify.arithmetics.norms.statements import RuleBound, in_turn
from verify.arithmetics.norms.telescoping import HALF, block_of, by_frobenius, common, difference, no_candidates
from verify.arithmetics.norms.world import Node, unused_index, world

#: The property that a hypothesis states of M where x^T M x <= 0.
DISSIPATIVE = "has a symmetric part without positive eigenvalues"


def candidates(symbol: sympy.Symbol) -> list[RuleBound]:
    """Upper bounds of one quantity by others."""
    return [*assumed_bounds(symbol), *_derived(symbol)]


def _derived(symbol: sympy.Symbol) -> list[RuleBound]:
    atom = world().atoms[symbol]
    if atom.kind in NORMS:
        found = itertools.starmap(RuleBound, _of_norm(atom.kind, *atom.payload))
        return [item for item in found if symbol not in item.bound.free_symbols]
    return list(itertools.starmap(RuleBound, QUANTITIES.get(atom.kind, no_candidates)(*atom.payload)))


def _spectral_radius(A: Node) -> Iterator[RuleBound]:
    yield RuleBound("spectral radius", norm(SPECTRAL, A), ("spectral radius", A))


def _shift(A: Node, B: Node) -> Iterator[RuleBound]:
    yield RuleBound("Weyl", norm(SPECTRAL, nodes.minus(A, B)), ("Weyl", A, B))


def _total(node: Node) -> Iterator[RuleBound]:
    """Bounds of the sum of all entries, none of which is negative: of others there is no such quantity."""
    A = node.parts[0] if node.kind == "absolute" else node
    bound = sympy.sqrt(A.shape[0] * A.shape[1]) * norm(FROBENIUS, A)
    yield RuleBound("Cauchy-Schwarz", bound, ("Cauchy-Schwarz for all entries", A))
    yield from in_the_1_norm(A)


#: Rules for quantities that are no norms, by their kind.
QUANTITIES: dict[str, Callable[..., Iterator[RuleBound]]] = {
    "spectral radius": _spectral_radius,
    SHIFT: _shift,
    "total": _total,
}


def _of_norm(kind: str, node: Node) -> Iterator[RuleBound]:
    if kind == SPECTRAL and {node.number, nodes.transposed(node).number} & world().contractions:
        yield _orthonormal(node)
    yield from RULES.get(node.kind, no_candidates)(kind, node)
    yield from entries.by_all_entries(kind, node)
    is_aim = kind == SPECTRAL and node.kind == "sum" and norm(FROBENIUS, node) in world().targets
    if node.kind != "sum" or node.shape == (1, 1) or is_aim or any(part.kind in NONLINEAR for part in node.parts):
        yield from _by_another_norm(kind, node)


#: Nodes whose spectral norm is bounded through the Frobenius norm.
NONLINEAR = ("softmax", "relu", "step", "entrywise", "transpose", "reshape")


def _by_another_norm(kind: str, node: Node) -> Iterator[RuleBound]:
    if kind == SPECTRAL and not is_vector(node) and node.kind not in ("product", "kronecker"):
        yield by_frobenius(node)
    if kind == LARGEST:
        yield RuleBound("largest entry", norm(SPECTRAL, node), ("largest entry", node))
    if kind == FROBENIUS and _is_spoken_of(norm(LARGEST, node)):
        bound = sympy.sqrt(node.shape[0] * node.shape[1]) * norm(LARGEST, node)
        yield RuleBound("largest of all entries", bound, ("largest of all entries", node))
    if kind == FROBENIUS and node.kind in ("input", "derivative") and not is_vector(node):
        yield _rank(node, lambda: (nodes.identity(node.shape[0]), node), node.shape[0])
        yield _rank(node, lambda: (node, nodes.identity(node.shape[1])), node.shape[1])


def _cut(factors: tuple[Node, ...], k: int) -> tuple[Node, Node]:
    return nodes.product(factors[:k]), nodes.product(factors[k:])


def _rank(node: Node, factors: Callable[[], tuple[Node, Node]], size: Any) -> RuleBound:
    """The Frobenius norm of a product of two, of which the first has so many columns, by the spectral norm."""
    return RuleBound("rank", sympy.sqrt(size) * norm(SPECTRAL, node), lambda _: [[("rank", *factors())]])


def _orthonormal(node: Node) -> RuleBound:
    """The spectral norm of a matrix with orthonormal columns or rows, or of some rows of one, is at most 1."""

    def written(writer: Any) -> Iterator[Any]:
        yield [("orthonormal", node)]
        yield [("orthonormal by assumption", node)]
        for frame in writer.frames:
            start = sympy.Integer(0)
            for block in frame.parts:
                yield [("block", SPECTRAL, frame, start, block.shape[0]), ("orthonormal by assumption", frame)]
                start = start + block.shape[0]

    return RuleBound("orthonormal", sympy.Integer(1), written)


def _is_spoken_of(quantity: Any) -> bool:
    """Whether an assumption or the right-hand side contains a quantity."""
    return quantity in world().targets or any(quantity in fact.free_symbols for fact in world().facts)


def _input(kind: str, node: Node) -> Iterator[RuleBound]:
    known = {which for which, name in world().properties if name == node.data[0]}
    if kind == SPECTRAL and known & {"has orthonormal columns", "has orthonormal rows"}:
        yield _orthonormal(node)
    if kind == SPECTRAL and "has singular values at most 1" in known:
        yield RuleBound("contraction", sympy.Integer(1), ("orthonormal", node))
    if kind != LARGEST and "has Frobenius norm at most 1" in known:
        yield RuleBound("unit direction", sympy.Integer(1), ("unit direction", node))
    if kind == FROBENIUS and "has unit rows" in known:
        yield RuleBound("unit rows", sympy.sqrt(node.shape[0]), ("unit rows", node))
    if kind == FROBENIUS and "has orthonormal columns" in known:
        yield RuleBound("orthonormal", sympy.sqrt(node.shape[1]))


def _product(kind: str, node: Node) -> Iterator[RuleBound]:
    factors = node.parts
    yield from _number_among(kind, factors)
    if kind == LARGEST:
        if world().entrywise:
            yield from entries.largest_of_product(node)
        yield from entries.by_lengths(node)
        return
    if factors[0].kind == "ones" and factors[0].shape[0] == 1 and factors[0].shape[1] != 1:
        index, rest = unused_index(factors[0].shape[1], node), nodes.product(factors[1:])
        bound = sum_over(index, norm(kind, nodes.rows(rest, index, index + 1, 1)))
        yield RuleBound("sum over an index", bound, ("sum of rows", kind, index, rest))
    if kind == FROBENIUS and norm(SPECTRAL, node) in world().targets:
        sizes: dict[Any, int] = {}
        for k in range(1, len(factors)):
            sizes.setdefault(factors[k - 1].shape[1], k)
        for size, k in sizes.items():
            yield _rank(node, functools.partial(_cut, factors, k), size)
    if kind == SPECTRAL and norm(FROBENIUS, node) in world().targets:
        yield by_frobenius(node)
    for pieces in [factors, *_with_known_piece(factors)]:
        spectral = [norm(SPECTRAL, piece) for piece in pieces]
        if kind == SPECTRAL:
            yield RuleBound("product", sympy.Mul(*spectral), functools.partial(_split, pieces, None))
            continue
        seen = set()
        for place, piece in enumerate(pieces):
            bound = sympy.Mul(*spectral[:place], norm(FROBENIUS, piece), *spectral[place + 1 :])
            if bound not in seen:
                seen.add(bound)
                yield RuleBound("product", bound, functools.partial(_split, pieces, place))


def _split(pieces: Sequence[Node], place: int | None, writer: Any) -> list[Any]:
    """A product taken apart; norms of its factors that are known without a rule are so in further steps."""
    isometries = isometry_instances.of_factors(writer, pieces) if place is None else []
    return [[*writer.split(pieces, place), *writer.parts_of_numbers(*pieces), *isometries]]


def _number_among(kind: str, factors: tuple[Node, ...]) -> Iterator[RuleBound]:
    """||A c B|| = |c| ||A B|| for neighbours c of shape (1, 1), where |c| is aimed at or largest entries are compared."""
    for start, stop in itertools.combinations(range(len(factors) + 1), 2):
        ends, inner = (factors[:start], factors[stop:]), factors[start:stop]
        if inner[0].shape[0] == 1 == inner[-1].shape[1] and any(
            other.shape != (1, 1) for side in ends for other in side
        ):
            size = norm(FROBENIUS, nodes.product(inner))
            if kind == LARGEST or size.free_symbols & world().targets:
                bound = size * norm(kind, nodes.product([*ends[0], *ends[1]]))
                yield RuleBound("number among the factors", bound, functools.partial(_with_number, kind, inner, *ends))


def _with_number(kind: str, number: Sequence[Node], before: Sequence[Node], after: Sequence[Node], _: Any) -> list[Any]:
    A, c, B = (nodes.product(side or [nodes.identity(1)]) for side in (before, number, after))
    return [[("number among the factors", kind, A, c, B)]]


def _with_known_piece(factors: tuple[Node, ...]) -> Iterator[list[Node]]:
    """The factors with some neighbours multiplied, where a quantity of their product is known already."""
    for start in range(len(factors)):
        for stop in range(start + 2, len(factors) + 1):
            if stop - start == len(factors):
                continue
            if tuple(part.number for part in factors[start:stop]) in world().pieces:
                yield [*factors[:start], nodes.product(factors[start:stop]), *factors[stop:]]


def no_step(kind: str, node: Node) -> None:
    """Nothing is written of what the checker sees by itself."""


def _one(
    name: str, bound: Callable[[str, Node], Any], *kinds: str, written: Callable[[str, Node], Any] = no_step
) -> Callable[[str, Node], Iterator[RuleBound]]:
    """The rule with one bound, in the norms named."""

    def candidates_of(kind: str, node: Node) -> Iterator[RuleBound]:
        if kind in kinds:
            yield RuleBound(name, bound(kind, node), written(kind, node))

    return candidates_of


def _of_the_parts(name: str) -> Callable[[str, Node], Any]:
    """A step of the checker by a rule of what a node is made of."""
    return lambda kind, node: (name, *node.parts)


def _of_the_part(kind: str, node: Node) -> Any:
    """The same norm of the operand."""
    return norm(kind, node.parts[0])


def _at_most_one(kind: str, node: Node) -> Any:
    return sympy.Integer(1)


def _of_squares(kind: str, node: Node) -> Any:
    """The root of the sum of the squares of the norms of blocks over an index."""
    return sympy.sqrt(sum_over(node.data[0], norm(kind, node.parts[0]) ** 2))


def _rows(kind: str, node: Node) -> Iterator[RuleBound]:
    (whole,) = node.parts
    yield RuleBound("block", norm(kind, whole), block_of(kind, node, whole))


def _transpose(kind: str, node: Node) -> Iterator[RuleBound]:
    yield from RULES.get(node.parts[0].kind, no_candidates)(kind, node.parts[0])


def _concatenate(kind: str, node: Node) -> Iterator[RuleBound]:
    if kind != LARGEST and all(
        part.kind == "product" and part.parts[-1] is node.parts[0].parts[-1] for part in node.parts
    ):
        blocks = nodes.concatenated([nodes.product(part.parts[:-1]) for part in node.parts], 0)
        yield RuleBound("common factor", norm(kind, nodes.product([blocks, node.parts[0].parts[-1]])))
    if kind != LARGEST:
        bound = sympy.sqrt(sympy.Add(*(norm(kind, part) ** 2 for part in node.parts)))
        yield RuleBound("blocks", bound, ("blocks", kind, *node.parts))


def _stack(kind: str, node: Node) -> Any:
    """How a stack is written: by the sum of the squares of the norms, or by the largest of them."""
    return lambda _: [[(rule, kind, node.data[0], *node.parts)] for rule in ("stack", "stack of one length")]


def _block_diagonal(kind: str, node: Node) -> Iterator[RuleBound]:
    if kind == SPECTRAL:
        bound = largest_over(node.data[0], norm(kind, node.parts[0]))
        yield RuleBound("block diagonal", bound, ("block diagonal", *node.data, *node.parts))
    if kind == FROBENIUS:
        yield RuleBound("block diagonal", _of_squares(kind, node))


def _sum_over(kind: str, node: Node) -> Iterator[RuleBound]:
    (index, coefficient), (inner,) = node.data, node.parts

    def written(writer: Any) -> list[Any]:
        return [[
            ("sum over an index", kind, index, nodes.scaled(coefficient, inner)), *writer.parts_of_numbers(inner),
        ]]  # fmt: skip

    yield RuleBound("sum over an index", sum_over(index, abs(coefficient) * norm(kind, inner)), written)


def _softmax(kind: str, node: Node) -> Iterator[RuleBound]:
    yield from of_larger_logits(kind, node)
    if kind == FROBENIUS:
        yield RuleBound("softmax row", sympy.sqrt(node.shape[0]), ("softmax row", *node.parts))
    if kind == LARGEST:
        written = in_turn(("largest entry", node), ("softmax row", *node.parts))
        yield RuleBound("softmax row", sympy.Integer(1), written)


def _entrywise(kind: str, node: Node) -> Iterator[RuleBound]:
    for one, other in (node.parts, node.parts[::-1]):
        if one.kind == "step":
            if kind in (FROBENIUS, LARGEST):
                yield RuleBound("gate", norm(kind, other), ("gate", kind, other, *one.parts))
            return
    A, B = node.parts
    if kind == SPECTRAL:
        yield RuleBound("entrywise product", norm(SPECTRAL, A) * norm(SPECTRAL, B))
    if kind == FROBENIUS:
        for one, other in ((A, B), (B, A)):
            yield RuleBound(
                "entrywise product", norm(LARGEST, one) * norm(FROBENIUS, other), ("entrywise product", one, other)
            )


def _exponential(kind: str, node: Node) -> Iterator[RuleBound]:
    if nodes.is_skew(node.parts[0]):
        if kind != LARGEST:
            yield RuleBound(
                "exponential of a skew matrix", sympy.Integer(1) if kind == SPECTRAL else sympy.sqrt(node.shape[0])
            )
    elif kind == SPECTRAL:
        yield from _exponential_of_multiple(*nodes.single(node.parts[0]))
        yield RuleBound("exponential", sympy.exp(norm(SPECTRAL, node.parts[0])))


def _exponential_of_multiple(c: Any, A: Node) -> Iterator[RuleBound]:
    """Bounds of ||exp(c A)||_2."""
    if A.kind == "product" and nodes.are_inverse(A.parts[0], A.parts[-1]):
        V, W, inner = A.parts[0], A.parts[-1], nodes.scaled(c, nodes.product(A.parts[1:-1]))
        bound = norm(SPECTRAL, V) * norm(SPECTRAL, W) * norm(SPECTRAL, nodes.of("exponential", inner))
        yield RuleBound("similar matrices", bound, ("similar matrices", V, W, inner))
    leaf = A.parts[0] if A.kind == "transpose" else A
    square = leaf.shape[0] == leaf.shape[1]
    if is_nonnegative(c) and leaf.kind == "input" and square and (DISSIPATIVE, leaf.data[0]) in world().properties:
        name = "exponential of a dissipative matrix"
        yield RuleBound(name, sympy.Integer(1), (name, c, leaf))


def _iterate(kind: str, node: Node) -> Iterator[RuleBound]:
    if kind == SPECTRAL and starts_in_unit_ball(node.parts[0], node.data[1:]):
        yield RuleBound("iterated polynomial", sympy.Integer(1), ("iterate", *node.parts, *node.data))


def is_contraction(node: Node) -> bool:
    """Whether ||A||_2 <= 1 is an assumption, or known at once."""
    symbol = norm(SPECTRAL, node)
    if symbol not in world().atoms:
        return False
    found = candidates(symbol) if node.kind in ("input", "iterate") else []
    return bool(world().assumed.get(symbol, 2) <= 1) or any(candidate.bound == 1 for candidate in found)


def starts_in_unit_ball(start: Node, coefficients: tuple[Any, ...]) -> bool:
    """Whether no singular value of the start is above 1, and M p(M^T M) with these coefficients keeps it so."""
    multiple, core = nodes.single(start)
    assumed = _input(SPECTRAL, core) if core.kind == "input" else ()
    largest = [norm(FROBENIUS, core), *(candidate.bound for candidate in assumed)]
    inside = (multiple == 1 and is_contraction(core)) or any(at_most(abs(multiple) * x, 1) for x in largest)
    return keeps_unit_interval(coefficients) and inside


def _derivative(kind: str, node: Node) -> Iterator[RuleBound]:
    apart = chain_rule.taken_apart(node)
    if apart is not node:
        yield RuleBound("chain rule", norm(kind, apart), functools.partial(chain_rule.written, kind, node))


# -- sums --------------------------------------------------------------------------------------------------------------


def _sum(kind: str, node: Node) -> Iterator[RuleBound]:
    terms = nodes.terms_of(node)
    if kind == LARGEST:
        yield from entries.with_common_ends(terms)
        return
    if len(terms) == 1:
        return
    if len(terms) == 2:
        yield from _recognised(kind, terms)
    pairs, rest = _pairing(terms)
    single = [abs(c) * norm(kind, part) for c, part in rest]

    def apart(_: Any) -> Any:
        summands = [nodes.sum_of([(c, A), (-c, B)]) for c, A, B in pairs] + [nodes.scaled(*term) for term in rest]
        return [[("triangle inequality", kind, *summands)] if len(summands) > 1 else []]

    for option in itertools.product(*(difference(kind, A, B) for _, A, B in pairs)):
        names = list(dict.fromkeys(candidate.name for candidate in option))
        if rest or len(option) > 1:
            names.append("triangle inequality")
        sizes = (abs(c) * candidate.bound for (c, _, _), candidate in zip(pairs, option, strict=True))
        steps = in_turn(apart, *(candidate.written for candidate in option))
        yield RuleBound("; ".join(names), sympy.Add(*sizes, *single), steps)


def _pairing(terms: list[tuple[Any, Node]]) -> tuple[list[tuple[Any, Node, Node]], list[tuple[Any, Node]]]:
    """Terms c A, -c B of like form as differences, and the rest."""
    rest, pairs = list(terms), []
    for c, A in terms:
        if (c, A) not in rest:
            continue
        partners = [item for item in rest if item[1] is not A and item[0] == -c and _alike(A, item[1])]
        if partners:
            partner = max(partners, key=lambda item: common(nodes.factors_of(A), nodes.factors_of(item[1])))
            pairs.append((c, A, partner[1]))
            rest = [item for item in rest if item[1] is not A and item[1] is not partner[1]]
    return pairs, rest


def _alike(A: Node, B: Node) -> bool:
    if A.kind != B.kind:
        return False
    if A.kind == "product":
        return bool(common(A.parts, B.parts)) or len(A.parts) == len(B.parts)
    if A.kind == "transpose":
        return _alike(A.parts[0], B.parts[0])
    if A.kind in ("stack", "sum over", "block diagonal"):
        return A.data[0].size == B.data[0].size
    if A.kind in ("rows", "concatenate"):
        return A.data == B.data and [p.shape for p in A.parts] == [p.shape for p in B.parts]
    return A.kind != "input"


def _recognised(kind: str, terms: list[tuple[Any, Node]]) -> Iterator[RuleBound]:
    """Known sums of two terms: multiples of diag(p) - p p^T and of exp(A) - I."""
    for (c, A), (d, B) in (terms, terms[::-1]):
        yield from from_uniform(kind, c, A, d, B)
    for (c, A), (d, B) in (terms, terms[::-1]):
        if d != -c:
            return
        if kind == SPECTRAL and A.kind == "product" and B is nodes.transposed(A):
            yield from _antisymmetric(abs(c), A, B)
            return
        less = nodes.minus(A, B)
        several = (("covariance of a softmax row", covariance_of), ("covariances of softmax rows", covariances_of))
        for rule, weights_of in several if kind == SPECTRAL else ():
            if (weights := weights_of(less)) is not None:
                yield RuleBound("covariance of a softmax row", abs(c) * HALF, (rule, *weights.parts))
        if A.kind == "exponential" and B.kind == "identity":
            if nodes.is_skew(A.parts[0]):
                written = ("exponentials of skew matrices", kind, *A.parts, nodes.zeros(A.shape))
                yield RuleBound("exponential of a skew matrix", abs(c) * norm(kind, A.parts[0]), written)
            elif kind == SPECTRAL:
                yield RuleBound("exponential", abs(c) * (sympy.exp(norm(SPECTRAL, A.parts[0])) - 1))


def _antisymmetric(c: Any, A: Node, B: Node) -> Iterator[RuleBound]:
    """Bounds of the spectral norm of c (A - A^T) for a product A."""
    left, right = nodes.shared_ends(A.parts, B.parts)
    if left or right:
        ends = A.parts[:left], A.parts[len(A.parts) - right :]
        inner = [nodes.product(X.parts[left : len(X.parts) - right]) for X in (A, B)]
        whole = nodes.product([*ends[0], nodes.minus(*inner), *ends[1]])
        yield RuleBound("difference of products", c * norm(SPECTRAL, whole))
        return
    for split in range(1, len(A.parts)):
        pair = [nodes.product(A.parts[:split]), nodes.transposed(nodes.product(A.parts[split:]))]
        orders = [(nodes.concatenated(blocks, 1), blocks) for blocks in (pair, pair[::-1])]
        known = [
            order for order in orders if {order[0].number, nodes.transposed(order[0]).number} & world().contractions
        ]
        frame, blocks = (known or orders)[0]
        yield RuleBound("antisymmetric product", c * norm(SPECTRAL, frame) ** 2, ("antisymmetric product", *blocks))


def one_after_another(*rules: Callable[..., Iterator[RuleBound]]) -> Callable[..., Iterator[RuleBound]]:
    """The candidates of several rules."""
    return lambda *of: (candidate for rule in rules for candidate in rule(*of))


RULES: dict[str, Callable[..., Iterator[RuleBound]]] = {
    "input": _input,
    "product": _product,
    "sum": _sum,
    "kronecker": _one(
        "Kronecker product", lambda kind, node: sympy.Mul(*(norm(kind, part) for part in node.parts)), *NORMS,
        written=lambda kind, node: ("Kronecker product", kind, *node.parts),
    ),
    "transpose": _transpose,
    "rows": _rows,
    "part": _rows,
    "concatenate": _concatenate,
    "stack": _one("blocks", _of_squares, SPECTRAL, FROBENIUS, written=_stack),
    "block diagonal": _block_diagonal,
    "sum over": _sum_over,
    "softmax": _softmax,
    "relu": _one(
        "relu", _of_the_part, FROBENIUS, LARGEST,
        written=lambda kind, node: ("relu", kind, *node.parts, nodes.zeros(node.shape)),
    ),
    "step": one_after_another(
        _one("gate", _at_most_one, LARGEST, written=_of_the_parts("largest of open gates")),
        _one("gate", lambda kind, node: sympy.sqrt(node.shape[0] * node.shape[1]), FROBENIUS),
    ),
    "absolute": _one("absolute values", _of_the_part, FROBENIUS, LARGEST),
    "entrywise": _entrywise,
    "exponential": _exponential,
    "iterate": _iterate,
    "derivative": _derivative,
    "projection": _one("projection", _at_most_one, SPECTRAL, written=_of_the_parts("projection")),
    "normalised rows": _one(
        "unit rows", lambda kind, node: sympy.sqrt(node.shape[0]), FROBENIUS, written=_of_the_parts("normalised rows"),
    ),
    "permutation": _one("permutation", _at_most_one, SPECTRAL, written=lambda kind, node: ("permutation", node)),
    "unit": _one("unit vector", _at_most_one, *NORMS),
    "row norms": _one("row norms", _of_the_part, FROBENIUS, written=_of_the_parts("row norms")),
}  # fmt: skip
