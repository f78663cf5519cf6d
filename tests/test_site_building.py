"""Pages are made again when what they are made of has changed, and only then; workers make the same pages."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.efforts import is_deep
from tests.made_up_evidence import with_links, written
from verify.evidence.verdicts import judge_all
from verify.report import Report, restricted
from verify.report.baseline import Change
from verify.site import building, page_parts, write_site
from verify.vocabulary import Claim

pytestmark = pytest.mark.kept(".")

CHANGED = "dynamics.eq-34"
#: The claims, with what they link to, on a site that is written over and over; at effort deep it has all of those of `site`.
FEW = ("dynamics.prop-4.1", "osa.alg-1", "osa.cost-ssa")


@pytest.fixture(scope="module", autouse=True)
def pictures_once() -> Iterator[None]:
    """A counterexample is drawn once for all sites of this module, and again for a claim that a test has changed.

    `tests/test_lines.py` is about the pictures.
    """
    drawn: dict[tuple[int, str], tuple[Claim, Any]] = {}
    draw = page_parts.picture

    def once(claim: Claim, certificate: Mapping[str, Any]) -> Any:
        key = id(claim), json.dumps(certificate, sort_keys=True, default=repr)
        if key not in drawn:
            drawn[key] = claim, draw(claim, certificate)  # with the claim, so that no other one gets its `id`
        return drawn[key][1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_parts, "picture", once)
        yield


@pytest.fixture(scope="module")
def few(full_report: Report, pytestconfig: pytest.Config) -> Report:
    if is_deep(pytestconfig):
        return full_report
    return restricted(full_report, list(with_links(full_report.claims, FEW).values()))


@pytest.fixture(scope="module")
def site_of_few(few: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(few, tmp_path_factory.mktemp("few"))


@pytest.fixture
def again(site_of_few: Path, tmp_path: Path) -> Path:
    """A copy of the site that may be written over."""
    shutil.copytree(site_of_few, tmp_path / "again")
    return tmp_path / "again"


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of the site, but not the forms of the report that other code writes."""
    others = {building.MANIFEST, "report.json", "report.md", "summary.md", "junit.xml"}
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if name not in others}


def written_after(report: Report, folder: Path, changes: list[Change] | None = None) -> set[str]:
    """Which files another writing of the site touches; their times tell."""
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    write_site(report, folder, changes=changes)
    after = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    return {p.relative_to(folder).as_posix() for p, when in after.items() if before.get(p) != when} - {
        building.MANIFEST
    }


def test_nothing_is_written_where_nothing_changed(few: Report, again: Path) -> None:
    seen: list[tuple[int, int]] = []
    write_site(few, again, lambda done, total: seen.append((done, total)))
    assert seen == [] and written_after(few, again) == set()


def test_a_file_that_was_changed_or_removed_is_made_again(few: Report, again: Path, site_of_few: Path) -> None:
    (again / f"claims/{CHANGED}.html").write_text("spoiled")
    (again / "errata/osa.md").unlink()
    shutil.rmtree(again / "assets")
    assert written_after(few, again) >= {f"claims/{CHANGED}.html", "errata/osa.md", "assets/site.js"}
    assert contents(again) == contents(site_of_few)


def with_claim(report: Report, **changed: object) -> Report:
    claim = copy.copy(report.claims[CHANGED])
    for name, value in changed.items():
        setattr(claim, name, value)
    return replace(report, claims={**report.claims, CHANGED: claim})


def with_record(report: Report, claim_id: str, **changed: object) -> Report:
    records = [replace(record, **changed) if record.claim == claim_id else record for record in report.records]
    return replace(report, records=records, verdicts=judge_all(report.claims, records))


#: Ways in which a report changes, and pages that show it.
CHANGES: dict[str, tuple[Callable[[Report], Report], set[str]]] = {
    "words": (
        lambda r: with_claim(r, name="another name", note="Another remark."),
        {f"claims/{CHANGED}.html", "claims/dynamics.prop-4.1.html", "errata/dynamics.html"},
    ),
    "a measurement": (lambda r: with_record(r, "osa.alg-1", duration=7.25), {"claims/osa.alg-1.html"}),
    "a verdict": (
        lambda r: with_record(r, CHANGED, outcome="error", message="broken"), {"claims/dynamics.prop-4.1.html", "index.html"},
    ),
    "a weight": (lambda r: replace(r, weights={**r.weights, "osa.alg-1": "step"}), {"papers/osa.html", "index.html"}),
    "a claim less": (
        lambda r: restricted(r, [claim for claim in r.claims.values() if claim.id != "osa.alg-1"]), {"map/osa.html"},
    ),
}  # fmt: skip


#: Why one takes long.
WHOLE = pytest.mark.long("no page stands where a claim is gone, so that a whole site is written twice")


@pytest.mark.parametrize(
    "what", [pytest.param(what, marks=[WHOLE] if what == "a claim less" else []) for what in CHANGES]
)
def test_what_changed_is_made_again_and_the_site_is_what_it_would_be_anew(
    few: Report, again: Path, tmp_path: Path, what: str
) -> None:
    change, pages = CHANGES[what]
    report = change(few)
    written = written_after(report, again)
    assert pages <= written
    untouched = {name for name in contents(again) if name.startswith("claims/")} - written
    assert untouched or what == "a claim less", "pages of other claims stand"
    write_site(report, tmp_path / "anew")
    assert contents(again) == contents(tmp_path / "anew")


def test_changes_against_a_baseline_touch_no_page_of_a_claim(few: Report, again: Path) -> None:
    written = written_after(few, again, [Change("osa.alg-1", "osa.alg-1: open -> holds", True)])
    assert "index.html" in written and not any(name.startswith("claims/") for name in written)


def test_a_manifest_that_cannot_be_read_counts_as_none(few: Report, again: Path, site_of_few: Path) -> None:
    for text in ("no JSON", "[1]", '{"index": {"key": "x"}}'):
        (again / building.MANIFEST).write_text(text)
        assert building.made_before(again) == {}
    write_site(few, again)
    assert contents(again) == contents(site_of_few)


def test_workers_make_the_same_pages(
    few: Report, site_of_few: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More tasks than workers, so that each makes pages of several, with the same values kept in between."""
    monkeypatch.setattr(building, "FEW", 1)
    monkeypatch.setattr(building, "TOGETHER", 5)
    seen: list[tuple[int, int]] = []
    write_site(few, tmp_path, lambda done, total: seen.append((done, total)), jobs=2)
    assert contents(tmp_path) == contents(site_of_few)
    assert seen[-1][0] == seen[-1][1] and seen == sorted(seen)
