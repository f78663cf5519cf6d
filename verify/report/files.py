"""Writing files so that no reader ever sees half of one."""

from __future__ import annotations

import json
from pathlib import Path

from verify.report.baseline import Change
from verify.report.data import as_json
from verify.report.history import LOG, LOG_MARKDOWN, Changes, log_json, log_markdown
from verify.report.junit import as_junit
from verify.report.markdown import as_markdown, as_summary
from verify.report.model import Report


def write(
    report: Report, folder: Path, changes: list[Change] | None = None, log: list[Changes] | None = None
) -> list[Path]:
    """Write report.json, report.md, summary.md, junit.xml and a log of changed verdicts into `folder`; returns their paths."""
    forms = {
        "report.json": json.dumps(as_json(report), indent=1, allow_nan=False) + "\n",
        "report.md": as_markdown(report),
        "summary.md": as_summary(report, changes),
        "junit.xml": as_junit(report),
    }
    if log:
        forms |= {LOG: log_json(log), LOG_MARKDOWN: log_markdown(log)}
    for name, content in forms.items():
        replace_file(folder / name, content)
    return [folder / name for name in forms]


def replace_file(path: Path, content: str) -> None:
    """Write a file beside its place, then put it there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(content, encoding="utf-8")
    temporary.replace(path)
