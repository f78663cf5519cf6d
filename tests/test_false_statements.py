"""Nothing false is proved: a fixed sample of the fuzzer's statements, and defects of the provers that it finds."""

from __future__ import annotations

import gc
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.efforts import whole_or_part
from tests.fuzzing import counterexamples
from tests.fuzzing.breaking import WAYS, Scope, broken
from tests.fuzzing.campaign import Tally, TooLong, at_most, campaign, described, tried
from tests.fuzzing.counterexamples import certain, large_examples, refuted, sides_at
from tests.fuzzing.formulas import Maker
from tests.fuzzing.planting import DEFECTS, Defect
from tests.fuzzing.statements import made_up, stated, statement
from tests.fuzzing.written import parsed, written
from theorems.norms import products
from verify.vocabulary import Real, Shape, load

pytestmark = pytest.mark.kept

#: How many statements of each source are tried here, of seed 0: half of these at effort ci; `make fuzz` tries thousands.
SAMPLE = {"identity": 40, "bound": 14, "law": 50, "inequality": 30, "formula": 12}


@pytest.mark.long("the first statement imports torch's compiler, at its first derivative")
@pytest.mark.parametrize("source", SAMPLE)
def test_what_numbers_refute_is_not_proved(source: str, pytestconfig: pytest.Config) -> None:
    tally, sample = Tally(), whole_or_part(pytestconfig, SAMPLE[source], SAMPLE[source] // 2)
    for number in range(sample):
        tally.add(tried(0, number, source))
    assert not tally.failures, "\n\n".join(map(described, tally.failures))
    # a fuzzer whose statements are all true, or are all refused, says nothing
    assert tally.counts["refuted by numbers"] >= sample // 6
    assert tally.counts["proved"] >= 1


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_a_planted_defect_is_found(defect: Defect) -> None:
    assert tried(0, defect.number, defect.source).failure is None
    with defect.planted():
        failure = tried(0, defect.number, defect.source).failure
    assert failure is not None
    assert tried(0, defect.number, defect.source).failure is None


def test_what_a_size_costs_is_not_hidden_by_moments_that_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each size is evaluated in full, so that sizes end where one takes long: exact moments at d = 12 take over 20 GB."""
    claim = load()["skipless.eq-20-corrected"]
    monkeypatch.setattr(counterexamples, "LARGE", (5, 6))

    def sizes_tried() -> list[int]:
        return [example.sizes["d"] for example in large_examples(claim) if sides_at(claim, claim, example) is not None]

    assert sizes_tried() == sizes_tried() == [5]
    monkeypatch.setattr(counterexamples, "forget_moments", lambda: None)
    assert sizes_tried() == [5, 6]


def test_a_statement_is_that_of_its_seed_and_number() -> None:
    for source in SAMPLE:
        one, other = statement(3, 5, source), statement(3, 5, source)
        assert one is not None and other is not None
        assert (one.text, one.breaking) == (other.text, other.breaking)
    texts = {made.text for number in range(12) if (made := statement(3, number)) is not None}
    assert len(texts) == 12


@pytest.mark.parametrize(
    ("left", "right", "bound"),
    [
        ("X @ X.T", "2 * X @ X.T", False),
        ("F(X)", "N(X)", True),
        ("absolute(F(X @ G) - F(X) * N(G))", "F(X) * N(G) / 2", True),
        ("1 - absolute(X[0, 0])", "1 - F(X)", True),
        ("1 - 1 / (1 + X.shape[1] ** 6 * F(X) / 10 ** 13)", "F(X) / 100", True),
        ("2 * X if X.shape[1] % 6 == 0 else X", "X", False),
        ("row_sums(X)", "row_sums(X).T", False),
        ("maximum(column(F(X) - rational(1, 10 ** 9), F(G)))", "F(X) + F(G) - rational(1, 10 ** 9)", True),
    ],
)
def test_numbers_refute_what_is_false(left: str, right: str, bound: bool) -> None:
    """Some of these are false only at sizes in the hundreds, at zero, or by their shape."""
    m = Maker(np.random.default_rng(0), ["X", "G"])
    made = stated(m, "test", "none", (left, right), (left, right), bound, from_the_truth=False)
    assert made is not None
    found = refuted(made, 0) or refuted(made, 1)
    assert found is not None
    assert certain(made, found) or max(found.example.sizes.values()) > 12 or found.by == "of different shapes"


@pytest.mark.parametrize(
    ("left", "right", "bound"),
    [
        ("X @ G", "(G.T @ X.T).T", False),
        ("F(X @ G)", "F(X) * N(G)", True),
        ("inverse(G) @ G", "eye(G.shape[0])", False),
    ],
)
def test_numbers_refute_nothing_true(left: str, right: str, bound: bool) -> None:
    m = Maker(np.random.default_rng(0), ["X", "G"])
    made = stated(m, "test", "none", (left, right), (left, right), bound, from_the_truth=False)
    assert made is not None
    found = refuted(made, 0) or refuted(made, 1)
    assert found is None or not certain(made, found)


@pytest.mark.parametrize("name", WAYS)
def test_every_way_of_breaking_applies_somewhere(name: str) -> None:
    formula = parsed(
        "lambda X, Y, c: -sqrt(2) * softmax(X[:1] @ Y.T) ** 2 + frobenius_norm(X[i:i + 1] - Y) * X.shape[0] * c"
    )
    scope = Scope({"X": Shape("n", "d"), "Y": Shape("n", "d"), "c": Real()}, np.random.default_rng(1))
    found = broken(formula, scope, name)
    assert found is not None
    assert found[1].text != formula.text
    assert found[0].startswith(name)


def test_functions_are_read_from_their_source() -> None:
    """Also one of several lambdas on a line, and a formula below a decorator."""
    one, other = (lambda A: A.T), (lambda A: A + A)
    assert written(one).text == "lambda A: A.T"
    assert written(other).text == "lambda A: A + A"
    formula = written(products.SPECTRAL_FROBENIUS.the_formula)
    assert formula.text.startswith("def other_norms(A):")
    assert formula.parameters == ["A"]


def test_made_up_inputs_have_the_properties_that_are_assumed() -> None:
    import torch

    m = Maker(np.random.default_rng(0), ["X", "S", "K", "U", "P", "Q"])
    claim = made_up(m, "X", "X", bound=False)
    sizes = {"n": 4, "d": 3}
    raw = {
        name: sizes[name] if name in sizes else torch.randn(spec.resolve(sizes), dtype=torch.float64)
        for name, spec in claim.parameters.items()
    }
    made = claim.prepare(raw)
    S, K, U, P, Q = (made[name] for name in "SKUPQ")
    for zero in (S - S.T, K + K.T, (U * U).sum(1) - 1, P @ P - P, Q.T @ Q - torch.eye(3)):
        assert float(zero.abs().max()) < 1e-9
    assert float((P - P.T).abs().max()) > 1e-3  # idempotent and nothing more


class Slow:
    """An object whose finalizer takes longer than the limit."""

    def __del__(self) -> None:
        busy(0.15)


def busy(seconds: float) -> None:
    """Use so much processor time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_a_limit_that_passes_in_a_callback_or_a_finalizer_is_not_lost() -> None:
    """What is raised there is printed and ignored; the block would go on without any limit."""

    def callback(phase: str, info: dict[str, int]) -> None:
        busy(0.15)

    gc.callbacks.append(callback)
    try:
        with pytest.raises(TooLong), at_most(0.05):
            for _ in range(4):
                loop: list[Any] = [[] for _ in range(10_000)]
                loop.append(loop)
            del loop
            Slow()
            busy(5.0)
    finally:
        gc.callbacks.remove(callback)
    assert gc.isenabled()


def test_a_campaign_is_kept_as_data(tmp_path: Path) -> None:
    found = campaign(6, 1, jobs=1, target=tmp_path / "new" / "fuzzing.json", source="inequality")
    data = json.loads((tmp_path / "new" / "fuzzing.json").read_text())
    assert data["tried"] == data["counts"]["offered"] == found.counts["offered"] == 6
    assert set(data["by source"]) == {"made-up inequality"}
