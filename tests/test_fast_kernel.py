"""The tangent kernel in closed form and its limit, against the definition and balls."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from theorems.convergence.definitions import tangent_kernel
from theorems.convergence.fast.tangent_kernel import POOLINGS, finite_width_tangent_kernel, limiting_tangent_kernel
from theorems.convergence.part_4_main_results.limiting_kernel import (
    AVERAGE_POOLING,
    limiting_kernel,
    limiting_kernel_of_sums,
)
from theorems.convergence.part_d_1_limiting_kernel.gradients import network_jacobian
from verify.arithmetics import midpoints, radius, to_balls
from verify.inputs.generators import applicable_domains, systematic
from verify.vocabulary import InputError, NotFiniteError

pytestmark = pytest.mark.kept


def network(N: int, d_s: int, d: int, width: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(N + 7 * d_s + 11 * d)
    shapes = ((N, d_s, d), (width, d), (width, d), (width, d), (width, 1))
    return [torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes]


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("sizes", [(3, 4, 2, 5), (2, 1, 3, 4), (4, 3, 5, 2), (1, 2, 1, 1)])
def test_the_closed_form_is_the_kernel_of_the_definition(sizes: tuple[int, ...], pooling: str) -> None:
    arguments = network(*sizes)
    expected = tangent_kernel(*arguments, 0.7, 0.4, pooling)
    found = finite_width_tangent_kernel(*arguments, 0.7, 0.4, pooling)
    assert float((found - expected).norm()) <= 1e-14 * float(expected.norm())
    assert torch.equal(found, found.T) or float((found - found.T).abs().max()) <= 1e-15 * float(found.abs().max())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_on_a_gpu() -> None:
    arguments = network(3, 4, 2, 5)
    moved = [value.cuda() for value in arguments]
    found = finite_width_tangent_kernel(*moved, 0.7, 0.4)
    assert found.is_cuda and torch.allclose(found.cpu(), finite_width_tangent_kernel(*arguments, 0.7, 0.4))
    assert torch.allclose(limiting_tangent_kernel(moved[0]).cpu(), limiting_tangent_kernel(arguments[0]))


@pytest.mark.parametrize("scale", [1.0, 30.0])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_the_closed_form_against_balls(pooling: str, scale: float) -> None:
    """Large scales make attention nearly one-hot; logits of size t cost t roundings."""
    X, *weights = network(3, 3, 2, 4)
    X = X * scale
    J = network_jacobian(*[to_balls(value.numpy()) for value in (X, *weights)], 0.5, 0.25, pooling)
    exact = torch.from_numpy(midpoints(J @ J.T))
    found = finite_width_tangent_kernel(X, *weights, 0.5, 0.25, pooling)
    logits = float((X.abs() @ weights[0].abs().T @ weights[1].abs() @ X.abs().mT).max())
    assert float((found - exact).norm()) <= 2e-15 * (1 + logits) * float(exact.norm())


def test_pieces_do_not_change_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = network(7, 3, 4, 5)
    whole = finite_width_tangent_kernel(*arguments, 0.7, 0.4), limiting_tangent_kernel(arguments[0])
    monkeypatch.setattr("theorems.convergence.fast.tangent_kernel.PIECE", 30)
    cut = finite_width_tangent_kernel(*arguments, 0.7, 0.4), limiting_tangent_kernel(arguments[0])
    for found, expected in zip(cut, whole, strict=True):
        assert float((found - expected).abs().max()) <= 1e-14 * float(expected.abs().max())


@pytest.mark.parametrize("domain", applicable_domains(AVERAGE_POOLING))
def test_the_limit_is_accurate_entry_by_entry(domain: str) -> None:
    for draw in systematic(AVERAGE_POOLING, 6, seed=3, domain=domain):
        X = draw.arrays(AVERAGE_POOLING, 1)["X"][0]
        sizes = torch.from_numpy(X).mean(1).norm(dim=1)
        scale = sizes[:, None] * sizes
        for pooling, certified in (("average", limiting_kernel), ("sum", limiting_kernel_of_sums)):
            balls = certified(to_balls(X))
            # At the angle pi a ball straddles the branch cut of atan2 and says nothing.
            decided = torch.tensor([[radius(entry) < 1e-30 for entry in row] for row in balls])
            exact = torch.from_numpy(midpoints(balls))
            weight = 1 if pooling == "average" else X.shape[1] ** 2
            error = (limiting_tangent_kernel(torch.from_numpy(X), pooling) - exact).abs()
            # A mean that cancels carries the roundings of its tokens, whatever is done with it.
            tokens = torch.from_numpy(X).norm(dim=2).amax()
            allowed = 2e-15 * weight * (scale + tokens * (sizes[:, None] + sizes) + tokens**2)
            assert bool((error <= allowed)[decided].all()) and bool(decided.diagonal().all())


@pytest.mark.parametrize("distance", [1e-3, 1e-8, 0.0])
def test_small_angles_cost_no_digits(distance: float) -> None:
    X = network(4, 2, 3, 1)[0]
    X = X[:1] + distance * X
    exact = torch.from_numpy(midpoints(limiting_kernel(to_balls(X.numpy()))))
    assert float((limiting_tangent_kernel(X) - exact).norm()) <= 2e-15 * float(exact.norm())


def test_opposite_and_missing_mean_tokens() -> None:
    X = torch.tensor([[[1.0, 2.0]], [[-2.0, -4.0]], [[0.0, 0.0]]], dtype=torch.float64)
    expected = torch.tensor([[5.0, 0.0, 0.0], [0.0, 20.0, 0.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
    assert float((limiting_tangent_kernel(X) - expected).abs().max()) < 1e-14


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"pooling": "max"}, InputError, "pooling: expected one of"),
        ({"X": torch.ones(3, 2, 2).tolist()}, InputError, "X: expected a torch tensor"),
        ({"W_V": torch.ones(5, 3, dtype=torch.float64)}, InputError, "W_V: expected shape"),
        ({"w_O": torch.full((5, 1), torch.inf, dtype=torch.float64)}, NotFiniteError, "w_O: expected finite"),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], error: type[Exception], message: str) -> None:
    names = ("X", "W_Q", "W_K", "W_V", "w_O")
    good = {**dict(zip(names, network(3, 4, 2, 5), strict=True)), "tau_0": 0.5, "tau_1": 0.5}
    with pytest.raises(error, match=f"^{message}"):
        finite_width_tangent_kernel(**{**good, **change})


def test_samples_without_tokens_are_named() -> None:
    with pytest.raises(InputError, match=r"^X: expected no size 0"):
        limiting_tangent_kernel(torch.ones(3, 0, 2))
