"""The float value of a sum at concrete sizes and arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sympy

from verify.arithmetics.symbols.canonical import Key
from verify.arithmetics.symbols.heads import AT_STEP, Head, Size
from verify.arithmetics.symbols.iterates import GENERIC, ITERATE, ITERATE_SLOPE, slope_in_floats
from verify.arithmetics.symbols.matrix_exponential import LEGGED, legs_of
from verify.arithmetics.symbols.recurrences import STEPPED, state_name
from verify.arithmetics.symbols.sums import Sum
from verify.vocabulary.errors import ArithmeticUnsupported, InputError


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
            self._known[made] = self._evaluated(made)
        return self._known[made]

    def _evaluated(self, made: Head) -> np.ndarray:
        shape = tuple(self.size(size) for size in made.sizes)
        if made.kind == "delta":
            return np.eye(shape[0])
        if made.kind == "unit":
            return np.eye(shape[0])[made.parameter]
        if made.kind == "selection":
            start = int(sympy.sympify(made.parameter).subs(self.scalars))
            return np.eye(shape[0])[:, start : start + shape[1]]
        if made.kind == "grouping":
            return np.eye(shape[0]).reshape(shape)
        if made.kind == "order":
            return np.tri(shape[0], shape[1], int(sympy.sympify(made.parameter).subs(self.scalars)))
        if made.kind in ("tensor", AT_STEP):
            if made.name not in self.arrays:
                raise InputError("arrays", f"values of {made.name}", str(sorted(self.arrays)))
            return np.asarray(self.arrays[made.name], dtype=np.float64).reshape(shape)
        if made.kind == STEPPED:
            return self._stepped(made).reshape(shape)
        assert made.inner is not None
        if made.kind in LEGGED:
            return self._exponential(made)
        inner = self.values(made.inner)
        if made.kind == ITERATE:
            for _ in range(self.size(made.parameter.count)):
                inner = NumericPoint(self.scalars, {GENERIC: inner}).values(made.parameter.generic_image)
            return inner.reshape(shape)
        if made.kind == ITERATE_SLOPE:
            return slope_in_floats(made.parameter, self.size(made.parameter.count), inner).reshape(shape)
        if made.kind == "named":
            return inner
        if made.kind == "exp":
            return np.exp(self.number(made.parameter.expression) * inner)
        if made.kind == "power":
            return inner ** float(made.parameter)
        if made.kind == "step":
            return (inner > 0).astype(np.float64)
        if made.kind == "log":
            return np.log(inner)
        if made.kind == "softmax":
            over = tuple(range(inner.ndim - made.parameter, inner.ndim))
            weights = np.exp(inner - inner.max(axis=over, keepdims=True))
            return weights / weights.sum(axis=over, keepdims=True)
        if made.kind == "inverse":
            rows = int(np.prod(inner.shape[: made.parameter]))
            return np.linalg.inv(inner.reshape(rows, -1)).reshape(shape)
        raise ArithmeticUnsupported(f"{made.kind} has no float form")

    def _stepped(self, made: Head) -> np.ndarray:
        """The value of what moves from step to step, with all on which it depends."""
        starts, images = made.parameter.sums
        states = [self.values(start) for start in starts]
        count = self.size(made.parameter.count)
        for k in range(count):
            arrays = {state_name(place): state for place, state in enumerate(states)} | {AT_STEP: np.eye(count)[k]}
            point = NumericPoint(self.scalars, self.arrays | arrays)
            states = [point.values(image) for image in images]
        return states[made.parameter.own]

    def _exponential(self, made: Head) -> np.ndarray:
        """exp(M), and as corners of exp [[M, E], [0, N]] the mean exponential and the Frechet derivative."""
        legs = [self.values(leg.matrix) for leg in legs_of(made)]
        if made.kind == "expm":
            return _expm(legs[0])
        if made.kind == "phi":
            n = len(legs[0])
            return _expm(np.block([[legs[0], np.eye(n)], [np.zeros((n, 2 * n))]]))[:n, n:]
        m, n = map(len, legs)
        found = np.empty((m, m, n, n))
        for b, c in np.ndindex(m, n):
            corner = np.zeros((m, n))
            corner[b, c] = 1.0
            found[:, b, c, :] = _expm(np.block([[legs[0], corner], [np.zeros((n, m)), legs[1]]]))[:m, m:]
        return found


def _expm(matrix: np.ndarray) -> np.ndarray:
    import torch

    return torch.linalg.matrix_exp(torch.as_tensor(matrix).expand(2, *matrix.shape))[0].numpy()
