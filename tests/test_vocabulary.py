"""docs/vocabulary.md: each word has one meaning, and what it names exists."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import flint
import numpy as np
import pytest
import sympy

from verify.arithmetics import Jet, Kind, Number, kind_of
from verify.arithmetics.symbols.sums import fresh
from verify.gate import batch_places
from verify.matrix import eye, rational, vec_c, vec_r

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "vocabulary.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([^|]+) \| ([^|]+) \| `(verify\.[\w.]+)` \|$", PAGE, re.M)


def found(name: str) -> object:
    """What a dotted name stands for; raises where there is no such thing."""
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def test_every_row_is_read() -> None:
    assert len(ROWS) == len(re.findall(r"^\| .* \|$", PAGE, re.M)) - PAGE.count("| word |") > 40


def test_each_word_stands_once_and_each_thing_has_one_word() -> None:
    words, things = [word for word, _, _ in ROWS], [name for _, _, name in ROWS]
    assert len(set(words)) == len(words) and len(set(things)) == len(things)


@pytest.mark.parametrize(("word", "name"), [(word, name) for word, _, name in ROWS])
def test_what_a_word_names_is_defined_where_the_page_says(word: str, name: str) -> None:
    thing = found(name)
    if isinstance(thing, type) or callable(thing):
        assert thing.__module__ == name.rpartition(".")[0], word


def test_a_word_that_names_nothing_is_found() -> None:
    with pytest.raises(AttributeError):
        found("verify.report.errata.Witness")


def test_paths_and_other_names_of_the_page_exist() -> None:
    paths = re.findall(r"`(verify/[\w/]+\.py)`", PAGE)
    assert len(paths) == 4 and all((ROOT / path).is_file() for path in paths)
    assert callable(found("verify.gate.measure.allowed")) and found("verify.checks.bound_proofs.AGREEMENT")


def test_the_arithmetic_is_chosen_as_the_page_says() -> None:
    class Own(Number):
        pass

    order = [flint.fmpq(1, 2), Own(), sympy.Symbol("x"), flint.arb(1)]
    kinds = [Kind.EXACT, Kind.ADDED, Kind.SYMBOLIC, Kind.BALL]
    for place, kind in enumerate(kinds):
        assert kind_of(*order[: place + 1]) is kind_of(np.array(order[: place + 1], dtype=object)) is kind
    assert list(Kind) == [Kind.EXACT, Kind.POLYNOMIAL, Kind.ADDED, Kind.SYMBOLIC, Kind.BALL, Kind.FLOAT]
    assert kind_of(Jet(flint.arb(1), None, None)) is Kind.BALL and kind_of(eye(2), rational(1, 2)) is Kind.EXACT


def test_places_are_numbered_as_the_page_says() -> None:
    A = np.arange(6).reshape(2, 3).astype(object)
    assert all(vec_r(A)[i * 3 + j, 0] == vec_c(A)[j * 2 + i, 0] == A[i, j] for i in range(2) for j in range(3))
    assert fresh() >= 1_000_000
    (lengths, first), *others = batch_places.places(2)
    assert first == tuple(length - 1 for length in lengths) and lengths == batch_places.LENGTHS[0]
    assert len(set(others)) == len(others) == sum(a * b for a, b in set(batch_places.LENGTHS)) - 1
