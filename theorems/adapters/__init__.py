"""Adapters that know what attention is: kernels of queries, keys and values, modules of torch and of Hugging Face,
normalisation layers, orthogonal initialisers, curvature operators.

Each says in its docstring how the convention it adapts differs from that of the paper.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from verify.gate.adapters import call_module, stacked, titled, unstacked
from verify.vocabulary import InputError

Function = Callable[..., Any]

#: Where the axes of batch, head, token and feature stand; absent ones are not passed.
LAYOUTS = ("BHNd", "BNHd", "BNd", "HNd", "Nd")


def _hessian(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> tuple[Any, ...]:
    return X @ W_Q, X @ W_K, X @ W_V, 1 / math.sqrt(W_Q.shape[1]), None


def _skipless(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any) -> tuple[Any, ...]:
    return X @ W_Q, X @ W_K, X @ W_V, 1.0, W_O


def _dynamics(X: Any, W_Q: Any, W_K: Any, W_V: Any, beta: Any) -> tuple[Any, ...]:
    return X @ W_Q, X @ W_K, X @ W_V, beta, None


def _convergence(X: Any, W_Q: Any, W_K: Any, W_V: Any, tau_0: Any) -> tuple[Any, ...]:
    return X @ W_Q.T, X @ W_K.T, X @ W_V.T, tau_0, None


#: Queries, keys, values, scale of the logits and output projection, from the arguments of each definition of attention.
_OPERANDS: dict[str, Function] = {
    "hessian.attention": _hessian,
    "skipless.self_attention": _skipless,
    "dynamics.attention_head": _dynamics,
    "convergence.self_attention": _convergence,
}


def attention_kernel(subject: str = "hessian.attention", layout: str = "BHNd", scale: str = "own") -> Function:
    """The adapter for a kernel f(q, k, v), such as torch.nn.functional.scaled_dot_product_attention, as `subject`.

    layout: where batch (B), head (H), token (N) and feature (d) axes stand.  Up to three of each are passed, of which
    one is compared, another at every draw, so that what leaks between them shows.  No mask is passed.
    scale: "own", the kernel multiplies logits by 1/sqrt(d) itself; "none", it does not; "argument", it takes scale=.
    Where a paper scales otherwise (skipless: not at all, dynamics: by beta, convergence: by tau_0), the queries carry
    the difference.  Raises `InputError` for an unknown subject, layout or scale.
    """
    for name, value, known in (
        ("subject", subject, tuple(_OPERANDS)),
        ("layout", layout, LAYOUTS),
        ("scale", scale, ("own", "none", "argument")),
    ):
        if value not in known:
            raise InputError(name, f"one of {list(known)}", repr(value))
    axes = len(layout) - 2

    def adapter(kernel: Function) -> Function:
        def adapted(*args: Any) -> Any:
            q, k, v, factor, W_O = _OPERANDS[subject](*args)
            options: dict[str, Any] = {}
            if scale == "argument":
                options["scale"] = float(factor)
            elif scale == "none":
                q = q * factor
            elif factor is not None and not _is_own(factor, q.shape[-1]):
                q = q * (factor * math.sqrt(q.shape[-1]))
            operands = (stacked(value, axes) for value in (q, k, v))
            if layout == "BNHd":
                operands = (value.transpose(1, 2) for value in operands)
            result = kernel(*operands, **options)
            result = unstacked(result.transpose(1, 2) if layout == "BNHd" else result, axes)
            return result if W_O is None else result @ W_O

        adapted.__qualname__ = getattr(kernel, "__qualname__", getattr(kernel, "__name__", type(kernel).__name__))
        adapted.__module__ = getattr(kernel, "__module__", "") or ""
        return adapted

    adapter.__qualname__ = f"attention_kernel({subject}, {layout}, scale: {scale})"
    return adapter


def _is_own(factor: Any, d: int) -> bool:
    return isinstance(factor, float) and factor == 1 / math.sqrt(d)


def sdpa(backend: str = "math", else_math: bool = True) -> Function:
    """torch's scaled_dot_product_attention through one backend: "math", "flash", "efficient" or "cudnn".

    Where the device or the shapes do not admit the backend, "math" computes, unless `else_math` is false; then torch
    raises.  Only "math" can be differentiated twice.  Raises `InputError` for an unknown backend.
    """
    import warnings

    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    known = {
        "math": SDPBackend.MATH,
        "flash": SDPBackend.FLASH_ATTENTION,
        "efficient": SDPBackend.EFFICIENT_ATTENTION,
        "cudnn": SDPBackend.CUDNN_ATTENTION,
    }
    if not isinstance(backend, str) or backend not in known:
        raise InputError("backend", f"one of {list(known)}", repr(backend))

    def forced(q: Any, k: Any, v: Any, **options: Any) -> Any:
        allowed = dict.fromkeys([known[backend], SDPBackend.MATH] if else_math else [known[backend]])
        with warnings.catch_warnings(), sdpa_kernel(list(allowed), set_priority=True):
            warnings.simplefilter("ignore", UserWarning)  # torch tells why it cannot use a backend
            return scaled_dot_product_attention(q, k, v, **options)

    forced.__qualname__, forced.__module__ = f"scaled_dot_product_attention[{backend}]", "torch.nn.functional"
    return forced


def multihead_attention(module_class: Any) -> Function:
    """torch.nn.MultiheadAttention, or a class with its constructor and parameters, as `dynamics.multi_head_attention`.

    torch's weights act as x W^T, the paper's as x W; torch scales logits by sqrt(H/D), the paper by beta, and the query
    weights carry the ratio.  There are no biases, masks or dropout.
    """

    def adapted(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, beta: Any, H: int) -> Any:
        import torch

        D = X.shape[1]
        with torch.device("meta"):
            module = module_class(D, H, bias=False, batch_first=True, dtype=X.dtype)
        scaled = W_Q * (beta * math.sqrt(D // H))
        weights = {"in_proj_weight": torch.cat([scaled.T, W_K.T, W_V.T]), "out_proj.weight": W_O.T}
        operands = stacked(X, 1)
        return unstacked(call_module(module, weights, operands, operands, operands, need_weights=False)[0], 1)

    return titled(adapted, module_class)


def rms_norm(module_class: Any, eps: float = 0.0) -> Function:
    """torch.nn.RMSNorm as `dynamics.rms_norm`.

    The paper divides rows by their norm, torch by the root of their mean square plus eps; the result is divided by
    sqrt(D) here.  With torch's default eps (that of the dtype) small rows differ, which the report shows: pass eps=None.
    """

    def adapted(Y: Any, gamma: Any) -> Any:
        module = module_class(Y.shape[1], eps=eps, dtype=Y.dtype, device=Y.device)
        return call_module(module, {"weight": gamma}, Y) / math.sqrt(Y.shape[1])

    return titled(adapted, module_class)


def orthogonal_initialiser(initialise: Function) -> Function:
    """An initialiser that fills a matrix in place, such as torch.nn.init.orthogonal_, as `osa.stiefel_uniform`.

    It is called once per sample on an (n, m) tensor, with the generator if it takes one.  Raises `InputError` for what
    cannot be called.
    """
    import inspect

    if not callable(initialise):
        raise InputError("initialise", "a function that fills a matrix in place", repr(initialise))
    takes_generator = "generator" in inspect.signature(initialise).parameters

    def adapted(n: int, m: int, generator: Any, samples: int, dtype: Any) -> Any:
        import torch

        device = generator.device if generator is not None else "cpu"
        result = torch.empty(samples, n, m, dtype=dtype or torch.float64, device=device)
        options = {"generator": generator} if takes_generator else {}
        for sample in result:
            initialise(sample, **options)
        return result

    return titled(adapted, initialise)


# -- curvature libraries -----------------------------------------------------------------------------------------------


def curvature_operator(operator: Any) -> Function:
    """A curvlinops operator class (HessianLinearOperator, GGNLinearOperator) as a Hessian of the attention layer.

    The operator is built for a module whose parameters are W_Q, W_K, W_V, applied to the one data point X with
    torch.nn.MSELoss(), which is the paper's loss ||F - Y||^2 / (L d_V); the block is cut from the matrix of all three.
    For `hessian.outer_product_hessian`, which has no labels, any labels give the same matrix: zeros are passed.
    """

    def adapted(X: Any, W_Q: Any, W_K: Any, W_V: Any, *rest: Any) -> Any:
        import torch

        *labels, wrt = rest
        Y = labels[0] if labels else torch.zeros_like(X)
        model = _attention_module(W_Q, W_K, W_V)
        parameters = dict(model.named_parameters())
        loss = torch.nn.MSELoss()
        linear = operator(model, loss, list(parameters.values()), [(X[None], Y[None])], check_deterministic=False)
        matrix = linear @ torch.eye(linear.shape[1], dtype=X.dtype, device=X.device)
        sizes = [value.numel() for value in parameters.values()]
        offsets = dict(zip(parameters, [sum(sizes[:i]) for i in range(len(sizes))], strict=True))
        rows, columns = (slice(offsets[name], offsets[name] + parameters[name].numel()) for name in wrt)
        return matrix[rows, columns].detach()

    return titled(adapted, operator)


def _attention_module(W_Q: Any, W_K: Any, W_V: Any) -> Any:
    import torch

    class Attention(torch.nn.Module):
        """Self-attention as of Eq. (1), with the math backend: the others have no second derivatives."""

        def __init__(self) -> None:
            super().__init__()
            for name, value in (("W_Q", W_Q), ("W_K", W_K), ("W_V", W_V)):
                setattr(self, name, torch.nn.Parameter(value.detach().clone()))

        def forward(self, X: Any) -> Any:
            return sdpa("math")(X @ self.W_Q, X @ self.W_K, X @ self.W_V)

    return Attention()


# -- Hugging Face ------------------------------------------------------------------------------------------------------


def hugging_face_vit(module_class: Any, implementation: str = "eager") -> Function:
    """transformers' ViTAttention, built from a configuration without downloads, as `dynamics.multi_head_attention`.

    `implementation` is "eager" or "sdpa".  Its linear layers act as x W^T, without biases here; it scales logits by
    sqrt(H/D), the paper by beta, and the query weights carry the ratio.
    """

    @functools.lru_cache(maxsize=64)  # to make it takes longer than to call it, and weights come with each call
    def made(D: int, H: int, dtype: Any) -> Any:
        import torch
        from transformers import ViTConfig

        options: dict[str, Any] = {"attention_probs_dropout_prob": 0.0, "attn_implementation": implementation}
        config = ViTConfig(hidden_size=D, num_attention_heads=H, qkv_bias=False, **options)
        with torch.device("meta"):
            return module_class(config).to(dtype).eval()

    def adapted(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, beta: Any, H: int) -> Any:
        D = X.shape[1]
        module = made(D, H, X.dtype)
        q_proj = (W_Q * (beta * math.sqrt(D // H))).T
        chosen = {"q_proj.weight": q_proj, "k_proj.weight": W_K.T, "v_proj.weight": W_V.T, "o_proj.weight": W_O.T}
        weights = {**chosen, "o_proj.bias": X.new_zeros(D)}
        result = call_module(module, weights, stacked(X, 1))
        return unstacked(result[0], 1)

    return titled(adapted, module_class)
