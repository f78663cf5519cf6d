"""Bounds proved for all inputs and sizes: a claim's functions on matrices of which norms are asked, and the check `proved`.

The check upholds a bound only if every entry has a derivation, if the quantities on both sides equal in numbers what the
functions that users import give, if the computed bound lies between both sides there, and if no mutant can be derived.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np
import sympy

import verify.arithmetics.norms  # noqa: F401  (gives the primitives their forms)
from verify.arithmetics import midpoints
from verify.arithmetics.conditions import Condition
from verify.arithmetics.norms.bounded import input_matrix
from verify.arithmetics.norms.deciding import quotient_of, uncovered
from verify.arithmetics.norms.derivations import BoundProof, EntryBound, prove_bound
from verify.arithmetics.norms.facts import facts_of, facts_of_checker, rests_on_claims
from verify.arithmetics.norms.float_values import Values
from verify.arithmetics.norms.text import scalar_text
from verify.arithmetics.norms.world import World, derivation
from verify.checks.asked_kinds import kind_asked
from verify.checks.certificate_steps import assumed_in, rules_of, steps_of
from verify.checks.certified import Certified, kept_of
from verify.checks.certified_bounds import certified_bound, kept_bound
from verify.checks.evaluation import UNDEFINED, as_balls, flat_objects, one_of, raw_tensors
from verify.checks.far_bounds import FarSpot, far_spots
from verify.checks.granted import exception_to
from verify.checks.operands import (
    free_parameters,
    inputs_of,
    real_symbol,
    size_symbol,
    symbolic_operands,
    symbols_of_size,
)
from verify.checks.record import UPHELD, VIOLATED, Record, blank
from verify.checks.satisfied import one_satisfies
from verify.checks.settings import Settings
from verify.checks.size_orders import size_orders
from verify.inputs.generators import systematic
from verify.inputs.witnesses import Given, witnesses_of
from verify.kernel.bounds import declared_size
from verify.vocabulary.assumptions import Assumption
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import ArithmeticUnsupported, InputError
from verify.vocabulary.hypotheses import Hypothesis
from verify.vocabulary.shapes import Real, Shape, Size, parameter_names

#: How far the quantities may be from the functions in floats, relative to the larger side; the unit of all residuals here.
AGREEMENT = 1e-8
#: Inputs at which a derivation is evaluated, and both sides of what a kept certificate says that is accepted in its place.
SPOTS, WITH_CERTIFICATE = 12, 4
#: A change of the inputs, relative to them, that quantities which floats can tell stand without a trace.
NUDGE = 2.0**-42


def prove_bound_claim(claim: Claim, with_mutants: bool = True, derive: bool = True) -> BoundProof:
    """Try to prove a claim of relation *at most*, by its hypotheses and by its assumptions on signs.

    What its functions and slices take for granted of sizes has to be met.  Where they decide on whether a size has a certain
    value, as n == 1, that value is a case of its own, with a derivation of its own.  `with_mutants` its wrong variants are
    tried too: where one of them can be proved nothing is.  Not to `derive`, the bound and its cases are stated, and not proved.
    """
    if not claim.relation.one_sided:
        raise InputError("claim", "one of kind at most", f"{claim.id}, {claim.relation.kind}")
    if asked := kind_asked(claim):
        return BoundProof(False, asked)
    mutants = {mutant.name: mutant.function for mutant in claim.mutants if with_mutants}
    proof = _derivation_of(claim, {}, mutants, derive)
    for condition in list(proof.conditions) if proof.is_stated else []:
        unmet = exception_to(condition, claim)
        if unmet is None:
            continue
        case = _excluded_case(condition)
        other = _derivation_of(claim, case, {}, derive) if case else None
        if other is None or not other.is_stated or any(exception_to(item, claim) for item in other.conditions):
            proof.proved, proof.reason = False, unmet
            break
        proof.conditions.remove(condition)
        proof.cases |= {(str(size), value): other for size, value in case.items()}
    return proof


def _excluded_case(condition: Condition) -> dict[Any, int]:
    """The value of a size that a condition excludes; empty for one that excludes more than a value."""
    sizes = condition.expression.free_symbols
    value = -condition.expression.subs(dict.fromkeys(sizes, 0))
    is_value = condition.least is None and not condition.whole and len(sizes) == 1
    (size, *_) = sizes
    if is_value and value.is_Integer and value >= 1 and sympy.expand(condition.expression - size + value) == 0:
        return {size: int(value)}
    return {}


def _derivation_of(claim: Claim, sizes: Mapping[Any, Any], mutants: Mapping[str, Any], derive: bool) -> BoundProof:
    """The attempt to prove a claim, with some sizes given."""
    sizes = {least: other for name, (low, _) in claim.sizes.items() if low < 1
             for least, other in [symbols_of_size(name)]} | dict(sizes)  # fmt: skip
    with derivation() as known:
        known.orders += [value for order in size_orders(claim) if (value := sympy.sympify(order).subs(sizes)) != 0]
        known.properties |= {(item.property, item.of) for item in claim.hypotheses if isinstance(item, Hypothesis)}

        def side(function: Any) -> Any:
            return lambda prepared: claim.evaluate(function, prepared)

        wrong = {name: side(function) for name, function in mutants.items()}
        signs = [side(item.positive) for item in claim.tested_assumptions if item.positive]
        signed = [side(f) for item in claim.tested_assumptions for f in (item.positive, item.nonnegative) if f]
        frames = [side(item.zero) for item in claim.hypotheses if isinstance(item, Assumption) and item.zero]
        return prove_bound(
            side(claim.the_formula), side(claim.the_oracle), lambda: _inputs(claim, sizes), wrong, signs, frames, signed,
            derive,
        )  # fmt: skip


def _inputs(claim: Claim, sizes: Mapping[Any, Any]) -> dict[str, Any]:
    """The inputs of the claim's functions as operands; sizes that only prepared inputs have are those of the preparation."""

    def matrix(name: str, *dims: Any) -> Any:
        return input_matrix(name, *(sizes.get(dim, dim) for dim in dims))

    found = {name: sizes.get(value, value) if isinstance(value, sympy.Symbol) else value
             for name, value in inputs_of(claim, matrix).items()}  # fmt: skip
    for item in claim.hypotheses:  # scalars of which only an assumption speaks
        named = parameter_names(item.zero) if isinstance(item, Assumption) and item.zero else ()
        scalars = {name: claim.parameters.get(name) for name in named if name not in found}
        found |= {name: real_symbol(name, spec) for name, spec in scalars.items() if isinstance(spec, Real)}
    for least_zero in [f for item in claim.tested_assumptions for f in (item.positive, item.nonnegative) if f]:
        with contextlib.suppress(ArithmeticUnsupported, InputError, KeyError):  # of more than one scalar: not used
            value = claim.evaluate(least_zero, found)
            if isinstance(value, sympy.Symbol):
                found |= {name: nonnegative_symbol(name) for name, given in found.items() if given is value}
    if not claim.prepares_inputs:
        return found
    unknown = {
        name: spec for name, spec in free_parameters(claim).items()
        if isinstance(spec, Shape) and any(not dim.isdigit() and dim not in claim.sizes for dim in spec.dims)
    }  # fmt: skip
    if unknown:
        made = claim.prepare(symbolic_operands(claim.parameters, matrix))
        found |= {name: matrix(name, *made[name].shape) for name in unknown if name in made}
    return found


