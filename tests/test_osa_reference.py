"""The reference functions of orthogonal self-attention: values, gradients, memory, bad input, initialisation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from theorems.osa.definitions import attention, queries_and_keys
from theorems.osa.fast.layers import (
    METHODS,
    Weights,
    initialise,
    newton_schulz,
    orthogonal_self_attention,
    orthogonal_self_attention_jacobian,
    polar_basis,
)
from theorems.osa.part_2_4_cost.basis_layer import attention_through_basis
from theorems.osa.part_c_initialisation.c1_jacobian_and_values import attention_jacobian
from theorems.osa.part_e_experiments import paper_scale
from verify.arithmetics import midpoints, to_balls
from verify.oracles import jacobian
from verify.vocabulary import InputError, definition_of, replaced

pytestmark = pytest.mark.kept

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
FAST = [method for method in METHODS if method != "dense"]


def layer(
    N: int,
    d: int,
    d_v: int,
    h: int | None = 2,
    batch: tuple[int, ...] = (),
    alpha: float = 0.5,
    dtype: torch.dtype = torch.float64,
    device: str = "cpu",
) -> tuple[torch.Tensor, ...]:
    """X, W_Q, W_K, W_V, W_O, alpha with entries that keep ||S|| moderate; the same numbers for every dtype and device."""
    generator = torch.Generator().manual_seed(N + 10 * d + 100 * d_v)
    heads = () if h is None else (h,)
    shapes = [(*batch, N, d), *[(*heads, d, d_v)] * 3, (*heads, d_v, d)]
    drawn = [torch.randn(*shape, generator=generator).to(device, dtype) for shape in shapes]
    scale = torch.tensor(alpha, device=device, dtype=dtype)
    return (*[x / math.sqrt(d) for x in drawn], scale)


def by_definition(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, alpha: Any) -> torch.Tensor:
    """sum_i exp(S_i) X W_i^V W_i^O, written with nothing but torch; in batches of two, which torch exponentiates correctly."""
    if W_Q.ndim == 2:
        W_Q, W_K, W_V, W_O = W_Q[None], W_K[None], W_V[None], W_O[None]
    alphas = alpha.expand(W_Q.shape[0])
    result = torch.zeros_like(X)
    for i in range(W_Q.shape[0]):
        Q, K = X @ W_Q[i], X @ W_K[i]
        S = alphas[i] / math.sqrt(W_Q.shape[-1]) * (Q @ K.mT - K @ Q.mT)
        result = result + torch.linalg.matrix_exp(torch.stack([S, S]))[0] @ X @ W_V[i] @ W_O[i]
    return result


def gradients(function: Callable[..., torch.Tensor], arguments: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    """Gradients of a fixed linear functional of the layer with respect to every argument, alpha included."""
    leaves = [x.clone().requires_grad_() for x in arguments]
    value = function(*leaves)
    direction = torch.arange(1, value.numel() + 1, dtype=value.dtype, device=value.device).sin().reshape(value.shape)
    return list(torch.autograd.grad((value * direction).sum(), leaves))


def enclosed_gradients(arguments: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    """The same gradients by jets in balls: torch's own backward pass of matrix_exp loses digits where tokens are large."""
    X, *weights, alpha = arguments
    direction = torch.arange(1, X.numel() + 1, dtype=X.dtype).sin()
    names = ["X", "W_Q", "W_K", "W_V", "W_O", "alpha"]
    found: dict[str, list[torch.Tensor]] = {name: [] for name in names}
    for i in range(weights[0].shape[0]):
        given = {name: to_balls(x.numpy()) for name, x in zip(names, [X, *[W[i] for W in weights]], strict=False)}
        given["alpha"] = to_balls(alpha.numpy()).item()
        for name in names:
            J = torch.from_numpy(midpoints(jacobian(attention, name)(**given)))
            found[name].append((direction @ J).reshape(np.shape(given[name])))
    heads = [torch.stack(found[name]) for name in names[1:-1]]
    return [torch.stack(found["X"]).sum(0), *heads, torch.stack(found["alpha"]).sum(0)]


def relative(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found.double() - expected).norm() / expected.norm().clamp(min=1e-300))


