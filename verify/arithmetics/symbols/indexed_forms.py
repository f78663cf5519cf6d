"""The form that each matrix primitive has for symbolic sizes, by its name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import sympy

from verify.arithmetics import entrywise as plain
from verify.arithmetics.conditions import rely_on_root
from verify.arithmetics.formal import register_forms
from verify.arithmetics.patterns import groups_of
from verify.arithmetics.symbols.block_functions import (
    exponential_of_blocks,
    inverse_of_blocks,
    matrix_exponential,
    matrix_inverse,
)
from verify.arithmetics.symbols.blocks import Blocks, as_matrix, joined
from verify.arithmetics.symbols.families import IndexedFamily, over
from verify.arithmetics.symbols.function_heads import (
    absolute_of,
    exponential,
    logarithm,
    power,
    relu_of,
    softmax_of,
    step_of,
)
from verify.arithmetics.symbols.heads import delta, unit
from verify.arithmetics.symbols.indexed import Indexed, common, entrywise, filled, identity, lifted
from verify.arithmetics.symbols.scalars import ONE, ZERO
from verify.arithmetics.symbols.sizes import size_of
from verify.arithmetics.symbols.summation import SummationIndex
from verify.arithmetics.symbols.sums import Sum, contract, sum_of_head
from verify.vocabulary.errors import ArithmeticUnsupported, InputError

FORMS: dict[str, Callable[..., Any]] = {}


def form(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register the form of the primitive of the same name."""
    FORMS[function.__name__.rstrip("_")] = function
    return function


def _matrix(primitive: str, operand: Any) -> Indexed:
    """The operand as one matrix; blocks have no form in the primitives that ask for this."""
    found = lifted(operand)
    if not isinstance(found, Indexed):
        raise ArithmeticUnsupported(f"{primitive} of {operand!r} has no form for all sizes")
    return found


# -- matrices made of sizes --------------------------------------------------------------------------------------------


@form
def eye(n: Any) -> Indexed:
    return identity(size_of("n", n))


@form
def zeros(m: Any, n: Any) -> Indexed:
    return filled(ZERO, size_of("m", m), size_of("n", n))


@form
def ones(m: Any, n: Any) -> Indexed:
    return filled(ONE, size_of("m", m), size_of("n", n))


@form
def basis_vector(n: Any, i: Any) -> Indexed:
    size = size_of("n", n)
    if isinstance(i, SummationIndex):
        return identity(size)[:, i : i + 1]
    if not isinstance(i, int) or i < 0 or (i > 0 and not size.is_Integer) or (size.is_Integer and i >= size):
        raise InputError("i", f"a summation index, or an integer certainly below {n}", repr(i))
    if size == 1:
        return filled(ONE, size, size)
    return Indexed(sum_of_head(unit(size, i)), (1, 0))


@form
def commutation_matrix(n: Any, m: Any) -> Indexed:
    n, m = size_of("n", n), size_of("m", m)
    both = [(sum_of_head(delta(size)), at) for size, at in ((n, [0, 3]), (m, [1, 2])) if size != 1]
    labels = [label for label, size in ((0, n), (1, m), (2, m), (3, n)) if size != 1]
    count = len(labels) // 2
    return Indexed(contract(both, labels), (count, count))


@form
def rational(numerator: Any, denominator: Any = 1) -> Any:
    return sympy.sympify(numerator) / sympy.sympify(denominator)


# -- rearranging -------------------------------------------------------------------------------------------------------


@form
def unvec_r(v: Any, m: Any, n: Any) -> Indexed:
    v = _matrix("unvec_r", v)
    if v.ndim != 2 or v.dims[1] != 1:
        raise InputError("v", "a column", f"shape {v.dims}")
    return v.reshape(m, n)


@form
def concatenate(blocks: Any, axis: int) -> Any:
    if isinstance(blocks, IndexedFamily):
        blocks = [blocks]
    flat = [part for item in blocks for part in (item if isinstance(item, list) else [item])]
    plain_blocks = [_side_by_side(item, axis) if isinstance(item, IndexedFamily) else item for item in flat]
    return joined(plain_blocks, axis)


def _side_by_side(family: IndexedFamily, axis: int) -> Indexed:
    """The matrices of a family on top of each other, or side by side."""
    entry = _two_axes(family.entry)
    return _into_rows(entry, family.index) if axis == 0 else _into_rows(entry.T, family.index).T


def _two_axes(entry: Indexed) -> Indexed:
    if entry.ndim != 2:
        raise InputError("blocks", "matrices (two dimensions)", f"shape {entry.dims}")
    return entry


