"""Which implementations to check, from the table of a pyproject.toml or from text "subject=package.module:function".

[tool.verify.subjects]
"hessian.attention" = "mylib.layers:attention"
"osa.stiefel_uniform" = {implementation = "mylib.init:sampler", adapter = "mylib.adapters:sampler", effort = "ci"}
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from verify.vocabulary.errors import InputError

#: What an entry of the table may say besides the implementation.
OPTIONS = ("adapter", "claims", "effort", "dtypes", "device")


def entries_of(folder: Path) -> dict[str, dict[str, Any]]:
    """The table [tool.verify.subjects] of ``folder/pyproject.toml``: keyword arguments of `verify.check` by subject.

    Empty where there is no such file or table; raises `InputError` for an entry that says something else.
    """
    path = folder / "pyproject.toml"
    if not path.is_file():
        return {}
    # tomllib came with Python 3.11; pytest brings tomli before that
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    table = toml.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("verify", {}).get("subjects", {})
    return {name: _entry(name, value) for name, value in table.items()}


def _entry(name: str, value: Any) -> dict[str, Any]:
    entry = {"implementation": value} if isinstance(value, str) else value
    if not isinstance(entry, Mapping) or not isinstance(entry.get("implementation"), str):
        raise InputError(
            f"tool.verify.subjects.{name}", "'package.module:function', or a table with implementation", repr(value)
        )
    unknown = sorted(set(entry) - {"implementation", *OPTIONS})
    if unknown:
        raise InputError(
            f"tool.verify.subjects.{name}", f"implementation and any of {list(OPTIONS)}", f"also {unknown}"
        )
    return dict(entry)


def entry_of_text(text: str) -> tuple[str, dict[str, Any]]:
    """The subject and arguments of "subject=package.module:function"; raises `InputError` for other text."""
    name, equals, implementation = text.partition("=")
    if not equals or ":" not in implementation:
        raise InputError("--subject", "SUBJECT=package.module:function", repr(text))
    return name, {"implementation": implementation}


@contextlib.contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Let modules of `folder` be imported inside the block, as they would be by python -m."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
