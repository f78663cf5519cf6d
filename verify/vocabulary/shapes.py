"""Annotations that say what an argument is: enough to draw it, to make symbols of it, and to reject a wrong one.

    Tokens = Annotated[Any, Shape("L", "d_V")]

A formula whose parameters carry these annotations needs no other description of its inputs; `checked` rejects
arguments that do not fit it.
"""

from __future__ import annotations

import contextlib
import contextvars
import copy
import dataclasses
import functools
import inspect
import math
import sys
import typing
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import flint
import numpy as np

from verify.vocabulary.contexts import assigned
from verify.vocabulary.errors import InputError, NotFiniteError, RegistryError, shown

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Shape:
    """A matrix or vector with named sizes, e.g. ``Shape("L", "d_V")``.

    `role` tells the generators what the entries control: "query" marks weights that scale the attention logits,
    "gate" a vector whose zeros and signs matter, "mask" a matrix of zeros and ones, which may be a boolean tensor and by which
    nobody differentiates.
    """

    dims: tuple[str, ...]
    role: str

    def __init__(self, *dims: str, role: str = "free") -> None:
        object.__setattr__(self, "dims", dims)
        object.__setattr__(self, "role", role)

    def resolve(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """The shape as integers."""
        return tuple(int(dim) if dim.isdigit() else sizes[dim] for dim in self.dims)


@dataclass(frozen=True)
class Real:
    """A real scalar drawn from [low, high]; `avoid_zero` keeps it away from 0."""

    low: float = -2.0
    high: float = 2.0
    avoid_zero: bool = False


@dataclass(frozen=True)
class Size:
    """A Python integer equal to the named size, for arguments that are counts rather than matrices."""

    name: str


Spec = Shape | Real | Size


@functools.cache
def parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the parameters of `function`."""
    return tuple(inspect.signature(function).parameters)


@functools.cache
def parameter_specs(function: Callable[..., Any]) -> dict[str, Spec]:
    """The specification of each parameter of `function`, read from its annotations."""
    hints = typing.get_type_hints(function, include_extras=True)
    specs: dict[str, Spec] = {}
    for name in inspect.signature(function).parameters:
        metadata = getattr(hints.get(name), "__metadata__", ())
        spec = next((item for item in metadata if isinstance(item, (Shape, Real, Size))), None)
        if spec is None:
            raise RegistryError(
                f"{function.__qualname__}: parameter {name} has no annotation that says how to draw it, such as"
                f" {name}: Annotated[Any, Shape('m', 'n')], or Real or Size in the place of Shape"
            )
        specs[name] = spec
    return specs


def as_drawn(annotations: Mapping[str, Any]) -> Callable[..., dict[str, Any]]:
    """The function of arguments with these annotations that returns them by name.

    >>> from typing import Annotated
    >>> parameter_specs(as_drawn({"x": Annotated[Any, Real(0.0, 1.0)]}))["x"].high
    1.0
    """

    def inputs(**given: Any) -> dict[str, Any]:
        return given

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(name, keyword, annotation=found) for name, found in annotations.items()]
    inputs.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    inputs.__annotations__ = dict(annotations)
    return inputs


def sizes_in(spec: Spec) -> tuple[str, ...]:
    """The named sizes that a specification mentions."""
    if isinstance(spec, Shape):
        return tuple(dim for dim in spec.dims if not dim.isdigit())
    return (spec.name,) if isinstance(spec, Size) else ()


# -- rejecting arguments that do not fit -------------------------------------------------------------------------------


def is_tensor(value: Any) -> bool:
    """Whether `value` is a torch tensor, without importing torch for those who never use it."""
    torch_module = sys.modules.get("torch")
    return torch_module is not None and isinstance(value, torch_module.Tensor)


def is_real(value: Any) -> bool:
    """Whether `value` is a tensor of real numbers, and no mask or number of heads."""
    return is_tensor(value) and bool(value.is_floating_point())


def own_copy(value: Any) -> Any:
    """A copy of matrices, which can be changed in place; other values as they are.

    Those in lists, dictionaries, tuples with names and the fields of a dataclass are copied too.

    >>> given = np.array([[1, 2]])
    >>> copies = own_copy([given])
    >>> copies[0] *= 2
    >>> given, copies
    (array([[1, 2]]), [array([[2, 4]])])
    """
    if is_tensor(value):
        return value.clone()
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, dict):
        return {name: own_copy(item) for name, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(own_copy, value))
    held = vars(value) if dataclasses.is_dataclass(value) and hasattr(value, "__dict__") else {}
    if any(isinstance(item, np.ndarray) or is_tensor(item) for item in held.values()):
        found = copy.copy(value)
        vars(found).update(own_copy(held))
        return found
    return type(value)(map(own_copy, value)) if type(value) in (list, tuple) else value


def alike(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether values of these shapes can be equal: of one shape, or both a single number."""
    return tuple(one) == tuple(other) or all(size == 1 for size in (*one, *other))


def _is_constant(value: Any) -> bool:
    """Whether `value` is a matrix without an arithmetic of its own, which adapts to what it meets."""
    return hasattr(value, "adapt") and hasattr(value, "shape")


def _is_formal(value: Any) -> bool:
    """Whether `value` is a matrix without numbers, whose sizes are symbols; other operands are adapted to it."""
    return hasattr(value, "adapted") and hasattr(value, "shape")


#: Whether arguments come from the engine; looking at tensors inside vmap costs more than the formulas do.
_trusted: contextvars.ContextVar[bool] = contextvars.ContextVar("trusted", default=False)


@contextlib.contextmanager
def trusted_arguments() -> Iterator[None]:
    """Let tensors pass unchecked inside the block, where drawn inputs flow through definitions.

    Raises `RegistryError` where the block leaves balls with another precision: with few bits all numbers agree.
    """
    bits = flint.ctx.prec
    try:
        with assigned(_trusted, True):
            yield
    finally:  # also where the block has no value: the next ones are computed too
        flint.ctx.prec, changed = bits, flint.ctx.prec
    if changed != bits:
        raise RegistryError(f"a function of the claim leaves balls with {changed} bits, where there were {bits}")


#: What `checked` returned.
_checked: weakref.WeakSet[Any] = weakref.WeakSet()


def checked(function: F) -> F:
    """`function`, raising `InputError` for arguments whose shapes, dtypes, devices or values do not fit its annotations.

    Only annotated parameters are looked at.  The original is kept as ``__wrapped__``.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if _trusted.get() and any(map(is_tensor, args)):
            return function(*args, **kwargs)
        require_arguments(function, signature.bind(*args, **kwargs).arguments)
        return function(*args, **kwargs)

    _checked.add(wrapper)
    return wrapper  # type: ignore[return-value]


def plain(function: F) -> F:
    """`function` without the checks that `checked` put around it."""
    return function.__wrapped__ if function in _checked else function  # type: ignore[attr-defined, no-any-return]


@functools.cache
def _annotated(function: Callable[..., Any]) -> tuple[dict[str, Shape], dict[str, Real | Size]]:
    """The matrices and the numbers among the annotated parameters of `function`."""
    hints = typing.get_type_hints(function, include_extras=True)
    found = {
        name: next((item for item in getattr(hint, "__metadata__", ()) if isinstance(item, (Shape, Real, Size))), None)
        for name, hint in hints.items()
    }
    return (
        {name: spec for name, spec in found.items() if isinstance(spec, Shape)},
        {name: spec for name, spec in found.items() if isinstance(spec, (Real, Size))},
    )


def shapes_of(function: Callable[..., Any]) -> dict[str, Shape]:
    """The parameters of a function that are annotated with a shape."""
    return _annotated(function)[0]


def require_arguments(function: Callable[..., Any], arguments: Mapping[str, Any], batch: int = 0) -> None:
    """Raise `InputError` unless `arguments` fit the annotations of `function`, as far as it has any.

    Matrices may have up to `batch` leading axes more than their annotation; those that do agree from the last one on.
    """
    matrices, numbers = _annotated(function)
    for name, number in numbers.items():
        if name in arguments:
            _require_number(name, arguments[name], number)
    if batch:
        matrices = {
            name: Shape(*_batch_axes(arguments[name], len(spec.dims), batch), *spec.dims)
            for name, spec in matrices.items()
            if name in arguments
        }
    require_fit(matrices, arguments)


def _batch_axes(value: Any, rank: int, batch: int) -> list[str]:
    """Names of the leading axes of `value`, the last of them the same for all matrices."""
    axes = value.ndim - rank if is_tensor(value) else 0
    return [f"batch {axis}" for axis in range(batch - axes, batch)]


def require_fit(specs: Mapping[str, Shape], arguments: Mapping[str, Any]) -> None:
    """Raise `InputError` unless the matrices fit their shapes, agree in arithmetic, dtype and device, and are finite.

    Tensors are dense, in float32 or float64, with no size 0.
    """
    sizes: dict[str, tuple[int, str]] = {}
    leader: tuple[str, Any] | None = None
    for name, spec in specs.items():
        if name not in arguments:
            continue
        value = arguments[name]
        boolean = spec.role == "mask" and _is_boolean(value)
        if is_tensor(value) and not boolean:
            require_dense_floats(name, value)
        _require_shape(name, value, spec, sizes)
        if _is_constant(value) or _is_formal(value) or boolean:
            continue
        if leader is None:
            leader = (name, value)
        else:
            _require_same_arithmetic(name, value, *leader)
        _require_finite(name, value)


def require_dense_floats(name: str, value: Any) -> None:
    """Raise `InputError` unless the tensor `value` is dense and in a dtype whose accuracy is stated."""
    torch = sys.modules["torch"]
    if value.is_nested or value.layout is not torch.strided:
        raise InputError(name, "a dense tensor", "a nested one" if value.is_nested else f"layout {value.layout}")
    if value.dtype is not torch.float32 and value.dtype is not torch.float64:
        raise InputError(name, "a tensor of float32 or float64", str(value.dtype))


def require_sampling(generator: Any, dtype: Any) -> None:
    """Raise `InputError` unless `generator` is None or a torch.Generator, and `dtype` None, torch.float32 or torch.float64."""
    import torch

    if generator is not None and not isinstance(generator, torch.Generator):
        raise InputError("generator", "a torch.Generator or None", shown(generator))
    if dtype is not None and dtype is not torch.float32 and dtype is not torch.float64:
        raise InputError("dtype", "torch.float32, torch.float64 or None", shown(dtype))


def _require_number(name: str, value: Any, spec: Real | Size) -> None:
    """Raise `InputError` for what no arithmetic takes for a number, or for a count."""
    if isinstance(spec, Size):
        if isinstance(value, (bool, float, complex, str, bytes, list, tuple, dict, type(None))) or is_tensor(value):
            raise InputError(name, f"an integer, the size {spec.name}", shown(value))
        return
    if isinstance(value, (bool, complex, str, bytes, list, tuple, dict, set, type(None))):
        raise InputError(name, "a number", shown(value))
    if is_tensor(value) or isinstance(value, np.ndarray):
        if value.ndim:
            raise InputError(name, "a number, or a tensor of shape ()", f"shape {tuple(value.shape)}")
        if is_tensor(value):
            require_dense_floats(name, value)
            with contextlib.suppress(RuntimeError):  # inside vmap the values cannot be looked at
                if not math.isfinite(value.item()):
                    raise NotFiniteError(name, "a finite number", str(value.item()))
    elif isinstance(value, float) and not math.isfinite(value):
        raise NotFiniteError(name, "a finite number", repr(value))


def _is_boolean(value: Any) -> bool:
    return is_tensor(value) and str(value.dtype) == "torch.bool"


def _require_shape(name: str, value: Any, spec: Shape, sizes: dict[str, tuple[int, str]]) -> None:
    wanted = "(" + ", ".join(spec.dims) + ")"
    if not (is_tensor(value) or isinstance(value, np.ndarray) or _is_constant(value) or _is_formal(value)):
        raise InputError(name, f"a torch tensor or numpy object array of shape {wanted}", type(value).__name__)
    if isinstance(value, np.ndarray) and value.dtype != object:
        raise InputError(
            name,
            "a torch tensor, or a numpy array of dtype object with exact entries",
            f"a numpy array of {value.dtype}",
        )
    shape = tuple(value.shape)
    if len(shape) != len(spec.dims):
        raise InputError(name, f"shape {wanted}", f"shape {shape}")
    if 0 in shape and is_tensor(value):
        raise InputError(name, "no size 0", f"shape {shape}")
    for dim, length in zip(spec.dims, shape, strict=True):
        expected, source = (int(dim), "fixed") if dim.isdigit() else sizes.setdefault(dim, (length, name))
        if length != expected:
            where = "" if source == "fixed" else f", from {source}"
            raise InputError(name, f"shape {wanted} with {dim} = {expected}{where}", f"shape {shape}")


def _require_same_arithmetic(name: str, value: Any, first: str, other: Any) -> None:
    if is_tensor(value) != is_tensor(other):
        raise InputError(name, f"the arithmetic of {first}, {type(other).__name__}", type(value).__name__)
    if is_tensor(value):
        if value.dtype != other.dtype:
            raise InputError(name, f"the dtype of {first}, {other.dtype}", str(value.dtype))
        if value.device != other.device:
            raise InputError(name, f"the device of {first}, {other.device}", str(value.device))


def _require_finite(name: str, value: Any) -> None:
    if is_tensor(value):
        try:
            # A finite sum has finite terms, in a quarter of the time; an infinite one may only have overflowed.
            finite = math.isfinite(value.detach().sum().item()) or bool(value.isfinite().all())
        except RuntimeError:  # inside vmap the values cannot be looked at
            return
    else:
        finite = all(entry.is_finite() for entry in value.flat if isinstance(entry, flint.arb))
    if not finite:
        raise NotFiniteError(name, "finite entries", "NaN or infinity")
