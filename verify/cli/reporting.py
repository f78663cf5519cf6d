"""The report: report, open."""

from __future__ import annotations

import argparse
import fnmatch
import os
import sys
import webbrowser
from pathlib import Path
from typing import Any, TextIO

from verify.cli.shared import add_jobs, ids, painted, require_jobs, tell_missing, tell_rejected
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
        "--docs",
        metavar="URL",
        help="where its pages find the docs (default: the folder docs in it, if `make docs` made it)",
    )
    add_jobs(reporting, "processes that make pages")
    reporting.set_defaults(command=_report)

    releasing = commands.add_parser(
        "release", help="keep the evidence about this code beside the claims, to be shown where nothing was run"
    )
    releasing.set_defaults(command=_release)

    opening = commands.add_parser("open", help="show the report's web site in a browser")
    opening.add_argument("id", nargs="?", help="the page of this claim (default: the front page)").completer = ids  # type: ignore[attr-defined]
    opening.add_argument("--out", type=Path, default=REPORT, help=f"folder of the report (default: {REPORT})")
    opening.set_defaults(command=_open)


def _report(options: argparse.Namespace) -> int:
    from verify.evidence.verdicts import disagreements
    from verify.report import build, counts, restricted, write
    from verify.report.baseline import changes, read_baseline
    from verify.report.history import extended, read_log
    from verify.site import require_libraries, write_site

    registry = load(options.package)
    require_jobs(options.jobs)
    chosen = registry.matching(options.claims)
    baseline = read_baseline(options.baseline) if options.baseline else None
    if options.pdf and options.no_site:
        raise InputError("--pdf", "a report with its site", "--no-site")
    if not options.no_site:
        require_libraries()
    _require_folder(options.out)
    everything = build(registry, options.evidence, released=True)
    if not everything.records:
        raise InputError(
            "evidence", "evidence to report, which `verify run` gathers", f"none in {str(options.evidence)!r}"
        )
    report = restricted(everything, chosen)
    compared, log = None, read_log(options.out)
    if baseline is not None:
        compared = changes(report, baseline, lambda claim_id: fnmatch.fnmatchcase(claim_id, options.claims))
        log = extended(log, report, baseline, compared)
    try:
        written = write(report, options.out, compared, log)
        if not options.no_site:
            show = _Counter(sys.stderr).show
            site = write_site(
                report, options.out, show, compared, options.jobs, options.package, log, options.pdf, options.docs
            )
            written.insert(0, site)
    except OSError as problem:
        raise _unwritable(options.out, f"{problem.filename}: {problem.strerror}") from None
    print(", ".join(f"{number} {status}" for status, number in counts(report.verdicts).items()))
    judged = {claim_id: claim for claim_id, claim in report.claims.items() if claim_id in everything.judged}
    for line in disagreements(judged, report.found_here or report.verdicts):
        print(f"{painted('DISAGREES', 'alarm')}  {line}")
    tell_missing(report)
    tell_rejected(report.rejected)
    for change in compared or []:
        print(f"{'CHANGED' if change.verdict else 'news':9s}  {change.text}")
    print("\n".join(map(str, written)))
    return 1 if report.disagreements or any(change.verdict for change in compared or []) else 0


def _release(options: argparse.Namespace) -> int:
    from verify.evidence.data_files import data_file
    from verify.evidence.fingerprints import fingerprint
    from verify.evidence.released import FILE, read_released, write_released
    from verify.evidence.store import current, in_force, read
    from verify.evidence.verdicts import disagreements, judge_all
    from verify.report.provenance import provenance
    from verify.report.wording import counted

    registry = load(options.package)
    found = in_force(current(read(options.evidence)[0], {claim.id: fingerprint(claim) for claim in registry.values()}))
    for package in dict.fromkeys(claim.package for claim in registry.values()):
        claims = {claim.id: claim for claim in registry.values() if claim.package == package}
        path = data_file(package, FILE)
        here = [record for record in found if record.claim in claims]
        renewed, before = {record.claim for record in here}, read_released(path)
        kept = [record for claim_id, own in (before.records if before else {}).items()
                if claim_id in claims and claim_id not in renewed for record in own]  # fmt: skip
        if wrong := disagreements({name: claims[name] for name in renewed}, judge_all(registry, [*found, *kept])):
            print("\n".join(f"{painted('DISAGREES', 'alarm')}  {line}" for line in wrong))
            raise InputError(
                "evidence",
                "evidence that agrees with the source",
                f"{counted(len(wrong), 'claim')} with evidence that disagrees",
            )
        about = provenance(here, package)
        write_released(
            path, {name: about[name] for name in ("version", "commit", "python", "libraries")}, [*here, *kept]
        )
        older, absent = len({record.claim for record in kept}), len(claims) - len(renewed | {r.claim for r in kept})
        print(f"{path}: {counted(len(renewed), 'claim')} renewed, {older} kept from before, {absent} without evidence")
    return 0


def _require_folder(folder: Path) -> None:
    """Raise `InputError` unless `folder` can be written to or made, before minutes are spent on what goes there."""
    place = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    if not (place.is_dir() and os.access(place, os.W_OK | os.X_OK)):
        why = "which cannot be written to" if place.is_dir() else "which is no folder"
        raise _unwritable(folder, f"{str(place)!r}, {why}")


def _unwritable(folder: Path, why: str) -> InputError:
    return InputError("--out", "a folder that can be written to", f"{str(folder)!r} ({why})")


def _open(options: argparse.Namespace) -> int:
    page = options.out / "index.html"
    if options.id is not None:
        claim_id = load(options.package)[options.id].id
        page = options.out / "claims" / f"{claim_id}.html"
    if not page.is_file():
        raise InputError("--out", "a folder with the web site of `verify report`", f"no {page}")
    print(page)
    if not webbrowser.open(page.resolve().as_uri()):
        print("no browser could be opened", file=sys.stderr)
        return 1
    return 0


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
