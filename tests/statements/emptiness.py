"""Claims that cannot fail: their statement says no more than what it presupposes.

`empty` gives the reason, of one of three kinds, or None:

* the statement *repeats a hypothesis*: at free inputs, what it is off by are the entries of what an assumption tests;
* it *compares a thing with itself*: both sides do the same operations at the same shapes, one after the other;
* it holds of *any object* in the place of the definitions that it is about: they are replaced by unrelated functions of
  values of the same shapes, and it still holds.

The last is no fault of a step that applies what holds of every matrix; its claim says so (`Claim.general`).
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import types
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from verify.checks.evaluation import flat_tensor, raw_tensors
from verify.checks.free_inputs import excess, free, masks_of
from verify.checks.settings import Settings
from verify.checks.stated import CLEAR
from verify.inputs.generators import systematic, telling_sizes
from verify.vocabulary.assumptions import Definition, objects_of
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import ArithmeticUnsupported
from verify.vocabulary.referred import bare, names_in
from verify.vocabulary.relations import AtMost, Equal, HasStructure
from verify.vocabulary.subjects import is_dispatcher

#: At how many inputs a claim is tried, and how many of them have to be decided.
TRIED, DECIDED = 8, 3
#: With fewer operations on entries than these a side was computed outside tensors, where nobody looked.
FEW = 2
#: Sizes of the values of unrelated functions and of their slopes, relative to the values, in turn.
SIZES = ((1.0, 1.0), (64.0, 8.0), (0.125, 64.0), (64.0, 64.0))


def empty(claim: Claim, settings: Settings) -> str | None:
    """Why a claim cannot fail, or None; of claims that are not expected to hold, or that are no comparison, None."""
    if claim.expects == "refuted" or not isinstance(claim.relation, (Equal, AtMost, HasStructure)):
        return None
    points = _Points(claim, settings)
    return _repeated(claim, points) or _same(claim, points) or _of_anything(claim, points)


class _Points:
    """Prepared inputs and free ones of the same shapes, made when they are asked for: most claims are cleared at the first."""

    def __init__(self, claim: Claim, settings: Settings) -> None:
        self._known: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._others = points_of(claim, settings)

    def __iter__(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        for number in itertools.count():
            if number == len(self._known):
                self._known.extend(itertools.islice(self._others, 1))
            if number == len(self._known):
                return
            yield self._known[number]


def points_of(claim: Claim, settings: Settings) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Prepared inputs and free ones of the same shapes, one after the other, at sizes that tell shapes apart."""
    import torch

    sizes = telling_sizes(claim)
    for k, draw in enumerate(systematic(claim, TRIED, settings.seed)):
        draw = type(draw)(sizes[k % len(sizes)], draw.domain, draw.seed)
        generator = torch.Generator().manual_seed(draw.seed % 2**31)
        drawn = {
            name: value if isinstance(value, int) else value[0]
            for name, value in raw_tensors(claim, draw.arrays(claim, 1), settings, "float64").items()
        }
        random = {name: _full(value, name, claim, generator) for name, value in drawn.items()}
        try:
            prepared = claim.prepare(random)
        except (RuntimeError, ZeroDivisionError, ValueError, TypeError):
            continue
        yield prepared, free(prepared, masks_of(claim), generator)


def _full(value: Any, name: str, claim: Claim, generator: Any) -> Any:
    """Drawn values with all their digits, moved by a little: products of short numbers are exact, and tell no ways apart."""
    import torch

    if isinstance(value, int) or name in masks_of(claim):
        return value
    step = torch.rand(value.shape, generator=generator, dtype=torch.float64)
    low, high = getattr(claim.parameters[name], "low", -np.inf), getattr(claim.parameters[name], "high", np.inf)
    moved = value + (0.5 * step if value.ndim else 1e-3 * step)
    return torch.where(moved <= high, moved, value - 1e-3 * step).clamp(low, high)


# -- a hypothesis repeated ---------------------------------------------------------------------------------------------


def _repeated(claim: Claim, points: _Points) -> str | None:
    for item in claim.tested_assumptions:
        bounds = (item.nonnegative, item.positive) if isinstance(claim.relation, AtMost) else ()
        for test in (test for test in (item.zero, *bounds) if test is not None):
            decided = 0
            for _, inputs in points:
                same = _same_entries(claim, test, inputs)
                if same is False:
                    break
                decided += same is True
            else:
                if decided >= DECIDED:
                    return f"it repeats its hypothesis {item.text!r}"
    return None