CASES = {
    "several heads": {"N": 7, "d": 6, "d_v": 3, "h": 2},
    "one head, no head axis": {"N": 6, "d": 4, "d_v": 2, "h": None},
    "one token": {"N": 1, "d": 4, "d_v": 2},
    "fewer tokens than 2 d_v": {"N": 3, "d": 4, "d_v": 4, "h": 1},
    "fewer tokens than d": {"N": 2, "d": 6, "d_v": 2, "h": 3},
    "d_v = d": {"N": 6, "d": 3, "d_v": 3, "h": None},
    "d = 1": {"N": 4, "d": 1, "d_v": 1, "h": 1},
    "small heads": {"N": 8, "d": 10, "d_v": 2, "h": 5},
    "batch": {"N": 5, "d": 4, "d_v": 2, "batch": (2, 3)},
    "batch without head axis": {"N": 5, "d": 4, "d_v": 2, "h": None, "batch": (2,)},
    "alpha = 0": {"N": 6, "d": 4, "d_v": 2, "alpha": 0.0},
    "negative alpha": {"N": 6, "d": 4, "d_v": 2, "alpha": -1.5},
    "large alpha": {"N": 6, "d": 4, "d_v": 2, "alpha": 20.0},
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("case", list(CASES))
def test_values_and_gradients_are_those_of_the_definition(
    case: str, dtype: torch.dtype, method: str, device: str
) -> None:
    exact = layer(**CASES[case])  # type: ignore[arg-type]
    rounded = layer(**CASES[case], dtype=dtype, device=device)  # type: ignore[arg-type]
    # rounding moves S by |alpha| ||X||^2 ||W_Q|| ||W_K|| eps, and as often as it turns, the layer and its gradients by that
    X, W_Q, W_K, *_, alpha = exact
    turns = 1 + float(abs(alpha) * X.square().sum((-2, -1)).max() * W_Q.norm() * W_K.norm())
    allowed = 30 * turns * torch.finfo(dtype).eps

    def form(*arguments: Any) -> torch.Tensor:
        return orthogonal_self_attention(*arguments, method=method)

    value = form(*rounded)
    assert value.dtype == dtype and value.device.type == device and value.shape == exact[0].shape
    assert relative(value.cpu(), by_definition(*exact)) < allowed
    all_expected = gradients(by_definition, exact)
    # one token or one dimension makes S = 0 and some gradients vanish: all are measured against the largest of them
    size = max(float(expected.norm()) for expected in all_expected)
    for name, found, expected in zip(["X", *Weights._fields], gradients(form, rounded), all_expected, strict=True):
        assert float((found.cpu().double() - expected).norm()) < allowed * size, name
        assert found.dtype == dtype, name


@pytest.mark.parametrize("method", METHODS)
def test_a_wrong_layer_is_told_from_the_right_one(method: str) -> None:
    X, W_Q, W_K, W_V, W_O, alpha = layer(7, 6, 3)
    right = by_definition(X, W_Q, W_K, W_V, W_O, alpha)
    for wrong in (
        (X, W_K, W_Q, W_V, W_O, alpha),
        (X, W_Q, W_K, W_V, W_O.flip(0), alpha),
        (X, W_Q, W_K, W_V, W_O, alpha / math.sqrt(3)),
    ):
        assert relative(orthogonal_self_attention(*wrong, method=method), right) > 1e-3


def dependent_layers() -> Iterator[tuple[str, tuple[torch.Tensor, ...]]]:
    """Layers in which X or [Q, K] has linearly dependent columns."""
    X, W_Q, W_K, W_V, W_O, alpha = layer(6, 4, 2)
    yield "Q parallel to K", (X, W_Q, 2 * W_Q, W_V, W_O, alpha)
    yield "a shared column", (X, W_Q, torch.cat([W_Q[..., :1], W_K[..., :1]], -1), W_V, W_O, alpha)
    yield "W_Q = 0", (X, W_Q * 0, W_K, W_V, W_O, alpha)
    yield "tokens in a plane", (X[:, :2] @ X[:2], W_Q, W_K, W_V, W_O, alpha)
    yield "equal tokens", (X[:1].expand(6, 4), W_Q, W_K, W_V, W_O, alpha)
    yield "X = 0", (X * 0, W_Q, W_K, W_V, W_O, alpha)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("case", "arguments"), list(dependent_layers()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_gradients_ask_nothing_of_the_rank(case: str, arguments: tuple[torch.Tensor, ...], method: str) -> None:
    def form(*given: Any) -> torch.Tensor:
        return orthogonal_self_attention(*given, method=method)

    for found, expected in zip(gradients(form, arguments), enclosed_gradients(arguments), strict=True):
        assert float((found - expected).abs().max()) < 1e-13 * (1 + float(expected.abs().max()))


@pytest.mark.parametrize("method", FAST)
def test_second_derivatives_too(method: str) -> None:
    X, *weights = layer(4, 3, 2, h=None)
    X = X[:, :1] @ X[:1]  # of rank 1

    def loss(form: Callable[..., Any]) -> Callable[[torch.Tensor], torch.Tensor]:
        return lambda X: (form(X, *weights) ** 3).sum()

    def form(*arguments: Any) -> torch.Tensor:
        return orthogonal_self_attention(*arguments, method=method)

    expected = torch.func.hessian(loss(by_definition))(X)
    for transform in (torch.func.hessian, lambda f: torch.func.jacrev(torch.func.jacrev(f))):
        assert relative(transform(loss(form))(X), expected) < 1e-11


@pytest.mark.parametrize("method", METHODS)
def test_jacobian_is_column_major(method: str) -> None:
    X, *weights = layer(4, 3, 2, h=None)
    J = orthogonal_self_attention_jacobian(X, *weights, method=method)
    assert relative(J, attention_jacobian(X, *weights)) < 1e-13
    direction = torch.arange(12, dtype=X.dtype).reshape(4, 3).cos()

    def form(X: torch.Tensor) -> torch.Tensor:
        return orthogonal_self_attention(X, *weights, method=method)

    _, forward = torch.func.jvp(form, (X,), (direction,))
    assert relative(forward.T.reshape(-1), J @ direction.T.reshape(-1)) < 1e-13
    _, back = torch.func.vjp(form, X)
    assert relative(back(direction)[0].T.reshape(-1), J.T @ direction.T.reshape(-1)) < 1e-13


def test_heads_and_batches() -> None:
    X, W_Q, W_K, W_V, W_O, _ = layer(5, 4, 2, h=3, batch=(2,))
    alpha = torch.tensor([0.3, -1.0, 2.0], dtype=X.dtype)
    for method in METHODS:
        together = orthogonal_self_attention(X, W_Q, W_K, W_V, W_O, alpha, method)
        for b in range(2):
            apart = sum(
                orthogonal_self_attention(X[b], W_Q[i], W_K[i], W_V[i], W_O[i], float(alpha[i]), method)
                for i in range(3)
            )
            assert relative(together[b], apart) < 1e-13  # type: ignore[arg-type]
        mapped = torch.func.vmap(lambda x: orthogonal_self_attention(x, W_Q, W_K, W_V, W_O, alpha, method))(X)  # noqa: B023
        assert relative(mapped, together) < 1e-14


def test_frame_keeps_the_digits_of_ill_conditioned_tokens() -> None:
    """A quarter turn of tokens with condition number 1000, where X exp(W X^T X) in float32 loses all it can."""
    generator = torch.Generator().manual_seed(0)
    U = torch.linalg.qr(torch.randn(64, 2, generator=generator, dtype=torch.float64)).Q
    V = torch.linalg.qr(torch.randn(2, 2, generator=generator, dtype=torch.float64)).Q
    X = (U * torch.tensor([1.0, 1e-3], dtype=torch.float64) @ V.T).float()
    W_Q, W_K = torch.tensor([[1000 * math.pi / 2], [0.0]]), torch.tensor([[0.0], [1.0]])
    W_V, W_O = torch.tensor([[1.0], [1.0]]), torch.tensor([[1.0, 2.0]])
    exact = by_definition(*[x.double() for x in (X, W_Q, W_K, W_V, W_O, torch.tensor(1.0))])
    errors = {m: relative(orthogonal_self_attention(X, W_Q, W_K, W_V, W_O, 1.0, m), exact) for m in METHODS}
    assert errors["frame"] < 1e-3
    assert errors["push-through"] > 1e-2


# -- memory ------------------------------------------------------------------------------------------------------------


class Largest(TorchDispatchMode):
    """Remembers the largest number of entries of any tensor an operation returned."""

    entries = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self.entries = max(self.entries, leaf.numel())
        return result


@pytest.mark.parametrize("method", FAST)
@pytest.mark.parametrize("batch", [(), (1,)])
def test_memory_is_linear_in_the_number_of_tokens(method: str, batch: tuple[int, ...]) -> None:
    N, d, h = 2**16, 8, 2
    arguments = [x.requires_grad_() for x in layer(N, d, d // h, h, batch, dtype=torch.float32)]
    with Largest() as largest:
        orthogonal_self_attention(*arguments, method=method).sum().backward()
    assert N * d <= largest.entries <= 2 * N * d


def test_memory_of_the_definition_is_not() -> None:
    with Largest() as largest:
        orthogonal_self_attention(*layer(256, 8, 4), method="dense")
    assert largest.entries >= 256**2


# -- bases -------------------------------------------------------------------------------------------------------------


def test_polar_basis_serves_dependent_columns() -> None:
    X, W_Q, _, W_V, W_O, alpha = layer(7, 4, 2, h=None)
    W_K = torch.cat([W_Q[:, :1], W_Q[:, :1] * 3], dim=1)
    M = queries_and_keys(X, W_Q, W_K)
    U = polar_basis(M)
    assert float((U.T @ U - torch.eye(4, dtype=U.dtype)).abs().max()) < 1e-14
    found = attention_through_basis(X, W_Q, W_K, W_V, W_O, alpha, U)
    assert relative(found, by_definition(X, W_Q, W_K, W_V, W_O, alpha)) < 1e-14


def test_newton_schulz_tends_to_the_polar_basis() -> None:
    X, W_Q, W_K, W_V, W_O, alpha = layer(7, 4, 2, h=None)
    M = queries_and_keys(X, W_Q, W_K)
    B = newton_schulz(M, 40)
    assert relative(B, polar_basis(M)) < 1e-13
    found = attention_through_basis(X, W_Q, W_K, W_V, W_O, alpha, B)
    assert relative(found, by_definition(X, W_Q, W_K, W_V, W_O, alpha)) < 1e-12
    assert relative(newton_schulz(M, 2), polar_basis(M)) > 1e-2


# -- initialisation ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize(("d", "h"), [(2, 2), (6, 3), (64, 4)])
def test_initialisation_has_singular_values_one(d: int, h: int, dtype: torch.dtype) -> None:
    W = initialise(d, h, 0.1, torch.Generator().manual_seed(1), dtype)
    d_v = d // h
    assert W.W_Q.shape == W.W_K.shape == W.W_V.shape == (h, d, d_v) and W.W_O.shape == (h, d_v, d)
    assert float(W.alpha) == pytest.approx(0.1) and all(part.dtype == dtype for part in W)
    for product, rank in ((W.W_V @ W.W_O, d_v), (W.W_Q @ W.W_K.mT - W.W_K @ W.W_Q.mT, 2 * d_v)):
        values = torch.linalg.svdvals(product)
        assert float((values[:, :rank] - 1).abs().max()) < 100 * torch.finfo(dtype).eps
        assert values[:, rank:].numel() == 0 or float(values[:, rank:].max()) < 100 * torch.finfo(dtype).eps
    for first, second in itertools.pairwise(W.W_V):
        assert float((first - second).abs().max()) > 1e-2
    X = torch.randn(5, d, generator=torch.Generator().manual_seed(2), dtype=dtype)
    assert orthogonal_self_attention(X, *W).shape == X.shape


def test_initialisation_depends_on_the_generator_alone() -> None:
    first, again, other = (initialise(6, 3, generator=torch.Generator().manual_seed(seed)) for seed in (5, 5, 6))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first.W_Q, other.W_Q)


# -- bad input ---------------------------------------------------------------------------------------------------------

GOOD = dict(zip(["X", *Weights._fields], layer(5, 4, 2, h=3), strict=True))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [[1.0]]}, "X: expected a torch tensor; got list"),
        ({"W_O": None}, "W_O: expected a torch tensor; got NoneType"),
        ({"X": GOOD["X"][0]}, r"X: expected shape \(N, d\); got shape \(4,\)"),
        ({"X": GOOD["X"][:0]}, r"X: expected no size 0; got shape \(0, 4\)"),
        ({"X": GOOD["X"].long()}, "X: expected a tensor of float32 or float64; got torch.int64"),
        ({"X": GOOD["X"].float()}, "W_Q: expected the dtype of X, torch.float32; got torch.float64"),
        ({"X": GOOD["X"] * math.nan}, "X: expected finite entries; got NaN or infinity"),
        ({"W_V": GOOD["W_V"] / 0}, "W_V: expected finite entries; got NaN or infinity"),
        ({"W_K": GOOD["W_K"].to("meta")}, "W_K: expected the device of X, cpu; got meta"),
        ({"W_K": GOOD["W_K"][:2]}, r"W_K: expected shape \(h, d, d_v\) with h = 3, from W_Q; got shape \(2, 4, 2\)"),
        ({"W_K": GOOD["W_K"][0]}, r"W_K: expected shape \(h, d, d_v\); got shape \(4, 2\)"),
        ({"W_O": GOOD["W_V"]}, r"W_O: expected shape \(h, d_v, d\) with d_v = 2, from W_Q; got shape \(3, 4, 2\)"),
        ({"W_Q": GOOD["W_Q"][:, :3]}, r"W_Q: expected shape \(h, d, d_v\) with d = 4, from X; got shape \(3, 3, 2\)"),
        (dict(zip(["X", *Weights._fields], layer(5, 2, 4), strict=True)), "W_Q: expected d_v <= d, since d_v = d / h"),
        ({"alpha": "1"}, "alpha: expected a number, or a tensor of shape .*; got '1'"),
        ({"alpha": True}, "alpha: expected a number, or a tensor of shape .*; got True"),
        ({"alpha": math.inf}, "alpha: expected finite entries; got NaN or infinity"),
        (
            {"alpha": torch.ones(2, dtype=torch.float64)},
            r"alpha: expected shape \(h\) with h = 3, from W_Q; got shape \(2,\)",
        ),
        ({"alpha": torch.ones(3, 1)}, r"alpha: expected a number, or a tensor of shape .*; got shape \(3, 1\)"),
        ({"method": "softmax"}, r"method: expected one of \['push-through', 'frame', 'dense'\]; got 'softmax'"),
    ],
)
def test_bad_layers_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        orthogonal_self_attention(**{**GOOD, **change})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: orthogonal_self_attention_jacobian(torch.zeros(2, 5, 4), *list(GOOD.values())[1:]),
            "X: expected shape",
        ),
        (lambda: newton_schulz([[1.0]], 3), "M: expected a torch tensor"),
        (lambda: newton_schulz(torch.eye(2), -1), "steps: expected an integer >= 0; got -1"),
        (lambda: newton_schulz(torch.eye(2), 2.0), "steps: expected an integer >= 0; got 2.0"),
        (lambda: newton_schulz(torch.eye(2), 2, 0.0), "epsilon: expected a positive number"),
        (lambda: newton_schulz(2 * torch.eye(2), 2, None), r"M: expected singular values below sqrt\(3\)"),
        (lambda: polar_basis(torch.zeros(2, 3)), r"M: expected shape \(N, m\) with N >= m; got shape \(2, 3\)"),
        (lambda: polar_basis(torch.full((3, 2), math.nan)), "M: expected finite entries"),
        (lambda: initialise(4, 1), "h: expected an integer >= 2; got 1"),
        (lambda: initialise(4, 2.0), "h: expected an integer >= 2; got 2.0"),  # type: ignore[arg-type]
        (lambda: initialise(0, 2), "d: expected an integer >= 1; got 0"),
        (lambda: initialise(5, 2), "d: expected a multiple of h = 2; got 5"),
        (lambda: initialise(4, 2, math.nan), "alpha: expected a finite number; got nan"),
    ],
)
def test_other_bad_input_is_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        call()


def test_heads_that_are_kept_are_of_their_seed_and_not_of_a_definition_that_is_replaced():
    def measured(seed: int) -> list[float]:
        ((_, *numbers),) = paper_scale._measured(torch.Generator().manual_seed(seed), 1, 3, 4, 1, 2)
        return numbers

    def doubled(n, m, generator=None, samples=1, dtype=None):
        return 2 * usual(n, m, generator, samples, dtype)

    usual = definition_of("osa.stiefel_uniform")
    first = measured(1)
    assert measured(1) == first != measured(2)
    with replaced("osa.stiefel_uniform", doubled):
        assert measured(1) != first
    assert measured(1) == first
