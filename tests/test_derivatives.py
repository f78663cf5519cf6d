"""torch.func, jets and finite differences in balls agree; wrong layouts do not."""

from __future__ import annotations

from typing import Any

import flint
import numpy as np
import pytest
import sympy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.arithmetics import integer_matrices, quietly
from verify.arithmetics import midpoints, precision, to_balls, to_rationals, to_tensor
from verify.arithmetics.jets import variables
from verify.matrix import (
    COLUMN,
    ROW,
    Layout,
    commutation_matrix,
    exp,
    expm,
    eye,
    kron,
    normalize_rows,
    relu,
    row_norms,
    softmax,
    sqrt,
    step,
    total,
    vec_c,
    vec_r,
)
from verify.oracles import hessian, jacobian, jacobians
from verify.vocabulary import InputError

pytestmark = pytest.mark.kept

LAYOUTS = pytest.mark.parametrize("layout", [ROW, COLUMN], ids=lambda layout: layout.name)


def attention(X: Any, W: Any, V: Any) -> Any:
    """softmax(X W X^T / sqrt(2)) X V, shape (L, d_V) for X (L, d), W (d, d), V (d, d_V)."""
    return softmax(X @ W @ X.T / sqrt(2)) @ X @ V


def flow(X: Any, W: Any, V: Any) -> Any:
    """Attention with an exponential of weights and normalised tokens, shape (L, d_V)."""
    return normalize_rows(softmax(X @ expm(W / 4) @ X.T) @ X) @ V


def rectified(X: Any, W: Any, V: Any) -> Any:
    """A product with kinks away from the drawn inputs, shape (L, d_V)."""
    return relu(X @ W) @ V


FUNCTIONS = pytest.mark.parametrize("f", [attention, flow, rectified], ids=lambda f: f.__name__)
L, D, D_V = 2, 2, 3
inputs = st.tuples(integer_matrices(L, D), integer_matrices(D, D), integer_matrices(D, D_V)).map(
    # halves, shifted so that no row and no product X W vanishes
    lambda drawn: tuple(matrix / 2 + shift for matrix, shift in zip(drawn, (2.25, 0.125, 0.5), strict=True))
)
few = settings(quietly, max_examples=4)


def tensors(arrays: tuple[np.ndarray, ...]) -> list[torch.Tensor]:
    return [to_tensor(array, dtype=torch.float64) for array in arrays]


def assert_near(tensor: torch.Tensor, balls: np.ndarray, tolerance: float = 1e-11) -> None:
    expected = midpoints(balls)
    assert tuple(tensor.shape) == expected.shape
    assert np.abs(tensor.numpy() - expected).max() <= tolerance * max(1.0, np.abs(expected).max())


# -- three oracles -----------------------------------------------------------------------------------------------------


@LAYOUTS
@FUNCTIONS
@pytest.mark.parametrize("wrt", ["X", "W", "V"])
@few
@given(arrays=inputs)
def test_torch_and_jets_agree_on_jacobians(f, wrt, layout, arrays):
    J = jacobian(f, wrt, layout)
    assert_near(J(*tensors(arrays)), J(*map(to_balls, arrays)))


@LAYOUTS
@FUNCTIONS
@few
@given(arrays=inputs)
def test_the_jacobians_from_one_run_are_those_taken_one_by_one(f, layout, arrays):
    """In an order of their own, in floats and in balls."""
    for point in (tensors(arrays), [to_balls(array) for array in arrays]):
        found = jacobians(f, ("V", "X", "W"), layout)(*point)
        assert list(found) == ["V", "X", "W"]
        for name, J in found.items():
            alone = jacobian(f, name, layout)(*point)
            assert J.shape == alone.shape
            assert bool((abs(J - alone) < 1e-12).all()), name


def test_jacobians_name_an_argument_that_the_function_does_not_take():
    with pytest.raises(InputError, match="'Z'"):
        jacobians(attention, ("X", "Z"))(*sample_balls())


