"""Reference functions, and what each of their matrices is replaced by: (change, message without the argument's name)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import theorems
from theorems.convergence.fast.tangent_kernel import finite_width_tangent_kernel, limiting_tangent_kernel
from theorems.hessian.fast.dense import attention_hessian
from theorems.hessian.fast.operators import AttentionCurvature, curvature_product
from theorems.osa.fast.layers import orthogonal_self_attention_jacobian, polar_basis
from theorems.osa.fast.linear_cost import linear_cost_attention, push_through_loss
from theorems.reference import references
from theorems.transformer.fast.curvature import LayerCurvature

Change = Callable[[torch.Tensor], Any]


def _with(value: float) -> Change:
    def change(matrix: torch.Tensor) -> torch.Tensor:
        changed = matrix.clone()
        changed.view(-1)[-1] = value
        return changed

    return change


def _sparse_rows(matrix: torch.Tensor) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch calls this layout new
        return matrix.to_sparse_csr()


#: What replaces one matrix, and what the message then says after its name.
CHANGES: dict[str, tuple[Change, str]] = {
    "float16": (lambda M: M.half(), "expected a tensor of float32 or float64; got torch.float16"),
    "bfloat16": (lambda M: M.bfloat16(), "expected a tensor of float32 or float64; got torch.bfloat16"),
    "complex": (lambda M: M.to(torch.complex128), "expected a tensor of float32 or float64; got torch.complex128"),
    "integers": (lambda M: M.long(), "expected a tensor of float32 or float64; got torch.int64"),
    "truth values": (lambda M: M > 0, "expected a tensor of float32 or float64; got torch.bool"),
    "a sparse tensor": (lambda M: M.to_sparse(), "expected a dense tensor; got layout torch.sparse_coo"),
    "compressed rows": (_sparse_rows, "expected a dense tensor; got layout torch.sparse_csr"),
    "one NaN": (_with(math.nan), "expected finite entries; got NaN or infinity"),
    "one infinity": (_with(-math.inf), "expected finite entries; got NaN or infinity"),
    "no rows": (lambda M: M[:0], "expected no size 0; got shape (0"),
    "no features": (lambda M: M[..., :0], "expected no size 0; got shape ("),
    "a list": (lambda M: M.tolist(), "expected a torch tensor"),
    "nothing": (lambda M: None, "expected a torch tensor"),
    "text": (lambda M: "X", "expected a torch tensor"),
    "a vector too few": (lambda M: M.reshape(-1), "expected "),
}

#: What `attention` takes as torch's own function does: 16 bits, what is not finite, sizes of zero.
ACCEPTED = {
    ("layers.attention", change)
    for change in ("float16", "bfloat16", "one NaN", "one infinity", "no rows", "no features")
}

#: Functions beside those that are exported by topic, with arguments that fit.
_LAYER = {name: value for name, value in references()["layers.orthogonal_self_attention"].example(
    torch.float64, torch.Generator().manual_seed(0)).items()}  # fmt: skip
_LOSS = references()["curvature.loss_hessian_query_key"].example(torch.float64, torch.Generator().manual_seed(0))
_HEADS = {name: torch.ones(shape, dtype=torch.float64) for name, shape in (
    ("X", (3, 5, 4)), ("W_Q", (2, 4, 3)), ("W_K", (2, 4, 3)), ("W_V", (2, 4, 2)), ("W_O", (2, 2, 4)), ("Y", (3, 5, 4)),
)}  # fmt: skip
_SAMPLES = torch.randn(3, 4, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
_WIDTHS = torch.randn(5, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
_FURTHER: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "linear_cost_attention": (linear_cost_attention, _LAYER),
    "push_through_loss": (push_through_loss, _LAYER),
    "orthogonal_self_attention_jacobian": (orthogonal_self_attention_jacobian, _LAYER),
    "polar_basis": (polar_basis, {"M": _SAMPLES[0]}),
    "attention_hessian": (attention_hessian, _LOSS),
    "AttentionCurvature": (AttentionCurvature, _LOSS),
    "LayerCurvature": (LayerCurvature, _HEADS),
    "curvature_product": (curvature_product, {**_LOSS, "v": torch.ones(32, dtype=torch.float64)}),
    "limiting_tangent_kernel": (limiting_tangent_kernel, {"X": _SAMPLES}),
    "finite_width_tangent_kernel": (
        finite_width_tangent_kernel,
        {"X": _SAMPLES, "W_Q": _WIDTHS, "W_K": _WIDTHS, "W_V": _WIDTHS, "w_O": _WIDTHS[:, :1], "tau_0": 1, "tau_1": 1},
    ),
}


def _exported() -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    drawn = {
        name: (reference.function, reference.example(torch.float64, torch.Generator().manual_seed(0)))
        for name, reference in references().items()
    }
    return {name: item for name, item in drawn.items() if any(map(torch.is_tensor, item[1].values()))}


#: Every function with arguments that fit it.
FUNCTIONS = {**_exported(), **_FURTHER}


def matrices(given: dict[str, Any]) -> list[str]:
    """The names of the arguments that are matrices."""
    return [name for name, value in given.items() if torch.is_tensor(value) and value.ndim]


def _nested(*tensors: torch.Tensor) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch calls this layout a prototype
        return torch.nested.nested_tensor(list(tensors))


def _layer(**changed: Any) -> Callable[[], Any]:
    return lambda: theorems.layers.orthogonal_self_attention(**{**_LAYER, **changed})


def _fast(**changed: Any) -> Callable[[], Any]:
    return lambda: linear_cost_attention(**{**_LAYER, **changed})


def _hessian(**changed: Any) -> Callable[[], Any]:
    return lambda: attention_hessian(**{**_LOSS, **changed})


def _kernel(**changed: Any) -> Callable[[], Any]:
    return lambda: finite_width_tangent_kernel(**{**_FURTHER["finite_width_tangent_kernel"][1], **changed})


def _of(name: str, **changed: Any) -> Callable[[], Any]:
    topic, function = name.split(".")
    return lambda: getattr(getattr(theorems, topic), function)(**{**FUNCTIONS[name][1], **changed})


def _initialise(*args: Any, **kwargs: Any) -> Callable[[], Any]:
    return lambda: theorems.layers.initialise(*args, **kwargs)


def _stiefel(*args: Any, **kwargs: Any) -> Callable[[], Any]:
    return lambda: theorems.layers.stiefel_uniform(*args, **kwargs)


def _newton_schulz(**changed: Any) -> Callable[[], Any]:
    return lambda: theorems.layers.newton_schulz(**{"M": _SAMPLES[0], "steps": 3, **changed})


def _curvature(vectors: Any) -> Callable[[], Any]:
    return lambda: AttentionCurvature(**_LOSS) @ vectors


_X = _LOSS["X"]
_BATCH = torch.stack([_X, _X * math.nan])
_LOSS_NAME, _JACOBIAN = "curvature.loss_hessian_query_key", "jacobians.attention_jacobian"
_NUMBER = "expected a number"

#: Single calls, each with what its message contains.
CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    # dtypes and generators of initialisers
    **{f"initialise in {dtype}": (_initialise(4, 2, dtype=dtype), "dtype: expected torch.float32, torch.float64 or None")
       for dtype in (torch.int64, torch.int32, torch.uint8, torch.bool, torch.float16, torch.bfloat16, torch.complex64,
                     "float64", float, np.float64)},
    **{f"stiefel_uniform in {dtype}": (_stiefel(4, 2, dtype=dtype), "dtype: expected torch.float32, torch.float64")
       for dtype in (torch.int64, torch.float16, torch.bfloat16, "float32")},
    "initialise with a seed": (_initialise(4, 2, generator=0), "generator: expected a torch.Generator or None; got 0"),
    "initialise with numpy's generator": (_initialise(4, 2, generator=np.random.default_rng(0)), "generator: expected a"),
    "stiefel_uniform with a seed": (_stiefel(4, 2, 7), "generator: expected a torch.Generator or None; got 7"),
    "initialise for one head": (_initialise(4, 1), "h: expected an integer >= 2; got 1"),
    "initialise for 1.5 heads": (_initialise(4, 1.5), "h: expected an integer >= 2; got 1.5"),
    "initialise for no features": (_initialise(0, 2), "d: expected an integer >= 1; got 0"),
    "initialise for 5 features": (_initialise(5, 2), "d: expected a multiple of h = 2; got 5"),
    "initialise for text": (_initialise("4", 2), "d: expected an integer >= 1; got '4'"),
    "initialise with alpha NaN": (_initialise(4, 2, math.nan), "alpha: expected a finite number; got nan"),
    "initialise with alpha text": (_initialise(4, 2, "0.1"), "alpha: expected a finite number; got '0.1'"),
    "stiefel_uniform of more columns than rows": (_stiefel(2, 4), "n: expected an integer >= 4; got 2"),
    "stiefel_uniform of no columns": (_stiefel(2, 0), "m: expected an integer >= 1; got 0"),
    "stiefel_uniform of floats": (_stiefel(4.0, 2), "n: expected an integer >= 2; got 4.0"),
    "stiefel_uniform of minus one samples": (_stiefel(4, 2, samples=-1), "samples: expected an integer >= 0; got -1"),
    # batches
    "NaN inside a batch of tokens": (_of(_LOSS_NAME, X=_BATCH), "X: expected finite entries; got NaN"),
    "NaN inside a batch of labels": (_of(_LOSS_NAME, Y=_BATCH), "Y: expected finite entries; got NaN"),
    "NaN inside a batch of batches": (_of(_LOSS_NAME, X=_BATCH[None]), "X: expected finite entries; got NaN"),
    "NaN in what a batch shares": (_of(_LOSS_NAME, X=_BATCH[:1], Y=_X * math.nan), "Y: expected finite entries"),
    "no examples": (_of(_LOSS_NAME, X=_BATCH[:0]), "X: expected no size 0; got shape (0, 8, 4)"),
    "no examples in a batch of batches": (_of(_LOSS_NAME, X=_BATCH[None, :0]), "X: expected no size 0"),
    "examples without features": (_of(_LOSS_NAME, X=_BATCH[..., :0]), "X: expected no size 0; got shape (2, 8, 0)"),
    "batches that disagree": (
        _of(_LOSS_NAME, X=torch.stack([_X, _X]), Y=torch.stack([_X] * 3)),
        "Y: expected shape (batch 0, L, d_V) with batch 0 = 2, from X; got shape (3, 8, 4)",
    ),
    "a batch in float16": (_of(_LOSS_NAME, X=torch.stack([_X, _X]).half()), "X: expected a tensor of float32 or float64"),
    "a sparse batch": (_of(_LOSS_NAME, X=torch.stack([_X, _X]).to_sparse()), "X: expected a dense tensor"),
    "a batch in float32, weights in float64": (_of(_LOSS_NAME, X=torch.stack([_X, _X]).float()), "expected the dtype of X"),
    "tokens of another width in a batch": (_of(_LOSS_NAME, X=_SAMPLES), "W_Q: expected shape (d_V, d_K) with d_V = 2"),
    "nested tokens": (
        _of(_LOSS_NAME, X=_nested(_X, _X[:3])), "X: expected a dense tensor; got a nested one"),
    "a layer of no examples": (_layer(X=_LAYER["X"][None][:0]), "X: expected no size 0; got shape (0, 8, 4)"),
    "a layer with NaN in a batch": (_layer(X=torch.stack([_LAYER["X"], _LAYER["X"] * math.nan])), "X: expected finite"),
    "a fast layer of no examples": (_fast(X=_LAYER["X"][None][:0]), "X: expected no size 0; got shape (0, 8, 4)"),
    "a fast layer with NaN in a batch": (_fast(X=torch.stack([_LAYER["X"], _LAYER["X"] * math.nan])), "X: expected fin"),
    **{f"a fast layer in {form} form with NaN": (_fast(X=_LAYER["X"] * math.nan, form=form), "X: expected finite entries")
       for form in ("automatic", "push-through", "frame")},
    **{f"a layer wholly in {dtype}": (_layer(**{name: value.to(dtype) for name, value in _LAYER.items()}),
                                      f"X: expected a tensor of float32 or float64; got {dtype}")
       for dtype in (torch.float16, torch.bfloat16)},
    **{f"a fast layer wholly in {dtype}": (_fast(**{name: value.to(dtype) for name, value in _LAYER.items()}),
                                           f"X: expected a tensor of float32 or float64; got {dtype}")
       for dtype in (torch.float16, torch.bfloat16)},
    **{f"a fast layer with NaN in {name}": (_fast(**{name: _LAYER[name] * math.nan}), f"{name}: expected finite entries")
       for name in ("W_Q", "W_K", "W_V", "W_O")},
    # numbers and options
    "alpha NaN": (_of(_JACOBIAN, alpha=math.nan), "alpha: expected a finite number; got nan"),
    "alpha infinite, a tensor": (_of(_JACOBIAN, alpha=torch.tensor(math.inf)), "alpha: expected a finite number; got inf"),
    "alpha None": (_of(_JACOBIAN, alpha=None), f"alpha: {_NUMBER}; got None"),
    "alpha text": (_of(_JACOBIAN, alpha="1"), f"alpha: {_NUMBER}; got '1'"),
    "alpha True": (_of(_JACOBIAN, alpha=True), f"alpha: {_NUMBER}; got True"),
    "alpha a list": (_of(_JACOBIAN, alpha=[1.0]), f"alpha: {_NUMBER}; got [1.0]"),
    "alpha complex": (_of(_JACOBIAN, alpha=1j), f"alpha: {_NUMBER}; got 1j"),
    "alpha a vector": (_of(_JACOBIAN, alpha=torch.ones(2)), "alpha: expected a number, or a tensor of shape (); got"),
    "alpha in float16": (_of(_JACOBIAN, alpha=torch.ones((), dtype=torch.float16)), "alpha: expected a tensor of float32"),
    "alpha of a layer NaN": (_layer(alpha=math.nan), "alpha: expected finite entries"),
    "alpha of a fast layer NaN": (_fast(alpha=math.nan), "alpha: expected finite entries"),
    "alpha of a fast layer text": (_fast(alpha="1"), "alpha: expected a number, or a tensor of shape () or (h,); got '1'"),
    "alpha of too many heads": (_fast(alpha=torch.ones(3).double()), "alpha: expected shape (h) with h = 2, from W_Q"),
    "method a list": (_layer(method=["dense"]), "method: expected one of ['push-through', 'frame', 'dense']; got ['dense']"),
    "form a number": (_fast(form=1), "form: expected one of ['automatic', 'push-through', 'frame']; got 1"),
    "part a number": (_hessian(part=2), "part: expected one of ['hessian', 'outer-product', 'functional']; got 2"),
    "out of another shape": (_hessian(out=torch.empty(3, 3).double()), "out: expected a contiguous tensor (32, 32)"),
    "out a list": (_hessian(out=[]), "out: expected a tensor (32, 32), or None; got list"),
    "out of another dtype": (_hessian(out=torch.empty(32, 32)), "out: expected a contiguous tensor (32, 32) of the dtype"),
    "tokens without values": (
        _hessian(**{name: value.to("meta") for name, value in _LOSS.items()}),
         "X: expected a tensor with values; got one on the device meta",
    ),
    "tau_0 NaN": (_kernel(tau_0=math.nan), "tau_0: expected a finite number; got nan"),
    "tau_1 text": (_kernel(tau_1="1"), "tau_1: expected a finite number; got '1'"),
    "pooling": (_kernel(pooling="mean"), "pooling: expected one of ['average', 'sum']; got 'mean'"),
    "steps 1.5": (_newton_schulz(steps=1.5), "steps: expected an integer >= 0; got 1.5"),
    "steps -1": (_newton_schulz(steps=-1), "steps: expected an integer >= 0; got -1"),
    "epsilon text": (_newton_schulz(epsilon="1"), "epsilon: expected a positive number, or None for no normalisation"),
    "epsilon 0": (_newton_schulz(epsilon=0), "epsilon: expected a positive number, or None for no normalisation; got 0"),
    "epsilon NaN": (_newton_schulz(epsilon=math.nan), "epsilon: expected a positive number"),
    "polar_basis of a wide matrix": (lambda: polar_basis(_SAMPLES[0].T), "M: expected shape (N, m) with N >= m"),
    # vectors of operators
    "vectors NaN": (_curvature(torch.full((32,), math.nan).double()), "vectors: expected finite entries"),
    "vectors with one infinity": (_curvature(_with(math.inf)(torch.ones(32, 2).double())), "vectors: expected finite"),
    "vectors too short": (_curvature(torch.ones(31).double()), "vectors: expected shape (32,) or (32, p), torch.float64"),
    "vectors in float16": (_curvature(torch.ones(32).half()), "vectors: expected shape (32,) or (32, p), torch.float64"),
    "vectors of three axes": (_curvature(torch.ones(32, 1, 1).double()), "vectors: expected shape (32,) or (32, p)"),
    "vectors without columns": (_curvature(torch.ones(32, 0).double()), "vectors: expected no size 0"),
    "vectors of numpy": (_curvature(np.ones(32)), "vectors: expected a torch tensor, or a list of tensors; got ndarray"),
    "vectors a list of text": (_curvature(["a", "b", "c"]), "vectors: expected a list of tensors of shapes"),
    "vectors a list too short": (_curvature([torch.ones(4, 2).double()]), "vectors: expected a list of tensors of shapes"),
    "Lanczos steps": (lambda: AttentionCurvature(**_LOSS).extreme_eigenvalues(0), "steps: expected an integer >= 1; got 0"),
    "Lanczos seed": (lambda: AttentionCurvature(**_LOSS).extreme_eigenvalues(2, -1), "seed: expected an integer >= 0"),
    "v too long": (
        lambda: curvature_product(**_LOSS, v=torch.ones(33).double()),
        "v: expected shape (32,) or (32, p), the dtype and device of X"),
}  # fmt: skip
