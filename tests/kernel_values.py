"""Normal forms of the checker of bounds in floats: scalars and matrices at given arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.linalg import block_diag, expm

from verify.kernel.quantities import Index, Matrix, Scalar

FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda A: np.maximum(A, 0),
    "row norms": lambda A: np.linalg.norm(A, axis=1, keepdims=True),
    "step": lambda A: (A > 0).astype(float),
    "absolute": np.abs,
    "softmax": lambda A: np.exp(A) / np.exp(A).sum(axis=1, keepdims=True),
    "normalised rows": lambda A: A / np.linalg.norm(A, axis=1, keepdims=True),
    "exponential": expm,
    "projection": lambda a: np.eye(a.size) - a.T @ a / (a * a).sum(),
    "rows as diagonals": lambda A: block_diag(*(np.diag(row) for row in A)),
    "rows as outer products": lambda A: block_diag(*(np.outer(row, row) for row in A)),
    "mean of rotations": lambda A: expm(np.block([[A, np.eye(len(A))], [np.zeros((len(A), 2 * len(A)))]]))[
        : len(A), len(A) :
    ],
}
KINDS = {"2": 2, "F": "fro"}


def slope(f: Callable[[float], np.ndarray], h: float = 3e-4) -> np.ndarray:
    """f'(0) by differences of fourth order."""
    return np.asarray((8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h))


def iterated(M: np.ndarray, count: int, coefficients: list[float]) -> np.ndarray:
    for _ in range(count):
        M = M @ sum(c * np.linalg.matrix_power(M.T @ M, k) for k, c in enumerate(coefficients))
    return M


