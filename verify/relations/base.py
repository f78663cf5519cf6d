"""What every relation shares: checks, the search through draws, the scoring of mutants, the counterexample check."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import flint
import numpy as np

from verify.arithmetic import Kind, exact_scalar, kind_of, midpoints, precision
from verify.claims import Claim
from verify.errors import ArithmeticUnsupported, NotFiniteError, RegistryError
from verify.evidence import CERTIFIED, UNCERTIFIED, Record
from verify.generators import Draw, applicable_domains, draws, size_features, systematic
from verify.residuals import SEPARATION, flat_objects, satisfies
from verify.settings import Settings


@dataclass(frozen=True)
class Check:
    """One piece of evidence that can be gathered about a claim."""

    name: str
    arithmetic: str
    run: Callable[[Claim, Settings], Record]


@dataclass
class Relation:
    """Base of the relations.  `kind` names it in reports."""

    kind = "relation"

    def checks(self, claim: Claim, settings: Settings) -> list[Check]:
        """The checks that gather evidence about `claim`, primary first."""
        found = self.own_checks(claim, settings)
        if claim.counterexamples:
            found.append(Check("counterexample", "exact or ball", self.certify))
        return found

    def own_checks(self, claim: Claim, settings: Settings) -> list[Check]:
        raise NotImplementedError

    def required_parts(self) -> list[str]:
        """Names of the functions that a claim with this relation must declare."""
        return ["oracle"]

    # -- counterexamples -----------------------------------------------------------------------------------------------

    def violation(self, formula: np.ndarray, oracle: np.ndarray) -> np.ndarray:
        """Entrywise excess: the statement is false where an entry is certainly nonzero (equalities) or positive (bounds)."""
        raise NotImplementedError

    def excludes(self, excess: Any) -> bool:
        """Whether one entry of `violation` certainly breaks the statement."""
        raise NotImplementedError

    def certify(self, claim: Claim, settings: Settings) -> Record:
        """Certify every declared counterexample: assumptions met for certain, violation enclosed away from zero."""
        certificates = []
        for example in claim.counterexamples:
            try:
                certificates.append(self._certificate(claim, example.title, example.inputs()))
            except CertificateError as problem:
                return blank(
                    claim, "counterexample", "exact or ball", UNCERTIFIED, message=f"{example.title}: {problem}"
                )
        arithmetic = "exact" if all(item["arithmetic"] == "exact" for item in certificates) else "ball"
        survivors = self._mutants_at(claim, claim.counterexamples[0].inputs())
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

    def _certificate(self, claim: Claim, title: str, given: dict[str, Any]) -> dict[str, Any]:
        sizes_allowed(claim, given)
        for arithmetic, lift in (("exact", _rational), ("ball", lifted_to_balls)):
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
            excess = self.violation(formula, oracle)
            broken = [i for i in range(len(excess)) if self.excludes(excess[i])]
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

    def _mutants_at(self, claim: Claim, given: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """For a refuted claim: whether the check can tell the printed formula from its mutants at the counterexample."""
        inputs = {name: lifted_to_balls(value) for name, value in given.items()}
        printed = flat_objects(claim.evaluate(claim.the_formula, inputs))
        scores = {}
        for mutant in claim.mutants:
            changed = flat_objects(claim.evaluate(mutant.function, inputs))
            scores[mutant.name] = scored(_distance_in_units(printed, changed))
        return scores


class CertificateError(Exception):
    """A declared counterexample does not do what it claims."""


def _rational(value: Any) -> Any:
    if isinstance(value, int):
        return value
    if isinstance(value, (list, tuple, np.ndarray)):
        array = np.asarray(value, dtype=object)
        return np.array([exact_scalar(entry) for entry in array.flat], dtype=object).reshape(array.shape)
    return exact_scalar(value)


def lifted_to_balls(value: Any) -> Any:
    """Explicit inputs (integers, fractions, text such as \"3/5\", nested lists) in ball arithmetic; integers stay as they are."""
    if isinstance(value, int):
        return value
    exact = _rational(value)
    if isinstance(exact, np.ndarray):
        return np.array([flint.arb(entry) for entry in exact.flat], dtype=object).reshape(exact.shape)
    return flint.arb(exact)


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


def exact_text(x: Any) -> str:
    """A rational in full, a ball with its radius."""
    return x.str(30) if isinstance(x, flint.arb) else str(x)


def sizes_allowed(claim: Claim, inputs: dict[str, Any]) -> None:
    """Raise unless annotated shapes of the formula agree with each other at these inputs."""
    from verify.shapes import Shape, parameter_specs

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
        raise CertificateError(f"the sizes {sizes} violate the claim's condition on them")


def scored(residual: float, bar: float = SEPARATION) -> dict[str, Any]:
    """A mutant's result: it is dead when it lands at least `bar` units from the truth."""
    return {"residual": residual, "killed": residual >= bar}


def blank(claim: Claim, check: str, arithmetic: str, outcome: str, **values: Any) -> Record:
    """A record of `check`; the runner fills in fingerprint, effort, seed and duration."""
    return Record(claim=claim.id, check=check, arithmetic=arithmetic, outcome=outcome, fingerprint="", **values)


# -- searching through draws -------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """What a search saw."""

    examples: int = 0
    satisfied: int = 0
    undefined: int = 0
    domains: Counter[str] = field(default_factory=Counter)

    def count(self, draw: Draw, seeds: int, satisfied: int, undefined: int) -> None:
        self.examples += seeds
        self.satisfied += satisfied
        self.undefined += undefined
        self.domains[draw.domain] += satisfied
        for feature in size_features(dict(draw.sizes)):
            self.domains[feature] += satisfied

    def values(self) -> dict[str, Any]:
        return {
            "examples": self.examples,
            "satisfied": self.satisfied,
            "undefined": self.undefined,
            "domains": dict(self.domains),
        }


class Violated(AssertionError):
    """Raised inside a search so that Hypothesis shrinks the draw; carries what is worth printing."""

    def __init__(self, message: str, details: dict[str, Any]) -> None:
        super().__init__(message)
        self.details = details


def search(claim: Claim, settings: Settings, examine: Callable[[Draw], None], examples: int) -> Violated | None:
    """Examine every domain once, then let Hypothesis draw and shrink; returns the violation that `examine` raised, or None.

    Deterministic unless a seed was asked for.
    """
    import hypothesis

    everywhere = systematic(claim, max(4, len(applicable_domains(claim))), settings.seed)

    configured = hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=not settings.seeded,
        print_blob=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )

    def attempt(draw: Draw) -> None:
        examine(draw)

    attempt.__qualname__ = claim.id
    tested = hypothesis.given(draws(claim))(attempt)
    for draw in everywhere:
        tested = hypothesis.example(draw)(tested)
    wrapped = configured(tested)
    if settings.seeded:
        wrapped = hypothesis.seed(settings.seed)(wrapped)
    try:
        wrapped()
    except Violated as found:
        return found
    return None


def in_precision(bits: int, function: Callable[[], Any]) -> Any:
    """`function()` evaluated with balls of the given precision."""
    with precision(bits):
        return function()


def separation_of(mutants: dict[str, float], worst: float) -> float | None:
    """Residual of the nearest mutant over the worst true residual, the latter taken as at least one unit."""
    return min(mutants.values()) / max(worst, 1.0) if mutants else None
