"""Parts of reports from made-up claims and records: citations, contents, coverage, where a report comes from, attempts."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import platform
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from verify.checks import bound_proofs
from verify.evidence.verdicts import Verdict
from verify.report import attempts, provenance
from verify.report.citations import bibtex, edition, link, reference, section, section_link
from verify.report.contents import contents_markdown, package_of, summary
from verify.report.coverage import (
    COVERED,
    MISSING,
    NO_CLAIM,
    PARTLY,
    REASONS,
    Coverage,
    CoverageRow,
    coverage_of,
    read,
    row_of,
)
from verify.report.looseness import nearest
from verify.report.provenance import _commit
from verify.vocabulary import AtMost, Equal, InputError, Paper

pytestmark = pytest.mark.kept

PAPER = Paper(
    "toy", "On toys", "Ada et al. (2023)", "row-major", ("Ada A", "Bob B"), "ToyConf 2023", "2301.00001", "version 2"
)
BARE = Paper("bare", "Bare", "Nobody (n.d.)", "row-major")


def claim(label: str = "", module: str = "toy.plain", paper: Paper = PAPER, **given: Any) -> Any:
    return SimpleNamespace(**{"label": label, "module": module, "paper": paper, "of_project": False, **given})


# -- how near a bound comes to equality --------------------------------------------------------------------------------


def test_the_largest_quotient_is_that_of_a_bound_that_holds_with_sides_of_one_sign() -> None:
    def of(relation: Any, status: Any) -> float | None:
        return nearest(claim(relation=relation), Verdict("a", status, "", tightest_ratio=0.25))

    assert [of(AtMost(), status) for status in ("holds", "reading", "gap")] == [0.25] * 3
    assert [of(AtMost(), status) for status in ("refuted", "open")] == [None, None]
    assert of(AtMost(signed=True), "holds") is None and of(Equal(), "holds") is None


# -- citations ---------------------------------------------------------------------------------------------------------


def test_a_paper_is_linked_and_cited_by_what_is_known_of_it() -> None:
    assert link(PAPER) == "https://arxiv.org/abs/2301.00001" and link(BARE) == ""
    assert reference(PAPER) == "Ada A and Bob B; ToyConf 2023; arXiv:2301.00001" and reference(BARE) == "Nobody (n.d.)"
    assert edition(BARE) == ""
    assert edition(PAPER) == (
        "The verdicts are about the text that was checked: version 2. Other versions of the paper may differ."
    )


@pytest.mark.parametrize(("label", "module", "where", "anchor"), [
    ("Section 4.2, first claim", "", "4.2", "S4.SS2"),
    ("Sec. 4", "", "4", "S4"),
    ("App. C.1", "", "C.1", "A3.SS1"),
    ("Appendix A", "toy.part_3_other", "A", "A1"),
    ("Section 3.1.2.5", "", "3.1.2.5", "S3.SS1.SSS2"),
    ("Theorem 1", "toy.part_a4_1_logits", "A.4.1", "A1.SS4.SSS1"),
    ("Theorem 1", "toy.part_3_0_2_text", "3.2", "S3.SS2"),
    ("Theorem 1", "toy.part_b_text.one", "B", "A2"),
    ("Theorem 1", "toy.part_12", "12", "S12"),
    ("Theorem 1", "toy.part_text", "", ""),
    ("Theorem 1", "", "", ""),
])  # fmt: skip
def test_a_section_is_found_in_the_label_or_else_in_the_module(
    label: str, module: str, where: str, anchor: str
) -> None:
    of = claim(label, module)
    assert section(of) == where
    assert section_link(of) == (f"https://arxiv.org/html/2301.00001#{anchor}" if anchor else "")


def test_a_section_has_no_address_where_the_paper_has_none_or_the_claim_is_not_printed() -> None:
    assert section_link(claim("Section 2", paper=BARE)) == "" == section_link(claim("Section 2", of_project=True))


def test_bibtex_has_the_fields_that_are_known_and_the_commit() -> None:
    own = (
        "@misc{{attention-theorems-{},\n  title = {{The machine-checked edition of attention theory}},\n"
        "  note = {{Machine-checked claims of ``{}'' ({}){}}}\n}}"
    )
    assert bibtex(PAPER, "0123456789abcdef") == (
        "@misc{toy,\n  title = {{On toys}},\n  author = {Ada A and Bob B},\n  howpublished = {ToyConf 2023},\n"
        "  year = {2023},\n  eprint = {2301.00001},\n  archivePrefix = {arXiv}\n}\n"
        + own.format("toy", "On toys", "Ada et al. (2023)", ", commit 0123456789ab")
    )
    assert bibtex(BARE, None) == "@misc{bare,\n  title = {{Bare}}\n}\n" + own.format(
        "bare", "Bare", "Nobody (n.d.)", ""
    )


# -- contents ----------------------------------------------------------------------------------------------------------


def module(name: str, text: str | None, monkeypatch: pytest.MonkeyPatch, is_package: bool = False) -> None:
    made = ModuleType(name, text)
    if is_package:
        made.__path__ = []
    monkeypatch.setitem(sys.modules, name, made)


def test_contents_list_the_labels_of_each_module_under_their_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    module("toys.a", "\n  First part.\n\nMore.", monkeypatch, is_package=True)
    module("toys.a.two", "Two.", monkeypatch)
    module("toys.a.one", "One.", monkeypatch)
    module("toys.b", "Second part.", monkeypatch, is_package=True)
    module("alone", None, monkeypatch)
    assert [package_of(name) for name in ("toys.a.one", "toys.b", "alone")] == ["toys.a", "toys.b", "alone"]
    assert (summary("toys.a"), summary("alone")) == ("First part.", "alone")
    collection = Paper("own", "Own", "us", "row-major", of_project=True)
    found = contents_markdown([
        claim("Lemma 2", "toys.a.two"), claim("Lemma 1", "toys.a.one"), claim("P(A|B)", "toys.a.one"),
        claim("ours", "toys.a.one", of_project=True), claim("ours", "toys.b", of_project=True),
        claim("own", "alone", collection, of_project=True),
    ])  # fmt: skip
    head = ["", "| module | labels |", "|---|---|"]
    assert found == [
        "**alone** `alone/`", *head, "| `alone` | own |",
        "", "**First part.** `toys/a/`", *head, r"| `one` | Lemma 1; P(A\|B) |", "| `two` | Lemma 2 |",
        "", "**Second part.** `toys/b/`", *head, "| `b` | claims of this project |",
    ]  # fmt: skip


# -- coverage ----------------------------------------------------------------------------------------------------------


def test_a_row_has_a_state_and_says_what_no_claim_compares() -> None:
    for row, state, remark in (
        ({"quote": "A", "claims": ["a.b", "a.c"], "label": "(1)"}, COVERED, ""),
        ({"quote": "A", "claims": ["a.b"], "partly": "B = C", "note": "so"}, PARTLY, "B = C; so"),
        ({"quote": "A", "missing": "a rate"}, MISSING, "a rate"),
        ({"quote": "A", "reason": "notation", "note": 3}, NO_CLAIM, "fixes notation; 3"),
        ({"quote": "A", "reason": "outlook", "claims": ["a.b"]}, NO_CLAIM, REASONS["outlook"]),
    ):  # fmt: skip
        found = row_of(row, "here")
        assert (found.state, found.remark) == (state, remark)
    assert row_of({"quote": 12, "claims": ["a.b", "a.c"], "label": "(1)"}, "") == CoverageRow(
        "12", "(1)", ("a.b", "a.c")
    )
    assert row_of({"quote": "A", "claims": None, "missing": "b"}, "").claims == ()


#: What beside a quotation makes no row.
AMBIGUOUS: list[dict[str, Any]] = [
    {}, {"partly": "b"}, {"claims": []}, {"missing": "b", "claims": ["a.b"]}, {"missing": "b", "partly": "c"},
    {"reason": "lost", "missing": "b"}, {"claims": ["a.b"], "partly": "b", "reason": "lost"},
]  # fmt: skip


@pytest.mark.parametrize(("row", "said"), [
    ("A = B", "here: expected a mapping with a quote; got 'A = B'"),
    ({"claims": ["a.b"]}, "here: expected a mapping with a quote; got {'claims': ['a.b']}"),
    ({"quote": "  "}, "here: expected a mapping with a quote; got {'quote': '  '}"),
    ({"quote": None}, "here: expected a mapping with a quote; got {'quote': None}"),
    ({"quote": "A", "z": 1, "b": 2},
     "here: expected the keys claims, label, missing, note, partly, quote, reason; got b, z"),
    ({"quote": "A", "reason": "boring"}, f"here, reason: expected one of {', '.join(REASONS)}; got 'boring'"),
    *[({"quote": "A", **given},
       f"here: expected claims (and what they leave out), or what is missing, or a reason; got {({'quote': 'A', **given})!r}")
      for given in AMBIGUOUS],
])  # fmt: skip
def test_what_is_no_row_is_refused_with_its_place(row: Any, said: str) -> None:
    with pytest.raises(InputError) as raised:
        row_of(row, "here")
    assert str(raised.value) == said


def test_rows_are_counted_and_a_paper_is_covered_whole_where_all_that_can_be_compared_is() -> None:
    covered, partly = CoverageRow("A", claims=("a.b",)), CoverageRow("A", claims=("a.b",), partly="b")
    missing, none = CoverageRow("A", missing="b"), CoverageRow("A", reason="lost")
    whole = Coverage((covered, none, covered, none, none))
    assert (whole.counts, whole.checkable, whole.complete) == ({COVERED: 2, NO_CLAIM: 3}, 2, True)
    for other in (partly, missing):
        assert Coverage((covered, other, none)).checkable == 2 and not Coverage((covered, other)).complete


def test_the_file_of_a_paper_is_read_from_the_first_package_that_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("pkg_b", "pkg_c"):
        (tmp_path / package / "toy").mkdir(parents=True)
        (tmp_path / package / "__init__.py").touch()
        (tmp_path / package / "toy" / "coverage.yaml").write_text(f"- {{quote: ä {package}, claims: [a.b]}}\n", "utf-8")
    (tmp_path / "pkg_a").mkdir()
    (tmp_path / "pkg_a" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    of = {str(n): claim(package=package) for n, package in enumerate(("pkg_c", "pkg_b", "pkg_a"))}
    assert coverage_of(PAPER, of) == Coverage((CoverageRow("ä pkg_b", claims=("a.b",)),))
    assert coverage_of(BARE, of) is None and coverage_of(PAPER, {"0": claim(package="pkg_a")}) is None
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("quote: A\n", "utf-8")
    with pytest.raises(InputError) as raised:
        read(wrong)
    assert str(raised.value) == f"{wrong}: expected a list of rows; got dict"
    other = tmp_path / "other.yaml"
    other.write_text("- {quote: A, reason: lost}\n- {quote: A}\n", "utf-8")
    with pytest.raises(InputError) as raised:
        read(other)
    assert str(raised.value).startswith(f"{other}, row 2: expected claims")


# -- where a report comes from -----------------------------------------------------------------------------------------


def record(when: float, effort: str, seed: int, device: str, duration: float) -> Any:
    return SimpleNamespace(when=when, effort=effort, seed=seed, device=device, duration=duration)


def test_a_report_says_what_it_was_made_with_and_when_its_evidence_was_gathered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(provenance, "version_of", lambda package: f"version of {package}")
    monkeypatch.setattr(provenance, "_commit", lambda package: f"commit of {package}")
    monkeypatch.setattr(provenance, "LIBRARIES", ("pytest", "no-such-library"))
    records = [
        record(86400.0, "quick", 2, "cuda", 0.26), record(0.0, "", 1, "cpu", 0.5), record(3661.9, "ci", 1, "cpu", 1.0),
        record(90000.0, "ci", 2, "cpu", 0.0),
    ]  # fmt: skip
    assert provenance.provenance(iter(records), "toys") == {
        "version": "version of toys", "commit": "commit of toys", "python": platform.python_version(),
        "libraries": {"pytest": pytest.__version__, "no-such-library": None}, "platform": platform.platform(),
        "machine": platform.machine(), "efforts": ["ci", "quick"], "seeds": [1, 2], "devices": ["cpu", "cuda"],
        "evidence": ["1970-01-01T01:01:01Z", "1970-01-02T01:00:00Z"], "checks": 4, "seconds": 1.8,
    }  # fmt: skip
    none = provenance.provenance([], None)
    assert (none["evidence"], none["checks"], none["seconds"], none["version"]) == (None, 0, 0, "version of None")


class Installed(SimpleNamespace):
    """A distribution that is written down."""

    def read_text(self, name: str) -> str | None:
        assert name == "top_level.txt"
        return self.top

    def locate_file(self, name: str) -> str:
        assert name == ""
        return self.place


def installed(version: str, place: str, top: str | None = None, files: tuple[str, ...] | None = ()) -> Any:
    paths = None if files is None else [Path(name) for name in files]
    return Installed(version=version, place=place, top=top, files=paths)


def test_a_version_is_that_of_the_distribution_that_declares_a_package_or_holds_its_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    specs: dict[str, Any] = {
        "toys": SimpleNamespace(submodule_search_locations=["/site/toys"], origin="/site/toys/__init__.py"),
        "single": SimpleNamespace(submodule_search_locations=None, origin="/site/single.py"),
        "nowhere": SimpleNamespace(submodule_search_locations=None, origin=None),
    }
    found: list[Any] = []
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: specs.get(str.lower(name)))
    monkeypatch.setattr(importlib.metadata, "distributions", lambda: iter(found))

    def version(*distributions: Any, of: str | None = "toys") -> str | None:
        found[:] = distributions
        return provenance.version_of(of)

    other, silent = installed("1", "/site", "other"), installed("2", "/site", None, ("toys/a.py", "b.py"))
    declared = installed("3", "/elsewhere", "some\ntoys\n")
    assert version(other, silent, declared) == "3" and version(other, silent) == "2" and version(other) is None
    assert version(installed("4", "/elsewhere", "", ("toys/a.py",))) is None, "it lies elsewhere"
    assert version(installed("5", "/site", "other", ("toys/a.py",))) is None, "it says what it brings"
    assert version(installed("6", "/site", None, None), installed("7", "/site", None, ("b.py",))) is None
    assert version(installed("8", "/site", None, ("single.py",)), of="single") == "8"
    assert version(installed("8", "/site", None, ("toys.py",))) == "8"
    assert version(declared, of=None) is None and version(declared, of="absent") is None
    assert version(declared, of="nowhere") is None


def test_a_commit_is_that_of_the_folder_with_a_plus_where_files_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    specs: dict[str, Any] = {
        "toys": SimpleNamespace(origin="/site/toys/__init__.py"), "nowhere": SimpleNamespace(origin=None)
    }  # fmt: skip
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: specs.get(str.lower(name)))
    said: dict[str, Any] = {"rev-parse": "0123\n", "status": ""}
    options = {"capture_output": True, "text": True, "timeout": 10, "check": True}

    def run(command: list[str], **given: Any) -> Any:
        assert command[:3] == ["git", "-C", "/site/toys"] and given == options
        assert command[3:] in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
        if isinstance(said["status"], Exception):
            raise said["status"]
        return SimpleNamespace(stdout=said[command[3]])

    monkeypatch.setattr(subprocess, "run", run)
    assert _commit("toys") == "0123"
    said["status"] = " M a.py\n"
    assert _commit("toys") == "0123+"
    for problem in (OSError(), subprocess.CalledProcessError(1, "git"), subprocess.TimeoutExpired("git", 10)):
        said["status"] = problem
        assert _commit("toys") is None
    assert _commit("nowhere") is None is _commit("absent") and _commit(None) is None


# -- attempts ----------------------------------------------------------------------------------------------------------


def bound(name: str, expects: str = "refuted", relation: Any = None) -> Any:
    return SimpleNamespace(id=name, package="toys", expects=expects, relation=relation or AtMost())


def test_refuted_bounds_are_attempted() -> None:
    assert attempts.is_attempted(bound("a")) is True
    assert not attempts.is_attempted(bound("a", "holds")) and not attempts.is_attempted(bound("a", relation=Equal()))


def test_an_attempt_says_at_which_inequality_it_stops_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def entry(proved: bool = False, unreached: tuple[str, ...] = (), uncovered: str = "", left: str = "l") -> Any:
        return {"proved": proved, "left": left, "right": "r", "unreached": unreached, "uncovered": uncovered}

    of = bound("a")

    def attempted(*entries: Any, proved: bool = False) -> Any:
        proof = SimpleNamespace(entries=entries, proved=proved)
        monkeypatch.setattr(bound_proofs, "prove_bound_claim", lambda claim: {id(of): proof}[id(claim)])

        def details_of(*given: Any) -> Any:
            assert given == (of, proof, [])
            return {"entries": list(entries)}

        monkeypatch.setattr(bound_proofs, "details_of", details_of)
        return attempts.attempt(of)

    assert attempted() is None and attempted(entry(), proved=True) is None
    long, longest = "x" * 401, "x" * 400
    found = attempted(
        entry(True), entry(unreached=("p", "q"), uncovered="u"), entry(uncovered=long, left=longest), entry(left=long)
    )
    short, first = "x" * 399 + "…", "no rule leads on from p, q"
    assert found == {"inequalities": 4, "stopped": [
        {"inequality": 2, "left": "l", "right": "r", "left over": first},
        {"inequality": 3, "left": longest, "right": "r",
         "left over": f"the computed bound less the printed one has {short}, which may be above 0"},
        {"inequality": 4, "left": short, "right": "r",
         "left over": "the computed bound is not seen to be at most the printed one"},
    ]}  # fmt: skip


def test_attempts_are_kept_and_what_is_kept_of_other_claims_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "attempts.json"
    monkeypatch.setattr(attempts, "data_file", lambda package, name: {("toys", "attempts.json"): path}[package, name])
    results: dict[str, Any] = {"toy.b": {"inequalities": 1}, "toy.a": {"inequalities": 2, "stopped": ["ä"]}}
    monkeypatch.setattr(attempts, "attempt", lambda claim: results[claim.id])
    a, b, c = bound("toy.a"), bound("toy.b"), bound("toy.c")
    assert attempts.kept(a) is None, "there is no file"
    assert attempts.keep([b, a, bound("toy.d", "holds")], ["toy.a", "toy.b"]) == {path: 2}
    text = path.read_text(encoding="utf-8")
    assert text == (
        '{\n"toy.a": {"inequalities": 2, "stopped": ["\\u00e4"]},\n"toy.b": {"inequalities": 1}\n}\n'
    ) and json.loads(text)
    assert attempts.kept(a) == results["toy.a"] and attempts.kept(bound("toy.a", "holds")) is None
    assert attempts.kept(c) is None
    results |= {"toy.c": {"inequalities": 3}, "toy.b": None}
    assert attempts.keep([c], ["toy.b", "toy.c"]) == {path: 2}
    assert [attempts.kept(each) for each in (a, b, c)] == [None, {"inequalities": 1}, {"inequalities": 3}]
    assert attempts.keep([b], ["toy.b", "toy.c"]) == {path: 1} and attempts.kept(b) is None
    assert attempts.keep([], ["toy.a"]) == {}
