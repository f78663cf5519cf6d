"""What a command line owes to its daily user: filters, JSON, hints, colours, completion, readable formulas."""

from __future__ import annotations

import importlib.metadata
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import write_claim
from tests.test_cli import verify
from verify.cli import main, reporting
from verify.cli.shared import fitted
from verify.report.unicode import readable, readable_words
from verify.vocabulary.errors import InputError
from verify.vocabulary.registry import load

pytestmark = pytest.mark.kept


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Evidence about a sound claim, a false one, and one whose code has changed since; another has none."""
    here: Path = tmp_path_factory.mktemp("daily")
    write_claim(here / "demo_claims", "changed")
    write_claim(here / "demo_claims", "false", formula="B.T @ A.T + 1")
    write_claim(here / "demo_claims", "sound")
    write_claim(here / "demo_claims", "new")
    ran = verify(here, "run", "demo.[cs]*", "demo.false", "--effort", "quick", "--jobs", "1", "--json")
    (here / "run.json").write_text(ran.stdout)
    assert ran.returncode == 1
    write_claim(here / "demo_claims", "changed", formula="B.T @ A.T * 1")
    return here


def listed(folder: Path, *options: str) -> list[str]:
    return [item["id"] for item in json.loads(verify(folder, "list", "--json", *options).stdout)]


def test_a_run_as_json_says_what_was_found(folder: Path) -> None:
    found = json.loads((folder / "run.json").read_text())
    assert found["status"] == 1 and found["checks_run"] == 12 and found["not_judged"] == []
    verdicts = {item["id"]: item["verdict"] for item in found["claims"]}
    assert verdicts == {"demo.changed": "holds", "demo.false": "open", "demo.sound": "holds"}
    assert len(found["failures"]) == 4 and [line.split(":")[0] for line in found["disagreements"]] == ["demo.false"]


def test_filters_choose_what_they_say(folder: Path) -> None:
    assert listed(folder) == ["demo.changed", "demo.false", "demo.new", "demo.sound"]
    assert listed(folder, "demo.s*", "demo.n*") == ["demo.new", "demo.sound"]
    assert listed(folder, "--open") == listed(folder, "--verdict", "open") == ["demo.changed", "demo.false", "demo.new"]
    assert listed(folder, "--disagreeing") == ["demo.false"]
    assert listed(folder, "--stale") == ["demo.changed"]
    assert listed(folder, "--grade", "exact") == ["demo.sound"] and listed(folder, "--grade", "sampled") == []
    assert "--grade: expected one of" in verify(folder, "list", "--grade", "first").stderr


def test_what_has_no_evidence_is_said_once_and_does_not_disagree(folder: Path, tmp_path: Path) -> None:
    told = verify(folder, "list")
    marks = {line.split()[-1 if line.startswith(" ") else 2]: line[0] for line in told.stdout.splitlines()}
    assert set(marks.values()) == {" ", "!"} and told.stdout.count("\n!") + told.stdout.startswith("!") == 1
    assert "2 of 4 claims have no evidence about the present code: run `verify run`" in told.stderr
    write_claim(tmp_path / "demo_claims", "sound")
    for command in (["list"], ["show", "demo.sound"]):
        told = verify(tmp_path, *command)
        assert told.stderr.count("no evidence yet: run `verify run`") == 1 and "DISAGREES" not in told.stdout
    told = verify(tmp_path, "report")
    assert told.returncode == 2 and "evidence to report, which `verify run` gathers; got none" in told.stderr
    assert not (tmp_path / "report").exists(), "no page says open a thousand times"


def test_formulas_in_running_text_are_readable() -> None:
    assert readable_words(r"for $W_Q W_K^\top$, \beta > 0 too") == "for W_Q W_Kᵀ, β > 0 too"
    assert readable_words("plain words, x_1 too") == "plain words, x_1 too"


def test_a_list_is_cut_to_the_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fitted("a long line", 4) == "a long line"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "10")
    assert fitted("a long line", 4) == "a lon…" and fitted("short", 4) == "short"


@pytest.mark.kept(".")
def test_the_command_is_a_module_too(folder: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "verify", "--version"], cwd=folder, capture_output=True, text=True, check=True
    )
    assert ran.stdout.startswith("verify ")


@pytest.mark.kept(".", programs=["git"])
def test_show_as_json_is_the_claim_of_the_report(folder: Path) -> None:
    shown = json.loads(verify(folder, "show", "demo.sound", "--json").stdout)
    verify(folder, "report", "--no-site")
    reported = json.loads((folder / "report/report.json").read_text())["claims"]
    assert shown == next(item for item in reported if item["id"] == "demo.sound")


def test_a_mistyped_id_or_glob_brings_its_neighbours(folder: Path) -> None:
    for command in (["show", "demo.suond"], ["run", "demo.sound", "demo.suond*"], ["list", "demo.suond"]):
        told = verify(folder, *command)
        assert told.returncode == 2 and "close to it: demo.sound" in told.stderr
    with pytest.raises(InputError, match=r"got 'nothing of the kind'$"):
        load().matching("nothing of the kind")


def test_the_version_names_what_verdicts_depend_on(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("verify ") and f"torch {importlib.metadata.version('torch')}" in line


def on_a_terminal(folder: Path, *arguments: str, **environment: str) -> str:
    """What a command prints on a terminal."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "verify.cli", "--package", "demo_claims", *arguments]
    settings = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM")}
    subprocess.run(command, cwd=folder, env={**settings, **environment}, stdout=slave, check=False, timeout=120)
    os.close(slave)
    with os.fdopen(master, "rb") as terminal:
        text: bytes = os.read(terminal.fileno(), 65536)
    return text.decode()