def nonnegative_symbol(name: str) -> sympy.Symbol:
    """The symbol of a scalar that a tested assumption says is not negative."""
    return sympy.Symbol(name, nonnegative=True)


# -- the derivation in floats ------------------------------------------------------------------------------------------


@dataclass
class Spot:
    """A derivation at one input: how far the quantities are from the functions, and the sides' place about the bound."""

    sizes: dict[str, int]
    worst: float
    above: float  #: by how much left > computed or computed > right, relative to the right-hand side
    broken: bool = False  #: whether left > right for certain, in balls


def spots_of(claim: Claim, proof: BoundProof, settings: Settings, count: int = SPOTS) -> list[Spot]:
    """The derivation evaluated at so many inputs that satisfy the assumptions."""
    found: list[Spot] = []
    for draw in systematic(claim, 6 * SPOTS, settings.seed):
        if len(found) == count:
            break
        arrays = draw.arrays(claim, 1)
        batch = raw_tensors(claim, arrays, settings, "float64")
        if not one_satisfies(claim, batch):
            continue
        spot = _spot(claim, proof, one_of(claim, arrays, 0), dict(draw.sizes))
        if spot is not None:
            found.append(spot)
    return found


def tightest_spots(claim: Claim, proof: BoundProof, settings: Settings) -> list[Spot]:
    """The derivation evaluated at the explicit inputs that are kept of the attack: where the bound was tightest."""
    found: list[Spot] = []
    for point in witnesses_of(claim, "attacked float64").starts:
        if not isinstance(point, Given):
            continue
        arrays = point.arrays(claim, 1)
        if not one_satisfies(claim, raw_tensors(claim, arrays, settings, "float64")):
            continue
        spot = _spot(claim, proof, one_of(claim, arrays, 0), _sizes_of(claim, point.inputs))
        if spot is not None:
            found.append(spot)
    return found


