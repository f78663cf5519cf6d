"""The form that each matrix primitive has for operands of which norms are asked, by its name."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy

from verify.arithmetics.closed_forms import closed_form_of
from verify.arithmetics.conditions import rely_on_root, rely_on_whole
from verify.arithmetics.formal import register_forms
from verify.arithmetics.norms import nodes
from verify.arithmetics.norms.assumed import root_of_quotient
from verify.arithmetics.norms.atoms import (
    FROBENIUS,
    LARGEST,
    SPECTRAL,
    entry,
    gain,
    largest,
    largest_over,
    mean_exponential,
    norm,
    sum_over,
)  # fmt: skip
from verify.arithmetics.norms.bounded import Bounded, BoundedFamily, is_scalar, lifted, scalar, within  # fmt: skip
from verify.arithmetics.norms.differentials import depends, differential
from verify.arithmetics.norms.entries import COLUMN_SUM, sums_norm
from verify.arithmetics.norms.nodes import ONE, ZERO
from verify.arithmetics.norms.signs import is_nonnegative
from verify.arithmetics.norms.singular_polynomials import Shifts, Spectrum
from verify.arithmetics.norms.text import node_text
from verify.arithmetics.norms.world import Index, LoopNumber, of_loops, world
from verify.arithmetics.tracing import handed_over, traced_inputs, value_of
from verify.vocabulary.errors import ArithmeticUnsupported, InputError
from verify.vocabulary.shapes import parameter_names

FORMS: dict[str, Callable[..., Any]] = {}


def form(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register the form of the primitive of the same name."""
    FORMS[function.__name__.rstrip("_")] = function
    return function


# -- matrices made of sizes --------------------------------------------------------------------------------------------


@form
def eye(n: Any) -> Bounded:
    return Bounded(nodes.identity(n))


@form
def zeros(m: Any, n: Any) -> Bounded:
    return Bounded(nodes.zeros((m, n)))


@form
def ones(m: Any, n: Any) -> Bounded:
    return Bounded(nodes.ones(m, n))


@form
def basis_vector(n: Any, i: Any) -> Bounded:
    i = of_loops(i)
    within(i, n)
    return Bounded(nodes.of("unit", data=(i,), shape=(n, 1)))


@form
def commutation_matrix(n: Any, m: Any) -> Bounded:
    return Bounded(nodes.of("permutation", data=("commutation", n, m), shape=(n * m, n * m)))


@form
def rational(numerator: Any, denominator: Any = 1) -> Any:
    return sympy.sympify(numerator) / sympy.sympify(denominator)


# -- rearranging -------------------------------------------------------------------------------------------------------


@form
def unvec_r(v: Any, m: Any, n: Any) -> Bounded:
    return Bounded(nodes.reshaped(lifted(v).node, (m, n)))


@form
def concatenate(blocks: Any, axis: int) -> Any:
    if isinstance(blocks, BoundedFamily):
        blocks = [blocks]
    flat = [part for item in blocks for part in (item if isinstance(item, list) else [item])]
    parts = []
    for item in flat:
        if isinstance(item, BoundedFamily):
            node = lifted(item.entry).node
            parts.append(
                nodes.stack(item.index, node) if axis == 0
                else nodes.transposed(nodes.stack(item.index, nodes.transposed(node)))
            )  # fmt: skip
        elif all(isinstance(part, np.ndarray) and not any(hasattr(x, "node") for x in part.flat) for part in flat):
            return np.concatenate([np.asarray(part, dtype=object) for part in flat], axis=axis)
        else:
            parts.append(lifted(item).node)
    return Bounded(nodes.concatenated(parts, axis))


@form
def stack_rows(rows: Any) -> Any:
    if isinstance(rows, BoundedFamily):
        return Bounded(nodes.stack(rows.index, lifted(rows.entry).reshape(1, -1).node))
    return concatenate([row.reshape(1, -1) for row in rows], axis=0)


