"""The linear-cost layer and its exponentials: values and gradients of the certified forms, accuracy, switching, bad input."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from theorems.osa.fast.exponential import exponential, low_powers, phi
from theorems.osa.fast.layers import orthogonal_self_attention
from theorems.osa.fast.linear_cost import FORMS, LARGEST_LOSS, linear_cost_attention, push_through_loss
from theorems.osa.part_2_4_cost.push_through import attention_pushed_through
from verify.arithmetics import midpoints, to_balls
from verify.vocabulary import InputError, NotFiniteError

pytestmark = pytest.mark.kept

EPS = {torch.float32: 2.0**-23, torch.float64: 2.0**-52}


def layer(
    N: int,
    d: int,
    d_v: int,
    h: int | None = None,
    batch: tuple[int, ...] = (),
    kappa: float = 1.0,
    turning: bool = False,
    dtype: torch.dtype = torch.float64,
) -> list[Any]:
    """X of condition number kappa, weights, and the alpha at which ||S|| is about 1; "turning" weights turn weak tokens."""
    generator = torch.Generator().manual_seed(N + 10 * d + 100 * d_v)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    V, sizes = torch.linalg.qr(normal(d, d)).Q, torch.logspace(0, -math.log10(kappa), d, dtype=torch.float64)
    X = normal(*batch, N, d) / math.sqrt(N) * sizes @ V.T
    heads = () if h is None else (h,)
    W_Q, W_K, W_V = (normal(*heads, d, d_v) / math.sqrt(d) for _ in range(3))
    if turning:
        W_Q, W_K = V @ (W_Q / sizes[:, None]), V @ (W_K / sizes[:, None])
    return [*(value.to(dtype) for value in (X, W_Q, W_K, W_V, normal(*heads, d_v, d))), 0.7]


def relative(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found.double() - expected.double()).norm() / expected.double().norm())


CASES: dict[str, dict[str, Any]] = {
    "one head": {"N": 9, "d": 5, "d_v": 5},
    "heads": {"N": 9, "d": 6, "d_v": 3, "h": 2},
    "small heads": {"N": 9, "d": 8, "d_v": 2, "h": 3},
    "batch": {"N": 4, "d": 6, "d_v": 2, "h": 2, "batch": (2, 3)},
    "batch without heads": {"N": 4, "d": 3, "d_v": 2, "batch": (2,)},
    "fewer tokens than d": {"N": 2, "d": 6, "d_v": 4},
    "one token": {"N": 1, "d": 1, "d_v": 1},
}


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients_are_those_of_the_certified_forms(case: str, form: str, dtype: torch.dtype) -> None:
    exact = layer(**CASES[case])
    rounded = [value.to(dtype) if isinstance(value, torch.Tensor) else value for value in exact]
    assert relative(linear_cost_attention(*rounded, form=form), orthogonal_self_attention(*exact)) < 60 * EPS[dtype]
    if dtype == torch.float64:
        gradients = []
        for function in (lambda *given: linear_cost_attention(*given, form=form), orthogonal_self_attention):
            leaves = [value.clone().requires_grad_() for value in exact[:-1]]
            gradients.append(torch.autograd.grad(function(*leaves, exact[-1]).sin().sum(), leaves))
        for found, expected in zip(*gradients, strict=True):
            assert float((found - expected).abs().max()) < 1e-12


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("form", FORMS)
def test_on_a_gpu(form: str) -> None:
    exact = layer(9, 8, 2, h=3, batch=(2,))
    moved = [value.cuda() if isinstance(value, torch.Tensor) else value for value in exact]
    found = linear_cost_attention(*moved, form=form)
    assert found.is_cuda and relative(found.cpu(), orthogonal_self_attention(*exact)) < 1e-13


def test_alpha_may_differ_from_head_to_head() -> None:
    *tensors, _ = layer(7, 6, 3, h=2)
    alpha = torch.tensor([0.3, -1.2], dtype=torch.float64)
    for form in FORMS:
        assert (
            relative(linear_cost_attention(*tensors, alpha, form), orthogonal_self_attention(*tensors, alpha)) < 1e-14
        )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rank", [1, 3])
def test_second_derivatives_are_those_of_the_certified_form(rank: int, form: str) -> None:
    X, *weights = layer(4, 3, 3)
    X = X[:, :rank] @ X[:rank]
    found, expected = (
        torch.autograd.functional.hessian(lambda X, f=function: f(X, *weights).sin().sum(), X)  # type: ignore[misc]
        for function in (lambda *given: linear_cost_attention(*given, form=form), orthogonal_self_attention)
    )
    assert float((found - expected).abs().max()) < 1e-12


def test_gradients_in_the_frame_keep_the_digits_of_the_values() -> None:
    *exact, alpha = layer(64, 8, 8, kappa=1e3, turning=True)
    gradients = {}
    for form, dtype in (("exact", torch.float64), ("automatic", torch.float32), ("push-through", torch.float32)):
        leaves = [value.to(dtype).requires_grad_() for value in exact]
        wide = orthogonal_self_attention(*leaves, alpha, method="frame") if form == "exact" else None
        value = linear_cost_attention(*leaves, alpha, form) if wide is None else wide
        gradients[form] = torch.autograd.grad(value.sin().sum(), leaves)
    errors = {form: max(map(relative, gradients[form], gradients["exact"])) for form in ("automatic", "push-through")}
    assert errors["automatic"] < min(1e-4, errors["push-through"] / 100)


@pytest.mark.parametrize("kappa", [1.0, 1e2, 1e4])
@pytest.mark.parametrize("turning", [False, True])
def test_the_form_chosen_is_accurate(kappa: float, turning: bool) -> None:
    *tensors, _ = layer(8, 4, 4, kappa=kappa, turning=turning, dtype=torch.float32)
    balls = [to_balls(value.double().numpy()) for value in tensors]
    exact = torch.from_numpy(midpoints(attention_pushed_through(*balls, to_balls(0.5).item())))
    error = {form: relative(linear_cost_attention(*tensors, 0.5, form=form), exact) for form in FORMS}
    assert error["automatic"] < 8 * max(min(error["push-through"], error["frame"]), EPS[torch.float32])
    # What rounding the queries and keys does to S no form can avoid.
    X, W_Q, W_K = (value.double() for value in tensors[:3])
    turns = float((X @ W_Q).norm() * (X @ W_K).norm())
    rounding = float(X.norm() * W_Q.norm() * (X @ W_K).norm() + X.norm() * W_K.norm() * (X @ W_Q).norm())
    assert error["frame"] < 30 * EPS[torch.float32] * (1 + turns + rounding)


def test_the_loss_is_seen_where_it_is() -> None:
    assert push_through_loss(*layer(16, 4, 4)) < 3
    assert push_through_loss(*layer(16, 4, 4, kappa=1e3, turning=True)) > LARGEST_LOSS
    turned = layer(16, 4, 4, kappa=1e3, turning=True, dtype=torch.float32)
    assert torch.equal(linear_cost_attention(*turned), linear_cost_attention(*turned, form="frame"))
    assert not torch.equal(linear_cost_attention(*turned), linear_cost_attention(*turned, form="push-through"))


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("size", [0.0, 1e-6, 0.3, 4.0, 50.0])
def test_exponentials_of_skew_matrices(size: float, dtype: torch.dtype) -> None:
    A = torch.randn(3, 7, 7, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    A = (A - A.mT) * (size / torch.linalg.matrix_norm(A - A.mT, 2)[:, None, None])
    expected = torch.linalg.matrix_exp(A)
    allowed = 10 * (1 + size) * EPS[dtype]
    assert relative(exponential(A.to(dtype)), expected) < allowed
    identity = torch.eye(7, dtype=dtype)
    assert relative(A.to(dtype) @ phi(A.to(dtype), low_powers(A.to(dtype))) + identity, expected) < allowed


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"form": "dense"}, InputError, "form: expected one of"),
        ({"X": [[1.0]]}, InputError, "X: expected a torch tensor"),
        ({"W_K": torch.ones(3, 2)}, InputError, "W_K: expected"),
        ({"X": torch.full((5, 4), math.nan, dtype=torch.float64)}, NotFiniteError, "X: expected finite"),
        ({"W_O": torch.full((2, 4), math.inf, dtype=torch.float64)}, NotFiniteError, "W_O: expected finite"),
        ({"alpha": "1"}, InputError, "alpha: expected a number"),
        ({"alpha": math.nan}, InputError, "alpha: expected finite"),
    ],
)
def test_bad_layers_are_named(change: dict[str, Any], error: type[Exception], message: str) -> None:
    good = dict(zip(("X", "W_Q", "W_K", "W_V", "W_O", "alpha"), layer(5, 4, 2), strict=True))
    with pytest.raises(error, match=f"^{message}"):
        linear_cost_attention(**{**good, **change})
