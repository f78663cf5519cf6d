"""What a claim states is what its checks look at: hidden hypotheses are found, of every kind, and stated ones are not."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
import torch

from tests.statements.assumed import problems_of_assumptions
from tests.statements.undrawn import at_undrawn_sizes, undrawn_sizes
from verify import matrix
from verify.checks.free_inputs import annotated_shapes
from verify.checks.settings import settings_for
from verify.checks.stated import as_stated, broken_as_stated, comparable
from verify.matrix import absolute, eye, frobenius_norm, ones, row_sums, softmax, spectral_norm, sqrt
from verify.vocabulary import (
    Assumption,
    AtMost,
    Claim,
    Construction,
    Convention,
    Definition,
    Equal,
    HasStructure,
    Paper,
    Real,
    RegistryError,
    Shape,
    load,
)

pytestmark = pytest.mark.kept

PAPER = Paper("toy", "Toy claims", "nobody", "row-major")
QUICK = settings_for("quick", 0)
CLAIMS = load()
Square = Annotated[Any, Shape("n", "n")]
Row = Annotated[Any, Shape("1", "n")]
Scalar = Annotated[Any, Real(0.5, 2.0)]


def claim(relation: Any, assumptions: Any = (), **options: Any) -> Claim:
    options.setdefault("sizes", {"n": (1, 3)})
    return Claim(PAPER, "toy.a", "a", name="toy", statement="x", relation=relation, assumptions=assumptions, **options)


# -- hypotheses that hide in a preparation, a range or a size ----------------------------------------------------------

SKEW = Assumption("S is skew", zero=lambda S: S + S.T)
STOCHASTIC = Assumption("rows of A sum to 1", zero=lambda A: row_sums(A) - 1)
ENTRIES = Assumption("A >= 0", nonnegative=lambda A: A)


def sign_in_a_range(assumptions: Any) -> Claim:
    it = claim(Equal(), assumptions)
    it.formula(absolute_of_scalar)
    it.oracle(lambda c: c)
    return it


def absolute_of_scalar(c: Scalar) -> Any:
    return absolute(c)


def rows_of_a_softmax(assumptions: Any) -> Claim:
    it = claim(AtMost(), assumptions)
    it.inputs(attention_matrix)
    it.formula(root_of_rows)
    it.oracle(lambda A: sqrt(frobenius_norm(A) ** 2))
    return it


def attention_matrix(T: Square) -> dict[str, Any]:
    return {"A": softmax(T)}


def root_of_rows(A: Square) -> Any:
    return frobenius_norm(A * 0 + eye(A.shape[0]))


def skew_preparation(assumptions: Any) -> Claim:
    it = claim(Equal(), assumptions)
    it.inputs(skew_matrix)
    it.formula(minus_the_square)
    it.oracle(lambda S: S.T @ S)
    return it


def skew_matrix(G: Square) -> dict[str, Any]:
    return {"S": G - G.T}


def minus_the_square(S: Square) -> Any:
    return -(S @ S)


def norm_at_hand(assumptions: Any) -> Claim:
    it = claim(AtMost(), assumptions)
    it.inputs(matrix_and_its_norm)
    it.formula(the_bound)
    it.oracle(lambda W: spectral_norm(W.T))
    return it


def matrix_and_its_norm(W: Square) -> dict[str, Any]:
    return {"W": W, "bound": spectral_norm(W)}


def the_bound(bound: Scalar) -> Any:
    return bound


HIDDEN: dict[str, tuple[Any, list[Assumption]]] = {
    "a sign, in a range": (sign_in_a_range, [Assumption("c >= 0", nonnegative=lambda c: c)]),
    "nonnegative entries and row sums, in a softmax": (rows_of_a_softmax, [STOCHASTIC, ENTRIES]),
    "antisymmetry, in a preparation": (skew_preparation, [SKEW]),
    "a norm, in a preparation": (
        norm_at_hand,
        [Assumption("||W||_2 <= bound", nonnegative=lambda W, bound: bound - spectral_norm(W))],
    ),
}


@pytest.mark.parametrize("kind", HIDDEN)
def test_a_hidden_hypothesis_is_found_and_a_stated_one_is_met(kind: str) -> None:
    make, stated = HIDDEN[kind]
    hidden = broken_as_stated(make([]), QUICK, 12)
    assert hidden.broken is not None and hidden.broken.excess > 0.01
    assert "the tested assumptions hold, the statement does not" in str(hidden.broken)
    told = broken_as_stated(make(stated), QUICK, 12)
    assert told.broken is None and told.compared > 0


def test_half_of_what_is_needed_is_not_enough() -> None:
    """Rows that sum to 1 may have negative entries."""
    assert broken_as_stated(rows_of_a_softmax([STOCHASTIC]), QUICK, 24).broken is not None


def test_structures_of_several_matrices_are_compared() -> None:
    for assumptions in ([], [Assumption("S is symmetric", zero=lambda S: S - S.T)]):
        it = claim(HasStructure(), assumptions, sizes={"n": (2, 3)})
        it.formula(matrix_and_its_transpose)
        it.part("structure", lambda value: value[0] - value[1])
        found = broken_as_stated(it, QUICK, 6)
        assert found.compared > 0 and (found.broken is None) == bool(assumptions)


def matrix_and_its_transpose(S: Square) -> list[Any]:
    return [S, S.T]


def test_conditions_that_nothing_meets_leave_nothing_compared() -> None:
    never = Assumption("c^2 < 0", positive=lambda c: -c * c)
    assert broken_as_stated(sign_in_a_range([never]), QUICK, 6).compared == 0
    record = as_stated(sign_in_a_range([never]), QUICK)
    assert (record.outcome, record.satisfied) == ("not certified", 0)
    assert "nothing was compared" in record.message


def test_conditions_that_free_inputs_do_not_reach_are_met_near_prepared_ones() -> None:
    """From free values Newton's method goes to N = 0 alone, where N^2 = 0 has more solutions than its slope shows."""
    it = claim(AtMost(), [Assumption("N^2 = 0", zero=lambda N: N @ N)], sizes={"n": (2, 3)})
    it.inputs(nilpotent_matrix)
    it.formula(frobenius_of)
    it.oracle(spectral_of)
    found = broken_as_stated(it, QUICK, 6)
    assert found.broken is None and found.compared > 0


