"""The checker of certificates: plain Python that imports nothing else of ours and searches for nothing.

`check` reads one certificate as docs/certificates.md has it and says what it proves, or raises `Refused`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from verify.kernel import bounds
from verify.kernel.identities import Accepted, check_identity
from verify.kernel.refusal import Refused

CHECKERS: dict[str, Callable[[Any], Accepted | None]] = {"identity": check_identity, "bound": bounds.check}


def check(certificate: Any) -> Accepted | None:
    """Check a certificate of any kind; what one of an identity proves. Raises `Refused` where it does not."""
    kind = certificate.get("kind") if isinstance(certificate, dict) else None
    if not isinstance(kind, str) or kind not in CHECKERS:
        raise Refused(f"{kind!r} is no kind of certificate")
    return CHECKERS[kind](certificate)


__all__ = ["Accepted", "Refused", "check", "check_identity"]
