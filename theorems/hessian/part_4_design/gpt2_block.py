"""Simulations of a single GPT-2 block on number addition: Figures 1, 3 and 4."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from theorems.hessian import HESSIAN
from theorems.hessian.part_3_structure.measured_growth import slope, within
from verify.oracles import SMALLEST_P, LawTest
from verify.vocabulary import Claim, Definition, FollowsLaw, Setting, Size

Width = Annotated[int, Size("d")]
#: Digits, plus and equals sign.
VOCABULARY = 12
UNSTATED = (
    "Not stated in the paper: the activation of the MLP (ReLU here), whether positions are scaled with $\\sigma$ (yes"
    " here), the scale of the unembedding (as the other weights)"
)


def additions(count: int, generator: Any) -> Any:
    """Tokens of `count` problems of 5-digit addition, shape (count, 18); digits are tokens 0-9."""
    import torch

    device = generator.device
    a, b = (torch.randint(0, 100_000, (count,), generator=generator, device=device) for _ in range(2))

    def digits(x: Any, places: int) -> Any:
        return torch.stack([x // 10**k % 10 for k in reversed(range(places))], dim=1)

    plus, equals = (torch.full((count, 1), token, device=device) for token in (10, 11))
    return torch.cat([digits(a, 5), plus, digits(b, 5), equals, digits(a + b, 6)], dim=1)


def random_block(d: int, problems: int, generator: Any) -> tuple[Any, dict[str, Any]]:
    """Tokens and weights of one block with d_V = d_K = d and MLP width 4 d; embeddings still of standard deviation 1."""
    import torch

    def normal(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator, dtype=torch.float64, device=generator.device)

    tokens = additions(problems, generator)
    shapes = {name: (d, d) for name in ("Q", "K", "V", "O")}
    shapes |= {"up": (d, 4 * d), "down": (4 * d, d), "unembed": (d, VOCABULARY)}
    weights = {name: normal(*shape) * (0.8 / math.sqrt(d)) for name, shape in shapes.items()}
    return tokens, weights | {"embed": normal(VOCABULARY, d), "position": normal(tokens.shape[1] - 1, d)}


def predictions(
    weights: dict[str, Any], tokens: Any, sigma: float, softmax: bool = True, norm: bool = False, smooth: bool = False
) -> Any:
    """Logits at every position, shape (problems * positions, vocabulary).

    `norm` adds Pre-LN and the final layer norm; without `softmax` scores are masked but not normalised; `smooth` puts
    GELU in the place of ReLU.
    """
    import torch

    def normalised(x: Any) -> Any:
        if not norm:
            return x
        centred = x - x.mean(-1, keepdim=True)
        return centred / torch.sqrt((centred * centred).mean(-1, keepdim=True) + 1e-5)

    X = (weights["embed"][tokens[:, :-1]] + weights["position"]) * sigma
    Z = normalised(X)
    scores = Z @ weights["Q"] @ (Z @ weights["K"]).mT / math.sqrt(Z.shape[-1])
    causal = torch.tril(torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device))
    A = scores.masked_fill(~causal, -math.inf).softmax(-1) if softmax else scores * causal
    X = X + A @ Z @ weights["V"] @ weights["O"]
    hidden = normalised(X) @ weights["up"]
    hidden = torch.nn.functional.gelu(hidden) if smooth else hidden.relu()
    X = X + hidden @ weights["down"]
    return (normalised(X) @ weights["unembed"]).reshape(-1, VOCABULARY)


def hessian_block(weights: dict[str, Any], tokens: Any, name: str, sigma: float, **options: Any) -> Any:
    """The diagonal block of the Hessian for the weights `name`, shape (d^2, d^2)."""
    return hessian_of_cross_entropy(_in_weights(weights, tokens, name, sigma, **options), weights[name], tokens)


def _in_weights(weights: dict[str, Any], tokens: Any, name: str, sigma: float, **options: Any) -> Callable[[Any], Any]:
    """The logits as a function of the weights `name`."""
    return lambda W: predictions({**weights, name: W}, tokens, sigma, **options)


def hessian_of_cross_entropy(network: Callable[[Any], Any], point: Any, tokens: Any) -> Any:
    """The Hessian of the loss of a network that predicts the next tokens, at a matrix with n entries, shape (n, n)."""
    import torch

    labels = tokens[:, 1:].reshape(-1)
    return hessian_by_rows(lambda W: torch.nn.functional.cross_entropy(network(W), labels), point)


def hessian_by_rows(loss: Callable[[Any], Any], point: Any) -> Any:
    """The Hessian of a scalar `loss` at a matrix with n entries, shape (n, n): all rows of the slope's derivative at once."""
    import torch

    point = point.clone().requires_grad_()
    (slope,) = torch.autograd.grad(loss(point), point, create_graph=True)
    return _rows(slope, point)


