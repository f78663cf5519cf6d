"""Which implementations to check, from the table of a pyproject.toml or from text "subject=package.module:function".

[tool.verify.subjects]
"hessian.attention" = "mylib.layers:attention"
"osa.stiefel_uniform" = {implementation = "mylib.init:sampler", adapter = "mylib.adapters:sampler", effort = "ci"}
"transformer.masked_attention" = ["mylib.kernels:flash", "mylib.kernels:plain"]
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from verify.vocabulary.errors import InputError, shown

#: What an entry of the table may say besides the implementation.
OPTIONS = ("adapter", "claims", "effort", "dtypes", "device", "require", "sizes", "where", "accept")


def entries_of(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """The table [tool.verify.subjects] of ``folder/pyproject.toml``: subjects with keyword arguments of `verify.check`.

    Empty where there is no such file or table; raises `InputError` for a file that is no TOML, and for an entry that says
    something else.
    """
    path = folder / "pyproject.toml"
    if not path.is_file():
        return []
    # tomllib came with Python 3.11; pytest brings tomli before that
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        found = toml.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise InputError("pyproject.toml", "a file that can be read", f"{str(path)!r} ({problem.strerror})") from None
    except (ValueError, RecursionError) as problem:
        raise InputError("pyproject.toml", "a file of TOML", f"{str(path)!r} ({problem})") from None
    place = []
    for name in ("tool", "verify", "subjects"):
        place.append(name)
        found = found.get(name, {})
        if not isinstance(found, dict):
            raise InputError(".".join(place), "a table", shown(found))
    each = [(name, value if isinstance(value, list) else [value]) for name, value in found.items()]
    if empty := [name for name, values in each if not values]:
        raise InputError(f"tool.verify.subjects.{empty[0]}", "at least one implementation", "none")
    return [(name, _entry(name, value)) for name, values in each for value in values]


def _entry(name: str, value: Any) -> dict[str, Any]:
    place = f"tool.verify.subjects.{name}"
    entry = {"implementation": value} if isinstance(value, str) else value
    if not isinstance(entry, dict) or not isinstance(entry.get("implementation"), str):
        raise InputError(place, "'package.module:function', or a table with implementation", shown(value))
    unknown = sorted(set(entry) - {"implementation", *OPTIONS})
    if unknown:
        raise InputError(place, f"implementation and any of {list(OPTIONS)}", f"also {unknown}")
    for option, given in entry.items():
        if option == "dtypes":
            if not isinstance(given, list) or not given or not all(isinstance(dtype, str) for dtype in given):
                raise InputError(f"{place}.dtypes", "a list of precisions by name", shown(given))
        elif option == "sizes" or (option in ("claims", "require", "accept") and isinstance(given, list)):
            continue  # looked at with the other arguments
        elif not isinstance(given, str) and not (option == "adapter" and isinstance(given, dict)):
            raise InputError(
                f"{place}.{option}",
                "text" + (", or a table with call and options" if option == "adapter" else ""),
                shown(given),
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
        with contextlib.suppress(ValueError):  # what was imported may have changed the path
            sys.path.remove(str(folder))
