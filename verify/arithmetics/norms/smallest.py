"""Smallest singular values, and norms from below: what they are at least, and what smallest values are at most.

sigma_min(A) is the last of the min(m, n) singular values of A of shape (m, n): that of a product of a wide and a tall matrix
has nothing to do with those of its factors, since the product may have a lower rank than either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import sympy

from verify.arithmetics.conditions import rely_on_at_least
from verify.arithmetics.norms import nodes
from verify.arithmetics.norms.assumed import follows
from verify.arithmetics.norms.atoms import FROBENIUS, SMALLEST, SPECTRAL, largest_over, norm, smallest  # fmt: skip
from verify.arithmetics.norms.gaps import relative_logits
from verify.arithmetics.norms.rules import QUANTITIES, RULES, one_after_another
from verify.arithmetics.norms.signs import is_nonnegative, is_positive
from verify.arithmetics.norms.statements import RuleBound, rule
from verify.arithmetics.norms.telescoping import HALF
from verify.arithmetics.norms.text import scalar_text
from verify.arithmetics.norms.world import Index, Node, quantities_in, quantity, unused_index, world

#: Of a softmax A of square logits, the largest A_ij with i != j.
OFF_DIAGONAL = "largest weight off the diagonal"

#: What a quantity is at least, by its kind: rules like those of `RULES`, from below.
LOWER: dict[str, Callable[[Node], Iterator[RuleBound]]] = {}


def lower_candidates(symbol: sympy.Symbol) -> list[RuleBound]:
    """Numbers that a smallest singular value, or a spectral norm, is at least, each with the rule that says so."""
    atom = world().atoms[symbol]
    found = LOWER[atom.kind](atom.payload[0]) if atom.kind in LOWER else iter(())
    return [candidate for candidate in found if symbol not in candidate.bound.free_symbols]


# -- from below --------------------------------------------------------------------------------------------------------


@rule(
    "smallest singular value of a sum",
    says="sigma_min(A + B) >= sigma_min(A) - ||B||_2, of matrices of one shape",
    rests_on=("weyl",),
)
@rule(
    "smallest singular value of a product",
    says="sigma_min(A B) >= sigma_min(A) sigma_min(B) where neither A nor B is wide, or neither is tall",
    rests_on=("smallest-of-a-product",),
)
@rule(
    "smallest singular value of blocks side by side",
    says="sigma_min([A B])^2 >= sigma_min(A)^2 + sigma_min(B)^2 where neither A nor B is tall",
    rests_on=("smallest-side-by-side",),
)
def _smallest(node: Node) -> Iterator[RuleBound]:
    if node.kind == "transpose":
        yield from _smallest(node.parts[0])
        return
    yield from _of_near_ones(node)
    terms = nodes.terms_of(node)
    for k, (c, part) in enumerate(terms if len(terms) > 1 else ()):
        rest = nodes.sum_of([term for place, term in enumerate(terms) if place != k], node.shape)
        yield _near(node, nodes.scaled(c, part), abs(c) * smallest(part) - norm(SPECTRAL, rest))
    for k in range(1, len(node.parts)) if node.kind == "product" else ():
        A, B = nodes.product(node.parts[:k]), nodes.product(node.parts[k:])
        name, bound = "smallest singular value of a product", smallest(A) * smallest(B)
        if all(not_wide(X) for X in (A, B)):
            yield RuleBound(name, bound, ("instance", name, A, B))
        elif all(not_wide(nodes.transposed(X)) for X in (A, B)):
            yield RuleBound(name, bound, ("instance", name, *map(nodes.transposed, (B, A))))
    blocks = node.parts if node.kind == "concatenate" else ()  # on top of each other
    if blocks and all(not_wide(block) for block in blocks):
        bound = sympy.sqrt(sympy.Add(*(smallest(block) ** 2 for block in blocks)))
        written = ("instance", "smallest singular value of blocks", *blocks)
        yield RuleBound("smallest singular value of blocks side by side", bound, written)


def _near(node: Node, other: Node, bound: Any) -> RuleBound:
    """What is at most the smallest singular value of a node, less the norm of the node less another one."""
    name = "smallest singular value of a sum"
    return RuleBound(name, bound, lambda _: [[("instance", name, other, nodes.minus(node, other))]])


def _of_near_ones(node: Node) -> Iterator[RuleBound]:
    """sigma_min(A) >= sigma_min(B) - ||A - B||_2, for B of which an aim speaks and for the identity beside a softmax."""
    if node.kind == "softmax" and node.shape[0] == node.shape[1]:
        identity = nodes.identity(node.shape[0])
        yield _near(node, identity, 1 - norm(SPECTRAL, nodes.minus(node, identity)))
    for target in quantities_in(world().targets, SMALLEST):
        other = world().atoms[target].payload[0]
        if other.shape == node.shape and other is not node:
            yield _near(node, other, target - norm(SPECTRAL, nodes.minus(other, node)))


def not_wide(node: Node) -> bool:
    """Whether a matrix has certainly no more columns than rows, at all sizes that are assumed."""
    facts = [fact for fact in world().facts if fact in world().orders]
    used = follows(sympy.Integer(0), sympy.expand(node.shape[0] - node.shape[1]), facts)
    world().used |= {f"{scalar_text(fact, world())} >= 0" for fact in used or ()}
    return used is not None


@rule(
    "softmax at the vector of ones",
    says="||softmax(T)||_2 >= ||softmax(T) 1|| / ||1|| = sqrt(m / n), since its rows add up to one",
    rests_on=("softmax-at-ones",),
)
def _spectral(node: Node) -> Iterator[RuleBound]:
    if node.kind == "softmax":
        yield RuleBound("softmax at the vector of ones", sympy.sqrt(node.shape[0] / node.shape[1]))


LOWER |= {SMALLEST: _smallest, SPECTRAL: _spectral}


# -- from above --------------------------------------------------------------------------------------------------------


@rule("smallest at most largest singular value", says="sigma_min(A) <= ||A||_2", rests_on=("smallest-at-most-largest",))
@rule(
    "distance from rank one",
    says="(min(m, n) - 1) sigma_min(A)^2 <= ||A - R||_F^2 for every R of rank one (Eckart and Young)",
    rests_on=("distance-from-rank-one",),
)
def _smallest_from_above(node: Node) -> Iterator[RuleBound]:
    if node.kind == "softmax" and node.shape[0] == node.shape[1]:
        n = node.shape[0]
        rely_on_at_least(n - 2, 0)
        uniform = nodes.scaled(1 / n, nodes.ones(n, n))
        distance = norm(FROBENIUS, nodes.minus(node, uniform))
        for bound in (distance / sympy.sqrt(n - 1), distance):  # as n - 1 is at least 1
            yield RuleBound("distance from rank one", bound, ("distance from equal entries", node, 1 / n))
        return
    name = "smallest at most largest singular value"
    yield RuleBound(name, norm(SPECTRAL, node), (name, node))


def _multiple(T: Node) -> tuple[Any, Node]:
    """c >= 0 and A where a node is c A."""
    c, core = nodes.single(T)
    return (c, core) if is_nonnegative(c) else (sympy.Integer(1), T)


def _index_of_rows(T: Node) -> Index:
    """The index that the largest gap and the largest range of logits are over."""
    core = _multiple(T)[1]
    return unused_index(core.shape[0], core)


def largest_gap(T: Node) -> Any:
    """max_i max_{j != i} (T_ij - T_ii), a scalar: the smallest gap of square logits, with the opposite sign."""
    (c, core), i = _multiple(T), _index_of_rows(T)
    if not is_positive(c):  # 0 times the largest of no numbers says nothing
        rely_on_at_least(T.shape[1] - 2, 0)
    row = relative_logits(nodes.rows(core, i, i + 1, 1), i)
    return c * largest_over(i, world().atom("largest value", (row,), "real"))


def largest_range(T: Node) -> Any:
    """max_i (max_j T_ij - min_j T_ij), a scalar."""
    (c, core), i = _multiple(T), _index_of_rows(T)
    row = nodes.rows(core, i, i + 1, 1)
    both = [world().atom("largest value", (nodes.scaled(sign, row),), "real") for sign in (1, -1)]
    return c * largest_over(i, sympy.Add(*both))


@rule("range", says="the largest of several numbers is at least the smallest")
def is_range(symbol: Any) -> bool:
    """Whether a quantity is the largest value, over an index, of max A - min A."""
    atom = quantity(symbol, "largest over")
    values = [quantity(value, "largest value") for value in atom.payload[1].args] if atom is not None else []
    if len(values) != 2 or None in values:
        return False
    (c, A), (d, B) = (nodes.single(value.payload[0]) for value in values if value is not None)
    return A is B and c == -d


def sinh(t: Any) -> Any:
    """(e^t - e^-t) / 2."""
    return (sympy.exp(t) - sympy.exp(-t)) / 2


def _speaks_of_largest_values() -> bool:
    """Whether a formula or an assumption has the largest value of a scalar over rows, as gaps and ranges of logits are."""
    return any(
        atom.kind == "largest over" and symbol.is_nonnegative is not True for symbol, atom in world().atoms.items()
    )


@rule(
    "weights beside the identity",
    says="||A - I||_2 <= 2 (n - 1) max_{i != j} A_ij for A >= 0 with rows that add up to one",
    rests_on=("stochastic-near-identity",),
)
@rule(
    "softmax near the uniform matrix",
    says="||softmax(T) - 1/n||_F <= sqrt(m / n) sinh(D / 2), D the largest range of a row of T",
    rests_on=("softmax-near-uniform",),
)
@rule(
    "chord of sinh",
    says="sinh(t) <= 2 t sinh(1/2) for 0 <= t <= 1/2, of a t that an assumption bounds so",
    rests_on=("sinh-on-an-interval",),
)
def _softmax_less(kind: str, node: Node) -> Iterator[RuleBound]:
    """Bounds of a multiple of softmax(T) - I or of softmax(T) - 1/n."""
    for (c, A), (d, B) in nodes.both_orders(node) if _speaks_of_largest_values() else ():
        if A.kind != "softmax":
            continue
        m, n = A.shape
        if kind == SPECTRAL and B.kind == "identity" and d == -c:
            bound = 2 * abs(c) * (n - 1) * world().atom(OFF_DIAGONAL, (A,))
            yield RuleBound("weights beside the identity", bound, ("weights beside the identity", *A.parts))
        if kind == FROBENIUS and B.kind == "ones" and sympy.expand(d * n + c) == 0:
            half, factor = largest_range(A.parts[0]) / 2, abs(c) * sympy.sqrt(m / n)
            name, of = "softmax near equal weights", (_index_of_rows(A.parts[0]), *A.parts)
            yield RuleBound("softmax near the uniform matrix", factor * sinh(half), (name, *of))
            if follows(half, HALF, world().facts) is not None:
                bound, by_chord = factor * 2 * half * sinh(HALF), (f"{name}, by a chord", *of)
                yield RuleBound("softmax near the uniform matrix; chord of sinh", bound, by_chord)


@rule(
    "columns of weights",
    says="||A||_2^2 <= 1 + (n - 1) max_{i != j} A_ij for A >= 0 with rows that add up to one",
    rests_on=("stochastic-near-identity",),
)
def _stochastic(kind: str, node: Node) -> Iterator[RuleBound]:
    if kind == SPECTRAL and node.shape[0] == node.shape[1] and _speaks_of_largest_values():
        bound = sympy.sqrt(1 + (node.shape[0] - 1) * world().atom(OFF_DIAGONAL, (node,)))
        yield RuleBound("columns of weights", bound, ("columns of weights", *node.parts))


@rule("weight by its gap", says="softmax(T)_ij <= e^(T_ij - T_ii)", rests_on=("weight-by-its-gap",))
def _off_diagonal(node: Node) -> Iterator[RuleBound]:
    (T,) = node.parts
    yield RuleBound("weight by its gap", sympy.exp(largest_gap(T)), ("weight by its gap", _index_of_rows(T), T))


QUANTITIES |= {SMALLEST: _smallest_from_above, OFF_DIAGONAL: _off_diagonal}
RULES |= {
    "softmax": one_after_another(RULES["softmax"], _stochastic),
    "sum": one_after_another(RULES["sum"], _softmax_less),
}
