"""The checker of certificates: plain Python that imports nothing else of ours and searches for nothing.

`check` reads one certificate as docs/certificates.md has it and says what it proves, or raises `Refused`.
"""

from __future__ import annotations

from typing import Any

from verify.kernel.identities import Accepted, check_identity
from verify.kernel.refusal import Refused

CHECKERS = {"identity": check_identity}


def check(certificate: Any) -> Accepted:
    """What a certificate proves; raises `Refused` where it does not."""
    kind = certificate.get("kind") if isinstance(certificate, dict) else None
    if not isinstance(kind, str) or kind not in CHECKERS:
        raise Refused(f"{kind!r} is no kind of certificate")
    return CHECKERS[kind](certificate)


__all__ = ["Accepted", "Refused", "check"]
