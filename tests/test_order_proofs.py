"""Orders of growth proved with constants: what is proved, what is refused; counts at symbolic sizes; leading terms."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import pytest
import sympy
import torch

from theorems.convergence import CONVERGENCE
from theorems.osa.part_2_4_cost.basis_layer import (
    count_of_layer,
    naive_orthogonal_attention,
    newton_schulz,
    orthogonal_attention,
    orthonormal_basis,
    softmax_attention,
)
from verify.arithmetics.asymptotics import leading, tends_to_zero
from verify.checks import checks_of, order_proofs
from verify.checks.operands import size_symbol
from verify.checks.order_proofs import prove_order_claim, proved_order
from verify.checks.record import UPHELD, VIOLATED, Record
from verify.checks.settings import settings_for
from verify.oracles import count, largest, without_numbers
from verify.report.proof_texts import headline
from verify.vocabulary import ArithmeticUnsupported, AtMost, Claim, FollowsLaw, OrderOfGrowth, RegistryError, Size

pytestmark = pytest.mark.kept

Rows = Annotated[int, Size("m")]
Columns = Annotated[int, Size("n")]
SETTINGS = settings_for("quick")
M, N = size_symbol("m"), size_symbol("n")
T, C = sympy.Symbol("t", positive=True), sympy.Symbol("c", positive=True)
SMALLER = {"linear": lambda m, n: m, "one": lambda m, n: Fraction(1)}


def claim_of(
    order: Callable[..., Any],
    cost: Callable[..., Any],
    constant: Callable[..., Any],
    mutants: Any = None,
    **options: Any,
) -> Claim:
    """A claim, to be proved for all sizes, that `cost` is at most `constant` times `order`."""
    claim = Claim(
        CONVERGENCE, "convergence.toy-proved-order", label="toy", statement="cost = O(order)",
        relation=OrderOfGrowth(along=options.pop("along", ("m", "n", "m n"))), sizes={"m": (2, 4), "n": (2, 4)},
        all_sizes=True, **options,
    )  # fmt: skip

    def annotated(function: Callable[..., Any]) -> Callable[..., Any]:
        def of_sizes(m: Rows, n: Columns) -> Any:
            return function(m, n)

        return of_sizes

    claim.formula(annotated(order))
    claim.part("cost", cost)
    claim.part("constant", constant)
    for name, wrong in (SMALLER if mutants is None else mutants).items():
        claim.mutant(name, annotated(wrong))
    return claim


def record_of(*functions: Any, **options: Any) -> Record:
    return proved_order(claim_of(*functions, **options), SETTINGS)


# -- proofs ------------------------------------------------------------------------------------------------------------


def test_an_order_is_proved_with_its_constant() -> None:
    record = record_of(lambda m, n: m * m * n, lambda m, n: 7 * m * m * n + 3 * m * n + 5, lambda: 15)
    assert record.outcome == UPHELD and not record.surviving
    assert record.details["certificate"]["missing"].startswith("none is kept")
    assert headline(record).startswith("proved for all sizes: ") and headline(record).endswith("being 15")
    assert record.details["mutants"]["linear"] == "row 1 outgrows it along m like t^1"
    assert [check.name for check in checks_of(claim_of(lambda m, n: m, lambda m, n: m, lambda: 1), SETTINGS)] == [
        "order", "proved",
    ]  # fmt: skip


FALSE = {
    "a constant too small": (lambda m, n: m * m * n, lambda m, n: 7 * m * m * n + 3 * m * n + 5, lambda: 14),
    "too small at large sizes alone": (lambda m, n: m * n, lambda m, n: m * n + Fraction(1, 1000) * m * m, lambda: 9),
    "an exponent too small": (lambda m, n: m * n, lambda m, n: m * m * n, lambda: 10**9),
    "a size left out": (lambda m, n: m * m, lambda m, n: m * m + n, lambda: 10**9),
    "the second row": (lambda m, n: [m * m, n], lambda m, n: [m, n * m], lambda: [1, 100]),
}


@pytest.mark.parametrize("name", FALSE)
def test_a_false_order_is_not_proved(name: str) -> None:
    record = record_of(*FALSE[name], mutants={})
    assert record.outcome == VIOLATED and "not derived" in record.message


def test_a_wrong_variant_that_is_an_order_too_is_told() -> None:
    record = record_of(lambda m, n: m * m, lambda m, n: m * m, lambda: 1, {"a half": lambda m, n: m * m / Fraction(2)})
    assert record.outcome == VIOLATED and record.surviving == ["a half"]
    assert record.message == "the count does not outgrow the wrong variant 'a half'"


def test_a_wrong_variant_is_not_outgrown_where_the_sizes_are_not_those_of_the_statement() -> None:
    sides = (lambda m, n: n * n + m, lambda m, n: n * n + m, lambda: 1)
    right = {"m^2, of which n^2 is no more": lambda m, n: m * m}
    assert record_of(*sides, mutants=right, along=("n", "m n")).outcome == UPHELD
    record = record_of(*sides, mutants=right, along=("n", "m n"), where=lambda sizes: sizes["n"] <= sizes["m"])
    assert record.outcome == VIOLATED and record.surviving == list(right)


def from_below(*functions: Any, constant: Callable[..., Any], mutants: Any = None) -> Claim:
    claim = claim_of(*functions, mutants=mutants)
    claim.part("constant from below", constant)
    return claim


def test_an_order_that_is_also_one_from_below_has_two_constants() -> None:
    sides = (lambda m, n: m * m * n, lambda m, n: 7 * m * m * n + 3 * m * n, lambda: 10)
    record = proved_order(from_below(*sides, constant=lambda: 7), SETTINGS)
    assert record.outcome == UPHELD and record.details["constants from below"] == ["7"]
    assert headline(record).endswith("being 10, and at least 7 times it")
    assert len(record.details["entries"]) == 2
    assert not headline(record_of(*sides)).endswith("times it")


def test_of_several_counts_the_largest_is_one_from_below() -> None:
    def cost(m: Any, n: Any) -> Any:
        return largest(3 * m, 2 * m + 2 * n)

    sides = (lambda m, n: m + n, cost, lambda: 3)
    assert proved_order(from_below(*sides, constant=lambda: 2), SETTINGS).outcome == UPHELD


NOT_FROM_BELOW = {
    "too large a constant": (lambda m, n: m * n, lambda m, n: 2 * m * n + m, lambda: 3, lambda: 4),
    "a term that the count lacks": (
        lambda m, n: m * n + n * n,
        lambda m, n: m * n,
        lambda: 1,
        lambda: Fraction(1, 1000),
    ),
    "the second of several counts": (lambda m, n: m + n, lambda m, n: largest(m, n, 1), lambda: 1, lambda: 1),
    "the second row": (lambda m, n: [m, m * n], lambda m, n: [m, m], lambda: [1, 1], lambda: [1, 1]),
}


@pytest.mark.parametrize("name", NOT_FROM_BELOW)
def test_a_false_order_from_below_is_not_proved(name: str) -> None:
    *sides, constant = NOT_FROM_BELOW[name]
    record = proved_order(from_below(*sides, constant=constant, mutants={}), SETTINGS)
    assert record.outcome == VIOLATED and "not derived" in record.message


@pytest.mark.parametrize("constant", [lambda: 0, lambda: -1, lambda: [1, 0]])
def test_a_constant_from_below_is_positive(constant: Callable[..., Any]) -> None:
    claim = from_below(lambda m, n: [m, n], lambda m, n: [m, n], lambda: 1, constant=constant)
    with pytest.raises(RegistryError, match="positive"):
        prove_order_claim(claim)


def test_a_constant_from_below_depends_on_nothing_that_grows() -> None:
    claim = from_below(lambda m, n: m * m, lambda m, n: m * m, lambda: 1, constant=lambda m: Fraction(1) / m)
    with pytest.raises(RegistryError, match=r"cannot depend on \['m'\]"):
        prove_order_claim(claim)


def test_what_is_rounded_up_or_a_smallest_size_is_no_order_from_below() -> None:
    def cost(m: Any, n: Any) -> Any:
        return m * n + (min(m, n) if isinstance(m, int) else sympy.Min(m, n))

    claim = from_below(lambda m, n: m * n, cost, lambda: 2, constant=lambda: 1)
    with pytest.raises(ArithmeticUnsupported, match="from below"):
        prove_order_claim(claim)


def test_sizes_are_from_1_on_where_no_program_was_counted_at_symbolic_sizes() -> None:
    def counted(m: Any, n: Any) -> Any:
        return count(lambda X, Y: X @ Y, without_numbers(m, n), without_numbers(n, m)).operations

    sides = (lambda m, n: m * m * n, lambda: 3)
    by_formula = record_of(sides[0], lambda m, n: 2 * m * m * n, sides[1])
    by_program = record_of(sides[0], counted, sides[1])
    assert by_formula.outcome == by_program.outcome == UPHELD
    assert (by_formula.details["sizes from"], by_program.details["sizes from"]) == (1, 2)
    assert headline(by_formula).startswith("proved for all sizes: ")
    assert headline(by_program).startswith("proved for all sizes from 2 on: ")


def test_an_order_that_is_compared_with_no_count_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order_proofs, "_spots", lambda *given: [])
    record = record_of(lambda m, n: m * m, lambda m, n: m * m, lambda: 1)
    assert record.outcome == VIOLATED and record.message == "no sizes to compare the expressions with the count at"


def test_a_condition_on_sizes_is_used_and_needed() -> None:
    sides = (lambda m, n: m * m, lambda m, n: m * m + 6 * n * m + n * n, lambda: 11)
    assert record_of(*sides, along=("m", "m n")).outcome == VIOLATED
    at_most_half = {"where": lambda sizes: 2 * sizes["n"] <= sizes["m"], "mutants": {"n^2": lambda m, n: n * n}}
    assert record_of(*sides, along=("m", "m n"), **at_most_half).outcome == UPHELD


def test_a_constant_may_depend_on_what_is_held_and_on_nothing_else() -> None:
    sides = (lambda m, n: m, lambda m, n: m * n + m, lambda n: n + 1)
    one = {"one": SMALLER["one"]}
    assert record_of(*sides, mutants=one, along=("m",)).outcome == UPHELD
    with pytest.raises(RegistryError, match=r"cannot depend on \['n'\], along which sizes grow"):
        record_of(*sides, mutants=one, along=("m", "n"))


def test_a_constant_that_depends_on_what_grows_by_another_name_is_refused() -> None:
    claim = Claim(CONVERGENCE, "convergence.toy-proved-order", label="toy", statement="cost = O(order)", all_sizes=True,
                  relation=OrderOfGrowth(along=("m",)), sizes={"m": (2, 4)})  # fmt: skip

    @claim.formula
    def order(rows: Rows) -> Any:
        return rows

    claim.part("cost", lambda rows: rows**2)
    claim.part("constant", lambda rows: rows)
    with pytest.raises(RegistryError, match="along which sizes grow"):
        prove_order_claim(claim)


def test_a_wrong_variant_is_outgrown_where_the_claim_says_something() -> None:
    """Of n at most m, m + n is at most 2 m, however it grows with n alone."""
    sides, half = (lambda m, n: m, lambda m, n: m + n, lambda: 2), {"half": lambda m, n: m / Fraction(2)}
    options = {"where": lambda sizes: sizes["n"] <= sizes["m"], "along": ("m", "n")}
    record = record_of(*sides, half, **options)
    assert record.outcome == VIOLATED and record.message == "the count does not outgrow the wrong variant 'half'"


def test_the_largest_and_the_smallest_of_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        order_proofs, "kind_asked", lambda claim: None
    )  # a smallest number is the engine's own elsewhere

    def cost(m: Any, n: Any) -> Any:
        return 2 * largest(m * m, m * n) + (min(m, n) if isinstance(m, int) else sympy.Min(m, n)) ** 2 * n

    proof = prove_order_claim(claim_of(lambda m, n: m * m + m * n * n, cost, lambda: 3))
    assert proof.bound.proved
    assert {entry.left for entry in proof.bound.entries} == {2 * M**2 + M * N**2, 2 * M * N + M * N**2}
    assert record_of(lambda m, n: m * m + m * n * n, cost, lambda: 3).outcome == UPHELD
    with pytest.raises(ArithmeticUnsupported, match="grows with"):
        prove_order_claim(claim_of(lambda m, n: m, lambda m, n: 4 * m - largest(m, n), lambda: 4))


ROUNDED = sympy.ceiling(sympy.Min(M, N) ** 3 / 3)
AT_MOST = {
    "a multiple of what is rounded up": (2 * ROUNDED, 2 * M**3 / 3 + 2),
    "a smallest number taken off": (M * N - sympy.Min(M, N) ** 2, M * N),
    "one of three": (sympy.Min(M, N, M * N) ** 2, M**2),
}
REFUSED_ROWS = {
    "a smallest number within what is rounded up": M * ROUNDED,
    "what is rounded up, taken off": M**3 - ROUNDED,
    "a smallest number that may be below 0": -M * sympy.Min(M - 5, -N),
    "a smallest number beside what may be below 0": sympy.Min(M, N) * sympy.Symbol("x", real=True),
    "a quotient by a smallest number": M / sympy.Min(M, N),
}


@pytest.mark.parametrize("name", AT_MOST)
def test_what_a_count_is_at_most(name: str) -> None:
    row, bound = AT_MOST[name]
    assert order_proofs._at_most(row, M**3) == [bound]


@pytest.mark.parametrize("name", REFUSED_ROWS)
def test_what_is_at_most_nothing_simple_is_refused(name: str) -> None:
    with pytest.raises(ArithmeticUnsupported, match="by products of sizes"):
        order_proofs._at_most(REFUSED_ROWS[name], M**3)


def test_an_expression_that_is_not_the_count_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        order_proofs, "kind_asked", lambda claim: None
    )  # which refuses what is caught here otherwise too

    def cost(m: Any, n: Any) -> Any:
        return m * n if isinstance(m, int) else m + n

    record = record_of(lambda m, n: m * n, cost, lambda: 2)
    assert record.outcome == VIOLATED and "the count is" in record.message


def test_a_kind_that_has_no_such_proof_is_refused() -> None:
    with pytest.raises(RegistryError, match="have no proof for all sizes"):
        Claim(CONVERGENCE, "convergence.toy", label="", statement="", relation=FollowsLaw(), all_sizes=True)
    assert AtMost.entrywise and not AtMost.proof_part


# -- counts at symbolic sizes ------------------------------------------------------------------------------------------

LAYERS = {
    "naive": naive_orthogonal_attention, "softmax": softmax_attention,
    "Newton-Schulz": orthogonal_attention(newton_schulz), "QR": orthogonal_attention(orthonormal_basis),
}  # fmt: skip


@pytest.mark.long("torch's symbolic shapes take seconds to load")
@pytest.mark.parametrize("name", LAYERS)
def test_a_count_at_symbolic_sizes_is_that_at_numbers(name: str) -> None:
    found = count_of_layer(LAYERS[name], M, N)
    for m, n in ((2, 2), (50, 7), (9, 40), (14, 7), (13, 7)):
        own = count_of_layer(LAYERS[name], m, n)
        values = {M: m, N: n}
        assert (found.operations.subs(values).doit(), found.memory.subs(values).doit()) == (own.operations, own.memory)


def test_a_sum_of_products_of_sizes_is_a_size() -> None:
    assert count(lambda A, B: A @ B, without_numbers(M, 2 * N + 1), without_numbers(2 * N + 1, M)).operations == (
        4 * M**2 * N + 2 * M**2
    )
    assert without_numbers(2, 3).shape == torch.Size([2, 3])


DECIDING: dict[str, Callable[[Any], Any]] = {
    "which is larger": lambda A: A @ A.T if A.shape[0] > A.shape[1] else A,
    "even or odd": lambda A: A if A.shape[0] % 2 == 0 else A + A,
    "a size as a number": lambda A: A * int(A.shape[0]),
}


@pytest.mark.parametrize("name", DECIDING)
def test_code_that_decides_by_sizes_has_no_expression(name: str) -> None:
    """Nor the second time, when torch remembers what was decided; and other code has the expression that it has."""
    m, n = size_symbol("decided"), size_symbol("other")
    for _ in range(2):
        A = without_numbers(m, n)
        for match in ("decides by its sizes", "decided before"):
            with pytest.raises(ArithmeticUnsupported, match=match):
                count(DECIDING[name], A)
    assert count(lambda A: A + A, without_numbers(m, n)).operations == m * n
    with pytest.raises(ArithmeticUnsupported, match="decided before"):  # sizes that belong to different counts
        count(lambda A, B: A + B, A, without_numbers(m, n))


# -- leading terms -----------------------------------------------------------------------------------------------------

KNOWN = {
    "a quotient": ((3 * T**2 + C) / (C * T + 1), "t^1", 3 / C),
    "a root": (sympy.sqrt(C * T**3 + T), "t^3/2", sympy.sqrt(C)),
    "an exponential": (T**5 * sympy.exp(1 - 2 * T), "e^(-2 t) t^5", sympy.E),
    "a logarithm": (sympy.log(C * T**2 + 1) / T, "t^-1 log(t)^1", 2),
    "a logarithm of an exponential": (sympy.log(sympy.exp(3 * T) + T), "t^1", 3),
    "what cancels once it is expanded": ((T + 1) ** 2 - T**2, "t^1", 2),
    "a number": (C + 1, "1", C + 1),
    "the smallest": (sympy.Min(T, 5) * T, "t^1", 5),
    "the largest": (sympy.Max(T**2, 5 * T), "t^2", 1),
    "what is rounded up": (sympy.ceiling(T / 3), "t^1", sympy.Rational(1, 3)),
}


@pytest.mark.parametrize("name", KNOWN)
def test_leading_terms(name: str) -> None:
    expression, growth, coefficient = KNOWN[name]
    found, c = leading(expression, T)
    assert str(found) == growth and sympy.simplify(c - coefficient) == 0
    at = sympy.Integer(10) ** 8 if "e^" not in growth else sympy.Integer(400)
    if "log" not in growth:  # which are reached slowly
        said = c * sympy.exp(found.rate * at) * at**found.power
        assert abs(sympy.N((expression.subs(T, at) / said).subs(C, 2), 30) - 1) < 0.02


X = sympy.Symbol("x", real=True)
REFUSED = {
    "leading terms that cancel": sympy.sqrt(T**2 + T) - T,
    "a coefficient that may be 0": (C - 1) * T,
    "a root of what may be negative": sympy.sqrt(X * T),
    "a power of t": C**T,
    "an exponential of a square": sympy.exp(-(T**2)),
    "an exponential with an unknown rate": sympy.exp(-C * T),
    "another function": sympy.sin(T) / T,
    "a logarithm of a logarithm": sympy.log(sympy.log(T)),
    "nothing": sympy.Integer(0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_leading_term_is_refused(name: str) -> None:
    with pytest.raises(ArithmeticUnsupported):
        leading(REFUSED[name], T)


def test_what_tends_to_zero_and_what_does_not() -> None:
    zero = [1 / T, 1 / sympy.sqrt(T), sympy.log(T) / T, 1 / sympy.log(T), T**9 * sympy.exp(-T), sympy.Integer(0), C / T]
    other = [C, T, T / (T + 1), sympy.log(T), sympy.exp(T) / T**9, 1 + 1 / T]
    assert all(tends_to_zero(expression, T) for expression in zero)
    assert not any(tends_to_zero(expression, T) for expression in other)
    assert leading(T**2, T)[0] > leading(T * sympy.log(T), T)[0] and leading(T, T)[0] == leading(3 * T, T)[0]


@pytest.mark.parametrize(
    ("order", "cost"),
    [
        (lambda m, n: m * m * n, lambda m, n: 7 * m * m * n * (1000 if m == 1000 else 1)),
        (lambda m, n: m * m * n, lambda m, n: 7 * m * m * n if m % 97 else m**5 * n),
        (lambda m, n: m * m * n, lambda m, n: 7 * m * m * n if m != n else m**5),
        (lambda m, n: m * m * n if n != 1000 else 1, lambda m, n: 7 * m * m * n),
    ],
)
def test_a_count_and_an_order_decide_on_no_size(order: Callable[..., Any], cost: Callable[..., Any]) -> None:
    record = record_of(order, cost, lambda: 15)
    assert record.outcome == VIOLATED and "which the claim does not grant" in record.message


def test_a_decision_that_the_claim_grants_is_none() -> None:
    sound = claim_of(
        lambda m, n: m * m * n, lambda m, n: 7 * m * m * n if m != n else m**5, lambda: 15,
        where=lambda sizes: sizes["m"] < sizes["n"], along=("n", "m n"), mutants={"one": lambda m, n: Fraction(1)},
    )  # fmt: skip
    assert proved_order(sound, SETTINGS).outcome == UPHELD


def test_a_wrong_variant_that_decides_on_a_size_is_not_outgrown() -> None:
    record = record_of(
        lambda m, n: m * m * n, lambda m, n: 7 * m * m * n, lambda: 15,
        {"none, or the order": lambda m, n: Fraction(1) if m == 2000 else m, "one": SMALLER["one"]},
    )  # fmt: skip
    assert record.outcome == VIOLATED and record.surviving == ["none, or the order"]
