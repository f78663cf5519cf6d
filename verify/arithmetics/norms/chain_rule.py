"""The chain rule for derivatives that are quantities of their own: how far one can be written in terms of inner ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verify.arithmetics.norms import nodes
from verify.arithmetics.norms.atoms import FROBENIUS, norm
from verify.arithmetics.norms.world import Node, World, unused_index, world
from verify.kernel import quantities, varying


def taken_apart(node: Node) -> Node:
    """A derivative in row-major order by linearity and the chain rule, (m n, p q); itself where neither applies.

    Inner derivatives that the inequality speaks of are left whole.
    """
    value, point = node.parts
    layout, name = node.data
    return _derivative(value, point, name, outermost=True) if layout == "row-major" else node


def _derivative(value: Node, point: Node, name: str, outermost: bool = False) -> Node:
    rows, columns = value.shape
    shape, data = (rows * columns, point.shape[0] * point.shape[1]), ("row-major", name)
    if not outermost and world().has_node("derivative", (value, point), data, shape):
        return nodes.of("derivative", value, point, data=data, shape=shape)
    if not depends(value, name):
        return nodes.zeros(shape)
    if value.kind == "input":
        return nodes.identity(shape[0])
    if value.kind == "sum" and not any(depends(c, name) for c in value.data):
        terms = [(c, _derivative(part, point, name)) for c, part in nodes.terms_of(value)]
        return nodes.sum_of(terms, shape)
    if value.kind == "product":
        places = [k for k, factor in enumerate(value.parts) if depends(factor, name)]
        if len(places) == 1:  # d(A Y B) = (A (x) B^T) dY
            left, right = value.parts[: places[0]], value.parts[places[0] + 1 :]
            A = nodes.product(left) if left else nodes.identity(rows)
            B = nodes.product(right) if right else nodes.identity(columns)
            inner = _derivative(value.parts[places[0]], point, name)
            return nodes.product([nodes.kronecker(A, nodes.transposed(B)), inner])
    if value.kind == "normalised rows" and not _has_moving_data(value, name):
        inner = value.parts[0]
        outer = normalisation_jacobian(at_point(inner, name, point))
        return nodes.product([outer, _derivative(inner, point, name)])
    return nodes.of("derivative", value, point, data=data, shape=shape)


def written(kind: str, node: Node, writer: Any) -> Iterator[list[Any]]:
    """How that is written: of normalised rows first, and then of the sum that they are of; or of a sum."""
    J, found = writer.value(writer.node(node)), []
    L, R = (writer.add("identity", writer.of_scalar(size)) for size in (J.rows, J.columns))
    (V, *_), i = varying.derivative(J), writer.index(unused_index(node.parts[0].shape[0], node))
    if len(V.terms) == 1 and next(iter(V.terms))[0][0] == "normalised rows":
        found.append(("chain rule of normalised rows", kind, i, L, writer.matrix(J), R))
        (word,) = varying.chain_of_rows(J, writer.value(i)).terms
        one = quantities.number(1)
        L = writer.matrix(quantities.Matrix(J.rows, word[-1][2], {word[:-1]: one}))
        J = quantities.Matrix(word[-1][2], J.columns, {word[-1:]: one})
    for rule in ("derivative of a sum of products", "derivative of a sum"):
        yield [*found, (rule, kind, L, writer.matrix(J), R)]
    yield found


def normalisation_jacobian(Y: Node) -> Node:
    """blockdiag over the rows y of Y of (I - y^T y / |y|^2) / |y|, (m n, m n)."""
    m, n = Y.shape
    if m == 1:
        return _projection(Y)
    index = unused_index(m, Y)
    return nodes.of(
        "block diagonal", _projection(nodes.rows(Y, index, index + 1, 1)), data=(index,), shape=(m * n, m * n)
    )


def _projection(y: Node) -> Node:
    n = y.shape[1]
    return nodes.scaled(1 / norm(FROBENIUS, y), nodes.of("projection", y, shape=(n, n)))


def with_projection(node: Node) -> Node:
    """c (I - a a^T / |a|^2) as a multiple of a projection; any other node as it is."""
    for (c, A), (d, B) in nodes.both_orders(node):
        if A.kind == "identity" and B.kind == "product" and len(B.parts) == 2:
            a = B.parts[1]
            if a.shape[0] == 1 and B.parts[0] is nodes.transposed(a) and d == -c / norm(FROBENIUS, a) ** 2:
                return nodes.scaled(c, nodes.of("projection", a, shape=A.shape))
    return node


def depends(item: Any, name: str, known: World | None = None) -> bool:
    """Whether the input `name` occurs in a node, or in a quantity of a scalar."""
    known = known or world()
    if isinstance(item, Node):
        if item.kind == "input":
            return bool(item.data[0] == name)
        if item.kind == "derivative" and item.data[1] == name:  # bound there; the point may depend on it
            return depends(item.parts[1], name, known)
        return any(depends(part, name, known) for part in (*item.parts, *item.data))
    if isinstance(item, tuple):
        return any(depends(part, name, known) for part in item)
    symbols = [symbol for symbol in getattr(item, "free_symbols", ()) if symbol in known.atoms]
    return any(depends(known.atoms[symbol].payload, name, known) for symbol in symbols)


def _has_moving_data(node: Node, name: str) -> bool:
    """Whether a coefficient in a node, or another datum, depends on the input `name`."""
    here = any(depends(item, name) for item in node.data if not isinstance(item, str))
    return here or any(_has_moving_data(part, name) for part in node.parts)


def at_point(node: Node, name: str, point: Node) -> Node:
    """A node with the input `name` replaced; coefficients do not depend on it."""
    if not depends(node, name):
        return node
    if node.kind == "input":
        return point
    return nodes.rebuilt(node, [at_point(part, name, point) for part in node.parts], node.data)
