"""Bad command lines, files and calls: exit status 2 or an error that names the argument, never a traceback, never a pass."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import loaded
from tests.bad_input import calls, functions
from tests.bad_input.commands import BROKEN, COMMANDS, write_files
from tests.bad_input.tables import BASELINES, TABLES
from verify.cli import main
from verify.report.baseline import read_baseline
from verify.vocabulary import InputError

pytestmark = pytest.mark.kept

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("bad_input")
    write_files(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        patch.syspath_prepend(path)
        yield path


def refused(arguments: tuple[str, ...], capfd: pytest.CaptureFixture[str], status: int = 2) -> str:
    """What a command line prints; fails unless it ends with `status`, and without a traceback."""
    try:
        found = main(arguments)
    except SystemExit as problem:  # of argparse
        found = int(problem.code or 0)
    printed = capfd.readouterr()
    assert found == status, printed
    assert "Traceback" not in printed.out + printed.err
    return printed.err if status == 2 else printed.out


@pytest.mark.parametrize(("arguments", "message"), COMMANDS, ids=[" ".join(row[0])[:60] for row in COMMANDS])
def test_command_lines(
    folder: Path, capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert message in refused(arguments, capfd)
    assert not (folder / ".verify").exists() and not (folder / "report").exists()


@pytest.mark.parametrize("name", BROKEN)
def test_functions_that_are_no_attention(folder: Path, capfd: pytest.CaptureFixture[str], name: str) -> None:
    only = ("--claims", "hessian.lem-B.1", "--dtype", "float64")
    assert BROKEN[name] in refused(("check", "hessian.attention", f"bi_layers:{name}", *only), capfd, 1)


def test_an_exit_in_the_code_of_a_claim_is_a_failing_check(
    folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    command = ("--package", "bi_exiting", "--evidence", str(tmp_path), "run", "--effort", "quick", "--jobs", "1")
    printed = refused(command, capfd, 1)
    assert (
        "DISAGREES  e.exit: expected holds, evidence says open (sampled float" in printed
        and "SystemExit: 0)" in printed
    )


@pytest.mark.parametrize(("text", "message"), TABLES, ids=[row[0][:60] for row in TABLES])
def test_tables(folder: Path, capfd: pytest.CaptureFixture[str], text: str, message: str) -> None:
    path = folder / "pyproject.toml"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    try:
        assert message in refused(("check",), capfd)
    finally:
        path.unlink()


@pytest.mark.parametrize(("data", "message"), BASELINES, ids=[str(row[0])[:60] for row in BASELINES])
def test_baselines(tmp_path: Path, data: Any, message: str) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match=r"^--baseline: expected a report\.json that `verify report` wrote") as caught:
        read_baseline(path)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", calls.CALLS)
def test_calls(name: str) -> None:
    call, message = calls.CALLS[name]
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["check", "hessian.attention", "bi_layers:leaves", "--claims", "hessian.lem-B.1"], 1, "SystemExit: 0"),
        (["check", "hessian.attention", "bi_layers:leaves_for_good"], 2, "ended its process with exit status 0"),
        (["check", "hessian.attention", "bi_leaves:f"], 2, "SystemExit: 0"),
        (["check", "hessian.attention", "bi_layers:blocks", "--timeout", "3"], 2, "--timeout: expected"),
        (["--package", "bi_leaves", "list"], 2, "package: expected"),
    ],
)
def test_in_a_shell(folder: Path, arguments: list[str], status: int, message: str) -> None:
    path = os.pathsep.join([str(ROOT), str(folder)])
    ran = loaded.run("verify.cli", arguments, folder, {**os.environ, "PYTHONPATH": path})
    assert ran.returncode == status and message in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("options", "settings", "message"),
    [
        (("--subjects",), "", "--subjects: expected a table [[]tool.verify.subjects]; got none in "),
        (("--subject", "hessian.attention=bi_leaves:f"), "", "implementation: expected a callable"),
        (("--subject", "hessian.attention=math:exp", "--device", "meta"), "", "device: expected cpu"),
        (("--hypothesis-seed=-1",), "theorems", "--hypothesis-seed: expected an integer >= 0"),
        (("--hypothesis-seed=random", "-m", "theorem"), "", "--hypothesis-seed: expected an integer >= 0"),
        ((), "no_such_package", "verify_packages: expected packages that can be imported (is their folder on pythonpath?)"),
        ((), "no_such.package", "verify_packages: expected packages that can be imported"),
    ],
)  # fmt: skip
def test_options_of_pytest(
    pytester: pytest.Pytester, folder: Path, options: tuple[str, ...], settings: str, message: str
) -> None:
    pytester.makeini(f"[pytest]\nverify_packages = {settings}\n")
    pytester.makepyfile("def test_one():\n    pass\n")
    result = pytester.runpytest_inprocess(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{message}*"])
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


def test_seeds_of_projects_without_claims_are_their_own(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_one():\n    pass\n")
    pytester.runpytest_inprocess("--hypothesis-seed=random").assert_outcomes(passed=1)


def test_there_are_at_least_three_hundred() -> None:
    rows = len(COMMANDS) + len(BROKEN) + len(TABLES) + len(BASELINES) + len(calls.CALLS) + len(functions.CALLS)
    assert rows >= 300