def _same_entries(claim: Claim, test: Callable[..., Any], inputs: Mapping[str, Any]) -> bool | None:
    """Whether what the statement is off by are the entries of the test, but for signs, order and one factor."""
    difference, tested = _difference(claim, inputs), values_at(claim, test, inputs)
    if difference is None or tested is None:
        return None
    if not isinstance(claim.relation, AtMost):
        difference, tested = np.abs(difference), np.abs(tested)
    one, other = np.unique(difference.round(9)), np.unique(tested.round(9))
    one, other = one[np.abs(one) > 1e-9], other[np.abs(other) > 1e-9]
    if one.size == 0 or one.size != other.size or (one.size == 1 and difference.size > 1 and tested.size > 1):
        return None if one.size == 0 else False
    factors = one / other
    return bool(np.all(factors > 0) and np.ptp(factors) <= 1e-6 * factors[0] and _simple(factors[0]))


def _simple(factor: float) -> bool:
    """Whether a factor is 1, 2, 1/2 or the like: another one is an accident of the inputs."""
    return any(abs(factor - whole) < 1e-6 or abs(1 / factor - whole) < 1e-6 for whole in (1, 2, 3, 4))


def compared_sides(claim: Claim) -> tuple[Callable[..., Any], ...]:
    if isinstance(claim.relation, HasStructure):
        from verify.checks.evaluation import defect_of

        return (defect_of(claim, claim.the_formula),)
    return claim.the_formula, claim.the_oracle


def values_at(claim: Claim, function: Callable[..., Any], inputs: Mapping[str, Any]) -> np.ndarray | None:
    import torch

    like = next((value for value in inputs.values() if isinstance(value, torch.Tensor)), torch.zeros(1).double())
    try:
        value = flat_tensor(claim.evaluate(function, inputs), like).detach().double().numpy()
    except (RuntimeError, ZeroDivisionError, ValueError, TypeError, IndexError):
        return None
    return value if value.size and np.isfinite(value).all() else None


def _difference(claim: Claim, inputs: Mapping[str, Any]) -> np.ndarray | None:
    values = [values_at(claim, side, inputs) for side in compared_sides(claim)]
    if any(value is None for value in values):
        return None
    first, *rest = values
    if not rest:
        return first
    try:
        return first - rest[0]  # type: ignore[operator]
    except ValueError:
        return None


# -- a thing compared with itself --------------------------------------------------------------------------------------


def _same(claim: Claim, points: _Points) -> str | None:
    if not isinstance(claim.relation, Equal):
        return None
    decided, seen = 0, set()
    for pair in points:
        for inputs in pair:
            left, right = (values_at(claim, side, inputs) for side in compared_sides(claim))
            if left is None or right is None:
                continue
            if left.size != right.size or not np.array_equal(left, right):
                return None
            one, other = (noted(claim, side, inputs)[1] for side in compared_sides(claim))
            if one != other or len(one) < FEW:
                return None
            decided += 1
            seen.add(float(left.sum()))
    return "both sides do the same" if decided >= DECIDED and len(seen) > 1 else None


