"""Random limits proved in mean square: the mean of the squared error is at most factor * rate, and the rate tends to 0.

Three things are shown of the claim's own sequence, which runs on symbols in the place of numbers.  Its squared error is at most
the part "square", whatever is drawn: a bound.  The mean of that part over what is drawn is factor * rate: an identity.  The rate,
a function of the scale and of sizes, tends to 0, and no slower than the claim says: decided exactly.  Inputs and sizes are held
fixed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy
import torch

from verify.arithmetics.asymptotics import Growth, leading, tends_to_zero
from verify.arithmetics.conditions import recording_conditions
from verify.arithmetics.guarded import guarded
from verify.arithmetics.norms.bounded import input_matrix
from verify.arithmetics.norms.derivations import BoundProof, prove_bound
from verify.arithmetics.norms.world import derivation
from verify.arithmetics.symbols.difference import Proof, prove
from verify.arithmetics.symbols.hypothesis_rules import hypothesis_on
from verify.arithmetics.symbols.indexed import named
from verify.arithmetics.tracing import Input, as_traced, traced_inputs
from verify.checks import bound_proofs, proofs
from verify.checks.asked_kinds import kind_asked
from verify.checks.certified import certified, kept_of
from verify.checks.certified_bounds import certified_bound
from verify.checks.evaluation import as_rationals, one_of
from verify.checks.granted import first_exception
from verify.checks.operands import inputs_of, size_symbol
from verify.checks.record import UPHELD, VIOLATED, Record, blank, scored
from verify.checks.settings import Settings
from verify.inputs.generators import systematic
from verify.matrix import frobenius_norm, ones, total
from verify.oracles.expectations import Drawn, expected_over_draws
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import ArithmeticUnsupported, RegistryError
from verify.vocabulary.hypotheses import NORMAL_ENTRIES
from verify.vocabulary.relations import PowerRate, TendsTo

#: The scale, as a size, and as functions see it: nothing is silently decided on.
SCALE = size_symbol("scale")
SEEN = guarded(SCALE)
#: Inputs at which both parts of a proof are compared with numbers, seeds at each, and the scale for exact means.
SPOTS, SEEDS, SMALL = 3, 4, 2
#: By how much floats may put the squared error above its bound.
AGREEMENT = 1e-8
#: So many times the bound has the squared error of a wrong limit to be, at the largest scale.
BROKEN = 2
#: The residual of a wrong variant whose squared error is above the bound.
BEYOND_ALL = 1e300


@dataclass
class LimitProof:
    """The identity of the mean, the bound of the squared error (None where the mean is of that), the rate, what is wrong."""

    identity: Proof
    bound: BoundProof | None
    rate: Any
    problem: str | None = None
    mutants: dict[str, str] = field(default_factory=dict)


def prove_limit_claim(claim: Claim) -> LimitProof:
    """Try to prove that the mean squared error of a random sequence is at most factor * rate, and that the rate tends to 0."""
    relation = claim.relation
    assert isinstance(relation, TendsTo)
    if not isinstance(relation.rate, PowerRate) or relation.rate.deterministic:
        raise RegistryError(f"{claim.id}: a limit is proved in mean square, and its sequence is not random")
    if asked := kind_asked(claim):
        return LimitProof(Proof(False, asked), None, None, asked)
    identity = _identity(claim, claim.the_formula)
    bound = _bound(claim, claim.the_formula) if _has(claim, "square") else None
    rate, unmet = _rate(claim)
    found = LimitProof(identity, bound, rate)
    if unmet:
        found.problem = f"the rate: {unmet}"
    elif bound is not None and not bound.proved:
        found.problem = f"the squared error is not at most its bound: {bound.reason}"
    elif not identity.proved:
        found.problem = f"the mean of the bound is not factor * rate: {identity.reason}"
    elif unmet := first_exception([*identity.conditions, *(bound.conditions if bound is not None else [])], claim):
        found.problem = unmet
    else:
        found.problem = _slow(rate, relation.rate.exponent)
    for mutant in claim.mutants if found.problem is None else ():
        other = _bound(claim, mutant.function) if bound is not None else _identity(claim, mutant.function)
        found.mutants[mutant.name] = "proved as well" if other.proved else "not proved"
        if other.proved:
            found.problem = f"the wrong variant {mutant.name!r} is proved as well"
    return found


def _has(claim: Claim, part: str) -> bool:
    return part in claim.named_functions()


def _slow(rate: Any, exponent: float) -> str | None:
    """Why the rate does not show the limit, if it does not: the mean square falls like scale^(-2 exponent) at least."""
    try:
        if not tends_to_zero(rate, SCALE):
            return f"the rate {rate} does not tend to 0"
        growth, _ = leading(rate, SCALE)
    except ArithmeticUnsupported as reason:
        return str(reason)
    stated = sympy.nsimplify(exponent, rational=True)
    if growth > Growth(sympy.Integer(0), -2 * stated, sympy.Integer(0)):
        return f"the rate {rate} falls slower than the stated exponent {stated}"
    return None


def _rate(claim: Claim) -> tuple[Any, str | None]:
    """The rate, and what it takes for granted of the scale or of sizes that is not."""
    sizes = {name: guarded(size_symbol(name)) for name in claim.sizes}
    with recording_conditions() as conditions:
        found = sympy.sympify(claim.evaluate(claim.the_part("rate"), {**sizes, "scale": SEEN}))
    return found, first_exception(conditions, claim)


def _error(claim: Claim, limit: Callable[..., Any], inputs: Mapping[str, Any], scale: Any, generator: Any) -> Any:
    sequence = claim.evaluate(claim.the_part("sequence"), {**inputs, "scale": scale, "generator": generator})
    return sequence - claim.evaluate(limit, inputs)


def _square(claim: Claim, limit: Callable[..., Any], inputs: Mapping[str, Any], scale: Any, generator: Any) -> Any:
    """The part "square"; the squared error itself of a claim without it."""
    if _has(claim, "square"):
        return claim.evaluate(claim.the_part("square"), {**inputs, "scale": scale, "generator": generator})
    error = _error(claim, limit, inputs, scale, generator)
    return total(error * error)


def _stated(claim: Claim, inputs: Mapping[str, Any], rate: Any) -> Any:
    """factor * rate, shape (1, 1)."""
    factor = claim.evaluate(claim.the_part("factor"), inputs) if _has(claim, "factor") else 1
    return ones(1, 1) * rate * factor


def _mean(claim: Claim, limit: Callable[..., Any], inputs: Mapping[str, Any], scale: Any, make: Any) -> Any:
    """The mean of the square over what is drawn, shape (1, 1)."""

    def square(generator: Any, **given: Any) -> Any:
        return ones(1, 1) * _square(claim, limit, given, scale, generator)

    return expected_over_draws(square, make, **inputs)


def _as_input(make: Callable[..., Any]) -> Callable[..., Any]:
    """What makes a matrix, made as a formula sees its inputs."""
    return lambda name, *dims: as_traced(make(name, *dims), Input(name))


def _identity(claim: Claim, limit: Callable[..., Any]) -> Proof:
    """The mean of the square is factor * rate, for all sizes and scales."""
    drawn = Drawn(_as_input(named))
    try:
        _square(claim, limit, traced_inputs(inputs_of(claim)), SEEN, drawn)
    except Exception as error:  # whatever goes wrong, it is not proved
        return Proof(False, f"{type(error).__name__}: {error}")
    return prove(
        lambda inputs: _stated(claim, inputs, _rate(claim)[0]),
        lambda inputs: _mean(claim, limit, inputs, SEEN, _as_input(named)),
        lambda: inputs_of(claim),
        {},
        lambda inputs: [hypothesis_on(name, NORMAL_ENTRIES, ()) for name in drawn.shapes],
    )


def _bound(claim: Claim, limit: Callable[..., Any]) -> BoundProof:
    """The squared error is at most the square, whatever is drawn."""
    with derivation():
        return prove_bound(
            lambda inputs: _square(claim, limit, inputs, SEEN, Drawn(_as_input(input_matrix))),
            lambda inputs: frobenius_norm(_error(claim, limit, inputs, SEEN, Drawn(_as_input(input_matrix)))) ** 2,
            lambda: inputs_of(claim, input_matrix),
            {},
        )


# -- the check ---------------------------------------------------------------------------------------------------------


def proved_limit(claim: Claim, settings: Settings) -> Record:
    """Both parts proved, compared with numbers, and no wrong limit that has such a proof or stays below the bound."""
    proof = prove_limit_claim(claim)
    spots = _spots(claim, settings) if proof.problem is None else _Spots()
    identity = certified(claim, proof.identity, kept_of(claim), settings.effort.anew) if proof.identity.proved else None
    bound = certified_bound(claim, proof.bound) if proof.bound is not None and proof.bound.proved else None
    problem = proof.problem or spots.problem
    problem = problem or next((found.problem for found in (identity, bound) if found and found.problem), None)
    details = proofs.details_of(claim, proof.identity, [], [])
    details.pop("formula", None)
    if proof.bound is not None:
        of_bound = bound_proofs.details_of(claim, proof.bound, [])
        for name in ("rules", "hypotheses", "conditions"):
            of_bound[name] = [*of_bound[name], *details[name]]
        details |= {**of_bound, "seconds": of_bound["seconds"] + details["seconds"]}
    details |= {
        "mutants": proof.mutants,
        "limit": {"rate": str(proof.rate), "terms": proof.identity.left_terms, "inputs": spots.satisfied},
    }
    if identity is not None:
        details["certificate"] = identity.details
    if bound is not None:
        details["certificate of the bound"] = bound.details
    return blank(
        claim,
        "proved",
        "symbols",
        UPHELD if problem is None else VIOLATED,
        examples=spots.examples,
        satisfied=spots.satisfied,
        worst_residual=spots.worst if problem is None else None,
        mutants={name: scored(BEYOND_ALL if broken else 0.0) for name, broken in spots.broken.items()},
        message=problem or "",
        details=details,
    )


def _expressions(array: Any) -> Any:
    return np.array([[sympy.Rational(int(x.p), int(x.q)) for x in row] for row in array], dtype=object)


def _mean_in_numbers(claim: Claim, inputs: Mapping[str, Any]) -> Any:
    """The mean of the square at given inputs and a small scale, by the moments of each entry that is drawn."""
    symbols: list[Any] = []

    def matrix(name: str, rows: int, columns: int) -> Any:
        own = [[sympy.Symbol(f"{name}_{i}_{j}", real=True) for j in range(columns)] for i in range(rows)]
        symbols.extend(itertools.chain.from_iterable(own))
        return np.array(own, dtype=object)

    square = _square(claim, claim.the_formula, inputs, SMALL, Drawn(matrix))
    terms = sympy.Poly(square, *symbols).terms()
    return sum(c * math.prod(0 if m % 2 else math.prod(range(1, m, 2)) for m in powers) for powers, c in terms)


@dataclass
class _Spots:
    """Numbers beside a proof: the largest squared error over its bound, and which wrong limits are above it."""

    examples: int = 0
    satisfied: int = 0
    worst: float = 0.0
    broken: dict[str, bool] = field(default_factory=dict)
    problem: str | None = None


def _spots(claim: Claim, settings: Settings) -> _Spots:
    """At drawn inputs: the squared error beside the square at the same draws in floats, and the mean of the square exactly."""
    assert isinstance(claim.relation, TendsTo)
    found = _Spots(broken={mutant.name: False for mutant in claim.mutants})
    for draw in systematic(claim, SPOTS, settings.seed):
        arrays = one_of(claim, draw.arrays(claim, 1), 0)
        inputs = claim.prepare({name: torch.as_tensor(value, dtype=torch.float64) for name, value in arrays.items()})
        found.examples += 1
        limit = claim.evaluate(claim.the_formula, inputs)
        wrong = {mutant.name: claim.evaluate(mutant.function, inputs) for mutant in claim.mutants}
        held = True
        for scale, seed in itertools.product((claim.relation.scales[0], claim.relation.scales[-1]), range(SEEDS)):
            given = {**inputs, "scale": scale, "generator": torch.Generator().manual_seed(seed)}
            value = claim.evaluate(claim.the_part("sequence"), given)
            square = float(_square(claim, claim.the_formula, inputs, scale, torch.Generator().manual_seed(seed)))
            ratio = float(((value - limit) ** 2).sum()) / max(square, 1e-300)
            found.worst, held = max(found.worst, ratio), held and ratio <= 1 + AGREEMENT
            if scale == claim.relation.scales[-1]:
                for name, other in wrong.items():
                    found.broken[name] |= float(((value - other) ** 2).sum()) > BROKEN * square
        exact = {name: _expressions(value) for name, value in claim.prepare(as_rationals(arrays)).items()}
        sizes = dict(draw.sizes)
        rate = sympy.sympify(claim.evaluate(claim.the_part("rate"), {**sizes, "scale": SMALL}))
        stated = _stated(claim, exact, 1)[0, 0] * rate
        same = sympy.expand(_mean_in_numbers(claim, exact) - stated) == 0
        if not held:
            found.problem = f"the squared error is {found.worst:.6g} times its bound at {sizes}"
        elif not same:
            found.problem = f"the mean of the square is not factor * rate at {sizes} and scale {SMALL}"
        found.satisfied += held and same
    return found
