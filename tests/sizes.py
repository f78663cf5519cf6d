"""How large the engine is, as docs/engine.md says: lines, names of modules, and the way of a claim through a proof."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from verify.checks import checks_of
from verify.checks.settings import settings_for
from verify.vocabulary import Claim

ROOT = Path(__file__).resolve().parents[1]
#: The checker, which is read by itself.
CHECKER = "kernel"


def modules(folder: str) -> list[Path]:
    """The modules of a package, its folders included, without those that only have a folder's name."""
    return [path for path in sorted((ROOT / folder).rglob("*.py")) if not path.name.startswith("__")]


def lines(folder: str) -> int:
    """The lines of all modules of a package."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / folder).rglob("*.py"))


def shared_names() -> list[str]:
    """Names that a module of the engine has in common with one of the theorems."""
    return sorted({path.stem for path in modules("verify")} & {path.stem for path in modules("theorems")})


class Way(NamedTuple):
    """Which modules and functions of the engine are handed a claim, and how often it comes back to a module that it left."""

    modules: int
    functions: int
    returns: int


def way_of(claim: Claim) -> Way:
    """The way of a claim through its check `proved`: calls of the engine's functions that have the claim as an argument.

    A call from one module into another is a step, and one into a module that an earlier step left is a return.
    """
    settings = settings_for("quick", 0)
    check = next(check for check in checks_of(claim, settings) if check.name == "proved")
    calls: list[tuple[str, str]] = []

    def seen(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or code.co_name.startswith("<") or not code.co_filename.startswith(str(ROOT / "verify")):
            return
        arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if any(name != "self" and frame.f_locals.get(name) is claim for name in arguments):
            calls.append((code.co_filename, code.co_name))

    sys.setprofile(seen)
    try:
        check.run(claim, settings)
    finally:
        sys.setprofile(None)
    steps = [path for path, _ in itertools.groupby(path for path, _ in calls)]
    return Way(len(set(steps)), len(set(calls)), len(steps) - len(set(steps)))
