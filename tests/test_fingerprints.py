"""Evidence speaks about code: what decides a check is in its fingerprint, everything else is not."""

from __future__ import annotations

import importlib.metadata
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import claims_that_fail as toy
from tests.test_imports import LAYERS
from verify.evidence import fingerprints
from verify.evidence.fingerprints import fingerprint
from verify.evidence.sources import source_of
from verify.vocabulary import Claim, Equal, load

pytestmark = pytest.mark.kept

PROVED = toy.toy("proved-identity", Equal(), all_sizes=True)
AT_SIZES = toy.toy("identity-at-sizes", Equal(), at_sizes=True)


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the engine; all tests have the same, since it takes seconds to take all modules apart."""
    copy = tmp_path_factory.mktemp("copied") / "verify"
    shutil.copytree(fingerprints.ENGINE, copy, ignore=shutil.ignore_patterns("__pycache__", "static", "templates"))
    return copy


@pytest.fixture
def engine(copied: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The copy, which fingerprints are taken of, with a cache beside it; afterwards it is as before, and forgotten."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(copied.parent))
    monkeypatch.setattr(fingerprints, "ENGINE", copied)
    before = {path: path.read_bytes() for path in copied.rglob("*.py")}
    yield copied
    for path in {*before, *copied.rglob("*.py")}:
        if path not in before:
            path.unlink()
        elif path.read_bytes() != before[path]:
            path.write_bytes(before[path])
    fingerprints.forget()


def fingerprint_after(path: Path, text: str = "\nCHANGED = True\n", claim: Claim = toy.TRUE_IDENTITY) -> str:
    """That of a claim after `text` was appended to a file; what was read before is forgotten."""
    with open(path, "a") as file:
        file.write(text)
    fingerprints.forget()
    return fingerprint(claim)


@pytest.mark.parametrize(
    "module",
    [
        "vocabulary/claims.py", "vocabulary/variants.py", "vocabulary/relations.py", "vocabulary/shapes.py",
        "arithmetics/entrywise.py", "arithmetics/jets.py", "matrix/products.py", "oracles/derivatives.py",
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
    assert below == {name for name in fingerprints.DECIDING if "/" not in name}


@pytest.mark.parametrize("text", ["\n# a comment\n", "\n\n\n"])
def test_layout_and_comments_change_nothing(engine: Path, text: str) -> None:
    before = fingerprint_after(engine / "checks" / "equality.py", "")
    assert fingerprint_after(engine / "checks" / "equality.py", text) == before


@pytest.mark.parametrize(
    ("module", "claim", "changes"),
    [
        ("checks/limits.py", toy.TRUE_IDENTITY, False),
        ("checks/limits.py", toy.RIGHT_LIMIT, True),
        ("checks/equality.py", toy.RIGHT_LIMIT, False),
        ("arithmetics/symbols/rules.py", toy.TRUE_IDENTITY, False),
        ("arithmetics/rational_functions.py", toy.TRUE_IDENTITY, False),
        ("checks/fixed_sizes.py", AT_SIZES, True),
        ("arithmetics/symbols/rules.py", AT_SIZES, False),
        ("checks/proofs.py", PROVED, True),
        ("arithmetics/symbols/rules.py", PROVED, True),
    ],
)
def test_of_the_engine_counts_what_a_claim_runs_through(engine: Path, module: str, claim: Claim, changes: bool) -> None:
    before = fingerprint_after(engine / module, "", claim)
    assert (fingerprint_after(engine / module, claim=claim) != before) == changes


@pytest.mark.parametrize("library", ["torch", "python-flint", "mpmath", "numpy", "sympy"])
def test_another_version_of_a_library_changes_the_fingerprint(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    before = fingerprint(toy.TRUE_IDENTITY)
    version = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.0" if name == library else version(name))
    fingerprints.forget()
    changed = fingerprint(toy.TRUE_IDENTITY)
    monkeypatch.undo()
    fingerprints.forget()
    assert changed != before == fingerprint(toy.TRUE_IDENTITY)


SHARED = """
from math import sqrt

LARGE = {"n": 3}
LARGE["n"] = 4


def doubled(x):
    return 2 * x + offset()


def offset():
    return 0


def unused(x):
    return sqrt(x)


def in_a_string(x):
    return x
"""
FIRST = """
from typing import Annotated, Any
from verify.vocabulary import Claim, Equal, Paper, Real
from folio.shared import doubled, in_a_string, LARGE

PAPER = Paper("first", "A paper", "nobody", "row-major")
ONE = Claim(PAPER, "first.one", label="a", name="one", statement="x", relation=Equal(), note="of no weight")
TWO = Claim(PAPER, "first.two", label="a", name="two", statement="x", relation=Equal(), sizes=LARGE)


@ONE.formula
def one(x: Annotated[Any, Real()]):
    return doubled(x)


