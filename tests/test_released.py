"""What a release carries of its evidence: shown where nothing was run, replaced by what is run, decisive nowhere."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest

from tests import loaded
from tests.conftest import write_claim
from verify.evidence.released import FILE, read_released
from verify.evidence.verdicts import judge_all
from verify.report import SCHEMA_PATH
from verify.vocabulary import load

pytestmark = pytest.mark.kept(".", programs=["git"])

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "demo_claims"
needs_a_release = pytest.mark.skipif(
    not (ROOT / "theorems" / FILE).is_file(), reason=f"no theorems/{FILE}: `make release` writes it"
)


def verify(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return loaded.run("verify.cli", ["--package", PACKAGE, "--evidence", *arguments], folder)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of two claims that was released."""
    folder: Path = tmp_path_factory.mktemp("published")
    write_claim(folder / PACKAGE, "sound")
    write_claim(folder / PACKAGE, "other")
    verify(folder, "here", "run", "--effort", "quick", "--jobs", "1")
    told = verify(folder, "here", "release")
    assert told.returncode == 0 and "2 claims renewed, 0 kept from before, 0 without evidence" in told.stdout
    return folder


@pytest.fixture
def folder(published: Path, tmp_path: Path) -> Path:
    """That package as somebody installs it."""
    shutil.copytree(published / PACKAGE, tmp_path / PACKAGE)
    return tmp_path


def test_a_first_run_says_how_long_it_takes_by_the_release(folder: Path) -> None:
    for effort, known in (("quick", True), ("deep", False)):
        ran = verify(folder, "fresh", "run", "demo.sound", "--effort", effort, "--jobs", "1")
        (said,) = [line for line in ran.stderr.splitlines() if " checks to run" in line]
        assert ("by what they took before" in said) == known, said
        assert "reading the evidence about 1 claim" in ran.stderr.splitlines()


def test_a_fresh_install_shows_what_was_released_and_says_so(folder: Path) -> None:
    listed = verify(folder, "fresh", "list")
    assert [line[:8] for line in listed.stdout.splitlines()] == ["~ holds ", "~ holds "]
    assert "~  as released, not checked again here" in listed.stderr and "no evidence" not in listed.stderr
    shown = verify(folder, "fresh", "show", "demo.sound").stdout
    assert "verdict: holds; as released, not checked again here; evidence: exact" in shown
    reported = verify(folder, "fresh", "report", "--no-site")
    assert reported.returncode == 0 and "as released" in reported.stderr
    data = json.loads((folder / "report/report.json").read_text())
    jsonschema.validate(data, json.loads(SCHEMA_PATH.read_text()))
    assert not data["complete"] and all(claim["as_released"] for claim in data["claims"])
    assert data["provenance"]["platform"] == "" and data["provenance"]["checks"] == 8
    assert (folder / "report/junit.xml").read_text().count("<skipped") == 2


def test_what_is_run_takes_the_place_of_what_was_released_and_decides_alone(folder: Path) -> None:
    verify(folder, "fresh", "run", "demo.sound", "--effort", "quick", "--jobs", "1")
    listed = verify(folder, "fresh", "list").stdout.splitlines()
    assert [line[:2] for line in listed] == ["~ ", "  "]
    reported = verify(folder, "fresh", "report", "--no-site")
    assert reported.returncode == 1, "evidence is partial, whatever was released"
    assert "1 of 2 verdicts are as released" in reported.stderr
    data = json.loads((folder / "report/report.json").read_text())
    assert [line.partition(":")[0] for line in data["disagreements"]] == ["demo.other"]


def test_changed_code_is_said_beside_a_released_verdict(folder: Path) -> None:
    write_claim(folder / PACKAGE, "sound", formula="(B.T @ A.T) * 1")
    assert "For 1 claim the code or a library has changed since" in verify(folder, "fresh", "list").stderr
    assert "has changed since" in verify(folder, "fresh", "show", "demo.sound").stderr
    assert "has changed since" not in verify(folder, "fresh", "show", "demo.other").stderr


def test_a_release_keeps_what_was_not_run_again_and_refuses_what_disagrees(folder: Path) -> None:
    (folder / PACKAGE / "other.py").unlink()
    write_claim(folder / PACKAGE, "third")
    verify(folder, "later", "run", "demo.third", "--effort", "quick", "--jobs", "1")
    assert "1 claim renewed, 1 kept from before, 0 without" in verify(folder, "later", "release").stdout
    released = read_released(folder / PACKAGE / FILE)
    assert released is not None and set(released.records) == {"demo.sound", "demo.third"}
    before = (folder / PACKAGE / FILE).read_bytes()
    verify(folder, "later", "release")
    assert (folder / PACKAGE / FILE).read_bytes() == before, "equal evidence, equal bytes"
    write_claim(folder / PACKAGE, "false", formula="B.T @ A.T + 1")
    verify(folder, "later", "run", "demo.false", "--effort", "quick", "--jobs", "1")
    refused = verify(folder, "later", "release")
    assert refused.returncode == 2 and "1 claim with evidence that disagrees" in refused.stderr
    assert (folder / PACKAGE / FILE).read_bytes() == before


def test_a_file_that_cannot_be_read_is_one_line(folder: Path) -> None:
    (folder / PACKAGE / FILE).write_bytes(b"nothing of the kind")
    listed = verify(folder, "fresh", "list")
    assert listed.returncode == 2 and listed.stderr.startswith("verify: ") and listed.stderr.count("\n") == 1


@needs_a_release
def test_the_release_knows_every_claim_and_gives_the_verdicts_that_the_source_expects() -> None:
    registry = load()
    released = read_released(ROOT / "theorems" / FILE)
    assert released is not None
    told = "renew it: verify run CLAIMS, then verify release"
    assert set(released.records) == set(registry), told
    verdicts = judge_all(registry, [record for own in released.records.values() for record in own])
    assert {name: verdict.status for name, verdict in verdicts.items()} == {
        name: claim.expects for name, claim in registry.items()
    }, told


@needs_a_release
def test_the_release_is_in_the_wheel_and_names_no_machine() -> None:
    assert f'"{FILE}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    released = read_released(ROOT / "theorems" / FILE)
    assert released is not None and set(released.about) == {"version", "commit", "python", "libraries"}
