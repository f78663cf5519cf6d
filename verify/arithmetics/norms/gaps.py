"""What softmax rows give away, by the gaps of their logits, and what their covariances have to do with it.

With p = softmax(t), 1 - p_i is kept as the sum of the other entries; it is s / (1 + s) for s the sum over j != i of e^(t_j - t_i).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from verify.arithmetics.formal import register_forms
from verify.arithmetics.norms import nodes
from verify.arithmetics.norms.atoms import FROBENIUS, LARGEST, SPECTRAL, entry, norm
from verify.arithmetics.norms.bounded import Bounded, lifted, total_of
from verify.arithmetics.norms.rules import QUANTITIES, RULES, one_after_another
from verify.arithmetics.norms.softmaxes import covariance_of, is_softmax_column
from verify.arithmetics.norms.statements import RuleBound, in_turn, rule
from verify.arithmetics.norms.telescoping import by_frobenius
from verify.arithmetics.norms.world import Index, Node, quantities_in, world
from verify.vocabulary.errors import ArithmeticUnsupported


def own_place(p: Node) -> Index | None:
    """The index i where a softmax row is row i of the softmax of square logits, whose gaps are those to t_i."""
    found = [i for i in p.indices if i.size == p.shape[1]]
    return found[0] if len(found) == 1 else None


def relative_logits(t: Node, i: Any) -> Node:
    """t_j - t_i for j != i, shape (1, n - 1), for a row t of shape (1, n)."""
    others = t.shape[1] - 1
    return nodes.minus(
        nodes.without_column(t, i), nodes.product([nodes.columns(t, i, i + 1, 1), nodes.ones(1, others)])
    )


# -- sums of weights ---------------------------------------------------------------------------------------------------


@rule(
    "softmax row less an entry",
    says="sum_{j != i} p_j = s / (1 + s), s = sum_{j != i} e^(t_j - t_i), for p = softmax(t)",
    rests_on=("softmax-less-an-entry",),
)
def _total(node: Node) -> Iterator[RuleBound]:
    if node.kind == "without column" and node.shape[0] == 1 and node.parts[0].kind == "softmax":
        (t,), (i,) = node.parts[0].parts, node.data
        weights, name = world().atom("total of exponentials", (relative_logits(t, i),)), "softmax row less an entry"
        yield RuleBound(name, weights / (1 + weights), (name, i, t))
    if node.kind == "variances":
        yield from _total_variance(node.parts[0])


@rule(
    "sum of exponentials",
    says="a sum of n exponentials is at most n times the largest, e to the largest exponent",
    rests_on=("sum-of-exponentials",),
)
def _total_of_exponentials(node: Node) -> Iterator[RuleBound]:
    exponent = world().atom("largest value", (node,), "real")
    yield RuleBound("sum of exponentials", node.shape[0] * node.shape[1] * sympy.exp(exponent))


@rule(
    "trace of a covariance",
    says="diag(p) - p p^T is semidefinite, so that ||.||_2 <= ||.||_F <= tr = 1 - sum_j p_j^2",
    rests_on=("trace-of-a-covariance",),
)
@rule(
    "variance of a softmax row",
    says="1 - sum_j p_j^2 <= 1 - p_i^2 <= 2 (1 - p_i) for each i",
    rests_on=("trace-of-a-covariance",),
)
def _total_variance(p: Node) -> Iterator[RuleBound]:
    yield RuleBound("trace of a covariance", 1 - norm(FROBENIUS, p) ** 2)
    i = own_place(p)
    if i is not None:
        yield RuleBound("variance of a softmax row", 2 * total_of(nodes.without_column(p, i)))


# -- covariances -------------------------------------------------------------------------------------------------------


@rule(
    "largest entry of a covariance",
    says="the largest entry of a semidefinite matrix is on its diagonal",
    rests_on=("trace-of-a-covariance",),
)
def _covariance(kind: str, node: Node) -> Iterator[RuleBound]:
    p = covariance_of(node)
    if p is not None and kind == SPECTRAL and norm(FROBENIUS, node) in world().targets:
        yield by_frobenius(node)
    if p is None or not speaks_of_gaps():
        return
    if kind in (SPECTRAL, FROBENIUS):
        i = own_place(p)
        written = ("covariance by the weights beside one", i, *p.parts) if i is not None else None
        yield RuleBound("trace of a covariance", total_of(variances(p)), written)
    if kind == LARGEST:
        yield RuleBound("largest entry of a covariance", norm(LARGEST, variances(p)))


def variances(p: Node) -> Node:
    """p_j (1 - p_j) for all j, the diagonal of diag(p) - p^T p, shape (n, 1)."""
    return nodes.of("variances", p, shape=(p.shape[1], 1))


def diag_part(A: Any) -> Bounded:
    """The diagonal of a covariance; of any other matrix it has no norm."""
    p = covariance_of(lifted(A).node)
    if p is None:
        raise ArithmeticUnsupported("the diagonal of a matrix has no norm")
    return Bounded(variances(p), True)


@rule(
    "diagonal of a covariance",
    says="p_j (1 - p_j) <= 1 - p_i for all i and j: it is at most p_j, and at most 1 - p_j",
    rests_on=("trace-of-a-covariance",),
)
def _variances(kind: str, node: Node) -> Iterator[RuleBound]:
    i = own_place(node.parts[0])
    if kind == LARGEST and i is not None:
        yield RuleBound("diagonal of a covariance", total_of(nodes.without_column(node.parts[0], i)))


@rule(
    "row of a covariance",
    says="the entries of row i of diag(p) - p^T p off the diagonal are -p_i p_j",
    rests_on=("covariance-off-the-diagonal",),
)
@rule("weight of several", says="a number that is not negative is at most the sum of several that are not")
def _without_column(kind: str, node: Node) -> Iterator[RuleBound]:
    inner, i = node.parts[0], node.data[0]
    if kind == LARGEST and inner.kind == "softmax" and node.shape[0] == 1:
        written = in_turn(("largest entry", node), ("sum of all absolute values", node))
        yield RuleBound("weight of several", total_of(node), written)
    if kind == LARGEST and (p := row_of_covariance(inner, i)) is not None:
        bound = entry(p, 0, i) * norm(LARGEST, nodes.without_column(p, i))
        yield RuleBound("row of a covariance", bound, ("row of a covariance", i, *p.parts))
    yield RuleBound("block", norm(kind, inner))


def row_of_covariance(node: Node, i: Any) -> Node | None:
    """The softmax row p where a node is row i of diag(p) - p^T p."""
    for (c, A), (d, B) in nodes.both_orders(node):
        if c == 1 and d == -1 and A.kind == "rows" and A.parts[0].kind == "diagonal" and A.data[0] == i:
            p = A.parts[0].parts[0]
            if is_softmax_column(p) and B is nodes.product([nodes.rows(p, i, i + 1, 1), nodes.transposed(p)]):
                return nodes.transposed(p)
    return None


@rule(
    "covariance off the diagonal",
    says="the entries of diag(p) - p^T p off the diagonal are those of -p^T p",
    rests_on=("covariance-off-the-diagonal",),
)
@rule(
    "product of two weights",
    says="p_j p_k <= (p_j + p_k)^2 / 4 <= (sum_l p_l)^2 / 4 for j != k and numbers that are not negative",
    rests_on=("product-of-two-weights",),
)
def _off_the_diagonal(kind: str, node: Node) -> Iterator[RuleBound]:
    """The largest of the entries off the diagonal of q^T q, or of diag(q) - q^T q, for weights q less one of them."""
    for A, B in (node.parts, node.parts[::-1]):
        if kind != LARGEST or A is not nodes.minus(nodes.ones(*A.shape), nodes.identity(A.shape[0])):
            continue
        if (q := minor_of_covariance(B)) is not None:
            name, bound = "covariance off the diagonal", nodes.hadamard(A, nodes.product([nodes.transposed(q), q]))
            yield RuleBound(name, norm(LARGEST, bound), (name, *q.data, *q.parts[0].parts))
        q = nodes.factors_of(B)[-1]
        if q.kind == "without column" and q.parts[0].kind == "softmax" and B.parts == (nodes.transposed(q), q):
            yield RuleBound("product of two weights", total_of(q) ** 2 / 4)


def minor_of_covariance(node: Node) -> Node | None:
    """The softmax row p without p_i where a node is diag(p) - p^T p without row i and column i."""
    if node.kind != "without column" or node.parts[0].kind != "transpose":
        return None
    inner, i = node.parts[0].parts[0], node.data[0]
    p = covariance_of(inner.parts[0]) if inner.kind == "without column" and inner.data[0] == i else None
    return nodes.without_column(p, i) if p is not None else None


def _entry(node: Node, i: Any, j: Any) -> Iterator[RuleBound]:
    yield RuleBound("largest entry", norm(LARGEST, node))


def speaks_of_gaps() -> bool:
    """Whether sums of softmax rows less an entry, squares of their lengths, or gaps of logits are among what is aimed at."""
    for target in quantities_in(world().targets):
        atom = world().atoms[target]
        node = atom.payload[-1]
        if atom.kind == "total" and node.kind == "without column":
            return True
        if atom.kind == "largest over" and target.is_nonnegative is not True:
            return True
        if atom.kind == FROBENIUS and node.kind == "softmax":
            return True
    return False


QUANTITIES |= {
    "total": one_after_another(QUANTITIES["total"], _total),
    "total of exponentials": _total_of_exponentials,
    "entry": _entry,
}
RULES |= {
    "variances": _variances,
    "without column": _without_column,
    "entrywise": one_after_another(_off_the_diagonal, RULES["entrywise"]),
    "sum": one_after_another(RULES["sum"], _covariance),
}

register_forms({"diag_part": diag_part}, "norms")
