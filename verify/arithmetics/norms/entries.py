"""Rules for the largest entry of a product, by largest row and column sums of its outer factors or by lengths of rows.

They are tried where the right-hand side speaks of such sums or lengths; so is the sum of all entries, which no norm exceeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from verify.arithmetics.norms import nodes
from verify.arithmetics.norms.atoms import FROBENIUS, LARGEST, largest_over, norm
from verify.arithmetics.norms.softmaxes import covariance_of, covariances_of
from verify.arithmetics.norms.statements import RuleBound, in_turn, rule
from verify.arithmetics.norms.world import Index, Node, quantities_in, quantity, unused_index, world

COLUMN_SUM, ROW_SUM = "largest column sum", "largest row sum"


def sums_norm(kind: str, node: Node) -> Any:
    """The largest column or row sum of |A|, as a multiple of a quantity."""
    coefficient, core = nodes.single(node)
    if core.kind == "transpose":
        kind, core = ROW_SUM if kind == COLUMN_SUM else COLUMN_SUM, core.parts[0]
    if core.kind == "identity" or (core.kind == "softmax" and kind == ROW_SUM):
        return abs(coefficient)
    return abs(coefficient) * world().atom(kind, (core,))


def speaks_of_sums(targets: Any) -> bool:
    """Whether largest row or column sums are among the quantities."""
    return bool(quantities_in(targets, COLUMN_SUM, ROW_SUM))


def with_common_ends(terms: list[tuple[Any, Node]]) -> Iterator[RuleBound]:
    """max|c A M B - c A N B| = |c| max|A (M - N) B| for two products that begin or end alike."""
    if len(terms) != 2 or terms[0][0] != -terms[1][0]:
        return
    ours, theirs = (nodes.factors_of(part) for _, part in terms)
    left, right = nodes.shared_ends(ours, theirs)
    inner = [X[left : len(X) - right] for X in (ours, theirs)]
    if left + right and all(inner):
        ends = ours[:left], ours[len(ours) - right :]
        whole = nodes.product([*ends[0], nodes.minus(*map(nodes.product, inner)), *ends[1]])
        yield RuleBound("difference of products", abs(terms[0][0]) * norm(LARGEST, whole))


@rule("sum of all absolute values", says="||A||_F <= sum_ij |A_ij|", rests_on=("sum-of-absolute-values",))
def by_all_entries(kind: str, node: Node) -> Iterator[RuleBound]:
    """The sum of the absolute values of all entries, where it is aimed at."""
    for target in sorted(world().targets, key=str) if kind == FROBENIUS else ():
        atom = quantity(target, "total")
        if atom is not None and atom.payload[0].kind == "absolute":
            A = atom.payload[0].parts[0]
            if A.shape in (node.shape, node.shape[::-1]) and norm(FROBENIUS, A) == norm(FROBENIUS, node):
                yield RuleBound("sum of all absolute values", target, ("sum of all absolute values", node))


@rule(
    "lengths of rows and columns",
    says="max|AB| <= max_i ||a_i|| max_j ||b_j|| for the rows a_i of A and the columns b_j of B, by Cauchy-Schwarz",
    rests_on=("product", "block"),
)
def by_lengths(node: Node) -> Iterator[RuleBound]:
    """Bounds of the largest entry of a product by lengths of rows and columns, where one of these is aimed at."""
    name, factors = "lengths of rows and columns", nodes.factors_of(node)
    for k in range(1, len(factors)):
        A, B = nodes.product(factors[:k]), nodes.transposed(nodes.product(factors[k:]))
        (i, longest), (j, other) = map(longest_row, (A, B))
        if (longest.free_symbols | other.free_symbols) & world().targets:
            alone = [("block", FROBENIUS, X, k, sympy.Integer(1)) for X, k in ((A, i), (B, j)) if X.shape[0] == 1]
            yield RuleBound(name, longest * other, in_turn((name, i, A, j, B), *alone))


def longest_row(A: Node) -> tuple[Index, Any]:
    """An index of the rows of A, and max_i ||a_i|| over it; of one row its norm."""
    index = unused_index(A.shape[0], A)
    row = A if A.shape[0] == 1 else nodes.rows(A, index, index + 1, 1)
    return index, largest_over(index, norm(FROBENIUS, row))


@rule(
    "largest entry of a product",
    says="max|AB| <= n max|A| max|B| for n columns of A, max|AB| <= ||A||_inf max|B| and max|A| ||B||_1",
    rests_on=("largest-entry-of-a-product",),
)
@rule("average of rows", says="max|softmax(T) B| <= max|B|", rests_on=("average-of-rows",))
@rule(
    "covariance of entries",
    says="max|A^T (diag(p) - p p^T) B| <= max|A| max|B| for a softmax row p",
    rests_on=("covariance-of-entries", "largest-entry-of-a-product"),
)
@rule("permuted columns", says="a permutation leaves the largest entry as it is", rests_on=("permutation",))
def largest_of_product(node: Node) -> Iterator[RuleBound]:
    """Bounds of the largest entry of a product."""
    for whole in (node, nodes.transposed(node)):
        factors = nodes.factors_of(nodes.single(whole)[1])
        if factors[-1].kind == "permutation" and len(factors) > 1:
            yield RuleBound("permuted columns", norm(LARGEST, nodes.product(factors[:-1])))
            return
        found = list(_by_blocks(factors))
        if found:
            yield from found
            return
    factors = nodes.factors_of(node)
    if factors[0].kind == "softmax":
        yield RuleBound("average of rows", norm(LARGEST, nodes.product(factors[1:])))
        return
    for k, factor in enumerate(factors):
        if 0 < k < len(factors) - 1 and covariance_of(factor) is not None:
            yield RuleBound("covariance of entries", _covariance_bound(factors[:k], factors[k + 1 :]))
            return
    name, (first, *others), (*before, last) = "largest entry of a product", factors, factors
    for k in sorted(range(1, len(factors)), key=lambda k: abs(2 * k - len(factors))):
        left, right = nodes.product(factors[:k]), nodes.product(factors[k:])
        yield RuleBound(name, left.shape[1] * norm(LARGEST, left) * norm(LARGEST, right))
    yield RuleBound(name, sums_norm(ROW_SUM, first) * norm(LARGEST, nodes.product(others)))
    yield RuleBound(name, norm(LARGEST, nodes.product(before)) * sums_norm(COLUMN_SUM, last))


@rule(
    "blocks of rows",
    says="(I (x) C) blockdiag(S_i) (P (x) Q) has the blocks of rows P_i (x) C S_i Q, for rows P_i of P",
    rests_on=("blocks-of-rows", "kronecker", "largest-entry-of-a-product"),
)
@rule("mixed product", says="(A (x) B)(C (x) D) = AC (x) BD", rests_on=("mixed-product", "kronecker"))
def _by_blocks(factors: tuple[Node, ...]) -> Iterator[RuleBound]:
    """(R (x) I)(I (x) C) S (P (x) Q) for the covariances S of softmax rows, with or without its first factor."""
    if len(factors) == 2 and factors[0].kind == factors[1].kind == "kronecker":
        (A, B), (C, D) = factors[0].parts, factors[1].parts
        if A.shape[1] == C.shape[0] and B.shape[1] == D.shape[0]:
            yield RuleBound(
                "mixed product", norm(LARGEST, nodes.product([A, C])) * norm(LARGEST, nodes.product([B, D]))
            )
    *outer, last = factors
    if len(outer) not in (2, 3) or covariances_of(outer[-1]) is None or last.kind != "kronecker":
        return
    (P, Q), inner = last.parts, outer[-2]
    if inner.kind != "kronecker" or inner.parts[0].kind != "identity":
        return
    identity, C = inner.parts
    if not P.shape[0] == identity.shape[0] == outer[-1].parts[0].parts[0].shape[0]:
        return
    bound = norm(LARGEST, P) * _covariance_bound(nodes.factors_of(C), nodes.factors_of(Q))
    if len(outer) == 2:
        yield RuleBound("blocks of rows; covariance of entries", bound)
    elif outer[0].kind == "kronecker" and outer[0].parts[1].kind == "identity":
        R, rows = outer[0].parts
        if rows.shape[0] == C.shape[0]:
            yield RuleBound("blocks of rows; covariance of entries", bound * P.shape[0] * norm(LARGEST, R))


def _covariance_bound(left: tuple[Node, ...], right: tuple[Node, ...]) -> Any:
    """A bound of max|C (diag(p) - p p^T) Q| for C and Q in factors."""
    sums = [sums_norm(ROW_SUM, factor) for factor in left[:-1]] + [
        sums_norm(COLUMN_SUM, factor) for factor in right[1:]
    ]
    return norm(LARGEST, left[-1]) * norm(LARGEST, right[0]) * sympy.Mul(*sums)