def nilpotent_matrix(u: Annotated[Any, Shape("1", "n")]) -> dict[str, Any]:
    return {"N": eye(u.shape[1])[:, :1] @ (u - u @ eye(u.shape[1])[:, :1] @ eye(u.shape[1])[:1])}


def frobenius_of(N: Square) -> Any:
    return frobenius_norm(N)


def spectral_of(N: Square) -> Any:
    return spectral_norm(N)


# -- sizes -------------------------------------------------------------------------------------------------------------


def transposed(A: Annotated[Any, Shape("n", "m")]) -> Any:
    return A.T


def of_two_sizes(assumptions: Any = (), **options: Any) -> Claim:
    it = claim(Equal(), assumptions, **options)
    it.formula(transposed)
    return it


def test_sizes_that_are_never_drawn_are_stated() -> None:
    hidden = of_two_sizes(sizes={"n": (2, 3), "m": (1, 2)})
    assert undrawn_sizes(hidden) == [{"n": 1, "m": 1}, {"n": 1, "m": 2}]
    where = of_two_sizes(sizes={"n": (1, 2), "m": (1, 2)}, where=lambda sizes: sizes["m"] <= sizes["n"])
    assert undrawn_sizes(where) == [{"n": 1, "m": 2}]
    costly = of_two_sizes(sizes={"n": (1, 2), "m": (1, 2)}, where=lambda sizes: sizes["m"] * sizes["n"] < 4)
    assert undrawn_sizes(costly) == []  # what is left out has nothing larger beside it that is drawn
    at_least_two = Assumption("n >= 2", sizes=lambda sizes: sizes["n"] >= 2)
    assert undrawn_sizes(of_two_sizes([at_least_two], sizes={"n": (2, 3), "m": (1, 2)})) == []


