"""Evidence speaks about code: what decides a check is in its fingerprint, everything else is not."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests import claims_that_fail as toy
from tests.test_imports import LAYERS
from verify.evidence import runner
from verify.vocabulary import load

CLAIM = """
from verify.vocabulary import Claim, Equal, Paper
from folio.shared import SIZE
CLAIM = Claim(Paper("{key}", "A paper", "nobody", "row-major"), "{key}.a", label="a", statement="x", relation=Equal())
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the engine, which fingerprints are taken of."""
    copy = tmp_path / "verify"
    shutil.copytree(runner.ENGINE, copy, ignore=shutil.ignore_patterns("__pycache__", "static", "templates"))
    monkeypatch.setattr(runner, "ENGINE", copy)
    return copy


def fingerprint_after(path: Path, text: str = "\n# changed\n") -> str:
    """That of a claim after `text` was appended to a file; what was read before is forgotten."""
    with open(path, "a") as file:
        file.write(text)
    runner.sources_of.cache_clear()
    runner._sources_of_paper.cache_clear()
    return runner.fingerprint(toy.TRUE_IDENTITY)


@pytest.mark.parametrize(
    "module",
    [
        "vocabulary/claims.py", "vocabulary/variants.py", "vocabulary/relations.py", "vocabulary/shapes.py",
        "arithmetics/functions.py", "arithmetics/jets.py", "matrix/products.py", "oracles/derivatives.py",
        "oracles/statistics.py", "inputs/generators.py", "checks/__init__.py", "checks/equality.py", "checks/units.py",
        "checks/counterexamples.py", "evidence/runner.py",
    ],
)  # fmt: skip
def test_a_change_of_a_deciding_module_changes_the_fingerprint(engine: Path, module: str) -> None:
    before = fingerprint_after(engine / module, "")
    assert fingerprint_after(engine / module) != before


@pytest.mark.parametrize(
    "module", ["cli.py", "plugin.py", "report/model.py", "gate/measure.py", "evidence/verdicts.py"]
)
def test_a_change_of_what_decides_no_check_does_not(engine: Path, module: str) -> None:
    before = fingerprint_after(engine / module, "")
    assert fingerprint_after(engine / module) == before


def test_a_new_module_in_a_deciding_package_changes_the_fingerprint(engine: Path) -> None:
    before = fingerprint_after(engine / "cli.py", "")
    assert fingerprint_after(engine / "checks" / "another.py") != before


def test_every_package_that_checks_may_import_is_a_deciding_one() -> None:
    below = {name for layer in LAYERS[LAYERS.index("checks") :] for name in layer.split(" | ")}
    assert below == {name for name in runner.DECIDING if "/" not in name}


@pytest.fixture
def folio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of two papers, one of them in parts, with a module that both use."""
    root = tmp_path / "folio"
    for folder in ("", "first", "first/part", "second"):
        (root / folder).mkdir()
        (root / folder / "__init__.py").touch()
    (root / "shared.py").write_text("SIZE = 1\n")
    (root / "other.py").touch()
    (root / "first" / "definitions.py").touch()
    (root / "first" / "part" / "claims.py").write_text(CLAIM.format(key="first"))
    (root / "second" / "claims.py").write_text(CLAIM.format(key="second"))
    monkeypatch.syspath_prepend(tmp_path)
    yield root
    for name in [name for name in sys.modules if name.split(".")[0] == "folio"]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        ("first/part/claims.py", {"first.a"}),
        ("first/definitions.py", {"first.a"}),
        ("second/claims.py", {"second.a"}),
        ("shared.py", {"first.a", "second.a"}),
        ("other.py", set()),
    ],
)
def test_a_paper_is_its_whole_package_and_the_modules_beside_it_that_it_imports(
    folio: Path, path: str, changed: set[str]
) -> None:
    claims = load("folio")

    def fingerprints() -> dict[str, str]:
        runner.sources_of.cache_clear()
        runner._sources_of_paper.cache_clear()
        return {claim_id: runner.fingerprint(claim) for claim_id, claim in claims.items()}

    before = fingerprints()
    (folio / path).write_text((folio / path).read_text() + "# changed\n")
    after = fingerprints()
    assert {claim_id for claim_id in claims if after[claim_id] != before[claim_id]} == changed
