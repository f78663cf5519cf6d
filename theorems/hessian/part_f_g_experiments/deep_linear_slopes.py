"""Slopes measured in deep linear self-attention networks: Figure 7 (Appendix G)."""

from __future__ import annotations

import functools
import itertools
from typing import Any

from theorems.hessian.definitions import square_loss
from theorems.hessian.part_3_structure.measured_growth import Embedding, Keys, Tokens, slope, within
from theorems.hessian.part_4_design.depth import DEEP_LAYERS, diagonal_blocks, layer_weights, weight_jacobians
from verify.oracles import LawTest
from verify.vocabulary import Claim, Definition, FollowsLaw

# -- Figure 7 ----------------------------------------------------------------------------------------------------------

#: Pairs of scales of the tokens between which slopes are taken.
ENDS = {"low": (0.01, 0.02), "high": (50.0, 100.0)}
DEPTHS = (1, 2, 3)

FIGURE_7 = Claim(DEEP_LAYERS, "hessian.fig-7", label="Figure 7 / Appendix G, text",
    statement=r"""\text{``For growing network depth } D\text{, we observe that the growth rates of the outer-product
        Hessian } H_o\text{ blocks become super-exponential. The complete Hessian } H\text{ blocks also follow this
        trend—the last layer for any } \sigma\text{ and the remaining ones for bigger } \sigma\text{''}:\
        \sigma^{2\cdot3^D};\ \text{``the functional Hessian blocks equal zero'' for } D = 1""",
    assumptions=[Definition("MSE loss", by=square_loss)],
    name="growth of deep linear attention blocks", relation=FollowsLaw(samples=3, instances=2),
    sizes={"L": (3, 5), "d_V": (2, 3), "d_K": (1, 2)}, uses=("hessian.sec4.1-depth-hessian", "hessian.depth-diagonal"),
    expects="empirical",
    observed=r"""$D = 1$, 2 and 3, $L = 3, 4, 5$, $d_V = 2, 3$, $d_K = 1, 2$, three networks for each of two sizes, all
        entries standard normal; slopes from $\sigma = 0.01$ to 0.02 and from 50 to 100. $H_o$ and the last layer of
        $H$: $2\cdot3^D$ within $10^{-6}$ at both ends. Other layers in $H$: $2\cdot3^D$ within 0.01 for large $\sigma$,
        $3^D$ within 0.01 for small $\sigma$. The paper uses number addition and states neither widths nor the
        initialisation for this figure; why these slopes: hessian.depth-diagonal""")  # fmt: skip

FIGURE_7.inputs(L=Tokens, d_V=Embedding, d_K=Keys)


def _length(block: Any) -> float:
    """||block||_F; entries of order sigma^54 have squares that float64 does not hold."""
    largest = block.abs().max()
    return float(largest * (block / largest).norm())


def _depth_slopes(generator: Any, samples: int, L: int, d_V: int, d_K: int, labels: float, shift: int) -> Any:
    """Slopes by (depth, kind, low or high), and the largest functional diagonal block relative to H_o at D = 1."""
    import torch

    def normal(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator, dtype=torch.float64, device=generator.device)

    def blocks(depth: int, tokens: Any, Y: Any, W_Q: Any, W_K: Any, W_V: Any) -> tuple[list[Any], list[Any]]:
        layers = layer_weights(W_Q, W_K, W_V, depth)
        outer = [J.T @ J * (2 / (L * d_V)) for J in weight_jacobians(tokens, layers)]
        return outer, diagonal_blocks(tokens, layers, Y)

    shapes = (L, d_V), (L, d_V), (d_V, 3 * d_K), (d_V, 3 * d_K), (d_V, 3 * d_V)
    networks = [[normal(*shape) for shape in shapes] for _ in range(samples)]
    every = [s for scales in ENDS.values() for s in scales]
    # all networks at all scales together, since to call the derivatives costs more than to compute some more of them
    X, Y, *stack = (torch.stack([one for one in each for _ in every]) for each in zip(*networks, strict=True))
    sigma = X.new_tensor(every).repeat(samples)[:, None, None]
    found: dict[Any, list[float]] = {}
    for depth in DEPTHS:
        outer, whole = torch.func.vmap(functools.partial(blocks, depth))(X * sigma + shift * X, Y * labels, *stack)
        for start, (end, scales) in itertools.product(range(0, len(X), len(every)), ENDS.items()):
            at = start + every.index(scales[0])
            for i in range(3 * depth):
                layer = "last" if i >= 3 * (depth - 1) else "others"
                for name, of in (("H_o", outer), (f"H {layer}", whole)):
                    rise = slope(scales, [_length(block) for block in of[i][at : at + len(scales)]])
                    found.setdefault((depth, name, end), []).append(rise)
                if depth == 1:
                    gap = (whole[i][at] - outer[i][at]).norm() / outer[i][at].norm()
                    found.setdefault("functional", []).append(float(gap))
    return found


@FIGURE_7.formula
def depth_slopes(generator: Any, samples: int, L: int, d_V: int, d_K: int) -> Any:
    """Slopes of the diagonal blocks of deep linear self-attention, by depth, part and range of sigma (Figure 7)."""
    return _depth_slopes(generator, samples, L, d_V, d_K, labels=1.0, shift=0)


FIGURE_7.mutant("labels zero, so that every block is homogeneous", labels=0.0)
FIGURE_7.mutant("tokens shifted: (1 + sigma) X", shift=1)


@FIGURE_7.part("laws")
def super_exponential_in_depth(formula: Any, generator: Any, samples: int, L: int, d_V: int, d_K: int) -> list[LawTest]:
    found = formula(generator, samples, L, d_V, d_K)
    tests = [within("functional blocks at D = 1", found["functional"], 0.0, 1e-10)]
    for depth, end in itertools.product(DEPTHS, ENDS):
        for name in ("H_o", "H last"):
            tests.append(within(f"D = {depth}, {name}, {end}", found[depth, name, end], 2 * 3**depth, 1e-6))
    for depth in DEPTHS[1:]:
        tests.append(within(f"D = {depth}, H others, high", found[depth, "H others", "high"], 2 * 3**depth, 0.01))
        tests.append(within(f"D = {depth}, H others, low", found[depth, "H others", "low"], 3**depth, 0.01))
    return tests
