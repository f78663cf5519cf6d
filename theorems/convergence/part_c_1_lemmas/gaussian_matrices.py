"""Lemmas 5 and 6: the extreme singular values of Gaussian matrices."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from theorems.convergence import CONVERGENCE
from theorems.convergence.settings import GAUSSIAN, Dimension, Width
from verify.oracles import LawTest, at_most_probability, standard_normal
from verify.vocabulary import Assumption, Claim, FollowsLaw, Real, Size

Rows = Annotated[int, Size("d_1")]
Columns = Annotated[int, Size("d_2")]
Slack = Annotated[Any, Real(0.0, 4.0)]


def gaussian_singular_values(generator: Any, samples: int, rows: int, columns: int) -> np.ndarray:
    """Singular values of independent standard normal matrices, descending, shape (samples, min(rows, columns))."""
    import torch

    W = standard_normal(generator, None, samples, rows, columns)
    return np.asarray(torch.linalg.svdvals(W).cpu())


LEMMA_5 = Claim(CONVERGENCE, "convergence.lemma-5", label="Lemma 5 (Vershynin Cor. 5.35)",
    statement=r"""W\in\mathbb R^{d_1\times d_2}\text{ iid }\mathcal N(0,1),\ \zeta\ge0:\ \text{with probability at least
        }1-2\exp(-\zeta^2/2):\ \sqrt{d_1}-\sqrt{d_2}-\zeta \le\sigma_{\min}(W)\le\sigma_{\max}(W)
        \le\sqrt{d_1}+\sqrt{d_2}+\zeta""",
    assumptions=[GAUSSIAN, Assumption("zeta >= 0", nonnegative=lambda zeta: zeta)],
    name="extreme singular values of Gaussian matrices", relation=FollowsLaw(samples=4000, instances=8),
    sizes={"d_1": (1, 12), "d_2": (1, 12)},
    note=r"""Gaussian concentration of the 1-Lipschitz extreme singular values around means inside $[\sqrt{d_1} -
        \sqrt{d_2}, \sqrt{d_1} + \sqrt{d_2}]$. For $\zeta < \sqrt{2 \log 2} = 1.18$ the stated probability is not
        positive and nothing is said; for $d_1 < d_2$ the lower bound is negative and trivial. Each instance is tested
        at its own $\zeta$ and at 5/4, 2 and 3.""")  # fmt: skip


@LEMMA_5.formula
def singular_value_bounds(d_1: Rows, d_2: Columns, zeta: Slack) -> tuple[float, float, float]:
    """The interval for the singular values and the probability 2 exp(-zeta^2/2) of leaving it (Lemma 5)."""
    low, high = math.sqrt(d_1) - math.sqrt(d_2) - zeta, math.sqrt(d_1) + math.sqrt(d_2) + zeta
    return low, high, 2 * math.exp(-(zeta**2) / 2)


@LEMMA_5.part("laws")
def leaving_the_interval(formula: Any, generator: Any, samples: int, d_1: Rows, d_2: Columns,
                         zeta: Slack) -> list[LawTest]:  # fmt: skip
    """How often a singular value leaves the interval, for the drawn shape and for the telling ones."""
    tests = []
    for rows, columns in dict.fromkeys([(d_1, d_2), (1, 9), (9, 1), (4, 4), (12, 9)]):
        values = gaussian_singular_values(generator, samples, rows, columns)
        for slack in (float(zeta), 1.25, 2.0, 3.0):
            low, high, probability = formula(rows, columns, slack)
            failed = (values[:, -1] < low) | (values[:, 0] > high)
            tests.append(
                at_most_probability(f"{rows} x {columns}, zeta = {slack}", int(np.sum(failed)), samples, probability)
            )
    return tests


LEMMA_5.mutant("sqrt(d_2) missing in the upper bound", "math.sqrt(d_1) + math.sqrt(d_2) -> math.sqrt(d_1)")
LEMMA_5.mutant("sqrt(d_2) missing in the lower bound", "math.sqrt(d_1) - math.sqrt(d_2) -> math.sqrt(d_1)")
LEMMA_5.mutant("slack with the wrong sign below",
    "math.sqrt(d_1) - math.sqrt(d_2) - zeta -> math.sqrt(d_1) - math.sqrt(d_2) + zeta")  # fmt: skip


LEMMA_6 = Claim(CONVERGENCE, "convergence.lemma-6", label="Lemma 6", name="spectral norm of Gaussian weights",
    statement=r"""W\in\mathbb R^{d_m\times d},\ d_m>d,\text{ iid }\mathcal N(0,1):\ \text{with probability at least
        }1-2\exp(-d_m/2):\ \|W\|_2\le3\sqrt{d_m}""",
    assumptions=[GAUSSIAN, Assumption("d_m > d", sizes=lambda sizes: sizes["d_m"] > sizes["d"])],
    relation=FollowsLaw(samples=4000, instances=8), sizes={"d_m": (2, 12), "d": (1, 11)}, uses=("convergence.lemma-5",),
    note=r"$\zeta = \sqrt{d_m}$ in Lemma 5, and $d < d_m$. The probability is positive for every $d_m \ge 2$.",
)  # fmt: skip


@LEMMA_6.formula
def spectral_norm_bound(d_m: Width, d: Dimension) -> tuple[float, float]:
    """3 sqrt(d_m), and the probability 2 exp(-d_m/2) of exceeding it (Lemma 6)."""
    return 3 * math.sqrt(d_m), 2 * math.exp(-d_m / 2)


@LEMMA_6.part("laws")
def exceeding_the_bound(formula: Any, generator: Any, samples: int, d_m: Width, d: Dimension) -> list[LawTest]:
    """How often the norm exceeds the bound, for the drawn shape and for the telling ones."""
    tests = []
    for rows, columns in dict.fromkeys([(d_m, d), (2, 1), (3, 2), (8, 7), (12, 1)]):
        bound, probability = formula(rows, columns)
        norms = gaussian_singular_values(generator, samples, rows, columns)[:, 0]
        tests.append(at_most_probability(f"{rows} x {columns}", int(np.sum(norms > bound)), samples, probability))
    return tests


LEMMA_6.mutant("half of the bound", "3 -> 1.5")
LEMMA_6.mutant("3 sqrt(d)", "math.sqrt(d_m) -> math.sqrt(d)")
LEMMA_6.mutant("sqrt(d_m) alone", "3 -> 1")
