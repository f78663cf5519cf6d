"""Comparisons of positions, and matrices of which only some rows count: against floats, and what must not be proved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.symbolic_cases import disagreement
from tests.test_symbols_rules import caught, planted
from verify.arithmetics.symbols import named, positions, ragged, sums
from verify.arithmetics.symbols.difference import prove
from verify.arithmetics.symbols.positions import is_never_negative
from verify.checks.operands import size_symbol
from verify.matrix import (
    basis_vector,
    causal_mask,
    concatenate,
    diag_part,
    each,
    exp,
    masked_softmax,
    not_later,
    ones,
    row_sums,
    rows_within,
    softmax,
)  # fmt: skip
from verify.vocabulary.errors import ArithmeticUnsupported, InputError

pytestmark = pytest.mark.kept


def by_rows(Q: Any, row: Callable[[Any], Any]) -> Any:
    """row(0), row(1), ... on top of each other."""
    return concatenate(each(Q.shape[0], row), axis=0)


def joined(*blocks: Any) -> Any:
    return concatenate(list(blocks), axis=0)


def compared(S: Any, shift: Any = 0, turned: bool = False) -> Any:
    mask = not_later(*S.shape, shift)
    return (mask.T if turned else mask) * S


def causal(P: Any, Q: Any) -> Any:
    return masked_softmax(P @ Q.T, causal_mask(P.shape[0])) @ Q


#: X, Y (n, d), W (d, k), T (n, n), t (1, n); n, d and k are 2, 3 and 4 in some order.
EXPRESSIONS: dict[str, Callable[..., Any]] = {
    "comparison": lambda T: not_later(*T.shape) * T,
    "of other sizes": lambda X: not_later(*X.shape) * X,
    "shifted": lambda T: not_later(*T.shape, 1) * T + 2 * not_later(*T.shape, -1) * T,
    "by a size": lambda T, W: not_later(*T.shape, W.shape[0]) * T - not_later(*T.shape, -W.shape[1]) * T,
    "by a difference": lambda T, W: not_later(*T.shape, W.shape[0] - W.shape[1]) * T,
    "squared": lambda T: not_later(*T.shape) * not_later(*T.shape) * T,
    "two": lambda T: not_later(*T.shape, 1) * not_later(*T.shape, -1) * T,
    "the diagonal": lambda T: diag_part(not_later(*T.shape) * T) + 3 * diag_part(not_later(*T.shape, -1) * T),
    "the first": lambda T: T * (not_later(*T.shape) @ basis_vector(T.shape[0], 0)),
    "everything": lambda T: not_later(*T.shape, T.shape[0]) * T + not_later(*T.shape, -T.shape[0]) * T,
    "in blocks": lambda X, W: compared(joined(X, W.T) @ joined(X, W.T).T),
    "in blocks, shifted": lambda X, W: compared(joined(X, W.T) @ joined(X, W.T).T, 1),
    "in blocks, transposed": lambda X, W: compared(joined(X, W.T) @ joined(X, W.T).T, -1, True),
    "blocks beside": lambda X, W: not_later(X.shape[0], X.shape[0] + W.shape[1], 1) * (X @ joined(X, W.T).T),
    "counted in blocks": lambda X, W: not_later(*[X.shape[0] + W.shape[1]] * 2) @ joined(X[:, :1], W.T[:, :1]),
    "column and row of blocks": lambda X, W: joined(X[:, :1], W.T[:, :1]) - joined(X[:, :1], W.T[:, :1]).T,
    "a column made flat": lambda X, W: joined(X[:, :1], W.T[:, :1]).reshape(-1).reshape(-1, 1),
    "columns of blocks": lambda X, W: joined(X, W.T)[:, :1],
    "rows up to": lambda X, Y: by_rows(X, lambda i: X[i : i + 1] @ rows_within(X, 0, i + 1).T @ rows_within(Y, 0, i + 1)),
    "rows up to the next": lambda X, Y: by_rows(
        X, lambda i: softmax(X[i : i + 1] @ rows_within(X, 0, i + 2).T) @ rows_within(Y, 0, i + 2)
    ),
    "a window": lambda X, Y, W: by_rows(
        X, lambda i: softmax(X[i : i + 1] @ rows_within(X, i - W.shape[0] + 1, i + 1).T) @ rows_within(Y, i - W.shape[0] + 1, i + 1)
    ),
    "around": lambda X, Y: by_rows(
        X, lambda i: exp(X[i : i + 1] @ rows_within(X, i - 1, i + 2).T / 2) @ rows_within(Y, i - 1, i + 2)
    ),
    "sums of logits": lambda X, Y: by_rows(
        X, lambda i: softmax(X[i : i + 1] @ rows_within(X, 0, i + 1).T * 2 - Y[i : i + 1] @ rows_within(Y, 0, i + 1).T)
        @ rows_within(Y, 0, i + 1),
    ),
    "behind others": lambda X, W: by_rows(
        X, lambda i: softmax(X[i : i + 1] @ joined(W.T, rows_within(X, 0, i + 1)).T) @ joined(W.T, rows_within(X, 0, i + 1))
    ),
    "weights taken from a number": lambda X, Y: by_rows(
        X, lambda i: (1 - softmax(2 - X[i : i + 1] @ rows_within(X, 0, i + 1).T)) @ (X.shape[0] - rows_within(Y, 0, i + 1))
    ),
    "a window added to a number": lambda X, Y: by_rows(
        X, lambda i: (X[i : i + 1] @ Y[i : i + 1].T + X[i : i + 1] @ rows_within(X, i - 1, i + 2).T) @ -rows_within(Y, i - 1, i + 2)
    ),
    "attention of a prefix": lambda X, Y: by_rows(
        X, lambda k: causal(rows_within(X, 0, k + 1), rows_within(Y, 0, k + 1))[k : k + 1]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(EXPRESSIONS))
def test_expression_equals_its_float_value(name: str) -> None:
    found = {seed: disagreement(EXPRESSIONS[name], seed) for seed in range(4)}
    assert all(distance < 1e-9 for distance in found.values()), found


# -- planted mistakes --------------------------------------------------------------------------------------------------


def test_the_wider_of_two_comparisons_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = positions.smaller
    monkeypatch.setattr(positions, "smaller", lambda one, other: other if right(one, other) is one else one)
    assert caught(EXPRESSIONS, disagreement)


def test_a_diagonal_that_is_left_out_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "on_diagonal", lambda made: 0)
    assert caught(EXPRESSIONS, disagreement)


def test_a_first_position_that_is_later_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sums, "_rules", planted("the first position is not later than any", lambda product, slots: _no_terms(product))
    )
    assert caught(EXPRESSIONS, disagreement)


def _no_terms(product: Any) -> list[Any] | None:
    kinds = [made.kind for made, _ in product[1]]
    return [] if "order" in kinds and "unit" in kinds else None


def test_blocks_that_are_not_shifted_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def unshifted(made: Any, row: Any, column: Any, rows: Any, columns: Any) -> Any:
        return positions.not_later(rows, columns, made.parameter)

    monkeypatch.setattr(positions, "at_block", unshifted)
    assert caught(EXPRESSIONS, disagreement)


def test_sums_without_the_mask_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ragged, "_under", lambda every, columns: every)
    assert caught(EXPRESSIONS, disagreement)


def test_a_window_that_ends_a_row_late_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = ragged._before
    monkeypatch.setattr(ragged, "_before", lambda end, size: right(end + 1, size))
    assert caught(EXPRESSIONS, disagreement)


# -- what is not equal, and what has no form ---------------------------------------------------------------------------

n, m, w = size_symbol("n"), size_symbol("m"), size_symbol("w")
X, Y, Z, T = (
    named("X", n, size_symbol("d")),
    named("Y", n, size_symbol("d")),
    named("Z", m, size_symbol("d")),
    named("T", n, n),
)


def earlier(M: Any, more: int) -> Any:
    return by_rows(X, lambda i: softmax(X[i : i + 1] @ rows_within(M, 0, i + more).T) @ rows_within(Y, 0, i + more))


def weighted(weights: Callable[[Any], Any], keys: Callable[[Any], Any] = lambda rows: rows) -> Any:
    """The rows up to each one, weighted by what is made of their products with it."""
    return by_rows(X, lambda i: weights(X[i : i + 1] @ keys(rows_within(X, 0, i + 1)).T) @ rows_within(Y, 0, i + 1))


FALSE: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "another shift": (lambda: not_later(n, n) * T, lambda: not_later(n, n, 1) * T),
    "the transpose": (lambda: not_later(n, n) * T, lambda: not_later(n, n).T * T),
    "all": (lambda: not_later(n, n) * T, lambda: T),
    "none": (lambda: not_later(n, n, -w) * T, lambda: 0 * T),
    "all, if one size is large": (lambda: not_later(n, n, w) * T, lambda: T),
    "counts": (lambda: row_sums(not_later(n, n)), lambda: ones(n, 1)),
    "a square": (lambda: not_later(n, n) @ not_later(n, n), lambda: not_later(n, n)),
    "a window and a half": (lambda: (not_later(n, n) - not_later(n, n, -w)) * T, lambda: not_later(n, n) * T),
    "a row more": (lambda: earlier(X, 1), lambda: earlier(X, 2)),
    "other keys": (lambda: earlier(X, 1), lambda: earlier(Y, 1)),
    "without the mask": (lambda: earlier(X, 1), lambda: softmax(X @ X.T) @ Y),
    "weights from 1": (lambda: weighted(lambda a: 1 - a), lambda: weighted(lambda a: a - 1)),
    "weights from 1, all rows": (
        lambda: weighted(lambda a: 1 - softmax(a)), lambda: ones(n, n) @ Y - weighted(softmax),
    ),
    "weights from 1, later rows": (
        lambda: weighted(lambda a: 1 - softmax(a)), lambda: not_later(n, n).T @ Y - weighted(softmax),
    ),
    "keys from 1": (lambda: weighted(exp, lambda rows: 1 - rows), lambda: weighted(lambda a: exp(1 - a))),
    "keys from a size": (lambda: weighted(softmax, lambda rows: n - rows), lambda: weighted(softmax)),
    "negative logits": (lambda: weighted(lambda a: softmax(1 - a)), lambda: weighted(softmax)),
    "a row from a number": (lambda: by_rows(X, lambda i: (1 - rows_within(X, 0, i + 1))[i : i + 1]), lambda: X - 1),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FALSE))
def test_what_is_not_equal_is_not_proved(name: str) -> None:
    left, right = FALSE[name]
    assert not prove(lambda _: left(), lambda _: right(), dict).proved


REFUSED: dict[str, Callable[[], Any]] = {
    "half a position": lambda: not_later(n, n, n / 2),
    "one row": lambda: not_later(1, n, 0),
    "a decision on an index": lambda: by_rows(X, lambda i: X[: max(i, 1)]),
    "rows that may end before they begin": lambda: by_rows(X, lambda i: rows_within(X, i + w, i + 1)),
    "some rows with all": lambda: by_rows(X, lambda i: X[i : i + 1] @ X.T @ rows_within(Y, 0, i + 1)),
    "some rows with others": lambda: by_rows(
        X, lambda i: X[i : i + 1] @ rows_within(X, 0, i + 1).T @ rows_within(Y, 0, i + 2)
    ),
    "sums of other rows": lambda: by_rows(
        X, lambda i: X[i : i + 1] @ rows_within(X, 0, i + 1).T + X[i : i + 1] @ rows_within(Y, 0, i + 2).T
    ),
    "a row that may not count": lambda: by_rows(X, lambda i: rows_within(X, 0, i)[i : i + 1]),
    "a number of rows": lambda: by_rows(X, lambda i: X[i : i + 1] / rows_within(X, i - 1, i + 1).shape[0]),
    "what is not summed": lambda: by_rows(X, lambda i: rows_within(X, 0, i + 1)),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_has_no_form_is_refused(name: str) -> None:
    with pytest.raises((ArithmeticUnsupported, InputError, TypeError)):
        REFUSED[name]()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda rows: sum(row for row in rows), "a loop over the rows of a matrix with a mask"),
        (lambda rows: X if rows else Y, "a decision on the entries of a matrix with a mask"),
        (lambda rows: X if rows == rows.T.T else Y, "a comparison of the entries of a matrix with a mask"),
    ],
)
def test_what_is_asked_of_rows_that_count_is_named(asked: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(ArithmeticUnsupported, match=said):
        by_rows(X, lambda i: asked(rows_within(X, 0, i + 1)))


def test_shifts_are_compared_only_where_all_sizes_agree() -> None:
    assert is_never_negative(n + 2 * m) and is_never_negative(n * 0)
    assert not any(is_never_negative(shift) for shift in (n - 1, n - m, -n, n - 2 * m + 1))  # a size may be 0
