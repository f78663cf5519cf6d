"""`theorems.layers.attention`: values and derivatives against the certified formulas in balls, jets, and double backward."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from theorems.hessian.fast.operators import AttentionCurvature
from theorems.layers import attention
from theorems.transformer.fast import blocks, compiled
from theorems.transformer.fast.blocks import Options
from theorems.transformer.fast.curvature import PARTS, LayerCurvature
from theorems.transformer.fast.functions import differential, gradient, second
from theorems.transformer.part_5_derivatives import first as claims_1
from theorems.transformer.part_5_derivatives import second as claims_2
from verify.arithmetics import midpoints, to_balls
from verify.oracles import hessian as hessian_oracle
from verify.vocabulary import InputError

pytestmark = pytest.mark.kept("benchmarks")

Kind = dict[str, Any]


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed + sum((k + 1) * size for k, size in enumerate(shape)))
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def written_out(query: Any, key: Any, value: Any, attn_mask: Any = None, is_causal: bool = False) -> Any:
    """The same in plain torch, where a row without keys is zero."""
    T = query @ key.mT / math.sqrt(query.shape[-1])
    if is_causal:
        T = T.masked_fill(torch.ones(T.shape[-2:], dtype=torch.bool).triu(1), -math.inf)
    if attn_mask is not None:
        T = T.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else T + attn_mask
    empty = (-math.inf == T).all(-1, keepdim=True)
    return torch.softmax(T.masked_fill(empty, 0.0), -1).masked_fill(empty, 0.0) @ value


def masks(m: int, n: int) -> dict[str, Kind]:
    """Masks of every kind, with rows without keys and rows with one."""
    truth = torch.rand(1, 2, m, n, generator=torch.Generator().manual_seed(1)) > 0.5
    truth[..., 0, :] = False
    bias = normal(2, 1, m, n)
    bias[0, :, 1], bias[1, :, 0, 1:] = -math.inf, -math.inf
    return {
        "none": {},
        "causal": {"is_causal": True},
        "booleans": {"attn_mask": truth},
        "numbers": {"attn_mask": bias},
        "numbers for keys": {"attn_mask": normal(n)},
    }


def case(mask: str, d_K: int, d_V: int, m: int = 3, n: int = 4) -> tuple[list[Any], Kind]:
    """Operands, and a mask; what is differentiated includes a mask of numbers."""
    operands = [normal(2, 2, m, d_K), normal(2, 2, n, d_K, seed=1), normal(2, 2, n, d_V, seed=2)]
    kind = masks(m, n)[mask]
    if mask.startswith("numbers"):
        return [*operands, kind["attn_mask"]], {}
    return operands, kind


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sequences of any length count as long ones, of which no weights are kept."""
    monkeypatch.setattr(compiled, "KEPT", -1)


