"""Derivatives of functions that torch.func refuses: reverse mode of the function itself, called with plain tensors.

A function becomes a torch.autograd.Function whose backward pass is again such a function, made of its vector-Jacobian
product.  torch.func sees only these wrappers, so the function may be an old-style autograd.Function, use checkpoints or
data pointers, or belong to another library, as long as that library has vector-Jacobian products of any order.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from verify.arithmetics import is_tensor
from verify.gate.subject_errors import NotDifferentiable, OnceDifferentiable


class Plain(Protocol):
    """A function of plain tensors that returns a tuple of them, and what its library makes of it."""

    def __call__(self, *tensors: Any) -> tuple[Any, ...]: ...

    def transposed(self, results: int) -> Plain:
        """From as many cotangents as `results`, then arguments, to the products of the cotangents with the Jacobian."""

    def mapped(self, axes: tuple[int | None, ...], size: int) -> Plain:
        """The function at each of `size` entries along `axes` of its arguments, results stacked."""


def under_torch_func() -> bool:
    """Whether a transformation of torch.func is being traced."""
    import torch

    return torch._C._functorch.peek_interpreter_stack() is not None


def bridged(plain: Callable[..., Plain], *args: Any) -> Any:
    """A function at `args`, in a way that torch.func and autograd can differentiate.

    `plain` takes the places of the tensors of real numbers among `args`, and `args`, and returns the function of these
    tensors alone: masks have no derivatives.
    """
    moving = [place for place, value in enumerate(args) if is_tensor(value) and value.is_floating_point()]
    return _level(plain(moving, args)).apply(*(args[place] for place in moving))[0]


def require_differentiable(values: Iterable[Any]) -> None:
    """Raise `OnceDifferentiable` where torch would leave out, in silence, what was marked as differentiable only once."""
    seen: set[Any] = set()
    nodes = [value.grad_fn for value in values if value.grad_fn is not None]
    while nodes:
        node = nodes.pop()
        if node in seen:
            continue
        seen.add(node)
        if "Error" in node.name():
            raise OnceDifferentiable("it is marked as differentiable once only")
        nodes += [upper for upper, _ in node.next_functions if upper is not None]


def _level(function: Plain) -> Any:
    """The torch.autograd.Function of `function`, whose backward pass is the level above it."""
    import torch

    class Level(torch.autograd.Function):
        @staticmethod
        def forward(*operands: Any) -> tuple[Any, ...]:
            # clones: a result that is one of the arguments would share their history
            return tuple(value.detach().clone() for value in function(*operands))

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
            return _level(function.transposed(len(cotangents))).apply(*cotangents, *ctx.saved_tensors)

        @staticmethod
        def vmap(info: Any, in_dims: tuple[Any, ...], *operands: Any) -> tuple[Any, Any]:
            results = _level(function.mapped(in_dims, info.batch_size)).apply(*operands)
            return results, (0,) * len(results)

    return Level


def filled(args: tuple[Any, ...], moving: list[int], values: tuple[Any, ...]) -> list[Any]:
    """`args` with `values` at the places `moving`."""
    given = list(args)
    for place, value in zip(moving, values, strict=True):
        given[place] = value
    return given


class InTorch:
    """A function of plain tensors, differentiated by torch.autograd."""

    def __init__(self, function: Callable[..., tuple[Any, ...]]) -> None:
        self.function = function

    @staticmethod
    def of(function: Callable[..., Any]) -> Callable[..., InTorch]:
        """What `bridged` takes, of a function of tensors with one result."""
        return lambda moving, args: InTorch(lambda *tensors: (function(*filled(args, moving, tensors)),))

    def __call__(self, *tensors: Any) -> tuple[Any, ...]:
        return self.function(*tensors)

    def mapped(self, axes: tuple[int | None, ...], size: int) -> InTorch:
        import torch

        def every(*tensors: Any) -> tuple[Any, ...]:
            results = [
                self.function(*(x if at is None else x.select(at, i) for x, at in zip(tensors, axes, strict=True)))
                for i in range(size)
            ]
            return tuple(torch.stack(values) for values in zip(*results, strict=True))

        return InTorch(every)

    def transposed(self, results: int) -> InTorch:
        import torch

        def product(*operands: Any) -> tuple[Any, ...]:
            cotangents, arguments = operands[:results], operands[results:]
            with torch.enable_grad():
                arguments = tuple(x if x.requires_grad else x.detach().requires_grad_() for x in arguments)
                pairs = [(y, g) for y, g in zip(self.function(*arguments), cotangents, strict=True) if y.requires_grad]
                if not pairs:
                    raise NotDifferentiable("a result is cut from all arguments (detach, no_grad, or torch is left)")
                ys, gs = zip(*pairs, strict=True)
                require_differentiable(ys)
                return torch.autograd.grad(
                    ys, arguments, gs, create_graph=True, allow_unused=True, materialize_grads=True
                )

        return InTorch(product)


class InJax:
    """A function of JAX arrays, called with plain tensors and differentiated by jax.vjp."""

    def __init__(self, function: Callable[..., tuple[Any, ...]]) -> None:
        self.function = function

    @staticmethod
    def of(function: Callable[..., Any]) -> Callable[..., InJax]:
        """What `bridged` takes, of a function of arrays with one result."""
        return lambda moving, args: InJax(lambda *arrays: (function(*map(to_array, filled(args, moving, arrays))),))

    def __call__(self, *tensors: Any) -> tuple[Any, ...]:
        with as_wide_as(tensors):
            return tuple(map(from_array, self.function(*map(to_array, tensors))))

    def mapped(self, axes: tuple[int | None, ...], size: int) -> InJax:
        return InJax(_jax().vmap(self.function, in_axes=axes, axis_size=size))

    def transposed(self, results: int) -> InJax:
        vjp = _jax().vjp
        return InJax(lambda *operands: vjp(self.function, *operands[results:])[1](tuple(operands[:results])))


def _jax() -> Any:
    return importlib.import_module("jax")


def as_wide_as(values: Iterable[Any]) -> contextlib.AbstractContextManager[Any]:
    """Inside the block JAX has numbers of 64 bits if there are such among `values`."""
    import torch

    if not any(is_tensor(value) and value.dtype == torch.float64 for value in values):
        return contextlib.nullcontext()
    jax = _jax()  # before version 0.8 this was an experiment
    owner = jax if hasattr(jax, "enable_x64") else importlib.import_module("jax.experimental")
    return owner.enable_x64(True)  # type: ignore[no-any-return]


def to_array(value: Any) -> Any:
    """A plain tensor as a JAX array; other values as they are."""
    return _jax().dlpack.from_dlpack(value.detach().contiguous()) if is_tensor(value) else value


def from_array(array: Any) -> Any:
    """A JAX array as a tensor."""
    import torch

    return torch.utils.dlpack.from_dlpack(array)
