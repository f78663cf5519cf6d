"""Evidence: append-only JSON lines, one record per finished check.

Each process appends to a file of its own and flushes every record to disk, so xdist workers, devices and runs never
contend, and a worker killed in mid-run loses only the check it was in.  Reading merges all files of a folder.
"""

from __future__ import annotations

import json
import math
import os
import time
import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from verify.checks.record import CERTIFIED, ERROR, SCHEMA, UNCERTIFIED, UPHELD, VIOLATED, Record
from verify.checks.settings import EFFORTS
from verify.vocabulary.errors import InputError


def as_json(value: Any) -> Any:
    """What JSON can hold: numbers that are not finite as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    return value


class EvidenceWriter:
    """Appends records to ``folder/<run>-<process>.jsonl``."""

    def __init__(self, folder: Path, run: str | None = None) -> None:
        self.folder = Path(folder)
        self.run = run or f"{time.strftime('%Y%m%dT%H%M%S')}-{uuid.uuid4().hex[:8]}"
        self.path = self.folder / f"{self.run}-{os.getpid()}.jsonl"

    def append(self, *records: Record) -> None:
        """Write each record as one line and force them to disk; `InputError` where that is impossible."""
        if not records:
            return
        for record in records:
            record.run, record.when = self.run, time.time()
        lines = b"".join(json.dumps(as_json(asdict(each)), allow_nan=False).encode() + b"\n" for each in records)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with open(self.path, "a+b") as file:
                # what a process that was killed left unfinished must not swallow this record
                torn = file.tell() > 0 and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n"
                file.write(b"\n" + lines if torn else lines)
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:
            raise _unusable(self.folder, "written to", problem) from None


def _unusable(folder: Path, how: str, problem: OSError) -> InputError:
    return InputError("evidence", f"a folder that can be {how}", f"{str(folder)!r} ({problem.strerror or problem})")


@dataclass
class Rejected:
    """A line of an evidence file that is not a record of this schema."""

    path: Path
    line: int
    reason: str


_NUMBERS = ("worst_residual", "tightest_ratio", "separation")
_REQUIRED = ("claim", "check", "arithmetic", "outcome", "fingerprint")
_TEXTS = (*_REQUIRED, "device", "message", "effort", "run")
_COUNTS = ("examples", "satisfied", "undefined", "seed")
_OUTCOMES = (UPHELD, VIOLATED, CERTIFIED, UNCERTIFIED, ERROR)
#: What stands once it was found.
FOUND = (VIOLATED, CERTIFIED)
_CERTIFICATE = ("title", "arithmetic", "formula", "oracle", "violation")


def parse(line: str) -> Record:
    """One line of evidence; raises ValueError, KeyError or TypeError for what is none."""
    data = json.loads(line)
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ValueError(f"not a record of schema {SCHEMA}")
    known = {item.name for item in fields(Record)}
    if set(data) - known:
        raise ValueError(f"unknown fields {sorted(set(data) - known)}")
    missing = [name for name in _REQUIRED if name not in data]
    if missing:
        raise ValueError(f"missing fields {missing}")
    for name in _NUMBERS:
        data[name] = None if data.get(name) is None else _real(name, data[name])
    for name in ("duration", "when"):
        data[name] = _real(name, data.get(name, 0.0))
        if not math.isfinite(data[name]):
            raise ValueError(f"{name}: expected a finite number; got {data[name]}")
    mutants = _of_type("mutants", data.get("mutants", {}), dict)
    for name, result in mutants.items():
        result["residual"] = _real(f"the residual of mutant {name!r}", result["residual"])
        _of_type(f"killed of mutant {name!r}", result["killed"], bool)
    record = Record(**data)
    for name in _TEXTS:
        _of_type(name, getattr(record, name), str)
    for name in _COUNTS:
        if _of_type(name, getattr(record, name), int) < 0:
            raise ValueError(f"{name}: expected a count; got {getattr(record, name)}")
    for name, number in _of_type("domains", record.domains, dict).items():
        _of_type(f"domain {name!r}", number, int)
    if record.outcome not in _OUTCOMES:
        raise ValueError(f"outcome: expected one of {_OUTCOMES}; got {record.outcome!r}")
    for item in _of_type("certificates", _of_type("details", record.details, dict).get("certificates", []), list):
        for name in _CERTIFICATE:
            _of_type(f"{name} of a certificate", item[name], str)
        _of_type("inputs of a certificate", item["inputs"], dict)
    return record


def _real(name: str, value: Any) -> float:
    """A number, or the text that stands for one that is not finite."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(f"{name}: expected a number; got {type(value).__name__}")
    return float(value)


def _of_type(name: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(f"{name}: expected {kind.__name__}; got {type(value).__name__}")
    return value


def read(folder: Path) -> tuple[list[Record], list[Rejected]]:
    """All records in `folder`, oldest first, and the lines that had to be rejected (a torn last line, a foreign file).

    A folder that does not exist holds no evidence; one that cannot be read, or is none, is an `InputError`.
    """
    records: list[Record] = []
    rejected: list[Rejected] = []
    try:
        paths = sorted(path for path in Path(folder).iterdir() if path.suffix == ".jsonl")
    except FileNotFoundError:
        return [], []
    except OSError as problem:
        raise _unusable(folder, "read", problem) from None
    for path in paths:
        if not path.is_file():
            rejected.append(Rejected(path, 0, "it is not a file"))
            continue
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError as problem:
            rejected.append(Rejected(path, 0, str(problem.strerror)))
            continue
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                records.append(parse(line))
            except KeyError as problem:
                rejected.append(Rejected(path, number, f"{problem.args[0]} is missing"))
            except (ValueError, TypeError, AttributeError, RecursionError) as problem:
                rejected.append(Rejected(path, number, str(problem)))
    records.sort(key=lambda record: record.when)
    return records, rejected


def current(records: Iterable[Record], fingerprints: dict[str, str]) -> list[Record]:
    """The records that speak about the code as it is now; evidence for changed formulas is stale and left out."""
    return [record for record in records if fingerprints.get(record.claim) == record.fingerprint]


def in_force(records: Iterable[Record]) -> list[Record]:
    """What counts of all that was found about the present code: one record of each check of each claim on each device.

    Records are given oldest first.  A crash counts until the check is run again.  A violation, at whatever seed and
    effort, counts until the code changes.  Otherwise the greatest effort counts, and of equal ones the newest.
    """
    found: dict[tuple[str, str, str], Record] = {}
    for record in records:
        place = (record.claim, record.check, record.device)
        if place not in found or _replaces(record, found[place]):
            found[place] = record
    return list(found.values())


def _replaces(later: Record, earlier: Record) -> bool:
    if later.outcome in FOUND or earlier.outcome in FOUND:
        return later.outcome in FOUND
    crashed = ERROR in (later.outcome, earlier.outcome)
    return crashed or rank_of(later.effort) >= rank_of(earlier.effort)


def rank_of(effort: str) -> int:
    """How hard an effort is, by its place among the known ones; -1 for others."""
    return list(EFFORTS).index(effort) if effort in EFFORTS else -1
