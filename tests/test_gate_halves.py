"""Implementations in bfloat16 and float16: right kernels pass, a wrong scale and sums in half precision do not."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

import verify
from verify.checks.units import unit_at
from verify.gate.checking import gate
from verify.gate.findings import BROKEN, SATISFIED
from verify.gate.profiles import profile_of

HALVES = ["bfloat16", "float16"]


def fused(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    return scaled_dot_product_attention(*((X @ W)[None, None] for W in (W_Q, W_K, W_V)))[0, 0]


def plain(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    return torch.softmax(X @ W_Q @ (X @ W_K).mT / W_Q.shape[1] ** 0.5, -1) @ (X @ W_V)


def without_scale(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    return torch.softmax(X @ W_Q @ (X @ W_K).mT, -1) @ (X @ W_V)


def sums_in_half(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    """Attention of which the sums of weights are accumulated key by key in the precision of X."""
    logits = X @ W_Q @ (X @ W_K).mT / W_Q.shape[1] ** 0.5
    weights = (logits - logits.amax(1, keepdim=True)).exp()
    total = torch.zeros_like(weights[:, :1])
    for key in range(weights.shape[1]):
        total = total + weights[:, key : key + 1]
    return weights @ (X @ W_V) / total


@pytest.mark.parametrize("attention", [fused, plain])
def test_right_kernels_pass_in_half_precision(attention: Any) -> None:
    report = verify.check("hessian.attention", attention, dtypes=HALVES)
    report.raise_if_broken()
    assert report.verdict == "ok" and {finding.check for finding in report.findings} == {
        "definition", "first-derivatives", "sizes", "long-sequences",
    }  # fmt: skip
    assert max(finding.residual or 0.0 for finding in report.findings) < 0.5


@pytest.mark.parametrize("subject", ["transformer.masked_attention", "transformer.causal_attention"])
def test_the_kernel_of_torch_passes_under_masks(subject: str) -> None:
    verify.check(subject, scaled_dot_product_attention, dtypes=HALVES).raise_if_broken()


@pytest.mark.parametrize("dtype", HALVES)
def test_a_missing_scale_is_found_and_named(dtype: str) -> None:
    made = gate("hessian.attention", without_scale, dtypes=[dtype])
    for check in ("definition", "first-derivatives", "sizes", "long-sequences"):
        finding = made.run(check, dtype)
        assert finding.status == BROKEN
        assert made.causes_of(finding) == ["the scale 1/sqrt(d_K) is missing"]


def test_sums_in_bfloat16_are_found_where_they_are_long() -> None:
    made = gate("hessian.attention", sums_in_half, dtypes=["bfloat16"])
    assert made.run("definition", "bfloat16").status == SATISFIED
    assert made.run("long-sequences", "bfloat16").status == BROKEN


def test_the_unit_of_half_precision_is_that_of_inputs_and_result_rounded_once() -> None:
    verify.subjects()
    claim = profile_of("hessian.softmax").claim()
    inputs = {"T": torch.tensor([[0.0, 1.0]], dtype=torch.float64).numpy()}
    roundings = {bits: unit_at(claim, [claim.the_oracle], inputs, bits).value * 2.0**bits for bits in (24, 11, 8)}
    # of the logit 1, with slope 1/4 in both entries, and of the result; what is between them does not show
    assert 1.9 < roundings[8] < roundings[11] < 2.2 and roundings[24] > 4
