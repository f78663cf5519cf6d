"""The layers that `verify survey` covers: attention, and the norms beside it, of torch, transformers, JAX and others."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from theorems.adapters import attention_kernel, sdpa
from theorems.adapters.layers import batched_kernel, causal_kernel, hugging_face_attention, masked_kernel, repeated
from theorems.adapters.libraries import (
    diffusers_layer, hugging_face_family, keras_attention_layer, keras_on_torch, timm_layer, x_transformers_layer,
)  # fmt: skip
from verify.gate.survey import surveyed

LAYER, BATCHED = "transformer.attention_layer", "transformer.batched_attention"
#: Layers without groups are given as many keys as queries.
WITHOUT_GROUPS = "Keys and values of groups are repeated before the layer, which has no groups of heads."
NO_TURNS = "Rotations are by the angle 0, windows are longer than the rows, biases are 0."
IN_TURNS = "heads take groups of keys in turns, head h has those of group h mod G. Weights of other libraries need a permutation."
FEW_SIZES = (
    "At a few sizes alone (3 and 17 tokens, or widths 3, 4 and 33), since JAX compiles anew for each; not in bfloat16, and not "
    "in long sequences."
)
ADDED_NARROWLY = (
    "On one thread of the CPU, LayerNorm adds up the gradients of gamma and beta over the rows in bfloat16, if it is given that: "
    "if 1025 rows each bring 1, the sum is 256."
)
BIAS_FREE = "Biases are 0, dropout is off."


def named(module: str, name: str) -> Callable[[], Any]:
    """What imports `name` from `module`, once it is called."""
    return lambda: getattr(importlib.import_module(module), name)


def _torch() -> None:
    for backend in ("math", "flash"):
        kernel = lambda backend=backend: sdpa(backend)  # noqa: E731
        title = f"scaled_dot_product_attention, {backend}"
        surveyed("torch", title, "hessian.attention", kernel, adapter=attention_kernel())
        for subject, adapter in (
            ("transformer.masked_attention", masked_kernel),
            ("transformer.causal_attention", causal_kernel),
            (BATCHED, batched_kernel),
        ):
            surveyed("torch", title, subject, kernel, adapter=adapter)
    heads = named("torch.nn", "MultiheadAttention")
    surveyed("torch", "MultiheadAttention, training", LAYER, heads, note=WITHOUT_GROUPS)
    surveyed("torch", "MultiheadAttention, eval", LAYER, heads, adapter=eval_mode, note=WITHOUT_GROUPS)
    surveyed("torch", "flex_attention, not compiled", "hessian.attention",
        named("torch.nn.attention.flex_attention", "flex_attention"), adapter=attention_kernel())  # fmt: skip
    surveyed("torch", "LayerNorm", "transformer.layer_norm", named("torch.nn", "LayerNorm"), note=ADDED_NARROWLY)
    surveyed("torch", "RMSNorm", "transformer.rms_norm", named("torch.nn", "RMSNorm"))


def eval_mode(module: Any) -> Callable[..., Any]:
    """torch.nn.MultiheadAttention after .eval(), with biases, which are zero: without gradients its fast path is taken."""
    import torch

    def adapted(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, M: Any, H: int, G: int) -> Any:
        d = X.shape[2]
        made = module(d, H, batch_first=True, dtype=X.dtype).eval()
        given = torch.cat([W_Q.T, repeated(W_K, G, H).T, repeated(W_V, G, H).T])
        weights = {"in_proj_weight": given, "in_proj_bias": X.new_zeros(3 * d)}
        weights |= {"out_proj.weight": W_O.T, "out_proj.bias": X.new_zeros(d)}
        return torch.func.functional_call(made, weights, (X, X, X), {"attn_mask": ~M, "need_weights": False})[0]

    adapted.__qualname__, adapted.__module__ = "MultiheadAttention.eval", "torch.nn"
    return adapted


def _transformers() -> None:
    known = {
        "bert": "BertSelfAttention", "vit": "ViTAttention", "gpt2": "GPT2Attention", "llama": "LlamaAttention",
        "mistral": "MistralAttention", "qwen2": "Qwen2Attention", "gemma2": "Gemma2Attention", "opt": "OPTAttention",
        "t5": "T5Attention", "gpt_neox": "GPTNeoXAttention", "bloom": "BloomAttention",
    }  # fmt: skip
    notes = {
        "bert": "The output projection, a layer of its own there, is applied behind the layer.",
        "gemma2": "Without its cap of the logits.",
        "t5": "T5 does not scale its logits: the queries' weights carry 1/sqrt(e). Its bias by distance is left out.",
        "bloom": "Its bias by distance is 0.",
    }
    for model, name in known.items():
        for way in ("eager",) if model in ("gemma2", "bloom") else ("eager", "sdpa"):
            adapter = (
                hugging_face_attention(way) if model in ("bert", "vit", "gpt2", "llama") else hugging_face_family(way)
            )
            make = named(f"transformers.models.{model}.modeling_{model}", name)
            surveyed("transformers", f"{name}, {way}", LAYER, make, adapter=adapter, note=notes.get(model, NO_TURNS))
    surveyed("transformers", "LlamaRMSNorm", "transformer.rms_norm",
        named("transformers.models.llama.modeling_llama", "LlamaRMSNorm"))  # fmt: skip


def _jax() -> None:
    floats = ("float64", "float32")
    few = {
        LAYER: ({"B": 2, "n": (3, 17), "e": 2, "H": 2, "G": (1, 2)}, lambda sizes: sizes["n"] in (3, 17)),
        "transformer.layer_norm": ({"n": 3, "d": (3, 33)}, lambda sizes: sizes["d"] in (3, 4, 33)),
        "transformer.rms_norm": ({"n": 3, "d": (3, 33)}, lambda sizes: sizes["d"] in (3, 4, 33)),
    }
    surveyed("jax", "nn.dot_product_attention", BATCHED, named("jax.nn", "dot_product_attention"), precisions=floats,
        sizes={"B": 2, "H": 2, "G": (1, 2), "m": 3, "n": (3, 17), "d_K": 2, "d_V": 2},
        where=lambda sizes: sizes["n"] in (3, 17),
        note=f"Values of another width are given in pieces as wide as keys, which it asks for. {FEW_SIZES}")  # fmt: skip
    for library, module, layer, subject, make in (
        ("flax", "nnx", "MultiHeadAttention", LAYER, named("flax.nnx", "MultiHeadAttention")),
        ("flax", "linen", "MultiHeadDotProductAttention", LAYER, named("flax.linen", "MultiHeadDotProductAttention")),
        ("flax", "nnx", "LayerNorm", "transformer.layer_norm", named("flax.nnx", "LayerNorm")),
        ("flax", "nnx", "RMSNorm", "transformer.rms_norm", named("flax.nnx", "RMSNorm")),
        ("equinox", "nn", "MultiheadAttention", LAYER, named("equinox.nn", "MultiheadAttention")),
        ("equinox", "nn", "LayerNorm", "transformer.layer_norm", named("equinox.nn", "LayerNorm")),
        ("equinox", "nn", "RMSNorm", "transformer.rms_norm", named("equinox.nn", "RMSNorm")),
    ):
        note = f"{WITHOUT_GROUPS} {FEW_SIZES}" if subject == LAYER else FEW_SIZES
        sizes, where = few[subject]
        surveyed(library, f"{module}.{layer}", subject, make, precisions=floats, note=note, sizes=sizes, where=where)


def _others() -> None:
    surveyed(
        "keras", "MultiHeadAttention, on torch", LAYER, keras_on_torch, adapter=keras_attention_layer, note=BIAS_FREE
    )
    surveyed("timm", "Attention", LAYER, named("timm.layers", "Attention"), adapter=timm_layer, note=WITHOUT_GROUPS)
    attention = named("x_transformers.x_transformers", "Attention")
    for flash in (False, True):
        surveyed("x_transformers", f"Attention, {'flash' if flash else 'eager'}", LAYER, attention,
            adapter=x_transformers_layer(flash=flash), note=WITHOUT_GROUPS)  # fmt: skip
    surveyed(
        "x_transformers",
        "Attention, kv_heads",
        LAYER,
        attention,
        adapter=x_transformers_layer(grouped=True),
        convention=IN_TURNS,
    )
    for processor in ("AttnProcessor", "AttnProcessor2_0"):
        surveyed("diffusers", f"Attention, {processor}", LAYER, named("diffusers.models.attention_processor", "Attention"),
            adapter=diffusers_layer(processor), note=BIAS_FREE)  # fmt: skip


_torch()
_transformers()
_jax()
_others()
