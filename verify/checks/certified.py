"""Certificates of proofs for all sizes: written from a proof, checked by `verify.kernel`, and kept in a paper's folder."""

from __future__ import annotations

import functools
import json
import lzma
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from verify.arithmetics.symbols.certificates import NotRecorded, certificate_of, statement_of
from verify.arithmetics.symbols.proof import Proof
from verify.inputs.witnesses import file_of
from verify.kernel import Refused, check_identity
from verify.vocabulary.claims import Claim

FILE = "certificates.jsonl.xz"


@dataclass(frozen=True)
class Certified:
    """The line that was written and what the record keeps of it; `problem` where the checker refused it."""

    line: str | None
    details: dict[str, Any]
    problem: str | None = None


def certified(claim: Claim, proof: Proof, before: str | None = None, anew: bool = True) -> Certified:
    """Write the certificate of a proof and check it, or say why there is none yet.

    Not `anew`, the line `before` that is kept of the claim is the certificate, if it states what the functions give now:
    the uses of rules are not sought again, and the checker says whether they are right.  Without it none are sought.
    """
    try:
        if not anew:
            stated = statement_of(claim.id, proof)
            if before is None:
                return Certified(None, {"missing": "none is kept; `verify prove --certificate` looks for one"})
            if _stated(json.loads(before)) == stated:
                return accepted(before)
        line = json.dumps(certificate_of(claim.id, proof), separators=(",", ":"), ensure_ascii=False)
    except NotRecorded as reason:
        return Certified(None, {"missing": str(reason)})
    except Exception as error:  # what writes certificates is trusted with nothing, nor is a proof by its failure lost
        return Certified(None, {"missing": f"{type(error).__name__} while it was written"})
    return accepted(line)


def _stated(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """What a certificate says, without the uses that show it."""
    return {**certificate, "parts": [{**part, "uses": []} for part in certificate["parts"]]}


def accepted(line: str) -> Certified:
    """What the checker says of a line of a file of certificates."""
    try:
        found = check_identity(json.loads(line))
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


def kept_of(claim: Claim) -> str | None:
    """The line that is kept of a claim, where there is one."""
    path = path_of(claim)
    return _kept(path, path.stat().st_mtime_ns).get(claim.id) if path.is_file() else None


@functools.lru_cache(maxsize=16)
def _kept(path: Path, _written: int) -> dict[str, str]:
    return kept(path)


def kept(path: Path) -> dict[str, str]:
    """The lines of a file of certificates, by claim."""
    if not path.is_file():
        return {}
    lines = lzma.decompress(path.read_bytes()).decode().splitlines()
    return {json.loads(line)["claim"]: line for line in lines}


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


__all__ = ["Certified", "accepted", "certified", "keep", "kept", "kept_of", "path_of"]
