"""Matrices that move together by a map that depends on the step: values, inductions, and what must not be taken for equal."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.fuzzing.campaign import TooLong, at_most
from verify.arithmetics.symbols import named
from verify.arithmetics.symbols.difference import float_values, prove
from verify.arithmetics.symbols.identity_certificates import certificate_of
from verify.arithmetics.symbols.points import NumericPoint
from verify.arithmetics.symbols.step_induction import BY_STEPS
from verify.checks.operands import size_symbol
from verify.kernel import Refused, check_identity
from verify.matrix import added, concatenate, each, eye, iterated, mapped, softmax, stepped, summed, vec_r, visited
from verify.oracles import jacobian
from verify.vocabulary import InputError
from verify.vocabulary.errors import ArithmeticUnsupported

pytestmark = pytest.mark.kept

N, D, L = map(size_symbol, "Ndl")
X, Y = named("X", N, D), named("Y", N, D)
W, V, Q = (named(name, L, D, D) for name in "WVQ")
U = named("U", size_symbol("m"), D, D)


def attention(X: Any, k: Any) -> Any:
    return softmax(X @ Q[k] @ X.T)


def output(k: Any, X: Any) -> Any:
    return attention(X, k) @ X @ V[k] @ W[k]


def factors(k: Any, X: Any, A: Any, B: Any) -> tuple[Any, Any, Any]:
    return output(k, X), attention(X, k) @ A, B @ V[k] @ W[k]


def product_form(step: Callable[..., Any] = factors, start: Any = X, end: Any = X) -> Any:
    _, A, B = stepped(L, step, start, eye(N), eye(D))
    return A @ end @ B


def last(step: Callable[..., Any] = output, start: Any = X) -> Any:
    return stepped(L, step, start)


def is_proved(left: Callable[[], Any], right: Callable[[], Any]) -> bool:
    return prove(lambda _: left(), lambda _: right(), dict).proved


def sums_of_changes(sign: int = 1, start: Any = X) -> tuple[Any, Any]:
    """The states after each step, and the start with all changes by then added up."""

    def further(k: Any, X: Any, total: Any) -> tuple[Any, Any]:
        return X + output(k, X), total + output(k, X) * sign

    states, totals = visited(L, further, X, start)
    return (concatenate([mapped(vec_r, family)], axis=0) for family in (states, totals))  # type: ignore[return-value]


def in_another_order() -> Any:
    B, A, _ = stepped(L, lambda k, B, A, X: factors(k, X, A, B)[::-1], eye(D), eye(N), X)
    return A @ X @ B


TRUE: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "layers as one product": (product_form, last),
    "the same written otherwise": (last, lambda: last(lambda k, X: attention(X, k) @ (X @ (V[k] @ W[k])))),
    "the order of the states does not matter": (product_form, in_another_order),
    "states after each step": tuple(lambda place=place: list(sums_of_changes())[place] for place in (0, 1)),  # type: ignore[dict-item]
    "an iterate and a recurrence": (lambda: iterated(L, lambda M: M / 2, X), lambda: stepped(L, lambda k, M: M / 2, X)),
}


@pytest.mark.parametrize("name", sorted(TRUE))
def test_it_is_proved_and_certified(name: str) -> None:
    left, right = TRUE[name]
    proof = prove(lambda _: left(), lambda _: right(), dict)
    assert proof.proved, proof.reason
    check_identity(certificate_of("toy", proof))


def test_what_moves_from_step_to_step_is_said_where_no_induction_is_needed() -> None:
    """Otherwise the certificates of both would say B = B of any B, and one would be that of the other."""

    def made_of(weights: Any) -> Any:
        one, other = (lambda k, X: X @ weights[k]), (lambda k, X: X.T.T @ weights[k])
        made = certificate_of("toy", prove(lambda _: last(one), lambda _: last(other), dict))
        check_identity(made)
        assert [item["value"] for item in made["iterates"]] == ["recurrence(1)"] and "inductions" not in made
        return made

    assert made_of(W) != made_of(V)


def test_start_and_map_of_an_iterate_are_said_where_no_induction_is_needed() -> None:
    def made_of(part: int, start: Any) -> Any:
        one, other = (lambda M: M / part), (lambda M: M.T.T / part)
        proof = prove(lambda _: iterated(L, one, start), lambda _: iterated(L, other, start), dict)
        made = certificate_of("toy", proof)
        check_identity(made)
        assert [item["value"] for item in made["iterates"]] == ["iterate(1)"]
        return made

    made = made_of(2, W[0])
    assert made not in (made_of(3, W[0]), made_of(2, W[0].T)) and made == made_of(2, W[0])


def test_the_induction_is_named() -> None:
    proof = prove(lambda _: product_form(), lambda _: last(), dict)
    assert BY_STEPS in proof.rules
    assert "l >= 1" in map(str, proof.conditions), "a stack has at least one matrix"


FALSE: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "the product in the other order": (
        lambda: product_form(lambda k, X, A, B: (output(k, X), A @ attention(X, k), B @ V[k] @ W[k])), last,
    ),
    "weights in the other order": (
        lambda: product_form(lambda k, X, A, B: (output(k, X), attention(X, k) @ A, V[k] @ W[k] @ B)), last,
    ),
    "attention at the first tokens": (
        lambda: product_form(lambda k, Z, A, B: (output(k, Z), attention(X, k) @ A, B @ V[k] @ W[k])), last,
    ),
    "another start": (lambda: product_form(start=Y), last),
    "another end": (lambda: product_form(end=Y), last),
    "other weights": (product_form, lambda: last(lambda k, X: attention(X, k) @ X @ W[k] @ V[k])),
    "the start": (last, lambda: X),
    "one step": (lambda: last(lambda k, X: X @ W[k]), lambda: X @ W[0]),
    "the first step at every step": (lambda: last(lambda k, X: X @ W[k]), lambda: last(lambda k, X: X @ W[0])),
    "a stack of another length": (
        lambda: last(lambda k, X: X @ W[k]), lambda: stepped(size_symbol("m"), lambda k, X: X @ U[k], X),
    ),
    "changes subtracted": tuple(lambda place=place: list(sums_of_changes(-1))[place] for place in (0, 1)),  # type: ignore[dict-item]
    "changes from another start": tuple(lambda place=place: list(sums_of_changes(1, Y))[place] for place in (0, 1)),  # type: ignore[dict-item]
    "one after the other": (  # M -> P and P -> 2 P from one start
        lambda: stepped(L, lambda k, M, P: (P, 2 * P), X, X)[0], lambda: stepped(L, lambda k, M, P: (P, 2 * P), X, X)[1],
    ),
    "only if it is so before": (lambda: stepped(L, lambda k, M: M @ W[k], X), lambda: stepped(L, lambda k, M: M @ W[k], Y)),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FALSE))
def test_it_is_not_proved(name: str) -> None:
    assert not is_proved(*FALSE[name])


def test_rules_of_an_induction_that_undo_each_other_end() -> None:
    """That the sums over all steps agree, and that the values at each one do, give way to each other in turn."""

    def sums(start: Any) -> Any:
        return added(visited(L, lambda k, M: M @ W[0], start))

    try:
        with at_most(60.0):
            proved = is_proved(lambda: sums(X), lambda: sums(X @ W[0]))
    except TooLong:
        pytest.fail("it does not end")
    assert not proved


def after_all(read: Callable[[Any], Any]) -> Any:
    """What is read at the step after the last one."""
    kept: list[Any] = []

    def leaking(k: Any, X: Any) -> Any:
        kept.append(k)
        return X @ W[k]

    stepped(L, leaking, X)
    return read(kept[-1])


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a stack of another length": (lambda: last(lambda k, X: X @ U[k]), "step"),
    "another shape": (lambda: last(lambda k, X: X.T @ X @ W[k]), "another shape"),
    "fewer matrices": (lambda: stepped(L, lambda k, X, Y: X, X, Y), "from 2 matrices to 1"),
    "the next step": (lambda: last(lambda k, X: X @ W[k + 1]), "unsupported operand"),
    "the step as a number": (lambda: last(lambda k, X: X * k), "unsupported operand|no symbolic form|a use of it that has no form"),
    "a derivative in the start": (
        lambda: jacobian(lambda Y: stepped(L, lambda k, Y: Y @ W[k], Y), "Y")(X), "derivative of what moves",
    ),
    "a derivative in the map": (
        lambda: jacobian(lambda Y: stepped(L, lambda k, Z: Z @ W[k] + Y, X), "Y")(X), "derivative of what moves",
    ),
    "one within the other": (
        lambda: last(lambda k, X: stepped(L, lambda j, Z: Z @ W[j], X)), "steps within a step",
    ),
    # of each the form would be that of another function: of states, or steps, of one name; with the first step left out
    "the state of another map": (
        lambda: last(lambda k, X: X @ stepped(L, lambda j, Z: Z @ X.T @ X, eye(D))), "steps within a step",
    ),
    "the step of another map": (
        lambda: last(lambda k, X: X @ stepped(L, lambda j, Z: Z @ W[k], eye(D))), "steps within a step",
    ),
    "iterates of a generic matrix in a map of it": (
        lambda: iterated(L, lambda M: M @ iterated(L, lambda P: P @ M, eye(D)), W[0]), "steps within a step",
    ),
    "the step in a map of another kind": (
        lambda: last(lambda k, X: X @ iterated(L, lambda P: P @ eye(D)[k], eye(D))), "step of another map",
    ),
    "the step in no map": (lambda: after_all(lambda k: W[k]), "step of another map"),
    "another map at the first step": (lambda: last(lambda k, X: X if k == 0 else X @ W[k]), "a comparison of step"),
    "another map at some steps": (lambda: last(lambda k, X: X @ (V if k in (0, 1) else W)[k]), "a comparison of step"),
    "another map at all steps but one": (lambda: last(lambda k, X: X @ W[k] if k else X), "a decision on step"),
    "weights found by the step": (lambda: last(lambda k, X: X @ {0: V}.get(k, W)[k]), "unhashable"),
    "another term at first": (lambda: summed(L, lambda i: V[i] if i == 0 else W[i]), "a comparison of i"),
    "another term for equal indices": (
        lambda: summed(L, lambda i: summed(L, lambda j: V[i] if i == j else W[i])), "a comparison of i",
    ),
    "no term at first": (lambda: summed(L, lambda i: W[i] if i else V[0]), "a decision on i"),
    "terms found by the index": (lambda: each(L, lambda i: {0: V}.get(i, W)[i]), "unhashable"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_has_no_form_is_refused(name: str) -> None:
    made, said = REFUSED[name]
    with pytest.raises(Exception, match=said) as found:
        made()
    assert isinstance(found.value, (ArithmeticUnsupported, TypeError, ValueError))


def test_what_is_read_at_a_step_does_not_leave_the_map() -> None:
    """A matrix that a step leaves lying about is that of no step."""
    kept: list[Any] = []

    def leaking(k: Any, X: Any) -> Any:
        kept.append(W[k])
        return X @ W[k]

    stepped(L, leaking, X)
    proof = prove(lambda _: kept[0] @ X.T, lambda _: kept[0] @ X.T, dict)
    with pytest.raises(Exception, match=r"outside of a call|arrays"):
        certificate_of("toy", proof)
    with pytest.raises(ValueError, match="arrays"):
        float_values(kept[0], NumericPoint({N: 2, D: 2, L: 2}, {"W": np.ones((2, 2, 2)), "X": np.ones((2, 2))}))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_value_is_that_in_floats(count: int) -> None:
    torch.manual_seed(count)
    arrays = {name: torch.randn(count, 2, 2, dtype=torch.float64) for name in "WVQ"}
    tokens = torch.randn(3, 2, dtype=torch.float64)

    def step(k: int, X: Any, A: Any) -> tuple[Any, Any]:
        P = softmax(X @ arrays["Q"][k] @ X.T)
        return P @ X @ arrays["V"][k] @ arrays["W"][k], P @ A

    expected = stepped(count, step, tokens, torch.eye(3, dtype=torch.float64))
    found = stepped(L, lambda k, X, A: (output(k, X), attention(X, k) @ A), X, eye(N))
    values = {"X": tokens.numpy(), **{name: array.numpy() for name, array in arrays.items()}}
    point = NumericPoint({N: 3, D: 2, L: count}, values)
    for one, other in zip(found, expected, strict=True):
        assert np.allclose(float_values(one, point), other.numpy().reshape(-1))


def test_after_no_steps_nothing_was_visited_for_each_start() -> None:
    tokens = torch.ones(2, 2)
    for start in (tokens, X):  # numbers, and matrices whose sizes are symbols
        assert visited(0, lambda k, M: 2 * M, start) == []
        assert visited(0, lambda k, M, P: (P, M), start, start) == ([], [])
        assert len(visited(1, lambda k, M: 2 * M, start)) == 1
        with pytest.raises(InputError, match="at least one matrix"):
            added(visited(0, lambda k, M: 2 * M, start))


def test_a_forged_start_or_map_is_refused() -> None:
    made = certificate_of("toy", prove(lambda _: product_form(), lambda _: last(), dict))
    check_identity(made)
    for number in range(3):
        for key in ("start", "image"):
            forged = copy.deepcopy(made)
            forged["iterates"][number][key] = ["q", 2, 1]
            with pytest.raises(Refused):
                check_identity(forged)
    forged = copy.deepcopy(made)
    forged["inductions"][0]["invariants"][0]["step"] = []
    with pytest.raises(Refused):
        check_identity(forged)
