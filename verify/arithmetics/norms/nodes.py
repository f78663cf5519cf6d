"""Matrices as expressions in a canonical form: sums of multiples of products, transposes and slices pushed inwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy

from verify.arithmetics.norms.world import BINDING, Index, Kind, Next, Node, world
from verify.vocabulary.errors import ArithmeticUnsupported

ONE, ZERO = sympy.Integer(1), sympy.Integer(0)


def leaf(name: str, shape: tuple[Any, Any], indices: tuple[Any, ...] = ()) -> Node:
    """An input, or one matrix of a stack of them."""
    return world().node("input", (), (name, *indices), shape)


def zeros(shape: tuple[Any, Any]) -> Node:
    return world().node("zeros", (), (), shape)


def identity(n: Any) -> Node:
    return world().node("identity", (), (), (n, n))


def ones(m: Any, n: Any) -> Node:
    return world().node("ones", (), (), (m, n))


def of(kind: Kind, *parts: Node, data: tuple[Any, ...] = (), shape: tuple[Any, Any] | None = None) -> Node:
    """A node without a canonical form of its own."""
    return world().node(kind, parts, data, shape or parts[0].shape)


# -- sums and products -------------------------------------------------------------------------------------------------


def terms_of(node: Node) -> list[tuple[Any, Node]]:
    """A node as a sum of multiples of nodes that are no sums."""
    if node.kind == "zeros":
        return []
    return list(zip(node.data, node.parts, strict=True)) if node.kind == "sum" else [(ONE, node)]


def both_orders(node: Node) -> list[tuple[tuple[Any, Node], tuple[Any, Node]]]:
    """The terms of a sum of two in one order and in the other; nothing of any other node."""
    terms = terms_of(node)
    return [(terms[0], terms[1]), (terms[1], terms[0])] if len(terms) == 2 else []


def sum_of(terms: Sequence[tuple[Any, Node]], shape: tuple[Any, Any] | None = None) -> Node:
    """The sum of multiples; equal terms are added, zero ones dropped."""
    shape = shape or terms[0][1].shape
    found: dict[int, tuple[Any, Node]] = {}
    for coefficient, node in terms:
        for inner, part in terms_of(node):
            before = found.get(part.number, (ZERO, part))[0]
            found[part.number] = (sympy.expand(before + coefficient * inner), part)
    kept = sorted((number for number, (value, _) in found.items() if value != 0))
    if not kept:
        return zeros(shape)
    if len(kept) == 1 and found[kept[0]][0] == 1:
        return found[kept[0]][1]
    parts = tuple(found[number][1] for number in kept)
    return world().node("sum", parts, tuple(found[number][0] for number in kept), shape)


def scaled(coefficient: Any, node: Node) -> Node:
    return sum_of([(sympy.sympify(coefficient), node)], node.shape)


def minus(one: Node, other: Node) -> Node:
    return sum_of([(ONE, one), (-ONE, other)], one.shape)


def single(node: Node) -> tuple[Any, Node]:
    """The coefficient and the node of a multiple; 1 and itself for anything else."""
    if node.kind == "sum" and len(node.parts) == 1:
        return node.data[0], node.parts[0]
    return ONE, node


def factors_of(node: Node) -> tuple[Node, ...]:
    return node.parts if node.kind == "product" else (node,)


def product(factors: Sequence[Node]) -> Node:
    """The matrix product; multiples are taken out, identities dropped."""
    shape = (factors[0].shape[0], factors[-1].shape[1])
    coefficient = ONE
    kept: list[Node] = []
    for factor in factors:
        multiple, core = single(factor)
        coefficient = coefficient * multiple
        if core.kind == "zeros":
            return zeros(shape)
        for part in factors_of(core):
            if kept and _acts_on_blocks(kept[-1], part):
                part = _block_diagonal(part.data[0], product([kept.pop().parts[1], part.parts[0]]))
            multiple = world().reductions.get((kept[-1].number, part.number)) if kept else None
            if multiple == 0:
                return zeros(shape)
            if multiple is not None:
                kept.pop()
                coefficient = coefficient * multiple
            elif kept and are_inverse(kept[-1], part):
                kept.pop()
            elif part.kind != "identity":
                kept.append(part)
    made = world().node("product", tuple(kept), (), shape) if len(kept) > 1 else [*kept, identity(shape[0])][0]
    return scaled(coefficient, made) if coefficient != 1 else made


def skew_factors(node: Node, M: Node) -> tuple[Node, Node] | None:
    """P and R where a node is a multiple of P R^T - R P^T with [P, R] = M; None for any other."""
    terms = terms_of(node)
    if len(terms) != 2 or terms[0][0] != -terms[1][0] or terms[1][1] is not transposed(terms[0][1]):
        return None
    factors = factors_of(terms[0][1])
    for split in range(1, len(factors)):
        P, R = product(factors[:split]), transposed(product(factors[split:]))
        for pair in ((P, R), (R, P)):
            if M is concatenated(pair, 1):
                return pair
    return None


def are_inverse(A: Node, B: Node) -> bool:
    """Whether one of two nodes is the inverse of the other."""
    return (A.kind == "inverse" and A.parts[0] is B) or (B.kind == "inverse" and B.parts[0] is A)


def gram_factor(node: Node) -> Node | None:
    """A where a node is A A^T; None for any other."""
    half = len(factors_of(node)) // 2
    if not half:
        return None
    A = product(node.parts[:half])
    return A if product([A, transposed(A)]) is node else None


def gram(node: Node) -> Node:
    """A^T A, multiplied out."""
    terms = terms_of(node)
    size = node.shape[1]
    return sum_of([(c * d, product([transposed(A), B])) for c, A in terms for d, B in terms], (size, size))


def _acts_on_blocks(A: Node, B: Node) -> bool:
    """Whether A = I (x) C and B = blockdiag(B_1, ..., B_n), so that A B = blockdiag(C B_1, ..., C B_n)."""
    return (
        A.kind == "kronecker" and A.parts[0].kind == "identity" and B.kind == "block diagonal"
        and A.parts[0].shape[0] == B.data[0].size and A.parts[1].shape[1] == B.parts[0].shape[0]
        and B.data[0] not in A.parts[1].indices
    )  # fmt: skip


def _block_diagonal(index: Index, node: Node) -> Node:
    shape = (index.size * node.shape[0], index.size * node.shape[1])
    return of("block diagonal", node, data=(index,), shape=shape)


def grouped(one: tuple[Node, ...], other: tuple[Node, ...]) -> tuple[list[Node], list[Node]] | None:
    """The factors of two products, with neighbours multiplied whose difference the right-hand side speaks of."""
    if not one or not other:
        return ([], []) if not one and not other else None
    for P, Q in world().pairs:
        if tuple(part.number for part in one[: len(P)]) == P and tuple(part.number for part in other[: len(Q)]) == Q:
            rest = grouped(one[len(P) :], other[len(Q) :])
            if rest is not None:
                return [product(one[: len(P)]), *rest[0]], [product(other[: len(Q)]), *rest[1]]
    rest = grouped(one[1:], other[1:]) if one[0] is other[0] else None
    return ([one[0], *rest[0]], [other[0], *rest[1]]) if rest is not None else None


def shared_ends(one: tuple[Node, ...], other: tuple[Node, ...]) -> tuple[int, int]:
    """How many factors two products share at their beginning, and how many at their end."""
    left = 0
    while left < min(len(one), len(other)) and one[left] is other[left]:
        left += 1
    right = 0
    while right < min(len(one), len(other)) - left and one[-1 - right] is other[-1 - right]:
        right += 1
    return left, right


def transposed(node: Node) -> Node:
    """The transpose, pushed to the inputs and functions."""
    m, n = node.shape
    if node.kind == "product":
        return product([transposed(part) for part in reversed(node.parts)])
    if node.kind == "transpose":
        return node.parts[0]
    if node.kind in SYMMETRIC or _has(node, "is symmetric"):
        return node
    if _has(node, "is skew"):
        return scaled(-ONE, node)
    if node.kind == "numbers":
        return of("numbers", data=tuple(node.data[i * n + j] for j in range(n) for i in range(m)), shape=(n, m))
    if node.kind in BY_PARTS:
        parts = [transposed(part) for part in node.parts]
        if node.kind in ("sum", "kronecker"):
            return rebuilt(node, parts, node.data, (n, m))
        return world().node(node.kind, tuple(parts), (), (n, m))
    return of("transpose", node, shape=(n, m))


#: Kinds of node that are their own transpose, and those whose transpose is made of the transposes of their parts.
SYMMETRIC = ("identity", "diagonal", "projection", "rows as diagonals", "rows as outer products")
BY_PARTS = (
    "zeros", "ones", "sum", "kronecker", "entrywise", "relu", "step", "absolute", "reciprocal", "exponential", "inverse",
)  # fmt: skip


def _has(node: Node, which: str) -> bool:
    square = node.kind == "input" and node.shape[0] == node.shape[1]
    return square and (which, node.data[0]) in world().properties


def is_skew(node: Node) -> bool:
    """Whether the transpose of a node is certainly minus the node."""
    inner = factors_of(single(node)[1])
    while len(inner) > 2 and inner[0] is transposed(inner[-1]):
        inner = inner[1:-1]  # L M L^T is skew where M is
    if 0 < len(inner) < len(factors_of(single(node)[1])):
        return is_skew(product(inner))
    return sum_of([(ONE, node), (ONE, transposed(node))], node.shape).kind == "zeros"


def odd_polynomial(node: Node, variable: Node) -> tuple[Any, ...] | None:
    """The numbers c_k with node = sum_k c_k M (M^T M)^k for the variable M, as printed M p(M^T M); None for anything else."""
    multiple, core = single(node)
    if core is variable:
        return (multiple,)
    if core.kind != "product" or len(core.parts) != 2 or core.parts[0] is not variable:
        return None
    square, found = (transposed(variable), variable), {}
    for coefficient, term in terms_of(core.parts[1]):
        factors = () if term.kind == "identity" else factors_of(term)
        if factors != square * (len(factors) // 2):
            return None
        found[len(factors) // 2] = multiple * coefficient
    if not all(sympy.sympify(value).is_Rational for value in found.values()):
        return None
    return tuple(found.get(k, ZERO) for k in range(max(found) + 1))


def hadamard(A: Node, B: Node) -> Node:
    """The entrywise product, multiples taken out."""
    (a, A), (b, B) = single(A), single(B)
    if A.kind == "zeros" or B.kind == "zeros":
        return zeros(A.shape)
    if A.kind == "ones" or B.kind == "ones":
        return scaled(a * b, B if A.kind == "ones" else A)
    first, second = sorted((A, B), key=lambda node: node.number)
    return scaled(a * b, of("entrywise", first, second))


def diagonal(v: Node) -> Node:
    """diag(v) of a column or row."""
    if v.shape[0] == 1 and v.shape[1] != 1:
        v = transposed(v)
    c, core = single(v)
    return scaled(c, of("diagonal", core, shape=(v.shape[0], v.shape[0])))


def kronecker(A: Node, B: Node) -> Node:
    (a, A), (b, B) = single(A), single(B)
    shape = (A.shape[0] * B.shape[0], A.shape[1] * B.shape[1])
    if (A.kind, A.shape[0]) == ("identity", 1):
        return scaled(a * b, B)
    if "zeros" in (A.kind, B.kind):
        return zeros(shape)
    if A.kind == B.kind == "identity":
        return identity(shape[0])
    return scaled(a * b, of("kronecker", A, B, shape=shape))


# -- rearranging -------------------------------------------------------------------------------------------------------


def reshaped(node: Node, shape: tuple[Any, Any]) -> Node:
    """The same entries, row-major, in another shape."""
    shape = (sympy.sympify(shape[0]), sympy.sympify(shape[1]))
    if node.shape == shape:
        return node
    if node.kind == "zeros":
        return zeros(shape)
    if node.kind == "sum":
        return sum_of([(c, reshaped(part, shape)) for c, part in terms_of(node)], shape)
    if node.kind == "reshape":
        return reshaped(node.parts[0], shape)
    if 1 in node.shape and shape == node.shape[::-1]:
        return transposed(node)
    return of("reshape", node, shape=shape)


def rows(node: Node, start: Any, stop: Any, count: Any) -> Node:
    """Rows start to stop of a node; start may be an index, then it is one row."""
    if node.kind == "product":
        return product([rows(node.parts[0], start, stop, count), *node.parts[1:]])
    if node.kind == "sum":
        return sum_of([(c, rows(part, start, stop, count)) for c, part in terms_of(node)], (count, node.shape[1]))
    if node.kind in ("softmax", "relu", "step", "entrywise", "normalised rows"):
        parts = [rows(part, start, stop, count) for part in node.parts]
        return hadamard(*parts) if node.kind == "entrywise" else of(node.kind, *parts, shape=(count, node.shape[1]))
    if start == 0 and stop == node.shape[0]:
        return node
    if node.kind == "numbers" and all(sympy.sympify(end).is_Integer for end in (start, stop)):
        return of("numbers", data=node.data[int(start * node.shape[1]) : int(stop * node.shape[1])],
                  shape=(count, node.shape[1]))  # fmt: skip
    if (A := _corner_of_exponential(node, start, stop)) is not None:
        return transposed(minus(of("exponential", A), identity(A.shape[0])))
    if node.kind == "concatenate":
        first = ZERO
        for part in node.parts:
            if first == start and first + part.shape[0] == stop:
                return part
            first += part.shape[0]
    return of("rows", node, data=(start, stop), shape=(count, node.shape[1]))


def _corner_of_exponential(node: Node, start: Any, stop: Any) -> Node | None:
    """A where rows n to 2 n of a node are those of (exp(A) - I)^T: of the transposed upper rows of exp [[A, A], [0, 0]]."""
    upper = node.parts[0] if node.kind == "transpose" else None
    if upper is None or upper.kind != "rows" or upper.parts[0].kind != "exponential":
        return None
    n, whole = upper.shape[0], upper.parts[0].parts[0]
    if upper.data != (0, n) or (start, stop) != (n, 2 * n) or whole.shape != (2 * n, 2 * n):
        return None
    if whole.kind != "concatenate" or len(whole.parts) != 2 or whole.parts[1].kind != "zeros":
        return None
    blocks = transposed(whole.parts[0])
    if blocks.kind != "concatenate" or len(blocks.parts) != 2 or blocks.parts[0] is not blocks.parts[1]:
        return None
    return transposed(blocks.parts[0]) if blocks.parts[0].shape == (n, n) else None


def part_of_rows(node: Node, index: Index) -> Node:
    """Rows i m/n to (i + 1) m/n - 1 of a node of m rows, for an index i of size n."""
    return of("part", node, data=(index,), shape=(node.shape[0] / index.size, node.shape[1]))


def columns(node: Node, start: Any, stop: Any, count: Any) -> Node:
    return transposed(rows(transposed(node), start, stop, count))


def without_column(node: Node, i: Any) -> Node:
    """A node of shape (m, n) without its column i, shape (m, n - 1)."""
    c, core = single(node)
    if node.shape[1] == 1:
        return zeros((node.shape[0], 0))
    return scaled(c, of("without column", core, data=(i,), shape=(node.shape[0], node.shape[1] - 1)))


def stack(index: Index, node: Node) -> Node:
    """The matrices of a family on top of each other."""
    if node.kind == "zeros":
        return zeros((index.size * node.shape[0], node.shape[1]))
    return of("stack", node, data=(index,), shape=(index.size * node.shape[0], node.shape[1]))


def concatenated(parts: Sequence[Node], axis: int) -> Node:
    if len(parts) == 1:
        return parts[0]
    if axis == 1:
        return transposed(concatenated([transposed(part) for part in parts], 0))
    if all(part.kind == "zeros" for part in parts):
        return zeros((sympy.Add(*(part.shape[0] for part in parts)), parts[0].shape[1]))
    return of("concatenate", *parts, shape=(sympy.Add(*(part.shape[0] for part in parts)), parts[0].shape[1]))


def over(index: Index, node: Node) -> Node:
    """The sum over an index."""
    found = []
    for coefficient, part in terms_of(node):
        used = world().indices_of(coefficient) | part.indices
        if index not in used:
            found.append((coefficient * index.size, part))
        elif index in world().indices_of(coefficient):
            found.append((ONE, of("sum over", part, data=(index, coefficient))))
        else:
            found.append((coefficient, of("sum over", part, data=(index, ONE))))
    return sum_of(found, node.shape)


# -- indices -----------------------------------------------------------------------------------------------------------


def at(item: Any, index: Index, value: Any) -> Any:
    """A node, scalar or datum with an index replaced by another, or by an integer."""
    if item == index:
        return value
    if isinstance(item, Next) and item.index == index:
        return value + 1
    if isinstance(item, tuple):
        return tuple(at(part, index, value) for part in item)
    if isinstance(item, sympy.Basic):
        return scalar_at(item, index, value)
    if not isinstance(item, Node) or index not in item.indices:
        return item
    if item.kind in BINDING and item.data[0] == value:
        raise ArithmeticUnsupported(f"{index} becomes {value}, which is bound inside")
    return rebuilt(item, [at(part, index, value) for part in item.parts], at(item.data, index, value))


def scalar_at(expression: Any, index: Index, value: Any) -> Any:
    """A scalar with an index replaced, in the quantities that depend on it."""
    known, changes = world().atoms, {}
    for symbol in expression.free_symbols:
        if symbol in known and index in known[symbol].indices:
            atom = known[symbol]
            if atom.payload and atom.payload[0] == value and atom.kind in ("largest over", "sum over"):
                raise ArithmeticUnsupported(f"{index} becomes {value}, which is bound inside")
            sign = "nonnegative" if symbol.is_nonnegative else "real"
            changes[symbol] = world().atom(atom.kind, at(atom.payload, index, value), sign)
    return expression.xreplace(changes)


def rebuilt(node: Node, parts: Sequence[Node], data: tuple[Any, ...], shape: tuple[Any, Any] | None = None) -> Node:
    """The same operation on other operands, in canonical form."""
    made = CANONICAL.get(node.kind)
    shape = shape or node.shape
    return made(parts, data, shape) if made is not None else world().node(node.kind, tuple(parts), data, shape)


#: The operations with a canonical form, of operands, data and the shape of the result.
CANONICAL: dict[str, Callable[[Sequence[Node], tuple[Any, ...], tuple[Any, Any]], Node]] = {
    "sum": lambda parts, data, shape: sum_of(list(zip(data, parts, strict=True)), shape),
    "product": lambda parts, data, shape: product(parts),
    "transpose": lambda parts, data, shape: transposed(parts[0]),
    "entrywise": lambda parts, data, shape: hadamard(*parts),
    "diagonal": lambda parts, data, shape: diagonal(parts[0]),
    "kronecker": lambda parts, data, shape: kronecker(*parts),
    "reshape": lambda parts, data, shape: reshaped(parts[0], shape),
    "rows": lambda parts, data, shape: rows(parts[0], data[0], data[1], shape[0]),
    "without column": lambda parts, data, shape: without_column(parts[0], data[0]),
    "concatenate": lambda parts, data, shape: concatenated(parts, 0),
    "stack": lambda parts, data, shape: stack(data[0], parts[0]),
    "sum over": lambda parts, data, shape: over(data[0], scaled(data[1], parts[0])),
}
