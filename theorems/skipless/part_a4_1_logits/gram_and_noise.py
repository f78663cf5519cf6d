"""Eqs. (14)-(17): moments of A = X X^T and of B = X Z X^T for Gaussian tokens.

Eq. (17) is false: off the diagonal B has variance d, not 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

from theorems.skipless import SKIPLESS
from theorems.skipless.part_a4_1_logits.enumeration import (
    NOISE, TOKENS, Term, chi_squared, gaussian_moment, sampled_pair,
)  # fmt: skip
from theorems.skipless.sampling import normal
from theorems.skipless.settings import Dimension
from verify.matrix import concatenate
from verify.oracles import LawTest, Moments, Normal, expectation, kolmogorov_smirnov
from verify.vocabulary import Claim, Definition, Equal, FollowsLaw, Setting, Shape
from verify.vocabulary.hypotheses import normal_entries

if TYPE_CHECKING:
    import torch

Deviation = Annotated[Any, Shape("1", "1")]

LAW = FollowsLaw(samples=10_000, instances=4)
TOKENS_ALONE = Setting(
    SKIPLESS, "Section A.4.1", assumptions=[Definition(TOKENS, by=sampled_pair)], sizes={"d": (1, 8)}
)

EQ_14 = Claim(TOKENS_ALONE, "skipless.eq-14", label="Eq. (14)", name="law of the diagonal Gram entries",
    statement=r"""\text{Given }\mathbf{X}\in\mathbb{R}^{n\times d}\sim\mathcal{N}(0,\mathbf{I})\text{, we have the mean
        and variance of }\mathbf{A}=\mathbf{X}\mathbf{X}^\top\text{ as follows, Diagonal entries }(i=j):\
        \mathbf{A}_{ii}\sim\chi_d^2,\ \mathbb{E}[\mathbf{A}_{ii}]=d,\ \mathrm{Var}(\mathbf{A}_{ii})=2d\text{, where
        }\chi\text{ is Wishart distribution}""",
    relation=LAW, proof=("skipless.logit-moments",),
    note=r"$\chi^2_d$ is the Wishart distribution of dimension 1 with $d$ degrees of freedom.")  # fmt: skip


@EQ_14.formula
def degrees_mean_and_variance(d: Dimension) -> tuple[int, int, int]:
    """Degrees of freedom, mean and variance of A_ii (Eq. (14))."""
    return d, d, 2 * d


@EQ_14.part("laws")
def laws_of_squared_norm(
    formula: Callable[..., Any], generator: torch.Generator, samples: int, d: Dimension
) -> list[LawTest]:
    degrees, mean, variance = formula(d)
    drawn, _ = sampled_pair(generator, samples, d, 0.0, 1.0)
    return [
        kolmogorov_smirnov(f"A_ii, d = {d}", drawn, chi_squared(degrees)),
        *Moments(mean, variance).tests(f"A_ii, d = {d}", drawn),
    ]


EQ_14.mutant("variance d, that of the other entries", lambda d: (d, d, d))
EQ_14.mutant("d - 1 degrees of freedom, as after subtracting a mean", lambda d: (max(d - 1, 1), d, 2 * d))
EQ_14.mutant("mean 1, as if A were divided by d", lambda d: (d, 1, 2 * d))


def laws_of_entry(which: int, alpha: float, beta: float, name: str) -> Callable[..., list[LawTest]]:
    """Tests of mean and variance of C_ii (0) or C_ij (1)."""

    def laws(formula: Callable[..., Any], generator: torch.Generator, samples: int, d: Dimension) -> list[LawTest]:
        mean, variance = formula(d)
        drawn = sampled_pair(generator, samples, d, alpha, beta)[which]
        return Moments(mean, variance).tests(f"{name}, d = {d}", drawn)

    return laws


EQ_15 = Claim(TOKENS_ALONE, "skipless.eq-15", label="Eq. (15)", name="variance of off-diagonal Gram entries",
    statement=r"\text{Off-diagonal entries }(i\ne j):\ \mathbb{E}[\mathbf{A}_{ij}]=0,\ \mathrm{Var}(\mathbf{A}_{ij})=d",
    assumptions=[Definition("A = X X^T", by=sampled_pair)],
    relation=LAW, proof=("skipless.logit-moments",))  # fmt: skip


@EQ_15.formula
def off_diagonal_gram_moments(d: Dimension) -> tuple[int, int]:
    """Mean and variance of A_ij (Eq. (15))."""
    return 0, d


EQ_15.part("laws")(laws_of_entry(1, 0.0, 1.0, "A_ij"))
EQ_15.mutant("variance 2d, that of the diagonal", lambda d: (0, 2 * d))
EQ_15.mutant("variance 1, as if A were divided by sqrt(d)", lambda d: (0, 1))

EQ_16 = Claim(TOKENS_ALONE, "skipless.eq-16", label="Eq. (16)", name="variance of diagonal noise logits",
    statement=r"""\text{Then given }\mathbf{Z}\sim\mathcal{N}(0,\tfrac1d\mathbf{I})\text{, we have the mean and variance
        of }\mathbf{B}=\mathbf{X}\mathbf{Z}\mathbf{X}^\top\text{ as follows, Diagonal entries }(i=j):\
        \mathbb{E}[\mathbf{B}_{ii}]=0,\ \mathrm{Var}(\mathbf{B}_{ii})\approx d+2""",
    assumptions=[Definition(NOISE, by=sampled_pair)],
    relation=LAW, proof=("skipless.logit-moments",),
    note="""The variance is $d + 2$ exactly, not approximately: the $d^2 - d$ mixed terms contribute $1/d$ each, the
        squares $3/d$.""")  # fmt: skip


@EQ_16.formula
def diagonal_noise_moments(d: Dimension) -> tuple[int, int]:
    """Mean and variance of B_ii (Eq. (16))."""
    return 0, d + 2


EQ_16.part("laws")(laws_of_entry(0, 1.0, 0.0, "B_ii"))
EQ_16.mutant("variance d, that of the other entries", lambda d: (0, d))
EQ_16.mutant("variance d (d + 2), for entries of Z of variance 1", lambda d: (0, d * (d + 2) + (d == 1)))
EQ_16.mutant("mean d, that of A_ii", lambda d: (d, d + 2))

PRODUCT_OF_NORMAL = (
    "B = X Z X^T with X of shape (n, d) and Z of shape (d, d) independent, all entries independent and normal"
)


def logit_terms(d: int) -> Iterator[Term]:
    """The d^2 summands x_ik z_kl x_jl of B_ij at i != j, each as the names of its factors."""
    return ((("x_i", k), ("z", k, l), ("x_j", l)) for k, l in itertools.product(range(d), repeat=2))


def logit_moments(d: int) -> tuple[int, int]:
    """E[B_ij] and E[B_ij^2] for standard normal entries of X and Z, by enumeration of all products of summands."""
    first = sum(gaussian_moment(term) for term in logit_terms(d))
    second = sum(gaussian_moment(a + b) for a, b in itertools.product(logit_terms(d), repeat=2))
    return first, second


def sampled_logits(generator: torch.Generator, samples: int, d: int) -> torch.Tensor:
    """Independent copies of B_ij, i != j, shape (samples,)."""
    import torch

    x, Z, y = (normal(generator, samples, *shape) for shape in ((d,), (d, d), (d,)))
    return torch.einsum("sk,skl,sl->s", x, Z / d**0.5, y)


LOGITS_OF_NOISE = Setting(SKIPLESS, "Section A.4.1",
    assumptions=[
        Definition(PRODUCT_OF_NORMAL, by=sampled_logits),
        Definition("entries of X of mean 0 and variance 1, entries of Z of mean 0 and variance 1/d (Eq. (11))", by=sampled_logits),
        Definition("i and j are different rows", by=sampled_logits),
    ],
    sizes={"d": (1, 16)})  # fmt: skip


def moments_of_samples(
    formula: Callable[[int], tuple[int, int]], generator: torch.Generator, samples: int, d: Dimension
) -> list[LawTest]:
    """Tests of both stated moments on freshly drawn X and Z."""
    mean, variance = formula(d)
    return Moments(mean, variance).tests(f"B_ij, d = {d}", sampled_logits(generator, samples, d).cpu())


EQ_17 = Claim(LOGITS_OF_NOISE, "skipless.eq-17", label="Eq. (17)", name="variance of off-diagonal noise logits",
    statement=r"""\text{Off-diagonal entries }(i\ne j):\ \mathbb{E}[\mathbf{B}_{ij}]=0,\
        \mathrm{Var}(\mathbf{B}_{ij})\approx1""",
    relation=FollowsLaw(), expects="refuted", severity="error", correction="skipless.eq-17-corrected",
    consequence=r"""The noise off the diagonal is $\sqrt d$ times what the paper counts with, 28 times at $d = 768$; use
        $\mathrm{Var}(B_{ij}) = d$ (skipless.eq-17-corrected).""",
    note=r"""The variance is exactly $d$. It is 1 at $d = 1$ only, and $\mathrm{Var} - 1 = d - 1$ grows without bound,
        so no reading of the sign in which the error vanishes or stays bounded saves the statement. The diagonal
        variance $d + 2$ of Eq. (16) is right under the same normalisation of $Z$, which therefore is not the cause.""",
)  # fmt: skip


@EQ_17.formula
def printed_logit_moments(d: Dimension) -> tuple[int, int]:
    """Mean and variance of B_ij (Eq. (17))."""
    return 0, 1


@EQ_17.oracle
def enumerated_logit_moments(d: Dimension) -> tuple[int, Fraction]:
    """Mean and variance of B_ij by enumeration, exactly; entries of Z have variance 1/d, and the mean is 0."""
    first, second = logit_moments(d)
    return first, Fraction(second - first**2, d)


EQ_17.part("laws")(moments_of_samples)
EQ_17.counterexample("d = 2, where the variance is 2", d=2)
EQ_17.counterexample("d = 4, where the variance is 4", d=4)
EQ_17.mutant("variance of the diagonal, Eq. (16)", lambda d: (0, d + 2))
EQ_17.mutant("mean d", lambda d: (d, 1))

EQ_17_CORRECTED = Claim(LOGITS_OF_NOISE, "skipless.eq-17-corrected", label="Eq. (17), corrected",
    statement=r"\mathbb{E}[\mathbf{B}_{ij}]=0,\ \mathrm{Var}(\mathbf{B}_{ij})=d\quad(i\ne j)",
    name="variance of off-diagonal noise logits, corrected", relation=FollowsLaw(), of_project=True,
    corrects="skipless.eq-17", proof=("skipless.eq-17-moments",))  # fmt: skip


@EQ_17_CORRECTED.formula
def logit_mean_and_variance(d: Dimension) -> tuple[int, int]:
    """Mean and variance of an off-diagonal entry of X Z X^T (Eq. (17), corrected)."""
    return 0, d


EQ_17_CORRECTED.part("laws")(moments_of_samples)
EQ_17_CORRECTED.mutant("variance 1, as printed", lambda d: (0, 1))
EQ_17_CORRECTED.mutant("variance of the diagonal, Eq. (16)", lambda d: (0, d + 2))
EQ_17_CORRECTED.mutant("variance d^2, that of entries of Z with variance 1", lambda d: (0, d * d))
EQ_17_CORRECTED.mutant("mean d, that of the diagonal of X X^T", lambda d: (d, d))


def _noise(X: Any, Z: Any, sigma_X: Any, sigma_Z: Any) -> Any:
    """B_ij for rows X = [x_i; x_j] times sigma_X and Z times sigma_Z, shape (1, 1)."""
    tokens = X * sigma_X
    return (tokens @ (Z * sigma_Z) @ tokens.T)[:1, 1:2]


def _squared_noise(X: Any, Z: Any, sigma_X: Any, sigma_Z: Any) -> Any:
    return _noise(X, Z, sigma_X, sigma_Z) * _noise(X, Z, sigma_X, sigma_Z)


EQ_17_MOMENTS = Claim(SKIPLESS, "skipless.eq-17-moments", label="Moments of off-diagonal logits",
    statement=r"\mathbb{E}[\mathbf{B}_{ij}]=0,\ \mathrm{Var}(\mathbf{B}_{ij})=d^2\sigma_X^4\sigma_Z^2\quad(i\ne j)",
    assumptions=[
        Definition(PRODUCT_OF_NORMAL, by=Normal),
        Definition("entries of X of mean 0 and standard deviation |sigma_X|, entries of Z of mean 0 and standard deviation"
            " |sigma_Z|; i and j are different rows", by=_noise),
    ],
    hypotheses=(normal_entries("X", stated=PRODUCT_OF_NORMAL), normal_entries("Z", stated=PRODUCT_OF_NORMAL)),
    name="variance of noise logits, any scales", relation=Equal(), all_sizes=True, sizes={"d": (1, 4)}, exact=True,
    of_project=True,
    note=r"At $\sigma_X^2 = 1$ and $\sigma_Z^2 = 1/d$, the setting of Eqs. (16)-(17), the variance is $d$.",
)  # fmt: skip


@EQ_17_MOMENTS.formula
def scaled_logit_moments(sigma_X: Deviation, sigma_Z: Deviation, d: Dimension) -> Any:
    """Mean and variance of B_ij, shape (2, 1)."""
    variance = d * d * sigma_X * sigma_X * sigma_X * sigma_X * sigma_Z * sigma_Z
    return concatenate([0 * variance, variance], axis=0)


@EQ_17_MOMENTS.oracle
def scaled_expectations(sigma_X: Deviation, sigma_Z: Deviation, d: Dimension) -> Any:
    """By expectations over standard normal entries: X is sigma_X times them, Z sigma_Z times them. Shape (2, 1)."""
    mean, square = (
        expectation(f, X=Normal(2, d), Z=Normal(d, d))(sigma_X=sigma_X, sigma_Z=sigma_Z)
        for f in (_noise, _squared_noise)
    )
    return concatenate([mean, square - mean * mean], axis=0)


EQ_17_MOMENTS.mutant("d instead of d^2", "d * d -> d")
EQ_17_MOMENTS.mutant("two entries of X instead of four", "d * d * sigma_X * sigma_X -> d * d")
EQ_17_MOMENTS.mutant("variance of the diagonal", "d * d -> d * (d + 2)")
