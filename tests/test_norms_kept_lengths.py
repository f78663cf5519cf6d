"""Exponentials that keep lengths in a frame, and softmax of larger logits: rules of the prover of bounds, against floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

from tests.declared_rules import stated_in
from verify.arithmetics.norms import derivation, input_matrix, kept_lengths, softmaxes
from verify.arithmetics.norms.atoms import FROBENIUS, SPECTRAL, norm, smallest
from verify.arithmetics.norms.derivations import derived, prove_bound
from verify.arithmetics.norms.float_values import Values
from verify.arithmetics.norms.rules import RULES, candidates
from verify.arithmetics.norms.world import world
from verify.matrix import expm, frobenius_norm, maximum, singular_values, softmax, spectral_norm

pytestmark = pytest.mark.kept

SIZES = {"m": 4, "n": 3}
m, n = (sympy.Symbol(name, positive=True, integer=True) for name in SIZES)
SHAPES: dict[str, tuple[Any, Any]] = {
    "X": (m, n), "Y": (n, n), "Z": (5, 3), "C": (n, 2), "S": (n, n), "R": (n, n), "V": (3, 3), "T": (m, n),
}  # fmt: skip
#: V is skew, of whole numbers of rows as Z has.
SKEW = {("is skew", name) for name in "SRV"}


def arrays(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Inputs of size 1 or so, at times of rank one, or with small angles."""
    found = {name: rng.standard_normal([SIZES.get(str(k), k) for k in shape]) for name, shape in SHAPES.items()}
    for name in "SRV":
        found[name] = (found[name] - found[name].T) * float(rng.choice([1.0, 1e-3]))
    if rng.random() < 0.3:
        found["X"] = np.outer(found["X"][:, 0], found["X"][0])
    return found


def quantities() -> None:
    """Write down the quantities that the rules speak of, and what may be divided by."""
    X, Y, Z, C, S, R, V, T = (input_matrix(name, *shape) for name, shape in SHAPES.items())
    kept, other = (expm(W @ F.T @ F) for W, F in ((S, Y), (R, X)))
    inner = expm(V @ Z.T @ Z)
    world().divisors = frozenset({smallest(Y.node), smallest(Z.node)})
    world().targets = frozenset({norm(FROBENIUS, softmax(T * 3).node)})
    operands = [
        kept,
        inner,
        Y @ kept,
        Z @ inner,
        X @ other @ C,
        X @ (kept - other),
        Y @ (kept - other),
        2 * X @ (other - kept),
    ]
    for operand in [*operands, softmax(T), softmax(T * 2), softmax(T * 3)]:
        for kind in (SPECTRAL, FROBENIUS):
            norm(kind, operand.node)


def held(seed: int) -> set[str]:
    """The rules that were applied; fails where a bound is below the quantity."""
    seen: set[str] = set()
    with derivation() as known:
        known.properties |= SKEW
        quantities()
        values = Values(known, {m: SIZES["m"], n: SIZES["n"]}, arrays(np.random.default_rng(seed)))
        for symbol in list(known.atoms):
            for name, bound, _ in candidates(symbol):
                assert values.number(symbol) <= values.number(bound) * (1 + 1e-7) + 1e-10, name
                seen |= {*name.split("; ")}
    return seen


@pytest.mark.parametrize("seed", range(6))
def test_no_rule_gives_less_than_the_quantity(seed: int) -> None:
    assert stated_in(kept_lengths) | stated_in(softmaxes) <= held(seed)


@pytest.mark.parametrize("kind", ["exponential", "product", "softmax"])
def test_a_planted_rule_that_gives_too_little_is_seen(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = RULES[kind]
    monkeypatch.setitem(RULES, kind, lambda *args: (item._replace(bound=item.bound * 9 / 10) for item in right(*args)))
    with pytest.raises(AssertionError):
        for seed in range(6):
            held(seed)


def test_nothing_is_divided_by_what_the_right_hand_side_is_not_divided_by() -> None:
    """||exp(S Y^T Y)|| sigma_min(Y) <= ||Y|| says nothing of the exponential where sigma_min(Y) is 0."""
    with derivation() as known:
        known.properties |= SKEW
        S, Y = (input_matrix(name, n, n) for name in "SY")
        left, least = spectral_norm(expm(S @ Y.T @ Y)), singular_values(Y)[-1]
        assert derived(left, spectral_norm(Y) / least).proved
        assert not known.divisors
        assert not derived(left, spectral_norm(Y) + least).proved
        assert not derived(left * least / least, spectral_norm(Y) * (1 + least)).proved


def test_each_of_several_numbers_bounds_from_above_what_their_least_does() -> None:
    """||exp(S) - I|| <= min(2, ||S||), as -max(-2, -||S||), for which two derivations are needed."""

    def of_sides(least: Any) -> Any:
        with derivation() as known:
            known.properties |= SKEW
            S = input_matrix("S", n, n)
            turn = expm(S) - expm(S * 0)
            return prove_bound(lambda _: -maximum(least(S)), lambda _: spectral_norm(turn), dict, {})

    proof = of_sides(lambda S: [-2 + 0 * spectral_norm(S), -spectral_norm(S)])
    assert proof.proved and proof.rules[0] == "one of several" and len(proof.entries[0].cases) == 2
    assert not of_sides(lambda S: [-2 + 0 * spectral_norm(S), -spectral_norm(S) / 2]).proved
    assert not of_sides(lambda S: [-1 + 0 * spectral_norm(S), -frobenius_norm(S)]).proved
