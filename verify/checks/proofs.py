"""Proofs for all sizes: a claim's functions on matrices of symbolic sizes, and the check `proved`.

The check upholds a claim only if both sides reduce to one normal form, the normal forms of both sides equal in numbers the
values of the very functions that users import, and what every comparable mutant leaves is not zero in numbers.
"""

from __future__ import annotations

import contextlib
import itertools
import typing
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

import verify.arithmetics.symbols  # noqa: F401  (gives the primitives their forms)
from verify.arithmetics import midpoints
from verify.arithmetics.symbols.conditions import Condition
from verify.arithmetics.symbols.evaluation import Point
from verify.arithmetics.symbols.guarded import guarded
from verify.arithmetics.symbols.hypotheses import Hypothesis, hypothesis_on, vanishing
from verify.arithmetics.symbols.latex import normal_form_latex, read_back
from verify.arithmetics.symbols.operand import Indexed, named
from verify.arithmetics.symbols.proof import Proof, Side, float_values, parts_of, prove
from verify.arithmetics.symbols.sums import extra_rules
from verify.checks.evaluation import defect_of
from verify.checks.record import SEPARATION, UPHELD, VIOLATED, Record, blank, in_words, scored, separation_of
from verify.checks.settings import Settings
from verify.vocabulary.claims import PROVABLE, Assumption, Claim
from verify.vocabulary.errors import InputError
from verify.vocabulary.hypotheses import NORMAL_ENTRIES
from verify.vocabulary.hypotheses import Hypothesis as Property
from verify.vocabulary.relations import HasStructure
from verify.vocabulary.shapes import Real, Shape, Size, Spec, parameter_names

#: How far a normal form may be from the functions in floats, relative to the largest entry; the unit of all residuals here.
AGREEMENT = 1e-8
#: Where every entry is smaller, both sides count as zero, and differences are taken as they are.
SMALLEST = 1e-5
#: Random assignments of sizes for the spot check; the smallest sizes come on top.
SPOTS = 2
#: The smallest of those with different values are drawn from.
MOST_TELLING = 6
#: The largest sizes are tried too, so many of them, where the terms that a mutant leaves vanish at those.
MORE_SPOTS = 6
#: So many times each, at other seeds, since what a mask or a rectifier hides at one point it shows at another.
ROUNDS = 5
BETWEEN_ROUNDS = 1_000_003
#: Attempts at a point where both sides have finite values.
TRIES = 20
#: Longest normal form that a record keeps, as LaTeX; the formula may be twice as long.
LONGEST = 1500


# -- operands from annotations -----------------------------------------------------------------------------------------


def size_symbol(name: str) -> sympy.Symbol:
    """The positive integer symbol of a named size."""
    return sympy.Symbol(name, positive=True, integer=True)


def real_symbol(name: str, spec: Real) -> sympy.Symbol:
    """The real symbol of a scalar; positive or not zero where its range says so."""
    if spec.low > 0:
        return sympy.Symbol(name, positive=True)
    return sympy.Symbol(name, real=True, nonzero=True) if spec.avoid_zero else sympy.Symbol(name, real=True)


def symbolic_operands(parameters: Mapping[str, Spec], matrix: Callable[..., Any] = named) -> dict[str, Any]:
    """An operand for each annotated parameter: a named matrix, a real symbol, or the symbol of a size."""
    found: dict[str, Any] = {}
    for name, spec in parameters.items():
        if isinstance(spec, Shape):
            found[name] = matrix(name, *(int(dim) if dim.isdigit() else size_symbol(dim) for dim in spec.dims))
        elif isinstance(spec, Real):
            found[name] = real_symbol(name, spec)
        else:
            found[name] = size_symbol(spec.name)
    return found


def free_parameters(claim: Claim) -> dict[str, Spec]:
    """The inputs that stand in the proof as they do in the statement: those that the claim's own functions annotate.

    So do its hypotheses.

    Where a claim prepares its inputs (unit rows, a skew matrix), the preparation says how examples are made, and the proof
    may not depend on it: it takes any matrix, or what the declared hypotheses say of it.
    """
    if not claim.prepares_inputs:
        return dict(claim.parameters)
    found: dict[str, Spec] = {}
    for name, function in claim.named_functions().items():
        if name != "inputs":
            found = {**_annotated(function), **found}
    for item in claim.hypotheses:
        if isinstance(item, Assumption) and item.zero is not None:
            found = {**_annotated(item.zero), **found}
    return found


