"""Why an implementation is wrong, as far as mathematics tells: the wrong definition with which it agrees to rounding.

Tried are the variants that the subject's profile names, and mistakes that every function of matrices can have:
arguments exchanged or transposed, the value transposed or scaled, a computation in a lower precision, a derivative cut.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from verify.checks.evaluation import one_of, raw_tensors
from verify.checks.record import SEPARATION
from verify.checks.settings import Settings
from verify.checks.units import BITS, Unit, unit_at
from verify.gate.known import found_once
from verify.gate.measure import ALLOWED, rejected_laws
from verify.gate.profiles import FAR_BELOW, Profile
from verify.gate.standing import Standing
from verify.gate.subject_errors import NotDifferentiable, Raised, WrongResult
from verify.inputs.generators import applicable_domains, systematic
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import InputError
from verify.vocabulary.shapes import Shape, parameter_specs

#: Draws on which a variant has to agree before it is named.
DRAWS = 6
#: What evaluating a variant at shapes it does not fit raises.
_MISFIT = (RuntimeError, ValueError, TypeError, IndexError, ArithmeticError, InputError)

Function = Callable[..., Any]

#: The domain of the largest logits.
ONE_HOT = "one-hot attention"
#: The mistake of functions that are right where they are finite.
OVERFLOW = "it overflows: the maximum is not subtracted before the exponential"


@dataclass
class _Point:
    """One draw: arguments of the definition, its value, the implementation's, and one rounding unit."""

    arguments: dict[str, Any]
    sizes: dict[str, int]
    truth: Any
    yours: Any
    unit: float


def causes(
    profile: Profile, standing: Standing, settings: Settings, dtype: str, broken_at: Mapping[str, Any]
) -> list[str]:
    """Mistakes that explain the implementation's values at every draw tried, and at `broken_at`; empty when none does."""
    if not profile.is_drawn:
        return []
    claim = profile.claim()
    # plain draws at unequal sizes, where mistakes differ from each other
    draws = systematic(claim, 2 * DRAWS, settings.seed, domain="generic")[::2]
    tried: list[tuple[dict[str, Any], dict[str, int]]] = [(draw.arrays(claim, 1), dict(draw.sizes)) for draw in draws]
    if set(broken_at) == set(claim.parameters):
        seed = {n: v if isinstance(v, int) else np.asarray(v, dtype=np.float64)[None] for n, v in broken_at.items()}
        tried.append((seed, {}))
    points: list[_Point] = []
    for arrays, sizes in tried:
        arguments = _arguments(claim, arrays, settings, dtype)
        try:
            yours = standing.implementation(*_in_order(standing, arguments))
            truth = standing.definition(**arguments)
        except Exception:  # the implementation's own message says why
            return []
        unit = _unit_of(claim, standing, one_of(claim, arrays, 0), BITS[dtype])
        if unit.usable and unit.value > 0 and _comparable(yours, truth):
            points.append(_Point(arguments, sizes, truth, yours, unit.value))
    if not points:
        return []
    right = [not _far(point.yours, point.truth, point.unit) for point in points]
    if all(right[: len(draws)]) and _overflows(claim, standing, settings, dtype):
        return [OVERFLOW]
    if all(right):
        return []
    found = [name for name, variant in _candidates(profile, standing) if _explains(variant, points)]
    return found or _scalings(points) or _precision(standing, points, dtype)


def _arguments(claim: Claim, arrays: Mapping[str, Any], settings: Settings, dtype: str) -> dict[str, Any]:
    """What the definition takes at the only draw that `arrays` hold."""
    raw = raw_tensors(claim, arrays, settings, dtype)
    return claim.prepare({name: value if isinstance(value, int) else value[0] for name, value in raw.items()})


def _unit_of(claim: Claim, standing: Standing, seed: Mapping[str, Any], bits: int) -> Unit:
    """One rounding unit of the definition, found once for all implementations."""
    of = [standing.definition]
    find = functools.partial(unit_at, claim, of, seed, bits)
    return found_once(claim, of, seed, (unit_at, bits), find, lambda: standing.calls)


def _comparable(yours: Any, truth: Any) -> bool:
    """Whether what an implementation returned has entries that can be compared at all."""
    import torch

    dense = isinstance(yours, torch.Tensor) and not yours.is_nested and yours.layout is torch.strided
    return dense and yours.device == truth.device and yours.dtype.is_floating_point


