"""Who imports whom is kept by contracts; an import that breaks one is refused."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import theorems

pytestmark = pytest.mark.kept(".")

ROOT = Path(__file__).parents[1]
# tomllib came with Python 3.11; pytest brings tomli before that
_TOML = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
CONTRACTS = _TOML.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
#: The layers of the engine, highest first.
LAYERS: list[str] = next(item["layers"] for item in CONTRACTS if item.get("containers") == ["verify"])


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """The contracts of ``folder/pyproject.toml``, applied to the packages there."""
    command = "import sys; sys.path.insert(0, '.'); from importlinter.cli import lint_imports; sys.exit(lint_imports())"
    return subprocess.run([sys.executable, "-c", command], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of both packages and their contracts."""
    folder: Path = tmp_path_factory.mktemp("copy")
    for package in ("verify", "theorems"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__", "static"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def test_the_contracts_are_kept(copied: Path) -> None:
    result = lint(copied)
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"{len(CONTRACTS)} kept, 0 broken" in result.stdout


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("verify/matrix/layout.py", "import theorems.osa", "the engine knows nothing of the theorems"),
        ("verify/vocabulary/relations.py", "import verify.checks", "layers of the engine"),
        ("verify/vocabulary/shapes.py", "from verify.arithmetics import Constant", "layers of the engine"),
        ("verify/report/model.py", "def f():\n    import verify.gate.reach", "layers of the engine"),
        ("verify/checks/units.py", "def f():\n    import verify.checks.equality", "no circle of imports"),
        ("theorems/osa/definitions.py", "import theorems.dynamics", "papers know nothing of each other"),
        ("theorems/shared/matrices.py", "import theorems.hessian", "papers know nothing of each other"),
        ("theorems/osa/definitions.py", "from verify.checks import checks_of", "papers state and compute"),
    ],
)
def test_a_planted_violation_is_refused(copied: Path, module: str, line: str, contract: str) -> None:
    path = copied / module
    before = path.read_text()
    path.write_text(f"{before}\n\n{line}\n")
    try:
        result = lint(copied)
    finally:
        path.write_text(before)
    assert result.returncode != 0
    assert contract in result.stdout.partition("Broken contracts")[2], result.stdout


def test_a_new_module_at_the_top_of_the_engine_needs_a_layer(copied: Path) -> None:
    path = copied / "verify" / "another.py"
    path.touch()
    try:
        assert lint(copied).returncode != 0
    finally:
        path.unlink()


def test_the_top_of_the_theorems_has_the_topics_alone() -> None:
    found = {path.stem for path in (ROOT / "theorems").glob("*.py")}
    assert found == {"__init__", *theorems.TOPICS}


def test_the_top_of_the_engine_stays_short() -> None:
    found = {path.name for path in (ROOT / "verify").iterdir() if path.name != "__pycache__"}
    assert {name.removesuffix(".py") for name in found} == {"__init__", "py.typed"} | {
        name for layer in LAYERS for name in layer.split(" | ")
    }


def test_imports_in_a_new_interpreter_give_no_warning_and_declare_all_rules() -> None:
    """Wherever the claims of rules are looked up, these are declared, and not only after the provers are loaded."""
    asked = "from verify.checks.certificate_steps import facts_of_checker; print(facts_of_checker(['smallest gain of a product']))"
    layers = ", ".join(f"verify.{name}" for layer in LAYERS for name in layer.split(" | "))
    code = f"{asked}; import {layers}; verify.vocabulary.load()"
    command = [sys.executable, "-W", "error", "-c", code]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "norms.smallest-gain-of-a-product" in found.stdout and found.returncode == 0, found.stderr
