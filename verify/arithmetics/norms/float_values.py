"""Nodes and quantities in floats, at given sizes and arrays."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import flint
import numpy as np
import sympy

from verify.arithmetics.balls import precision
from verify.arithmetics.block_exponentials import corner, exponential, growth, mean
from verify.arithmetics.norms import chain_rule, nodes
from verify.arithmetics.norms.atoms import GAIN, MEAN_EXPONENTIAL, SHIFT, SMALLEST
from verify.arithmetics.norms.differentials import depends, differential
from verify.arithmetics.norms.signs import ball_of, symbols_of
from verify.arithmetics.norms.world import BINDING, Index, Node, World, resumed
from verify.vocabulary.errors import ArithmeticUnsupported

#: Digits of what is evaluated, in bits too; a ball that knows more bits than a float has is as good as a number.
DIGITS, BITS, ENOUGH = 60, 200, 60
#: Central differences of order eight: the step, and the weights of its multiples.
STEP, WEIGHTS = 2.0**-7, (4 / 5, -1 / 5, 4 / 105, -1 / 280)


class Values:
    """The values of nodes and quantities of one world; `scalars` for sizes and scalars, `arrays` for inputs by name."""

    def __init__(self, known: World, scalars: Mapping[Any, float], arrays: Mapping[str, np.ndarray]) -> None:
        self.known, self.scalars, self.arrays = known, dict(scalars), dict(arrays)
        self._found: dict[Any, np.ndarray] = {}
        self._whole = {symbol: sympy.Integer(v) for symbol, v in self.scalars.items() if symbol.is_integer}
        self._sizes: dict[Any, int] = {}
        self._numbers: dict[Any, float] = {}

    def number(self, value: Any, at: Mapping[Index, int] | None = None) -> float:
        """A scalar with its quantities evaluated."""
        at = at or {}
        value = sympy.sympify(value)
        if value.is_Symbol:
            return self._symbol(value, at)
        changes = {symbol: self._symbol(symbol, at) for symbol in symbols_of(value)}
        # many digits: e^x - 1 loses as many as x has zeros behind the point
        with precision(BITS):
            ball = ball_of(value, lambda symbol: flint.arb(changes[symbol]))
            if ball is not None and ball.is_finite() and ball.rel_accuracy_bits() > ENOUGH:
                return float(ball.mid())
        return float(value.xreplace({symbol: sympy.Float(number, DIGITS) for symbol, number in changes.items()}))

    def _symbol(self, symbol: Any, at: Mapping[Index, int]) -> float:
        key = (symbol, frozenset(at.items()))
        if key not in self._numbers:
            self._numbers[key] = self._of_symbol(symbol, at)
        return self._numbers[key]

    def _of_symbol(self, symbol: Any, at: Mapping[Index, int]) -> float:
        if symbol not in self.known.atoms:
            return float(self.scalars[symbol])
        atom = self.known.atoms[symbol]
        first = atom.payload[0]
        if atom.kind == "largest of":
            return max(self.number(value, at) for value in atom.payload)
        if atom.kind == "root":
            return float(np.sqrt(self.number(first, at)))
        if atom.kind == MEAN_EXPONENTIAL:
            exponent = self.number(first, at)
            return float(np.expm1(exponent) / exponent) if exponent else 1.0
        if atom.kind in ("largest over", "sum over"):
            values = [self.number(atom.payload[1], {**at, first: k}) for k in range(self.size(first.size))]
            return max(values) if atom.kind == "largest over" else float(np.sum(values))
        if atom.kind == SHIFT:
            one, other = (np.linalg.svd(self.array(node, at), compute_uv=False) for node in atom.payload)
            return float(np.abs(one - other).max())
        array = self.array(first, at)
        if atom.kind == "entry":
            return float(array[self._place(atom.payload[1], at), self._place(atom.payload[2], at)])
        measures: dict[str, Callable[[np.ndarray], Any]] = {
            "spectral norm": lambda A: np.linalg.norm(A, 2),
            "Frobenius norm": np.linalg.norm,
            "spectral radius": lambda A: np.abs(np.linalg.eigvals(A)).max(),
            "largest column sum": lambda A: np.abs(A).sum(axis=0).max(),
            "largest row sum": lambda A: np.abs(A).sum(axis=1).max(),
            "largest entry": lambda A: np.abs(A).max(),
            "smallest eigenvalue": lambda A: np.linalg.eigvalsh(A)[0],
            SMALLEST: lambda A: np.linalg.svd(A, compute_uv=False)[-1],
            GAIN: lambda A: np.linalg.svd(A, compute_uv=False)[-1] if A.shape[0] >= A.shape[1] else 0.0,
            "largest weight off the diagonal": lambda A: A[~np.eye(len(A), dtype=bool)].max(initial=0.0),
            "largest value": lambda A: A.max(initial=-np.inf),
            "total": lambda A: A.sum(),
            "total of exponentials": lambda A: np.exp(A).sum(),
        }
        return float(measures[atom.kind](array))

    def size(self, size: Any) -> int:
        if size not in self._sizes:
            self._sizes[size] = int(sympy.sympify(size).xreplace(self._whole))
        return self._sizes[size]

    def _place(self, item: Any, at: Mapping[Index, int]) -> int:
        return at[item] if isinstance(item, Index) else self.size(item)

    def array(self, node: Node, at: Mapping[Index, int]) -> np.ndarray:
        """A node as an array, with free indices at the given values."""
        key = (node.number, *(at[index] for index in sorted(node.indices, key=str) if index in at))
        if key not in self._found:
            self._found[key] = self._array(node, at)
        return self._found[key]

    def _array(self, node: Node, at: Mapping[Index, int]) -> np.ndarray:
        m, n = (self.size(size) for size in node.shape)
        if node.kind == "derivative":
            return self._derivative(node, at)
        parts = [self.array(part, at) for part in node.parts] if node.kind not in BINDING else []
        if node.kind in SIMPLE:
            return SIMPLE[node.kind](*parts)
        if node.kind == "input":
            name, *indices = node.data
            return self.arrays[name][tuple(self._place(item, at) for item in indices)].reshape(m, n)
        if node.kind == "zeros":
            return np.zeros((m, n))
        if node.kind == "ones":
            return np.ones((m, n))
        if node.kind == "identity":
            return np.eye(m)
        if node.kind == "numbers":
            return np.array([self.number(item, at) for item in node.data]).reshape(m, n)
        if node.kind == "unit":
            return np.eye(m)[:, [self._place(node.data[0], at)]]
        if node.kind == "sum":
            kinds = {part.kind: k for k, part in enumerate(node.parts)}
            if len(node.parts) == 2 and set(kinds) == {"exponential", "identity"} and sum(node.data) == 0:
                k = kinds["exponential"]  # exp(A) - I, without cancellation for small A
                return self.number(node.data[k], at) * growth(self.array(node.parts[k].parts[0], at))
            return np.sum([self.number(c, at) * part for c, part in zip(node.data, parts, strict=True)], axis=0)
        if node.kind == "product":
            return parts[0] if len(parts) == 1 else np.linalg.multi_dot(parts)
        if node.kind == "reshape":
            return parts[0].reshape(m, n)
        if node.kind == "without column":
            return np.delete(parts[0], self._place(node.data[0], at), axis=1)
        if node.kind in ("rows", "part"):
            start = self._place(node.data[0], at) * (m if node.kind == "part" else 1)
            return parts[0][start : start + m]
        if node.kind == "normalised differential":
            return _normalised_differential(parts[0], parts[1], self.number(node.data[0], at))
        if node.kind == "iterate differential":  # by an imaginary step, which cancels nothing
            coefficients = [float(c) for c in node.data[1:]]
            return self._iterate(parts[0] + 1e-30j * parts[1], self.size(node.data[0]), coefficients).imag / 1e-30
        if node.kind == "iterate":
            return self._iterate(parts[0], self.size(node.data[0]), [float(c) for c in node.data[1:]])
        if node.kind == "permutation":
            a, b = (self.size(item) for item in node.data[1:])
            return np.eye(a * b)[np.arange(a * b).reshape(b, a).T.reshape(-1)]
        if node.kind in BINDING:
            return self._over_an_index(node, at)
        raise ArithmeticUnsupported(f"{node.kind} in floats")

    def _derivative(self, node: Node, at: Mapping[Index, int]) -> np.ndarray:
        """A Jacobian: by its differential; elsewhere by an imaginary step, or by central differences of order eight."""
        value, point = node.parts
        order: Any = "F" if node.data[0] == "column-major" else "C"
        start, columns = self.array(point, at), []
        with contextlib.suppress(ArithmeticUnsupported):
            return self._by_differential(node, start, order, at)

        def moved(step: Any) -> np.ndarray:
            inner = Values(self.known, self.scalars, {**self.arrays, node.data[1]: start + step})
            return inner.array(value, at).reshape(-1, order=order)

        for place in range(start.size):
            direction = (np.arange(start.size) == place).astype(float).reshape(start.shape, order=order)
            if is_analytic(value, node.data[1], self.known):
                columns.append(moved(1e-30j * direction).imag / 1e-30)
                continue
            pairs = [moved(k * STEP * direction) - moved(-k * STEP * direction) for k in range(1, 5)]
            columns.append(np.tensordot(WEIGHTS, pairs, 1) / STEP)
        return np.stack(columns, axis=1)

    def _by_differential(self, node: Node, start: np.ndarray, order: Any, at: Mapping[Index, int]) -> np.ndarray:
        value, point = node.parts
        with resumed(self.known):
            direction = nodes.leaf(f"direction of {node.data[1]}", point.shape)
            change = differential(value, nodes.leaf(node.data[1], point.shape), point, direction)
            moving = {other.number for other in self.known.nodes.values() if depends(other, direction)}
        columns = []
        for place in range(start.size):
            unit = (np.arange(start.size) == place).astype(float).reshape(start.shape, order=order)
            inner = Values(self.known, self.scalars, {**self.arrays, direction.data[0]: unit})
            inner._found = dict(self._found)
            columns.append(inner.array(change, at).reshape(-1, order=order))
            self._found = {key: found for key, found in inner._found.items() if key[0] not in moving}
        return np.stack(columns, axis=1)

    def _iterate(self, M: np.ndarray, count: int, coefficients: list[float]) -> np.ndarray:
        for _ in range(count):
            gram = M.T @ M
            M = M @ sum(c * np.linalg.matrix_power(gram, k) for k, c in enumerate(coefficients))
        return M

    def _over_an_index(self, node: Node, at: Mapping[Index, int]) -> np.ndarray:
        index = node.data[0]
        inner = [{**at, index: k} for k in range(self.size(index.size))]
        blocks = [self.array(node.parts[0], place) for place in inner]
        if node.kind == "stack":
            return np.concatenate(blocks, axis=0)
        if node.kind == "sum over":
            return np.sum([self.number(node.data[1], p) * b for p, b in zip(inner, blocks, strict=True)], axis=0)
        return _block_diagonal(blocks)


#: Kinds of node whose entries are analytic functions of those of their operands.
_ANALYTIC = frozenset({
    "block diagonal", "concatenate", "diagonal", "entrywise", "exponential", "identity", "input", "inverse", "iterate",
    "kronecker", "normalised rows", "numbers", "ones", "part", "permutation", "product", "projection", "reciprocal",
    "reshape", "rows", "softmax", "stack", "sum", "sum over", "transpose", "unit", "zeros",
})  # fmt: skip


def is_analytic(node: Node, name: str, known: World) -> bool:
    """Whether the entries of a node are analytic in those of the input `name`: no norm of it is a coefficient."""
    if not chain_rule.depends(node, name, known):
        return True
    return (
        node.kind in _ANALYTIC
        and not any(chain_rule.depends(item, name, known) for item in node.data if not isinstance(item, str))
        and all(is_analytic(part, name, known) for part in node.parts)
    )


def _variances(p: np.ndarray) -> np.ndarray:
    """p_j (1 - p_j) for weights p of shape (1, n), with 1 - p_j as the sum of the others; shape (n, 1)."""
    return p.T * ((1 - np.eye(p.size)) @ p.T)


def _block_diagonal(blocks: list[np.ndarray]) -> np.ndarray:
    return np.block([[b if i == j else np.zeros_like(b) for j in range(len(blocks))] for i, b in enumerate(blocks)])


def _normalised_differential(M: np.ndarray, change: np.ndarray, offset: float) -> np.ndarray:
    """The derivative of M / (||M||_F + offset) along `change`."""
    size = float(np.linalg.norm(M))
    inner = (M * change).sum() / (size * (size + offset)) if size else 0.0
    return (change - inner * M) / (size + offset)


def _differential_of_softmax(T: np.ndarray, change: np.ndarray) -> np.ndarray:
    A = _softmax(T)
    return A * (change - (A * change).sum(axis=1, keepdims=True))


def _softmax(T: np.ndarray) -> np.ndarray:
    weights = np.exp(T - T.real.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


SIMPLE: dict[str, Callable[..., np.ndarray]] = {
    "transpose": lambda A: A.T,
    "entrywise": lambda A, B: A * B,
    "kronecker": np.kron,
    "diagonal": lambda v: np.diag(v.reshape(-1)),
    "softmax": _softmax,
    "relu": lambda A: np.maximum(A, 0.0),
    "step": lambda A: (A > 0).astype(float),
    "absolute": np.abs,
    "reciprocal": lambda A: 1 / A,
    "exponential": exponential,
    "exponential differential": lambda A, change: corner(A, change, A),
    "softmax differential": _differential_of_softmax,
    "mean of rotations": mean,
    "inverse": np.linalg.inv,
    "rows as diagonals": lambda A: _block_diagonal([np.diag(row) for row in A]),
    "rows as outer products": lambda A: _block_diagonal([np.outer(row, row) for row in A]),
    "normalised rows": lambda A: A / np.sqrt((A * A).sum(axis=1, keepdims=True)),
    "projection": lambda a: np.eye(a.size) - a.T @ a / (a * a).sum(),
    "variances": _variances,
    "row norms": lambda A: np.linalg.norm(A, axis=1, keepdims=True),
    "concatenate": lambda *parts: np.concatenate(parts, axis=0),
}
