"""Evidence files: appended, merged, torn, foreign, stale."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from verify.checks.record import SCHEMA, Record
from verify.evidence.store import Recorder, current, latest, read


def record(claim: str = "toy.a", check: str = "enclosed", **values: object) -> Record:
    return Record(claim=claim, check=check, arithmetic="ball", outcome="upheld", fingerprint="f", **values)  # type: ignore[arg-type]


def test_records_survive_the_round_trip_with_infinities(tmp_path: Path) -> None:
    sent = record(worst_residual=math.inf, separation=1e90, mutants={"m": {"residual": math.inf, "killed": True}})
    Recorder(tmp_path).append(sent)
    (got,), rejected = read(tmp_path)
    assert not rejected
    assert got == sent


def test_runs_and_processes_are_merged_oldest_first(tmp_path: Path) -> None:
    first, second = Recorder(tmp_path, "b"), Recorder(tmp_path, "a")
    first.append(record(check="one"))
    second.append(record(check="two"))
    first.append(record(check="three"))
    assert [r.check for r in read(tmp_path)[0]] == ["one", "two", "three"]


def test_a_torn_last_line_costs_only_itself(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.append(record(check="one"))
    recorder.append(record(check="two"))
    text = recorder.path.read_text()
    recorder.path.write_text(text[: len(text) - 20])
    records, rejected = read(tmp_path)
    assert [r.check for r in records] == ["one"]
    assert [(item.path, item.line) for item in rejected] == [(recorder.path, 2)]


def test_foreign_lines_are_rejected_with_their_number(tmp_path: Path) -> None:
    good = json.dumps({**record().__dict__})
    foreign = [
        '{"hello": 1}',
        "not json",
        json.dumps({**record().__dict__, "schema": SCHEMA + 1}),
        json.dumps({**record().__dict__, "opinion": "yes"}),
        json.dumps({**record().__dict__, "mutants": {"m": {}}}),
        "[1, 2]",
    ]
    (tmp_path / "mixed.jsonl").write_text("\n".join([good, *foreign, good]) + "\n")
    records, rejected = read(tmp_path)
    assert len(records) == 2
    assert [item.line for item in rejected] == [2, 3, 4, 5, 6, 7]


def test_a_record_without_its_claim_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "foreign.jsonl").write_text(json.dumps({"schema": SCHEMA, "check": "exact"}) + "\n")
    assert read(tmp_path)[1][0].reason == "missing fields ['claim', 'arithmetic', 'outcome', 'fingerprint']"


def test_evidence_about_other_code_is_stale() -> None:
    assert (
        current([record()], {"toy.a": "f"}) and not current([record()], {"toy.a": "g"}) and not current([record()], {})
    )


def test_the_newest_record_of_each_check_and_device_counts() -> None:
    records = [record(satisfied=1), record(satisfied=2), record(satisfied=3, device="cuda")]
    assert [r.satisfied for r in latest(records)] == [2, 3]


def test_an_absent_folder_is_no_evidence(tmp_path: Path) -> None:
    assert read(tmp_path / "nowhere") == ([], [])


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"claim": 3}, "claim: expected str; got int"),
        ({"satisfied": "many"}, "satisfied: expected int; got str"),
        ({"outcome": "fine"}, "outcome: expected one of"),
        ({"worst_residual": [1]}, "worst_residual: expected a number; got list"),
        ({"worst_residual": "small"}, "could not convert string to float"),
        ({"mutants": {"m": {"residual": 1.0}}}, "killed is missing"),
        ({"mutants": {"m": {"residual": 1.0, "killed": "yes"}}}, "killed of mutant 'm': expected bool; got str"),
        ({"domains": {"generic": None}}, "domain 'generic': expected int; got NoneType"),
        ({"details": []}, "details: expected dict; got list"),
        ({"details": {"certificates": [{}]}}, "title is missing"),
        ({"duration": None}, "duration: expected a number; got NoneType"),
    ],
)
def test_records_of_the_wrong_shape_are_rejected_with_the_reason(
    tmp_path: Path, values: dict[str, object], reason: str
) -> None:
    good = json.dumps(record().__dict__)
    (tmp_path / "mixed.jsonl").write_text(f"{good}\n{json.dumps({**record().__dict__, **values})}\n{good}\n")
    records, (rejected,) = read(tmp_path)
    assert len(records) == 2 and rejected.line == 2
    assert reason in rejected.reason
