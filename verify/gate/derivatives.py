"""The values and derivatives of an implementation beside those of the definition, in every tensor argument.

First derivatives are those of the sum of G * F for a drawn matrix G of the shape of the value F; second derivatives are
those of the sum of D * dF over all arguments for drawn directions D, where dF are the first.  Both are taken by
torch.autograd, as in training, so that implementations which torch.func refuses are compared as well.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from verify.gate.bridge import require_differentiable
from verify.gate.errors import NotDifferentiable, Raised, WrongResult
from verify.gate.rounding import Reference, Results, is_real, reference
from verify.gate.standing import Standing

#: Names of results: the value itself, and derivatives by an argument.
VALUE = "the value"

Layout = Callable[[torch.Tensor], torch.Tensor]


def as_it_is(x: torch.Tensor) -> torch.Tensor:
    return x.contiguous()


def column_major(x: torch.Tensor) -> torch.Tensor:
    """The same matrix, shape (..., m, n), stored by columns."""
    return x.mT.contiguous().mT if x.ndim >= 2 else x.contiguous()


def every_other(x: torch.Tensor) -> torch.Tensor:
    """The same tensor as every other entry of a longer one, whose other entries are no numbers."""
    wide = torch.full((*x.shape[:-1], 2 * x.shape[-1]), math.nan, dtype=x.dtype, device=x.device) if x.ndim else x
    if not x.ndim:
        return x.contiguous()
    wide[..., ::2] = x
    return wide[..., ::2]


def one_row(x: torch.Tensor) -> torch.Tensor:
    """A matrix, shape (..., m, n), stored as one row if its rows are equal."""
    equal = x.ndim >= 2 and bool((x == x[..., :1, :]).all())
    return x[..., :1, :].contiguous().expand(x.shape) if equal else x.contiguous()


#: How arguments lie in memory, from draw to draw.
LAYOUTS: tuple[Layout, ...] = (as_it_is, column_major, every_other)


@dataclass
class Point:
    """Arguments of a definition in float64, and what is asked there.

    `order` 1 asks for the value and its first derivatives, 2 for second derivatives, 0 for the value alone.  `rows`
    restricts the value to some of its rows, which `of` computes.  `remade` makes the same point at other sizes.
    """

    arguments: Mapping[str, Any]
    order: int
    seed: int
    layout: Layout = as_it_is
    of: Callable[..., Any] | None = None
    rows: Sequence[int] | None = None
    title: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)
    remade: Callable[[Mapping[str, int]], Point] | None = None
    moving: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.moving = [name for name, x in self.arguments.items() if is_real(x)]

    def evaluate(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Results:
        """The results of `function` at `arguments`, tensors of the dtype of the arguments."""
        given = dict(arguments)
        if self.order:
            given.update({name: given[name].detach().requires_grad_() for name in self.moving})
        value = function(**given)
        if self.rows is not None and len(value) != len(self.rows):
            value = value[list(self.rows)]
        if not self.order:
            return {VALUE: value.detach()}
        if not value.requires_grad:
            raise NotDifferentiable("its result is cut from all arguments (detach, no_grad, or torch is left)")
        by = [given[name] for name in self.moving]
        # of a cotangent that needs no gradient, torch treats what is differentiable once as a constant
        cotangent = self.cotangent(value).requires_grad_(self.order == 2)
        first = torch.autograd.grad(
            value, by, cotangent, create_graph=self.order == 2, allow_unused=True, materialize_grads=True
        )
        if self.order == 1:
            return {VALUE: value.detach(), **{f"d/d{name}": x for name, x in zip(self.moving, first, strict=True)}}
        parts = [(x * self.drawn(x, n + 1)).sum() for n, x in enumerate(first) if x.requires_grad]
        if not parts:
            raise NotDifferentiable("its first derivatives are cut from all arguments")
        require_differentiable(parts)
        second = torch.autograd.grad(sum(parts[1:], parts[0]), by, allow_unused=True, materialize_grads=True)
        return {f"d2/d{name}": x.detach() for name, x in zip(self.moving, second, strict=True)}

    def drawn(self, like: torch.Tensor, stream: int) -> torch.Tensor:
        """Halves from -2 to 2, of the shape of `like`; the same in every precision."""
        numbers = np.random.default_rng([self.seed, stream]).integers(-4, 5, tuple(like.shape)) / 2
        return torch.as_tensor(numbers, dtype=like.dtype, device=like.device)

    def cotangent(self, value: torch.Tensor) -> torch.Tensor:
        """The matrix G: stored by rows, by columns, or with equal rows as one row, from seed to seed."""
        drawn = self.drawn(value, 0)
        if self.seed % 3 == 2 and drawn.ndim >= 2:
            return drawn[..., :1, :].expand(drawn.shape)
        return column_major(drawn) if self.seed % 3 else drawn

    def in_dtype(self, dtype: torch.dtype, device: str) -> dict[str, Any]:
        """The arguments in another precision, laid out in memory as asked."""
        return {
            name: self.layout(x.to(device=device, dtype=dtype)) if is_real(x) else x
            for name, x in self.arguments.items()
        }

    def reference(self, definition: Callable[..., Any]) -> Reference | None:
        """The results of the definition; None where it has none."""
        function = self.of or definition
        try:
            return reference(lambda arguments: self.evaluate(function, arguments), self.arguments)
        except (NotDifferentiable, RuntimeError, ValueError):
            return None


@dataclass
class Gap:
    """How far one result of an implementation is from that of the definition.

    `agrees`: by so few roundings of the largest entry that no unit was needed to accept it.
    """

    name: str
    yours: torch.Tensor
    truth: torch.Tensor
    distance: float
    reference: Reference
    eps: float
    slack: float
    agrees: bool = False

    @property
    def roundings(self) -> float:
        return self.reference.roundings(self.name, self.eps, self.distance)

    @functools.cached_property
    def unit(self) -> float:
        return self.reference.unit(self.name, self.eps) * self.slack

    @functools.cached_property
    def residual(self) -> float:
        """The distance in rounding units."""
        if self.distance in (0.0, math.inf) or self.unit == 0.0:
            return 0.0 if self.distance == 0.0 else math.inf
        return self.distance / self.unit


def gap_at(
    point: Point, standing: Standing, truth: Reference, dtype: torch.dtype, device: str, enough: float
) -> Gap | None:
    """The largest distance of the implementation's results from `truth`; None where nothing could be compared.

    Results that are within `enough` roundings of their largest entries are not measured in units, which are larger.
    Derivatives by a number that come out as zero are not compared: layers may take numbers for constants.
    Raises `Raised` and `WrongResult` as the implementation does, and `NotDifferentiable`.
    """
    arguments = point.in_dtype(dtype, device)
    constants = _taken_for_constants(point, standing, arguments) if point.order == 2 else []
    if constants:  # then neither are mixed derivatives by them
        point = copy.copy(point)
        point.moving = [name for name in point.moving if name not in constants]
        found = point.reference(standing.definition)
        if found is None:
            return None
        truth = found
    try:
        yours = point.evaluate(standing, arguments)
    except (NotDifferentiable, Raised, WrongResult):
        raise
    except Exception as problem:  # what its backward pass raises
        raise NotDifferentiable(
            f"{type(problem).__name__}: {(str(problem).splitlines() or [''])[0][:200]}"
        ) from problem
    eps, slack = torch.finfo(dtype).eps, math.sqrt(max(1.0, max(_lengths(point)) / 16))
    gaps = []
    for name in yours:
        expected = truth.results[name]
        got = yours[name].detach().cpu().double()
        if expected.ndim == 0 and name != VALUE and not bool(got.any()):
            continue
        distance = (
            float((got - expected).abs().nan_to_num(nan=math.inf, posinf=math.inf).max()) if expected.numel() else 0.0
        )
        gaps.append(Gap(name, got, expected, distance, truth, eps, slack))
    if all(gap.roundings <= enough for gap in gaps):
        worst = max(gaps, key=lambda gap: gap.roundings, default=None)
        return worst and dataclasses.replace(worst, agrees=True)
    if not truth.smooth:
        return None
    decided = [
        gap
        for gap in gaps
        if not (math.isinf(gap.unit) and math.isfinite(gap.distance))
        and not (gap.name != VALUE and not bool(gap.yours.isfinite().all()) and truth.may_overflow(dtype))
    ]
    return max(decided, key=lambda gap: gap.residual, default=None)


def _taken_for_constants(point: Point, standing: Standing, arguments: Mapping[str, Any]) -> list[str]:
    """The numbers by which the implementation's first derivative is zero."""
    numbers = [name for name in point.moving if point.arguments[name].ndim == 0]
    if not numbers:
        return []
    first = copy.copy(point)
    first.order = 1
    try:
        found = first.evaluate(standing, arguments)
    except Exception:  # what it raises is said where second derivatives are asked for
        return []
    return [name for name in numbers if not bool(found[f"d/d{name}"].any())]


def _lengths(point: Point) -> list[int]:
    return [1, *(length for name in point.moving for length in point.arguments[name].shape)]
