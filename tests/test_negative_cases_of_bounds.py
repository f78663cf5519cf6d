"""No rule of the prover of bounds fires where it says nothing, and none is without a case of that."""

from __future__ import annotations

import pytest

import verify.arithmetics.norms  # noqa: F401  (every module of rules has said what they are)
from tests.declared_rules import STEPS, every_rule
from tests.negative_cases.bounds import CASES
from verify.arithmetics.norms.statements import RULES_BY_NAME

pytestmark = pytest.mark.kept


def test_every_rule_has_cases_in_which_it_must_not_fire() -> None:
    assert not STEPS.keys() & RULES_BY_NAME.keys()
    assert set(CASES) == every_rule()
    assert all(CASES.values())


@pytest.mark.parametrize("rule", sorted(CASES))
def test_no_rule_fires_where_it_says_nothing(rule: str) -> None:
    for place, case in enumerate(CASES[rule]):
        assert case.holds(rule), f"{rule}, case {place}"
