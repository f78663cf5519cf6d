"""The pytest plugin as a user meets it, in a project of its own."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
import torch  # here, since pytester forgets what a test imports, and torch cannot be imported twice

from tests.conftest import write_claim
from tests.loaded import run_pytest

pytestmark = pytest.mark.kept


def run(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return run_pytest(project, "-m", "theorem", "--effort", "quick", "-p", "no:cacheprovider", *arguments)


def test_claims_are_native_items_with_readable_ids(project: pytest.Pytester) -> None:
    result = run(project, "--collect-only", "-q")
    result.stdout.fnmatch_lines(["demo_claims/sound.py::demo.sound::sampled-float64", "*::exact"])


def test_a_sound_claim_passes_and_its_verdict_is_printed(project: pytest.Pytester) -> None:
    result = run(project)
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(
        ["theorems: torch *", "theorems: device cpu, *effort quick, seed fixed", "*verdicts*", "1 holds"]
    )
    assert result.ret == 0


def test_a_false_claim_fails_with_label_inputs_sides_residual_and_a_call(project: pytest.Pytester) -> None:
    write_claim(project.path / "demo_claims", "false", formula="B.T @ A.T + 1")
    result = run(project, "-k", "false and float64")
    result.assert_outcomes(failed=1, deselected=7)
    result.stdout.fnmatch_lines(
        [
            "*A demonstration: Eq. (false)*demo.false*",
            "*residual*rounding units",
            "*A = [[]*",
            "*formula*",
            "*oracle*",
            '*replay("demo.false", package="demo_claims", A=*',
        ]
    )
    assert result.ret == 1


def test_selection_by_glob_and_by_keyword(project: pytest.Pytester) -> None:
    write_claim(project.path / "demo_claims", "other")
    run(project, "--claims", "demo.o*").assert_outcomes(passed=4)
    run(project, "-k", "sound and enclosed").assert_outcomes(passed=1, deselected=7)


def test_a_command_that_names_claims_and_checks_none_fails(project: pytest.Pytester) -> None:
    """The other tests of the run pass, and say nothing of it."""
    project.makepyfile(test_other="def test_other():\n    pass\n")
    for choice in (("--claims", "toy.nosuch"), ("--claims=*", "-k", "test_other")):
        none = run_pytest(project, "demo_claims", "test_other.py", *choice)
        assert none.parseoutcomes()["passed"] == 1 and none.ret == pytest.ExitCode.TESTS_FAILED
        none.stdout.fnmatch_lines(["*theorems: nothing was decided; *"])
    assert run_pytest(project, "demo_claims", "test_other.py", "-k", "test_other").ret == pytest.ExitCode.OK


@pytest.mark.kept(".")
def test_two_workers_give_the_same_verdicts_and_one_run(project: pytest.Pytester) -> None:
    write_claim(project.path / "demo_claims", "false", formula="B.T @ A.T + 1")
    alone, together = run(project), run(project, "-n", "2")
    assert alone.parseoutcomes() == together.parseoutcomes()
    for result in (alone, together):
        result.stdout.fnmatch_lines(["*DISAGREES*demo.false: expected holds, evidence says open*"])
    records = [
        json.loads(line)
        for path in (project.path / ".verify/evidence").glob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert len({record["run"] for record in records}) == 2


def test_stop_at_first_failure(project: pytest.Pytester) -> None:
    write_claim(project.path / "demo_claims", "false", formula="B.T @ A.T + 1")
    result = run(project, "-x")
    assert result.parseoutcomes()["failed"] == 1


def test_junit_names_the_claim(project: pytest.Pytester) -> None:
    run(project, "--junitxml=junit.xml")
    case = next(ElementTree.parse(project.path / "junit.xml").getroot().iter("testcase"))
    properties = {item.get("name"): item.get("value") for item in case.iter("property")}
    assert properties["claim"] == "demo.sound" and properties["outcome"] == "upheld"


@pytest.mark.parametrize("seed", ["1", "2", "12345"])
def test_verdicts_do_not_depend_on_the_seed(project: pytest.Pytester, seed: str) -> None:
    result = run(project, f"--hypothesis-seed={seed}")
    result.stdout.fnmatch_lines([f"*seed {seed}", "1 holds"])


def test_dtype_selects_float_checks(project: pytest.Pytester) -> None:
    result = run(project, "--dtype", "float32", "--collect-only", "-q")
    assert "sampled-float64" not in result.stdout.str() and "sampled-float32" in result.stdout.str()


def test_absent_device_and_unknown_effort_are_usage_errors(project: pytest.Pytester) -> None:
    if not torch.cuda.is_available():
        result = run(project, "--device", "cuda")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["*device: expected cpu, or an accelerator*got 'cuda'*"])
    result = run(project, "--device", "abacus")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert run_pytest(project, "--effort", "heroic").ret == pytest.ExitCode.USAGE_ERROR


def test_the_plugin_is_silent_in_projects_without_claims(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_one():\n    assert True\n")
    result = run_pytest(pytester)
    result.assert_outcomes(passed=1)
    assert "theorems" not in result.stdout.str().replace("attention-theorems", "")
    assert "verdicts" not in result.stdout.str() and not (pytester.path / ".verify").exists()


@pytest.mark.kept(".")
def test_a_worker_killed_in_mid_run_loses_nothing_that_was_finished(project: pytest.Pytester) -> None:
    kill = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    write_claim(project.path / "demo_claims", "suicidal", before=kill)
    result = run(project, "-n", "2", "-k", "suicidal and float64 or sound and (float64 or float32 or exact)")
    assert result.ret != 0
    records = [
        json.loads(line)
        for path in (project.path / ".verify/evidence").glob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert {r["check"] for r in records if r["claim"] == "demo.sound"} == {
        "sampled float64",
        "sampled float32",
        "exact",
    }
    assert not [r for r in records if r["claim"] == "demo.suicidal"]


def test_the_header_is_printed_without_a_marker_in_a_project_of_claims(project: pytest.Pytester) -> None:
    result = run_pytest(project, "--collect-only", "-W", "error")
    result.stdout.fnmatch_lines(["theorems: torch *"])


def test_what_has_evidence_about_this_code_passes_without_being_run(project: pytest.Pytester) -> None:
    def said(*arguments: str) -> tuple[int, str, int]:
        result = run(project, *arguments)
        (verdicts,) = [line for line in result.outlines if line.endswith((" holds", " open"))] or [""]
        lines = sum(len(path.read_text().splitlines()) for path in (project.path / ".verify/evidence").glob("*.jsonl"))
        told = [line.partition(" from evidence")[0] for line in result.outlines if "--again repeats them" in line]
        return lines, "; ".join([verdicts, *told]), result.ret

    assert said() == (4, "1 holds", 0)
    assert said() == (4, "1 holds; 4 of 4 checks", 0)
    assert said("--again") == (8, "1 holds", 0)
    assert said("--hypothesis-seed=3") == (12, "1 holds", 0)
    write_claim(project.path / "demo_claims", "sound", formula="B.T @ A.T + 1")
    assert said()[0] == said()[0] - 4, "what failed runs again"
    write_claim(project.path / "demo_claims", "sound", formula="1 * (B.T @ A.T)")
    write_claim(project.path / "demo_claims", "other")
    assert said("--claims", "demo.other")[1] == "1 holds"
    assert said()[1:] == ("2 holds; 4 of 8 checks", 0)
