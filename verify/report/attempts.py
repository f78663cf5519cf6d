"""Where attempts to derive refuted bounds end, kept as data: which inequality fails, and what no rule leads on from.

They stand in `attempts.json` of the package that declares the claims, and `verify prove GLOB --keep` renews them.  What an
attempt finds proves nothing: that a bound is false is shown by its counterexample.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from verify.evidence.data_files import data_file
from verify.vocabulary.claims import Claim
from verify.vocabulary.relations import AtMost

FILE = "attempts.json"
#: Longest text of an expression that is kept; longer ones say too little on a page.
LONGEST = 400


def is_attempted(claim: Claim) -> bool:
    """Whether a claim is a bound that is expected to be refuted."""
    return isinstance(claim.relation, AtMost) and claim.expects == "refuted"


def attempt(claim: Claim) -> dict[str, Any] | None:
    """What an attempt to derive a refuted bound comes to; None where its functions do not run on norms."""
    from verify.checks.bound_proofs import details_of, prove_bound_claim

    proof = prove_bound_claim(claim)
    if not proof.entries or proof.proved:
        return None
    entries = details_of(claim, proof, [])["entries"]
    stopped = [
        {
            "inequality": number,
            "left": _short(entry["left"]),
            "right": _short(entry["right"]),
            "left over": _left_over(entry),
        }
        for number, entry in enumerate(entries, 1)
        if not entry["proved"]
    ]
    return {"inequalities": len(entries), "stopped": stopped}


def _left_over(entry: dict[str, Any]) -> str:
    """Why the bound that was found is not at most the printed one."""
    if entry["unreached"]:
        return f"no rule leads on from {_short(', '.join(entry['unreached']))}"
    if entry["uncovered"]:
        return f"the computed bound less the printed one has {_short(entry['uncovered'])}, which may be above 0"
    return "the computed bound is not seen to be at most the printed one"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


@functools.cache
def _read(path: Path) -> dict[str, dict[str, Any]]:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def kept(claim: Claim) -> dict[str, Any] | None:
    """What is kept of the attempt at a claim."""
    return _read(data_file(claim.package, FILE)).get(claim.id) if is_attempted(claim) else None


def keep(claims: Iterable[Claim], every: Iterable[str]) -> dict[Path, int]:
    """Attempt refuted bounds among `claims` again and write down what comes out; how many each file holds.

    What is kept of others among the ids `every` stays.
    """
    known_ids = set(every)
    files: dict[Path, dict[str, dict[str, Any] | None]] = {}
    for claim in filter(is_attempted, claims):
        files.setdefault(data_file(claim.package, FILE), {})[claim.id] = attempt(claim)
    counts = {}
    for path, found in files.items():
        kept_before = {claim_id: data for claim_id, data in _read(path).items() if claim_id in known_ids}
        lines = [(claim_id, data) for claim_id, data in sorted((kept_before | found).items()) if data]
        text = ",\n".join(f"{json.dumps(claim_id)}: {json.dumps(data)}" for claim_id, data in lines)
        path.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")
        counts[path] = len(lines)
    _read.cache_clear()
    return counts
