"""Where a report comes from: code, libraries, machine, and the options of the runs that its evidence is from."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from verify.checks.record import Record

#: Distributions whose versions matter to the numbers.
LIBRARIES = ("torch", "python-flint", "numpy", "sympy", "mpmath", "hypothesis")


def provenance(records: Iterable[Record], package: str | None) -> dict[str, Any]:
    """Commit, versions, platform, and what the evidence was gathered with; null where something is not known."""
    found = list(records)
    times = [record.when for record in found if record.when]
    return {
        "version": version_of(package),
        "commit": _commit(package),
        "python": platform.python_version(),
        "libraries": {name: _version(name) for name in LIBRARIES},
        "platform": platform.platform(),
        "machine": platform.machine(),
        "efforts": sorted({record.effort for record in found if record.effort}),
        "seeds": sorted({record.seed for record in found}),
        "devices": sorted({record.device for record in found}),
        "evidence": [_utc(min(times)), _utc(max(times))] if times else None,
        "checks": len(found),
        "seconds": round(sum(record.duration for record in found), 1),
    }


def _utc(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def version_of(package: str | None) -> str | None:
    """The version of the distribution that a package belongs to; None where none is installed.

    Most distributions say in a line which packages they bring.  Of the others only those are asked for the list of their
    files that lie beside the package: to read all lists takes longer than to write a small report.
    """
    spec = importlib.util.find_spec(package) if package else None
    if spec is None or package is None:
        return None
    silent = []
    for distribution in importlib.metadata.distributions():
        declared = (distribution.read_text("top_level.txt") or "").split()
        if package in declared:
            return distribution.version
        if not declared:
            silent.append(distribution)
    places = [Path(place).parent for place in spec.submodule_search_locations or [spec.origin or ""]]
    for distribution in silent:
        if Path(str(distribution.locate_file(""))) in places:
            names = {file.parts[0] for file in distribution.files or ()}
            if package in names or f"{package}.py" in names:
                return distribution.version
    return None


def _commit(package: str | None) -> str | None:
    """The commit of the package's folder, with a plus sign where files have changed since; None outside a repository."""
    spec = importlib.util.find_spec(package) if package else None
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    try:
        head, changed = (
            subprocess.run(
                ["git", "-C", str(folder), *command], capture_output=True, text=True, timeout=10, check=True
            ).stdout.strip()
            for command in (("rev-parse", "HEAD"), ("status", "--porcelain", "--untracked-files=no"))
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return head + "+" * bool(changed)
