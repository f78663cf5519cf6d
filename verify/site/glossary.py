"""Every word that the report uses in a sense of its own, as `glossary.md` beside this module explains it.

A line there is ``- address | word | meaning``, under the heading of its section.
"""

from __future__ import annotations

import functools
from pathlib import Path

_SOURCE = Path(__file__).with_name("glossary.md")


@functools.cache
def by_section() -> dict[str, list[tuple[str, str, str]]]:
    """Entries as (address on the glossary's page, word, meaning) under their headings."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for line in _SOURCE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            entries = found.setdefault(line.removeprefix("## "), [])
        elif line.startswith("- "):
            address, word, meaning = line.removeprefix("- ").split(" | ")
            entries.append((address, word, meaning))
    return found


@functools.cache
def addresses() -> frozenset[str]:
    """Addresses of the entries, for links from other pages."""
    return frozenset(address for entries in by_section().values() for address, _, _ in entries)
