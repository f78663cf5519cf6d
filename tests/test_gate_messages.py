"""What a report says: who is not known and what to write then, arguments to paste, and scales by name."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

import verify
from verify.gate.checking import gate
from verify.gate.findings import BROKEN
from verify.vocabulary import InputError

pytestmark = pytest.mark.kept


class Mine(torch.nn.Module):
    """Causal attention of one's own."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.projection = torch.nn.Linear(width, width)

    def forward(self, x: Any) -> Any:
        return self.projection(x)


@pytest.mark.parametrize("module", [Mine, Mine(4, 2)], ids=["class", "instance"])
def test_a_class_that_is_not_known_is_said_to_be_so_with_the_adapter_to_write(module: Any) -> None:
    with pytest.raises(InputError) as raised:
        verify.check("transformer.attention_layer", module)
    told = str(raised.value)
    assert "Mine, which is not recognised" in told and "MultiheadAttention" in told
    assert "def adapted(X, W_Q, W_K, W_V, W_O, M, H, G):" in told and "call_module(made, " in told


def test_a_module_without_weights_is_a_function() -> None:
    made = gate("hessian.softmax", torch.nn.Softmax(-1), dtypes=["float64"])
    assert made.run("definition", "float64").status != BROKEN


def test_an_example_has_the_arguments_of_the_implementation_to_paste() -> None:
    def without_scale(Q: Any, K: Any, V: Any, M: Any) -> Any:
        return torch.softmax((Q @ K.mT).masked_fill(~M, -math.inf), -1) @ V

    finding = gate("transformer.masked_attention", without_scale, dtypes=["float64"]).run("definition", "float64")
    given: dict[str, Any] = {}
    lines = [line.strip() for line in finding.example().splitlines() if " = " in line]
    exec("\n".join(lines), {"torch": torch}, given)
    assert list(given) == ["Q", "K", "V", "M"] and given["M"].dtype == torch.bool
    assert torch.allclose(
        without_scale(**given), torch.tensor(finding.yours, dtype=torch.float64).reshape(len(given["Q"]), -1)
    )


def layer(scale: Any) -> Any:
    def attention(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, M: Any, H: int, G: int) -> Any:
        Q, K, V = ((X @ W).unflatten(2, (n, -1)).transpose(1, 2) for W, n in ((W_Q, H), (W_K, G), (W_V, G)))
        K, V = (x.repeat_interleave(H // G, 1) for x in (K, V))
        T = Q @ K.mT * scale(X.shape[2], H)
        return (torch.softmax(T.masked_fill(~M, -math.inf), -1) @ V).transpose(1, 2).flatten(2) @ W_O

    return attention


@pytest.mark.parametrize(
    ("scale", "cause"),
    [
        (lambda d, H: 1.0, "the scale 1/sqrt(e) of heads of width e = d / H is missing"),
        (lambda d, H: H / d, "the logits are divided by e = d / H instead of sqrt(e)"),
        (lambda d, H: d**-0.5, "the logits are divided by sqrt(d), of the width of the model, not of a head"),
    ],
)
def test_scales_of_a_layer_are_named_in_its_own_letters(scale: Any, cause: str) -> None:
    made = gate("transformer.attention_layer", layer(scale), dtypes=["float64"])
    finding = made.run("definition", "float64", shrinking=False)
    assert finding.status == BROKEN and made.causes_of(finding) == [cause]


def test_an_example_has_numbers_within_the_ranges_that_the_subject_declares() -> None:
    def turned_too_far(X: Any, b: Any, o: int) -> Any:
        positions = torch.arange(o, o + len(X), dtype=X.dtype)[:, None] * 1.01
        half = X.shape[1] // 2
        angles = positions * b ** -(torch.arange(half, dtype=X.dtype) / half)
        first, second = X[:, :half], X[:, half:]
        return torch.cat(
            [first * angles.cos() - second * angles.sin(), second * angles.cos() + first * angles.sin()], 1
        )

    made = gate("transformer.rotary_table", turned_too_far, dtypes=["float64"])
    for check in ("definition", "first-derivatives"):
        finding = made.run(check, "float64")
        assert finding.status == BROKEN and 4 <= finding.inputs["b"] <= 16384