@pytest.fixture(params=["short", "one block", "blocks"])
def cut(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short sequences; long ones in blocks as they are, and in blocks of two rows of one matrix."""
    if request.param != "short":
        request.getfixturevalue("long")
    if request.param == "blocks":
        for name in ("MOST_ROWS", "MOST_ROWS_CAUSAL", "LEAST_ROWS"):
            monkeypatch.setattr(blocks, name, 2)
        monkeypatch.setitem(blocks.BLOCK, "cpu", 8)


@pytest.fixture(params=["short", "long"])
def length(request: pytest.FixtureRequest) -> None:
    """Both ways in which a sequence is computed."""
    if request.param == "long":
        request.getfixturevalue("long")


def assert_near(found: Any, expected: Any, allowed: float = 1e-13) -> None:
    for one, other in zip(tree_leaves(found), tree_leaves(expected), strict=True):
        assert one.shape == other.shape
        if one.numel():
            assert float((one - other).detach().abs().max()) <= allowed * (1 + float(other.detach().abs().max()))


def through_third_order(function: Callable[..., Any], operands: list[Any], kind: Kind) -> list[Any]:
    """The value, gradients, a double backward and a triple one."""
    leaves = [X.clone().requires_grad_() for X in operands]
    value = function(*leaves, **kind)
    found = torch.autograd.grad(value.sin().sum(), leaves, create_graph=True)
    along = [torch.arange(X.numel(), dtype=X.dtype).cos().view(X.shape) for X in leaves]
    twice = torch.autograd.grad(found, leaves, along, create_graph=True)
    return [value, *found, *twice, *torch.autograd.grad([G.square() for G in twice], leaves, along)]


@pytest.mark.parametrize("widths", [(3, 3), (3, 2), (1, 2)])
@pytest.mark.parametrize("mask", masks(2, 2))
def test_derivatives_are_those_of_double_backward(mask: str, widths: tuple[int, int], cut: None) -> None:
    operands, kind = case(mask, *widths)
    assert_near(through_third_order(attention, operands, kind), through_third_order(written_out, operands, kind))


TRANSFORMS: dict[str, Callable[..., Any]] = {
    "jacrev": lambda f: jacrev(f, (0, 1, 2)),
    "jacfwd": lambda f: jacfwd(f, (0, 1, 2)),
    "hessian": lambda f: hessian(lambda *X: f(*X).sin().sum(), (0, 1, 2)),
    "reverse over reverse": lambda f: jacrev(grad(lambda *X: f(*X).sin().sum(), (0, 1)), 2),
    "forward over forward": lambda f: jacfwd(jacfwd(lambda *X: f(*X).sin().sum(), 0), 1),
    "reverse over forward": lambda f: jacrev(jacfwd(lambda *X: f(*X).sin().sum(), 2), 0),
    "third derivative": lambda f: jacfwd(hessian(lambda *X: f(*X).sin().sum(), 0), 1),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("mask", ["causal", "numbers"])
def test_transforms_of_torch_func(mask: str, transform: str, length: None) -> None:
    operands = [normal(2, 1, 2, 2), normal(2, 1, 2, 2, seed=1), normal(2, 1, 2, 2, seed=2)]
    kind = (
        {"is_causal": True}
        if mask == "causal"
        else {"attn_mask": torch.tensor([[-math.inf] * 2, [0.3, -1.0]]).double()}
    )
    of = TRANSFORMS[transform]
    found, expected = (
        of(lambda *X, f=function: f(*X, **kind))(*operands)
        for function in (attention, written_out)  # type: ignore[misc]
    )
    assert_near(found, expected)


def test_vmap_over_any_argument(length: None) -> None:
    Q, K, V, B = normal(2, 3, 4), normal(2, 5, 4, seed=1), normal(2, 5, 3, seed=2), normal(3, 5)
    many = normal(4, 3, 5)
    assert_near(
        vmap(attention, in_dims=(0, None, None, 0))(normal(4, 2, 3, 4), K, V, many[:, None]),
        torch.stack([attention(q, K, V, b) for q, b in zip(normal(4, 2, 3, 4), many, strict=True)]),
    )
    of_mask = vmap(grad(lambda B: attention(Q, K, V, B).square().sum()))(many)
    assert_near(of_mask, torch.stack([grad(lambda B: written_out(Q, K, V, B).square().sum())(B) for B in many]))
    of_values = vmap(lambda V: jvp(grad(lambda B: attention(Q, K, V, B).square().sum()), (B,), (B,))[1])
    several = normal(4, 2, 5, 3)
    expected = [jvp(grad(lambda B, V=V: written_out(Q, K, V, B).square().sum()), (B,), (B,))[1] for V in several]
    assert_near(of_values(several), torch.stack(expected))


@pytest.mark.parametrize("causal", [False, True])
def test_finite_differences(causal: bool, length: None) -> None:
    leaves = [normal(1, 2, 2, seed=k).requires_grad_() for k in range(3)]

    def function(*X: Any) -> Any:
        return attention(*X, is_causal=causal)

    assert torch.autograd.gradcheck(function, leaves, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, leaves, check_fwd_over_rev=True)


# -- the certified formulas --------------------------------------------------------------------------------------------

NAMES = ("Q", "K", "V", "B", "W")
#: Factors of the logits, from a flat softmax to one in which all but one weight are below 1e-20, with a tie.
SHARPNESS = {"flat": 0.0, "soft": 0.7, "negative": -1.5, "peaked": 60.0}


def drawn(seed: int) -> dict[str, torch.Tensor]:
    m, n, d_K, d_V = 3, 4, 3, 2
    shapes = {"Q": (m, d_K), "K": (n, d_K), "V": (n, d_V), "B": (m, n), "W": (m, d_V)}
    found = {name: normal(*shape, seed=seed + ord(name)) for name, shape in shapes.items()}
    found["K"][1] = found["K"][0]  # two keys tie
    return found | {"d" + name: normal(*shape, seed=seed + 7 * ord(name)) for name, shape in shapes.items()}


@pytest.mark.parametrize("sharpness", SHARPNESS)
@pytest.mark.parametrize("mask", ["all", "some", "one"])
def test_blocks_are_the_certified_formulas_in_balls(sharpness: str, mask: str, cut: None) -> None:
    """Every claim of part 5, at 53 bits against balls, within some roundings of the sizes of what is added."""
    given, s = drawn(3), SHARPNESS[sharpness]
    M = {
        "all": torch.ones(3, 4),
        "some": torch.tensor([[1, 0, 1, 1], [0, 1, 1, 0], [1, 1, 1, 1]]),
        "one": torch.eye(3, 4),
    }[mask]
    exact = {name: to_balls(value.numpy()) for name, value in given.items()}
    at = [*(exact[name] for name in NAMES), to_balls(M.double().numpy()), to_balls(s).item()]
    along = [exact["d" + name] for name in NAMES]
    Q, K, V, B, W, dQ, dK, dV, dB, dW = (given[name][None] for name in (*NAMES, *("d" + name for name in NAMES)))
    excluded, options = (M == 0)[None], Options(s, False)
    nothing = W.new_empty(1, 3, 0)
    found = gradient(W, Q, K, V, B, excluded, nothing, nothing, options, True)
    of_first = dict(zip(("query", "key", "value", "bias"), found, strict=True))
    found = second(W, Q, K, V, B, dW, dQ, dK, dV, dB, excluded, options, True, True)
    of_second = dict(zip(("query", "key", "value", "differential", "bias"), found, strict=True))
    allowed = 3e-13 * (1 + abs(s)) ** 2
    for name, formula in (
        ("query", claims_1.query_gradient), ("key", claims_1.key_gradient), ("value", claims_1.value_gradient),
        ("bias", claims_1.bias_gradient),
    ):  # fmt: skip
        assert_near(of_first[name].flatten(), torch.from_numpy(midpoints(formula(*at))).flatten(), allowed)
    for name, formula in (
        ("query", claims_2.query_change), ("key", claims_2.key_change), ("value", claims_2.value_change),
        ("bias", claims_2.bias_change),
    ):  # fmt: skip
        assert_near(of_second[name].flatten(), torch.from_numpy(midpoints(formula(*at, *along))).flatten(), allowed)
    Q_, K_, V_, B_, _, M_, s_ = at
    moved = torch.from_numpy(midpoints(claims_1.differential(Q_, K_, V_, B_, M_, s_, *along[:4]))).flatten()
    assert_near(of_second["differential"].flatten(), moved, allowed)
    assert_near(differential(Q, K, V, B, dQ, dK, dV, dB, excluded, options).flatten(), moved, allowed)


def test_second_derivatives_against_jets(length: None) -> None:
    """A route without torch's derivatives: second-order jets of <W, F>, in queries and keys."""
    Q, K, V, B, W = (drawn(5)[name] for name in NAMES)
    M, s = torch.ones(3, 4, dtype=torch.float64), torch.tensor(1 / math.sqrt(3), dtype=torch.float64)
    expected = hessian_oracle(claims_1.weighted, ("Q", "K"), by="jets")(Q, K, V, B, W, M, s)
    found = jacrev(grad(lambda Q, K: (W * attention(Q, K, V, B)).sum()), 1)(Q, K)
    assert_near(found.reshape(expected.shape), expected)


@pytest.mark.parametrize("kind", [{}, {"is_causal": True}, {"attn_mask": torch.zeros(4, 4, device="meta")}])
def test_on_the_meta_device(kind: Kind, length: None) -> None:
    operands = [torch.empty(2, 4, 3, device="meta", requires_grad=True) for _ in range(3)]
    found = attention(*operands, **kind)
    once = torch.autograd.grad(found.sum(), operands, create_graph=True)
    twice = torch.autograd.grad([G.sum() for G in once], operands)
    assert found.is_meta and all(G.is_meta and G.shape == (2, 4, 3) for G in (*once, *twice))


# -- shapes, dtypes, memory --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shapes",
    [
        ((5, 3), (4, 3), (4, 2)),
        ((2, 1, 5, 3), (3, 4, 3), (1, 1, 4, 3)),
        ((2, 1, 2, 2, 5, 3), (4, 3), (2, 1, 4, 3)),
        ((0, 5, 3), (0, 4, 3), (0, 4, 3)),
        ((2, 0, 3), (2, 4, 3), (2, 4, 3)),
        ((2, 5, 3), (2, 0, 3), (2, 0, 3)),
    ],
)
def test_leading_axes_broadcast_and_sizes_may_be_zero(shapes: Any, length: None) -> None:
    operands = [normal(*shape, seed=k) for k, shape in enumerate(shapes)]
    expected = through_third_order(written_out, operands, {})
    assert_near(through_third_order(attention, operands, {}), expected)


