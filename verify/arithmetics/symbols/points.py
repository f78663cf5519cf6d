"""The float value of a sum at concrete sizes and arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sympy

from verify.arithmetics.symbols.canonical import Key
from verify.arithmetics.symbols.head_kinds import KINDS
from verify.arithmetics.symbols.heads import Head, Size
from verify.arithmetics.symbols.sums import Sum
from verify.vocabulary.errors import InputError


def _contracted(factors: Sequence[tuple[np.ndarray, tuple[int, ...]]], count: int) -> np.ndarray:
    """The sum of products of entries over all indices from `count` on; the others are the axes of the result.

    One index after another is summed, that first whose factors have the smallest product.
    """
    left = list(factors)
    sizes = {name: size for array, own in left for name, size in zip(own, array.shape, strict=True)}
    while True:
        shared: dict[int, set[int]] = {}
        for _, own in left:
            for name in own:
                if name >= count:
                    shared.setdefault(name, set()).update(own)
        if not shared or len(left) == 1:
            break
        first = min(shared, key=lambda name: (math.prod(sizes[other] for other in shared[name]), name))
        inside, left = [item for item in left if first in item[1]], [item for item in left if first not in item[1]]
        outside = {name for _, own in left for name in own}
        kept = sorted(name for name in shared[first] if name < count or name in outside)
        left.append((np.einsum(*(item for pair in inside for item in pair), kept), tuple(kept)))
    return np.einsum(*(item for pair in left for item in pair), range(count))


def in_floats(expression: Any, values: Mapping[Any, float]) -> Any:
    """The value of a sympy expression at those of its symbols, in Python's numbers where they are what sympy finds.

    Sums, products and powers of positive numbers are; sympy substitutes in everything else, at many times the cost.
    """
    if expression.is_Rational:
        return expression.p / expression.q
    if expression.is_Symbol and expression in values:
        return values[expression]
    if expression.is_Add:
        return sum(in_floats(each, values) for each in expression.args)
    if expression.is_Mul:
        return math.prod(in_floats(each, values) for each in expression.args)
    if expression.is_Pow:
        base, exponent = (in_floats(each, values) for each in expression.args)
        if base > 0:
            return base**exponent
    return expression.subs(values)


class NumericPoint:
    """Where a sum is evaluated: integers for the size symbols, floats for scalars, arrays for tensors by name."""

    def __init__(self, scalars: Mapping[Any, float], arrays: Mapping[str, np.ndarray]) -> None:
        self.scalars, self.arrays = dict(scalars), dict(arrays)
        self._known: dict[Head, np.ndarray] = {}
        self._sizes: dict[Size, int] = {}
        self._numbers: dict[Any, float] = {}
        self._terms: dict[Any, np.ndarray] = {}

    def size(self, size: Size) -> int:
        """A size as an integer."""
        if size not in self._sizes:
            self._sizes[size] = self._size(size)
        return self._sizes[size]

    def _size(self, size: Size) -> int:
        if (whole := self._whole(sympy.sympify(size))) is not None:
            return whole
        found = sympy.sympify(size).subs(self.scalars)
        if not found.is_Integer:
            raise InputError("sizes", f"a value for every symbol of {size}", str(self.scalars))
        return int(found)

    def _whole(self, size: Any) -> int | None:
        """A sum of products of sizes, as most are, in whole numbers; None of anything else, in which sympy substitutes."""
        if size.is_Integer:
            return int(size)
        if size.is_Symbol:
            value = self.scalars.get(size)
            return value if isinstance(value, int) else None
        if not (size.is_Add or size.is_Mul):
            return None
        parts = [self._whole(part) for part in size.args]
        whole = [part for part in parts if part is not None]
        return None if len(whole) < len(parts) else sum(whole) if size.is_Add else math.prod(whole)

    def number(self, expression: Any) -> float:
        """A coefficient as a float."""
        if expression not in self._numbers:
            self._numbers[expression] = float(in_floats(sympy.sympify(expression), self.scalars))
        return self._numbers[expression]

    def values(self, value: Sum) -> np.ndarray:
        """The array of a sum, one axis per slot."""
        shape = tuple(self.size(size) for size in value.slots)
        found = np.zeros(shape)
        for key, coefficient in value.terms.items():
            if (key, shape) not in self._terms:  # most terms of a wrong variant are those of the right one
                self._terms[key, shape] = self._term(key, shape)
            found = found + self.number(coefficient.expression) * self._terms[key, shape]
        return found

    def _term(self, key: Key, shape: tuple[int, ...]) -> np.ndarray:
        """The product of a term's factors, without its coefficient, summed over what is no slot."""
        count = len(shape)
        factors = [(self.head(made), tuple(indices)) for made, indices in key]
        met = {index for _, indices in factors for index in indices}
        factors += [(np.ones(shape[slot]), (slot,)) for slot in range(count) if slot not in met]
        return _contracted(factors, count) if factors else np.ones(())

    def head(self, made: Head) -> np.ndarray:
        """The array of a tensor or function, one axis per slot."""
        if made not in self._known:
            found = np.asarray(KINDS[made.kind].values(made, self), dtype=np.float64)
            self._known[made] = found.reshape([self.size(size) for size in made.sizes])
        return self._known[made]

    def at(self, arrays: Mapping[str, np.ndarray]) -> NumericPoint:
        """The same point with values of more tensors."""
        return NumericPoint(self.scalars, {**self.arrays, **arrays})