@LAYOUTS
@FUNCTIONS
@pytest.mark.parametrize("wrt", [("X", "X"), ("X", "W"), ("W", "X"), ("V", "W")], ids="-".join)
@few
@given(arrays=inputs)
def test_torch_and_jets_agree_on_hessians(f, wrt, layout, arrays):
    H = hessian(f, wrt, layout)
    assert_near(H(*tensors(arrays)), H(*map(to_balls, arrays)), 1e-10)


def moved(point: np.ndarray, k: int, by: flint.arb, layout: Layout) -> np.ndarray:
    """`point` with its k-th entry in the order of `layout` moved."""
    m, n = point.shape
    result = point.copy()
    index = divmod(k, n) if layout is ROW else divmod(k, m)[::-1]
    result[index] = result[index] + by
    return result


def flattened(value: np.ndarray, layout: Layout) -> np.ndarray:
    return (vec_r if layout is ROW else vec_c)(value).reshape(-1)


@LAYOUTS
@FUNCTIONS
@pytest.mark.parametrize("wrt", ["X", "W"])
def test_finite_differences_in_balls_agree_with_jacobians(f, wrt, layout):
    with precision(700):
        arrays = dict(zip("XWV", sample_balls(), strict=True))
        J = jacobian(f, wrt, layout)(**arrays)
        h = flint.arb(2) ** -200
        for k in range(arrays[wrt].size):
            ahead, behind = (f(**{**arrays, wrt: moved(arrays[wrt], k, sign * h, layout)}) for sign in (1, -1))
            column = flattened((ahead - behind) / (2 * h), layout)
            assert all(abs(x - y) < 1e-100 for x, y in zip(J[:, k], column, strict=True))


@LAYOUTS
@FUNCTIONS
def test_finite_differences_in_balls_agree_with_hessians(f, layout):
    """Differences of Jacobians, entry by entry of f: the stacking order is part of what is compared."""
    with precision(700):
        arrays = dict(zip("XWV", sample_balls(), strict=True))
        H = hessian(f, ("X", "W"), layout)(**arrays)
        h = flint.arb(2) ** -200
        of_x = jacobian(f, "X", layout)
        for k in range(D * D):
            ahead, behind = (of_x(**{**arrays, "W": moved(arrays["W"], k, sign * h, layout)}) for sign in (1, -1))
            # rows: entries of f, columns: entries of X; the Hessians of the entries of f lie on top of each other
            column = ((ahead - behind) / (2 * h)).reshape(-1)
            assert all(abs(x - y) < 1e-100 for x, y in zip(H[:, k], column, strict=True))


def sample_balls() -> list[np.ndarray]:
    return [to_balls(x) for x in ([[1, 2.5], [-0.5, 1.5]], [[0.5, 1], [0.25, -0.75]], [[1, 2, 0.5], [-1, 0.5, 3]])]


# -- layouts -----------------------------------------------------------------------------------------------------------


@FUNCTIONS
@pytest.mark.parametrize("kind", ["balls", "tensors"])
def test_layouts_differ_by_commutation_matrices_and_by_nothing_less(f, kind):
    arguments = sample_balls()
    if kind == "tensors":
        arguments = [to_tensor(midpoints(x), dtype=torch.float64) for x in arguments]
    row, column = (jacobian(f, "X", layout)(*arguments) for layout in (ROW, COLUMN))
    # f has shape (L, D_V): K vec_r f = vec_c f
    swapped = commutation_matrix(D_V, L) @ row @ commutation_matrix(D, L).T
    assert largest(swapped - column) < 1e-12
    halves = commutation_matrix(D_V, L) @ row, row @ commutation_matrix(D, L).T
    for wrong in (row, *halves):
        assert largest(wrong - column) > 1e-3