def _annotated(function: Callable[..., Any]) -> dict[str, Spec]:
    """The parameters of a function that are annotated with a shape, a range or a size."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError):
        return {}
    found = {}
    for name in parameter_names(function):
        spec = next((x for x in getattr(hints.get(name), "__metadata__", ()) if isinstance(x, Spec)), None)
        if spec is not None:
            found[name] = spec
    return found


def inputs_of(claim: Claim, matrix: Callable[..., Any] = named) -> dict[str, Any]:
    """The symbolic inputs of the claim's functions; raises `InputError` for one that is prepared and not annotated."""
    free = symbolic_operands(free_parameters(claim), matrix)
    if not claim.prepares_inputs:
        return free
    deciding = [part for role, part in claim.named_functions().items() if role != "inputs"]
    needed = {name for part in deciding for name in parameter_names(part)} - {"value"}
    if needed <= free.keys():
        return free
    raw = symbolic_operands(claim.parameters, matrix)
    for name, value in claim.prepare(raw).items():
        if name in free:
            continue
        if _is_as_drawn(value, name, raw):
            free[name] = value
        elif name in needed:
            raise InputError(name, "an annotation, since the proof may not rest on how it is prepared", "none")
    return free


def _is_as_drawn(value: Any, name: str, raw: Mapping[str, Any]) -> bool:
    """Whether a prepared input is the drawn parameter of its name, a size, or a matrix of given numbers."""
    if name in raw and value is raw[name]:
        return True
    if isinstance(value, sympy.Symbol):
        return bool(value.is_integer)
    return isinstance(value, Indexed) and not any(part.value.heads() for part in parts_of(value))


# -- proving -----------------------------------------------------------------------------------------------------------


def sides_of(claim: Claim) -> tuple[Side, Side | None, dict[str, Side]]:
    """Formula, oracle (None for a structure, whose defect vanishes) and mutants as functions of the prepared inputs."""
    structure = isinstance(claim.relation, HasStructure)

    def side(function: Any) -> Side:
        own = defect_of(claim, function) if structure else function
        return lambda prepared: claim.evaluate(own, prepared)

    oracle = None if structure else side(claim.the_oracle)
    return side(claim.the_formula), oracle, {mutant.name: side(mutant.function) for mutant in claim.mutants}


def prove_claim(claim: Claim) -> Proof:
    """Try to prove a claim of relation *equal* or *structure*, by the hypotheses that it declares."""
    if claim.relation.kind not in PROVABLE:
        raise InputError("claim", f"one of kind {' or '.join(PROVABLE)}", f"{claim.id}, {claim.relation.kind}")
    try:
        formula, oracle, mutants = sides_of(claim)
        inputs_of(claim)
    except Exception as error:  # whatever goes wrong, it is not proved
        return Proof(False, f"{type(error).__name__}: {error}")
    proof = prove(
        formula,
        oracle or (lambda prepared: _zero_like(formula(prepared))),
        lambda: {name: guarded(value) for name, value in inputs_of(claim).items()},
        mutants,
        lambda prepared: _given(claim, prepared),
    )
    failing = next((found for item in proof.conditions if (found := _exception_to(item, claim)) is not None), None)
    if proof.proved and failing is not None:
        proof.proved, proof.reason = False, failing
    return proof


def _given(claim: Claim, operands: Mapping[str, Any]) -> list[Hypothesis]:
    """The declared hypotheses: properties of single inputs, and assumptions by the matrices that vanish.

    Each is read by those before it: that a matrix is skew changes the form of an equation in it.
    """
    found: list[Hypothesis] = []
    with contextlib.ExitStack() as stack:
        for item in claim.hypotheses:
            if isinstance(item, Assumption):
                assert item.zero is not None
                parts = parts_of(claim.evaluate(item.zero, operands))
                found.append(vanishing(item.text, [part.value for part in parts]))
            else:
                found.append(hypothesis_on(item.of, item.property, _sizes_of(operands, item)))
            stack.enter_context(extra_rules(found[-1].rules()))
    return found


def _sizes_of(operands: Mapping[str, Any], item: Property) -> tuple[Any, ...]:
    """The sizes of the input that a hypothesis is on; an expectation knows those of its matrices."""
    if item.property == NORMAL_ENTRIES:
        return ()
    if not isinstance(operands.get(item.of), Indexed):
        raise InputError("hypothesis", f"one of the matrices {sorted(operands)}", item.of)
    return operands[item.of].value.slots


def _zero_like(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_zero_like(item) for item in value]
    return value * 0


def _exception_to(condition: Condition, claim: Claim) -> str | None:
    """The first sizes that the claim admits and at which the proof does not hold, if any."""
    for sizes in admitted_sizes(claim):
        if condition.holds({size_symbol(name): value for name, value in sizes.items()}) is False:
            return f"the proof rests on {condition}, which the claim does not grant at {in_words(sizes)}"
    return None


