"""The objects under study: attention heads, normalisation and projection on the sphere, the single-head energy.

Row-major vec, numerator layout.  S tokens of dimension D, the rows of X; head dimension D_H.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from verify.matrix import (
    basis_vector, concatenate, exp, mapped, normalize_rows, ones, parts, row_sums, softmax, total, vec_r,
)  # fmt: skip
from verify.oracles import jacobian
from verify.vocabulary import Real, Shape, Size, subject

Tokens = Annotated[Any, Shape("S", "D")]
QueryWeights = Annotated[Any, Shape("D", "D", role="query")]
SquareWeights = Annotated[Any, Shape("D", "D")]
Gain = Annotated[Any, Shape("D", role="gate")]
Beta = Annotated[Any, Real(0.125, 8.0)]
Heads = Annotated[int, Size("H")]


@subject("dynamics.normalisation")
def normalisation(Y: Tokens) -> Any:
    """Pi(Y): every row divided by its Euclidean norm, shape (S, D) (Eq. (5))."""
    return normalize_rows(Y)


@subject("dynamics.rms_norm")
def rms_norm(Y: Tokens, gamma: Gain) -> Any:
    """RMSNorm(Y)_i = diag(gamma) Pi(Y)_i, shape (S, D); rows of unit norm, not of unit mean square (Eq. (6))."""
    return normalisation(Y) * gamma.reshape(1, -1)


@subject("dynamics.projection")
def projection(X: Tokens, Y: Any) -> Any:
    """Proj_X(Y)_i = (I - X_i X_i^T) Y_i, shape (S, D): onto the tangent spaces of the sphere at unit rows X_i (Eq. (5))."""
    return Y - X * row_sums(X * Y)


@subject("dynamics.attention_head")
def attention_head(X: Tokens, W_Q: Any, W_K: Any, W_V: Any, beta: Beta) -> Any:
    """SA(X) = softmax(beta X W_Q W_K^T X^T) X W_V, shape (S, D_H) for W_Q, W_K, W_V of shape (D, D_H) (Eq. (2))."""
    return softmax(X @ W_Q @ W_K.T @ X.T * beta) @ X @ W_V


@subject("dynamics.multi_head_attention")
def multi_head_attention(
    X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights, beta: Beta, H: Heads
) -> Any:
    """MSA(X) = Concat(SA_1(X), ..., SA_H(X)) W_O, shape (S, D) (Eq. (1)).

    Head h has the weights in columns h D/H, ..., (h + 1) D/H - 1 of W_Q, W_K and W_V, so D_H = D/H.
    """
    heads = mapped(lambda Q, K, V: attention_head(X, Q, K, V, beta), *(parts(W, H, 1) for W in (W_Q, W_K, W_V)))
    return concatenate(heads, axis=1) @ W_O


@subject("dynamics.energy")
def energy(X: Tokens, W_Q: Any, W_K: Any, beta: Beta) -> Any:
    """E_single(X) = -sum_ij exp(beta X_i^T W_Q W_K^T X_j), a scalar (Eq. (10))."""
    return -total(exp(X @ W_Q @ W_K.T @ X.T * beta))


def flow(X: Tokens, W_Q: Any, W_K: Any, W_V: Any, beta: Beta) -> Any:
    """dX/dt = Proj_X(SA(X)), shape (S, D) (Eq. (3))."""
    return projection(X, attention_head(X, W_Q, W_K, W_V, beta))


def energy_rate_terms(X: Tokens, W_Q: Any, W_K: Any, W_V: Any, beta: Beta) -> Any:
    """The S D products of dE/dX and dX/dt, shape (1, S D); their sum is dE/dt along Eq. (3)."""
    return jacobian(energy, "X")(X, W_Q, W_K, beta) * vec_r(flow(X, W_Q, W_K, W_V, beta)).T


def unit_rows(Y: Tokens) -> Any:
    """e_1 reflected in the hyperplane orthogonal to each row of Y, shape (S, D).

    Every unit vector arises, and rational rows give rational unit vectors, so that the sphere is met exactly.
    """
    S, D = Y.shape
    return ones(S, 1) @ basis_vector(D, 0).T - Y * Y[:, :1] * 2 / row_sums(Y * Y)


def rate_along(energy_of: Callable[[Any], Any], X: Tokens, velocity: Any, zero: Any) -> Any:
    """d/ds energy_of(X + s velocity) at s = `zero`, a scalar: the rate of change of an energy, without its gradient."""

    def displaced(s: Any) -> Any:
        return energy_of(X + velocity * s)

    return total(jacobian(displaced, "s")(zero))
