"""The constants of Appendix C.1 from the norms of weights and tokens, and the inputs at which its bounds are tight.

The bounds grow with C_x and the lambdas, so they are attacked where both are as small as Assumption 1 and the hypotheses
allow: C_x = max ||X_n||_F / sqrt(d_s), and each lambda the largest norm of its weight.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from theorems.convergence.definitions import WEIGHTS
from theorems.convergence.descent import Bounds, sample_bound, stacked
from theorems.convergence.gradients import attention_rows
from verify.matrix import concatenate, maximum, spectral_norm, sqrt
from verify.vocabulary import Real

PositiveScale = Annotated[Any, Real(0.0625, 2.0)]
Weights = dict[str, Any]

ASSUMPTION_1 = "Assumption 1: ||X_n||_F <= sqrt(d_s) C_x"
NORMS = "||W_Q||_2 <= lambda_Q, ||W_K||_2 <= lambda_K, ||W_V||_2 <= lambda_V, ||w_O||_2 <= lambda_O at t and t'"


class NormBounds(Bounds):
    """The constants of Appendix C.1 made of norms that hold at every one of the given weights."""

    def __init__(self, X: Any, weights: list[Weights], tau_0: Any, tau_1: Any) -> None:
        self.N, self.d_s = X.shape[0], X.shape[1]
        norms = {
            name: maximum(stacked([spectral_norm(theta[name]) for theta in weights]))
            for name in ("W_Q", "W_K", "W_V", "w_O")
            if name in weights[0]
        }
        self.Q, self.K, self.V, self.O = (norms.get(name, 0) for name in ("W_Q", "W_K", "W_V", "w_O"))
        self.tau_0, self.tau_1, self.C_x = tau_0, tau_1, sample_bound(X)
        self.per_sample = tau_1 * self.C_x * (self.d_s * sqrt(self.d_s))
        self.rho = self.per_sample * sqrt(self.N)
        self.kappa = tau_0 * self.C_x * self.C_x * (2 * self.d_s)
        self.slope = self.kappa * (self.Q + self.K)


def at_both_ends(*weights: Any) -> tuple[Weights, Weights]:
    """W_Q, W_K, W_V, w_O at t' and the same at t, by name."""
    return dict(zip(WEIGHTS, weights[:4], strict=True)), dict(zip(WEIGHTS, weights[4:], strict=True))


def distance(theta: Weights, theta_0: Weights) -> Any:
    """||theta - theta_0||_2 over all weights."""
    return sqrt(sum(((theta[name] - theta_0[name]) * (theta[name] - theta_0[name])).sum() for name in WEIGHTS))


def pre_activations(X: Any, theta: Weights, tau_0: Any) -> Any:
    """W_V X_n^T beta_i for all n and i, in one row."""
    rows = [
        (theta["W_V"] @ X[n].T @ beta).reshape(1, -1)
        for n in range(X.shape[0])
        for beta in attention_rows(X[n], theta["W_Q"], theta["W_K"], tau_0)
    ]
    return concatenate(rows, axis=1)


def same_pattern(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, W_Q_0: Any, W_K_0: Any, W_V_0: Any, w_O_0: Any, tau_0: Any
) -> Any:
    """Products of the pre-activations at both ends: positive where no ReLU differs in state."""
    theta, theta_0 = at_both_ends(W_Q, W_K, W_V, w_O, W_Q_0, W_K_0, W_V_0, w_O_0)
    return pre_activations(X, theta, tau_0) * pre_activations(X, theta_0, tau_0)


def same_pattern_of_one(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, W_Q_0: Any, W_K_0: Any, W_V_0: Any, w_O_0: Any, tau_0: Any
) -> Any:
    """The same for one sample X (d_s, d)."""
    return same_pattern(X.reshape(1, *X.shape), W_Q, W_K, W_V, w_O, W_Q_0, W_K_0, W_V_0, w_O_0, tau_0)


def length(slopes: Any, tau_1: Any) -> Any:
    """||slopes||_F in the arithmetic of tau_1: gradients of a network that is inactive come as plain zeros."""
    return sqrt((slopes * slopes).sum() + tau_1 * 0)


def bounds_at(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any, tau_1: Any) -> NormBounds:
    """The constants of Appendix C.1 at one set of weights."""
    return NormBounds(X, [{"W_Q": W_Q, "W_K": W_K, "W_V": W_V, "w_O": w_O}], tau_0, tau_1)


