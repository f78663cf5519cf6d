"""What balls say at drawn inputs, rounding units and enclosures: it is the same for every implementation, and found once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from verify.vocabulary.claims import Claim

T = TypeVar("T")

#: So many numbers and small arrays are kept; then all are forgotten.
MOST = 20_000
_known: dict[tuple[Any, ...], Any] = {}


def found_once(
    claim: Claim,
    functions: Sequence[Callable[..., Any]],
    seed: Mapping[str, Any],
    what: Any,
    find: Callable[[], T],
    calls: Callable[[], int] = lambda: 0,
) -> T:
    """What `find` returns, kept by the functions that are evaluated, the inputs in every bit, and `what` is asked.

    Balls fall through an implementation to the definition, so its values are no part of what is kept; what it was called for
    all the same, as the number of `calls` says, is not kept.
    """
    drawn = tuple(
        (name, x if isinstance(x, int) else (np.shape(x), np.asarray(x).tobytes())) for name, x in seed.items()
    )
    key = (what, claim.id, claim.named_functions().get("inputs"), *functions, drawn)
    if key not in _known:
        if len(_known) >= MOST:
            _known.clear()
        before, found = calls(), find()
        if calls() != before:
            return found
        _known[key] = found
    return _known[key]  # type: ignore[no-any-return]
