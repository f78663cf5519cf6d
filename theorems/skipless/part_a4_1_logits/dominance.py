"""Text after Eq. (20): when the logits of Gaussian tokens are diagonally dominant.  The dimension decides, not beta."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import Tokens
from theorems.skipless.part_a4_1_logits.enumeration import sampled_pair
from theorems.skipless.part_a4_2_softmax_jacobian.softmax_jacobian import smallest_gap
from theorems.skipless.sampling import drawn_logits, gap_of_logits, query_key_product, wrong_products
from theorems.skipless.settings import AT_PRINTED_DIMENSIONS, PAPER, Dimension
from verify.matrix import column, maximum, rational
from verify.oracles import LawTest, at_least_probability, proportion_test, two_sided_p
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, FollowsLaw, Reading, Real

if TYPE_CHECKING:
    import torch

Positive = Annotated[Any, Real(0.25, 8.0)]
Tolerance = Annotated[Any, Real(1.0, 64.0)]

PROPER_BETA = Claim(AT_PRINTED_DIMENSIONS, "skipless.a4.1-dominance-proper-beta", label="Text after Eq. (20)",
    statement=r"""\gamma\sim\mathcal{N}(\beta d,\alpha^2(d+3)+\beta^2(3d))\ (20) \dots\text{, which satisfy the diagonal
        dominant condition with a proper }\beta""",
    assumptions=[Definition("X ~ N(0, I)", by=drawn_logits), Definition("diagonal dominance as in Proposition 1, for all "
        "rows", by=gap_of_logits)],
    name="dominance of the logits by scale", relation=FollowsLaw(samples=60, instances=2), expects="reading",
    uses=("skipless.dominance-probability", "skipless.a4.1-dominance-criterion"),
    reading=Reading(
        "satisfy the diagonal dominant condition with a proper",
        f"all rows are dominated with probability 9/10 at least; {PAPER}. It is the dimension, not $\\beta$, that does it: at"
        r" $\alpha = 0$ the probability does not depend on $\beta$ (skipless.dominance-probability), and for given $X$"
        r" no $\beta$ may serve (skipless.a4.1-dominance-every-x)",
    ),
    note=r"""The ratio of mean and standard deviation of $\gamma$, $\beta d/\sqrt{\alpha^2(2d + 2) + 3\beta^2 d}$, tends
        to $\sqrt{d/3}$ as $\beta$ grows, and no further.""")  # fmt: skip

PROPER_BETA.formula(query_key_product)
wrong_products(PROPER_BETA)


@PROPER_BETA.part("laws")
def laws_of_dominance(formula: Callable[..., Any], generator: torch.Generator, samples: int, d: int) -> list[LawTest]:
    dominated = sum(gap_of_logits(drawn_logits(formula, generator, d)) > 0 for _ in range(samples))
    return [at_least_probability(f"all rows dominated, d = {d}", dominated, samples, 0.9)]


PROBABILITY = Claim(SKIPLESS, "skipless.dominance-probability",
    label="Probability that one logit is dominated, alpha = 0", name="probability of a dominated logit",
    statement=r"""P(\gamma>0)=P(T_d<\sqrt d)\text{ for every }\beta>0,\ \alpha=0,\text{ with }T_d\text{ under
        Student's law with }d\text{ degrees of freedom}""",
    assumptions=[Definition("X ~ N(0, I), gamma = C_ii - C_ij with C = beta X X^T, i and j different rows", by=sampled_pair)],
    relation=FollowsLaw(samples=20_000, instances=4), sizes={"d": (1, 8)}, of_project=True,
    note=r"""$\gamma > 0$ says that the component of the other token along $x$ is below $|x|$. It is 3/4 at $d = 1$ and
        at least $1 - 2^{-d/2 - 1}$, whence all rows of $n$ tokens are dominated with probability $1 - n(n - 1)2^{-d/2 -
        1}$ at least.""")  # fmt: skip


@PROBABILITY.formula
def probability_of_dominance(d: Dimension) -> float:
    """P(T_d < sqrt(d))."""
    return 1 - two_sided_p(math.sqrt(d), degrees=d) / 2


@PROBABILITY.part("laws")
def laws_of_sign(
    formula: Callable[..., float], generator: torch.Generator, samples: int, d: Dimension
) -> list[LawTest]:
    tests = []
    for beta in (0.1, 10.0):
        own, other = sampled_pair(generator, samples, d, 0.0, beta)
        tests.append(proportion_test(f"gamma > 0, beta = {beta}, d = {d}", own > other, formula(d)))
    return tests


