"""Rules for numbers among matrices, for sums over rows and for third central moments, against arrays in floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

from verify.arithmetics.closed_forms import _known, closed_form
from verify.arithmetics.norms import atoms, derivation_search, input_matrix, moments, nodes, rules
from verify.arithmetics.norms.atoms import FROBENIUS, LARGEST, SPECTRAL, norm
from verify.arithmetics.norms.derivation_search import DerivationSearch
from verify.arithmetics.norms.float_values import Values
from verify.arithmetics.norms.rules import candidates
from verify.arithmetics.norms.world import derivation, world
from verify.matrix import absolute, diag, frobenius_norm, hadamard, relu, softmax, step, summed, total
from verify.oracles import hessian
from verify.vocabulary.errors import ArithmeticUnsupported

pytestmark = pytest.mark.kept

SIZES = {"m": 3, "n": 4}
m, n = (sympy.Symbol(name, positive=True, integer=True) for name in SIZES)
SCALARS = {m: 3, n: 4}


def arrays(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    found = {"A": (m, n), "x": (n, 1), "y": (n, 1), "w": (m, 1), "t": (1, n), "u": (1, n)}
    values = {name: rng.standard_normal([SIZES.get(str(k), 1) for k in shape]) for name, shape in found.items()}
    if seed % 2:  # where a third moment is largest: two tokens, of weights (1 -+ 1/sqrt 3) / 2
        p = (1 - 3**-0.5) / 2
        values["t"] = np.array([[np.log(p), np.log(1 - p), -60.0, -60.0]])
        values["x"] = np.array([[1.0], [-1.0], [0.0], [0.0]])
        values["A"] = np.ones((3, 4))  # rows of one length
        values["w"][:] = 1.0
    return values


def slope(p: Any, x: Any) -> Any:
    """diag(v) - v p^T - p v^T for v = (diag(p) - p p^T) x."""
    v = (diag(p) - p @ p.T) @ x
    return diag(v) - v @ p.T - p @ v.T


def test_third_central_moments_are_bounded_from_above(monkeypatch: pytest.MonkeyPatch) -> None:
    def checked() -> float:
        largest = 0.0
        for seed in range(6):
            with derivation() as known:
                x, t = input_matrix("x", n, 1), input_matrix("t", 1, n)
                size = norm(FROBENIUS, (x.T @ slope(softmax(t).T, x) @ x).node)
                values = Values(known, SCALARS, arrays(seed))
                found = [bound for name, bound, _ in candidates(size) if name == "third central moment"]
                assert len(found) == 1
                exact, above = values.number(size), values.number(found[0])
                assert exact <= above * (1 + 1e-9), (exact, above)
                largest = max(largest, exact / above)
        return largest

    assert checked() == pytest.approx(1.0)  # it is attained
    right = moments._third_moment
    less = lambda *args: (item._replace(bound=item.bound * sympy.Rational(99, 100)) for item in right(*args))  # noqa: E731
    monkeypatch.setitem(rules.RULES, "product", less)
    with pytest.raises(AssertionError):
        checked()


def test_other_matrices_in_the_place_of_the_slope_have_no_third_moment() -> None:
    with derivation():
        x, y, t, u = (input_matrix(name, *shape) for name, shape in
                      (("x", (n, 1)), ("y", (n, 1)), ("t", (1, n)), ("u", (1, n))))  # fmt: skip
        p, q = softmax(t).T, softmax(u).T
        v = (diag(p) - p @ p.T) @ x
        others = [
            slope(q, y),
            slope(t.T, x),
            diag(v) - v @ p.T + p @ v.T,
            diag(v) - 2 * v @ p.T - p @ v.T,
            diag(v) - v @ q.T - q @ v.T,
        ]
        for G in others:
            size = norm(FROBENIUS, (x.T @ G @ x).node)
            assert "third central moment" not in [name for name, _, _ in candidates(size)]
        size = norm(FROBENIUS, (y.T @ slope(p, x) @ x).node)
        assert "third central moment" not in [name for name, _, _ in candidates(size)]


def test_a_number_among_the_factors_is_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def checked() -> int:
        seen = 0
        for seed in range(4):
            with derivation() as known:
                A, x, y, w = (input_matrix(name, *shape) for name, shape in
                              (("A", (m, n)), ("x", (n, 1)), ("y", (n, 1)), ("w", (m, 1))))  # fmt: skip
                number = frobenius_norm(x.T @ y)
                world().targets = frozenset(number.free_symbols)
                values = Values(known, SCALARS, arrays(seed))
                for product in (
                    step(w) @ x.T @ y,
                    A @ y @ x.T @ y,
                    w @ (x.T @ y) @ x.T,
                    w @ hadamard(x.T @ y, x.T @ x),
                ):
                    for kind in (SPECTRAL, FROBENIUS, LARGEST):
                        size = norm(kind, product.node)
                        for symbol in size.free_symbols & known.atoms.keys():
                            for name, bound, _ in candidates(symbol):
                                assert values.number(symbol) <= values.number(bound) * (1 + 1e-9), name
                                seen += name == "number among the factors"
        return seen

    assert checked() > 10
    right = rules._number_among
    monkeypatch.setattr(
        rules, "_number_among", lambda *args: (item._replace(bound=item.bound / 2) for item in right(*args))
    )
    with pytest.raises(AssertionError, match="number among"):
        checked()


def test_norms_of_numbers_are_their_absolute_values() -> None:
    with derivation() as known:
        x, y = input_matrix("x", n, 1), input_matrix("y", n, 1)
        values = Values(known, SCALARS, arrays(0))
        a, b = (arrays(0)["x"].T @ arrays(0)["y"]).item(), (arrays(0)["x"] ** 2).sum()
        for value in (
            absolute(total(x.T @ y)),
            total(absolute(x.T @ y)),
            norm(SPECTRAL, (x.T @ y).node),
            absolute((x.T @ y)[0, 0]),
        ):
            assert values.number(value) == pytest.approx(abs(a))
        assert values.number(norm(LARGEST, hadamard(x.T @ y, x.T @ x).node)) == pytest.approx(abs(a) * b)
        assert values.number(total(x.T @ y)) == pytest.approx(a) and values.number(total(relu(x.T @ y))) == max(a, 0.0)


def bound_of_sum(seed: int, term: Any, kinds: tuple[str, ...] = (FROBENIUS,)) -> tuple[float, float, Any]:
    """A sum over the rows of A, and its bound by norms of A and w: both in numbers, and the bound."""
    with derivation() as known:
        A, w = input_matrix("A", m, n), input_matrix("w", m, 1)
        value = summed(m, lambda i: term(A, w, i))
        targets = frozenset(norm(kind, X.node) for X in (A, w) for kind in kinds)
        (found,) = DerivationSearch(targets).of_expression(value)[:1]
        assert found.complete
        values = Values(known, SCALARS, arrays(seed))
        return values.number(value), values.number(found.bound), found.bound.subs(dict.fromkeys(targets, 1))


TERMS = [
    (lambda A, w, i: frobenius_norm(A[i : i + 1]) ** 2, 1),
    (lambda A, w, i: frobenius_norm(A[i : i + 1]), sympy.sqrt(m)),
    (lambda A, w, i: frobenius_norm(A[i : i + 1]) * frobenius_norm(A @ A[i : i + 1].T @ A[i : i + 1]), 1),
    (lambda A, w, i: frobenius_norm(A) * frobenius_norm(w @ A[i : i + 1]), sympy.sqrt(m)),
]  # fmt: skip


@pytest.mark.parametrize("k", range(len(TERMS)))
def test_sums_over_rows_are_bounded_by_the_norm_of_the_matrix(k: int) -> None:
    term, constant = TERMS[k]
    for seed in range(4):
        exact, above, factor = bound_of_sum(seed, term)
        assert exact <= above * (1 + 1e-9)
        assert k == 2 or factor == constant


@pytest.mark.parametrize("planted", ["Cauchy-Schwarz", "squares"])
def test_planted_bounds_of_sums_over_rows_are_seen(planted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if planted == "squares":
        right = atoms._square_of_rows
        monkeypatch.setattr(atoms, "_square_of_rows", lambda *args: (right(*args) or 0) / 2 or None)
    else:
        monkeypatch.setattr(derivation_search.sympy, "sqrt", lambda size: sympy.Integer(1))
    with pytest.raises(AssertionError):
        for k in range(len(TERMS)):
            test_sums_over_rows_are_bounded_by_the_norm_of_the_matrix(k)


def test_what_is_kept_of_a_term_is_not_lost_where_nothing_else_moves() -> None:
    """sum_i |e_i| ||a_i||, of which no factor can be replaced: e must stay in the bound."""
    with derivation() as known:
        A, w = input_matrix("A", m, n), input_matrix("w", m, 1)
        value = summed(m, lambda i: absolute(w[i, 0]) * frobenius_norm(A[i : i + 1]))
        over = {symbol for symbol, atom in known.atoms.items() if atom.kind == "sum over"}
        found = DerivationSearch(frozenset({norm(FROBENIUS, X.node) for X in (A, w)})).of_expression(value)
        assert over and found
        for seed in range(4):
            given = arrays(seed)
            given["w"] = given["w"] * 50
            values = Values(known, SCALARS, given)
            for item in found:
                assert not item.complete or values.number(value) <= values.number(item.bound) * (1 + 1e-9)


def product_of(x: Any, y: Any) -> Any:
    """x^T y."""
    return x.T @ y


def test_second_derivatives_need_a_closed_form_of_both_arguments() -> None:
    with derivation() as known:
        x, y = input_matrix("x", n, 1), input_matrix("y", n, 1)
        with pytest.raises(ArithmeticUnsupported, match="second derivatives in x and y"):
            hessian(product_of, ("x", "y"))(x, y)
        closed_form(product_of, ("x", "y"), "toy.none")(lambda x: diag(x) * 0 + diag(x))
        try:
            found = hessian(product_of, ("x", "y"))(x, y)
            assert found.node is nodes.diagonal(x.node) and known.closed == {"toy.none"}
            with pytest.raises(ArithmeticUnsupported, match="second derivatives in y and x"):
                hessian(product_of, ("y", "x"))(x, y)
        finally:
            _known.pop((product_of, ("x", "y"), "row-major"))
