"""Matrix primitives against each other, in every arithmetic that has them."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import flint
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import forward_ad
from torch.func import jacfwd, jacrev, jvp, vmap

from tests.arithmetics import (
    BALL,
    BALL_JETS,
    EVERY,
    EXACT,
    EXACT_JETS,
    FLOAT64,
    FLOATS,
    JETS,
    SYMBOLIC,
    Arithmetic,
    assert_contains,
    assert_same,
    integer_matrices,
    over,
    quietly,
    sizes,
)
from tests.efforts import is_deep
from verify.arithmetics import Constant, free_exponentials, precision, to_balls, to_rationals
from verify.arithmetics.jets import variables
from verify.matrix import (
    basis_matrix,
    basis_vector,
    block_diag,
    causal_mask,
    centred,
    commutation_matrix,
    concatenate,
    diag,
    diag_part,
    expm,
    eye,
    frobenius_norm,
    hadamard,
    inverse,
    khatri_rao,
    kron,
    kron_matmul,
    layer_norm,
    masked_softmax,
    normalize_rows,
    ones,
    rational,
    row_norms,
    row_sums,
    softmax,
    stack_rows,
    total,
    trace,
    transpose,
    unvec_r,
    vec_c,
    vec_r,
    zeros,
)
from verify.vocabulary import ArithmeticUnsupported, InputError

pytestmark = pytest.mark.kept


def drawn(data: st.DataObject, arithmetic: Arithmetic, m: int, n: int) -> Any:
    return arithmetic.lift(data.draw(integer_matrices(m, n), label=f"({m}, {n})"))


# -- layouts -----------------------------------------------------------------------------------------------------------


@over(*EVERY)
@quietly
@given(data=st.data(), m=sizes, n=sizes, p=sizes, q=sizes)
def test_vectorised_triple_product(arithmetic, data, m, n, p, q):
    A, X, B = (drawn(data, arithmetic, *shape) for shape in ((m, n), (n, p), (p, q)))
    assert_same(vec_r(A @ X @ B), kron(A, B.T) @ vec_r(X), arithmetic)
    assert_same(vec_c(A @ X @ B), kron(B.T, A) @ vec_c(X), arithmetic)


@over(*EVERY)
@quietly
@given(data=st.data(), m=sizes, n=sizes)
def test_commutation_matrix_swaps_the_vectorisations(arithmetic, data, m, n):
    A = drawn(data, arithmetic, m, n)
    assert_same(commutation_matrix(n, m) @ vec_r(A), vec_r(A.T), arithmetic)
    assert_same(commutation_matrix(n, m) @ vec_r(A), vec_c(A), arithmetic)
    assert_same(commutation_matrix(m, n) @ vec_c(A), vec_c(A.T), arithmetic)
    assert_same(unvec_r(vec_r(A), m, n), A, arithmetic)
    assert_same(transpose(transpose(A)), A, arithmetic)


@quietly
@given(m=st.integers(1, 5), n=st.integers(1, 5))
def test_commutation_matrix_is_a_permutation_with_the_printed_symmetry(m, n):
    K = commutation_matrix(n, m)
    assert (K.T.array == commutation_matrix(m, n).array).all()
    assert ((K @ K.T).array == eye(m * n).array).all()
    by_units = sum(
        np.kron(basis_matrix(n, m, j, i).array, basis_matrix(m, n, i, j).array) for i in range(m) for j in range(n)
    )
    assert (K.array == by_units).all()


@over(*EVERY)
@quietly
@given(data=st.data(), m=sizes, n=sizes, p=sizes, q=sizes)
def test_commutation_matrices_swap_the_factors_of_a_kronecker_product(arithmetic, data, m, n, p, q):
    A, B = drawn(data, arithmetic, m, n), drawn(data, arithmetic, p, q)
    # K_{p,m} (A (x) B) K_{n,q} = B (x) A: apply both sides to vec_r of an (n, q) matrix
    assert_same(commutation_matrix(p, m) @ kron(A, B) @ commutation_matrix(n, q), kron(B, A), arithmetic)


# -- products ----------------------------------------------------------------------------------------------------------


@over(*EVERY)
@quietly
@given(data=st.data(), m=sizes, n=sizes, p=sizes)
def test_mixed_product_property(arithmetic, data, m, n, p):
    A, B = drawn(data, arithmetic, m, n), drawn(data, arithmetic, p, m)
    C, D = drawn(data, arithmetic, n, p), drawn(data, arithmetic, m, n)
    assert_same(kron(A, B) @ kron(C, D), kron(A @ C, B @ D), arithmetic)
    assert_same(kron(A, B).T, kron(A.T, B.T), arithmetic)


@over(*EVERY)
@quietly
@given(data=st.data(), m=sizes, n=sizes, p=sizes, q=sizes)
def test_kronecker_products_need_not_be_formed_to_be_multiplied(arithmetic, data, m, n, p, q):
    A, B = drawn(data, arithmetic, m, n), drawn(data, arithmetic, p, q)
    for factors in ([A, B], [A, eye(2), B], [ones(2, 3), A, commutation_matrix(1, 2)], [B]):
        M = drawn(data, arithmetic, kron(ones(1, 1), *factors).shape[1], 2)
        assert_same(kron_matmul(factors, M), kron(ones(1, 1), *factors) @ M, arithmetic)


def test_kron_matmul_names_what_does_not_fit():
    with pytest.raises(InputError, match="M: expected 6 rows, as many as the factors have columns together; got shape"):
        kron_matmul([eye(2), ones(1, 3)], eye(5))


@over(*EVERY)
@quietly
@given(data=st.data(), m=sizes, n=sizes)
def test_kronecker_with_identity_is_block_diagonal(arithmetic, data, m, n):
    A = drawn(data, arithmetic, m, n)
    assert_same(kron(eye(3), A), block_diag([A, A, A]), arithmetic)
    K = commutation_matrix
    assert_same(kron(A, eye(3)), K(m, 3) @ block_diag([A, A, A]) @ K(3, n), arithmetic)
    assert_same(kron(A, eye(2), A), kron(kron(A, eye(2)), A), arithmetic)


@over(*EVERY)
@quietly
@given(data=st.data(), m=sizes, n=sizes, p=sizes, q=sizes)
def test_khatri_rao_blocks_are_kronecker_products(arithmetic, data, m, n, p, q):
    A, B = drawn(data, arithmetic, m, n), drawn(data, arithmetic, m * p, q)
    rows, blocks = [A[i : i + 1] for i in range(m)], [B[i * p : (i + 1) * p] for i in range(m)]
    product = khatri_rao(rows, blocks)
    assert tuple(product.shape) == (m * p, n * q)
    for i in range(m):
        assert_same(product[i * p : (i + 1) * p], kron(A[i : i + 1], blocks[i]), arithmetic)
    # (e_i e_i^T (x) I_p) picks row block i of A (x) B, of which the Khatri-Rao product keeps the matching part
    picked = [kron(A, B)[i * m * p + i * p : i * m * p + (i + 1) * p] for i in range(m)]
    assert_same(product, concatenate(picked, axis=0), arithmetic)


@over(*EVERY)
@quietly
@given(data=st.data(), m=sizes, n=sizes)
def test_diagonals(arithmetic, data, m, n):
    A, v = drawn(data, arithmetic, m, n), drawn(data, arithmetic, m, 1)
    assert_same(diag(v) @ A, v * A, arithmetic)
    assert_same(diag(v) @ ones(m, 1), v, arithmetic)
    assert_same(diag_part(diag(v)).reshape(-1, 1), v, arithmetic)
    assert_same(hadamard(A, ones(m, n)), A, arithmetic)
    assert_same(hadamard(A, A), A * A, arithmetic)
    assert_same(block_diag([v[i : i + 1] for i in range(m)]), diag(v), arithmetic)
    assert_same(stack_rows([A[i] for i in range(m)]), A, arithmetic)
    assert_same(row_sums(A), A @ ones(n, 1), arithmetic)


@over(*EVERY)
@quietly
@given(data=st.data(), m=sizes, n=sizes)
def test_trace_is_a_vectorised_inner_product(arithmetic, data, m, n):
    A, B = drawn(data, arithmetic, m, n), drawn(data, arithmetic, n, m)
    inner = (vec_r(A.T).T @ vec_r(B)).reshape(1, 1)
    assert_same(trace(A @ B).reshape(1, 1) if arithmetic in FLOATS else [[trace(A @ B)]], inner, arithmetic)
    assert_same(trace(B @ A).reshape(1, 1) if arithmetic in FLOATS else [[trace(B @ A)]], inner, arithmetic)


@over(*EVERY)
@quietly
@given(data=st.data(), n=sizes)
def test_units_select_entries(arithmetic, data, n):
    A = drawn(data, arithmetic, 3, n)
    for i in range(3):
        assert_same(basis_vector(3, i).T @ A, A[i : i + 1], arithmetic)
        for j in range(n):
            assert_same(
                basis_matrix(n, 3, j, i) @ A @ ones(n, 1), basis_vector(n, j) @ row_sums(A)[i : i + 1], arithmetic
            )
    assert_same(zeros(2, 3) @ A + ones(2, n), ones(2, 3) @ A * 0 + ones(2, n), arithmetic)


def test_constants_stay_constants_until_they_meet_a_matrix():
    values = [
        kron(eye(2), ones(1, 2)),
        block_diag([eye(2), ones(1, 1)]),
        diag(ones(3, 1)),
        eye(2) @ eye(2),
        vec_c(ones(2, 3)),
    ]
    values += [
        unvec_r(vec_r(eye(2)), 2, 2),
        row_sums(eye(3)),
        stack_rows([ones(1, 2), zeros(1, 2)]),
        -eye(2),
        2 * eye(2),
    ]
    assert all(isinstance(value, Constant) for value in values)


# -- softmax -----------------------------------------------------------------------------------------------------------

ANALYTIC = [*FLOATS, BALL, *BALL_JETS]


@over(*ANALYTIC, SYMBOLIC)
@quietly
@given(data=st.data(), m=sizes, n=sizes)
def test_softmax_rows_sum_to_one(arithmetic, data, m, n):
    T = drawn(data, arithmetic, m, n)
    assert_same(row_sums(softmax(T)), ones(m, 1) + 0 * T[:, :1], arithmetic)


@over(*ANALYTIC)
@quietly
@given(data=st.data(), m=sizes, n=sizes)
def test_softmax_is_invariant_under_shifts_of_a_row(arithmetic, data, m, n):
    T, shift = drawn(data, arithmetic, m, n), drawn(data, arithmetic, m, 1)
    assert_same(softmax(T + shift @ ones(1, n)), softmax(T), arithmetic)


@over(*ANALYTIC)
@quietly
@given(data=st.data(), m=sizes, n=sizes)
def test_softmax_commutes_with_permutations(arithmetic, data, m, n):
    T, order = drawn(data, arithmetic, m, n), data.draw(st.permutations(range(n)))
    assert_same(softmax(T[:, order]), softmax(T)[:, order], arithmetic)


@over(EXACT, *EXACT_JETS)
@quietly
@given(data=st.data(), n=sizes)
def test_softmax_of_rationals_needs_free_exponentials(arithmetic, data, n):
    T = drawn(data, arithmetic, 2, n) + ones(2, n) * 4
    with pytest.raises(ArithmeticUnsupported, match="exp of a nonzero rational is irrational: evaluate in balls"):
        softmax(T)
    with free_exponentials(1):
        A = softmax(T)
    assert_same(row_sums(A), ones(2, 1) + 0 * T[:, :1], arithmetic)


def test_softmax_of_equal_logits_is_uniform_and_exact():
    assert (softmax(zeros(2, 3)) == flint.fmpq(1, 3)).all()


# -- the matrix exponential --------------------------------------------------------------------------------------------


@over(*ANALYTIC)
@quietly
@given(data=st.data(), n=sizes)
def test_expm_of_opposites_are_inverse(arithmetic, data, n):
    A = drawn(data, arithmetic, n, n) * rational(1, 2)
    assert_same(expm(A) @ expm(-A), eye(n) + 0 * A, arithmetic)


@over(*FLOATS, BALL)
@quietly
@given(data=st.data(), n=sizes)
def test_expm_commutes_with_inverse_transpose_and_kronecker(arithmetic, data, n):
    A = drawn(data, arithmetic, n, n) * rational(1, 2)
    assert_same(inverse(expm(A)), expm(-A), arithmetic)
    assert_same(expm(A.T), expm(A).T, arithmetic)
    assert_same(expm(kron(A, eye(2))), kron(expm(A), eye(2)), arithmetic)


@over(*ANALYTIC)
@quietly
@given(data=st.data(), m=st.integers(1, 2), n=st.integers(1, 2))
def test_expm_of_a_block_diagonal_matrix(arithmetic, data, m, n):
    A, B = drawn(data, arithmetic, m, m), drawn(data, arithmetic, n, n)
    assert_same(expm(block_diag([A, B])), block_diag([expm(A), expm(B)]), arithmetic)


@over(*ANALYTIC)
@quietly
@given(data=st.data(), n=sizes)
def test_expm_of_a_skew_matrix_is_orthogonal(arithmetic, data, n):
    A = drawn(data, arithmetic, n, n)
    Q = expm((A - A.T) * rational(1, 4))
    assert_same(Q @ Q.T, eye(n) + 0 * A, arithmetic)


@over(*ANALYTIC)
@quietly
@given(data=st.data(), n=st.integers(1, 2))
def test_expm_halves(arithmetic, data, n):
    A = drawn(data, arithmetic, n, n) * rational(1, 2)
    half = expm(A * rational(1, 2))
    assert_same(half @ half, expm(A), arithmetic)


def test_expm_of_a_nilpotent_matrix_is_a_polynomial_in_every_arithmetic():
    N = np.array([[0, 2, 5], [0, 0, 3], [0, 0, 0]])
    expected = to_rationals([[1, 2, 8], [0, 1, 3], [0, 0, 1]])
    assert_contains(expm(to_balls(N)), expected)
    assert_same(expm(FLOAT64.lift(N)), FLOAT64.lift(expected.astype(str).astype(float)), FLOAT64)
    x = SYMBOLIC.lift(np.zeros((1, 1), dtype=int)).item()
    symbolic = expm(np.array([[0 * x, x], [0 * x, 0 * x]], dtype=object))
    assert_same(symbolic, np.array([[1, x], [0, 1]], dtype=object), SYMBOLIC)
    assert (expm(zeros(2, 2)) == eye(2).array).all()
    assert expm(zeros(0, 0)).shape == (0, 0)


@over(EXACT, *EXACT_JETS)
def test_expm_of_rationals_needs_free_exponentials(arithmetic):
    A = arithmetic.lift(np.array([[1, 2], [-1, 3]]))
    with pytest.raises(ArithmeticUnsupported, match="expm of rationals is irrational: evaluate in balls"):
        expm(A)
    with free_exponentials(3):
        # what holds for every power series holds here too
        assert_same(expm(A.T), expm(A).T, arithmetic)
        assert_same(A @ expm(A), expm(A) @ A, arithmetic)
        assert_same(expm(block_diag([A, A])), kron(eye(2), expm(A)), arithmetic)


# -- norms, inverses ---------------------------------------------------------------------------------------------------


@over(*FLOATS, BALL, SYMBOLIC, *BALL_JETS)
@quietly
@given(data=st.data(), m=sizes, n=sizes)
def test_frobenius_norm_and_row_norms(arithmetic, data, m, n):
    A = drawn(data, arithmetic, m, n) + ones(m, n) * 5  # no zero row, at which the norm has no derivative
    squared = frobenius_norm(A) * frobenius_norm(A)
    as_matrix = squared.reshape(1, 1) if arithmetic in FLOATS else np.array([[squared]], dtype=object)
    assert_same(as_matrix, vec_r(A).T @ vec_r(A), arithmetic)
    assert_same(row_norms(A) * row_norms(A), row_sums(A * A), arithmetic)
    assert_same(row_norms(normalize_rows(A)), ones(m, 1) + 0 * A[:, :1], arithmetic)


def test_exact_norms_exist_exactly_where_they_are_rational():
    assert frobenius_norm(to_rationals([[3, 4]])) == 5
    assert normalize_rows(to_rationals([[3, 4]]))[0, 1] == flint.fmpq(4, 5)
    assert float(frobenius_norm(zeros(2, 2))) == 0
    assert (frobenius_norm(ones(2, 3)) * frobenius_norm(ones(2, 3))).coefficient == 6
    with pytest.raises(ArithmeticUnsupported, match=r"sqrt\(2\) is irrational"):
        frobenius_norm(to_rationals([[1, 1]]))
    with pytest.raises(ArithmeticUnsupported, match=r"sqrt\(2\) is irrational"):
        row_norms(variables([to_rationals([[1, 1]])], order=2)[0])


@over(*FLOATS, EXACT, BALL, SYMBOLIC)
@quietly
@given(data=st.data(), n=sizes)
def test_inverse(arithmetic, data, n):
    # diagonally dominant, hence nonsingular (the one symbol sits on the diagonal)
    A = arithmetic.lift(data.draw(integer_matrices(n, n)) + 20 * np.eye(n, dtype=int))
    assert_same(A @ inverse(A), eye(n) + 0 * A, arithmetic)
    assert_same(inverse(kron(A, eye(2))), kron(inverse(A), eye(2)), arithmetic)


@over(*JETS)
def test_inverse_of_jets_is_refused(arithmetic):
    with pytest.raises(ArithmeticUnsupported, match="inverse of jet matrices is not supported"):
        inverse(arithmetic.lift(np.eye(2, dtype=int)))


@pytest.mark.parametrize("lift", [to_rationals, to_balls], ids=["exact", "ball"])
def test_inverse_of_a_singular_matrix_is_an_error(lift):
    with pytest.raises(ZeroDivisionError):
        inverse(lift([[1, 2], [2, 4]]))


# -- one formula, every arithmetic -------------------------------------------------------------------------------------


def rational_formula(A: Any, B: Any) -> Any:
    """Uses every primitive that is exact on rationals; A of shape (2, 3), B of shape (3, 2)."""
    C = kron(A, B.T) @ commutation_matrix(3, 3) @ vec_r(B @ A) * rational(2, 3)
    D = block_diag([diag(C), khatri_rao([A[:1], A[1:]], [B.T, B.T])])
    return hadamard(D, D - 2 * D) / rational(7) + trace(A @ B) * ones(*D.shape)


@quietly
@given(A=integer_matrices(2, 3), B=integer_matrices(3, 2))
def test_balls_contain_and_floats_approach_the_exact_value(A, B):
    exact = rational_formula(to_rationals(A), to_rationals(B))
    assert_contains(rational_formula(to_balls(A), to_balls(B)), exact)
    assert_contains(
        inverse(to_balls(A @ A.T + np.eye(2, dtype=int))), inverse(to_rationals(A @ A.T + np.eye(2, dtype=int)))
    )
    for arithmetic in FLOATS:
        value = rational_formula(arithmetic.lift(A), arithmetic.lift(B))
        expected = torch.tensor([[float(x.p) / float(x.q) for x in row] for row in exact], dtype=value.dtype)
        assert_same(value, expected, arithmetic)


@quietly
@given(T=integer_matrices(2, 3, bound=6))
def test_ball_softmax_and_expm_contain_the_float_values_up_to_rounding(T):
    for function, argument in ((softmax, T), (expm, T @ T.T // 8)):
        enclosure = function(to_balls(argument))
        value = function(FLOAT64.lift(argument))
        for ball, number in zip(enclosure.flat, value.flatten().tolist(), strict=True):
            assert abs(float(ball.mid()) - number) <= 1e-12 * max(1.0, abs(number))
            assert float(ball.rad()) < 1e-60 * max(1.0, abs(number))


def test_total_is_a_sum_in_every_arithmetic():
    A = np.arange(6).reshape(2, 3)
    assert total(to_rationals(A)) == 15
    assert total(ones(2, 3)) == 6
    assert float(total(FLOAT64.lift(A))) == 15.0
    assert total(to_balls(A)).contains(15)


@pytest.mark.parametrize("size", [1e-4, 0.003, 0.01, 0.03, 0.1, 1.0])
def test_expm_of_a_single_small_tensor_has_full_precision(size: float) -> None:
    """torch.linalg.matrix_exp alone is wrong by up to 2e-11 here."""
    S = torch.tensor([[0.0, size], [-size, 0.0]], dtype=torch.float64)
    rotation = torch.tensor([[math.cos(size), math.sin(size)], [-math.sin(size), math.cos(size)]], dtype=torch.float64)
    assert float((expm(S) - rotation).abs().max()) < 1e-15


def series_of_exp(A: torch.Tensor) -> torch.Tensor:
    term = added = torch.eye(A.shape[-1], dtype=A.dtype)
    for k in range(1, 40):
        term = term @ A / k
        added = added + term
    return added


def point_of_modes(n: int) -> torch.Tensor:
    return torch.randn(n, n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@functools.cache
def derivative_of_series(order: int, n: int) -> torch.Tensor:
    """Of the sum of squares of the series, in reverse mode; it is the same in every mode."""
    found = lambda A: series_of_exp(A).square().sum()  # noqa: E731
    for _ in range(order):
        found = jacrev(found)
    return found(point_of_modes(n))  # type: ignore[no-any-return]


@pytest.mark.parametrize("modes", [each for k in (1, 2, 3) for each in itertools.product((jacrev, jacfwd), repeat=k)])
@pytest.mark.parametrize("in_a_batch", [False, True])
def test_derivatives_of_expm_are_right_in_every_mode(
    in_a_batch: bool, modes: tuple[Callable[..., Any], ...], pytestconfig: pytest.Config
) -> None:
    """Two derivatives in forward mode through a function with rules of its own are wrong in torch 2.13 to 2.15."""
    n = 3 if is_deep(pytestconfig) else 2
    A = point_of_modes(n)
    found = lambda A: expm(A).square().sum()  # noqa: E731
    for mode in modes:
        found = mode(found)
    value = vmap(found)(A.expand(2, n, n))[1] if in_a_batch else found(A)
    torch.testing.assert_close(value, derivative_of_series(len(modes), n), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("size", [0.0, 1e-30, 1e3, 1e9, 1e15])
def test_gradients_through_expm_are_as_accurate_along_large_directions(size: float, dtype: torch.dtype) -> None:
    """Those of torch.linalg.matrix_exp lose digits with the size of the direction."""
    A = torch.randn(4, 4, generator=torch.Generator().manual_seed(0), dtype=dtype)
    A, direction = (A - A.T).requires_grad_(), torch.ones(4, 4, dtype=dtype)
    (unit,) = torch.autograd.grad(expm(A), A, direction)
    (found,) = torch.autograd.grad(expm(A), A, size * direction)
    bound = 16 * torch.finfo(dtype).eps * size * float(unit.abs().max())
    torch.testing.assert_close(found, size * unit, rtol=0, atol=bound)


def test_expm_in_plain_forward_mode() -> None:
    A = torch.randn(3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    with forward_ad.dual_level():
        found = forward_ad.unpack_dual(expm(forward_ad.make_dual(A, A.T))).tangent
    torch.testing.assert_close(found, jvp(series_of_exp, (A,), (A.T,))[1])


def radius_of_expm(A: np.ndarray, bits: int) -> float:
    with precision(bits):
        return max(float(entry.rad()) for entry in expm(to_balls(A)).flat)


@pytest.mark.parametrize("slope", [10.0, 300.0, 3000.0])
def test_balls_of_an_exponential_hold_the_error_of_a_kernel_where_powers_grow_before_they_fall(slope: float) -> None:
    A = np.array([[-3.0, slope, 0.0], [0.0, -8.0, slope], [0.0, 0.0, -20.0]])
    exact = np.array([[float(entry.mid()) for entry in row] for row in expm(to_balls(A))])
    error = np.abs(expm(torch.tensor(A, dtype=torch.float32)).double().numpy() - exact).max()
    assert error <= radius_of_expm(A, 24)


@pytest.mark.parametrize(("bits", "holds_roundings"), [(53, True), (64, True), (65, False), (300, False)])
def test_balls_of_an_exponential_hold_the_error_of_kernels_up_to_the_precision_of_floats(
    bits: int, holds_roundings: bool
):
    A = np.array([[0.5, 1.0], [-1.0, 0.25]])
    with precision(bits):
        narrow = max(float(entry.rad()) for entry in flint.arb_mat(A.tolist()).exp().entries())
    assert (radius_of_expm(A, bits) > 1.01 * narrow) is holds_roundings


@pytest.mark.parametrize("n", [2, 5, 12])
@pytest.mark.parametrize("norm", [1e-6, 1e-3, 0.04, 0.3])
def test_balls_of_an_exponential_hold_the_roundings_of_the_products_of_a_kernel(n: int, norm: float) -> None:
    rng = np.random.default_rng(n)
    for _ in range(6):
        G = rng.standard_normal((n, n))
        A = (G - G.T) * (norm / np.linalg.norm(G - G.T, 2))
        kernel = expm(torch.tensor(A))
        with precision(200):
            gap = max(abs(x - float(y)) for x, y in zip(expm(to_balls(A)).flat, kernel.flatten(), strict=True))
        assert float(gap) <= radius_of_expm(A, 53)


@pytest.mark.parametrize(("dtype", "bits"), [(torch.float32, 24), (torch.float64, 53)])
@pytest.mark.parametrize("n", [2, 3])
def test_balls_of_an_exponential_hold_the_terms_of_the_polynomial_of_a_kernel(
    n: int, dtype: torch.dtype, bits: int
) -> None:
    """Terms of the size of exp(|A|) where exp(A) is small: five to thirteen times as far off as a backward stable kernel."""
    rng = np.random.default_rng(n)
    shapes = (lambda G: G - G.T, lambda G: -G @ G.T, lambda G: np.triu(G, 1) - 5 * np.diag(np.diag(G) ** 2))
    for shape in shapes:
        for size in 10 ** rng.uniform(-1, 1.2, 60):
            A = shape(rng.standard_normal((n, n)))
            A = torch.tensor(A * (size / np.linalg.norm(A))).to(dtype)
            kernel = expm(A).double()
            with precision(200):
                gap = max(
                    abs(x - float(y))
                    for x, y in zip(expm(to_balls(A.double().numpy())).flat, kernel.flatten(), strict=True)
                )
            assert float(gap) <= radius_of_expm(A.double().numpy(), bits)


def test_balls_of_an_exponential_of_a_skew_matrix_hold_a_few_roundings_of_it() -> None:
    A = np.array([[0.0, 40.0, -7.0], [-40.0, 0.0, 11.0], [7.0, -11.0, 0.0]])
    assert radius_of_expm(A, 24) <= 20 * np.linalg.norm(A) * 2.0**-24
    assert radius_of_expm(A, 53) <= 10 * np.linalg.norm(A) * 2.0**-53


@over(*FLOATS, EXACT, BALL, *JETS)
@quietly
@given(data=st.data(), m=sizes, n=sizes)
def test_centred_rows_have_mean_zero_and_forget_a_constant(arithmetic, data, m, n):
    A = arithmetic.lift(data.draw(integer_matrices(m, n)))
    assert_same(row_sums(centred(A)), 0 * row_sums(A), arithmetic)
    assert_same(centred(A + 3), centred(A), arithmetic)


@over(*FLOATS, BALL)
def test_layer_norm_is_that_of_torch_without_gain_and_constant(arithmetic):
    A = np.array([[1, 2, 4], [-3, 0, 5]])
    expected = torch.nn.functional.layer_norm(torch.tensor(A, dtype=torch.float64), (3,), eps=0.0)
    found = np.array(layer_norm(arithmetic.lift(A)).tolist(), dtype=float)
    assert np.allclose(found, expected.numpy(), rtol=1e-5)


@over(*FLOATS, BALL)
def test_a_causal_mask_hides_later_keys(arithmetic):
    T = arithmetic.lift(np.array([[1, 2, 3], [3, 2, 1], [0, 1, 0]]))
    P = masked_softmax(T, causal_mask(3))
    assert all(P[i, j] == 0 for i in range(3) for j in range(i + 1, 3)) and P[0, 0] == 1
    assert_same(P[2:], softmax(T[2:]), arithmetic)
