"""Attention layers of more libraries as the subject `transformer.attention_layer`, and kernels of JAX as `batched_attention`.

Seven families of transformers, flax.linen, jax.nn, keras, timm, x-transformers and diffusers; each adapter takes the class, and
makes the layer anew at the sizes and with the weights that are drawn.  Biases are zero, dropout is off, rotations are by
angle 0, windows longer than the rows.
"""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable, Mapping
from typing import Any

from theorems.adapters.layers import repeated
from theorems.adapters.layers import titled
from verify.gate.adapters import call_module, from_jax
from verify.gate.recognised import recognise

Function = Callable[..., Any]

# -- transformers ------------------------------------------------------------------------------------------------------


def _called(made: Any, given: Mapping[str, Any], X: Any, *args: Any, **options: Any) -> Any:
    """The first result of a module with these weights, and zeros for all others, which are its biases."""
    shapes = {name: value.shape for name, value in made.named_parameters()}
    weights = {name: given[name] if name in given else X.new_zeros(shape) for name, shape in shapes.items()}
    return call_module(made, weights, X, *args, **options)[0]


def _still(X: Any, width: int) -> tuple[Any, Any]:
    """Cosines and sines of the angle 0 for every token, shapes (1, n, width)."""
    ones = X.new_ones(1, X.shape[1], width)
    return ones, 0 * ones


def _config(name: str, **sizes: Any) -> Any:
    return getattr(importlib.import_module("transformers"), f"{name}Config")(**sizes)


def _grouped(name: str) -> Function:
    """Mistral, Qwen2 and Gemma2: heads in groups, with projections of their own."""

    def call(own: Any, used: str, X: Any, W: tuple[Any, ...], mask: Any, H: int, G: int) -> Any:
        d, e = X.shape[2], X.shape[2] // H
        options: dict[str, Any] = (
            {"query_pre_attn_scalar": e, "attn_logit_softcapping": None} if name == "Gemma2" else {}
        )
        config = _config(name, hidden_size=d, num_attention_heads=H, num_key_value_heads=G, head_dim=2 * e,
            attn_implementation=used, sliding_window=None, **options)  # fmt: skip
        config.head_dim = e  # also odd, which a configuration refuses for its rotations; these do nothing here
        weights = {f"{part}_proj.weight": w.T for part, w in zip("qkvo", W, strict=True)}
        made = _on_meta(own, config, 0)
        return _called(made, weights, X, position_embeddings=_still(X, e), attention_mask=mask)

    return call


def _on_meta(own: Any, *args: Any) -> Any:
    import torch

    with torch.device("meta"):
        return own(*args).eval()


def _opt(own: Any, used: str, X: Any, W: tuple[Any, ...], mask: Any, H: int, G: int) -> Any:
    config = _config(
        "OPT", hidden_size=X.shape[2], num_attention_heads=H, attention_dropout=0.0, attn_implementation=used
    )
    names = ("q_proj.weight", "k_proj.weight", "v_proj.weight", "out_proj.weight")
    given = {name: w.T for name, w in zip(names, _of_all_heads(W, H, G), strict=True)}
    return _called(_on_meta(own, config, 0), given, X, attention_mask=mask)


def _t5(own: Any, used: str, X: Any, W: tuple[Any, ...], mask: Any, H: int, G: int) -> Any:
    """T5 does not scale its logits: here the queries' weights carry 1/sqrt(e)."""
    d, e = X.shape[2], X.shape[2] // H
    config = _config("T5", d_model=d, d_kv=e, num_heads=H, dropout_rate=0.0, attn_implementation=used)
    W_Q, *rest = _of_all_heads(W, H, G)
    given = {f"{part}.weight": w.T for part, w in zip("qkvo", (W_Q / math.sqrt(e), *rest), strict=True)}
    return _called(_on_meta(own, config, False, 0), given, X, mask=mask)


