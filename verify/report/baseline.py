"""What changed against an earlier report.json."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verify.report.model import Report, status_of
from verify.vocabulary.errors import InputError, shown

#: What is read of a claim, and its types.
_FIELDS = {"id": (str,), "verdict": (str,), "why": (str,), "grade": (str, type(None)), "severity": (str, type(None))}


@dataclass(frozen=True)
class Change:
    """One difference; `verdict` is set where a verdict changed or a claim is gone, which is more than news."""

    claim: str
    text: str
    verdict: bool


def read_baseline(path: Path) -> dict[str, Any]:
    """An earlier report.json of any schema; raises `InputError` where the file is none."""
    wanted = "a report.json that `verify report` wrote"
    try:
        data = json.loads(path.read_bytes())
    except OSError as problem:
        raise InputError("--baseline", wanted, f"{str(path)!r} ({problem.strerror})") from None
    except (ValueError, RecursionError) as problem:
        raise InputError("--baseline", wanted, f"{str(path)!r}, which is not JSON ({problem})") from None
    schema = data.get("schema") if isinstance(data, dict) else None
    claims = data.get("claims") if isinstance(schema, int) and not isinstance(schema, bool) else None
    if not isinstance(claims, list) or not all(isinstance(item, dict) and set(_FIELDS) <= set(item) for item in claims):
        raise InputError("--baseline", wanted, f"{str(path)!r}, which has no list of claims with {sorted(_FIELDS)}")
    ids: set[str] = set()
    for number, item in enumerate(claims):
        for name, kinds in _FIELDS.items():
            if not isinstance(item[name], kinds):
                got = f"{str(path)!r}, whose claim {number} has {name} {shown(item[name], 80)}"
                raise InputError("--baseline", f"{wanted}, {name} text{' or null' * (len(kinds) > 1)}", got)
        if item["id"] in ids:
            raise InputError("--baseline", wanted, f"{str(path)!r}, which lists {item['id']!r} twice")
        ids.add(item["id"])
    return dict(data)


def changes(
    report: Report, baseline: Mapping[str, Any], chosen: Callable[[str], bool] = lambda claim_id: True
) -> list[Change]:
    """Differences claim by claim, changed verdicts first, among the claims whose ids are `chosen`."""
    before = {item["id"]: item for item in baseline["claims"] if chosen(item["id"])}
    found = []
    for claim_id, old in before.items():
        if claim_id not in report.claims:
            found.append(Change(claim_id, f"{claim_id}: was {_status(old)}, and is no claim any more", True))
            continue
        verdict = report.verdicts[claim_id]
        was, now = _status(old), status_of(verdict)
        if was != now:
            text = f"{claim_id}: {was} -> {now}; before: {old['why']}; now: {verdict.why}"
            found.append(Change(claim_id, text, True))
        elif old["grade"] != verdict.grade:
            found.append(Change(claim_id, f"{claim_id}: still {now}; grade {old['grade']} -> {verdict.grade}", False))
    for claim_id in report.claims:
        if claim_id not in before:
            now = status_of(report.verdicts[claim_id])
            found.append(Change(claim_id, f"{claim_id}: new, {now}", False))
    return sorted(found, key=lambda change: not change.verdict)


def _status(item: Mapping[str, Any]) -> str:
    return item["verdict"] if item["severity"] is None else f"{item['verdict']} ({item['severity']})"
