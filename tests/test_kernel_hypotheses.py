"""What certificates assume, in numbers: the equations hold at the inputs that the claims draw, and for the parts of axes."""

from __future__ import annotations

import copy
import functools
import itertools
import json
import re
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

from tests.kernel_points import Point
from verify.checks.certified import kept_of
from verify.checks.operands import admitted_sizes
from verify.checks.spots import _random_point
from verify.vocabulary.claims import Claim
from verify.vocabulary.registry import load

sys.path.insert(0, str(Path(__file__).parents[1] / "rocq"))

from conditions import is_structure, of_structure

pytestmark = pytest.mark.kept("rocq/*.py")

REGISTRY = load("theorems")


#: Where a line that is kept has a hypothesis: what has none need not be read when tests are collected.
ASSUMES = re.compile(r'"hypotheses": ?\[[^\]]')


def assuming() -> list[str]:
    """The claims of the kept certificates of identities that have hypotheses."""
    lines = {name: kept_of(claim) for name, claim in REGISTRY.items() if claim.all_sizes}
    return [name for name, line in lines.items() if line is not None and ASSUMES.search(line)]


@functools.cache
def certificate_of(name: str) -> dict[str, Any]:
    """The kept certificate of a claim, read once for all tests."""
    line = kept_of(REGISTRY[name])
    assert line is not None
    return json.loads(line)  # type: ignore[no-any-return]


def point_of(claim: Claim, made: dict[str, Any], chosen: dict[str, int], seed: int) -> Point | None:
    """Values of everything that a certificate names, at inputs that the claim draws; None for what has no value here."""
    drawn, _ = _random_point(claim, chosen, np.random.default_rng(seed), False)
    scalars = {str(symbol): value for symbol, value in drawn.scalars.items()}
    sizes: dict[str, int] = {}
    for name, value in made["sizes"].items():
        found = Point(sizes, {}).value(value, {}) if value is not None else scalars.get(name)
        if found is None or round(found) < 1 or abs(found - round(found)) > 1e-9:
            return None
        sizes[name] = round(found)
    point = Point(sizes, {})
    iterates = {item["value"] for item in made.get("iterates", [])}  # of which nothing is assumed
    for name, item in made["inputs"].items():
        if name in iterates:
            continue
        shape = [sizes[size] for size in item["sizes"]]
        if is_structure(name):
            array = of_structure(name, shape, scalars)
        elif not shape and name in scalars:
            array = np.array(scalars[name])
        elif name in drawn.arrays and drawn.arrays[name].size == np.prod(shape):
            array = np.asarray(drawn.arrays[name]).reshape(shape)
        else:
            return None
        entries = {at: mpmath.mpf(float(array[at])) for at in itertools.product(*map(range, shape))}
        point = point.changed(name, entries)
    return point


def expanded(e: Any, made: dict[str, Any], taken: itertools.count[int]) -> Any:
    """An expression with definitions put in."""
    if not isinstance(e, list):
        return e
    definitions = {name: (indices, body) for name, indices, body in made["definitions"]}
    if e[:1] == ["t"] and e[1] in definitions:
        indices, body = definitions[e[1]]
        text, number = json.dumps(expanded(body, made, taken)), next(taken)
        names = {index: at for (index, _), at in zip(indices, e[2], strict=True)}
        inner = set(re.findall(r'"(i\d+|u\d+)"', text))
        return json.loads(
            re.sub(
                r'"(i\d+|u\d+)"', lambda m: f'"{names.get(m[1], f"{m[1]}_{number}" if m[1] in inner else m[1])}"', text
            )
        )
    return [expanded(part, made, taken) for part in e]


def worst(point: Point, made: dict[str, Any], item: dict[str, Any]) -> float:
    """The largest difference of the sides of a hypothesis, relative to their size."""
    taken = itertools.count()
    left, right = (expanded(item[side], made, taken) for side in ("left", "right"))
    gaps = []
    for at in point.each(item["indices"]):
        one, other = point.value(left, at), point.value(right, at)
        gaps.append(float(abs(one - other) / (1 + abs(one))))
    return max(gaps)


def gaps_of(name: str, made: dict[str, Any]) -> list[float]:
    claim = REGISTRY[name]
    for seed, chosen in enumerate(sorted(admitted_sizes(claim), key=lambda sizes: Fraction(sum(sizes.values())))[:12]):
        with mpmath.workdps(20):
            point = point_of(claim, made, chosen, seed)
            if point is not None and any(size > 1 for size in point.sizes.values()):
                return [worst(point, made, item) for item in made["hypotheses"]]
    return []


@pytest.mark.parametrize("name", assuming())
def test_hypotheses_hold_at_the_inputs_of_the_claim(name: str) -> None:
    gaps = gaps_of(name, certificate_of(name))
    assert gaps and max(gaps) < 1e-7


def test_every_certificate_with_hypotheses_is_found() -> None:
    kept = [name for name, claim in REGISTRY.items() if claim.all_sizes and kept_of(claim) is not None]
    assert assuming() == [name for name in kept if certificate_of(name).get("hypotheses")]


@pytest.mark.parametrize("name", ["dynamics.eq-7-omega", "dynamics.prop-4.1-rate", "osa.thm-2.1"])
def test_a_wrong_hypothesis_is_seen(name: str) -> None:
    wrong = copy.deepcopy(certificate_of(name))
    for item in wrong["hypotheses"]:
        item["right"] = ["+", item["right"], ["q", 1, 7]]
    gaps = gaps_of(name, wrong)
    assert gaps and min(gaps) > 1e-3