@form
def kron(A: Any, B: Any, *more: Any) -> Any:
    product = Bounded(nodes.kronecker(lifted(A).node, lifted(B).node))
    return kron(product, *more) if more else product


@form
def kron_matmul(factors: Sequence[Any], M: Any) -> Any:
    return functools.reduce(kron, factors) @ M


@form
def diag(v: Any) -> Bounded:
    node = lifted(v).node
    if 1 not in node.shape:
        raise InputError("v", "a vector", f"shape {node.shape}")
    return Bounded(nodes.diagonal(node))


@form
def block_diag(blocks: Any) -> Bounded:
    if isinstance(blocks, BoundedFamily):
        node, index = lifted(blocks.entry).node, blocks.index
        shape = (index.size * node.shape[0], index.size * node.shape[1])
        return Bounded(nodes.of("block diagonal", node, data=(index,), shape=shape))
    raise ArithmeticUnsupported("block_diag of a list has no norm")


# -- over an index -----------------------------------------------------------------------------------------------------


@form
def summed(n: Any, term: Callable[[Any], Any]) -> Any:
    if n == 1:
        return term(0)
    index = world().fresh(n)
    with world().using(index):
        found = term(LoopNumber(index))
    return sum_over(index, scalar(found)) if is_scalar(found) else Bounded(nodes.over(index, lifted(found).node))


@form
def each(n: Any, entry: Callable[[Any], Any]) -> Any:
    if n == 1:
        return [entry(0)]
    index = world().fresh(n)
    with world().using(index):
        return BoundedFamily(index, of_loops(entry(LoopNumber(index))))


@form
def parts(M: Any, count: Any, axis: int) -> Any:
    """The parts of equal size of an axis, for a number of them that is a symbol."""
    if count == 1:
        return [M]
    node, index = lifted(M).node, world().fresh(count)
    rely_on_whole(node.shape[axis] / sympy.sympify(count))
    if axis == 0:
        return BoundedFamily(index, Bounded(nodes.part_of_rows(node, index)))
    return BoundedFamily(index, Bounded(nodes.transposed(nodes.part_of_rows(nodes.transposed(node), index))))


@form
def without_column(A: Any, i: Any) -> Bounded:
    i = of_loops(i)
    within(i, lifted(A).node.shape[1])
    return Bounded(nodes.without_column(lifted(A).node, i))


@form
def mapped(function: Callable[..., Any], *families: Any) -> Any:
    if not any(isinstance(family, BoundedFamily) for family in families):
        return [function(*entries) for entries in zip(*families, strict=True)]
    if not all(
        isinstance(family, BoundedFamily) and family.index.size == families[0].index.size for family in families
    ):
        raise ArithmeticUnsupported("families of different lengths")
    index = world().fresh(families[0].index.size)
    with world().using(index):
        return BoundedFamily(index, function(*(family[index] for family in families)))


@form
def added(family: Any) -> Any:
    if not isinstance(family, BoundedFamily):
        return sum(family[1:], family[0])
    return Bounded(nodes.over(family.index, lifted(family.entry).node))


@form
def indexed(pattern: str, *operands: Any) -> Bounded:
    """The two summands of the derivative of the row softmax, in terms of A = softmax(T)."""
    parts = [lifted(operand).node for operand in operands]
    A, size = parts[0], parts[0].shape[0] * parts[0].shape[1]
    if pattern == "ij,jk->(i j)(i k)" and len(parts) == 2 and parts[1].kind == "identity":
        return Bounded(nodes.of("rows as diagonals", A, shape=(size, size)))
    if pattern == "ij,ik->(i j)(i k)" and len(parts) == 2 and parts[1] is A:
        return Bounded(nodes.of("rows as outer products", A, shape=(size, size)))
    raise ArithmeticUnsupported(f"the pattern {pattern!r} has no norm")


