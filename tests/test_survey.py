"""The survey of libraries: a sample of it, what it says of a wrong layer and of an absent one, and that its page is whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.efforts import whole_or_part
from tests.part_of_comparisons import in_part
from verify.cli import main
from verify.gate.checking import check
from verify.gate.findings import DEFINITION, LEFT_OUT, SECOND, UNCHECKABLE, UNREACHED
from verify.gate.survey import Surveyed, SurveyRow, examine_layer, layers_of, merged, page, rows_of
from verify.vocabulary import InputError

pytestmark = pytest.mark.kept("docs/survey.md")

PAGE = Path(__file__).resolve().parents[1] / "docs/survey.md"
NORM = "transformer.rms_norm"


@pytest.fixture
def few_checks(pytestconfig):
    """Below effort deep: layers meet the definition, and of comparisons and theorems a part."""
    with in_part(0, pytestconfig):
        yield


def norm(X, gamma, epsilon):
    return X * torch.rsqrt((X * X).mean(-1, keepdim=True) + epsilon) * gamma


def row_of(make, seeds=(0,), **options):
    return examine_layer(Surveyed("torch", "planted", NORM, make, **options), seeds=seeds)


@pytest.mark.long("the first that differentiates imports the compiler of torch")
def test_a_right_layer_satisfies_its_definition_in_every_precision():
    row = row_of(lambda: norm)
    assert not row.deviations and row.theorems >= 3 and row.derivatives == "first, second, forward"
    assert all(row.accuracy(dtype).endswith(" ulps") for dtype in ("float64", "float32", "bfloat16"))


def test_a_wrong_layer_deviates():
    row = row_of(lambda: lambda X, gamma, epsilon: norm(X, gamma, 2 * epsilon), precisions=("float64", "float32"))
    assert row.accuracy("float64") == row.accuracy("float32") == "**deviates**"
    assert (
        "float64: " in row.deviations
        and "; float32: " in row.deviations
        and "deviating from it: 1;" in page([row], "quick")
    )
    known = SurveyRow(
        Surveyed("torch", "planted", NORM, lambda: None, convention="epsilon counts twice."), reports=row.reports
    )
    assert known.accuracy("float64") == "another convention" and not known.deviations
    assert "deviating from it: 0; following another convention: 1." in page(
        [known], "quick"
    ) and "epsilon counts twice." in page([known], "quick")


@pytest.mark.usefixtures("few_checks")
def test_a_layer_that_computes_in_float32_is_judged_in_float32():
    row = row_of(lambda: lambda X, gamma, epsilon: norm(X.float(), gamma.float(), epsilon).to(X.dtype))
    assert row.accuracy("float64") == "computes in float32" and not row.deviations
    wrong = row_of(lambda: lambda X, gamma, epsilon: norm(X.float(), gamma.float(), 2 * epsilon).to(X.dtype))
    assert wrong.accuracy("float32") == "**deviates**" and wrong.deviations


def test_an_adapter_that_fails_is_no_deviation_of_values():
    def raising(X, gamma, epsilon):
        raise ValueError("sizes")

    row = row_of(lambda: raising, precisions=("float32",))
    assert row.accuracy("float32") == "raises" and "ValueError: sizes" in row.deviations


def test_an_absent_library_is_said_to_be_absent():
    def absent():
        raise ModuleNotFoundError("No module named 'absent'")

    row = row_of(absent)
    assert row.accuracy("float64") == "not installed" and not row.reports and not row.deviations
    assert "1 layers at effort quick. Installed: 0." in page([row], "quick")


def test_a_library_that_lacks_another_is_not_said_to_be_absent():
    def lacking():
        raise ModuleNotFoundError("No module named 'vision'\nat all", name="vision")

    assert row_of(lacking).accuracy("float64") == "cannot be imported: No module named 'vision'"


def wrong_at(monkeypatch, *seeds, factor=2):
    """What makes RMSNorm, of which epsilon counts `factor` times while the gate checks it at one of `seeds`."""
    asked = []

    def noted(*args, seed, **options):
        asked.append(seed)
        return check(*args, seed=seed, **options)

    monkeypatch.setattr("verify.gate.survey.check", noted)
    return lambda: lambda X, gamma, epsilon: norm(X, gamma, (factor if asked[-1] in seeds else 1) * epsilon)


@pytest.mark.usefixtures("few_checks")
def test_a_deviation_at_one_seed_is_one_and_says_at_which(monkeypatch):
    row = row_of(wrong_at(monkeypatch, 2), seeds=range(4), precisions=("float32",))
    assert row.accuracy("float32") == "**deviates**" and not row.theorems and not row.derivatives
    assert row.deviations.startswith("float32 at seed 2: ")
    text = page([row], "quick")
    assert "deviating from it: 1;" in text and "checked at the seeds 0 to 3:" in text
    assert text.split("\n| torch | ")[1].split("\n")[0].endswith("| 0 to 3 |")
    right = row_of(wrong_at(monkeypatch, 7), seeds=range(2), precisions=("float32",))
    assert not right.deviations and right.accuracy("float32").endswith(" ulps")


def test_a_row_says_what_holds_at_all_its_seeds():
    each = [row_of(lambda: norm, seeds=[seed], precisions=("float32",)) for seed in (0, 1, 4)]
    row = row_of(lambda: norm, seeds=(0, 1, 4), precisions=("float32",))
    errors = [float(one.accuracy("float32").removesuffix(" ulps")) for one in each]
    assert len(set(errors)) > 1 and row.accuracy("float32") == f"{max(errors):.2g} ulps"
    assert row.theorems == each[0].theorems and row.seeds == "0, 1, 4"
    found = row.reports["float32"][1]
    lost = next(finding for finding in found.findings if finding.check == found.satisfied[-1])
    lost.status = UNREACHED
    next(finding for finding in found.findings if finding.check == SECOND).status = LEFT_OUT
    assert row.theorems == each[0].theorems - 1 and row.derivatives == "first, forward; no second"
    next(finding for finding in found.findings if finding.check == DEFINITION).status = UNCHECKABLE
    assert row.accuracy("float32") == "not checkable"


def test_a_seed_is_no_negative_number():
    with pytest.raises(InputError, match="seed: expected an integer >= 0"):
        row_of(lambda: norm, seeds=[-1])


@pytest.mark.usefixtures("few_checks")
def test_rows_of_other_seeds_are_told_apart():
    rows = [row_of(lambda: norm, seeds=seeds, precisions=("float32",)) for seeds in ([0], [1])]
    assert "Each layer was checked at the seeds that its row names" in page(rows, "quick")


@pytest.mark.parametrize(
    ("name", "precision"), [("torch: RMSNorm", "float64"), ("torch: scaled_dot_product_attention, flash", "float32")]
)
def test_a_sample_of_the_survey(name, precision, pytestconfig):
    layer = layers_of("theorems", name)[-1]
    row = examine_layer(replace(layer, precisions=whole_or_part(pytestconfig, layer.precisions, (precision,))))
    assert not row.deviations and row.theorems and row.accuracy(precision).endswith(" ulps")


@pytest.mark.long("the first imports transformers")
@pytest.mark.parametrize(
    "name", ["T5Attention, eager", "GPTNeoXAttention, sdpa", "BloomAttention, eager", "Qwen2Attention, sdpa"]
)
@pytest.mark.usefixtures("few_checks")
def test_layers_of_transformers_are_made_as_they_are_used(name):
    pytest.importorskip("transformers")
    layer = layers_of("theorems", f"transformers: {name}")[0]
    row = examine_layer(replace(layer, precisions=("float32",)))
    assert not row.deviations and row.accuracy("float32").endswith(" ulps")


def test_unknown_layers_are_refused():
    with pytest.raises(InputError, match="layers: expected a glob that matches one of"):
        layers_of("theorems", "nothing: *")


@pytest.mark.long("the first that differentiates imports the compiler of torch")
@pytest.mark.usefixtures("few_checks")
def test_the_command_writes_the_page_and_keeps_rows_of_layers_that_it_does_not_check_again(
    tmp_path, monkeypatch, capsys
):
    layers_of()  # the collection's own are declared; in their place:
    planted = [Surveyed("torch", name, NORM, lambda: norm, precisions=("float32",)) for name in ("first", "second")]
    monkeypatch.setattr("verify.gate.survey._layers", planted)
    output = tmp_path / "survey.md"

    def page_after(*arguments):
        assert main(["survey", *arguments, "--output", str(output)]) == 0
        return capsys.readouterr().err, output.read_text(encoding="utf-8").splitlines()

    told, before = page_after("--seeds", "1:2")
    assert f"[4/4] torch: second, as {NORM}, seed 2" in told
    rows = [
        next(line for line in before if line.startswith(f"| torch | {layer.layer} | `{NORM}` |")) for layer in planted
    ]
    assert any("was checked at the seeds 1 to 2:" in line for line in before)
    told, after = page_after("torch: first")
    assert f"[1/1] torch: first, as {NORM}, seed 0" in told
    assert rows[1] in after and rows[0] not in after
    counted = [next(line for line in page if "Installed: " in line) for page in (before, after)]
    assert len({line.partition(" A layer that")[0] for line in counted}) == 1  # the seeds of one row are others now
    assert "at the seeds that its row names" in counted[1]


def test_a_deviation_is_the_exit_status_of_the_command(monkeypatch, capsys):
    layers_of()
    wrong = lambda X, gamma, epsilon: norm(X, gamma, 2 * epsilon)  # noqa: E731
    monkeypatch.setattr(
        "verify.gate.survey._layers", [Surveyed("torch", "wrong", NORM, lambda: wrong, precisions=("float32",))]
    )
    assert main(["survey"]) == 1 and "**deviates**" in capsys.readouterr().out


def test_seeds_that_are_none_are_named(capsys):
    assert main(["survey", "torch: RMSNorm", "--seeds", "2:1"]) == 2
    assert "--seeds: expected a seed, or two as FIRST:LAST" in capsys.readouterr().err


def test_the_page_has_every_layer():
    text = PAGE.read_text(encoding="utf-8")
    for layer in layers_of():
        assert f"| {layer.library} | {layer.layer} | `{layer.subject}` |" in text
    assert f"checks {len(layers_of())} layers" in text


def test_rows_and_deviations_of_the_page_are_read_and_written_again_as_they_are():
    before = PAGE.read_text(encoding="utf-8")
    after = page(rows_of(before, layers_of()), "quick").splitlines()
    kept = [line for line in before.splitlines() if line.startswith(("| ", "- "))]
    assert len(kept) > len(layers_of()) and [line for line in kept if line not in after] == []
    counted = [next(line for line in page if "Installed: " in line) for page in (before.splitlines(), after)]
    assert counted[0] == counted[1]


def test_a_kept_deviation_is_still_one():
    wrong = lambda X, gamma, epsilon: norm(X, gamma, 2 * epsilon)  # noqa: E731
    planted = [
        Surveyed("torch", "planted", NORM, lambda: wrong, note="Epsilon is the one that is given."),
        Surveyed("torch", "planted", "transformer.layer_norm", lambda: lambda X, *rest: X),
    ]
    text = page([examine_layer(each) for each in planted], "quick")
    rows = rows_of(text, planted)
    assert all(row.deviations for row in rows) and rows[0].deviations != rows[1].deviations
    assert page(rows, "quick") == text


@pytest.mark.usefixtures("few_checks")
def test_a_kept_row_keeps_its_version_and_its_seeds():
    layers = [Surveyed("torch", name, NORM, lambda: norm, precisions=("float32",)) for name in ("old", "new")]
    older = examine_layer(layers[0], seeds=(3,))
    older.version = "1.0"
    (kept,) = rows_of(page([older], "quick"), layers)
    text = page([kept, examine_layer(layers[1])], "quick")
    assert [(row.version, row.seeds) for row in rows_of(text, layers)] == [("1.0", "3"), (torch.__version__, "0")]


@pytest.mark.usefixtures("few_checks")
def test_a_page_says_beside_which_torch_each_layer_was_checked():
    layers = [Surveyed("torch", name, NORM, lambda: norm, precisions=("float32",)) for name in ("one", "other")]
    own, elsewhere = map(examine_layer, layers)
    elsewhere.torch = "9.1"
    text = page([own, elsewhere], "quick")
    assert f"torch {torch.__version__}, torch 9.1;" in text
    assert [row.torch for row in rows_of(text, layers)] == [torch.__version__, "9.1"]
    assert page(rows_of(text, layers), "quick") == text


@pytest.mark.usefixtures("few_checks")
def test_a_row_of_another_environment_is_not_lost_where_its_library_cannot_be_imported():
    def absent():
        raise ModuleNotFoundError("No module named 'vision'", name="vision")

    layers = [
        Surveyed("torch", name, NORM, make, precisions=("float32",))
        for name, make in (("elsewhere", lambda: norm), ("nowhere", absent), ("new", lambda: norm))
    ]
    checked = examine_layer(layers[0], seeds=(3,))
    checked.torch = "9.1"
    text = page([checked, examine_layer(layers[1])], "quick")
    here = [
        examine_layer(Surveyed(**{**layers[0].__dict__, "make": absent})),
        examine_layer(layers[1]),
        examine_layer(layers[2]),
    ]
    rows = merged(text, layers, here)
    assert [(row.torch, row.seeds) for row in rows] == [("9.1", "3"), ("", ""), (torch.__version__, "0")]
    assert rows[1].absent and "Installed: 2." in page(rows, "quick")
    again = merged(text, layers, [examine_layer(layers[0], seeds=(4,))])
    assert [(row.torch, row.seeds) for row in again] == [(torch.__version__, "4"), ("", "")]
