"""Rules for differentials, singular values and rotations, against matrices in floats; and where they must not apply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy
import torch

from tests.declared_rules import stated_in
from verify.arithmetics.norms import (
    Bounded,
    derivation_search,
    differentials,
    input_matrix,
    nodes,
    odd_polynomials,
    rules,
    singular_polynomials,
)
from verify.arithmetics.norms.atoms import FROBENIUS, LARGEST, SPECTRAL, mean_exponential, norm, smallest
from verify.arithmetics.norms.derivation_search import DerivationSearch
from verify.arithmetics.norms.derivations import bounded_in
from verify.arithmetics.norms.float_values import Values
from verify.arithmetics.norms.rules import candidates
from verify.arithmetics.norms.world import Node, World, derivation, world
from verify.matrix import (
    COLUMN,
    absolute,
    concatenate,
    expm,
    eye,
    frobenius_norm,
    iterated,
    kron,
    maximum,
    singular_values,
    softmax,
    spectral_norm,
)  # fmt: skip
from verify.oracles import jacobian
from verify.vocabulary.errors import ArithmeticUnsupported

pytestmark = pytest.mark.kept

SIZES = {"m": 3, "n": 4, "h": 2, "K": 3}
m, n, h, K = (sympy.Symbol(name, positive=True, integer=True) for name in SIZES)
EPS = sympy.Symbol("eps", positive=True)
SHAPES = {
    "A": (m, n), "B": (m, n), "C": (n, m), "E": (m, n), "S": (n, n), "G": (n, n), "Q": (n, m), "small": (m, n),
    "P": (m, h), "R": (m, h), "dP": (m, h), "dR": (m, h), "W": (m, m),
}  # fmt: skip
PROPERTIES = {("is skew", "S"), ("has orthonormal columns", "Q"), ("has singular values at most 1", "small")}
STEP = (sympy.Rational(3, 2), sympy.Rational(-1, 2))


def arrays(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Inputs of one scale, small or not; B may be near A, the starts of iterations tiny or with singular values 1 and 1/16."""
    scale = float(rng.choice([1e-3, 0.3, 1.0]))
    found = {name: scale * rng.standard_normal([SIZES[str(k)] for k in shape]) for name, shape in SHAPES.items()}
    if rng.random() < 0.5:
        found["B"] = 1.01 * found["A"]
        found["A"][0] = (0.0, 0.0, -40.0, -40.0)  # where the softmax moves fastest, 1/2 of its logits
        found["E"][:] = 0.0
        found["E"][0, :2] = 1.0, -1.0
    found["S"] = found["S"] - found["S"].T
    found["Q"] = np.linalg.qr(rng.standard_normal((4, 3)))[0]
    found["small"] *= rng.choice([1e-4, 1.0]) / np.linalg.norm(found["small"], 2)
    return found


def step(M: Any) -> Any:
    """M (3 I - M^T M) / 2."""
    return M @ (3 * eye(M.shape[1]) - M.T @ M) / 2


def normalised(M: Any, change: Node) -> tuple[Node, Node]:
    """M / (||M||_F + eps), and its differential where M moves by `change`."""
    return (M / (frobenius_norm(M) + EPS)).node, nodes.of("normalised differential", M.node, change, data=(EPS,))


def moved(start: Node, change: Node, count: Any = K) -> tuple[Node, Node]:
    """The iterate from a start, and its differential."""
    data = (count, *STEP)
    return nodes.of("iterate", start, data=data), nodes.of("iterate differential", start, change, data=data)


def corner(T: Any, P: Any) -> Any:
    """sum_{k >= 1} (T P)^(k - 1) T / k!, a block of exp [[T P, T], [0, 0]]."""
    upper = concatenate([T @ P, T], axis=1)
    return expm(concatenate([upper, upper * 0], axis=0))[:n, n:]


