"""The command line as a user meets it."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from tests import loaded
from tests.claims_that_fail import TRUE_BOUND, TRUE_IDENTITY
from tests.conftest import write_claim
from tests.deadly import DEADLY, deadly
from verify.checks.record import UPHELD
from verify.checks.settings import settings_for
from verify.evidence import parallel
from verify.evidence.store import EvidenceWriter, read
from verify.report import SCHEMA_PATH


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_claim(tmp_path / "demo_claims", "sound")
    return tmp_path


def verify(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return loaded.run("verify.cli", ["--package", "demo_claims", *arguments], folder, {**os.environ, **environment})


def verify_anew(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """As `verify`, in an interpreter that is started for it and reads its environment."""
    command = [sys.executable, "-m", "verify.cli", "--package", "demo_claims", *arguments]
    settings = {**os.environ, **environment}
    return subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.kept
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
    assert data["complete"] and data["summary"] == {"printed": {"holds": 1}, "own": {}}
    assert "**holds**" in (folder / "report/report.md").read_text()
    assert "Eq. (sound)" in (folder / "report/claims/demo.sound.html").read_text()
    assert {"index.html", "summary.md", "junit.xml", "badge.svg"} <= {
        path.name for path in (folder / "report").iterdir()
    }


@pytest.mark.kept
def test_claims_in_the_init_of_a_package_or_in_one_module_are_reported(tmp_path: Path) -> None:
    write_claim(tmp_path / "demo_claims", "sound")
    text = (tmp_path / "demo_claims/sound.py").read_text()
    (tmp_path / "demo_claims/sound.py").unlink()
    (tmp_path / "demo_claims/__init__.py").write_text(f'"""The whole of it."""\n{text}')
    (tmp_path / "demo_module.py").write_text(text.replace("demo", "mod"))
    for package in ("demo_claims", "demo_module"):
        verify(tmp_path, "--package", package, "run", "--effort", "quick", "--jobs", "1")
        reported = verify(tmp_path, "--package", package, "report", "--out", f"{package}-report", "--jobs", "1")
        assert reported.returncode == 0, reported.stderr
    page = (tmp_path / "demo_claims-report/papers/demo.html").read_text(encoding="utf-8")
    assert "The whole of it (1)" in page


@pytest.mark.kept
def test_a_false_claim_gives_exit_status_one_everywhere(folder: Path) -> None:
    write_claim(folder / "demo_claims", "false", formula="B.T @ A.T + 1")
    ran = verify(folder, "run", "--effort", "quick", "--jobs", "1")
    assert ran.returncode == 1
    assert "DISAGREES  demo.false" in ran.stdout and "rounding units" in ran.stdout
    assert "evidence says open (refuted by search (" in ran.stdout
    told = [line.strip() for line in ran.stdout.splitlines() if '.counterexample("found by a search"' in line]
    shown = verify(folder, "show", "demo.false").stdout
    assert told and told[0] in shown and "False at an input that a search found, for certain" in shown
    source = folder / "demo_claims/false.py"
    refuted = source.read_text().replace(
        'label="Eq. (false)"', 'label="Eq. (false)", expects="refuted", severity="error"'
    )
    source.write_text(f"{refuted}\nfrom fractions import Fraction\n{told[0]}\n")
    assert verify(folder, "run", "demo.false", "--effort", "quick", "--jobs", "1").returncode == 0, (
        "what is printed can be pasted"
    )
    write_claim(folder / "demo_claims", "false", formula="B.T @ A.T + 1")
    assert verify(folder, "report").returncode == 1


@pytest.mark.kept
def test_a_claim_runs_with_what_its_verdict_rests_on(folder: Path) -> None:
    write_claim(folder / "demo_claims", "step")
    source = folder / "demo_claims/sound.py"
    source.write_text(source.read_text().replace("exact=True", 'exact=True, proof=["demo.step"]'))
    ran = verify(folder, "run", "demo.sound", "--effort", "quick", "--jobs", "1")
    assert ran.returncode == 0 and "1 holds" in ran.stdout and "not judged" not in ran.stdout
    assert "with 1 claim on which the verdicts of those chosen rest" in ran.stderr and "[8/8]" in ran.stderr


@pytest.mark.kept
def test_an_unfinished_proof_is_not_called_a_violation(folder: Path) -> None:
    source = folder / "demo_claims/sound.py"
    text = source.read_text().replace("exact=True", "all_sizes=True")
    source.write_text(text.replace("return B.T @ A.T", "return (B.T @ A.T) * (1 + 0 * abs(A.sum()))"))
    verify(folder, "run", "--effort", "quick", "--jobs", "1")
    shown = verify(folder, "show", "demo.sound").stdout
    assert "why:     not proved: " in shown and "without all_sizes the other checks decide" in shown
    assert "violated" not in shown


@pytest.mark.kept
def test_a_partial_report_says_so(folder: Path) -> None:
    write_claim(folder / "demo_claims", "other")
    verify(folder, "run", "demo.sound", "--effort", "quick", "--jobs", "1")
    assert verify(folder, "report").returncode == 1
    assert "Partial evidence" in (folder / "report/report.md").read_text()
    assert not json.loads((folder / "report/report.json").read_text())["complete"]


@pytest.mark.kept
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


@pytest.mark.kept(".")
def test_without_its_libraries_the_site_names_the_extra_and_nothing_is_written(folder: Path) -> None:
    (folder / "sitecustomize.py").write_text("import verify.site\nverify.site.LIBRARIES = ('no_such_library',)\n")
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    result = verify_anew(folder, "report", PYTHONPATH=path)
    assert result.returncode == 2 and "the extra 'report'" in result.stderr and "--no-site" in result.stderr
    assert not (folder / "report").exists()


@pytest.mark.kept
def test_changed_formulas_make_evidence_stale_and_comments_do_not(folder: Path) -> None:
    verify(folder, "run", "--effort", "quick", "--jobs", "1")
    module = folder / "demo_claims/sound.py"
    module.write_text(module.read_text() + "\n# changed\n")
    assert "holds" in verify(folder, "list").stdout
    module.write_text(module.read_text().replace("B.T @ A.T", "B.T @ A.T * 1"))
    assert "open" in verify(folder, "list").stdout


@pytest.mark.kept
def test_only_what_is_missing_runs(folder: Path) -> None:
    assert "have evidence" not in verify(folder, "run", "--effort", "quick", "--jobs", "1").stderr
    again = verify(folder, "run", "--effort", "quick", "--jobs", "1")
    assert again.returncode == 0 and "1 holds" in again.stdout
    assert "4 of 4 checks have evidence about this code (--again repeats them)" in again.stderr
    assert "[1/" not in again.stderr
    assert "[4/4]" in verify(folder, "run", "--effort", "quick", "--jobs", "1", "--again").stderr
    write_claim(folder / "demo_claims", "other")
    more = verify(folder, "run", "--effort", "quick", "--jobs", "1")
    assert "4 of 8 checks have evidence" in more.stderr and "[4/4]" in more.stderr and "2 holds" in more.stdout
    assert "[8/8]" in verify(folder, "run", "--effort", "quick", "--seed", "3", "--jobs", "1").stderr
    assert "[8/8]" in verify(folder, "run", "--effort", "ci", "--jobs", "1").stderr
    assert "8 of 8" in verify(folder, "run", "--effort", "quick", "--jobs", "1").stderr


@pytest.mark.kept
def test_a_soak_names_what_fails_at_any_seed(folder: Path) -> None:
    shaky = "B.T @ A.T * (1 + int(__import__('os').environ.get('SHIFT', '0')))"
    write_claim(folder / "demo_claims", "shaky", formula=shaky)
    sound = verify(folder, "soak", "--seeds", "1:2", "--jobs", "1")
    assert sound.returncode == 0 and "0 checks fail at a seed of 1:2, effort quick" in sound.stdout
    again = verify(folder, "soak", "--seeds", "2:3", "--jobs", "1", SHIFT="1")
    assert "seed 2: 0 checks" in again.stderr and "seed 3: 8 checks" in again.stderr
    assert again.returncode == 1
    assert "demo.shaky sampled float64 at seeds 3: residual" in again.stdout
    assert "demo.sound" not in again.stdout


@pytest.mark.kept
@pytest.mark.parametrize("seeds", ["3:1", "-1:2", "one", "1:", "1:2:3", "1.5"])
def test_bad_seeds_are_named(folder: Path, seeds: str) -> None:
    result = verify(folder, "soak", f"--seeds={seeds}")
    assert result.returncode == 2 and "--seeds: expected a seed, or two as FIRST:LAST" in result.stderr


@pytest.mark.kept
def test_what_failed_runs_again_and_fails_again(folder: Path) -> None:
    write_claim(folder / "demo_claims", "false", formula="B.T @ A.T + 1")
    for _ in range(2):
        ran = verify(folder, "run", "demo.false", "--effort", "quick", "--jobs", "1")
        assert ran.returncode == 1 and "rounding units" in ran.stdout


@pytest.mark.kept
def test_a_violation_at_one_seed_stands_at_the_next(folder: Path) -> None:
    write_claim(folder / "demo_claims", "false", formula="B.T @ A.T + 1")
    assert verify(folder, "run", "demo.false", "--effort", "quick", "--seed", "3", "--jobs", "1").returncode == 1
    records = next((folder / ".verify/evidence").iterdir())
    found = [json.loads(line) for line in records.read_text().splitlines()]
    upheld = [{**record, "outcome": "upheld", "seed": 4, "when": record["when"] + 1} for record in found]
    records.write_text("".join(json.dumps(record) + "\n" for record in [*found, *upheld]))
    assert "violated" in verify(folder, "show", "demo.false").stdout


@pytest.mark.kept
def test_list_and_show_mention_rejected_lines(folder: Path) -> None:
    verify(folder, "run", "--effort", "quick", "--jobs", "1")
    (folder / ".verify/evidence/foreign.jsonl").write_text("[1]\n")
    for arguments in (["list"], ["show", "demo.sound"], ["report", "--no-site"]):
        assert "rejected evidence: .verify/evidence/foreign.jsonl:1: not a record" in verify(folder, *arguments).stderr


@pytest.mark.kept
def test_a_killed_worker_is_named_and_the_rest_goes_on(folder: Path) -> None:
    """Each check of a claim kills its worker, and each worker that follows; here they are forks, below interpreters."""
    (folder / "forking.py").write_text(
        "import multiprocessing, verify.cli\n"
        "contexts = multiprocessing.get_context\n"
        "multiprocessing.get_context = lambda method: contexts('fork')\n"
        "verify.cli.entry()\n"
    )
    write_claim(folder / "demo_claims", "suicidal", before="import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    for number in range(3):
        write_claim(folder / "demo_claims", f"other_{number}")
    command = ["--package", "demo_claims", "run", "--effort", "quick", "--jobs", "2"]
    ran = loaded.run("forking", command, folder)
    assert ran.returncode == 1
    assert "demo.suicidal" in ran.stdout and "worker process died" in ran.stdout
    assert "4 holds, 1 open" in ran.stdout or "1 open, 4 holds" in ran.stdout


@pytest.mark.kept(".")
def test_of_workers_that_are_interpreters_a_killed_one_is_named_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = [TRUE_IDENTITY, TRUE_BOUND]
    tasks = [(claim.id, check) for claim in claims for check in ("enclosed", "exact")]
    monkeypatch.setattr(parallel, "_work", deadly)
    said, recorder = io.StringIO(), EvidenceWriter(folder)
    parallel.run_tasks("tests", claims, [*tasks, (TRUE_BOUND.id, DEADLY)], settings_for("quick"), recorder, 2, said)
    found = {(record.claim, record.check): record for record in read(folder)[0]}
    assert {task for task, record in found.items() if record.outcome == UPHELD} == set(tasks)
    assert found.keys() - set(tasks) == {(TRUE_BOUND.id, DEADLY)} and "[5/5]" in said.getvalue()
    assert found[TRUE_BOUND.id, DEADLY].message == "the worker process died during this check"


@pytest.mark.kept
def test_an_unusable_folder_of_evidence_is_one_line(folder: Path) -> None:
    (folder / "file").write_text("")
    for jobs in ("1", "2"):
        ran = verify(folder, "--evidence", "file/below", "run", "--effort", "quick", "--jobs", jobs)
        assert ran.returncode == 2 and ran.stderr.splitlines()[-1].startswith(
            "verify: evidence: expected a folder that"
        )
        assert "Traceback" not in ran.stderr


def processes_of(session: int) -> list[str]:
    """The command lines of the processes of a session that still live."""
    listed = subprocess.run(
        ["ps", "-ww", "-o", "stat=,args=", "-s", str(session)], capture_output=True, text=True, check=False
    )
    return [line for line in listed.stdout.splitlines() if line.strip() and not line.startswith("Z")]


@pytest.mark.kept(".", programs=["ps"])
@pytest.mark.long("two workers import torch, in a process that is not a fork")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_stopped_leaves_no_worker_and_resumes(folder: Path, how: signal.Signals) -> None:
    slow = "import os, time; time.sleep(60 if os.path.exists('slow') else 0)"
    for number in range(4):
        write_claim(folder / "demo_claims", f"slow_{number}", before=slow)
    (folder / "slow").touch()
    assert verify(folder, "run", "demo.sound", "--effort", "quick", "--jobs", "1").returncode == 0
    # a suite that a shell started in the background ignores Ctrl-C, and so would what it starts
    heed = "import signal, verify.cli; signal.signal(signal.SIGINT, signal.default_int_handler); verify.cli.entry()"
    command = [sys.executable, "-c", heed, "--package", "demo_claims", "run", "demo.slow*", "--jobs", "2"]
    run = subprocess.Popen(command, cwd=folder, start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: sum("spawn_main" in line for line in processes_of(run.pid)) == 2)
        time.sleep(1)
        run.send_signal(how)
        assert run.wait(timeout=20) == (130 if how == signal.SIGINT else -how)
        wait_for(lambda: not processes_of(run.pid), 20)
    finally:
        run.kill()
        run.wait()
    (folder / "slow").unlink()
    resumed = verify(folder, "run", "--effort", "quick", "--jobs", "1")
    assert "4 of 20 checks have evidence" in resumed.stderr and "5 holds" in resumed.stdout


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)


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
        (["report", "--pdf", "--no-site"], "--pdf: expected a report with its site"),
        (["report", "--jobs", "0"], "--jobs: expected at least 1"),
    ],
)
@pytest.mark.kept
def test_bad_usage_names_the_argument_and_writes_nothing(folder: Path, arguments: list[str], message: str) -> None:
    result = verify(folder, *arguments)
    assert result.returncode == 2 and message in result.stderr
    assert not (folder / "report").exists() and not (folder / ".verify").exists()


@pytest.mark.kept(".")
def test_a_fork_looks_where_an_interpreter_looks(tmp_path: Path) -> None:
    (tmp_path / "places.py").write_text("import sys\nprint(*dict.fromkeys(sys.path), sep='\\n')\n")
    command, settings = [sys.executable, "-m", "places"], {**os.environ, "PYTHONPATH": str(tmp_path / "other")}
    anew = subprocess.run(command, cwd=tmp_path, env=settings, capture_output=True, text=True, check=True)
    assert loaded.run("places", [], tmp_path, settings).stdout.splitlines() == anew.stdout.splitlines()


@pytest.mark.kept(".")
def test_listing_does_not_import_torch(folder: Path) -> None:
    """Neither of the theorems of this package, with their release, nor of others, with evidence of a run."""
    assert verify(folder, "run", "--effort", "quick", "--jobs", "1").returncode == 0
    code = (
        "import sys, verify.cli\n"
        "done = verify.cli.main(['--package', 'demo_claims', 'list']) + verify.cli.main(['list'])\n"
        "sys.exit(done or 'torch' in sys.modules or 'sympy' in sys.modules)"
    )
    listed = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert listed.returncode == 0 and "demo.sound" in listed.stdout and "osa.alg-1" in listed.stdout
