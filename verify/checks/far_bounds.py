"""Bounds that are proved, held in numbers at sizes far beyond their ranges: a factor n^8 / 10^15 is small below 50, and not above.

Only both sides are evaluated there, in floats, at as large sizes as the matrices of both allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from verify.arithmetics.norms.derivations import BoundProof
from verify.arithmetics.norms.world import Index, Node, World
from verify.checks.decisions import Place
from verify.checks.evaluation import at_only_seed, one_of, raw_tensors
from verify.checks.operands import multiplied_sizes, symbols_of_size
from verify.checks.satisfied import one_satisfies
from verify.checks.settings import Settings
from verify.inputs.generators import Draw, applicable_domains, telling_sizes
from verify.vocabulary.claims import Claim
from verify.vocabulary.shapes import Shape

#: Sizes are multiplied by the largest of these that is not too much work.
MULTIPLES = (150, 60, 24, 8, 3)
#: So much may the products m n min(m, n) of all matrices of shape (m, n) come to, and so many of them may there be.
MOST_WORK, MOST_MATRICES = 30_000_000, 1_000
#: So many times as much work is a matrix of derivatives.
DIFFERENTIATED = 30
#: From these domains inputs are drawn, where the claim admits them; a bound that grows in another order fails at one of them.
DOMAINS = ("generic", "tiny")
#: By how much floats may put the left side above the right one.
AGREEMENT = 1e-8


@dataclass
class FarSpot:
    """Both sides at large sizes: by how much the left one is above the right one, relative to the larger."""

    sizes: dict[str, int]
    above: float


def far_spots(claim: Claim, proof: BoundProof, settings: Settings, accepted: bool = False) -> list[FarSpot]:
    """Both sides at large sizes, wherever they are finite and floats tell them apart.

    In one domain where the checker has `accepted` a certificate, since it leaves only the way from the functions to it.
    """
    admitted = applicable_domains(claim)
    found = []
    for sizes in far_sizes(claim, proof):
        domains = [name for name in DOMAINS if name in admitted] or admitted[:1]
        for domain in domains[:1] if accepted else domains:
            arrays = Draw(tuple(sizes.items()), domain, settings.seed).arrays(claim, 1)
            above = _excess(claim, arrays, settings)
            if above is not None:
                found.append(FarSpot(sizes, above))
    return found


def _excess(claim: Claim, arrays: Mapping[str, Any], settings: Settings) -> float | None:
    """By how much the left side is above the right one; None where that is not defined, or is rounding.

    An excess counts that float32 sees too, and that balls confirm; they take long, and are asked for nothing else.
    """
    batch = raw_tensors(claim, arrays, settings, "float64")
    sides = _sides(claim, batch) if one_satisfies(claim, batch) else None
    if sides is None:
        return None
    left, right = sides
    above = (left - right) / left.abs().maximum(right.abs()).clamp(min=1e-300)
    largest = float(above.max())
    if largest <= AGREEMENT:
        return largest
    coarse = _sides(claim, raw_tensors(claim, arrays, settings, "float32"))
    if coarse is None:
        return None
    moved = sum((one.double() - other).abs() for one, other in zip(coarse, sides, strict=True))
    if not bool(((above > AGREEMENT) & (left - right > 4 * moved)).any()):
        return None
    decision = Place(claim, one_of(claim, arrays, 0)).ranked(claim.the_formula)
    return largest if decision is not None and decision.certain else None


def _sides(claim: Claim, batch: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """Left and right side at the only seed of a batch, several entries beside one; None where they are not finite."""
    left, right = at_only_seed(claim, [claim.the_oracle, claim.the_formula], batch)
    return (left, right) if bool(left.isfinite().all() and right.isfinite().all()) else None


# -- how large ---------------------------------------------------------------------------------------------------------


def far_sizes(claim: Claim, proof: BoundProof) -> list[dict[str, int]]:
    """Large sizes that the claim's condition admits: all that have a range multiplied, then each of them alone."""
    return multiplied_sizes(claim, _base(claim), MULTIPLES, lambda sizes: _is_feasible(claim, proof, sizes))


def _base(claim: Claim) -> dict[str, int]:
    """The sizes that are multiplied: as different ones as possible, none of them 0 where that can be helped."""
    least = dict(telling_sizes(claim)[0])
    above = {name: max(value, min(1, claim.sizes[name][1])) for name, value in least.items()}
    return above if claim.where(above) else least


def _is_feasible(claim: Claim, proof: BoundProof, sizes: Mapping[str, int]) -> bool:
    """Whether both sides can be evaluated at these sizes in little time, by the matrices that they are made of."""
    assert proof.world is not None
    values = {symbol: sympy.Integer(value) for name, value in sizes.items() for symbol in symbols_of_size(name)}
    shapes = [(spec.resolve(sizes), 1) for spec in claim.parameters.values() if isinstance(spec, Shape)]
    work = sum(int(np.prod(shape)) * min(shape, default=1) * count for shape, count in shapes)
    matrices = 0
    for node, repeated in _matrices(proof, proof.world):
        m, n, *times = (size.xreplace(values) for size in (*map(sympy.sympify, node.shape), *repeated))
        if not all(number.is_Integer for number in (m, n, *times)):
            return False  # a size that only the preparation knows
        count = int(sympy.prod(times))
        matrices += count
        each = int(m) * int(n) * max(1, int(min(m, n)))
        work += count * each * (DIFFERENTIATED if node.kind.endswith(("derivative", "differential")) else 1)
        if work > MOST_WORK or matrices > MOST_MATRICES:
            return False
    return True


def _matrices(proof: BoundProof, known: World) -> Iterator[tuple[Node, tuple[Any, ...]]]:
    """The matrices that both sides of all entries speak of, and the sizes that say how often each of them is formed."""
    todo: list[tuple[Any, frozenset[Index]]] = [
        (side, frozenset({entry.index} if entry.index else ()))
        for entry in proof.entries
        for side in (entry.left, entry.right)
    ]
    seen = set()
    while todo:
        item, around = todo.pop()
        if isinstance(item, tuple):
            around = around | {part for part in item[:1] if isinstance(part, Index)}
            todo += [(part, around) for part in item]
        elif isinstance(item, sympy.Basic):
            # in a fixed order, since a matrix is formed as often as the place says at which it is first met
            quantities = sorted(item.free_symbols & known.atoms.keys(), key=sympy.default_sort_key)
            todo += [(known.atoms[symbol].payload, around) for symbol in quantities]
        elif isinstance(item, Node) and item not in seen:
            seen.add(item)
            bound = {part for part in item.data[:1] if isinstance(part, Index)}
            steps = item.data[:1] if item.kind.startswith("iterate") else ()
            yield item, (*(index.size for index in around | bound | item.indices), *steps)
            todo += [(part, around | bound) for part in (*item.parts, item.data)]
