"""What is the same for every implementation is found once in a process, and what is not is found anew."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from theorems.hessian.definitions import attention_matrix
from verify.checks.evaluation import in_batch, raw_tensors
from verify.checks.satisfied import float_satisfies
from verify.checks.settings import settings_for
from verify.gate import measure
from verify.gate.checking import gate
from verify.gate.choice import arrays_of
from verify.gate.findings import BROKEN, DEFINITION, FIRST, SATISFIED
from verify.gate.measure import ComparedSides
from verify.gate.profiles import Profile
from verify.gate.reach import claims_by_subject, reached_subjects
from verify.gate.rounding import reference
from verify.gate.standing import Standing
from verify.inputs.generators import Draw, systematic
from verify.vocabulary import Assumption
from verify.vocabulary.registry import load
from verify.vocabulary.subjects import replaced

pytestmark = pytest.mark.kept

KEY = "hessian.jacobian-key"  # Lemma B.1, dF/dW_K: one side has the derivative of the layer, the other calls no layer


def plain(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    return torch.softmax(X @ W_Q @ (X @ W_K).T / W_Q.shape[1] ** 0.5, -1) @ (X @ W_V)


def keys_cut(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    return plain(X, W_Q, W_K.detach(), W_V)


def without_scale(X: Any, W_Q: Any, W_K: Any, *W_V: Any) -> Any:
    T = torch.softmax(X @ W_Q @ (X @ W_K).T, -1)
    return T @ (X @ W_V[0]) if W_V else T


def test_a_wrong_layer_after_a_right_one_breaks_what_it_breaks_alone() -> None:
    for layer, status in ((plain, SATISFIED), (keys_cut, BROKEN), (plain, SATISFIED), (without_scale, BROKEN)):
        assert gate("hessian.attention", layer, claims=KEY).run(KEY, "float64").status == status


def test_what_was_kept_for_one_subject_does_not_hide_a_wrong_layer_of_another() -> None:
    """Sides that call no attention call a matrix of attention weights, for which a wrong one may stand next."""
    right = gate("hessian.attention", plain, claims=KEY)
    assert right.run(KEY, "float64").status == SATISFIED
    wrong = gate("hessian.attention_matrix", without_scale, claims=KEY)
    assert wrong.run(KEY, "float64").status == BROKEN


def test_layers_of_a_subject_share_points_and_no_results() -> None:
    first, second = (gate("hessian.attention", layer, claims=KEY) for layer in (plain, without_scale))
    assert first.comparison is not None and second.comparison is not None
    assert first.run(FIRST, "float64").status == SATISFIED
    assert second.comparison.points is first.comparison.points
    assert second.run(FIRST, "float64").status == second.run(DEFINITION, "float64").status == BROKEN
    chosen = gate("hessian.attention", plain, claims=KEY, sizes={"d_K": 2})
    other = gate("hessian.softmax", lambda T: torch.softmax(T, -1))
    deeper = gate("hessian.attention", plain, claims=KEY, effort="ci")
    for made in (chosen, other, deeper):
        assert made.comparison is not None and made.comparison.points is not first.comparison.points


def test_a_side_that_calls_no_layer_is_evaluated_for_the_first_one_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    gate("hessian.attention", plain, claims=KEY).run(KEY, "float64")
    evaluated = []

    def seen(claim: Any, function: Any, raw: Any) -> Any:
        evaluated.append(function)
        return in_batch(claim, function, raw)

    monkeypatch.setattr(measure, "in_batch", seen)
    made = gate("hessian.attention", plain, claims=KEY)
    assert made.run(KEY, "float64").status == SATISFIED
    formula, derivative = (evaluated.count(side) for side in (made.claims[0].the_formula, made.claims[0].the_oracle))
    assert formula == 0 and derivative > 0


def test_what_functions_call_is_looked_up_once_and_found_the_same() -> None:
    kept: dict[Any, Any] = {}
    for claim in claims_by_subject("theorems")["hessian.attention"][:20]:
        functions = claim.named_functions().values()
        alone = reached_subjects(functions)
        assert "hessian.attention" in alone
        assert reached_subjects(functions, kept) == reached_subjects(functions, kept) == alone
    assert kept


MINIMA = "dynamics.sec-3-minima"  # its formula has exponentials without a maximum, which overflow in float32


def head(X: Any, W_Q: Any, W_K: Any, W_V: Any, beta: Any) -> Any:
    return torch.softmax(X @ W_Q @ (X @ W_K).T * beta, -1) @ (X @ W_V)


def of_no_numbers(*operands: Any) -> Any:
    return head(*operands) * torch.inf


def test_a_formula_that_overflows_is_not_held_against_an_implementation() -> None:
    for layer, statuses in ((head, {SATISFIED}), (lambda *given: head(*given) * 1.01, {BROKEN})):
        made = gate("dynamics.attention_head", layer, claims=MINIMA)
        made.settings = dataclasses.replace(made.settings, seed=6)
        assert {made.run(MINIMA, dtype).status for dtype in ("float64", "float32")} == statuses


def test_an_implementation_without_finite_values_is_still_broken() -> None:
    made = gate("dynamics.attention_head", of_no_numbers, claims=MINIMA)
    assert {made.run(DEFINITION, dtype).status for dtype in ("float64", "float32")} == {BROKEN}


def test_a_side_is_not_kept_from_a_time_when_the_definition_stood_in_its_place() -> None:
    claim, settings = load("theorems")[KEY], settings_for("quick")
    standing = Standing("hessian.attention", keys_cut)
    sides = ComparedSides.of(claim, standing)
    assert sides is not None
    arrays = systematic(claim, 1, settings.seed)[0].arrays(claim, 1)
    raw = raw_tensors(claim, arrays, settings, "float64")
    calling = next(each for each in sides.functions if "hessian.attention" in reached_subjects([each]))
    right = measure._side(claim, sides, calling, raw, arrays, settings)  # nothing is replaced yet
    with replaced(standing.name, standing):
        wrong = measure._side(claim, sides, calling, raw, arrays, settings)
    assert standing.calls > 0 and not bool((wrong == right).all())


def test_draws_are_kept_as_they_were_drawn() -> None:
    claim = load("theorems")[KEY]
    draw = systematic(claim, 1, 0)[0]
    drawn = draw.arrays(claim, 1)
    for _ in range(2):  # what is done to one is not seen in the next
        found = arrays_of(claim, draw)
        assert list(found) == list(drawn) and all(np.array_equal(found[name], drawn[name]) for name in drawn)
        for value in found.values():
            value[...] = 7.0
    other = dataclasses.replace(draw, seed=draw.seed + 1)
    assert any(not np.array_equal(arrays_of(claim, other)[name], drawn[name]) for name in drawn)


def test_draws_of_a_domain_are_those_of_its_own_edit() -> None:
    """Two profiles may have a domain of one name: what one makes of the arrays is not what the other makes."""
    draw = Draw((("m", 2), ("n", 2)), "own", 0)
    for number in (1.0, 2.0, 1.0):
        profile = Profile("transformer.masked_softmax", sizes={"m": (1, 2), "n": (1, 2)}, register=False)
        profile.domain("own", EDITS[number])
        assert (arrays_of(profile.claim(), draw)["T"] == number).all()


EDITS = {
    number: (lambda arrays, sizes, rng, number=number: arrays.update(T=arrays["T"] * 0 + number))
    for number in (1.0, 2.0)
}


def test_whether_assumptions_are_met_is_kept_where_no_layer_is_part_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """An assumption about an attention matrix is asked anew of every layer of that subject, and once where others stand."""
    asked = []

    def seen(claim: Any, raw: Any) -> Any:
        asked.append(claim.id)
        return float_satisfies(claim, raw)

    def of_weights(X: Any, W_Q: Any, W_K: Any) -> Any:
        return attention_matrix(X, W_Q, W_K) + 1

    claim = copy.copy(load("theorems")[KEY])
    claim.assumptions = [Assumption("the weights are positive", positive=of_weights)]
    monkeypatch.setattr(measure, "float_satisfies", seen)
    drawn = systematic(claim, 1, 0)[0].arrays(claim, 1)
    for subject, layer, times in (
        ("hessian.softmax", lambda T: torch.softmax(T, -1), 2),
        ("hessian.attention_matrix", without_scale, 2),
        ("hessian.attention", plain, 1),
    ):
        asked.clear()
        standing = Standing(subject, layer)
        with replaced(subject, standing):
            for _ in range(2):
                sides = ComparedSides.of(claim, standing)
                raw = raw_tensors(claim, drawn, settings_for("quick"), "float64")
                assert sides is not None and measure._satisfies(claim, sides, raw, drawn, settings_for("quick"))
        assert len(asked) == times, subject


def test_a_kink_is_looked_for_once_for_what_is_asked() -> None:
    evaluated: list[float] = []

    def slope(arguments: Any) -> dict[str, torch.Tensor]:
        evaluated.append(float(arguments["x"]))
        return {"d": (arguments["x"] > 0).double() + 1}

    found = reference(slope, {"x": torch.tensor([1.0], dtype=torch.float64)})
    assert found is not None and not found.jumps(slope, "float64", "d", ("first",))
    before = len(evaluated)
    assert not found.jumps(slope, "float64", "d", ("first",)) and len(evaluated) == before

    def at_a_kink(arguments: Any) -> dict[str, torch.Tensor]:
        return slope({"x": arguments["x"] - 1})

    assert found.jumps(at_a_kink, "float64", "d", ("second",)) and found.jumps(at_a_kink, "float64", "d")
    assert not found.jumps(slope, "float32", "d", ("first",)) and len(evaluated) > before


def test_causes_are_those_of_each_layer_where_they_follow_each_other() -> None:
    """The derivatives of the definition are found once, those by each argument and of each subject apart."""

    def queries_cut(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
        return plain(X, W_Q.detach(), W_K, W_V)

    def weights_cut(X: Any, W_Q: Any, W_K: Any) -> Any:
        return torch.softmax(X @ W_Q.detach() @ (X @ W_K).T / W_Q.shape[1] ** 0.5, -1)

    layers = (
        ("hessian.attention", keys_cut, "W_K"), ("hessian.attention", queries_cut, "W_Q"),
        ("hessian.attention_matrix", weights_cut, "W_Q"), ("hessian.attention", keys_cut, "W_K"),
    )  # fmt: skip
    for subject, layer, name in layers:
        made = gate(subject, layer, dtypes=["float64"])
        (cause,) = made.causes_of(made.run(FIRST, "float64", shrinking=False))
        assert cause.startswith(f"its values are right, its derivative by {name} is cut"), cause
