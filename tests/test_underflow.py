"""Digits that floats lose by underflow are seen, and decide nothing."""

from __future__ import annotations

import math
from copy import copy

import pytest
import torch

from verify.checks import checks_of
from verify.checks.record import UPHELD, Record
from verify.checks.settings import settings_for
from verify.checks.underflow import UnderflowWatch
from verify.vocabulary.registry import load

pytestmark = pytest.mark.kept


def seen(product: torch.Tensor, other: torch.Tensor, by: object) -> bool:
    with UnderflowWatch() as watch:
        by(product, other)  # type: ignore[operator]
    return watch.seen


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_lost_digits_are_seen(dtype: torch.dtype) -> None:
    root = torch.finfo(dtype).tiny ** 0.5
    small, ordinary = torch.full((2, 2), root / 4, dtype=dtype), torch.eye(2, dtype=dtype)
    least = torch.full((2, 2), torch.finfo(dtype).tiny, dtype=dtype)
    for by in (torch.mul, torch.matmul):
        assert seen(small, small, by)
        assert seen(least, least, by), "a product that became zero"
        assert not seen(small, ordinary * 4, by)
        assert not seen(ordinary, ordinary, by), "zeros among the factors lose nothing"
    assert not seen(torch.tensor([[1.0, root / 4]], dtype=dtype), torch.tensor([[1.0], [root / 4]], dtype=dtype),
                    torch.matmul), "what is lost is nothing beside the 1 that it is added to"  # fmt: skip
    assert seen(small, small, torch.func.vmap(torch.matmul, in_dims=(0, None)))
    tail = torch.exp(torch.full((2, 2), 1.02 * math.log(torch.finfo(dtype).tiny), dtype=dtype))
    assert 0 < float(tail[0, 0]) < torch.finfo(dtype).tiny
    assert not seen(tail, ordinary, torch.matmul) and not seen(tail, tail, torch.mul), "lost before, by an exponential"


def test_the_smallest_normal_number_has_all_its_digits() -> None:
    tiny, one = torch.full((1, 1), torch.finfo(torch.float64).tiny, dtype=torch.float64), torch.ones(1, 1).double()
    for by in (torch.mul, torch.matmul):
        assert not seen(tiny, one, by) and not seen(tiny * 2, one / 2, by)
        assert seen(tiny, one / 2, by)
    assert not seen(tiny, one * 0, torch.mul), "zero is not lost"
    assert not seen(tiny, 0.5, lambda x, factor: x + factor), "nor is anything in a sum"


def test_no_number_without_digits_is_looked_at() -> None:
    assert not seen(torch.zeros(0, 2), torch.zeros(2, 0), torch.matmul)
    assert not seen(torch.ones(2, 2, dtype=torch.int64), torch.ones(2, 2, dtype=torch.int64), torch.mul)


def test_a_point_where_digits_are_lost_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = copy(load()["hessian.sec4.1-depth-hessian"])  # products of order 18 in the entries of X
    claim.id = "hessian.depth-outer-diagonal"  # draws follow from it, and among these are some that lose digits

    def sampled() -> Record:
        settings = settings_for("quick", 1)
        (check,) = (check for check in checks_of(claim, settings) if check.name == "sampled float32")
        return check.run(claim, settings)

    record = sampled()
    assert record.outcome == UPHELD and record.satisfied < record.examples
    monkeypatch.setattr("verify.checks.equality._underflows", lambda *given: False)
    assert sampled().outcome != UPHELD
