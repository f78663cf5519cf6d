"""The checker of certificates: plain Python that imports nothing else of ours and searches for nothing.

`check` reads one certificate as docs/certificates.md and docs/certificates-bounds.md have it and says what it proves, or
raises `Refused`.
"""

from __future__ import annotations

import json
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


def read(line: str) -> Any:
    """A certificate from one line of a file; raises `Refused` for what is no JSON, or has a key twice.

    Of two values of a key the last would be checked, and a person reads the first.
    """
    try:
        return json.loads(line, object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Refused(f"this is no JSON: {type(error).__name__}: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Refused(f"a key stands twice among {[key for key, _ in pairs]}")
    return found


def _no_number(name: str) -> Any:
    raise Refused(f"{name} is no number")


__all__ = ["Accepted", "Refused", "check", "check_identity", "read"]
