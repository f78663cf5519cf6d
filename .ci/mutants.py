"""Planted defects in single modules, and the tests that concern them: a line of figures per module, and the survivors.

    python .ci/mutants.py verify/report/wording.py verify/gate/findings.py

`make mutants` plants defects in all modules that pyproject.toml names and lets every fast test look for them, for hours.  Here
each module is taken by itself, with the tests that `TESTS` names for it, so that it takes minutes.  A module whose defects
another test finds as well loses nothing by that: what survives here is looked at, and is either found by a test or listed in
docs/mutation-testing.md with the reason why no test can.
"""

from __future__ import annotations

import argparse
import fnmatch
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
JUDGED = ["tests/test_judging.py", "tests/test_judgements.py"]
CHECKED = ["tests/test_attacks.py", "tests/test_degenerate_values.py", *JUDGED]
#: Globs of modules, and the tests that are asked; the first that matches counts.
TESTS = {
    "verify/report/*.py": ["tests/test_wording.py"],
    "verify/evidence/verdicts.py": [*JUDGED, "tests/test_wording.py"],
    "verify/gate/rounding.py": ["tests/test_gate_rounding.py", "tests/test_gate_units.py"],
    "verify/gate/*.py": ["tests/test_gate_units.py"],
    "verify/checks/counterexamples.py": ["tests/test_counterexamples.py"],
    "verify/oracles/statistics.py": ["tests/test_proportions.py", "tests/test_degenerate_values.py"],
    "verify/checks/*.py": CHECKED,
}
#: How many workers try defects at once.
WORKERS = 1


def tests_of(module: str) -> list[str]:
    """The tests that look for defects in a module."""
    for glob, tests in TESTS.items():
        if fnmatch.fnmatchcase(module, glob):
            return tests
    raise SystemExit(f"{module}: .ci/mutants.py names no tests for it")


def configured(module: str, tests: list[str]) -> str:
    """pyproject.toml with one module and its tests in the place of all."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for key, values in (
        ("only_mutate", [module]),
        ("pytest_add_cli_args_test_selection", tests),
        ("do_not_mutate", []),
    ):
        listed = ", ".join(f'"{value}"' for value in values)
        text, found = re.subn(rf"^{key} = \[.*?\]", f"{key} = [{listed}]", text, flags=re.DOTALL | re.MULTILINE)
        assert found == 1, key
    return text


def tried(module: str, workers: int, names: list[str], folder: Path) -> dict[str, str]:
    """What became of every defect of a module, by name."""
    for part in ("verify", "theorems", "tests"):
        shutil.copytree(ROOT / part, folder / part, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "conftest.py", folder)
    (folder / "pyproject.toml").write_text(configured(module, tests_of(module)), encoding="utf-8")
    run = [sys.executable, "-m", "mutmut", "run", "--max-children", str(workers), *names]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=False)
    (folder / "mutmut.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    told = subprocess.run(
        [sys.executable, "-m", "mutmut", "results", "--all", "true"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return dict(re.findall(r"^\s*(\S+): (.+)$", told.stdout, flags=re.MULTILINE))


def main() -> None:
    """Try the defects of each module that is named, and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+", help="paths such as verify/report/wording.py")
    parser.add_argument("--only", action="append", default=[], help="globs of names of defects")
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--folder", type=Path, help="where to keep what is tried, to go on where a run was stopped")
    asked = parser.parse_args()
    for module in asked.modules:
        with tempfile.TemporaryDirectory() as temporary:
            folder = asked.folder / module.replace("/", ".") if asked.folder else Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            found = tried(module, asked.workers, asked.only, folder)
            killed = sum(state in ("killed", "timeout") for state in found.values())
            untried = sum(state == "not checked" for state in found.values())
            print(f"{module}: {len(found)} planted, {killed} found, {untried} not tried", flush=True)
            for name, state in found.items():
                if state not in ("killed", "timeout", "not checked"):
                    shown = subprocess.run(
                        [sys.executable, "-m", "mutmut", "show", name],
                        cwd=folder,
                        capture_output=True,
                        text=True,
                        check=False,
                    )
                    lines = [line for line in shown.stdout.splitlines() if re.match(r"[-+](?![-+])", line)]
                    print(f"  {name}: {state}", *lines, sep="\n    ", flush=True)


if __name__ == "__main__":
    main()
