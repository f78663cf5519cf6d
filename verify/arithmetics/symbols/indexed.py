"""Matrices of symbolic sizes: a sum whose open indices are grouped into axes, row-major within each.

An axis of size 1 has no index.  An identity of a product size has one index of that size, which is split into two when
it meets an axis that has two.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from verify.arithmetics.conditions import rely_on_at_least, rely_on_whole
from verify.arithmetics.constants import Constant
from verify.arithmetics.formal import Formal
from verify.arithmetics.symbols.canonical import Factor
from verify.arithmetics.symbols.extents import note_extent
from verify.arithmetics.symbols.function_heads import power
from verify.arithmetics.symbols.heads import Size, at_step, delta, grouping, selection, tensor, unit
from verify.arithmetics.symbols.scalars import ONE, Scalar, scalar
from verify.arithmetics.symbols.sizes import divides, plain, size_of
from verify.arithmetics.symbols.summation import StepNumber, SummationIndex, is_next, is_taken
from verify.arithmetics.symbols.sums import (
    Product,
    Sum,
    as_built,
    collected,
    constant,
    contract,
    single,
    sizes_summed,
    sum_of_head,
)
from verify.vocabulary.errors import ArithmeticUnsupported, InputError


@as_built("split")
def _taken_apart(value: Sum, place: Mapping[int, tuple[int, ...]], sizes: Sequence[Size]) -> Sum:
    """The sum over the slots `sizes`, those in `place` of each old one: deltas over two at once become one for each."""
    count = len(value.slots)
    products: list[Product] = []
    for key, coefficient in value.terms.items():
        renamed: list[Factor] = []
        for made, indices in key:
            halves = [place[i] for i in indices if i < count]
            if made.kind == "delta" and max(map(len, halves), default=1) > 1:
                renamed += [(delta(sizes[pair[0]]), pair) for pair in zip(*halves, strict=True)]
                continue
            renamed.append((made, tuple(place[i][0] if i < count else len(sizes) + i for i in indices)))
        products.append((coefficient, renamed, sizes_summed(renamed, len(sizes))))
    return collected(products, sizes)


@functools.lru_cache(maxsize=4096)
def _product_of(sizes: tuple[Size, ...]) -> Any:
    """The size of an axis that groups indices of these sizes."""
    return plain(sympy.Mul(*sizes))


class Indexed(Formal):
    """A scalar, vector, matrix or stack of matrices of symbolic shape.

    `axes` counts the slots of each axis; slots beyond belong to the `bound` indices, in order.
    """

    __slots__ = ("axes", "bound", "value")
    __array_ufunc__ = None  # numpy and constants hand the operation over to us

    def __init__(self, value: Sum, axes: Sequence[int], bound: Sequence[SummationIndex] = ()) -> None:
        self.value, self.axes, self.bound = value, tuple(axes), tuple(bound)
        assert sum(self.axes) + len(self.bound) == len(value.slots)
        note_extent(value.slots, [index.size for index in self.bound])

    # -- shape ---------------------------------------------------------------------------------------------------------

    @property
    def groups(self) -> list[tuple[int, ...]]:
        """The slots of each axis."""
        found, start = [], 0
        for count in self.axes:
            found.append(tuple(range(start, start + count)))
            start += count
        return found

    def sizes(self, axis: int) -> tuple[Size, ...]:
        """The sizes of the indices that an axis groups."""
        return tuple(self.value.slots[slot] for slot in self.groups[axis])

    @property
    def dims(self) -> tuple[Any, ...]:
        """The shape as sympy has it."""
        found, start = [], 0
        for count in self.axes:
            found.append(_product_of(self.value.slots[start : start + count]))
            start += count
        return tuple(found)

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.dims

    @property
    def ndim(self) -> int:
        return len(self.axes)

    @property
    def T(self) -> Indexed:
        if self.ndim < 2:
            return self
        return self.transposed(tuple(reversed(range(self.ndim))))

    def transposed(self, order: Sequence[int]) -> Indexed:
        """The axes in another order."""
        groups = self.groups
        slots = [slot for axis in order for slot in groups[axis]] + list(range(sum(self.axes), len(self.value.slots)))
        return Indexed(self.value.permuted(slots), [self.axes[axis] for axis in order], self.bound)

    def swapaxes(self, one: int, other: int) -> Indexed:
        """Two axes exchanged."""
        order = list(range(self.ndim))
        order[one], order[other] = order[other], order[one]
        return self.transposed(order)

    def __repr__(self) -> str:
        return f"Indexed(shape={self.dims}, terms={len(self.value.terms)})"

    def adapted(self, other: Any) -> Any:
        """A constant or exact scalar in this arithmetic."""
        return lifted(other) if isinstance(other, Constant) else scalar(other).expression

    # -- splitting indices of a product size ---------------------------------------------------------------------------

    def split(self, slot: int, first: Size) -> Indexed:
        """The index of size `first` * rest in two, of sizes `first` and rest, with every index that a delta joins to it."""
        whole = self.value.slots[slot]
        rest = sympy.sympify(whole) / first
        rely_on_whole(first)
        rely_on_whole(rest)
        linked = {slot}
        while True:
            more = {
                index
                for key in self.value.terms
                for made, indices in key
                if made.kind == "delta" and linked & set(indices)
                for index in indices
            }
            if more <= linked:
                break
            linked |= more
        factors = (factor for key in self.value.terms for factor in key)
        vanishes = not self.value.terms and self.value.origin is not None  # a tensor, as a hypothesis says
        if vanishes or any(made.kind != "delta" and linked & set(indices) for made, indices in factors):
            return self._grouped_at(slot, first, rest)
        place: dict[int, tuple[int, ...]] = {}
        sizes: list[Size] = []
        for old, size in enumerate(self.value.slots):
            parts = (first, rest) if old in linked else (size,)
            place[old] = tuple(range(len(sizes), len(sizes) + len(parts)))
            sizes += parts
        axes = [sum(len(place[slot]) for slot in group) for group in self.groups]
        if any(old in linked for old in range(sum(self.axes), len(self.value.slots))):
            raise InputError("indices", "a summation index of one size", str(whole))
        return Indexed(_taken_apart(self.value, place, sizes), axes, self.bound)

    def _grouped_at(self, slot: int, first: Size, rest: Size) -> Indexed:
        """The index in two where a tensor carries it: joined to the two by what says which entry is which."""
        made = grouping(self.value.slots[slot], first, rest)
        count = len(self.value.slots)
        out = [label for old in range(count) for label in ((-1, -2) if old == slot else (old,))]
        value = contract([(self.value, range(count)), (sum_of_head(made), [slot, -1, -2])], out)
        return Indexed(value, [n + (slot in g) for n, g in zip(self.axes, self.groups, strict=True)], self.bound)

    # -- products, sums ------------------------------------------------------------------------------------------------

    def __matmul__(self, other: Any) -> Any:
        other = lifted(other, self)
        if not isinstance(other, Indexed):
            return NotImplemented
        if self.ndim > 2 or other.ndim > 2 or not self.ndim or not other.ndim:
            raise ArithmeticUnsupported(f"@ of shapes {self.dims} and {other.dims}")
        left, right = common(self, self.ndim - 1, other, 0)
        own, its, out, bound = _labels(left, right)
        own_axes, its_axes = _by_axis(left, own), _by_axis(right, its)
        joined = dict(zip(its_axes[0], own_axes[-1], strict=True))
        its = [joined.get(label, label) for label in its]
        rows = own_axes[0] if left.ndim == 2 else []
        columns = its_axes[1] if right.ndim == 2 else []
        value = contract([(left.value, own), (right.value, its)], [*rows, *columns, *out])
        axes = ([len(rows)] if left.ndim == 2 else []) + ([len(columns)] if right.ndim == 2 else [])
        return Indexed(value, axes, bound)

    def __rmatmul__(self, other: Any) -> Any:
        other = lifted(other, self)
        return other @ self if isinstance(other, Indexed) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, Formal):
            factor = _factor(other)
            if factor is not None:
                return Indexed(self.value.times(factor), self.axes, self.bound)
        other = lifted(other, self)
        if not isinstance(other, Indexed):
            return NotImplemented
        operands, out, axes, bound = _entry_by_entry(self, other)
        return Indexed(contract(operands, out), axes, bound)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if not isinstance(other, Formal):
            factor = _factor(other)
            if factor is not None:
                found = self.value.times(factor.power(Fraction(-1)))
                return Indexed(found, self.axes, self.bound)
        other = lifted(other, self)
        if not isinstance(other, Indexed):
            return NotImplemented
        return self * other.raised(Fraction(-1))

    def __rtruediv__(self, other: Any) -> Any:
        return self.raised(Fraction(-1)) * other

    def raised(self, exponent: Fraction) -> Indexed:
        """Every entry to a rational power."""
        return Indexed(power(self.value, exponent), self.axes, self.bound)

    def __pow__(self, exponent: Any) -> Indexed:
        if not isinstance(exponent, int):
            raise ArithmeticUnsupported(f"the power {exponent!r} of a matrix")
        return self.raised(Fraction(exponent))

    def _plus(self, other: Any, factor: Scalar) -> Any:
        if isinstance(other, Formal) and not isinstance(other, Indexed):
            return NotImplemented
        number = None if isinstance(other, Formal) else _factor(other)
        if number is not None:
            if not number:
                return self
            other = Indexed(constant(number, self.value.slots), self.axes, self.bound)
        other = lifted(other, self)
        if not isinstance(other, Indexed):
            return NotImplemented
        operands, out, axes, bound = _entry_by_entry(self, other)
        sizes = {label: size for value, labels in operands for label, size in zip(labels, value.slots, strict=True)}
        first, second = (contract([operand], out, sizes) for operand in operands)
        return Indexed(first.plus(second, factor), axes, bound)

    def __add__(self, other: Any) -> Any:
        return self._plus(other, ONE)

    def __radd__(self, other: Any) -> Any:
        return self._plus(other, ONE)

    def __sub__(self, other: Any) -> Any:
        return self._plus(other, -ONE)

    def __rsub__(self, other: Any) -> Any:
        return (-self)._plus(other, ONE)

    def __neg__(self) -> Indexed:
        return Indexed(self.value.times(-ONE), self.axes, self.bound)

    def sum(self, axis: int | None = None) -> Indexed:
        """The sum over one axis, or over all."""
        kept = [k for k in range(self.ndim) if axis is not None and k != axis % self.ndim]
        groups = self.groups
        out = [slot for k in kept for slot in groups[k]] + list(range(sum(self.axes), len(self.value.slots)))
        value = contract([(self.value, range(len(self.value.slots)))], out)
        return Indexed(value, [self.axes[k] for k in kept], self.bound)

    # -- reshaping and indexing ----------------------------------------------------------------------------------------

    def reshape(self, *dims: Any) -> Indexed:
        """The same entries in row-major order, grouped into other axes."""
        if len(dims) == 1 and isinstance(dims[0], (tuple, list)):
            dims = tuple(dims[0])
        if sum(isinstance(dim, int) and dim == -1 for dim in dims) > 1:
            raise InputError("shape", "at most one -1", str(dims))
        found, start, axes = self, 0, []
        missing = next((k for k, dim in enumerate(dims) if isinstance(dim, int) and dim == -1), None)
        for k, dim in enumerate(dims):
            if k == missing:
                after = sympy.Mul(*(sympy.sympify(later) for later in dims[k + 1 :]))
                left = sympy.Mul(*found.value.slots[start : sum(found.axes)])
                wanted = left / after
            else:
                wanted = sympy.sympify(dim)
            found, count = found._consumed(start, wanted)
            axes.append(count)
            start += count
        if start != sum(found.axes):
            raise InputError("shape", f"as many entries as {self.dims}", str(dims))
        return Indexed(found.value, axes, self.bound)

    def _consumed(self, start: int, wanted: Size) -> tuple[Indexed, int]:
        """How many slots from `start` make up the size `wanted`; an index of a product size is split where needed."""
        found, count = self, 0
        while wanted != 1:
            if start + count >= sum(found.axes):
                raise InputError("shape", "as many entries as the matrix has", f"{wanted} more")
            size = found.value.slots[start + count]
            if not divides(size, wanted) and not _cancels(size, wanted):
                if not divides(wanted, size):
                    raise InputError("shape", f"a multiple of the index size {size}", str(wanted))
                found = found.split(start + count, wanted)
                size = wanted
            wanted = wanted / size
            count += 1
        return found, count

    def __getitem__(self, key: Any) -> Indexed:
        keys = list(key) if isinstance(key, tuple) else [key]
        keys += [slice(None)] * (self.ndim - sum(item is not None for item in keys))
        labels = list(range(len(self.value.slots)))
        groups, axes, out = self.groups, [], []
        bound = {index.number: index for index in self.bound}
        own = dict(zip((index.number for index in self.bound), labels[sum(self.axes) :], strict=True))
        extra: list[tuple[Sum, list[int]]] = []
        axis = 0
        for item in keys:
            if item is None:
                axes.append(0)
                continue
            group = groups[axis]
            axis += 1
            if isinstance(item, slice) and item in (slice(None), slice(None, self.dims[axis - 1])):
                axes.append(len(group))
                out += list(group)
                continue
            plain = isinstance(item, slice) and not isinstance(
                item.start, SummationIndex
            )  # an index is compared with nothing
            if not group and plain and item in (slice(None, 1), slice(0, 1)):
                axes.append(0)
                continue
            if isinstance(item, StepNumber):
                if not is_taken(item):
                    raise ArithmeticUnsupported("what is read at the step of another map")
                if len(group) != 1 or self.value.slots[group[0]] != item.size:
                    raise InputError("step", f"one of {self.dims[axis - 1]}", f"one of {item.size}")
                extra.append((sum_of_head(at_step(item.size)), [group[0]]))
                continue
            chosen = _selection(item, self.value.slots[group[0]]) if len(group) == 1 else None
            if chosen is not None:
                label = 10_000 + axis
                extra.append((sum_of_head(chosen), [group[0], label]))
                out.append(label)
                axes.append(1)
                continue
            at, keeps = _position(item, self.dims[axis - 1])
            if keeps:
                axes.append(0)
            if not group:
                if isinstance(at, SummationIndex) and at.size != 1:
                    raise InputError("index", "one of size 1", f"one of size {at.size}")
                continue
            if (
                not isinstance(at, SummationIndex) and at == 0
            ):  # the first of an axis is the first in each of its indices
                sizes = [self.value.slots[slot] for slot in group]
                extra += [(sum_of_head(unit(size, 0)), [slot]) for size, slot in zip(sizes, group, strict=True)]
                continue
            if len(group) > 1:
                raise ArithmeticUnsupported(f"one row of an axis that groups {len(group)} indices")
            if isinstance(at, SummationIndex):
                if at.size != self.value.slots[group[0]]:
                    raise InputError("index", f"one of size {self.value.slots[group[0]]}", f"one of size {at.size}")
                if at.number in own:
                    labels[group[0]] = own[at.number]
                else:
                    own[at.number], bound[at.number] = labels[group[0]], at
            else:
                size = self.value.slots[group[0]]
                extra.append((sum_of_head(unit(size, at)), [group[0]]))
        order = sorted(bound)
        value = contract([(self.value, labels), *extra], [*out, *(own[number] for number in order)])
        return Indexed(value, axes, [bound[number] for number in order])


def _cancels(size: Size, wanted: Size) -> bool:
    """Whether `wanted`, a quotient of sizes, holds `size` as a factor, so that what remains is one of those that follow."""
    remains = sympy.sympify(wanted) / size
    return bool(sympy.denom(wanted) == sympy.denom(remains) != 1 != sympy.numer(remains))


def _selection(item: Any, size: Size) -> Any:
    """The matrix that picks start, ..., stop - 1 out of an axis, None where the key is no such slice or selects one row."""
    if not isinstance(item, slice) or item.step is not None or isinstance(item.start, SummationIndex):
        return None
    start = sympy.Integer(0) if item.start is None else item.start
    stop = size if item.stop is None else item.stop
    if not all(isinstance(end, (int, sympy.Expr)) for end in (start, stop)):
        return None
    start, stop = sympy.sympify(start), sympy.sympify(stop)
    length = sympy.expand(stop - start)
    if start.is_negative or stop.is_negative or length == 1 or not length.is_integer or length.is_nonpositive:
        return None
    rely_on_at_least(start, 0)
    rely_on_at_least(length, 0)
    rely_on_at_least(size - stop, 0)
    return selection(size, start, length)


def _position(item: Any, size: Any) -> tuple[Any, bool]:
    """The place that a key selects, and whether its axis is kept (with size 1)."""
    at, keeps = item, False
    if isinstance(item, slice):
        start, stop, keeps = item.start, item.stop, True
        if isinstance(start, SummationIndex) and is_next(stop, start) and item.step is None:
            return start, True
        start = 0 if start is None else start
        stop = size if stop is None and isinstance(size, int) else stop  # the last of an axis of given length
        if not isinstance(start, int) or stop != start + 1 or item.step is not None:
            raise ArithmeticUnsupported(f"the slice {item} of an axis of size {size}")
        at = start
    if isinstance(at, SummationIndex):
        return at, keeps
    if (
        not isinstance(at, int)
        or isinstance(at, bool)
        or at < 0
        or (at > 0 and not (isinstance(size, int) and at < size))
    ):
        raise ArithmeticUnsupported(f"the entry {at!r} of an axis of size {size}")
    return at, keeps


# -- two operands ------------------------------------------------------------------------------------------------------


def common(left: Indexed, axis: int, right: Indexed, other: int) -> tuple[Indexed, Indexed]:
    """Both operands with the indices of one axis each split until they pair up."""
    position = 0
    while True:
        one, two = left.sizes(axis), right.sizes(other)
        if position == len(one) == len(two):
            return left, right
        if position >= min(len(one), len(two)):
            break
        a, b = one[position], two[position]
        if a != b:
            if divides(b, a) or sympy.Mul(*two[position:]) == a:
                left = left.split(left.groups[axis][position], b)
            elif divides(a, b) or sympy.Mul(*one[position:]) == b:
                right = right.split(right.groups[other][position], a)
            else:
                break
        position += 1
    raise InputError("indices", f"{_grouped(left.sizes(axis))}, as in the other operand", _grouped(right.sizes(other)))


def _grouped(sizes: Sequence[Size]) -> str:
    return "(" + " ".join(map(str, sizes)) + ")"


def broadcast(left: Indexed, right: Indexed) -> tuple[Indexed, Indexed, list[int]]:
    """Both operands with equally many axes, each of equal indices or none."""
    count = max(left.ndim, right.ndim)
    left = Indexed(left.value, [0] * (count - left.ndim) + list(left.axes), left.bound)
    right = Indexed(right.value, [0] * (count - right.ndim) + list(right.axes), right.bound)
    for axis in range(count):
        if left.axes[axis] and right.axes[axis]:
            left, right = common(left, axis, right, axis)
    return left, right, [max(pair) for pair in zip(left.axes, right.axes, strict=True)]


def _labels(left: Indexed, right: Indexed) -> tuple[list[int], list[int], list[int], list[SummationIndex]]:
    """Labels for the slots of both, equal where they carry the same summation index; those indices and their labels."""
    own = list(range(len(left.value.slots)))
    its = [1000 + k for k in range(len(right.value.slots))]
    found = dict(zip((index.number for index in left.bound), own[sum(left.axes) :], strict=True))
    indices = {index.number: index for index in (*left.bound, *right.bound)}
    for k, index in enumerate(right.bound):
        its[sum(right.axes) + k] = found.setdefault(index.number, its[sum(right.axes) + k])
    order = sorted(indices)
    return own, its, [found[number] for number in order], [indices[number] for number in order]


def _by_axis(operand: Indexed, labels: Sequence[int]) -> list[list[int]]:
    return [[labels[slot] for slot in group] for group in operand.groups]


def _entry_by_entry(
    left: Indexed, right: Indexed
) -> tuple[list[tuple[Sum, list[int]]], list[int], list[int], list[SummationIndex]]:
    """Both sums with labels that are equal where entries meet; the labels, axes and summation indices of the result."""
    left, right, axes = broadcast(left, right)
    own, its, out, bound = _labels(left, right)
    joined: dict[int, int] = {}
    slots: list[int] = []
    for one, two in zip(_by_axis(left, own), _by_axis(right, its), strict=True):
        if one and two:
            joined.update(zip(two, one, strict=True))
        slots += one or two
    its = [joined.get(label, label) for label in its]
    return [(left.value, own), (right.value, its)], [*slots, *out], axes, bound


# -- making operands ---------------------------------------------------------------------------------------------------


def _factor(value: Any) -> Scalar | None:
    """A plain scalar as a coefficient, None for anything with entries."""
    if isinstance(value, (Constant, np.ndarray, Formal)):
        return None
    return scalar(value)


def lifted(value: Any, like: Any = None) -> Any:
    """A constant or small array of scalars as an operand; an operand as it is."""
    if isinstance(value, Formal):
        return value
    array = value.array if isinstance(value, Constant) else value
    if isinstance(array, np.ndarray):
        entries = list(array.flat)
        shape = array.shape
        sizes = [sympy.Integer(n) for n in shape if n != 1]
        axes = [int(n != 1) for n in shape]
        if entries and all(entry == entries[0] for entry in entries):
            return Indexed(constant(scalar(entries[0]), sizes), axes)
        if len(shape) == 2 and shape[0] == shape[1] and (array == np.eye(shape[0], dtype=int)).all():
            return identity(sympy.Integer(shape[0]))
        if len(entries) > 16:
            raise ArithmeticUnsupported(f"a matrix of given numbers, shape {shape}, among symbols")
        return _of_units(array, sizes, axes)
    return Indexed(constant(scalar(value)), ())


def _of_units(array: np.ndarray, sizes: list[Size], axes: list[int]) -> Indexed:
    """A small array of numbers as a sum of products of unit vectors."""
    found = Sum(sizes, {})
    for place, entry in np.ndenumerate(array):
        if entry != 0:
            at = [p for p, n in zip(place, array.shape, strict=True) if n != 1]
            parts = [(sum_of_head(unit(size, p)), [k]) for k, (size, p) in enumerate(zip(sizes, at, strict=True))]
            found = found.plus(contract(parts, list(range(len(sizes)))), scalar(entry))
    return Indexed(found, axes)


def identity(n: Size) -> Indexed:
    """I_n."""
    if n == 1:
        return Indexed(constant(ONE), (0, 0))
    return Indexed(sum_of_head(delta(n)), (1, 1))


def filled(value: Scalar, *sizes: Size) -> Indexed:
    """A matrix with one entry everywhere."""
    slots = [size for size in sizes if size != 1]
    return Indexed(constant(value, slots), [int(size != 1) for size in sizes])


def named(name: str, *dims: Any, symmetries: Sequence[Any] = ()) -> Indexed:
    """A tensor of which only the name and the shape are known."""
    sizes = [size_of(name, dim) for dim in dims]
    slots = [size for size in sizes if size != 1]
    made = tensor(name, slots, symmetries)
    value = single(made, range(len(slots)), slots)
    if not any(found.name == name for key in value.terms for found, _ in key):
        # a certificate names it, though a hypothesis says what it is
        value.origin = ("single", made, range(len(slots)))
    return Indexed(value, [int(size != 1) for size in sizes])


def entrywise(function: Callable[[Sum], Sum], operand: Indexed) -> Indexed:
    """A function of every entry."""
    return Indexed(function(operand.value), operand.axes, operand.bound)
