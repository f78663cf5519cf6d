"""Which instances of the checker's rules about softmax matrices stand for a step of a derivation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from verify.arithmetics.norms import nodes
from verify.arithmetics.norms.gaps import covariance_of, minor_of_covariance, own_place, row_of_covariance
from verify.arithmetics.norms.recording import Writer
from verify.arithmetics.norms.signs import is_nonnegative
from verify.arithmetics.norms.smallest import OFF_DIAGONAL
from verify.arithmetics.norms.world import Node, unused_index
from verify.kernel import quantities, softmax_rules

Steps = list[tuple[Any, ...]]
Reason = Callable[[Any, Any], list[Any] | None]


def of_softmax(w: Writer, step: Any, reason: Reason) -> Iterator[Steps]:
    """Instances for a step of a derivation; none for a step that is about something else."""
    atom = w.known.atoms.get(step.quantity)
    node = atom.payload[0] if atom is not None else None
    if not isinstance(node, Node):
        return
    if step.rule == "distance from rank one":
        yield [("distance from equal entries", [w.node(node), w.scalar(1 / node.shape[1])])]
    elif step.rule == "weight by its gap" and atom is not None and atom.kind == OFF_DIAGONAL:
        T = node.parts[0]
        yield [(step.rule, [_index_of_rows(w, T), w.node(T)])]
    elif step.rule in ("columns of weights", "weights beside the identity"):
        yield from ([(step.rule, [w.node(T)])] for T in _logits(node))
    elif step.rule.startswith("softmax near the uniform matrix"):
        for T in _logits(node):
            arguments = [_index_of_rows(w, T), w.node(T)]
            if "chord" not in step.rule:
                yield [("softmax near equal weights", arguments)]
                continue
            size = softmax_rules.spread(w.value(arguments[1]), w.value(arguments[0]))
            if (why := reason(size, quantities.number(1))) is not None:
                yield [("softmax near equal weights, by a chord", arguments, [why])]
    elif step.rule == "softmax of larger logits":
        for symbol in step.bound.free_symbols & w.known.atoms.keys():
            sides = [nodes.single(X.parts[0]) for X in (node, w.known.atoms[symbol].payload[0])]
            (c, T), (d, _) = sides
            places = [w.scalar(c), w.scalar(d)]
            reasons = [reason(*map(w.value, pair)) for pair in ((w.scalar(0), places[0]), places)]
            if None not in reasons:
                yield [(step.rule, [*places, w.node(T)], reasons)]
    elif step.rule == "softmax row less an entry" and node.kind == "without column":
        yield [(step.rule, [w.index(node.data[0]), w.node(node.parts[0].parts[0])])]
    elif step.rule == "row of a covariance" and node.kind == "without column":
        row = row_of_covariance(node.parts[0], node.data[0])
        if row is not None:
            yield [(step.rule, [w.index(node.data[0]), w.node(row.parts[0])])]
    elif step.rule == "weight of several":
        yield [("largest entry", [w.node(node)]), ("sum of all absolute values", [w.node(node)])]
    elif step.rule == "covariance off the diagonal":
        for rest in filter(None, map(minor_of_covariance, node.parts)):  # a row of weights without one of them
            yield [(step.rule, [w.index(rest.data[0]), w.node(rest.parts[0].parts[0])])]
    elif step.rule == "third central moment":
        for part in node.parts[1].parts:
            row = covariance_of(part.parts[0].parts[0]) if part.kind == "diagonal" else None
            if row is not None:
                yield [(step.rule, [w.node(row.parts[0]), w.node(node.parts[-1])])]
    elif step.rule == "trace of a covariance":
        for part in node.parts:
            row = nodes.transposed(part.parts[0]) if part.kind == "diagonal" else None
            if row is not None and row.kind == "softmax" and (i := own_place(row)) is not None:
                yield [("covariance by the weights beside one", [w.index(i), w.node(row.parts[0])])]


def _logits(node: Node) -> Iterator[Node]:
    """The logits of the softmax matrices that a node is, or is a sum of."""
    for part in (node, *node.parts):
        if part.kind == "softmax":
            yield part.parts[0]


def _index_of_rows(w: Writer, T: Node) -> int:
    """The index that the largest gap and the largest range of logits are over."""
    c, core = nodes.single(T)
    core = core if is_nonnegative(c) else T
    return w.index(unused_index(core.shape[0], core))
