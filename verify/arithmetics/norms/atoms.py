"""Quantities: norms of nodes in a canonical form, largest values, sums over an index, entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy

from verify.arithmetics.norms.nodes import (
    ONE,
    factors_of,
    gram,
    is_skew,
    product,
    rows,
    single,
    sum_of,
    terms_of,
    transposed,
)
from verify.arithmetics.norms.signs import is_nonnegative
from verify.arithmetics.norms.statements import rule
from verify.arithmetics.norms.world import Index, Node, quantity, world

SPECTRAL, FROBENIUS, LARGEST = "spectral norm", "Frobenius norm", "largest entry"
SHIFT = "largest shift of singular values"
SMALLEST = "smallest singular value"
#: min |A x| over unit vectors x: 0 for a matrix with more columns than rows.
GAIN = "smallest gain"
MEAN_EXPONENTIAL = "mean of exponentials"
#: What a hypothesis says of matrices all of whose singular values are 1.
FRAMES = ("has orthonormal columns", "has orthonormal rows")
NORMS = (SPECTRAL, FROBENIUS, LARGEST)


def _with_first_term_once(node: Node) -> tuple[Any, Node]:
    """c and A for a node c A, where A is a sum whose first term has the coefficient 1, or no sum."""
    coefficient, core = single(node)
    if core.kind == "sum":
        first = core.data[0]
        ratios = [sympy.cancel(value / first) for value in core.data]
        if all(ratio.is_number for ratio in ratios):
            return coefficient * first, sum_of(list(zip(ratios, core.parts, strict=True)), core.shape)
    return coefficient, core


def core_of(node: Node) -> tuple[Any, Node]:
    """|c| and A for a node c A, with A the first of A, -A, A^T, -A^T in the order of creation."""
    coefficient, core = _with_first_term_once(node)
    if core.kind in ("identity", "zeros"):
        return abs(coefficient), core
    multiple, flipped = single(transposed(core))
    if flipped.kind == "sum" and flipped.data[0].could_extract_minus_sign():
        flipped = sum_of([(-c, part) for c, part in terms_of(flipped)], flipped.shape)
    if flipped.number < core.number:
        world().simplified.add("transposes and vectors")
        coefficient, core = coefficient * multiple, flipped
    return abs(coefficient), core


def is_vector(node: Node) -> bool:
    return 1 in node.shape


def norm(kind: str, node: Node) -> Any:
    """A norm of a node as a scalar: a multiple of a quantity, or a number where it is known."""
    multiple, core = core_of(node)
    if core.kind == "zeros":
        return sympy.Integer(0)
    if kind == SPECTRAL and core.kind == "identity":
        return multiple
    if kind == FROBENIUS and core.kind == "identity":
        return multiple * sympy.sqrt(core.shape[0])
    if kind == SPECTRAL and core.kind == "exponential" and is_skew(core.parts[0]):
        world().simplified.add("exponential of a skew matrix")
        return multiple  # it is orthogonal
    if core.kind == "ones" and kind in NORMS:
        world().simplified.add("diagonals and ones")
        return multiple * (1 if kind == LARGEST else sympy.sqrt(core.shape[0] * core.shape[1]))
    if kind == SPECTRAL and is_vector(core):
        world().simplified.add("transposes and vectors")
        kind = FROBENIUS
    if core.shape == (1, 1) and kind in NORMS:
        kind = FROBENIUS  # all of them are its absolute value
        if core.kind == "entrywise":
            return multiple * norm(kind, core.parts[0]) * norm(kind, core.parts[1])
    if core.kind == "reshape" and kind in (FROBENIUS, LARGEST):
        world().simplified.add("transposes and vectors")
        return multiple * norm(kind, core.parts[0])
    if core.kind == "diagonal" and kind in (FROBENIUS, SPECTRAL):
        world().simplified.add("diagonals and ones")
        return multiple * norm(kind if kind == FROBENIUS else LARGEST, core.parts[0])
    if core.kind == "sum" and _multiplies_out(core) and (known := _by_gram(kind, core)) is not None:
        return multiple * known
    is_row = kind == FROBENIUS and core.kind == "input" and core.shape[0] == 1
    if is_row and ("has unit rows", core.data[0]) in world().properties:
        return multiple
    return multiple * world().atom(kind, (core,))


def is_frame(node: Node) -> bool:
    """Whether a matrix is an input with orthonormal columns or rows, or some rows of the identity."""
    if node.kind == "input":
        return any((which, node.data[0]) in world().properties for which in FRAMES)
    return node.kind in ("rows", "part") and node.parts[0].kind == "identity"


@rule(
    "singular values of orthonormal columns",
    says="all singular values of W are 1 for W with orthonormal columns or rows, as some rows of the identity are",
    rests_on=("orthonormal", "smallest-of-orthonormal"),
)
def smallest(node: Node) -> Any:
    """The last of the min(m, n) singular values of a node (m, n): a multiple of a quantity, or a number where it is known."""
    multiple, core = core_of(node)
    if core.kind == "zeros":
        return sympy.Integer(0)
    if core.kind == "identity" or (core.kind == "exponential" and is_skew(core.parts[0])):
        return norm(SPECTRAL, node)  # all singular values are equal
    if is_vector(core):
        return multiple * norm(FROBENIUS, core)
    if is_frame(core):
        world().simplified.add("singular values of orthonormal columns")
        return multiple
    return multiple * world().atom(SMALLEST, (core,))


def gain(node: Node) -> Any:
    """min |A x| over unit vectors x for a node A: a multiple of a quantity, or a number or a norm where it is known."""
    coefficient, core = _with_first_term_once(node)
    if core.kind == "zeros":
        return sympy.Integer(0)
    if core.kind == "identity":
        return abs(coefficient)
    if core.shape[1] == 1:
        return norm(FROBENIUS, node)
    return abs(coefficient) * world().atom(GAIN, (core,))


def _multiplies_out(node: Node) -> bool:
    """Whether assumptions simplify the products of the terms of a sum with themselves."""
    skew = {name for which, name in world().properties if which == "is skew"}
    found = node.shape[0] == 1 and any(part.kind == "input" and part.data[0] in skew
                                       for term in node.parts for part in factors_of(term))  # fmt: skip
    return bool(world().reductions) or found


def _by_gram(kind: str, node: Node) -> Any:
    """||A||_2 = sqrt(c) where A^T A = c I by an assumption, and ||y||_F = sqrt(c) ||x||_F for rows with y y^T = c x x^T."""
    if kind == SPECTRAL and node.shape[0] == node.shape[1]:
        c, core = single(gram(node))
        if core.kind == "identity":
            world().used.add("||A||_2 = sqrt(c) where A^T A = c I")
            return sympy.sqrt(c)
    if kind == FROBENIUS and node.shape[0] == 1:
        squares = []
        for c, term in terms_of(gram(transposed(node))):
            half = len(term.parts) // 2
            row = product(term.parts[:half]) if half else term
            sign, square = single(product([row, transposed(row)]))
            if square is not term or not half:
                return None
            squares.append(c / sign * norm(FROBENIUS, row) ** 2)
        world().used.add("||y||^2 = sum_k c_k ||x_k||^2 for rows where y y^T = sum_k c_k x_k x_k^T")
        return sympy.sqrt(sympy.Add(*squares))
    return None


def entry(node: Node, i: Any, j: Any) -> Any:
    """One entry of a node, a real number, of unknown sign but for softmax; a number or a norm where it is known to be one."""
    coefficient, core = single(node)
    if core.kind == "numbers" and isinstance(i, int) and isinstance(j, int):
        return coefficient * core.data[i * int(core.shape[1]) + j]
    if core.kind in ("zeros", "ones"):
        return coefficient * int(core.kind == "ones")
    if core.kind == "identity" and isinstance(i, int) and isinstance(j, int):
        return coefficient * int(i == j)
    if core.kind == "row norms":
        return coefficient * norm(FROBENIUS, rows(core.parts[0], i, i + 1, 1))
    if core.kind == "reciprocal":
        return coefficient / entry(core.parts[0], i, j)
    if core.kind == "entrywise":
        return coefficient * entry(core.parts[0], i, j) * entry(core.parts[1], i, j)
    if core.kind == "softmax" and core.shape[0] != 1:
        return coefficient * entry(rows(core, i, i + 1, 1), 0, j)
    return coefficient * world().atom("entry", (core, i, j), "nonnegative" if core.kind == "softmax" else "real")


def mean_exponential(a: Any) -> Any:
    """int_0^1 e^(t a) dt = (e^a - 1) / a = sum_{n >= 1} a^(n - 1) / n!, which grows with a."""
    return world().atom(MEAN_EXPONENTIAL, (a,))


def largest(values: Sequence[Any]) -> Any:
    """The largest of scalars."""
    distinct = tuple(sorted(set(values), key=sympy.default_sort_key))
    if len(distinct) == 1:
        return distinct[0]
    sign = "nonnegative" if any(map(is_nonnegative, distinct)) else "real"
    return world().atom("largest of", distinct, sign)


def largest_over(index: Index, value: Any) -> Any:
    """The largest value of a scalar over an index."""
    if index not in world().indices_of(value):
        return value
    fixed, moving = value.as_independent(*_moving(value, index), as_Add=False)
    if not is_nonnegative(fixed):
        fixed, moving = ONE, value
    return fixed * world().atom("largest over", (index, moving), "nonnegative" if is_nonnegative(moving) else "real")


def _moving(value: Any, index: Index) -> list[Any]:
    known = world().atoms
    return [symbol for symbol in value.free_symbols if symbol in known and index in known[symbol].indices]


def sum_over(index: Index, value: Any) -> Any:
    """The sum of a scalar over an index, term by term."""
    if index not in world().indices_of(value):
        return value * index.size
    found = []
    for term in sympy.Add.make_args(sympy.expand(value)):
        fixed, moving = term.as_independent(*_moving(term, index), as_Add=False)
        if moving == 1:
            found.append(term * index.size)
            continue
        whole = _square_of_column(moving, index) or _square_of_rows(moving, index)
        if whole is None:
            whole = world().atom("sum over", (index, moving), "nonnegative" if is_nonnegative(moving) else "real")
        found.append(fixed * whole)
    return sympy.Add(*found)


def row_of(symbol: Any, index: Index) -> Node | None:
    """A where a quantity is the Euclidean norm of row i of A, for all i."""
    atom = quantity(symbol, FROBENIUS)
    if atom is None or atom.payload[0].kind != "rows":
        return None
    node = atom.payload[0]
    A = node.parts[0]
    return A if node.data[0] == index and A.shape[0] == index.size and index not in A.indices else None


def _square_of_rows(moving: Any, index: Index) -> Any:
    """sum_i ||a_i||^2 = ||A||_F^2 for the rows a_i of A."""
    base, exponent = moving.as_base_exp()
    A = row_of(base, index) if exponent == 2 else None
    return norm(FROBENIUS, A) ** 2 if A is not None else None


def _square_of_column(moving: Any, index: Index) -> Any:
    """sum_i e_i^2 = ||e||^2 for a column e."""
    base, exponent = moving.as_base_exp()
    if exponent != 2:
        return None
    atom = quantity(base.args[0] if isinstance(base, sympy.Abs) else base, "entry")
    if atom is None:
        return None
    node, i, j = atom.payload
    if i == index and j == 0 and node.shape == (index.size, 1) and index not in node.indices:
        return norm(FROBENIUS, node) ** 2
    return None
