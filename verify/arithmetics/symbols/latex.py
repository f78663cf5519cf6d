"""Normal forms in index notation, as LaTeX."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from verify.arithmetics.formula_latex import abbreviated, name_latex
from verify.arithmetics.symbols.difference import parts_of
from verify.arithmetics.symbols.heads import Head
from verify.arithmetics.symbols.matrix_exponential import legs_of
from verify.arithmetics.symbols.recurrences import STEPPED
from verify.arithmetics.symbols.scalars import Scalar
from verify.arithmetics.symbols.sums import Sum

_OPEN, _SUMMED = "abcdefgh", "ijklmnopqrstuvwxyz"
#: A start of more characters than this is not written out in full.
LONGEST_START = 200


def sum_latex(value: Sum) -> str:
    """All terms in index notation; open indices are a, b, ..., repeated ones are summed."""
    return _added(list(_terms_latex(value))) if value.terms else "0"


def _added(terms: list[str]) -> str:
    return " + ".join(terms).replace("+ -", "- ")


def _terms_latex(value: Sum) -> Iterator[str]:
    """The terms in their order, one after the other; each has index names of its own."""
    for key, coefficient in sorted(value.terms.items(), key=str):
        names = _index_names(len(value.slots))
        labels: dict[int, str] = {slot: next(names) for slot in range(len(value.slots))}
        spare = iter(_more_names())
        factors = []
        for made, indices in key:
            for index in indices:
                if index not in labels:
                    labels[index] = next(spare)
            factors.append(_head_latex(made, [labels[index] for index in indices]))
        yield _scaled(coefficient, r"\, ".join(factors))


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


def _sum_within(value: Sum, longest: int) -> str:
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


def _scaled(coefficient: Scalar, product: str) -> str:
    expression = coefficient.expression
    if not product:
        return sympy.latex(expression)
    if expression == 1:
        return product
    if expression == -1:
        return f"-{product}"
    text = sympy.latex(expression)
    return f"({text})\\, {product}" if len(coefficient.terms) > 1 else f"{text}\\, {product}"


def _head_latex(made: Head, indices: list[str]) -> str:
    below = f"_{{{' '.join(indices)}}}" if indices else ""
    if made.kind == "delta":
        return rf"\delta{below}"
    if made.kind == "unit":
        return rf"[e_{{{made.parameter + 1}}}]{below}"
    if made.kind == "selection":
        return rf"[I_{{:, {sympy.latex(made.parameter)}+1:}}]{below}"
    if made.kind == "grouping":
        return rf"\delta_{{{indices[0]}, ({' '.join(indices[1:])})}}"
    if made.kind == "order":
        return rf"[{indices[1]} \le {indices[0]} + ({sympy.latex(made.parameter)})]"
    if made.kind == "tensor":
        return f"[{name_latex(made.name)}]{below}"
    if made.kind == STEPPED:
        start = _sum_within(made.parameter.sums[0][made.parameter.own], LONGEST_START)
        return rf"[({start})^{{\langle {sympy.latex(made.parameter.count)}\rangle}}]{below}"
    assert made.inner is not None
    if made.kind == "dexpm":
        first, second = (rf"\operatorname{{expm}}({sum_latex(leg.matrix)})" for leg in legs_of(made))
        one, two = " ".join(indices[:2]), " ".join(indices[2:])
        return rf"\int_0^1 [{first}^{{s}}]_{{{one}}}\, [{second}^{{1-s}}]_{{{two}}}\,ds"
    inner = sum_latex(made.inner)
    if made.kind == "named":
        return rf"\left({inner}\right){below}"
    if made.kind == "phi":
        return rf"\varphi({inner}){below}"
    if made.kind == "softmax":
        return rf"\operatorname{{softmax}}({inner}){below}"
    if made.kind == "exp":
        return rf"\exp({_scaled(made.parameter, f'({inner})')}){below}"
    if made.kind == "power":
        return rf"({inner}){below}^{{{made.parameter}}}"
    if made.kind == "inverse":
        return rf"[({inner})^{{-1}}]{below}"
    return rf"\operatorname{{{made.kind}}}({inner}){below}"
