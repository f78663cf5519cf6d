"""Which instances of the checker's rules stand for a step about an exponential that keeps lengths."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import sympy

from verify.arithmetics.norms import nodes
from verify.arithmetics.norms.atoms import SMALLEST
from verify.arithmetics.norms.lower_instances import order
from verify.arithmetics.norms.recording import KINDS, Writer, beside
from verify.arithmetics.norms.world import Node
from verify.kernel import bounds as kernel
from verify.kernel.refusal import Refused

Steps = list[tuple[Any, ...]]


def of_lengths(w: Writer, value: Any, g: Any, step: Any) -> Iterator[Steps]:
    """Instances for a step of a derivation; none for a step that is about something else."""
    atom = w.known.atoms.get(step.quantity)
    if atom is None or atom.kind not in KINDS:
        return
    kind, node = KINDS[atom.kind], atom.payload[0]
    if step.rule == "exponential that keeps lengths":
        for factors in (node.parts, nodes.factors_of(nodes.transposed(node))):
            for k in range(1, len(factors)):
                if factors[k].kind == "exponential":
                    rest = factors[k + 1 :]
                    last = w.node(nodes.product(rest)) if rest else w.add("identity", w.scalar(factors[k].shape[1]))
                    yield [(step.rule, [kind, w.node(nodes.product(factors[:k])), w.node(factors[k].parts[0]), last])]
    elif step.rule == "product from below":
        for frame in _divisors(w, step.bound):
            yield from _compared(w, value, g, step.rule, [kind, w.node(frame), w.node(node)], frame)
    elif step.rule == "exponentials that keep lengths":
        for factors in (node.parts, nodes.factors_of(nodes.transposed(node))):
            if len(factors) < 2:
                continue
            pair = [part.parts[0] for _, part in nodes.terms_of(factors[-1]) if part.kind == "exponential"]
            X = w.node(nodes.product(factors[:-1]))
            for A, B in (pair, pair[::-1]) if len(pair) == 2 else ():
                for frame in _divisors(w, step.bound):
                    arguments = [kind, X, w.node(frame), w.node(A), w.node(B)]
                    yield from _compared(w, value, g, step.rule, arguments, frame)


def _divisors(w: Writer, bound: Any) -> Iterator[Node]:
    """The matrices by whose smallest singular values a bound divides."""
    for symbol in sorted(bound.free_symbols & w.known.atoms.keys(), key=sympy.default_sort_key):
        if w.known.atoms[symbol].kind == SMALLEST:
            frame = w.known.atoms[symbol].payload[0]
            yield from (frame, nodes.transposed(frame))


def _compared(w: Writer, value: Any, g: Any, name: str, arguments: list[Any], frame: Node) -> Iterator[Steps]:
    """The value with less than q in the place of the generator g, where a rule says sigma q <= less of a divisor sigma."""
    shown = order(w, *(w.value(w.scalar(size)) for size in frame.shape[::-1]))
    if shown is None:
        return
    with contextlib.suppress(Refused, *kernel.ERRORS):
        values = [w.value(item) if isinstance(item, int) else item for item in arguments]
        less, more = kernel.instance(name, values, [shown], w.assumed, w.reader.table)
        multiplier = beside(value, g).over(beside(less, g))
        after = value + multiplier * (more - less)
        why = ["instance", name, arguments, [shown], w.of_scalar(multiplier), ["terms"]]
        yield [("comparison", [w.of_scalar(after)], why)]
