"""Operands whose norms are bounded: matrices, stacks of samples and families over an index, as the formulas see them."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy

from verify.arithmetics.conditions import rely_on_at_least, rely_on_divisor, rely_on_whole
from verify.arithmetics.constants import Constant, Surd
from verify.arithmetics.formal import Formal
from verify.arithmetics.norms import nodes
from verify.arithmetics.norms.atoms import FROBENIUS, entry, norm
from verify.arithmetics.norms.chain_rule import with_projection
from verify.arithmetics.norms.signs import is_nonnegative
from verify.arithmetics.norms.text import node_text
from verify.arithmetics.norms.world import Index, Next, Node, of_loops, world
from verify.vocabulary.errors import ArithmeticUnsupported, InputError


def plain(size: Any) -> Any:
    """A size as a Python integer where it is one."""
    found = sympy.sympify(size)
    return int(found) if found.is_Integer else found


def scalar(value: Any) -> Any:
    """A coefficient as sympy has it."""
    if isinstance(value, Surd):
        return value._sympy_()
    if isinstance(value, np.ndarray) and value.size == 1:
        return scalar(value.item())
    if isinstance(value, (int, sympy.Basic, np.integer)):
        return sympy.sympify(value)
    raise ArithmeticUnsupported(f"{value!r} as a coefficient has no norm")


def is_scalar(value: Any) -> bool:
    return isinstance(value, (int, Surd, sympy.Basic, np.integer)) and not isinstance(value, bool)


class Bounded(Formal):
    """A matrix, of which norms are all that is asked.  `flat`: it is a vector of one dimension, kept as a column."""

    __slots__ = ("flat", "node")
    __array_ufunc__ = None
    _op_priority = 1000.0

    def __init__(self, node: Node, flat: bool = False) -> None:
        self.node, self.flat = node, flat

    @property
    def shape(self) -> tuple[Any, ...]:
        both = tuple(map(plain, self.node.shape))
        return both[:1] if self.flat else both

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def T(self) -> Bounded:
        return self if self.flat else Bounded(nodes.transposed(self.node))

    def __repr__(self) -> str:
        return f"Bounded({node_text(self.node)})"

    def adapted(self, other: Any) -> Any:
        """A constant or exact scalar in this arithmetic."""
        return lifted(other) if isinstance(other, Constant) else scalar(other)

    # -- sums and products ---------------------------------------------------------------------------------------------

    def __matmul__(self, other: Any) -> Bounded:
        other = lifted(other)
        if self.flat or other.flat:
            raise ArithmeticUnsupported("a product with a vector of one dimension has no norm")
        if self.node.shape[1] != other.node.shape[0]:
            raise InputError("the product", f"{self.node.shape[1]} rows", str(other.node.shape[0]))
        return Bounded(nodes.product([self.node, other.node]))

    def __rmatmul__(self, other: Any) -> Bounded:
        return lifted(other) @ self

    def __add__(self, other: Any) -> Bounded:
        if is_scalar(other):
            if scalar(other) == 0:
                return self
            other = Bounded(nodes.scaled(scalar(other), nodes.ones(*self.node.shape)), self.flat)
        other = lifted(other)
        if self.node.shape != other.node.shape or self.flat != other.flat:
            raise ArithmeticUnsupported(f"a sum of shapes {self.shape} and {other.shape} has no norm")
        return Bounded(with_projection(nodes.sum_of([(1, self.node), (1, other.node)], self.node.shape)), self.flat)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Bounded:
        return self + (-1) * (other if is_scalar(other) else lifted(other))

    def __rsub__(self, other: Any) -> Bounded:
        return -self + other

    def __neg__(self) -> Bounded:
        return self * -1

    def __mul__(self, other: Any) -> Bounded:
        if is_scalar(other):
            return Bounded(nodes.scaled(scalar(other), self.node), self.flat)
        other = lifted(other)
        one, two = self.node, other.node
        if one.shape == two.shape and (self.flat == other.flat or one.shape == (1, 1)):
            return Bounded(nodes.hadamard(one, two), self.flat and other.flat)
        if two.shape == (1, 1):
            return Bounded(nodes.scaled(entry(two, 0, 0), one), self.flat)
        if one.shape == (1, 1):
            return Bounded(nodes.scaled(entry(one, 0, 0), two), other.flat)
        if self.flat or other.flat:
            raise ArithmeticUnsupported("a product of a matrix and a vector of one dimension, entry by entry")
        if two.shape == (one.shape[0], 1):
            return Bounded(nodes.product([nodes.diagonal(two), one]))
        if two.shape == (1, one.shape[1]):
            return Bounded(nodes.product([one, nodes.diagonal(two)]))
        if one.shape == (two.shape[0], 1) or one.shape == (1, two.shape[1]):
            return other * self
        raise ArithmeticUnsupported(f"the entrywise product of shapes {self.shape} and {other.shape} has no norm")

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Bounded:
        if is_scalar(other):
            rely_on_divisor(scalar(other))
            return self * (1 / scalar(other))
        divisor = lifted(other).node
        if divisor.kind == "row norms" and divisor.parts[0] is self.node and not other.flat:
            return Bounded(nodes.of("normalised rows", self.node))
        return self * (1 / lifted(other))

    def __rtruediv__(self, other: Any) -> Bounded:
        return Bounded(nodes.of("reciprocal", self.node), self.flat) * scalar(other)

    def __pow__(self, exponent: Any) -> Bounded:
        if exponent != 2:
            raise ArithmeticUnsupported(f"the power {exponent} of every entry has no norm")
        return self * self

    # -- shape ---------------------------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Any:
        key = of_loops(key)
        if self.flat:
            raise ArithmeticUnsupported("an entry of a vector of one dimension has no norm")
        if (
            isinstance(key, tuple)
            and len(key) == 2
            and not any(isinstance(item, slice) or item is None for item in key)
        ):
            for item, size in zip(key, self.node.shape, strict=True):
                within(item, size)
            return entry(self.node, *key)
        row, column = key if isinstance(key, tuple) else (key, slice(None))
        node, flat = self.node, not isinstance(row, slice) or not isinstance(column, slice)
        node = nodes.rows(node, *_span(row, node.shape[0]))
        node = nodes.columns(node, *_span(column, node.shape[1]))
        if flat and node.shape[1] != 1:
            node = nodes.transposed(node)
        return Bounded(node, flat)

    def reshape(self, *shape: Any) -> Any:
        shape = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        total = self.node.shape[0] * self.node.shape[1]
        known = sympy.Mul(*(size for size in shape if size != -1))
        shape = tuple(sympy.cancel(total / known) if size == -1 else sympy.sympify(size) for size in shape)
        if sympy.expand(sympy.Mul(*shape) - total) != 0:
            raise InputError("shape", f"{total} entries", f"{shape}")
        for size in shape:
            rely_on_whole(size)
        if len(shape) == 1:
            return Bounded(nodes.reshaped(self.node, (shape[0], 1)), True)
        if len(shape) == 3 and shape[0] == 1 and shape[1:] == self.node.shape:
            return Stack(None, self.node)
        if len(shape) != 2:
            raise ArithmeticUnsupported(f"shape {shape} has no norm")
        return Bounded(nodes.reshaped(self.node, shape))

    def sum(self, axis: int | None = None) -> Any:
        """The sum of all entries, a scalar, or of rows or columns, a vector of one dimension."""
        m, n = self.node.shape
        if axis not in (None, 0, 1):
            raise ArithmeticUnsupported(f"a sum over axis {axis!r} has no norm")
        if axis is None or self.flat:
            return total_of(self.node)
        if axis == 1:
            return Bounded(nodes.product([self.node, nodes.ones(n, 1)]), True)
        return Bounded(nodes.transposed(nodes.product([nodes.ones(1, m), self.node])), True)

    def new_zeros(self, shape: Any) -> Any:
        return sympy.Integer(0)


def total_of(node: Node) -> Any:
    """The sum of all entries: ||A||_F^2 for A o A, a real quantity for anything else."""
    found = sympy.Integer(0)
    for coefficient, part in nodes.terms_of(node):
        if part.kind == "entrywise" and part.parts[0] is part.parts[1]:
            found += coefficient * norm(FROBENIUS, part.parts[0]) ** 2
        elif part.kind == "ones":
            found += coefficient * part.shape[0] * part.shape[1]
        elif part.kind == "entrywise" and part.shape[1] == 1:
            x, y = part.parts  # <x, y> of two columns
            world().simplified.add("inner product")
            squares = [norm(FROBENIUS, item) ** 2 for item in (nodes.sum_of([(1, x), (1, y)], x.shape), x, y)]
            found += coefficient * (squares[0] - squares[1] - squares[2]) / 2
        elif part.shape == (1, 1) and part.kind == "absolute":
            found += coefficient * norm(FROBENIUS, part.parts[0])
        elif part.shape == (1, 1) and part.kind != "relu":
            found += coefficient * entry(part, 0, 0)
        else:
            inner = part.parts[0] if part.kind == "without column" else part
            sign = (
                "nonnegative"
                if inner.kind in ("absolute", "softmax", "relu", "step", "variances", "row norms")
                else "real"
            )
            found += coefficient * world().atom("total", (part,), sign)
    return found


def _span(key: Any, size: Any) -> tuple[Any, Any, Any]:
    """Start, stop and length of a slice or an index of an axis of this size."""
    if not isinstance(key, slice):
        within(key, size)
        return key, key + 1, 1
    if key.step is not None:
        raise ArithmeticUnsupported("a slice with a step has no norm")
    start, stop = 0 if key.start is None else key.start, size if key.stop is None else key.stop
    if isinstance(start, Index):
        if not isinstance(stop, Next) or stop.index != start:
            raise ArithmeticUnsupported(f"the slice {start}:{stop} has no norm")
        return start, stop, 1
    if isinstance(stop, int) and stop < 0:
        stop = size + stop
    if not is_nonnegative(sympy.sympify(start)):
        raise ArithmeticUnsupported(f"the slice {start}:{stop} has no norm")
    for length in (sympy.sympify(stop) - start, size - stop):
        if not is_nonnegative(sympy.expand(_at_least(length))):
            rely_on_at_least(length, 0)
    return sympy.sympify(start), sympy.sympify(stop), sympy.sympify(stop) - start


def _at_least(length: Any) -> Any:
    """What a length is at least, without the floors that are subtracted in it: floor(x) <= x."""
    terms = sympy.Add.make_args(length)
    return sympy.Add(
        *(
            -term.args[1].args[0]
            if term.is_Mul and isinstance(term.args[1], sympy.floor) and term.args[0] == -1 and len(term.args) == 2
            else term
            for term in terms
        )
    )


def within(key: Any, size: Any) -> None:
    """Rely on a place of an axis of this size: an index, whose range is what it is made for, or a number from 0 on."""
    if not isinstance(key, Index):
        if not is_nonnegative(sympy.sympify(key)):
            raise ArithmeticUnsupported(f"place {key} of an axis has no norm")
        rely_on_at_least(size - 1 - key, 0)


class Stack(Formal):
    """Samples X of shape (N, m, n): an input, or one matrix in the place of a stack of one."""

    __slots__ = ("name", "sample", "sizes")
    __array_ufunc__ = None

    def __init__(self, name: str | None, sample: Node | None, sizes: tuple[Any, ...] = ()) -> None:
        self.name, self.sample, self.sizes = name, sample, sizes

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(map(plain, self.sizes if self.sample is None else (1, *self.sample.shape)))

    @property
    def ndim(self) -> int:
        return 3

    def __getitem__(self, key: Any) -> Any:
        key = of_loops(key)
        if self.sample is not None and key == 0:
            return Bounded(self.sample)
        if self.name is not None and isinstance(key, (Index, int)):
            within(key, self.sizes[0])
            return Bounded(nodes.leaf(self.name, self.sizes[1:], (key,)))
        raise ArithmeticUnsupported(f"{key!r} of a stack of shape {self.shape}")

    def __iter__(self) -> Any:
        raise ArithmeticUnsupported(f"a loop over a stack of shape {self.shape}")

    def reshape(self, *shape: Any) -> Any:
        own = self.shape
        if len(shape) == 3 and shape[-2:] == own[-2:] and shape[0] in (-1, own[0]):
            return self
        raise ArithmeticUnsupported(f"a stack of shape {self.shape} in shape {shape}")

    def adapted(self, other: Any) -> Any:
        return lifted(other) if isinstance(other, Constant) else scalar(other)


class BoundedFamily(Formal):
    """One scalar, matrix or list for each value of an index."""

    __slots__ = ("entry", "index")
    is_family = True

    def __init__(self, index: Index, entry: Any) -> None:
        self.index, self.entry = index, entry

    def adapted(self, other: Any) -> Any:
        raise ArithmeticUnsupported(f"{other!r} and a family in one operation")

    def __getitem__(self, key: Any) -> Any:
        return moved(self.entry, self.index, of_loops(key))

    def __iter__(self) -> Any:
        raise ArithmeticUnsupported(f"a loop over a family of {self.index.size}")


def moved(value: Any, index: Index, key: Any) -> Any:
    """A value at another index."""
    if isinstance(value, Bounded):
        return Bounded(nodes.at(value.node, index, key), value.flat)
    if isinstance(value, (list, tuple)):
        return type(value)(moved(item, index, key) for item in value)
    if isinstance(value, BoundedFamily):
        return BoundedFamily(value.index, moved(value.entry, index, key))
    return nodes.at(value, index, key) if isinstance(value, sympy.Basic) else value


def lifted(value: Any) -> Bounded:
    """A matrix of given integers, or an operand, as an operand."""
    if isinstance(value, Bounded):
        return value
    if isinstance(value, Constant):
        value = value.array
    if isinstance(value, np.ndarray) and value.ndim == 2:
        m, n = value.shape
        entries = list(value.flat)
        if m == n and all(value[i, j] == (i == j) for i in range(m) for j in range(n)):
            return Bounded(nodes.identity(m))
        if all(item == entries[0] for item in entries):
            return Bounded(nodes.scaled(scalar(entries[0]), nodes.ones(m, n)))
        if all(is_scalar(item) for item in entries):
            return Bounded(nodes.of("numbers", data=tuple(map(scalar, entries)), shape=(m, n)))
    raise ArithmeticUnsupported(f"{value!r} as a matrix has no norm")


def input_matrix(name: str, *sizes: Any) -> Any:
    """A named input: a matrix, a vector of one dimension, or samples."""
    if len(sizes) == 1:
        return Bounded(nodes.leaf(name, (sizes[0], 1)), True)
    if len(sizes) == 2:
        return Bounded(nodes.leaf(name, (sizes[0], sizes[1])))
    if len(sizes) == 3:
        return Stack(name, None, tuple(map(sympy.sympify, sizes)))
    raise InputError(name, "at most three dimensions", f"{len(sizes)}")
