"""What the exporter to Rocq finds by itself: each case is written out and accepted, and what is close to it and false is not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.test_rocq import FOLDER, MINUS, changed, claim, entry, needs_rocq, soft, times

sys.path.insert(0, str(FOLDER))

from export import HEADER, exported, written
from theory import coqc

pytestmark = pytest.mark.kept(".", programs=["coqc"])


def step(e: list[Any]) -> list[Any]:
    return ["f", "step", [[[], e]], []]


def less(one: list[Any], other: list[Any]) -> list[Any]:
    return ["+", one, times(MINUS, other)]


def square(e: list[Any]) -> list[Any]:
    return times(e, e)


def root(e: list[Any], p: int = 1) -> list[Any]:
    return ["power", p, 2, e]


def number(value: int) -> list[Any]:
    return ["q", value, 1]


A, B = entry("x", "a"), entry("x", "b")
SQUARES = ["sum", ["k", "n"], square(entry("x", "k"))]
#: A left side, the right side, and one that is false.
CASES = {
    "a step of what is positive": (step(soft("a")), number(1), number(0)),
    "a step of what is negative": (step(times(MINUS, soft("a"))), number(0), number(1)),
    "a step of 0": (step(less(A, A)), number(0), number(1)),
    "a power 0": (times(root(SQUARES), root(SQUARES, -1)), number(1), number(2)),
    "a root of 1": (root(number(1)), number(1), number(2)),
    "a root of a multiple": (root(times(number(2), SQUARES)), times(root(number(2)), root(SQUARES)), root(SQUARES)),
    "a function of a square of a root": (step(less(square(root(SQUARES)), A)), step(less(SQUARES, A)), step(less(A, SQUARES))),
    "a symmetric function": (step(square(less(A, B))), step(square(less(B, A))), step(square(A))),
    "a function on the diagonal": (
        ["sum", ["k", "n"], times(["delta", "a", "k"], step(less(square(A), entry("x", "k"))))],
        step(less(square(A), A)),
        step(square(A)),
    ),
    "a unit vector squared": (square(["unit", 0, "a"]), ["unit", 0, "a"], number(1)),
    "two unit vectors": (times(["unit", 0, "a"], ["unit", 1, "a"]), number(0), ["unit", 0, "a"]),
    "the sum of a unit vector": (["sum", ["k", "n"], ["unit", 0, "k"]], number(1), number(0)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_true_is_written_and_what_is_false_is_not(name: str) -> None:
    left, right, wrong = CASES[name]
    true = claim(left, right)
    assert written(true).text, written(true).reason
    assert not written(changed(true, wrong)).text


def test_a_unit_vector_beyond_a_size_that_is_not_known_has_no_known_sum() -> None:
    """An index of unknown size may have one value alone; of size 2 it has position 1."""
    beyond = claim(["sum", ["k", "n"], ["unit", 1, "k"]], number(1))
    assert not written(beyond).text
    assert written({**beyond, "sizes": {"n": number(2)}}).text
    assert not written({**beyond, "sizes": {"n": number(1)}}).text


def test_functions_that_are_not_symmetric_are_two() -> None:
    assert not written(claim(step(less(A, B)), step(less(B, A)))).text


def test_a_root_of_a_multiple_of_unknown_sign_is_taken_apart_only_where_that_is_assumed() -> None:
    found = exported(claim(*CASES["a root of a multiple"][:2]))
    assert any(what == "IsPositive" for what, _ in found.conditions)
    assert not written(claim(root(times(number(-2), SQUARES)), times(root(number(-2)), root(SQUARES)))).text


@needs_rocq
def test_the_kernel_accepts_all_of_them(compiled_rocq: Path, tmp_path: Path) -> None:
    texts = [
        written({**claim(left, right), "claim": f"case {n}"}).text for n, (left, right, _) in enumerate(CASES.values())
    ]
    sized = {**claim(["sum", ["k", "n"], ["unit", 1, "k"]], number(1)), "sizes": {"n": number(2)}, "claim": "sized"}
    path = tmp_path / "Found.v"
    path.write_text(HEADER + "".join([*texts, written(sized).text]), encoding="utf-8")
    accepted, said = coqc(compiled_rocq, path)
    assert accepted, said
