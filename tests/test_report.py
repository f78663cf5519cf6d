"""The report: built from evidence alone, valid against its schema, with counterexamples that can be pasted and run."""

from __future__ import annotations

import importlib.metadata
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from tests.made_up_evidence import made_up
from verify import at_inputs, replay
from verify.checks import checks_of
from verify.checks.settings import settings_for
from verify.evidence.runner import run_check
from verify.evidence.store import EvidenceWriter
from verify.evidence.verdicts import Verdict, judge_all
from verify.report import REPORT_SCHEMA, SCHEMA_PATH, Report, as_json, as_markdown, as_summary, build, restricted, write
from verify.report.baseline import Change, changes, read_baseline
from verify.report.history import LOG, LOG_MARKDOWN, Changes, extended, log_markdown, read_log
from verify.report.junit import as_junit
from verify.report.provenance import version_of
from verify.report.weights import stated, weights_of
from verify.report.wording import how_sure
from verify.vocabulary import InputError, Registry, load

pytestmark = pytest.mark.kept(".")

CHOSEN = ("skipless.eq-17", "skipless.eq-17-corrected", "skipless.eq-17-moments")
SETTINGS = settings_for("quick")


@pytest.fixture(scope="module")
def report(of_no_repository: None, tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder: Path = tmp_path_factory.mktemp("evidence")
    registry = Registry(load()[claim_id] for claim_id in CHOSEN)
    recorder = EvidenceWriter(folder)
    for claim in registry.values():
        for check in checks_of(claim, SETTINGS):
            recorder.append(run_check(claim, check, SETTINGS))
    with open(folder / "foreign.jsonl", "w") as file:
        file.write("this is no evidence\n")
    return build(registry, folder)


def test_json_follows_its_schema(report: Report) -> None:
    data = json.loads(json.dumps(as_json(report), allow_nan=False))
    jsonschema.validate(data, json.loads(SCHEMA_PATH.read_text()))
    assert (
        data["summary"] == {"printed": {"refuted (error)": 1}, "own": {"holds": 2}}
        and data["complete"]
        and not data["disagreements"]
    )
    assert data["rejected_evidence"] == ["foreign.jsonl:1: Expecting value: line 1 column 1 (char 0)"]


def test_markdown_shows_the_counterexample_and_its_correction(report: Report) -> None:
    text = as_markdown(report)
    assert (
        "| `skipless.eq-17` | Eq. (17): variance of off-diagonal noise logits | **refuted (error)** | exact |" in text
    )
    assert "Correction `skipless.eq-17-corrected` (holds)" in text
    assert "1 line of evidence was rejected (first: foreign.jsonl, line 1:" in text


def test_what_is_asked_about_each_claim_is_found_once(full_report: Report) -> None:
    """A command that asks it of a thousand claims would go through all records a thousand times."""
    assert full_report.judged is full_report.judged and set(full_report.judged) <= set(full_report.claims)
    assert "as_released" in vars(full_report), "which `judged` has asked for"


def test_a_schema_describes_what_stands_in_the_report(full_report: Report) -> None:
    data = json.loads(json.dumps(as_json(full_report), allow_nan=False))
    jsonschema.validate(data, json.loads(SCHEMA_PATH.read_text()))
    assert data["schema"] == REPORT_SCHEMA == 5
    (paper,) = (paper for paper in data["papers"] if paper["key"] == "dynamics")
    claims = {claim["id"]: claim for claim in data["claims"]}
    assert paper["claims"] == sum(claim["paper"] == "dynamics" for claim in claims.values())
    assert claims["dynamics.prop-4.1"]["weight"] == "core" and claims["dynamics.eq-34"]["weight"] == "step"
    assert "dynamics.prop-4.1" in claims["dynamics.eq-34"]["used_by"]
    assert data["shortfalls"][0]["text"] == "Floating-point checks ran on the CPU only."
    printed = [claim for claim in data["claims"] if not claim["of_project"]]
    assert sum(data["summary"]["printed"].values()) == len(printed), "totals of printed claims count no others"
    assert claims["dynamics.prop-4.1"]["violations"][0]["left"] == "0"
    assert data["provenance"]["libraries"]["torch"] and data["provenance"]["checks"] > 100


def test_junit_has_a_case_per_claim_and_fails_where_evidence_disagrees(full_report: Report) -> None:
    root = ElementTree.fromstring(as_junit(full_report))
    assert root.get("tests") == str(len(full_report.claims)) and root.get("failures") == root.get("skipped") == "0"
    refuted = root.find(".//testcase[@name='dynamics.prop-4.1']")
    assert refuted is not None and refuted.find("failure") is None, "refuted as expected is no failure"
    assert refuted.find("properties/property[@value='refuted (error)']") is not None
    spoiled = [
        replace(record, outcome="violated", message="\x1b[1m bad") for record in full_report.records_of["osa.alg-1"]
    ]
    others = [record for record in full_report.records if record.claim not in ("osa.alg-1", "osa.cost-ssa")]
    records = [*spoiled, *others]
    broken = replace(full_report, records=records, verdicts=judge_all(full_report.claims, records))
    root = ElementTree.fromstring(as_junit(broken))
    assert root.get("failures") == root.get("skipped") == "1"
    assert root.find(".//testcase[@name='osa.alg-1']/failure") is not None
    assert root.find(".//testcase[@name='osa.cost-ssa']/skipped") is not None


def test_the_version_is_that_of_the_distribution_that_brings_a_package() -> None:
    known = importlib.metadata.packages_distributions()
    for package in ("theorems", "torch", "numpy", "yaml", "flint", "xdist", "tests"):
        names = known.get(package, [])
        assert version_of(package) == (importlib.metadata.version(names[0]) if names else None), package


@pytest.mark.parametrize("declared", [True, False])
def test_a_distribution_is_found_with_and_without_a_list_of_its_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declared: bool
) -> None:
    (tmp_path / "brought").mkdir()
    (tmp_path / "brought/__init__.py").touch()
    about = tmp_path / "some_name-1.5.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: some-name\nVersion: 1.5\n")
    if declared:
        (about / "top_level.txt").write_text("brought\n")
    else:
        (about / "RECORD").write_text("brought/__init__.py,,\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert version_of("brought") == "1.5"


def test_a_summary_is_short_and_begins_with_the_gravest(full_report: Report) -> None:
    text = as_summary(full_report, [Change("osa.alg-1", "osa.alg-1: holds -> open", True)])
    assert "| Recurrent Self-Attention Dynamics" in text and "- osa.alg-1: holds -> open" in text
    errata = text.split("gravest first")[1]
    assert errata.index("dynamics.prop-4.1") < errata.index("dynamics.eq-34")
    assert len(text) < 20_000


# -- what changed ------------------------------------------------------------------------------------------------------


def test_nothing_changed_against_itself(full_report: Report) -> None:
    assert changes(full_report, as_json(full_report)) == []


def test_changed_verdicts_come_first_with_both_reasons(full_report: Report) -> None:
    data = as_json(full_report)
    claims = {claim["id"]: claim for claim in data["claims"]}
    claims["osa.alg-1"].update(verdict="open", why="no evidence")
    claims["skipless.eq-17"].update(severity="slip")
    claims["convergence.lemma-11"].update(grade="sampled")
    del claims["dynamics.prop-5.1"]
    claims["osa.gone"] = {**claims["osa.alg-1"], "id": "osa.gone"}
    found = changes(full_report, {**data, "claims": list(claims.values())})
    texts = {change.claim: change.text for change in found}
    assert [change.verdict for change in found] == [True, True, True, False, False]
    assert texts["osa.alg-1"] == "osa.alg-1: open -> holds; before: no evidence; now: upheld by every check"
    assert "refuted (slip) -> refuted (error)" in texts["skipless.eq-17"]
    assert "grade sampled -> all sizes" in texts["convergence.lemma-11"]
    assert texts["dynamics.prop-5.1"] == "dynamics.prop-5.1: new, holds" and "no claim any more" in texts["osa.gone"]


def test_a_first_schemas_report_is_a_baseline_too(full_report: Report, tmp_path: Path) -> None:
    old = {
        "schema": 1,
        "claims": [{"id": "osa.alg-1", "verdict": "holds", "why": "", "grade": "sampled", "severity": None}],
    }
    (tmp_path / "old.json").write_text(json.dumps(old))
    assert not any(change.verdict for change in changes(full_report, read_baseline(tmp_path / "old.json")))


@pytest.mark.parametrize("content", [None, "no JSON", "[]", '{"schema": 1}', '{"schema": 2, "claims": [{"id": "a"}]}'])
def test_what_is_no_report_is_refused_as_a_baseline(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "report.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=r"--baseline: expected a report\.json"):
        read_baseline(path)


# -- when verdicts changed ---------------------------------------------------------------------------------------------


def dated(report: Report, when: str, **changed: str) -> dict[str, Any]:
    """The report as data, as if its evidence had ended at `when` and some verdicts had been others."""
    data = as_json(report)
    claims = [{**item, "verdict": changed.get(item["id"], item["verdict"])} for item in data["claims"]]
    return {
        **data,
        "provenance": {**data["provenance"], "evidence": [when, when], "commit": when[:4]},
        "claims": claims,
    }


def test_the_log_of_changed_verdicts_grows_and_names_each_comparison_once(full_report: Report, tmp_path: Path) -> None:
    assert read_log(tmp_path) == []
    log: list[Changes] = []
    for when in ("2026-01-01T10:00:00Z", "2026-02-01T10:00:00Z", "2026-02-01T10:00:00Z"):
        baseline = dated(full_report, when, **{"osa.alg-1": "open"})
        log = extended(log, full_report, baseline, changes(full_report, baseline))
        write(full_report, tmp_path, log=log)
        assert read_log(tmp_path) == log
    assert [entry.since for entry in log] == ["2026-02-01T10:00:00Z", "2026-01-01T10:00:00Z"]
    assert [claim for claim, _ in log[0].changed] == ["osa.alg-1"] and log[0].since_commit == "2026"
    text = (tmp_path / LOG_MARKDOWN).read_text()
    assert text.count("- osa.alg-1: open -> holds") == 2 and "against 2026-01-01 10:00 UTC" in text


def test_a_baseline_without_a_date_is_said_to_have_none(full_report: Report) -> None:
    old = {"schema": 1, "claims": []}
    (entry,) = extended([], full_report, old, changes(full_report, old))
    assert entry.title.endswith("against a report without a date") and entry.news == len(full_report.claims)
    assert "No verdict changed." in log_markdown([entry])


@pytest.mark.parametrize("content", ["no JSON", "[1]", '[{"since": null}]', '{"a": 1}'])
def test_a_log_that_cannot_be_read_is_not_written_over(tmp_path: Path, content: str) -> None:
    (tmp_path / LOG).write_text(content)
    with pytest.raises(InputError, match=r"changes\.json: expected the log of changed verdicts"):
        read_log(tmp_path)


# -- weights -----------------------------------------------------------------------------------------------------------


def test_weights_come_from_the_package_and_else_from_the_links() -> None:
    claims = load()
    weights = weights_of(claims)
    assert weights["osa.thm-2.1"] == "core"
    assert weights["dynamics.prop-4.1-symmetric"] == "core", "a correction weighs what it corrects"
    own = next(c for c in claims.values() if c.of_project and not c.corrects)
    assert weights[own.id] in ("text", "step")


def test_weights_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "weighed_claims"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "weights.json").write_text('{"a.b": "heavy"}')
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InputError, match=r"weights.json of weighed_claims, a.b: expected one of .*got 'heavy'"):
        stated("weighed_claims")


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


@pytest.mark.parametrize(
    ("claim_id", "words"),
    [
        ("skipless.eq-17-moments", "Proved for all sizes: both sides reduce to one normal form. Besides, "),
        ("convergence.lemma-7", "Proved for all sizes, by a derivation from rules for norms. Besides, "),
        (
            "osa.thm-2.1",
            "Proved for all sizes under the hypothesis that is missing: both sides reduce to one normal form.",
        ),
        ("osa.c2-via-wtilde", "both sides reduce to one normal form; the gap is in what it rests on."),
    ],
)
def test_a_proof_is_called_what_it_is(claim_id: str, words: str) -> None:
    claim = load()[claim_id]
    records = made_up({claim_id: claim})
    assert words in how_sure(claim, Verdict(claim_id, claim.expects, "why"), records)
