"""The buckets of relative positions beside those of the installed transformers, with which T5 finds its biases."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from theorems.transformer.encodings import buckets
from verify.gate.arguments import without_broken_torchvision

pytestmark = pytest.mark.kept

TOKENS = 600
#: T5's own 32 buckets up to 128 tokens; others beside them, such as few buckets, odd numbers and distances that are no powers.
NUMBERS, FARTHEST = (3, 4, 6, 7, 10, 16, 32, 33, 64), (3, 5, 12, 50, 64, 100, 128, 256, 1000)


@pytest.fixture(scope="module")
def of_transformers() -> Any:
    """transformers' function from distances to buckets."""
    without_broken_torchvision()
    reason = "transformers is not installed (it comes with the extra 'hugging-face')"
    return pytest.importorskip(
        "transformers.models.t5.modeling_t5", reason=reason
    ).T5Attention._relative_position_bucket


def apart() -> torch.Tensor:
    """The position of the key less that of the query, as T5 counts it, shape (n, n)."""
    positions = torch.arange(TOKENS)
    return positions[None, :] - positions[:, None]


@pytest.mark.parametrize("causal", [False, True], ids=["encoder", "decoder"])
def test_buckets_are_those_of_transformers(causal: bool, of_transformers: Any) -> None:
    compared = 0
    for N in NUMBERS:
        half = N if causal else N // 2
        if half < 2 or (N % 2 and not causal):
            continue
        for D in (D for D in FARTHEST if half // 2 < D):
            theirs = of_transformers(apart(), bidirectional=not causal, num_buckets=N, max_distance=D)
            assert torch.equal(torch.as_tensor(buckets(TOKENS, N, D, causal)), theirs), (N, D)
            compared += 1
    assert compared >= 40


def test_other_buckets_are_not(of_transformers: Any) -> None:
    """The comparison sees one more token with a bucket of its own, and a distance of the last bucket that is one too small."""
    for wrong in (buckets(TOKENS, 34, 128), buckets(TOKENS, 32, 127), buckets(TOKENS, 32, 128).T):
        assert not torch.equal(torch.as_tensor(wrong), of_transformers(apart(), True, 32, 128))
