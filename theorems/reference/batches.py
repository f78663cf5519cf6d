"""Formulas for matrices with leading axes, with docstrings for those who import them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from verify.arithmetics import is_tensor
from verify.vocabulary import InputError, Shape, parameter_specs, require_arguments

F = TypeVar("F", bound=Callable[..., Any])

#: Sizes of the call that a docstring shows, all different.
SHOWN = {
    **dict.fromkeys(("L", "N", "n", "S", "d_s"), 3),
    **dict.fromkeys(("d", "d_V", "D"), 2),
    **dict.fromkeys(("d_K", "d_v"), 4),
    **dict.fromkeys(("r",), 3),
}

NOTE = """
All tensors are float32 or float64, on one device.  Leading axes of a matrix are a batch; a matrix without them is shared by
the whole batch.  The function can be differentiated by torch.autograd and torch.func.  It raises
`verify.vocabulary.InputError` if an argument does not fit.  Certified by {claims}."""


def over_batches(
    formula: F, claims: Sequence[str], topic: str, gives: tuple[int, ...], about: str = "", prepared: str = ""
) -> F:
    """`formula` for matrices with leading axes, with a docstring for users.

    The docstring has the formula's own, what it is `about`, the shapes of its arguments, and a call at `SHOWN` sizes that
    gives a matrix of shape `gives`; `prepared` is a line of code that makes special arguments before the call.
    """
    ranks = {name: len(spec.dims) for name, spec in parameter_specs(formula).items() if isinstance(spec, Shape)}
    signature = inspect.signature(formula)

    @functools.wraps(formula)
    def reference(*args: Any, **kwargs: Any) -> Any:
        try:
            arguments = signature.bind(*args, **kwargs).arguments
        except TypeError as problem:
            raise TypeError(f"{formula.__name__}() {problem}") from None
        arguments = _with_tensors_for_floats(arguments)
        try:
            depth = _depth(arguments, ranks)
            if depth > 0:
                require_arguments(inspect.unwrap(formula), arguments, depth)
            return _mapped(formula, arguments, ranks)
        except InputError as problem:
            raise problem.of(formula.__name__) from None

    parts = [
        inspect.getdoc(formula) or "",
        about.strip(),
        _parameters(formula),
        NOTE.strip().format(claims=", ".join(claims)),
        _example(formula, topic, gives, prepared),
    ]
    reference.__doc__ = "\n\n".join(part for part in parts if part)
    return reference  # type: ignore[return-value]


def _parameters(formula: Callable[..., Any]) -> str:
    """The arguments and their shapes, as a section of a docstring."""
    shapes = {
        name: f"shape ({', '.join(spec.dims)}{',' * (len(spec.dims) == 1)})" if isinstance(spec, Shape) else "a number"
        for name, spec in parameter_specs(formula).items()
    }
    return "\n".join(["Parameters", "----------", *(f"{name}: {shape}" for name, shape in shapes.items())])


def _example(formula: Callable[..., Any], topic: str, gives: tuple[int, ...], prepared: str) -> str:
    """A call that runs, as a section of a docstring."""
    specs = parameter_specs(formula)
    made = [
        f">>> {name} = torch.randn({', '.join(map(str, spec.resolve(SHOWN)))})"
        if isinstance(spec, Shape)
        else f">>> {name} = 0.5"
        for name, spec in specs.items()
    ]
    call = f">>> theorems.{topic}.{formula.__name__}({', '.join(specs)}).shape"
    lines = [
        "Example",
        "-------",
        ">>> import torch, theorems",
        *made,
        *([f">>> {prepared}"] if prepared else []),
        call,
    ]
    return "\n".join([*lines, f"torch.Size({list(gives)})"])


def _with_tensors_for_floats(arguments: dict[str, Any]) -> dict[str, Any]:
    """Python floats as tensors of the dtype and device of the first matrix, since a formula takes what it meets as exact."""
    like = next((value for value in arguments.values() if is_tensor(value)), None)
    if like is None:
        return arguments
    return {
        name: like.new_tensor(value) if isinstance(value, float) and like.is_floating_point() else value
        for name, value in arguments.items()
    }


def _depth(arguments: dict[str, Any], ranks: dict[str, int]) -> int:
    """The largest number of leading axes."""
    return max((arguments[name].ndim - ranks[name] for name in ranks if is_tensor(arguments.get(name))), default=0)


def _mapped(formula: Callable[..., Any], arguments: dict[str, Any], ranks: dict[str, int]) -> Any:
    import torch

    depth = _depth(arguments, ranks)
    if depth <= 0:
        return formula(**arguments)
    moving = [name for name in ranks if is_tensor(arguments.get(name)) and arguments[name].ndim - ranks[name] == depth]

    def one(batch: dict[str, Any]) -> Any:
        return _mapped(formula, {**arguments, **batch}, ranks)

    return torch.func.vmap(one)({name: arguments[name] for name in moving})
