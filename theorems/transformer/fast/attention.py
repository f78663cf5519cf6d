"""Scaled dot-product attention with the signature of torch's, and derivatives of every order."""

from __future__ import annotations

import math
from typing import Any

from verify.vocabulary import InputError


def attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """softmax(scale Q K^T + mask) V by rows: torch's `scaled_dot_product_attention` with derivatives of every order.

    Parameters
    ----------
    query: shape (..., L, d_K); key: shape (..., S, d_K); value: shape (..., S, d_V).  float64, float32, bfloat16 or float16,
        dense, on any device; leading axes broadcast.
    attn_mask: what broadcasts to (..., L, S): booleans, True where a query may attend to a key; or numbers of the dtype of the
        query, which are added to the logits and may be -infinity.
    dropout_p: 0; other values are refused.
    is_causal: query i attends to the keys 0, ..., i; not together with attn_mask.
    scale: factor of Q K^T, 1 / sqrt(d_K) unless given.
    enable_gqa: H / G consecutive heads of H share each of G keys and values; heads are the third axis from the end.

    Returns F of shape (..., L, d_V).  A query that may attend to no key has F = 0, and derivatives of zero.

    Derivatives: torch.autograd to every order, `jvp` and forward mode, torch.func (`vmap`, `jacrev`, `jacfwd`, `hessian`),
    in query, key, value and an additive mask.  Values, first derivatives and second derivatives (double backward, and
    forward over reverse) need memory O(N d) besides the mask and its derivatives; a causal mask halves their work.  Third
    derivatives, and forward over forward mode, hold L x S matrices.  Weights of short sequences are kept, if all heads and
    samples together have 2^19 or fewer (eight heads of 256 tokens): a second derivative in float32 then holds up to 26 MB.
    Under torch.compile first derivatives are taken, and of short sequences also forward over reverse mode.
    On processors values and first derivatives of long sequences are those of torch's kernel where d_K = d_V.

    Entries are not looked at: NaN and infinity in query, key or value give what torch gives.

    Raises InputError, naming the argument, for shapes, dtypes, devices and options that do not fit.

    Certified by transformer.gradient-query, -key, -value and -bias, transformer.differential, and
    transformer.second-differential-query, -key, -value and -bias.

    Example
    -------
    >>> import torch
    >>> from torch.func import grad, jvp
    >>> from theorems.layers import attention
    >>> query, key, value, direction = (torch.randn(2, 5, 4) for _ in range(4))  # two heads, five tokens
    >>> loss = lambda query: attention(query, key, value, is_causal=True).square().sum()
    >>> _, product = jvp(grad(loss), (query,), (direction,))  # the Hessian times a direction
    >>> attention(query, key, value, is_causal=True).shape, product.shape
    (torch.Size([2, 5, 4]), torch.Size([2, 5, 4]))
    """
    from theorems.transformer.fast.blocks import Options
    from theorems.transformer.fast.compiled import attend

    _require_tensors(query, key, value)
    _require_options(query, attn_mask, dropout_p, is_causal, scale)
    shared = _require_heads(query, key, value, enable_gqa)
    if shared > 1:
        key, value = (X.repeat_interleave(shared, -3) for X in (key, value))
    leading = _leading(query, key, value)
    query, key, value = (
        X if X.shape[:-2] == leading else X.expand(*leading, *X.shape[-2:]) for X in (query, key, value)
    )
    bias = excluded = None
    if attn_mask is not None:
        mask = _require_mask(attn_mask, query, key)
        bias, excluded = (mask, None) if mask.is_floating_point() else (None, mask.logical_not())
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1]) if query.shape[-1] else 1.0
    return attend(query, key, value, bias, excluded, Options(float(scale), bool(is_causal)))


