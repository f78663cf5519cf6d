"""Which verdicts changed when: a log that grows with every report that is compared with an earlier one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from verify.report.baseline import Change
from verify.report.model import Report
from verify.vocabulary.errors import InputError

#: The log in a report's folder: as data, which the next report reads, and to be read.
LOG, LOG_MARKDOWN = "changes.json", "changes.md"


@dataclass(frozen=True)
class Changes:
    """What changed between two reports: when the evidence of each was complete, their commits, the changed verdicts."""

    since: str | None
    when: str | None
    since_commit: str | None
    commit: str | None
    changed: tuple[tuple[str, str], ...]  #: claim, and what became of it
    news: int  #: claims that are new or have another grade

    @property
    def title(self) -> str:
        """The two dates in words."""
        return f"{_day(self.when)}, against {_day(self.since)}"


def _day(moment: str | None) -> str:
    return moment.replace("T", " ")[:16] + " UTC" if moment else "a report without a date"


def read_log(folder: Path) -> list[Changes]:
    """The log of the report that stands in a folder, the latest first; raises `InputError` where it cannot be read."""
    path = folder / LOG
    if not path.is_file():
        return []
    try:
        return [
            Changes(**{**item, "changed": tuple(map(tuple, item["changed"]))}) for item in json.loads(path.read_text())
        ]
    except (ValueError, TypeError, KeyError) as problem:
        wanted = "the log of changed verdicts that `verify report` wrote (move it away to begin another)"
        raise InputError(str(path), wanted, f"a file that cannot be read as one ({problem})") from None


def extended(log: list[Changes], report: Report, baseline: Mapping[str, Any], changes: list[Change]) -> list[Changes]:
    """The log with the differences to a baseline in front; the same comparison, made again, takes its former place."""
    before = baseline.get("provenance") or {}
    entry = Changes(
        since=(before.get("evidence") or [None])[-1],
        when=(report.provenance["evidence"] or [None])[-1],
        since_commit=before.get("commit"),
        commit=report.provenance["commit"],
        changed=tuple((change.claim, change.text) for change in changes if change.verdict),
        news=sum(not change.verdict for change in changes),
    )
    others = [item for item in log if _between(item) != _between(entry)]
    return sorted([entry, *others], key=lambda item: item.when or "", reverse=True)


def _between(entry: Changes) -> tuple[str | None, ...]:
    return entry.since, entry.when, entry.since_commit, entry.commit


def log_json(log: list[Changes]) -> str:
    """The log as data."""
    return json.dumps([asdict(entry) for entry in log], indent=1) + "\n"


def log_markdown(log: list[Changes]) -> str:
    """The log as Markdown, the latest first."""
    lines = ["# Changed verdicts", ""]
    for entry in log:
        lines += [f"## {entry.title}", ""]
        commits = [f"`{commit}`" for commit in (entry.since_commit, entry.commit) if commit]
        lines += [f"Commits: {' to '.join(commits)}.", ""] if commits else []
        lines += [f"- {text}" for _, text in entry.changed] or ["No verdict changed."]
        lines += ["", f"New or of another grade: {entry.news}.", ""]
    return "\n".join(lines)