def _gpt_neox(own: Any, used: str, X: Any, W: tuple[Any, ...], mask: Any, H: int, G: int) -> Any:
    d = X.shape[2]
    config = _config("GPTNeoX", hidden_size=d, num_attention_heads=H, attention_dropout=0.0, attn_implementation=used)
    given = {"query_key_value.weight": _head_by_head(W, H, G).T, "dense.weight": W[3].T}
    return _called(_on_meta(own, config, 0), given, X, attention_mask=mask, position_embeddings=_still(X, d // H))


def _bloom(own: Any, used: str, X: Any, W: tuple[Any, ...], mask: Any, H: int, G: int) -> Any:
    """Bloom adds a bias by distance, which is zero here, and what comes before the layer, which is zero too."""
    B, n, d = X.shape
    config = _config("Bloom", hidden_size=d, n_head=H, hidden_dropout=0.0, attention_dropout=0.0)
    given = {"query_key_value.weight": _head_by_head(W, H, G).T, "dense.weight": W[3].T}
    bias = X.new_zeros(B * H, 1, n)
    return _called(_on_meta(own, config, 0), given, X, X.new_zeros(X.shape), bias, mask)


def _of_all_heads(W: tuple[Any, ...], H: int, G: int) -> tuple[Any, ...]:
    return W[0], repeated(W[1], G, H), repeated(W[2], G, H), W[3]


def _head_by_head(W: tuple[Any, ...], H: int, G: int) -> Any:
    """Columns of queries, keys and values of the first head, then of the second, shape (d, 3 d)."""
    import torch

    parts = [w.unflatten(1, (H, -1)) for w in _of_all_heads(W, H, G)[:3]]
    return torch.stack(parts, dim=2).flatten(1)


_FAMILIES = {
    "transformers.models.mistral.modeling_mistral.MistralAttention": _grouped("Mistral"),
    "transformers.models.qwen2.modeling_qwen2.Qwen2Attention": _grouped("Qwen2"),
    "transformers.models.gemma2.modeling_gemma2.Gemma2Attention": _grouped("Gemma2"),
    "transformers.models.opt.modeling_opt.OPTAttention": _opt,
    "transformers.models.t5.modeling_t5.T5Attention": _t5,
    "transformers.models.gpt_neox.modeling_gpt_neox.GPTNeoXAttention": _gpt_neox,
    "transformers.models.bloom.modeling_bloom.BloomAttention": _bloom,
}


def hugging_face_family(implementation: str = "sdpa") -> Callable[[Any], Function]:
    """The adapter for attention of Mistral, Qwen2, Gemma2 (without its cap), OPT, T5, GPT-NeoX and Bloom.

    implementation: "eager" or "sdpa".  Layers are made from configurations, without downloads; masked logits get the
    least number of the precision.
    """

    def adapter(module: Any) -> Function:
        own = module if isinstance(module, type) else type(module)
        call = _FAMILIES[f"{own.__module__}.{own.__qualname__}"]

        def adapted(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, M: Any, H: int, G: int) -> Any:
            import torch

            added = X.new_zeros(M.shape).masked_fill(~M, torch.finfo(X.dtype).min)
            mask = added[None, None].expand(len(X), 1, -1, -1)
            return call(own, implementation, X.contiguous(), (W_Q, W_K, W_V, W_O), mask, H, G)

        return titled(adapted, module)

    adapter.__qualname__ = f"hugging_face_family({implementation})"
    return adapter


recognise("transformer.attention_layer", *_FAMILIES)(hugging_face_family())

# -- JAX ---------------------------------------------------------------------------------------------------------------


@recognise("transformer.batched_attention", "jax._src.nn.functions.dot_product_attention")
def jax_kernel(kernel: Function) -> Function:
    """jax.nn.dot_product_attention, whose second axis is that of tokens; its masks are true where a key is allowed.

    It asks for values as wide as keys: others are given to it in pieces of that width, the last one with zeros.
    """

    def adapted(Q: Any, K: Any, V: Any, M: Any) -> Any:
        jnp, width = importlib.import_module("jax.numpy"), V.shape[3]
        q, k, v = (x.swapaxes(1, 2) for x in (Q, K, V))
        v = jnp.pad(v, [(0, 0)] * 3 + [(0, -width % K.shape[3])])
        pieces = [kernel(q, k, piece, mask=M[None, None]) for piece in jnp.split(v, v.shape[3] // K.shape[3], axis=3)]
        return jnp.concatenate(pieces, axis=3)[..., :width].swapaxes(1, 2)

    return titled(from_jax(adapted), kernel)


@recognise("transformer.attention_layer", "flax.linen.attention.MultiHeadDotProductAttention")
def linen_attention_layer(module: Any) -> Function:
    """flax.linen.MultiHeadDotProductAttention, without groups of heads."""

    def adapted(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, M: Any, H: int, G: int) -> Any:
        jnp, d = importlib.import_module("jax.numpy"), X.shape[2]
        made = module(num_heads=H, qkv_features=d, use_bias=False, dtype=X.dtype, param_dtype=X.dtype)
        kernels = {
            name: {"kernel": jnp.repeat(W.reshape(d, count, -1), H // count, axis=1)}
            for name, W, count in (("query", W_Q, H), ("key", W_K, G), ("value", W_V, G))
        }
        kernels["out"] = {"kernel": W_O.reshape(H, -1, d)}
        return made.apply({"params": kernels}, X, mask=M[None, None], deterministic=True)

    return titled(from_jax(adapted), module)


# -- others ------------------------------------------------------------------------------------------------------------


def keras_attention_layer(module: Any) -> Function:
    """keras.layers.MultiHeadAttention on torch, without groups of heads; its masks are true where a key is allowed."""

    def adapted(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, M: Any, H: int, G: int) -> Any:
        d, e = X.shape[2], X.shape[2] // H
        made = module(H, e, use_bias=False, dtype=str(X.dtype).removeprefix("torch."))
        made.build(X.shape, X.shape)
        kernels = [W.reshape(d, H, e) for W in _of_all_heads((W_Q, W_K, W_V, W_O), H, G)[:3]]
        variables = dict(
            zip(("query", "key", "value", "attention_output"), [*kernels, W_O.reshape(H, e, d)], strict=True)
        )
        trainable = [variables[variable.path.split("/")[-2]] for variable in made.trainable_variables]
        others = [variable.value for variable in made.non_trainable_variables]
        mask = M[None].expand(len(X), -1, -1)
        return made.stateless_call(trainable, others, X, X, attention_mask=mask, training=False)[0]

    return titled(adapted, module)


def keras_on_torch() -> Any:
    """keras.layers.MultiHeadAttention, with torch as the backend where nobody has chosen one."""
    os.environ.setdefault("KERAS_BACKEND", "torch")
    return importlib.import_module("keras.layers").MultiHeadAttention


def x_transformers_layer(grouped: bool = False, flash: bool = False) -> Callable[[Any], Function]:
    """The adapter for x_transformers' Attention; `grouped`: with fewer keys than queries, which heads take in turns there."""

    def adapter(module: Any) -> Function:
        def adapted(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, M: Any, H: int, G: int) -> Any:
            d, e = X.shape[2], X.shape[2] // H
            made = _on_meta(
                lambda: module(d, dim_head=e, heads=H, kv_heads=G if grouped else H, flash=flash, project_out=True)
            )
            W = (W_Q, W_K, W_V, W_O) if grouped else _of_all_heads((W_Q, W_K, W_V, W_O), H, G)
            names = ("to_q.weight", "to_k.weight", "to_v.weight", "to_out.weight")
            return call_module(made, {name: w.T for name, w in zip(names, W, strict=True)}, X, attn_mask=M)

        return titled(adapted, module)

    return adapter


def timm_layer(module: Any) -> Function:
    """timm.layers.Attention, without groups of heads; its masks are true where a key is allowed."""

    def adapted(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, M: Any, H: int, G: int) -> Any:
        import torch

        made = _on_meta(lambda: module(X.shape[2], num_heads=H, proj_bias=False))
        *W, out = _of_all_heads((W_Q, W_K, W_V, W_O), H, G)
        return call_module(made, {"qkv.weight": torch.cat(W, dim=1).T, "proj.weight": out.T}, X, attn_mask=M)

    return titled(adapted, module)


def diffusers_layer(processor: str) -> Callable[[Any], Function]:
    """The adapter for diffusers' Attention with a processor: "AttnProcessor", or "AttnProcessor2_0", torch's kernel."""

    def adapter(module: Any) -> Function:
        def adapted(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, M: Any, H: int, G: int) -> Any:
            import torch

            d, e = X.shape[2], X.shape[2] // H
            chosen = getattr(importlib.import_module(module.__module__), processor)()
            made = _on_meta(lambda: module(d, heads=H, dim_head=e, out_bias=False, processor=chosen))
            W = _of_all_heads((W_Q, W_K, W_V, W_O), H, G)
            names = ("to_q.weight", "to_k.weight", "to_v.weight", "to_out.0.weight")
            added = X.new_zeros(M.shape).masked_fill(~M, torch.finfo(X.dtype).min)
            weights = {name: w.T for name, w in zip(names, W, strict=True)}
            return call_module(made, weights, X, attention_mask=added[None].expand(len(X), -1, -1))

        return titled(adapted, module)

    return adapter
