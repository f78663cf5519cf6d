"""Proofs at given sizes: the entries of the inputs are indeterminates, and both sides are the same rational functions.

The check "proved at sizes" runs the claim's own functions on arrays of indeterminates, as other checks run them on floats,
balls and rationals.  Where the claim prepares its inputs, the drawn parameters are the indeterminates, so that what the
statement assumes holds by construction; assumptions that something vanishes must do so identically.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import flint
import numpy as np

from verify.arithmetics import exact_scalar, polynomial_for_expm
from verify.arithmetics.rational_functions import Field, Quotient, RootsNeeded, entry_name, within, without_decisions
from verify.checks.asked_kinds import AT_SIZES, kind_asked
from verify.checks.evaluation import UNDEFINED, as_balls, at_objects, flat_objects, one_of, shapes_differ
from verify.checks.record import SEPARATION, UPHELD, VIOLATED, Record, blank, scored, separation_of
from verify.checks.settings import Settings
from verify.inputs.generators import Draw, telling_sizes
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import ArithmeticUnsupported
from verify.vocabulary.shapes import Shape, Size

#: How often exponents may have to be divided anew, each time evaluating from the start.
RESTARTS = 4
#: Draws at which the rational functions are compared with the functions in balls, until one has finite values.
TRIES = 8


@dataclass
class DecisionAtSizes:
    """What became of both sides, and of each mutant, at one assignment of sizes."""

    sizes: dict[str, int]
    indeterminates: int
    adjoined: int
    terms: tuple[int, int]
    remaining: int  #: entries at which the sides differ as functions
    left_by_mutants: dict[str, int | str]  #: entries at which each differs, or why it cannot be compared
    agrees: bool  #: whether the functions have the values of their rational functions, in balls
    polynomials: bool  #: whether polynomials stand for exponentials of matrices: then what differs may be equal
    seconds: float = field(compare=False, default=0.0)


def sizes_of(claim: Claim) -> dict[str, int]:
    """The sizes at which a claim is proved: those that it names, or the smallest that tell all its sizes apart."""
    return dict(claim.at_sizes) if isinstance(claim.at_sizes, Mapping) else dict(telling_sizes(claim)[0])


def decide(claim: Claim, sizes: Mapping[str, int], seed: int) -> DecisionAtSizes:
    """Both sides as rational functions of the entries at these sizes; raises `ArithmeticUnsupported` where they are none."""
    started, parts, degree = time.perf_counter(), 1, 0
    for _ in range(RESTARTS):
        field = Field(_names(claim, sizes), parts, degree)
        try:
            found = _decide(claim, sizes, seed, field)
        except RootsNeeded as needed:
            parts = needed.parts
            continue
        if found is not None:
            found.seconds = time.perf_counter() - started
            return found
        degree = field.spectra.needed_degree()
    raise ArithmeticUnsupported(f"exponentials of ever smaller parts, at last of a {parts}th, or of ever more matrices")


def _names(claim: Claim, sizes: Mapping[str, int]) -> list[str]:
    return [
        entry_name(name, index)
        for name, spec in claim.parameters.items()
        if not isinstance(spec, Size)
        for index in np.ndindex(*(spec.resolve(sizes) if isinstance(spec, Shape) else ()))
    ]


def _decide(claim: Claim, sizes: Mapping[str, int], seed: int, field: Field) -> DecisionAtSizes | None:
    """The same in a given field; None where the matrices that occur need a higher degree than its."""
    count = len(field.names)
    raw: dict[str, Any] = {}
    for name, spec in claim.parameters.items():
        if isinstance(spec, Size):
            raw[name] = sizes[spec.name]
        elif isinstance(spec, Shape):
            raw[name] = field.array(name, spec.resolve(sizes))
        else:
            raw[name] = field.generator(field.names.index(name))
    formula, oracle, mutants = claim.sides()
    with within(field), without_decisions():
        inputs = claim.prepare(raw)
        _require_hypotheses(claim, inputs)

        def entries(value: Any) -> list[Quotient]:
            return [field.constant(0) + entry for entry in flat_objects(value)]

        value = claim.evaluate(formula, inputs)
        other = value if oracle is None else claim.evaluate(oracle, inputs)
        if (problem := shapes_differ(value, other)) is not None:
            raise ArithmeticUnsupported(problem)
        left = entries(value)
        right = entries(other) if oracle is not None else [field.constant(0)] * len(left)
        if field.spectra.needed_degree() > field.degree:
            return None
        left_by_mutants: dict[str, int | str] = {}
        for name, mutant in mutants.items():
            try:
                wrong = entries(claim.evaluate(mutant, inputs))
            except UNDEFINED as problem:
                left_by_mutants[name] = f"not comparable: {problem}"
            else:
                left_by_mutants[name] = _differing(wrong, right)
    terms = (sum(entry.terms for entry in left), sum(entry.terms for entry in right))
    agrees = _agrees_in_numbers(claim, sizes, seed, field, count, [(formula, left), (oracle, right)])
    return DecisionAtSizes(
        dict(sizes),
        count,
        len(field.names) - count,
        terms,
        _differing(left, right),
        left_by_mutants,
        agrees,
        polynomials=bool(field.coefficients),
    )


def _require_hypotheses(claim: Claim, inputs: Mapping[str, Any]) -> None:
    """Raise unless what the claim assumes to vanish does so identically; its inequalities hold on an open set."""
    for assumption in claim.tested_assumptions:
        if assumption.zero is not None and any(flat_objects(claim.evaluate(assumption.zero, inputs)) != 0):
            raise ArithmeticUnsupported(f"free entries do not satisfy the assumption {assumption.text!r}")


def _differing(one: list[Quotient], other: list[Quotient]) -> int:
    """The number of entries that are different functions; all of them where the shapes differ."""
    if len(one) != len(other):
        return max(len(one), len(other))
    return sum(a != b for a, b in zip(one, other, strict=True))


def _agrees_in_numbers(
    claim: Claim,
    sizes: Mapping[str, int],
    seed: int,
    field: Field,
    count: int,
    sides: list[tuple[Callable[..., Any] | None, list[Quotient]]],
) -> bool:
    """Whether every entry has, at random inputs, the value that the functions which users import give."""
    rng = np.random.default_rng(seed)
    coefficients = [flint.fmpq(int(rng.integers(-32, 33)), 64) for _ in field.coefficients]
    for attempt in range(TRIES):
        drawn = one_of(claim, Draw(tuple(sizes.items()), "generic", seed + attempt).arrays(claim, 1), 0)
        raw = as_balls(drawn)
        values = [
            exact_scalar(entry)
            for name, spec in claim.parameters.items()
            if not isinstance(spec, Size)
            for entry in np.asarray(drawn[name]).flat
        ]
        pairs: list[tuple[flint.arb, flint.arb]] = []
        finished = False
        with contextlib.suppress(*UNDEFINED), contextlib.ExitStack() as stack:
            if coefficients:
                stack.enter_context(polynomial_for_expm(coefficients))
            completed = field.completed(values, coefficients)
            for function, entries in sides:
                if function is not None:
                    direct = at_objects(claim, function, raw)
                    pairs += [(flint.arb(a), b.at(completed)) for a, b in zip(direct, entries, strict=True)]
            finished = True
        if finished and all(value.is_finite() and found.is_finite() for value, found in pairs):
            return all(value.overlaps(found) for value, found in pairs)
    return False


def proved_at_sizes(claim: Claim, settings: Settings) -> Record:
    """Both sides as rational functions at the claim's sizes; a mutant is dead when it is another function there."""
    if asked := kind_asked(claim, AT_SIZES):  # then indeterminates say nothing of numbers
        raise ArithmeticUnsupported(asked)
    found = decide(claim, sizes_of(claim), settings.seed)
    comparable = {name: left for name, left in found.left_by_mutants.items() if isinstance(left, int)}
    same = [name for name, left in comparable.items() if left == 0]
    message = ""
    if not found.agrees:
        message = f"the rational functions are not those that are imported, at {found.sizes}"
    elif found.remaining and found.polynomials:
        message = (
            f"not proved at {found.sizes}: {found.remaining} entries differ if any polynomial may stand for the exponential"
            " of a matrix, which does not say that they differ"
        )
    elif found.remaining:
        message = f"{found.remaining} entries differ as functions at {found.sizes}"
    elif same:
        message = f"mutants are the same functions at {found.sizes}: {', '.join(same)}"
    residuals = {name: math.inf if left else 0.0 for name, left in comparable.items()}
    worst = math.inf if found.remaining else 0.0
    return blank(
        claim,
        "proved at sizes",
        "polynomials",
        VIOLATED if message else UPHELD,
        examples=1,
        satisfied=1,
        worst_residual=worst,
        separation=separation_of(residuals, worst),
        mutants={name: scored(residual, SEPARATION) for name, residual in residuals.items()},
        message=message,
        details={
            "proved at": found.sizes,
            "indeterminates": found.indeterminates,
            "adjoined": found.adjoined,
            "terms": {"left": found.terms[0], "right": found.terms[1]},
            "left by mutants": found.left_by_mutants,
            "seconds": found.seconds,
        },
    )
