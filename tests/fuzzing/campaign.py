"""Statements tried one after the other, in chunks that run side by side; what was found, as JSON."""

from __future__ import annotations

import collections
import contextlib
import functools
import gc
import json
import multiprocessing
import signal
import sys
import time
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzzing.counterexamples import (
    ALONE,
    Counterexample,
    certain,
    defined_somewhere,
    holds_somewhere,
    normal_forms_apart,
    refuted,
)
from tests.fuzzing.statements import Statement, statement
from verify.checks.bound_proofs import prove_bound_claim, proved_bound
from verify.checks.proofs import prove_claim, proved, spot_sizes
from verify.checks.record import UPHELD
from verify.checks.settings import Settings
from verify.vocabulary import AtMost

#: Seconds of processor time after which a statement is given up: by the prover, and by numbers.
PROVER, NUMBERS = 2.0, 1.5
#: How far a normal form may be from the formula in floats.
FAR = 1e-5
CHUNK = 50

#: What is counted.
COUNTS = (
    "offered", "refuted by numbers", "proved", "proved and not refuted", "refuted and proved", "defined nowhere and proved",
    "upheld by the whole check", "normal forms compared", "normal forms that differ",
    "not expressible to the prover", "neither proved nor refuted", "given up",
)  # fmt: skip


class TooLong(BaseException):
    """No `Exception`, so that a prover does not take it for a reason why there is no proof."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `TooLong` inside the block after so much processor time.

    What is raised in a callback of the garbage collector or in a finalizer is printed and lost. So no garbage is collected
    inside the block, and a signal that arrives in a finalizer waits for the next.
    """

    def stop(_: int, frame: types.FrameType | None) -> None:
        while frame is not None:
            if frame.f_code.co_name == "__del__":
                return
            frame = frame.f_back
        raise TooLong

    before, collecting = signal.signal(signal.SIGVTALRM, stop), gc.isenabled()
    gc.disable()
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 0.05)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        if collecting:
            gc.enable()


@dataclass
class Outcome:
    """What became of one statement."""

    source: str
    counts: list[str]
    failure: dict[str, Any] | None = None
    proved: str = ""


@dataclass
class Tally:
    """What became of many."""

    counts: collections.Counter[str] = field(default_factory=collections.Counter)
    by_source: dict[str, collections.Counter[str]] = field(default_factory=dict)
    failures: list[dict[str, Any]] = field(default_factory=list)
    interrupted: bool = False

    def add(self, outcome: Outcome) -> None:
        self.counts.update(outcome.counts)
        self.by_source.setdefault(outcome.source, collections.Counter()).update(outcome.counts)
        if outcome.failure is not None:
            self.failures.append(outcome.failure)

    def data(self, **about: Any) -> dict[str, Any]:
        return {
            **about,
            "counts": {name: self.counts[name] for name in COUNTS},
            "by source": {k: {name: v[name] for name in COUNTS} for k, v in sorted(self.by_source.items())},
            "failures": self.failures,
        }


# -- one statement -----------------------------------------------------------------------------------------------------


@functools.cache
def ready() -> None:
    """Import what is imported when it is first used: that must not be interrupted."""
    import torch

    import verify.oracles
    from tests.fuzzing import statements

    statements.claims((AtMost.kind,))
    point = torch.ones((1, 1), dtype=torch.float64)
    verify.oracles.hessian(lambda X: X.T @ X, ("X", "X"), verify.oracles.derivatives.ROW)(point)
    torch.func.vmap(lambda x: x + 1)(point)


def tried(seed: int, number: int, source: str | None = None) -> Outcome:
    """The statement of this number, offered to its prover and to numbers."""
    ready()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with at_most(NUMBERS):
                made = statement(seed, number, source)
        except TooLong:
            return Outcome("none", ["given up"])
        return Outcome("none", []) if made is None else asked(made)


