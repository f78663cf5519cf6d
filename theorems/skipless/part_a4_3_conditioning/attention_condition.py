"""First sentence of the proof in Section A.4.3: kappa(A) is near 1 for Gaussian tokens of the printed dimensions, a gap.

It is not for every X, since equal tokens make A singular; what holds for any X is a bound by the gap of the logits.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import Tokens
from theorems.skipless.part_a4_1_logits.dominance import Positive, Tolerance
from theorems.skipless.part_a4_2_softmax_jacobian.softmax_jacobian import Logits, smallest_gap
from theorems.skipless.sampling import drawn_logits, query_key_product, wrong_products
from theorems.skipless.settings import AT_PRINTED_DIMENSIONS, GAUSSIAN_TOKENS
from verify.matrix import column, exp, singular_values, softmax, sqrt
from verify.oracles import LawTest, at_least_probability
from verify.vocabulary import Assumption, AtMost, Claim, Definition, FollowsLaw

if TYPE_CHECKING:
    import torch


def near_one(values: torch.Tensor) -> bool:
    """Whether the first of the singular values is at most 1.01 times the last."""
    return bool(values[0] <= 1.01 * values[-1])


KAPPA = Claim(AT_PRINTED_DIMENSIONS, "skipless.a4.3-kappa-a", label="Section A.4.3, first sentence of the proof",
    statement=r"""\text{We show that, with proposed initialization, }\mathbf{A}\text{ is well conditioned such that
        }\kappa(\mathbf{A})\approx1""",
    assumptions=[Definition("A = softmax(X W X^T), W = alpha Z + beta I", by=drawn_logits), Definition("kappa near 1: at "
        "most 1.01", by=near_one)],
    name="condition number of the attention matrix", relation=FollowsLaw(samples=60, instances=2), expects="gap",
    presumes=("skipless.a4.3-kappa-every-x",), correction="skipless.a4.3-kappa-gap",
    uses=("skipless.a4.1-dominance-proper-beta",),
    missing=GAUSSIAN_TOKENS,
    note=r"""None of this is printed beside the sentence; Section A.4.1, to which 'we show' sends, speaks of 'our assumption' $X
        \sim \mathcal{N}(0, I)$ for its moments. (Proposition 2 sends nowhere, and its proof uses of $X$ that it is bounded:
        skipless.prop-2.) Two equal tokens make $A$ singular at any $\alpha$ and $\beta$. It is the
        dimension that counts: of 60 draws at $n = d = 8$ with $(1.8, 1)$ none had all rows dominated, and the median of
        $\kappa$ was about 800; at $n = 197$, $d = 64$ with $(2, 0.6)$ $A$ was singular to double precision. For given
        tokens use skipless.a4.3-kappa-gap.""")  # fmt: skip

KAPPA.formula(query_key_product)
wrong_products(KAPPA)


@KAPPA.part("laws")
def laws_of_condition(formula: Callable[..., Any], generator: torch.Generator, samples: int, d: int) -> list[LawTest]:
    import torch

    found = 0
    for _ in range(samples):
        values = torch.linalg.svdvals(drawn_logits(formula, generator, d).softmax(-1))
        found += near_one(values)
    return [at_least_probability(f"kappa(A) <= 1.01, d = {d}", found, samples, 0.9)]


KAPPA_EVERY_X = Claim(SKIPLESS, "skipless.a4.3-kappa-every-x",
    label="Section A.4.3, first sentence of the proof, for every X", name="condition number of attention, any tokens",
    statement=r"""
        \kappa(\mathbf{A})\le C\text{ for all }\mathbf{X},\ \mathbf{A}=\mathrm{softmax}(\mathbf{X}(\alpha\mathbf{Z}+
        \beta\mathbf{I})\mathbf{X}^\top)""",
    assumptions=[Definition("A at alpha = 0, softmax(beta X X^T); C any number given", by=softmax),
        Assumption("beta > 0, C > 0", positive=lambda beta, C: column(beta, C))],
    relation=AtMost(left="sigma_max(A)", ascent=False), sizes={"n": (1, 3), "d": (1, 2)}, expects="refuted",
    severity="error", of_project=True,
    note=r"""Equal tokens give equal rows, at any $\alpha$, $\beta$ and $Z$; nearly equal ones an $A$ as ill-conditioned
        as one likes.""")  # fmt: skip


@KAPPA_EVERY_X.formula
def multiple_of_smallest(X: Tokens, beta: Positive, C: Tolerance) -> Any:
    """C sigma_min(A), a scalar."""
    return C * singular_values(softmax(X @ X.T * beta))[-1]


KAPPA_EVERY_X.oracle(lambda X, beta: singular_values(softmax(X @ X.T * beta))[0])
KAPPA_EVERY_X.counterexample("tokens 1 and 1.001, beta = 5, C = 1000", X=[[1], [Fraction(1001, 1000)]],
    beta=Fraction(5), C=Fraction(1000))  # fmt: skip
KAPPA_EVERY_X.mutant("without the factor C", "C -> 1")
KAPPA_EVERY_X.mutant("columns normalised, and doubled",
    "C -> 2 * C; softmax(X @ X.T * beta) -> softmax(X @ X.T * beta).T")  # fmt: skip

KAPPA_GAP = Claim(SKIPLESS, "skipless.a4.3-kappa-gap", label="Condition number of a dominated attention matrix",
    statement=r"""
        n\ge2,\ \delta=2(n-1)e^{-\gamma}<1\ \Rightarrow\ \kappa(\mathbf{A})\le\frac{\sqrt{1+\delta/2}}{1-\delta},\quad
        \gamma=\min_i\min_{j\ne i}(\mathbf{M}_{ii}-\mathbf{M}_{ij})""",
    assumptions=[Definition("A = softmax(M)", by=softmax), Assumption("n >= 2", sizes=lambda sizes: sizes["n"] >= 2),
        Assumption(r"\delta < 1", positive=lambda M: 1 - _delta(M))],
    name="condition number of attention by gap", relation=AtMost(left="kappa(A) - 1"), all_sizes=True, sizes={"n": (2, 4)},
    of_project=True, corrects="skipless.a4.3-kappa-a",
    note=r"""Rows and columns of $A - I$ have absolute sums of at most $\delta$, so $\|A - I\|_2 \le \delta$ and $s_{\min}(A)
        \ge 1 - \delta$. Rows of $A$ add up to 1 and columns to at most $1 + \delta/2$, so $s_{\max}(A)^2 \le 1 + \delta/2$.
        Both sides are compared less 1.""",
)  # fmt: skip


def _delta(M: Any, power: int = 1) -> Any:
    return 2 * (M.shape[0] - 1) * exp(-power * smallest_gap(M))


@KAPPA_GAP.formula
def attention_condition_bound(M: Logits) -> Any:
    """sqrt(1 + delta / 2) / (1 - delta) - 1, a scalar, without cancellation for small delta."""
    delta = _delta(M)
    return (delta / (2 + 2 * sqrt(1 + delta / 2)) + delta) / (1 - delta)


@KAPPA_GAP.oracle
def attention_condition_above_one(M: Logits) -> Any:
    values = singular_values(softmax(M))
    return (values[0] - values[-1]) / values[-1]


KAPPA_GAP.mutant("e^(-2 gamma)", power=2)
KAPPA_GAP.mutant("factor 2 (n - 1) dropped", "_delta(M) -> exp(-smallest_gap(M)) / 2")


@KAPPA_GAP.domain("one favourite")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Every token attends to itself and, next, to the first one: one column of A is as large as the gap allows."""
    M = arrays["M"]
    M[:] = -16.0
    M[:, :, 0] = 0.0
    gap = rng.integers(2, 9, len(M))
    for i in range(sizes["n"]):
        M[:, i, i] = gap
