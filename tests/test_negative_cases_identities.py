"""No rule of the prover of identities fires where it must not, and each has cases where it must not."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy
import torch

from tests.negative_cases.identities import MUST_NOT_FIRE, MUST_NOT_FIRE_THOUGH_GIVEN
from tests.symbolic_cases import SIZES
from verify.arithmetics import Constant, midpoints
from verify.arithmetics.symbols import named
from verify.arithmetics.symbols.difference import float_values
from verify.arithmetics.symbols.hypothesis_rules import OF_PARTS, SIDES, hypothesis_on
from verify.arithmetics.symbols.points import NumericPoint
from verify.arithmetics.symbols.sums import extra_rules, names_of_rules, recording_rules
from verify.arithmetics.tracing import traced_inputs, value_of
from verify.vocabulary.errors import ArithmeticUnsupported
from verify.vocabulary.hypotheses import NORMAL_ENTRIES, UNIT_PARTS

pytestmark = pytest.mark.kept

n, d, k = SIZES["n"], SIZES["d"], SIZES["k"]
c = sympy.Symbol("c", real=True)
DIMS: dict[str, tuple[Any, ...]] = {
    "X": (n, d), "Y": (n, d), "W": (d, k), "G": (d, d), "H": (d, d), "T": (n, n), "t": (1, n), "V": (d + k, n), "P": (d * k, n),
}  # fmt: skip
CASES = [(rule, case) for rule, cases in MUST_NOT_FIRE.items() for case in cases]
GIVEN = [(given, case) for given, cases in MUST_NOT_FIRE_THOUGH_GIVEN.items() for case in cases]


def symbolic(name: str) -> Any:
    return c if name == "c" else named(name, *DIMS[name])


def disagreement(case: Callable[..., Any], formal: Any, seed: int) -> float:
    """How far the normal form of an expression is from the expression on tensors."""
    rng = np.random.default_rng(seed)
    sizes = {n: 3, d: 2, k: 4}
    names = list(inspect.signature(case).parameters)
    shapes = {name: [int(sympy.sympify(dim).subs(sizes)) for dim in DIMS[name]] for name in names if name != "c"}
    values = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    scalar = float(rng.standard_normal())
    with np.errstate(all="ignore"):
        found = float_values(formal, NumericPoint({**sizes, c: scalar}, values))
    tensors = [
        torch.as_tensor(values[name]) if name in values else torch.tensor(scalar, dtype=torch.float64) for name in names
    ]
    value = case(*tensors)
    floats = np.asarray(midpoints(value.array) if isinstance(value, Constant) else value, dtype=np.float64).reshape(-1)
    both = np.isfinite(floats) & np.isfinite(found)
    assert (np.isfinite(floats) == np.isfinite(found)).all()
    return float(np.abs(found - floats)[both].max(initial=0.0) / max(1.0, np.abs(floats[both]).max(initial=0.0)))


def formal_value(case: Callable[..., Any]) -> Any:
    inputs = traced_inputs({name: symbolic(name) for name in inspect.signature(case).parameters})
    return value_of(case(*inputs.values()))


@pytest.mark.parametrize(("rule", "case"), CASES, ids=[f"{rule} {number}" for number, (rule, _) in enumerate(CASES)])
def test_the_rule_does_not_fire(rule: str, case: Callable[..., Any]) -> None:
    with recording_rules() as used:
        try:
            formal = formal_value(case)
        except ArithmeticUnsupported:  # no form at all: nothing is proved of it
            formal = None
    assert rule not in used
    if formal is not None:
        assert max(disagreement(case, formal, seed) for seed in range(2)) < 1e-9


@pytest.mark.parametrize(("given", "case"), GIVEN, ids=[f"{given} {number}" for number, (given, _) in enumerate(GIVEN)])
def test_the_hypothesis_does_not_reduce_it(given: tuple[str, str], case: Callable[..., Any]) -> None:
    hypothesis = hypothesis_on(given[0], given[1], DIMS[given[0]])
    with recording_rules() as used, extra_rules(hypothesis.rules):
        formal = formal_value(case)
    assert hypothesis.name not in used
    assert max(disagreement(case, formal, seed) for seed in range(2)) < 1e-9


def test_every_rule_has_cases_where_it_must_not_fire() -> None:
    assert set(MUST_NOT_FIRE) == set(names_of_rules())
    given = {UNIT_PARTS if wanted.startswith(UNIT_PARTS) else wanted for _, wanted in MUST_NOT_FIRE_THOUGH_GIVEN}
    assert given == {*SIDES, *OF_PARTS}
    assert all(MUST_NOT_FIRE.values()) and all(MUST_NOT_FIRE_THOUGH_GIVEN.values())
    assert NORMAL_ENTRIES not in given  # by which nothing is rewritten
