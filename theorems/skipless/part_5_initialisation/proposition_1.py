"""Proposition 1, diffuse rows and diagonal dominance, with explicit constants.

Diffuse rows make an ill-conditioned softmax near the uniform matrix, dominant ones one near the identity.  No epsilon that
depends on gamma / tau alone serves for all n, nor does kappa grow with n for every matrix.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from theorems.skipless import SKIPLESS
from theorems.skipless.part_a4_2_softmax_jacobian.softmax_jacobian import column_of, smallest_gap
from theorems.skipless.quantities import INVERSE, flatness
from verify.arithmetics import Constant
from verify.matrix import (
    column, concatenate, condition_number, each, exp, eye, frobenius_norm, hadamard, maximum, ones, rational, row_norms,
    softmax, spectral_norm, sqrt,
)  # fmt: skip
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, Reading, Real, Setting, Shape, Size, checked

Logits = Annotated[Any, Shape("n", "n")]
Temperature = Annotated[Any, Real(0.125, 4.0)]
Gap = Annotated[Any, Real(0.125, 8.0)]
Number = Annotated[int, Size("n")]


def tempered_softmax(M: Any, tau: Any) -> Any:
    """S_tau(M) = softmax(M / tau), row-wise, shape (n, n) (Proposition 1)."""
    return softmax(M / tau)


def row_range(M: Any) -> Any:
    """Delta: the largest difference between the maximum and the minimum of a row, a scalar."""
    ranges = each(M.shape[0], lambda i: maximum(M[i : i + 1]) + maximum(-M[i : i + 1]))
    return maximum(column_of(ranges))


@checked
def spread(M: Logits, tau: Temperature) -> Any:
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


TEMPERATURE = Assumption("tau > 0", positive=lambda tau: tau)
POSITIVE_GAP = Assumption("gamma > 0", positive=lambda gamma: gamma)
SEVERAL = Assumption("n >= 2", sizes=lambda sizes: sizes["n"] >= 2)
ROWS = Setting(SKIPLESS, "Proposition 1",
    assumptions=[
        Definition("S_tau(M) = softmax(M / tau), row by row", by=tempered_softmax), TEMPERATURE,
    ],
    sizes={"n": (2, 5)})  # fmt: skip
DIFFUSE_ROWS = ROWS.extended(assumptions=[Definition("Delta is the largest range of a row of M", by=row_range)],
    special_domains={"two-valued rows": two_valued, "small multiples of the identity": small_multiples})  # fmt: skip
SMALL_RANGE = Assumption("Delta <= tau", nonnegative=lambda M, tau: tau - row_range(M))

UNIFORM = Claim(DIFFUSE_ROWS, "skipless.prop-1-diffuse-uniform", label="Proposition 1, diffuse rows, first sentence",
    statement=r"""\text{If each row of }\mathbf{M}_\ell\text{ has a small range (difference between maximum and minimum)
        }\Delta\ll\tau\text{, then }S_\tau(\mathbf{M}_\ell)\text{ is close to the uniform matrix }\tfrac1n\mathbf{1}
        \mathbf{1}^\top\text{, which has rank 1}""",
    name="softmax of diffuse rows", relation=AtMost(), sizes={"n": (1, 5)}, expects="reading",
    reading=Reading((r"\Delta \ll \tau", "is close to the uniform matrix"), r"""$\|S_\tau(M) -
            \frac1n\mathbf{1}\mathbf{1}^\top\|_2 \le \|S_\tau(M) - \frac1n\mathbf{1}\mathbf{1}^\top\|_F \le
            \sinh(\Delta/(2\tau))$, at most $0.53\,\Delta/\tau$ for $\Delta \le \tau$; the constant depends on
            $\Delta/\tau$ only, not on $n$"""),
    note=r"""For a row $p$ with weights $w$ in $[a, a e^t]$ for some $a$, $t = \Delta/\tau$, $n\|p - 1/n\|^2 =
        \mathbb{E}[w^2]/\mathbb{E}[w]^2 - 1 \le (1 + e^t)^2/(4e^t) - 1 = \sinh(t/2)^2$ by Kantorovich's inequality; $n$
        rows sum to the bound. Attained as $t \to 0$ for even $n$, half of each row high and half low.""")  # fmt: skip

UNIFORM.formula(spread)


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

DIFFUSE = Claim(DIFFUSE_ROWS, "skipless.prop-1-diffuse-kappa", label="Proposition 1, diffuse rows, bound",
    statement=r"\text{In this case }\kappa(S_\tau(\mathbf{M}_\ell))\gtrsim\frac\tau\Delta",
    assumptions=[SMALL_RANGE, SEVERAL, INVERSE],
    name="condition number for diffuse rows", relation=AtMost(left="1 / kappa(S_tau)"), all_sizes=True, expects="reading",
    uses=("skipless.prop-1-diffuse-sharp",),
    reading=Reading((r"\Delta \ll \tau", r"\gtrsim"), r"""$\Delta \le \tau$, and at least $\frac{19}{10}\tau/\Delta$: a
            constant free of $n$ and $\tau$. For $n = 1$ $\Delta$ is 0 and the quotient is not defined"""),
    note=r"""$t/\sinh(t/2) \ge 1/\sinh(1/2) > 19/10$ for $t \le 1$. For $n = 2$ and $M = \Delta I$, $\kappa =
        \coth(t/2)$, so that no constant above 2 serves.""")  # fmt: skip


@DIFFUSE.formula
def diffuse_flatness(M: Logits, tau: Temperature) -> Any:
    """(10/19) Delta / tau, a scalar: an upper bound of 1 / kappa."""
    return row_range(M) / tau * rational(10, 19)


DIFFUSE.oracle(lambda M, tau: flatness(tempered_softmax(M, tau)))
DIFFUSE.mutant("constant 21/10", denominator=21)

DIFFUSE.mutant("square of Delta / tau", lambda M, tau: row_range(M) * row_range(M) / (tau * tau))

SHARP = Claim(DIFFUSE_ROWS, "skipless.prop-1-diffuse-sharp",
    label="Condition number of the softmax of rows of range Delta", name="condition number by the range of rows",
    statement=r"\kappa(S_\tau(\mathbf{M}))\ge\frac{\sqrt{n-1}}{\sinh(\Delta/(2\tau))},\quad n\ge2",
    assumptions=[SEVERAL, INVERSE],
    relation=AtMost(left="1 / kappa(S_tau)"), all_sizes=True, of_project=True, corrects="skipless.prop-1-diffuse-n-pointwise",
    uses=("skipless.prop-1-diffuse-uniform",),
    note=r"""$s_1 \ge 1$ since $S\mathbf{1} = \mathbf{1}$; and $(n - 1)s_n^2 \le s_2^2 + \dots + s_n^2 \le \|S -
        \frac1n\mathbf{1}\mathbf{1}^\top\|_F^2$, the squared distance from a matrix of rank one being at least the sum
        of the other squares. For all $\Delta$ and $\tau$. Attained for $n = 2$ as $\Delta \to 0$.""")  # fmt: skip


@SHARP.formula
def sharp_flatness(M: Logits, tau: Temperature) -> Any:
    """sinh(Delta / (2 tau)) / sqrt(n - 1), a scalar: an upper bound of 1 / kappa."""
    return spread(M, tau) / sqrt(M.shape[0] - 1)


SHARP.oracle(lambda M, tau: flatness(tempered_softmax(M, tau)))
SHARP.mutant("n - 1 without the root", lambda M, tau: spread(M, tau) / (M.shape[0] - 1))
SHARP.mutant("nine tenths of it", lambda value: value * rational(9, 10))

GROWTH = Claim(DIFFUSE_ROWS, "skipless.prop-1-diffuse-n", label="Proposition 1, diffuse rows, dependence on n",
    statement=r"\text{In this case } \dots \text{ the conditioning worsens as }n\text{ grows}",
    assumptions=[SMALL_RANGE, SEVERAL, INVERSE],
    name="condition number as tokens grow", relation=AtMost(left="1 / kappa(S_tau)"), all_sizes=True, expects="reading",
    uses=("skipless.prop-1-diffuse-sharp", "skipless.prop-1-scaled-identity"),
    reading=Reading("the conditioning worsens as n grows", r"""the least possible $\kappa$ at fixed $\Delta/\tau$ grows:
            $\kappa(S_\tau(M)) \ge \frac{19}{10}\sqrt{n - 1}\,\tau/\Delta$ for $\Delta \le \tau$. Of one matrix that
            grows by a token it is false (skipless.prop-1-diffuse-n-pointwise)"""),
    note=r"For $M = \Delta I$ the growth is linear, $\kappa = 1 + n/(e^{\Delta/\tau} - 1)$.")  # fmt: skip


@GROWTH.formula
def flatness_by_tokens(M: Logits, tau: Temperature) -> Any:
    """(10/19) Delta / (sqrt(n - 1) tau), a scalar: an upper bound of 1 / kappa."""
    return row_range(M) / (tau * sqrt(M.shape[0] - 1)) * rational(10, 19)


GROWTH.oracle(lambda M, tau: flatness(tempered_softmax(M, tau)))
GROWTH.mutant("n - 1 without the root", lambda M, tau: row_range(M) / (tau * (M.shape[0] - 1)) * rational(10, 19))
GROWTH.mutant("constant 21/10", denominator=21)

POINTWISE = Claim(ROWS, "skipless.prop-1-diffuse-n-pointwise",
    label="Proposition 1, diffuse rows, for one matrix that grows", name="condition number when one matrix grows",
    statement=r"""\kappa(S_\tau(\mathbf{M}_{1:n-1,1:n-1}))\le\kappa(S_\tau(\mathbf{M}))\text{ for every }\mathbf{M}\in\mathbb
        R^{n\times n},\ n\ge2\text{ and }\tau>0""",
    assumptions=[SEVERAL, INVERSE],
    relation=AtMost(left="1 / kappa(S_tau)"), sizes={"n": (2, 4)}, expects="refuted", severity="error", of_project=True,
    correction="skipless.prop-1-diffuse-sharp")  # fmt: skip


@POINTWISE.formula
def flatness_of_leading_logits(M: Logits, tau: Temperature) -> Any:
    """1 / kappa(S_tau) of the first n - 1 rows and columns of M, a scalar."""
    return flatness(tempered_softmax(M[:-1, :-1], tau))


POINTWISE.oracle(lambda M, tau: flatness(tempered_softmax(M, tau)))
POINTWISE.counterexample("two equal tokens get a third: from infinite to finite", M=[[0, 0, 1], [0, 0, -1], [1, -1, 0]],
    tau=8)  # fmt: skip
POINTWISE.mutant("one third added", lambda value: value + rational(1, 3))
POINTWISE.mutant("last instead of first rows and columns", lambda M, tau: flatness(tempered_softmax(M[1:, 1:], tau)))

IDENTITY_LOGITS = Claim(SKIPLESS, "skipless.prop-1-scaled-identity", label="The softmax of a multiple of the identity",
    statement=r"""
        \kappa(S_\tau(\gamma\mathbf{I}_n))=\frac{1+(n-1)e^{-\gamma/\tau}}{1-e^{-\gamma/\tau}},\quad\|S_\tau(\gamma
        \mathbf{I}_n)-\mathbf{I}\|_2=\frac{n\,e^{-\gamma/\tau}}{1+(n-1)e^{-\gamma/\tau}},\quad n\ge2,\ \gamma>0,\ \tau>0""",
    assumptions=[SEVERAL, POSITIVE_GAP, TEMPERATURE],
    name="softmax of a multiple of the identity", relation=Equal(), sizes={"n": (2, 6)}, of_project=True,
    note=r"""$S$ is symmetric with eigenvalues 1 and, $n - 1$ times, $(1 - x)/(1 + (n - 1)x)$ for $x =
        e^{-\gamma/\tau}$. At fixed $\gamma/\tau$ $\kappa$ grows linearly in $n$, and $\|S - I\|$ tends to 1.""",
)  # fmt: skip


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

Share = Annotated[Any, Real(0.125, 0.875)]
Slack = Annotated[Any, Shape("n", "1")]


def largest_others(B: Any) -> Any:
    """max_{j != i} B_ij for each i, shape (n, 1)."""
    n = B.shape[0]
    rows = [concatenate([B[i : i + 1, :i], B[i : i + 1, i + 1 :]], axis=1) for i in range(n)]
    return column(*[maximum(row) for row in rows])


def dominant_logits(B: Logits, slack: Slack, gamma: Gap, tau: Temperature) -> dict[str, Any]:
    """M with the off-diagonal entries of B, and diagonal entries gamma + slack^2 above the largest other of their row."""
    n = B.shape[0]
    off = Constant([[int(i != j) for j in range(n)] for i in range(n)])
    return {"M": hadamard(off, B) + eye(n) * (largest_others(B) + gamma + slack * slack), "gamma": gamma, "tau": tau}


@checked
def off_diagonal_mass(M: Logits, gamma: Gap, tau: Temperature) -> Any:
    """2 (n - 1) exp(-gamma / tau), a scalar."""
    return exp(-(gamma / tau)) * (2 * (M.shape[0] - 1))


def multiple_of_identity(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """M = gamma I, temperatures small enough for epsilon < 1."""
    arrays["B"][:], arrays["slack"][:] = 0.0, 0.0
    arrays["tau"][:] = rng.choice([0.125, 0.25, 0.5, 1.0], len(arrays["tau"]))


def one_attractive_token(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """All rows but the first give their off-diagonal mass to the first token."""
    arrays["B"][:] = -16.0
    arrays["B"][:, :, 0] = 0.0
    arrays["slack"][:] = 0.0
    arrays["slack"][:, 0] = 4.0


DOMINANT_ROWS = Setting(SKIPLESS, "Proposition 1",
    assumptions=[
        Assumption(r"M_ii - max_{j != i} M_ij >= gamma for all i",
            nonnegative=lambda M, gamma: smallest_gap(M) - gamma),
        POSITIVE_GAP, TEMPERATURE, SEVERAL,
    ],
    sizes={"n": (2, 5)}, inputs=dominant_logits,
    special_domains={"multiple of the identity": multiple_of_identity, "one attractive token": one_attractive_token},
)  # fmt: skip

TO_IDENTITY = Claim(DOMINANT_ROWS, "skipless.prop-1-dominance-identity",
    label="Proposition 1, diagonal dominance, first part", name="softmax of dominant diagonals",
    statement=r"""\text{If }\mathbf{M}_\ell\text{ is diagonal dominant, i.e. }\mathbf{M}_{ii}-\max_{j\ne
        i}\mathbf{M}_{ij}\ge \gamma>0\text{, then }S_\tau(\mathbf{M}_\ell)\text{ is close to an identity matrix}""",
    relation=AtMost(left="||S_tau - I||_2"), all_sizes=True, expects="reading",
    uses=("skipless.prop-1-scaled-identity", "skipless.eq-23-gap"),
    reading=Reading("is close to an identity matrix", r"""not for every $\gamma > 0$, for with a small $\gamma/\tau$ $S$
        is near the uniform matrix, nor by $\gamma/\tau$ alone, for at a given one $\|S - I\|$ tends to 1 as $n$ grows:
        close as $\gamma/\tau$ grows, at a given $n$, $\|S_\tau(M) - I\|_2 \le 2(n - 1)e^{-\gamma/\tau}$"""),
    note=r"""$S - I = N - D$ with off-diagonal entries $N_{ij} \le e^{-\gamma/\tau}$ and $D =
        \operatorname{diag}(N\mathbf{1})$, both of norm at most $(n - 1)e^{-\gamma/\tau}$. Attained for $n = 2$ as
        $\gamma \to \infty$. At $M = \gamma I$ the distance is $n x/(1 + (n - 1)x)$, $x = e^{-\gamma/\tau}$: 1/2 already
        for $n = e^{\gamma/\tau} - 1$, and near 1 for small $\gamma/\tau$, where $S$ is near uniform.""",
)  # fmt: skip

TO_IDENTITY.formula(off_diagonal_mass)
TO_IDENTITY.oracle(lambda M, tau: spectral_norm(tempered_softmax(M, tau) - eye(M.shape[0])))
TO_IDENTITY.mutant("without n - 1", lambda gamma, tau: 2 * exp(-(gamma / tau)))
TO_IDENTITY.mutant("without the factor two", lambda value: value / 2)
TO_IDENTITY.mutant("twice the gap", lambda M, gamma, tau: off_diagonal_mass(M, 2 * gamma, tau))

DOMINANT = Claim(DOMINANT_ROWS, "skipless.prop-1-dominance-kappa", label="Proposition 1, diagonal dominance, bound",
    statement=r"""\kappa(S_\tau(\mathbf{M}_\ell))\le\frac{1+\varepsilon(\gamma/\tau)}{1-\varepsilon(\gamma/\tau)},\text{
        with }\varepsilon(\gamma/\tau)\to0\text{ as }\gamma/\tau\to\infty\text{. Hence }S_\tau(\mathbf{M}_\ell)\text{ is
        well-conditioned when diagonal logits are dominant}""",
    assumptions=[Assumption("epsilon < 1", positive=lambda M, gamma, tau: 1 - off_diagonal_mass(M, gamma, tau))],
    name="condition number for dominant diagonals", relation=AtMost(left="kappa(S_tau)"), all_sizes=True, expects="reading",
    uses=("skipless.prop-1-dominance-identity", "skipless.a4.3-kappa-gap"),
    reading=Reading("is well-conditioned when diagonal logits are dominant", r"""where $\gamma/\tau > \ln 2(n - 1)$:
            there $\varepsilon = 2(n - 1)e^{-\gamma/\tau}$ is below 1 and serves in the bound, at a given $n$. For a
            smaller $\gamma/\tau$ $S$ may be singular (skipless.sec5.2-second-term-largest), and no $\varepsilon$ that depends
            on $\gamma/\tau$ alone serves for all $n$ (skipless.prop-1-dominance-kappa-free-of-n)"""),
    note=r"""$1 - \varepsilon \le \|Sx\| \le 1 + \varepsilon$ for unit $x$. For $n = 2$ and $M = \gamma I$ the least
        $\varepsilon$ is $e^{-\gamma/\tau}$, half of this one.""")  # fmt: skip


def _quotient(epsilon: Any) -> Any:
    return (1 + epsilon) / (1 - epsilon)


@DOMINANT.formula
def condition_bound_by_dominance(M: Logits, gamma: Gap, tau: Temperature) -> Any:
    """(1 + epsilon) / (1 - epsilon) with epsilon = 2 (n - 1) exp(-gamma / tau), a scalar."""
    return _quotient(off_diagonal_mass(M, gamma, tau))


DOMINANT.oracle(lambda M, tau: condition_number(tempered_softmax(M, tau)))
DOMINANT.mutant("epsilon for twice the gap", lambda M, gamma, tau: _quotient(off_diagonal_mass(M, 2 * gamma, tau)))
DOMINANT.mutant("epsilon of opposite sign", lambda M, gamma, tau: _quotient(-off_diagonal_mass(M, gamma, tau)))
DOMINANT.mutant("epsilon without n - 1, a quarter of it", lambda gamma, tau: _quotient(exp(-(gamma / tau)) / 4))

FREE_OF_N = Claim(SKIPLESS, "skipless.prop-1-dominance-kappa-free-of-n",
    label="Proposition 1, diagonal dominance, with one epsilon for all n", name="dominance bound free of tokens",
    statement=r"""
        \text{For some }\varepsilon<1,\ \kappa(S_\tau(\gamma\mathbf{I}_n))\le\frac{1+\varepsilon}{1-\varepsilon}\text{
        for all }n\text{ at one }\gamma/\tau""",
    assumptions=[
        Assumption("0 < epsilon < 1", positive=lambda epsilon: column(epsilon, 1 - epsilon)), POSITIVE_GAP, TEMPERATURE, SEVERAL,
    ],
    relation=AtMost(), sizes={"n": (2, 6)}, expects="refuted", severity="error", of_project=True,
    correction="skipless.prop-1-dominance-kappa-of-n", uses=("skipless.prop-1-scaled-identity",),
    note=r"""$\kappa(S_\tau(\gamma I_n)) = 1 + n/(e^{\gamma/\tau} - 1)$, so that any $\varepsilon < 1$ fails from $n =
        2\varepsilon(e^{\gamma/\tau} - 1)/(1 - \varepsilon)$ on, at every $\gamma/\tau$: the smallest $\varepsilon$ for
        all $n$ is 1. Shown for three $\varepsilon$ at $\gamma = \tau$ and $2\tau$. $\kappa$ is bounded below by
        $\|S\mathbf{1}\|\|v\|/(\|\mathbf{1}\|\|Sv\|)$ with $v = e_1 - e_2$.""")  # fmt: skip


@FREE_OF_N.formula
def bound_for_all_numbers(epsilon: Share) -> Any:
    """(1 + epsilon) / (1 - epsilon), a scalar."""
    return _quotient(epsilon)


FREE_OF_N.inputs(epsilon=Share, gamma=Gap, tau=Temperature, n=Number)


@FREE_OF_N.oracle
def condition_of_scaled_identity(gamma: Gap, tau: Temperature, n: Number) -> Any:
    S = tempered_softmax(eye(n) * gamma, tau)
    along, across = ones(1, n), eye(n)[:1] - eye(n)[1:2]
    lengths = [row_norms(x @ S.T)[0, 0] for x in (along, across)]
    return lengths[0] / lengths[1] * sqrt(2) / sqrt(n)


FREE_OF_N.counterexample("gamma = tau, epsilon = 1/2, n = 4", epsilon="1/2", gamma="1", tau="1", n=4)
FREE_OF_N.counterexample("gamma = tau, epsilon = 9/10, n = 32", epsilon="9/10", gamma="1", tau="1", n=32)
FREE_OF_N.counterexample("gamma = 2 tau, epsilon = 9/10, n = 120", epsilon="9/10", gamma="2", tau="1", n=120)
FREE_OF_N.mutant("inverse quotient", lambda epsilon: _quotient(-epsilon))
FREE_OF_N.mutant("1 + epsilon", lambda epsilon: 1 + epsilon)

OF_N = Claim(SKIPLESS, "skipless.prop-1-dominance-kappa-of-n",
    label="Growth with n of the condition number at a given dominance", name="dominance bound growing with tokens",
    statement=r"""n\ge2,\ \gamma>0,\ \tau>0:\ \min\Big\{\varepsilon\mid\kappa(S_\tau(\gamma\mathbf{I}_n))\le
        \frac{1+\varepsilon}{1-\varepsilon}\Big\}=\frac{n\,e^{-\gamma/\tau}}{2+(n-2)e^{-\gamma/\tau}},\ \text{so that no }
        \varepsilon\text{ free of }n\text{ serves all dominant}\ \mathbf{M}\in\mathbb{R}^{n\times n}""",
    assumptions=[
        POSITIVE_GAP, TEMPERATURE, SEVERAL,
        Definition("the smallest such epsilon for M = gamma I is (kappa - 1) / (kappa + 1)", by=condition_number),
    ],
    relation=Equal(), sizes={"n": (2, 6)}, of_project=True, corrects="skipless.prop-1-dominance-kappa-free-of-n",
    uses=("skipless.prop-1-scaled-identity",),
    note=r"""The smallest $\varepsilon$ for $M = \gamma I$ is $(\kappa - 1)/(\kappa + 1)$, computed here. It tends to 1
        with $n$.""")  # fmt: skip


@OF_N.formula
def least_epsilon(gamma: Gap, tau: Temperature, n: Number) -> Any:
    """n x / (2 + (n - 2) x) for x = exp(-gamma / tau), a scalar."""
    x = exp(-(gamma / tau))
    return n * x / (2 + (n - 2) * x)


@OF_N.oracle
def least_epsilon_at_identity(gamma: Gap, tau: Temperature, n: Number) -> Any:
    kappa = condition_number(tempered_softmax(eye(n) * gamma, tau))
    return (kappa - 1) / (kappa + 1)


OF_N.mutant("n dropped from the denominator", "2 + (n - 2) * x -> 2 - x")
OF_N.mutant("free of n", lambda gamma, tau: exp(-(gamma / tau)))
