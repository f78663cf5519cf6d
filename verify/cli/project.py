"""What the folder in which a command runs says of itself: the packages that declare its claims, and where they lie."""

from __future__ import annotations

import configparser
import importlib
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verify.vocabulary.errors import InputError

#: Where pytest looks for its settings, in this order, and the table in which they stand.
FILES = {
    "pytest.toml": ("pytest",), ".pytest.toml": ("pytest",), "pytest.ini": ("pytest",), ".pytest.ini": ("pytest",),
    "pyproject.toml": ("tool", "pytest"), "tox.ini": ("pytest",), "setup.cfg": ("tool:pytest",),
}  # fmt: skip


@dataclass(frozen=True)
class Project:
    """The settings `verify_packages` and `pythonpath` of pytest, the second as folders."""

    packages: tuple[str, ...] = ()
    paths: tuple[Path, ...] = ()


def project_of(folder: Path) -> Project:
    """What the first file of `folder` says that holds settings of pytest; raises `InputError` for one that cannot be read."""
    for name, table in FILES.items():
        path = folder / name
        if path.is_file() and (settings := _settings(path, table)) is not None:
            packages, paths = (_words(settings.get(setting, ())) for setting in ("verify_packages", "pythonpath"))
            return Project(packages, tuple(folder / path for path in paths))
    return Project()


def _settings(path: Path, table: tuple[str, ...]) -> Mapping[str, Any] | None:
    """The table of a file; None where there is none."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            # tomllib came with Python 3.11; pytest brings tomli before that
            toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
            found: Any = toml.loads(text)
            for key in table:
                found = found.get(key, {})
                if not isinstance(found, dict):
                    return None  # what reads that table names it
            return found.get("ini_options", found) or None
        parser = configparser.ConfigParser(interpolation=None)
        parser.read_string(text)
        return parser[table[0]] if parser.has_section(table[0]) else None
    except (OSError, ValueError, AttributeError, RecursionError, configparser.Error) as problem:
        raise InputError(str(path), "settings that can be read", next(iter(str(problem).splitlines()), "")) from None


def _words(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(shlex.split(value))
    if not isinstance(value, (list, tuple)) or not all(isinstance(word, str) for word in value):
        raise InputError("verify_packages or pythonpath", "text, or a list of text", repr(value))
    return tuple(value)