@FUNCTIONS
def test_hessian_layouts_differ_by_commutation_matrices_and_by_nothing_less(f):
    arguments = sample_balls()
    row, column = (hessian(f, ("X", "V"), layout)(*arguments) for layout in (ROW, COLUMN))
    a, b = L * D, D * D_V
    inner = kron(eye(L * D_V), commutation_matrix(D, L)) @ row @ commutation_matrix(D_V, D).T
    stacked = kron(commutation_matrix(D_V, L), eye(a)) @ inner
    assert column.shape == (L * D_V * a, b)
    assert largest(stacked - column) < 1e-60
    for wrong in (row, inner, kron(commutation_matrix(D_V, L), eye(a)) @ row):
        assert largest(wrong - column) > 1e-3


def largest(x: Any) -> float:
    return float(x.abs().max()) if isinstance(x, torch.Tensor) else float(np.abs(midpoints(x)).max())


@pytest.mark.parametrize("lift", [to_rationals, lambda x: to_tensor(x, dtype=torch.float64)], ids=["exact", "float"])
def test_jacobians_of_linear_maps_are_the_textbook_kronecker_products(lift):
    A, B = lift(np.array([[1, 2], [3, 5], [-1, 4]])), lift(np.array([[2, 0, 1, 7], [1, 3, -2, 5], [0, 1, 1, 2]]))
    X = lift(np.arange(6).reshape(2, 3))
    for layout, expected, transposing in (
        (ROW, kron(A, B.T), commutation_matrix(3, 2)),
        (COLUMN, kron(B.T, A), commutation_matrix(2, 3)),
    ):
        assert (jacobian(lambda X: A @ X @ B, "X", layout)(X) == expected).all()
        assert (jacobian(lambda X: X.T, "X", layout)(X) == transposing.adapt(X)).all()


@pytest.mark.parametrize("lift", [to_rationals, lambda x: to_tensor(x, dtype=torch.float64)], ids=["exact", "float"])
@LAYOUTS
def test_hessians_of_a_matrix_are_stacked_entry_by_entry(lift, layout):
    """f_ij = (i, j)-th of six different quadratic forms of x, so that every block names its entry."""
    weights = np.arange(1, 7).reshape(2, 3)

    def f(x: Any) -> Any:
        return lift(weights) * (x.T @ x)

    x = lift(np.array([[2], [5]]))
    H = hessian(f, ("x", "x"), layout)(x)
    order = weights.reshape(-1) if layout is ROW else weights.T.reshape(-1)
    assert tuple(H.shape) == (12, 2)
    for block, weight in enumerate(order):
        assert (H[2 * block : 2 * block + 2] == 2 * int(weight) * eye(2).adapt(x)).all()


@pytest.mark.parametrize("lift", [to_balls, lambda x: to_tensor(x, dtype=torch.float64)], ids=["ball", "float"])
def test_mixed_hessian_of_a_bilinear_form_is_its_matrix(lift):
    M = np.array([[1, 2, 3], [4, 5, 6]])
    u, v = lift(np.array([[1], [2]])), lift(np.array([[3], [5], [7]]))

    def form(u: Any, v: Any) -> Any:
        return total(u.T @ lift(M) @ v)

    assert (midpoints_of(hessian(form, ("u", "v"))(u, v)) == M).all()
    assert (midpoints_of(hessian(form, ("v", "u"))(u, v)) == M.T).all()
    assert not midpoints_of(hessian(form, ("u", "u"))(u, v)).any()


def midpoints_of(x: Any) -> np.ndarray:
    return x.numpy() if isinstance(x, torch.Tensor) else midpoints(x)


# -- scalars, symbols, kinks, transforms -------------------------------------------------------------------------------


def test_scalar_arguments_and_values():
    def f(a: Any, b: Any) -> Any:
        return a * a * b + exp(a * b)

    for lift in (flint.arb, lambda x: torch.tensor(float(x), dtype=torch.float64)):
        a, b = lift(2), lift(1)
        e2 = float(np.exp(2.0))
        assert midpoints_of(jacobian(f, "a")(a, b)).item() == pytest.approx(4 + e2)
        assert midpoints_of(hessian(f, ("a", "a"))(a, b)).item() == pytest.approx(2 + e2)
        assert midpoints_of(hessian(f, ("a", "b"))(a, b)).item() == pytest.approx(4 + 3 * e2)


