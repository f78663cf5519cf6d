"""A kept certificate in the place of a proof: of what it has to be, and which ones leave the proof to be found again."""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Annotated, Any

import pytest

from tests.claims_that_fail import toy
from tests.efforts import whole_or_part
from verify.checks import bound_proofs
from verify.checks.bound_proofs import prove_bound_claim, proved_bound
from verify.checks.certificate_steps import rules_of, steps_of
from verify.checks.certified import kept_of, states
from verify.checks.certified_bounds import kept_bound
from verify.checks.proofs import NOT_TRIED, prove_claim, proved
from verify.checks.record import UPHELD, VIOLATED
from verify.checks.settings import EFFORTS, Settings
from verify.kernel import check
from verify.kernel.bounds import RULES
from verify.kernel.isometries import RULES as ISOMETRIES
from verify.kernel.scalar_forms import Scalar
from verify.matrix import total
from verify.report.proof_texts import derivation_text
from verify.vocabulary import AtMost, Claim, Equal, Shape, load

pytestmark = pytest.mark.kept

REGISTRY = load()
QUICK = Settings(EFFORTS["quick"])
#: A bound of stacks, one that rests on an assumed inequality, one with a case of its own, one by an order of sizes.
BOUNDS = (
    "convergence.lemma-9",
    "skipless.prop-1-dominance-kappa",
    "skipless.prop-1-diffuse-sharp",
    "skipless.eq-6-wide",
)


def line_of(name: str) -> str:
    kept = kept_of(REGISTRY[name])
    assert kept is not None
    return kept


def with_formula(claim: Claim, formula: Callable[..., Any]) -> Claim:
    """The claim with another formula, of the same inputs."""

    @functools.wraps(claim.the_formula)
    def changed(**inputs: Any) -> Any:
        return claim.evaluate(formula, inputs)

    found = copy.copy(claim)
    found._formula = changed
    return found


def is_taken(claim: Claim, line: str) -> bool:
    """Whether a certificate stands for a derivation of a bound as its functions give it now."""
    stated = prove_bound_claim(claim, with_mutants=False, derive=False)
    assert not stated.proved
    return stated.is_stated and kept_bound(claim, stated, line) is not None


