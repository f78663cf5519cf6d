"""The survey of libraries: a sample of it, what it says of a wrong layer and of an absent one, and that its page is whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from verify.gate.survey import Surveyed, SurveyRow, examine_layer, layers_of, page, rows_of
from verify.vocabulary import InputError

pytestmark = pytest.mark.kept(".")

PAGE = Path(__file__).resolve().parents[1] / "docs/survey.md"
NORM = "transformer.rms_norm"


def norm(X, gamma, epsilon):
    return X * torch.rsqrt((X * X).mean(-1, keepdim=True) + epsilon) * gamma


def row_of(make, **options):
    return examine_layer(Surveyed("torch", "planted", NORM, make, **options))


def test_a_right_layer_satisfies_its_definition_in_every_precision():
    row = row_of(lambda: norm)
    assert not row.deviations and row.theorems >= 3 and row.derivatives == "first, second, forward"
    assert all(row.accuracy(dtype).endswith(" ulps") for dtype in ("float64", "float32", "bfloat16"))


def test_a_wrong_layer_deviates():
    row = row_of(lambda: lambda X, gamma, epsilon: norm(X, gamma, 2 * epsilon), precisions=("float64", "float32"))
    assert row.accuracy("float64") == row.accuracy("float32") == "**deviates**"
    assert len(row.deviations) == 2 and "deviating from it: 1;" in page([row], "quick")
    known = SurveyRow(
        Surveyed("torch", "planted", NORM, lambda: None, convention="epsilon counts twice."), reports=row.reports
    )
    assert known.accuracy("float64") == "another convention" and not known.deviations
    assert "deviating from it: 0; following another convention: 1." in page(
        [known], "quick"
    ) and "epsilon counts twice." in page([known], "quick")


def test_a_layer_that_computes_in_float32_is_judged_in_float32():
    row = row_of(lambda: lambda X, gamma, epsilon: norm(X.float(), gamma.float(), epsilon).to(X.dtype))
    assert row.accuracy("float64") == "computes in float32" and not row.deviations
    wrong = row_of(lambda: lambda X, gamma, epsilon: norm(X.float(), gamma.float(), 2 * epsilon).to(X.dtype))
    assert wrong.accuracy("float32") == "**deviates**" and wrong.deviations


def test_an_adapter_that_fails_is_no_deviation_of_values():
    def raising(X, gamma, epsilon):
        raise ValueError("sizes")

    row = row_of(lambda: raising, precisions=("float32",))
    assert row.accuracy("float32") == "raises" and "ValueError: sizes" in row.deviations[0]


def test_an_absent_library_is_said_to_be_absent():
    def absent():
        raise ModuleNotFoundError("No module named 'absent'")

    row = row_of(absent)
    assert row.accuracy("float64") == "not installed" and not row.reports and not row.deviations
    assert "1 layers at effort quick. Installed: 0." in page([row], "quick")


@pytest.mark.parametrize("name", ["torch: RMSNorm", "torch: scaled_dot_product_attention, flash"])
def test_a_sample_of_the_survey(name):
    row = examine_layer(layers_of("theorems", name)[-1])
    assert not row.deviations and row.theorems


@pytest.mark.parametrize(
    "name", ["T5Attention, eager", "GPTNeoXAttention, sdpa", "BloomAttention, eager", "Qwen2Attention, sdpa"]
)
def test_layers_of_transformers_are_made_as_they_are_used(name):
    pytest.importorskip("transformers")
    layer = layers_of("theorems", f"transformers: {name}")[0]
    row = examine_layer(Surveyed(**{**layer.__dict__, "precisions": ("float32",)}))
    assert not row.deviations and row.accuracy("float32").endswith(" ulps")


def test_unknown_layers_are_refused():
    with pytest.raises(InputError, match="layers: expected a glob that matches one of"):
        layers_of("theorems", "nothing: *")


def test_the_command_writes_the_page(tmp_path):
    output = tmp_path / "survey.md"
    command = [sys.executable, "-m", "verify", "survey", "torch: RMSNorm", "--output", str(output)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0 and "[1/1] torch: RMSNorm" in run.stderr
    assert f"| torch | RMSNorm | `{NORM}` |" in output.read_text(encoding="utf-8")


def test_the_page_has_every_layer():
    text = PAGE.read_text(encoding="utf-8")
    for layer in layers_of():
        assert f"| {layer.library} | {layer.layer} | `{layer.subject}` |" in text
    assert f"checks {len(layers_of())} layers" in text


def test_rows_of_layers_that_are_not_checked_again_are_kept(tmp_path):
    output = tmp_path / "survey.md"
    output.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    command = [sys.executable, "-m", "verify", "survey", "torch: RMSNorm", "--output", str(output)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    before, after = PAGE.read_text(encoding="utf-8").splitlines(), output.read_text(encoding="utf-8").splitlines()
    kept = [line for line in before if line.startswith(("| ", "- ")) and not line.startswith("| torch | RMSNorm")]
    assert [line for line in kept if line not in after] == []
    assert next(line for line in before if "Installed: " in line) == next(
        line for line in after if "Installed: " in line
    )


def test_a_kept_deviation_is_still_one():
    planted = Surveyed("torch", "planted", NORM, lambda: lambda X, gamma, epsilon: norm(X, gamma, 2 * epsilon))
    text = page([examine_layer(planted)], "quick")
    (row,) = rows_of(text, [planted])
    assert row.deviations and page([row], "quick") == text
