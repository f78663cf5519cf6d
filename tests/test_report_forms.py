"""Forms of a report from made-up verdicts: JUnit XML, what changed against an earlier report, and the log of changes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from verify.evidence.verdicts import Verdict
from verify.report.baseline import Change, changes, read_baseline
from verify.report.history import LOG, Changes, extended, log_json, log_markdown, read_log
from verify.report.junit import as_junit
from verify.vocabulary import InputError

pytestmark = pytest.mark.kept


def report(*claims: tuple[str, str, str], released: tuple[str, ...] = (), **severities: str) -> Any:
    """Of claims with what their sources expect and what the evidence says; "" for no evidence."""
    papers = [SimpleNamespace(key=key) for key in dict.fromkeys(name.partition(".")[0] for name, _, _ in claims)]
    by_key = {paper.key: paper for paper in papers}
    return SimpleNamespace(
        papers=papers,
        claims={
            name: SimpleNamespace(id=name, label=f"label of {name}", expects=expects, paper=by_key[name.partition(".")[0]])
            for name, expects, _ in claims
        },
        verdicts={
            name: Verdict(name, status or "open", f"why {name}", severity=severities.get(name.partition(".")[2]), grade="exact")
            for name, _, status in claims
        },
        records_of={name: [SimpleNamespace(duration=d) for d in (0.5, 1.25)] if status else [] for name, _, status in claims},
        released=frozenset(released),
    )  # fmt: skip


# -- JUnit -------------------------------------------------------------------------------------------------------------


def test_a_claim_fails_where_the_evidence_says_something_else_than_its_source() -> None:
    of = report(
        ("a.right", "holds", "holds"), ("a.wrong", "refuted", "refuted"), ("a.other", "holds", "gap"),
        ("a.again", "holds", "open"), ("b.none", "holds", ""), ("b.released", "holds", "gap"),
        released=("b.released",), wrong="slip",
    )  # fmt: skip
    text = as_junit(of)
    assert text.startswith(
        '<?xml version="1.0" encoding="utf-8"?>\n<testsuites name="theorem report"'
    ) and text.endswith(">\n")
    assert '\n  <testsuite name="a"' in text
    root = ElementTree.fromstring(text)
    assert root.attrib == {"name": "theorem report", "tests": "6", "failures": "2", "skipped": "2"}
    a, b = root
    assert a.attrib == {"name": "a", "errors": "0", "tests": "4", "failures": "2", "skipped": "0", "time": "7.000"}
    assert b.attrib == {"name": "b", "errors": "0", "tests": "2", "failures": "0", "skipped": "2", "time": "1.750"}
    cases = {case.get("name"): case for case in root.iter("testcase")}
    assert cases["a.right"].attrib == {"classname": "a", "name": "a.right", "time": "1.750"}
    assert [child.tag for child in cases["a.right"]] == [child.tag for child in cases["a.wrong"]] == ["properties"]
    facts = [(each.get("name"), each.get("value")) for each in cases["a.wrong"].iter("property")]
    assert facts == [
        ("label", "label of a.wrong"), ("verdict", "refuted (slip)"), ("grade", "exact"), ("why", "why a.wrong")
    ]  # fmt: skip
    (failure,) = cases["a.other"].iter("failure")
    assert (failure.get("message"), failure.text) == ("expected holds, evidence says gap", "why a.other")
    for name, why in (("b.none", "why b.none"), ("b.released", "as released, not checked again here")):
        assert [skipped.get("message") for skipped in cases[name].iter("skipped")] == [why]
        assert cases[name].find("failure") is None
    assert cases["b.none"].get("time") == "0.000"


def test_what_xml_forbids_is_left_out() -> None:
    of = report(("a.one", "holds", "gap"))
    of.verdicts["a.one"] = replace(
        of.verdicts["a.one"], why="\x1b[1m\tone\ntwo\x00 \ud800\udfff\ufffe\uffff\ufffdä", grade=None
    )
    root = ElementTree.fromstring(as_junit(of))
    (failure,) = root.iter("failure")
    assert failure.text == "[1m\tone\ntwo \ufffdä"
    assert [each.get("value") for each in root.iter("property")][2] == ""


# -- an earlier report -------------------------------------------------------------------------------------------------


def old(name: str, verdict: str, severity: str | None = None, grade: str | None = "exact") -> dict[str, Any]:
    return {"id": name, "verdict": verdict, "why": f"old why {name}", "grade": grade, "severity": severity}


def test_changed_verdicts_come_first_and_news_after_them() -> None:
    of = report(
        ("a.new", "holds", "holds"), ("a.grade", "holds", "holds"), ("a.same", "holds", "holds"),
        ("a.other", "holds", "gap"), ("a.slip", "refuted", "refuted"), slip="slip",
    )  # fmt: skip
    before = {"claims": [old("a.grade", "holds", grade=None), old("a.same", "holds"), old("a.gone", "refuted", "error"),
                         old("a.other", "holds", grade="ball"), old("a.slip", "refuted", "error")]}  # fmt: skip
    changed = [
        Change("a.gone", "a.gone: was refuted (error), and is no claim any more", True),
        Change("a.other", "a.other: holds -> gap; before: old why a.other; now: why a.other", True),
        Change("a.slip", "a.slip: refuted (error) -> refuted (slip); before: old why a.slip; now: why a.slip", True),
        Change("a.grade", "a.grade: still holds; grade None -> exact", False),
        Change("a.new", "a.new: new, holds", False),
    ]
    assert changes(of, before) == changed
    assert [each.claim for each in changes(of, before, lambda name: name != "a.gone")] == [
        "a.other",
        "a.slip",
        "a.grade",
        "a.new",
    ]


WANTED = "--baseline: expected a report.json that `verify report` wrote"


def refused(path: Path, text: str | bytes | None) -> str:
    if isinstance(text, str):
        path.write_text(text, encoding="utf-8")
    elif text is not None:
        path.write_bytes(text)
    with pytest.raises(InputError) as raised:
        read_baseline(path)
    return str(raised.value).replace(repr(str(path)), "PATH")


def test_an_earlier_report_is_read_whatever_its_schema(tmp_path: Path) -> None:
    data = {
        "schema": 1,
        "claims": [{**old("a.ä", "holds", grade=None), "more": 1}, old("b", "refuted", "slip")],
        "x": 2,
    }
    path = tmp_path / "report.json"
    path.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    assert read_baseline(path) == data


def test_what_is_no_report_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    assert refused(path, None) == f"{WANTED}; got PATH (No such file or directory)"
    for text in ("no", b"\xff", "[" * 100_000):
        assert refused(path, text).startswith(f"{WANTED}; got PATH, which is not JSON (")
    fields = ["grade", "id", "severity", "verdict", "why"]
    claim = old("a", "holds")
    for data in (
        [], {}, {"schema": "1", "claims": []}, {"schema": True, "claims": []}, {"schema": 1}, {"schema": 1, "claims": {}},
        {"schema": 1, "claims": [1]}, {"schema": 1, "claims": [{**claim}, {"id": "b"}]}, {"claims": []},
    ):  # fmt: skip
        assert refused(path, json.dumps(data)) == f"{WANTED}; got PATH, which has no list of claims with {fields}"
    for name, value, kind in (
        ("id", 1, "text"), ("verdict", None, "text"), ("why", ["x"], "text"), ("grade", 1, "text or null"),
        ("severity", {}, "text or null"),
    ):  # fmt: skip
        got = refused(path, json.dumps({"schema": 1, "claims": [old("b", "holds"), {**claim, name: value}]}))
        assert got == f"{WANTED}, {name} {kind}; got PATH, whose claim 1 has {name} {value!r}"
    got = refused(path, json.dumps({"schema": 1, "claims": [{**claim, "grade": 10**100}]}))
    assert got.endswith(f"whose claim 0 has grade 1{79 * '0'} ...")
    assert refused(path, json.dumps({"schema": 1, "claims": [claim, old("b", "holds"), claim]})) == (
        f"{WANTED}; got PATH, which lists 'a' twice"
    )


# -- the log -----------------------------------------------------------------------------------------------------------


def entry(since: str | None, when: str | None, commit: str | None = "c", **given: Any) -> Changes:
    return Changes(since, when, given.pop("since_commit", "b"), commit, given.pop("changed", ()), given.pop("news", 0))


def test_a_log_has_the_latest_comparison_in_front_and_each_once() -> None:
    found = [
        Change("a", "a: holds -> gap", True),
        Change("b", "b: new, holds", False),
        Change("c", "c: new, gap", False),
    ]
    of = SimpleNamespace(provenance={"evidence": ["2026-01-01", "2026-03-01"], "commit": "new"})
    before = {"provenance": {"evidence": ["2025-01-01", "2026-02-01"], "commit": "old"}}
    (first,) = extended([], of, before, found)  # type: ignore[arg-type]
    assert first == Changes("2026-02-01", "2026-03-01", "old", "new", (("a", "a: holds -> gap"),), 2)
    for changed in ({"since": "x"}, {"when": "2026-04-01"}, {"since_commit": "x"}, {"commit": None}):
        other = replace(first, **changed)  # type: ignore[arg-type]
        assert set(extended([other], of, before, found)) == {first, other}  # type: ignore[arg-type]
    again = extended([replace(first, news=9), entry("x", "2026-05-01"), entry("y", None)], of, before, found)  # type: ignore[arg-type]
    assert [each.when for each in again] == ["2026-05-01", "2026-03-01", None] and again[1] == first
    for empty in ({}, {"provenance": None}, {"provenance": {"evidence": None}}):
        (undated,) = extended([], of, empty, [])  # type: ignore[arg-type]
        assert (undated.since, undated.since_commit, undated.changed, undated.news) == (None, None, (), 0)
    of.provenance = {"evidence": None, "commit": None}
    assert extended([], of, before, [])[0].when is None  # type: ignore[arg-type]


def test_a_log_is_kept_as_data(tmp_path: Path) -> None:
    log = [entry("a", "b", changed=(("x", "x: y"),), news=3), entry(None, None, None)]
    assert read_log(tmp_path) == []
    (tmp_path / LOG).write_text(log_json(log))
    assert (
        read_log(tmp_path) == log
        and log_json(log).startswith('[\n {\n  "since": "a",')
        and log_json(log).endswith("]\n")
    )
    for wrong in ("no", "[1]", '[{"changed": []}]', "[{}]"):
        (tmp_path / LOG).write_text(wrong)
        with pytest.raises(InputError) as raised:
            read_log(tmp_path)
        assert str(raised.value).startswith(
            f"{tmp_path / LOG}: expected the log of changed verdicts that `verify report` wrote (move it away to begin "
            "another); got a file that cannot be read as one ("
        )


def test_a_log_in_words() -> None:
    log = [
        entry("2026-02-01T10:11:12Z", "2026-03-01T08:09:10Z", changed=(("x", "x: y"), ("z", "z: w")), news=3),
        entry(None, "2026-01-01T00:00:00Z", None, since_commit=None), entry(None, "2026-01-01T00:00:00Z", "c", since_commit=None),
    ]  # fmt: skip
    undated = "## 2026-01-01 00:00 UTC, against a report without a date\n\n"
    nothing = "No verdict changed.\n\nNew or of another grade: 0.\n"
    assert log_markdown(log) == (
        "# Changed verdicts\n\n## 2026-03-01 08:09 UTC, against 2026-02-01 10:11 UTC\n\nCommits: `b` to `c`.\n\n- x: y\n- z: w\n\n"
        f"New or of another grade: 3.\n\n{undated}{nothing}\n{undated}Commits: `c`.\n\n{nothing}"
    )
