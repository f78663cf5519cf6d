"""Orthogonal self-attention at the speed of its two large products, with its accuracy watched.

M-OSA(X) = X sum_i exp(W_i G) W_i^V W_i^O needs G = X^T X and one product with X, 4 N d^2 operations; all else is d x d.
A Gram matrix squares the condition number of X, so `push_through_loss` predicts from d x d matrices how many digits that
costs, and the layer goes over to an orthonormal frame of X where it matters.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from theorems.osa.fast.exponential import exponential, exponential_minus_identity, low_powers, norm, phi, plus_product
from theorems.osa.fast.layers import orthogonal_self_attention, require_layer
from verify.vocabulary import InputError

FORMS = ("automatic", "push-through", "frame")
#: The predicted loss from which on "automatic" takes the frame.
LARGEST_LOSS = 8.0


def linear_cost_attention(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any = 1.0, form: str = "automatic"
) -> Any:
    """M-OSA(X) = sum_i exp(S_i) X W_i^V W_i^O in 4 N d^2 + O(h d^3) operations, a tensor like X.

    Parameters
    ----------
    X: tokens, shape (..., N, d), a float tensor on any device; leading axes are a batch.
    W_Q, W_K, W_V: shape (h, d, d_v), or (d, d_v) for a single head.
    W_O: shape (h, d_v, d), or (d_v, d).
    alpha: a number, or a tensor of shape () or (h,).
    form: "push-through", through G = X^T X; "frame", through X = B R with B^T B = I, several times slower; "automatic", the
        first unless `push_through_loss` exceeds 8 for some example of the batch, then the second for all of them.

    Memory beside the result: matrices d x d, (h, d, d) with heads, and B for the frame; nothing of N x N.

    Accuracy: "frame" is within a few roundings times 1 + ||Q|| ||K||; "push-through" may lose up to kappa(X)^2 against it
    (`osa.push-through-accuracy`); "automatic" loses less than 8 times (docs/benchmarks.md, float32, kappa up to 10^6).
    Values are the same with gradients, which then cost exponentials of order 2 d in the frame.

    Differentiable to every order by torch.autograd.  Not for torch.func.vmap, since both the choice of the form and the
    number of squarings look at values; `orthogonal_self_attention` is.

    Raises InputError as `orthogonal_self_attention` does, and for an unknown form.

    Certified by osa.push-through-layer, osa.push-through-low-rank, osa.multi-head-push-through and osa.qr-of-x-layer.
    """
    if form not in FORMS:
        raise InputError("form", f"one of {list(FORMS)}", repr(form))
    arguments = (X, W_Q, W_K, W_V, W_O, alpha)
    if not _fits(*arguments):
        return _thoroughly(*arguments)
    if form == "frame":
        return _in_frame(*arguments)
    parts = _push_through(*arguments)
    loss = parts.loss()
    if not math.isfinite(loss):
        return _thoroughly(*arguments)
    if form == "automatic" and loss > LARGEST_LOSS:
        return _in_frame(*arguments)
    return X @ parts.factor


def push_through_loss(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any = 1.0) -> float:
    """How many times the error of the frame that of "push-through" may be, for the worst head and example; at least 1.

    (1 + ||W|| ||G||) g / (1 + ||S||): a rounding of G moves W G by ||W|| ||G|| where one of X moves S by ||S||, and
    g = ||exp(W G)|| is by how much the exponential has grown from the 1 of an orthogonal one (`osa.push-through-growth`).
    Norms are of Frobenius, those of G and of the exponential divided by sqrt(d).  ||S||^2 = -tr (W G)^2, so that d x d
    matrices suffice.
    """
    scale = require_layer(X, W_Q, W_K, W_V, W_O, alpha)
    if X.is_meta:
        raise InputError("X", "a tensor with values", "one on the device meta")
    return _push_through(X, W_Q, W_K, W_V, W_O, scale).loss()


class _Parts(NamedTuple):
    """The factor of X, shape (..., d, d), and what its accuracy is judged by: G, and W, (W G)^2, exp(W G) - I by heads."""

    factor: Any
    G: Any
    W: Any
    square: Any  # (W G)^2, or another matrix of its trace
    correction: Any  # exp(W G) - I

    def loss(self) -> float:
        import torch

        d = self.G.shape[-1]
        with torch.no_grad():
            if self.G.ndim == 2:  # numbers cost less than tensors of one entry; NaN stays first in max
                growth = max(1 + (2 * self.correction.trace().item() + norm(self.correction) ** 2) / d, 0.0) ** 0.5
                size = max(-self.square.trace().item(), 0.0) ** 0.5
                loss = max((1 + norm(self.W) * norm(self.G) * d**-0.5) * growth / (1 + size), 1.0)
            else:
                growth = (1 + (2 * _traces(self.correction) + _norms(self.correction) ** 2) / d).clamp(min=0).sqrt()
                size = _traces(self.square).neg().clamp(min=0).sqrt()
                losses = (1 + _norms(self.W) * _norms(self.G) * d**-0.5) * growth / (1 + size)
                loss = float(losses.clamp(min=1).amax())
        return loss if math.isfinite(norm(self.factor)) else math.inf


def _traces(A: Any) -> Any:
    return A.diagonal(dim1=-2, dim2=-1).sum(-1)


def _norms(A: Any) -> Any:
    import torch

    return torch.linalg.vector_norm(A, dim=(-2, -1))


def _fits(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> bool:
    """Whether the arguments fit each other but for their values: microseconds, before the test that names the argument."""
    import torch

    for value in (X, W_Q, W_K, W_V, W_O):
        if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
            return False
        if value.dtype is not X.dtype or value.device != X.device:
            return False
    if X.ndim < 2 or W_Q.ndim not in (2, 3) or X.dtype not in (torch.float32, torch.float64) or X.is_meta:
        return False
    shape = W_Q.shape
    *heads, d, d_v = shape
    if not (shape == W_K.shape == W_V.shape and W_O.shape == (*heads, d_v, d) and X.shape[-1] == d >= d_v):
        return False
    if not X.numel() > 0 < W_Q.numel():
        return False
    if isinstance(alpha, torch.Tensor):
        return alpha.dtype is X.dtype and alpha.device == X.device and list(alpha.shape) in ([], heads)
    return isinstance(alpha, (int, float)) and not isinstance(alpha, bool)


def _skew(Q: Any, K: Any, alpha: Any) -> Any:
    """alpha / sqrt(d_v) (Q K^T - K Q^T): W for the weights of queries and keys, S for themselves."""
    half = Q @ K.mT * _by_head(alpha, Q)
    return half.add(half.mT, alpha=-1)


def _by_head(alpha: Any, W: Any) -> Any:
    """alpha / sqrt(d_v), to be multiplied with matrices of all heads."""
    scale = alpha / math.sqrt(W.shape[-1])
    return scale if isinstance(scale, float) or scale.ndim == 0 else scale[:, None, None]


def _push_through(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> _Parts:
    import torch

    d, d_v = W_Q.shape[-2:]
    heads = W_Q.ndim == 3
    G = X.mT @ X
    if heads:
        G = G.unsqueeze(-3)
    W, V = _skew(W_Q, W_K, alpha), W_V @ W_O
    if 2 * d_v < d:
        # W = U L^T has rank 2 d_v at most, and exp(U L^T G) = I + U phi(L^T G U) L^T G.
        U = torch.cat([W_Q, W_K], dim=-1)
        LG = (torch.cat([W_K, -W_Q], dim=-1) * _by_head(alpha, W_Q)).mT @ G
        powers = low_powers(LG @ U)
        correction = U @ (phi(powers[0], powers) @ LG)
    else:
        powers = low_powers(W @ G)
        correction = exponential_minus_identity(powers[0], powers)
    factor = plus_product(V, correction, V)
    return _Parts(factor.sum(-3) if heads else factor, G, W, powers[1], correction)


def _in_frame(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> Any:
    """B sum_i exp(S_i) R W_i^V W_i^O for X = B R, S_i = alpha / sqrt(d_v) (Q_i K_i^T - K_i Q_i^T), Q_i = R W_i^Q, K_i = R W_i^K.

    Through queries and keys, not through W_i, which may be large where tokens are weak.
    """
    import torch

    arguments = (X, W_Q, W_K, W_V, W_O, alpha)
    heads = W_Q.ndim == 3
    B, R = torch.linalg.qr(X.detach())
    differentiated = torch.is_grad_enabled() and any(getattr(value, "requires_grad", False) for value in arguments)
    if differentiated:
        R = B.mT @ X
    R_ = R.unsqueeze(-3) if heads else R
    Q, K, V = R_ @ W_Q, R_ @ W_K, W_V @ W_O
    S = _skew(Q, K, alpha)
    if not differentiated:
        coefficients, P = exponential(S) @ (R_ @ V), None
    else:
        P = X - B @ R
        P = P - P.detach()
        coefficients = _with_complement(S, Q, K, V, R_, P, (W_Q, W_K), alpha)
    if not coefficients.isfinite().all():
        return _thoroughly(*arguments)
    if heads:
        coefficients = coefficients.sum(-3)
    return B @ coefficients if P is None else torch.cat([B, P], dim=-1) @ coefficients


def _with_complement(S: Any, Q: Any, K: Any, V: Any, R: Any, P: Any, weights: tuple[Any, Any], alpha: Any) -> Any:
    """The coefficients of the layer in [B, P], shape (..., r + d, d) by heads, for a P that is zero and has derivatives.

    B is held fixed, since derivatives of a QR exist only at full column rank; those of P make up for it
    (`osa.qr-of-x-layer`).  The blocks that meet P are divided by a number that keeps them as small as S.
    """
    import torch

    (W_Q, W_K), scale = weights, _by_head(alpha, weights[0])
    PP = P.mT @ P
    if W_Q.ndim == 3:
        PP = PP.unsqueeze(-3)
    WR = (W_Q @ K.mT - W_K @ Q.mT) * scale
    WPP = (W_Q @ (W_K.mT @ PP) - W_K @ (W_Q.mT @ PP)) * scale
    with torch.no_grad():
        size = (_norms(WR) / (1 + _norms(S)))[..., None, None]
        size = torch.where(size > 0, size, 1.0)
    generator = torch.cat([torch.cat([S, -WR.mT @ PP * size], -1), torch.cat([WR / size, WPP], -1)], -2)
    right = torch.cat([R @ V, (V / size).expand(*S.shape[:-2], *V.shape[-2:])], -2)
    above, below = (exponential(generator) @ right).split([S.shape[-1], V.shape[-2]], -2)
    return torch.cat([above, below * size], -2)


def _thoroughly(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> Any:
    """The reference function: names what is wrong with the arguments, and differentiates at any rank."""
    return orthogonal_self_attention(X, W_Q, W_K, W_V, W_O, alpha, method="frame")