def admitted_sizes(claim: Claim) -> list[dict[str, int]]:
    """Every assignment of sizes in the claim's ranges that meets its condition, smallest first."""
    names = list(claim.sizes)
    ranges = [range(low, high + 1) for low, high in claim.sizes.values()]
    every = (dict(zip(names, values, strict=True)) for values in itertools.product(*ranges))
    return sorted((sizes for sizes in every if claim.where(sizes)), key=lambda sizes: sum(sizes.values()))


# -- the same functions in floats --------------------------------------------------------------------------------------


@dataclass
class SpotCheck:
    """The sides of an identity in floats, against their own normal forms, and what mutants leave, in numbers."""

    sizes: dict[str, int]
    worst: float
    mutants: dict[str, float]

    @property
    def agrees(self) -> bool:
        return self.worst <= AGREEMENT


def spot_check(claim: Claim, proof: Proof, sizes: Mapping[str, int], seed: int) -> SpotCheck:
    """The largest difference between the normal forms of both sides and the functions that users import, at random inputs.

    `mutants` gives the largest entry that the terms left by each comparable mutant add up to, relative to the same scale.
    """
    rng = np.random.default_rng([seed, zlib.crc32(claim.id.encode()), *sizes.values()])
    formula, oracle, _ = sides_of(claim)
    found = SpotCheck(dict(sizes), np.inf, {})
    for _ in range(TRIES):
        point, inputs = _random_point(claim, sizes, rng)
        left = _floats(formula(inputs))
        right = _floats(oracle(inputs)) if oracle is not None else np.zeros_like(left)
        if not (np.isfinite(left).all() and np.isfinite(right).all()):
            continue
        largest = max(float(np.abs(left).max(initial=0.0)), float(np.abs(right).max(initial=0.0)))
        scale = largest if largest > SMALLEST else 1.0
        found.worst = max(
            _distance(left, float_values(proof.left, point)), _distance(right, float_values(proof.right, point))
        )
        found.worst /= scale
        for name, remains in proof.mutants.items():
            if remains.value is not None:
                gaps = [float(np.abs(point.values(part)).max(initial=0.0)) for part in remains.value]
                found.mutants[name] = max(gaps, default=0.0) / scale
        return found
    return found


def _random_point(claim: Claim, sizes: Mapping[str, int], rng: np.random.Generator) -> tuple[Point, dict[str, Any]]:
    """Random values for the operands at these sizes, and the same as inputs of the claim's functions."""
    import torch

    scalars: dict[Any, float] = {size_symbol(name): value for name, value in sizes.items()}
    raw: dict[str, Any] = {}
    for name, spec in claim.parameters.items():
        if isinstance(spec, Size):
            raw[name] = sizes[spec.name]
        elif isinstance(spec, Real):
            raw[name] = torch.tensor(_random_scalar(spec, rng), dtype=torch.float64)
        else:
            raw[name] = torch.as_tensor(rng.standard_normal(spec.resolve(sizes)))
    inputs = claim.prepare(raw)
    arrays = {}
    for name, spec in {**claim.parameters, **free_parameters(claim)}.items():
        value = inputs.get(name, raw.get(name))
        if value is not None and isinstance(spec, Shape):
            arrays[name] = _floats(value)
            for dim, size in zip(spec.dims, value.shape, strict=True):
                if not dim.isdigit():  # a size that only the preparation knows
                    scalars.setdefault(size_symbol(dim), int(size))
        elif value is not None and isinstance(spec, Real):
            scalars[real_symbol(name, spec)] = float(value)
    return Point(scalars, arrays), inputs


def _random_scalar(spec: Real, rng: np.random.Generator) -> float:
    value = float(rng.uniform(spec.low, spec.high))
    return value if value or not spec.avoid_zero else spec.high


def _floats(value: Any) -> np.ndarray:
    """The entries of a side in floats, flattened; of several matrices one after the other."""
    if isinstance(value, (list, tuple)):
        return np.concatenate([_floats(part) for part in value])
    plain = value.detach().numpy() if hasattr(value, "detach") else midpoints(value)
    return np.asarray(plain, dtype=np.float64).reshape(-1)


def _distance(one: np.ndarray, other: np.ndarray) -> float:
    if one.shape != other.shape or not np.isfinite(other).all():
        return np.inf
    return float(np.abs(one - other).max(initial=0.0))