def test_symbolic_jacobian_of_softmax_is_the_printed_one():
    T = np.array([sympy.symbols("t_0_0 t_0_1", real=True)], dtype=object)
    J = jacobian(softmax, "T")(T)
    a = softmax(T)
    for i in range(2):
        for j in range(2):
            expected = a[0, i] * ((1 if i == j else 0) - a[0, j])
            assert sympy.simplify(J[i, j] - expected) == 0


def test_oracles_agree_at_a_kink_with_the_step():
    X = np.array([[0.0, 1.0, -1.0]])
    by_torch, by_jets = (jacobian(relu, "x")(x) for x in (to_tensor(X, dtype=torch.float64), to_balls(X)))
    assert np.array_equal(by_torch.numpy(), midpoints(by_jets))
    assert np.array_equal(np.diag(by_torch.numpy()), step(torch.as_tensor(X)).numpy()[0])


def test_constants_can_be_differentiated_at():
    def square(X: Any) -> Any:
        return X @ X

    assert (jacobian(square, "X")(eye(2)) == 2 * np.eye(4, dtype=int)).all()
    assert hessian(square, ("X", "X"))(eye(2)).shape == (16, 4)


@LAYOUTS
def test_oracles_work_under_vmap_and_keep_the_dtype(layout):
    X = torch.linspace(-1, 1, 12, dtype=torch.float32).reshape(3, 2, 2)
    W, V = torch.eye(2), torch.ones(2, 3)
    for derivative in (jacobian(attention, "X", layout), hessian(attention, ("X", "X"), layout)):
        together = torch.func.vmap(lambda x, derivative=derivative: derivative(x, W, V))(X)
        assert together.dtype == torch.float32
        for one, x in zip(together, X, strict=True):
            assert torch.allclose(one, derivative(x, W, V), atol=1e-6)


def test_keyword_and_default_arguments_are_bound():
    def f(X: Any, scale: int = 3) -> Any:
        return X * scale

    X = to_rationals([[1, 2]])
    assert (jacobian(f, "X")(X) == 3 * np.eye(2, dtype=int)).all()
    assert (jacobian(f, "X")(scale=5, X=X) == 5 * np.eye(2, dtype=int)).all()


def test_jacobian_of_the_row_layout_is_what_jets_say_directly():
    X = to_rationals([[1, 2], [3, 4]])
    (lifted,) = variables([X], order=1)
    squared = lifted @ lifted
    assert (jacobian(lambda X: X @ X, "X")(X) == np.array([list(entry.gradient) for entry in squared.flat])).all()


@pytest.mark.parametrize("layout", [ROW, COLUMN])
def test_jets_over_floats_agree_with_torch(layout: Layout) -> None:
    from theorems.hessian.definitions import attention as softmax_attention

    generator = torch.Generator().manual_seed(3)
    shapes = {"X": (3, 2), "W_Q": (2, 4), "W_K": (2, 4), "W_V": (2, 2)}
    point = {name: torch.randn(*shape, generator=generator, dtype=torch.float64) for name, shape in shapes.items()}
    first = jacobian(softmax_attention, "W_Q", layout, by="jets")(**point)
    assert first.dtype == torch.float64
    torch.testing.assert_close(first, jacobian(softmax_attention, "W_Q", layout)(**point), rtol=1e-12, atol=1e-13)
    for wrt in (("W_Q", "W_K"), ("X", "X")):
        second = hessian(softmax_attention, wrt, layout, by="jets")(**point)
        torch.testing.assert_close(second, hessian(softmax_attention, wrt, layout)(**point), rtol=1e-11, atol=1e-12)
    norms = {"by": jacobian(row_norms, "A", by="jets")(point["X"]), "torch": jacobian(row_norms, "A")(point["X"])}
    torch.testing.assert_close(norms["by"], norms["torch"], rtol=1e-12, atol=1e-13)


def test_an_unknown_route_is_named() -> None:
    with pytest.raises(InputError, match=r"by: expected torch\.func or jets; got 'magic'"):
        jacobian(lambda x: x, "x", by="magic")
