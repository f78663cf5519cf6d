"""Certificates of derivations: what `verify.kernel.bounds` checks, written from the steps that a search has found.

Nothing here is trusted: what a derivation leaves out is tried, and whatever comes out the checker has to accept.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import sympy

from verify.arithmetics.norms import isometry_instances
from verify.arithmetics.norms.derivations import BoundProof
from verify.arithmetics.norms.recording import NotCertified, Writer
from verify.arithmetics.norms.retraced import Retraced
from verify.arithmetics.norms.world import resumed
from verify.kernel import bounds as kernel

#: Whether a claim is about sizes from a number on alone.
IsAtLeast = Callable[[sympy.Symbol, int], bool]


def certificate_of(
    claim_id: str,
    proof: BoundProof,
    steps: bool = True,
    is_at_least: IsAtLeast = lambda size, least: False,
    granted: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, Any]:
    """The certificate of a proved bound; raises `NotCertified` where a part of it cannot be written yet.

    Without `steps` it has the statement alone, and the checker would not accept it.  `is_at_least` says of which sizes the
    claim is only from 2 on: where a derivation needs that, the certificate says it, or has a case for what is smaller.  Of a
    bound that was stated and not derived, `granted` has those sizes, with what they are at least.
    """
    assert proof.world is not None
    least = {**granted, **{name: value + 1 for name, value in proof.cases}}
    least |= {size.name: 2 for size in _shortened(proof) if is_at_least(size, 2)}
    cases = [
        {"size": name, "value": value, "certificate": certificate_of(claim_id, case, steps)}
        for (name, value), case in proof.cases.items()
    ]
    with resumed(proof.world):
        writer = Writer(proof.world, least)
        facts = list(_assumptions(writer, proof.world.facts))
        facts += [
            writer.add("+", writer.scalar(bound), writer.scalar(-symbol))
            for symbol, bound in proof.world.assumed.items()
        ]
        frames = list(map(writer.node, writer.frames))
        multiples = list(isometry_instances.assumed(writer))
        writer.assumed = kernel.Assumed(
            [writer.value(fact) for fact in facts],
            [writer.value(frame) for frame in frames],
            [(writer.value(P), writer.value(c)) for P, c in multiples],
        )
        writer.given = len(facts)
        for entry in proof.entries:
            writer.scalar(entry.left), writer.scalar(entry.right)
        writer.stated = True
        retraced = [Retraced(writer, entry, facts) for entry in proof.entries]
        parts = [each.part() if steps else each.stated() for each in retraced]
    return {
        "format": kernel.FORMAT, "kind": "bound", "claim": claim_id,
        "sizes": [[name, k] if k > 1 else name for name, k in sorted(writer.sizes.items())],
        "scalars": writer.scalars, "inputs": writer.inputs, "table": writer.entries, "nonzero": sorted(writer.nonzero),
        "assumptions": facts, "orthonormal": frames,
        "parts": parts,
    } | ({"cases": cases} if cases else {}) | ({"multiples": multiples} if multiples else {})  # fmt: skip


def _shortened(proof: BoundProof) -> set[Any]:
    """The sizes n of which n - 1 is the size of a matrix without a column, or is divided by."""
    assert proof.world is not None
    every = proof.world.nodes.values()
    sizes = {sympy.expand(node.shape[1] + 1) for node in every if node.kind == "without column"}
    if "distance from rank one" in proof.rules:
        sizes |= {sympy.expand(item.expression + 2) for item in proof.conditions if item.least == 0}
    return {size for size in sizes if size.is_Symbol and size.is_integer}


def _assumptions(writer: Writer, facts: Iterable[Any]) -> Iterator[int]:
    """The assumptions that have an expression: what is certified without one of the others is only more general."""
    for fact in facts:
        with contextlib.suppress(NotCertified):
            yield writer.scalar(fact)
