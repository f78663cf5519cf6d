"""Proposition 1, diffuse rows, with explicit constants: near the uniform matrix, and ill-conditioned.

With n the least possible kappa grows, but not the kappa of every matrix that grows by a token.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from theorems.skipless import SKIPLESS
from theorems.skipless.quantities import INVERSE, flatness
from verify.claims import Assumption, Claim, Setting
from verify.matrix import (
    column,
    condition_number,
    exp,
    eye,
    frobenius_norm,
    maximum,
    ones,
    rational,
    softmax,
    spectral_norm,
    sqrt,
)
from verify.relations import AtMost, Equal
from verify.shapes import Real, Shape, Size

Logits = Annotated[Any, Shape("n", "n")]
Temperature = Annotated[Any, Real(0.125, 4.0)]
Gap = Annotated[Any, Real(0.125, 8.0)]
Number = Annotated[int, Size("n")]


def tempered_softmax(M: Any, tau: Any) -> Any:
    """S_tau(M) = softmax(M / tau), row-wise, shape (n, n) (Proposition 1)."""
    return softmax(M / tau)


def row_range(M: Any) -> Any:
    """Delta: the largest difference between the maximum and the minimum of a row, a scalar."""
    rows = [M[i : i + 1] for i in range(M.shape[0])]
    return maximum(column(*[maximum(row) + maximum(-row) for row in rows]))


def spread(M: Any, tau: Any) -> Any:
    """sinh(Delta / (2 tau)), a scalar."""
    t = row_range(M) / (2 * tau)
    return (exp(t) - exp(-t)) / 2


def two_valued(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Entries 0 or 2^-k, one k for each seed."""
    M = arrays["M"]
    M[:] = rng.integers(0, 2, M.shape) * 2.0 ** -rng.integers(0, 8, (len(M), 1, 1))


