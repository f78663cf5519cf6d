"""Layers that are recognised by their names, as the subjects `transformer.*`: of torch, transformers, flax and equinox.

Every adapter takes a class, or an instance of it, whose class counts: the layer is made anew at the sizes and with the
weights that are drawn, without biases and dropout.  Where a layer has no groups of heads, keys and values are repeated.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from verify.gate.adapters import call_module, from_jax, stacked, unstacked
from verify.gate.recognised import recognise

Function = Callable[..., Any]


def module_class(module: Any) -> Any:
    """The class of a module that is given as a class or as an instance."""
    return module if inspect.isclass(module) else type(module)


def titled(adapted: Function, module: Any) -> Function:
    """What an adapter made, under the name of the module."""
    own = module if hasattr(module, "__qualname__") else type(module)
    adapted.__qualname__, adapted.__module__ = own.__qualname__, own.__module__ or ""
    return adapted


def repeated(W: Any, G: int, H: int) -> Any:
    """The columns of each of G groups once for every head of it, shape (d, H e)."""
    return W.unflatten(1, (G, -1)).repeat_interleave(H // G, dim=1).flatten(1)


def _of_one(kernel: Function, *operands: Any, **options: Any) -> Any:
    """The value of a kernel with axes of samples and heads at one of their entries, shape (m, d_V).

    With fewer axes torch runs no fused kernel.  Operands that are not contiguous stay so, and are a batch of one.
    """
    if all(x.is_contiguous() for x in operands):
        return unstacked(kernel(*(stacked(x, 2) for x in operands), **options), 2)
    return kernel(*(x[None, None] for x in operands), **options)[0, 0]


# -- torch -------------------------------------------------------------------------------------------------------------


@recognise("transformer.batched_attention", "torch._C._nn.scaled_dot_product_attention")
def batched_kernel(kernel: Function) -> Function:
    """scaled_dot_product_attention and kernels with its parameters, with `attn_mask` and `enable_gqa`."""

    def adapted(Q: Any, K: Any, V: Any, M: Any) -> Any:
        return kernel(Q, K, V, attn_mask=M, enable_gqa=True)

    return titled(adapted, kernel)


@recognise("transformer.masked_attention", "torch._C._nn.scaled_dot_product_attention")
def masked_kernel(kernel: Function) -> Function:
    """scaled_dot_product_attention of heads and samples, of which one is compared, with `attn_mask`."""

    def adapted(Q: Any, K: Any, V: Any, M: Any) -> Any:
        return _of_one(kernel, Q, K, V, attn_mask=M)

    return titled(adapted, kernel)


@recognise("transformer.causal_attention", "torch._C._nn.scaled_dot_product_attention")
def causal_kernel(kernel: Function) -> Function:
    """scaled_dot_product_attention of heads and samples, of which one is compared, with `is_causal`."""

    def adapted(Q: Any, K: Any, V: Any) -> Any:
        return _of_one(kernel, Q, K, V, is_causal=True)

    return titled(adapted, kernel)


@recognise("transformer.attention_layer", "torch.nn.modules.activation.MultiheadAttention")
def torch_attention_layer(module: Any) -> Function:
    """torch.nn.MultiheadAttention; its weights act as x W^T, and its masks are true where a key is masked."""

    def adapted(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, M: Any, H: int, G: int) -> Any:
        import torch

        with torch.device("meta"):
            made = module_class(module)(X.shape[2], H, bias=False, batch_first=True, dtype=X.dtype)
        projections = torch.cat([W_Q.T, repeated(W_K, G, H).T, repeated(W_V, G, H).T])
        weights = {"in_proj_weight": projections, "out_proj.weight": W_O.T}
        return call_module(made, weights, X, X, X, attn_mask=~M, need_weights=False)[0]

    return titled(adapted, module)


@recognise("transformer.layer_norm", "torch.nn.modules.normalization.LayerNorm")
@recognise("transformer.layer_norm_of_samples", "torch.nn.modules.normalization.LayerNorm")
@recognise("transformer.layer_norm_of_matrices", "torch.nn.modules.normalization.LayerNorm")
def torch_layer_norm(module: Any) -> Function:
    """torch.nn.LayerNorm over the last axes, as many as the gain has."""

    def adapted(X: Any, gamma: Any, beta: Any, epsilon: Any) -> Any:
        made = module_class(module)(tuple(gamma.shape), eps=float(epsilon), device="meta", dtype=X.dtype)
        return call_module(made, {"weight": gamma, "bias": beta}, X)

    return titled(adapted, module)


_RMS_NORMS = ("torch.nn.modules.normalization.RMSNorm", "transformers.models.llama.modeling_llama.LlamaRMSNorm")


@recognise("transformer.rms_norm", *_RMS_NORMS)
@recognise("transformer.rms_norm_of_samples", *_RMS_NORMS)
def torch_rms_norm(module: Any) -> Function:
    """torch.nn.RMSNorm over the last axis, or transformers' LlamaRMSNorm, which computes in float32."""

    def adapted(X: Any, gamma: Any, epsilon: Any) -> Any:
        made = module_class(module)(X.shape[-1], eps=float(epsilon))
        return call_module(made, {"weight": gamma}, X)

    return titled(adapted, module)


