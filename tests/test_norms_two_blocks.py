"""Two blocks side by side in the prover of bounds: its rules against floats, and what it derives and does not derive."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

import verify.arithmetics.norms  # noqa: F401  (every module of rules has said what they are)
from tests.declared_rules import stated_in
from tests.negative_cases.derivations import F, N, Unproved, is_proved
from tests.negative_cases.two_blocks import beside, coherence, eigenvalue, gain, image, larger_norm, smaller
from verify.arithmetics.norms import derivation, input_matrix, nodes, two_blocks
from verify.arithmetics.norms.atoms import FROBENIUS, SPECTRAL, norm
from verify.arithmetics.norms.atoms import gain as gain_of
from verify.arithmetics.norms.bounded import total_of
from verify.arithmetics.norms.derivations import derived
from verify.arithmetics.norms.float_values import Values
from verify.arithmetics.norms.rules import candidates
from verify.arithmetics.norms.world import world
from verify.matrix import concatenate, maximum, sqrt

pytestmark = pytest.mark.kept

SIZES = {"m": 5, "n": 2, "k": 3}
m, n, k = (sympy.Symbol(name, positive=True, integer=True) for name in SIZES)
SHAPES: dict[str, tuple[Any, Any]] = {
    "A": (m, n),
    "B": (m, k),
    "x": (n, 1),
    "y": (k, 1),
    "wide": (n, m),
    "flat": (n, k),
}
CASES = ("generic", "parallel", "orthogonal", "zero", "one long")


def arrays(rng: np.random.Generator, case: str) -> dict[str, np.ndarray]:
    """Blocks that share a column, have nothing in common, vanish, or of which one is longer than the other."""
    found = {
        name: rng.standard_normal([SIZES.get(str(size), size) for size in shape]) for name, shape in SHAPES.items()
    }
    if case == "parallel":
        found["B"][:, :2] = found["A"]
    if case == "orthogonal":
        found["A"], found["B"] = np.eye(5, 2), np.eye(5, 3, -2)
    if case == "zero":
        found["B"] = 0 * found["B"]
    if case == "one long":
        found["A"] *= 100
    return found


def held(case: str, seed: int, factor: float = 1.0) -> set[str]:
    """The rules that were applied; fails where a bound is below what it bounds, times a factor."""
    seen = set()
    with derivation() as known:
        A, B, x, y, wide, flat = (input_matrix(name, *shape) for name, shape in SHAPES.items())
        whole = concatenate([A, B], axis=1)
        known.targets = frozenset({norm(SPECTRAL, whole.node), norm(SPECTRAL, (A.T @ B).node)})
        norm(FROBENIUS, (A @ x + B @ y).node)
        for operand in (A, B, whole, wide, concatenate([wide, flat], axis=1), A.T):
            gain_of(operand.node)
        values = Values(
            known, {symbol: SIZES[str(symbol)] for symbol in (m, n, k)}, arrays(np.random.default_rng(seed), case)
        )
        done: set[Any] = set()
        for _ in range(2):
            for symbol in [symbol for symbol in known.atoms if symbol not in done]:
                done.add(symbol)
                for name, bound, _ in candidates(symbol):
                    assert values.number(symbol) <= factor * values.number(bound) * (1 + 1e-9) + 1e-12, (case, name)
                    seen |= set(name.split("; "))
        for left, right in squares(A, B, x, y):
            found = derived(left, right)
            assert found.proved and values.number(left) <= factor * values.number(right) * (1 + 1e-9) + 1e-9, case
            excess = [values.number(step.quantity) - factor * values.number(step.bound) for step in found.steps]
            slack = 1e-9 * (1 + abs(values.number(found.steps[0].quantity)))
            assert (min if len(excess) == 2 else max)(excess) <= slack, case  # of two cases one holds
            seen |= {step.rule for step in found.steps}
    return seen


def squares(A: Any, B: Any, x: Any, y: Any) -> list[tuple[Any, Any]]:
    """Left and right sides that the rules about squares of gains derive."""
    g = gain(beside(A, B)) ** 2
    least = eigenvalue(gain(A) ** 2, gain(B) ** 2, coherence(A, B), -1)
    return [(least, g), (g, image(A, B, x, y)), (smaller(gain(A), gain(B)) ** 2 - coherence(A, B), least)]


@pytest.mark.parametrize("case", CASES)
def test_no_rule_says_more_than_is_true(case: str) -> None:
    seen = {rule for seed in range(3) for rule in held(case, seed)}
    assert stated_in(two_blocks) - {"smaller of two gains"} <= seen


def test_a_planted_bound_that_is_too_small_is_seen() -> None:
    with pytest.raises(AssertionError):
        for case in CASES:
            held(case, 0, 0.9)


TRUE: dict[str, Unproved] = {
    "the norm of both": Unproved(
        lambda A, C: N(beside(A, C)) ** 2, lambda A, C: eigenvalue(N(A) ** 2, N(C) ** 2, coherence(A, C), 1)
    ),
    "the norm by the larger one": Unproved(
        lambda A, C: N(beside(A, C)) ** 2, lambda A, C: larger_norm(A, C) ** 2 + coherence(A, C)
    ),
    "the norm by the larger one, the blocks in the other order": Unproved(
        lambda A, C: N(beside(C, A)) ** 2, lambda A, C: larger_norm(A, C) ** 2 + coherence(A, C)
    ),
    "the image of a vector": Unproved(image, lambda A, C: N(beside(A, C)) ** 2),
    "the gain of both": Unproved(
        lambda A, C: eigenvalue(gain(A) ** 2, gain(C) ** 2, coherence(A, C), -1), lambda A, C: gain(beside(A, C)) ** 2
    ),
    "the gain and the image of a vector": Unproved(lambda A, C: gain(beside(A, C)) ** 2, image),
    "a root of two squares": Unproved(
        lambda A, C, G: eigenvalue(N(A) ** 2, N(C) ** 2, N(G), 1), lambda A, C, G: larger_norm(A, C) ** 2 + N(G)
    ),
    "the gain and the norm": Unproved(lambda A: gain(A) + 0, lambda A: F(A) + 0),
    "the smaller of two gains": Unproved(
        lambda A, C: 1 / smaller(gain(A), gain(C)),
        lambda A, C: maximum([N(A) / gain(A), N(C) / gain(C)]) / smaller(N(A), N(C)),
    ),
    "a quotient of the norm and the gain": Unproved(
        lambda A, C: N(beside(A, C)) / gain(beside(A, C)),
        lambda A, C: sqrt(
            (larger_norm(A, C) ** 2 + coherence(A, C)) / (smaller(gain(A), gain(C)) ** 2 - coherence(A, C))
        ),
        nonnegative=[lambda A, C: smaller(gain(A), gain(C)) ** 2 - coherence(A, C)],
    ),
}


@pytest.mark.parametrize("name", TRUE)
def test_what_is_true_is_derived(name: str) -> None:
    """Beside the false statements of `negative_cases.two_blocks`, which are not."""
    assert is_proved(TRUE[name])


def test_gains_that_are_known() -> None:
    with derivation():
        A, x = input_matrix("A", m, n), input_matrix("x", n, 1)
        assert gain_of(nodes.identity(n)) == 1 and gain_of(nodes.scaled(-2, nodes.identity(n))) == 2
        assert gain_of(nodes.zeros((m, n))) == 0 and gain_of(x.node) == norm(FROBENIUS, x.node)
        assert gain_of((-3 * A).node) == 3 * gain_of(A.node) != 3 * gain_of(A.T.node)


def test_an_inner_product_is_written_by_norms() -> None:
    with derivation() as known:
        x, y = input_matrix("x", n, 1), input_matrix("y", n, 1)
        value = total_of((x * y).node)
        found = Values(known, {n: 2}, {"x": np.array([[1.0], [2.0]]), "y": np.array([[3.0], [-4.0]])})
        assert found.number(value) == pytest.approx(-5) and "inner product" in known.simplified
        assert total_of((x * x).node) == norm(FROBENIUS, x.node) ** 2 and world() is known