def _overflows(claim: Claim, standing: Standing, settings: Settings, dtype: str) -> bool:
    """Whether values are not finite at logits far from zero, where those of the definition are."""
    domains = [domain for domain in (ONE_HOT, FAR_BELOW) if domain in applicable_domains(claim)]
    for draw in [draw for domain in domains for draw in systematic(claim, DRAWS, settings.seed, domain=domain)]:
        arguments = _arguments(claim, draw.arrays(claim, 1), settings, dtype)
        yours = standing.implementation(*_in_order(standing, arguments))
        if bool(standing.definition(**arguments).isfinite().all()) and not bool(yours.isfinite().all()):
            return True
    return False


def _in_order(standing: Standing, arguments: dict[str, Any]) -> list[Any]:
    return [arguments.get(name, parameter.default) for name, parameter in standing.signature.parameters.items()]


def _far(a: Any, b: Any, unit: float) -> bool:
    """Whether two values are different matrices."""
    if tuple(a.shape) != tuple(b.shape) or a.dtype != b.dtype:
        return True
    # two values that are no number at the same places are the same
    gap = (a - b).abs().masked_fill(a.isnan() & b.isnan(), 0.0).nan_to_num(nan=math.inf)
    return bool(gap.max() >= SEPARATION * unit) if gap.numel() else False


def _explains(variant: Function, points: list[_Point]) -> bool:
    """Whether `variant` agrees with the implementation everywhere, and differs from the definition somewhere."""
    differs = False
    for point in points:
        try:
            wrong = variant(**point.arguments)
        except _MISFIT:
            return False
        if _far(wrong, point.yours, point.unit):
            return False
        differs = differs or _far(wrong, point.truth, point.unit)
    return differs


def _candidates(profile: Profile, standing: Standing) -> Iterator[tuple[str, Function]]:
    for variant in profile.variants:
        yield variant.name, profile.as_read(variant.function)
    definition = standing.definition
    shapes = {**profile.shapes(), **_shapes(definition)}
    for a, b in itertools.combinations(shapes, 2):
        if shapes[a] == shapes[b]:
            yield f"{a} and {b} are exchanged", _exchanged(definition, a, b)
    for name, dims in shapes.items():
        if len(dims) == 2:
            yield f"{name} is transposed", _transposed(definition, name)
    yield "the result is transposed", lambda **arguments: definition(**arguments).mT


def _shapes(definition: Function) -> dict[str, tuple[str, ...]]:
    try:
        specs = parameter_specs(definition)
    except ValueError:
        return {}
    return {name: spec.dims for name, spec in specs.items() if isinstance(spec, Shape)}


def _exchanged(definition: Function, a: str, b: str) -> Function:
    return lambda **arguments: definition(**{**arguments, a: arguments[b], b: arguments[a]})


def _transposed(definition: Function, name: str) -> Function:
    return lambda **arguments: definition(**{**arguments, name: arguments[name].mT})


def _scalings(points: list[_Point]) -> list[str]:
    """A constant factor, or one that is a power of a size."""
    factors = []
    for point in points:
        if tuple(point.yours.shape) != tuple(point.truth.shape) or not bool(point.yours.isfinite().all()):
            return []
        norm = float((point.truth * point.truth).sum())
        if norm == 0:
            continue
        factor = float((point.yours * point.truth).sum()) / norm
        if _far(point.yours, point.truth * factor, point.unit * max(1.0, abs(factor))):
            return []
        factors.append((factor, point.sizes))
    if all(math.isclose(factor, 1.0, rel_tol=1e-6) for factor, _ in factors):
        return []

    def fits(expected: Callable[[dict[str, int]], float]) -> bool:
        return all(math.isclose(factor, expected(sizes), rel_tol=1e-5) for factor, sizes in factors)

    first = factors[0][0]
    if fits(lambda sizes: first):
        return ["the result has the opposite sign" if first == -1 else f"the result has a constant factor {first:.6g}"]
    factors = [(factor, sizes) for factor, sizes in factors if sizes]
    return [
        f"the result has a factor {size}^{power:g}"
        for size in factors[0][1]
        for power in (-2.0, -1.0, -0.5, 0.5, 1.0, 2.0)
        if fits(lambda sizes, size=size, power=power: sizes[size] ** power)  # type: ignore[misc]
    ]


def _precision(standing: Standing, points: list[_Point], dtype: str) -> list[str]:
    """A computation in a lower precision: errors of its size at every draw, and values that move in steps of that size."""
    import torch

    lowers = [torch.float32, torch.float16, torch.bfloat16]
    lowers = [lower for lower in lowers if torch.finfo(lower).eps > torch.finfo(getattr(torch, dtype)).eps]
    error = max(_relative(point) for point in points)
    if error == 0:
        return []
    for lower in lowers[::-1]:
        if all(torch.equal(point.yours.to(lower).to(point.yours.dtype), point.yours) for point in points):
            lowers = [lower]
            break
    # of the precisions that are possible, that of which the largest error is nearest to half a rounding
    for lower in sorted(lowers, key=lambda lower: abs(math.log2(error / torch.finfo(lower).eps) + 1)):
        eps = torch.finfo(lower).eps
        visible = [point for point in points if _relative(point) > eps / 256]
        stepped = [point for point in visible if _moves_in_steps(standing, point, eps)]
        # an error at one point alone, as of a clamp beyond which logits hardly ever are, is no precision
        if error <= 4 * eps and len(visible) > 1 and 2 * len(stepped) > len(visible):
            return [f"it computes in {str(lower).removeprefix('torch.')}"]
    return []