def dominating_token(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """One token carries nearly all of the norm, all others attend to it, and its values are aligned: the extreme of rho.

    Small tokens and large W_Q, W_K, so that tau_0 C_x^2 lambda_Q stays small although the logits are large.
    """
    if sizes["d"] < 2:
        return
    X = arrays["X"]
    X[:] = 0.0
    X[..., 1] = 2.0**-14
    X[..., 0, 0] = 2.0**-11
    batch = len(X)
    for suffix in ("", "_0"):
        for name, column, size in (("W_Q", 1, 2.0**16), ("W_K", 0, 2.0**16)):
            if name + suffix in arrays:
                arrays[name + suffix][:] = 0.0
                arrays[name + suffix][:, 0, column] = size
        if "W_V" + suffix in arrays:
            arrays["W_V" + suffix][:] = 0.0
            arrays["W_V" + suffix][:, 0, 0] = rng.choice([1.0, 2.0, 3.0], batch)
        if "w_O" + suffix in arrays:
            arrays["w_O" + suffix][:] = 0.0
            arrays["w_O" + suffix][:, 0, 0] = rng.choice([1.0, 2.0], batch)
    if "error" in arrays:
        arrays["error"][:] = 1.0


def zero_pre_activations(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """W_V = 0: every ReLU sits at its kink."""
    arrays["W_V"][:] = 0.0


def from_zero(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """All weights vanish at t."""
    for name, values in arrays.items():
        if name.endswith("_0") and not name.startswith("tau"):
            values[:] = 0.0


def close_pairs(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Weights at t' a step away from those at t, often nearly in one weight alone; tokens small or large, often opposite."""
    batch = len(arrays["X"])
    X = arrays["X"]
    if sizes["d_s"] > 1:
        opposite = rng.random(batch) < 0.5
        X[opposite, ..., 1, :] = -X[opposite, ..., 0, :]
        X[opposite, ..., 2:, :] = 0.0

    def along(values: np.ndarray, like: np.ndarray) -> np.ndarray:
        return values.reshape(-1, *[1] * (like.ndim - 1))

    X *= along(rng.choice([1.0, 64.0], batch), X)
    weights = [name for name in arrays if f"{name}_0" in arrays]
    moving = rng.integers(0, len(weights) + 1, batch)
    size = 2.0 ** -rng.integers(0, 20, batch)
    shrunk = rng.choice([1.0, 2.0**-8], batch)
    for k, name in enumerate(weights):
        start, direction = arrays[name], arrays[f"{name}_0"]
        if name in ("W_Q", "W_K"):
            start *= along(shrunk, start)
        moves = np.where((moving == k) | (moving == len(weights)), size, size * 2.0**-12)
        arrays[f"{name}_0"][:] = start + direction * along(moves, direction)


def balanced_attention(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Every other token large, equal logits, one of W_Q and W_K large: where the gradient in the other one dominates."""
    X, batch = arrays["X"], len(arrays["X"])
    X[:] = 0.0
    X[..., 0] = 32.0
    X[..., 1::2, :] = 0.0
    of_queries = rng.random(batch) < 0.5
    for name, is_large in (("W_K", of_queries), ("W_Q", ~of_queries)):
        arrays[name][:] = 0.0
        arrays[name][is_large, 0, 0] = 32.0
    if sizes["d"] > 1:  # the pre-activation comes from a constant feature, the gradient from the other one
        X[..., 1] = 0.5
        arrays["W_V"][:, :, 1] = np.abs(arrays["W_V"][:, :, 1]) + 0.5
    arrays["w_O"][:] = np.abs(arrays["w_O"]) + rng.choice([0.25, 1.0], (batch, 1, 1))


def equal_samples(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Equal samples of one token, no attention weights, one active neuron: equality in W_V and w_O; else nearly so."""
    if sizes["d_s"] > 1:
        return dominating_token(arrays, sizes, rng)
    for name in ("X", "W_Q", "W_K", "W_V", "w_O"):
        arrays[name][:] = 0.0
    arrays["X"][..., 0] = 2.0
    arrays["W_V"][:, 0, 0] = rng.choice([0.25, 1.0, 4.0], len(arrays["X"]))
    arrays["w_O"][:, 0, 0] = rng.choice([0.25, 1.0, 4.0], len(arrays["X"]))
    if "error" in arrays:
        arrays["error"][:] = rng.choice([0.5, 1.0, 3.0], (len(arrays["X"]), 1, 1))
