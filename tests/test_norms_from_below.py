"""Lower bounds of smallest singular values and of norms, and rules for softmax matrices near others, against floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

import verify.arithmetics.norms  # noqa: F401  (every module of rules has said what they are)
from tests.declared_rules import stated_in
from verify.arithmetics.norms import derivation, gram_matrices, input_matrix, nodes, smallest
from verify.arithmetics.norms.atoms import FROBENIUS, SMALLEST, SPECTRAL, norm
from verify.arithmetics.norms.atoms import smallest as smallest_value
from verify.arithmetics.norms.derivations import prove_bound
from verify.arithmetics.norms.float_values import Values
from verify.arithmetics.norms.rules import candidates
from verify.arithmetics.norms.smallest import largest_gap, largest_range, lower_candidates
from verify.arithmetics.norms.world import world
from verify.matrix import concatenate, eye, ones, singular_values, softmax, spectral_norm, symmetric_eigenvalues

pytestmark = pytest.mark.kept

SIZES = {"m": 4, "n": 3}
m, n = (sympy.Symbol(name, positive=True, integer=True) for name in SIZES)
SHAPES: dict[str, tuple[Any, Any]] = {
    "A": (m, n), "B": (n, m), "C": (m, n), "G": (n, n), "H": (n, n), "tall": (5, 2), "flat": (2, 5), "one": (1, 1), "T": (m, n),
    "pair": (2, 2), "small": (m, n),
}  # fmt: skip


def arrays(rng: np.random.Generator, case: str) -> dict[str, np.ndarray]:
    """Inputs: generic, of rank one, zero, equal to each other, identities, or logits of which few decide."""
    found = {
        name: rng.standard_normal([SIZES.get(str(k), k) if not isinstance(k, int) else k for k in shape])
        for name, shape in SHAPES.items()
    }
    if case == "rank one":
        found = {name: np.outer(A[:, 0], A[0]) for name, A in found.items()}
    if case == "zero":
        found["A"], found["G"], found["tall"] = 0 * found["A"], 0 * found["G"], 0 * found["tall"]
    if case == "ties":
        found["C"], found["H"] = found["A"].copy(), -found["G"]
    if case == "identities":
        found = {name: np.eye(*A.shape) for name, A in found.items()}
    if case == "dominant":
        found["G"] = -24.0 * np.ones((3, 3))
        found["G"][:, 0] = 0.0
        np.fill_diagonal(found["G"], float(rng.integers(1, 12)))
    if case == "two values":
        found["T"], found["G"] = ((rng.integers(0, 2, found[x].shape) * 2.0 ** -rng.integers(0, 6)) for x in "TG")
    found["small"] /= max(1.0, float(np.linalg.norm(found["small"], 2)))
    return found


def quantities() -> None:
    """Write down the quantities that the rules speak of."""
    A, B, C, G, H, tall, flat, one, T, pair, small = (input_matrix(name, *shape) for name, shape in SHAPES.items())
    largest_gap(G.node)
    world().facts.append(1 - largest_range(T.node))
    several = [
        A + C, A - C, A - 2 * C, G + eye(n) * 3, G @ H, A @ G, A @ B, B @ A, G @ B, tall @ flat, flat @ tall, one @ one,
        tall @ pair,
        concatenate([A, C, G], axis=0), concatenate([G, H], axis=1), concatenate([A, C], axis=1), concatenate([tall, tall], axis=1),
        softmax(G), softmax(T), softmax(G) @ H, (A + C).T, G @ H @ G, one,
    ]  # fmt: skip
    for operand in several:
        smallest_value(operand.node)
        norm(SPECTRAL, operand.node)
    world().targets = frozenset({norm(SPECTRAL, A.node), smallest_value((G + H).node)})
    smallest_value(G.node)
    for operand in (softmax(G) - eye(n), 2 * eye(n) - 2 * softmax(G), softmax(G)):
        norm(SPECTRAL, operand.node)
    symmetric_eigenvalues(A @ A.T * 3)[0]
    symmetric_eigenvalues(flat.T @ flat)[0]
    for operand in (eye(m) - small @ small.T, 3 * small.T @ small - 3 * eye(n)):
        norm(SPECTRAL, operand.node)
    for operand in (softmax(T) - ones(m, n) / n, softmax(G) - ones(n, n) / n):
        norm(FROBENIUS, operand.node)


def held(case: str, seed: int) -> dict[str, int]:
    """How often each rule was applied; fails where a lower bound is above the quantity, or an upper one below it."""
    seen: dict[str, int] = {}
    with derivation() as known:
        known.properties.add(("has singular values at most 1", "small"))
        quantities()
        values = Values(known, {m: SIZES["m"], n: SIZES["n"]}, arrays(np.random.default_rng(seed), case))
        ranges = values.number(-known.facts[0])
        done: set[Any] = set()
        for _ in range(3):
            for symbol in [symbol for symbol, atom in known.atoms.items() if symbol not in done and not atom.indices]:
                done.add(symbol)
                exact = values.number(symbol)
                for name, bound, _ in lower_candidates(symbol):
                    assert values.number(bound) <= exact * (1 + 1e-9) + 1e-12, (case, name, bound)
                    seen[name] = seen.get(name, 0) + 1
                for name, bound, _ in candidates(symbol):
                    if name == "assumption" or ("chord of sinh" in name and ranges > 0):
                        continue  # what the assumption says of the range does not hold here
                    assert exact <= values.number(bound) * (1 + 1e-9) + 1e-12, (case, name, exact, bound)
                    for rule in name.split("; "):
                        seen[rule] = seen.get(rule, 0) + 1
    return seen


CASES = ("generic", "rank one", "zero", "ties", "identities", "dominant", "two values")


@pytest.mark.parametrize("case", CASES)
def test_no_rule_says_more_than_is_true(case: str) -> None:
    seen = {rule for seed in range(3) for rule in held(case, seed)}
    assert (stated_in(smallest) | stated_in(gram_matrices)) - {"range", "chord of sinh"} <= seen
    assert case not in ("two values", "identities") or "chord of sinh" in seen  # where no range is above 1


def test_a_product_of_a_wide_and_a_tall_matrix_has_no_lower_bound() -> None:
    with derivation():
        for left, right, fires in (("B", "A", False), ("A", "B", False), ("A", "G", False), ("flat", "tall", False),
                                   ("tall", "flat", False), ("tall", "pair", True),
                                   ("pair", "flat", True), ("G", "H", True)):  # fmt: skip
            X, Y = (input_matrix(name, *SHAPES[name]) for name in (left, right))
            names = {name for name, _, _ in lower_candidates(_atom(smallest_value((X @ Y).node)))}
            assert ("smallest singular value of a product" in names) == fires, (left, right)


def _atom(value: Any) -> Any:
    (symbol,) = (symbol for symbol in value.free_symbols if symbol in world().atoms)
    return symbol


@pytest.mark.parametrize("kind", [SMALLEST, SPECTRAL])
def test_a_planted_lower_bound_that_is_too_large_is_seen(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = smallest.LOWER[kind]
    monkeypatch.setitem(
        smallest.LOWER, kind, lambda node: (item._replace(bound=item.bound * 2) for item in right(node))
    )
    with pytest.raises(AssertionError):
        for case in CASES:
            held(case, 0)


def test_smallest_values_that_are_known() -> None:
    with derivation():
        A = input_matrix("A", m, n)
        assert smallest_value(nodes.identity(n)) == 1
        assert smallest_value(nodes.zeros((m, n))) == 0
        assert smallest_value(nodes.scaled(-2, nodes.identity(n))) == 2
        row = input_matrix("row", 1, n)
        assert smallest_value(row.node) == norm(FROBENIUS, row.node)
        assert smallest_value((-3 * A).node) == 3 * smallest_value(A.T.node)


@pytest.mark.parametrize("case", CASES)
def test_singular_values_of_a_shifted_gram_matrix(case: str) -> None:
    with derivation() as known:
        A, G = (input_matrix(name, *SHAPES[name]) for name in "AG")
        operands = [A @ A.T + 2 * eye(m), A.T @ A * 3 + eye(n), G @ G + eye(n), G @ G.T - eye(n)]
        found = [(M.node, singular_values(M)[0], singular_values(M)[-1]) for M in operands]
        values = Values(known, {m: SIZES["m"], n: SIZES["n"]}, arrays(np.random.default_rng(0), case))
        for node, first, last in found:
            exact = np.linalg.svd(values.array(node, {}), compute_uv=False)
            assert values.number(first) == pytest.approx(exact[0]) and values.number(last) == pytest.approx(
                exact[-1], abs=1e-12
            )


def test_singular_values_of_orthonormal_columns() -> None:
    """Of declared ones, and of rows and columns of the identity; of no other matrix, and no other rows."""
    with derivation() as known:
        known.properties |= {("has orthonormal columns", "Q"), ("has orthonormal rows", "R")}
        Q, R, A, G = (input_matrix(*item) for item in (("Q", m, n), ("R", n, m), ("A", m, n), ("G", n, n)))
        assert [smallest_value(X.node) for X in (Q, R, Q.T * -2, eye(m)[:n], eye(m)[:, 1:n])] == [1, 1, 2, 1, 1]
        assert all(
            smallest_value(X.node).free_symbols & known.atoms.keys() for X in (A, Q @ G, Q[:3], (2 * eye(n) + G)[:2])
        )
        assert "singular values of orthonormal columns" in known.simplified


def of_sides(left: Any, right: Any, facts: Any = (), orders: Any = ()) -> Any:
    with derivation() as known:
        known.orders += orders
        A, B, G, H = (input_matrix(name, *SHAPES[name]) for name in "ABGH")
        return prove_bound(lambda _: left(A, B, G, H), lambda _: right(A, B, G, H), dict, {}, assumed_nonnegative=facts)


def least(A: Any) -> Any:
    return singular_values(A)[-1]


def test_a_derivation_from_the_right_hand_side_downwards() -> None:
    """sigma_min(G) - ||H||_2 <= sigma_min(G + H); the steps are those of the right side, and the bound is between both."""
    proof = of_sides(lambda A, B, G, H: least(G + H), lambda A, B, G, H: least(G) - spectral_norm(H))
    assert proof.proved and proof.entries[0].turned and proof.rules == ["smallest singular value of a sum"]
    assert proof.entries[0].bound == proof.entries[0].left
    proof = of_sides(
        lambda A, B, G, H: least(G) - spectral_norm(G @ H), lambda A, B, G, H: least(G) - 1 - spectral_norm(G @ H)
    )
    assert proof.proved and not proof.entries[0].turned


FALSE: dict[str, Any] = {
    "a perturbation that is added": (lambda A, B, G, H: least(G + H), lambda A, B, G, H: least(G) + spectral_norm(H)),
    "half a perturbation": (lambda A, B, G, H: least(G + H), lambda A, B, G, H: least(G) - spectral_norm(H) / 2),
    "the largest for the smallest": (lambda A, B, G, H: least(G + H), lambda A, B, G, H: spectral_norm(G) - spectral_norm(H)),
    "a square of what may be negative": (
        lambda A, B, G, H: least(G + H) * least(G + H), lambda A, B, G, H: (least(G) - spectral_norm(H)) ** 2,
    ),
    "a quotient by what may be negative": (
        lambda A, B, G, H: 1 / (least(G) - spectral_norm(H)), lambda A, B, G, H: 1 / least(G + H),
    ),
    "one that grows on the wrong side": (lambda A, B, G, H: 1 / least(G @ H), lambda A, B, G, H: 1 / (least(G) * least(H))),
    "a wide matrix and a tall one": (lambda A, B, G, H: least(B @ A), lambda A, B, G, H: least(B) * least(A)),
}  # fmt: skip


@pytest.mark.parametrize("name", FALSE)
def test_no_false_statement_is_derived_from_the_right_hand_side(name: str) -> None:
    assert not of_sides(*FALSE[name]).proved


def test_an_order_of_sizes_is_a_fact_where_nothing_is_derived_without() -> None:
    """sigma_min(A) sigma_min(G) <= sigma_min(A G) for A (m, n) with n <= m or m <= n, of which the claim has to say it."""
    sides = (lambda A, B, G, H: least(A @ G), lambda A, B, G, H: least(A) * least(G))
    assert not of_sides(*sides).proved and of_sides(*sides, orders=[n - m]).proved
    other = (lambda A, B, G, H: least(A @ B), lambda A, B, G, H: least(A) * least(B))  # it may vanish
    assert not of_sides(*other, orders=[m - n]).proved and not of_sides(*other, orders=[n - m]).proved
    proof = of_sides(*sides, orders=[m - n])
    assert proof.proved and proof.world.facts == [m - n] and proof.world.used == {"m - n >= 0"}
    without = of_sides(lambda A, B, G, H: least(G @ H), lambda A, B, G, H: least(G) * least(H), orders=[m - n])
    assert without.proved and not without.world.facts  # where it is not needed it is not assumed


def test_a_quotient_of_sizes_is_compared_by_their_order() -> None:
    sides = (lambda A, B, G, H: spectral_norm(G) / n, lambda A, B, G, H: spectral_norm(G) / m)
    assert of_sides(*sides, orders=[m - n]).proved
    assert not of_sides(*sides).proved and not of_sides(*sides, orders=[n - m]).proved
