"""The tangent kernel of the shallow transformer without its Jacobian, and its limit for thousands of samples.

Gradients in W_Q and W_K are matrices of rank d_s that a d x d matrix per sample describes, those in W_V and w_O need
d_m d and d_m numbers: no (N, 3 d_m d + d_m) Jacobian, and a third of its contraction.
"""

from __future__ import annotations

import math
from typing import Any

from theorems.convergence.definitions import KeyWeights, OutputWeights, QueryWeights, Samples, ValueWeights
from verify.vocabulary import InputError, checked

POOLINGS = ("average", "sum")
#: Numbers held at once, of pairs of samples or of units and tokens.
PIECE = 2**20


@checked
def finite_width_tangent_kernel(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                                tau_0: float, tau_1: float, pooling: str = "average") -> Any:  # fmt: skip
    """K = (df/dtheta)(df/dtheta)^T over W_Q, W_K, W_V and w_O, shape (N, N), with relu'(0) = 0 (Eq. (5)).

    Parameters
    ----------
    X: samples, shape (N, d_s, d); W_Q, W_K, W_V: shape (d_m, d); w_O: shape (d_m, 1).  Float tensors on any device.
    tau_0, tau_1: the scales of the logits and of the hidden layer.
    pooling: "average" over tokens as in Eq. (1.2), or their "sum" as in Appendices C.2 and D.1.

    Inner products of gradients, with c_i the token that i attends to, g_i = w_O o relu'(W_V c_i), C_i the covariance of
    the tokens under row i and Q = sum_i C_i W_V^T g_i x_i^T: those in W_Q are <Q, W_K^T W_K Q'>, those in W_K
    <Q^T, W_Q^T W_Q Q'^T>, and those in W_V of sum_i g_i c_i^T.

    Cost: 2 N^2 (d_m (d + 1) + 2 d^2) + 6 N d_s d_m d operations; the Jacobian's contraction is 6 N^2 d_m d.  Memory: the
    result and N d_m (d + 1) numbers.

    Accuracy: that of the closed gradients; a unit within rounding of its kink may be taken for active or not, as anywhere.

    Raises InputError, naming the argument.  Certified by convergence.d1-gradients and convergence.gradient-wk.
    """
    import torch

    _require(pooling, X=X, W_Q=W_Q, W_K=W_K, W_V=W_V, w_O=w_O)
    for name, scale in {"tau_0": tau_0, "tau_1": tau_1}.items():
        if not isinstance(scale, (int, float)) or isinstance(scale, bool) or not math.isfinite(scale):
            raise InputError(name, "a finite number", repr(scale))
    N, d_s, d = X.shape
    width = W_Q.shape[0]
    beta = torch.softmax((X @ (W_Q.T @ W_K * tau_0)) @ X.mT, dim=2)
    attended = beta @ X  # (N, d_s, d)
    hidden, of_values = X.new_empty(N, width), X.new_empty(N, width, d)
    pulled = torch.empty_like(X)
    step = max(1, PIECE // (d_s * width))
    for rows in (slice(start, min(start + step, N)) for start in range(0, N, step)):
        units = attended[rows] @ W_V.T  # (., d_s, d_m)
        active = (units > 0).to(X.dtype)
        hidden[rows] = torch.relu_(units).sum(1)
        active *= w_O[:, 0]
        torch.bmm(active.mT, attended[rows], out=of_values[rows])
        pulled[rows] = active @ W_V
    # C_i u_i = sum_j beta_ij (x_j - c_i) (x_j - c_i).u_i, in which the mean of the weights vanishes.
    slopes = pulled @ X.mT - (pulled * attended).sum(2, keepdim=True)
    weights = beta * slopes
    spread = weights @ X - weights.sum(2, keepdim=True) * attended
    factors = spread.mT @ X  # (N, d, d)
    of_logits = tau_0 * torch.cat([_flat(factors), _flat(factors.mT)], dim=1)
    images = tau_0 * torch.cat([_flat(W_K.T @ W_K @ factors), _flat(W_Q.T @ W_Q @ factors.mT)], dim=1)
    K = hidden @ hidden.T
    K.addmm_(_flat(of_values), _flat(of_values).T)
    logit_part = of_logits @ images.T
    K += (logit_part + logit_part.T) / 2
    weight = 1 / d_s if pooling == "average" else 1.0
    return K.mul_((tau_1 * weight) ** 2)


@checked
def limiting_tangent_kernel(X: Samples, pooling: str = "average") -> Any:
    """The limit of the tangent kernel under NTK initialisation and tau_0 = 1/d_m, tau_1 = d_m^{-1/2}; shape (N, N) (Lemma 1).

    For mean tokens a, b at the angle t: |a| |b| (sin t + 2 (pi - t) cos t) / (2 pi), times d_s^2 if `pooling` is "sum".

    X: samples, shape (N, d_s, d), a float tensor on any device.

    Cost: N^2 (d + O(1)) operations, twenty or so per pair, half of the pairs by symmetry.  Memory: the result and pieces.

    Accuracy: a few roundings of each entry's |a| |b|.  Angles are 2 atan2(|u - v|, |u + v|) of unit vectors u, v, right at
    every angle (Kahan); from the cosine, as in the clear form, one near 0 is wrong by the root of a rounding, and the
    kernel of nearly parallel mean tokens with it.

    Raises InputError, naming the argument.  Certified by convergence.lemma-1-average-pooling and
    convergence.lemma-1-sum-pooling.
    """
    import torch

    _require(pooling, X=X)
    N = X.shape[0]
    Phi = X.mean(1)
    sizes = Phi.norm(dim=1)
    units = Phi / torch.where(sizes > 0, sizes, 1)[:, None]
    K = X.new_empty(N, N)
    step = max(1, min(256, PIECE // max(1, N)))
    exact = "donot_use_mm_for_euclid_dist"
    for start in range(0, N, step):
        rows, rest = slice(start, min(start + step, N)), slice(start, N)
        apart = torch.cdist(units[rows], units[rest], compute_mode=exact)
        opposite = torch.cdist(units[rows], -units[rest], compute_mode=exact)
        angle = torch.atan2(apart, opposite).mul_(2)
        # sin t and cos t from the same chords, so that they belong to the same angle.
        cosine = (opposite.square() - apart.square()).div_(4)
        block = apart.mul_(opposite).div_(2).add_(angle.neg_().add_(torch.pi).mul_(2).mul_(cosine))
        block.mul_(sizes[rows, None] * (1 / (2 * torch.pi))).mul_(sizes[None, rest])
        K[rows, rest] = block
        K[rest, rows] = block.T
    return K if pooling == "average" else K.mul_(X.shape[1] ** 2)


def _flat(matrices: Any) -> Any:
    return matrices.reshape(matrices.shape[0], -1)


def _require(pooling: str, **arguments: Any) -> None:
    import torch

    if pooling not in POOLINGS:
        raise InputError("pooling", f"one of {list(POOLINGS)}", repr(pooling))
    for name, value in arguments.items():
        if not isinstance(value, torch.Tensor):
            raise InputError(name, "a torch tensor", type(value).__name__)