def one_for_several(A: Square) -> Any:
    return ones(1, 1) * int(A.shape[0] > 1)


def test_the_statement_is_tried_at_sizes_that_are_never_drawn() -> None:
    def outcomes(it: Claim) -> list[tuple[dict[str, int], str]]:
        return [(dict(each.sizes), each.outcome) for each in at_undrawn_sizes(it, QUICK)]

    fails = claim(Equal(), sizes={"n": (2, 3)})
    fails.formula(one_for_several)
    fails.oracle(lambda A: ones(1, 1))
    assert outcomes(fails) == [({"n": 1}, "fails")]
    holds = of_two_sizes(sizes={"n": (2, 2), "m": (1, 1)})
    holds.oracle(lambda A: 1 * A.T)
    assert outcomes(holds) == [({"n": 1, "m": 1}, "holds")]
    orthonormal = Assumption("A^T A = I", zero=lambda A: A.T @ A - eye(A.shape[1]))
    none = of_two_sizes([orthonormal], sizes={"n": (1, 2), "m": (1, 2)}, where=lambda sizes: sizes["m"] <= sizes["n"])
    none.oracle(lambda A: 1 * A.T)
    assert outcomes(none) == [({"n": 1, "m": 2}, "no inputs")]


def test_a_condition_on_sizes_holds_of_all_that_are_drawn() -> None:
    is_odd = Assumption("n is odd", sizes=lambda sizes: sizes["n"] % 2 == 1)
    odd = of_two_sizes([is_odd], sizes={"n": (1, 4), "m": (1, 1)})
    assert [n for n in range(1, 5) if odd.where({"n": n})] == [1, 3] and undrawn_sizes(odd) == []


# -- kinds -------------------------------------------------------------------------------------------------------------


def test_every_kind_of_assumption_names_what_takes_part() -> None:
    good = [
        SKEW,
        Definition("minus the square of S", by=minus_the_square),
        Convention("S^2 is S S", by=(minus_the_square,)),
        Construction("S in R^{n x n}", shapes={"S": ("n", "n")}),
    ]
    assert problems_of_assumptions(skew_preparation(good)) == []


@pytest.mark.parametrize(("values", "meets"), [((2.0, 2.0, 2.0), True), ((2.0, 7.0, 0.0), False)])
def test_attention_of_a_token_at_rest_is_the_same_multiple_of_every_token(
    values: tuple[float, ...], meets: bool
) -> None:
    """Where it is a multiple of this token alone, the other exponents differ, and so do their maximum and their mean."""
    claim = CLAIMS["dynamics.sec-5.3-mean-at-rest"]
    I, one = torch.eye(3, dtype=torch.float64), torch.ones((), dtype=torch.float64)
    weights = {"W_Q": 0 * I, "W_K": 0 * I, "W_V": torch.diag(torch.tensor(values, dtype=torch.float64)), "W_O": I}
    numbers = {"gamma": I[0] * 0 + 1, "beta": one, "eta": one / 2, "m": 2 * one, "c": 3 * one, "H": 1}
    inputs = {"X": I[:1], "C": 3 * I[:1], **weights, **numbers}
    sides = [float(claim.evaluate(side, inputs)) for side in (claim.the_formula, claim.the_oracle)]
    assert (abs(sides[0] - sides[1]) < 1e-12) is meets
    zeros = [each.zero for each in claim.tested_assumptions if each.zero is not None]
    assert all(float(claim.evaluate(zero, inputs).abs().max()) < 1e-12 for zero in zeros) is meets


