"""The program that plants defects in modules: what fails is found, what cannot fail finds nothing, and nothing is tried twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[1] / ".ci/mutants.py"
MODULE = """
def larger(a, b):
    if a > b:
        return a
    return b


def never():
    return 1
"""
TEST = """
import toy


def test_larger():
    assert {}([toy.larger(1, 2), toy.larger(2, 1)] == [2, 2])
"""


@pytest.mark.kept(".")
def test_planted_defects_are_found_by_tests_that_can_fail(tmp_path: Path) -> None:
    pytest.importorskip("mutmut", reason="mutmut is not installed (it comes with the extra 'mutation')")

    def tried(*options: str) -> list[str]:
        command = [sys.executable, str(PROGRAM), "toy.py", "--tests", "test_toy.py", *options]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        return [line for line in ran.stdout.splitlines() if line.startswith(("toy", "  x_"))]

    (tmp_path / "toy.py").write_text(MODULE)
    (tmp_path / "setup.cfg").write_text("[mutmut]\nsource_paths = .\n[tool:pytest]\n")
    (tmp_path / "test_toy.py").write_text(TEST.format("str"))
    equal, unreached = "  x_larger__mutmut_1: survived 1 tests", "  x_never__mutmut_1: survived 0 tests"
    assert tried() == ["toy: 2 planted, 0 found, 0 not tried", equal, unreached]
    (tmp_path / "test_toy.py").write_text(TEST.format("bool"))
    assert tried()[0] == "toy: 2 planted, 0 found, 0 not tried", "what was tried is not tried again"
    (tmp_path / "toy.py").write_text(MODULE.replace("return a\n", "return 1 * a\n"))
    assert tried("--survivors") == ["toy: 4 planted, 2 found, 0 not tried", equal, unreached]
