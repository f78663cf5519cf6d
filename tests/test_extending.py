"""docs/extending.md, followed: its examples run, in order, and print what the page says; and the files that it names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import loaded

pytestmark = pytest.mark.kept(".")

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
CODE = re.findall(r"```python\n(.*?)```", PAGE, re.S)
PRINTED = "".join(re.findall(r"```text\n(.*?)```", PAGE, re.S))
#: Changes of the examples, and what is printed then: the engine makes no difference between a right and a wrong addition.
WRONG = {
    "a form that has twice the value": (
        "vec_r(A).T @ vec_r(B)}",
        "2 * vec_r(A).T @ vec_r(B)}",
        "mine.inner-moved {'sampled float64': 'upheld', 'sampled float32': 'upheld', 'enclosed': 'upheld', 'proved': 'violated'}",
    ),
    "an attack that forgets one side": (
        "return self.mutated(claim, claim.the_oracle)",
        "return claim.the_oracle",
        "mine.signs-1 {'sampled float64': 'violated'",
    ),
    "a rule that gives too little": (
        "norm(LARGEST, A) * norm(LARGEST, B))\n",
        "norm(LARGEST, A) * norm(LARGEST, B) / 3)\n",
        "mine.largest-entry {'attacked float64': 'upheld', 'enclosed': 'upheld', 'proved': 'violated'}\n" * 2,
    ),
}


def run(folder: Path, code: str) -> str:
    """What the examples print as a module of their own; a fork of its own, since they add to the engine's tables."""
    (folder / "additions.py").write_text(code, encoding="utf-8")
    (folder / "strict.py").write_text('import warnings\n\nwarnings.simplefilter("error")\nimport additions\n')
    ran = loaded.run("strict", [], folder)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_examples_run_and_print_what_the_page_says(tmp_path: Path) -> None:
    assert len(CODE) == 5
    assert run(tmp_path, "\n".join(CODE)) == PRINTED


@pytest.mark.parametrize("which", WRONG)
def test_a_wrong_addition_is_seen(which: str, tmp_path: Path) -> None:
    right, wrong, expected = WRONG[which]
    code = "\n".join(CODE[:4])
    assert code.count(right) == 1 and expected not in PRINTED
    assert expected in run(tmp_path, code.replace(right, wrong))


def test_each_addition_touches_at_most_four_files_and_they_exist() -> None:
    table = PAGE.split("|---|---|\n")[1].split("\n\n")[0]
    rows = [row.strip("| ").split(" | ") for row in table.splitlines()]
    files = {what: re.findall(r"`((?:verify|theorems|tests)/[^`]*)`", named) for what, named in rows}
    first, second = files["a primitive that is written in others"], files["a primitive with forms of its own"]
    assert len(files) == 5 and len(first) + len(second) == 4 and all(len(named) <= 4 for named in files.values())
    assert all((ROOT / path).exists() for named in files.values() for path in named)
