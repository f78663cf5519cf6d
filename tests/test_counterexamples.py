"""Declared counterexamples: what certifies one, in which arithmetic, and what does not."""

from __future__ import annotations

import math
from typing import Any

import flint
import numpy as np
import pytest

from tests import claims_that_fail as toy
from verify.checks import attack_on
from verify.checks.counterexamples import CertificateError, _distance_in_units, certify, shown, sizes_allowed
from verify.checks.record import CERTIFIED, UNCERTIFIED, Record
from verify.matrix import exp, total
from verify.vocabulary import Assumption, AtMost, Claim, Equal

pytestmark = pytest.mark.kept


def claim(name: str, formula: Any, oracle: Any, relation: Any = None, mutants: Any = None, **options: Any) -> Claim:
    """A claim about one row t that is expected to be refuted."""
    settings = {"sizes": {"n": (1, 3)}, "expects": "refuted", "severity": "error", **options}
    found = toy.toy(name, relation or Equal(), **settings)

    def left(t: toy.Row) -> Any:
        return formula(t)

    def right(t: toy.Row) -> Any:
        return oracle(t)

    found.formula(left)
    found.oracle(right)
    for mutant, function in (
        mutants or {"doubled": lambda value: 2 * value, "shifted": lambda value: value + 1}
    ).items():
        found.mutant(mutant, function)
    return found


def certified(of: Claim, **rows: Any) -> Record:
    """The record of counterexamples, by title, each a row t."""
    for title, row in rows.items():
        of.counterexample(title.replace("_", " "), t=[row])
    return certify(of, attack_on(of))


def test_a_counterexample_among_rationals_is_exact() -> None:
    record = certified(claim("plus-one", lambda t: t + 1, lambda t: t), at_a_third=["1/3", 2], at_zero=[0])
    assert (record.outcome, record.arithmetic, record.check) == (CERTIFIED, "exact", "counterexample")
    assert record.examples == record.satisfied == 2 and record.message == ""
    first, second = record.details["certificates"]
    assert first == {
        "title": "at a third", "arithmetic": "exact", "inputs": {"t": [["1/3", 2]]}, "entry": 0,
        "formula": "4/3", "oracle": "1/3", "violation": "1",
    }  # fmt: skip
    assert second["title"] == "at zero" and second["oracle"] == "0"
    assert record.separation is not None and record.separation > 1e50 and record.surviving == []


def test_a_counterexample_whose_formula_leaves_exact_arithmetic_is_one_of_balls() -> None:
    """The inputs are rational, and so is one side; the other multiplies by a ball without saying so."""
    root = flint.arb(2).sqrt()
    for name, formula, oracle in (
        ("formula-leaves", lambda t: t * root, lambda t: t),
        ("oracle-leaves", lambda t: t, lambda t: t * root),
        ("entry-leaves", lambda t: np.concatenate([t, t * root], axis=1), lambda t: np.concatenate([t + 1, t], axis=1)),
    ):
        record = certified(claim(name, formula, oracle), at_one=[1])
        (found,) = record.details["certificates"]
        assert (record.outcome, record.arithmetic, found["arithmetic"]) == (CERTIFIED, "ball", "ball")


def test_one_counterexample_in_balls_makes_the_record_one_of_balls() -> None:
    def sometimes(t: Any) -> Any:
        return t + 1 if t[0, 0] == 1 else exp(t)

    record = certified(claim("mixed", sometimes, lambda t: t), exact=[1], ball=[2])
    assert [item["arithmetic"] for item in record.details["certificates"]] == ["exact", "ball"]
    assert record.arithmetic == "ball"


@pytest.mark.parametrize(
    ("test", "said"),
    [
        (lambda t: exp(t) * exp(-t) - 1, "an assumption could not be decided"),  # it is 0, in balls around 0
        (lambda t: -exp(t), "an assumption is violated"),
        (lambda t: t - 5, "an assumption is violated"),
    ],
)
def test_an_assumption_that_is_not_met_for_certain_certifies_nothing(test: Any, said: str) -> None:
    found = claim("guarded", lambda t: exp(t) + 1, exp, assumptions=[Assumption("a", positive=test)])
    record = certified(found, at_one=[1])
    assert (record.outcome, record.message, record.satisfied) == (UNCERTIFIED, f"at one: {said}", 0)
    assert record.details == {} and record.arithmetic == "exact or ball"


def test_one_counterexample_that_fails_leaves_none_certified() -> None:
    record = certified(claim("half-right", lambda t: t * t, lambda t: t), good=[2], harmless=[1])
    assert (record.outcome, record.message) == (
        UNCERTIFIED,
        "harmless: the statement is not certainly broken at these inputs",
    )