ONE.mutant("a replacement", "doubled(x) -> in_a_string(x)")


@TWO.formula
def two(x: Annotated[Any, Real()]):
    return x


@TWO.oracle
def from_one(x):
    return one(x)


for claim in (ONE, TWO):
    claim.mutant("common", lambda x: 3 * x)
"""


@pytest.fixture
def folio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of two papers, one of them in parts, with a module that both use."""
    root = tmp_path / "folio"
    for folder in ("", "first", "first/part"):
        (root / folder).mkdir()
        (root / folder / "__init__.py").touch()
    (root / "shared.py").write_text(SHARED)
    (root / "first" / "part" / "claims.py").write_text(FIRST)
    monkeypatch.syspath_prepend(tmp_path)
    yield root
    for name in [name for name in sys.modules if name.split(".", maxsplit=1)[0] == "folio"]:
        del sys.modules[name]
    fingerprints.forget()


@pytest.mark.parametrize(
    ("path", "old", "new", "changed"),
    [
        ("first/part/claims.py", "return doubled(x)", "return doubled(x) + 1", {"first.one", "first.two"}),
        ("first/part/claims.py", "    return x\n\n\n@TWO", "    return 3 * x\n\n\n@TWO", {"first.two"}),
        ("first/part/claims.py", "    return x\n\n\n@TWO", '    """In words."""\n    return x\n\n\n@TWO', set()),
        ("first/part/claims.py", "return one(x)", "return one(x) - 1", {"first.two"}),
        ("first/part/claims.py", "in_a_string(x)", "in_a_string(x) * 2", {"first.one"}),
        ("first/part/claims.py", "3 * x", "4 * x", {"first.one", "first.two"}),
        ("first/part/claims.py", "of no weight", "of none", set()),
        ("first/part/claims.py", "relation=Equal(), sizes=LARGE", "sizes=LARGE, relation=Equal()", set()),
        ("first/part/claims.py", '"row-major")', '"row-major")  # a comment', set()),
        ("first/part/claims.py", "Equal(), note", 'Equal(left="one side", right="the other"), note', set()),
        ("first/part/claims.py", "Equal(), note", "HasStructure(), note", {"first.one"}),
        ("shared.py", "2 * x", "2 * x * 3", {"first.one", "first.two"}),
        ("shared.py", "return 0", "return 1", {"first.one", "first.two"}),
        ("shared.py", "return sqrt(x)", "return -sqrt(x)", set()),
        ("shared.py", "def in_a_string(x):\n    return x", "def in_a_string(x):\n    return -x", {"first.one"}),
        ("shared.py", 'LARGE["n"] = 4', 'LARGE["n"] = 5', {"first.two"}),
    ],
)
def test_a_claim_is_what_its_functions_reach(folio: Path, path: str, old: str, new: str, changed: set[str]) -> None:
    claims = load("folio")
    before = {claim_id: fingerprint(claim) for claim_id, claim in claims.items()}
    text = (folio / path).read_text()
    assert text.count(old) == 1 or old == "in_a_string(x)"
    (folio / path).write_text(new.join(text.rsplit(old, 1)))
    fingerprints.forget()
    assert {claim_id for claim_id in claims if fingerprint(claims[claim_id]) != before[claim_id]} == changed


BESIDE = """
from typing import Annotated, Any
from verify.vocabulary import Claim, Equal, Paper, Real
import layers
from layers import first
from more_layers import *

PAPER = Paper("beside", "A paper", "nobody", "row-major")
ONE = Claim(PAPER, "beside.one", label="a", name="one", statement="x", relation=Equal())
TWO = Claim(PAPER, "beside.two", label="a", name="two", statement="x", relation=Equal())
THREE = Claim(PAPER, "beside.three", label="a", name="three", statement="x", relation=Equal())


@ONE.formula
def one(x: Annotated[Any, Real()]):
    return first(x)


@TWO.formula
def two(x: Annotated[Any, Real()]):
    return layers.second(x)


@THREE.formula
def three(x: Annotated[Any, Real()]):
    return third(x)
"""


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        ("layers.py", "return x", "return x + 1", {"beside.one", "beside.two"}),
        ("layers.py", "return -x", "return x", {"beside.two"}),
        ("more_layers.py", "return 2 * x", "return 3 * x", {"beside.three"}),
        ("more_layers.py", "UNUSED = 1", "UNUSED = 2", set()),
    ],
)
@pytest.mark.parametrize("folder", [".", "site-packages"])
def test_what_claims_are_about_counts_though_it_knows_nothing_of_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, file: str, old: str, new: str, changed: set[str]
) -> None:
    """Own layers beside a file of claims; of what is installed all of a module counts."""
    library = tmp_path / folder
    library.mkdir(exist_ok=True)
    (library / "layers.py").write_text("def first(x):\n    return x\n\n\ndef second(x):\n    return -x\n")
    (library / "more_layers.py").write_text("UNUSED = 1\n\n\ndef third(x):\n    return 2 * x\n")
    (tmp_path / "beside.py").write_text(BESIDE)
    for path in (tmp_path, library):
        monkeypatch.syspath_prepend(path)
    try:
        claims = load("beside")
        before = {claim_id: fingerprint(claim) for claim_id, claim in claims.items()}
        (library / file).write_text((library / file).read_text().replace(old, new, 1))
        fingerprints.forget()
        found = {claim_id for claim_id in claims if fingerprint(claims[claim_id]) != before[claim_id]}
        assert found == changed if folder == "." else found >= changed
    finally:
        for name in ("beside", "layers", "more_layers"):
            sys.modules.pop(name, None)
        fingerprints.forget()