def _sizes_of(claim: Claim, inputs: Mapping[str, Any]) -> dict[str, int]:
    """The named sizes that inputs have, and those that are inputs themselves."""
    sizes: dict[str, int] = {}
    for name, spec in claim.parameters.items():
        if isinstance(spec, Shape):
            sizes |= {dim: k for dim, k in zip(spec.dims, np.shape(inputs[name]), strict=True) if not dim.isdigit()}
        elif isinstance(spec, Size):
            sizes[spec.name] = int(inputs[name])
    return sizes


def _spot(claim: Claim, proof: BoundProof, raw: dict[str, Any], sizes: dict[str, int]) -> Spot | None:
    import torch

    tensors = {name: v if isinstance(v, int) else torch.as_tensor(v, dtype=torch.float64) for name, v in raw.items()}
    inputs = claim.prepare(tensors)
    if not all(bool(value.isfinite().all()) for value in inputs.values() if isinstance(value, torch.Tensor)):
        return None  # as a unit vector made of zeros
    left, right = (_flat(claim.evaluate(f, inputs)) for f in (claim.the_oracle, claim.the_formula))
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        return None
    proof = next((case for (name, value), case in proof.cases.items() if sizes.get(name) == value), proof)
    if not proof.proved:  # the checker has accepted what is stated, and balls are asked where floats do not agree
        worst, above = _gaps(proof, left, right, values_at(claim, proof, inputs, tensors, sizes))
        if max(worst, above) <= AGREEMENT:
            return Spot(sizes, worst, above)
    balls = _in_balls(claim, raw)
    if balls is None:
        return None
    if any(flint.arb(one) > flint.arb(other) for one, other in np.broadcast(*balls)):
        return Spot(sizes, 0.0, 0.0, broken=True)
    if _rounding(balls, left, right) > AGREEMENT / 100:
        return None  # differences cancel so far that floats say nothing
    values = values_at(claim, proof, inputs, tensors, sizes)
    worst, above = _gaps(proof, left, right, values)
    if max(worst, above) > AGREEMENT and _blurred(claim, proof, raw, sizes, values):
        return None
    return Spot(sizes, worst, above)


def _gaps(proof: BoundProof, left: np.ndarray, right: np.ndarray, values: Values) -> tuple[float, float]:
    """How far the quantities are from the sides, and by how much these are out of order, or the bound not between them."""
    places = [
        (entry, {entry.index: k} if entry.index is not None else {})
        for entry in proof.entries
        for k in range(values.size(entry.index.size) if entry.index is not None else 1)
    ]
    if len(places) != len(left) or len(right) not in (1, len(left)):
        return np.inf, np.inf
    worst = above = 0.0
    for (entry, at), one, other in zip(places, left, np.broadcast_to(right, left.shape), strict=True):
        scale = max(abs(one), abs(other), 1e-300)
        gaps = values.number(entry.left, at) - one, values.number(entry.right, at) - other
        computed = one if entry.bound is None else values.number(entry.bound, at)
        found = [abs(gap) / scale for gap in gaps], [(one - computed) / scale, (computed - other) / scale]
        if not np.isfinite(found).all():  # what is no number compares with nothing
            return np.inf, np.inf
        worst, above = max(worst, *found[0]), max(above, *found[1])
    return float(worst), float(above)


def _blurred(claim: Claim, proof: BoundProof, raw: dict[str, Any], sizes: dict[str, int], values: Values) -> bool:
    """Whether a change of the inputs by a few roundings changes a quantity by more than the agreement asked for.

    Attention that is one-hot, or equal tokens, leave of p - p^2 or of sum p_j x_j - x nothing but rounding.
    """
    import torch

    rng = np.random.default_rng(len(raw))
    nudged = {
        name: value
        if isinstance(value, int)
        else torch.as_tensor(value * (1 + NUDGE * rng.choice([-1, 1], value.shape)))
        for name, value in raw.items()
    }
    others = values_at(claim, proof, claim.prepare(nudged), nudged, sizes)
    for entry in proof.entries:
        for k in range(values.size(entry.index.size) if entry.index is not None else 1):
            at = {entry.index: k} if entry.index is not None else {}
            for quantity in (entry.left, entry.right, *([] if entry.bound is None else [entry.bound])):
                here, there = values.number(quantity, at), others.number(quantity, at)
                if not abs(here - there) <= AGREEMENT * max(abs(here), abs(there)):
                    return True
    return False


