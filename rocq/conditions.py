"""What a theorem assumes beside its hypotheses, held against the claim: whether it holds at the inputs that the claim draws.

A condition that no input meets would make a theorem say nothing, and one that is stronger than what the claim assumes would make
it say less than the claim.  `met` evaluates every condition, as the exporter writes it, at inputs of every domain of the claim and
at all values of the indices; sizes have to be at least 1 and scalars positive, as every theorem assumes.

`python rocq/conditions.py` does this for the claims in theorems/kernel.json and writes there what it found.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import flint
import numpy as np
import sympy
from export import Claim, exported, read_certificates
from meaning import PRECISIONS, Meaning, Unknown, as_ball, is_positive
from words import words_of

from verify.checks.evaluation import UNDEFINED, flat_tensor, one_of, raw_tensors
from verify.checks.operands import free_parameters, sides_of
from verify.checks.satisfied import float_satisfies
from verify.checks.settings import Settings
from verify.inputs.generators import Arrays, Draw, applicable_domains, systematic
from verify.vocabulary.claims import Claim as Stated
from verify.vocabulary.registry import load
from verify.vocabulary.shapes import Shape

RESULT = Path(__file__).parents[1] / "theorems" / "kernel.json"
#: Draws of every domain, and seeds of each.
ROUNDS, SEEDS = 2, 3


def drawn(stated: Stated, rounds: int = ROUNDS) -> list[tuple[Draw, int, Arrays]]:
    """Draws of every domain of the claim, and those of their seeds that meet its tested assumptions."""
    found = []
    for draw in systematic(stated, rounds * len(applicable_domains(stated)), 0):
        arrays = draw.arrays(stated, SEEDS)
        usable = float_satisfies(stated, raw_tensors(stated, arrays, Settings(), "float64"))
        found += [(draw, seed, arrays) for seed in range(SEEDS) if bool(usable[seed])]
    return found


def meaning(claim: Claim, stated: Stated, draw: Draw, seed: int, arrays: Arrays) -> Meaning:
    """The claim's functions at what the claim prepares of a draw: floats, taken as the numbers that they are."""
    one = raw_tensors(stated, one_of(stated, arrays, seed), Settings(), "float64")
    inputs = stated.prepare(one)
    values: dict[str, np.ndarray] = {}
    sizes = dict(draw.sizes)
    for name, spec in {**stated.parameters, **free_parameters(stated)}.items():
        value = inputs.get(name, one.get(name))
        if value is None or isinstance(value, (list, tuple)):
            continue
        values[name] = np.asarray(value, dtype=np.float64)
        if isinstance(spec, Shape) and len(spec.dims) == values[name].ndim:
            for dim, size in zip(spec.dims, values[name].shape, strict=True):
                if not dim.isdigit():
                    sizes.setdefault(dim, int(size))
    numbered = {claim.sizes[name]: size for name, size in sizes.items() if name in claim.sizes}
    scalars = {k: as_ball(values[name]) for name, k in claim.scalars.items() if name in values}
    made = Meaning(numbered, scalars, {}, claim.by_number)
    for name, value in claim.certificate["sizes"].items():
        if value is not None:
            numbered[claim.sizes[name]] = _whole(made.value(claim.read(value, {}, {}), {}))
    entries: dict[int, dict[tuple[int, ...], Any]] = {}
    for name, item in claim.certificate["inputs"].items():
        shape = [numbered.get(claim.sizes[size], 0) for size in item["sizes"]]
        if is_structure(name) and all(shape):
            values[name] = of_structure(name, shape, sizes)
        if name in claim.entries and name in values and _but_ones(values[name].shape) == _but_ones(shape):
            array = values[name].reshape(shape)
            entries[claim.entries[name]] = {place: as_ball(array[place]) for place in np.ndindex(*shape)}
    return Meaning(numbered, scalars, entries, claim.by_number)


def is_structure(name: str) -> bool:
    """Whether an input is the tensor of an axis and its parts, or compares positions: its entries are known."""
    return re.match(r"[GSL]\(", name) is not None


def of_structure(name: str, sizes: Sequence[int], scalars: Mapping[str, Any]) -> np.ndarray:
    """G(whole, first, rest), S(whole, count, start) and L(rows, columns, shift) as docs/certificates.md has them."""
    found = np.zeros(sizes)
    if name.startswith("G("):
        for p, q in itertools.product(range(sizes[1]), range(sizes[2])):
            found[p * sizes[2] + q, p, q] = 1
        return found
    last = int(sympy.sympify(name.removesuffix(")").rsplit(", ", 1)[1]).subs(scalars))
    if name.startswith("L("):
        return np.tri(*sizes, last)
    return np.eye(sizes[0])[:, last : last + sizes[1]]


