"""Which instances of the checker's rules stand for norms that an assumption A B = c I makes known."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from verify.arithmetics.norms.recording import NotCertified, Writer, generators, text_of
from verify.arithmetics.norms.world import Node
from verify.kernel import isometries, quantities
from verify.kernel.refusal import Refused

NORM, UNIT_ROW = isometries.RULES


def assumed(w: Writer) -> Iterator[list[int]]:
    """The products of two inputs that an assumption says are multiples of the identity, and the factors."""
    by_number, turned = {node.number: node for node in w.known.nodes.values()}, set()
    for pair, c in w.known.reductions.items():
        with contextlib.suppress(NotCertified, Refused):  # without one of them a certificate is only more general
            made = [w.add("product", *(w.node(by_number[number]) for number in pair)), w.scalar(c)]
            P, value = isometries.multiple(*map(w.value, made))
            if (P, value) not in turned:  # the transpose of another says nothing else
                turned.add((P.T, value))
                yield made


def known_norm(w: Writer, node: Node) -> Any:
    """c^(1/2) for a matrix A with A^T A = c I that is no input; None for any other."""
    if node.kind == "sum" and w.assumed.multiples:
        with contextlib.suppress(Refused):
            return isometries.square(w.value(w.node(node)), w.assumed.multiples) ** isometries.HALF
    return None


def of_factors(w: Writer, factors: Sequence[Node]) -> list[tuple[Any, ...]]:
    """The steps from the spectral norms of factors to numbers."""
    return [(NORM, factor) for factor in factors if known_norm(w, factor) is not None]


def unit_rows(a: Any, w: Writer) -> Iterator[tuple[str, list[int], Any, int]]:
    """||x A||^-1 = c^(-1/2) for a unit row x: the rule, what it is of, and the norm with its exponent."""
    if not w.assumed.multiples or len(a.terms) != 1:
        return
    for g in (g for g in generators(a) if g[:2] == ("norm", "F")):
        for X in sorted(g[2], key=text_of):
            first = {word[:1] for word in X.terms}
            if len(first) == 1 and first != {()}:
                ((item,),) = first
                x = quantities.Matrix(item[2], item[3], {(item,): quantities.number(1)})
                A = quantities.Matrix(item[3], X.columns, {word[1:]: c for word, c in X.terms.items()})
                yield UNIT_ROW, [w.matrix(x), w.matrix(A)], g, -1