PROBABILITY.mutant("normal law of Eq. (20)", lambda d: 1 - two_sided_p(math.sqrt(d / 3)) / 2)
PROBABILITY.mutant("certain dominance", lambda d: 1.0)

CRITERION = Claim(SKIPLESS, "skipless.a4.1-dominance-criterion", label="Dominance of beta X X^T",
    statement=r"""
        \min_i\min_{j\ne i}(\mathbf{M}_{ii}-\mathbf{M}_{ij})=\beta\,\min_i\min_{j\ne i}\mathbf{x}_i\cdot(\mathbf{x}_i-
        \mathbf{x}_j)\quad\text{for }\mathbf{M}=\beta\mathbf{X}\mathbf{X}^\top,\ \beta>0,\ n\ge2""",
    assumptions=[Assumption("beta > 0", positive=lambda beta: beta), Assumption("n >= 2", sizes=lambda sizes: sizes["n"] >= 2)],
    name="dominance of the Gram matrix", relation=Equal(), sizes={"n": (2, 4), "d": (1, 3)}, of_project=True,
    corrects="skipless.a4.1-dominance-every-x",
    note=r"So $X$ alone decides whether the diagonal dominates; $\beta > 0$ scales the gap.")  # fmt: skip


@CRITERION.formula
def gap_by_tokens(X: Tokens, beta: Positive) -> Any:
    """beta min over i and j != i of x_i.(x_i - x_j), a scalar."""
    n = X.shape[0]
    products = [(X[i] * (X[j] - X[i])).sum() for i in range(n) for j in range(n) if i != j]
    return -maximum(column(*products)) * beta


CRITERION.oracle(lambda X, beta: smallest_gap(X @ X.T * beta))
CRITERION.mutant("distance of the tokens: |x_i - x_j|^2", "X[i] * (X[j] - X[i]) -> (X[i] - X[j]) * (X[j] - X[i])")
CRITERION.mutant("beta dropped", lambda X, beta: gap_by_tokens(X, 0 * beta + 1))


def squared_distances(X: Any) -> Any:
    """|x_i - x_j|^2 for all i < j, and 1, shape (n (n - 1) / 2 + 1, 1)."""
    n = X.shape[0]
    pairs = [((X[i] - X[j]) * (X[i] - X[j])).sum() for i in range(n) for j in range(i)]
    return column(*pairs, 0 * X[0, 0] + 1)


EVERY_X = Claim(SKIPLESS, "skipless.a4.1-dominance-every-x", label="Text after Eq. (20), for given tokens",
    statement=r"""\text{for all }\mathbf{X}\text{ with distinct rows and }\alpha=0\text{ there is }\beta>0\text{ for
        which }\beta\mathbf{X}\mathbf{X}^\top\text{ is dominated: }\min_i\min_{j\ne i}\mathbf{x}_i\cdot(\mathbf{x}_i-
        \mathbf{x}_j)\ge0""",
    assumptions=[Assumption("rows of X are different", positive=squared_distances)],
    name="dominance of the logits, any tokens", relation=AtMost(signed=True), sizes={"n": (2, 3), "d": (1, 2)},
    expects="refuted", severity="error", of_project=True, correction="skipless.a4.1-dominance-criterion",
    note=r"""Tokens 1 and 2 on a line: the shorter one prefers the longer at every $\beta > 0$, the more so the larger
        $\beta$ is.""")  # fmt: skip


@EVERY_X.formula
def own_products(X: Tokens) -> Any:
    """x_i.x_i for all i != j, shape (n (n - 1), 1)."""
    n = X.shape[0]
    return column(*((X[i] * X[i]).sum() for i in range(n) for j in range(n) if i != j))


@EVERY_X.oracle
def other_products(X: Tokens) -> Any:
    """x_i.x_j for all i != j, shape (n (n - 1), 1)."""
    n = X.shape[0]
    return column(*((X[i] * X[j]).sum() for i in range(n) for j in range(n) if i != j))


EVERY_X.counterexample("tokens 1 and 2", X=[[1], [2]])
EVERY_X.mutant("squared norm of the other token", "X[i] -> X[j]")
EVERY_X.mutant("half of it", lambda value: value * rational(1, 2))
