"""docs/curvature-of-models.md, followed: its Python runs, in order, and prints what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.kept("docs/curvature-of-models.md")

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "curvature-of-models.md").read_text(encoding="utf-8")
#: Code with what is printed by it.
STEPS = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.S)


@pytest.mark.long("it may be the first to import transformers")
@pytest.mark.filterwarnings("ignore")
def test_every_step_runs_and_prints_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    for library in ("transformers", "curvlinops", "scipy"):
        pytest.importorskip(library)
    assert len(STEPS) == PAGE.count("```python") == 7
    names: dict[str, Any] = {"__name__": "__main__"}
    for code, expected in STEPS:
        exec(code, names)
        printed = capsys.readouterr().out
        assert all(line in printed for line in expected.splitlines()), (expected, printed)
