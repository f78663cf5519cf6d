"""Proofs for all sizes: a claim's functions on matrices of symbolic sizes, and the check `proved`.

The check upholds a claim only if both sides reduce to one normal form; the very functions that users import have the values
of their normal forms in numbers, and one another's, at sizes far beyond the claim's ranges too; and what every comparable
mutant leaves is not zero in numbers.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from verify.arithmetics.formula_latex import formula_latex
from verify.arithmetics.symbols.block_functions import TRIANGULAR
from verify.arithmetics.symbols.difference import Proof, parts_of, prove
from verify.arithmetics.symbols.hypothesis_rules import HypothesisRule, hypothesis_on, vanishing
from verify.arithmetics.symbols.indexed import Indexed
from verify.arithmetics.symbols.latex import normal_form_latex
from verify.arithmetics.symbols.matrix_exponential_rules import MEAN_TIMES_MATRIX
from verify.arithmetics.symbols.sums import extra_rules, recording_rules, trying_first
from verify.arithmetics.tracing import value_of
from verify.checks.asked_kinds import kind_asked
from verify.checks.certified import certified, kept_of
from verify.checks.granted import first_exception
from verify.checks.operands import (
    admitted_sizes,
    free_parameters,
    inputs_of,
    real_symbol,
    sides_of,
    size_symbol,
    symbolic_operands,
)
from verify.checks.record import SEPARATION, UPHELD, VIOLATED, Record, blank, scored, separation_of, sizes_text
from verify.checks.settings import Settings
from verify.checks.size_relations import size_relations
from verify.checks.spots import (
    AGREEMENT,
    SPOTS,
    WITH_CERTIFICATE,
    SpotCheck,
    agree_in_balls,
    far_sizes,
    far_spot,
    spot_check,
    spot_sizes,
)
from verify.vocabulary.assumptions import Assumption
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import InputError
from verify.vocabulary.hypotheses import NORMAL_ENTRIES
from verify.vocabulary.hypotheses import Hypothesis as Property
from verify.vocabulary.relations import PROVABLE
from verify.vocabulary.shapes import Real

#: The largest sizes are tried too, so many of them, where the terms that a mutant leaves vanish at those.
MORE_SPOTS = 6
#: So many times each, at other seeds, since what a mask or a rectifier hides at one point it shows at another.
ROUNDS = 5
BETWEEN_ROUNDS = 1_000_003
#: So many wrong variants have to leave terms where a certificate of the proof is kept: the checker, and not the prover, says
#: there that the sides are equal.  Effort deep tries all of them.
ENOUGH = 0
NOT_TRIED = "not tried; effort deep tries it"
#: Longest normal form that a record keeps, as LaTeX; the formula may be twice as long.
LONGEST = 1500


# -- proving -----------------------------------------------------------------------------------------------------------


def prove_claim(claim: Claim, enough: int | None = None) -> Proof:
    """Try to prove a claim of relation *equal* or *structure*, by the hypotheses that it declares.

    Its wrong variants are tried in the order of the source: all of them, or until `enough` have left terms.  What is left
    of exponentials of blocks is tried again in another order of the rules.
    """
    if not claim.relation.entrywise:
        raise InputError("claim", f"one of kind {' or '.join(PROVABLE)}", f"{claim.id}, {claim.relation.kind}")
    if asked := kind_asked(claim):
        return Proof(False, asked)
    proof = _attempt(claim, {}, enough)
    if not proof.proved and (given := size_relations(claim)):  # sizes that the statement gives by others
        other = _attempt(claim, given, enough)
        other.hypotheses += [f"{name} = {value}" for name, value in given.items()]
        return other if other.proved else proof
    if not proof.proved and TRIANGULAR in proof.rules:
        with trying_first(MEAN_TIMES_MATRIX):
            other = _attempt(claim, {}, enough)
        return other if other.proved else proof
    return proof


def _attempt(claim: Claim, given: Mapping[str, Any], enough: int | None) -> Proof:
    """A proof with some sizes given as products of others, if there is one."""
    try:
        formula, oracle, mutants = sides_of(claim)
        inputs_of(claim, given=given)
    except Exception as error:  # whatever goes wrong, it is not proved
        return Proof(False, f"{type(error).__name__}: {error}")
    proof = prove(
        formula,
        oracle or (lambda prepared: _zero_like(formula(prepared))),
        lambda: inputs_of(claim, given=given),
        mutants,
        lambda prepared: _given(claim, prepared),
        enough,
    )
    failing = first_exception(proof.conditions, claim)
    if proof.proved and failing is not None:
        proof.proved, proof.reason = False, failing
    return proof


def _given(claim: Claim, operands: Mapping[str, Any]) -> list[HypothesisRule]:
    """The declared hypotheses: properties of single inputs, and assumptions by the matrices that vanish.

    Each is read by those before it: that a matrix is skew changes the form of an equation in it.
    """
    found: list[HypothesisRule] = []
    with contextlib.ExitStack() as stack:
        for item in claim.hypotheses:
            with recording_rules() as read:
                if isinstance(item, Assumption):
                    assert item.zero is not None
                    parts = parts_of(value_of(claim.evaluate(item.zero, operands)))
                    made = vanishing(item.text, [part.value for part in parts])
                else:
                    made = hypothesis_on(item.of, item.property, _sizes_of(operands, item))
            found.append(replace(made, read=frozenset(read & {earlier.name for earlier in found})))
            stack.enter_context(extra_rules(made.rules))
    return found


def _sizes_of(operands: Mapping[str, Any], item: Property) -> tuple[Any, ...]:
    """The sizes of the input that a hypothesis is on; an expectation knows those of its matrices."""
    if item.property == NORMAL_ENTRIES:
        return ()
    found = value_of(operands.get(item.of))
    if not isinstance(found, Indexed):
        raise InputError("hypothesis", f"one of the matrices {sorted(operands)}", item.of)
    return found.value.slots


def _zero_like(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_zero_like(item) for item in value]
    return value * 0


# -- the check ---------------------------------------------------------------------------------------------------------


def proved(claim: Claim, settings: Settings) -> Record:
    """Both sides to one normal form, for all sizes; only the spot check depends on the seed.

    Where a certificate is kept, and is not sought anew, no wrong variant is tried that need not be, and the record names them.
    """
    before = kept_of(claim)
    by_checker = before is not None and not settings.effort.anew
    proof = prove_claim(claim, ENOUGH if by_checker else None)
    chosen = spot_sizes(claim, settings.seed, WITH_CERTIFICATE if by_checker else SPOTS) if proof.proved else []
    spots = [spot_check(claim, proof, sizes, settings.seed) for sizes in chosen]
    # a mutant may be right at some sizes, as a rotation left out of a conjugation is in the plane
    largest = [sizes for sizes in reversed(admitted_sizes(claim)) if sizes not in chosen][:MORE_SPOTS]
    for round_, sizes in itertools.product(range(ROUNDS), largest or chosen):
        if not proof.proved or not _vanishing(proof, spots):
            break
        spots.append(spot_check(claim, proof, sizes, settings.seed + round_ * BETWEEN_ROUNDS))
    far = [far_spot(claim, sizes, settings.seed) for sizes in (far_sizes(claim, proof) if proof.proved else [])]
    in_balls = agree_in_balls(claim, chosen[0], settings.seed) if chosen else None
    certificate = certified(claim, proof, before, settings.effort.anew) if proof.proved else None
    problem = proof.reason if not proof.proved else _problem(proof, spots, far, in_balls)
    problem = problem or (certificate.problem if certificate is not None else None)
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
        details=details_of(claim, proof, spots, far) | ({"certificate": certificate.details} if certificate else {}),
    )


def _problem(proof: Proof, spots: list[SpotCheck], far: list[SpotCheck], in_balls: bool | None) -> str | None:
    """Why both sides reducing to one normal form is not enough, if it is not."""
    if not spots:
        return "no sizes to compare the normal forms with the functions at"
    for spot in spots:
        if not spot.agrees:
            return f"the functions differ from each other or their normal forms by {spot.worst:.3g} at {sizes_text(spot.sizes)}"
    for spot in far:
        if not spot.agrees:
            return f"both sides differ by {spot.worst:.3g} at {sizes_text(spot.sizes)}, beyond the claim's ranges"
    if in_balls is not True:
        return "both sides differ for certain in balls" if in_balls is False else "balls decide at no draw"
    for name in _vanishing(proof, spots):
        return f"the terms that mutant {name!r} leaves add up to zero in numbers"
    return None


def _vanishing(proof: Proof, spots: list[SpotCheck]) -> list[str]:
    """The mutants whose terms add up to zero in numbers at all of these sizes."""
    return [
        name
        for name, remains in proof.mutants.items()
        if remains.terms and not any(spot.mutants.get(name, 0.0) >= SEPARATION * AGREEMENT for spot in spots)
    ]


def details_of(claim: Claim, proof: Proof, spots: list[SpotCheck], far: list[SpotCheck]) -> dict[str, Any]:
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
        }
        | {mutant.name: NOT_TRIED for mutant in claim.mutants if proof.proved and mutant.name not in proof.mutants},
        "spots": [{"sizes": spot.sizes, "worst": spot.worst} for spot in spots],
        "far": [{"sizes": spot.sizes, "worst": spot.worst} for spot in far],
    }
    if proof.mutants and not comparable:
        found["note"] = "no mutant can be compared symbolically: they are told apart by the other checks alone"
    if proof.left is not None:
        found["formula"] = _bounded(formula_latex(proof.formula))
        found["normal form"] = normal_form_latex(proof.left, LONGEST)
    return found


def _bounded(text: str) -> str:
    return text if len(text) <= 2 * LONGEST else ""


__all__ = ["free_parameters", "inputs_of", "prove_claim", "proved", "real_symbol", "size_symbol", "symbolic_operands"]
