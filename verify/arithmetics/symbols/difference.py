"""Two sides of an identity brought to normal form: what is left of their difference, and their values in floats."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from verify.arithmetics.conditions import Condition, recording_conditions
from verify.arithmetics.symbols.blocks import Blocks, from_numbers
from verify.arithmetics.symbols.extents import Extent, recording_extents
from verify.arithmetics.symbols.heads import met_afresh
from verify.arithmetics.symbols.hypothesis_rules import HypothesisRule
from verify.arithmetics.symbols.indexed import Indexed, lifted
from verify.arithmetics.symbols.points import NumericPoint
from verify.arithmetics.symbols.step_induction import StepInduction, shown_by_induction, with_others
from verify.arithmetics.symbols.sums import Sum, extra_rules, keeping_origins, recording_rules, remembering_products
from verify.arithmetics.tracing import node_of, traced_inputs, value_of
from verify.vocabulary.errors import ArithmeticUnsupported, InputError
from verify.vocabulary.shapes import alike

#: A side of an identity as a function of the prepared inputs.
Side = Callable[[Mapping[str, Any]], Any]


@dataclass
class Remains:
    """What is left of a wrong variant of the formula: terms, or the reason why it cannot be compared at all."""

    terms: int | None
    reason: str | None = None
    value: Any = None

    @property
    def is_told_apart(self) -> bool:
        """Whether terms are left."""
        return bool(self.terms)


@dataclass
class Proof:
    """The outcome of an attempt: `proved`, or the `reason` why not."""

    proved: bool
    reason: str | None
    left_terms: int = 0
    right_terms: int = 0
    remaining: list[str] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    hypotheses: list[str] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    mutants: dict[str, Remains] = field(default_factory=dict)
    seconds: float = 0.0
    left: Any = None
    right: Any = None
    #: The tree of the formula.
    formula: Any = None
    extents: Counter[Extent] = field(default_factory=Counter)
    #: Both sides block by block, as they were built, and the hypotheses that were given, used or not.
    blocks: list[tuple[Sum, Sum]] = field(default_factory=list)
    given: list[HypothesisRule] = field(default_factory=list)
    #: The induction over steps that shows that what is left of the difference vanishes, where one was needed; or none, and
    #: what moves from step to step.
    induction: StepInduction | None = None


# -- both sides --------------------------------------------------------------------------------------------------------


def parts_of(value: Any) -> list[Indexed]:
    """A value as a list of operands: the blocks of blocks, and otherwise itself."""
    if isinstance(value, (list, tuple)):
        return [part for item in value for part in parts_of(item)]
    if isinstance(value, Blocks):
        return value.every
    found = lifted(value)
    if not isinstance(found, Indexed):
        raise ArithmeticUnsupported(f"a side of the identity is {value!r}")
    if found.bound:
        raise ArithmeticUnsupported("a side of the identity depends on a summation index")
    return [found]


def difference(left: Any, right: Any) -> list[Sum]:
    """left - right block by block; raises `InputError` where the shapes do not agree."""
    if isinstance(left, Blocks) and isinstance(right, Blocks):
        if left.partition != right.partition:
            left, right = left.by_single_rows(), right.by_single_rows()
        if left.partition != right.partition:
            raise InputError("the sides", f"blocks of {left.partition}", str(right.partition))
        if left.tags != right.tags:
            raise InputError("the sides", "blocks interleaved alike", "others")
    elif isinstance(left, Blocks) or isinstance(right, Blocks):
        raise InputError("the sides", "both split into blocks, or neither", f"{left!r} and {right!r}")
    ours, theirs = parts_of(left), parts_of(right)
    if len(ours) != len(theirs):
        raise InputError("the sides", f"{len(ours)} blocks, as in the formula", str(len(theirs)))
    found = []
    for one, two in zip(ours, theirs, strict=True):
        if one.dims != two.dims:
            if not alike(one.dims, two.dims):
                raise InputError("the sides", f"shape {one.dims}", str(two.dims))
            one, two = one.reshape(-1), two.reshape(-1)
        found.append((one - two).value)
    return found


def _terms_left(parts: Sequence[Sum]) -> list[str]:
    """The terms of a difference that do not vanish, as text."""
    return [
        f"{coefficient} {key}"
        for part in parts
        for key, coefficient in part.terms.items()
        if not coefficient.vanishes()
    ]


def _terms(value: Any) -> int:
    return sum(len(part.value.terms) for part in parts_of(value))


def prove(
    formula: Side,
    oracle: Side,
    inputs: Callable[[], Mapping[str, Any]],
    mutants: Mapping[str, Side] | None = None,
    hypotheses: Callable[[Mapping[str, Any]], Sequence[HypothesisRule]] | None = None,
    enough: int | None = None,
) -> Proof:
    """Try to prove formula = oracle on symbolic inputs.

    Nothing but a difference without terms counts as a proof: an error of any kind, terms that remain, or a wrong
    variant that reduces to the truth, are reasons why there is none.  Hypotheses are made from the inputs.  The wrong
    variants are tried in their order, all of them or until `enough` are told apart, which is one at least where both sides
    are the number 0.
    """
    start = time.perf_counter()
    with met_afresh(), contextlib.ExitStack() as stack:
        conditions = stack.enter_context(recording_conditions())
        try:
            with keeping_origins():
                given = hypotheses(traced_inputs(inputs())) if hypotheses is not None else ()
        except Exception as error:
            return Proof(False, _described(error))
        used = stack.enter_context(recording_rules())
        stack.enter_context(extra_rules(rule for hypothesis in given for rule in hypothesis.rules))
        with remembering_products():
            proof = _both_sides(formula, oracle, inputs)
        # what the mutants use is not what the proof rests on
        names = [hypothesis.name for hypothesis in given]
        proof.given = list(given)
        rested = set(used)
        for hypothesis in reversed(given):  # each reads those before it
            rested |= hypothesis.read if hypothesis.name in rested else set()
        proof.hypotheses = [name for name in names if name in rested]
        proof.rules = sorted(used - set(names))
        proof.conditions = sorted(conditions, key=str)
        if proof.proved:
            is_zero = _is_zero(proof.left, proof.right)
            _tell_apart(proof, inputs, mutants or {}, max(enough, 1) if enough is not None and is_zero else enough)
            told_apart = any(remains.is_told_apart for remains in proof.mutants.values())
            if proof.proved and not told_apart and is_zero:
                proof.proved, proof.reason = False, "both sides are the number 0, and no wrong variant is anything else"
    proof.seconds = time.perf_counter() - start
    return proof


def _both_sides(formula: Side, oracle: Side, inputs: Callable[[], Mapping[str, Any]]) -> Proof:
    try:
        prepared = traced_inputs(inputs())
        with recording_extents() as extents, keeping_origins():
            found = formula(prepared)
            left = from_numbers(value_of(found))
            right = from_numbers(value_of(oracle(prepared)))
        if not _symbols_in(left) and not _symbols_in(right) and not _is_zero(left, right):
            raise ArithmeticUnsupported("neither side depends on a size or a matrix")
        with keeping_origins():
            between = difference(left, right)
        remaining = _terms_left(between)
        induction = shown_by_induction(between) if remaining else None
        remaining = [] if induction is not None else remaining
        proof = Proof(not remaining, None, _terms(left), _terms(right), remaining, left=left, right=right)
        proof.formula, proof.extents = node_of(found), extents
        proof.induction = with_others(induction, [part.value for side in (left, right) for part in parts_of(side)])
        proof.blocks = [found.origin[1:3] for found in between if found.origin is not None]  # of left.plus(right, -1)
    except Exception as error:  # whatever goes wrong, it is not proved
        return Proof(False, _described(error))
    if remaining:
        proof.reason = f"{len(remaining)} terms remain, the first of them {remaining[0]:.200}"
    return proof


def _tell_apart(
    proof: Proof, inputs: Callable[[], Mapping[str, Any]], mutants: Mapping[str, Side], enough: int | None
) -> None:
    prepared = traced_inputs(inputs()) if enough != 0 else {}
    for name, mutant in mutants.items():
        if enough is not None and sum(remains.is_told_apart for remains in proof.mutants.values()) >= enough:
            break
        proof.mutants[name] = _mutant(mutant, prepared, proof.right)
        if proof.mutants[name].terms == 0:
            proof.proved, proof.reason = False, f"the wrong variant {name!r} reduces to the same terms"


def _symbols_in(value: Any) -> bool:
    """Whether a side speaks of anything but given numbers."""
    return any(
        part.value.slots or any(key or value.expression.free_symbols for key, value in part.value.terms.items())
        for part in parts_of(value)
    )


def _is_zero(*sides: Any) -> bool:
    """Whether the sides are scalars that reduce to 0: what depended on sizes and matrices is gone."""
    return not any(part.value.slots or part.value.terms for side in sides for part in parts_of(side))


def _mutant(mutant: Side, prepared: Mapping[str, Any], right: Any) -> Remains:
    try:
        wrong = difference(from_numbers(value_of(mutant(prepared))), right)
        return Remains(len(_terms_left(wrong)), None, wrong)
    except Exception as error:
        return Remains(None, _described(error))


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


# -- their values in floats --------------------------------------------------------------------------------------------


def float_values(value: Any, point: NumericPoint) -> np.ndarray:
    """The entries of a side at a point, blocks laid out as the matrix they make up, flattened row-major."""
    if isinstance(value, (list, tuple)):
        return np.concatenate([float_values(item, point) for item in value])
    if isinstance(value, Blocks) and any(tag is not None for tag in value.tags):
        return _column_values(value, point)
    if isinstance(value, Blocks):
        rows = [np.concatenate([_matrix_values(block, point) for block in row], axis=1) for row in value.grid]
        return np.concatenate(rows, axis=0).reshape(-1)
    return _matrix_values(lifted(value), point).reshape(-1)


def _column_values(value: Blocks, point: NumericPoint) -> np.ndarray:
    """A column of blocks, some of which are those of a grid written as one column."""
    found, position = [], 0
    while position < len(value.grid):
        tag = value.tags[position]
        if tag is None:
            found.append(_matrix_values(value.grid[position][0], point).reshape(-1))
            position += 1
            continue
        rows, columns = ([point.size(size) for size in sizes] for sizes in tag[0])
        grid = []
        for height in rows:
            row = []
            for width in columns:
                row.append(_matrix_values(value.grid[position][0], point).reshape(height, width))
                position += 1
            grid.append(np.concatenate(row, axis=1))
        found.append(np.concatenate(grid, axis=0).reshape(-1))
    return np.concatenate(found)


def _matrix_values(operand: Indexed, point: NumericPoint) -> np.ndarray:
    return point.values(operand.value).reshape([point.size(size) for size in operand.dims])
