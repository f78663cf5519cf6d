"""Reference functions for models: the layer in O(N d^2), its Jacobian, bases of [Q, K], and the initialisation.

Every function here checks its arguments and then calls what a claim certifies, in the parts of the paper that the imports
name.  All quantities are dimensionless.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from theorems.osa.definitions import attention, newton_schulz_basis, newton_schulz_iterate
from theorems.osa.part_2_4_cost.basis_layer import attention_through_basis
from theorems.osa.part_2_4_cost.push_through import (
    attention_in_frame, frame_factor, low_rank_factor, push_through_factor,
)  # fmt: skip
from theorems.osa.part_d_sampling.algorithm_1 import stiefel_uniform
from theorems.osa.shapes import Factor
from verify.matrix import COLUMN
from verify.oracles import jacobian
from verify.vocabulary import InputError, Shape, checked, require_fit

__all__ = [
    "METHODS",
    "Weights",
    "attention_through_basis",
    "initialise",
    "newton_schulz",
    "orthogonal_self_attention",
    "orthogonal_self_attention_jacobian",
    "polar_basis",
]

# -- the layer, with arguments checked ---------------------------------------------------------------------------------

#: Forms of the layer by name; all have the same values and gradients.
METHODS = ("push-through", "frame", "dense")


def orthogonal_self_attention(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any = 1.0, method: str = "push-through"
) -> Any:
    """M-OSA(X) = sum_i exp(S_i) X W_i^V W_i^O (Eqs. (3)-(5)), a tensor of the shape, dtype and device of X.

    Parameters
    ----------
    X: tokens, shape (..., N, d), a float tensor on any device; leading axes are a batch.
    W_Q, W_K, W_V: shape (h, d, d_v), or (d, d_v) for a single head.
    W_O: shape (h, d_v, d), or (d_v, d).
    alpha: a number, or a tensor of shape () or (h,), of either sign.
    method: "push-through", X sum_i exp(W_i X^T X) W_i^V W_i^O: O(N d^2) work, O(N d) memory besides matrices d x d.  Its
        error may grow with the square of the condition number kappa of X (`osa.push-through-accuracy`).  Measured in
        float32: with Gaussian weights 2 to 3 times that of "frame" for kappa from 10^2 to 10^6 (N = 256, d = 16); with
        weights that make a quarter turn of tokens of d = 2, 50 times at kappa = 10^2 and 7500 times at 10^3.  At
        tokens of rank one the gate finds its derivatives farther off than it allows, up to 70 units where 16 are allowed.
        "frame", the same through the Q factor of X = Q R: exponentials of skew matrices, whatever the tokens; O(N d^2).
        "dense", as defined, with h matrices N x N: O(N^3).

    Differentiable to every order in all arguments, by torch.autograd and torch.func (`jvp`, `vjp`, `vmap`), whatever the
    ranks of X and of [Q, K]; for N < 2 d_v too.

    Raises
    ------
    InputError, naming the argument: shapes, dtypes or devices that disagree, d_v > d, an unknown method;
    NotFiniteError, an InputError, for NaN or infinity.

    Certified by osa.push-through-layer, osa.push-through-low-rank, osa.qr-of-x-layer, osa.multi-head-push-through and,
    for gradients, osa.layer-gradient, osa.layer-gradient-low-rank, osa.layer-gradient-qr.

    Example
    -------
    >>> import torch, theorems
    >>> X, weights = torch.randn(7, 4), theorems.layers.initialise(d=4, h=2, dtype=torch.float32)
    >>> theorems.layers.orthogonal_self_attention(X, *weights).shape
    torch.Size([7, 4])
    """
    import torch

    if method not in METHODS:
        raise InputError("method", f"one of {list(METHODS)}", repr(method))
    scale = require_layer(X, W_Q, W_K, W_V, W_O, alpha)
    heads = _Heads(W_Q, W_K, W_V, W_O, scale)
    form = {"push-through": _pushed_through, "frame": _in_frame, "dense": _dense}[method]
    if X.ndim == 2:
        return form(X, heads)
    examples = X.reshape(-1, *X.shape[-2:])
    return torch.func.vmap(lambda one: form(one, heads))(examples).reshape(X.shape)


class _Heads(NamedTuple):
    """The weights of all heads along a leading axis, or of a single one without it."""

    W_Q: Any
    W_K: Any
    W_V: Any
    W_O: Any
    alpha: Any

    def summed(self, function: Callable[..., Any]) -> Any:
        """The sum over the heads of function(W_Q, W_K, W_V, W_O, alpha)."""
        import torch

        if self.W_Q.ndim == 2:
            return function(*self)
        return torch.func.vmap(function, in_dims=(0, 0, 0, 0, 0 if self.alpha.ndim else None))(*self).sum(0)


def _pushed_through(X: Any, heads: _Heads) -> Any:
    d, d_v = heads.W_Q.shape[-2:]
    factor = low_rank_factor if 4 * d_v < d else push_through_factor
    G = X.T @ X
    return X @ heads.summed(lambda *weights: factor(G, *weights))


def _in_frame(X: Any, heads: _Heads) -> Any:
    import torch

    # held fixed, which the terms in P of the frame make right: derivatives of a QR exist only at full column rank
    B = torch.linalg.qr(X.detach()).Q
    return attention_in_frame(X, B, lambda R, P: heads.summed(lambda *weights: frame_factor(R, P, *weights)))


def _dense(X: Any, heads: _Heads) -> Any:
    return heads.summed(lambda *weights: attention(X, *weights))


def require_layer(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> Any:
    """Raise `InputError` unless the arguments fit each other; returns alpha as a tensor like X."""
    import torch

    weights = {"W_Q": W_Q, "W_K": W_K, "W_V": W_V, "W_O": W_O}
    for name, value in {"X": X, **weights}.items():
        if not isinstance(value, torch.Tensor):
            raise InputError(name, "a torch tensor", type(value).__name__)
    batch = tuple(f"batch {axis}" for axis in range(X.ndim - 2))
    head = ("h",) if W_Q.ndim == 3 else ()
    inward, outward = Shape(*head, "d", "d_v"), Shape(*head, "d_v", "d")
    specs = {"X": Shape(*batch, "N", "d"), "W_Q": inward, "W_K": inward, "W_V": inward, "W_O": outward}
    require_fit(specs, {"X": X, **weights})
    d, d_v = W_Q.shape[-2:]
    if d_v > d:
        raise InputError("W_Q", "d_v <= d, since d_v = d / h", f"shape {tuple(W_Q.shape)}")
    per_head = isinstance(alpha, torch.Tensor) and alpha.ndim == 1
    number = isinstance(alpha, (int, float)) and not isinstance(alpha, bool)
    if not (number or (isinstance(alpha, torch.Tensor) and (alpha.ndim == 0 or (head and per_head)))):
        got = f"shape {tuple(alpha.shape)}" if isinstance(alpha, torch.Tensor) else repr(alpha)
        raise InputError("alpha", "a number, or a tensor of shape () or (h,)", got)
    scale = torch.as_tensor(alpha, dtype=X.dtype, device=X.device)
    require_fit({**specs, "alpha": Shape(*(head if per_head else ()))}, {"X": X, "W_Q": W_Q, "alpha": scale})
    return scale


def orthogonal_self_attention_jacobian(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any = 1.0, method: str = "push-through"
) -> Any:
    """J = d vec M-OSA(X) / d vec X, shape (N d, N d), column-major (Theorem C.1), for one X of shape (N, d).

    Arguments and errors as for `orthogonal_self_attention`.  Products J v and J^T v cost one evaluation of the layer
    each: torch.func.jvp and torch.func.vjp of it.  Certified by osa.thm-c.1 and osa.layer-gradient.
    """
    import torch

    if isinstance(X, torch.Tensor) and X.ndim != 2:
        raise InputError("X", "shape (N, d)", f"shape {tuple(X.shape)}")
    require_layer(X, W_Q, W_K, W_V, W_O, alpha)

    def layer(X: Any) -> Any:
        return orthogonal_self_attention(X, W_Q, W_K, W_V, W_O, alpha, method)

    return jacobian(layer, "X", COLUMN)(X)


# -- bases of the span of queries and keys -----------------------------------------------------------------------------


@checked
def newton_schulz(M: Factor, steps: int, epsilon: float | None = 1e-7) -> Any:
    """The matrix M_K after K = `steps` Newton-Schulz steps, a tensor of shape (N, m) (Eq. (9)).

    As the number of steps grows, M_K tends to the matrix with orthonormal columns (rows, if N < m) that is nearest to M,
    provided that M has full rank.  After finitely many steps its singular values are still below 1, so
    `attention_through_basis` with it is orthogonal only up to the error of Theorem A.1.

    Parameters
    ----------
    M: shape (N, m), a finite float tensor.
    steps: how many steps, at least 0.
    epsilon: the first matrix is M / (||M||_F + epsilon).  If it is None, the first matrix is M itself; then every singular
        value of M has to be below sqrt(3).

    Raises `InputError`, naming the argument, if one does not fit.  Certified by osa.ns-convergence.

    Example
    -------
    >>> import torch, theorems
    >>> M = torch.tensor([[3.0, 0.0], [0.0, 1.0], [4.0, 0.0]])
    >>> B = theorems.layers.newton_schulz(M, steps=30)
    >>> bool(torch.allclose(B.T @ B, torch.eye(2), atol=1e-5))
    True
    """
    import torch

    if not isinstance(M, torch.Tensor):
        raise InputError("M", "a torch tensor", type(M).__name__)
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 0:
        raise InputError("steps", "an integer >= 0", repr(steps))
    if epsilon is not None:
        if not isinstance(epsilon, (int, float)) or isinstance(epsilon, bool) or not 0 < epsilon < math.inf:
            raise InputError("epsilon", "a positive number, or None for no normalisation", repr(epsilon))
        return newton_schulz_basis(M, steps, epsilon)
    largest = float(torch.linalg.matrix_norm(M.detach(), 2))
    if not largest < math.sqrt(3):
        raise InputError(
            "M", "singular values below sqrt(3), or an epsilon to normalise with", f"||M||_2 = {largest:.6g}"
        )
    return newton_schulz_iterate(M, steps)


@checked
def polar_basis(M: Factor) -> Any:
    """U = P R^T for the singular value decomposition M = P diag(s) R^T, a tensor of shape (N, m), N >= m (Section 2.3).

    The limit of `newton_schulz`, orthonormal columns nearest to M.  Its columns span those of M whatever the rank, which is
    what `attention_through_basis` needs.  Differentiable where the singular values are distinct and not zero.

    Raises `InputError` for an M that is no finite float matrix, and for N < m, where no columns of M are orthonormal.
    """
    import torch

    if not isinstance(M, torch.Tensor):
        raise InputError("M", "a torch tensor", type(M).__name__)
    if M.shape[0] < M.shape[1]:
        raise InputError("M", "shape (N, m) with N >= m", f"shape {tuple(M.shape)}")
    P, _, Rt = torch.linalg.svd(M, full_matrices=False)
    return P @ Rt


# -- initialisation ----------------------------------------------------------------------------------------------------


class Weights(NamedTuple):
    """The arguments of `orthogonal_self_attention` after X: W_Q, W_K, W_V (h, d, d_v), W_O (h, d_v, d), alpha ()."""

    W_Q: Any
    W_K: Any
    W_V: Any
    W_O: Any
    alpha: Any


def initialise(d: int, h: int, alpha: float = 0.1, generator: Any = None, dtype: Any = None) -> Weights:
    """Random weights as in Appendix C, to be used as `orthogonal_self_attention(X, *initialise(d, h))`.

    There are h heads of width d_v = d / h, drawn independently.  In each, W_V and the transpose of W_O have orthonormal
    columns and are uniformly distributed (C.1), and so are the columns of W_Q and W_K together (C.2).  Then the nonzero
    singular values of W_V W_O and of W_Q W_K^T - W_K W_Q^T are 1.

    Parameters
    ----------
    d: width of a token, a multiple of h.
    h: number of heads, at least 2, so that 2 d_v <= d.
    alpha: factor of the scores, a finite number (C.3 wants it small; Appendix E takes 0.1).
    generator: a torch.Generator, on whose device the weights lie; torch's default one if None.
    dtype: torch.float32 or torch.float64; float64 if None.

    Returns W_Q, W_K and W_V of shape (h, d, d_v), W_O of shape (h, d_v, d), and alpha, a tensor of shape ().

    Raises `InputError`, naming the argument, if one does not fit.  Certified by osa.alg-1 and osa.thm-c.2.

    Example
    -------
    >>> import theorems
    >>> weights = theorems.layers.initialise(d=4, h=2)
    >>> weights.W_Q.shape, weights.W_O.shape
    (torch.Size([2, 4, 2]), torch.Size([2, 2, 4]))
    """
    import torch

    for argument, value, least in (("h", h, 2), ("d", d, 1)):
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise InputError(argument, f"an integer >= {least}", repr(value))
    if d % h:
        raise InputError("d", f"a multiple of h = {h}", repr(d))
    if not isinstance(alpha, (int, float)) or isinstance(alpha, bool) or not math.isfinite(alpha):
        raise InputError("alpha", "a finite number", repr(alpha))
    d_v = d // h
    U = stiefel_uniform(d, 2 * d_v, generator, h, dtype)
    W_V, W_O = stiefel_uniform(d, d_v, generator, h, dtype), stiefel_uniform(d, d_v, generator, h, dtype).mT
    return Weights(U[..., :d_v], U[..., d_v:], W_V, W_O, torch.as_tensor(alpha, dtype=U.dtype, device=U.device))