class Values:
    """Sizes, scalars and inputs by name."""

    def __init__(
        self, sizes: Mapping[str, int], scalars: Mapping[str, float], arrays: Mapping[str, np.ndarray]
    ) -> None:
        self.sizes, self.scalars, self.arrays = sizes, scalars, arrays

    def number(self, value: Scalar, at: Mapping[Index, int] | None = None) -> float:
        found = 0.0
        for monomial, c in value.terms.items():
            found += float(c) * float(np.prod([self._generator(g, at or {}) ** float(e) for g, e in monomial]))
        return found

    def _generator(self, g: Any, at: Mapping[Index, int]) -> float:
        kind, *data = g
        if kind == "size":
            return self.sizes[data[0]]
        if kind == "scalar":
            return self.scalars[data[0]]
        if kind == "norm":
            A = self.array(next(iter(data[1])), at)
            if data[0] == "1":
                return float(np.abs(A).sum())
            return float(np.abs(A).max() if data[0] == "max" else np.linalg.norm(A, KINDS[data[0]]))
        if kind in ("sum", "exp"):
            return float(np.exp(self.number(data[0], at)) if kind == "exp" else self.number(data[0], at))
        if kind == "largest shift of singular values":
            one, other = (np.linalg.svd(self.array(A, at), compute_uv=False) for A in data)
            return float(np.abs(one - other).max())
        if kind == "mean of exponentials":
            x = self.number(data[0], at)
            return float(np.expm1(x) / x) if x else 1.0
        if kind == "abs":
            return abs(self._generator(data[0], at))
        if kind == "max":
            return max(self.number(value, at) for value in data[0])
        if kind == "power":
            return float(self.number(data[0], at) ** self.number(data[1], at))
        if kind in ("sum over", "max over"):
            terms = [self.number(data[1], {**at, data[0]: k}) for k in self._range(data[0])]
            return sum(terms) if kind == "sum over" else max(terms)
        if kind == "smallest singular value":
            return float(np.linalg.svd(self.array(next(iter(data[0])), at), compute_uv=False)[-1])
        if kind == "smallest eigenvalue":
            A = self.array(data[0], at)
            return float(np.linalg.eigvalsh(A @ A.T)[0])
        if kind == "largest value":
            return float(self.array(next(iter(data[0])), at).max())
        if kind == "weight off the diagonal":
            weights = FUNCTIONS["softmax"](self.array(data[0], at))
            return float((weights - np.diag(np.diag(weights))).max())
        if kind == "spectral radius":
            return float(np.abs(np.linalg.eigvals(self.array(data[0], at))).max())
        raise KeyError(kind)

    def _range(self, index: Index) -> range:
        return range(self.size(index.size))

    def size(self, value: Scalar) -> int:
        return round(self.number(value))

    def array(self, A: Matrix, at: Mapping[Index, int] | None = None) -> np.ndarray:
        found = np.zeros((self.size(A.rows), self.size(A.columns)))
        for word, c in A.terms.items():
            product = np.eye(len(found))
            for item in word:
                product = product @ self._atom(item, at or {})
            found = found + self.number(c, at) * product
        return found

    def _atom(self, item: Any, at: Mapping[Index, int]) -> np.ndarray:
        kind, turned, rows, columns, *data = item
        shape = (columns, rows) if turned else (rows, columns)
        plain = self._plain(kind, tuple(map(self.size, shape)), data, at)
        return plain.T if turned else plain

    def _plain(self, kind: str, shape: tuple[int, int], data: list[Any], at: Mapping[Index, int]) -> np.ndarray:
        if kind == "input":
            return self.arrays[data[0]][tuple(at[k] if isinstance(k, Index) else self.size(k) for k in data[1])]
        if kind == "embedding":
            start = at[data[0]] if isinstance(data[0], Index) else self.size(data[0])
            return np.eye(shape[0])[:, start : start + shape[1]]
        if kind == "other columns":
            return np.delete(np.eye(shape[0]), at[data[0]], axis=1)
        if kind == "ones":
            return np.ones(shape)
        if kind == "permutation":
            return np.eye(shape[0])[::-1]
        if kind in FUNCTIONS:
            return FUNCTIONS[kind](self.array(data[0], at))
        if kind == "entrywise":
            one, *others = (self.array(A, at) for A in data[0])
            return one * (others[0] if others else one)
        if kind == "kronecker":
            return np.kron(*(self.array(A, at) for A in data))
        if kind == "diagonal":
            return np.diag(self.array(data[0], at).reshape(-1))
        if kind == "reshape":
            return self.array(data[0], at).reshape(shape)
        if kind == "inverse":
            return np.linalg.inv(self.array(data[0], at))
        if kind == "iterate":
            return iterated(self.array(data[0], at), self.size(data[1]), [self.number(c) for c in data[2:]])
        if kind.endswith(" differential"):
            M, change = (self.array(A, at) for A in data[:2])
            rest = [self.number(c, at) for c in data[2:]]
            made: dict[str, Callable[[np.ndarray], np.ndarray]] = {
                "iterate": lambda X: iterated(X, round(rest[0]), rest[1:]),
                "normalised": lambda X: X / (np.linalg.norm(X) + rest[0]),
                **FUNCTIONS,
            }
            function = made[kind.removesuffix(" differential")]
            return slope(lambda t: function(M + t * change))
        if kind == "derivative":
            V, P, layout, name = data
            return self._derivative(V, self.array(P, at), "C" if layout == "row-major" else "F", name, at)
        if kind == "direction":  # along which a derivative moves most
            ((item,),) = data[0].terms
            found = np.linalg.svd(self._atom(item, at))[2][0]
            return found.reshape(shape, order="C" if item[6] == "row-major" else "F")
        index, inner = data
        blocks = [self.array(inner, {**at, index: k}) for k in self._range(index)]
        joined = {"stack": np.concatenate, "block diagonal": lambda found: block_diag(*found), "sum over": sum}
        return np.asarray(joined[kind](blocks))

    def _derivative(self, V: Matrix, P: np.ndarray, order: Any, name: str, at: Mapping[Index, int]) -> np.ndarray:
        def moved(direction: np.ndarray, t: float) -> np.ndarray:
            arrays = {**self.arrays, name: P + t * direction}
            return Values(self.sizes, self.scalars, arrays).array(V, at).reshape(-1, order=order)

        units = [row.reshape(P.shape, order=order) for row in np.eye(P.size)]
        return np.stack([slope(lambda t, D=D: moved(D, t)) for D in units], axis=1)  # type: ignore[misc]