def asked(made: Statement) -> Outcome:
    """What the prover and the numbers say of a statement."""
    kind = made.source if made.claim.id == "fuzzing.made-up" else ("bound" if _is_bound(made) else "identity")
    outcome = Outcome(kind, ["offered"])
    proof, wrong, found = None, None, None
    try:
        with at_most(PROVER):
            proof = prove_bound_claim(made.claim) if _is_bound(made) else prove_claim(made.claim)
    except TooLong:
        outcome.counts.append("given up")
    derived = proof is not None and proof.proved
    if (
        proof is not None
        and not derived
        and not (proof.reason or "").endswith(("not derived", "remain"))
        and "remain" not in (proof.reason or "")
    ):
        outcome.counts.append("not expressible to the prover")
    conditions = getattr(proof, "conditions", ()) if derived else ()
    try:
        with at_most(NUMBERS):
            found = refuted(made, 0, conditions)
            if derived and (found is None or found.margin < ALONE):
                found = refuted(made, 1, conditions) or found
            if _is_comparable(made) and proof is not None and proof.left is not None:
                outcome.counts.append("normal forms compared")
                wrong = _wrong_normal_form(made, proof)
    except TooLong:
        outcome.counts.append("given up")
    if found is not None:
        outcome.counts.append("refuted by numbers")
    if derived:
        outcome.counts.append("proved")
        outcome.proved = made.breaking
    if wrong is not None:
        outcome.counts.append("normal forms that differ")
        outcome.failure = _failure(made, proof, "the normal form is not the formula", wrong)
    if derived and found is not None:
        _judge(made, proof, found, outcome)
    elif derived:
        _vacuous(made, proof, outcome)
    elif found is None:
        outcome.counts.append("neither proved nor refuted")
    return outcome


def _was_tried(reason: str) -> bool:
    """Whether both sides ran on symbols, and the reason is what is left of their difference."""
    return "remain" in reason or reason.endswith("not derived")


def _judge(made: Statement, proof: Any, found: Counterexample, outcome: Outcome) -> None:
    """False and proved, as far as balls confirm it, or floats by themselves where balls do not run."""
    sure: bool | None = None
    with contextlib.suppress(TooLong), at_most(NUMBERS):
        sure = certain(made, found) if max(found.example.sizes.values(), default=1) <= 12 else None
    if found.by == "of different shapes":
        sure = True
    if sure is False or (sure is None and found.margin < ALONE):
        _vacuous(made, proof, outcome)
        return
    found.by += ", certain in balls" if sure and found.by == "in floats" else ""
    outcome.counts.append("refuted and proved")
    outcome.failure = _failure(made, proof, "proved, and false", found.text())
    if _is_upheld(made):
        outcome.counts.append("upheld by the whole check")
        outcome.failure["evidence"] += "\n    the whole check upholds it too"


def _vacuous(made: Statement, proof: Any, outcome: Outcome) -> None:
    """Proved and not refuted; where it is defined nowhere, the check of normal forms in floats must refuse it."""
    if _defined(made) is not False:
        outcome.counts.append("proved and not refuted")
        return
    outcome.counts.append("defined nowhere and proved")
    if _is_upheld(made):
        outcome.counts.append("upheld by the whole check")
        outcome.failure = _failure(
            made, proof, "upheld, and defined nowhere", "no generic inputs give both sides a value"
        )


def _is_upheld(made: Statement) -> bool:
    """Whether the check *proved*, which compares a proof with floats, upholds the statement."""
    with contextlib.suppress(TooLong, Exception), at_most(4 * PROVER):
        return (proved_bound if _is_bound(made) else proved)(made.claim, Settings()).outcome == UPHELD
    return False


def _defined(made: Statement) -> bool | None:
    if holds_somewhere(made):
        return True
    with contextlib.suppress(TooLong), at_most(NUMBERS):
        return defined_somewhere(made.claim)
    return None


