"""What several commands say in the same words."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from verify.vocabulary.errors import InputError

if TYPE_CHECKING:
    from verify.evidence.store import Rejected
    from verify.report import Report

#: Colours of a terminal, by verdict and by what is printed of it.
COLOURS = {
    "holds": "32", "reading": "34", "empirical": "36", "gap": "33", "refuted": "31", "open": "35", "title": "1",
    "alarm": "1;31",
}  # fmt: skip


def add_globs(parser: argparse.ArgumentParser) -> None:
    """Let a command take any number of globs; none means every claim."""
    globs = parser.add_argument("claims", nargs="*", default=["*"], metavar="GLOB", help="only ids that match any")
    globs.completer = ids  # type: ignore[attr-defined]  # read by argcomplete


def add_jobs(parser: Any, what: str = "worker processes") -> None:
    """Let a command, or a group of its options, take a number of processes."""
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help=f"{what} (default: all cores)")


def require_jobs(jobs: int) -> None:
    """Raise `InputError` for no process at all."""
    if jobs < 1:
        raise InputError("--jobs", "at least 1", str(jobs))


def ids(parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """The ids of all claims, for the completion of a shell."""
    from verify.vocabulary.registry import load

    return list(load(parsed_args.package))


def painted(text: str, colour: str) -> str:
    """Text in a colour of `COLOURS`, on a terminal whose user did not set NO_COLOR; as it is elsewhere."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty()
    return text if plain else f"\x1b[{COLOURS[colour]}m{text}\x1b[0m"


def fitted(text: str, taken: int) -> str:
    """Text cut to what is left of a terminal's line; as it is where the output goes elsewhere."""
    if not sys.stdout.isatty():
        return text
    room = shutil.get_terminal_size().columns - taken
    return text if len(text) <= room else text[: max(room - 1, 0)] + "…"


def tell_missing(report: Report) -> None:
    """Say on stderr what `verify run` has still to find."""
    if report.released:
        text = next(item.text for item in report.shortfalls if item.claims == report.released)
        print(text, file=sys.stderr)
    without = [claim_id for claim_id in report.claims if not report.records_of[claim_id]]
    if not without:
        return
    how_many = f"{len(without)} of {len(report.claims)} claims have "
    which = "" if len(without) == len(report.claims) else how_many
    about = "evidence about the present code" if report.outdated else "evidence yet"
    print(f"{which}no {about}: run `verify run`", file=sys.stderr)


def tell_rejected(rejected: Sequence[Rejected]) -> None:
    """Name on stderr the lines of evidence that could not be read."""
    for item in rejected:
        print(f"rejected evidence: {item.path}:{item.line}: {item.reason}", file=sys.stderr)


def one_of(option: str, value: str | None, allowed: set[str]) -> None:
    """Raise `InputError` for an option whose value is not allowed."""
    if value is not None and value not in allowed:
        raise InputError(option, f"one of {sorted(allowed)}", repr(value))
