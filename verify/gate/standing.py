"""An implementation in the place of a definition: tensors go to it, every other arithmetic to the definition.

Balls and rationals fall through, so that rounding units and enclosures remain those of the printed formula.  A mask is
handed on as a boolean tensor.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import flint
import numpy as np

from verify.arithmetics import Constant, Surd, is_tensor
from verify.arithmetics.jets import Jet
from verify.gate.bridge import InTorch, bridged, under_torch_func
from verify.gate.subject_errors import NotDifferentiable, Raised, WrongResult, described
from verify.vocabulary.shapes import shapes_of
from verify.vocabulary.subjects import definition_of, replaced

#: Operands that no implementation in floats can take.
_OTHER_ARITHMETICS = (np.ndarray, Constant, Surd, flint.arb, flint.fmpq, Jet)

#: How a report says that an argument is no longer what it was.
CHANGED = "changed in place"


class Standing:
    """Calls `implementation` with the parameters of the subject `name`, by position, and checks what it returns.

    `calls` counts the calls with tensors; `differentiated` says whether one of them was part of a derivative, `bridged`
    whether torch.func has refused it.
    """

    def __init__(self, name: str, implementation: Callable[..., Any]) -> None:
        self.name, self.implementation = name, implementation
        self.definition = definition_of(name)
        self.signature = inspect.signature(self.definition)
        self.calls, self.differentiated, self.bridged = 0, False, False
        self._shapes: dict[Any, tuple[int, ...]] = {}
        self._expected: dict[Any, tuple[int, ...]] = {}
        specs = shapes_of(self.definition)
        self.masks = {parameter for parameter, spec in specs.items() if spec.role == "mask"}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        import torch

        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = bound.arguments
        tensors = {name: value for name, value in arguments.items() if is_tensor(value)}
        if not tensors and any(isinstance(value, _OTHER_ARITHMETICS) for value in arguments.values()):
            return self.definition(*args, **kwargs)
        if tensors:
            like = next(iter(tensors.values()))
            arguments = {
                name: value.adapt(like) if isinstance(value, (Constant, Surd)) else value
                for name, value in arguments.items()
            }
        for name in self.masks:
            if is_tensor(mask := arguments[name]):
                tensors[name] = mask if mask.dtype == torch.bool else mask != 0
        arguments = {**arguments, **tensors}
        self.calls += 1
        traced = under_torch_func()
        differentiated = traced or any(value.requires_grad or _is_dual(value) for value in tensors.values())
        self.differentiated = self.differentiated or differentiated
        before = {} if traced else {name: value.detach().clone() for name, value in tensors.items()}
        try:
            # an implementation that builds on the public name means the definition, not itself
            with replaced(self.name, self.definition):
                result = (self._through_torch_func if traced else self.implementation)(*arguments.values())
        except (NotDifferentiable, Raised, WrongResult):
            raise
        except Exception as problem:  # anything may come out of other people's code
            if differentiated:
                raise NotDifferentiable(described(problem)) from problem
            raise Raised(described(problem)) from problem
        # copies: changes through .data or .numpy() leave the version of a tensor as it was
        require_unchanged(tensors, before)
        return self._accepted(result, arguments, tensors)

    def _through_torch_func(self, *args: Any) -> Any:
        """The implementation under torch.func: itself, or behind a bridge from the first time that torch.func refuses it."""
        if not self.bridged:
            try:
                return self.implementation(*args)
            except Exception:  # whatever the reason, plain tensors have the last word
                self.bridged = True
        return bridged(InTorch.of(self.implementation), *args)

    def _accepted(self, result: Any, arguments: Mapping[str, Any], tensors: Mapping[str, Any]) -> Any:
        if not is_tensor(result):
            raise WrongResult("result", "a torch tensor", type(result).__name__)
        if result.is_nested or str(result.layout) != "torch.strided":
            raise WrongResult(
                "result", "a dense tensor", "a nested one" if result.is_nested else f"layout {result.layout}"
            )
        if not tensors:
            return result
        like = next(iter(tensors.values()))
        if tuple(result.shape) != self._expected.get(_shapes_of(arguments)):
            wanted = self._shape(arguments, tensors)
            if tuple(result.shape) != wanted:
                raise WrongResult("result", f"shape {wanted}", f"shape {tuple(result.shape)}")
        if result.dtype != like.dtype:
            raise WrongResult("result", f"the dtype of the arguments, {like.dtype}", str(result.dtype))
        if result.device != like.device:
            moved = "its result has to be moved there, by .to(X.device), or made there"
            raise WrongResult("result", f"the device of the arguments, {like.device}", f"{result.device}: {moved}")
        return result

    def expect(self, arguments: Mapping[str, Any], shape: tuple[int, ...] | None) -> None:
        """Take note of the shape of the definition's value at arguments at which it was evaluated: it is not asked for again."""
        if shape is not None:
            bound = self.signature.bind(**arguments)
            bound.apply_defaults()
            self._expected[_shapes_of(bound.arguments)] = shape

    def _shape(self, arguments: Mapping[str, Any], tensors: Mapping[str, Any]) -> tuple[int, ...]:
        """The shape of the definition's value, evaluated once for each combination of argument shapes."""
        import torch

        def wide(dtype: Any) -> Any:  # definitions take no half precision
            return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype

        key = _shapes_of(arguments)
        if key not in self._shapes:
            plain = {
                name: torch.ones(value.shape, dtype=wide(value.dtype), device=value.device)
                if name in tensors
                else value
                for name, value in arguments.items()
            }
            self._shapes[key] = tuple(self.definition(**plain).shape)
        return self._shapes[key]


def require_unchanged(tensors: Mapping[str, Any], before: Mapping[str, Any], when: str = "") -> None:
    """Raise `WrongResult` for a tensor of `tensors` that is no longer its copy in `before`."""
    import torch

    for name, copy in before.items():
        now = tensors[name].detach()
        if not torch.equal(now, copy) and not torch.equal(now.nan_to_num(), copy.nan_to_num()):
            raise WrongResult(name, "an argument left as it was", f"an argument {CHANGED}{when}")


def _shapes_of(arguments: Mapping[str, Any]) -> tuple[Any, ...]:
    """The shapes of tensors, and all other arguments."""
    return tuple(tuple(value.shape) if is_tensor(value) else str(value) for value in arguments.values())


def _is_dual(value: Any) -> bool:
    """Whether a tensor carries a forward derivative."""
    import torch

    forward_ad: Any = torch.autograd.forward_ad
    return forward_ad.unpack_dual(value).tangent is not None if value.is_floating_point() else False


def title_of(implementation: Callable[..., Any]) -> str:
    """How reports name an implementation."""
    name = getattr(implementation, "__qualname__", None)
    if name is None:
        return type(implementation).__name__
    module = getattr(implementation, "__module__", None)
    return f"{module}.{name}" if module else str(name)
