"""What sections of the paper assume once: tokens and states on the sphere, weights, the update (9), oscillations.

A module takes its setting from here, or states its own above its claims where only that part of the paper uses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from theorems.dynamics.definitions import Beta, Gain, QueryWeights, SquareWeights, Tokens, orthogonal_matrix, unit_rows
from verify.arithmetic import Constant
from verify.claims import Assumption
from verify.matrix import eye, kron, row_sums
from verify.shapes import Real, Shape, Size

Radii = Annotated[Any, Shape("S", "1")]
Step = Annotated[Any, Real(-2.0, 2.0)]


def rows_of_rational_norm(directions: Tokens, radii: Radii) -> dict[str, Any]:
    """Y with rows radii_i (unit vector), shape (S, D)."""
    return {"Y": unit_rows(directions) * radii}


Row = Annotated[Any, Shape("1", "D")]
Width = Annotated[int, Size("N")]

NO_ZERO_ROW = Assumption("no row of Y vanishes", positive=lambda Y: row_sums(Y * Y))


def gain_and_rows(directions: Tokens, radii: Radii, gamma: Gain) -> dict[str, Any]:
    """gamma as drawn, and Y with rows of rational norm, shape (S, D)."""
    return {**rows_of_rational_norm(directions, radii), "gamma": gamma}


Factor = Annotated[Any, Shape("D", "D_H")]
Core = Annotated[Any, Shape("D_H", "D_H", role="query")]

UNIT_TOKENS = Assumption(r"\|X_{[i,:]}\| = 1 for every token i", zero=lambda X: row_sums(X * X) - 1)
POSITIVE_BETA = Assumption(r"\beta > 0", positive=lambda beta: beta)
SYMMETRIC = Assumption(r"A = W^Q W^{K\top} is symmetric", zero=lambda W_Q, W_K: W_Q @ W_K.T - W_K @ W_Q.T)


def on_the_sphere(directions: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta) -> dict[str, Any]:
    """Unit tokens X in the given directions, the weights as drawn."""
    return {"X": unit_rows(directions), "W_Q": W_Q, "W_K": W_K, "beta": beta}


def symmetric_weights(directions: Tokens, factor: Factor, core: Core, beta: Beta) -> dict[str, Any]:
    """Unit tokens, and W_Q = F (M + M^T), W_K = F: then W_Q W_K^T is symmetric, and every symmetric matrix arises."""
    return {"X": unit_rows(directions), "W_Q": factor @ (core + core.T), "W_K": factor, "beta": beta}


def unit_tokens_and_values(
    directions: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, beta: Beta
) -> dict[str, Any]:
    """Unit tokens in the given directions, weights as drawn."""
    return {**on_the_sphere(directions, W_Q, W_K, beta), "W_V": W_V}


State = Annotated[Any, Shape("1", "D")]
Generator = Annotated[Any, Shape("D", "D")]
StepSize = Annotated[Any, Real(-2.0, 2.0)]
Frequency = Annotated[Any, Real(0.0, 3.0)]

ANTISYMMETRIC = Assumption(r"\Omega is anti-symmetric", zero=lambda Omega: Omega + Omega.T)
UNIT_STATE = Assumption(r"\|x\| = 1", zero=lambda x: row_sums(x * x) - 1)
EQUAL_FREQUENCIES = Assumption(
    r"all eigenvalues of \Omega have the magnitude \omega",
    zero=lambda Omega, omega: Omega.T @ Omega - eye(Omega.shape[0]) * (omega * omega),
)
EVEN = {"D": (2, 4)}


def is_even(sizes: Mapping[str, int]) -> bool:
    """Whether D is even, without which an anti-symmetric matrix has the eigenvalue 0."""
    return sizes["D"] % 2 == 0


def equal_frequencies(G: Generator, direction: State, omega: Frequency, eta: StepSize) -> dict[str, Any]:
    """Omega = Q blockdiag(omega K) Q^T with K = [[0, 1], [-1, 0]] and Q a rotation, and a unit state.

    Reflecting Omega and the state together gives the rest, which changes no norm and no eigenvalue.
    """
    Q = orthogonal_matrix(G)
    K = kron(eye(G.shape[0] // 2), Constant([[0, 1], [-1, 0]]))
    return {"x": unit_rows(direction), "Omega": Q @ K @ Q.T * omega, "omega": omega, "eta": eta}


def unit_state(G: Generator, direction: State, eta: StepSize) -> dict[str, Any]:
    """Omega = G - G^T and a unit state."""
    return {"x": unit_rows(direction), "Omega": G - G.T, "eta": eta}


InverseTemperature = Annotated[Any, Real(0.1, 10.0)]