def _but_ones(shape: Sequence[int]) -> list[int]:
    return [size for size in shape if size != 1]


def _whole(x: Any) -> int:
    found = x.unique_fmpz()
    if found is None:
        raise Unknown("a size is not a whole number")
    return int(found)


def assumed(claim: Claim) -> list[tuple[str, Any]]:
    """What the theorem assumes: its conditions, that scalars are positive and that there is at least one of everything."""
    sizes = [("size", name) for name in claim.sizes]
    return [*sizes, *(("scalar", name) for name in claim.scalars), *claim.conditions]


def holds(claim: Claim, made: Meaning, what: str, which: Any) -> bool:
    """Whether one of these holds; raises `Unknown` where that cannot be told."""
    if what == "size":
        return bool(made.base(("l", claim.sizes[which])) >= 1)
    if what == "scalar":
        return is_positive(made.base(("r", claim.scalars[which])))
    return made.holds(what, which)


def failures(claim: Claim, stated: Stated, draw: Draw, seed: int, arrays: Arrays) -> dict[str, str]:
    """What does not hold at an input, or cannot be told, with the reason; nothing where all holds."""
    for bits in PRECISIONS:
        found: dict[str, str] = {}
        with flint.ctx.workprec(bits):
            try:
                made = meaning(claim, stated, draw, seed, arrays)
            except Unknown as reason:
                return {"the input": str(reason)}
            for what, which in assumed(claim):
                try:
                    if not holds(claim, made, what, which):
                        found[f"{what} {which}"] = "it does not hold"
                except Unknown as reason:
                    found[f"{what} {which}"] = str(reason)
        if not found:
            break
    return found


def has_value(stated: Stated, seed: int, arrays: Arrays) -> bool:
    """Whether both sides of the claim are finite there; where one is not, its checks compare nothing either."""
    raw = raw_tensors(stated, one_of(stated, arrays, seed), Settings(), "float64")
    like = next(value for value in raw.values() if not isinstance(value, int))
    inputs = stated.prepare(raw)
    sides = [side for side in sides_of(stated)[:2] if side is not None]
    try:
        return all(bool(flat_tensor(side(inputs), like).isfinite().all()) for side in sides)
    except UNDEFINED:
        return False


def met(claim: Claim, stated: Stated, rounds: int = ROUNDS) -> dict[str, Any]:
    """At how many inputs of the claim all holds, and what does not at which; `not met` is empty where all does."""
    inputs = 0
    missed: dict[str, str] = {}
    for draw, seed, arrays in drawn(stated, rounds):
        found = failures(claim, stated, draw, seed, arrays)
        if not found:
            inputs += 1
        elif has_value(stated, seed, arrays):
            where = ", ".join(f"{name} = {size}" for name, size in draw.sizes)
            for name, reason in found.items():
                missed.setdefault(name, f"{reason} at an input of the domain '{draw.domain}' with {where}")
    return {"inputs": inputs, "not met": missed}


def kept(claims: Container[str]) -> list[dict[str, Any]]:
    """The certificates that are kept of these claims."""
    paths = sorted(RESULT.parent.glob("*/certificates.jsonl*"))
    every = (certificate for path in paths for certificate in read_certificates(path))
    return [certificate for certificate in every if certificate["claim"] in claims]


def add_to(claims: Mapping[str, dict[str, Any]], certificates: Iterable[dict[str, Any]]) -> None:
    """To what the kernel checked of each claim: what is assumed in words, and whether the claim's inputs meet it."""
    registry = load("theorems")
    for certificate in certificates:
        name = certificate["claim"]
        claim = exported(certificate)
        claims[name]["assumed"] = words_of(claim)
        claims[name]["met"] = met(claim, registry[name]) if name in registry else {"inputs": 0, "not met": {}}


def problems(claims: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A line for each thing assumed that a claim's inputs do not meet."""
    lines = [f"{name}: {key}: {why}" for name, item in claims.items() for key, why in item["met"]["not met"].items()]
    return sorted(lines + [f"{name}: tested at no input" for name, item in claims.items() if not item["met"]["inputs"]])


def main() -> int:
    sys.setrecursionlimit(20000)
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    add_to(result["claims"], kept(result["claims"]))
    RESULT.write_text(json.dumps(result, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print("\n".join(problems(result["claims"])))
    return 0


if __name__ == "__main__":
    os.chdir(RESULT.parents[1])
    sys.exit(main())
