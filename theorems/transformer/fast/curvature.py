"""Products with the curvature of an attention layer of several heads, in batches and under masks, without the matrix."""

from __future__ import annotations

from typing import Any

from theorems.shared.operators import SymmetricOperator
from theorems.transformer.fast.attention import attention
from verify.vocabulary import InputError, Shape, require_fit

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

    Raises InputError, naming the argument, for what does not fit, is not finite or is no tensor.

    Certified by transformer.second-differential-query, -key and -value, and transformer.differential.

    Example
    -------
    >>> import torch
    >>> from theorems.transformer.fast.curvature import LayerCurvature
    >>> X, Y = torch.randn(3, 5, 4), torch.randn(3, 5, 4)  # three samples of five tokens
    >>> W_Q, W_K, W_V, W_O = (torch.randn(shape) for shape in ((2, 4, 2), (2, 4, 2), (2, 4, 2), (2, 2, 4)))  # two heads
    >>> H = LayerCurvature(X, W_Q, W_K, W_V, W_O, Y, is_causal=True)
    >>> H.shape, (H @ torch.ones(64)).shape
    ((64, 64), torch.Size([64]))
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
        mask = attn_mask.detach() if isinstance(attn_mask, torch.Tensor) else attn_mask

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

    given = {"W_Q": W_Q, "W_K": W_K, "W_V": W_V, "W_O": W_O, "X": X, "Y": Y}
    for name, value in given.items():
        if not isinstance(value, torch.Tensor):
            raise InputError(name, "a torch tensor", type(value).__name__)
        if value.is_meta:
            raise InputError(name, "a tensor on a device with values", "one on the device meta")
    if X.ndim < 2:
        raise InputError("X", "shape (..., L, d)", f"shape {tuple(X.shape)}")
    batch = [f"B_{axis}" for axis in range(X.ndim - 2)]
    shapes = {
        "W_Q": Shape("h", "d", "d_K"), "W_K": Shape("h", "d", "d_K"), "W_V": Shape("h", "d", "d_V"),
        "W_O": Shape("h", "d_V", "d_O"), "X": Shape(*batch, "L", "d"), "Y": Shape(*batch, "L", "d_O"),
    }  # fmt: skip
    require_fit(shapes, given)
