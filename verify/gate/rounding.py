"""Rounding units of derivatives, and of sizes that balls do not reach: the definition under random rounding.

Every operation of torch, forward and backward, gets a random relative error, products of matrices one of the size of
|A| |B|, and so do the arguments.  The spread of the results is what rounding may do to the definition at that point,
cancellation included.  (Monte Carlo arithmetic: Parker, 1997.)  The spread is linear in the size of the errors, so one
measurement serves every precision.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from verify.arithmetics import is_real
from verify.gate.subject_errors import NotDifferentiable

#: How the names of results begin: of values, and of first derivatives by an argument.
VALUE, DERIVATIVE = "the value", "d/d"
#: Relative size of the errors: far above the rounding of float64, far below what is not linear.
GRAIN = 2.0**-36
#: How often the definition is evaluated with errors.
RUNS = 3
#: What additive changes of the arguments show a kink: a derivative that jumps there.
NUDGE = 2.0**-40
#: A derivative that a nudge changes by more than this part of itself is not compared.
JUMP = 2.0**-10
#: What rounding in float64 moves of a result that is zero, as a part of the largest entry of all results.
STILL = 2.0**-48
#: By what a nudge is multiplied to see whether what it moves goes with it.
FARTHER = 2.0**8
#: Balls bound what random errors only sample: so many spreads make one rounding unit.
SPREADS = 4.0
#: Errors of so many roundings, so often, show whether a wrong derivative may be one on the other side of a kink.
FEW, RUNS_AT_A_JUMP = 8.0, 12
#: As many roundings of half precision as change smooth results by less than that.
FEW_IN_HALF = 2.0
#: Exponents beyond which a logarithm of a sum of exponentials has lost digits.
STEEP = 2.0**10
#: Whole numbers up to this one are exact in float32.
WHOLE = 2.0**24
#: Where a unit is more than this part of the largest entry nothing can be decided.
BLURRED = 2.0**-6
#: In half precision a unit is the largest of so many spreads, and may be so large a part of the largest entry.
RUNS_IN_HALF, BLURRED_IN_HALF = 8, 2.0**-3
#: By precision, what numbers that underflow can amount to after factors up to 2^24; in float16, which has no room, 2^4.
UNDERFLOW = {
    **{
        torch.finfo(dtype).eps: torch.finfo(dtype).tiny * 2.0**24
        for dtype in (torch.float64, torch.float32, torch.bfloat16)
    },
    torch.finfo(torch.float16).eps: torch.finfo(torch.float16).smallest_normal * 2.0**-6,
}

Results = dict[str, torch.Tensor]

_aten = torch.ops.aten
_PRODUCTS = {_aten.mm.default, _aten.bmm.default, _aten.mv.default, _aten.dot.default}
_EXPONENTIALS = {_aten._softmax.default, _aten.exp.default, _aten.logsumexp.default}
_SUMS = {_aten.sum.default, _aten.sum.dim_IntList, _aten.mean.default, _aten.mean.dim}


class RandomRounding(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Inside the block every result of a torch operation carries a random error of relative size `grain`.

    `wide_sums`: sums and products of matrices are accumulated exactly, and their results rounded once.
    """

    def __init__(self, grain: float, seed: int, wide_sums: bool = False) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.grain, self.generator = grain, torch.Generator().manual_seed(seed)
        self.wide_sums = wide_sums
        self.largest = 0.0  #: the largest number that occurred
        self.exponent = 0.0  #: the largest number of which an exponential was taken
        self.apart = 0.0  #: the same of exponentials that are no softmax of torch's
        self.of_matrices = 0.0  #: the largest norm (of columns) of a matrix of which an exponential was taken

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here, and skipping would import the compiler of torch, a second of processor time."""
        return False

    def error(self, like: torch.Tensor) -> torch.Tensor:
        """Errors of random sign and size at most `grain` times the entries of `like`; none of logits at -inf."""
        noise = (
            torch.rand(like.shape, generator=self.generator, dtype=torch.float64).mul_(2 * self.grain).sub_(self.grain)
        )
        found = like * noise.to(like)
        return found if like.numel() == 0 or math.isfinite(_largest(found)) else _finite(like) * noise.to(like)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not isinstance(result, torch.Tensor) or not result.is_floating_point():
            return result
        self.largest = max(self.largest, _largest_finite(result))
        if _is_view(func):
            return result  # views and changes in place move numbers about
        if func in _EXPONENTIALS:
            largest = _largest_finite(args[0])
            self.exponent = max(self.exponent, largest)
            self.apart = max(self.apart, 0.0 if func is _aten._softmax.default else largest)
        if func is _aten.linalg_matrix_exp.default:
            columns = _finite(args[0]).abs().sum(-2)
            self.of_matrices = max(self.of_matrices, _largest(columns))
        if _is_whole(result) and all(_is_whole(x) for x in args if isinstance(x, torch.Tensor)):
            return result  # masks, positions, numbers of sequences: exact, and no layer computes them in half precision
        if self.wide_sums and (func in _PRODUCTS or func in _SUMS or func is _aten.addmm.default):
            return result + self.error(result)
        if func in _PRODUCTS:
            return result + self.error(func(*(value.abs() for value in args)))
        if func is _aten.addmm.default:
            return result + self.error(_aten.addmm.default(*(value.abs() for value in args)))
        if func in _SUMS:
            return result + self.error(func(args[0].abs(), *args[1:], **(kwargs or {})))
        if func is _aten._softmax.default:  # also of exp(T - log(sum(exp(T)))), whose rows do not sum to one
            return result + self.error(result * (1 + args[0].abs()))
        if func is _aten._softmax_backward_data.default:
            gradient, weights, dim, _ = args
            size = gradient.abs() + (gradient.abs() * weights).sum(dim, keepdim=True)
            return result + self.error(size * weights)
        return result + self.error(result)


@dataclass
class Rounded:
    """By how much rounding at relative precision 1 would change each result, and the largest numbers that were met."""

    spreads: dict[str, float]
    exponent: float = 0.0
    apart: float = 0.0
    largest: float = 0.0
    of_matrices: float = 0.0


@dataclass
class Reference:
    """What the definition gives in float64, and, once it is asked for, what rounding may change of each result."""

    results: Results
    arguments: Mapping[str, Any]
    evaluate: Callable[[Mapping[str, Any]], Results]
    _in_half: dict[float, dict[str, float]] = field(default_factory=dict, repr=False)
    _jumping: dict[Hashable, bool] = field(default_factory=dict, repr=False)

    @functools.cached_property
    def smooth(self) -> bool:
        """Whether the results can be compared: they have no kink here, and units."""
        generator = torch.Generator().manual_seed(0)
        nudge = {name: _noise(x, generator) * NUDGE for name, x in self.arguments.items() if is_real(x)}
        try:
            for sign in (1, -1):
                nudged = self.evaluate(
                    {name: x + sign * nudge[name] if name in nudge else x for name, x in self.arguments.items()}
                )
                grains = STILL * max(map(_largest, self.results.values()), default=0.0)
                moved = {
                    name: change
                    for name, value in self.results.items()
                    if value.numel()
                    and not (change := _largest(nudged[name] - value)) <= max(JUMP * _largest(value), grains)
                }
                if moved and not self._follows(moved, nudge, sign):
                    return False
            _ = self.rounded  # raises where the definition cannot be evaluated so
        except (NotDifferentiable, RuntimeError, ValueError):
            return False
        return True

    def _follows(self, moved: Mapping[str, float], nudge: Mapping[str, torch.Tensor], sign: int) -> bool:
        """Whether results that a nudge moved far, for their size, move farther by a larger one, as they do across no kink.

        A result that is zero, as of attention to tokens that are zero or equal, is moved far by every nudge.
        """
        farther = self.evaluate(
            {name: x + sign * FARTHER * nudge[name] if name in nudge else x for name, x in self.arguments.items()}
        )
        return all(4 * change <= _largest(farther[name] - self.results[name]) for name, change in moved.items())

    @functools.cached_property
    def rounded(self) -> Rounded:
        """The definition under random rounding."""
        generator = torch.Generator().manual_seed(1)
        found = Rounded(dict.fromkeys(self.results, 0.0))
        for run in range(RUNS):
            arguments = _rounded(self.arguments, GRAIN, generator)
            with RandomRounding(GRAIN, run) as rounding:
                noisy = self.evaluate(arguments)
            found.exponent = max(found.exponent, rounding.exponent)
            found.apart = max(found.apart, rounding.apart)
            found.largest = max(found.largest, rounding.largest)
            found.of_matrices = max(found.of_matrices, rounding.of_matrices)
            for name, value in self.results.items():
                spread = _largest(noisy[name] - value) / GRAIN
                found.spreads[name] = max(found.spreads[name], math.inf if math.isnan(spread) else spread)
        # operations of which a single random error says too little, such as a matrix exponential
        single = self.evaluate({name: x.float() if is_real(x) else x for name, x in self.arguments.items()})
        eps = torch.finfo(torch.float32).eps
        for name, value in self.results.items():
            own = _largest(single[name].double() - value)
            if own <= BLURRED * _largest(value):
                found.spreads[name] = max(found.spreads[name], own / eps)
        return found

    def overflows(self, dtype: torch.dtype) -> bool:
        """Whether numbers occur in the definition that are too large for a precision, or nearly so."""
        return too_large(self.rounded.largest, dtype)

    def may_overflow(self, dtype: torch.dtype, value: bool = False) -> bool:
        """Whether a few roundings of an exponent, as of T in exp(T - log(sum(exp(T)))), are themselves one that overflows.

        Kernels that keep that logarithm for their backward pass give no finite derivatives there.  A `value` is excused
        only where the exponent is a matrix: the exponential of a skew one is orthogonal, but nothing can be subtracted of
        it, and a few roundings of its norm that are not skew leave an exponential that overflows.
        """
        exponent = self.rounded.of_matrices if value else max(self.rounded.exponent, self.rounded.of_matrices)
        return FEW * torch.finfo(dtype).eps * exponent > math.log(torch.finfo(dtype).max)

    def roundings(self, name: str, eps: float, gap: float) -> float:
        """A difference from a result in roundings of its largest entry, each of which is at most a unit."""
        half = eps > torch.finfo(torch.float32).eps
        grain = (1.0 if half else SPREADS) * eps * _largest(self.results[name])
        return 0.0 if gap == 0 else gap / grain if grain > 0 else math.inf

    def unit(self, name: str, eps: float) -> float:
        """One rounding unit of a result at precision `eps`; infinite where nothing can be decided."""
        largest = _largest(self.results[name])
        half = eps > torch.finfo(torch.float32).eps
        unit = (
            self._spread_in_half(name, eps) + eps * largest
            if half
            else SPREADS * eps * (self.rounded.spreads[name] + largest) * self._of_weights
        )
        if unit == 0.0:  # a result that is zero for certain; rounding elsewhere may still reach it
            unit = SPREADS * eps * self._of_weights * max(map(_largest, self.results.values()))
        blurred = BLURRED_IN_HALF if half else BLURRED
        if unit > blurred * largest and largest != 0.0:
            return float("inf")
        return unit + UNDERFLOW[eps] + (0.0 if half else self._unseen(name, eps))

    def _unseen(self, name: str, eps: float) -> float:
        """What a derivative may be if its argument has to move by its size, and by 1 at least, to move the value by a rounding.

        Equal formulas differ by this: where a weight w is nearly 1, a derivative has 1 - w in one, the sum of the other weights
        in another, and 1 - w is known to a rounding of 1.  A small argument excuses no more than one of size 1.
        """
        argument = self.arguments.get(name.removeprefix(DERIVATIVE)) if name.startswith(DERIVATIVE) else None
        if argument is None:
            return 0.0
        value = max((_largest(x) for each, x in self.results.items() if each.startswith(VALUE)), default=0.0)
        return SPREADS * eps * value / max(1.0, _largest(argument))

    @property
    def _of_weights(self) -> float:
        """By how many roundings weights may be off that are found as exp(T - log(sum(exp(T)))), as in backward passes of kernels.

        Of a softmax of torch's the random errors know that; where a definition has exponentials and sums of its own they do not,
        and far from zero that is most of what rounding does.
        """
        return 1.0 + self.rounded.apart if self.rounded.apart > STEEP else 1.0

    def _spread_in_half(self, name: str, eps: float) -> float:
        """The spread under roundings as large as those of half precision, which are too large to be linear.

        Sums are accumulated in more bits, as every kernel has to: sums in half precision are what long rows have to show.
        """
        if eps not in self._in_half:
            generator = torch.Generator().manual_seed(2)
            self._in_half[eps] = dict.fromkeys(self.results, 0.0)
            for run in range(RUNS_IN_HALF):
                rounded = _rounded(self.arguments, eps, generator)
                with RandomRounding(eps, run, wide_sums=True):
                    noisy = self.evaluate(rounded)
                for each, value in self.results.items():
                    spread = _largest(noisy[each] - value)
                    self._in_half[eps][each] = max(self._in_half[eps][each], math.inf if math.isnan(spread) else spread)
        return self._in_half[eps][name]

    def jumps(
        self, evaluate: Callable[[Mapping[str, Any]], Results], dtype: str, name: str, asked: Hashable = None
    ) -> bool:
        """Whether errors of a few roundings change a result of the definition by more than they can where it is smooth.

        It is found once, for all implementations that are compared here, where what `evaluate` returns follows from what is
        `asked`.
        """
        if asked is None:
            return self._jumps(evaluate, dtype, name)
        key = (asked, dtype, name)
        if key not in self._jumping:
            self._jumping[key] = self._jumps(evaluate, dtype, name)
        return self._jumping[key]

    def _jumps(self, evaluate: Callable[[Mapping[str, Any]], Results], dtype: str, name: str) -> bool:
        eps = torch.finfo(getattr(torch, dtype)).eps
        half = eps > torch.finfo(torch.float32).eps
        bound, few = FEW * self.unit(name, eps), FEW_IN_HALF if half else FEW
        generator = torch.Generator().manual_seed(1)
        for run in range(RUNS_AT_A_JUMP):
            rounded = _rounded(self.arguments, few * eps, generator)
            with RandomRounding(few * eps, run, wide_sums=half):
                if bound < _largest(evaluate(rounded)[name] - self.results[name]) < math.inf:
                    return True
        return False


def too_large(number: float, dtype: torch.dtype) -> bool:
    """Whether a number, or a few of its size, overflows."""
    return 4 * number > torch.finfo(dtype).max


def _rounded(arguments: Mapping[str, Any], grain: float, generator: torch.Generator) -> dict[str, Any]:
    """The arguments with random errors of relative size `grain`."""
    return {name: x * (1 + grain * _noise(x, generator)) if is_real(x) else x for name, x in arguments.items()}


def _noise(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return torch.rand(x.shape, generator=generator, dtype=x.dtype) * 2 - 1


def _largest(value: torch.Tensor) -> float:
    return float(value.abs().max()) if value.numel() else 0.0


def _finite(value: torch.Tensor) -> torch.Tensor:
    return value.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)


def _largest_finite(value: torch.Tensor) -> float:
    """The largest finite entry, by size."""
    largest = _largest(value)
    return largest if math.isfinite(largest) else _largest(_finite(value))


def _is_whole(x: torch.Tensor) -> bool:
    """Whether all entries are whole numbers that every sum in float32 has exactly."""
    if not x.is_floating_point() or x.numel() == 0:
        return True
    if not float(x[(0,) * x.ndim]).is_integer():  # of most tensors the first entry is none
        return False
    return bool((x == x.round()).all()) and _largest(x) <= WHOLE


@functools.cache
def _is_view(operation: Any) -> bool:
    """Whether an operation of torch returns an argument, changed in place or looked at in another way."""
    return any(returned.alias_info is not None for returned in operation._schema.returns)


def reference(evaluate: Callable[[Mapping[str, Any]], Results], arguments: Mapping[str, Any]) -> Reference | None:
    """The results of a definition at `arguments` in float64; None where they are not finite."""
    plain = evaluate(arguments)
    finite = all(bool(value.isfinite().all()) for value in plain.values())
    return Reference(plain, arguments, evaluate) if finite else None
