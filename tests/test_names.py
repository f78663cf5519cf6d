"""One word, one thing: no two modules of the engine have one name, and no two of its classes."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.kept("verify")

ENGINE = Path(__file__).parents[1] / "verify"
#: The checker is read by itself and imports nothing of the engine, so that its classes may be called what others are.
APART = "kernel"


def modules() -> list[Path]:
    """The modules of the engine that can be mistaken for each other; a package is known by its folder."""
    return [path.relative_to(ENGINE) for path in ENGINE.rglob("*.py") if not path.name.startswith("__")]


def stem(path: Path) -> str:
    """The name of a module without what makes it a plural: `proof` and `proofs` are one name."""
    return path.stem.removesuffix("s")


def twice(places: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The names that stand at more than one place."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, place in places:
        found[name].append(place)
    return {name: where for name, where in found.items() if len(where) > 1}


def classes(path: Path) -> Iterator[tuple[str, str]]:
    """The classes at the top of a module that others may use."""
    for node in ast.parse((ENGINE / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, str(path)


def test_no_two_modules_have_one_name() -> None:
    assert twice((stem(path), str(path)) for path in modules()) == {}


def test_no_two_classes_have_one_name() -> None:
    others = (path for path in modules() if path.parts[0] != APART)
    assert twice(item for path in others for item in classes(path)) == {}


def test_names_that_stand_twice_are_found() -> None:
    places = [Path("checks/proofs.py"), Path("arithmetics/proof.py"), Path("gate/bias.py")]
    assert twice((stem(path), str(path)) for path in places) == {"proof": ["checks/proofs.py", "arithmetics/proof.py"]}
    assert len(modules()) > 150 and len(list(classes(Path("gate/autograd.py")))) > 1
