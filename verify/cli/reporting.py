"""The report: report."""

from __future__ import annotations

import argparse
import fnmatch
import os
import sys
from pathlib import Path
from typing import Any, TextIO

from verify.cli.shared import tell_rejected
from verify.vocabulary.errors import InputError
from verify.vocabulary.registry import load

REPORT = Path("report")


def add_commands(commands: Any) -> None:
    """Add these commands to the subparsers of the command line."""
    reporting = commands.add_parser(
        "report", help="write the report from the evidence: a web site, JSON, Markdown, JUnit"
    )
    reporting.add_argument("--claims", default="*", metavar="GLOB", help="only ids that match")
    reporting.add_argument("--out", type=Path, default=REPORT, help=f"folder to write to (default: {REPORT})")
    reporting.add_argument(
        "--baseline", type=Path, metavar="REPORT.JSON", help="print what changed since; status 1 if a verdict did"
    )
    reporting.add_argument(
        "--pdf", action="store_true", help="print the errata as PDF too, by LaTeX or else by a browser"
    )
    reporting.add_argument("--no-site", action="store_true", help="only report.json, report.md, summary.md, junit.xml")
    reporting.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes that make pages (default: all cores)"
    )
    reporting.set_defaults(command=_report)


def _report(options: argparse.Namespace) -> int:
    from verify.report import build, counts, restricted, write
    from verify.report.baseline import changes, read_baseline
    from verify.report.history import extended, read_log
    from verify.site import require_libraries, write_site

    registry = load(options.package)
    if options.jobs < 1:
        raise InputError("--jobs", "at least 1", str(options.jobs))
    chosen = registry.matching(options.claims)
    baseline = read_baseline(options.baseline) if options.baseline else None
    if options.pdf and options.no_site:
        raise InputError("--pdf", "a report with its site", "--no-site")
    if not options.no_site:
        require_libraries()
    report = restricted(build(registry, options.evidence), chosen)
    compared, log = None, read_log(options.out)
    if baseline is not None:
        compared = changes(report, baseline, lambda claim_id: fnmatch.fnmatchcase(claim_id, options.claims))
        log = extended(log, report, baseline, compared)
    written = write(report, options.out, compared, log)
    if not options.no_site:
        progress = _Counter(sys.stderr).show
        written.insert(
            0, write_site(report, options.out, progress, compared, options.jobs, options.package, log, options.pdf)
        )
    print(", ".join(f"{number} {status}" for status, number in counts(report.verdicts).items()))
    for line in report.disagreements:
        print(f"DISAGREES  {line}")
    tell_rejected(report.rejected)
    for change in compared or []:
        print(f"{'CHANGED' if change.verdict else 'news':9s}  {change.text}")
    print("\n".join(map(str, written)))
    return 1 if report.disagreements or any(change.verdict for change in compared or []) else 0


class _Counter:
    """Pages written so far: rewritten in place on a terminal, now and then elsewhere."""

    def __init__(self, stream: TextIO, every: int = 100) -> None:
        self.stream, self.every, self.live, self.told = stream, every, stream.isatty(), 0

    def show(self, done: int, total: int) -> None:
        if self.live:
            self.stream.write(f"\r{done} of {total} pages" + ("\n" if done == total else ""))
        elif done // self.every > self.told:
            self.told = done // self.every
            self.stream.write(f"{done} of {total} pages\n")
        self.stream.flush()
