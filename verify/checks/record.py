"""What a check returns: one record, with the scores of the mutants beside what was found of the claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from verify.vocabulary.claims import Claim

SCHEMA = 1

#: Outcomes of a check.
UPHELD, VIOLATED, CERTIFIED, UNCERTIFIED, ERROR = "upheld", "violated", "certified", "not certified", "error"

#: Checks that look for a proof.
PROOFS = ("proved", "proved at sizes")

#: A mutant is dead, and a claim believed, when wrong and right are at least this factor apart.
SEPARATION = 1000.0


@dataclass
class Record:
    """What one check of one claim found.

    `worst_residual` is in units of the arithmetic (see verify.checks.units); `separation` is the nearest mutant's
    residual over the worst true one, for statistical checks the ratio of their p-values; `tightest_ratio` is the
    largest lhs/rhs of a bound; `satisfied` counts examples that met every assumption, out of `examples`;
    `undefined` counts examples at which the printed expression has no value.
    """

    claim: str
    check: str
    arithmetic: str
    outcome: str
    fingerprint: str
    device: str = "cpu"
    examples: int = 0
    satisfied: int = 0
    undefined: int = 0
    domains: dict[str, int] = field(default_factory=dict)
    worst_residual: float | None = None
    tightest_ratio: float | None = None
    separation: float | None = None
    mutants: dict[str, dict[str, Any]] = field(default_factory=dict)
    message: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    effort: str = ""
    seed: int = 0
    duration: float = 0.0
    run: str = ""
    when: float = 0.0
    schema: int = SCHEMA

    @property
    def outcome_text(self) -> str:
        """The outcome for a reader: a proof that is not found violates nothing."""
        return "not proved" if self.check in PROOFS and self.outcome == VIOLATED else self.outcome

    @property
    def surviving(self) -> list[str]:
        """Names of mutants that this check did not kill."""
        return [name for name, result in self.mutants.items() if not result["killed"]]


def sizes_text(sizes: Mapping[str, int]) -> str:
    """Sizes for a reader: "n = 3, d = 4"."""
    return ", ".join(f"{name} = {value}" for name, value in sizes.items())


def scored(residual: float, bar: float = SEPARATION) -> dict[str, Any]:
    """A mutant's result: it is dead when it lands at least `bar` units from the truth."""
    return {"residual": residual, "killed": residual >= bar}


def blank(claim: Claim, check: str, arithmetic: str, outcome: str, **values: Any) -> Record:
    """A record of `check`; the runner fills in fingerprint, effort, seed and duration."""
    return Record(claim=claim.id, check=check, arithmetic=arithmetic, outcome=outcome, fingerprint="", **values)


def separation_of(mutants: dict[str, float], worst: float) -> float | None:
    """Residual of the nearest mutant over the worst true residual, the latter taken as at least one unit."""
    return min(mutants.values()) / max(worst, 1.0) if mutants else None