@pytest.mark.parametrize("name", BOUNDS)
def test_the_certificate_of_a_bound_stands_for_its_derivation(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = REGISTRY[name]
    monkeypatch.setattr(bound_proofs, "certified_bound", None)  # nothing is derived
    record = proved_bound(claim, QUICK)
    assert record.outcome == UPHELD, record.message
    written = json.loads(line_of(name))
    assert record.details["rules"] == rules_of(written) and record.examples > 0
    assert [entry["steps"] for entry in record.details["entries"]] == steps_of(written)
    assert "computed:" not in derivation_text(claim, record)


@pytest.mark.parametrize("name", BOUNDS)
def test_no_wrong_variant_passes_by_the_certificate_of_the_right_bound(name: str) -> None:
    claim, line = REGISTRY[name], line_of(name)
    assert is_taken(with_formula(claim, claim.the_formula), line)
    wrong = [with_formula(claim, mutant.function) for mutant in claim.mutants]
    assert not any(is_taken(found, line) for found in wrong)
    assert any(prove_bound_claim(found, with_mutants=False, derive=False).is_stated for found in wrong)


def test_a_bound_without_its_hypotheses_does_not_pass_by_its_certificate() -> None:
    given = [claim for claim in REGISTRY.values() if claim.all_sizes and claim.relation.one_sided and claim.hypotheses]
    kept = [claim for claim in given if kept_of(claim) is not None][:6]
    assert len(kept) == 6
    for claim in kept:
        found = copy.copy(claim)
        assert is_taken(found, line_of(claim.id))
        found.hypotheses = ()
        assert not is_taken(found, line_of(claim.id)), claim.id


def test_a_bound_of_more_sizes_does_not_pass_by_its_certificate() -> None:
    """It says nothing of n = 1, where the claim with this size does."""
    name = next(
        name
        for name, claim in REGISTRY.items()
        if claim.all_sizes and claim.relation.one_sided and (kept := kept_of(claim)) is not None
        for item in [json.loads(kept)]
        if any(isinstance(size, list) for size in item["sizes"]) and not item.get("cases")
    )
    claim = copy.copy(REGISTRY[name])
    assert is_taken(claim, line_of(name))
    claim.sizes = {size: (1, high) for size, (_, high) in claim.sizes.items()}
    claim.where = lambda sizes: True
    assert not is_taken(claim, line_of(name))


def forged(change: Callable[[dict[str, Any]], Any]) -> Callable[[str], str]:
    def made(line: str) -> str:
        certificate = json.loads(line)
        change(certificate)
        return json.dumps(certificate)

    return made


def _with_smaller_right(certificate: dict[str, Any]) -> None:
    table, part = certificate["table"], certificate["parts"][-1]
    table += [["q", 1, 100], ["*", len(table), part["right"]]]
    part["right"] = len(table) - 1


FORGED: dict[str, Callable[[str], str]] = {
    "truncated": lambda line: line[: len(line) // 2],
    "of another claim": lambda line: line_of("convergence.lemma-10"),
    "of another claim under this name": forged(lambda c: c.update(json.loads(line_of("convergence.lemma-10")), claim=c["claim"])),
    "a step less": forged(lambda c: c["parts"][-1]["steps"].pop()),
    "no steps": forged(lambda c: c["parts"][-1].update(steps=[])),
    "a part less": forged(lambda c: c["parts"].pop()),
    "a smaller right side": forged(_with_smaller_right),
    "sides of one": forged(lambda c: [part.update(left=part["right"], steps=[], comparison=["terms"]) for part in c["parts"]]),
    "a further assumption": forged(lambda c: c["assumptions"].append(c["parts"][0]["right"])),
    "a further property": forged(lambda c: c["inputs"]["X"].append("has orthonormal columns")),
    "a place that is no whole number": forged(lambda c: c["table"].__setitem__(-1, [*c["table"][-1][:-1], 1.0])),
}  # fmt: skip


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_certificate_of_a_bound_stands_for_nothing(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = REGISTRY["convergence.lemma-9"]
    line = FORGED[what](line_of(claim.id))
    assert line != line_of(claim.id) and not is_taken(claim, line)
    if what in ("a step less", "of another claim"):  # then it is derived, and what is kept is a failure as before
        monkeypatch.setattr(bound_proofs, "kept_of", lambda claim: line)
        record = proved_bound(claim, QUICK)
        assert record.outcome == VIOLATED and "certificate" in record.message
        assert record.details["entries"][0]["bound"]


def test_what_a_certificate_assumes_and_uses_is_named() -> None:
    used = {
        name: proved_bound(REGISTRY[name], QUICK).details["hypotheses"] for name in ("skipless.eq-6-wide", BOUNDS[0])
    }
    assert used["skipless.eq-6-wide"] == ["d_1 - n >= 0", "d_2 - n >= 0", "d_3 - n >= 0"]
    assert not any(">= 0" in text for text in used[BOUNDS[0]])


def test_equal_numbers_of_other_types_are_no_equal_words() -> None:
    """Python takes 1, 1.0 and true for one another, and the checker does not take them for the same place."""
    claim = REGISTRY["convergence.lemma-9"]
    line = forged(lambda c: c["parts"][0].update(left=float(c["parts"][0]["left"])))(line_of(claim.id))
    assert json.loads(line) == json.loads(line_of(claim.id)) and not is_taken(claim, line)


def test_the_statement_of_an_identity_is_compared_as_a_text() -> None:
    """A certificate that the checker reads is not taken for one that says 1.0 or true in the place of 1."""
    claim = next(
        c for c in REGISTRY.values() if c.all_sizes and '["q",1,' in (kept_of(c) or "") and '"uses"' in line_of(c.id)
    )
    line = line_of(claim.id)
    statement = json.loads(line)
    for part in statement["parts"]:
        part["uses"] = []
    for induction in statement.get("inductions", []):
        for invariant in induction["invariants"]:
            invariant.update(start=[], step=[])
    assert states(line, statement)
    for other in ("1.0", "true"):
        forged_line = line.replace('["q",1,', f'["q",{other},', 1)
        assert json.loads(forged_line) == json.loads(line) and not states(forged_line, statement)


def test_every_rule_of_the_checker_says_on_which_claims_it_rests() -> None:
    written = json.loads(line_of("convergence.lemma-9"))
    for rule in [
        *RULES,
        *ISOMETRIES,
        "largest of several",
        "one of several",
        "assumption",
        "orthonormal by assumption",
    ]:
        part = {"steps": [{"rule": rule, "arguments": []}], "comparison": ["terms"]}
        (steps,) = steps_of({**written, "parts": [part]})
        assert steps[0]["says"] and all(fact in REGISTRY for fact in steps[0]["facts"])
    with pytest.raises(KeyError):
        steps_of({**written, "parts": [{"steps": [{"rule": "of nobody", "arguments": []}], "comparison": ["terms"]}]})


@pytest.mark.parametrize("name", ["hessian.thm-3.2-qk", "osa.eq-47"])
def test_no_wrong_variant_passes_by_the_certificate_of_the_right_identity(name: str) -> None:
    claim = REGISTRY[name]
    record = proved(claim, QUICK)
    assert record.outcome == UPHELD and set(record.details["left by mutants"].values()) == {NOT_TRIED}
    records = [proved(with_formula(claim, mutant.function), QUICK) for mutant in claim.mutants]
    assert all(record.outcome == VIOLATED for record in records)
    assert any("remain" in record.message for record in records)


def test_an_identity_of_which_both_sides_are_zero_needs_a_wrong_variant_in_any_case() -> None:
    claim = toy("zero", Equal(), all_sizes=True)
    claim.formula(none_of)
    claim.oracle(lambda A: total(A) * 0)
    claim.mutant("nothing either", lambda A: total(A @ A.T) - total(A @ A.T))
    assert not prove_claim(claim, enough=0).proved
    claim = toy("zero-and-another", Equal(), all_sizes=True)
    claim.formula(none_of)
    claim.oracle(lambda A: total(A) * 0)
    claim.mutant("all of it", lambda A: 3 * total(A))
    claim.mutant("twice", lambda A: 2 * total(A))
    proof = prove_claim(claim, enough=0)
    assert proof.proved and list(proof.mutants) == ["all of it"]


def none_of(A: Annotated[Any, Shape("m", "n")]) -> Any:
    return total(A) - total(A)


def numbers_in(value: Scalar) -> Iterator[Any]:
    for monomial, c in value.terms.items():
        yield c
        yield from (e for _, e in monomial)


def test_the_checker_of_bounds_computes_without_floats(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its numbers are whole or fractions: the quotient of two whole ones would be a float."""
    types: set[type] = set()
    make = Scalar.__init__

    def watched(self: Scalar, terms: Any) -> None:
        make(self, terms)
        types.update(map(type, numbers_in(self)))

    monkeypatch.setattr(Scalar, "__init__", watched)
    bounds = [claim for claim in REGISTRY.values() if claim.all_sizes and isinstance(claim.relation, AtMost)]
    lines = [line for claim in bounds if (line := kept_of(claim)) is not None]
    for line in whole_or_part(pytestconfig, lines, lines[::6]):
        assert check(json.loads(line))
    assert types == {int, Fraction}