def expressions() -> list[Any]:
    """Nodes in which every rule of this file has something to do."""
    A, B, C, E, S, G, Q, small, P, R, dP, dR, W = (input_matrix(name, *SHAPES[name]) for name in SHAPES)
    T = nodes.transposed
    M, dM = concatenate([P, R], axis=1), concatenate([dP, dR], axis=1)
    start, change = normalised(M, dM.node)
    basis, d_basis = moved(start, change)
    _, d_small = moved(small.node, E.node)
    skew = (2 * (P @ R.T - R @ P.T)).node
    D = C @ (expm(A @ S @ A.T) - eye(m)) @ C.T
    growth = (expm(A @ S @ A.T) - eye(m)).node
    return [
        nodes.of("exponential differential", S.node, G.node), nodes.of("softmax differential", A.node, E.node), change,
        d_basis, d_small, nodes.product([d_small, T(small.node)]), nodes.product([T(d_small), small.node]),
        nodes.product([W.node, d_basis, T(basis), skew]), nodes.product([T(d_basis), skew, basis]),
        nodes.product([T(basis), skew, d_basis]), (D + D.T + D.T @ D).node, nodes.product([C.node, growth, T(C.node)]),
        nodes.product([T(d_basis), growth]), nodes.product([growth, A.node, G.node, T(A.node), growth]),
        nodes.of("mean of rotations", S.node), (small @ (small.T @ small - eye(n)) @ small.T).node,
        concatenate([A @ C, B @ C], axis=0).node, jacobian(lambda A: Q @ A @ (G - G.T), "A", COLUMN)(A).node,
        (jacobian(lambda A: softmax(A @ C) @ A @ G, "A", COLUMN)(A) - kron(G.T, softmax(A @ C))).node,
        corner(C @ A, S).node, corner(S, C @ A).node,
    ]  # fmt: skip


def of_singular_values() -> list[Any]:
    """Quantities made of singular values."""
    A, B, small = (input_matrix(name, *SHAPES[name]) for name in ("A", "B", "small"))
    s = singular_values(small)
    return [maximum(absolute(singular_values(A) - singular_values(B))), maximum(absolute(s * s * (s * s - 1)))]


def checked(known: World, rng: np.random.Generator) -> set[str]:
    """The rules that were applied at one draw; fails where a candidate is below the quantity."""
    for node in expressions():
        for kind in (SPECTRAL, FROBENIUS, LARGEST):
            norm(kind, node)
    of_singular_values()
    values, seen = Values(known, {m: 3, n: 4, h: 2, K: 3, EPS: 4.0}, arrays(rng)), set()
    for symbol in [symbol for symbol, atom in known.atoms.items() if not atom.indices]:
        for name, bound, _ in candidates(symbol):
            if name != "derivative along a unit direction":  # whose direction is the worst one
                exact, above = values.number(symbol), values.number(bound)
                assert exact <= above * (1 + 1e-9) + 1e-12, (name, exact, above)
            seen.add(name)
    return seen


@pytest.mark.parametrize("seed", [0, 1])
def test_no_rule_gives_less_than_the_quantity(seed: int) -> None:
    seen: set[str] = set()
    for draw in range(6):
        with derivation() as known:
            known.properties |= PROPERTIES
            seen |= checked(known, np.random.default_rng([seed, draw]))
    stated = stated_in(differentials) | stated_in(singular_polynomials) | {"common factor", "Weyl"}
    # test_norms_rules tries the first of these, test_norms_from_below the other
    missing = stated - seen - {"integral of orthogonal matrices", "shifted Gram matrix"}
    assert not missing, f"rules that nothing tried: {missing}"


PLANTED = [
    *((differentials.RULES, kind) for kind in differentials.RULES if "differential" in kind),
    (differentials.RULES, "derivative"), (differentials.RULES, "mean of rotations"),
]  # fmt: skip