@form
def stack_rows(rows: Any) -> Any:
    if isinstance(rows, IndexedFamily):
        return _into_rows(rows.entry.reshape(1, -1), rows.index)
    return joined([row.reshape(1, -1) for row in rows], 0)


@form
def kron(A: Any, B: Any, *more: Any) -> Any:
    if isinstance(A, Blocks) and not isinstance(B, Blocks):
        product: Any = A.each(lambda block: kron(block, B))
        return kron(product, *more) if more else product
    A, B = _matrix("kron", A), _matrix("kron", B)
    for name, operand in (("A", A), ("B", B)):
        if operand.ndim != 2:
            raise InputError(name, "a matrix (two dimensions)", f"shape {operand.dims}")
    four = A[:, None, :, None] * B[None, :, None, :]
    rows, columns = four.axes[0] + four.axes[1], four.axes[2] + four.axes[3]
    product = Indexed(four.value, (rows, columns), four.bound)
    return kron(product, *more) if more else product


@form
def kron_matmul(factors: Sequence[Any], M: Any) -> Any:
    return functools.reduce(kron, factors) @ M


@form
def diag(v: Any) -> Indexed:
    v = _matrix("diag", v)
    if sum(bool(count) for count in v.axes) > 1:
        raise InputError("v", "a vector", f"shape {v.dims}")
    flat = v.reshape(-1)
    count = flat.axes[0]
    slots = list(range(count))
    twins = [count + slot for slot in slots]
    tail = list(range(count, count + len(flat.bound)))
    bound_labels = [5000 + slot for slot in tail]
    deltas = [(sum_of_head(delta(size)), [k, count + k]) for k, size in enumerate(flat.sizes(0))]
    value = contract([(flat.value, [*slots, *bound_labels]), *deltas], [*slots, *twins, *bound_labels])
    return Indexed(value, (count, count), flat.bound)


@form
def diag_part(A: Any) -> Indexed:
    A = _matrix("diag_part", A)
    if A.ndim != 2 or A.dims[0] != A.dims[1]:
        raise InputError("A", "a square matrix", f"shape {A.dims}")
    A, _ = common(A, 0, A.T, 0)
    count = A.axes[0]
    if A.sizes(0) != A.sizes(1):
        raise InputError("A", "rows and columns grouped alike", f"{A.sizes(0)} and {A.sizes(1)}")
    tail = list(range(2 * count, 2 * count + len(A.bound)))
    rows = list(range(count))
    return Indexed(contract([(A.value, [*rows, *rows, *tail])], [*rows, *tail]), (count,), A.bound)


# -- over an index -----------------------------------------------------------------------------------------------------


@form
def summed(n: Any, term: Callable[[Any], Any]) -> Any:
    index = SummationIndex(size_of("n", n))
    if index.size == 1:
        return term(0)
    return over(term(index), index)


@form
def each(n: Any, entry: Callable[[Any], Any]) -> Any:
    index = SummationIndex(size_of("n", n))
    if index.size == 1:
        return [entry(0)]
    found = lifted(entry(index))
    return IndexedFamily(index, _matrix("each", found))


def _into_rows(found: Indexed, index: SummationIndex) -> Indexed:
    """A summation index made the first index of the rows."""
    count, inner = len(found.value.slots), sum(found.axes)
    labels = list(range(count))
    first, sizes = -1, {-1: index.size}
    for k, item in enumerate(found.bound):
        if item is index:
            labels[inner + k] = first
    kept = [item for item in found.bound if item is not index]
    out = [first, *range(inner), *(label for label in labels[inner:] if label != first)]
    value = contract([(found.value, labels)], out, sizes)
    return Indexed(value, (found.axes[0] + 1, *found.axes[1:]), kept)


@form
def block_diag(blocks: Any) -> Any:
    if not isinstance(blocks, IndexedFamily):
        parts = [_two_axes(_matrix("block_diag", block)) for block in blocks]
        grid = [
            [one if i == j else zeros(one.dims[0], other.dims[1]) for j, other in enumerate(parts)]
            for i, one in enumerate(parts)
        ]
        return joined([joined(row, 1) for row in grid], 0)
    index = blocks.index
    tall = _into_rows(_two_axes(blocks.entry), index)
    column = identity(index.size)  # delta of the block row and the block column
    rows = tall.axes[0]
    labels = list(range(len(tall.value.slots)))
    out = [*range(rows), -1, *range(rows, len(labels))]
    value = contract([(tall.value, labels), (column.value, [0, -1])], out)
    return Indexed(value, (rows, tall.axes[1] + 1), tall.bound)


