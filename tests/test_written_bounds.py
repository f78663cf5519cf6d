"""How certificates of bounds are written: what outweighs a negative term, and changed certificates, which are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from verify.arithmetics.norms import reasons
from verify.checks.certified import kept_of
from verify.kernel import quantities
from verify.kernel.bounds import check
from verify.kernel.refusal import Refused
from verify.vocabulary import load

pytestmark = pytest.mark.kept

REGISTRY = load()


KEPT = ["convergence.thm-1-one-token", "convergence.eq-37-fixed-pattern"]


def with_a_smaller_right_side(certificate: dict[str, Any]) -> None:
    table, part = certificate["table"], certificate["parts"][-1]
    table += [["q", 1, 100], ["*", len(table), part["right"]]]
    part["right"] = len(table) - 1


def without_the_last_step_or_an_assumption(certificate: dict[str, Any]) -> None:
    steps = certificate["parts"][-1]["steps"]
    (steps or certificate["assumptions"]).pop()


def for_another_reason(certificate: dict[str, Any]) -> None:
    certificate["parts"][-1].update(comparison=["terms"])


def certificate_of(name: str) -> dict[str, Any]:
    kept = kept_of(REGISTRY[name])
    assert kept is not None
    return json.loads(kept)  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", KEPT)
def test_a_kept_certificate_is_accepted(name: str) -> None:
    assert check(certificate_of(name)).claim == name


CHANGES = [with_a_smaller_right_side, without_the_last_step_or_an_assumption, for_another_reason]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("name", KEPT)
def test_a_changed_certificate_is_refused(name: str, change: Callable[[dict[str, Any]], None]) -> None:
    certificate = certificate_of(name)
    change(certificate)
    with pytest.raises(Refused):
        check(certificate)


def test_terms_that_sizes_outweigh_are_left_out() -> None:
    """n^2 - n is not negative for a size n, n^2 - 2 n may be, and so may z^2 - z for a scalar z."""
    n, z = quantities.generator("size", "n"), quantities.generator("scalar", "z", "nonnegative")
    two = quantities.number(2)
    absorbed = reasons._absorbed
    assert absorbed(n * n * two - n) == n * n and absorbed(n * n - n * two) == n * quantities.number(-1)
    assert absorbed(z * z - z) == z * z - z and absorbed(n**-1 - n * n) == n**-1 - n * n


def test_terms_are_compared_in_pairs() -> None:
    """Each with one whose square is no smaller, none taken twice."""
    x, y = (quantities.generator("scalar", name, "nonnegative") for name in "xy")
    one, two, half = quantities.number(1), quantities.number(2), Fraction(1, 2)
    left = (x * x + y) ** half + y * (y + one) ** half
    assert reasons._in_pairs(left, left) is not None
    assert reasons._in_pairs(left, (x * x * two + y) ** half + y * (y + two) ** half) is not None
    assert reasons._in_pairs(left, (x * x + y) ** half + y * (y * two) ** half) is None
    assert reasons._in_pairs(left, (x * x + y) ** half + x) is None
    assert reasons._in_pairs(left, (x * x + y + y * y * (y + one)) ** half) is None
