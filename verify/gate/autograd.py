"""The values and derivatives of an implementation beside those of the definition, in every tensor argument.

First derivatives are those of the sum of G * F for a drawn matrix G of the shape of the value F; second derivatives are
those of the sum of D * dF over all arguments for drawn directions D, where dF are the first.  Both are taken by
torch.autograd, as in training, so that implementations which torch.func refuses are compared as well.  The forward
derivative is that along D in all arguments at once, by torch.autograd.forward_ad.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from verify.arithmetics import is_real
from verify.gate.bridge import require_differentiable
from verify.gate.rounding import DERIVATIVE, VALUE, Reference, Results, reference
from verify.gate.standing import Standing, require_unchanged
from verify.gate.subject_errors import NotDifferentiable, Raised, WrongResult, described

#: The name of a result beside values and derivatives by one argument.
FORWARD_DERIVATIVE = "the forward derivative"
#: How it is said that an implementation has no derivative by an argument that asks for one.
CUT = "its result is cut from"

Layout = Callable[[torch.Tensor], torch.Tensor]


def as_it_is(x: torch.Tensor) -> torch.Tensor:
    return x.contiguous()


def column_major(x: torch.Tensor) -> torch.Tensor:
    """The same matrix, shape (..., m, n), stored by columns."""
    return x.mT.contiguous().mT if x.ndim >= 2 else x.contiguous()


def every_other(x: torch.Tensor) -> torch.Tensor:
    """The same tensor as every other entry of a longer one, whose other entries are no numbers."""
    if not x.ndim:
        return x.contiguous()
    beside = ~x if x.dtype == torch.bool else torch.full_like(x, math.nan)
    return torch.stack([x, beside], -1).flatten(-2)[..., ::2]


def one_row(x: torch.Tensor) -> torch.Tensor:
    """A matrix, shape (..., m, n), stored as one row if its rows are equal."""
    equal = x.ndim >= 2 and bool((x == x[..., :1, :]).all())
    return x[..., :1, :].contiguous().expand(x.shape) if equal else x.contiguous()


def cut_from_product(x: torch.Tensor) -> torch.Tensor:
    """The same tensor as a part of a wider one whose other entries are no numbers, as queries of a fused product.

    The entries of a row lie side by side, rows lie apart, and of four axes those of heads stand behind those of tokens.
    """
    if not x.ndim:
        return x.contiguous()
    stored = x.transpose(-3, -2) if x.ndim >= 4 else x
    beside = ~stored[..., :1] if x.dtype == torch.bool else torch.full_like(stored[..., :1], math.nan)
    part = torch.cat([beside, stored, beside], -1)[..., 1:-1]
    return part.transpose(-3, -2) if x.ndim >= 4 else part


#: What follows the name of a derivative that is that of a second backward pass.
AGAIN = " in a second backward pass through the same graph"
#: How arguments lie in memory, from draw to draw.
LAYOUTS: tuple[Layout, ...] = (as_it_is, column_major, every_other, cut_from_product)


@dataclass
class Point:
    """Arguments of a definition in float64, and what is asked there.

    `order` 1 asks for the value and its first derivatives, 2 for second derivatives, 0 for the value alone, and `forward`
    for the forward derivative instead.  `rows` restricts the value to some of its rows, along the axis `axis`, which `of`
    computes; each of them is a result of its own, since rows of few keys are larger than those of many.  `remade` makes
    the same point at other sizes.  Arguments that are not among `moving` need no gradient.  `one_sign`: the rows of the
    cotangent are positive, and equal.  `twice`: an implementation's backward pass is run twice through the same graph, as
    Jacobians are found row by row, and both are compared where the second one gives anything else.
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
    forward: bool = False
    axis: int = 0
    one_sign: bool = False
    twice: bool = False

    def __post_init__(self) -> None:
        self.moving = [name for name, x in self.arguments.items() if is_real(x)]

    @property
    def is_beyond_first(self) -> bool:
        """Whether other derivatives than first ones by reverse mode are asked for, which layers may refuse."""
        return self.order == 2 or self.forward

    def only(self, names: Sequence[str]) -> Point:
        """The same point, at which `names` alone need a gradient."""
        found = copy.copy(self)
        found.moving = [name for name in self.moving if name in names]
        return found

    def evaluate(self, function: Callable[..., Any], arguments: Mapping[str, Any], yours: bool = False) -> Results:
        """The results of `function` at `arguments`, tensors of the dtype of the arguments.

        `yours`: whether it is the implementation.  Its backward pass may not change the cotangent, for which `WrongResult`
        is raised, and its forward derivative is taken in forward mode, that of a definition by reverse mode twice.
        """
        if self.forward:
            return (self._forward if yours else self._twice_in_reverse)(function, arguments)
        given = dict(arguments)
        if self.order:
            given.update({name: given[name].detach().requires_grad_() for name in self.moving})
        value = function(**given)
        if self.rows is not None and value.shape[self.axis] != len(self.rows):
            value = value.index_select(self.axis, torch.tensor(list(self.rows), device=value.device))
        if not self.order:
            return self._values(value.detach())
        if not value.requires_grad:
            raise NotDifferentiable(f"{CUT} all arguments (detach, no_grad, or torch is left)")
        by = [given[name] for name in self.moving]
        # of a cotangent that needs no gradient, torch treats what is differentiable once as a constant
        cotangent = self.cotangent(value).requires_grad_(self.order == 2)
        kept = {"the cotangent of its backward pass": cotangent.detach().clone()} if yours else {}
        backward = functools.partial(
            torch.autograd.grad, value, by, cotangent, allow_unused=True, materialize_grads=True
        )
        again = yours and self.twice and self.order == 1
        first = backward(create_graph=True) if self.order == 2 else backward(retain_graph=again)
        require_unchanged(dict.fromkeys(kept, cotangent), kept)
        if self.order == 1:
            found = {f"{DERIVATIVE}{name}": x for name, x in zip(self.moving, first, strict=True)}
            if again:
                with contextlib.suppress(Exception):  # what refuses a second pass gives no wrong number
                    second_pass = backward()
                    if not all(map(torch.equal, first, second_pass)):
                        found |= {f"{name}{AGAIN}": x for name, x in zip(list(found), second_pass, strict=True)}
            return {**self._values(value.detach()), **found}
        parts = [(x * self.drawn(x, n + 1)).sum() for n, x in enumerate(first) if x.requires_grad]
        if not parts:
            raise NotDifferentiable("its first derivatives are cut from all arguments")
        require_differentiable(parts)
        second = torch.autograd.grad(sum(parts[1:], parts[0]), by, allow_unused=True, materialize_grads=True)
        return {f"d2/d{name}": x.detach() for name, x in zip(self.moving, second, strict=True)}

    def _values(self, value: torch.Tensor) -> Results:
        if self.rows is None:
            return {VALUE: value}
        return {f"{VALUE} in row {row}": value.select(self.axis, at) for at, row in enumerate(self.rows)}

    def _forward(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Results:
        forward_ad: Any = torch.autograd.forward_ad
        with forward_ad.dual_level():
            moved = {
                name: forward_ad.make_dual(arguments[name], self.drawn(arguments[name], n + 1))
                for n, name in enumerate(self.moving)
            }
            value = function(**{**arguments, **moved})
            tangent = forward_ad.unpack_dual(value).tangent
            if tangent is None:
                raise NotDifferentiable(f"{CUT} all arguments in forward mode")
            return {FORWARD_DERIVATIVE: tangent.detach().clone()}

    def _twice_in_reverse(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Results:
        by = {name: arguments[name].detach().requires_grad_() for name in self.moving}
        value = function(**{**arguments, **by})
        cotangent = torch.zeros_like(value).requires_grad_()
        first = torch.autograd.grad(value, list(by.values()), cotangent, create_graph=True, materialize_grads=True)
        parts = [(x * self.drawn(x, n + 1)).sum() for n, x in enumerate(first) if x.requires_grad]
        (found,) = torch.autograd.grad(sum(parts[1:], parts[0]), cotangent)
        return {FORWARD_DERIVATIVE: found}

    def drawn(self, like: torch.Tensor, stream: int) -> torch.Tensor:
        """Halves from -2 to 2, of the shape of `like`; the same in every precision."""
        numbers = np.random.default_rng([self.seed, stream]).integers(-4, 5, tuple(like.shape)) / 2
        return torch.as_tensor(numbers, dtype=like.dtype, device=like.device)

    def cotangent(self, value: torch.Tensor) -> torch.Tensor:
        """The matrix G: by rows, by columns, with equal rows as one row, or as a part of a wider one, from seed to seed."""
        if self.one_sign:
            row = np.random.default_rng([self.seed, 0]).integers(33, 64, value.shape[-1:]) / 64
            return torch.as_tensor(row, dtype=value.dtype, device=value.device).expand(value.shape).contiguous()
        drawn = self.drawn(value, 0)
        if self.seed % 3 == 2 and drawn.ndim >= 2:
            return drawn[..., :1, :].expand(drawn.shape)
        if self.seed % 6 == 3:
            return cut_from_product(drawn)
        return column_major(drawn) if self.seed % 3 else drawn

    def in_dtype(self, dtype: torch.dtype, device: str) -> dict[str, Any]:
        """Copies of the arguments, reals in another precision, laid out in memory as asked, masks too."""
        return {
            name: self.layout(x.to(device=device, dtype=dtype if is_real(x) else x.dtype, copy=True))
            if isinstance(x, torch.Tensor)
            else x
            for name, x in self.arguments.items()
        }

    def shape_of_value(self, results: Results) -> tuple[int, ...] | None:
        """The shape of the value as results of the definition show it; None where they do not."""
        known = results.get(VALUE, results.get(FORWARD_DERIVATIVE))
        if known is not None or self.rows is None:
            return None if known is None else tuple(known.shape)
        shape = list(results[f"{VALUE} in row {self.rows[0]}"].shape)
        return (*shape[: self.axis], self.rows[-1] + 1, *shape[self.axis :])

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

    `agrees`: by so few roundings of the largest entry that no unit was needed to accept it.  `again`: it is that of a
    second backward pass.
    """

    name: str
    yours: torch.Tensor
    truth: torch.Tensor
    distance: float
    reference: Reference
    eps: float
    slack: float
    agrees: bool = False
    again: bool = False

    @property
    def roundings(self) -> float:
        return self.reference.roundings(self.name, self.eps, self.distance)

    @property
    def at_most(self) -> float:
        """As many units as the distance can be, by the largest entry alone: what rounding may do there only makes units larger."""
        return self.roundings / self.slack

    @property
    def is_near(self) -> bool:
        """Whether the result is within a unit for certain."""
        return self.at_most <= 1.0

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
    point: Point,
    standing: Standing,
    truth: Reference,
    dtype: torch.dtype,
    device: str,
    enough: float,
    watched: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
) -> Gap | None:
    """The largest distance of the implementation's results from `truth`; None where nothing could be compared.

    Results that are within `enough` roundings of their largest entries are not measured in units, which are larger.
    The implementation is called inside a context of `watched`, its backward pass and the definition are outside.
    Derivatives by a number from which the value is cut are not compared: layers may take numbers for constants.
    Raises `Raised` and `WrongResult` as the implementation does, and `NotDifferentiable`.
    """
    arguments = point.in_dtype(dtype, device)
    constants = taken_for_constants(point, standing, arguments) if point.order or point.forward else []
    if constants and point.is_beyond_first:  # then neither are mixed derivatives by them, nor directions in them
        point = copy.copy(point)
        point.moving = [name for name in point.moving if name not in constants]
        found = point.reference(standing.definition)
        if found is None:
            return None
        truth = found
    before = {name: x.detach().clone() for name, x in arguments.items() if isinstance(x, torch.Tensor)}

    def called(**given: Any) -> Any:
        with watched():
            return standing(**given)

    try:
        yours = point.evaluate(called, arguments, yours=True)
        require_unchanged(arguments, before, " in its backward pass")
    except (NotDifferentiable, Raised, WrongResult):
        raise
    except Exception as problem:  # what its backward pass raises
        raise NotDifferentiable(described(problem)) from problem
    # sums of many terms may lose digits, but not where they are accumulated in more bits
    half = dtype in (torch.float16, torch.bfloat16)
    eps, slack = torch.finfo(dtype).eps, 1.0 if half else math.sqrt(max(1.0, max(_lengths(point)) / 16))
    gaps = []
    for key, result in yours.items():
        name = key.removesuffix(AGAIN)
        expected = truth.results[name]
        got = result.detach().cpu().double()
        if name.removeprefix(DERIVATIVE) in constants:
            continue
        distance = (
            float((got - expected).abs().nan_to_num(nan=math.inf, posinf=math.inf).max()) if expected.numel() else 0.0
        )
        gaps.append(Gap(name, got, expected, distance, truth, eps, slack, again=name != key))
    if all(gap.roundings <= enough for gap in gaps):
        worst = max(gaps, key=lambda gap: gap.roundings, default=None)
        return worst and dataclasses.replace(worst, agrees=True)
    if not truth.smooth:
        return None
    decided = [
        gap
        for gap in gaps
        if not (math.isinf(gap.unit) and math.isfinite(gap.distance))
        and not (not bool(gap.yours.isfinite().all()) and truth.may_overflow(dtype, gap.name.startswith(VALUE)))
    ]
    # a second pass is named where the first one is right
    return max(decided, key=lambda gap: (not gap.again and gap.residual > enough, gap.residual), default=None)


def taken_for_constants(point: Point, standing: Standing, arguments: Mapping[str, Any]) -> list[str]:
    """The numbers from which the implementation's value is cut: those that torch knows no gradient of.

    A gradient that is there is compared, and if it is zero: at this point the definition's may be so, too.
    """
    numbers = [name for name in point.moving if point.arguments[name].ndim == 0]
    if not numbers:
        return []
    given = {**arguments, **{name: arguments[name].detach().requires_grad_() for name in point.moving}}
    try:
        value = standing(**given)
        found = torch.autograd.grad(value.sum(), [given[name] for name in numbers], allow_unused=True)
    except Exception:  # what it raises is said where derivatives are asked for
        return []
    return [name for name, gradient in zip(numbers, found, strict=True) if gradient is None]


def _lengths(point: Point) -> list[int]:
    return [1, *(length for name in point.moving for length in point.arguments[name].shape)]
