"""What holds of every input that a claim's preparation makes, and is not stated.

A preparation, a range or a list of domains may bind inputs more than the assumptions say: entries are positive, rows sum to
one, a matrix has full rank.  `invariants` looks for such properties of prepared inputs, `unstated` for inputs that meet the
stated assumptions and lack the property, and tries the statement there:

=============  ===================================================================================================
stated         no input was found that meets the tested assumptions without the property
needless       there are such inputs, and the statement holds at them
undefined      there are, and the statement has no value at them
hidden         there are, and the statement fails: a hypothesis that nobody stated
untried        there are, and the statement cannot be tried at single inputs: its author says why it is not needed
=============  ===================================================================================================
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verify.checks.evaluation import flat_tensor, raw_tensors
from verify.checks.free_inputs import SMALL, excess, free, masks_of, met, moved
from verify.checks.record import UNCERTIFIED, UPHELD, Record, blank
from verify.checks.satisfied import float_tests, floats_meet
from verify.checks.settings import Settings
from verify.checks.stated import CLEAR, MANY, comparable
from verify.inputs.generators import applicable_domains, systematic
from verify.vocabulary.claims import Claim

if TYPE_CHECKING:
    import torch

    Tensor = torch.Tensor

#: Seeds of a draw, and how often every domain is drawn.
SEEDS, ROUNDS = 24, 2
#: What counts as zero, relative to the largest entry.
ZERO = 1e-9
#: A condition number that free matrices exceed now and then.
ILL_CONDITIONED = 100.0
#: At how many inputs without a property the statement is tried, and from how many draws they are sought where entries are many.
TRIED, FEW = 4, 1


# -- properties --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Property:
    """A property of one input: `holds` of which seeds of a batch, and `without`, the input changed so that it lacks it.

    `of` says of which shapes it is asked; of the others it says nothing (a matrix of one entry is symmetric).
    """

    name: str
    of: Callable[[tuple[int, ...]], bool]
    holds: Callable[[Tensor], Tensor]
    without: Callable[[Tensor, Any], Tensor]
    implies: tuple[str, ...] = ()


def _anything(shape: tuple[int, ...]) -> bool:
    return 0 not in shape


def _number(shape: tuple[int, ...]) -> bool:
    return not shape


def _matrix(shape: tuple[int, ...]) -> bool:
    return len(shape) == 2 and min(shape) >= 2


def _wide(shape: tuple[int, ...]) -> bool:
    return len(shape) == 2 and shape[1] >= 2


def _tall(shape: tuple[int, ...]) -> bool:
    return len(shape) == 2 and shape[0] >= 2


def _square(shape: tuple[int, ...]) -> bool:
    return _matrix(shape) and shape[0] == shape[1]


def _several(shape: tuple[int, ...]) -> bool:
    return len(shape) > 0 and max(shape) >= 2 and 0 not in shape


def _entries(x: Tensor) -> Tensor:
    return x.reshape(x.shape[0], -1)


def _vanish(x: Tensor, beside: Tensor) -> Tensor:
    """Whether x vanishes at each seed, relative to the entries beside it and to 1."""
    return _entries(x).abs().amax(1) <= ZERO * (1 + _entries(beside).abs().amax(1))


def _identity(x: Tensor) -> Tensor:
    import torch

    return torch.eye(x.shape[-1], dtype=x.dtype)


def _singular(x: Tensor) -> Tensor:
    import torch

    return torch.linalg.svdvals(x)


def _random(x: Tensor, generator: Any) -> Tensor:
    import torch

    return torch.randn(x.shape, generator=generator, dtype=x.dtype)


def _with_first(x: Tensor, value: Tensor | float) -> Tensor:
    changed = x.clone().reshape(-1)
    changed[0] = value
    return changed.reshape(x.shape)


def _lower_first(x: Tensor, generator: Any) -> Tensor:
    return _with_first(x, -0.5 - x.abs().max())


def _raise_first(x: Tensor, generator: Any) -> Tensor:
    return _with_first(x, 0.5 + x.abs().max())


def _scaled_to(size: float) -> Callable[[Tensor, Any], Tensor]:
    return lambda x, generator: x * (size / x.abs().max().clamp(min=1e-3))


def _rows_repeated(x: Tensor, generator: Any) -> Tensor:
    changed = x.clone()
    changed[-1] = changed[0]
    return changed


def _dependent(x: Tensor, generator: Any) -> Tensor:
    return _rows_repeated(x, generator) if x.shape[0] <= x.shape[1] else _rows_repeated(x.T, generator).T


def _nearly_dependent(x: Tensor, generator: Any) -> Tensor:
    return _dependent(x, generator) + 1e-4 * x.abs().max() * _random(x, generator)


def _last_as_first(x: Tensor, generator: Any) -> Tensor:
    changed = x.clone().reshape(-1)
    changed[-1] = changed[0]
    return changed.reshape(x.shape)


def _eigenvalues(x: Tensor) -> Tensor:
    import torch

    return torch.linalg.eigvalsh((x + x.mT) / 2)


def _shifted_down(x: Tensor, generator: Any) -> Tensor:
    return x - (1 + _eigenvalues(x).max()) * _identity(x)


def _shifted_up(x: Tensor, generator: Any) -> Tensor:
    return x + (1 - _eigenvalues(x).min()) * _identity(x)


def _determinants(x: Tensor) -> Tensor:
    import torch

    return torch.linalg.det(x)


def _with_row_reversed(x: Tensor) -> Tensor:
    changed = x.clone()
    changed[0] = -changed[0]
    return changed


def _distinct(x: Tensor) -> Tensor:
    ordered = _entries(x).sort(1).values
    return (ordered[:, 1:] - ordered[:, :-1]).amin(1) > 0


def _distinct_rows(x: Tensor) -> Tensor:
    apart = (x[:, :, None] - x[:, None]).abs().amax(-1) + _identity(x[:, :, :1] * x[:, None, :, 0])
    return (apart > 0).all(2).all(1)


def _symmetric(x: Tensor) -> Tensor:
    return _vanish(x - x.mT, x)


NONNEGATIVE, NONPOSITIVE, FULL_RANK = "has no negative entry", "has no positive entry", "has full rank"
AT_MOST_1, NO_ZERO = "has entries of at most 1 in absolute value", "has no zero entry"
SYMMETRIC = "is symmetric"
NO_NEGATIVE = "has a symmetric part without negative eigenvalues"
NO_POSITIVE = "has a symmetric part without positive eigenvalues"

PROPERTIES: tuple[Property, ...] = (
    Property(
        "has positive entries", _anything, lambda x: (_entries(x) > 0).all(1), _lower_first, (NONNEGATIVE, NO_ZERO)
    ),
    Property(NONNEGATIVE, _anything, lambda x: (_entries(x) >= 0).all(1), _lower_first),
    Property(
        "has negative entries", _anything, lambda x: (_entries(x) < 0).all(1), _raise_first, (NONPOSITIVE, NO_ZERO)
    ),
    Property(NONPOSITIVE, _anything, lambda x: (_entries(x) <= 0).all(1), _raise_first),
    Property(NO_ZERO, _anything, lambda x: (_entries(x) != 0).all(1), lambda x, g: _with_first(x, 0.0)),
    Property(AT_MOST_1, _anything, lambda x: (_entries(x).abs() <= 1 + ZERO).all(1), _scaled_to(3.0)),
    Property(
        "is at least 1 in absolute value",
        _number,
        lambda x: (_entries(x).abs() >= 1).all(1),
        _scaled_to(0.3),
        (NO_ZERO,),
    ),
    Property("has whole entries", _anything, lambda x: (_entries(x) == _entries(x).round()).all(1), _random),
    Property("has distinct entries", _several, _distinct, _last_as_first, ("has distinct rows",)),
    Property("has distinct rows", _tall, _distinct_rows, _rows_repeated),
    Property("has equal rows", _tall, lambda x: _vanish(x - x[:, :1], x), _random),
    Property("has rows of sum 0", _wide, lambda x: _vanish(x.sum(2), x), _random),
    Property("has rows of sum 1", _wide, lambda x: _vanish(x.sum(2) - 1, x), _random),
    Property("has columns of sum 0", _tall, lambda x: _vanish(x.sum(1), x), _random),
    Property("has columns of sum 1", _tall, lambda x: _vanish(x.sum(1) - 1, x), _random),
    Property("has unit rows", _wide, lambda x: _vanish((x * x).sum(2) - 1, x), _random, (AT_MOST_1,)),
    Property("has unit columns", _tall, lambda x: _vanish((x * x).sum(1) - 1, x), _random, (AT_MOST_1,)),
    Property(
        "has Frobenius norm 1", _several, lambda x: _vanish((_entries(x) ** 2).sum(1) - 1, x), _random, (AT_MOST_1,)
    ),
    Property(
        "has orthonormal rows",
        _matrix,
        lambda x: _vanish(x @ x.mT - _identity(x.mT), x),
        _random,
        ("has unit rows", AT_MOST_1, FULL_RANK, "has a condition number below 100", "has singular values of at most 1"),
    ),
    Property(
        "has orthonormal columns",
        _matrix,
        lambda x: _vanish(x.mT @ x - _identity(x), x),
        _random,
        (
            "has unit columns",
            AT_MOST_1,
            FULL_RANK,
            "has a condition number below 100",
            "has singular values of at most 1",
        ),
    ),
    Property(
        "has singular values of at most 1",
        _matrix,
        lambda x: _singular(x)[:, 0] <= 1 + ZERO,
        _scaled_to(3.0),
        (AT_MOST_1,),
    ),
    Property(
        "has a condition number below 100",
        _matrix,
        lambda x: _singular(x)[:, -1] * ILL_CONDITIONED >= _singular(x)[:, 0] * (1 + ZERO),
        _nearly_dependent,
        (FULL_RANK,),
    ),
    Property(FULL_RANK, _matrix, lambda x: _singular(x)[:, -1] > ZERO * _singular(x)[:, 0], _dependent),
    Property(SYMMETRIC, _square, _symmetric, _random),
    Property("is skew", _square, lambda x: _vanish(x + x.mT, x), _random, ("has trace 0", NO_NEGATIVE, NO_POSITIVE)),
    Property(
        "has a positive determinant",
        _square,
        lambda x: _determinants(x) > 0,
        lambda x, g: _with_row_reversed(x),
        (FULL_RANK,),
    ),
    Property("has trace 0", _square, lambda x: _vanish(x.diagonal(dim1=1, dim2=2).sum(1), x), _random),
    Property(
        "is diagonal",
        _square,
        lambda x: _vanish(x - _diagonal_of(x), x),
        _random,
        (SYMMETRIC, "is lower triangular", "is upper triangular"),
    ),
    Property("is lower triangular", _square, lambda x: _vanish(x.triu(1), x), _random),
    Property("is upper triangular", _square, lambda x: _vanish(x.tril(-1), x), _random),
    Property("is idempotent", _square, lambda x: _vanish(x @ x - x, x), _random),
    Property(
        "has a symmetric part that is positive definite",
        _square,
        lambda x: _eigenvalues(x)[:, 0] > ZERO,
        _shifted_down,
        (NO_NEGATIVE, FULL_RANK),
    ),
    Property(
        NO_NEGATIVE,
        _square,
        lambda x: _eigenvalues(x)[:, 0] >= -ZERO * (1 + _eigenvalues(x).abs().amax(1)),
        _shifted_down,
    ),
    Property(
        NO_POSITIVE,
        _square,
        lambda x: _eigenvalues(x)[:, -1] <= ZERO * (1 + _eigenvalues(x).abs().amax(1)),
        _shifted_up,
    ),
)


def _diagonal_of(x: Tensor) -> Tensor:
    import torch

    return torch.diag_embed(x.diagonal(dim1=1, dim2=2))


# -- what prepared inputs have in common -------------------------------------------------------------------------------


def invariants(claim: Claim, settings: Settings) -> dict[tuple[str, Property], None]:
    """The properties that every prepared input has, over all domains, by the name of the input; in order.

    Of those that follow from one another the strongest stand.  Only inputs that meet the tested inequalities are looked at.
    """
    held: dict[tuple[str, Property], bool] = {}
    domains = applicable_domains(claim)
    masks = masks_of(claim)
    for draw in systematic(claim, ROUNDS * len(domains), settings.seed):
        for name, value in _prepared(claim, draw.arrays(claim, SEEDS), settings).items():
            if name in masks or not value.shape[0]:
                continue
            for item in PROPERTIES:
                key = (name, item)
                if held.get(key, True) and item.of(tuple(value.shape[1:])):
                    held[key] = bool(item.holds(value).all())
    found = [key for key, always in held.items() if always]
    weaker = {(name, each) for name, item in found for each in item.implies}
    return {(name, item): None for name, item in found if (name, item.name) not in weaker}


def _prepared(claim: Claim, arrays: Mapping[str, Any], settings: Settings) -> dict[str, Tensor]:
    """Prepared inputs, a batch each, of the seeds at which they are finite and meet the tested inequalities."""
    import torch

    raw = raw_tensors(claim, arrays, settings, "float64")
    tests = float_tests(claim)
    static = {name: value for name, value in raw.items() if isinstance(value, int)}
    moving = {name: value for name, value in raw.items() if not isinstance(value, int)}
    if not moving:
        return {}

    def at(drawn: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Any, ...]]:
        inputs, like = claim.prepare({**drawn, **static}), next(iter(drawn.values()))
        numbers = {
            name: torch.as_tensor(value, dtype=torch.float64)
            for name, value in inputs.items()
            if not isinstance(value, int) and (isinstance(value, float) or hasattr(value, "new_zeros"))
        }
        return numbers, tuple(flat_tensor(claim.evaluate(test, inputs), like) for test in tests)

    made = None
    if claim.batched:
        with contextlib.suppress(RuntimeError):  # a test that chooses by its numbers takes them one at a time
            made = torch.func.vmap(at)(moving)
    if made is None:
        each = [at({name: value[i] for name, value in moving.items()}) for i in range(SEEDS // 4)]
        made = (
            {name: torch.stack([one[name] for one, _ in each]) for name in each[0][0]},
            tuple(map(torch.stack, zip(*(tests for _, tests in each), strict=True))),
        )
    inputs, values = made
    finite = torch.ones(len(next(iter(inputs.values()))) if inputs else 0, dtype=torch.bool)
    for value in inputs.values():
        finite &= value.reshape(value.shape[0], -1).isfinite().all(1)
    usable = floats_meet(claim, values, finite)
    return {name: value[usable] for name, value in inputs.items() if value.is_floating_point()}


# -- whether it is stated ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Unstated:
    """A property of prepared inputs that the tested assumptions do not imply, and what the statement does without it."""

    claim: str
    of: str
    property: str
    outcome: str  #: "needless", "undefined", "hidden" or "untried"
    excess: float = 0.0

    def __str__(self) -> str:
        said = {
            "needless": "the statement holds without it",
            "undefined": "the statement has no value without it",
            "hidden": f"the statement fails without it (off by {self.excess:.2g})",
            "untried": "the statement cannot be tried without it",
        }
        return f"{self.claim}: {self.of} {self.property}, which is not stated; {said[self.outcome]}"


def unstated(claim: Claim, settings: Settings) -> list[Unstated]:
    """The invariants of a claim's inputs that its tested assumptions do not imply."""
    found = []
    for name, item in invariants(claim, settings):
        outcome, off = _without(claim, settings, name, item)
        if outcome != "stated":
            found.append(Unstated(claim.id, name, item.name, outcome, off))
    return found


