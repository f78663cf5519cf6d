"""Expressions that run on tensors and on symbolic sizes alike, and how far the two are apart."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy
import torch

import verify.arithmetics.symbols  # noqa: F401  (gives the primitives their forms)
from verify.arithmetics.symbols.difference import float_values
from verify.arithmetics.symbols.indexed import named
from verify.arithmetics.symbols.points import NumericPoint
from verify.arithmetics.tracing import Input, Traced, value_of
from verify.matrix import (
    absolute,
    basis_vector,
    block_diag,
    commutation_matrix,
    concatenate,
    diag,
    diag_part,
    each,
    exp,
    expm,
    eye,
    hadamard,
    indexed,
    inverse,
    khatri_rao,
    kron,
    log,
    normalize_rows,
    ones,
    rational,
    relu,
    row_norms,
    row_sums,
    softmax,
    sqrt,
    step,
    summed,
    total,
    trace,
    unvec_r,
    vec_c,
    vec_r,
)
from verify.oracles.derivatives import hessian, jacobian

SIZES = {name: sympy.Symbol(name, positive=True, integer=True) for name in ("n", "d", "k")}
#: X (n, d), Y (n, d), W (d, k), G (d, d), H (d, d), T (n, n), t (1, n).
SHAPES = {"X": "nd", "Y": "nd", "W": "dk", "G": "dd", "H": "dd", "T": "nn", "t": "1n", "Z": "nd"}


def newton_schulz(M: Any) -> Any:
    """M (3 I - M^T M) / 2, by which singular values stay bounded."""
    return M @ (3 * eye(M.shape[1]) - M.T @ M) * rational(1, 2)


def skew_inverse(G: Any) -> Any:
    """(I + S)^-1 for the skew matrix S = G - G^T."""
    return inverse(eye(G.shape[0]) + G - G.T)


def corner(M: Any, E: Any, N: Any) -> Any:
    """The integral of exp(s M) E exp((1 - s) N) over s in [0, 1], as a corner of exp [[M, E], [0, N]]."""
    m, n = M.shape[0], N.shape[0]
    upper, lower = concatenate([M, E], axis=1), concatenate([E.T * 0, N], axis=1)
    return expm(concatenate([upper, lower], axis=0))[:m, m : m + n]


EXPRESSIONS: dict[str, Callable[..., Any]] = {
    "product": lambda X, W: X @ W @ W.T @ X.T / sqrt(W.shape[1]),
    "square of a sum": lambda X, Y: (X + Y) @ (X - 2 * Y).T,
    "entrywise": lambda X, Y: hadamard(X, Y) * X - X * rational(1, 3),
    "broadcast": lambda X, Y: X * row_sums(Y) + Y * (ones(1, X.shape[0]) @ X),
    "number added": lambda X: (X + 1) @ X.T,
    "kronecker": lambda X, W: kron(X, W) @ kron(X.T, W.T),
    "mixed product": lambda X, W, G: kron(G, W.T) @ kron(G, W) - kron(G @ G, W.T @ W),
    "split identity": lambda X, W: kron(X, W) @ eye(X.shape[1] * W.shape[1]) @ kron(X, W).T,
    "commutation": lambda W: commutation_matrix(W.shape[1], W.shape[0]) @ vec_r(W),
    "commuted product": lambda X, W: commutation_matrix(X.shape[0], W.shape[0])
    @ kron(W, X)
    @ commutation_matrix(W.shape[1], X.shape[1]),
    "columns stacked": lambda X, W: vec_c(X) @ vec_c(W).T,
    "unstacked": lambda X: unvec_r(vec_r(X), *X.shape).T @ X,
    "trace": lambda G, H: trace(G @ H) * trace(eye(G.shape[0])) * G,
    "total": lambda X: total(X * X) * X + total(ones(*X.shape)) * X,
    "diagonals": lambda G, H: diag(diag_part(G @ H)) @ diag(diag_part(G)) + diag(row_sums(G)),
    "softmax": lambda T: softmax(T) @ ones(T.shape[0], 1) @ ones(1, T.shape[0]) + softmax(T),
    "softmax of a transpose": lambda T: softmax(T.T).T @ softmax(T),
    "shifted softmax": lambda T, X: softmax(T + row_sums(X)) - 2 * softmax(T),
    "uniform softmax": lambda X: softmax(row_sums(X) @ ones(1, X.shape[0])) @ X,
    "softmax of one row": lambda T: summed(T.shape[0], lambda i: softmax(T[i : i + 1]).T @ softmax(T[i : i + 1])),
    "softmax times its sum": lambda T, X: (softmax(2 * T) * row_sums(exp(2 * T))) @ X + softmax(T) * row_sums(exp(T.T)) @ X,
    "two softmaxes and a sum": lambda T, X: (softmax(T) @ X * row_sums(exp(T)) * (softmax(T) @ X)) + exp(T) @ X * (softmax(T) @ X),
    "sums to powers": lambda T, X: softmax(T) * row_sums(exp(T)) * row_sums(exp(T)) * (softmax(T) @ X)[:, :1],
    "exponentials over their sum": lambda T, X: exp(T) / row_sums(exp(T)) @ X
    + exp(X @ X.T - T) / row_sums(exp(X @ X.T - T)) @ X,
    "a quotient rule": lambda t: (exp(t).T @ exp(t)) / total(exp(t)) ** 2 + softmax(t).T @ exp(t) / total(exp(t)) ** 3,
    "a power of a product of sums": lambda T, X: X / (row_sums(exp(T)) * row_sums(exp(2 * T))) ** 2 * row_sums(exp(T)),
    "first entry of a product of axes": lambda X, W: vec_r(X)[:1] * kron(X, W) + kron(X, W)[:1] @ kron(X, W).T[:, :1],
    "slope along a direction": lambda X, Y, G: jacobian(
        lambda s: softmax((X + Y * s) @ G @ (X + Y * s).T * (1 + s)) @ (X + Y * s) * (2 - s * s), "s"
    )(total(X) * 0) + vec_r(X),
    "exponentials": lambda X, Y: exp(X + 2 * Y) * exp(-Y) / exp(X),
    "norms": lambda X: normalize_rows(X) @ normalize_rows(X).T * row_norms(X) * sqrt(row_sums(X * X)),
    "unit rows": lambda X: row_sums(normalize_rows(X) * normalize_rows(X)) * X,
    "quotients": lambda X, Y: X / (1 + exp(Y)) + exp(Y) / (1 + exp(Y)),
    "logarithm": lambda X: log(exp(X) * 1) + log(row_sums(exp(X))),
    "functions on the diagonal": lambda T, X: diag(diag_part(exp(T))) @ X - diag(exp(diag_part(T))) @ step(X)
    + diag(diag_part(1 / (1 + T * T))) @ X,
    "products by logarithms": lambda X: exp(row_sums(log(X * X + 1))) + exp(log(X * X + 1)),
    "relu": lambda X, Y: relu(X) * step(X) * step(2 * X) + relu(-X) * step(X) + absolute(Y - X),
    "steps": lambda X: step(X * exp(X)) * step(-3 * X) + step(X * X),
    "inverse": lambda G, H: inverse(G @ G.T + eye(G.shape[0])) @ (G @ G.T) @ H,
    "inverse of a transpose": lambda G: inverse(G.T) @ G.T @ inverse(G) @ G @ inverse(2 * G),
    "inverse of a skew shift": lambda G, H: skew_inverse(G) @ skew_inverse(G).T @ H,
    "Cayley transform": lambda G, H: (eye(G.shape[0]) - G + G.T) @ skew_inverse(G) @ H,
    "matrix exponential": lambda G: expm(G.T).T @ expm(-G) @ G + expm(0 * G) + expm(G),
    "exponential of a skew matrix": lambda G, H: expm(G - G.T) @ expm(G - G.T).T @ H + expm(G - G.T),
    "push-through": lambda X, G: expm(X @ G @ X.T) @ X @ G + X @ expm(G @ X.T @ X),
    "push-through on the left": lambda X, G: X.T @ expm(X @ G @ X.T - X @ G.T @ X.T) @ X,
    "opposite exponentials": lambda X, T: expm(X @ X.T @ T) @ X @ X.T @ expm(-(T @ X @ X.T)) + expm(T) @ X @ X.T @ expm(-T),
    "exponential and its matrix": lambda G, H: expm(G @ H) @ (G @ H) - G @ H @ expm(G @ H) + expm(G) @ G,
    "mean exponential": lambda G, H: G @ corner(G, eye(G.shape[0]), G * 0) + corner(H - G, G, G * 0) @ H,
    "mean exponential of a sum": lambda G, H: (G - H) @ corner(G - H, H, G * 0) + corner(G * 0, G - H, G - H) @ G,
    "exponential of blocks": lambda G, X: corner(G, G @ X.T, X @ X.T) @ X - G @ corner(G, X.T, X @ X.T) @ X,
    "exponential of a column times a row": lambda X, G, H: expm(concatenate(
        [concatenate([X @ H @ X.T, X @ G], axis=1), concatenate([H @ X.T, G], axis=1)], axis=0
    )) @ concatenate([X, G], axis=0),
    "exponential of equal rows": lambda G, H: expm(
        concatenate([concatenate([G, H], axis=1)] * 2, axis=0)
    ) @ concatenate([H, G], axis=0),
    "integral of two exponentials": lambda G, H: G @ corner(G, G, H) @ H - corner(G, G, H) @ H @ H + corner(H, H, G) @ G,
    "integral of one exponential": lambda G, H: corner(G, eye(G.shape[0]), G) @ H + corner(2 * G, 2 * G, 2 * G),
    "integral of a sum": lambda G, H: corner(G + H, G + H, G + H) - 2 * corner(G + H, eye(G.shape[0]), G + H),
    "integral pushed through": lambda X, G: X @ corner(G @ X.T @ X, G @ X.T, X @ X.T) @ X,
    "exponential of similar matrices": lambda G, H: expm(G @ H @ inverse(G)) @ G + expm(inverse(G).T @ (H + G) @ G.T)
    + expm(inverse(H) @ H.T @ H),
    "exponential beside an identity": lambda G, W: expm(kron(eye(W.shape[1]), G)) @ kron(W.T, G) + kron(W.T, expm(G)),
    "inverse of blocks": lambda X, T: inverse(concatenate(
        [concatenate([eye(X.shape[1]), X.T], axis=1), concatenate([T @ X, -(T @ T.T)], axis=1)], axis=0
    ))[X.shape[1] :, X.shape[1] :] @ T,
    "blocks and a multiple of the identity": lambda X, T: concatenate(
        [concatenate([T, X], axis=1), concatenate([X.T, X.T @ X], axis=1)], axis=0
    ) @ concatenate([X, X.T @ X], axis=0) + 0 * ones(X.shape[0] + X.shape[1], X.shape[1]),
    "softmax and its normaliser": lambda T, X: softmax(T) * row_sums(exp(T)) * row_sums(exp(T)) + softmax(T) * row_sums(exp(2 * T)),
    "columns of a softmax": lambda T: indexed("ij,ik->(i j)(k)", softmax(T), exp(T)) - 2 * indexed(
        "ij,ik->(i k)(j)", softmax(T), exp(T)
    ),
    "slices": lambda X: X[:, :1] @ X[:1] + X,
    "leading columns": lambda G, W: G[:, : G.shape[0]] @ eye(G.shape[0])[:, : G.shape[0]].T @ W,
    "unit vectors": lambda X: X @ basis_vector(X.shape[1], 0) @ basis_vector(X.shape[1], 0).T,
    "unit vectors of two indices": lambda X, Y: X[:1] @ Y[:1].T * X + (X[:1] @ X[:1].T) ** 2 * Y,
    "given numbers": lambda X: kron(X, eye(2)) @ kron(X.T, ones(2, 1)),
    "stack": lambda X, T: concatenate(each(X.shape[0], lambda i: X.T @ diag(T[i]) @ X), axis=0),
    "side by side": lambda X, T: concatenate(each(X.shape[0], lambda i: X.T @ T[i : i + 1].T), axis=1),
    "block diagonal": lambda X: block_diag(each(X.shape[0], lambda i: X[i : i + 1].T @ X[i : i + 1])),
    "Khatri-Rao": lambda X, Y: khatri_rao(each(X.shape[0], lambda i: X[i : i + 1]), each(X.shape[0], lambda i: Y[i : i + 1])),
    "unit vector of an index": lambda X: summed(X.shape[0], lambda i: basis_vector(X.shape[0], i) @ X[i : i + 1] * X[i, 0]),
    "index constant": lambda X: summed(X.shape[0], lambda i: X),
    "indexed": lambda X, T, G: indexed("ij,ja,ab->(i b)(j)", T, X, G),
    "indexed diagonal": lambda T, X: indexed("ij,ia->(i j)(i a)", T, X),
    "blocks": lambda X, Y: concatenate([X @ X.T, 2 * (Y @ X.T)], axis=0) @ X,
    "grid": lambda X, Y: vec_r(concatenate([concatenate([X, Y], axis=1), concatenate([Y, X], axis=1)], axis=0)),
    "grid product": lambda X, Y: concatenate([X, Y], axis=1) @ concatenate([Y, -X], axis=1).T,
}  # fmt: skip

#: Functions of the first argument.
DERIVATIVES: dict[str, Callable[..., Any]] = {
    "bilinear": lambda X, W: X @ W @ W.T @ X.T,
    "attention": lambda W, X, G: softmax(X @ W @ W.T @ G @ X.T) @ X @ G,
    "attention in tokens": lambda X, G: softmax(X @ G @ X.T) @ X,
    "kronecker": lambda W, X: kron(W, X @ X.T),
    "transpose": lambda W: W.T,
    "exponential": lambda X, Y: exp(2 * X * Y),
    "log-sum-exp": lambda T: log(row_sums(exp(T))),
    "relu": lambda X, G: relu(X @ G) @ G,
    "absolute": lambda X: absolute(X) * X,
    "normalised": lambda X: 2 * normalize_rows(X),
    "norms": lambda X: row_norms(X) * X,
    "inverse": lambda G: 2 * inverse(G),
    "inverse of a sum": lambda G, H: inverse(eye(G.shape[0]) + G @ G.T) @ H,
    "matrix exponential": lambda G, H: expm(G) @ H,
    "exponential of a product": lambda X, G: expm(X @ G @ X.T) @ X,
    "exponential of a skew matrix": lambda G, H: H @ expm(G - G.T) @ expm(G.T - G),
    "exponential of a symmetric matrix": lambda X, G: G @ expm(X.T @ X),
    "softmax of one row": lambda T, X: summed(T.shape[0], lambda i: diag(softmax(T[i : i + 1])) @ X),
    "constant": lambda X, W: W @ W.T,
    "rational": lambda X, Y: X / (1 + Y * Y) / (1 + X * X),
}

SLOPES: dict[str, Callable[..., Any]] = {
    "loss": lambda X, G: total((softmax(X @ G @ X.T) @ X) * X),
    "softmax": lambda T: 2 * softmax(T),
    "product": lambda X, G: X @ G @ X.T,
    "normalised": lambda X: 2 * normalize_rows(X),
    "inverse": lambda G: trace(inverse(G)),
}


def _symbolic(name: str) -> Any:
    return Traced(Input(name), named(name, *(SIZES.get(letter, 1) for letter in SHAPES[name])))


def _point(names: list[str], seed: int) -> tuple[NumericPoint, dict[str, torch.Tensor]]:
    rng = np.random.default_rng(seed)
    sizes = dict(zip("ndk", rng.choice([2, 3, 4], size=3, replace=False).tolist(), strict=True))
    arrays = {}
    for name in names:
        shape = [sizes.get(letter, 1) for letter in SHAPES[name]]
        arrays[name] = rng.standard_normal(shape)
    point = NumericPoint({SIZES[letter]: size for letter, size in sizes.items()}, arrays)
    return point, {name: torch.as_tensor(array) for name, array in arrays.items()}


def disagreement(function: Callable[..., Any], seed: int) -> float:
    """The largest difference between the normal form of an expression, evaluated, and the expression on tensors."""
    names = list(inspect.signature(function).parameters)
    point, tensors = _point(names, seed)
    formal = float_values(value_of(function(*map(_symbolic, names))), point)
    floats = np.asarray(function(*(tensors[name] for name in names))).reshape(-1)
    return float(np.abs(formal - floats).max() / max(1.0, np.abs(floats).max()))


def slope_disagreement(function: Callable[..., Any], seed: int, order: int, layout: Any) -> float:
    """The same for the Jacobian (order 1) or Hessian (order 2) in the first argument."""
    names = list(inspect.signature(function).parameters)
    point, tensors = _point(names, seed)
    slope = jacobian(function, names[0], layout) if order == 1 else hessian(function, (names[0], names[0]), layout)
    formal = float_values(value_of(slope(*map(_symbolic, names))), point)
    floats = np.asarray(slope(*(tensors[name] for name in names))).reshape(-1)
    return float(np.abs(formal - floats).max() / max(1.0, np.abs(floats).max()))
