"""Evidence that a release carries: `released.jsonl.xz` beside the claims of a package, one record per line after a first line.

A fresh install shows the verdicts that follow from it until checks are run there.  It decides nothing: runs, gates and
exit statuses look at what was run.
"""

from __future__ import annotations

import functools
import json
import lzma
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from verify.checks.record import Record
from verify.evidence.store import as_json, parse
from verify.vocabulary.errors import InputError

FILE = "released.jsonl.xz"
#: Details that only further searches read.
_LEFT_OUT = ("witnesses",)


@dataclass(frozen=True)
class Released:
    """What a release says of itself (`version`, `provenance`), and its records by claim."""

    about: Mapping[str, Any]
    records: Mapping[str, list[Record]]

    @property
    def version(self) -> str:
        return str(self.about.get("version", "unknown"))


def read_released(path: Path) -> Released | None:
    """The evidence of a release; None where there is no such file, `InputError` for one that cannot be read."""
    if not path.is_file():
        return None
    return _read(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=8)
def _read(path: Path, changed: int) -> Released:
    try:
        first, *lines = lzma.decompress(path.read_bytes()).decode().splitlines()
        about, records = json.loads(first), [parse(line) for line in lines]
    except (OSError, lzma.LZMAError, ValueError, TypeError, KeyError) as problem:
        raise InputError(
            str(path), "evidence that `verify release` wrote", f"a file that cannot be read ({problem})"
        ) from None
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record.claim, []).append(record)
    return Released(about, found)


def write_released(path: Path, about: Mapping[str, Any], records: Iterable[Record]) -> None:
    """Write the evidence of a release; equal evidence gives equal bytes."""
    lines = [json.dumps(about, sort_keys=True)]
    for record in sorted(records, key=lambda item: (item.claim, item.check, item.device)):
        data = asdict(record)
        data["details"] = {name: value for name, value in record.details.items() if name not in _LEFT_OUT}
        lines.append(json.dumps(as_json(data), sort_keys=True, allow_nan=False))
    part = path.with_name(path.name + ".part")
    part.write_bytes(lzma.compress(("\n".join(lines) + "\n").encode(), preset=9 | lzma.PRESET_EXTREME))
    part.replace(path)
