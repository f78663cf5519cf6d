"""Rules for what softmax rows give away, and for their covariances, against logits in floats; and where none must apply."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sympy
import torch

from tests.declared_rules import stated_in
from verify.arithmetics.norms import Bounded, gaps, input_matrix, nodes, rules
from verify.arithmetics.norms.atoms import FROBENIUS, LARGEST, SPECTRAL, norm
from verify.arithmetics.norms.bounded import total_of
from verify.arithmetics.norms.derivation_search import replaceable
from verify.arithmetics.norms.float_values import Values
from verify.arithmetics.norms.rules import candidates
from verify.arithmetics.norms.world import World, derivation, world
from verify.checks.bound_proofs import prove_bound_claim
from verify.matrix import (
    absolute,
    diag,
    each,
    exp,
    eye,
    maximum,
    ones,
    softmax,
    total,
    trace,
    vanishes,
    without_column,
    zeros,
)
from verify.vocabulary import load
from verify.vocabulary.errors import ArithmeticUnsupported, InputError

pytestmark = pytest.mark.kept

n = sympy.Symbol("n", positive=True, integer=True)
SIZE = 4


def logits(rng: np.random.Generator) -> np.ndarray:
    """Generic logits, or rows with all attention on one token, shared by two, or a gap that is the same for all others."""
    M = rng.standard_normal((SIZE, SIZE)) * rng.choice([0.1, 1.0, 4.0])
    M[0] = (0.0, 0.0, -30.0, -30.0)
    M[1] = (-2.0, 3.0, -2.0, -2.0)
    M[2] = (-30.0, 1.0, 0.0, 1.0)
    return M


def quantities(M: Bounded) -> Iterator[Any]:
    """Quantities of every row i of softmax(M) in which each rule of the module has something to do."""

    def of_row(i: Any) -> list[Any]:
        p = softmax(M)[i : i + 1]
        J = diag(p) - p.T @ p
        minor = without_column(without_column(J, i).T, i)
        lost, weights = total(without_column(p, i)), softmax(M)[i, i]
        # what is aimed at, without which the rules are silent
        world().targets |= {lost, norm(FROBENIUS, J.node)}
        return [
            lost, weights, trace(J), norm(SPECTRAL, J.node), norm(FROBENIUS, J.node), norm(LARGEST, J.node),
            norm(LARGEST, without_column(J[i : i + 1], i).node), norm(LARGEST, without_column(p, i).node),
            norm(LARGEST, (minor * (ones(n - 1, n - 1) - eye(n - 1))).node),
            norm(FROBENIUS, without_column(M[i : i + 1], i).node),
        ]  # fmt: skip

    yield from each(n, of_row).entry


def checked(known: World, rng: np.random.Generator) -> dict[str, int]:
    """How often each rule was applied at one draw; fails where a candidate is below the quantity."""
    seen: dict[str, int] = {}
    M = input_matrix("M", n, n)
    found = list(quantities(M))
    values = Values(known, {n: SIZE}, {"M": logits(rng)})
    assert len({index for value in found for index in known.indices_of(value)}) == 1
    done: set[Any] = set()
    for _ in range(5):  # the quantities that candidates speak of, in turn
        for symbol in [symbol for symbol in known.atoms if symbol not in done]:
            done.add(symbol)
            for name, bound, _ in candidates(symbol):
                free = sorted(known.indices_of((symbol, bound)), key=str)
                for at in itertools.product(*(range(values.size(j.size)) for j in free)):
                    exact, above = (values.number(side, dict(zip(free, at, strict=True))) for side in (symbol, bound))
                    assert exact <= above * (1 + 1e-9) + 1e-12, (name, exact, above)
                seen[name] = seen.get(name, 0) + 1
    return seen


def test_no_rule_gives_less_than_the_quantity() -> None:
    seen: dict[str, int] = {}
    for draw in range(4):
        with derivation() as known:
            for name, count in checked(known, np.random.default_rng(draw)).items():
                seen[name] = seen.get(name, 0) + count
    assert stated_in(gaps) <= set(seen)


@pytest.mark.parametrize(
    ("table", "kind"),
    [("QUANTITIES", "total"), ("QUANTITIES", "total of exponentials"), ("QUANTITIES", "entry"), ("RULES", "sum"),
     ("RULES", "variances"), ("RULES", "without column"), ("RULES", "entrywise")],
)  # fmt: skip
def test_a_planted_rule_that_gives_too_little_is_seen(table: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = getattr(rules, table)[kind]
    wrong = lambda *args: (item._replace(bound=item.bound * sympy.Rational(9, 10)) for item in right(*args))  # noqa: E731
    monkeypatch.setitem(getattr(rules, table), kind, wrong)
    with pytest.raises(AssertionError):
        test_no_rule_gives_less_than_the_quantity()


@pytest.mark.parametrize("rule", sorted(stated_in(gaps)))
def test_each_planted_rule_is_seen_by_itself(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def less(right: Any) -> Any:
        share = sympy.Rational(9, 10)
        return lambda *args: (i._replace(bound=i.bound * share) if i.name == rule else i for i in right(*args))

    for table in (rules.QUANTITIES, rules.RULES):
        for kind in ("total", "total of exponentials", "sum", "variances", "without column", "entrywise"):
            if kind in table:
                monkeypatch.setitem(table, kind, less(table[kind]))
    with pytest.raises(AssertionError):
        test_no_rule_gives_less_than_the_quantity()


def rules_of(symbol: sympy.Symbol) -> set[str]:
    return {name for name, _, _ in candidates(symbol)} & stated_in(gaps)


def test_the_rules_are_about_softmax_rows_and_their_covariances_only() -> None:
    with derivation():
        M, i = input_matrix("M", n, n), 0
        t, p, q = M[:1], softmax(M[:1]), softmax(M[1:2])
        world().targets = frozenset({total(without_column(p, i))})
        for J in (diag(p) - q.T @ q, diag(p) - p.T @ q, diag(p) - 2 * p.T @ p, diag(p) + p.T @ p, diag(t) - t.T @ t):
            for kind in (SPECTRAL, FROBENIUS, LARGEST):
                (symbol,) = norm(kind, J.node).free_symbols
                assert not rules_of(symbol)
            with pytest.raises(ArithmeticUnsupported, match="the diagonal of a matrix"):
                trace(J)
        J = diag(p) - p.T @ p
        whole = without_column(without_column(J, 0).T, 0)
        mask = ones(n - 1, n - 1) - eye(n - 1)
        for other in (
            without_column(J[1:2], 0),  # row 1 contains p_1 (1 - p_1)
            whole,
            without_column(without_column(J, 0).T, 1) * mask,
            whole * (ones(n - 1, n - 1) + eye(n - 1)),
            (without_column(p, 0).T @ without_column(p, 0)) * (ones(n - 1, n - 1) + eye(n - 1)),
            (without_column(t, 0).T @ without_column(t, 0)) * mask,
            without_column(t, 0),
        ):
            (symbol,) = norm(LARGEST, other.node).free_symbols
            assert not rules_of(symbol), other
        assert total(without_column(t, 0)).is_nonnegative is not True
        assert not rules_of(total(absolute(without_column(t, 0))))


def test_a_share_grows_and_other_quotients_are_not_taken_to() -> None:
    with derivation():
        a, b = (norm(FROBENIUS, input_matrix(name, n, n).node) for name in "AB")
        assert replaceable(a / (1 + a)) == {a} and replaceable(3 * n * b * a / (n + 3 * a)) == {a, b}
        assert replaceable(a * b / (1 + a)) == {a, b} and replaceable(a**2 / (1 + a)) == {a}
        assert replaceable(a / (1 + a + b)) == {a}
        for value in (1 / (1 + a), a / (1 + a) ** 2, b / (1 + a + b), a / (1 + a**2), -a / (1 + a), a / (a - 1)):
            assert a not in replaceable(value), value
        assert b not in replaceable(a / (1 + b)) and replaceable(a * b / ((1 + a) * (1 + b))) == {a, b}


def test_exponents_are_replaced_only_where_the_expression_grows_with_them() -> None:
    with derivation():
        t = input_matrix("M", n, n)[:1]
        highest = maximum(t - ones(1, n))
        assert replaceable(exp(highest)) == {highest} == replaceable(n * exp(1 + highest))
        assert replaceable(n * highest) == {highest} and not replaceable(-n * highest)
        assert not replaceable(exp(-highest)) and not replaceable(1 / highest)


def test_a_column_is_taken_out_where_it_stands() -> None:
    A = np.arange(12).reshape(3, 4)
    with derivation() as known:
        M, i = input_matrix("M", n, n), each(n, lambda i: i).entry
        values = Values(known, {n: SIZE}, {"M": logits(np.random.default_rng(0))})
        node = nodes.without_column((2 * M).node, i)
        for k in range(SIZE):
            assert (values.array(node, {i: k}) == 2 * np.delete(values.arrays["M"], k, axis=1)).all()
        moved = nodes.at(nodes.rows(node, i, i + 1, 1), i, 2)
        assert moved is nodes.rows(nodes.without_column((2 * M).node, 2), 2, 3, 1)
        assert total_of(nodes.without_column(softmax(M).node, i)).is_nonnegative
    for k in range(4):
        assert (without_column(A.astype(object), k) == np.delete(A, k, axis=1)).all()
        assert (without_column(torch.tensor(A), k).numpy() == np.delete(A, k, axis=1)).all()
    for k in (-1, 4):
        with pytest.raises(InputError, match="a column of 4"):
            without_column(torch.tensor(A), k)


def test_a_matrix_that_might_vanish_is_taken_not_to_and_that_is_recorded() -> None:
    assert vanishes(torch.zeros(2, 2)) and vanishes(zeros(2, 3)) and not vanishes(np.array([[0, 1]], dtype=object))
    with derivation() as known:
        M = input_matrix("M", n, n)
        assert not vanishes(M - M.T) and known.used == {"M - M^T is not 0"}
        assert vanishes(M * 0) and len(known.used) == 1


#: Refuted bounds of the same quantities, which run on norms since they have rules.
REFUTED = (
    "skipless.lemma-1",
    "skipless.eq-23",
    "skipless.eq-24-25",
    "skipless.eq-26",
    "skipless.eq-27-28",
    "skipless.eq-31",
)


@pytest.mark.parametrize("claim_id", REFUTED)
def test_no_refuted_bound_of_these_quantities_is_proved(claim_id: str) -> None:
    claim = load()[claim_id]
    assert claim.expects == "refuted" and not prove_bound_claim(claim).proved