@form
def iterated(count: Any, step: Callable[[Any], Any], start: Any) -> Any:
    """The iterate of an odd polynomial M -> M p(M^T M), kept with the coefficients of p, where the count is a symbol."""
    if isinstance(count, int):
        for _ in range(count):
            start = step(start)
        return start
    node, known = lifted(start).node, world()
    known.variables += 1  # a step may itself iterate
    try:
        variable = nodes.leaf(f"iterated variable {known.variables}", node.shape)
        coefficients = nodes.odd_polynomial(lifted(step(Bounded(variable))).node, variable)
    finally:
        known.variables -= 1
    if coefficients is None:
        raise ArithmeticUnsupported("the iterate of what is no polynomial M p(M^T M) has no norm")
    return Bounded(nodes.of("iterate", node, data=(sympy.sympify(count), *coefficients)))


# -- norms and scalars -------------------------------------------------------------------------------------------------


@form
def spectral_norm(A: Any) -> Any:
    return norm(SPECTRAL, lifted(A).node)


@form
def spectral_radius(A: Any) -> Any:
    return world().atom("spectral radius", (_square("A", A),))


def _square(name: str, A: Any) -> Any:
    """The node of a square matrix."""
    node = lifted(A).node
    if node.shape[0] != node.shape[1]:
        raise InputError(name, "a square matrix", f"shape {node.shape}")
    return node


@form
def singular_values(A: Any) -> Spectrum:
    return Spectrum(lifted(A).node)


@form
def smallest_gain(A: Any) -> Any:
    return gain(lifted(A).node)


@form
def sqrt(x: Any) -> Any:
    if is_scalar(x):
        rely_on_root(scalar(x))
        return root_of_quotient(scalar(x))
    node = lifted(x).node
    if node.kind == "product" and len(node.parts) == 2 and node.parts[1].kind == "ones":
        inner = node.parts[0]
        if inner.kind == "entrywise" and inner.parts[0] is inner.parts[1]:
            return Bounded(nodes.of("row norms", inner.parts[0], shape=(node.shape[0], 1)), lifted(x).flat)
    raise ArithmeticUnsupported("the square root of every entry has no norm")


@form
def vanishes(A: Any) -> bool:
    node = lifted(A).node
    if node.kind != "zeros":
        world().used.add(f"{node_text(node)} is not 0")
    return bool(node.kind == "zeros")


@form
def maximum(x: Any) -> Any:
    if isinstance(x, Bounded) and (found := _column_sums(x.node)) is not None:
        return found
    return largest_of(x)


def _column_sums(node: Any) -> Any:
    """The largest column sum of |A| where the node is the row 1^T |A|."""
    factors = nodes.factors_of(node)
    if len(factors) == 2 and factors[0].kind == "ones" and factors[0].shape[0] == 1 and factors[1].kind == "absolute":
        return sums_norm(COLUMN_SUM, factors[1].parts[0])
    return None


@form
def absolute(x: Any) -> Any:
    if isinstance(x, (Spectrum, Shifts)):
        return x.absolute()
    if is_scalar(x):
        return _with_norms_of_numbers(abs(scalar(x)))
    return Bounded(nodes.of("absolute", lifted(x).node), lifted(x).flat)


def _with_norms_of_numbers(value: Any) -> Any:
    """A scalar with |a| written as the norm of the matrix of shape (1, 1) that a number a is the entry of."""
    known, changes = world().atoms, {}
    for size in value.atoms(sympy.Abs):
        atom = known.get(size.args[0])
        if atom is not None and atom.kind == "entry" and atom.payload[0].shape == (1, 1):
            changes[size] = norm(FROBENIUS, atom.payload[0])
    return value.xreplace(changes)


@form
def exp(x: Any) -> Any:
    if is_scalar(x):
        return sympy.exp(scalar(x))
    raise ArithmeticUnsupported("the exponential of every entry has no norm")


@form
def log(x: Any) -> Any:
    if is_scalar(x):
        return sympy.log(scalar(x))
    raise ArithmeticUnsupported("the logarithm of every entry has no norm")


