"""The functions of a claim at drawn or given inputs: batches of tensors, balls, rationals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import flint
import numpy as np

from verify.arithmetics import Constant, Kind, LargeBalls, Surd, exact_scalar, to_balls, to_rationals, to_tensor
from verify.checks.settings import Settings, torch_dtype
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import ArithmeticUnsupported, NotFiniteError
from verify.vocabulary.shapes import Size, alike
from verify.vocabulary.variants import of_value

#: What evaluating an expression outside its domain, or beyond the precision of balls, raises.
UNDEFINED = (ArithmeticUnsupported, ZeroDivisionError, NotFiniteError)
#: From so many entries on, flint multiplies matrices faster than numpy.
LARGE = 256


def raw_tensors(claim: Claim, arrays: Mapping[str, Any], settings: Settings, dtype: str) -> dict[str, Any]:
    """Drawn arrays as batched tensors; integers stay integers."""
    specs = claim.parameters
    return {
        name: value
        if isinstance(specs[name], Size)
        else to_tensor(value, dtype=torch_dtype(dtype), device=settings.device)
        for name, value in arrays.items()
    }


def one_of(claim: Claim, arrays: Mapping[str, Any], index: int) -> dict[str, Any]:
    """The arrays of a single seed, without the batch axis."""
    specs = claim.parameters
    return {
        name: value if isinstance(specs[name], Size) else np.asarray(value[index]) for name, value in arrays.items()
    }


def as_balls(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Drawn arrays of one seed in ball arithmetic."""
    return {name: value if isinstance(value, int) else _many(_lifted(to_balls(value))) for name, value in raw.items()}


def _many(balls: Any) -> Any:
    return balls.view(LargeBalls) if isinstance(balls, np.ndarray) and balls.size >= LARGE else balls


def as_rationals(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Drawn arrays of one seed in exact arithmetic."""
    return {name: value if isinstance(value, int) else _lifted(to_rationals(value)) for name, value in raw.items()}


def _lifted(array: Any) -> Any:
    return array.item() if isinstance(array, np.ndarray) and array.shape == () else array


def in_batch(claim: Claim, function: Callable[..., Any], raw: Mapping[str, Any]) -> Any:
    """`function` at every seed of a batch, flattened to shape (batch, entries)."""
    return all_in_batch(claim, [function], raw)[0]


def all_in_batch(claim: Claim, functions: Sequence[Callable[..., Any]], raw: Mapping[str, Any]) -> Sequence[Any]:
    """`in_batch` of each of the functions, for which the inputs are prepared once."""
    import torch

    static = {name: value for name, value in raw.items() if isinstance(value, int)}
    moving = {name: value for name, value in raw.items() if not isinstance(value, int)}
    if not functions:
        return ()

    def at(drawn: Mapping[str, Any]) -> tuple[Any, ...]:
        return _at(claim, functions, {**drawn, **static}, next(iter(drawn.values())))

    if claim.batched:
        return torch.func.vmap(at)(moving)
    batch = next(iter(moving.values())).shape[0]
    each = [at({name: value[i] for name, value in moving.items()}) for i in range(batch)]
    return [torch.stack(found) for found in zip(*each, strict=True)]


def at_only_seed(claim: Claim, functions: Sequence[Callable[..., Any]], raw: Mapping[str, Any]) -> tuple[Any, ...]:
    """`all_in_batch` for a batch of one seed, each value of shape (1, entries); torch takes less time without a batch."""
    drawn = {name: value if isinstance(value, int) else value[0] for name, value in raw.items()}
    like = next(value for value in drawn.values() if not isinstance(value, int))
    return tuple(value[None] for value in _at(claim, functions, drawn, like)) if functions else ()


def _at(claim: Claim, functions: Sequence[Callable[..., Any]], drawn: Mapping[str, Any], like: Any) -> tuple[Any, ...]:
    """The functions at one seed, flattened; the inputs are prepared once."""
    inputs = claim.prepare(drawn)
    return tuple(flat_tensor(claim.evaluate(function, inputs), like) for function in functions)


def flat_tensor(result: Any, like: Any) -> Any:
    """A formula's value as a one-dimensional tensor."""
    import torch

    if isinstance(result, (Constant, Surd)):
        result = result.adapt(like)
    if not isinstance(result, torch.Tensor):
        result = torch.as_tensor(result, dtype=like.dtype, device=like.device)
    return result.reshape(-1)


def flat_objects(result: Any) -> np.ndarray:
    """A formula's value as a one-dimensional object array."""
    if isinstance(result, Constant):
        result = result.array
    if isinstance(result, Surd):
        result = result.as_scalar(result_kind(result))
    return np.asarray(result, dtype=object).reshape(-1)


def shape_of(result: Any) -> tuple[int, ...]:
    """The shape of a formula's value, () of a number."""
    return tuple(result.shape) if hasattr(result, "shape") else np.shape(np.asarray(result, dtype=object))


def shapes_differ(left: Any, right: Any) -> str | None:
    """What the shapes of both sides are, where no values of these shapes are equal: x is not its transpose."""
    one, other = shape_of(left), shape_of(right)
    return None if alike(one, other) else f"the formula has shape {one}, the oracle {other}"


def result_kind(surd: Surd) -> Any:
    """Exact where the surd is rational, a ball where it is not."""
    return Kind.EXACT if surd.radicand == 1 else Kind.BALL


def at_objects(claim: Claim, function: Callable[..., Any], raw: Mapping[str, Any]) -> np.ndarray:
    """`function` at one seed in ball or exact arithmetic, flattened."""
    return flat_objects(claim.evaluate(function, claim.prepare(raw)))


def lifted_to_rationals(value: Any) -> Any:
    """Explicit inputs, as in `lifted_to_balls`, in exact arithmetic."""
    if isinstance(value, int):
        return value
    if isinstance(value, (list, tuple, np.ndarray)):
        array = np.asarray(value, dtype=object)
        return np.array([exact_scalar(entry) for entry in array.flat], dtype=object).reshape(array.shape)
    return exact_scalar(value)


def lifted_to_balls(value: Any) -> Any:
    """Explicit inputs (integers, fractions, text such as \"3/5\", nested lists) in ball arithmetic; integers stay as they are."""
    if isinstance(value, int):
        return value
    exact = lifted_to_rationals(value)
    if isinstance(exact, np.ndarray):
        return np.array([flint.arb(entry) for entry in exact.flat], dtype=object).reshape(exact.shape)
    return flint.arb(exact)


def exact_text(x: Any) -> str:
    """A rational in full, a ball with its radius."""
    return x.str(30) if isinstance(x, flint.arb) else str(x)


def defect_of(claim: Claim, function: Callable[..., Any]) -> Callable[..., Any]:
    """The structural defect of the value of `function`, as a function of the claim's inputs."""
    return of_value(claim.the_part("structure"), function)
