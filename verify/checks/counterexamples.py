"""Declared counterexamples: certified where every assumption holds and the statement is certainly broken."""

from __future__ import annotations

import math
from typing import Any

import flint
import numpy as np

from verify.arithmetics import Kind, exact_scalar, kind_of, midpoints
from verify.checks.attack import Attack
from verify.checks.evaluation import exact_text, flat_objects, lifted_to_balls, lifted_to_rationals
from verify.checks.record import CERTIFIED, UNCERTIFIED, Record, blank, scored, sizes_text
from verify.checks.satisfied import satisfies
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import ArithmeticUnsupported, NotFiniteError, RegistryError
from verify.vocabulary.shapes import Shape, parameter_specs


class CertificateError(Exception):
    """A declared counterexample does not do what it claims."""


def certify(claim: Claim, attack: Attack[Any]) -> Record:
    """Certify every declared counterexample: assumptions met for certain, violation enclosed away from zero."""
    certificates = []
    for example in claim.counterexamples:
        try:
            certificates.append(_certificate(claim, attack, example.title, example.inputs()))
        except CertificateError as problem:
            return blank(claim, "counterexample", "exact or ball", UNCERTIFIED, message=f"{example.title}: {problem}")
    arithmetic = "exact" if all(item["arithmetic"] == "exact" for item in certificates) else "ball"
    survivors = _mutants_at(claim, claim.counterexamples[0].inputs())
    return blank(
        claim,
        "counterexample",
        arithmetic,
        CERTIFIED,
        examples=len(certificates),
        satisfied=len(certificates),
        mutants=survivors,
        separation=min((entry["residual"] for entry in survivors.values()), default=None),
        details={"certificates": certificates},
    )


def _certificate(claim: Claim, attack: Attack[Any], title: str, given: dict[str, Any]) -> dict[str, Any]:
    sizes_allowed(claim, given)
    for arithmetic, lift in (("exact", lifted_to_rationals), ("ball", lifted_to_balls)):
        try:
            inputs = {name: lift(value) for name, value in given.items()}
            met = satisfies(claim, inputs)
            if met is not True:
                raise CertificateError(
                    "an assumption is violated" if met is False else "an assumption could not be decided"
                )
            formula = flat_objects(claim.evaluate(claim.the_formula, inputs))
            oracle = flat_objects(claim.evaluate(claim.the_oracle, inputs))
            if arithmetic == "exact" and kind_of(formula, oracle) is not Kind.EXACT:
                raise ArithmeticUnsupported("the formula left exact arithmetic")
        except ArithmeticUnsupported:
            continue
        except (ZeroDivisionError, NotFiniteError):
            raise CertificateError("the expression is not defined at these inputs") from None
        excess = attack.violation(formula, oracle)
        broken = [i for i in range(len(excess)) if attack.excludes(excess[i])]
        if not broken:
            raise CertificateError("the statement is not certainly broken at these inputs")
        worst = max(broken, key=lambda i: abs(float(midpoints([excess[i]])[0])))
        return {
            "title": title,
            "arithmetic": arithmetic,
            "inputs": {name: shown(value) for name, value in given.items()},
            "entry": worst,
            "formula": exact_text(formula[worst if len(formula) > 1 else 0]),
            "oracle": exact_text(oracle[worst if len(oracle) > 1 else 0]),
            "violation": exact_text(excess[worst]),
        }
    raise CertificateError("neither exact nor ball arithmetic can evaluate the statement there")


def _mutants_at(claim: Claim, given: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """For a refuted claim: whether the check can tell the printed formula from its mutants at the counterexample."""
    inputs = {name: lifted_to_balls(value) for name, value in given.items()}
    printed = flat_objects(claim.evaluate(claim.the_formula, inputs))
    scores = {}
    for mutant in claim.mutants:
        changed = flat_objects(claim.evaluate(mutant.function, inputs))
        scores[mutant.name] = scored(_distance_in_units(printed, changed))
    return scores


def _distance_in_units(a: np.ndarray, b: np.ndarray) -> float:
    """A lower bound of the largest difference, in units of the balls' radii at the working precision."""
    if a.shape != b.shape:
        return math.inf
    gap = max((float(abs(flint.arb(x) - flint.arb(y)).abs_lower()) for x, y in zip(a, b, strict=True)), default=0.0)
    scale = max((abs(float(flint.arb(x).mid())) for x in a), default=0.0)
    # equal vectors may vanish altogether, and then the unit is below the range of floats
    return gap / (max(scale, gap, 1e-300) * 2.0**-flint.ctx.prec) if gap else 0.0


def shown(value: Any) -> Any:
    """Counterexample inputs as nested lists of short text, ready to paste."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return [shown(entry) for entry in value]
    return value if isinstance(value, int) else str(exact_scalar(value))


def sizes_allowed(claim: Claim, inputs: dict[str, Any]) -> None:
    """Raise unless annotated shapes of the formula agree with each other at these inputs."""
    sizes: dict[str, int] = {}
    try:
        specs = parameter_specs(claim.the_formula)
    except RegistryError:
        return
    for name, spec in specs.items():
        if not isinstance(spec, Shape) or name not in inputs:
            continue
        shape = np.asarray(inputs[name], dtype=object).shape
        if len(shape) != len(spec.dims):
            raise CertificateError(f"{name} has shape {shape}, not {spec.dims}")
        for dim, length in zip(spec.dims, shape, strict=True):
            expected = int(dim) if dim.isdigit() else sizes.setdefault(dim, length)
            if expected != length:
                raise CertificateError(f"{name} has shape {shape}, but {dim} = {expected}")
    if set(claim.sizes) <= set(sizes) and not claim.where(sizes):
        raise CertificateError(f"the sizes {sizes_text(sizes)} violate the claim's condition on them")