PASSED_ON = {
    "passing/__init__.py": "from passing.named import first\nfrom .everything import *\n\n\ndef own(x):\n    return 5 * x\n",
    "passing/named.py": "def first(x):\n    return x\n",
    "passing/everything.py": "from passing.inner import *\n",
    "passing/inner.py": "from passing.everything import *\n\n\ndef second(x):\n    return 2 * x\n",
    "spaced/third.py": "def third(x):\n    return 3 * x\n",
    "passing/other.py": "def first(x):\n    return 7 * x\n",
}
PASSING = """
from typing import Annotated, Any
from verify.vocabulary import Claim, Equal, Paper, Real

PAPER = Paper("passing_claims", "A paper", "nobody", "row-major")
ONE = Claim(PAPER, "passing_claims.one", label="a", name="one", statement="x", relation=Equal())


@ONE.formula
def one(x: Annotated[Any, Real()]):
    LINES
"""


@pytest.mark.parametrize(
    ("lines", "file"),
    [
        ("import passing; return passing.first(x)", "passing/named.py"),
        ("import passing; return passing.second(x)", "passing/inner.py"),
        ("from passing import second; return second(x)", "passing/inner.py"),
        ("from passing import first; return first(x)", "passing/named.py"),
        ("import passing.named, passing.other; return passing.named.first(x)", "passing/named.py"),
        ("import passing.named; return passing.own(x)", "passing/__init__.py"),
        (
            "from passing.named import first\n    from passing.other import first\n    return first(x)",
            "passing/named.py",
        ),
        ("from spaced import third; return third.third(x)", "spaced/third.py"),
    ],
)
def test_what_a_package_passes_on_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str, file: str
) -> None:
    """A name may come through several modules, by stars that go round, from several places, and from a bare folder."""
    for name, text in {**PASSED_ON, "passing_claims.py": PASSING.replace("LINES", lines)}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    try:
        (claim,) = load("passing_claims").values()
        before = fingerprint(claim)
        (tmp_path / file).write_text((tmp_path / file).read_text().replace("return ", "return 1 + "))
        fingerprints.forget()
        assert fingerprint(claim) != before
    finally:
        for name in [name for name in sys.modules if name.startswith(("passing", "spaced"))]:
            del sys.modules[name]
        fingerprints.forget()


def test_a_change_is_seen_across_papers() -> None:
    """Every module of the collection that a claim imports from belongs to it: here a definition of another package."""
    claims = load("theorems")
    for claim in list(claims.values())[::25]:
        reached = {module for module, _ in fingerprints.reached_by(claim)}
        assert claim.module in reached
        used = {function.__module__ for function in claim.named_functions().values()}
        assert {module for module in used if module.startswith("theorems.")} <= reached


def test_what_a_file_says_is_kept_and_never_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = tmp_path / "module.py"
    file.write_text("import verify\nA = 1\nB = A + 1\n")
    first = source_of(file)
    (kept,) = (tmp_path / "cache").rglob("*.json")
    with monkeypatch.context() as patch:
        patch.setattr("verify.evidence.sources._taken_apart", lambda *given: pytest.fail("taken apart again"))
        assert source_of(file) == first and first.uses_engine and first.about["B"][0].mentions == {"A", "B"}
    file.write_text("A = 1\nB = A + 2\n")
    changed = source_of(file)
    assert changed.digest != first.digest and not changed.uses_engine
    assert changed.about["A"] == first.about["A"] and changed.about["B"] != first.about["B"]
    for damaged in ("", "[]", "{}", '{"key": 1}', kept.read_text()[:-20]):
        kept.write_text(damaged)
        assert source_of(file) == changed
    assert source_of(file, "package") == changed, "relative imports may differ, so it is taken apart again"
    assert len(list((tmp_path / "cache").rglob("*.json"))) == 2, "neither takes the place of the other"
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))  # no folder can be made there
    assert source_of(file) == changed