def small_multiples(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """2^-k I."""
    M = arrays["M"]
    M[:] = np.eye(sizes["n"]) * 2.0 ** -rng.integers(1, 8, (len(M), 1, 1))


ROWS = Setting(
    SKIPLESS,
    "Proposition 1",
    assumptions=["Delta is the largest range of a row of M; S_tau(M) = softmax(M / tau)"],
    sizes={"n": (2, 5)},
)
DIFFUSE_ROWS = ROWS.extended(
    special_domains={"two-valued rows": two_valued, "small multiples of the identity": small_multiples}
)
SMALL_RANGE = Assumption("Delta <= tau", nonnegative=lambda M, tau: tau - row_range(M))

UNIFORM = Claim(
    DIFFUSE_ROWS,
    "skipless.prop-1-diffuse-uniform",
    label="Proposition 1, diffuse rows, first sentence",
    statement=r"\text{If each row of }\mathbf{M}\text{ has a small range }\Delta\ll\tau\text{, then }S_\tau(\mathbf{M})\in"
    r"\mathbb{R}^{n\times n}\text{ is close to the uniform matrix }\tfrac1n\mathbf{1}\mathbf{1}^\top\text{, which has rank 1}",
    assumptions=["tau > 0"],
    relation=AtMost(),
    sizes={"n": (1, 5)},
    reading=r"|S_tau(M) - 11^T/n|_2 <= |S_tau(M) - 11^T/n|_F <= sinh(Delta / (2 tau)), at most 0.53 Delta / tau for Delta <= tau;"
    " the constant depends on Delta / tau only, not on n",
    expects="reading",
    note="For a row p with weights w_j in [a, a e^t], t = Delta / tau, n |p - 1/n|^2 = E[w^2] / E[w]^2 - 1 <= (1 + e^t)^2 /"
    " (4 e^t) - 1 = sinh(t/2)^2 by Kantorovich's inequality; n rows sum to the bound.  Attained as t -> 0 for even n, half"
    " of each row high and half low.",
)


@UNIFORM.formula
def distance_bound_from_uniform(M: Logits, tau: Temperature) -> Any:
    """sinh(Delta / (2 tau)), a scalar."""
    return spread(M, tau)


@UNIFORM.oracle
def distance_from_uniform(M: Logits, tau: Temperature) -> Any:
    n = M.shape[0]
    return frobenius_norm(tempered_softmax(M, tau) - ones(n, n) * rational(1, n))


@UNIFORM.at_scale("tokens of a ViT", n=197)
def diffuse_at_scale(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Rows of range about tau / 4, tau = 1."""
    arrays["M"][:] = np.round(arrays["M"] * 16) / 256
    arrays["tau"][:] = 1.0


UNIFORM.mutant("nine tenths of it", lambda value: value * rational(9, 10))
UNIFORM.mutant("sinh(Delta / (4 tau))", lambda M, tau: spread(M, 2 * tau))
UNIFORM.mutant("divided by the root of n", lambda value, M: value / sqrt(M.shape[0]))
UNIFORM.mutant("Delta / (2 tau) without sinh and half of it", lambda M, tau: row_range(M) / (4 * tau))

DIFFUSE = Claim(
    DIFFUSE_ROWS,
    "skipless.prop-1-diffuse-kappa",
    label="Proposition 1, diffuse rows, bound",
    statement=r"\text{In this case }\kappa(S_\tau(\mathbf{M}))\gtrsim\tau/\Delta",
    assumptions=[SMALL_RANGE, INVERSE],
    relation=AtMost(),
    reading="kappa(S_tau(M)) >= (19/10) tau / Delta for Delta <= tau and n >= 2, a constant free of n and tau; for n = 1,"
    " where S = 1 and Delta = 0, there is no such bound",
    expects="reading",
    uses=("skipless.prop-1-diffuse-sharp",),
    note="t / sinh(t/2) >= 1 / sinh(1/2) > 19/10 for t <= 1.  For n = 2 and M = Delta I, kappa = coth(t/2), so that no constant"
    " above 2 serves.",
)


@DIFFUSE.formula
def diffuse_flatness(M: Logits, tau: Temperature) -> Any:
    """(10/19) Delta / tau, a scalar: an upper bound of 1 / kappa."""
    return row_range(M) / tau * rational(10, 19)


DIFFUSE.oracle(lambda M, tau: flatness(tempered_softmax(M, tau)))
DIFFUSE.mutant("constant 21/10", denominator=21)

DIFFUSE.mutant("square of Delta / tau", lambda M, tau: row_range(M) * row_range(M) / (tau * tau))

SHARP = Claim(
    DIFFUSE_ROWS,
    "skipless.prop-1-diffuse-sharp",
    label="Condition number of the softmax of rows of range Delta",
    statement=r"\kappa(S_\tau(\mathbf{M}))\ge\frac{\sqrt{n-1}}{\sinh(\Delta/(2\tau))},\quad n\ge2",
    assumptions=[INVERSE],
    relation=AtMost(),
    of_project=True,
    corrects="skipless.prop-1-diffuse-n-pointwise",
    uses=("skipless.prop-1-diffuse-uniform",),
    note="s_1 >= 1 since S 1 = 1; and (n - 1) s_n^2 <= s_2^2 + ... + s_n^2 <= |S - 11^T/n|_F^2, the squared distance from a matrix"
    " of rank one being at least the sum of the other squares.  For all Delta and tau.  Attained for n = 2 as Delta -> 0.",
)


@SHARP.formula
def sharp_flatness(M: Logits, tau: Temperature) -> Any:
    """sinh(Delta / (2 tau)) / sqrt(n - 1), a scalar: an upper bound of 1 / kappa."""
    return spread(M, tau) / sqrt(M.shape[0] - 1)


SHARP.oracle(lambda M, tau: flatness(tempered_softmax(M, tau)))
SHARP.mutant("n - 1 without the root", lambda M, tau: spread(M, tau) / (M.shape[0] - 1))
SHARP.mutant("nine tenths of it", lambda value: value * rational(9, 10))

GROWTH = Claim(
    DIFFUSE_ROWS,
    "skipless.prop-1-diffuse-n",
    label="Proposition 1, diffuse rows, dependence on n",
    statement=r"\text{the conditioning of }S_\tau(\mathbf{M})\text{ worsens as }n\text{ grows (diffuse rows)}",
    assumptions=[SMALL_RANGE, "Delta and tau fixed", INVERSE],
    relation=AtMost(),
    reading="the least possible kappa at fixed Delta / tau grows: kappa(S_tau(M)) >= (19/10) sqrt(n - 1) tau / Delta for Delta <="
    " tau.  As a statement about one matrix that grows by a token it is false (skipless.prop-1-diffuse-n-pointwise)",
    expects="reading",
    uses=("skipless.prop-1-diffuse-sharp", "skipless.prop-1-scaled-identity"),
    note="For M = Delta I the growth is linear, kappa = 1 + n / (e^t - 1).",
)


@GROWTH.formula
def flatness_by_tokens(M: Logits, tau: Temperature) -> Any:
    """(10/19) Delta / (sqrt(n - 1) tau), a scalar: an upper bound of 1 / kappa."""
    return row_range(M) / (tau * sqrt(M.shape[0] - 1)) * rational(10, 19)


GROWTH.oracle(lambda M, tau: flatness(tempered_softmax(M, tau)))
GROWTH.mutant("n - 1 without the root", lambda M, tau: row_range(M) / (tau * (M.shape[0] - 1)) * rational(10, 19))
GROWTH.mutant("constant 21/10", denominator=21)

POINTWISE = Claim(
    ROWS,
    "skipless.prop-1-diffuse-n-pointwise",
    label="Proposition 1, diffuse rows, for one matrix that grows",
    statement=r"\kappa(S_\tau(\mathbf{M}_{1:n-1,1:n-1}))\le\kappa(S_\tau(\mathbf{M}))",
    assumptions=[INVERSE],
    relation=AtMost(),
    sizes={"n": (2, 4)},
    expects="refuted",
    severity="error",
    of_project=True,
    correction="skipless.prop-1-diffuse-sharp",
)


@POINTWISE.formula
def flatness_of_leading_logits(M: Logits, tau: Temperature) -> Any:
    """1 / kappa(S_tau) of the first n - 1 rows and columns of M, a scalar."""
    return flatness(tempered_softmax(M[:-1, :-1], tau))


POINTWISE.oracle(lambda M, tau: flatness(tempered_softmax(M, tau)))
POINTWISE.counterexample(
    "two equal tokens get a third: from infinite to finite", M=[[0, 0, 1], [0, 0, -1], [1, -1, 0]], tau=8
)
POINTWISE.mutant("one third added", lambda value: value + rational(1, 3))
POINTWISE.mutant("last instead of first rows and columns", lambda M, tau: flatness(tempered_softmax(M[1:, 1:], tau)))

IDENTITY_LOGITS = Claim(
    SKIPLESS,
    "skipless.prop-1-scaled-identity",
    label="The softmax of a multiple of the identity",
    statement=r"\kappa(S_\tau(\gamma\mathbf{I}_n))=\frac{1+(n-1)e^{-\gamma/\tau}}{1-e^{-\gamma/\tau}},\quad\|S_\tau(\gamma"
    r"\mathbf{I}_n)-\mathbf{I}\|_2=\frac{n\,e^{-\gamma/\tau}}{1+(n-1)e^{-\gamma/\tau}}",
    assumptions=["gamma > 0"],
    relation=Equal(),
    sizes={"n": (2, 6)},
    of_project=True,
    note="S is symmetric with eigenvalues 1 and, n - 1 times, (1 - x) / (1 + (n - 1) x) for x = e^(-gamma/tau).  At fixed"
    " gamma/tau kappa grows linearly in n, and |S - I| tends to 1.",
)


@IDENTITY_LOGITS.formula
def conditioning_of_scaled_identity(gamma: Gap, tau: Temperature, n: Number) -> Any:
    """kappa(S_tau(gamma I_n)) and |S_tau(gamma I_n) - I|_2, shape (2, 1)."""
    x = exp(-(gamma / tau))
    below = 1 + (n - 1) * x
    return column(below / (1 - x), n * x / below)


@IDENTITY_LOGITS.oracle
def spectra_of_scaled_identity(gamma: Gap, tau: Temperature, n: Number) -> Any:
    S = tempered_softmax(eye(n) * gamma, tau)
    return column(condition_number(S), spectral_norm(S - eye(n)))


IDENTITY_LOGITS.mutant("n instead of n - 1", "n - 1 -> n")
IDENTITY_LOGITS.mutant("twice the temperature", "tau -> 2 * tau")