@form
def khatri_rao(A_blocks: Any, B_blocks: Any) -> Any:
    if isinstance(A_blocks, list) and isinstance(B_blocks, list) and len(A_blocks) == len(B_blocks):
        return joined([kron(A, B) for A, B in zip(A_blocks, B_blocks, strict=True)], 0)
    if not (isinstance(A_blocks, IndexedFamily) and isinstance(B_blocks, IndexedFamily)):
        raise ArithmeticUnsupported("khatri_rao of a list and a family has no form for all sizes")
    if A_blocks.index.size != B_blocks.index.size:
        raise InputError("B_blocks", f"as many blocks as A_blocks, {A_blocks.index.size}", str(B_blocks.index.size))
    index = A_blocks.index
    product = kron(_two_axes(A_blocks[index]), _two_axes(B_blocks[index]))
    return _into_rows(product, index)


@form
def indexed(pattern: str, *operands: Any) -> Indexed:
    inputs, groups = groups_of(pattern)
    if len(inputs) != len(operands):
        raise InputError("operands", f"{len(inputs)}, as many as in {pattern!r}", str(len(operands)))
    places: dict[str, list[int]] = {}
    parts: list[tuple[Sum, list[int]]] = []
    sizes: dict[int, Any] = {}
    bound: dict[int, tuple[SummationIndex, int]] = {}
    spare = iter(range(10_000))
    for names, operand in zip(inputs, map(as_matrix, operands), strict=True):
        if operand.ndim != len(names):
            raise InputError("operands", f"{len(names)} indices for {names!r}", f"shape {operand.dims}")
        labels: list[int] = []
        for axis, name in enumerate(names):
            own_sizes = operand.sizes(axis)
            if name not in places:
                places[name] = [next(spare) for _ in own_sizes]
                sizes.update(zip(places[name], own_sizes, strict=True))
            if [sizes[label] for label in places[name]] != list(own_sizes):
                raise InputError("operands", f"the sizes of index {name} of the operands before", str(own_sizes))
            labels += places[name]
        for index in operand.bound:
            if index.number not in bound:
                bound[index.number] = (index, next(spare))
            labels.append(bound[index.number][1])
        parts.append((operand.value, labels))
    out, axes, used = list[int](), [], set()
    for group in groups:
        before = len(out)
        for name in group:
            if name not in places:
                raise InputError("pattern", "indices of an operand in the result", repr(name))
            for label in places[name]:
                out.append(next(spare) if name in used else label)
                if name in used:
                    parts.append((sum_of_head(delta(sizes[label])), [label, out[-1]]))
            used.add(name)
        axes.append(len(out) - before)
    kept = [bound[number] for number in sorted(bound)]
    value = contract(parts, [*out, *(label for _, label in kept)], sizes)
    return Indexed(value, axes, [index for index, _ in kept])


# -- functions ---------------------------------------------------------------------------------------------------------


def _of_entries(name: str, function: Callable[[Sum], Sum]) -> None:
    """Register an entrywise function; plain sympy scalars stay with the arithmetic of symbols."""

    def entries(x: Any) -> Any:
        if isinstance(x, sympy.Basic):
            if name == "sqrt":
                rely_on_root(x)
            return getattr(plain, name).__wrapped__(x)
        if isinstance(x, Blocks):
            return x.each(entries)
        return entrywise(function, x)

    FORMS[name] = entries


_of_entries("exp", exponential)
_of_entries("log", logarithm)
_of_entries("relu", relu_of)
_of_entries("step", step_of)
_of_entries("absolute", absolute_of)
_of_entries("sqrt", lambda value: power(value, Fraction(1, 2)))


@form
def softmax(T: Any) -> Indexed:
    T = _matrix("softmax", T)
    if T.ndim != 2:
        raise InputError("T", "a matrix (two dimensions)", f"shape {T.dims}")
    # the softmax is over the columns: bound indices go before them
    rows, columns = T.axes
    tail = list(range(rows + columns, len(T.value.slots)))
    order = [*range(rows), *tail, *range(rows, rows + columns)]
    if not columns:
        return Indexed(Sum(T.value.slots, {(): ONE}), T.axes, T.bound)
    found = softmax_of(T.value.permuted(order), columns)
    back = [order.index(slot) for slot in range(len(order))]
    return Indexed(found.permuted(back), T.axes, T.bound)


@form
def masked_softmax(T: Any, M: Any) -> Any:
    weights = FORMS["exp"](T) * M
    return weights / weights.sum(1).reshape(-1, 1)


@form
def expm(A: Any) -> Any:
    return exponential_of_blocks(A) if isinstance(A, Blocks) else matrix_exponential(_matrix("expm", A))


@form
def inverse(A: Any) -> Any:
    return inverse_of_blocks(A) if isinstance(A, Blocks) else matrix_inverse(_matrix("inverse", A))


register_forms(FORMS)