def jacobian_by_columns(network: Callable[[Any], Any], point: Any) -> Any:
    """The Jacobian of `network` at a matrix with n entries, shape (*outputs, n): for networks of more outputs than entries.

    What an output's weights u give back, J^T u, is linear in u, and its derivative is J^T, one row for each entry.
    """
    import torch

    point = point.clone().requires_grad_()
    outputs = network(point)
    weights = torch.zeros_like(outputs, requires_grad=True)
    (back,) = torch.autograd.grad(outputs, point, weights, create_graph=True)
    return _rows(back, weights).T.reshape(*outputs.shape, point.numel())


def _rows(value: Any, point: Any) -> Any:
    """The derivative of `value` in `point`, shape (size of value, size of point)."""
    import torch

    value = value.reshape(-1)
    unit = torch.eye(len(value), dtype=value.dtype, device=value.device)
    (found,) = torch.autograd.grad(value, point, unit, is_grads_batched=True)
    return found.reshape(len(value), -1).detach()


def outer_block(weights: dict[str, Any], tokens: Any, name: str, sigma: float, **options: Any) -> Any:
    """The outer-product part of `hessian_block`, shape (d^2, d^2)."""
    return outer_product_of_cross_entropy(_in_weights(weights, tokens, name, sigma, **options), weights[name])


def outer_product_of_cross_entropy(network: Callable[[Any], Any], point: Any) -> Any:
    """The outer-product part of `hessian_of_cross_entropy`, shape (n, n)."""
    import torch

    p = network(point).softmax(-1)
    J = jacobian_by_columns(network, point)
    mean = (J * p[..., None]).sum(1)
    return (torch.einsum("ncr,nc,ncs->rs", J, p, J) - mean.T @ mean) / len(p)


# -- Figure 3 ----------------------------------------------------------------------------------------------------------

SCALES = (0.01, 0.03, 0.1, 0.3)


def _norms(generator: Any, samples: int, d: int, apart: bool = True, **options: Any) -> list[dict[str, list[float]]]:
    """For each network the norms along the scales: 'Q', 'V' of H and, where its parts are taken `apart`, of them too.

    'Q outer', 'V outer' are of H_o, 'Q functional', 'V functional' of H - H_o.
    """
    networks = []
    for _ in range(samples):
        tokens, weights = random_block(d, 4, generator)
        found: dict[str, list[float]] = {}
        for name in "QV":
            for sigma in SCALES:
                H = hessian_block(weights, tokens, name, sigma, **options)
                blocks = {name: H}
                if apart:
                    outer = outer_block(weights, tokens, name, sigma, **options)
                    blocks |= {f"{name} outer": outer, f"{name} functional": H - outer}
                for part, block in blocks.items():
                    found.setdefault(part, []).append(float(block.norm()))
        networks.append(found)
    return networks


def width(d: Width) -> dict[str, int]:
    return {"d": d}


PROBLEMS = Definition(
    "next-token prediction of XXXXX+YYYYY=ZZZZZZ, cross-entropy over all positions, causal mask", by=additions
)
WEIGHTS = Definition(
    "weights N(0, 0.64/d_V); token and position embeddings of standard deviation sigma", by=random_block
)
GPT2_BLOCK = Setting(
    HESSIAN,
    "Appendix F",
    assumptions=[
        PROBLEMS,
        Definition(
            "one block of GPT-2: single-head attention and a two-layer MLP, both with a residual connection; biases 0",
            by=predictions,
        ),
        WEIGHTS,
    ],
    sizes={"d": (8, 8)},
    inputs=width,
)

