"""The commands `verify subjects`, `verify check` and `verify survey`."""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import re
import sys
from pathlib import Path
from typing import Any

from verify.gate.expected import Expected
from verify.gate.findings import COMPARISONS, DEFINITION, NOT_OK, UNDECIDED, SubjectReport
from verify.vocabulary.errors import InputError

#: The exit status where an implementation is broken, and where none is but something is undecided.
BROKEN_STATUS, UNDECIDED_STATUS = 1, 3
#: Seconds for all checks of one implementation, which take a few at effort quick.
TIMEOUT, DEEP_TIMEOUT = 600.0, 6000.0


def add_gate_commands(commands: Any) -> None:
    """Add both commands to the subparsers of the command line."""
    listing = commands.add_parser("subjects", help="definitions that other implementations can stand in for")
    listing.add_argument("subjects", nargs="?", default="*", metavar="GLOB", help="only names that match")
    listing.set_defaults(command=_subjects)

    checking = commands.add_parser("check", help="which theorems an implementation satisfies, and which it breaks")
    checking.add_argument("subject", nargs="?", help="a subject (default: all of [tool.verify.subjects])")
    checking.add_argument(
        "implementation", nargs="?", metavar="MODULE:FUNCTION", help="or '$NAME', an environment variable that says so"
    )
    checking.add_argument("--adapter", metavar="MODULE:FUNCTION", help="what gives it the parameters of the subject")
    checking.add_argument("--claims", default="*", metavar="GLOB", help="only claims whose id matches")
    checking.add_argument(
        "--require",
        action="append",
        default=[],
        metavar="WHAT",
        help="derivatives, or a glob: what is not decided of these fails",
    )
    checking.add_argument(
        "--accept", action="append", default=[], metavar="WHAT", help="derivatives, or a glob: these may stay undecided"
    )
    checking.add_argument(
        "--sizes",
        action="append",
        default=[],
        metavar="NAME=N|NAME=LOW:HIGH",
        help="sizes that it admits, by the names that `verify subjects` prints; may be repeated",
    )
    checking.add_argument("--where", metavar="MODULE:FUNCTION", help="a condition on the sizes that it admits")
    checking.add_argument("--effort", default="quick", help="quick, ci or deep (default: quick)")
    checking.add_argument("--dtype", action="append", help="float64, float32 (default: both), bfloat16, float16")
    checking.add_argument("--device", default="cpu", help="torch device (default: cpu)")
    checking.add_argument("--json", action="store_true", help="print the reports as a list in JSON")
    checking.add_argument(
        "--expected-failures",
        type=Path,
        metavar="FILE",
        help="lines of a subject and a check that break; what is expected to break and does not is a failure",
    )
    checking.add_argument(
        "--timeout",
        type=float,
        metavar="SECONDS",
        help=f"for all checks of an implementation (default: {TIMEOUT:g}, at effort deep {DEEP_TIMEOUT:g})",
    )
    checking.set_defaults(command=_check)

    surveying = commands.add_parser("survey", help="what the attention layers of installed libraries satisfy")
    surveying.add_argument(
        "layers", nargs="?", default="*", metavar="GLOB", help='only those whose "library: layer" matches'
    )
    surveying.add_argument("--effort", default="quick", help="quick, ci or deep (default: quick)")
    surveying.add_argument(
        "--seeds", default="0", metavar="FIRST:LAST", help="draw with each of these seeds, both included (default: 0)"
    )
    surveying.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="write the page there (default: print it); its rows of layers that do not match are kept",
    )
    surveying.set_defaults(command=_survey)


def _subjects(options: argparse.Namespace) -> int:
    from verify.gate.catalogue import subjects

    found = [card for name, card in subjects(options.package).items() if fnmatch.fnmatchcase(name, options.subjects)]
    if not found:
        raise InputError("subjects", "a glob that matches at least one subject", repr(options.subjects))
    print("\n\n".join(map(str, found)))
    return 0