def _is_bound(made: Statement) -> bool:
    return isinstance(made.claim.relation, AtMost)


def _is_comparable(made: Statement) -> bool:
    """Whether random inputs meet what a made-up identity assumes, so that its normal forms can be compared with floats."""
    own = made.claim.id == "fuzzing.made-up" and not _is_bound(made)
    return own and not any(item.zero for item in made.claim.tested_assumptions)


def _wrong_normal_form(made: Statement, proof: Any) -> str | None:
    """Where the normal forms of a made-up statement are not its sides in floats."""
    for k, sizes in enumerate(spot_sizes(made.claim, 1)):
        with contextlib.suppress(Exception):
            apart = normal_forms_apart(made.claim, proof, sizes, k)
            if apart is not None and apart > FAR:
                return f"apart by {apart:.3g} at {sizes}"
    return None


def _failure(made: Statement, proof: Any, kind: str, evidence: str) -> dict[str, Any]:
    return {
        "seed": made.seed,
        "number": made.number,
        "replay": made.replay,
        "kind": kind,
        "from": made.source,
        "breaking": made.breaking,
        "statement": made.text,
        "rules": list(getattr(proof, "rules", [])),
        "hypotheses used": list(getattr(proof, "hypotheses", [])),
        "conditions": [str(item) for item in getattr(proof, "conditions", [])],
        "evidence": evidence,
    }


def described(failure: dict[str, Any]) -> str:
    """A failure as one reads it."""
    lines = [f"{failure['kind'].upper()}: {failure['replay']}", f"from {failure['from']}; {failure['breaking']}"]
    lines += [failure["statement"], failure["evidence"], f"rules: {', '.join(failure['rules']) or 'none'}"]
    for name in ("hypotheses used", "conditions"):
        if failure[name]:
            lines.append(f"{name}: {', '.join(failure[name])}")
    return "\n".join(lines)


# -- many --------------------------------------------------------------------------------------------------------------


def chunk(work: tuple[int, int, int, str | None]) -> tuple[Tally, int]:
    """The outcomes of some consecutive numbers."""
    seed, first, count, source = work
    tally = Tally()
    for number in range(first, first + count):
        tally.add(tried(seed, number, source))
    return tally, count


def campaign(count: int, seed: int, jobs: int, target: Path | None, first: int = 0, source: str | None = None) -> Tally:
    """`count` statements in `jobs` processes; what was found so far is kept on an interrupt, and said."""
    works = [(seed, k, min(CHUNK, first + count - k), source) for k in range(first, first + count, CHUNK)]
    whole, done, start = Tally(), 0, time.perf_counter()

    def add(tally: Tally, number: int) -> None:
        nonlocal done
        done += number
        whole.counts.update(tally.counts)
        for name, counts in tally.by_source.items():
            whole.by_source.setdefault(name, collections.Counter()).update(counts)
        for failure in tally.failures:
            whole.failures.append(failure)
            print(f"\n{described(failure)}\n", flush=True)
        passed = time.perf_counter() - start
        left = passed / done * (count - done)
        print(
            f"{done} of {count}, {whole.counts['refuted by numbers']} refuted, {whole.counts['proved']} proved, "
            f"{len(whole.failures)} failures; {done / passed:.1f} a second, {left / 60:.1f} minutes left",
            file=sys.stderr, flush=True,
        )  # fmt: skip
        if target is not None:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(json.dumps(whole.data(seed=seed, first=first, tried=done, asked=count), indent=1))

    try:
        if jobs <= 1:
            for work in works:
                add(*chunk(work))
        else:
            with multiprocessing.get_context("spawn").Pool(jobs, _ignoring_interrupts) as pool:
                for found in pool.imap(chunk, works):
                    add(*found)
    except KeyboardInterrupt:
        whole.interrupted = True
        print(f"\ninterrupted after {done} of {count}", file=sys.stderr)
    return whole


def _ignoring_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
