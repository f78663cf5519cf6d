"""Products with the curvature of an attention layer of several heads, in batches and under masks, without the matrix."""

from __future__ import annotations

from typing import Any

from theorems.operators import SymmetricOperator
from theorems.transformer.fast.attention import attention
from verify.vocabulary import InputError

#: The Hessian, the Gauss-Newton matrix, and what is left of the Hessian without it.
PARTS = ("hessian", "outer-product", "functional")


class LayerCurvature(SymmetricOperator):
    """The curvature of mean((F - Y)^2) over (W_Q, W_K, W_V, W_O) as a symmetric linear operator, shape (n, n).

    F = sum_h softmax(X W_Q^h (X W_K^h)^T / sqrt(d_K) + mask) X W_V^h W_O^h.

    Parameters
    ----------
    X: tokens, shape (..., L, d), leading axes a batch; Y: labels, shape (..., L, d_O).
    W_Q, W_K: shape (h, d, d_K); W_V: shape (h, d, d_V); W_O: shape (h, d_V, d_O); h heads.
    part: "hessian"; "outer-product", the Gauss-Newton matrix; "functional", their difference.
    attn_mask, is_causal: as of `attention`, for logits of shape (..., h, L, L); the mask is held fixed.

    `theorems.hessian.fast.operators.AttentionCurvature` has one head, one sample and no mask, and stores moments: for many
    products.  Here a product is a derivative of the gradient, whose graph is kept; memory O(h L d) a sample.

    Raises InputError, naming the argument, for what does not fit.

    Certified by transformer.second-differential-query, -key and -value, and transformer.differential.
    """

    def __init__(
        self, X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, Y: Any, part: str = "hessian", attn_mask: Any = None,
        is_causal: bool = False,
    ) -> None:  # fmt: skip
        import torch

        if part not in PARTS:
            raise InputError("part", f"one of {list(PARTS)}", repr(part))
        _require_layer(X, W_Q, W_K, W_V, W_O, Y)
        super().__init__(tuple(W.detach() for W in (W_Q, W_K, W_V, W_O)))
        self.part, tokens, labels = part, X.detach().unsqueeze(-3), Y.detach()
        mask = None if attn_mask is None else attn_mask.detach()

        def layer(W_Q: Any, W_K: Any, W_V: Any, W_O: Any) -> Any:
            heads = attention(tokens @ W_Q, tokens @ W_K, tokens @ W_V, mask, is_causal=is_causal)
            return (heads @ W_O).sum(-3)

        self._layer, self._scale = layer, 2 / labels.numel()
        with torch.enable_grad():
            self._leaves = tuple(W.clone().requires_grad_() for W in self.weights)
            self._value = layer(*self._leaves)
            loss = (self._value - labels).square().mean()
            self._gradient = torch.autograd.grad(loss, self._leaves, create_graph=True)

    def matmat(self, V: Any) -> Any:
        """Products with the columns of V (n, p), one after the other."""
        self.require_vectors(V)
        import torch

        return torch.stack([self._product(v) for v in V.detach().T], dim=1)

    def _product(self, v: Any) -> Any:
        import torch

        parts = v.split([W.numel() for W in self.weights])
        along = tuple(u.reshape(W.shape) for u, W in zip(parts, self.weights, strict=True))
        found = torch.zeros_like(v)
        if self.part != "outer-product":
            found += _flat(torch.autograd.grad(self._gradient, self._leaves, along, retain_graph=True))
        if self.part != "hessian":
            change = torch.func.jvp(self._layer, self.weights, along)[1] * self._scale
            sign = 1 if self.part == "outer-product" else -1
            found += sign * _flat(torch.autograd.grad(self._value, self._leaves, change, retain_graph=True))
        return found


def _flat(parts: tuple[Any, ...]) -> Any:
    import torch

    return torch.cat([part.reshape(-1) for part in parts])


def _require_layer(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, Y: Any) -> None:
    import torch

    for name, value in {"X": X, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "W_O": W_O, "Y": Y}.items():
        if not isinstance(value, torch.Tensor):
            raise InputError(name, "a torch tensor", type(value).__name__)
        if value.dtype not in (torch.float32, torch.float64):
            raise InputError(name, "a tensor of float32 or float64", str(value.dtype))
        if value.dtype != X.dtype or value.device != X.device:
            raise InputError(
                name, f"the dtype and device of X, {X.dtype} on {X.device}", f"{value.dtype} on {value.device}"
            )
    if X.ndim < 2:
        raise InputError("X", "shape (..., L, d)", f"shape {tuple(X.shape)}")
    if W_Q.ndim != 3:
        raise InputError("W_Q", "shape (h, d, d_K)", f"shape {tuple(W_Q.shape)}")
    h, d, k = W_Q.shape
    values = W_V.shape[-1] if W_V.ndim == 3 else 0
    outputs = W_O.shape[-1] if W_O.ndim == 3 else 0
    for name, value, shape in (
        ("X", X, (*X.shape[:-1], d)),
        ("W_K", W_K, (h, d, k)),
        ("W_V", W_V, (h, d, values)),
        ("W_O", W_O, (h, values, outputs)),
        ("Y", Y, (*X.shape[:-1], outputs)),
    ):
        if tuple(value.shape) != tuple(shape):
            raise InputError(name, f"shape {tuple(shape)}", f"shape {tuple(value.shape)}")