@pytest.mark.parametrize("kind", [kind for _, kind in PLANTED])
def test_a_planted_rule_that_gives_too_little_is_seen(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = rules.RULES[kind]
    monkeypatch.setitem(rules.RULES, kind, halved(right))
    with pytest.raises(AssertionError):
        test_no_rule_gives_less_than_the_quantity(0)


def halved(right: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: (item._replace(bound=item.bound / 2) for item in right(*args))


@pytest.mark.parametrize(
    ("module", "name", "kind"),
    [
        (differentials, "_beside_the_start", "product"), (differentials, "_product_rule", "sum"),
        (singular_polynomials, "_with_means", "product"), (singular_polynomials, "_polynomial_of_contraction", "product"),
        (singular_polynomials, "_gram_of_rotation", "sum"), (singular_polynomials, "_corner_of_exponential", "rows"),
    ],
)  # fmt: skip
def test_a_planted_half_of_a_rule_for_sums_or_products_is_seen(
    module: Any, name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(rules.RULES, kind, halved(getattr(module, name)))
    with pytest.raises(AssertionError, match="<="):
        test_no_rule_gives_less_than_the_quantity(0)


@pytest.mark.parametrize("planted", [False, True])
def test_a_mean_of_exponentials_is_bounded_by_bounds_of_its_exponent(
    planted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if planted:
        monkeypatch.setattr(derivation_search.sympy, "exp", lambda x: 1 + x + x**2 / 4)
    below = []
    for seed in range(4):
        with derivation() as known:
            A, C = input_matrix("A", m, n), input_matrix("C", n, m)
            inner = spectral_norm(A @ C)
            value = mean_exponential(inner)
            targets = frozenset(norm(SPECTRAL, X.node) for X in (A, C))
            values = Values(known, {m: 3, n: 4}, arrays(np.random.default_rng(seed)))
            exact = values.number(value)
            assert exact == pytest.approx(np.expm1(values.number(inner)) / values.number(inner))
            (found,) = DerivationSearch(targets).of_expression(value)
            assert found.complete and found.bound.free_symbols == set(targets)
            below.append(exact <= values.number(found.bound) * (1 + 1e-12))
    assert all(below) is not planted


def test_jacobians_made_of_differentials_are_those_of_autograd() -> None:
    rng = np.random.default_rng(0)
    given = arrays(rng)
    functions: list[Callable[..., Any]] = [
        lambda A, C: softmax(A @ C) @ A,
        lambda A, C: expm(A @ C - C.T @ A.T) @ A,
        lambda A, C: iterated(3, step, A / (frobenius_norm(A) + 1)) @ C,
        lambda A, C: kron(A, A @ C),
        lambda A, C: concatenate([(A @ C).T, C.T @ A.T @ A], axis=1).reshape(-1, 1) * 2,
    ]
    for function in functions:
        exact = torch.func.jacrev(lambda A, f=function: f(A, torch.as_tensor(given["C"])))(torch.as_tensor(given["A"]))
        with derivation() as known:
            J = jacobian(function, "A")(input_matrix("A", m, n), input_matrix("C", n, m))
        assert J.node.kind == "derivative"
        found = Values(known, {m: 3, n: 4}, given).array(J.node, {})
        assert np.allclose(found, exact.reshape(found.shape).numpy(), atol=1e-12)


def names_of(value: Any) -> set[str]:
    """The names of the candidates for a norm."""
    (symbol,) = value.free_symbols & world().atoms.keys()
    return {name for name, _, _ in candidates(symbol)}


def test_rules_are_not_applied_where_their_conditions_are_missing() -> None:
    with derivation() as known:
        known.properties |= PROPERTIES
        A, B, C, E, _, G, _, _, P, R, dP, dR, W = (input_matrix(name, *SHAPES[name]) for name in SHAPES)
        assert not names_of(norm(FROBENIUS, nodes.of("exponential differential", G.node, G.node)))
        assert not names_of(norm(SPECTRAL, nodes.of("mean of rotations", G.node))) - {"spectral at most Frobenius"}
        D = C @ (expm(A @ G @ A.T) - eye(m)) @ C.T
        assert "Gram matrix of a rotation" not in names_of(norm(SPECTRAL, (D + D.T + D.T @ D).node))
        assert "mean of rotations" not in names_of(norm(SPECTRAL, D.node))
        _, d_A = moved(A.node, E.node)  # A may be large
        assert not names_of(norm(FROBENIUS, d_A))
        assert names_of(norm(FROBENIUS, nodes.product([d_A, nodes.transposed(A.node)]))) == {"product"}
        defect = (A @ (A.T @ A - eye(n)) @ A.T).node
        assert "polynomial of a contraction" not in names_of(norm(SPECTRAL, defect))
        M, dM = concatenate([P, R], axis=1), concatenate([dP, dR], axis=1)
        basis, d_basis = moved(*normalised(M, dM.node))
        for other in (P @ P.T - R @ R.T, P @ R.T + R @ P.T, P @ dR.T - dR @ P.T, W - W.T):
            product = nodes.product([d_basis, nodes.transposed(basis), other.node])
            assert "differential of an iteration beside its start" not in names_of(norm(FROBENIUS, product))
        J = jacobian(lambda A: softmax(A @ C) @ A @ G, "A", COLUMN)(A)
        for second in (kron(G.T, softmax(B @ C)), kron(G, softmax(A @ C)), 2 * kron(G.T, softmax(A @ C))):
            assert "product rule" not in names_of(norm(SPECTRAL, (J - second).node))


def test_coefficients_that_vary_are_no_constants() -> None:
    with derivation() as known:
        A, C = input_matrix("A", m, n), input_matrix("C", n, m)
        for function in (
            lambda A: C @ A / (frobenius_norm(A) + 1),
            lambda A: A / (frobenius_norm(A) - 1),
            lambda A: A * frobenius_norm(A),
            lambda A: A / (spectral_norm(A) + 1),
        ):
            J = jacobian(function, "A")(A)
            assert names_of(norm(SPECTRAL, J.node)) <= {"spectral at most Frobenius"}, J
        assert "direction of variable 1" not in {name for _, name in known.properties}


def test_conditions_on_polynomials_are_decided_exactly() -> None:
    half = sympy.Rational(1, 2)
    assert odd_polynomials.largest_slope(STEP) == 3 * half
    assert odd_polynomials.largest_slope((sympy.Integer(0), sympy.Integer(1))) == 3  # s^3, at the end
    assert odd_polynomials.is_concave(STEP) and odd_polynomials.is_concave((sympy.Integer(1),))
    assert not odd_polynomials.is_concave((sympy.Integer(2), sympy.Integer(-1)))  # decreases before 1
    assert not odd_polynomials.is_concave((sympy.Integer(0), sympy.Integer(1)))  # convex
    assert not odd_polynomials.is_concave((2 * sympy.Integer(1),))  # 2 s, above 1
    assert odd_polynomials.largest_on_unit_interval((sympy.Integer(-1), sympy.Integer(1))) == half**2
    assert odd_polynomials.largest_on_unit_interval((sympy.Integer(1), sympy.Integer(-2))) == 1


def test_polynomials_of_singular_values_are_refused_unless_a_norm_has_them() -> None:
    with derivation():
        A, B = input_matrix("A", m, n), input_matrix("B", m, n)
        s, t = singular_values(A), singular_values(B)
        for refused in (
            lambda: maximum(absolute(s - 1)), lambda: maximum(absolute(s * s + s)), lambda: maximum(s), lambda: s + t,
            lambda: s * s - t, lambda: t - s * 2, lambda: absolute(s) - absolute(t), lambda: s.reshape(-1, 1),
            lambda: s[1], lambda: s[:1], lambda: (s * s)[0], lambda: (s - 1)[-1], lambda: absolute(s)[0],
        ):  # fmt: skip
            with pytest.raises(ArithmeticUnsupported, match=r"singular values|largest"):
                refused()
        assert maximum(absolute(s)) == s[0] == spectral_norm(A)
        assert s[-1] == smallest(A.node)


def test_a_norm_is_assumed_to_be_at_most_a_number_only_where_it_is_said() -> None:
    with derivation() as known:
        A, B = input_matrix("A", m, n), input_matrix("B", m, n)
        for value in (spectral_norm(A) - 1, 1 + spectral_norm(A), 1 - spectral_norm(A) - spectral_norm(B), 1 - EPS):
            bounded_in(value)
        assert not known.assumed
        bounded_in(2 - spectral_norm(A))
        assert known.assumed == {spectral_norm(A): 2} and not rules.is_contraction(A.node)
        bounded_in(1 - spectral_norm(A))
        assert rules.is_contraction(A.node) and not rules.is_contraction(B.node)
        assert rules.is_contraction(Bounded(A.node).T.node) and not rules.is_contraction((2 * A).node)
