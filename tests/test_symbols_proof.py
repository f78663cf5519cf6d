"""Proofs for all sizes: what is proved, what is not, and why."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
import sympy

from tests.symbolic_cases import SIZES
from theorems.hessian.part_3_structure.functional import THEOREM_32_QK
from theorems.hessian.part_b_derivatives.jacobian_scaling import SCALING
from verify.arithmetics.symbols import named
from verify.arithmetics.symbols.difference import prove
from verify.arithmetics.symbols.hypothesis_rules import HypothesisRule, hypothesis_on
from verify.arithmetics.symbols.latex import sum_latex
from verify.arithmetics.symbols.pairings import expectation
from verify.checks.proofs import prove_claim, spot_check
from verify.matrix import commutation_matrix, determinant, eye, kron, ones, row_sums, softmax, trace, vec_r, zeros
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import ArithmeticUnsupported, InputError
from verify.vocabulary.relations import Equal
from verify.vocabulary.sections import Paper
from verify.vocabulary.shapes import Shape, checked

pytestmark = pytest.mark.kept

n, d, k = SIZES["n"], SIZES["d"], SIZES["k"]
DIMS = {"X": (n, d), "W": (d, k), "G": (d, d)}


def test_theorem_32_is_proved_and_its_mutants_are_not() -> None:
    proof = prove_claim(THEOREM_32_QK)
    assert proof.proved, proof.reason
    assert proof.left_terms == proof.right_terms == 14
    assert proof.seconds < 5.0
    assert sum(remains.is_told_apart for remains in proof.mutants.values()) >= 3
    assert all(remains.terms != 0 for remains in proof.mutants.values())
    assert "derivative of softmax" in proof.rules
    check = spot_check(THEOREM_32_QK, proof, {"L": 2, "d_V": 3, "d_K": 2}, seed=1)
    assert check.worst < 1e-10
    assert min(check.mutants.values()) > 1e-6


def test_a_refuted_claim_is_not_proved() -> None:
    proof = prove_claim(SCALING)
    assert not proof.proved
    assert proof.reason is not None and proof.reason.startswith("1 terms remain")
    assert proof.remaining


def proof_of(left: Any, right: Any, *hypotheses: tuple[str, str], mutants: Any = None) -> Any:
    def inputs() -> dict[str, Any]:
        return {name: named(name, *dims) for name, dims in DIMS.items()}

    def given(_: Any) -> list[HypothesisRule]:
        return [hypothesis_on(name, wanted, DIMS[name]) for name, wanted in hypotheses]

    return prove(lambda operands: left(**operands), lambda operands: right(**operands), inputs, mutants, given)


def test_an_error_is_never_a_proof() -> None:
    proof = proof_of(lambda X, W, G: determinant(G), lambda X, W, G: determinant(G))
    assert not proof.proved
    assert "determinant of Indexed(shape=(d, d)" in proof.reason

    loop = proof_of(lambda X, W, G: sum(X[i] for i in range(n)), lambda X, W, G: X.sum(0))
    assert not loop.proved
    assert "TypeError" in loop.reason


def test_sides_of_different_shape_are_not_proved() -> None:
    proof = proof_of(lambda X, W, G: X @ W, lambda X, W, G: (X @ W).T @ X)
    assert not proof.proved
    assert "shape" in proof.reason


def test_numbers_alone_are_not_proved() -> None:
    proof = proof_of(lambda X, W, G: ones(1, 1), lambda X, W, G: ones(1, 1))
    assert not proof.proved


def test_a_wrong_variant_that_reduces_to_the_truth_spoils_the_proof() -> None:
    proof = proof_of(
        lambda X, W, G: X @ W, lambda X, W, G: X @ W, mutants={"the same": lambda given: 1 * (given["X"] @ given["W"])}
    )
    assert not proof.proved
    assert "the same" in proof.reason


def test_mutants_that_do_not_fit_are_told_from_those_that_leave_terms() -> None:
    proof = proof_of(
        lambda X, W, G: X @ W,
        lambda X, W, G: X @ W,
        mutants={"twice": lambda given: 2 * (given["X"] @ given["W"]), "transposed": lambda given: given["W"].T},
    )
    assert proof.proved
    assert proof.mutants["twice"].terms == 1
    assert proof.mutants["transposed"].terms is None
    assert proof.mutants["transposed"].reason


@pytest.mark.parametrize(
    ("left", "right", "given"),
    [
        (lambda X, W, G: W.T @ W, lambda X, W, G: eye(k), ("W", "has orthonormal columns")),
        (lambda X, W, G: W @ W.T @ G, lambda X, W, G: G, ("W", "has orthonormal rows")),
        (lambda X, W, G: row_sums(X * X), lambda X, W, G: ones(n, 1), ("X", "has unit rows")),
        (lambda X, W, G: G @ W, lambda X, W, G: G.T @ W, ("G", "is symmetric")),
        (lambda X, W, G: G @ G + G.T @ G, lambda X, W, G: 0 * G, ("G", "is skew")),
        (lambda X, W, G: G @ G @ G, lambda X, W, G: G, ("G", "is idempotent")),
        (lambda X, W, G: softmax(X @ G @ X.T), lambda X, W, G: softmax(X @ G.T @ X.T), ("G", "is symmetric")),
    ],
)
def test_a_hypothesis_proves_only_where_it_is_given(left: Any, right: Any, given: tuple[str, str]) -> None:
    assert not proof_of(left, right).proved
    proof = proof_of(left, right, given)
    assert proof.proved, proof.remaining
    assert proof.hypotheses == [" ".join(given)]
    assert not proof_of(left, right).proved  # and nothing of it lingers


def test_an_unused_hypothesis_is_not_in_the_record() -> None:
    given = ("W", "has orthonormal columns")
    assert proof_of(lambda X, W, G: X @ W, lambda X, W, G: X @ W, given).hypotheses == []


def test_a_hypothesis_holds_of_a_matrix_whose_symmetry_is_known_too() -> None:
    projection = [("G", "is idempotent"), ("G", "is symmetric")]
    for given in (projection, projection[::-1]):
        assert proof_of(lambda X, W, G: G.T @ G @ (G.T @ W), lambda X, W, G: G @ W, *given).proved


def test_covariance_of_all_logits() -> None:
    X, Q, K = named("X", n, d), named("Q", d, d), named("K", d, d)
    sigma = sympy.Symbol("sigma", positive=True)
    T = vec_r(X @ Q @ K.T @ X.T)
    found = expectation(T @ T.T, {"Q": sigma**2, "K": sigma**2})
    assert not (found - kron(X @ X.T, X @ X.T) * sigma**4 * d).value


def test_second_moment_of_a_gaussian_gram_matrix() -> None:
    M, sigma = named("M", d, n), sympy.Symbol("sigma", positive=True)
    gram = M @ M.T
    found = expectation(trace(gram @ gram), {"M": sigma**2}).value.terms[()]
    assert sympy.expand(found.expression - sigma**4 * d * n * (n + d + 1)) == 0
    assert not expectation(M, {"M": 1}).value
    with pytest.raises(ArithmeticUnsupported, match="softmax of the random M"):
        expectation(softmax(M), {"M": 1})


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [-1, 1.5, "n", sympy.Symbol("x"), sympy.Rational(1, 2)])
def test_a_size_that_is_none_is_named(size: Any) -> None:
    with pytest.raises(InputError, match="X: expected an integer or an expression in positive integer symbols"):
        named("X", size, n)


def test_sizes_of_primitives_are_checked() -> None:
    with pytest.raises(InputError, match="m: expected an integer"):
        zeros(sympy.Symbol("x"), n)
    with pytest.raises(InputError, match="n: expected an integer"):
        commutation_matrix(sympy.Symbol("y", real=True), n)


def test_indices_that_do_not_match_are_named() -> None:
    with pytest.raises(InputError, match=r"indices: expected \(d\), as in the other operand; got \(k\)"):
        named("X", n, d) @ named("W", k, d)
    with pytest.raises(InputError, match=r"got \(n d\)"):
        vec_r(named("X", n, d).T) + vec_r(named("X", n, d))


def test_a_primitive_without_symbolic_form_is_named() -> None:
    with pytest.raises(ArithmeticUnsupported, match=r"determinant of Indexed\(shape=\(d, d\)"):
        determinant(named("G", d, d))


def test_checked_functions_take_symbolic_operands() -> None:
    @checked
    def gram(X: Annotated[Any, Shape("n", "d")], W: Annotated[Any, Shape("d", "d")]) -> Any:
        return X @ W @ X.T

    assert gram(named("X", n, d), named("W", d, d)).shape == (n, n)
    with pytest.raises(InputError, match="W: expected shape"):
        gram(named("X", n, d), named("W", k, d))


# -- read by people ----------------------------------------------------------------------------------------------------


def test_a_normal_form_in_index_notation() -> None:
    X, W = named("X", n, d), named("W_Q", d, k)
    assert sum_latex((X @ W).value) == "[X]_{a i}\\, [W_{Q}]_{i b}"
    assert sum_latex((X - X).value) == "0"


def test_a_made_up_claim() -> None:
    paper = Paper("made", "made up", "nobody", "row-major")
    claim = Claim(paper, "made.up", "1", r"AB = BA", relation=Equal())

    @claim.formula
    def product(A: Annotated[Any, Shape("n", "n")], B: Annotated[Any, Shape("n", "n")]) -> Any:
        return A @ B

    @claim.oracle
    def reversed_product(A: Any, B: Any) -> Any:
        return B @ A

    assert (prove_claim(claim).reason or "").startswith("2 terms remain")
