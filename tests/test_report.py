"""The report: built from evidence alone, valid against its schema, with counterexamples that can be pasted and run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from verify.evidence import Recorder
from verify.registry import Registry, load
from verify.replay import at_inputs, replay
from verify.report import SCHEMA_PATH, Report, as_json, as_markdown, build, restricted
from verify.runner import run_check
from verify.settings import settings_for

CHOSEN = ("skipless.eq-17", "skipless.eq-17-corrected", "skipless.eq-17-moments")
SETTINGS = settings_for("quick")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder: Path = tmp_path_factory.mktemp("evidence")
    registry = Registry(load()[claim_id] for claim_id in CHOSEN)
    recorder = Recorder(folder)
    for claim in registry.values():
        for check in claim.relation.checks(claim, SETTINGS):
            recorder.append(run_check(claim, check, SETTINGS))
    with open(folder / "foreign.jsonl", "w") as file:
        file.write("this is no evidence\n")
    return build(registry, folder)


def test_json_follows_its_schema(report: Report) -> None:
    data = json.loads(json.dumps(as_json(report), allow_nan=False))
    jsonschema.validate(data, json.loads(SCHEMA_PATH.read_text()))
    assert data["summary"] == {"refuted": 1, "holds": 2} and data["complete"] and not data["disagreements"]
    assert data["rejected_evidence"] == ["foreign.jsonl:1: Expecting value: line 1 column 1 (char 0)"]


def test_markdown_shows_the_counterexample_and_its_correction(report: Report) -> None:
    text = as_markdown(report)
    assert "| `skipless.eq-17` | Eq. (17) | **refuted (error)** | exact |" in text
    assert "Correction `skipless.eq-17-corrected` (holds)" in text
    assert "1 lines of evidence were rejected" in text


def test_the_printed_counterexample_runs_as_pasted(report: Report, capsys: pytest.CaptureFixture[str]) -> None:
    code = re.findall(r"```python\n(.*?)```", as_markdown(report), flags=re.DOTALL)[0]
    exec(code, {})
    assert "formula: ['0', '1']" in capsys.readouterr().out


def test_a_restricted_report_keeps_verdicts_that_rest_on_other_claims(report: Report) -> None:
    one = restricted(report, [report.claims["skipless.eq-17-corrected"]])
    assert one.verdicts["skipless.eq-17-corrected"].status == "holds"
    assert [claim["id"] for claim in as_json(one)["claims"]] == ["skipless.eq-17-corrected"]


def test_replay_takes_drawn_parameters_and_inputs() -> None:
    drawn = replay("hessian.lem-C.1-entry", t=[[0.0, 1.0]])
    explicit = at_inputs("hessian.lem-C.1-entry", t=[["0", "2/2"]])
    assert drawn == explicit and drawn["assumptions hold"] is True
    assert drawn["formula"][0][:12] == drawn["oracle"][0][:12]
