"""The fused Hessian and its linear operators against the certified closed forms, in float64 and in balls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch

from theorems.hessian.fast.contracted_moments import PARTS
from theorems.hessian.fast.dense import attention_hessian
from theorems.hessian.fast.operators import AttentionCurvature, curvature_product
from theorems.hessian.part_3_structure.whole_hessian import (
    FULL_HESSIAN,
    full_functional_hessian,
    full_hessian,
    full_outer_product_hessian,
)
from verify.arithmetics import midpoints, to_balls
from verify.inputs.generators import applicable_domains, systematic
from verify.vocabulary import InputError, NotFiniteError

pytestmark = pytest.mark.kept

NAMES = ("X", "W_Q", "W_K", "W_V", "Y")


def instance(L: int, d_V: int, d_K: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = ((L, d_V), (d_V, d_K), (d_V, d_K), (d_V, d_V), (L, d_V))
    return [torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype) for shape in shapes]


def certified(arguments: list[Any]) -> Mapping[str, Any]:
    return {
        "hessian": full_hessian(*arguments),
        "outer-product": full_outer_product_hessian(*arguments[:4]),
        "functional": full_functional_hessian(*arguments),
    }


def columns(arguments: list[torch.Tensor], part: str) -> torch.Tensor:
    """The matrix by single products with unit vectors."""
    n = 2 * arguments[1].numel() + arguments[3].numel()
    units = torch.eye(n, dtype=arguments[0].dtype)
    return torch.stack([curvature_product(*arguments, unit, part=part) for unit in units], dim=1)


def from_tokens(arguments: list[torch.Tensor]) -> float:
    """The size of the Hessian were every row of attention spread over all tokens."""
    X, W_Q, W_K, W_V, Y = (float(value.norm()) for value in arguments)
    first = X + X**3 * (W_Q + W_K) * W_V
    second = X**5 * (W_Q + W_K) ** 2 * W_V + X**3 * (W_V + W_Q + W_K)
    return 2 / arguments[0].numel() * (first**2 + (X * W_V + Y) * second)


def ways(arguments: list[torch.Tensor], part: str) -> dict[str, torch.Tensor]:
    """The matrix by each fast function."""
    operator = AttentionCurvature(*arguments, part=part)
    units = torch.eye(operator.shape[0], dtype=arguments[0].dtype)
    dense_matrix = attention_hessian(*arguments, part=part)
    block = curvature_product(*arguments, units, part=part)
    return {"dense": dense_matrix, "operator": operator @ units, "product": columns(arguments, part), "block": block}


SIZES = [(4, 3, 2), (3, 2, 4), (1, 2, 3), (5, 3, 3), (2, 1, 1)]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("sizes", SIZES)
def test_every_way_is_the_certified_matrix(sizes: tuple[int, int, int], part: str) -> None:
    arguments = instance(*sizes)
    exact = certified(arguments)
    scale = float(exact["outer-product"].norm() + exact["functional"].norm())
    for way, found in ways(arguments, part).items():
        assert float((found - exact[part]).norm()) <= 2e-15 * scale, way


@pytest.mark.parametrize("domain", applicable_domains(FULL_HESSIAN))
def test_accuracy_over_the_domains(domain: str) -> None:
    """Against balls: as many roundings as the logits are large, since that is how often rounding them counts."""
    for draw in systematic(FULL_HESSIAN, 4, seed=5, domain=domain):
        drawn = {name: value[0] for name, value in draw.arrays(FULL_HESSIAN, 1).items()}
        balls = certified([to_balls(drawn[name]) for name in NAMES])
        exact = {part: torch.from_numpy(midpoints(H)) for part, H in balls.items()}
        arguments = [torch.from_numpy(np.asarray(drawn[name], dtype=np.float64)) for name in NAMES]
        X, W_Q, W_K, *_ = arguments
        logits = float((X.abs() @ W_Q.abs() @ W_K.abs().T @ X.abs().T).max())
        scale = float(exact["outer-product"].norm() + exact["functional"].norm())
        for part in PARTS:
            found = ways(arguments, part)
            for way in ("dense", "operator"):
                assert float((found[way] - exact[part]).norm()) <= 2e-15 * (1 + logits) * scale, (way, part, draw)
        # A single product is accurate relative to the tokens themselves, not to their spread under a row of attention.
        error = float((columns(arguments, "hessian") - exact["hessian"]).norm())
        assert error <= 1e-15 * (1 + logits) * scale + 1e-15 * from_tokens(arguments), draw


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_a_common_offset_of_tokens_costs_no_digits(shift: float) -> None:
    X, W_Q, W_K, W_V, Y = instance(5, 3, 2)
    arguments = [X + shift, W_Q / (1 + shift), W_K, W_V, Y]
    exact = torch.from_numpy(midpoints(full_hessian(*[to_balls(value.numpy()) for value in arguments])))
    for way, found in ways(arguments, "hessian").items():
        assert float((found - exact).norm()) <= 1e-14 * float(exact.norm()), way


def test_float32_stays_float32() -> None:
    exact = certified(instance(4, 3, 2))["hessian"]
    for found in ways(instance(4, 3, 2, dtype=torch.float32), "hessian").values():
        assert found.dtype == torch.float32 and float((found - exact).norm()) <= 1e-5 * float(exact.norm())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("part", PARTS)
def test_on_a_gpu(part: str) -> None:
    arguments = instance(4, 3, 2)
    exact, moved = certified(arguments), [value.cuda() for value in arguments]
    V = torch.eye(21, dtype=torch.float64, device="cuda")
    product = torch.stack([curvature_product(*moved, v, part=part) for v in V], dim=1)
    for found in (attention_hessian(*moved, part=part), AttentionCurvature(*moved, part=part) @ V, product):
        assert found.is_cuda and float((found.cpu() - exact[part]).norm()) <= 1e-14 * float(exact["hessian"].norm())


def test_the_matrix_is_symmetric_and_may_be_written_into_given_memory() -> None:
    arguments = instance(6, 4, 3)
    out = torch.full((40, 40), torch.nan, dtype=torch.float64)
    H = attention_hessian(*arguments, out=out)
    assert H is out and torch.equal(H, attention_hessian(*arguments))
    assert float((H - H.T).abs().max()) <= 1e-15 * float(H.abs().max())
    assert torch.equal(H[:12, 12:], H[12:, :12].T)


def test_long_sequences_are_cut_into_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = instance(7, 3, 2)
    whole = {part: ways(arguments, part) for part in PARTS}
    monkeypatch.setattr("theorems.hessian.fast.contracted_moments.DEVIATIONS", 2 * 7 * 3)
    monkeypatch.setattr("theorems.hessian.fast.operators.ROWS", 3 * 7)
    for part in PARTS:
        for way, found in ways(arguments, part).items():
            assert float((found - whole[part][way]).norm()) <= 1e-14 * float(whole["hessian"]["dense"].norm())


def test_the_operator_speaks_scipy_and_lists() -> None:
    arguments = instance(5, 3, 2)
    operator = AttentionCurvature(*arguments)
    H = operator.to_dense()
    n = H.shape[0]
    V = torch.randn(n, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert operator.shape == (n, n) and operator.dtype == torch.float64 and operator.device.type == "cpu"
    assert torch.allclose(operator.T @ V, H @ V) and torch.allclose(operator.adjoint().rmatvec(V[:, 0]), H @ V[:, 0])
    shapes = [(3, 2), (3, 2), (3, 3)]
    as_list = [part.reshape(*shape, 3) for part, shape in zip(V.split([6, 6, 9]), shapes, strict=True)]
    found = operator @ as_list
    assert [tuple(part.shape) for part in found] == [(*shape, 3) for shape in shapes]
    assert torch.allclose(torch.cat([part.reshape(-1, 3) for part in found]), H @ V)
    single = operator @ [part[..., 0] for part in as_list]
    assert torch.allclose(torch.cat([part.flatten() for part in single]), H @ V[:, 0])
    scipy_linalg = pytest.importorskip("scipy.sparse.linalg")
    assert np.allclose(operator.to_scipy() @ V.numpy(), (H @ V).numpy())
    top = scipy_linalg.eigsh(operator.to_scipy(), k=1, which="LA", return_eigenvectors=False)
    assert np.isclose(top[0], float(operator.spectrum()[-1]))


@pytest.mark.parametrize("part", PARTS)
def test_trace_and_spectrum(part: str) -> None:
    operator = AttentionCurvature(*instance(6, 3, 2), part=part)
    H, spectrum = operator.to_dense(), operator.spectrum()
    assert float(operator.trace()) == pytest.approx(float(H.trace()), rel=1e-12)
    low, high = operator.extreme_eigenvalues()
    assert low == pytest.approx(float(spectrum[0]), abs=1e-10) and high == pytest.approx(float(spectrum[-1]), rel=1e-10)
    low, high = operator.extreme_eigenvalues(steps=3)
    assert float(spectrum[0]) - 1e-12 <= low <= high <= float(spectrum[-1]) + 1e-12


def test_agreement_with_curvlinops() -> None:
    curvlinops = pytest.importorskip("curvlinops")
    X, W_Q, W_K, W_V, Y = instance(5, 3, 2)

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.W_Q, self.W_K, self.W_V = (torch.nn.Parameter(W) for W in (W_Q, W_K, W_V))

        def forward(self, X: torch.Tensor) -> torch.Tensor:
            logits = X @ self.W_Q @ (X @ self.W_K).mT / 2**0.5
            return torch.softmax(logits, dim=-1) @ X @ self.W_V

    model, data = Layer(), [(X[None], Y[None])]
    units = torch.eye(21, dtype=torch.float64)
    kinds = {"hessian": curvlinops.HessianLinearOperator, "outer-product": curvlinops.GGNLinearOperator}
    for part, kind in kinds.items():
        other = kind(model, torch.nn.MSELoss(), list(model.parameters()), data, check_deterministic=False)
        assert torch.allclose(AttentionCurvature(X, W_Q, W_K, W_V, Y, part) @ units, other @ units, atol=1e-12)


GOOD = dict(zip(NAMES, instance(4, 3, 2), strict=True))


@pytest.mark.parametrize("function", [attention_hessian, AttentionCurvature, curvature_product])
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"part": "whole"}, InputError, "part: expected one of"),
        ({"W_K": torch.ones(3, 3, dtype=torch.float64)}, InputError, r"W_K: expected shape \(d_V, d_K\)"),
        ({"Y": torch.ones(4, 3)}, InputError, "Y: expected the dtype of X"),
        ({"X": GOOD["X"] * torch.nan}, NotFiniteError, "X: expected finite entries"),
    ],
)
def test_bad_input_is_named(function: Any, change: dict[str, Any], error: type[Exception], message: str) -> None:
    extra = {"v": torch.ones(21, dtype=torch.float64)} if function is curvature_product else {}
    with pytest.raises(error, match=f"^{message}"):
        function(**{**GOOD, **extra, **change})


def test_bad_vectors_are_named() -> None:
    operator = AttentionCurvature(**GOOD)
    for vectors in (torch.ones(20, dtype=torch.float64), torch.ones(21), np.ones(21), [torch.ones(3, 2)] * 3):
        with pytest.raises(InputError, match=r"^vectors: expected"):
            operator @ vectors
    with pytest.raises(InputError, match=r"^v: expected"):
        curvature_product(**GOOD, v=torch.ones(20, dtype=torch.float64))
    for wrong in (torch.ones(20, 2), torch.ones(21, 2, 2), torch.ones(21, 0), torch.ones(())):
        with pytest.raises(InputError, match=r"^v: expected"):
            curvature_product(**GOOD, v=wrong.double())
    with pytest.raises(InputError, match=r"^out: expected"):
        attention_hessian(**GOOD, out=torch.ones(21, 21))
    with pytest.raises(InputError, match=r"^steps: expected"):
        operator.extreme_eigenvalues(0)
    with pytest.raises(InputError, match=r"^X: expected a torch tensor"):
        AttentionCurvature(**{name: to_balls(value.numpy()) for name, value in GOOD.items()})
