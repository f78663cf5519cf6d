"""The gate on devices that fail, and layers that make tensors of their own there."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

from tests.false_alarms import on_device
from verify.gate import autograd, check
from verify.gate.checking import Gate, gate
from verify.gate.comparison import Comparison
from verify.gate.findings import BROKEN, DEFINITION, SATISFIED, SIZES, UNCHECKABLE
from verify.gate.standing import require_unchanged

pytestmark = pytest.mark.kept

LOST = "CUDA error: misaligned address"


def softmax(T: torch.Tensor) -> torch.Tensor:
    return torch.softmax(T, -1)


def wrong_beyond_eight(T: torch.Tensor) -> torch.Tensor:
    return torch.softmax(T, -1) * (2.0 if T.shape[-1] > 8 else 1.0)


def test_a_device_that_computes_nothing_any_more_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Gate._run

    def failing(self: Gate, name: str, *given: Any) -> Any:
        if name != DEFINITION:
            raise torch.AcceleratorError(LOST)
        return run(self, name, *given)

    monkeypatch.setattr(Gate, "_run", failing)
    report = check("hessian.softmax", softmax, dtypes=["float64"])
    first, *others = report.findings
    assert first.status == SATISFIED and others and not report.ok
    assert {finding.status for finding in others} == {UNCHECKABLE}
    assert all(finding.why == f"cpu computes nothing any more: AcceleratorError: {LOST}" for finding in others)


def test_what_was_found_stays_found_where_the_search_for_a_smaller_example_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(*given: Any) -> Any:
        raise torch.AcceleratorError(LOST)

    monkeypatch.setattr(Comparison, "_smaller", failing)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        finding = gate("hessian.softmax", wrong_beyond_eight).run(SIZES, "float64")
    assert finding.status == BROKEN
    assert finding.why.endswith(f"the search for a smaller example ended with AcceleratorError: {LOST}")


def test_a_device_that_fails_beside_a_call_leaves_the_check_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """While arguments are compared with what they were, say: that is no derivative, and not what the layer raised."""
    unchanged = require_unchanged

    def failing(tensors: Any, before: Any, when: str = "") -> None:
        if when:
            raise torch.AcceleratorError(LOST)
        unchanged(tensors, before, when)

    monkeypatch.setattr(autograd, "require_unchanged", failing)
    finding = gate("hessian.softmax", softmax).run(SIZES, "float64")
    assert finding.status == UNCHECKABLE and finding.why == f"no value: AcceleratorError: {LOST}"


def test_what_raises_where_no_gradient_is_asked_for_is_broken() -> None:
    def needs_gradients(T: torch.Tensor) -> torch.Tensor:
        if not torch.is_grad_enabled():
            raise ValueError("no path for inference")
        return softmax(T)

    finding = gate("hessian.softmax", needs_gradients).run(SIZES, "float64")
    assert finding.status == BROKEN
    assert finding.why == "it raised ValueError: no path for inference, where no gradient is asked for"


def test_tensors_that_a_layer_makes_lie_on_its_device() -> None:
    def masked(T: torch.Tensor) -> torch.Tensor:
        return T.masked_fill(~torch.ones(len(T), len(T), dtype=torch.bool).tril(), 0.0)

    T = torch.empty(3, 3, device="meta")
    assert on_device(masked, "meta")(T).device.type == "meta"
