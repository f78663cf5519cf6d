"""What the page of a claim says of Rocq's kernel: of this very certificate, with what the theorem assumes."""

from __future__ import annotations

import json
from pathlib import Path

from verify.report.proofs import kernel_text
from verify.vocabulary import load

FOUND = json.loads((Path(__file__).parents[1] / "theorems/kernel.json").read_text(encoding="utf-8"))["claims"]
CLAIM = "hessian.thm-3.2-qk"


def test_a_theorem_is_described_and_another_certificate_is_not() -> None:
    claim, found = load()[CLAIM], FOUND[CLAIM]
    text = kernel_text(claim, {"sha256": found["certificate"]})
    assert text.startswith("checked by Rocq's kernel: 1 equation")
    assert f"{found['derivatives']} real derivatives" in text
    assert kernel_text(claim, {"sha256": "another"}) == kernel_text(claim, {"missing": "no rule"}) == ""


def test_hypotheses_and_conditions_are_named() -> None:
    texts = {
        name: kernel_text(load()[name], {"sha256": item["certificate"]})
        for name, item in FOUND.items()
        if name in load()
    }
    some = next(name for name, item in FOUND.items() if any("IsPositive" in each for each in item["conditions"]))
    assert "of a function or power" in texts[some] and "positive" in texts[some]
    free = next(name for name, item in FOUND.items() if not item["conditions"] and not item["hypotheses"])
    assert "assumes nothing" in texts[free]