@pytest.mark.kept(".")
def test_colours_are_for_terminals_whose_users_want_them(folder: Path) -> None:
    assert "\x1b[32mholds" in on_a_terminal(folder, "list", TERM="xterm")
    assert "\x1b[" not in on_a_terminal(folder, "list", TERM="xterm", NO_COLOR="1")
    assert "\x1b[" not in on_a_terminal(folder, "list", TERM="dumb")
    assert "\x1b[" not in verify(folder, "list", TERM="xterm").stdout


def test_a_shell_completes_ids(folder: Path) -> None:
    pytest.importorskip("argcomplete", reason="argcomplete is not installed (it comes with the extra 'completion')")
    line = "verify --package demo_claims show demo.s"
    asked = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_IFS": " "}
    told = verify(folder, _ARGCOMPLETE_STDOUT_FILENAME=str(folder / "completed"), **asked)
    assert told.returncode == 0 and (folder / "completed").read_text().split() == ["demo.sound"]


def test_open_shows_the_report_or_says_that_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(reporting.webbrowser, "open", lambda address: not shown.append(address))
    assert main(["open", "--out", str(tmp_path)]) == 2 and "a folder with the web site" in capsys.readouterr().err
    (tmp_path / "claims").mkdir()
    for page in ("index.html", "claims/osa.alg-1.html"):
        (tmp_path / page).touch()
    assert main(["open", "--out", str(tmp_path)]) == 0 and main(["open", "osa.alg-1", "--out", str(tmp_path)]) == 0
    assert shown == [f"file://{tmp_path}/index.html", f"file://{tmp_path}/claims/osa.alg-1.html"]
    monkeypatch.setattr(reporting.webbrowser, "open", lambda _: False)
    assert main(["open", "--out", str(tmp_path)]) == 1


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\|x_i\|_2^2\le\beta^{-1}", "‖xᵢ‖₂²≤β⁻¹"),
        (r"\frac{a+b}{2}", "(a+b)/2"),
        (r"\frac1{d_s}w^\top", "(1/dₛ)wᵀ"),
        (r"x=\frac{1}{\sqrt{d_K}}", "x=1/(√d_K)"),
        (r"\frac{\partial f}{\partial x}=\sqrt{a}W", "(∂f)/(∂x)=(√a)W"),
        (r"W_{Q,K}^{(j)}", "W_(Q,K)^((j))"),
        (r"\operatorname{softmax}\big(XW_Q^\top\big)", "softmax(XW_Qᵀ)"),
        (r"\left.\frac{a}{b}\right|_{x=0}", "(a/b)|ₓ₌₀"),
        (r"\{a,b\}\ne\emptyset", "{a,b}≠∅"),
        (r"\tilde W", "W̃"),
        # what has no place in a line stays as it is written
        (r"\underbrace{a}_b", r"\underbrace{a}_b"),
        (r"\sqrt[3]{x}", r"\sqrt[3]{x}"),
        (r"\tilde{AB}", r"\tilde{AB}"),
        (r"\unheardof{x}", r"\unheardof{x}"),
        (r"\frac{a", r"\frac{a"),
    ],
)
def test_formulas_are_readable_and_say_the_same(latex: str, text: str) -> None:
    assert readable(latex) == text


def test_nearly_all_statements_can_be_read() -> None:
    statements = {claim.statement for claim in load().values()}
    shown = {statement: readable(statement) for statement in statements}
    left = [statement for statement, text in shown.items() if text == statement and "\\" in statement]
    assert len(left) <= len(statements) // 20
    for statement, text in shown.items():
        if text != statement:
            assert "\\" not in text and "{" not in text.replace("{", "", statement.count(r"\{"))
            assert text.count("‖") == statement.count(r"\|") + sum(
                statement.count(c) for c in (r"\Vert", r"\lVert", r"\rVert")
            )
