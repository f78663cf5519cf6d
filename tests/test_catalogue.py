"""The registry against the catalogue of printed claims, where that folder is present; and the registry against itself."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from verify.evidence.runner import problems_of_declaration
from verify.report.citations import section, section_link
from verify.report.weights import stated
from verify.vocabulary import Claim, load

pytestmark = pytest.mark.kept("../shared/claims")

REGISTRY = load()
CATALOGUE = Path(__file__).resolve().parents[2] / "shared" / "claims"
#: Where claims stand on the web pages of their papers: sections, subsections of appendices, parts without a number.
PLACES = {
    "osa.thm-2.1": ("2.1", "https://arxiv.org/html/2602.05996#S2.SS1"),
    "osa.eq-5-skew": ("2", "https://arxiv.org/html/2602.05996#S2"),
    "skipless.eq-37": ("A.4.4", "https://arxiv.org/html/2510.00345#A1.SS4.SSS4"),
    "hessian.lem-C.1-entry": ("C", "https://arxiv.org/html/2410.10986#A3"),
    "dynamics.eq-92": ("B", "https://arxiv.org/html/2505.19458#A2"),
    "convergence.lemma-15-gram": ("C.3", "https://arxiv.org/html/2311.01575#A3.SS3"),
    "convergence.lemma-7-quarter": ("C.1", ""),
}
SLICE = [
    "osa.thm-2.1",
    "osa.thm-a.1-eq-10",
    "osa.thm-c.2",
    "osa.thm-c.1",
    "osa.ns-convergence",
    "osa.alg-1",
    "skipless.eq-10",
    "skipless.eq-17",
    "skipless.eq-37",
    "dynamics.lemma-a.2",
    "dynamics.prop-4.1",
    "dynamics.prop-5.1",
    "hessian.thm-3.1-qk",
    "hessian.thm-3.2-qk",
    "hessian.lem-C.1-entry",
    "hessian.rem-3.1-z1",
    "convergence.lemma-11",
    "convergence.lemma-1",
    "convergence.prop-1",
]


def test_the_first_nineteen_claims_are_encoded() -> None:
    assert [claim_id for claim_id in SLICE if claim_id not in REGISTRY] == []


@pytest.mark.skipif(not CATALOGUE.is_dir(), reason="the catalogue of printed claims is not beside this checkout")
def test_ids_and_labels_are_those_of_the_catalogue() -> None:
    labels = {
        entry["id"]: entry["label"]
        for path in CATALOGUE.glob("*.yaml")
        for entry in yaml.safe_load(path.read_text(encoding="utf-8"))
    }
    printed = {claim.id: claim.label for claim in REGISTRY.values() if not claim.of_project}
    assert {claim_id: label for claim_id, label in printed.items() if labels.get(claim_id, label) != label} == {}
    assert labels.keys() <= printed.keys()
    own = {claim.id for claim in REGISTRY.values() if claim.of_project}
    assert own & set(labels) == set()


@pytest.mark.skipif(not CATALOGUE.is_dir(), reason="the catalogue of printed claims is not beside this checkout")
def test_weights_are_those_of_the_catalogue() -> None:
    weights = {
        entry["id"]: entry["weight"]
        for path in CATALOGUE.glob("*.yaml")
        for entry in yaml.safe_load(path.read_text(encoding="utf-8"))
    }
    known = stated("theorems")
    assert {claim_id: known.get(claim_id) for claim_id in weights} == weights


@pytest.mark.parametrize("claim_id", PLACES)
def test_a_claim_leads_to_its_section_on_the_web_page_of_its_paper(claim_id: str) -> None:
    assert (section(REGISTRY[claim_id]), section_link(REGISTRY[claim_id])) == PLACES[claim_id]


def test_every_printed_claim_has_a_section() -> None:
    assert [claim.id for claim in REGISTRY.values() if not claim.of_project and not section_link(claim)] == []


@pytest.mark.parametrize("module", dict.fromkeys(claim.module for claim in REGISTRY.values()))
def test_claims_are_complete(module: str) -> None:
    found = {claim.id: missing_of(claim, REGISTRY) for claim in REGISTRY.values() if claim.module == module}
    assert {claim_id: missing for claim_id, missing in found.items() if missing} == {}


def missing_of(claim: Claim, registry: Mapping[str, Claim]) -> list[str]:
    """What a claim lacks, and what the claims lack that its verdict speaks of."""
    missing = problems_of_declaration(claim)
    formula = claim.the_formula
    if not formula.__doc__:
        missing.append("the formula has no docstring")
    found = getattr(importlib.import_module(formula.__module__), formula.__name__, None)
    if getattr(found, "__wrapped__", None) is not formula:
        missing.append("the formula is no function that can be imported")
    if claim.expects == "refuted":
        standing_on_it = [other for other in registry.values() if claim.id in (*other.presumes, *other.proof)]
        if not (claim.correction or any(other.correction for other in standing_on_it)):
            missing.append("what does not hold is not corrected")
    if claim.expects == "gap":
        steps = [registry[other] for other in (*claim.presumes, *claim.proof)]
        refuted = [other for other in steps if other.expects == "refuted"]
        if not refuted:
            missing.append("nothing refuted makes the gap")
        if not (claim.correction or all(other.correction for other in refuted)):
            missing.append("what makes the gap is not corrected")
    return missing


def test_what_a_claim_lacks_is_seen() -> None:
    def changed(kind: str, alone: bool = False, **fields: Any) -> str:
        claim = copy.copy(next(each for each in REGISTRY.values() if each.expects == kind))
        vars(claim).update(fields)
        return "; ".join(missing_of(claim, {} if alone else REGISTRY))

    assert [changed(kind) for kind in ("holds", "refuted", "gap")] == ["", "", ""]
    assert "declares at least two mutants" in changed("holds", mutants=[])
    without = changed("holds", _formula=lambda X: X)
    assert "the formula has no docstring" in without and "no function that can be imported" in without
    assert "what does not hold is not corrected" in changed("refuted", alone=True, correction=None)
    assert "nothing refuted makes the gap" in changed("gap", presumes=(), proof=())
    for other in REGISTRY.values():
        if other.expects == "refuted" and not other.correction:
            uncorrected = changed("gap", presumes=(other.id,), proof=(), correction=None)
            assert uncorrected == "what makes the gap is not corrected"
            break
    else:
        raise AssertionError("every refuted claim has a correction of its own")
