"""The inputs at which the bounds of Appendices C.1 and C.2 are tight: generator domains of their claims.

A domain edits the drawn arrays, of samples X or one sample, of weights at t' and (with the suffix _0) at t, in place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from theorems.convergence.definitions import WEIGHTS

Arrays = dict[str, Any]
Sizes = dict[str, int]


def opposite_tokens(arrays: Arrays, size: float) -> None:
    """Tokens of this size and of opposite signs in turn, along the first feature; all weights zero."""
    for name in ("X", *WEIGHTS):
        arrays[name][:] = 0.0
    arrays["X"][..., ::2, 0], arrays["X"][..., 1::2, 0] = size, -size


def equal_ends(arrays: Arrays) -> None:
    """The weights at t are those at t'."""
    for name in WEIGHTS:
        arrays[f"{name}_0"][:] = arrays[name]


def dominating_token(arrays: Arrays, sizes: Sizes, rng: np.random.Generator) -> None:
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


def zero_pre_activations(arrays: Arrays, sizes: Sizes, rng: np.random.Generator) -> None:
    """W_V = 0: every ReLU sits at its kink."""
    arrays["W_V"][:] = 0.0


def from_zero(arrays: Arrays, sizes: Sizes, rng: np.random.Generator) -> None:
    """All weights vanish at t."""
    for name, values in arrays.items():
        if name.endswith("_0") and not name.startswith("tau"):
            values[:] = 0.0


def close_pairs(arrays: Arrays, sizes: Sizes, rng: np.random.Generator) -> None:
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


def value_crosses_zero(arrays: Arrays, sizes: Sizes, rng: np.random.Generator) -> None:
    """Equal tokens, no attention, and one value weight that moves from below zero to above it: every ReLU switches."""
    for name in ("X", *WEIGHTS):
        arrays[name][:] = 0.0
    arrays["X"][..., 0] = 1.0
    arrays["w_O"][:, 0, 0] = rng.choice([1.0, 2.0], len(arrays["X"]))
    equal_ends(arrays)
    e = 2.0 ** -rng.integers(8, 20, len(arrays["X"]))
    arrays["W_V"][:, 0, 0], arrays["W_V_0"][:, 0, 0] = e, -e


def across_a_kink(arrays: Arrays, sizes: Sizes, rng: np.random.Generator) -> None:
    """Opposite tokens whose pre-activation crosses zero, while the gradients in W_Q or in W_K do not vanish."""
    batch = len(arrays["X"])
    e = 2.0 ** -rng.integers(8, 20, batch)
    for name in ("X", *WEIGHTS):
        arrays[name][:] = 0.0
    if sizes["d_s"] > 1:
        arrays["X"][..., 0, 0], arrays["X"][..., 1, 0] = 1.0, -1.0
    of_queries = rng.random(batch) < 0.5
    arrays["w_O"][:, 0, 0] = arrays["W_V"][:, 0, 0] = 1.0
    if sizes["d"] > 1:  # a constant second feature, along which the value weight crosses zero
        arrays["X"][..., 1] = 1.0
        arrays["W_K"][of_queries, 0, 0], arrays["W_Q"][~of_queries, 0, 0] = 1.0, 1.0
        equal_ends(arrays)
        arrays["W_V"][:, 0, 1], arrays["W_V_0"][:, 0, 1] = e, -e
    else:  # each token turns from the other one to itself
        arrays["X"][..., 2:, 0] = 2.0**-32  # a token of length zero would sit on its kink
        arrays["W_K"][:, 0, 0] = arrays["W_Q"][:, 0, 0] = 1.0
        equal_ends(arrays)
        for chosen, name in ((of_queries, "W_Q"), (~of_queries, "W_K")):
            arrays[name][chosen, 0, 0], arrays[f"{name}_0"][chosen, 0, 0] = e[chosen], -e[chosen]


def balanced_attention(arrays: Arrays, sizes: Sizes, rng: np.random.Generator) -> None:
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


def equal_samples(arrays: Arrays, sizes: Sizes, rng: np.random.Generator) -> None:
    """Equal samples of one token, no attention weights, one active neuron: equality in W_V and w_O; else nearly so."""
    if sizes["d_s"] > 1:
        return dominating_token(arrays, sizes, rng)
    for name in ("X", *WEIGHTS):
        arrays[name][:] = 0.0
    arrays["X"][..., 0] = 2.0
    arrays["W_V"][:, 0, 0] = rng.choice([0.25, 1.0, 4.0], len(arrays["X"]))
    arrays["w_O"][:, 0, 0] = rng.choice([0.25, 1.0, 4.0], len(arrays["X"]))
    if "error" in arrays:
        arrays["error"][:] = rng.choice([0.5, 1.0, 3.0], (len(arrays["X"]), 1, 1))


#: Where the bounds of Lemmas 12 and 13 are attained, or nearly so.
TIGHT_INPUTS = {
    "equal samples": equal_samples,
    "dominating token": dominating_token,
    "all pre-activations zero": zero_pre_activations,
    "balanced attention": balanced_attention,
}
