"""The command line: list, show, contents, run, soak, prove, witnesses, report, release, open; subjects and check.

Exit status: 0 when every verdict is as the source expects, 1 when one is not, 2 for wrong usage, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from verify.cli import listing, proving, reporting, running
from verify.cli.project import project_of
from verify.gate.command import add_gate_commands
from verify.vocabulary.errors import InputError, RegistryError

#: Exit status after Ctrl-C.
INTERRUPTED = 130

EVIDENCE = Path(".verify/evidence")


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the `verify` command; returns the exit status."""
    parser = _parser()
    if "_ARGCOMPLETE" in os.environ:  # a shell asks how the line may go on
        import argcomplete

        argcomplete.autocomplete(parser)
    options = parser.parse_args(arguments)
    path = list(sys.path)
    try:
        _enter_project(options)
        return int(options.command(options))
    except (InputError, RegistryError) as problem:
        print(f"verify: {problem}", file=sys.stderr)
        return 2
    except SystemExit as problem:  # of a claim's code: what it was called for has not been done
        got = f"one that raised SystemExit({problem.code!r})"
        print(f"verify: package: expected a package whose code never exits; got {got}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nverify: interrupted; finished checks are kept", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    finally:
        sys.path[:] = path


def _enter_project(options: argparse.Namespace) -> None:
    """Let the modules of this folder be imported, and its packages be those whose claims are meant."""
    project = project_of(Path.cwd())
    sys.path[:0] = [str(path) for path in project.paths]
    sys.path.append(str(Path.cwd()))  # last, so that a stray file shadows nothing that is installed
    if options.package is None:
        gate = options.command.__module__.startswith("verify.gate")  # subjects are definitions of theorems
        options.package = ",".join(project.packages if project.packages and not gate else ["theorems"])


def entry() -> NoReturn:
    """The `verify` command of the shell: `main`, and after Ctrl-C an exit that waits for nothing."""
    status = main()
    if status == INTERRUPTED:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)  # the interpreter would wait for the threads that served the workers
    sys.exit(status)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="verify",
        description="Claims about attention, checked by machine.",
        formatter_class=argparse.RawDescriptionHelpFormatter,  # the version stays on its line
    )
    parser.add_argument("--version", action="version", version=_version())
    parser.add_argument(
        "--package",
        metavar="NAME[,NAME]",
        help="packages whose modules declare claims (default: verify_packages in this folder's settings of pytest, else theorems)",
    )
    parser.add_argument("--evidence", type=Path, default=EVIDENCE, help=f"folder of evidence (default: {EVIDENCE})")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing.add_commands(commands)
    running.add_commands(commands)
    proving.add_commands(commands)
    reporting.add_commands(commands)
    add_gate_commands(commands)
    return parser


def _version() -> str:
    """This package's version, and those of what verdicts depend on."""
    try:
        own = importlib.metadata.version("attention-theorems")
    except importlib.metadata.PackageNotFoundError:
        own = "(not installed)"
    others = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("torch", "python-flint", "sympy"))
    return f"verify {own}, Python {platform.python_version()}, {others}"
