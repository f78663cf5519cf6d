"""The checker of certificates: plain Python that imports nothing else of ours and searches for nothing.

`check` reads one certificate as docs/certificates.md and docs/certificates-bounds.md have it and says what it proves, or
raises `Refused`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from verify.kernel.bounds import check as check_bound
from verify.kernel.identities import Accepted, check_identity
from verify.kernel.refusal import Refused

CHECKERS: dict[str, Callable[[Any], Accepted]] = {"identity": check_identity, "bound": check_bound}


def check(certificate: Any) -> Accepted:
    """Check a certificate of any kind; what it proves. Raises `Refused` where it does not."""
    kind = certificate.get("kind") if isinstance(certificate, dict) else None
    if not isinstance(kind, str) or kind not in CHECKERS:
        raise Refused(f"{kind!r} is no kind of certificate")
    return CHECKERS[kind](certificate)


__all__ = ["Accepted", "Refused", "check", "check_identity"]
