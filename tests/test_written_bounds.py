"""How certificates of bounds are written: what outweighs a negative term, and changed certificates, which are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from verify.arithmetics.norms import bound_certificates
from verify.checks.certified import kept_of
from verify.kernel import quantities
from verify.kernel.bounds import check
from verify.kernel.refusal import Refused
from verify.vocabulary import load

pytestmark = pytest.mark.kept

REGISTRY = load()


@pytest.mark.parametrize("name", ["convergence.thm-1-one-token", "convergence.eq-37-fixed-pattern"])
def test_a_changed_certificate_is_refused(name: str) -> None:
    """With a smaller right side, without a last step or an assumption, or for another reason."""
    kept = kept_of(REGISTRY[name])
    assert kept is not None
    check(json.loads(kept))

    def smaller(certificate: dict[str, Any]) -> None:
        table, part = certificate["table"], certificate["parts"][-1]
        table += [["q", 1, 100], ["*", len(table), part["right"]]]
        part["right"] = len(table) - 1

    changes: list[Callable[[dict[str, Any]], Any]] = [
        smaller,
        lambda c: c["parts"][-1]["steps"].pop() if c["parts"][-1]["steps"] else c["assumptions"].pop(),
        lambda c: c["parts"][-1].update(comparison=["terms"]),
    ]
    for change in changes:
        certificate = json.loads(kept)
        change(certificate)
        with pytest.raises(Refused):
            check(certificate)


def test_terms_that_sizes_outweigh_are_left_out() -> None:
    """n^2 - n is not negative for a size n, n^2 - 2 n may be, and so may z^2 - z for a scalar z."""
    n, z = quantities.generator("size", "n"), quantities.generator("scalar", "z", "nonnegative")
    two = quantities.number(2)
    absorbed = bound_certificates._absorbed
    assert absorbed(n * n * two - n) == n * n and absorbed(n * n - n * two) == n * quantities.number(-1)
    assert absorbed(z * z - z) == z * z - z and absorbed(n**-1 - n * n) == n**-1 - n * n


def test_terms_are_compared_in_pairs() -> None:
    """Each with one whose square is no smaller, none taken twice."""
    x, y = (quantities.generator("scalar", name, "nonnegative") for name in "xy")
    one, two, half = quantities.number(1), quantities.number(2), Fraction(1, 2)
    left = (x * x + y) ** half + y * (y + one) ** half
    assert bound_certificates._in_pairs(left, left) is not None
    assert bound_certificates._in_pairs(left, (x * x * two + y) ** half + y * (y + two) ** half) is not None
    assert bound_certificates._in_pairs(left, (x * x + y) ** half + y * (y * two) ** half) is None
    assert bound_certificates._in_pairs(left, (x * x + y) ** half + x) is None
    assert bound_certificates._in_pairs(left, (x * x + y + y * y * (y + one)) ** half) is None
