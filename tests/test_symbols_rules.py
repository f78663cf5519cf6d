"""Every rewriting and differentiation rule of the symbolic sizes against floats, at random sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy
import torch

from tests.symbolic_cases import DERIVATIVES, EXPRESSIONS, SIZES, SLOPES, disagreement, slope_disagreement
from verify.arithmetics import formal
from verify.arithmetics.symbols import exponential_sums, indexed_forms, jacobians, named, sums
from verify.arithmetics.symbols.function_heads import power, softmax_of
from verify.arithmetics.symbols.head_kinds import KINDS, times_change
from verify.arithmetics.symbols.points import NumericPoint
from verify.arithmetics.symbols.scalars import ONE
from verify.arithmetics.symbols.sums import sum_of_head
from verify.matrix import COLUMN, ROW, eye, trace
from verify.vocabulary.errors import ArithmeticUnsupported

pytestmark = pytest.mark.kept


@pytest.mark.parametrize("name", sorted(EXPRESSIONS))
def test_expression_equals_its_float_value(name: str) -> None:
    found = {seed: disagreement(EXPRESSIONS[name], seed) for seed in range(3)}
    assert all(distance < 1e-9 for distance in found.values()), found


@pytest.mark.parametrize("layout", [ROW, COLUMN], ids=["rows", "columns"])
@pytest.mark.parametrize("name", sorted(DERIVATIVES))
def test_jacobian_equals_autodiff(name: str, layout: Any) -> None:
    for seed in range(2):
        assert slope_disagreement(DERIVATIVES[name], seed, 1, layout) < 1e-8


@pytest.mark.parametrize("name", sorted(SLOPES))
def test_hessian_equals_autodiff(name: str) -> None:
    for layout in (ROW, COLUMN):
        assert slope_disagreement(SLOPES[name], 0, 2, layout) < 1e-8


def test_the_rest_of_a_given_axis_after_all_but_one_is_its_last() -> None:
    pair, three = named("P", 2, sympy.Symbol("d", integer=True, positive=True)), named("Q", 3, 3)
    assert pair[1:].dims == (1, pair.dims[1]) and pair[1:].value.key == pair[1:2].value.key
    assert pair[1:].value.key != pair[:1].value.key
    assert three[2:].value.key == three[2:3].value.key
    assert three[1:].dims == (2, 3)
    with pytest.raises(ArithmeticUnsupported):
        pair[2:]


# -- planted wrong rules are caught by these very comparisons ----------------------------------------------------------


def caught(cases: dict[str, Callable[..., Any]], check: Callable[[Any, int], float]) -> bool:
    return any(not check(case, seed) < 1e-8 for case in cases.values() for seed in range(3))


def test_a_lost_factor_in_the_softmax_derivative_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_mean(made: Any, change: Any) -> Any:
        return times_change(sum_of_head(made), change)

    monkeypatch.setitem(KINDS, "softmax", replace(KINDS["softmax"], along=without_mean))
    assert caught(DERIVATIVES, lambda case, seed: slope_disagreement(case, seed, 1, ROW))


def test_a_swapped_commutation_matrix_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = indexed_forms.FORMS["commutation_matrix"]
    monkeypatch.setitem(formal._forms["symbols"], "commutation_matrix", lambda n, m: right(m, n))
    assert caught(EXPRESSIONS, disagreement_or_error)


def disagreement_or_error(case: Any, seed: int) -> float:
    try:
        return disagreement(case, seed)
    except ValueError:
        return np.inf


def test_a_delta_summed_without_its_size_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    n = SIZES["n"]
    assert trace(eye(n)).value.terms == {(): sums.scalar(n)}
    monkeypatch.setattr(sums, "scalar", lambda size: ONE)
    assert caught(EXPRESSIONS, disagreement)


def test_a_softmax_that_sums_over_the_wrong_index_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        indexed_forms, "softmax_of", lambda inner, last: softmax_of(inner.permuted([1, 0]), last).permuted([1, 0])
        if len(inner.slots) == 2 else softmax_of(inner, last),
    )  # fmt: skip
    assert caught(EXPRESSIONS, disagreement)


def planted(name: str, wrong: Callable[..., Any]) -> list[Any]:
    """The rules with a wrong one in the place of the one of this name."""
    assert any(known == name for known, _, _ in sums._rules)
    return [(known, kinds, wrong if known == name else right) for known, kinds, right in sums._rules]


def test_a_softmax_that_swallows_a_sum_twice_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = exponential_sums.softmax_times_sum

    def twice(product: Any, slots: int) -> Any:
        """A_ij Z_i^2 = E_ij."""
        found = right(product, slots)
        if found is None:
            return None
        ((coefficient, factors, summed),) = found
        made = next((factor for factor in factors if factor[0].kind == "exp" and set(factor[1]) & set(summed)), None)
        return [(coefficient, [factor for factor in factors if factor is not made], summed)]

    monkeypatch.setattr(sums, "_rules", planted("softmax times its normaliser is the exponential", twice))
    assert caught(EXPRESSIONS, disagreement)


def test_a_quotient_that_keeps_its_power_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exponential_sums, "power", lambda inner, exponent: power(inner, exponent - 1))
    assert caught(EXPRESSIONS, disagreement)


def test_a_slope_at_zero_that_loses_the_first_order_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_any(made: Any) -> Any:
        return (
            "wrong",
            frozenset({"tensor"}),
            lambda product, slots: [] if any(h is made for h, _ in product[1]) else None,
        )

    monkeypatch.setattr(jacobians, "_without_squares", without_any)
    assert caught({"slope": EXPRESSIONS["slope along a direction"]}, disagreement)


def test_evaluation_needs_every_array() -> None:
    with pytest.raises(ValueError, match="values of X"):
        NumericPoint({SIZES["n"]: 2, SIZES["d"]: 2}, {}).values(named("X", SIZES["n"], SIZES["d"]).value)


def test_floats_are_untouched_by_the_import() -> None:
    A = torch.eye(2, dtype=torch.float64)
    assert torch.equal(eye(2) @ A, A)
    assert sympy.sqrt(4) == 2
