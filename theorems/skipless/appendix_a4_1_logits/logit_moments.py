"""Eqs. (18) and (19): moments of the logits C = alpha X Z X^T + beta X X^T, exactly and by simulation.

Eq. (19) inherits the error of Eq. (17); the first and second moments that hold are `skipless.logit-moments`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from theorems.skipless.appendix_a4_1_logits.enumeration import (
    LOGITS,
    Scale,
    enumerated_covariance,
    enumerated_mean_and_variance,
    sampled_pair,
)
from theorems.skipless.settings import PRINTED_SCALES, Dimension, dimension_alone
from verify.claims import Claim
from verify.matrix import column
from verify.relations import Equal, FollowsLaw, Moments, moment_test
from verify.relations.follows_law import LawTest

if TYPE_CHECKING:
    import torch

LOGIT_MOMENTS = Claim(
    LOGITS,
    "skipless.logit-moments",
    label="First and second moments of the logits",
    statement=r"\mathbb{E}[\mathbf{C}_{ii}]=\beta d,\ \mathbb{E}[\mathbf{C}_{ij}]=0,\ "
    r"\mathrm{Var}(\mathbf{C}_{ii})=\alpha^2(d+2)+2\beta^2d,\ \mathrm{Var}(\mathbf{C}_{ij})=(\alpha^2+\beta^2)d,\ "
    r"\mathrm{Cov}(\mathbf{C}_{ii},\mathbf{C}_{ij})=0\quad(i\ne j)",
    relation=Equal(),
    of_project=True,
    note="(alpha, beta) = (0, 1) gives A, (1, 0) gives B. Cross terms of A and B are odd in Z, and C_ij is odd in row j.",
)


@LOGIT_MOMENTS.formula
def logit_moments_exactly(alpha: Scale, beta: Scale, d: Dimension) -> Any:
    """E C_ii, E C_ij, Var C_ii, Var C_ij, Cov(C_ii, C_ij), shape (5, 1)."""
    a, b = alpha * alpha, beta * beta
    return column(beta * d, 0 * a, a * (d + 2) + b * (2 * d), (a + b) * d, 0 * b)


@LOGIT_MOMENTS.oracle
def logit_moments_enumerated(alpha: Scale, beta: Scale, d: Dimension) -> Any:
    own = enumerated_mean_and_variance("own", alpha, beta, d)
    other = enumerated_mean_and_variance("other", alpha, beta, d)
    return column(own[:1], other[:1], own[1:], other[1:], enumerated_covariance(alpha, beta, d))


LOGIT_MOMENTS.mutant("diagonal variance without the 2 of d + 2", "d + 2 -> d")
LOGIT_MOMENTS.mutant("off-diagonal variance as in Eq. (19)", "(a + b) * d -> a + b * d")
LOGIT_MOMENTS.mutant("entries of a row correlated", "0 * b -> a")

SAMPLED = Claim(
    LOGITS.extended(sizes={"d": (1, 8)}, exact=False, inputs=dimension_alone),
    "skipless.logit-moments-sampled",
    label="First and second moments of the logits, by simulation",
    statement=LOGIT_MOMENTS.statement,
    assumptions=["(alpha, beta) = (2, 3/5), (9/5, 1), (0, 1/2), as in Sections 6.1, 6.2 and A.8"],
    relation=FollowsLaw(samples=4_000, instances=3),
    of_project=True,
    uses=("skipless.logit-moments",),
    note="A second oracle that shares nothing with the enumeration.",
)


@SAMPLED.formula
def logit_moments_in_numbers(alpha: float, beta: float, d: int) -> tuple[float, float, float, float]:
    """E C_ii, Var C_ii, Var C_ij, Cov(C_ii, C_ij)."""
    return beta * d, alpha**2 * (d + 2) + 2 * beta**2 * d, (alpha**2 + beta**2) * d, 0.0


@SAMPLED.part("laws")
def laws_of_row(formula: Callable[..., Any], generator: torch.Generator, samples: int, d: int) -> list[LawTest]:
    tests = []
    for alpha, beta in PRINTED_SCALES:
        own, other = sampled_pair(generator, samples, d, alpha, beta)
        mean, variance, off, covariance = formula(alpha, beta, d)
        name = f"alpha = {alpha}, beta = {beta}, d = {d}"
        tests += Moments(mean, variance).tests(f"C_ii, {name}", own)
        tests += Moments(0.0, off).tests(f"C_ij, {name}", other)
        tests.append(moment_test(f"covariance, {name}", (own - mean) * other, covariance))
    return tests


@SAMPLED.at_scale("token dimension of Section 6.2", d=384)
@SAMPLED.at_scale("token dimension of Section 6.1", d=768)
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Nothing is fixed but d."""