def test_groups_of_heads_share_keys(length: None) -> None:
    Q, K, V = normal(2, 6, 3, 4), normal(2, 2, 5, 4, seed=1), normal(2, 2, 5, 4, seed=2)
    leaves = [X.clone().requires_grad_() for X in (Q, K, V)]
    torch_own = torch.nn.functional.scaled_dot_product_attention(*leaves, enable_gqa=True)
    ours = attention(*leaves, enable_gqa=True)
    assert_near(ours, torch_own)
    assert_near(torch.autograd.grad(ours.sin().sum(), leaves), torch.autograd.grad(torch_own.sin().sum(), leaves))
    assert (
        grad(lambda K: grad(lambda K: attention(Q, K, V, enable_gqa=True).sin().sum())(K).sin().sum())(K).shape
        == K.shape
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_fewer_digits(dtype: torch.dtype, length: None) -> None:
    rounded = [normal(1, 2, 9, 8, seed=k, dtype=dtype) for k in range(3)]
    exact = [X.double() for X in rounded]
    found, expected = ([X.clone().requires_grad_() for X in operands] for operands in (rounded, exact))
    for one, other in zip(_twice(found), _twice(expected), strict=True):
        assert one.dtype == dtype
        error = (one.double() - other).norm() / other.norm()
        assert error.item() <= 8 * torch.finfo(dtype).eps


def _twice(leaves: list[Any]) -> list[Any]:
    value = attention(*leaves, is_causal=True)
    once = torch.autograd.grad(value.sum(), leaves, create_graph=True)
    found = [value, *once, *torch.autograd.grad(once, leaves, [torch.ones_like(G) for G in once])]
    return [part.detach() for part in found]


def test_rows_without_keys_are_zero_with_derivatives_of_zero(length: None) -> None:
    Q, K, V = (normal(1, 1, 3, 2, seed=k) for k in range(3))
    mask = torch.ones(3, 3, dtype=torch.bool)
    mask[1] = False
    assert not attention(Q, K, V, mask)[0, 0, 1].any()
    J = jacrev(attention, (0, 1, 2))(Q, K, V, mask)
    H = hessian(lambda *X: attention(*X, mask)[0, 0, 1].sum(), (0, 1, 2))(Q, K, V)
    assert not any(part[0, 0, 1].any() for part in J) and not any(part.any() for part in tree_leaves(H))


def test_nothing_of_size_n_by_n_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[1] / "benchmarks"))
    import measure

    N, d = 2048, 8
    operands = [normal(1, 2, N, d, seed=k, dtype=torch.float32) for k in range(6)]
    held = sum(X.nbytes for X in operands)

    def product() -> Any:
        return jvp(grad(lambda *X: attention(*X).square().sum(), (0, 1, 2)), tuple(operands[:3]), tuple(operands[3:]))

    assert blocks.BLOCK["cpu"] * 4 * 5 + 6 * held < 2 * N * N * 4
    assert measure.peak_memory(product) < blocks.BLOCK["cpu"] * 4 * 5 + 6 * held


