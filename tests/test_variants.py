"""Mutants in one line: expressions replaced, arguments changed, functions of inputs by name, of the formula's value."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import pytest

from tests import claims_that_fail as toy
from verify.checks import checks_of
from verify.checks.settings import settings_for
from verify.evidence.runner import problems_of_declaration, run_check
from verify.oracles import LawTest
from verify.vocabulary import Claim, Equal, FollowsLaw, Paper, RegistryError, Shape, Size, Variant
from verify.vocabulary.variants import of_value, with_arguments, with_replacements

pytestmark = pytest.mark.kept

PAPER = Paper("toy", "Toy claims", "nobody", "row-major")
Number = Annotated[int, Size("n")]


def power(x: int, exponent: int = 2, *, sign: int = 1) -> int:
    return sign * x**exponent


def summed(terms: list[int], weight: Callable[[int], int] = lambda x: x) -> int:
    return sum(weight(term) for term in terms)


def polynomial(x: Number, y: Number) -> int:
    """x^2 + 3 y, with a docstring in which x stands too."""
    return power(x) + 3 * y


def a_sum(x: Number, y: Number) -> int:
    return summed([power(x), power(y)])


# -- replaced expressions ----------------------------------------------------------------------------------------------


def test_a_replaced_expression_is_another_function() -> None:
    variant = with_replacements(polynomial, "3 * y -> 5 * y")
    assert variant(x=2, y=7) == 4 + 35 and polynomial(2, 7) == 4 + 21


def test_an_expression_is_replaced_wherever_it_stands() -> None:
    assert with_replacements(a_sum, "power -> abs")(x=-2, y=-7) == 9


def test_several_replacements_are_made_at_once() -> None:
    """Were they made one after the other, x and y would both become x."""
    assert with_replacements(polynomial, "x -> y; y -> x")(x=2, y=7) == 49 + 6


def test_a_new_name_is_an_input_of_the_claim() -> None:
    variant = with_replacements(polynomial, "3 -> z")
    assert list(inspect.signature(variant).parameters) == ["x", "y", "z"]
    assert variant(x=2, y=7, z=10) == 74


def test_what_a_new_lambda_binds_is_no_input() -> None:
    variant = with_replacements(a_sum, "summed([power(x), power(y)]) -> summed([x, y], lambda a: 10 * a)")
    assert list(inspect.signature(variant).parameters) == ["x", "y"]
    assert variant(x=2, y=7) == 90


def test_defaults_are_kept() -> None:
    def names(function: Callable[..., Any]) -> dict[str, Any]:
        return {name: item.default for name, item in inspect.signature(function).parameters.items()}

    variant = with_replacements(power, "x**exponent -> x + exponent")
    assert names(variant) == names(power) and variant(5) == 7


def test_an_expression_that_does_not_occur_is_refused() -> None:
    with pytest.raises(RegistryError, match=r"polynomial: '4 \* y' does not occur in it"):
        with_replacements(polynomial, "4 * y -> y")


@pytest.mark.parametrize("change", ["3 * y", "3 * y -> y -> x", "3 * y ->", "3 * y -> for"])
def test_a_change_that_is_no_pair_of_expressions_is_refused(change: str) -> None:
    with pytest.raises(RegistryError, match="polynomial"):
        with_replacements(polynomial, change)


def test_replacements_in_closures_are_refused() -> None:
    factor = 3

    def scaled(x: Number) -> int:
        return factor * x

    with pytest.raises(RegistryError, match="not in closures"):
        with_replacements(scaled, "factor -> 2")


# -- changed arguments -------------------------------------------------------------------------------------------------


def test_an_argument_of_what_the_formula_calls_is_changed() -> None:
    assert with_arguments(polynomial, {"sign": -1})(x=2, y=7) == -4 + 21


def test_several_arguments_are_changed_at_once() -> None:
    assert with_arguments(polynomial, {"sign": -1, "exponent": 3})(x=2, y=7) == -8 + 21


def test_a_parameter_of_the_formula_itself_is_changed() -> None:
    variant = with_arguments(polynomial, {"y": 1})
    assert list(inspect.signature(variant).parameters) == ["x"] and variant(x=2) == 7


def test_a_function_may_be_the_changed_argument() -> None:
    assert with_arguments(a_sum, {"weight": lambda term: -term})(x=2, y=7) == -53


def test_the_formula_itself_stays_as_it_is() -> None:
    with_arguments(polynomial, {"sign": -1})
    assert polynomial(2, 7) == 25


def test_closures_may_have_arguments_changed() -> None:
    factor = 3

    def scaled(x: Number) -> int:
        return factor * power(x)

    assert with_arguments(scaled, {"exponent": 1})(x=5) == 15


def test_a_parameter_that_nobody_has_is_refused() -> None:
    with pytest.raises(RegistryError, match=r"polynomial: nothing it calls has a parameter \['base'\]"):
        with_arguments(polynomial, {"base": 1, "sign": -1})


# -- functions of inputs, and of the formula's value -------------------------------------------------------------------


def test_a_variant_of_the_value_is_given_the_formulas_own() -> None:
    variant = of_value(lambda value, z: value * z, polynomial)
    assert list(inspect.signature(variant).parameters) == ["x", "y", "z"]
    assert variant(x=2, y=7, z=10) == 250


def test_a_function_given_outright_is_the_variant() -> None:
    def other(x: int) -> int:
        return x

    assert Variant(other, polynomial, {}).function is other
    assert Variant(lambda value: -value, polynomial, {}).function(x=2, y=7) == -25


def test_arguments_may_be_changed_in_a_given_variant() -> None:
    assert Variant("3 * y -> y", polynomial, {"sign": -1}).function(x=2, y=7) == -4 + 7
    assert Variant("3 * y -> y", polynomial, {"sign": -1}).text == "3 * y -> y; sign = -1"
    assert Variant(power, polynomial, {}).text is None


# -- in claims ---------------------------------------------------------------------------------------------------------


def claim(name: str, **options: Any) -> Claim:
    declared = Claim(PAPER, f"toy.{name}", label=name, statement="x = x", relation=Equal(), **options)
    declared.formula(polynomial)
    return declared


def test_two_mutants_of_one_name_are_refused() -> None:
    declared = claim("twice")
    declared.mutant("doubled", lambda value: 2 * value)
    with pytest.raises(RegistryError, match="two mutants are called 'doubled'"):
        declared.mutant("doubled", "3 -> 6")


def test_a_change_of_a_formula_that_is_not_there_is_refused() -> None:
    early = Claim(PAPER, "toy.early", label="early", statement="x = x", relation=Equal())
    with pytest.raises(RegistryError, match="not declared yet"):
        early.mutant("sign", sign=-1)


def test_a_mutant_that_cannot_be_made_is_a_problem_of_the_declaration() -> None:
    declared = claim("broken")
    declared.oracle(lambda x, y: x * x + 3 * y)
    declared.mutant("first", "4 * y -> y")
    declared.mutant("second", base=1)
    found = problems_of_declaration(declared)
    assert len(found) == 2 and "'4 * y' does not occur" in found[0] and "['base']" in found[1]


def test_a_law_may_have_mutants_in_one_line() -> None:
    """A law calls its formula as it is declared, by position; a mutant takes only the inputs it needs, by name."""
    law = Claim(PAPER, "toy.law", label="law", statement="x", relation=FollowsLaw(samples=10), sizes={"n": (1, 5)})

    @law.formula
    def mean(n: Number) -> int:
        return n

    @law.part("laws")
    def laws(formula: Any, samples: int, n: int) -> list[LawTest]:
        return [LawTest("mean", 1.0 if formula(n) == n == formula(n=n) else 1e-200, samples)]

    law.mutant("nothing of n", lambda: 0)
    law.mutant("of the value", lambda value: value + 1)
    law.mutant("by replacement", "n -> 2 * n")
    (check,) = checks_of(law, settings_for("quick"))
    record = run_check(law, check, settings_for("quick"))
    assert record.outcome == "upheld", record.message
    assert all(result["killed"] for result in record.mutants.values()) and len(record.mutants) == 3


def test_annotated_matrices_do_not_hinder_a_replacement() -> None:
    matrix = Annotated[Any, Shape("m", "n")]

    def doubled(A: matrix) -> Any:
        return 2 * A

    assert with_replacements(doubled, "2 * A -> A")(A=5) == 5


def test_an_oracle_of_something_else_is_named() -> None:
    declared = toy.toy("oracle-of-something-else", Equal())
    declared.oracle(lambda x, V: x)
    with pytest.raises(RegistryError, match=r"lambda> takes V; expected some of the claim's inputs x"):
        declared.evaluate(declared.the_oracle, {"x": 1.0})


def test_a_formula_that_works_in_place_leaves_the_inputs_of_its_variant_alone() -> None:
    def doubled(x: Any) -> Any:
        x *= 2
        return x

    variant = of_value(lambda value, x: value - x, doubled)
    assert (variant(x=np.array([1.0, 3.0])) == np.array([1.0, 3.0])).all()