def test_what_has_no_value_is_no_counterexample() -> None:
    record = certified(claim("undefined", lambda t: t / (t - 1), lambda t: t), at_one=[1])
    assert record.message == "at one: the expression is not defined at these inputs"


def test_balls_that_overlap_break_nothing() -> None:
    record = certified(claim("equal", lambda t: exp(t) * exp(-t), lambda t: t * 0 + 1), at_one=[1])
    assert record.message == "at one: the statement is not certainly broken at these inputs"
    infinite = claim("no-number", lambda t: exp(t) * flint.arb("nan"), exp)
    assert certified(infinite, at_one=[1]).message == "at one: the statement is not certainly broken at these inputs"


def test_of_a_bound_only_what_is_above_it_is_a_counterexample_and_the_worst_entry_is_shown() -> None:
    bound = claim("bound", lambda t: total(t) * 0 + 2, lambda t: t, AtMost())
    (found,) = certified(bound, above=[1, 7, 3]).details["certificates"]
    assert (found["entry"], found["oracle"], found["formula"], found["violation"]) == (1, "7", "2", "5")
    below = claim("bound-kept", lambda t: total(t) * 0 + 2, lambda t: t, AtMost())
    assert certified(below, below=[-9, 2]).outcome == UNCERTIFIED
    negative = claim("bound-below-zero", lambda t: -t, lambda t: t * 0, AtMost())
    (found,) = certified(negative, at_one=[1, -5]).details["certificates"]
    assert (found["entry"], found["violation"]) == (0, "1"), "the entry at which it is broken, not the largest"
    worst = claim("worst-of-equal", lambda t: t * 0, lambda t: t)
    (found,) = certified(worst, some=[3, -4, 0]).details["certificates"]
    assert (found["entry"], found["violation"]) == (1, "4")


def test_mutants_are_told_from_what_is_printed_at_the_first_counterexample() -> None:
    mutants = {
        "same": lambda value: value * 1,
        "other shape": lambda value: value[:, :1],
        "near": lambda value: value + 1,
    }
    record = certified(claim("told", lambda t: t + 1, lambda t: t, mutants=mutants), first=[1, 2], second=[3])
    assert record.surviving == ["same"] and record.mutants["other shape"]["residual"] == math.inf
    assert record.separation == 0.0


def test_distances_are_in_units_of_the_larger_value() -> None:
    def balls(*entries: float) -> np.ndarray:
        return np.array([flint.arb(entry) for entry in entries], dtype=object)

    unit = 2.0**-flint.ctx.prec
    assert _distance_in_units(balls(1, 4), balls(1, 3)) == pytest.approx(1 / (4 * unit))
    assert _distance_in_units(balls(1, 1), balls(1, 9)) == pytest.approx(1 / unit), "the gap itself may be the larger"
    assert _distance_in_units(balls(2), balls(2)) == 0.0 and _distance_in_units(balls(), balls()) == 0.0
    assert _distance_in_units(balls(1), balls(1, 1)) == math.inf
    assert _distance_in_units(balls(0), balls(0)) == 0.0


def test_inputs_are_shown_as_they_can_be_pasted() -> None:
    assert shown([[1, "1/3"], (0.5, np.float64(0.25))]) == [[1, "1/3"], ["1/2", "1/4"]]
    assert shown(np.array([1.5])) == ["3/2"] and shown(3) == 3 and shown("2/4") == "1/2"


def test_sizes_agree_with_the_shapes_and_with_the_condition() -> None:
    sizes_allowed(toy.TRUE_IDENTITY, {"A": [[1, 2]], "B": [[1], [2]]})
    for inputs, said in (
        ({"A": [1, 2], "B": [[1]]}, r"^A has shape \(2,\), not \('m', 'n'\)$"),
        ({"A": [[1, 2]], "B": [[1]]}, r"^B has shape \(1, 1\), but n = 2$"),
    ):
        with pytest.raises(CertificateError, match=said):
            sizes_allowed(toy.TRUE_IDENTITY, inputs)
    odd = claim("odd-only", lambda t: t + 1, lambda t: t, where=lambda sizes: sizes["n"] % 2 == 1)
    sizes_allowed(odd, {"t": [[1]]})
    for inputs, said in (
        ({"t": [[1, 2]]}, r"^the sizes n = 2 violate the claim's condition on them$"),
        ({"t": [[1], [2]]}, "but 1 = 1$"),
    ):
        with pytest.raises(CertificateError, match=said):
            sizes_allowed(odd, inputs)