def spot_sizes(claim: Claim, seed: int) -> list[dict[str, int]]:
    """Two random assignments of sizes, with few ones where that can be helped, and the smallest, where sizes coincide."""
    admitted = admitted_sizes(claim)
    if not admitted:
        return []
    # few ones, and as many different values as there are: what holds for equal sizes only shows
    rank = {id(sizes): (sum(v == 1 for v in sizes.values()), -len(set(sizes.values()))) for sizes in admitted}
    least = min(rank.values())
    telling = [sizes for sizes in admitted if rank[id(sizes)] == least][:MOST_TELLING]
    rng = np.random.default_rng([seed, zlib.crc32(claim.id.encode())])
    chosen = [telling[int(k)] for k in rng.permutation(len(telling))[:SPOTS]]
    while len(chosen) < SPOTS:
        chosen.append(admitted[int(rng.integers(len(admitted)))])
    return [*chosen, admitted[0]]


# -- the check ---------------------------------------------------------------------------------------------------------


def proved(claim: Claim, settings: Settings) -> Record:
    """Both sides to one normal form, for all sizes; only the spot check depends on the seed."""
    proof = prove_claim(claim)
    chosen = spot_sizes(claim, settings.seed) if proof.proved else []
    spots = [spot_check(claim, proof, sizes, settings.seed) for sizes in chosen]
    # a mutant may be right at some sizes, as a rotation left out of a conjugation is in the plane
    largest = [sizes for sizes in reversed(admitted_sizes(claim)) if sizes not in chosen][:MORE_SPOTS]
    for round_, sizes in itertools.product(range(ROUNDS), largest or chosen):
        if not proof.proved or not _vanishing(proof, spots):
            break
        spots.append(spot_check(claim, proof, sizes, settings.seed + round_ * BETWEEN_ROUNDS))
    problem = proof.reason if not proof.proved else _problem(claim, proof, spots)
    worst = max((spot.worst for spot in spots), default=np.inf) / AGREEMENT
    gaps = {
        name: max((spot.mutants.get(name, 0.0) for spot in spots), default=0.0) / AGREEMENT
        for name, remains in proof.mutants.items()
        if remains.terms is not None
    }
    return blank(
        claim,
        "proved",
        "symbols",
        UPHELD if problem is None else VIOLATED,
        examples=len(spots),
        satisfied=sum(spot.agrees for spot in spots),
        worst_residual=worst if np.isfinite(worst) else None,
        separation=separation_of(gaps, worst),
        mutants={name: scored(gap) for name, gap in gaps.items()},
        message=problem or "",
        details=details_of(claim, proof, spots),
    )


def _problem(claim: Claim, proof: Proof, spots: list[SpotCheck]) -> str | None:
    """Why both sides reducing to one normal form is not enough, if it is not."""
    if not spots:
        return "no sizes to compare the normal forms with the functions at"
    for spot in spots:
        if not spot.agrees:
            return f"the normal forms differ from the functions by {spot.worst:.3g} at {in_words(spot.sizes)}"
    for name in _vanishing(proof, spots):
        return f"the terms that mutant {name!r} leaves add up to zero in numbers"
    return None


def _vanishing(proof: Proof, spots: list[SpotCheck]) -> list[str]:
    """The mutants whose terms add up to zero in numbers at all of these sizes."""
    return [
        name
        for name, remains in proof.mutants.items()
        if remains.terms and not any(spot.mutants[name] >= SEPARATION * AGREEMENT for spot in spots)
    ]


def details_of(claim: Claim, proof: Proof, spots: list[SpotCheck]) -> dict[str, Any]:
    """What a record keeps of a proof."""
    comparable = [name for name, remains in proof.mutants.items() if remains.terms is not None]
    found: dict[str, Any] = {
        "terms": {"left": proof.left_terms, "right": proof.right_terms},
        "rules": proof.rules,
        "hypotheses": proof.hypotheses,
        "conditions": [str(condition) for condition in proof.conditions],
        "positive": [name for name, spec in free_parameters(claim).items() if isinstance(spec, Real) and spec.low > 0],
        "seconds": proof.seconds,
        "remains": proof.remaining[:1],
        "left by mutants": {
            name: remains.terms if remains.terms is not None else f"not comparable: {remains.reason}"
            for name, remains in proof.mutants.items()
        },
        "spots": [{"sizes": spot.sizes, "worst": spot.worst} for spot in spots],
    }
    if proof.mutants and not comparable:
        found["note"] = "no mutant can be compared symbolically: they are told apart by the other checks alone"
    if proof.left is not None:
        found["formula"] = _bounded(read_back(proof.left))
        found["normal form"] = normal_form_latex(proof.left, LONGEST)
    return found


def _bounded(text: str) -> str:
    return text if len(text) <= 2 * LONGEST else ""