FIGURE_3A = Claim(GPT2_BLOCK, "hessian.fig-3a", label="Section 3.1 / Figure 3a, text",
    statement=r"""\text{``For the value block, the full Hessian follows the } \sigma^2 \text{ trend from the
        outer-product Hessian from eq. (5), since the functional block is zero. The query block follows the functional
        Hessian's } \sigma^5 \text{ trend, and not the } \sigma^6 \text{ trend from the outer-product Hessian's diagonal
        dependencies''}""",
    assumptions=[Definition("no layer norm", by=predictions)],
    name="growth of GPT-2 blocks without layer norm", relation=FollowsLaw(samples=3, instances=1),
    uses=("hessian.eq-5-outer", "hessian.eq-5-functional", "hessian.sec2-piecewise"), expects="empirical",
    observed=r"""$d_V = d_K = 8$ (128 in the paper), three networks with 4 problems each, $\sigma = 0.01, 0.03, 0.1,
        0.3$, exact block norms; least squares: every slope within 0.2 of 2, 6, 5, 5. With a ReLU MLP $H_f(V,V)$ is zero
        to rounding; with GELU, the activation of GPT-2, it is not: it grows like $\sigma^2$, and in these networks has
        a fifth to three fifths of the norm of the block. """ + UNSTATED)  # fmt: skip


@FIGURE_3A.formula
def norms_along_the_scales(generator: Any, samples: int, d: int) -> Any:
    """Norms of the query and value blocks of H, H_o, H_f for sigma = 0.01, ..., 0.3, one dictionary per network."""
    return _norms(generator, samples, d)


FIGURE_3A.mutant("GELU instead of ReLU", lambda generator, samples, d: _norms(generator, samples, d, smooth=True))
FIGURE_3A.mutant("without softmax", lambda generator, samples, d: _norms(generator, samples, d, softmax=False))


@FIGURE_3A.part("laws")
def slopes_of_figure_3a(formula: Any, generator: Any, samples: int, d: int) -> list[LawTest]:
    networks = formula(generator, samples, d)
    wanted = {"V": 2, "V outer": 2, "Q outer": 6, "Q functional": 5, "Q": 5}
    tests = [within(name, [slope(SCALES, found[name]) for found in networks], k, 0.2) for name, k in wanted.items()]
    zero = [max(np.divide(found["V functional"], found["V"])) for found in networks]
    return [*tests, within("H_f(V,V) relative to H(V,V)", zero, 0.0, 1e-10)]


FIGURE_3B = Claim(GPT2_BLOCK, "hessian.fig-3b", label="Section 4.3 / Figure 3b, text",
    statement=r"""\text{``Pre-LN indeed addresses the block-heterogeneity w.r.t. data growth rates—the
        difference between the trend exponent in the two compared blocks is much smaller than in fig. 3''}""",
    assumptions=[Definition("layer norm before attention, before the MLP and at the end, eps = 1e-5", by=predictions)],
    name="growth of GPT-2 blocks with Pre-LN", relation=FollowsLaw(samples=4, instances=1), uses=("hessian.fig-3a",),
    expects="empirical",
    observed=r"""$d_V = d_K = 8$ (128 in the paper), four networks with 4 problems each, $\sigma = 0.01, 0.03, 0.1,
        0.3$; slope of the log of the norm averaged over the networks, as Appendix F does. Much smaller means at most a
        third: the difference is near 3 without and below 1 with layer norm, where both exponents are near 0 or below.
        """ + UNSTATED)  # fmt: skip


@FIGURE_3B.formula
def differences_of_exponents(generator: Any, samples: int, d: int) -> Any:
    """|slope of Q - slope of V| for the blocks of H, with and without layer norm (Figure 3b)."""
    return _two_differences(generator, samples, d)


def _two_differences(
    generator: Any, samples: int, d: int, first: bool = True, second: bool = False
) -> tuple[float, ...]:
    """|slope of Q - slope of V| for two batches of networks; mutants put layer norm into other ones."""
    found = []
    for norm in (first, second):
        networks = _norms(generator, samples, d, apart=False, norm=norm)
        query, value = (slope(SCALES, np.mean([norms[name] for norms in networks], axis=0)) for name in "QV")
        found.append(abs(query - value))
    return tuple(found)


