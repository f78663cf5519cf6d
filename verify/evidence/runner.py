"""Running checks: one check gives one record, whatever happens inside it."""

from __future__ import annotations

import contextlib
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from verify.arithmetics import DEFAULT_BITS, precision
from verify.checks.attack import Check
from verify.checks.independence import shared_code
from verify.checks.record import CERTIFIED, ERROR, UPHELD, Record, blank
from verify.checks.settings import Settings
from verify.evidence.fingerprints import code_of, fingerprint
from verify.vocabulary.claims import Claim
from verify.vocabulary.errors import RegistryError
from verify.vocabulary.shapes import parameter_names

#: Checks of few examples that confirm a search; mutants have to die in the searches themselves.
CONFIRMING = ("enclosed", "exact", "at scale", "proved", "proved at sizes", "as stated", "counterexample")


def _input_names(claim: Claim) -> set[str]:
    """The names that the functions of a claim take, but for its mutants."""
    return {name for function in claim.named_functions().values() for name in parameter_names(function)}


def problems_of_declaration(claim: Claim) -> list[str]:
    """What is missing from a claim before any evidence can count: parts, mutants, an independent oracle."""
    problems = []
    for part in claim.relation.parts:
        try:
            _ = claim.the_oracle if part == "oracle" else claim.the_part(part)
        except ValueError as problem:
            problems.append(str(problem))
    inputs = _input_names(claim)
    for mutant in claim.mutants:
        try:
            takes = set(parameter_names(mutant.function))
            unknown = sorted(takes - inputs) if isinstance(mutant.variant.given, str) else []
        except RegistryError as problem:
            problems.append(f"{claim.id}: mutant {mutant.name!r}: {problem}")
        else:
            if unknown:
                problems.append(
                    f"{claim.id}: mutant {mutant.name!r} uses {unknown}, which is neither imported nor an input"
                )
    if len(claim.mutants) < 2:
        problems.append(f"{claim.id}: a claim declares at least two mutants, this one {len(claim.mutants)}")
    if claim.expects == "refuted" and not claim.counterexamples:
        problems.append(f"{claim.id}: expected to be refuted but declares no counterexample")
    if claim.has_oracle:
        shared = shared_code(claim.the_oracle, claim.the_formula)
        if shared:
            problems.append(f"{claim.id}: the oracle calls the formula it checks, through {shared}")
    return problems


@contextlib.contextmanager
def warnings_only_warn() -> Iterator[None]:
    """Inside, no warning is raised as an error, whatever the caller's filters say: a verdict does not depend on them.

    A library's next release may warn where this one is silent.
    """
    with warnings.catch_warnings():
        changed: Any = [("default" if action == "error" else action, *rest) for action, *rest in warnings.filters]
        warnings.resetwarnings()
        warnings.filters[:] = changed  # type: ignore[index]
        yield


def run_check(claim: Claim, check: Check, settings: Settings) -> Record:
    """Run one check; an exception becomes a record with outcome "error", never a pass."""
    started = time.perf_counter()
    try:
        problems = problems_of_declaration(claim)
        if problems:
            record = blank(claim, check.name, check.arithmetic, ERROR, message="; ".join(problems))
        else:
            with warnings_only_warn(), precision(DEFAULT_BITS):  # whatever a module of claims sets as it is imported
                record = check.run(claim, replace(settings, code=code_of(claim)))
    except KeyboardInterrupt:
        raise
    except BaseException as problem:  # a crash of any claim's code, or its exit, must become a failing record
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
