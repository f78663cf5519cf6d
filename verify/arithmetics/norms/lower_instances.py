"""Which instances of the checker's rules say that a smallest singular value is at least something."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import sympy

from verify.arithmetics.norms import nodes
from verify.arithmetics.norms.atoms import SMALLEST
from verify.arithmetics.norms.recording import Writer, any_of, beside, generators
from verify.arithmetics.norms.world import Node
from verify.kernel import bounds as kernel
from verify.kernel import quantities
from verify.kernel.refusal import Refused

#: The rules from below of which the checker has one, and its name there.
RULES = {
    "smallest singular value of a sum": "smallest singular value of a sum",
    "smallest singular value of a product": "smallest singular value of a product",
    "smallest singular value of blocks side by side": "smallest singular value of blocks",
}


def lower_steps(w: Writer, value: Any, g: Any, step: Any) -> Iterator[list[tuple[Any, ...]]]:
    """Steps that replace the generator g, the smallest singular value of a node, by less where a scalar has -m g, m >= 0."""
    atom = w.known.atoms.get(-step.quantity)
    if atom is None or atom.kind != SMALLEST:
        return
    for arguments in _arguments(w, atom.payload[0], step):
        name = RULES[step.rule]
        values = [w.value(place) for place in arguments]
        shown = [order(w, M.columns, M.rows) for M in values] if name != "smallest singular value of a sum" else []
        if None in shown:
            continue
        try:
            less, more = kernel.instance(name, values, shown, w.assumed, w.reader.table)
        except (Refused, *kernel.ERRORS):
            continue
        own = beside(more, g)
        if len(own.terms) != 1:
            continue
        multiplier = (beside(value, g) * quantities.number(-1)).over(own)
        after = value + multiplier * (more - less)
        why = ["instance", name, arguments, shown, w.of_scalar(multiplier), ["terms"]]
        yield [("comparison", [w.of_scalar(after)], why)]


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


def order(w: Writer, small: Any, large: Any) -> list[Any] | None:
    """A reason for small <= large, of two sizes: for certain, or by one assumption; all reasons would take minutes to try."""
    if quantities.is_nonnegative(large - small):
        return ["terms"]
    for k, fact in enumerate(w.assumed.facts):
        if quantities.is_nonnegative(large - small - fact):
            return ["facts", [[k, w.scalar(1)]], ["terms"]]
    return None


def _arguments(w: Writer, node: Node, step: Any) -> Iterator[list[int]]:
    """The matrices of which a rule may speak."""
    if node.kind == "transpose":
        node = node.parts[0]
    whole = w.node(node)
    if step.rule == "smallest singular value of a sum":
        parts = [w.add("sum", w.scalar(c), w.node(part)) for c, part in nodes.terms_of(node)]
        known = [w.known.atoms.get(symbol) for symbol in sorted(step.bound.free_symbols, key=sympy.default_sort_key)]
        parts += [w.node(other.payload[0]) for other in known if other is not None and other.kind == SMALLEST]
        if node.shape[0] == node.shape[1]:
            parts.append(w.add("identity", w.scalar(node.shape[0])))
        for part in parts:
            if (w.value(part).rows, w.value(part).columns) == (w.value(whole).rows, w.value(whole).columns):
                yield [part, w.add("sum", w.scalar(1), whole, w.scalar(-1), part)]
    if step.rule == "smallest singular value of blocks side by side":
        yield [w.node(part) for part in node.parts]
    if step.rule == "smallest singular value of a product":
        for k in range(1, len(node.parts)):
            A, B = (w.node(nodes.product(side)) for side in (node.parts[:k], node.parts[k:]))
            yield [A, B]
            yield [w.transposed(B), w.transposed(A)]
