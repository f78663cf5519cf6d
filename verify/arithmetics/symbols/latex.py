"""Normal forms in index notation, as LaTeX."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from verify.arithmetics.formula_latex import abbreviated
from verify.arithmetics.symbols.canonical import Key
from verify.arithmetics.symbols.difference import parts_of
from verify.arithmetics.symbols.head_kinds import KINDS, scaled_latex
from verify.arithmetics.symbols.scalars import Scalar
from verify.arithmetics.symbols.sums import Sum

_OPEN, _SUMMED = "abcdefgh", "ijklmnopqrstuvwxyz"


def sum_latex(value: Sum, longest: float = math.inf) -> str:
    """All terms in index notation, at most about `longest` characters; open indices are a, b, ..., repeated ones are summed."""
    if longest < math.inf:
        return _sum_within(value, longest)
    return _added(list(_terms_latex(value))) if value.terms else "0"


def _added(terms: list[str]) -> str:
    return " + ".join(terms).replace("+ -", "- ")


def _terms_latex(value: Sum) -> Iterator[str]:
    """The terms in their order, one after the other; each has index names of its own."""
    for key, coefficient in sorted(value.terms.items(), key=_by_names):
        names = _index_names(len(value.slots))
        labels: dict[int, str] = {slot: next(names) for slot in range(len(value.slots))}
        spare = iter(_more_names())
        factors = []
        for made, indices in key:
            for index in indices:
                if index not in labels:
                    labels[index] = next(spare)
            factors.append(KINDS[made.kind].latex(made, [labels[index] for index in indices], sum_latex))
        yield scaled_latex(coefficient, r"\, ".join(factors))


def _by_names(term: tuple[Key, Scalar]) -> tuple[bool, list[tuple[str, int, tuple[int, ...]]]]:
    """Where a term stands among others: by the names of its heads, then by which was met first, then by the indices.

    A number comes last.  As text, a number of a head would come before others or after them by what was proved before.
    """
    return not term[0], [(made.name or made.kind, made.number, indices) for made, indices in term[0]]


def normal_form_latex(value: Any, longest: int) -> str:
    """All terms of a side, several matrices one after the other, cut after whole terms at about `longest` characters."""
    sums = [part.value for part in parts_of(value)]
    shown, length = [], 0
    for item in sums:
        text = _sum_within(item, longest - length)
        shown.append(text)
        length += len(text)
        if length >= longest and len(shown) < len(sums):
            shown.append(rf"\ldots\ \text{{({len(sums) - len(shown)} more blocks)}}")
            break
    return abbreviated(r",\quad ".join(shown))


def _sum_within(value: Sum, longest: float) -> str:
    """All terms, or the first of them; what is left out is not written at all, since text only grows with a term."""
    count, kept = len(value.terms), len(value.terms)
    shown: list[str] = []
    for term in _terms_latex(value):
        shown.append(term)
        if len(text := _added(shown)) > longest:
            break
    else:
        return text if shown else sum_latex(value)
    while kept > 1 and (kept >= len(shown) or len(text) > longest):
        kept -= max(1, kept // 4)
        text = _added(shown[:kept])
    if len(text) > longest:
        return rf"\ldots\ \text{{({count} terms)}}"
    return rf"{text} + \ldots\ \text{{({count - kept} more terms)}}"


def _index_names(count: int) -> Iterator[str]:
    yield from (_OPEN[k] if k < len(_OPEN) else f"a_{{{k}}}" for k in range(count))


def _more_names() -> Iterator[str]:
    yield from _SUMMED
    for k in range(1000):
        yield f"i_{{{k}}}"
