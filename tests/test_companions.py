"""Companions of a claim: what it takes over, what is its own, and what is refused."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from verify.matrix import absolute, ones
from verify.vocabulary import Assumption, AtMost, Claim, Paper, Real, RegistryError, Setting
from verify.vocabulary.registry import Registry

pytestmark = pytest.mark.kept

PAPER = Paper("toy", "Toy claims", "nobody", "row-major")
Number = Annotated[Any, Real(-2.0, 2.0)]
POSITIVE = Assumption("c >= 0", nonnegative=lambda c: c)
FREE = Setting(PAPER, "Section 1", sizes={"n": (1, 2)})
STATED = FREE.extended(assumptions=[POSITIVE])


def bound() -> Claim:
    it = Claim(STATED, "toy.a", "a", name="a", statement="|c| <= c", relation=AtMost(), expects="gap", uses=(),
        presumes=("toy.a-any",), missing="c >= 0", correction="toy.a-absolute", note="of a alone")  # fmt: skip
    it.formula(number)
    it.oracle(lambda c: ones(1, 1) * absolute(c))
    it.mutant("half", "c -> c / 2")
    it.mutant("a third", lambda value: value / 3)
    it.domain("zero", lambda arrays, sizes, rng: None)
    return it


def number(c: Number) -> Any:
    """c."""
    return ones(1, 1) * c


def size(c: Number) -> Any:
    """|c|."""
    return ones(1, 1) * absolute(c)


def without(it: Claim, **other: Any) -> Claim:
    given = {"setting": FREE, "label": "a, for every c", "name": "a any", "statement": "|c| <= c for every c", **other}
    return it.without(POSITIVE, "toy.a-any", {"c = -1": lambda: {"c": -1}}, **given)


def test_a_claim_without_an_assumption_is_refuted_by_what_is_given() -> None:
    it = bound()
    found = without(it)
    assert found.expects == "refuted" and found.severity == "error" and found.of_project
    assert found.module == __name__ and found.note is None and found.correction is None
    assert found.assumption_texts == [] and found.the_formula is it.the_formula and found.the_oracle is it.the_oracle
    assert [mutant.name for mutant in found.mutants] == ["half", "a third"] and "zero" in found.special_domains
    assert [item.title for item in found.counterexamples] == ["c = -1"]


def test_an_assumption_of_the_claim_itself_needs_no_other_setting() -> None:
    it = Claim(FREE, "toy.b", "b", name="b", statement="x", relation=AtMost(), assumptions=[POSITIVE])
    it.formula(number)
    assert it.without(POSITIVE, "toy.b-any", {}, label="b", name="b", statement="x").assumption_texts == []


def test_what_is_not_assumed_or_still_assumed_is_refused() -> None:
    it = bound()
    with pytest.raises(RegistryError, match=r"toy\.a-any: its setting still assumes 'c >= 0'; give another one"):
        without(it, setting=STATED)
    other = Assumption("c >= 1", nonnegative=lambda c: c - 1)
    with pytest.raises(RegistryError, match=r"toy\.c: 'c >= 1' is no assumption of toy\.a: \['c >= 0'\]"):
        it.without(other, "toy.c", {}, label="c", name="c", statement="x")
    with pytest.raises(RegistryError, match=r"toy\.a has no mutants \['twice'\]; it has \['a third', 'half'\]"):
        without(it, mutants=["twice"])


def test_a_correction_has_its_own_formula_and_mutants_of_it() -> None:
    it = bound()
    found = it.corrected(
        "toy.a-absolute", setting=FREE, label="a", name="a absolute", statement="|c| <= |c|", mutants=["half"]
    )

    found.formula(size)
    assert found.corrects == ("toy.a",) and found.expects == "holds" and found.the_oracle is it.the_oracle
    (half,) = found.mutants
    assert float(half.function(c=-3.0)[0, 0]) == 1.5, "half of the new formula, not of the old one"
    assert float(it.mutants[0].function(c=-3.0)[0, 0]) == -1.5, "the claim keeps its own"
    claims = Registry([it, found, without(it)])
    assert claims["toy.a"].correction == "toy.a-absolute"


def test_a_correction_takes_no_mutants_unless_they_are_named() -> None:
    assert bound().corrected("toy.a-absolute", label="a", name="a", statement="x").mutants == []


def test_what_a_correction_says_takes_the_place_of_what_its_claim_says() -> None:
    it = Claim(
        FREE, "toy.b", "b", name="b", statement="x", relation=AtMost(), assumptions=[POSITIVE], sizes={"n": (2, 2)}
    )
    it.formula(number)
    other = Assumption("c >= 1", nonnegative=lambda c: c - 1)
    own = {"label": "b", "name": "b", "statement": "x"}
    assert it.corrected("toy.b-same", **own).assumption_texts == ["c >= 0"]
    assert it.corrected("toy.b-other", assumptions=[other], **own).assumption_texts == ["c >= 1"]
    assert it.corrected("toy.b-none", assumptions=[], sizes={"n": (1, 1)}, **own).assumption_texts == []
    assert it.corrected("toy.b-sizes", sizes={"n": (1, 1)}, **own).sizes == {"n": (1, 1)}
    further = it.without(POSITIVE, "toy.b-any", {}, assumptions=[other], **own)
    assert further.assumption_texts == ["c >= 1"] and further.sizes == it.sizes


def test_what_is_printed_twice_is_one_claim_under_two_ids() -> None:
    it = Claim(STATED, "toy.a", "a", name="a", statement="|c| <= c", relation=AtMost())
    it.formula(number)
    it.oracle(lambda c: ones(1, 1) * absolute(c))
    it.mutant("half", "c -> c / 2")
    again = it.restated("toy.b", label="b", name="b")
    assert not again.of_project and again.statement == it.statement and again.module == __name__
    assert again.the_formula is it.the_formula and again.the_oracle is it.the_oracle and len(again.mutants) == 1
    assert again.corrects == () and again.expects == "holds"