def _without(claim: Claim, settings: Settings, name: str, item: Property) -> tuple[str, float]:
    """What the statement does at inputs that meet the tested assumptions and lack the property."""
    lacking = False
    tried, undefined, worst = 0, 0, 0.0
    can_try = comparable(claim)
    for inputs in _lacking(claim, settings, name, item):
        lacking = True
        if not can_try:
            return "untried", 0.0
        off = excess(claim, inputs)
        if off is None:
            undefined += 1
            continue
        tried += 1
        worst = max(worst, off)
    if not lacking:
        return "stated", 0.0
    if tried:
        return ("hidden" if worst > CLEAR else "needless"), worst
    return "undefined", 0.0


def _lacking(claim: Claim, settings: Settings, name: str, item: Property) -> Iterator[dict[str, Any]]:
    """Inputs that meet the tested assumptions and lack the property, a few."""
    import torch

    masks, found = masks_of(claim), 0
    domain = None if claim.special_domains else _generic(claim)
    for k, draw in enumerate(systematic(claim, 2 * TRIED, settings.seed, domain=domain)):
        raw = {
            each: value if isinstance(value, int) else value[0]
            for each, value in raw_tensors(claim, draw.arrays(claim, 1), settings, "float64").items()
        }
        generator = torch.Generator().manual_seed(draw.seed % 2**31)
        prepared = claim.prepare(raw)
        if k >= FEW and sum(value.numel() for value in prepared.values() if isinstance(value, torch.Tensor)) > MANY:
            return
        if not item.of(tuple(getattr(prepared[name], "shape", ()))):
            continue
        for start, small in (
            (dict(prepared), None),
            (free(prepared, masks, generator), None),
            (moved(prepared, masks, generator), SMALL),
        ):
            value = torch.as_tensor(start[name], dtype=torch.float64)
            inputs = met(claim, {**start, name: item.without(value, generator)}, masks, small)
            if inputs is not None and not bool(item.holds(inputs[name][None])[0]):
                found += 1
                yield inputs
                break
        if found == TRIED:
            return


def _generic(claim: Claim) -> str:
    domains = applicable_domains(claim)
    return "generic" if "generic" in domains else domains[0]


def problems_of_invariants(claim: Claim, settings: Settings) -> list[str]:
    """Hypotheses that nobody stated, a line each; empty where all is stated, tried without, or declared needless."""
    found, problems = unstated(claim, settings), []
    declared = dict(claim.needless)
    for each in found:
        said = declared.pop(f"{each.of} {each.property}", None)
        if each.outcome == "hidden" or (each.outcome == "untried" and said is None):
            problems.append(str(each))
    problems += [f"{claim.id}: {text!r} is declared needless, but not every input has it unstated" for text in declared]
    return problems


#: The verdicts of claims whose hypotheses are to be stated: what is refuted has a counterexample.
JUDGED = ("holds", "reading", "gap")


def nothing_unstated(claim: Claim, settings: Settings) -> Record:
    """`problems_of_invariants` as a check; what is left unsaid violates no statement, but no verdict stands on it."""
    problems = problems_of_invariants(claim, settings)
    outcome = UNCERTIFIED if problems else UPHELD
    number = ROUNDS * len(applicable_domains(claim))
    return blank(claim, "nothing unstated", "float64", outcome, examples=number, message="; ".join(problems))
