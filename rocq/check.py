"""Check identities with Rocq's kernel: compile the theory, write the certificates out as files, compile those, say what came of it.

`python rocq/check.py [CERTIFICATES...]` (`make kernel`): needs Debian's coq and libcoq-mathcomp-analysis.  The log of Rocq with the
axioms of every theorem goes to rocq/claims/log.txt, what was checked to theorems/kernel.json.  What the theorems assume is held
against the claims there too (conditions.py).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from conditions import RESULT, add_to, problems
from export import HEADER, Written, assumptions, in_files, read_certificates, written

HERE = Path(__file__).parent
#: In the order in which they need each other.
THEORY = (
    "Rationals",
    "Expressions",
    "Functions",
    "Rules",
    "Derivatives",
    "Calculus",
    "Tables",
    "Slopes",
    "Statements",
    "Claims",
)
CLAIMS = HERE / "claims"


def compiled(path: Path) -> tuple[bool, str]:
    """Whether coqc accepts a file, and what it prints."""
    command = ["coqc", "-noglob", "-w", "none", "-R", str(HERE), "Attention", str(path)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.returncode == 0, found.stdout + found.stderr


def compile_theory() -> str:
    """Compile what is newer than its compiled form; what coqc prints."""
    printed, again = "", False
    for name in THEORY:
        source, target = HERE / f"{name}.v", HERE / f"{name}.vo"
        again = again or not target.exists() or target.stat().st_mtime < source.stat().st_mtime
        if again:
            accepted, text = compiled(source)
            printed += text
            if not accepted:
                raise SystemExit(f"{source}: {text}")
    return printed


def check_together(name: str, group: Sequence[Written]) -> tuple[dict[str, str], str]:
    """Claims in one file; where it is refused, each by itself.  The reason for every claim that is refused, and the log."""
    path = CLAIMS / f"{name}.v"
    path.write_text(HEADER + "".join(item.text for item in group) + assumptions(group), encoding="utf-8")
    accepted, log = compiled(path)
    if accepted:
        return {}, log
    if len(group) == 1:
        return {group[0].claim: log.strip().splitlines()[-1]}, log
    refused: dict[str, str] = {}
    for n, item in enumerate(group):
        found, more = check_together(f"{name}_{n}", [item])
        refused.update(found)
        log += more
    return refused, log


def axioms_in(log: str) -> list[str]:
    """The names of the axioms that Print Assumptions lists."""
    return sorted(set(re.findall(r"^([\w.]+)\s*:", log.replace("Axioms:\n", ""), re.MULTILINE)))


def described(item: Written) -> dict[str, Any]:
    """What the kernel checked of a claim: blocks, functions with their arguments, derivatives, rules; what is assumed.

    `real`: every derivative in the theorem is a real one.  One that stands inside a function is the expression that
    Derivatives.v computes.
    """
    checked = item.checked
    return {
        "algebra": checked.blocks, "functions": checked.functions, "derivatives": checked.derivatives,
        "real": "(derivative T" not in item.text,
        "rules": sorted(checked.rules - {"Equal", "SameEntries", "SameFunctions", "PowerOne"}),
        "hypotheses": checked.hypotheses, "conditions": checked.conditions,
        "certificate": item.sha256,
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("certificates", nargs="*", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(arguments)
    if shutil.which("coqc") is None:
        print("coqc is not there: apt install coq libcoq-mathcomp-analysis", file=sys.stderr)
        return 2
    paths = options.certificates or sorted((HERE.parent / "theorems").glob("*/certificates.jsonl*"))
    if not paths:
        print("no certificates: write them with `verify prove --certificate`", file=sys.stderr)
        return 2
    sys.setrecursionlimit(20000)
    start = time.monotonic()
    log = compile_theory()
    CLAIMS.mkdir(exist_ok=True)
    certificates = [certificate for path in paths for certificate in read_certificates(path)]
    found = [written(certificate) for certificate in certificates]
    groups = in_files([item for item in found if item.text], 4 * options.jobs)
    refused: dict[str, str] = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        for more, text in pool.map(lambda pair: check_together(f"Claims{pair[0]}", pair[1]), enumerate(groups)):
            refused.update(more)
            log += text
    (CLAIMS / "log.txt").write_text(log, encoding="utf-8")
    accepted = [item for item in found if item.text and item.claim not in refused]
    for item in sorted(accepted, key=lambda item: item.claim):
        what = described(item)
        print(
            f"{item.claim}: algebra of {what['algebra']}, {what['functions']} function arguments, "
            f"{what['derivatives']} derivatives, rules {', '.join(what['rules']) or 'none'}"
            + (
                f"; assumes {'; '.join([*what['hypotheses'], *what['conditions']])}"
                if what["hypotheses"] or what["conditions"]
                else ""
            )
        )
    claims = {item.claim: described(item) for item in accepted}
    add_to(claims, (certificate for certificate in certificates if certificate["claim"] in claims))
    print("\n".join(problems(claims)))
    result = {
        "axioms": axioms_in(log),
        "claims": claims,
        "not checked": {**{item.claim: item.reason[:200] for item in found if not item.text}, **refused},
    }
    RESULT.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(
        f"{len(accepted)} claims checked by the kernel, {len(result['not checked'])} not, {time.monotonic() - start:.0f} s"
    )
    for claim, reason in sorted(refused.items()):
        print(f"refused: {claim}: {reason}", file=sys.stderr)
    return 1 if refused else 0


if __name__ == "__main__":
    os.chdir(HERE.parent)
    sys.exit(main())
