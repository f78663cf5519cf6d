"""False statements that a prover of identities could take for true: none of them is proved, whoever states it."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from typing import Annotated, Any

import flint
import mpmath
import pytest
import torch

from tests.claims_that_fail import toy
from tests.fuzzing.campaign import TooLong, at_most
from verify.arithmetics.symbols import named
from verify.arithmetics.symbols.difference import Proof
from verify.checks import checks_of, spots
from verify.checks.proofs import _problem, prove_claim, size_symbol
from verify.checks.record import VIOLATED
from verify.checks.settings import EFFORTS, Settings
from verify.evidence.runner import run_check
from verify.matrix import block_diag, concatenate, each, expm, eye, inverse, ones, row_sums, sqrt, total, trace, vec_r
from verify.oracles import Normal, expectation
from verify.vocabulary import Assumption, Claim, Equal, Real, RegistryError, Shape, Size
from verify.vocabulary.hypotheses import (
    contraction,
    dissipative,
    normal_entries,
    orthonormal_columns,
    symmetric,
    unit_rows,
)

pytestmark = pytest.mark.kept

Square = Annotated[Any, Shape("n", "n")]
Wide = Annotated[Any, Shape("m", "n")]
Column = Annotated[Any, Shape("n", "1")]
Scalar = Annotated[Any, Real()]
Positive = Annotated[Any, Real(0.5, 2.0)]


def claim_of(formula: Callable[..., Any], oracle: Callable[..., Any], **options: Any) -> Claim:
    claim = toy(formula.__name__, Equal(), all_sizes=True, **options)
    claim.formula(formula)
    claim.oracle(oracle)
    return claim


# -- decisions on sizes ------------------------------------------------------------------------------------------------


def twice_where_six_divides(A: Square) -> Any:
    return 2 * A if A.shape[0] % 6 == 0 else A


def twice_where_six_is_no_remainder(A: Square) -> Any:
    return A if A.shape[0] % 6 else 2 * A


def twice_at_one_thousand(A: Square) -> Any:
    return 2 * A if A.shape[0] == 1000 else A


def twice_in_a_list(A: Square) -> Any:
    return 2 * A if A.shape[0] in (40, 50) else A


def twice_where_square(A: Wide) -> Any:
    return 2 * A if A.shape[0] == A.shape[1] else A


def twice_where_the_product_is_twelve(A: Wide) -> Any:
    return 2 * A if A.shape[0] * A.shape[1] == 12 else A


def twice_where_large(A: Square) -> Any:
    return 2 * A if A.shape[0] > 100 else A


def twice_where_a_root_is_whole(A: Square) -> Any:
    return 2 * A if sqrt(A.shape[0]) == 3 else A


def twice_where_the_shape_is_known(A: Square) -> Any:
    return 2 * A if A.shape == (30, 30) else A


def half_of_an_even_size(A: Square) -> Any:
    return A * (2 * (A.shape[0] // 2) / A.shape[0])


def by_a_table(A: Square) -> Any:
    return {60: 2}.get(A.shape[0], 1) * A


def twice_where(decision: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def doubled_somewhere(A: Wide) -> Any:
        return 2 * A if decision(*A.shape) else A

    return doubled_somewhere


#: Equations of sizes that have solutions, few of them among the sizes that anybody would try.
SOLVABLE = {
    "3m + 5n = 1001": lambda m, n: 3 * m + 5 * n == 1001,
    "37m - 5n = 1": lambda m, n: 37 * m - 5 * n == 1,
    "700m - 11n = 3": lambda m, n: 700 * m - 11 * n == 3,
    "n / 7 = 143": lambda m, n: n / 7 == 143,
    "n / 2 = 511": lambda m, n: n * 0.5 == 511,
    "m = n + 517": lambda m, n: m - n == 517,
}
#: Numbers of other kinds, which are equal to a size that has a value; and the letters of it.
OF_OTHER_KINDS = {
    "tensor": lambda m, n: n == torch.tensor(30),
    "tensor on the left": lambda m, n: torch.tensor(30) == n,
    "Decimal": lambda m, n: n == decimal.Decimal(30),
    "complex": lambda m, n: n != 30 + 0j,
    "fmpz": lambda m, n: n == flint.fmpz(30),
    "arb": lambda m, n: n == flint.arb(30),
    "mpf": lambda m, n: n == mpmath.mpf(30),
    "True": lambda m, n: m == True,  # noqa: E712
    "text": lambda m, n: str(n) == "30",
    "formatted text": lambda m, n: f"{n}" == "30",
}


@pytest.mark.parametrize("decision", SOLVABLE.values(), ids=SOLVABLE)
def test_an_equation_of_sizes_with_a_solution_is_no_condition_that_is_granted(decision: Any) -> None:
    claim = claim_of(twice_where(decision), lambda A: A, sizes={"m": (2, 3), "n": (2, 4)})
    assert "which the claim does not grant" in (prove_claim(claim).reason or "")


@pytest.mark.parametrize("decision", OF_OTHER_KINDS.values(), ids=OF_OTHER_KINDS)
def test_a_size_is_compared_with_no_number_of_another_kind(decision: Any) -> None:
    claim = claim_of(twice_where(decision), lambda A: A, sizes={"m": (1, 3), "n": (2, 4)})
    reason = prove_claim(claim).reason or ""
    assert "ArithmeticUnsupported" in reason or "asks what kind of operands" in reason


#: Equations that hold in floats at some sizes, by their rounding or since they overflow.
IN_FLOATS = {
    "n sqrt(2) = 37 sqrt(2)": lambda m, n: n * math.sqrt(2) == 37 * math.sqrt(2),
    "n pi = 37 pi": lambda m, n: n * math.pi == 37 * math.pi,
    "n 10^305 = oo": lambda m, n: n * 1e305 == math.inf,
    "n + 10^-18 = 37": lambda m, n: n + 1e-18 == 37,
    "n / 10 > 3.65": lambda m, n: n * 0.1 > 3.65,
}


@pytest.mark.parametrize("decision", IN_FLOATS.values(), ids=IN_FLOATS)
def test_a_size_is_compared_with_no_float_that_rounds(decision: Any) -> None:
    claim = claim_of(twice_where(decision), lambda A: A, sizes={"m": (2, 3), "n": (2, 4)})
    assert "a comparison" in (prove_claim(claim).reason or "")


@pytest.mark.parametrize(
    ("decision", "sizes"),
    [
        (lambda m, n: 2 * m == 2 * n + 1, {"m": (2, 3), "n": (2, 4)}),
        (lambda m, n: m + n == 3, {"m": (2, 3), "n": (2, 4)}),
        (lambda m, n: m - n == 517, {"m": (2, 2), "n": (2, 4)}),
        (lambda m, n: m is None or n == None, {"m": (1, 3), "n": (2, 4)}),  # noqa: E711
    ],
)
def test_an_equation_without_a_solution_is_granted(decision: Any, sizes: Any) -> None:
    claim = claim_of(twice_where(decision), lambda A: A, sizes=sizes)
    claim.mutant("doubled", lambda A: 2 * A)
    assert prove_claim(claim).proved


@pytest.mark.parametrize(
    "formula",
    [
        twice_where_six_divides, twice_where_six_is_no_remainder, twice_at_one_thousand, twice_in_a_list,
        twice_where_large, twice_where_a_root_is_whole, twice_where_the_shape_is_known, half_of_an_even_size, by_a_table,
        twice_where_square, twice_where_the_product_is_twelve,
    ],
)  # fmt: skip
def test_a_decision_on_a_size_is_no_proof(formula: Callable[..., Any]) -> None:
    claim = claim_of(formula, lambda A: A, sizes={"m": (2, 3), "n": (4, 5)})
    assert not prove_claim(claim).proved


def test_a_decision_that_the_claim_grants_is_a_proof() -> None:
    claim = claim_of(twice_where_square, lambda A: A, where=lambda sizes: sizes["m"] < sizes["n"])
    assert prove_claim(claim).proved
    assert [str(condition) for condition in prove_claim(claim).conditions] == ["m - n is not 0"]


def twice_where_a_scalar_vanishes(A: Square, c: Scalar) -> Any:
    return 2 * A if c == 0 else A


def twice_where_an_entry_is_another(A: Square) -> Any:
    return 2 * A if A == A.T else A


@pytest.mark.parametrize(
    ("formula", "oracle"),
    [(twice_where_a_scalar_vanishes, lambda A, c: A), (twice_where_an_entry_is_another, lambda A: A)],
)
def test_a_decision_on_a_scalar_or_on_entries_is_no_proof(formula: Any, oracle: Any) -> None:
    assert "decision" in (prove_claim(claim_of(formula, oracle)).reason or "") or "comparison" in (
        prove_claim(claim_of(formula, oracle)).reason or ""
    )


def rows_of(length: Callable[..., Any], stop: Callable[..., Any]) -> Callable[..., Any]:
    def counted(A: Wide) -> Any:
        return A * total(ones(1, length(*A.shape))[:, : stop(*A.shape)])

    return counted


#: The length of a row of ones, and the end of a slice of it, which is negative at some sizes: then it counts from the end.
NEGATIVE_ENDS = {
    "(n - 37)^2 - 1": (lambda m, n: n**2 + 1368, lambda m, n: n**2 - 74 * n + 1368, "n = 37"),
    "m - n + 1000": (lambda m, n: m + 1000, lambda m, n: m - n + 1000, "n = 1003"),
    "2m - 3n + 1000": (lambda m, n: 2 * m + 1000, lambda m, n: 2 * m - 3 * n + 1000, "does not grant at m = 2, n = "),
    "(m - 40)(m - 42)": (lambda m, n: m**2 + 1680, lambda m, n: m**2 - 82 * m + 1680, "m = 41"),
}


@pytest.mark.parametrize(("length", "stop", "where"), NEGATIVE_ENDS.values(), ids=NEGATIVE_ENDS)
def test_a_slice_whose_end_is_negative_at_sizes_that_are_not_drawn_is_no_proof(
    length: Any, stop: Any, where: str
) -> None:
    claim = claim_of(rows_of(length, stop), lambda A: A * stop(*A.shape), sizes={"m": (2, 3), "n": (2, 4)})
    assert where in (prove_claim(claim).reason or "")


@pytest.mark.parametrize(
    ("length", "stop"),
    [
        (lambda m, n: n**2 + 9, lambda m, n: n**2 - 4 * n + 4),  # (n - 2)^2
        (lambda m, n: m * n, lambda m, n: m * n - m),
        (lambda m, n: m + n, lambda m, n: m + n - 4),
    ],
)
def test_a_slice_whose_end_is_never_negative_is_one(length: Any, stop: Any) -> None:
    claim = claim_of(rows_of(length, stop), lambda A: A * stop(*A.shape), sizes={"m": (2, 3), "n": (2, 4)})
    claim.mutant("one more", lambda A: A * (stop(*A.shape) + 1))
    assert prove_claim(claim).proved, prove_claim(claim).reason


def test_an_inequality_of_products_that_does_not_follow_is_not_granted() -> None:
    claim = claim_of(
        rows_of(lambda m, n: m * n + m**2 + n**2, lambda m, n: m**2 + n**2 - m * n),
        lambda A: A * (A.shape[0] ** 2 + A.shape[1] ** 2 - A.shape[0] * A.shape[1]),
        sizes={"m": (2, 3), "n": (2, 4)},
    )
    assert "no reason why there are none" in (prove_claim(claim).reason or "")


def twice_the_quotient(A: Square) -> Any:
    n = A.shape[0]
    return A * (2 * ((n**2 + n * 34) // 35 * 35) / (n**2 + n * 34))


def test_a_quotient_that_is_whole_at_few_remainders_is_not_granted() -> None:
    claim = claim_of(twice_the_quotient, lambda A: 2 * A, sizes={"n": (35, 36)})
    assert "is a whole number, which the claim does not grant" in (prove_claim(claim).reason or "")


def twice_without_steps(A: Wide, K: Annotated[int, Size("K")]) -> Any:
    return 2 * A if K == 0 else A * 1


def test_a_size_that_may_be_0_is_0_in_one_of_the_comparisons_with_numbers() -> None:
    claim = claim_of(
        twice_without_steps, lambda A: 1 * A, sizes={"m": (1, 9), "n": (1, 4), "K": (0, 3)},
        where=lambda sizes: sizes["K"] > 0 or sizes["m"] == 9,
    )  # fmt: skip
    for name, factor in (("doubled", 2), ("tripled", 3)):
        claim.mutant(name, lambda value, factor=factor: factor * value)
    assert {"m": 9, "n": 2, "K": 0} in spots.spot_sizes(claim, 0)
    (check,) = [check for check in checks_of(claim, Settings(EFFORTS["quick"])) if check.name == "proved"]
    record = run_check(claim, check, Settings(EFFORTS["quick"]))
    assert record.outcome == VIOLATED and "K = 0" in record.message


# -- shapes ------------------------------------------------------------------------------------------------------------


def column_itself(x: Column) -> Any:
    return x * 1


def test_a_column_is_not_its_transpose() -> None:
    claim = claim_of(column_itself, lambda x: x.T)
    claim.mutant("doubled", lambda value: 2 * value)
    claim.mutant("negated", lambda value: -value)
    assert "shape" in (prove_claim(claim).reason or "")
    settings = Settings(EFFORTS["quick"])
    for check in checks_of(claim, settings):
        record = run_check(claim, check, settings)
        assert record.outcome == VIOLATED, check.name
        assert "shape" in record.message


# -- assumptions -------------------------------------------------------------------------------------------------------


def matrix_itself(A: Square, c: Scalar) -> Any:
    return A * 1


def test_a_multiple_that_vanishes_says_nothing_of_the_matrix() -> None:
    none = Assumption("c A = 0", zero=lambda A, c: c * A)
    assert not prove_claim(claim_of(matrix_itself, lambda A, c: 0 * A, assumptions=[none], hypotheses=(none,))).proved
    skewed = Assumption("c A = c A^T", zero=lambda A, c: c * (A - A.T))
    assert not prove_claim(claim_of(matrix_itself, lambda A, c: A.T, assumptions=[skewed], hypotheses=(skewed,))).proved
    times = claim_of(matrix_itself, lambda A, c: A.T, assumptions=[skewed], hypotheses=(skewed,))
    assert "c is not 0" in (prove_claim(times).reason or "")


def multiple(A: Square, c: Scalar) -> Any:
    return A * c


def test_it_says_all_of_the_multiple() -> None:
    none = Assumption("c A = 0", zero=lambda A, c: c * A)
    given = {"assumptions": [none], "hypotheses": (none,)}
    claim = claim_of(multiple, lambda A, c: 0 * A, **given)
    claim.mutant("the matrix", lambda A, c: A)
    assert prove_claim(claim).proved


def row_sums_alone(A: Square, B: Square) -> Any:
    return row_sums(A) * 2


@pytest.mark.parametrize("factor", [2, 3])
def test_assumptions_that_undo_each_other_end(factor: int) -> None:
    """The row sums of B give way to those of A, and A to B."""
    alike = Assumption("row sums of B are those of A", zero=lambda A, B: row_sums(B) - row_sums(A))
    equal = Assumption("A = B", zero=lambda A, B: A - B)
    given = {"assumptions": [alike, equal], "hypotheses": (alike, equal)}
    try:
        with at_most(60.0):
            proof = prove_claim(claim_of(row_sums_alone, lambda A, B: row_sums(B) * factor, **given))
    except TooLong:
        pytest.fail("it does not end")
    assert "undo each other" in (proof.reason or "")


@pytest.mark.parametrize(
    ("assumption", "hypothesis"),
    [
        ("A is nice", unit_rows("A", stated="")),
        ("A is nice", unit_rows("A", stated=" ")),
        ("A is nice", unit_rows("A", stated="nice")),
        ("A is anti-symmetric", symmetric("A", stated="symmetric")),
        ("A is anti-symmetric", symmetric("A", stated="A is anti-symmetric")),
        ("A is not symmetric", symmetric("A", stated="symmetric")),
        ("the rows are unitary", unit_rows("A", stated="unit")),
        ("the rows of A are unitary", unit_rows("A", stated="unit")),
        ("B is symmetric", symmetric("A", stated="B is symmetric")),
        ("the matrix is symmetric", symmetric("A", stated="is symmetric")),
        ("W_A is symmetric", symmetric("A", stated="is symmetric")),
        ("A B is symmetric", symmetric("A", stated="symmetric")),
        ("A^T B is symmetric", symmetric("A", stated="symmetric")),
        ("B^T A is symmetric", symmetric("A", stated="symmetric")),
        ("A or B is symmetric", symmetric("A", stated="symmetric")),
        ("A is symmetric if n = 2", symmetric("A", stated="A is symmetric")),
        ("A need not be symmetric", symmetric("A", stated="symmetric")),
        ("A is never symmetric", symmetric("A", stated="symmetric")),
        ("A is nearly symmetric", symmetric("A", stated="symmetric")),
        ("A isn't symmetric", symmetric("A", stated="symmetric")),
        ("A is not dissipative", dissipative("A", stated="dissipative")),
        ("exp(A) is symmetric", symmetric("A", stated="is symmetric")),
        ("A + A^T is symmetric", symmetric("A", stated="symmetric")),
        ("A^T A is symmetric", symmetric("A", stated="symmetric")),
        ("A^2 is symmetric", symmetric("A", stated="symmetric")),
        ("2 A is symmetric", symmetric("A", stated="symmetric")),
        ("A_1 is symmetric", symmetric("A", stated="symmetric")),
        ("A_{1} is symmetric", symmetric("A", stated="symmetric")),
        ("A_{1,h} is symmetric", symmetric("A", stated="symmetric")),
        ("A_h is symmetric for some h", symmetric("A", stated="symmetric")),
        ("the trace of B, A is symmetric", symmetric("A", stated="symmetric")),
        ("one of A, B is symmetric", symmetric("A", stated="symmetric")),
        ("either B, A is symmetric", symmetric("A", stated="symmetric")),
        ("A is symmetric, sometimes", symmetric("A", stated="symmetric")),
        ("A is symmetric, on average", symmetric("A", stated="symmetric")),
        ("A is symmetric (approximately)", symmetric("A", stated="symmetric")),
        ("A is symmetric for every even n", symmetric("A", stated="symmetric")),
        ("A is symmetric, at initialization", symmetric("A", stated="symmetric")),
        ("the square of A is symmetric", symmetric("A", stated="symmetric")),
        ("the sum of B and A is symmetric", symmetric("A", stated="symmetric")),
        ("the spectrum of A is symmetric", symmetric("A", stated="symmetric")),
        ("the symmetric part of A is positive", symmetric("A", stated="symmetric part of A")),
        ("A is similar to a symmetric matrix", symmetric("A", stated="symmetric")),
        ("A is arbitrary, and B is symmetric", symmetric("A", stated="symmetric")),
        ("A is symmetric for n = 2", symmetric("A", stated="A is symmetric")),
        ("A is symmetric up to a factor", symmetric("A", stated="A is symmetric")),
        ("A A^T = I", orthonormal_columns("A", stated="= I")),
        ("A^T A = 2 I", orthonormal_columns("A", stated="A^T A = 2 I")),
        ("A is orthogonal to B", orthonormal_columns("A", stated="A is orthogonal")),
        (r"\|A\| = 1", unit_rows("A", stated="= 1")),  # the norm of the matrix
        (r"\|A_{[i,:]}\| = 1/2", unit_rows("A", stated="= 1")),
        ("the norm of A is 2", contraction("A", stated="the norm of A")),
        ("A / 2 is a contraction", contraction("A", stated="contraction")),
    ],
)
def test_a_quotation_says_what_is_assumed_of_the_input(assumption: str, hypothesis: Any) -> None:
    with pytest.raises(RegistryError, match="no assumption states"):
        toy("quoted", Equal(), assumptions=[assumption], hypotheses=(hypothesis,))


@pytest.mark.parametrize(
    ("assumption", "hypothesis"),
    [
        ("A is symmetric", symmetric("A", stated="A is symmetric")),
        ("A and B are symmetric", symmetric("B", stated="symmetric")),
        ("A_k is symmetric", symmetric("A", stated="A_k is symmetric")),
        ("B = C C^T for some C, so that A is symmetric", symmetric("A", stated="A is symmetric")),
        ("B is given, A is symmetric", symmetric("A", stated="A is symmetric")),
        ("A is symmetric, and B too", symmetric("A", stated="symmetric")),
        ("A^T A = I", orthonormal_columns("A", stated="A^T A = I")),
        ("C is given, with A, B orthonormal", orthonormal_columns("B", stated="orthonormal")),
        (r"\\|A_{[i,:]}\\| = 1 for every i", unit_rows("A", stated="= 1 for every i")),
        ("C = A B A^T, all of A symmetric", symmetric("A", stated="symmetric")),
        (
            "A is dissipative, as it has a symmetric part without positive eigenvalues",
            dissipative("A", stated="A is dissipative"),
        ),
    ],
)
def test_an_input_may_have_an_index_in_the_text_and_the_property_its_own_words(
    assumption: str, hypothesis: Any
) -> None:
    assert toy("quoted", Equal(), assumptions=[assumption], hypotheses=(hypothesis,)).hypotheses == (hypothesis,)


# -- expectations, inverses, exponentials ------------------------------------------------------------------------------


def mean_of_a_product(Y: Square) -> Any:
    return expectation(lambda Y, A: Y @ A, Y=Normal(Y.shape[0], Y.shape[0]))(A=Y)


def mean_of_a_captured_product(Y: Square) -> Any:
    return expectation(lambda Y, A, other=Y: Y @ other.T + 0 * A, Y=Normal(Y.shape[0], Y.shape[0]))(A=Y)


@pytest.mark.parametrize("formula", [mean_of_a_product, mean_of_a_captured_product])
def test_an_input_with_the_name_of_a_random_matrix_is_not_random(formula: Any) -> None:
    given = normal_entries("Y", stated="Y has normal entries")
    options = {"assumptions": ["Y has normal entries"], "hypotheses": (given,)}
    assert not prove_claim(claim_of(formula, lambda Y: Y.shape[0] * eye(Y.shape[0]), **options)).proved


def of_rank_one_times_its_inverse(A: Square) -> Any:
    u = vec_r(eye(A.shape[0]))
    return inverse(u @ u.T) @ u @ u.T + 0 * A[0, 0]


def exponential_of_different_blocks(A: Wide) -> Any:
    return expm(block_diag(each(A.shape[0], lambda i: A[i : i + 1].T @ A[i : i + 1])))


def in_the_second_block(A: Square, B: Square) -> Any:
    return concatenate([A, A @ B], axis=0)


FALSE = [
    (of_rank_one_times_its_inverse, lambda A: eye(A.shape[0] ** 2)),
    (exponential_of_different_blocks, lambda A: expm(
        block_diag(each(A.shape[0], lambda i: A.T @ A * (1 / A.shape[0])))
    )),
    (in_the_second_block, lambda A, B: concatenate([A, B @ A], axis=0)),
]  # fmt: skip


@pytest.mark.parametrize(("formula", "oracle"), FALSE)
def test_it_is_not_proved(formula: Any, oracle: Any) -> None:
    assert not prove_claim(claim_of(formula, oracle)).proved


def test_no_function_at_a_single_row_stands_for_all_rows() -> None:
    def rows(A: Wide, b: Annotated[Any, Shape("1", "n")]) -> Any:
        return concatenate(each(A.shape[0], lambda i: A[i : i + 1] + b[i]), axis=0)

    assert "index: expected one of size 1" in (prove_claim(claim_of(rows, lambda A, b: A + b)).reason or "")


# -- spot checks -------------------------------------------------------------------------------------------------------


def nearly_itself(A: Square) -> Any:
    n = A.shape[0]
    return A + A * (n**8 * (1 / 10**20))


def test_a_factor_that_shows_at_large_sizes_only_is_seen() -> None:
    claim = claim_of(nearly_itself, lambda A: 1 * A, sizes={"n": (2, 4)})
    assert spots.far_spot(claim, {"n": 3}, 0).agrees
    far = [spots.far_spot(claim, sizes, 0) for sizes in spots.far_sizes(claim, Proof(True, None))]
    assert [spot.sizes for spot in far] == [{"n": 200}]
    assert not far[0].agrees


def test_sides_that_have_their_own_normal_forms_are_held_against_each_other() -> None:
    claim = claim_of(trace_of_square, lambda A: total(A * A))
    A = named("A", size_symbol("n"), size_symbol("n"))
    believed = Proof(True, None, left=trace(A @ A), right=total(A * A))  # as a wrong rule has it
    assert not spots.spot_check(claim, believed, {"n": 2}, 0).agrees


def trace_of_square(A: Square) -> Any:
    return trace(A @ A)


def test_balls_that_differ_are_no_proof() -> None:
    spot = spots.SpotCheck({"n": 2}, 0.0, {})
    assert _problem(Proof(True, None), [spot], [], False) == "both sides differ for certain in balls"
    assert _problem(Proof(True, None), [spot], [], None) == "balls decide at no draw"
    assert _problem(Proof(True, None), [spot], [spots.SpotCheck({"n": 200}, 1.0, {})], True) is not None
    assert _problem(Proof(True, None), [spot], [spot], True) is None
    claim = claim_of(trace_of_square, lambda A: total(A * A))
    assert spots.agree_in_balls(claim, {"n": 2}, 0) is False
    assert spots.agree_in_balls(claim_of(trace_of_square, lambda A: trace(A @ A)), {"n": 2}, 0) is True