def _moves_in_steps(standing: Standing, point: _Point, eps: float) -> bool:
    """Whether a change of one argument far below `eps` moves the values otherwise than it moves the definition's.

    A smooth mistake (a clamp, a series, a constant) moves with the definition, or not at all; rounded values stay, or
    jump, and move with the definition where the change is far above `eps`.
    """
    import torch

    generator = torch.Generator().manual_seed(0)

    def moved_by(name: str, step: float) -> tuple[Any, Any]:
        x = point.arguments[name]
        noise = torch.rand(x.shape, generator=generator, dtype=torch.float64).to(x)
        near = {**point.arguments, name: x * (1 + step * noise)}
        yours, truth = standing.implementation(*_in_order(standing, near)), standing.definition(**near)
        return yours - point.yours, truth - point.truth

    for name, x in point.arguments.items():
        if not isinstance(x, torch.Tensor) or not x.is_floating_point():
            continue
        try:
            (small, true_small), (large, true_large) = moved_by(name, eps / 256), moved_by(name, min(1024 * eps, 0.25))
        except Exception:  # whatever it is, it is not a rounding
            return False
        seen = float(true_small.abs().max()) > ALLOWED * point.unit
        follows = float(large.abs().max()) > float(true_large.abs().max()) / 4
        if seen and follows and float((small - true_small).abs().max()) > float(true_small.abs().max()) / 4:
            return True
    return False


def _relative(point: _Point) -> float:
    """The largest error over the largest entry; infinite for other shapes and what is not finite."""
    if tuple(point.yours.shape) != tuple(point.truth.shape) or not bool(point.yours.isfinite().all()):
        return math.inf
    if not point.truth.numel():
        return 0.0
    largest, error = float(point.truth.abs().max()), float((point.yours - point.truth).abs().max())
    return error / largest if largest else (0.0 if error == 0 else math.inf)


# -- derivatives -------------------------------------------------------------------------------------------------------


def derivative_causes(profile: Profile, standing: Standing, settings: Settings, dtype: str) -> list[str]:
    """For an implementation with right values: the arguments by which its derivative vanishes or is wrong.

    A derivative is wrong here when half the digits of `dtype` are: a layer may compute in no more than these.
    """
    import torch

    if not profile.is_drawn:
        return []
    claim = profile.claim()
    found: list[str] = []
    for draw in systematic(claim, 4, settings.seed, domain="generic")[::2]:
        arrays = draw.arrays(claim, 1)
        arguments, seed = _arguments(claim, arrays, settings, "float64"), one_of(claim, arrays, 0)
        for name, value in arguments.items():
            if not isinstance(value, torch.Tensor) or not value.is_floating_point():
                continue

            def along(function: Function, x: Any, name: str = name, arguments: dict[str, Any] = arguments) -> Any:
                return function(*_in_order(standing, {**arguments, name: x}))

            try:
                yours = torch.func.jacrev(lambda x, f=along: f(standing, x))(value)
                find = functools.partial(torch.func.jacrev(lambda x, f=along: f(standing.definition, x)), value)
                what = (derivative_causes, name, settings.device)
                truth = found_once(claim, [standing.definition], seed, what, find, lambda: standing.calls)
            except (RuntimeError, NotDifferentiable, Raised, WrongResult):
                return found
            size = float(truth.abs().max()) if truth.numel() else 0.0
            if size and float((yours - truth).abs().max()) > torch.finfo(getattr(torch, dtype)).eps ** 0.5 * size:
                how = "is cut (detach, no_grad, .data or an in-place copy)" if not bool(yours.any()) else "is wrong"
                found.append(f"its values are right, its derivative by {name} {how}")
    return list(dict.fromkeys(found))


# -- laws --------------------------------------------------------------------------------------------------------------


def law_causes(claim: Claim, settings: Settings) -> list[str]:
    """The mutants of a law that fail exactly the tests that the implementation fails."""

    def failed(formula: Function) -> set[str]:
        return {test.name for test in rejected_laws(claim, formula, settings)}

    own = failed(claim.the_formula)
    return [mutant.name for mutant in claim.mutants if own and failed(mutant.function) == own]
