"""Evidence files: appended, merged, torn, foreign, stale."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest

from verify.checks.record import CERTIFIED, ERROR, SCHEMA, UNCERTIFIED, UPHELD, VIOLATED, Record
from verify.evidence.store import EvidenceWriter, current, in_force, read
from verify.vocabulary import InputError

pytestmark = pytest.mark.kept


def record(claim: str = "toy.a", check: str = "enclosed", **values: object) -> Record:
    given = {"outcome": UPHELD, **values}
    return Record(claim=claim, check=check, arithmetic="ball", fingerprint="f", **given)  # type: ignore[arg-type]


def test_records_survive_the_round_trip_with_infinities(tmp_path: Path) -> None:
    sent = record(worst_residual=math.inf, separation=1e90, mutants={"m": {"residual": math.inf, "killed": True}})
    EvidenceWriter(tmp_path).append(sent)
    (got,), rejected = read(tmp_path)
    assert not rejected
    assert got == sent


def test_runs_and_processes_are_merged_oldest_first(tmp_path: Path) -> None:
    first, second = EvidenceWriter(tmp_path, "b"), EvidenceWriter(tmp_path, "a")
    first.append(record(check="one"))
    second.append(record(check="two"))
    first.append(record(check="three"))
    assert [r.check for r in read(tmp_path)[0]] == ["one", "two", "three"]


def test_a_torn_last_line_costs_only_itself(tmp_path: Path) -> None:
    recorder = EvidenceWriter(tmp_path)
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
    assert [r.satisfied for r in in_force(records)] == [2, 3]


@pytest.mark.parametrize(
    ("before", "after", "counts"),
    [
        ({"outcome": VIOLATED, "effort": "quick"}, {"outcome": UPHELD, "effort": "deep"}, "before"),
        ({"outcome": VIOLATED, "effort": "ci", "seed": 7}, {"outcome": UPHELD, "effort": "ci", "seed": 0}, "before"),
        ({"outcome": VIOLATED}, {"outcome": ERROR}, "before"),
        ({"outcome": CERTIFIED}, {"outcome": UNCERTIFIED}, "before"),
        ({"outcome": UPHELD, "effort": "deep"}, {"outcome": VIOLATED, "effort": "quick"}, "after"),
        ({"outcome": VIOLATED, "seed": 1}, {"outcome": VIOLATED, "seed": 2}, "after"),
        ({"outcome": UPHELD, "effort": "ci"}, {"outcome": UPHELD, "effort": "quick"}, "before"),
        ({"outcome": UPHELD, "effort": "ci"}, {"outcome": UPHELD, "effort": "deep"}, "after"),
        ({"outcome": UPHELD, "effort": "ci"}, {"outcome": ERROR, "effort": "quick"}, "after"),
        ({"outcome": ERROR, "effort": "ci"}, {"outcome": UPHELD, "effort": "quick"}, "after"),
    ],
)
def test_what_was_found_stands_until_the_code_changes(
    before: dict[str, object], after: dict[str, object], counts: str
) -> None:
    (kept,) = in_force([record(message="before", **before), record(message="after", **after)])
    assert kept.message == counts


def test_a_record_after_a_torn_line_is_whole(tmp_path: Path) -> None:
    recorder = EvidenceWriter(tmp_path)
    recorder.append(record(check="one"))
    recorder.path.write_text(recorder.path.read_text() + '{"claim": "toy.a", "che')
    recorder.append(record(check="two"))
    records, (rejected,) = read(tmp_path)
    assert [r.check for r in records] == ["one", "two"] and rejected.line == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_gives_one_clear_line(tmp_path: Path) -> None:
    recorder = EvidenceWriter(tmp_path)
    recorder.path.symlink_to("/dev/full")
    with pytest.raises(InputError, match=r"evidence: expected a folder that can be written to; got '.*' \(.+\)$"):
        recorder.append(record())


def test_a_folder_that_is_a_file_gives_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "evidence").write_text("")
    with pytest.raises(InputError, match=r"a folder that can be written to; got '.*' \(.*\)"):
        EvidenceWriter(tmp_path / "evidence").append(record())
    with pytest.raises(InputError, match=r"a folder that can be read; got '.*' \(Not a directory\)"):
        read(tmp_path / "evidence")


def test_what_is_no_file_is_rejected_and_never_waited_for(tmp_path: Path) -> None:
    EvidenceWriter(tmp_path).append(record())
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "lost.jsonl").symlink_to(tmp_path / "nowhere")
    records, rejected = read(tmp_path)
    assert len(records) == 1 and {item.reason for item in rejected} == {"it is not a file"} and len(rejected) == 3


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
        ({"when": "nan"}, "when: expected a finite number; got nan"),
        ({"duration": "inf"}, "duration: expected a finite number; got inf"),
        ({"examples": -1}, "examples: expected a count; got -1"),
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
