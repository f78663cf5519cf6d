"""Functions that change what others compute with: inputs in place, the precision of balls, or a value that is left somewhere."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, NamedTuple

import flint
import pytest

from tests.claims_that_fail import toy, with_standard_mutants
from verify.arithmetics import DEFAULT_BITS, precision
from verify.checks import checks_of
from verify.checks.record import ERROR, UPHELD, VIOLATED
from verify.checks.settings import EFFORTS, Settings
from verify.evidence.runner import run_check
from verify.matrix import absolute, rational
from verify.vocabulary import AtMost, Claim, Equal, HasStructure, Shape

pytestmark = pytest.mark.kept

A_mn = Annotated[Any, Shape("m", "n")]
SETTINGS = Settings(EFFORTS["quick"])


def outcomes(claim: Claim, arithmetics: tuple[str, ...] = ("ball", "exact")) -> set[str]:
    """What the checks in these arithmetics come to; in floats a search makes small what it finds, which takes long."""
    with_standard_mutants(claim)
    checks = [check for check in checks_of(claim, SETTINGS) if check.arithmetic in arithmetics]
    return {run_check(claim, check, SETTINGS).outcome for check in checks}


def doubled_in_place(A: A_mn) -> Any:
    A *= 2
    return A * 1


def with_a_seven(A: A_mn) -> Any:
    A[0, 0] = 7
    return A * 1


def nothing_left(A: A_mn) -> Any:
    A -= A
    return A * 1


@pytest.mark.parametrize("formula", [doubled_in_place, with_a_seven, nothing_left])
def test_a_side_that_changes_its_input_is_not_equal_to_what_it_leaves(formula: Any) -> None:
    claim = toy(formula.__name__, Equal(), exact=True)
    claim.formula(formula)
    claim.oracle(lambda A: A * 1)
    assert UPHELD not in outcomes(claim)


def test_nor_is_it_in_floats() -> None:
    claim = toy("in-floats", Equal())
    claim.formula(doubled_in_place)
    claim.oracle(lambda A: A * 1)
    assert outcomes(claim, ("float64",)) == {VIOLATED}


class Named(NamedTuple):
    A: Any


@dataclasses.dataclass(frozen=True)
class Held:
    A: Any


def in_a_tuple(A: A_mn) -> dict[str, Any]:
    return {"held": Named(A)}


def in_a_dataclass(A: A_mn) -> dict[str, Any]:
    return {"held": Held(A)}


def zero_at_the_end(held: Any) -> Any:
    B = held.A
    B *= 0
    return B * 1


@pytest.mark.parametrize("prepare", [in_a_tuple, in_a_dataclass])
def test_nor_where_an_object_holds_the_input(prepare: Any) -> None:
    claim = toy(prepare.__name__, Equal())
    claim.inputs(prepare)
    claim.formula(zero_at_the_end)
    claim.oracle(lambda held: held.A * 3)
    assert outcomes(claim, ("float64",)) == {VIOLATED}


def test_nor_is_it_a_bound_of_it() -> None:
    claim = toy("nothing-is-a-bound", AtMost())
    claim.formula(nothing_left)
    claim.oracle(lambda A: absolute(A) * 1)
    assert UPHELD not in outcomes(claim)


def test_nor_does_it_have_the_structure_of_it() -> None:
    claim = toy("as-it-was", HasStructure())
    claim.formula(doubled_in_place)
    claim.part("structure", lambda value, A: value - A)
    assert UPHELD not in outcomes(claim)


LEFT: dict[str, Any] = {}


def keeps(A: A_mn) -> Any:
    LEFT["value"] = absolute(A) * 5
    return LEFT["value"]


def finds(A: A_mn) -> Any:
    return LEFT["value"] * 1


@pytest.mark.parametrize("relation", [Equal(), AtMost()], ids=lambda relation: relation.kind)
@pytest.mark.parametrize(("formula", "oracle", "arithmetic"), [(keeps, finds, "ball"), (finds, keeps, "float64")])
def test_no_side_is_what_the_other_leaves_somewhere(formula: Any, oracle: Any, arithmetic: str, relation: Any) -> None:
    LEFT.clear()
    claim = toy(f"{formula.__name__}-{relation.kind}", relation)
    claim.formula(formula)
    claim.oracle(oracle)
    assert UPHELD not in outcomes(claim, (arithmetic,))


def nearly_itself_in_few_bits(A: A_mn) -> Any:
    flint.ctx.prec = 12
    return A * rational(10001, 10000)


def nearly_itself(A: A_mn) -> Any:
    return A * rational(10001, 10000)


@pytest.mark.parametrize("arithmetic", ["float64", "ball"])
def test_a_side_that_leaves_few_bits_is_an_error(arithmetic: str) -> None:
    claim = toy("few-bits", Equal())
    claim.formula(nearly_itself_in_few_bits)
    claim.oracle(lambda A: A * 1)
    with precision(DEFAULT_BITS):
        assert outcomes(claim, (arithmetic,)) == {ERROR}
        assert flint.ctx.prec == DEFAULT_BITS


CALLS: list[int] = []


def without_a_value_at_first(A: A_mn) -> Any:
    flint.ctx.prec = 2
    CALLS.append(1)
    if len(CALLS) < 3:
        raise ZeroDivisionError
    return A * rational(101, 100)


def test_a_side_that_leaves_few_bits_and_has_no_value_spoils_no_other_call() -> None:
    claim = toy("few-bits-and-no-value", Equal())
    claim.formula(without_a_value_at_first)
    claim.oracle(lambda A: A * 1)
    with precision(DEFAULT_BITS):
        assert outcomes(claim, ("ball",)) == {ERROR}
        assert flint.ctx.prec == DEFAULT_BITS


def test_what_a_module_sets_as_it_is_imported_is_not_what_checks_compute_with() -> None:
    claim = toy("few-bits-before", Equal())
    claim.formula(nearly_itself)
    claim.oracle(lambda A: A * 1)
    with precision(12):
        assert outcomes(claim, ("ball",)) == {VIOLATED}
        assert flint.ctx.prec == 12


def test_a_side_that_works_in_place_is_compared_as_it_is() -> None:
    claim = toy("twice", Equal(), exact=True)
    claim.formula(doubled_in_place)
    claim.oracle(lambda A: A + A)
    assert outcomes(claim, ("float64", "ball", "exact")) == {UPHELD}