def entries_of(x: Any) -> list[tuple[Any, Index | None]]:
    """The scalars of a value in order, those of a family or of a column of symbolic length once, with its index."""
    if isinstance(x, BoundedFamily):
        found: list[tuple[Any, Index | None]] = []
        for value, index in entries_of(x.entry):
            if index is not None:
                raise ArithmeticUnsupported("a family of families")
            found.append((value, x.index))
        return found
    if isinstance(x, (Spectrum, Shifts)):
        raise ArithmeticUnsupported("singular values one by one")
    if isinstance(x, (list, tuple)):
        return [item for part in x for item in entries_of(part)]
    if isinstance(x, np.ndarray):
        return [item for part in x.reshape(-1) for item in entries_of(part)]
    if is_scalar(x):
        return [(scalar(x), None)]
    node = lifted(x).node
    if node.shape == (1, 1):
        return [(entry(node, 0, 0), None)]
    multiple, core = nodes.single(node)
    if core.kind == "concatenate" and core.shape[1] == 1:
        return [(multiple * value, index) for part in core.parts for value, index in entries_of(Bounded(part))]
    if core.kind in ("zeros", "ones") and core.shape[1] == 1 and core.shape[0].is_Integer:
        return [(multiple * int(core.kind == "ones"), None)] * int(core.shape[0])
    if core.kind == "stack" and core.parts[0].shape == (1, 1):
        return [(multiple * entry(core.parts[0], 0, 0), core.data[0])]
    inner = core.parts[0] if core.kind == "reciprocal" else core
    if inner.kind == "row norms" or (inner.kind == "absolute" and core.shape[1] == 1):
        index = world().fresh(core.shape[0])
        return [(multiple * _of_column(core, index), index)]
    raise ArithmeticUnsupported(f"the entries of {node!r} one by one")


def _of_column(node: Any, index: Index) -> Any:
    """Entry `index` of a column of row norms or absolute values, or of the reciprocals of such."""
    if node.kind == "reciprocal":
        return 1 / _of_column(node.parts[0], index)
    return abs(entry(node.parts[0], index, 0)) if node.kind == "absolute" else entry(node, index, 0)


def largest_of(x: Any) -> Any:
    """The largest of the entries of a value, as one scalar."""
    if isinstance(x, (Spectrum, Shifts)):
        return x.largest()
    if isinstance(x, (list, tuple, np.ndarray)) and not isinstance(x, Bounded):
        return largest([largest_of(part) for part in (x.reshape(-1) if isinstance(x, np.ndarray) else x)])
    if isinstance(x, Bounded):
        multiple, core = nodes.single(x.node)
        if core.kind == "concatenate" and core.shape[1] == 1:
            return largest([largest_of(Bounded(nodes.scaled(multiple, part))) for part in core.parts])
        if core.kind == "absolute" and is_nonnegative(multiple):
            return multiple * _with_norms_of_numbers(norm(LARGEST, core.parts[0]))
        if (core.parts[0] if core.kind == "transpose" else core).kind == "softmax" and is_nonnegative(multiple):
            return multiple * norm(LARGEST, core)  # no weight is negative
        if core.kind == "row norms" and is_nonnegative(
            -multiple
        ):  # of negative multiples the smallest one, 1 / max 1/r
            index = world().fresh(core.shape[0])
            return multiple / largest_over(index, 1 / entry(core, index, 0))
    try:
        found = entries_of(x)
    except ArithmeticUnsupported:
        if not isinstance(x, Bounded):
            raise
        return world().atom("largest value", (x.node,), "real")
    return largest([largest_over(index, value) if index is not None else value for value, index in found])


# -- functions ---------------------------------------------------------------------------------------------------------


@form
def softmax(T: Any) -> Bounded:
    node = lifted(T).node
    if node.shape[1] == 1:  # of one weight each, which is 1
        world().simplified.add("softmax row")
        return Bounded(nodes.ones(*node.shape))
    return Bounded(nodes.of("softmax", node))


@form
def relu(x: Any) -> Bounded:
    return Bounded(nodes.of("relu", lifted(x).node), lifted(x).flat)