def noted(claim: Claim, side: Callable[..., Any], inputs: Mapping[str, Any]) -> tuple[np.ndarray | None, list[Any]]:
    """A side's value, and the operations that compute entries from entries, with the shapes that they meet."""
    from torch.utils._python_dispatch import TorchDispatchMode

    done: list[Any] = []

    class Noted(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            shapes = tuple(tuple(value.shape) for value in args if hasattr(value, "shape"))
            copies = any(name in str(function) for name in ("_to_copy", "clone"))
            if not function.is_view and shapes and not copies:
                done.append((str(function), shapes))
            return function(*args, **(kwargs or {}))

    with Noted():  # type: ignore[no-untyped-call]
        value = values_at(claim, side, inputs)
    return value, done


# -- any object --------------------------------------------------------------------------------------------------------


def objects(claim: Claim) -> list[Callable[..., Any]]:
    """The definitions that a claim is about: registered subjects that its sides reach, else what its assumptions name."""
    own = {id(bare(function)) for function in claim.named_functions().values()}
    named = [each for item in claim.assumptions if isinstance(item, Definition) for each in objects_of(item)]
    reached = {id(bare(value)): value for _, _, value in _places(claim)}
    found = [
        value
        for key, value in reached.items()
        if is_dispatcher(value) or any(bare(each) is bare(value) for each in named)
    ]
    return [
        value
        for value in found
        if isinstance(bare(value), types.FunctionType) and id(bare(value)) not in own and not isinstance(value, type)
    ]


def _of_anything(claim: Claim, points: _Points) -> str | None:
    about = objects(claim)
    if not about:
        return None
    decided = 0
    for k, (inputs, _) in enumerate(points):
        for positive in (False, True):
            calls: list[str] = []
            with _replaced(claim, about, *SIZES[k % len(SIZES)], positive, calls):
                try:
                    off = excess(claim, inputs)
                    # sides that differ are not both 0; the defect of a structure may be another number at 0
                    differ = off is not None and off > CLEAR and not isinstance(claim.relation, HasStructure)
                    off = off if differ or _something(claim, inputs) else None
                except Exception:  # what is no tensor is not replaced, and of a value nothing may be computable
                    continue
            if off is None or not calls:
                continue
            if off > CLEAR:
                return None
            decided += 1
    names = ", ".join(sorted({bare(each).__name__ for each in about}))
    return f"it holds of any function in the place of {names}" if decided >= DECIDED else None


def _something(claim: Claim, inputs: Mapping[str, Any]) -> bool:
    """Whether a side is different from zero: what vanishes with its objects tells nothing."""
    sides = (claim.the_formula,) if isinstance(claim.relation, HasStructure) else compared_sides(claim)
    return any(value is not None and value.any() for value in (values_at(claim, side, inputs) for side in sides))


@contextlib.contextmanager
def _replaced(
    claim: Claim, about: list[Callable[..., Any]], magnitude: float, slope: float, positive: bool, calls: list[str]
) -> Iterator[None]:
    """Let unrelated functions stand wherever the claim's sides name one of these; `calls` notes which were called."""
    stand_ins = {id(bare(each)): _unrelated(each, magnitude, slope, positive, calls) for each in about}
    places = [(where, key, value) for where, key, value in _places(claim) if id(bare(value)) in stand_ins]
    for where, key, value in places:
        _put(where, key, stand_ins[id(bare(value))])
    try:
        yield
    finally:
        for where, key, value in places:
            _put(where, key, value)


def _put(where: Any, key: str, value: Any) -> None:
    if isinstance(where, types.CellType):
        where.cell_contents = value
    elif isinstance(where, dict):
        where[key] = value
    else:
        setattr(where, key, value)


def _places(claim: Claim) -> list[tuple[Any, str, Any]]:
    """Where the claim's sides, and what they call, name functions: the namespace or cell, the name, the function."""
    found: list[tuple[Any, str, Any]] = []
    stack: list[Any] = [function for name, function in claim.named_functions().items() if name != "inputs"]
    seen: set[int] = set()
    while stack:
        current = stack.pop()
        current = bare(current)
        if id(current) in seen or getattr(current, "__module__", "").partition(".")[0] == "torch":
            continue
        seen.add(id(current))
        if isinstance(current, types.FunctionType):
            for name, cell in zip(current.__code__.co_freevars, current.__closure__ or (), strict=False):
                with contextlib.suppress(ValueError):
                    found.append((cell, name, cell.cell_contents))
                    stack.append(cell.cell_contents)
            if current.__module__.partition(".")[0] == "verify":
                continue
            for name in set(names_in(current.__code__)) & set(current.__globals__):
                value = current.__globals__[name]
                if callable(value):
                    found.append((current.__globals__, name, value))
                    stack.append(value)
        elif isinstance(current, (tuple, list)):
            stack.extend(current)
        elif callable(current) and hasattr(current, "__dict__") and not isinstance(current, type):
            for name, value in vars(current).items():
                if callable(value):
                    found.append((current, name, value))
                    stack.append(value)
    return [item for item in found if callable(item[2])]


def _tensors(value: Any) -> Iterator[Any]:
    """The tensors among the arguments of a call, also within lists."""
    if isinstance(value, (tuple, list)):
        for each in value:
            yield from _tensors(each)
    elif hasattr(value, "new_zeros") and value.is_floating_point():
        yield value


def _unrelated(
    function: Callable[..., Any], magnitude: float, slope: float, positive: bool, calls: list[str]
) -> Callable[..., Any]:
    """A smooth function of the same arguments with values of the same shapes, which has nothing to do with `function`."""
    import torch

    seed = zlib.crc32(getattr(function, "__qualname__", "").encode())

    @functools.wraps(function)
    def stand_in(*args: Any, **kwargs: Any) -> Any:
        given = list(_tensors((args, tuple(kwargs.values()))))
        flat = torch.cat([value.reshape(-1).double() for value in given]) if given else torch.ones(1).double()

        def other(value: Any) -> Any:
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                rng = np.random.default_rng([seed, value.numel(), flat.numel()])
                directions = torch.as_tensor(rng.standard_normal((value.numel(), flat.numel())) / np.sqrt(flat.numel()))
                phases = torch.as_tensor(rng.uniform(0, 6, value.numel()))
                calls.append(function.__name__)
                wave = torch.sin(slope * (directions @ flat) + phases)
                return ((1.25 + wave if positive else wave) * magnitude).reshape(value.shape).to(value.dtype)
            if isinstance(value, (tuple, list)):
                return type(value)(*map(other, value)) if hasattr(value, "_fields") else type(value)(map(other, value))
            raise ArithmeticUnsupported(f"nothing unrelated stands for a {type(value).__name__}")

        return other(function(*args, **kwargs))

    stand_in.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    del stand_in.__wrapped__  # it is not the function that it stands for
    return stand_in
