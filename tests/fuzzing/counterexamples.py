"""Numbers that refute a statement: in floats with a wide margin, then in balls.

Inputs meet the assumptions that the statement makes.  Sizes go beyond the claim's range, up to hundreds where that is fast.
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import flint
import numpy as np

from verify.arithmetics import precision
from verify.arithmetics.symbols.difference import Proof, float_values
from verify.arithmetics.symbols.points import NumericPoint
from verify.checks.evaluation import as_balls, flat_objects, flat_tensor, one_of
from verify.checks.proofs import real_symbol, size_symbol
from verify.checks.satisfied import satisfies
from verify.inputs.generators import Draw, systematic, telling_sizes
from verify.oracles.expectations import forget_moments
from verify.vocabulary import AtMost, Claim, Real, Shape, Size
from verify.vocabulary.errors import NotFiniteError

if TYPE_CHECKING:
    from tests.fuzzing.statements import Statement

#: Relative to the larger side: what counts as different, what as equal, and what suffices where balls cannot decide.
MARGIN, EQUAL, ALONE = 1e-6, 1e-9, 1e-3
#: A change of the inputs by which it is seen whether rounding matters.
NUDGE = 1e-10
#: Where both sides are smaller, only balls are believed.
TINY = 1e-8
#: Examples that every statement is tried at, and how many more one that is proved.
FEW, MANY = 8, 40
BITS = 300
#: Sizes beyond the claim's range, and how long an evaluation may take for a larger one to be tried.
LARGE, SECONDS = (7, 12, 24, 60, 150, 400), 0.04


@dataclass
class Example:
    """Inputs of a claim, drawn and prepared, in floats."""

    raw: dict[str, Any]
    inputs: dict[str, Any]
    sizes: dict[str, int]
    known: dict[Any, Any] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass
class Sides:
    """Both sides of a statement in floats, flattened, and the shapes that each had, of all its parts."""

    left: np.ndarray
    right: np.ndarray
    left_shapes: tuple[tuple[int, ...], ...]
    right_shapes: tuple[tuple[int, ...], ...]


@dataclass
class Counterexample:
    """Inputs at which a statement is false, and how that was decided."""

    example: Example
    left: float
    right: float
    margin: float
    by: str

    def text(self) -> str:
        def shown(value: Any) -> str:
            array = np.asarray(value)
            return np.array2string(array, precision=6, threshold=40).replace("\n", " ") if array.ndim else repr(value)

        inputs = "\n".join(f"    {name} = {shown(value)}" for name, value in self.example.inputs.items())
        return f"sizes {self.example.sizes}\n{inputs}\n    left {self.left!r}, right {self.right!r}, {self.by}"


# -- inputs ------------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=600)
def examples(claim: Claim, level: int) -> tuple[Example, ...]:
    """Examples of a claim: few and small ones (0), many with the extreme ones (1)."""
    if level == 0:
        return tuple(_made(claim, draw) for draw in systematic(claim, FEW, 7))
    found = [_made(claim, draw) for draw in systematic(claim, MANY, 8)]
    for factor, draw in itertools.product((0.0, 2.0**-30), systematic(claim, 3, 9)):
        found.append(_made(claim, draw, factor))
    return tuple(found)


def large_examples(claim: Claim) -> Iterator[Example]:
    """Examples at sizes beyond the claim's range: one size at a time, then all, as long as the last one took little time.

    Moments are forgotten each time.  Kept ones hide what a size costs, and exact moments at the next may fill the memory.
    """
    sizes = dict(telling_sizes(claim)[0])
    for names in [[name] for name in sizes] + ([list(sizes)] if len(sizes) > 1 else []):
        for large in LARGE:
            wanted = {**sizes, **{name: large + k for k, name in enumerate(names)}}
            if not _admits(claim, wanted):
                wanted = {**sizes, **dict.fromkeys(names, large)}
            if not _admits(claim, wanted):
                continue
            forget_moments()
            start = time.process_time()
            example = _made(claim, Draw(tuple(wanted.items()), "generic", large))
            yield example
            if time.process_time() - start > SECONDS:  # evaluating the sides included
                break


def _admits(claim: Claim, sizes: Mapping[str, int]) -> bool:
    return bool(claim.where(sizes))


def _made(claim: Claim, draw: Draw, factor: float = 1.0) -> Example:
    import torch

    try:
        raw = one_of(claim, draw.arrays(claim, 1), 0)
    except IndexError:  # a domain of the claim's own that edits entries which are not there at broken sizes
        raw = one_of(claim, replace(draw, domain="generic").arrays(claim, 1), 0)
    for name, spec in claim.parameters.items():
        if isinstance(spec, Shape):
            raw[name] = raw[name] * factor
    tensors = {name: v if isinstance(v, int) else torch.as_tensor(v, dtype=torch.float64) for name, v in raw.items()}
    try:
        inputs = claim.prepare(tensors)
    except Exception:  # sizes or values for which there are no inputs
        inputs = {}
    return Example(raw, inputs, dict(draw.sizes))


def another_matrix(value: Any, has: str | None, rng: np.random.Generator) -> Any:
    """A random matrix of the shape of `value`, with a property where one is named."""
    import torch

    A = rng.standard_normal(tuple(value.shape))
    if has == "is symmetric":
        A = A + A.T
    elif has == "is skew":
        A = A - A.T
    elif has == "has orthonormal columns":
        A = np.linalg.qr(A)[0] if A.shape[0] >= A.shape[1] else A * np.nan
    elif has == "has orthonormal rows":
        A = np.linalg.qr(A.T)[0].T if A.shape[1] >= A.shape[0] else A * np.nan
    return torch.as_tensor(A)


# -- both sides --------------------------------------------------------------------------------------------------------


def sides_at(claim: Claim, origin: Claim, example: Example, inputs: dict[str, Any] | None = None) -> Sides | None:
    """Both sides at an example; None where one is not defined.  What does not depend on the breaking is kept."""
    from tests.fuzzing.statements import decided

    if not example.inputs:
        return None
    found = []
    for function in _functions(claim):
        shared = function in _functions(origin) and inputs is None
        if shared and function in example.known:
            found.append(example.known[function])
            continue
        try:
            value = claim.evaluate(
                decided(claim) if function is claim.the_formula else function, inputs or example.inputs
            )
            side = _flat(value)
        except Exception:  # a breaking may make nonsense of any kind
            side = None
        if shared:
            example.known[function] = side
        found.append(side)
    if any(side is None or not len(side[0]) or not np.isfinite(side[0]).all() for side in found):
        return None
    formula, shapes = found[0]
    oracle, others = found[1] if len(found) > 1 else (np.zeros_like(formula), shapes)
    return Sides(oracle, formula, others, shapes)


def _functions(claim: Claim) -> list[Any]:
    return [claim.the_formula, claim.the_oracle] if claim.has_oracle else [claim.the_formula]


def _flat(value: Any) -> tuple[np.ndarray, tuple[tuple[int, ...], ...]]:
    import torch

    if isinstance(value, (list, tuple)):
        parts = [_flat(item) for item in value]
        return np.concatenate([part for part, _ in parts]), tuple(shape for _, shapes in parts for shape in shapes)
    shape = tuple(int(k) for k in getattr(value, "shape", ()))
    flat = flat_tensor(value, torch.zeros((), dtype=torch.float64)).detach().numpy().astype(float)
    return flat, (shape if len(flat) > 1 else (),)


def excess(claim: Claim, sides: Sides) -> tuple[float, int]:
    """By how much a statement is false, relative to the larger side, and at which entry; 0 where it holds."""
    left, right = sides.left, sides.right
    if isinstance(claim.relation, AtMost):
        if len(right) != len(left) and 1 not in (len(left), len(right)):
            return np.inf, 0
        left, right = np.broadcast_arrays(left, right)
        gap = (left - right) / np.maximum(np.maximum(np.abs(left), np.abs(right)), 1e-300)
    else:
        if len(left) != len(right):
            return np.inf, 0  # of different shapes
        scale = max(float(np.abs(left).max(initial=0.0)), float(np.abs(right).max(initial=0.0)))
        gap = np.abs(left - right) / (scale or 1.0)
    k = int(gap.argmax())
    return float(max(gap[k], 0.0)), k


# -- counterexamples ---------------------------------------------------------------------------------------------------


def refuted(statement: Statement, level: int, conditions: Any = ()) -> Counterexample | None:
    """The first example at which the statement is false by a wide margin, though what it was made from holds there."""
    claim, origin = statement.claim, statement.origin
    some: Any = examples(_drawn(statement), level)
    if level > 0:
        some = itertools.chain(some, large_examples(_drawn(statement)))
    for k, example in enumerate(some):
        found = _false_at(statement, claim, origin, example, k)
        if found is not None and _meets(claim, example, conditions):
            return found
    return None


def _drawn(statement: Statement) -> Claim:
    """The claim by which inputs are drawn: that which all statements made from it share."""
    return statement.origin


def _false_at(statement: Statement, claim: Claim, origin: Claim, example: Example, k: int) -> Counterexample | None:
    import torch

    inputs = None
    if statement.perturbed is not None and example.inputs:
        inputs = statement.perturbed(dict(example.inputs), np.random.default_rng(k))
    elif not _satisfies(origin, example):
        return None
    now = sides_at(claim, origin, example, inputs)
    if now is None:
        return None
    gap, entry = excess(claim, now)
    told = _shapes_differ(claim, now)
    if gap <= MARGIN and not told:
        return None
    if inputs is not None and not _still_assumed(claim, inputs):
        return None
    holds = True
    if claim is not origin and inputs is None:
        before = sides_at(origin, origin, example)
        if before is None:
            return None
        holds = excess(origin, before)[0] <= EQUAL
        if told and statement.from_the_truth and _shapes_differ(origin, before):
            told = False
            if gap <= MARGIN:
                return None
        if statement.from_the_truth and not holds:
            return None
    left = float(now.left[entry % len(now.left)])
    right = float(now.right[entry % len(now.right)])
    by = "of different shapes" if told else "in floats"
    shown = Example(example.raw, {**(inputs or example.inputs)}, example.sizes)
    shown.inputs = {n: v.numpy() if isinstance(v, torch.Tensor) else v for n, v in shown.inputs.items()}
    trusted = max(abs(left), abs(right)) > TINY and (holds or _is_steady(claim, origin, example, inputs, now))
    return Counterexample(shown, left, right, gap if trusted or told else min(gap, ALONE / 2), by)


def _is_steady(claim: Claim, origin: Claim, example: Example, inputs: Any, sides: Sides) -> bool:
    """Whether a small change of the inputs changes both sides little, so that rounding did not make the difference."""
    import torch

    rng = np.random.default_rng(0)
    nudged = {
        name: value * (1 + NUDGE * torch.as_tensor(rng.standard_normal(tuple(value.shape))))
        if isinstance(value, torch.Tensor)
        else value
        for name, value in (inputs or example.inputs).items()
    }
    other = sides_at(claim, origin, example, nudged)
    if other is None or len(other.left) != len(sides.left) or len(other.right) != len(sides.right):
        return False
    scale = max(float(np.abs(sides.left).max()), float(np.abs(sides.right).max()))
    moved = max(float(np.abs(other.left - sides.left).max()), float(np.abs(other.right - sides.right).max()))
    return moved <= MARGIN * scale


def _shapes_differ(claim: Claim, sides: Sides) -> bool:
    """Whether the two sides of an identity have as many entries in another shape."""
    if isinstance(claim.relation, AtMost):
        return False
    return sides.left_shapes != sides.right_shapes and len(sides.left) == len(sides.right) > 1


def _satisfies(claim: Claim, example: Example) -> bool:
    """Whether the tested assumptions hold, as far as floats tell."""
    key = "assumptions hold"
    if key not in example.known:
        example.known[key] = _still_assumed(claim, example.inputs) if example.inputs else False
    return bool(example.known[key])


def _still_assumed(claim: Claim, inputs: Mapping[str, Any]) -> bool:
    scale = max(
        (float(np.abs(v.numpy()).max()) for v in inputs.values() if hasattr(v, "numpy") and v.numel()), default=1.0
    )
    for item in claim.tested_assumptions:
        for test, accept in (
            (item.positive, lambda x: x > 1e-12),
            (item.nonnegative, lambda x: x >= -1e-12),
            (item.zero, lambda x: np.abs(x) <= 1e-10 * scale),
        ):
            if test is not None:
                try:
                    if not accept(_flat(claim.evaluate(test, inputs))[0]).all():
                        return False
                except Exception:
                    return False
    return True


def _meets(claim: Claim, example: Example, conditions: Any) -> bool:
    """Whether what a proof presupposes of sizes and scalars holds at an example."""
    values: dict[Any, Any] = {size_symbol(name): size for name, size in example.sizes.items()}
    for name, spec in claim.parameters.items():
        if isinstance(spec, Real) and name in example.raw:
            values[real_symbol(name, spec)] = float(example.raw[name])
        elif isinstance(spec, Size):
            values.setdefault(size_symbol(name), example.sizes[spec.name])
    return all(condition.holds(values) is not False for condition in conditions)


# -- balls -------------------------------------------------------------------------------------------------------------


def certain(statement: Statement, found: Counterexample) -> bool | None:
    """Whether balls say that the statement is defined and false there; None where they cannot tell."""
    from tests.fuzzing.statements import decided

    claim = statement.claim
    if statement.perturbed is not None:
        return None
    try:
        with precision(BITS):
            inputs = claim.prepare(as_balls(found.example.raw))
            if satisfies(statement.origin, inputs) is False:
                return False
            right = flat_objects(claim.evaluate(decided(claim), inputs))
            left = flat_objects(claim.evaluate(claim.the_oracle, inputs)) if claim.has_oracle else right * 0
            if isinstance(claim.relation, AtMost):
                left, right = np.broadcast_arrays(left, right)
            pairs = [(flint.arb(x), flint.arb(y)) for x, y in zip(left, right, strict=True)]
            if not all(x.is_finite() and y.is_finite() for x, y in pairs):
                return False
            if isinstance(claim.relation, AtMost):
                return any(x > y for x, y in pairs) or (False if all(x <= y for x, y in pairs) else None)
            return any(not (x - y).contains(0) for x, y in pairs)
    except ZeroDivisionError:  # floats passed through infinity
        return False
    except Exception:
        return None


def defined_somewhere(claim: Claim, tries: int = 6) -> bool | None:
    """Whether both sides have a value in balls at some generic inputs; None where balls do not run at all."""
    from tests.fuzzing.statements import decided

    nowhere = False
    for draw in systematic(claim, tries, 3, domain="generic"):
        try:
            with precision(BITS):
                inputs = claim.prepare(as_balls(one_of(claim, draw.arrays(claim, 1), 0)))
                for function in (decided(claim), *_functions(claim)[1:]):
                    if not all(flint.arb(x).is_finite() for x in flat_objects(claim.evaluate(function, inputs))):
                        raise ZeroDivisionError
            return True
        except (ZeroDivisionError, NotFiniteError):
            nowhere = True
        except Exception:
            return None
    return False if nowhere else None


def holds_somewhere(statement: Statement) -> bool:
    """Whether floats see the statement, or what it was made from, hold at one of the few examples."""
    for claim in (statement.claim, statement.origin):
        for example in examples(_drawn(statement), 0):
            sides = sides_at(claim, statement.origin, example)
            if sides is not None and excess(claim, sides)[0] <= EQUAL:
                return True
    return False


# -- normal forms ------------------------------------------------------------------------------------------------------


def normal_forms_apart(claim: Claim, proof: Proof, sizes: Mapping[str, int], seed: int) -> float | None:
    """How far the normal forms of both sides are from the sides, relative to the larger one, at generic inputs of these sizes.

    None where floats are not as good as balls, or not steady: at an inverse of what is singular, at a step of zero.
    """
    example = _made(claim, Draw(tuple(sizes.items()), "generic", seed))
    floats = sides_at(claim, claim, example)
    if floats is None or not _as_in_balls(claim, example, floats):
        return None
    values = {size_symbol(name): size for name, size in sizes.items()}
    arrays = {name: value.numpy() for name, value in example.inputs.items() if hasattr(value, "numpy") and value.ndim}
    scalars = {
        real_symbol(name, spec): float(example.raw[name])
        for name, spec in claim.parameters.items()
        if isinstance(spec, Real)
    }
    if any(condition.holds({**values, **scalars}) is False for condition in proof.conditions):
        return None
    point = NumericPoint({**values, **scalars}, arrays)
    scale = max(1.0, float(np.abs(floats.left).max()), float(np.abs(floats.right).max()))
    found = []
    for normal_form, plain in (
        (proof.left, floats.right),
        (proof.right, floats.left),
    ):  # the formula is on the left in proofs
        formal = float_values(normal_form, point)
        found.append(float(np.abs(formal - plain).max()) / scale if formal.shape == plain.shape else np.inf)
    return max(found)


def _as_in_balls(claim: Claim, example: Example, floats: Sides) -> bool:
    try:
        with precision(BITS):
            inputs = claim.prepare(as_balls(example.raw))
            for function, plain in zip(_functions(claim), (floats.right, floats.left), strict=False):
                exact = np.array([float(flint.arb(x).mid()) for x in flat_objects(claim.evaluate(function, inputs))])
                if not np.abs(exact - plain).max(initial=0.0) <= MARGIN * max(
                    1.0, float(np.abs(plain).max(initial=0.0))
                ):
                    return False
    except (ZeroDivisionError, NotFiniteError):
        return False
    except Exception:  # balls do not run
        return _is_steady(claim, claim, example, None, floats)
    return True
