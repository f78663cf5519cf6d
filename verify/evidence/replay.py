"""Evaluate both sides of a claim at given inputs: what failures and counterexamples ask you to paste."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from verify.arithmetics import to_balls
from verify.checks.evaluation import UNDEFINED, as_balls, exact_text, flat_objects, lifted_to_balls
from verify.checks.satisfied import satisfies
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import InputError, shown
from verify.vocabulary.registry import load
from verify.vocabulary.shapes import Shape, Size, require_arguments, require_fit


def replay(claim_id: str, package: str = "theorems", **drawn: Any) -> dict[str, Any]:
    """Both sides at drawn parameters (nested lists of numbers, by name), printed and returned as enclosures.

    Drawn parameters are those from which the claim builds inputs that satisfy its assumptions.  Raises
    `verify.vocabulary.InputError` for an unknown claim id, and for parameters that are not the claim's.
    """
    claim = load(package)[claim_id]
    specs = claim.parameters
    _require_names(claim, drawn, specs, specs)
    arrays = {name: _drawn(name, value, specs[name]) for name, value in drawn.items()}
    matrices = {name: spec for name, spec in specs.items() if isinstance(spec, Shape)}
    require_fit(matrices, {name: to_balls(arrays[name]) for name in matrices})
    _require_sizes(claim, matrices, arrays)
    prepared = claim.prepare(as_balls(arrays))
    if any(name not in prepared for side in _sides(claim).values() for name in inspect.signature(side).parameters):
        raise _of_no_values(claim)
    return _both_sides(claim, prepared)


def at_inputs(claim_id: str, package: str = "theorems", **inputs: Any) -> dict[str, Any]:
    """Both sides at inputs of the formula itself, printed and returned as enclosures.

    Numbers are integers, fractions, or text such as "3/5", in nested lists.  Raises `verify.vocabulary.InputError` for an
    unknown claim id, and for inputs that its formula does not take.
    """
    claim = load(package)[claim_id]
    sides = _sides(claim).values()
    needed = {name: None for side in sides for name in inspect.signature(side).parameters}
    tests = [test for item in claim.tested_assumptions for test in (item.positive, item.nonnegative, item.zero) if test]
    others = [*tests, *claim.named_functions().values(), *(mutant.function for mutant in claim.mutants)]
    known = {name: None for function in others for name in inspect.signature(function).parameters}
    # counterexamples may be shared with claims that take more
    known |= {name: None for example in claim.counterexamples for name in example.inputs()}
    _require_names(claim, inputs, needed, {**needed, **known, **claim.parameters})
    given = {name: _explicit(name, value) for name, value in inputs.items()}
    for side in sides:
        require_arguments(side, {name: given[name] for name in inspect.signature(side).parameters})
    return _both_sides(claim, given)


def _sides(claim: Claim) -> dict[str, Callable[..., Any]]:
    return {"formula": claim.the_formula, **({"oracle": claim.the_oracle} if claim.has_oracle else {})}


def _require_names(claim: Claim, given: Iterable[str], needed: Iterable[str], known: Iterable[str]) -> None:
    missing, unknown = sorted(set(needed) - set(given)), sorted(set(given) - set(known))
    if "generator" in missing:
        raise _of_no_values(claim)
    if missing or unknown:
        raise InputError("inputs", f"those of {claim.id}, {sorted(needed)}", f"missing {missing}, unknown {unknown}")


def _of_no_values(claim: Claim) -> InputError:
    expected = "a claim about values at its inputs"
    return InputError(
        "claim id", expected, f"{claim.id!r}, of kind {claim.relation.kind!r}, which draws more than them"
    )


def _drawn(name: str, value: Any, spec: Any) -> Any:
    """A drawn parameter as its specification has it: an integer, a float array, or one without axes."""
    if isinstance(spec, Size):
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise InputError(name, f"an integer >= 0, the size {spec.name}", shown(value))
        return value
    expected = f"nested lists of numbers, shape ({', '.join(spec.dims)})" if isinstance(spec, Shape) else "a number"
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise InputError(name, expected, shown(value)) from None
    if not np.isfinite(array).all() or (array.ndim and not isinstance(spec, Shape)) or 0 in array.shape:
        raise InputError(name, expected, shown(value))
    return array


def _require_sizes(claim: Claim, matrices: Mapping[str, Shape], arrays: Mapping[str, Any]) -> None:
    """Raise `InputError` where the sizes, as far as matrices and counts tell them, are none of the claim's."""
    sizes = {
        dim: length
        for name, spec in matrices.items()
        for dim, length in zip(spec.dims, arrays[name].shape, strict=True)
    }
    sizes |= {spec.name: arrays[name] for name, spec in claim.parameters.items() if isinstance(spec, Size)}
    if set(claim.sizes) <= set(sizes) and not claim.where({name: sizes[name] for name in claim.sizes}):
        raise InputError("inputs", f"sizes that {claim.id} admits", str({name: sizes[name] for name in claim.sizes}))


def _explicit(name: str, value: Any) -> Any:
    try:
        return lifted_to_balls(value)
    except (TypeError, ValueError, ArithmeticError):  # of numpy, of fractions, or our own of NaN
        expected = 'integers, fractions or text such as "3/5", in nested lists of equal lengths'
        raise InputError(name, expected, shown(value)) from None


def _both_sides(claim: Claim, inputs: dict[str, Any]) -> dict[str, Any]:
    try:
        result: dict[str, Any] = {
            name: [exact_text(entry) for entry in flat_objects(claim.evaluate(function, inputs))]
            for name, function in _sides(claim).items()
        }
        result["assumptions hold"] = satisfies(claim, inputs)
    except UNDEFINED as problem:
        raise InputError(
            "inputs", f"some at which both sides of {claim.id} have a value", f"{type(problem).__name__}: {problem}"
        ) from problem
    print(f"{claim.label} [{claim.id}]")
    for name, value in result.items():
        print(f"  {name}: {value}")
    return result
