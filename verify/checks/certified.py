"""Certificates of proofs for all sizes: written from a proof, checked by `verify.kernel`, and kept in a paper's folder."""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from verify.arithmetics.symbols.difference import Proof
from verify.arithmetics.symbols.identity_certificates import NotRecorded, certificate_of, statement_of
from verify.inputs.witnesses import file_of
from verify.kernel import Refused, check_identity, read
from verify.vocabulary.claims import Claim

FILE = "certificates.jsonl.xz"
#: Why there is no certificate, where the search for one is left to effort deep.
NONE_KEPT = "none is kept; `verify prove --certificate` looks for one"


@dataclass(frozen=True)
class Certified:
    """The line that was written and what the record keeps of it; `problem` where the checker refused it."""

    line: str | None
    details: dict[str, Any]
    problem: str | None = None


def certified(claim: Claim, proof: Proof, before: str | None = None, anew: bool = True) -> Certified:
    """Write the certificate of a proof and check it, or say why there is none yet.

    `before` is the line that is kept of the claim: where there is one it is checked, and has to state what the functions give
    now.  Its uses of rules are not sought again; not `anew`, none are sought where no line is kept.
    """
    try:
        if before is not None or not anew:
            stated = statement_of(claim.id, proof)
            if before is None:
                return without(claim, NONE_KEPT, None)
            return accepted(before) if states(before, stated) else stale(claim, before)
        line = json.dumps(certificate_of(claim.id, proof), separators=(",", ":"), ensure_ascii=False)
    except NotRecorded as reason:
        return without(claim, str(reason), before)
    except Exception as error:  # what writes certificates is trusted with nothing, nor is a proof by its failure lost
        return without(claim, f"{type(error).__name__} while it was written", before)
    return accepted(line)


def states(line: str, statement: Mapping[str, Any]) -> bool:
    """Whether a line says the same as a certificate without uses: declarations, hypotheses and sides, to the letter.

    As texts, since 1, 1.0 and true are equal to Python.
    """
    found = json.loads(line)
    for part in found["parts"]:
        part["uses"] = []
    for induction in found.get("inductions", []):
        for invariant in induction["invariants"]:
            invariant.update(start=[], step=[])
    return json.dumps(found, sort_keys=True) == json.dumps(statement, sort_keys=True)


def stale(claim: Claim, before: str) -> Certified:
    """The certificate that is kept is not one of what the functions give now."""
    problem = "the certificate that is kept states something else than the functions give now"
    return Certified(
        before, {"refused": problem}, f"{problem}; `verify prove {claim.id} --certificate` writes it again"
    )


def without(claim: Claim, reason: str, before: str | None) -> Certified:
    """There is no certificate; a problem where one is kept."""
    if before is None:
        return Certified(None, {"missing": reason})
    problem = f"a certificate is kept, and none can be written now ({reason})"
    return Certified(None, {"missing": reason}, f"{problem}; `verify prove {claim.id} --certificate` drops it")


def accepted(line: str) -> Certified:
    """What the checker says of a line of a file of certificates."""
    try:
        found = check_identity(read(line))
    except Refused as refusal:
        return Certified(line, {"refused": str(refusal)}, f"the checker refuses the certificate: {refusal}")
    details = {
        "terms": {"left": found.terms[0], "right": found.terms[1]},
        "rules": list(found.rules),
        "hypotheses": list(found.hypotheses),
        "sha256": sha256(line.encode()).hexdigest(),
    }
    return Certified(line, details)


def path_of(claim: Claim) -> Path:
    """The file for the certificates of the claims of a paper."""
    return file_of(claim.module).with_name(FILE)


def kept(path: Path) -> dict[str, str]:
    """The lines of a file of certificates, by claim."""
    if not path.is_file():
        return {}
    lines = lzma.decompress(path.read_bytes()).decode().splitlines()
    return {json.loads(line)["claim"]: line for line in lines}


def kept_of(claim: Claim) -> str | None:
    """The line that is kept of a claim, where there is one."""
    path = path_of(claim)
    return _lines(path, path.stat().st_mtime_ns).get(claim.id) if path.is_file() else None


@cache
def _lines(path: Path, written: int) -> dict[str, str]:
    return kept(path)


def keep(claims: Mapping[str, Claim], lines: Mapping[str, str | None]) -> dict[Path, int]:
    """Write lines in the place of those that were kept (None: none is), and leave out claims that do not exist any more."""
    counts = {}
    for path in sorted({path_of(claims[claim]) for claim in lines}):
        before = {name: line for name, line in kept(path).items() if name in claims}
        own = {name: line for name, line in lines.items() if path_of(claims[name]) == path}
        every = {name: line for name, line in {**before, **own}.items() if line is not None}
        text = "".join(f"{every[name]}\n" for name in sorted(every))
        path.write_bytes(lzma.compress(text.encode(), preset=9))
        counts[path] = len(every)
    return counts


__all__ = ["Certified", "accepted", "certified", "keep", "kept", "kept_of", "path_of", "stale", "without"]