@form
def step(x: Any) -> Bounded:
    return Bounded(nodes.of("step", _of_same_signs(lifted(x).node)), lifted(x).flat)


def _of_same_signs(node: Any) -> Any:
    """The node whose entries have, by assumption, the signs of those of the given one; itself where there is none."""
    for one, other in world().same_signs:
        free = sorted(other.indices, key=str)
        for value in (*free, *sorted(node.indices, key=str)) if free else (None,):
            at = nodes.at(other, free[0], value) if free else other
            if at is node:
                world().used.add("no ReLU differs in state")
                return nodes.at(one, free[0], value) if free else one
    return node


@form
def expm(A: Any) -> Bounded:
    node = _square("A", A)
    if node.kind == "numbers" and node.shape == (2, 2) and node.data[0] == node.data[1] and node.data[2:] == (0, 0):
        growth = sympy.exp(node.data[0])  # exp [[a, a], [0, 0]]
        return Bounded(nodes.of("numbers", data=(growth, growth - 1, ZERO, ONE), shape=(2, 2)))
    if node.kind == "numbers" and node.shape == (2, 2) and node.data[2:] == (0, 0):
        a, b = node.data[:2]
        return Bounded(nodes.of("numbers", data=(sympy.exp(a), b * mean_exponential(a), ZERO, ONE), shape=(2, 2)))
    M = nodes.single(node)[1]
    if nodes.product([M, M]).kind == "zeros":  # as M^2 = 0
        return Bounded(nodes.sum_of([(ONE, nodes.identity(node.shape[0])), (ONE, node)]))
    return Bounded(nodes.of("exponential", node))


@form
def inverse(A: Any) -> Bounded:
    return Bounded(nodes.of("inverse", _square("A", A)))


@form
def jacobian(f: Callable[..., Any], arguments: Any, wrt: str, layout: Any) -> Any:
    found = closed_form_of(handed_over(f), wrt, layout.value)
    if found is None:
        return _named_derivative(f, arguments, wrt, layout.value)
    world().closed.update(found.by)
    given = {name: arguments[name] for name in parameter_names(found.value)}
    return value_of(found.value(**traced_inputs(given)))


@form
def hessian(f: Callable[..., Any], arguments: Any, wrt: tuple[str, str], layout: Any) -> Any:
    found = closed_form_of(handed_over(f), wrt, layout.value)
    if found is None:
        raise ArithmeticUnsupported(f"second derivatives in {' and '.join(wrt)} without a closed form have no norm")
    world().closed.update(found.by)
    given = {name: arguments[name] for name in parameter_names(found.value)}
    return value_of(found.value(**traced_inputs(given)))


def _named_derivative(f: Callable[..., Any], arguments: Any, wrt: str, layout: str) -> Bounded:
    """A derivative of which nothing is known but what it is: the value of `f` in a variable, and the point."""
    point, known = lifted(arguments[wrt]), world()
    if point.flat:
        raise ArithmeticUnsupported("a derivative in a vector of one dimension has no norm")
    known.variables += 1
    try:
        variable = Bounded(nodes.leaf(f"variable {known.variables}", point.node.shape))
        value = f(**{**arguments, wrt: variable})
    finally:
        known.variables -= 1
    if not isinstance(value, Bounded):
        raise ArithmeticUnsupported("the derivative of a scalar or of several values has no norm")
    (rows, columns), (m, n) = value.node.shape, point.node.shape
    if not depends(value.node, variable.node):
        return Bounded(nodes.zeros((rows * columns, m * n)))
    if (m, n) == (1, 1) and layout == "row-major":
        with contextlib.suppress(ArithmeticUnsupported):
            change = differential(value.node, variable.node, point.node, nodes.ones(1, 1))
            return Bounded(nodes.reshaped(change, (rows * columns, 1)))
    data = (layout, variable.node.data[0])
    return Bounded(nodes.of("derivative", value.node, point.node, data=data, shape=(rows * columns, m * n)))


register_forms(FORMS, "norms")