FIGURE_3B.mutant("layer norm in neither", first=False)
FIGURE_3B.mutant("layer norm in the other one", first=False, second=True)


@FIGURE_3B.part("laws")
def at_most_a_third(formula: Any, generator: Any, samples: int, d: int) -> list[LawTest]:
    normed, plain = formula(generator, samples, d)
    return [LawTest(f"{normed:.2g} against {plain:.2g}", 1.0 if normed <= plain / 3 else SMALLEST_P, samples)]


# -- Figures 1 and 4 ---------------------------------------------------------------------------------------------------

FIGURE_1_4 = Claim(GPT2_BLOCK, "hessian.fig-1-4", label="Section 4.1 text, Figures 1 and 4",
    statement=r"""\text{``the entries of the query block are two orders of magnitude smaller than the entries of the
        value block''; ``After removing the softmax (fig. 4), we see that both query and value histograms are largely
        similar''; ``softmax has a particularly strong influence on the magnitude of the query Hessian block and not on
        the value Hessian block''}""",
    assumptions=[Definition("embeddings N(0, 0.64/d_V) like all weights; no layer norm", by=random_block)],
    name="magnitudes of GPT-2 block entries and softmax", relation=FollowsLaw(samples=3, instances=1),
    sizes={"d": (16, 16)}, expects="empirical",
    observed=r"""$d_V = d_K = 16$ and MLP width 64 as in the paper, 8 problems instead of 64, three networks. Medians of
        the absolute entries, geometric mean over the networks: value over query between $10^{1.5}$ and $10^{2.5}$ with
        softmax and between 1/4 and 4 without; removing it raises the query median at least fivefold and by a larger
        factor than it lowers the value median. That factor is not 1, it is 3 to 10 in single networks: 'not on the
        value block' is seen in this weaker sense only. """ + UNSTATED)  # fmt: skip


def _medians(
    generator: Any, samples: int, d: int, second: bool = False, sigma: float | None = None
) -> dict[str, float]:
    """Geometric means of the medians of |entries|: 'Q', 'V' with softmax, 'Q linear', 'V linear' without (or with `second`)."""
    logs: dict[str, list[float]] = {}
    for _ in range(samples):
        tokens, weights = random_block(d, 8, generator)
        for name in "QV":
            for softmax in {True, second}:
                H = hessian_block(weights, tokens, name, sigma or 0.8 / math.sqrt(d), softmax=softmax)
                found = math.log(float(H.abs().median()))
                for kind in [
                    kind for kind, with_softmax in (("", True), (" linear", second)) if with_softmax is softmax
                ]:
                    logs.setdefault(name + kind, []).append(found)
    return {name: math.exp(sum(values) / samples) for name, values in logs.items()}


@FIGURE_1_4.formula
def median_entries(generator: Any, samples: int, d: int) -> Any:
    """Median absolute entries of the query and value blocks with and without softmax (Figures 1 and 4)."""
    return _medians(generator, samples, d)


FIGURE_1_4.mutant("softmax in both", second=True)
FIGURE_1_4.mutant("embeddings of standard deviation 1", sigma=1.0)


@FIGURE_1_4.part("laws")
def orders_of_magnitude(formula: Any, generator: Any, samples: int, d: int) -> list[LawTest]:
    found = formula(generator, samples, d)
    with_softmax, without = found["V"] / found["Q"], found["V linear"] / found["Q linear"]
    raised, lowered = found["Q linear"] / found["Q"], found["V"] / found["V linear"]
    facts = {
        f"value over query with softmax: {with_softmax:.3g}": 10**1.5 <= with_softmax <= 10**2.5,
        f"value over query without: {without:.3g}": 0.25 <= without <= 4,
        f"query raised by {raised:.3g}, value lowered by {lowered:.3g}": raised >= 5
        and raised > max(lowered, 1 / lowered),
    }
    return [LawTest(name, 1.0 if true else SMALLEST_P, samples) for name, true in facts.items()]
