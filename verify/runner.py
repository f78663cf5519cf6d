"""Running checks: one check gives one record, whatever happens inside it."""

from __future__ import annotations

import functools
import importlib.util
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

from verify.claims import Claim
from verify.errors import RegistryError
from verify.evidence import CERTIFIED, ERROR, UPHELD, Record, fingerprint_of_sources
from verify.independence import shared_code
from verify.relations.base import Check, blank
from verify.settings import Settings

#: Checks of few examples that confirm a search; mutants have to die in the searches themselves.
CONFIRMING = ("enclosed", "exact", "at scale", "counterexample")

#: Modules of the engine on which the outcome of a check depends.
_ENGINE = (
    "arithmetic", "claims", "derivatives", "generators", "jets", "residuals", "runner", "settings", "shapes",
    "subjects", "variants", "matrix", "relations",
)  # fmt: skip


@functools.cache
def _sources_below(root: str, names: tuple[str, ...]) -> tuple[str, ...]:
    paths: list[Path] = []
    for name in names or ("",):
        path = Path(root, name)
        paths += sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    return tuple(path.read_text(encoding="utf-8") for path in paths)


@functools.cache
def _package_folder(module: str) -> str | None:
    spec = importlib.util.find_spec(module)
    return str(Path(spec.origin).parent) if spec and spec.origin else None


def fingerprint(claim: Claim) -> str:
    """A hash of the code that the claim's evidence speaks about: its paper's package and the engine."""
    sources = list(_sources_below(str(Path(__file__).parent), _ENGINE))
    folder = _package_folder(claim.module)
    if folder is not None:
        sources += _sources_below(folder, ())
    return fingerprint_of_sources([claim.id, *sources])


def problems_of_declaration(claim: Claim) -> list[str]:
    """What is missing from a claim before any evidence can count: parts, mutants, an independent oracle."""
    problems = []
    for part in claim.relation.required_parts():
        try:
            _ = claim.the_oracle if part == "oracle" else claim.the_part(part)
        except ValueError as problem:
            problems.append(str(problem))
    for mutant in claim.mutants:
        try:
            _ = mutant.function
        except RegistryError as problem:
            problems.append(f"{claim.id}: mutant {mutant.name!r}: {problem}")
    if len(claim.mutants) < 2:
        problems.append(f"{claim.id}: a claim declares at least two mutants, this one {len(claim.mutants)}")
    if claim.expects == "refuted" and not claim.counterexamples:
        problems.append(f"{claim.id}: expected to be refuted but declares no counterexample")
    if claim.has_oracle:
        shared = shared_code(claim.the_oracle, claim.the_formula)
        if shared:
            problems.append(f"{claim.id}: the oracle calls the formula it checks, through {shared}")
    return problems


def run_check(claim: Claim, check: Check, settings: Settings) -> Record:
    """Run one check; an exception becomes a record with outcome "error", never a pass."""
    started = time.perf_counter()
    try:
        problems = problems_of_declaration(claim)
        if problems:
            record = blank(claim, check.name, check.arithmetic, ERROR, message="; ".join(problems))
        else:
            record = check.run(claim, settings)
    except Exception as problem:  # a crash of any claim's code, mutants included, must become a failing record
        text = "".join(traceback.format_exception(problem)[-6:])
        record = blank(claim, check.name, check.arithmetic, ERROR, message=f"{type(problem).__name__}: {problem}")
        record.details["traceback"] = text
    record.fingerprint = fingerprint(claim)
    record.effort, record.seed = settings.effort.name, settings.seed
    record.duration = time.perf_counter() - started
    return record


@dataclass(frozen=True)
class Judgement:
    """Whether a record is what the source expects, and why not."""

    ok: bool
    why: str


def judge(claim: Claim, record: Record) -> Judgement:
    """Compare one record with what the claim's expected verdict needs of it."""
    if record.outcome == ERROR:
        return Judgement(False, record.message)
    if record.check == "counterexample":
        return Judgement(record.outcome == CERTIFIED, record.message)
    if claim.expects == "refuted":
        return Judgement(True, "")  # the certified counterexample decides; a search that misses it decides nothing
    if record.outcome != UPHELD:
        return Judgement(False, record.message or "the statement is violated")
    if record.surviving and record.check not in CONFIRMING:
        return Judgement(False, f"mutants survive: {', '.join(record.surviving)}")
    return Judgement(True, "")