def _in_balls(claim: Claim, raw: dict[str, Any]) -> tuple[np.ndarray, np.ndarray] | None:
    """Both sides in balls; None where they have no value there."""
    try:
        inputs = claim.prepare(as_balls(raw))
        left, right = (
            flat_objects(claim.evaluate(function, inputs)) for function in (claim.the_oracle, claim.the_formula)
        )
    except UNDEFINED:
        return None
    finite = all(flint.arb(value).is_finite() for side in (left, right) for value in side)
    return (left, right) if finite else None


def _rounding(balls: tuple[np.ndarray, np.ndarray], left: np.ndarray, right: np.ndarray) -> float:
    """How far the sides in floats are from those in balls, relative to the larger one."""
    worst = 0.0
    for plain, side in zip((left, right), balls, strict=True):
        exact = midpoints(side).astype(float)
        if not np.isfinite(exact).all():
            return np.inf
        scale = np.maximum(np.abs(left), np.abs(right)).clip(1e-300) if len(plain) == len(left) else np.abs(plain)
        worst = max(worst, float((np.abs(exact - plain) / scale.clip(1e-300)).max(initial=0.0)))
    return worst


def values_at(claim: Claim, proof: BoundProof, inputs: Any, raw: Any, sizes: dict[str, int]) -> Values:
    """The quantities of a derivation at these inputs."""
    scalars: dict[Any, float] = {symbol: value for name, value in sizes.items() for symbol in symbols_of_size(name)}
    arrays: dict[str, np.ndarray] = {}
    for name, spec in {**claim.parameters, **free_parameters(claim)}.items():
        value = inputs.get(name, raw.get(name))
        if value is not None and isinstance(spec, Shape):
            arrays[name] = np.asarray(value.detach().numpy() if hasattr(value, "detach") else value, dtype=float)
            for dim, length in zip(spec.dims, arrays[name].shape, strict=True):
                if not dim.isdigit():
                    scalars.setdefault(size_symbol(dim), length)
        elif value is not None and isinstance(spec, Real):
            scalars[real_symbol(name, spec)] = scalars[nonnegative_symbol(name)] = float(value)
    assert proof.world is not None
    return Values(proof.world, scalars, arrays)


def _flat(value: Any) -> np.ndarray:
    if isinstance(value, (list, tuple)):
        return np.concatenate([_flat(part) for part in value])
    plain = value.detach().numpy() if hasattr(value, "detach") else getattr(value, "array", value)
    return np.asarray(plain, dtype=np.float64).reshape(-1)


# -- the check ---------------------------------------------------------------------------------------------------------


def proved_bound(claim: Claim, settings: Settings) -> Record:
    """Every entry derived, for all inputs and sizes; only the evaluation in floats depends on the seed.

    Where a kept certificate says what the functions give now, and the checker accepts it, nothing is derived but at effort
    deep.  That no wrong variant can be derived too is tried at effort deep as well.
    """
    before = kept_of(claim)
    if before is not None and not settings.effort.anew:
        stated = prove_bound_claim(claim, with_mutants=False, derive=False)
        kept = kept_bound(claim, stated, before) if stated.is_stated else None
        if kept is not None:
            return _record(claim, stated, settings, WITH_CERTIFICATE, kept.certified, kept.certificate)
    proof = prove_bound_claim(claim, settings.effort.anew)
    certificate = certified_bound(claim, proof, before, settings.effort.anew) if proof.proved else None
    return _record(claim, proof, settings, SPOTS, certificate)


def _record(
    claim: Claim,
    proof: BoundProof,
    settings: Settings,
    count: int,
    certified: Certified | None,
    certificate: Mapping[str, Any] | None = None,
) -> Record:
    """What there is of a bound that was derived, or of one that was stated and that the checker has accepted."""
    holds = proof.proved or certificate is not None
    spots = spots_of(claim, proof, settings, count) if holds else []
    tightest = tightest_spots(claim, proof, settings) if holds else []
    spots += tightest
    problem = proof.reason if not holds else _problem(spots)
    far = far_spots(claim, proof, settings, certificate is not None) if problem is None else []
    problem = problem or _far_problem(far) or (certified.problem if certified is not None else None)
    worst = max((max(spot.worst, spot.above) for spot in spots), default=np.inf) / AGREEMENT
    details = details_of(claim, proof, spots)
    if certificate is not None:
        details |= _from_certificate(claim, proof, certificate)
        details["hypotheses"] = list(dict.fromkeys([*details["hypotheses"], *assumed_in(certificate)]))
    return blank(
        claim,
        "proved",
        "norms",
        UPHELD if problem is None else VIOLATED,
        examples=len(spots),
        satisfied=sum(bool(max(spot.worst, spot.above) <= AGREEMENT and not spot.broken) for spot in spots),
        worst_residual=worst if np.isfinite(worst) else None,
        message=problem or "",
        details=details
        | {"spots at the tightest inputs": len(tightest), "large sizes": [spot.sizes for spot in far]}
        | ({"certificate": certified.details} if certified is not None else {}),
    )


