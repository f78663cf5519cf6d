"""The commands `verify subjects` and `verify check`."""

from __future__ import annotations

import argparse
import fnmatch
from pathlib import Path
from typing import Any

from verify.vocabulary.errors import InputError


def add_gate_commands(commands: Any) -> None:
    """Add both commands to the subparsers of the command line."""
    listing = commands.add_parser("subjects", help="definitions that other implementations can stand in for")
    listing.add_argument("subjects", nargs="?", default="*", metavar="GLOB", help="only names that match")
    listing.set_defaults(command=_subjects)

    checking = commands.add_parser("check", help="which theorems an implementation satisfies, and which it breaks")
    checking.add_argument("subject", nargs="?", help="a subject (default: all of [tool.verify.subjects])")
    checking.add_argument("implementation", nargs="?", metavar="MODULE:FUNCTION")
    checking.add_argument("--adapter", metavar="MODULE:FUNCTION", help="what gives it the parameters of the subject")
    checking.add_argument("--claims", default="*", metavar="GLOB", help="only claims whose id matches")
    checking.add_argument("--effort", default="quick", help="quick, ci or deep (default: quick)")
    checking.add_argument("--dtype", action="append", help="float64 or float32 (default: both)")
    checking.add_argument("--device", default="cpu", help="torch device (default: cpu)")
    checking.set_defaults(command=_check)


def _subjects(options: argparse.Namespace) -> int:
    from verify.gate.catalogue import subjects

    found = [card for name, card in subjects(options.package).items() if fnmatch.fnmatchcase(name, options.subjects)]
    if not found:
        raise InputError("subjects", "a glob that matches at least one subject", repr(options.subjects))
    print("\n\n".join(map(str, found)))
    return 0


def _check(options: argparse.Namespace) -> int:
    from verify.gate.checking import check
    from verify.gate.table import entries_of, importable

    if options.subject is None:
        entries = entries_of(Path.cwd())
        if not entries:
            raise InputError("subject", "a subject and MODULE:FUNCTION, or a table [tool.verify.subjects]", "neither")
    elif options.implementation is None:
        raise InputError("implementation", "MODULE:FUNCTION after the subject", "nothing")
    else:
        given = {name: getattr(options, name) for name in ("implementation", "adapter", "claims", "effort", "device")}
        entries = {options.subject: {**given, "dtypes": options.dtype}}
    ok = True
    for subject, entry in entries.items():
        with importable(Path.cwd()):
            report = check(subject, entry.pop("implementation"), package=options.package, **entry)
        print(report, end="\n\n")
        ok = ok and report.ok
    return 0 if ok else 1
