"""The checker of the conditions of Proposition 1 agrees with its counterexample, in balls and in floats."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint
import torch

from theorems.convergence.part_c_2_proposition_1.proposition_1 import third_neuron_near_its_kink
from theorems.convergence.part_c_2_proposition_1.rate import Conditions, proposition_1_conditions
from verify.checks.evaluation import lifted_to_balls

NAMES = ("X", "y", "W_Q", "W_K", "W_V", "w_O", "tau_0", "tau_1")


def conditions(lift: Any, label: Fraction | None = None) -> Conditions:
    given = third_neuron_near_its_kink(Fraction(1, 10**7), Fraction(1, 300))
    if label is not None:
        given["y"] = [[label], [label]]
    return proposition_1_conditions(*(lift(given[name]) for name in NAMES))


def as_tensor(value: Any) -> torch.Tensor:
    return torch.tensor(
        [[float(x) for x in row] if not isinstance(row[0], list) else row for row in value]
        if isinstance(value, list)
        else float(value),
        dtype=torch.float64,
    )


def test_conditions_are_met_for_certain_at_the_counterexample() -> None:
    found = conditions(lifted_to_balls)
    assert found.met
    assert abs(found.alpha - 1) < flint.arb("1e-6")
    assert found.C < 237


def test_floats_agree_with_balls() -> None:
    exact, floats = conditions(lifted_to_balls), conditions(as_tensor)
    assert floats.met
    assert abs(float(floats.C) / float(exact.C.mid()) - 1) < 1e-12


def test_far_labels_break_the_conditions() -> None:
    assert not conditions(lifted_to_balls, Fraction(1)).met