def _problem(spots: list[Spot]) -> str | None:
    if not spots:
        return "no inputs that satisfy the assumptions to evaluate the derivation at"
    for spot in spots:
        if spot.broken:
            return f"the left side is above the right one for certain at {spot.sizes}"
        if spot.worst > AGREEMENT:
            return f"the quantities differ from the functions by {spot.worst:.3g} at {spot.sizes}"
        if spot.above > AGREEMENT:
            return f"the computed bound is not between both sides, by {spot.above:.3g}, at {spot.sizes}"
    return None


def _far_problem(far: list[FarSpot]) -> str | None:
    for large in far:
        if large.above > AGREEMENT:
            return f"the left side is above the right one, by {large.above:.3g}, at {large.sizes}"
    return None


def details_of(claim: Claim, proof: BoundProof, spots: list[Spot]) -> dict[str, Any]:
    """What a record keeps of a derivation."""
    known = proof.world or World()  # of which nothing is known where nothing was derived
    return {
        "entries": [_described(entry, proof) for entry in proof.entries if entry.bound is not None],
        "rules": proof.rules,
        "facts": _facts(claim, proof),
        "closed forms": sorted(known.closed),
        "hypotheses": [
            *(item.text if isinstance(item, Assumption) else str(item) for item in claim.hypotheses),
            *sorted(known.used),
        ],
        "conditions": [str(item) for item in proof.conditions],
        "cases": [f"{size} = {value}" for size, value in proof.cases],
        "positive": [name for name, spec in free_parameters(claim).items() if isinstance(spec, Real) and spec.low > 0],
        "mutants": proof.mutants,
        "seconds": proof.seconds,
        "spots": len(spots),
        "worst": max((spot.worst for spot in spots), default=None),
    }


def _facts(claim: Claim, proof: BoundProof) -> list[str]:
    """The claims that a derivation rests on: those of its rules, of closed forms, and by which hypotheses follow."""
    known = proof.world or World()
    simplified = sorted(known.simplified | set(filter(rests_on_claims, known.used)))
    by = [item.by for item in claim.hypotheses if isinstance(item, Hypothesis) and item.by]
    return list(dict.fromkeys([*facts_of([*proof.rules, *simplified]), *sorted(known.closed), *by]))


def _from_certificate(claim: Claim, stated: BoundProof, certificate: Mapping[str, Any]) -> dict[str, Any]:
    """What a record has of a bound that was not derived: the steps, rules and facts are those of the certificate."""
    rules = rules_of(certificate)
    cases = {name for name, _ in stated.cases}
    sizes = [(name, k) for name, k in map(declared_size, certificate["sizes"]) if k > 1 and name not in cases]
    granted = [Condition(size_symbol(name) - k, 0) for name, k in sizes]
    return {
        "entries": [
            {"left": scalar_text(entry.left, stated.world), "right": scalar_text(entry.right, stated.world),
             "proved": True, "steps": steps}
            for entry, steps in zip(stated.entries, steps_of(certificate), strict=True)
        ],
        "rules": rules,
        "facts": list(dict.fromkeys([*facts_of_checker(rules), *_facts(claim, stated)])),
        "conditions": list(dict.fromkeys(map(str, [*stated.conditions, *granted]))),
    }  # fmt: skip


def _described(entry: EntryBound, proof: BoundProof) -> dict[str, Any]:
    known = proof.world

    def text(value: Any) -> str:
        return scalar_text(value, known)

    ratio = quotient_of(entry.right, entry.bound) if entry.proved and entry.bound != 0 else None
    unreached = [symbol for symbol in entry.bound.free_symbols if symbol in known.atoms] if known else []
    unreached = [text(symbol) for symbol in unreached if symbol not in entry.right.free_symbols]
    return {
        "left": text(entry.left),
        "right": text(entry.right),
        "bound": text(entry.bound),
        "proved": entry.proved,
        "steps": [
            {"rule": s.rule, "quantity": text(s.quantity), "bound": text(s.bound), "facts": facts_of([s.rule])}
            for s in entry.steps
        ],
        "unreached": sorted(unreached) if not entry.proved else [],
        "uncovered": text(uncovered(entry.bound, entry.right)) if not entry.proved and not unreached else None,
        "slack": str(ratio) if ratio is not None else None,
    }
