"""Evaluate both sides of a claim at given inputs: what failures and counterexamples ask you to paste."""

from __future__ import annotations

from typing import Any

import numpy as np

from verify.checks.assumptions import satisfies
from verify.checks.evaluation import as_balls, exact_text, flat_objects, lifted_to_balls
from verify.vocabulary.claims import Claim
from verify.vocabulary.registry import load


def replay(claim_id: str, package: str = "theorems", **drawn: Any) -> dict[str, Any]:
    """Both sides at drawn parameters (nested lists of numbers, by name), printed and returned as enclosures.

    Drawn parameters are those from which the claim builds inputs that satisfy its assumptions.  Raises
    `verify.vocabulary.InputError` for an unknown claim id.
    """
    claim = load(package)[claim_id]
    arrays = {
        name: value if isinstance(value, int) else np.asarray(value, dtype=float) for name, value in drawn.items()
    }
    return _both_sides(claim, claim.prepare(as_balls(arrays)))


def at_inputs(claim_id: str, package: str = "theorems", **inputs: Any) -> dict[str, Any]:
    """Both sides at inputs of the formula itself, printed and returned as enclosures.

    Numbers are integers, fractions, or text such as "3/5", in nested lists.  Raises `verify.vocabulary.InputError` for an
    unknown claim id.
    """
    claim = load(package)[claim_id]
    return _both_sides(claim, {name: lifted_to_balls(value) for name, value in inputs.items()})


def _both_sides(claim: Claim, inputs: dict[str, Any]) -> dict[str, Any]:
    sides = {"formula": claim.the_formula}
    if claim.has_oracle:
        sides["oracle"] = claim.the_oracle
    result: dict[str, Any] = {
        name: [exact_text(entry) for entry in flat_objects(claim.evaluate(function, inputs))]
        for name, function in sides.items()
    }
    result["assumptions hold"] = satisfies(claim, inputs)
    print(f"{claim.label} [{claim.id}]")
    for name, value in result.items():
        print(f"  {name}: {value}")
    return result