def _check(options: argparse.Namespace) -> int:
    from verify.gate.apart import each_apart
    from verify.gate.table import entries_of

    if options.timeout is not None and not 0 < options.timeout < math.inf:
        raise InputError("--timeout", "a positive number of seconds", f"{options.timeout:g}")
    if options.subject is None:
        entries = entries_of(Path.cwd())
        if not entries:
            raise InputError("subject", "a subject and MODULE:FUNCTION, or a table [tool.verify.subjects]", "neither")
    elif options.implementation is None:
        raise InputError("implementation", "MODULE:FUNCTION after the subject", "nothing")
    else:
        given = {
            name: getattr(options, name)
            for name in ("implementation", "adapter", "claims", "effort", "device", "require", "accept", "where")
        }
        sizes = dict(map(_range, options.sizes)) or None
        entries = [(options.subject, {**given, "dtypes": options.dtype, "sizes": sizes})]
    deep = any(entry.get("effort") == "deep" for _, entry in entries)
    timeout = options.timeout or (DEEP_TIMEOUT if deep else TIMEOUT)
    tasks = [(subject, {**entry, "package": options.package}) for subject, entry in entries]
    outcomes, printed = set(), []
    expected = Expected.of(options.expected_failures)
    if expected.pairs:
        from verify.gate.catalogue import subjects

        known = subjects(options.package).items()
        expected.require_known({name: (DEFINITION, *COMPARISONS, *card.claims) for name, card in known})
    reports = each_apart(_checked, tasks, timeout)
    for subject, _ in entries:
        try:
            report = next(reports)
        except InputError as problem:
            if options.subject is None:
                problem = InputError(
                    f"tool.verify.subjects.{subject}: {problem.argument}", problem.expected, problem.got
                )
            raise problem from None
        outcome, told = expected.judge(report)
        outcomes.add(outcome)
        printed.append({**report.as_dict(), "outcome": outcome, "expected": told})
        if not options.json:
            print("\n".join([str(report), *([""] if told else []), *told]), end="\n\n")
    if options.json:
        print(json.dumps(printed, indent=1))
    return BROKEN_STATUS if NOT_OK in outcomes else UNDECIDED_STATUS if UNDECIDED in outcomes else 0


def _survey(options: argparse.Namespace) -> int:
    from verify.gate.arguments import seeds_of
    from verify.gate.survey import SurveyRow, layers_of, merged, page

    every, layers = layers_of(options.package), layers_of(options.package, options.layers)
    rows = {layer.key: SurveyRow(layer) for layer in layers}
    subjects = list(dict.fromkeys(layer.subject for layer in layers))
    layers.sort(
        key=lambda layer: subjects.index(layer.subject)
    )  # points are found once for layers that follow each other
    runs = [(seed, layer) for seed in seeds_of(options.seeds) for layer in layers]
    for number, (seed, layer) in enumerate(runs, 1):
        row = rows[layer.key]
        if row.absent:
            continue
        told = f"[{number}/{len(runs)}] {layer.library}: {layer.layer}, as {layer.subject}, seed {seed}"
        print(told, file=sys.stderr, flush=True)
        row.check_at(seed, options.effort)
        if options.output is not None:  # after each row, since some take minutes; rows of other layers stay as they are
            text = options.output.read_text(encoding="utf-8") if options.output.exists() else ""
            options.output.write_text(page(merged(text, every, rows.values()), options.effort), encoding="utf-8")
    if options.output is None:
        print(page(list(rows.values()), options.effort))
    return BROKEN_STATUS if any(row.deviations for row in rows.values()) else 0


def _range(text: str) -> tuple[str, tuple[int, int]]:
    """The name and the range of "d_K=64" or "d_K=8:64"; raises `InputError` for other text."""
    found = re.fullmatch(r"(\w+)=(\d+)(?::(\d+))?", text)
    if found is None:
        raise InputError("--sizes", "NAME=N or NAME=LOW:HIGH with integers", repr(text))
    name, low, high = found.groups()
    return name, (int(low), int(high or low))


def _checked(task: tuple[str, dict[str, Any]]) -> SubjectReport:
    """The report of one implementation."""
    from verify.gate.checking import check
    from verify.gate.table import importable

    subject, arguments = task
    with importable(Path.cwd()):
        return check(subject, **arguments)