def _require_tensors(query: Any, key: Any, value: Any) -> None:
    import torch

    dtypes = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
    for name, X in (("query", query), ("key", key), ("value", value)):
        if not isinstance(X, torch.Tensor):
            raise InputError(name, "a torch tensor", type(X).__name__)
        if X.layout != torch.strided:
            raise InputError(name, "a dense tensor", f"layout {X.layout}")
        if X.dtype not in dtypes:
            raise InputError(name, "a tensor of float64, float32, bfloat16 or float16", str(X.dtype))
        if X.ndim < 2:
            raise InputError(name, "shape (..., tokens, features)", f"shape {tuple(X.shape)}")
        if X.dtype != query.dtype:
            raise InputError(name, f"the dtype of query, {query.dtype}", str(X.dtype))
        if X.device != query.device:
            raise InputError(name, f"the device of query, {query.device}", str(X.device))
    if key.shape[-1] != query.shape[-1]:
        raise InputError(
            "key", f"shape (..., S, d_K) with d_K = {query.shape[-1]}, from query", f"shape {tuple(key.shape)}"
        )
    if value.shape[-2] != key.shape[-2]:
        raise InputError(
            "value", f"shape (..., S, d_V) with S = {key.shape[-2]}, from key", f"shape {tuple(value.shape)}"
        )


def _require_options(query: Any, attn_mask: Any, dropout_p: Any, is_causal: Any, scale: Any) -> None:
    import torch

    if isinstance(dropout_p, bool) or not isinstance(dropout_p, (int, float)) or dropout_p != 0:
        raise InputError("dropout_p", "0: dropout has no derivatives of higher order here", repr(dropout_p))
    if is_causal and attn_mask is not None:
        raise InputError("is_causal", "False where attn_mask is given", repr(is_causal))
    number = isinstance(scale, (int, float)) and not isinstance(scale, bool)
    if scale is not None and not (number and math.isfinite(scale)):
        raise InputError("scale", "a finite number, or None for 1 / sqrt(d_K)", repr(scale))
    if attn_mask is None:
        return
    if not isinstance(attn_mask, torch.Tensor):
        raise InputError("attn_mask", "a torch tensor or None", type(attn_mask).__name__)
    if attn_mask.dtype not in (torch.bool, query.dtype):
        raise InputError("attn_mask", f"booleans, or the dtype of query, {query.dtype}", str(attn_mask.dtype))
    if attn_mask.device != query.device:
        raise InputError("attn_mask", f"the device of query, {query.device}", str(attn_mask.device))
    if attn_mask.layout != torch.strided:
        raise InputError("attn_mask", "a dense tensor", f"layout {attn_mask.layout}")


def _require_heads(query: Any, key: Any, value: Any, enable_gqa: Any) -> int:
    """How many heads of the query share one key and value."""
    if not enable_gqa:
        return 1
    for name, X in (("query", query), ("key", key), ("value", value)):
        if X.ndim < 3:
            raise InputError(name, "shape (..., heads, tokens, features), for enable_gqa", f"shape {tuple(X.shape)}")
    heads, groups = query.shape[-3], key.shape[-3]
    if not groups or heads % groups:
        raise InputError("key", f"a number of heads that divides that of query, {heads}", str(groups))
    if value.shape[-3] != groups:
        raise InputError("value", f"as many heads as key, {groups}", str(value.shape[-3]))
    return int(heads // groups)


def _leading(query: Any, key: Any, value: Any) -> Any:
    """The leading axes that all have after broadcasting."""
    import torch

    leading = query.shape[:-2]
    for name, X in (("key", key), ("value", value)):
        if X.shape[:-2] != leading:
            try:
                leading = torch.broadcast_shapes(leading, X.shape[:-2])
            except RuntimeError:
                got = f"shape {tuple(X.shape)}"
                raise InputError(name, f"leading axes that broadcast with {tuple(leading)}", got) from None
    return leading


def _require_mask(mask: Any, query: Any, key: Any) -> Any:
    """The mask with as many axes as the query, some of size one."""
    shape = (*query.shape[:-1], key.shape[-2])
    fits = mask.ndim <= len(shape) and all(
        own in (1, size) for own, size in zip(reversed(mask.shape), reversed(shape), strict=False)
    )
    if not fits:
        raise InputError("attn_mask", f"what broadcasts to {shape}", f"shape {tuple(mask.shape)}")
    return mask.reshape(*(1,) * (len(shape) - mask.ndim), *mask.shape)
