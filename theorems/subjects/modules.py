"""What the gate knows of layers as modules write them: GPT's attention, norms of samples; and adapters by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from theorems.adapters.layers import module_class, titled
from theorems.subjects.layers import number
from theorems.transformer import definitions
from theorems.transformer import layers as modules
from verify.gate.adapters import call_module
from verify.gate.profiles import Large, Profile
from verify.gate.recognised import recognise
from verify.matrix import causal_mask, sqrt
from verify.vocabulary import Shape, Size

# -- GPT ---------------------------------------------------------------------------------------------------------------

GPT = Profile(
    "transformer.gpt_attention",
    sizes={"B": (1, 2), "n": (1, 4), "H": (1, 3), "e": (1, 3), "d": (1, 9), "t": (3, 27)},
    where=lambda s: s["d"] == s["H"] * s["e"] and s["t"] == 3 * s["d"],
    large=Large(counts=("B", "H"), derived={"d": lambda s: s["H"] * s["e"], "t": lambda s: 3 * s["H"] * s["e"]}),
    layout="samples of tokens that are rows; W and b have the parts of queries, keys and values, in this order, each of its heads;"
    " weights act from the right; token i attends to the tokens 1, ..., i",
)  # fmt: skip


GPT.sums("B")
GPT.sums("n", n=513)


@GPT.inputs
def layer(
    X: definitions.Samples, W: Annotated[Any, Shape("d", "t", role="query")], b: modules.FusedShift, W_O: modules.OutputWeights,
    c: definitions.Shift, H: modules.Heads, e: Annotated[int, Size("e")],
) -> dict[str, Any]:  # fmt: skip
    return {"X": X, "W": W, "b": b, "W_O": W_O, "c": c, "H": H}


@GPT.rows("n", axis=1)
def rows_of_gpt(rows: Sequence[int], X: Any, W: Any, b: Any, W_O: Any, c: Any, H: int) -> Any:
    chosen = list(rows)
    Q, K, V = (part.unflatten(2, (H, -1)).transpose(1, 2) for part in (X @ W + b).chunk(3, 2))
    F = definitions.batched_attention(Q[:, :, chosen], K, V, causal_mask(X.shape[1])[chosen])
    return F.transpose(1, 2).flatten(2) @ W_O + c


def _thirds(W: Any, order: tuple[int, int, int]) -> Any:
    """The parts of queries, keys and values of W, shape (..., 3 d), in another order."""
    return W.unflatten(-1, (3, -1))[..., list(order), :].flatten(-2)


def _with(change: Callable[..., tuple[Any, Any]]) -> Callable[..., Any]:
    """The layer with other weights and biases of the fused projection, functions of (W, b, H)."""
    return lambda X, W, b, W_O, c, H: modules.gpt_attention(X, *change(W, b, H), W_O, c, H)


def _head_by_head(W: Any, H: int) -> Any:
    """Columns that were cut head by head, into queries, keys and values, in the order of the definition."""
    return W.unflatten(-1, (H, 3, -1)).transpose(-3, -2).flatten(-3)


def _scaled(factor: Callable[[int, int], Any]) -> Callable[..., Any]:
    """Queries, their bias too, times a function of the width d and the number of heads."""

    def change(W: Any, b: Any, H: int) -> tuple[Any, Any]:
        d = W.shape[0]
        times = W.new_ones(3 * d)
        times[:d] *= float(factor(d, H))
        return W * times, b * times

    return _with(change)


GPT.variant("the bias of the projection to queries, keys and values is left out")(_with(lambda W, b, H: (W, 0 * b)))
GPT.variant("the bias of the output is left out")(
    lambda X, W, b, W_O, c, H: modules.gpt_attention(X, W, b, W_O, 0 * c, H)
)
GPT.variant("queries and keys are exchanged")(_with(lambda W, b, H: (_thirds(W, (1, 0, 2)), _thirds(b, (1, 0, 2)))))
GPT.variant("keys and values are exchanged")(_with(lambda W, b, H: (_thirds(W, (0, 2, 1)), _thirds(b, (0, 2, 1)))))
GPT.variant("the projection is cut head by head, and not into queries, keys and values first")(
    _with(lambda W, b, H: (_head_by_head(W, H), _head_by_head(b, H)))
)
GPT.variant("the scale 1/sqrt(e) of heads of width e = d / H is missing")(_scaled(lambda d, H: (d // H) ** 0.5))
GPT.variant("the logits are divided by sqrt(d), of the width of the model, not of a head")(
    _scaled(lambda d, H: H**-0.5)
)


@GPT.variant("the causal mask is left out")
def _(X: Any, W: Any, b: Any, W_O: Any, c: Any, H: int) -> Any:
    B, n, d = X.shape
    Q, K, V = ((X @ W + b).unflatten(2, (3, H, -1))[:, :, part].transpose(1, 2) for part in range(3))
    F = definitions.batched_attention(Q, K, V, X.new_ones(n, n))
    return F.transpose(1, 2).reshape(B, n, d) @ W_O + c


@recognise("transformer.gpt_attention", "transformers.models.gpt2.modeling_gpt2.GPT2Attention")
def gpt2(module: Any) -> Callable[..., Any]:
    """Attention of GPT-2 in transformers, with its biases and the causal mask of its own."""

    def adapted(X: Any, W: Any, b: Any, W_O: Any, c: Any, H: int) -> Any:
        import torch

        config = importlib.import_module("transformers").GPT2Config(
            n_embd=X.shape[2], n_head=H, attn_pdrop=0.0, resid_pdrop=0.0, attn_implementation="sdpa"
        )
        with torch.device("meta"):
            made = module_class(module)(config).eval()
        weights = {"c_attn.weight": W, "c_attn.bias": b, "c_proj.weight": W_O, "c_proj.bias": c}
        return call_module(made, weights, X.contiguous())[0]

    return titled(adapted, module)


# -- norms of samples --------------------------------------------------------------------------------------------------

ROWS = "the last of three axes is normalised"
LAYER_NORM = Profile("transformer.layer_norm_of_samples", sizes={"B": (1, 3), "n": (1, 4), "d": (1, 6)}, layout=ROWS)
RMS_NORM = Profile("transformer.rms_norm_of_samples", sizes={"B": (1, 3), "n": (1, 4), "d": (1, 6)}, layout=ROWS)
MATRICES = Profile(
    "transformer.layer_norm_of_matrices", sizes={"B": (1, 3), "n": (1, 4), "d": (1, 5)},
    layout="the last two of three axes are normalised together; gamma and beta have a number for each of their entries",
)  # fmt: skip
for _profile in (LAYER_NORM, RMS_NORM):
    _profile.sums("B", "n")
MATRICES.sums("B")


@LAYER_NORM.inputs
def samples_to_normalise(
    X: definitions.Samples, gamma: definitions.Gain, beta: definitions.Shift, epsilon: definitions.Epsilon
) -> dict[str, Any]:
    return {"X": X, "gamma": gamma, "beta": beta, "epsilon": number(epsilon)}


@RMS_NORM.inputs
def samples_to_scale(X: definitions.Samples, gamma: definitions.Gain, epsilon: definitions.Epsilon) -> dict[str, Any]:
    return {"X": X, "gamma": gamma, "epsilon": number(epsilon)}


@MATRICES.inputs
def matrices_to_normalise(
    X: definitions.Samples, gamma: modules.MatrixGain, beta: modules.MatrixShift, epsilon: definitions.Epsilon
) -> dict[str, Any]:
    return {"X": X, "gamma": gamma, "beta": beta, "epsilon": number(epsilon)}


def _over(axes: tuple[int, ...], centred: bool = True) -> Callable[[Any, Any], Any]:
    """X normalised over some axes, with epsilon under the root."""

    def normalised(X: Any, epsilon: Any) -> Any:
        C = X - X.mean(axes, keepdim=True) if centred else X
        return C / sqrt((C * C).mean(axes, keepdim=True) + epsilon)

    return normalised


for _axes, _words in (((0,), "the axis of samples"), ((1,), "the axis of tokens"), ((1, 2), "both axes of a sample")):
    LAYER_NORM.variant(f"{_words} are normalised" if len(_axes) > 1 else f"{_words} is normalised")(
        lambda X, gamma, beta, epsilon, axes=_axes: _over(axes)(X, epsilon) * gamma + beta
    )
    RMS_NORM.variant(f"{_words} are normalised" if len(_axes) > 1 else f"{_words} is normalised")(
        lambda X, gamma, epsilon, axes=_axes: _over(axes, False)(X, epsilon) * gamma
    )
LAYER_NORM.variant("the mean of each row is not subtracted, as in RMSNorm")(
    lambda X, gamma, beta, epsilon: _over((2,), False)(X, epsilon) * gamma + beta
)
RMS_NORM.variant("the mean of each row is subtracted, as in LayerNorm")(
    lambda X, gamma, epsilon: _over((2,))(X, epsilon) * gamma
)
MATRICES.variant("each row is normalised by itself")(
    lambda X, gamma, beta, epsilon: _over((2,))(X, epsilon) * gamma + beta
)
MATRICES.variant("the gain of the first row is that of all")(
    lambda X, gamma, beta, epsilon: _over((1, 2))(X, epsilon) * gamma[:1] + beta
)
