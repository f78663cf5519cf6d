"""Bad input to formulas and definitions: the error names the argument, what was expected, and what came."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from theorems.hessian.definitions import attention
from theorems.hessian.part_3_structure.functional import functional_hessian_query_key
from theorems.hessian.part_3_structure.outer_product import outer_product_hessian_query_key
from verify.arithmetics import to_balls, to_rationals
from verify.vocabulary import InputError, replaced

pytestmark = pytest.mark.kept

L, D_V, D_K = 3, 2, 4


def arguments(dtype: torch.dtype = torch.float64) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = {"X": (L, D_V), "W_Q": (D_V, D_K), "W_K": (D_V, D_K), "W_V": (D_V, D_V)}
    return {name: torch.randn(*shape, generator=generator, dtype=dtype) for name, shape in shapes.items()}


@pytest.mark.parametrize("function", [outer_product_hessian_query_key, attention])
def test_good_input_passes_in_every_arithmetic(function) -> None:  # type: ignore[no-untyped-def]
    good = arguments()
    function(**good)
    function(**{name: to_balls(value.numpy()) for name, value in good.items()})
    function(**arguments(torch.float32))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"W_K": torch.zeros(D_V, D_K + 1, dtype=torch.float64)},
            r"W_K: expected shape \(d_V, d_K\) with d_K = 4, from W_Q",
        ),
        ({"W_V": torch.zeros(D_V, dtype=torch.float64)}, r"W_V: expected shape \(d_V, d_V\); got shape \(2,\)"),
        ({"X": torch.zeros(1, L, D_V, dtype=torch.float64)}, r"X: expected shape \(L, d_V\); got shape \(1, 3, 2\)"),
        (
            {"W_Q": torch.zeros(D_V, D_K, dtype=torch.float32)},
            "W_Q: expected the dtype of X, torch.float64; got torch.float32",
        ),
        (
            {"W_Q": torch.zeros(D_V, D_K, dtype=torch.float64, device="meta")},
            "W_Q: expected the device of X, cpu; got meta",
        ),
        ({"X": torch.full((L, D_V), math.nan, dtype=torch.float64)}, "X: expected finite entries; got NaN or infinity"),
        ({"W_V": torch.full((D_V, D_V), math.inf, dtype=torch.float64)}, "W_V: expected finite entries"),
        ({"X": torch.zeros(L, D_V, dtype=torch.int64)}, "X: expected a tensor of float32 or float64; got torch.int64"),
        ({"X": np.zeros((L, D_V))}, "X: expected a torch tensor, or a numpy array of dtype object"),
        ({"W_Q": to_rationals(np.zeros((D_V, D_K)))}, "W_Q: expected the arithmetic of X, Tensor; got ndarray"),
        ({"X": [[1.0, 2.0]]}, r"X: expected a torch tensor or numpy object array of shape \(L, d_V\); got list"),
    ],
)
@pytest.mark.parametrize("function", [outer_product_hessian_query_key, attention])
def test_bad_input_is_named(function, change, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=message):
        function(**{**arguments(), **change})


def test_infinite_balls_are_rejected() -> None:
    import flint

    bad = {name: to_balls(value.numpy()) for name, value in arguments().items()}
    bad["X"][0, 0] = flint.arb("nan")
    with pytest.raises(InputError, match="X: expected finite entries"):
        attention(**bad)


def test_checks_do_not_disturb_vmap_and_autograd() -> None:
    good = arguments()
    batch = {name: torch.stack([value, 2 * value]) for name, value in good.items()}
    together = torch.func.vmap(lambda kw: attention(**kw))(batch)
    torch.testing.assert_close(together[0], attention(**good))  # batched products may round differently
    jacobian = torch.func.jacrev(lambda X: attention(X, good["W_Q"], good["W_K"], good["W_V"]))(good["X"])
    assert jacobian.shape == (L, D_V, L, D_V)


def test_a_replacement_receives_the_arguments_unchanged() -> None:
    seen = []
    with replaced("hessian.attention", lambda *args, **kwargs: seen.append((args, kwargs))):
        attention(1, W_Q=2)
    assert seen == [((1,), {"W_Q": 2})]


def test_labels_of_another_shape_are_named() -> None:
    with pytest.raises(InputError, match=r"Y: expected shape \(L, d_V\) with L = 3, from X"):
        functional_hessian_query_key(**arguments(), Y=torch.zeros(L + 1, D_V, dtype=torch.float64))
