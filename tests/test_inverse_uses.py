"""Certificates with reciprocals of products and with inverses of I + K, K skew: found where they are right, nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.symbolic_cases import SIZES, skew_inverse
from verify.arithmetics.symbols import named
from verify.arithmetics.symbols.difference import Proof, prove
from verify.arithmetics.symbols.identity_certificates import NotRecorded, certificate_of
from verify.kernel import check_identity
from verify.matrix import diag, exp, eye, inverse, total

pytestmark = pytest.mark.kept

n, d = SIZES["n"], SIZES["d"]
Side = Callable[..., Any]


def _operands() -> dict[str, Any]:
    return {"G": named("G", d, d), "v": named("v", d, 1), "u": named("u", n, 1), "w": named("w", n, 1)}


def attempt(left: Side, right: Side) -> Proof:
    def side(function: Side) -> Any:
        return lambda given: function(**{name: given[name] for name in function.__code__.co_varnames})

    return prove(side(left), side(right), _operands)


RIGHT: dict[str, tuple[Side, Side, str]] = {
    "P P^T": (lambda G: 2 * skew_inverse(G) @ skew_inverse(G).T, lambda G: skew_inverse(G) + skew_inverse(G).T, "inverse"),
    "P^T P": (lambda G: 2 * skew_inverse(G).T @ skew_inverse(G), lambda G: skew_inverse(G) + skew_inverse(G).T, "inverse"),
    "1 / (x y)": (
        lambda u, w: 1 / (total(exp(u)) * total(exp(w))), lambda u, w: 1 / total(exp(u)) / total(exp(w)), "power",
    ),
    "1 / x^2": (lambda u: 1 / (total(exp(u)) * total(exp(u))), lambda u: (1 / total(exp(u))) ** 2, "power"),
}  # fmt: skip
WRONG: dict[str, tuple[Side, Side]] = {
    "K is not skew": (
        lambda G: 2 * inverse(eye(G.shape[0]) + G) @ inverse(eye(G.shape[0]) + G).T,
        lambda G: inverse(eye(G.shape[0]) + G) + inverse(eye(G.shape[0]) + G).T,
    ),
    "a matrix between": (
        lambda G, v: 2 * skew_inverse(G) @ diag(v) @ skew_inverse(G).T,
        lambda G, v: skew_inverse(G) @ diag(v) + diag(v) @ skew_inverse(G).T,
    ),
    "not transposed": (lambda G: 2 * skew_inverse(G) @ skew_inverse(G), lambda G: skew_inverse(G) + skew_inverse(G).T),
    "one sum": (lambda u, w: 1 / total(exp(u) * exp(w)), lambda u, w: 1 / total(exp(u)) / total(exp(w))),
    "a sum of sums": (
        lambda u, w: 1 / (total(exp(u)) + total(exp(w))), lambda u, w: 1 / total(exp(u)) + 1 / total(exp(w)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_the_uses_are_found_and_accepted(name: str) -> None:
    left, right, rule = RIGHT[name]
    proof = attempt(left, right)
    assert proof.proved, proof.reason
    assert any(used.startswith(rule) for used in check_identity(certificate_of("toy", proof)).rules)


@pytest.mark.parametrize("name", WRONG)
def test_there_are_none_of_what_is_false(name: str) -> None:
    proof = attempt(*WRONG[name])
    assert not proof.proved and proof.blocks
    with pytest.raises(NotRecorded, match="left"):
        certificate_of("toy", proof)
