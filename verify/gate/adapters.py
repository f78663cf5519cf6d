"""Adapters for usual conventions: numpy and JAX functions, leading batch axes, modules with parameters of their own.

An adapter takes someone's function and returns one with the parameters of a subject; `verify.check(..., adapter=...)`.
Adapters that know what attention is are in `theorems.adapters`.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

from verify.arithmetics import is_tensor
from verify.gate.batch_places import stacked, unstacked
from verify.gate.bridge import InJax, as_wide_as, bridged, from_array, to_array, under_torch_func
from verify.gate.subject_errors import NotDifferentiable
from verify.vocabulary.errors import InputError

Function = Callable[..., Any]

__all__ = ["batched", "call_module", "from_jax", "from_numpy", "stacked", "unstacked"]


def _plain(value: Any) -> Any:
    """A tensor outside of any derivative; raises `NotDifferentiable` inside one."""
    try:
        value.data_ptr()  # tensors inside torch.func have none, whatever they say of requires_grad
        followed = value.requires_grad
    except RuntimeError:
        followed = True
    if followed:
        raise NotDifferentiable("the implementation leaves torch, derivatives cannot follow it")
    return value


def from_numpy(function: Function) -> Function:
    """A function of numpy arrays (numpy, scipy, or anything that takes them) as one of tensors.

    Tensors become arrays of the same dtype, the result a tensor of it, on the device of the arguments.  A claim that
    differentiates it is reported as not checkable.
    """

    def adapted(*args: Any) -> Any:
        import torch

        like = next(value for value in args if is_tensor(value))
        result = function(*(_plain(value).cpu().numpy().copy() if is_tensor(value) else value for value in args))
        return torch.as_tensor(result).to(like.device)

    return titled(adapted, function)


def from_jax(function: Function | None = None, **options: Any) -> Function:
    """A function of JAX arrays as one of tensors, exchanged through dlpack; derivatives are those of jax.vjp.

    `options` are passed on by keyword, as in ``adapter=from_jax(causal=False)``, which is an adapter.  Tensors of float64
    are computed with in float64, whether or not JAX is told to outside.  Raises `InputError` when JAX is not installed.
    """
    if importlib.util.find_spec("jax") is None:
        raise InputError("adapter", "an environment with JAX for from_jax", "none: `import jax` fails here")
    if function is None:
        adapter = functools.partial(from_jax, **options)
        adapter.__qualname__ = "from_jax"  # type: ignore[attr-defined]
        return adapter

    def called(*args: Any) -> Any:
        return function(*args, **options)

    def adapted(*args: Any) -> Any:
        if under_torch_func() or any(is_tensor(value) and value.requires_grad for value in args):
            return bridged(InJax.of(called), *args)
        with as_wide_as(args):
            return from_array(called(*map(to_array, args)))

    return titled(adapted, function)


def batched(axes: int = 1) -> Callable[[Function], Function]:
    """The adapter for functions whose matrices carry `axes` leading batch axes, of lengths from 1 to 3.

    The operands stand at every place in turn, and multiples of them elsewhere: every entry of the batch is compared, and
    entries that leak into each other show.
    """
    if not isinstance(axes, int) or axes < 1:
        raise InputError("axes", "an integer >= 1", repr(axes))

    def adapter(function: Function) -> Function:
        def adapted(*args: Any) -> Any:
            return unstacked(function(*(stacked(value, axes) for value in args)), axes)

        return titled(adapted, function)

    adapter.__qualname__ = f"batched({axes})"
    return adapter


def call_module(module: Any, parameters: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
    """``module(*args, **kwargs)`` with `parameters` in the place of its own, differentiable in them.

    Raises `InputError` for a parameter that the module has and `parameters` lacks, or the other way round: weights that
    nobody chose would decide the result.
    """
    import torch

    own = dict(module.named_parameters())
    missing, unknown = sorted(set(own) - set(parameters)), sorted(set(parameters) - set(own))
    if missing or unknown:
        raise InputError("parameters", f"exactly {sorted(own)}", f"missing {missing}, unknown {unknown}")
    for name, value in parameters.items():
        if tuple(value.shape) != tuple(own[name].shape):
            raise InputError(name, f"shape {tuple(own[name].shape)}", f"shape {tuple(value.shape)}")
    return torch.func.functional_call(module, dict(parameters), args, kwargs)


def titled(adapted: Function, function: Any) -> Function:
    """Keep the name by which a report speaks of the function, not its signature."""
    adapted.__qualname__ = getattr(function, "__qualname__", type(function).__name__)
    adapted.__module__ = getattr(function, "__module__", "") or ""
    return adapted
