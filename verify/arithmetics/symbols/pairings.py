"""Expectations over independent Gaussian entries: the sum over pairings (Wick, Isserlis)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from verify.arithmetics.formal import register_forms
from verify.arithmetics.symbols.canonical import Factor
from verify.arithmetics.symbols.extents import note_extent
from verify.arithmetics.symbols.heads import delta
from verify.arithmetics.symbols.indexed import Indexed, lifted, named
from verify.arithmetics.symbols.scalars import Scalar, scalar
from verify.arithmetics.symbols.sizes import size_of
from verify.arithmetics.symbols.sums import (
    Product,
    Sum,
    as_built,
    collected,
    is_rule,
    note_rule,
    sizes_summed,
    step_named,
)
from verify.vocabulary.errors import ArithmeticUnsupported
from verify.vocabulary.hypotheses import NORMAL_ENTRIES

PAIRS = step_named("equal entries of normal matrices in pairs")
_numbers = itertools.count()


def expectation(value: Indexed, over: Mapping[str, Any]) -> Indexed:
    """E[value] where the entries of the tensors `over` are independent N(0, variance); polynomial in those tensors."""
    found = value.value
    for name, variance in over.items():
        found = _over_one(found, name, scalar(variance))
    return Indexed(found, value.axes, value.bound)


@as_built("expectation")
def _over_one(value: Sum, name: str, variance: Scalar) -> Sum:
    products: list[Product] = []
    for key, coefficient in value.terms.items():
        random = [factor for factor in key if factor[0].kind == "tensor" and factor[0].name == name]
        rest = [factor for factor in key if factor not in random]
        for made, _ in rest:
            if made.inner is not None and any(
                inner.kind == "tensor" and inner.name == name for inner in made.inner.heads()
            ):
                raise ArithmeticUnsupported(f"the expectation of {made.kind} of the random {name}")
        if len(random) % 2:
            continue
        sizes = sizes_summed(key, len(value.slots))
        weight = coefficient
        for _ in range(len(random) // 2):
            weight = weight * variance
        for pairing in _pairings(random):
            deltas = [
                (delta(one[0].sizes[k]), (a, b))
                for one, other in pairing
                for k, (a, b) in enumerate(zip(one[1], other[1], strict=True))
            ]
            products.append((weight, [*rest, *deltas], dict(sizes)))
    return collected(products, value.slots)


def _pairings(factors: list[Factor]) -> Iterator[list[tuple[Factor, Factor]]]:
    if not factors:
        yield []
        return
    first, *others = factors
    for k, partner in enumerate(others):
        for pairing in _pairings(others[:k] + others[k + 1 :]):
            yield [(first, partner), *pairing]


def expectation_of(f: Callable[..., Any], normals: Mapping[str, Any], arguments: Mapping[str, Any]) -> Indexed:
    """E f over the matrices `normals`, of which hypotheses must say that their entries are normal."""
    for name in normals:
        if not is_rule(f"{name} {NORMAL_ENTRIES}"):
            raise ArithmeticUnsupported(
                f"an expectation over {name}, of which no hypothesis says that it {NORMAL_ENTRIES}"
            )
    own = {name: f"{name}~{next(_numbers)}" for name in normals}  # which nothing that f captures can have
    value = lifted(
        f(**{name: named(own[name], normal.rows, normal.columns) for name, normal in normals.items()}, **arguments)
    )
    if not isinstance(value, Indexed):
        raise ArithmeticUnsupported(f"the expectation of {value!r}")
    for name in normals:
        note_rule(f"{name} {NORMAL_ENTRIES}")
    note_rule(PAIRS)
    for normal in normals.values():  # in numbers, polynomials in the entries of all normal matrices
        note_extent((size_of("rows", normal.rows), size_of("columns", normal.columns)) * 6, ())
    return expectation(value, {own[name]: normal.variance for name, normal in normals.items()})


register_forms({"expectation": expectation_of})
