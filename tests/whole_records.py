"""Records of checks, whole, to compare with those kept in `whole_records.json`; as a program, renews that file.

What is drawn is the same everywhere: every domain at one seed, and of Hypothesis only its simplest example.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from tests import claims_of_every_kind, claims_that_fail
from verify.checks import checks_of
from verify.checks.settings import EFFORTS, Settings
from verify.evidence.runner import run_check
from verify.inputs.generators import Draw, applicable_domains
from verify.vocabulary import Claim, load

KEPT = Path(__file__).with_suffix(".json")
SETTINGS = Settings(replace(EFFORTS["quick"], examples=1), seed=3, seeded=True)
#: Claims of the papers with checks that the claims of the tests have not, and that take little time.
PRINTED = (
    "convergence.c3-widths", "convergence.c6-beta-inverse-width", "convergence.eq-45-46", "convergence.hessian-block-limits",
    "convergence.lemma-14-h-diff", "convergence.lemma-19-numeric", "convergence.tau0-one-lln",
    "dynamics.prop-4.2-integrated", "dynamics.sec-5-linearisation", "dynamics.sec-5.3-average-sum", "dynamics.sec-5.3-mean-at-rest",
    "osa.cost-ssa", "osa.naive-cost", "osa.ns-convergence", "osa.rank-s-attained", "osa.table-1-memory",
    "skipless.a4.3-x-gaussian", "skipless.a7-table-5", "skipless.default-row-range", "skipless.eq-20-normal-limit",
)  # fmt: skip
#: Of no weight, or of the moment.
LEFT_OUT = ("fingerprint", "duration", "when", "run", "schema", "seconds", "traceback")
#: To so many digits numbers are kept.
DIGITS = 9


def claims() -> list[Claim]:
    """The claims of the tests, and those of `PRINTED`."""
    own = [value for module in (claims_that_fail, claims_of_every_kind) for value in vars(module).values()]
    registry = load()
    # the words of an error inside numpy or torch are theirs
    found = dict.fromkeys(
        each for each in own if isinstance(each, Claim) and each is not claims_that_fail.CRASHING_MUTANT
    )
    return [*found, *(registry[name] for name in PRINTED)]


def record_of(claim: Claim, name: str) -> dict[str, Any]:
    """What a check of a claim records, as data."""
    (check,) = (each for each in checks_of(claim, SETTINGS) if each.name == name)
    record = asdict(run_check(claim, check, SETTINGS))
    if name == "proved":  # sympy's words for it, and a search of its own with tests of its own
        del record["details"]
    return _rounded(record)  # type: ignore[no-any-return]


def names_of(claim: Claim) -> list[str]:
    """The checks of a claim that are quick."""
    slow = {"proved"} if claim.id in PRINTED else set()
    return [check.name for check in checks_of(claim, SETTINGS) if check.name not in slow]


def described_checks(claim: Claim) -> list[list[Any]]:
    """Name and arithmetic of each check, and whether it draws."""
    return [[check.name, check.arithmetic, check.draws] for check in checks_of(claim, SETTINGS)]


def drawn_in(domain: str) -> dict[str, list[Any]]:
    """What is drawn in a domain at a few seeds: per matrix its shape, its sum, the sum of its sizes, its largest entry."""
    claim, found = claims_of_every_kind.WHERE_ALL_DOMAINS_APPLY, {}
    for seed, sizes in enumerate(({"m": 3, "n": 4}, {"m": 2, "n": 2}, {"m": 1, "n": 3})):
        arrays = Draw(tuple(sizes.items()), domain, seed).arrays(claim, 5)
        found[str(seed)] = [
            [list(x.shape), float(x.sum()), float(abs(x).sum()), float(x.max())]
            for x in map(np.asarray, arrays.values())
        ]
    return _rounded(found)  # type: ignore[no-any-return]


def domains() -> list[str]:
    """All domains that need nothing of a claim's own."""
    return list(applicable_domains(claims_of_every_kind.WHERE_ALL_DOMAINS_APPLY))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(key): _rounded(each) for key, each in value.items() if key not in LEFT_OUT}
    return [_rounded(each) for each in value] if isinstance(value, (list, tuple)) else value


def differences(found: Any, kept: Any, path: str = "") -> Iterator[str]:
    """Where what was found differs from what was kept by more than what another processor's kernels may change."""
    if isinstance(found, dict) and isinstance(kept, dict):
        if found.keys() != kept.keys():
            yield f"{path}: {sorted(found)} instead of {sorted(kept)}"
        for key in found.keys() & kept.keys():
            yield from differences(found[key], kept[key], f"{path}/{key}")
    elif isinstance(found, list) and isinstance(kept, list):
        if len(found) != len(kept):
            yield f"{path}: {len(found)} entries instead of {len(kept)}"
        for number, (one, other) in enumerate(zip(found, kept, strict=False)):
            yield from differences(one, other, f"{path}/{number}")
    elif _numbers(found, kept) and not (isinstance(found, int) and isinstance(kept, int)):  # counts and seeds are exact
        rounding = path.endswith("residual") and max(abs(found), abs(kept)) <= 1.0  # of a right formula
        if not rounding and not math.isclose(found, kept, rel_tol=1e-4, abs_tol=1e-12):
            yield f"{path}: {found} instead of {kept}"
    elif isinstance(found, str) and isinstance(kept, str):
        if _without_numbers(found) != _without_numbers(kept):
            yield f"{path}: {found!r} instead of {kept!r}"
    elif found != kept or type(found) is not type(kept):
        yield f"{path}: {found!r} instead of {kept!r}"


def _numbers(*values: Any) -> bool:
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)


def _without_numbers(text: str) -> str:
    """Without what rounding may change: numbers with a point or an exponent."""
    return re.sub(r"-?\d+(\.\d+(e[+-]?\d+)?|e[+-]?\d+)", "#", text)


def main() -> None:
    records = {claim.id: {name: record_of(claim, name) for name in names_of(claim)} for claim in claims()}
    kept = {
        "checks": {claim.id: described_checks(claim) for claim in claims()},
        "records": records,
        "domains": {domain: drawn_in(domain) for domain in domains()},
    }
    lines = (  # one for each claim and domain, so that a difference can be read
        f'"{part}": {{\n'
        + ",\n".join(f'"{name}": {json.dumps(each, sort_keys=True)}' for name, each in sorted(of.items()))
        + "\n}"
        for part, of in kept.items()
    )
    KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
