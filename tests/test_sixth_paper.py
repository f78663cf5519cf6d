"""docs/sixth-paper.md: its package is run, and the page shows its code and prints what the commands print."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import loaded
from verify.checks.laws import law_tests
from verify.checks.settings import Settings

pytestmark = pytest.mark.kept("docs/sixth-paper.md", "docs/sixth-paper")

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "sixth-paper"
PAGE = (ROOT / "docs" / "sixth-paper.md").read_text(encoding="utf-8")
#: Each printed command with the lines below it.
COMMANDS = {
    command: output.splitlines()
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.S)
    for command, output in re.findall(r"^\$ verify (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the package's folder, so that evidence is written there; the package is forgotten afterwards."""
    copied = tmp_path_factory.mktemp("sixth") / "paper"
    shutil.copytree(FOLDER, copied, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    yield copied
    for name in [name for name in sys.modules if name.partition(".")[0] == "sixth_paper"]:
        del sys.modules[name]


@pytest.mark.long("in a fresh clone, every module of the engine is taken apart for the fingerprints")
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_print_what_the_page_says(folder: Path, command: str) -> None:
    alone = "import os, verify.cli\nos.cpu_count = lambda: 1  # workers would import torch, each for itself\n"
    (folder.parent / "alone.py").write_text(f"{alone}verify.cli.entry()\n")
    known = os.pathsep.join([str(folder.parent), os.environ.get("PYTHONPATH", "")])
    words = [word.strip("'") for word in command.split()]
    ran = loaded.run("alone", words, folder, {**os.environ, "PYTHONPATH": known})
    assert ran.returncode == 0, ran.stderr
    printed = ran.stdout.splitlines()
    for expected in COMMANDS[command]:
        assert any(line.startswith(expected) for line in printed), (expected, printed)


def test_every_claim_has_its_verdict_on_the_page() -> None:
    declared = re.findall(r'"((?:collapse|features)\.[a-z-]+)"[,)]? ', "\n".join(map(_text, FOLDER.rglob("*.py"))))
    listed = [line.split()[-1] for line in re.findall(r"^  \w+ +(?:all sizes|\w+) +[a-z.-]+", PAGE, re.M)]
    assert len(listed) == 10 and set(declared) <= set(listed)


def test_the_code_on_the_page_is_that_of_the_package() -> None:
    texts = [_text(path) for path in FOLDER.rglob("*.py")]
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    assert len(blocks) >= 8
    for block in blocks:
        assert any(block in text for text in texts), block


def test_laws_are_given_numpy_arrays_as_the_page_says(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.syspath_prepend(folder)
    module = importlib.import_module("sixth_paper.random_features")
    given = []

    def recorded(generator: Any, samples: int, x: Any, y: Any, sampled: Any = module.sampled) -> Any:
        given.extend([type(x), x.dtype])
        return sampled(generator, samples, x, y)

    monkeypatch.setattr(module, "sampled", recorded)
    claim = module.UNBIASED
    raw = {"p": np.array([[0.5, 1.0]]), "q": np.array([[0.25, -1.0]])}
    (found,) = law_tests(claim, claim.the_formula, raw, 0, Settings(), 1000)
    assert given == [np.ndarray, np.float64] and found.p > 1e-9


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
