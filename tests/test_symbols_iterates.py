"""Iterates with a symbolic count: against floats and automatic differentiation, and what must not be taken for equal."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import sympy
import torch

from tests.symbolic_cases import disagreement, newton_schulz, slope_disagreement
from verify.arithmetics.symbols import named
from verify.arithmetics.symbols.difference import prove
from verify.arithmetics.symbols.head_kinds import KINDS
from verify.arithmetics.symbols.hypothesis_rules import HypothesisRule, hypothesis_on
from verify.arithmetics.symbols.identity_certificates import NotRecorded, certificate_of, statement_of
from verify.arithmetics.symbols.iterates import ITERATE
from verify.arithmetics.symbols.iteration_forms import BY_INDUCTION, SYMMETRIC
from verify.arithmetics.symbols.scalars import rational_scalar
from verify.arithmetics.symbols.sums import recording_rules
from verify.checks.operands import size_symbol
from verify.kernel import Refused, check_identity
from verify.matrix import COLUMN, ROW, concatenate, diag, expm, iterated, rational, vec_r
from verify.oracles import hessian, jacobian
from verify.vocabulary.errors import ArithmeticUnsupported

pytestmark = pytest.mark.kept


def half(M: Any) -> Any:
    return M * rational(1, 2)


def gram(B: Any) -> Any:
    return B @ B.T


def small(X: Any) -> Any:
    """A start whose iterates do not grow."""
    return X * rational(1, 8)


EXPRESSIONS: dict[str, Callable[..., Any]] = {
    "value": lambda X, W: iterated(W.shape[0], newton_schulz, small(X)) @ W,
    "of rows": lambda X, W: iterated(W.shape[1], newton_schulz, small(X.T)) @ X,
    "of blocks": lambda X, Y: iterated(X.shape[0], newton_schulz, concatenate([small(X), small(Y)], axis=1)).T @ X,
    "blocks on top": lambda X, Y: X @ iterated(X.shape[0], newton_schulz, concatenate([small(X), small(Y)], axis=0)).T,
    "of one row": lambda t: iterated(t.shape[1], newton_schulz, small(t)).T @ t,
    "a given count": lambda X: iterated(2, newton_schulz, small(X)),
    "no step": lambda X: iterated(0, newton_schulz, X),
}

#: Functions of the first argument.
SLOPES: dict[str, Callable[..., Any]] = {
    "value": lambda X, W: iterated(W.shape[0], newton_schulz, small(X)) @ W,
    "gram": lambda X, W: iterated(W.shape[1], newton_schulz, small(X)).T @ X,
    "of blocks": lambda X, Y: X.T @ iterated(X.shape[0], newton_schulz, concatenate([small(X), small(Y)], axis=1)),
    "in an exponential": lambda X, T: expm(iterated(X.shape[1], newton_schulz, small(X)).T @ T @ X),
    "twice": lambda X: gram(iterated(X.shape[0], newton_schulz, small(X))),
}


@pytest.mark.parametrize("name", sorted(EXPRESSIONS))
@pytest.mark.parametrize("seed", range(3))
def test_the_value_is_that_in_floats(name: str, seed: int) -> None:
    assert disagreement(EXPRESSIONS[name], seed) < 1e-9


@pytest.mark.parametrize("layout", [ROW, COLUMN], ids=["rows", "columns"])
@pytest.mark.parametrize("name", sorted(SLOPES))
def test_the_slope_is_that_of_autodiff(name: str, layout: Any) -> None:
    for seed in range(2):
        assert slope_disagreement(SLOPES[name], seed, 1, layout) < 1e-8


def test_a_doubled_slope_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = KINDS[ITERATE]

    def doubled(*arguments: Any) -> Any:
        return right.along(*arguments).times(rational_scalar(2))

    monkeypatch.setitem(KINDS, ITERATE, replace(right, along=doubled))
    assert all(slope_disagreement(case, 0, 1, ROW) > 1e-3 for case in SLOPES.values())


# -- what is not equal, and what has no form ---------------------------------------------------------------------------

M, N, X = named("M", *map(size_symbol, "mn")), named("N", *map(size_symbol, "mn")), named("X", *map(size_symbol, "dn"))
K, L = size_symbol("K"), size_symbol("L")

FALSE: dict[str, tuple[Any, Any]] = {
    "another count": (lambda: iterated(K, half, M), lambda: iterated(L, half, M)),
    "a step more": (lambda: iterated(K + 1, half, M), lambda: iterated(K, half, M)),
    "another step": (lambda: iterated(K, half, M), lambda: iterated(K, lambda Z: Z * rational(1, 3), M)),
    "another start": (lambda: iterated(K, half, M), lambda: iterated(K, half, N)),
    "the start": (lambda: iterated(K, half, M), lambda: M),
    "one step": (lambda: iterated(K, half, M), lambda: half(M)),
    "the transpose": (lambda: iterated(K, newton_schulz, M @ N.T), lambda: iterated(K, newton_schulz, N @ M.T)),
    "linear in its start": (
        lambda: iterated(K, newton_schulz, M + N),
        lambda: iterated(K, newton_schulz, M) + iterated(K, newton_schulz, N),
    ),
}


@pytest.mark.parametrize("name", sorted(FALSE))
def test_what_is_not_equal_is_not_proved(name: str) -> None:
    left, right = FALSE[name]
    assert not prove(lambda _: left(), lambda _: right(), dict).proved


def test_equal_steps_are_recognised_whatever_they_are_called() -> None:
    other = prove(
        lambda _: iterated(K, newton_schulz, M),
        lambda _: iterated(K, lambda Z: Z * rational(3, 2) - Z @ Z.T @ Z * rational(1, 2), M),
        dict,
    )
    assert other.proved, other.reason


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "another matrix in the step": (lambda: iterated(K, lambda Z: Z + N, M), "other matrices"),
    "another shape": (lambda: iterated(K, lambda Z: Z @ Z.T, X @ M.T), "another shape"),
    "blocks of two widths": (lambda: iterated(K, half, concatenate([M, M @ X.T], axis=1)), "several shapes"),
    "a real count": (lambda: iterated(sympy.Symbol("c", real=True), half, M), "no number of steps"),
    "a second derivative": (
        lambda: hessian(lambda Y: (Y.T @ iterated(K, newton_schulz, Y)).sum(), ("Y", "Y"))(M),
        "second derivative",
    ),
    "a derivative of a derivative": (
        lambda: jacobian(lambda Y: jacobian(lambda Z: iterated(K, newton_schulz, Z), "Z")(Y) @ vec_r(N), "Y")(M),
        "second derivative",
    ),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_has_no_form_is_refused(name: str) -> None:
    made, said = REFUSED[name]
    with pytest.raises((ArithmeticUnsupported, ValueError), match=said):
        made()


# -- induction over the steps ------------------------------------------------------------------------------------------

R = named("R", *map(size_symbol, "nn"))


def orthogonal(_: Any) -> list[HypothesisRule]:
    return [hypothesis_on("R", "has orthonormal rows", R.value.slots)]


def commutes(step: Callable[[Any], Any], given: bool = True, end: Callable[[Any], Any] = lambda B: B @ R) -> bool:
    """Whether it is proved that the iterates of M R are the ends of those of M."""
    return prove(
        lambda _: iterated(K, step, M @ R),
        lambda _: end(iterated(K, step, M)),
        dict,
        None,
        orthogonal if given else None,
    ).proved


def test_iterates_commute_with_what_a_step_commutes_with() -> None:
    assert commutes(newton_schulz)
    assert commutes(half, given=False), "a multiple commutes with every matrix"
    with recording_rules() as used:
        iterated(K, half, M @ R)
    assert BY_INDUCTION in used


FALSE_INDUCTIONS: dict[str, Callable[[], bool]] = {
    "R is not orthogonal": lambda: commutes(newton_schulz, given=False),
    "a step that does not commute": lambda: commutes(lambda Z: Z + 1),
    "a step that commutes with every transpose only": lambda: commutes(lambda Z: Z @ diag(Z[:1])),
    "the start is not met": lambda: commutes(half, end=lambda B: B),
    "the transpose": lambda: commutes(newton_schulz, end=lambda B: B @ R.T),
    "once more": lambda: commutes(newton_schulz, end=lambda B: B @ R @ R),
    "another number of steps": lambda: (
        prove(
            lambda _: iterated(K, newton_schulz, M @ R),
            lambda _: iterated(K + 1, newton_schulz, M) @ R,
            dict,
            None,
            orthogonal,
        ).proved
    ),
    "only under the conclusion": lambda: commutes(lambda Z: Z @ Z.T @ Z @ R),
}


@pytest.mark.parametrize("name", sorted(FALSE_INDUCTIONS))
def test_what_does_not_follow_by_induction_is_not_proved(name: str) -> None:
    try:
        proved = FALSE_INDUCTIONS[name]()
    except ArithmeticUnsupported:
        proved = False
    assert not proved


@pytest.mark.parametrize("count", range(4))
def test_the_induction_holds_in_floats(count: int) -> None:
    torch.manual_seed(count)
    rotation = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64))[0]
    start = torch.randn(2, 3, dtype=torch.float64) / 4
    assert torch.allclose(
        iterated(count, newton_schulz, start @ rotation), iterated(count, newton_schulz, start) @ rotation
    )


def test_an_induction_is_written_down_and_checked() -> None:
    proof = prove(lambda _: iterated(K, half, M @ R), lambda _: iterated(K, half, M) @ R, dict)
    made = certificate_of("toy", proof)
    assert check_identity(made).rules == ("induction",)
    assert [item["count"] for item in made["iterates"]] == ["K", "K"]
    made["iterates"][1]["start"] = made["iterates"][0]["start"]
    with pytest.raises(Refused):
        check_identity(made)


def test_an_induction_over_an_iterate_that_varies_has_no_certificate() -> None:
    def product(Y: Any) -> Any:
        return iterated(K, half, Y @ R)

    proof = prove(
        lambda _: jacobian(product, "Y")(M), lambda _: jacobian(lambda Y: iterated(K, half, Y) @ R, "Y")(M), dict
    )
    assert proof.proved, proof.reason
    with pytest.raises(NotRecorded, match="induction"):
        statement_of("toy", proof)


# -- an iterate and its start -------------------------------------------------------------------------------------------


def cubic(Z: Any) -> Any:
    return Z - Z @ Z.T @ Z * rational(1, 3)


def stays_symmetric(step: Callable[[Any], Any], start: Any = M, other: Any = None, side: str = "columns") -> bool:
    """Whether it is proved that B^T M is symmetric (or B M^T) for the iterate B of a start, M being that or another one."""
    other = start if other is None else other

    def product(_: Any) -> Any:
        B = iterated(K, step, start)
        return B.T @ other if side == "columns" else B @ other.T

    return prove(product, lambda _: product(_).T, dict).proved


@pytest.mark.parametrize("side", ["columns", "rows"])
@pytest.mark.parametrize("step", [newton_schulz, half, cubic, lambda Z: Z @ Z.T @ Z @ Z.T @ Z + 2 * Z])
def test_an_iterate_has_symmetric_products_with_its_start(step: Callable[[Any], Any], side: str) -> None:
    assert stays_symmetric(step, side=side)


def test_symmetric_products_with_the_start_are_certified() -> None:
    def product(_: Any) -> Any:
        return iterated(K, cubic, M).T @ M @ M.T

    proof = prove(product, lambda _: M.T @ M @ iterated(K, cubic, M).T, dict)
    assert proof.proved, proof.reason
    assert SYMMETRIC in proof.rules
    made = certificate_of("toy", proof)
    assert check_identity(made).rules == ("induction",)
    for item in made["iterates"]:
        item["image"] = ["+", item["image"], ["q", 1, 1]]
    with pytest.raises(Refused, match="induction 0"):
        check_identity(made)


NOT_SYMMETRIC: dict[str, Callable[[], bool]] = {
    "a constant is added": lambda: stays_symmetric(lambda Z: Z + 1),
    "the start is another matrix": lambda: stays_symmetric(newton_schulz, other=N),
    "the start is no input": lambda: stays_symmetric(newton_schulz, start=M + N),
    "a function of the entries": lambda: stays_symmetric(lambda Z: Z * Z),
    "a product in another order": lambda: stays_symmetric(lambda Z: Z @ Z @ Z.T, start=R),
    "an even power": lambda: stays_symmetric(lambda Z: Z @ Z, start=R),
    "the transpose": lambda: stays_symmetric(lambda Z: Z.T, start=R),
    "the iterate by itself": lambda: prove(
        lambda _: iterated(K, newton_schulz, R), lambda _: iterated(K, newton_schulz, R).T, dict
    ).proved,
    "its square": lambda: prove(
        lambda _: iterated(K, newton_schulz, R) @ R, lambda _: R @ iterated(K, newton_schulz, R), dict
    ).proved,
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(NOT_SYMMETRIC))
def test_what_is_not_symmetric_is_not_proved(name: str) -> None:
    assert not NOT_SYMMETRIC[name]()


@pytest.mark.parametrize("count", range(4))
@pytest.mark.parametrize("step", [newton_schulz, cubic])
def test_symmetric_products_with_the_start_hold_in_floats(step: Callable[[Any], Any], count: int) -> None:
    torch.manual_seed(count)
    start = torch.randn(3, 2, dtype=torch.float64) / 4
    for product in (iterated(count, step, start).T @ start, iterated(count, step, start) @ start.T):
        assert torch.allclose(product, product.T)


# -- what is written down ----------------------------------------------------------------------------------------------


def test_value_and_slope_at_one_point_have_one_name_and_the_checker_joins_them() -> None:
    def basis(Y: Any) -> Any:
        return iterated(K, newton_schulz, small(Y))

    parts: list[Callable[[Any], Any]] = [lambda Y: basis(Y).T @ basis(M), lambda Y: basis(M).T @ basis(Y)]
    proof = prove(
        lambda _: jacobian(lambda Y: basis(Y).T @ basis(Y), "Y")(M),
        lambda _: jacobian(parts[0], "Y")(M) + jacobian(parts[1], "Y")(M),
        dict,
    )
    assert proof.proved, proof.reason
    made = certificate_of("toy", proof)
    assert set(made["inputs"]) == {"M", "iterate(1)", "slope of iterate(1)"}
    check_identity(made)
    swapped = json.loads(json.dumps(made).replace('"slope of iterate(1)", ["', '"slope of iterate(2)", ["', 1))
    swapped["inputs"]["slope of iterate(2)"] = made["inputs"]["slope of iterate(1)"]
    with pytest.raises(Refused):
        check_identity(swapped)
