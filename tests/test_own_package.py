"""docs/your-own-theorems.md, followed outside this repository: its files, its commands, its calls to paste."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import loaded
from verify.cli import main
from verify.cli.project import Project, project_of
from verify.vocabulary import InputError

pytestmark = pytest.mark.kept("docs/your-own-theorems.md")

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "your-own-theorems.md").read_text(encoding="utf-8")
BLOCKS = dict(zip(("pyproject.toml", "my_theorems/__init__.py", "my_theorems/section_2.py", "call"),
                  re.findall(r"```(?:toml|python)\n(.*?)```", PAGE, re.S), strict=True))  # fmt: skip
#: Each printed command with what is printed below it.
COMMANDS = {
    command: output.splitlines()
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.S)
    for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)
}


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """As the command `pytest` in a folder: the current directory is not on the path, this checkout is."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"}
    environment.pop("PYTEST_ADDOPTS", None)
    return loaded.run("pytest", ["-p", "no:cacheprovider", *arguments], folder, environment)


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the printed files; the package is forgotten afterwards."""
    folder = tmp_path_factory.mktemp("outside")
    (folder / "my_theorems").mkdir()
    for name, text in BLOCKS.items():
        if name != "call":
            (folder / name).write_text(text)
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "my_theorems"]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def decided(outside: Path) -> subprocess.CompletedProcess[str]:
    """The run of pytest that the page prints, in that folder: commands show its evidence."""
    command = next(command for command in COMMANDS if command.startswith("pytest --effort"))
    return run_pytest(outside, *command.split()[1:])


@pytest.fixture
def inside(outside: Path, decided: subprocess.CompletedProcess[str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """That folder as the current one, with the evidence of the run."""
    monkeypatch.chdir(outside)
    return outside


def test_plain_pytest_finds_and_decides_the_claims(outside: Path, decided: subprocess.CompletedProcess[str]) -> None:
    assert decided.returncode == 0, decided.stdout + decided.stderr
    for line in next(lines for command, lines in COMMANDS.items() if command.startswith("pytest --effort")):
        assert line in decided.stdout
    assert (outside / ".verify" / "evidence").is_dir()


@pytest.mark.parametrize("command", [command for command in COMMANDS if command.startswith("verify ")])
def test_commands_print_what_the_page_says(inside: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = list(sys.path)
    status = main(command.split()[1:])
    printed = capsys.readouterr()
    assert status == (2 if "theorms" in command else 0) and sys.path == before
    lines = (printed.err if status else printed.out).splitlines()
    assert status == 0 or len(lines) == 1
    for expected in COMMANDS[command]:
        assert any(line.startswith(expected) for line in lines), (expected, lines)


def test_the_printed_call_works(
    inside: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["show", "notes.eq-2"])
    shown = re.sub(r"(?m)^ +", "", capsys.readouterr().out)
    imports, call = (line for line in BLOCKS["call"].splitlines() if line)
    assert f"{imports}\n{call}\n" in shown, "the page prints what the command does"
    monkeypatch.syspath_prepend(inside)  # where Python was started
    names: dict[str, Any] = {}
    exec(imports, names)
    sides = eval(call, names)
    assert sides["assumptions hold"] and "1.4047" in sides["oracle"][0]


@pytest.mark.kept(".")
def test_a_failure_prints_a_call_that_works(outside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")  # where pytest's last lines repeat whole messages
    (tmp_path / "my_theorems").mkdir()
    for name, text in BLOCKS.items():
        if name != "call":
            (tmp_path / name).write_text(text.replace("softmax(T + c @", "softmax(2 * T + c @"))
    result = run_pytest(tmp_path, "-x", "--claims", "notes.lemma-1", "--effort", "quick")
    assert result.returncode == 1
    (call,) = re.findall(r"^ +(from verify import replay)\n +(replay\(.*\))$", result.stdout, re.M)
    assert re.search(r"^FAILED .*sampled-float64 - Lemma 1: residual .* units$", result.stdout, re.M)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    printed = subprocess.run(
        [sys.executable, "-c", "\n".join(call)],
        check=True,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    ).stdout
    formula, oracle = (re.findall(rf"^  {side}: (.*)$", printed, re.M) for side in ("formula", "oracle"))
    assert formula and formula != oracle


def test_a_mistyped_package_is_named(inside: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                     monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    (tmp_path / "pytest.ini").write_text("[pytest]\nverify_packages = my_theorms\npythonpath = .\n")
    result = run_pytest(tmp_path)
    assert result.returncode == pytest.ExitCode.USAGE_ERROR
    expected = (
        "verify_packages: expected packages that can be imported (is their folder on pythonpath?); got 'my_theorms'"
    )
    assert expected in result.stderr and "Traceback" not in result.stderr + result.stdout
    monkeypatch.chdir(tmp_path)
    assert main(["list"]) == 2
    assert "'my_theorms'" in capsys.readouterr().err


def test_an_empty_collection_says_why(outside: Path, tmp_path: Path) -> None:
    command = next(command for command in COMMANDS if command.startswith("pytest -m theorem"))
    result = run_pytest(outside, *command.split()[1:])
    assert result.returncode == pytest.ExitCode.NO_TESTS_COLLECTED
    assert COMMANDS[command][0] in result.stdout
    result = run_pytest(tmp_path, "-m", "theorem")
    assert result.returncode == pytest.ExitCode.NO_TESTS_COLLECTED
    assert f"{tmp_path} holds no module of theorems" in result.stdout and "--pyargs theorems" in result.stdout


def test_the_installed_theorems_are_checked_from_anywhere(tmp_path: Path) -> None:
    arguments = re.findall(r"`pytest (-m theorem --pyargs theorems)`", PAGE)[0].split()
    result = run_pytest(tmp_path, *arguments, "--claims", "convergence.lemma-11", "--effort", "quick")
    assert result.returncode == 0 and "1 holds" in result.stdout, result.stdout


def test_settings_are_read_where_pytest_reads_them(tmp_path: Path) -> None:
    assert project_of(tmp_path) == Project()
    (tmp_path / "setup.cfg").write_text("[tool:pytest]\nverify_packages = one\n    two\n")
    assert project_of(tmp_path) == Project(("one", "two"))
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert project_of(tmp_path) == Project(("one", "two")), "a file without a table of pytest's is passed over"
    (tmp_path / "pyproject.toml").write_text("[tool.pytest]\nverify_packages = ['mine']\npythonpath = ['src']\n")
    assert project_of(tmp_path) == Project(("mine",), (tmp_path / "src",))
    (tmp_path / "pytest.ini").write_text("[pytest]\nverify_packages = first\n")
    assert project_of(tmp_path) == Project(("first",))
    (tmp_path / "pytest.ini").write_text("[pytest\n")
    with pytest.raises(InputError, match=r"pytest.ini"):
        project_of(tmp_path)