def test_shapes_that_an_oracle_alone_annotates_are_held_against_what_is_stated() -> None:
    for claim_id, names in (
        ("osa.fn-3", "W_Q W_K W_V W_O"),
        ("osa.fn-2-second-single-head", "X W_Q W_K W_V W_O W_1 W_2"),
    ):
        assert set(names.split()) <= annotated_shapes(CLAIMS[claim_id]).keys()


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ("S is skew", "is words alone"),
        (Assumption("S is skew"), "is a condition without a test"),
        (Definition("P is a softmax", by=softmax), "names softmax, which no function of the claim reaches"),
        (Convention("row by row", by=(minus_the_square, row_sums)), "names row_sums, which no function"),
        (Construction("S is n x m", shapes={"S": ("n", "m")}), r"S has the shape \('n', 'n'\)"),
        (Construction("X is n x m", shapes={"X": ("n", "m")}), "none of X is an input with a shape"),
    ],
)
def test_what_takes_no_part_is_refused(wrong: Any, what: str) -> None:
    (problem,) = problems_of_assumptions(skew_preparation([wrong]))
    with pytest.raises(AssertionError, match=what):
        raise AssertionError(problem)


def test_a_definition_that_names_the_preparation_itself_is_refused() -> None:
    """It says of the inputs what the claim's own preparation makes them: only a condition tests that."""
    own = skew_preparation([]).named_functions()["inputs"]
    (problem,) = problems_of_assumptions(skew_preparation([Definition("S is skew", by=own)]))
    assert "names the preparation of the inputs: expected a condition" in problem


class Squares:
    def squared(self, S: Any) -> Any:
        return S @ S


class SquaresAndMore(Squares):
    pass


def by_a_base_class(S: Square) -> Any:
    return SquaresAndMore().squared(S)


def by_a_module(S: Square) -> Any:
    return matrix.row_sums(S)


def test_what_a_base_class_or_a_module_holds_is_reached() -> None:
    inherited, imported = Definition("S^2 = S S", by=Squares.squared), Definition("row sums", by=row_sums)
    for function, reached, absent in ((by_a_base_class, inherited, imported), (by_a_module, imported, inherited)):
        it = claim(Equal(), [reached])
        it.formula(function)
        assert problems_of_assumptions(it) == []
        it = claim(Equal(), [absent])
        it.formula(function)
        assert len(problems_of_assumptions(it)) == 1


@pytest.mark.parametrize(
    "make", [lambda: Definition("x", by=None), lambda: Convention("x", by="relu"), lambda: Construction("x")]
)
def test_a_kind_without_its_object_is_refused(make: Any) -> None:
    with pytest.raises(RegistryError, match=r"'x': a (definition|convention|construction) names"):
        make()


@pytest.mark.parametrize("claim_id", ["osa.rank-s", "dynamics.sec-5-direct-method"])
def test_what_floats_alone_show_is_not_certain(claim_id: str) -> None:
    """Minors of a matrix of low rank cancel, exp amplifies a token whose length is off by a rounding: neither is a violation."""
    found = broken_as_stated(CLAIMS[claim_id], QUICK, 24)
    assert found.broken is None and found.compared > 12


# -- the registry ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("paper", sorted({item.paper.key for item in CLAIMS.values()}))
def test_every_assumption_is_of_a_kind_and_takes_part(paper: str) -> None:
    """Of all packages: none is words alone, none names what no function of its claim reaches."""
    of_paper = [item for item in CLAIMS.values() if item.paper.key == paper]
    assert {item.id: found for item in of_paper if (found := problems_of_assumptions(item))} == {}


#: The claims, of all packages, that are expected to hold and can be tried at free inputs.
JUDGED = [claim_id for claim_id, item in CLAIMS.items() if comparable(item)]


def test_every_claim_states_or_draws_its_sizes() -> None:
    assert {claim_id: found for claim_id in JUDGED if (found := undrawn_sizes(CLAIMS[claim_id]))} == {}


@pytest.mark.parametrize("claim_id", JUDGED[::16])
def test_a_sample_of_claims_holds_as_stated(claim_id: str) -> None:
    assert broken_as_stated(CLAIMS[claim_id], QUICK, 3).broken is None
