"""docs/tutorial.md, followed: its Python runs, in order, and prints what it says; its command too."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from verify.cli import main

pytestmark = pytest.mark.kept("docs/tutorial.md")

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "tutorial.md").read_text(encoding="utf-8")
#: Code with what is printed by it, where the page says so.
STEPS = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", PAGE, re.S)


def test_every_step_runs_and_prints_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(STEPS) == 3
    names: dict[str, Any] = {"__name__": "__main__"}
    for code, expected in STEPS:
        exec(code, names)
        printed = capsys.readouterr().out
        for line in expected.splitlines():
            assert line in printed
    assert "NaN" in str(names["report"]) and "hessian.lem-B.1" in names["report"].satisfied
    below = "T - T.max(dim=-1, keepdim=True).values"
    exec(STEPS[-1][0].replace("torch.exp(T)", f"torch.exp({below})").replace("assert not", "assert"), names)


def test_the_command_decides_the_lemma(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.cpu_count", lambda: 1)  # workers would import torch, each for itself
    command, printed = re.findall(r"^\$ verify (run .*)\n(.*)$", PAGE, re.M)[0]
    assert main(command.split()) == 0 and printed in capsys.readouterr().out
    assert main(command.split()) == 0 and "5 of 5 checks have evidence" in capsys.readouterr().err
