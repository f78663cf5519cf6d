"""Check identities with Rocq's kernel: compile the theory, write the certificates out as files, compile those, say what came of it.

`python rocq/check.py [CERTIFICATES...]` (`make kernel`): needs Debian's coq and libcoq-mathcomp-analysis.  The log of Rocq with the
axioms of every theorem goes to rocq/claims/log.txt, what was checked to theorems/kernel.json.  What the theorems assume is held
against the claims there too (conditions.py).
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from conditions import RESULT, add_to, problems
from export import HEADER, Written, assumptions, hash_of, in_files, read_certificates, written
from formulas import FORMULA_HEADER, formula
from theory import compiled_theory, coqc

HERE = Path(__file__).parent
CLAIMS = HERE / "claims"


def check_together(
    theory: Path, name: str, group: Sequence[Written], kind: str = "identity"
) -> tuple[dict[str, str], str]:
    """Claims in one file; where it is refused, each by itself.  The reason for every claim that is refused, and the log."""
    path = CLAIMS / f"{name}.v"
    header = HEADER if kind == "identity" else FORMULA_HEADER
    path.write_text(header + "".join(item.text for item in group) + assumptions(group, kind), encoding="utf-8")
    accepted, log = coqc(theory, path)
    if accepted:
        return {}, log
    if len(group) == 1:
        return {group[0].claim: log.strip().splitlines()[-1]}, log
    refused: dict[str, str] = {}
    for n, item in enumerate(group):
        found, more = check_together(theory, f"{name}_{n}", [item], kind)
        refused.update(found)
        log += more
    return refused, log


def check_all(theory: Path, items: Sequence[Written], kind: str, jobs: int) -> tuple[dict[str, str], str]:
    """Claims shared out among files that are compiled side by side: why the kernel refuses which, and the log."""
    groups = in_files([item for item in items if item.text], 4 * jobs)
    refused: dict[str, str] = {}
    log = ""
    with ThreadPoolExecutor(jobs) as pool:
        pairs = [(f"{kind.capitalize()}{n}", group) for n, group in enumerate(groups)]
        for more, text in pool.map(lambda pair: check_together(theory, *pair, kind), pairs):
            refused.update(more)
            log += text
    return refused, log


def add_formulas(
    theory: Path, claims: dict[str, Any], certificates: Sequence[dict[str, Any]], jobs: int
) -> tuple[dict[str, str], str]:
    """To what the kernel checked of each claim: its theorems as formulas about matrices, or why there is none."""
    found = [formula(certificate) for certificate in certificates if certificate["claim"] in claims]
    refused, log = check_all(theory, [item for item, _ in found], "formula", jobs)
    for item, made in found:
        if item.text and item.claim not in refused:
            claims[item.claim]["formulas"] = made.statements
        else:
            claims[item.claim]["no formula"] = refused.get(item.claim, item.reason)[:200]
    return refused, log


def axioms_in(log: str) -> list[str]:
    """The names of the axioms that Print Assumptions lists."""
    found = re.findall(r"^([\w.]+)\s*:", log.replace("Axioms:\n", ""), re.MULTILINE)
    # with the file's name where a library is not imported; what is refused is tried again, and its errors are in the log
    return sorted({name.split(".")[-1] for name in found} - {"Error"})


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


def offered(claim: str, globs: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(claim, glob) for glob in globs)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("certificates", nargs="*", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--newer", action="store_true", help="keep what kernel.json says of unchanged certificates")
    parser.add_argument(
        "--only", nargs="+", metavar="GLOB", help="offer these claims, keep what kernel.json says of others"
    )
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
    theory = compiled_theory()
    CLAIMS.mkdir(exist_ok=True)
    certificates = [certificate for path in paths for certificate in read_certificates(path)]
    before: dict[str, Any] = {"claims": {}, "not checked": {}, "axioms": []}
    if options.newer or options.only:
        before = json.loads(RESULT.read_text(encoding="utf-8"))

    def stays(name: str, item: dict[str, Any]) -> bool:
        if options.only:
            return not offered(name, options.only)
        return any(c["claim"] == name and hash_of(c) == item["certificate"] for c in certificates)

    known = {name: item for name, item in before["claims"].items() if stays(name, item)}
    if options.only:
        certificates = [c for c in certificates if offered(c["claim"], options.only)]
    found = [written(certificate) for certificate in certificates if certificate["claim"] not in known]
    refused, log = check_all(theory, found, "identity", options.jobs)
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
    untested = {name: item for name, item in claims.items() if not item["met"]["inputs"]}  # of these nothing is known
    claims = {name: item for name, item in claims.items() if name not in untested}
    fresh = [
        c
        for c in certificates
        if c["claim"] in claims or (options.newer and "formulas" not in known.get(c["claim"], {}))
    ]
    claims = {**known, **claims}
    unreadable, more = add_formulas(theory, claims, fresh, options.jobs)
    log += more
    (CLAIMS / "log.txt").write_text(log, encoding="utf-8")
    others = {
        name: why for name, why in before["not checked"].items() if options.only and not offered(name, options.only)
    }
    result = {
        "axioms": sorted({*axioms_in(log), *before["axioms"]}),
        "claims": claims,
        "not checked": {
            **others,
            **{item.claim: item.reason[:200] for item in found if not item.text},
            **{
                name: f"its conditions held at no input that was drawn: {item['met']['not met']}"[:200]
                for name, item in untested.items()
            },
            **refused,
        },
    }
    RESULT.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(
        f"{len(claims)} claims checked by the kernel, {sum('formulas' in item for item in claims.values())} of them as formulas "
        f"about matrices, {len(result['not checked'])} not, {time.monotonic() - start:.0f} s"
    )
    for claim, reason in sorted({**refused, **unreadable}.items()):
        print(f"refused: {claim}: {reason}", file=sys.stderr)
    return 1 if refused or unreadable else 0


if __name__ == "__main__":
    os.chdir(HERE.parent)
    sys.exit(main())
