"""What is published: the source distribution holds every file of the repository, and says only what is known."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from verify.report.provenance import _commit

ROOT = Path(__file__).resolve().parents[1]
#: Of use in a checkout alone.
LEFT_OUT = {".gitignore"}


def tracked() -> set[str]:
    """The files under version control, those that are not committed yet included."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout: there is no list of files to compare with")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate"]
    listed = subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
    return {name for name in listed if (ROOT / name).is_file()}


def test_the_source_distribution_holds_every_file(tmp_path: Path) -> None:
    expected = tracked() - LEFT_OUT
    pytest.importorskip("build", reason="the source distribution is built by `build`, which is in the extra 'dev'")
    if int(importlib.metadata.version("setuptools").partition(".")[0]) < 77:
        pytest.skip("setuptools >= 77 is in the extra 'dev'")
    source = tmp_path / "source"  # a clean one: setuptools takes what an earlier list of its own names
    for name in expected:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, source / name)
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(tmp_path), str(source)]
    built = subprocess.run(command, check=False, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    assert not expected - names
    assert not [name for name in names if "__pycache__" in name]


def test_a_report_names_the_commit_of_its_claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = tracked()
    found = _commit("theorems")
    assert listed and found is not None and re.fullmatch(r"[0-9a-f]{40}\+?", found)
    head = subprocess.run(["git", "rev-parse", "HEAD"], check=True, cwd=ROOT, capture_output=True, text=True).stdout
    assert found.rstrip("+") == head.strip()
    (tmp_path / "of_no_repository").mkdir()
    (tmp_path / "of_no_repository/__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert _commit("of_no_repository") is None


def test_the_project_states_no_address_that_the_repository_does_not_know() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert "http://" not in project and "https://" not in project and "[project.urls]" not in project
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    keywords = citation.partition("keywords: [")[2].partition("]")[0].split(", ")
    assert keywords == project.partition("keywords = [")[2].partition("]")[0].replace('"', "").split(", ")
