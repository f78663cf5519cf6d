"""Which instances of the checker's rules say that a smallest singular value is at least something."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from verify.arithmetics.norms.atoms import SMALLEST
from verify.arithmetics.norms.recording import Writer, any_of, beside, generators
from verify.kernel import bounds as kernel
from verify.kernel import quantities
from verify.kernel.refusal import Refused


def reasons(a: Any, b: Any, w: Writer) -> Iterator[list[Any]]:
    """a <= b by a multiple of what a rule says of two smallest singular values, or of one and the largest."""
    found = {g: any_of(g[1]) for side in (a, b) for g in generators(side) if g[0] == SMALLEST}
    gaps: list[tuple[Any, Callable[[Any], Any]]] = [(b - a, lambda why: why)] if found else []
    with contextlib.suppress(Refused):
        gaps.append((kernel.without_denominators(b - a, w.assumed.facts), lambda why: ["denominators", why]))
    for g, A in found.items():
        instances = [("smallest at most largest singular value", [w.matrix(A)])]
        for h, B in found.items():
            if h != g and (A.rows, A.columns) == (B.rows, B.columns):
                instances += [
                    ("smallest singular value of a sum", [w.matrix(A), w.matrix(other - A)])
                    for other in (B, B.times(quantities.number(-1)))
                ]
        for name, arguments in instances:
            less, more = kernel.instance(name, list(map(w.value, arguments)), [], w.assumed, w.reader.table)
            for (gap, wrap), h in itertools.product(gaps, found):
                own = beside(more - less, h).number()
                multiplier = beside(gap, h) * quantities.number(1 / own if own else 0)
                if (
                    multiplier.terms
                    and quantities.is_nonnegative(multiplier)
                    and quantities.is_nonnegative(gap - multiplier * (more - less))
                ):
                    yield wrap(["instance", name, arguments, [], w.of_scalar(multiplier), ["terms"]])