class Products(TorchDispatchMode):
    """Counts the multiplications of matrix products."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.overloadpacket in (torch.ops.aten.bmm, torch.ops.aten.baddbmm_):
            left, right = args[-2:]
            self.count += left.numel() * right.shape[-1]
        return func(*args, **(kwargs or {}))


def test_matrix_products_are_as_many_as_the_page_of_benchmarks_says(cut: None) -> None:
    """In products of N x N x d: 2 for values, 5 for a gradient or a differential, 12 for a second derivative."""
    N, d, options = 6, 3, Options(0.5, False)
    Q, K, V, W, dQ, dK, dV, dW = (normal(1, N, d, seed=k) for k in range(8))
    given, none = (Q, K, V, None), W.new_empty(1, N, 0)
    runs: dict[Callable[[], Any], int] = {
        lambda: gradient(W, *given, None, none, none, options, False): 5,
        lambda: differential(*given, dQ, dK, dV, None, None, options): 5,
        lambda: second(W, *given, None, dQ, dK, dV, None, None, options, True, False): 12,
        lambda: second(W, *given, dW, dQ, dK, dV, None, None, options, False, False): 12,
    }
    for run, expected in runs.items():
        with Products() as products:
            run()
        assert products.count == expected * N * N * d


def test_a_compiled_product_of_short_sequences() -> None:
    Q, K, V, dQ = (normal(1, 2, 5, 4, seed=k) for k in range(4))

    def product(Q: Any, dQ: Any) -> Any:
        return jvp(grad(lambda Q: attention(Q, K, V, is_causal=True).square().sum()), (Q,), (dQ,))[1]

    assert_near(torch.compile(product, fullgraph=True, backend="aot_eager")(Q, dQ), product(Q, dQ))


def test_compiled_in_one_graph(length: None) -> None:
    leaves = [normal(1, 2, 5, 4, seed=k).requires_grad_() for k in range(3)]

    def function(*X: Any) -> Any:
        return attention(*X, is_causal=True).square().sum()

    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    assert_near(torch.autograd.grad(compiled(*leaves), leaves), torch.autograd.grad(function(*leaves), leaves))


# -- products with the curvature of a layer ----------------------------------------------------------------------------


def layer(heads: int, batch: tuple[int, ...] = ()) -> dict[str, torch.Tensor]:
    """Five tokens of three features; heads of two."""
    shapes = {
        "X": (*batch, 5, 3),
        "W_Q": (heads, 3, 2),
        "W_K": (heads, 3, 2),
        "W_V": (heads, 3, 2),
        "W_O": (heads, 2, 3),
    }
    return {name: normal(*shape, seed=ord(name[-1])) for name, shape in shapes.items()} | {
        "Y": normal(*batch, 5, 3, seed=9)
    }


def loss_of(flat: torch.Tensor, given: dict[str, torch.Tensor], mask: Any) -> torch.Tensor:
    """The loss with all weights in one vector, in plain torch."""
    names = ("W_Q", "W_K", "W_V", "W_O")
    parts = flat.split([given[name].numel() for name in names])
    W_Q, W_K, W_V, W_O = (part.reshape(given[name].shape) for part, name in zip(parts, names, strict=True))
    X = given["X"].unsqueeze(-3)
    return ((written_out(X @ W_Q, X @ W_K, X @ W_V, mask) @ W_O).sum(-3) - given["Y"]).square().mean()


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize("masked", [False, True])
def test_curvature_of_several_heads_is_the_hessian(masked: bool, batch: tuple[int, ...]) -> None:
    given = layer(2, batch)
    mask = torch.ones(5, 5, dtype=torch.bool).tril() if masked else None
    flat = torch.cat([given[name].flatten() for name in ("W_Q", "W_K", "W_V", "W_O")])
    exact = hessian(lambda w: loss_of(w, given, mask))(flat)
    identity = torch.eye(len(flat), dtype=torch.float64)
    parts = {part: LayerCurvature(**given, part=part, attn_mask=mask) @ identity for part in PARTS}
    assert_near(parts["hessian"], exact)
    assert_near(parts["outer-product"] + parts["functional"], exact)
    for H in parts.values():
        assert_near(H, H.T)
    assert float(torch.linalg.eigvalsh(parts["outer-product"])[0]) > -1e-12
    if masked:
        causal = LayerCurvature(**given, is_causal=True)
        assert_near(causal @ identity, exact)


def test_curvature_of_one_head_is_that_of_stored_moments() -> None:
    X, Y, W_Q, W_K, W_V = (normal(*shape, seed=k) for k, shape in enumerate(((5, 3), (5, 3), (3, 2), (3, 2), (3, 3))))
    W_O = torch.eye(3, dtype=torch.float64)
    n = 2 * 6 + 9
    V = torch.eye(n + 9, n, dtype=torch.float64)
    for part in PARTS:
        found = LayerCurvature(X, W_Q[None], W_K[None], W_V[None], W_O[None], Y, part) @ V
        assert_near(found[:n], AttentionCurvature(X, W_Q, W_K, W_V, Y, part) @ V[:n])


def test_curvature_speaks_scipy_and_curvlinops() -> None:
    given = layer(2, (2,))
    operator = LayerCurvature(**given, is_causal=True)
    H = operator @ torch.eye(operator.shape[0], dtype=torch.float64)
    as_list = operator @ [given[name] for name in ("W_Q", "W_K", "W_V", "W_O")]
    flat = torch.cat([given[name].flatten() for name in ("W_Q", "W_K", "W_V", "W_O")])
    assert_near(torch.cat([part.flatten() for part in as_list]), H @ flat)
    assert operator.T is operator and operator.adjoint() is operator and operator.dtype == torch.float64
    linalg = pytest.importorskip("scipy.sparse.linalg")
    top = linalg.eigsh(operator.to_scipy(), k=1, which="LA", return_eigenvectors=False)
    spectrum = torch.linalg.eigvalsh(H)
    assert top[0] == pytest.approx(float(spectrum[-1])) == pytest.approx(operator.extreme_eigenvalues()[1])
    curvlinops = pytest.importorskip("curvlinops")

    with torch.random.fork_rng():
        traces = [float(curvlinops.hutchinson_trace(A, 9)) for A in (operator, H) if torch.manual_seed(0)]
    assert traces[0] == pytest.approx(traces[1])

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = torch.nn.ParameterList(given[name].clone() for name in ("W_Q", "W_K", "W_V", "W_O"))

        def forward(self, X: torch.Tensor) -> torch.Tensor:
            W_Q, W_K, W_V, W_O = self.weights
            X = X.unsqueeze(-3)
            return (written_out(X @ W_Q, X @ W_K, X @ W_V, is_causal=True) @ W_O).sum(-3)

    model, data = Layer(), [(given["X"], given["Y"])]
    kinds = {"hessian": curvlinops.HessianLinearOperator, "outer-product": curvlinops.GGNLinearOperator}
    for part, kind in kinds.items():
        other = kind(model, torch.nn.MSELoss(), list(model.parameters()), data, check_deterministic=False)
        assert_near(LayerCurvature(**given, part=part, is_causal=True) @ flat, other @ flat, 1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"part": "whole"}, "part: expected one of"),
        ({"X": torch.ones(5, 2).double()}, r"X: expected shape .* d = 3"),
        ({"X": torch.ones(3).double()}, r"X: expected shape \(..., L, d\)"),
        ({"W_K": torch.ones(2, 3, 1).double()}, r"W_K: expected shape .* d_K = 2"),
        ({"W_O": torch.ones(2, 2, 3)}, "W_O: expected the dtype"),
        ({"W_V": torch.full((2, 3, 2), math.inf).double()}, "W_V: expected finite entries"),
        ({"Y": None}, "Y: expected a torch tensor"),
        ({"Y": torch.ones(1, 5, 3).double()}, "Y: expected shape"),
        ({"attn_mask": [[True]]}, "attn_mask: expected a torch tensor"),
    ],
)
def test_bad_layers_are_named(change: Kind, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        LayerCurvature(**{**layer(2), **change})


GOOD = {"query": torch.ones(2, 3, 4), "key": torch.ones(2, 5, 4), "value": torch.ones(2, 5, 6)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": [[1.0]]}, "query: expected a torch tensor"),
        ({"query": torch.ones(4)}, r"query: expected shape \(..., tokens, features\)"),
        ({"key": torch.ones(2, 5, 3)}, r"key: expected shape \(..., S, d_K\) with d_K = 4"),
        ({"key": torch.ones(2, 5, 4).double()}, "key: expected the dtype of query"),
        ({"key": torch.ones(3, 5, 4)}, "key: expected leading axes that broadcast"),
        ({"value": torch.ones(2, 4, 6)}, r"value: expected shape \(..., S, d_V\) with S = 5"),
        ({"value": torch.ones(2, 5, 6).long()}, "value: expected a tensor of float64"),
        ({"dropout_p": 0.1}, "dropout_p: expected 0"),
        ({"scale": math.nan}, "scale: expected a finite number"),
        ({"attn_mask": torch.ones(3, 5), "is_causal": True}, "is_causal: expected False"),
        ({"attn_mask": torch.ones(3, 4)}, r"attn_mask: expected what broadcasts to \(2, 3, 5\)"),
        ({"attn_mask": torch.ones(3, 5).long()}, "attn_mask: expected booleans, or the dtype of query"),
        ({"attn_mask": [[True]]}, "attn_mask: expected a torch tensor"),
        ({"enable_gqa": True, "key": torch.ones(3, 5, 4)}, "key: expected a number of heads that divides"),
        ({"enable_gqa": True, "query": torch.ones(3, 4)}, "query: expected shape"),
    ],
)
def test_bad_arguments_are_named(change: Kind, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        attention(**{**GOOD, **change})
