"""What the page of a claim says of Rocq's kernel: of this very certificate, with what the theorem assumes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from verify.cli import main
from verify.report.proof_texts import assumed_text, kernel_statements, kernel_text
from verify.vocabulary import load

pytestmark = pytest.mark.kept

FOUND = json.loads((Path(__file__).parents[1] / "theorems/kernel.json").read_text(encoding="utf-8"))["claims"]
REGISTRY = load()
CLAIM = "hessian.thm-3.2-qk"


def test_a_theorem_is_described_and_another_certificate_is_not() -> None:
    claim, found = REGISTRY[CLAIM], FOUND[CLAIM]
    text = kernel_text(claim, {"sha256": found["certificate"]})
    assert text.startswith("checked by Rocq's kernel: 1 equation")
    assert f"{found['derivatives']} real derivatives" in text
    assert kernel_text(claim, {"sha256": "another"}) == kernel_text(claim, {"missing": "no rule"}) == ""


def text_of(name: str) -> str:
    return kernel_text(REGISTRY[name], {"sha256": FOUND[name]["certificate"]})


def test_what_is_assumed_is_said_in_formulas_and_where_it_was_tested() -> None:
    text = text_of("transformer.layer-norm-jacobian")
    assert "epsilon is positive; d^(-1) sum_j (X[i,j] - d^(-1) sum_k X[i,k])^2 + epsilon is positive" in text
    assert f"was so at {FOUND['transformer.layer-norm-jacobian']['met']['inputs']} inputs of the claim" in text
    rows = text_of("transformer.masked-rows")
    assert "M has the entries 0 and 1; sum_j M[i,j] exp(T[i,j]) is not 0" in rows
    free = next(name for name, item in FOUND.items() if not item["assumed"] and not item["hypotheses"])
    assert "assumes nothing;" in text_of(free)


def test_no_text_names_functions_by_their_numbers() -> None:
    for name, item in FOUND.items():
        if name in REGISTRY:
            assert not re.search(r"Is(Positive|Nonzero|Invertible)", text_of(name))
            assert bool(item["assumed"]) == ("was so at" in text_of(name) or "more than the claim" in text_of(name))


def test_a_theorem_that_assumes_more_than_the_claim_is_said_to_give_no_grade() -> None:
    text = text_of("convergence.eq-73")
    assert "w_V[j]" in text and "is not 0" in text
    assert "more than the claim assumes (it does not hold at an input" in text and "gives no grade" in text


def test_the_text_of_an_old_file_names_its_conditions() -> None:
    old = {key: value for key, value in FOUND["transformer.masked-rows"].items() if key not in ("assumed", "met")}
    assert "IsNonzero 4" in assumed_text(old) and "0 inputs" in assumed_text(old)


def test_show_and_prove_say_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, own = "transformer.masked-rows", ["--evidence", str(tmp_path)]
    main([*own, "run", name, "--effort", "quick", "--jobs", "1"])
    for command in ("show", "prove"):
        capsys.readouterr()
        main([*own, command, name])
        shown = " ".join(capsys.readouterr().out.split())
        assert "checked by Rocq's kernel: 1 equation" in shown
        assert "sum_j M[i,j] exp(T[i,j]) is not 0" in shown


def test_the_page_shows_theorems_that_read_as_formulas() -> None:
    name = "hessian.lem-B.1"
    shown = kernel_statements(REGISTRY[name], {"sha256": FOUND[name]["certificate"]})
    assert (
        len(shown) == 3
        and "jacobian (fun W_V'1 => vec_r (softmax_rows" in shown[0]
        and "⊗ identity R [:: d_V]" in shown[0]
    )
    assert kernel_statements(REGISTRY[name], {"sha256": "another"}) == []
