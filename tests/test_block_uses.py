"""Certificates with exponentials of blocks: of which matrix they speak, and that the corner exp(A) - I is found nowhere else."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from tests.kernel_points import Point
from tests.symbolic_cases import SIZES, corner
from verify.arithmetics.symbols import named
from verify.arithmetics.symbols.difference import Proof, prove
from verify.arithmetics.symbols.identity_certificates import NotRecorded, certificate_of, statement_of
from verify.kernel import Refused, check_identity
from verify.matrix import concatenate, expm, eye

pytestmark = pytest.mark.kept

n, d = SIZES["n"], SIZES["d"]
Side = Callable[..., Any]


def _operands() -> dict[str, Any]:
    return {
        "G": named("G", d, d),
        "H": named("H", d, d),
        "K": named("K", d, d),
        "X": named("X", n, d),
        "Y": named("Y", n, n),
    }


def attempt(left: Side, right: Side) -> Proof:
    def side(function: Side) -> Any:
        return lambda given: function(**{name: given[name] for name in inspect.signature(function).parameters})

    return prove(side(left), side(right), _operands)


def repeated(A: Any) -> Any:
    """The corner of exp [[A, A], [0, 0]]."""
    return corner(A, A, 0 * A)


RIGHT: dict[str, tuple[Side, Side]] = {
    "the corner": (lambda G: repeated(G), lambda G: expm(G) - eye(G.shape[0])),  # noqa: PLW0108
    "of a sum, transposed": (lambda G, H: repeated(G - H).T, lambda G, H: expm(G - H).T - eye(G.shape[0])),
    "two of them": (
        lambda G, H: repeated(G) @ repeated(H),
        lambda G, H: (expm(G) - eye(G.shape[0])) @ (expm(H) - eye(G.shape[0])),
    ),
    "twice the same": (
        lambda G: repeated(G) @ repeated(G), lambda G: expm(G) @ expm(G) - 2 * expm(G) + eye(G.shape[0]),
    ),
    "among others": (lambda X, G: X @ repeated(G) @ X.T, lambda X, G: X @ expm(G) @ X.T - X @ X.T),
}  # fmt: skip
WRONG: dict[str, tuple[Side, Side]] = {
    "no identity": (lambda G: repeated(G), lambda G: expm(G)),  # noqa: PLW0108
    "another corner": (lambda G: corner(G, 2 * G, 0 * G), lambda G: expm(G) - eye(G.shape[0])),
    "the transpose as the corner": (lambda G: corner(G, G.T, 0 * G), lambda G: expm(G) - eye(G.shape[0])),
    "a last block": (lambda G: corner(G, G, G), lambda G: expm(G) - eye(G.shape[0])),
    "transposed on one side": (lambda G: repeated(G).T, lambda G: expm(G) - eye(G.shape[0])),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_the_uses_are_found_and_accepted(name: str) -> None:
    proof = attempt(*RIGHT[name])
    assert proof.proved, proof.reason
    rules = check_identity(certificate_of("toy", proof)).rules
    assert {"intertwined exponentials", "exponential of what annihilates"} <= set(rules)


@pytest.mark.parametrize("name", WRONG)
def test_there_are_none_of_what_is_false(name: str) -> None:
    proof = attempt(*WRONG[name])
    assert not proof.proved and proof.blocks
    with pytest.raises(NotRecorded, match="left"):
        certificate_of("toy", proof)


@pytest.mark.parametrize(
    ("rule", "part", "instead"),
    [("intertwined exponentials", ["unit", 0], ["unit", 1]), ("exponential of what annihilates", ["q", -1], ["q", 1])],
)
def test_a_false_use_is_refused(rule: str, part: list[Any], instead: list[Any]) -> None:
    """A vector that the blocks do not annihilate or intertwine is refused as such; another one that they do says something else."""
    made = certificate_of("toy", attempt(*RIGHT["the corner"]))
    check_identity(made)
    (arguments,) = (use["arguments"] for use in made["parts"][0]["uses"] if use["rule"] == rule)
    bound, vector = arguments[-2]
    for wrong, message in ((_with(vector, part, instead), "left of M"), (["*", ["q", 2, 1], vector], "left - right")):
        arguments[-2] = [bound, wrong]
        with pytest.raises(Refused, match=message):
            check_identity(made)


def _with(e: Any, part: list[Any], instead: list[Any]) -> Any:
    """An expression with another beginning in the place of that of some of its parts."""
    if not isinstance(e, list):
        return e
    return [*instead, *e[len(part) :]] if e[: len(part)] == part else [_with(one, part, instead) for one in e]


def _at(size: int, tensors: dict[str, np.ndarray]) -> Point:
    entries = {name: {at: mpmath.mpf(float(x)) for at, x in np.ndenumerate(A)} for name, A in tensors.items()}
    return Point({"d": size, "2": 2}, entries)


@pytest.mark.parametrize("p", [0, 1])
@pytest.mark.parametrize("q", [0, 1])
def test_a_block_is_said_of_the_exponential_of_the_blocks(p: int, q: int) -> None:
    def side(G: Any, H: Any, K: Any) -> Any:
        size = G.shape[0]
        whole = concatenate([concatenate([G, H], axis=1), concatenate([0 * G, K], axis=1)], axis=0)
        rows, columns = (slice(None, size) if k == 0 else slice(size, 2 * size) for k in (p, q))
        return expm(whole)[rows, columns] + G

    proof = attempt(side, lambda G, H, K: G @ H @ K)
    statement = statement_of("toy", proof)
    rng = np.random.default_rng(7)
    G, H, K = rng.normal(size=(3, 2, 2))
    part, point = statement["parts"][0], _at(2, {"G": G, "H": H, "K": K})
    exponential = mpmath.expm(mpmath.matrix(np.block([[G, H], [0 * G, K]]).tolist()), method="taylor")
    definitions = {name: (indices, e) for name, indices, e in statement["definitions"]}
    assert not definitions
    for at in point.each(part["indices"]):
        i, j = at.values()
        wanted = exponential[2 * p + i, 2 * q + j] + G[i, j]
        assert abs(point.value(part["left"], at) - wanted) < 1e-12


def test_blocks_of_several_sizes_have_no_certificate() -> None:
    proof = attempt(lambda G, X, Y: corner(G, X.T, Y), lambda G, X, Y: 2 * corner(G, X.T, Y))
    with pytest.raises(NotRecorded, match="several sizes"):
        statement_of("toy", proof)