SAMPLED.mutant("off-diagonal variance as in Eq. (19)", "(alpha ** 2 + beta ** 2) * d -> alpha ** 2 + beta ** 2 * d")
SAMPLED.mutant("covariance beta^2 d", "0.0 -> beta ** 2 * d")

EQ_18 = Claim(
    LOGITS,
    "skipless.eq-18",
    label="Eq. (18)",
    statement=r"\text{For }\mathbf{C}=\alpha\mathbf{B}+\beta\mathbf{A}:\ \mathbb{E}[\mathbf{C}_{ii}]=\beta d,\ "
    r"\mathrm{Var}(\mathbf{C}_{ii})\approx\alpha^2(d+2)+\beta^2(2d)",
    relation=Equal(),
    uses=("skipless.eq-14", "skipless.eq-16", "skipless.logit-moments-sampled"),
    note="Exact, not approximate: the covariance of A_ii and B_ii is odd in Z and vanishes.",
)


@EQ_18.formula
def diagonal_logit_moments(alpha: Scale, beta: Scale, d: Dimension) -> Any:
    """Mean and variance of C_ii, shape (2, 1) (Eq. (18))."""
    a, b = alpha * alpha, beta * beta
    return column(beta * d, a * (d + 2) + b * (2 * d))


EQ_18.oracle(lambda alpha, beta, d: enumerated_mean_and_variance("own", alpha, beta, d))

EQ_18.mutant("standard deviations added instead of variances", "b * (2 * d) -> (b + alpha * beta) * (2 * d)")
EQ_18.mutant("alpha and beta exchanged", "a * (d + 2) + b * (2 * d) -> b * (d + 2) + a * (2 * d)")
EQ_18.mutant("mean beta, as if A were divided by d", "beta * d -> beta * 1")

EQ_19 = Claim(
    LOGITS,
    "skipless.eq-19",
    label="Eq. (19)",
    statement=r"\mathbb{E}[\mathbf{C}_{ij}]=0,\ \mathrm{Var}(\mathbf{C}_{ij})\approx\alpha^2+\beta^2d\quad(i\ne j)",
    relation=Equal(),
    expects="refuted",
    severity="error",
    uses=("skipless.eq-15", "skipless.eq-17"),
    correction="skipless.eq-19-corrected",
    note="Inherited from Eq. (17). The variance is (alpha^2 + beta^2) d; what is printed is short of it by alpha^2 (d - 1),"
    " which is no small part of it unless alpha is small beside beta: at alpha = 2, beta = 3/5, d = 768 it is 280 against"
    " 3348. No reading of the sign saves it.",
)


@EQ_19.formula
def printed_off_diagonal_moments(alpha: Scale, beta: Scale, d: Dimension) -> Any:
    """Mean and variance of C_ij, shape (2, 1) (Eq. (19))."""
    a, b = alpha * alpha, beta * beta
    return column(0 * alpha, a + b * d)


@EQ_19.oracle
def off_diagonal_logit_enumerated(alpha: Scale, beta: Scale, d: Dimension) -> Any:
    return enumerated_mean_and_variance("other", alpha, beta, d)


EQ_19.counterexample("d = 2, alpha = beta = 1: variance 4, not 3", alpha=[[1]], beta=[[1]], d=2)
EQ_19.counterexample(
    "d = 3, alpha = 2, beta = 3/5, the values of Section 6.1: 327/25, not 127/25",
    alpha=[[2]],
    beta=[[Fraction(3, 5)]],
    d=3,
)

EQ_19.mutant("variance of the diagonal, Eq. (18)", "a + b * d -> a * (d + 2) + b * (2 * d)")
EQ_19.mutant("d on the wrong term", "a + b * d -> a * d * d + b")

EQ_19_CORRECTED = Claim(
    LOGITS,
    "skipless.eq-19-corrected",
    label="Eq. (19), corrected",
    statement=r"\mathbb{E}[\mathbf{C}_{ij}]=0,\ \mathrm{Var}(\mathbf{C}_{ij})=(\alpha^2+\beta^2)d\quad(i\ne j)",
    relation=Equal(),
    of_project=True,
    corrects="skipless.eq-19",
    uses=("skipless.logit-moments-sampled",),
)


@EQ_19_CORRECTED.formula
def off_diagonal_logit_moments(alpha: Scale, beta: Scale, d: Dimension) -> Any:
    """Mean and variance of C_ij, shape (2, 1) (Eq. (19), corrected)."""
    a, b = alpha * alpha, beta * beta
    return column(0 * alpha, (a + b) * d)


EQ_19_CORRECTED.oracle(off_diagonal_logit_enumerated)
EQ_19_CORRECTED.mutant("as printed", printed_off_diagonal_moments)
EQ_19_CORRECTED.mutant("covariance of the two terms not zero", "a + b -> (alpha + beta) * (alpha + beta)")
