"""Slopes of the block norms of one softmax layer for small tokens, measured against Eq. (5), and how a slope is tested."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from theorems.hessian import HESSIAN
from theorems.hessian.part_3_structure.whole_hessian import full_functional_hessian, full_outer_product_hessian
from verify.oracles import SMALLEST_P, LawTest
from verify.vocabulary import Assumption, Claim, Definition, FollowsLaw, Size

Tokens = Annotated[int, Size("L")]
Embedding = Annotated[int, Size("d_V")]
Keys = Annotated[int, Size("d_K")]


def slope(scales: Any, norms: Any) -> float:
    """The least-squares slope of log norm against log scale."""
    return float(
        np.polyfit(
            np.log(np.asarray(scales, dtype=float)), np.log(np.maximum(np.asarray(norms, dtype=float), 1e-300)), 1
        )[0]
    )


def within(name: str, found: list[float], wanted: float, tolerance: float) -> LawTest:
    """A test that all measured numbers lie within `tolerance` of the wanted one; no false alarm is possible by chance."""
    worst = max(abs(value - wanted) if np.isfinite(value) else np.inf for value in found)
    return LawTest(f"{name}: {wanted:g}, off by {worst:.2g}", 1.0 if worst <= tolerance else SMALLEST_P, len(found))


# -- Eq. (5) with the softmax as it is ---------------------------------------------------------------------------------

#: Standard deviations sigma of the tokens, and the exponents of the blocks on and above the diagonal as sigma -> 0.
SMALL_SCALES = (0.00001, 0.00002, 0.00004, 0.00008)
PREDICTED = {
    "H_o": {"QQ": 6, "QK": 6, "QV": 4, "KK": 6, "KV": 4, "VV": 2},
    "H_f": {"QQ": 5, "QK": 3, "QV": 3, "KK": 5, "KV": 3},
}


def _slopes(
    generator: Any, samples: int, L: int, d_V: int, d_K: int, scales: tuple[float, ...]
) -> dict[tuple[str, str], list[float]]:
    """The slopes of all block norms for `samples` random layers, by part and block."""
    import torch

    def normal(*shape: int) -> Any:
        return torch.randn(*shape, generator=generator, dtype=torch.float64, device=generator.device)

    n = d_V * d_K
    place = {"Q": slice(0, n), "K": slice(n, 2 * n), "V": slice(2 * n, None)}
    found: dict[tuple[str, str], list[float]] = {}
    for _ in range(samples):
        X, Y, weights = normal(L, d_V), normal(L, d_V), (normal(d_V, d_K), normal(d_V, d_K), normal(d_V, d_V))
        parts = {
            "H_o": [full_outer_product_hessian(X * s, *weights) for s in scales],
            "H_f": [full_functional_hessian(X * s, *weights, Y) for s in scales],
        }
        for part, blocks in PREDICTED.items():
            for block in blocks:
                norms = [float(H[place[block[0]], place[block[1]]].norm()) for H in parts[part]]
                found.setdefault((part, block), []).append(slope(scales, norms))
    return found


SLOPES = Claim(HESSIAN, "hessian.eq-5-slopes", label="Eq. (5), slopes with the softmax as it is",
    statement=r"""\log\|H_o\|_F \text{ and } \log\|H_f\|_F \text{ of the blocks rise with } \log\sigma,\ \sigma\to0,
        \text{ with the slopes of} \text{ Eq. (5): } 6, 6, 4, 6, 4, 2 \text{ and } 5, 3, 3, 5, 3 \text{ for } QQ, QK,
        QV, KK, KV, VV""",
    assumptions=[
        Definition(
            "X = sigma X_0; labels and weights fixed, so that the residual tends to -Y; nothing is frozen", by=_slopes
        ),
        Assumption("L >= 3", sizes=lambda sizes: sizes["L"] >= 3),
    ],
    name="measured growth of the Hessian blocks", relation=FollowsLaw(samples=8, instances=4),
    sizes={"L": (3, 6), "d_V": (2, 3), "d_K": (2, 4)}, uses=("hessian.eq-5-outer", "hessian.eq-5-functional"),
    expects="empirical", of_project=True,
    observed=r"""8 draws for each of 4 sizes, $L = 3, \ldots, 6$, $d_V = 2, 3$, $d_K = 2, 3, 4$, all entries standard
        normal; least squares over $\sigma = 10^{-5}, 2\cdot10^{-5}, 4\cdot10^{-5}, 8\cdot10^{-5}$; every slope within
        0.01. From 0.001 to 0.008 they are within 0.1: the residual has a part of order $\sigma$. $(Q,K)$ of $H_f$ shows
        its lower degree, 3. For $L = 2$ the third moment of uniform attention is 0 and $H_f(Q,Q)$ falls faster""",
)  # fmt: skip
SLOPES.inputs(L=Tokens, d_V=Embedding, d_K=Keys)


@SLOPES.formula
def block_slopes(generator: Any, samples: int, L: int, d_V: int, d_K: int) -> Any:
    """Slopes of the block norms of H_o and H_f for small tokens, one list for each block."""
    return _slopes(generator, samples, L, d_V, d_K, SMALL_SCALES)


SLOPES.mutant("large tokens, sigma = 8, ..., 64, where the softmax saturates", scales=(8.0, 16.0, 32.0, 64.0))
SLOPES.mutant("two tokens", L=2)


@SLOPES.part("laws")
def slopes_as_predicted(formula: Any, generator: Any, samples: int, L: int, d_V: int, d_K: int) -> list[LawTest]:
    found = formula(generator, samples, L, d_V, d_K)
    return [
        within(f"{part} {block}", found[part, block], degree, 0.01)
        for part, blocks in PREDICTED.items()
        for block, degree in blocks.items()
    ]
