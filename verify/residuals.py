"""How large a difference is, in units that the arithmetic itself supplies.

A float residual is divided by the radius that ball arithmetic of the same precision attaches to the same expression
at the same inputs: the radius is eps times the conditioning of the evaluation, cancellation included.  A right formula
therefore lands near or below 1 whatever its conditioning and size, and nothing is tuned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np

from verify.arithmetic import (
    DEFAULT_BITS,
    Constant,
    Surd,
    largest_radius,
    midpoints,
    precision,
    to_balls,
    to_rationals,
    to_tensor,
)
from verify.claims import Claim
from verify.errors import ArithmeticUnsupported, NotFiniteError
from verify.settings import Settings, torch_dtype
from verify.shapes import Size

#: A mutant is dead, and a claim believed, when wrong and right are at least this factor apart.
SEPARATION = 1000.0
BITS = {"float64": 53, "float32": 24}
#: What evaluating an expression outside its domain, or beyond the precision of balls, raises.
UNDEFINED = (ArithmeticUnsupported, ZeroDivisionError, NotFiniteError)
#: By bits of precision: below these numbers floats lose relative precision, which balls do not.
SMALLEST_NORMAL = {53: 2.0**-1022, 24: 2.0**-126}


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
    return {name: value if isinstance(value, int) else _lifted(to_balls(value)) for name, value in raw.items()}


def as_rationals(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Drawn arrays of one seed in exact arithmetic."""
    return {name: value if isinstance(value, int) else _lifted(to_rationals(value)) for name, value in raw.items()}


def _lifted(array: Any) -> Any:
    return array.item() if isinstance(array, np.ndarray) and array.shape == () else array


def in_batch(claim: Claim, function: Callable[..., Any], raw: Mapping[str, Any]) -> Any:
    """`function` at every seed of a batch, flattened to shape (batch, entries)."""
    import torch

    static = {name: value for name, value in raw.items() if isinstance(value, int)}
    moving = {name: value for name, value in raw.items() if not isinstance(value, int)}

    def at(drawn: Mapping[str, Any]) -> Any:
        result = claim.evaluate(function, claim.prepare({**drawn, **static}))
        return flat_tensor(result, next(iter(moving.values())))

    if claim.batched:
        return torch.func.vmap(at)(moving)
    batch = next(iter(moving.values())).shape[0]
    return torch.stack([at({name: value[i] for name, value in moving.items()}) for i in range(batch)])


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


def result_kind(surd: Surd) -> Any:
    """Exact where the surd is rational, a ball where it is not."""
    from verify.arithmetic import Kind

    return Kind.EXACT if surd.radicand == 1 else Kind.BALL


def at_objects(claim: Claim, function: Callable[..., Any], raw: Mapping[str, Any]) -> np.ndarray:
    """`function` at one seed in ball or exact arithmetic, flattened."""
    return flat_objects(claim.evaluate(function, claim.prepare(raw)))


@dataclass
class Unit:
    """The size of one rounding error of an evaluation at given inputs."""

    value: float

    @property
    def usable(self) -> bool:
        return math.isfinite(self.value)


def rounding_unit(values: list[np.ndarray], bits: int) -> Unit:
    """The unit of a comparison between several ball evaluations made at `bits` bits.

    The sum of their largest radii, plus one rounding of the largest value each, since an evaluation that happens to
    be exact in balls still rounds in floats.
    """
    size = sum(largest_radius(value) for value in values)
    scale = sum(float(np.max(np.abs(midpoints(value)), initial=0.0)) for value in values)
    unit = size + 2.0**-bits * scale
    return Unit(unit + SMALLEST_NORMAL.get(bits, 0.0) if unit else 0.0)


def unit_at(claim: Claim, functions: list[Callable[..., Any]], raw: Mapping[str, Any], bits: int) -> Unit:
    """The rounding unit of `functions` at one seed; unusable (infinite) when balls of this precision cannot decide.

    The drawn inputs carry one rounding each: an evaluation counts as right when it is right for inputs one rounding
    away, so that backward stable kernels (reverse mode, matrix exponential) are measured fairly.
    """
    with precision(bits):
        try:
            lifted = {name: _rounded_once(value, bits) for name, value in as_balls(raw).items()}
            return rounding_unit([at_objects(claim, function, lifted) for function in functions], bits)
        except UNDEFINED:
            return Unit(math.inf)


def _rounded_once(value: Any, bits: int) -> Any:
    """Balls with the radius of one rounding to `bits` bits added to every entry."""
    if isinstance(value, int):
        return value
    if isinstance(value, flint.arb):
        return value + flint.arb(0, abs(value).upper() * flint.arb(2) ** -bits)
    return np.array([_rounded_once(entry, bits) for entry in value.flat], dtype=object).reshape(value.shape)


def magnitude(array: np.ndarray) -> flint.arb:
    """The largest absolute value of a ball array, as a ball."""
    best = flint.arb(0)
    for entry in array:
        best = best.max(abs(flint.arb(entry)))
    return best


def satisfies(claim: Claim, inputs: Mapping[str, Any]) -> bool | None:
    """Whether ball or exact inputs satisfy every tested assumption: True, False, or None when balls cannot tell.

    An equality holds as far as balls can ever tell when its enclosure contains zero and is tight.
    """
    undecided = False
    for assumption in claim.tested_assumptions:
        for test, accept in (
            (assumption.positive, _positive),
            (assumption.nonnegative, _nonnegative),
            (assumption.zero, _zero),
        ):
            if test is None:
                continue
            try:
                values = flat_objects(claim.evaluate(test, inputs))
            except (ZeroDivisionError, NotFiniteError):
                return False
            for entry in values:
                verdict = accept(entry)
                if verdict is False:
                    return False
                undecided = undecided or verdict is None
    return None if undecided else True


def _positive(x: Any) -> bool | None:
    return True if x > 0 else (False if x <= 0 else None)


def _nonnegative(x: Any) -> bool | None:
    if x >= 0:
        return True
    if x < 0:
        return False
    return True if isinstance(x, flint.arb) and float(x.rad()) < 2.0 ** (-DEFAULT_BITS / 2) else None


def _zero(x: Any) -> bool | None:
    if not isinstance(x, flint.arb):
        return bool(x == 0)
    if not x.contains(0):
        return False
    return True if float(x.rad()) < 2.0 ** (-DEFAULT_BITS / 2) else None


def float_satisfies(claim: Claim, raw: Mapping[str, Any]) -> Any:
    """For a batch of tensors, which seeds satisfy the tested strict inequalities; shape (batch,), boolean.

    Equalities are built into the inputs and hold to rounding, so they are tested in balls, not here.
    """
    import torch

    moving = [value for value in raw.values() if not isinstance(value, int)]
    ok = torch.ones(moving[0].shape[0], dtype=torch.bool, device=moving[0].device)
    for assumption in claim.tested_assumptions:
        if assumption.positive is not None:
            ok &= (in_batch(claim, assumption.positive, raw) > 0).all(1)
        if assumption.nonnegative is not None:
            values = in_batch(claim, assumption.nonnegative, raw)
            ok &= (values >= -1e-9 * (1 + values.abs())).all(1)
    return ok