# -- transformers ------------------------------------------------------------------------------------------------------


def _bert(own: Any, options: Mapping[str, Any], d: int, H: int, G: int) -> Any:
    config = _transformers("BertConfig")(
        hidden_size=d, num_attention_heads=H, attention_probs_dropout_prob=0.0, **options
    )
    return own(config)


def _vit(own: Any, options: Mapping[str, Any], d: int, H: int, G: int) -> Any:
    config = _transformers("ViTConfig")(
        hidden_size=d, num_attention_heads=H, attention_probs_dropout_prob=0.0, qkv_bias=False, **options
    )
    return own(config)


def _gpt2(own: Any, options: Mapping[str, Any], d: int, H: int, G: int) -> Any:
    return own(_transformers("GPT2Config")(n_embd=d, n_head=H, attn_pdrop=0.0, resid_pdrop=0.0, **options))


def _llama(own: Any, options: Mapping[str, Any], d: int, H: int, G: int) -> Any:
    sizes = {"hidden_size": d, "num_attention_heads": H, "num_key_value_heads": G, "head_dim": 2 * d // H}
    config = _transformers("LlamaConfig")(**sizes, **options)
    config.head_dim = d // H  # also odd, which a configuration refuses for its rotations; these do nothing here
    return own(config, layer_idx=0)


def _transformers(name: str) -> Any:
    return getattr(importlib.import_module("transformers"), name)


#: How each is made, by the name of the class.
_FAMILIES = {
    "transformers.models.bert.modeling_bert.BertSelfAttention": _bert,
    "transformers.models.vit.modeling_vit.ViTAttention": _vit,
    "transformers.models.gpt2.modeling_gpt2.GPT2Attention": _gpt2,
    "transformers.models.llama.modeling_llama.LlamaAttention": _llama,
}


def hugging_face_attention(implementation: str | None = None) -> Callable[[Any], Function]:
    """The adapter for attention of BERT, ViT, GPT-2 and Llama, made from a configuration without downloads.

    implementation: "eager" or "sdpa"; None takes that of an instance, and "sdpa" for a class.  Llama's tokens all stand at
    position 0, where its rotations do nothing; BERT's output projection is a layer of its own, and W_O is applied here.
    "eager" softmaxes are computed in float32.
    """

    def adapter(module: Any) -> Function:
        own = module_class(module)
        names = [f"{base.__module__}.{base.__qualname__}" for base in own.__mro__]
        make = next(_FAMILIES[name] for name in names if name in _FAMILIES)
        used = implementation or getattr(getattr(module, "config", None), "_attn_implementation", None) or "sdpa"

        @functools.lru_cache(maxsize=64)  # to make it takes longer than to call it, and weights come with each call
        def made_with(d: int, H: int, G: int) -> Any:
            import torch

            with torch.device("meta"):
                return make(own, {"attn_implementation": used}, d, H, G).eval()

        def adapted(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, M: Any, H: int, G: int) -> Any:
            import torch

            d = X.shape[2]
            made = made_with(d, H, G)
            if make is not _llama:
                W_K, W_V = repeated(W_K, G, H), repeated(W_V, G, H)
            given = {"c_attn.weight": torch.cat([W_Q, W_K, W_V], 1), "c_proj.weight": W_O} if make is _gpt2 else {}
            for name, W in (("q", W_Q), ("k", W_K), ("v", W_V), ("o", W_O)):
                given[f"{name}_proj.weight"] = W.T
            given |= {"query.weight": W_Q.T, "key.weight": W_K.T, "value.weight": W_V.T}
            shapes = {name: value.shape for name, value in made.named_parameters()}
            weights = {name: given[name] if name in given else X.new_zeros(shape) for name, shape in shapes.items()}
            added = torch.zeros(M.shape, dtype=X.dtype, device=X.device).masked_fill(~M, torch.finfo(X.dtype).min)
            options: dict[str, Any] = {"attention_mask": added[None, None].expand(len(X), 1, -1, -1)}
            if make is _llama:
                still = torch.ones(1, X.shape[1], d // H, dtype=X.dtype, device=X.device)
                options["position_embeddings"] = (still, 0 * still)
            # GPT-2 takes views of its tokens, and raises where they are not contiguous
            value = call_module(made, weights, X.contiguous() if make is _gpt2 else X, **options)[0]
            return value @ W_O if make is _bert else value

        return titled(adapted, module)

    adapter.__qualname__ = f"hugging_face_attention({implementation})"
    return adapter


recognise("transformer.attention_layer", *_FAMILIES)(hugging_face_attention())

# -- flax and equinox --------------------------------------------------------------------------------------------------


@recognise("transformer.layer_norm", "flax.nnx.nn.normalization.LayerNorm")
@recognise("transformer.rms_norm", "flax.nnx.nn.normalization.RMSNorm")
def flax_norm(module: Any) -> Function:
    """flax.nnx.LayerNorm and RMSNorm."""

    def adapted(X: Any, gamma: Any, *rest: Any) -> Any:
        nnx = importlib.import_module("flax.nnx")
        *beta, epsilon = rest
        options = {"epsilon": float(epsilon), "rngs": nnx.Rngs(0), "param_dtype": X.dtype, "dtype": X.dtype}
        made = module_class(module)(X.shape[1], **options)
        made.scale = nnx.Param(gamma)
        if beta:
            made.bias = nnx.Param(beta[0])
        return made(X)

    return titled(from_jax(adapted), module)


@recognise("transformer.layer_norm", "equinox.nn._normalisation.LayerNorm")
@recognise("transformer.rms_norm", "equinox.nn._normalisation.RMSNorm")
def equinox_norm(module: Any) -> Function:
    """equinox.nn.LayerNorm and RMSNorm, of which each row is given by itself."""

    def adapted(X: Any, gamma: Any, *rest: Any) -> Any:
        equinox, jax = importlib.import_module("equinox"), importlib.import_module("jax")
        *beta, epsilon = rest
        made = module_class(module)(X.shape[1], eps=float(epsilon), use_bias=bool(beta), dtype=X.dtype)
        places = (lambda m: (m.weight, m.bias)) if beta else (lambda m: (m.weight,))
        return jax.vmap(equinox.tree_at(places, made, (gamma, *beta)))(X)

    return titled(from_jax(adapted), module)


@recognise("transformer.attention_layer", "flax.nnx.nn.attention.MultiHeadAttention")
def flax_attention_layer(module: Any) -> Function:
    """flax.nnx.MultiHeadAttention, whose masks are true where a key is allowed; its softmax is computed in float32."""

    def adapted(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, M: Any, H: int, G: int) -> Any:
        nnx, jnp = importlib.import_module("flax.nnx"), importlib.import_module("jax.numpy")
        d = X.shape[2]
        options = {"use_bias": False, "decode": False, "rngs": nnx.Rngs(0), "param_dtype": X.dtype, "dtype": X.dtype}
        if module_class(module) is nnx.MultiHeadAttention:  # weights come with each call: none need to be drawn
            options["kernel_init"] = nnx.initializers.zeros_init()
        made = module_class(module)(H, d, **options)
        for layer, W, count in ((made.query, W_Q, H), (made.key, W_K, G), (made.value, W_V, G)):
            layer.kernel = nnx.Param(jnp.repeat(W.reshape(d, count, -1), H // count, axis=1))
        made.out.kernel = nnx.Param(W_O.reshape(H, -1, d))
        return made(X, mask=M[None, None])

    return titled(from_jax(adapted), module)


@recognise("transformer.attention_layer", "equinox.nn._attention.MultiheadAttention")
def equinox_attention_layer(module: Any) -> Function:
    """equinox.nn.MultiheadAttention, which takes one sample; its weights act as W x."""

    @functools.lru_cache(maxsize=64)  # to make it takes longer than to call it, and weights come with each call
    def made_with(d: int, H: int, dtype: Any) -> Any:
        jax = importlib.import_module("jax")
        with jax.ensure_compile_time_eval():  # what is kept has to outlive a trace
            return module_class(module)(H, d, dtype=dtype, key=jax.random.PRNGKey(0))

    def adapted(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, M: Any, H: int, G: int) -> Any:
        equinox, jax = importlib.import_module("equinox"), importlib.import_module("jax")
        d = X.shape[2]
        made = made_with(d, H, X.dtype)
        keys, values = (jax.numpy.repeat(W.reshape(d, G, -1), H // G, axis=1).reshape(d, d) for W in (W_K, W_V))
        made = equinox.tree_at(
            lambda m: (m.query_proj.weight, m.key_proj.weight, m.value_proj.weight, m.output_proj.weight),
            made, (W_Q.T, keys.T, values.T, W_O.T),
        )  # fmt: skip
        return jax.vmap(lambda x: made(x, x, x, mask=M))(X)

    return titled(from_jax(adapted), module)
