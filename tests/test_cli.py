"""The command line as a user meets it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from tests.conftest import write_claim
from verify.report import SCHEMA_PATH


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_claim(tmp_path / "demo_claims", "sound")
    return tmp_path


def verify(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "verify.cli", "--package", "demo_claims", *arguments]
    settings = {**os.environ, **environment}
    return subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True, timeout=300, check=False)


def test_run_then_list_show_and_report(folder: Path) -> None:
    assert "open" in verify(folder, "list").stdout
    ran = verify(folder, "run", "--effort", "quick", "--jobs", "1")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 holds" in ran.stdout and "[4/4]" in ran.stderr
    assert "holds" in verify(folder, "list", "--paper", "demo", "--kind", "equal", "--verdict", "holds").stdout
    assert verify(folder, "list", "--verdict", "refuted").stdout == ""
    shown = verify(folder, "show", "demo.sound").stdout
    assert "Eq. (sound)" in shown and "def product_transposed" in shown and "mutant dead" in shown
    reported = verify(folder, "report")
    assert reported.returncode == 0
    data = json.loads((folder / "report/report.json").read_text())
    jsonschema.validate(data, json.loads(SCHEMA_PATH.read_text()))
    assert data["complete"] and data["summary"] == {"holds": 1}
    assert "**holds**" in (folder / "report/report.md").read_text()
    assert "Eq. (sound)" in (folder / "report/claims/demo.sound.html").read_text()
    assert {"index.html", "summary.md", "junit.xml", "badge.svg"} <= {
        path.name for path in (folder / "report").iterdir()
    }


def test_a_false_claim_gives_exit_status_one_everywhere(folder: Path) -> None:
    write_claim(folder / "demo_claims", "false", formula="B.T @ A.T + 1")
    ran = verify(folder, "run", "--effort", "quick", "--jobs", "2")
    assert ran.returncode == 1
    assert "DISAGREES  demo.false" in ran.stdout and "rounding units" in ran.stdout
    assert verify(folder, "report").returncode == 1


def test_a_partial_report_says_so(folder: Path) -> None:
    write_claim(folder / "demo_claims", "other")
    verify(folder, "run", "demo.sound", "--effort", "quick", "--jobs", "1")
    assert verify(folder, "report").returncode == 1
    assert "Partial evidence" in (folder / "report/report.md").read_text()
    assert not json.loads((folder / "report/report.json").read_text())["complete"]


def test_a_changed_verdict_fails_against_a_baseline(folder: Path) -> None:
    verify(folder, "run", "--effort", "quick", "--jobs", "1")
    assert verify(folder, "report", "--no-site").returncode == 0
    assert not (folder / "report/index.html").exists()
    baseline = folder / "before.json"
    (folder / "report/report.json").rename(baseline)
    same = verify(folder, "report", "--no-site", "--baseline", "before.json")
    assert same.returncode == 0 and "CHANGED" not in same.stdout
    baseline.write_text(baseline.read_text().replace('"verdict": "holds"', '"verdict": "open"'))
    changed = verify(folder, "report", "--no-site", "--baseline", "before.json")
    assert changed.returncode == 1 and "CHANGED" in changed.stdout
    assert "demo.sound: open -> holds; before: upheld by every check; now: upheld by every check" in changed.stdout
    assert "open -> holds" in (folder / "report/summary.md").read_text()


def test_without_its_libraries_the_site_names_the_extra_and_nothing_is_written(folder: Path) -> None:
    (folder / "sitecustomize.py").write_text("import verify.site\nverify.site.LIBRARIES = ('no_such_library',)\n")
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    result = verify(folder, "report", PYTHONPATH=path)
    assert result.returncode == 2 and "the extra 'report'" in result.stderr and "--no-site" in result.stderr
    assert not (folder / "report").exists()


def test_changed_formulas_make_evidence_stale(folder: Path) -> None:
    verify(folder, "run", "--effort", "quick", "--jobs", "1")
    module = folder / "demo_claims/sound.py"
    module.write_text(module.read_text() + "\n# changed\n")
    assert "open" in verify(folder, "list").stdout


def test_a_killed_worker_is_named_and_the_rest_goes_on(folder: Path) -> None:
    write_claim(folder / "demo_claims", "suicidal", before="import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    ran = verify(folder, "run", "--effort", "quick", "--jobs", "2")
    assert ran.returncode == 1
    assert "demo.suicidal" in ran.stdout and "worker process died" in ran.stdout
    assert "holds" in verify(folder, "list", "demo.sound").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "demo.nothing"], "claim id: expected one of the ids"),
        (["run", "nothing.*"], "claims: expected a glob that matches"),
        (["run", "--effort", "heroic"], "effort: expected one of"),
        (["run", "--device", "abacus"], "device: expected cpu"),
        (["run", "--dtype", "float16"], "dtype: expected float64 or float32"),
        (["run", "--jobs", "0"], "--jobs: expected at least 1"),
        (["list", "--paper", "unheard"], "--paper: expected one of"),
        (["report", "--claims", "x"], "claims: expected a glob"),
        (["report", "--baseline", "none.json"], "--baseline: expected a report.json"),
    ],
)
def test_bad_usage_names_the_argument_and_writes_nothing(folder: Path, arguments: list[str], message: str) -> None:
    result = verify(folder, *arguments)
    assert result.returncode == 2 and message in result.stderr
    assert not (folder / "report").exists() and not (folder / ".verify").exists()


def test_listing_does_not_import_torch() -> None:
    code = (
        "import sys, verify.cli; verify.cli.main(['list']); sys.exit('torch' in sys.modules or 'sympy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=120).returncode == 0
