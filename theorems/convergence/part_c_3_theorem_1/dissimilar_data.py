"""Lemma 15 under Assumption 3 (dissimilar data): its probability, the choice of t, Eq. (41), and what holds instead.

Refuted by samples uniform on three orthonormal vectors: of four, two are equal, and lambda_0 = 0 with certainty.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement
from math import factorial, prod
from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import KeyWeights, QueryWeights, Samples
from theorems.convergence.part_c_1_lemmas.constants import stacked
from theorems.convergence.part_c_3_theorem_1.minimum_eigenvalue import (
    attention_of_first_tokens, first_features, lambda_0, similarity, smallest_eigenvalue,
)  # fmt: skip
from theorems.convergence.settings import Hidden, SampleCount, Scale, Support, Variance
from verify.matrix import concatenate, exp, eye, frobenius_norm, maximum, rational, stack_rows, step, zeros
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Doubt, Setting, Shape, Size, realises

Lengths = Annotated[Any, Shape("m", "1")]
Noise = Annotated[Any, Shape("N", "d_s", "d")]
Exponent = Annotated[int, Size("c_hat")]

LAW = "the samples are independent and uniform on finitely many matrices, the rows of `support`"


# -- data laws with finite support -------------------------------------------------------------------------------------


def _excess_of_assumption_3(support: Any, c_hat: int) -> Any:
    """exp(-v^c) - P(<X^T X, X'^T X'> >= v) at every value v of the inner product; shape (m^2,).

    Between two values P is constant and exp(-t^c) falls, so the values themselves decide.
    """
    m = support.shape[0]
    values = [similarity(support[a], support[b]) for a in range(m) for b in range(m)]
    # 1 - step(v - u) is the indicator of u >= v
    shares = [sum((1 - step(v - u) for u in values), v * 0) * rational(1, m * m) for v in values]
    return stacked([exp(-(v**c_hat)) - share for v, share in zip(values, shares, strict=True)])


def row_grams(X: Any) -> Any:
    """lambda_min(X_k X_k^T) for every sample, stacked."""
    return stacked([smallest_eigenvalue(X[k] @ X[k].T) for k in range(X.shape[0])])


ASSUMPTION_3 = Assumption("Assumption 3 with the exponent c_hat", nonnegative=_excess_of_assumption_3)
RANK = "Assumption 2, with lambda_min(X_k X_k^T) >= C_lambda > 0 for every sample"
ASSUMPTION_2 = Assumption(
    RANK, positive=lambda C_lambda: C_lambda, nonnegative=lambda support, C_lambda: row_grams(support) - C_lambda
)


def _unit_rows(d_s: int, d: int, first: int) -> Any:
    """The unit vectors from `first` on, shape (d_s, d)."""
    return concatenate([zeros(d_s, first), eye(d_s), zeros(d_s, d - first - d_s)], axis=1)


@realises(
    but=(
        "the matrices of the support are orthogonal to one another, each has orthogonal rows of one length, and C_lambda is"
        " 15/16 of the largest that Assumption 2 admits; laws drawn by chance hardly ever meet Assumption 3"
    )
)
def orthogonal_support(lengths: Lengths, X: Support, W_Q: QueryWeights, W_K: KeyWeights, tau_0: Scale, eta_V: Variance,
                       c: Hidden, c_2: Hidden, c_hat: Exponent, N: SampleCount) -> dict[str, Any]:  # fmt: skip
    """Matrices with orthonormal rows in different coordinates, times `lengths`; X only gives the sizes."""
    m, d_s, d = X.shape
    matrices = [(X[a] * 0 + _unit_rows(d_s, d, a * d_s)) * lengths[a, 0] for a in range(m)]
    # below lambda_min(X_k X_k^T), so that no comparison is a tie
    C_lambda = -maximum(-lengths * lengths) * rational(15, 16)
    return {
        "support": stack_rows(matrices).reshape(m, d_s, d), "W_Q": W_Q, "W_K": W_K, "tau_0": tau_0, "eta_V": eta_V,
        "C_lambda": C_lambda, "c": c, "c_2": c_2, "c_hat": c_hat, "N": N,
    }  # fmt: skip


def short_orthogonal(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """Lengths of at most 3/4, for which 1/3 <= exp(-v^c) at every value v = d_s length^4 of the inner product."""
    arrays["lengths"][:] = rng.integers(2, 13, arrays["lengths"].shape) / 16


#: Assumption 3 is hard to meet by chance: claims draw from its one domain alone.
FINITE = Setting(
    CONVERGENCE, "Lemma 15 for data laws with finite support", assumptions=[
        ASSUMPTION_2, ASSUMPTION_3, Assumption("N >= 2", sizes=lambda sizes: sizes["N"] >= 2),
        Assumption("decided for three samples whose rows fill the space: m = 3, d = 3 d_s",
            sizes=lambda sizes: sizes["m"] == 3 and sizes["d"] == 3 * sizes["d_s"]),
    ],
    sizes={"m": (3, 3), "d_s": (1, 3), "d": (3, 9), "d_m": (1, 2), "c_hat": (1, 2), "N": (2, 4)},
    inputs=orthogonal_support, special_domains={"short orthogonal samples": short_orthogonal},
)  # fmt: skip
MANY_SAMPLES = FINITE.extended(sizes={"N": (2, 12)})


def enumerated_failure_probability(support: Support, W_Q: QueryWeights, W_K: KeyWeights, tau_0: Scale, eta_V: Variance,
                                   c: Hidden, N: SampleCount) -> Any:  # fmt: skip
    """P(lambda_0 < c eta_V / d_s), by enumeration of all samples up to their order."""
    m, d_s = support.shape[:2]
    Phi = first_features(support, W_Q, W_K, tau_0)
    failing = eta_V * 0
    for chosen in combinations_with_replacement(range(m), N):
        ways = factorial(N) // prod(factorial(times) for times in Counter(chosen).values())
        fails = step(c * eta_V / d_s - lambda_0(Phi[list(chosen)], eta_V))
        failing = failing + fails * rational(ways, m**N)
    return failing


LEMMA_15 = Claim(FINITE, "convergence.lemma-15", label="Lemma 15",
    statement=r"""\lambda_0:=\lambda_{\min}(\mathbb E_{w\sim N(0,\eta_VI_d)}[\sigma_r(\Phi w)\sigma_r(\Phi
        w)^\top])\ge\Theta(\eta_V/d_s)\ \text{with probability at least }1-\exp(-\Omega((N-1)^{-\hat c}d_s^{-1})),\quad
        \Phi=[X_1^\top\beta_{1,1},...,X_N^\top\beta_{1,N}]^\top\in\mathbb R^{N\times d}""",
    assumptions=[
        Definition(LAW, by=enumerated_failure_probability),
        Definition(
            r"\beta_{1,n} = softmax(tau_0 X_n^{(1,:)} W_Q^T W_K X_n^T)^T for any given W_Q, W_K",
            by=attention_of_first_tokens,
        ),
        Assumption("c, c_2 > 0, the constants hidden in Theta and in Omega", positive=lambda c, c_2: stacked([c, c_2])),
    ],
    name="smallest eigenvalue of the expected Gram matrix", relation=AtMost(ascent=False), domains=[],
    expects="refuted", severity="error", correction="convergence.lemma-15-separated",
    uses=("convergence.eq-38", "convergence.lemma-15-one-dimension"),
    proof=(
        "convergence.lemma-15-gram", "convergence.eq-39", "convergence.eq-40", "convergence.lemma-15-t-choice",
        "convergence.eq-41",
    ),
    consequence=r"""Dissimilarity of random pairs gives no lower bound of $\lambda_0$, on which the widths of Theorems 1
        and 2 rest; assume that the given samples are separated (convergence.lemma-15-separated).""",
    note=r"""Take samples uniform on three orthonormal vectors, $d_s = 1$: Assumption 2 holds with $C_\lambda = 1$,
        Assumption 3 with every exponent, since $1/3 < 1/e$. For $N \ge 4$ two samples are equal, so $\lambda_0 = 0$
        with certainty, while the stated probability of $\lambda_0 \ge c \eta_V > 0$ is positive whatever the constants.
        In general Assumption 3 bounds similarities of pairs at a fixed scale, and the proof needs $N - 1$ of them of
        size $1/N^2$ at once. The stated probability itself tends to 0 as $N$ grows, at fixed $\hat c$ and $d_s$, so the
        statement is empty in the limit. Nothing hinges on equal samples or on a finite law: with $d = d_s = 1$ and $X =
        \sqrt U$ or $-\sqrt U$, $U$ uniform on $[0, 1]$, $P(U U' \ge t) = 1 - t + t \log t \le \exp(-t)$ (the assumption
        that convergence.thm-1 tests), all samples differ almost surely, and $\lambda_0 = 0$ from $N = 3$ on
        (convergence.lemma-15-one-dimension).""")  # fmt: skip


@LEMMA_15.formula
def printed_failure_probability(support: Support, c_2: Hidden, c_hat: Exponent, N: SampleCount) -> Any:
    """exp(-c_2 (N-1)^{-c_hat} / d_s), what is left for lambda_0 < c eta_V / d_s; a scalar (Lemma 15)."""
    return exp(-c_2 * rational(1, (N - 1) ** c_hat * support.shape[1]))


LEMMA_15.oracle(enumerated_failure_probability)
LEMMA_15.mutant("(N-1)^{c_hat}", lambda support, c_2, c_hat, N: exp(-c_2 * (N - 1) ** c_hat / support.shape[1]))
LEMMA_15.mutant("N for N - 1", "N - 1 -> N")
LEMMA_15.mutant("probability and failure exchanged", lambda value: 1 - value)


def _three_orthonormal_samples(N: int, hidden: str) -> dict[str, Any]:
    return {
        "support": [[[1, 0, 0]], [[0, 1, 0]], [[0, 0, 1]]],
        "W_Q": [[0, 0, 0]], "W_K": [[0, 0, 0]], "tau_0": 1, "eta_V": "1/3", "C_lambda": 1,
        "c": hidden, "c_2": hidden, "c_hat": 1, "N": N,
    }  # fmt: skip


LEMMA_15.counterexample("uniform on e_1, e_2, e_3, d_s = 1, N = 4, hidden constants 10^-3: lambda_0 = 0 with certainty",
    lambda: _three_orthonormal_samples(4, "1/1000"))  # fmt: skip
LEMMA_15.counterexample(
    "the same, N = 6, hidden constants 10^-9", lambda: _three_orthonormal_samples(6, "1/1000000000")
)


# -- the choice of t ---------------------------------------------------------------------------------------------------


def _threshold_met(support: Any, W_Q: Any, W_K: Any, tau_0: Any, C_lambda: Any, N: int) -> Any:
    """P(<X_k^T X_k, X_j^T X_j> <= |beta_k|^2 C_lambda^2 / (N-1)^2 for all j != k) for a fixed k, by enumeration."""
    m = support.shape[0]
    betas = attention_of_first_tokens(support, W_Q, W_K, tau_0)
    met = C_lambda * 0
    for k, beta in enumerate(betas):
        t = (beta * beta).sum() * C_lambda * C_lambda * rational(1, (N - 1) ** 2)
        share = sum((1 - step(similarity(support[k], support[j]) - t) for j in range(m)), t * 0) * rational(1, m)
        met = met + share ** (N - 1) * rational(1, m)
    return met


T_CHOICE = Claim(MANY_SAMPLES, "convergence.lemma-15-t-choice", label="Proof of Lemma 15, choice of t",
    statement=r"""t:=\|\beta_{1,k}\|_2^2C_\lambda^2/(N-1)^2:\ \text{with probability at least
        }1-\exp(-\Omega((N-1)^{-\hat c})),\ \text{one has }\sqrt{\langle X_k^\top X_k,X_j^\top
        X_j\rangle\le\|\beta_{1,k}\|_2C_\lambda(N-1)^{-1}},\ \forall j\ne k;\quad\text{[in the lemma] with probability
        at least }1-\exp(-\Omega((N-1)^{-\hat c}d_s^{-1}))""",
    assumptions=[
        Definition(LAW, by=_threshold_met),
        Assumption("c_2 > 0, the constant hidden in Omega", positive=lambda c_2: c_2),
    ],
    name="probability of similarity below the threshold",
    relation=AtMost(left="P(a pair misses the threshold), twice", ascent=False), domains=[], expects="refuted",
    severity="error", correction="convergence.lemma-15-t-choice-union",
    doubt=Doubt(
        r"\boldsymbol{X}_{j}^{\top}\boldsymbol{X}_{j}\rangle \leq "
        r"\left\|\boldsymbol{\beta}_{1,k}\right\|_{2}C_{\lambda}",
        """The root is drawn over the whole inequality, as the one in Eq. (7) is over too much; in Eq. (40) it ends
            after the inner product, and so it is taken."""),
    note=r"""Three losses: $t^{\hat c}$ is of order $(N-1)^{-2 \hat c}$, not $(N-1)^{-\hat c}$; the event is an
        intersection of $N - 1$, which costs a factor $N - 1$; and $|\beta|^2 \ge 1/d_s$ enters to the power $\hat c$.
        For samples uniform on three orthonormal vectors the event has probability $(2/3)^{N-1}$, the stated one is at
        least about $c_2 (N-1)^{-\hat c}$: false for all large $N$, whatever $c_2$.""")  # fmt: skip


def _twice(value: Any) -> Any:
    return stacked([value, value])


@T_CHOICE.formula
def printed_probabilities_of_similarity(support: Support, c_2: Hidden, c_hat: Exponent, N: SampleCount) -> Any:
    """exp(-c_2 (N-1)^{-c_hat}) and exp(-c_2 (N-1)^{-c_hat} / d_s), shape (2,) (proof of Lemma 15)."""
    exponent = c_2 * rational(1, (N - 1) ** c_hat)
    return stacked([exp(-exponent), exp(-exponent / support.shape[1])])


T_CHOICE.oracle(
    lambda support, W_Q, W_K, tau_0, C_lambda, N: _twice(1 - _threshold_met(support, W_Q, W_K, tau_0, C_lambda, N))
)
T_CHOICE.mutant("(N-1)^{-2 c_hat}, as t^c_hat has it", "c_hat -> 2 * c_hat; support.shape[1] -> 1")
T_CHOICE.mutant("c_hat dropped: (N-1)^0", lambda c_2: _twice(exp(-c_2)))
T_CHOICE.counterexample(
    "uniform on e_1, e_2, e_3, d_s = 1, N = 21, hidden constant 1/64", lambda: _three_orthonormal_samples(21, "1/64")
)
T_CHOICE.counterexample("the same, N = 61, hidden constant 10^-6", lambda: _three_orthonormal_samples(61, "1/1000000"))


T_CHOICE_UNION = Claim(MANY_SAMPLES, "convergence.lemma-15-t-choice-union",
    label="Proof of Lemma 15, choice of t, with the union bound", name="similarity below the threshold, union bound",
    statement=r"""P(\exists j\ne k:\ \langle X_k^\top X_k,X_j^\top
        X_j\rangle>\|\beta_{1,k}\|_2^2C_\lambda^2(N-1)^{-2})\le(N-1) \exp(-(C_\lambda^2d_s^{-1}(N-1)^{-2})^{\hat c})""",
    assumptions=[Definition(LAW, by=_threshold_met)],
    relation=AtMost(left="P(a pair misses the threshold)", ascent=False), domains=[],
    corrects="convergence.lemma-15-t-choice", of_project=True,
    note=r"""Empty, a bound above 1, as soon as $(N-1) \exp(-t^{\hat c}) \ge 1$: for $C_\lambda \le 1$ already from $N =
        4$ on. Assumption 3 by itself gives no positive probability of the event that Lemma 15 needs.""",
    loose=r"""The union bound adds up events that may overlap, and $\|\beta_{1,k}\|_2^2$ is taken as small as it can be,
        $1/d_s$.""")  # fmt: skip


@T_CHOICE_UNION.formula
def union_bound_of_similarity(support: Support, C_lambda: Scale, c_hat: Exponent, N: SampleCount) -> Any:
    """(N-1) exp(-t^c_hat) with t = C_lambda^2 / (d_s (N-1)^2), a scalar."""
    t = C_lambda * C_lambda * rational(1, (N - 1) ** 2 * support.shape[1])
    return exp(-(t**c_hat)) * (N - 1)


T_CHOICE_UNION.oracle(
    lambda support, W_Q, W_K, tau_0, C_lambda, N: 1 - _threshold_met(support, W_Q, W_K, tau_0, C_lambda, N)
)
T_CHOICE_UNION.mutant("one event, at t = 1", lambda C_lambda: exp(-C_lambda * 0 - 1))
T_CHOICE_UNION.mutant("bound for the complement", "exp(-t ** c_hat) * (N - 1) -> 1 - exp(-t ** c_hat)")


# -- Eq. (41), and Lemma 15 for separated data -------------------------------------------------------------------------


def _event(X: Any, W_Q: Any, W_K: Any, tau_0: Any, C_lambda: Any, share: int) -> Any:
    """C_lambda, and |beta_k| C_lambda - share (N-1) <X_k^T X_k, X_j^T X_j>^{1/2} for all j != k, stacked."""
    N = X.shape[0]
    norms = [frobenius_norm(beta) for beta in attention_of_first_tokens(X, W_Q, W_K, tau_0)]
    pairs = [(k, j) for k in range(N) for j in range(N) if j != k]
    return stacked(
        [C_lambda, *(norms[k] * C_lambda - frobenius_norm(X[k] @ X[j].T) * (share * (N - 1)) for k, j in pairs)]
    )


FULL_RANK = Assumption(
    RANK, positive=lambda C_lambda: C_lambda, nonnegative=lambda X, C_lambda: row_grams(X) - C_lambda
)
SIMILARITY = Assumption(
    r"<X_k^T X_k, X_j^T X_j>^{1/2} <= |beta_{1,k}| C_lambda / (N-1) for all j != k",
    nonnegative=lambda X, W_Q, W_K, tau_0, C_lambda: _event(X, W_Q, W_K, tau_0, C_lambda, 1),
)
HALVED_SIMILARITY = Assumption(
    r"<X_k^T X_k, X_j^T X_j>^{1/2} <= |beta_{1,k}| C_lambda / (2(N-1)) for all j != k",
    nonnegative=lambda X, W_Q, W_K, tau_0, C_lambda: _event(X, W_Q, W_K, tau_0, C_lambda, 2),
)


@realises(
    but=(
        "C_lambda is the largest that Assumption 2 admits, with which the similarity is bounded least and most is claimed; rows"
        " are nearly unit vectors and nearly orthogonal, in coordinates that X and the weights could be turned into together"
    )
)
def nearly_orthogonal_samples(noise: Noise, W_Q: QueryWeights, W_K: KeyWeights, tau_0: Scale, eta_V: Variance,
                              c: Hidden) -> dict[str, Any]:  # fmt: skip
    """Samples with orthonormal rows in different coordinates, plus a small part of `noise`."""
    N, d_s, d = noise.shape
    small = [noise[n] / ((noise[n] * noise[n] + 1) * 16) for n in range(N)]  # entries of at most 1/32
    X = stack_rows([small[n] + _unit_rows(d_s, d, n * d_s) for n in range(N)]).reshape(N, d_s, d)
    least = -maximum(-row_grams(X))
    return {"X": X, "W_Q": W_Q, "W_K": W_K, "tau_0": tau_0, "eta_V": eta_V, "C_lambda": least, "c": c}


SAMPLES = Setting(
    CONVERGENCE, "Lemma 15 for given samples", assumptions=[FULL_RANK],
    sizes={"N": (1, 3), "d_s": (1, 3), "d": (1, 9), "d_m": (1, 2)},
    where=lambda sizes: sizes["N"] * sizes["d_s"] <= sizes["d"],
    inputs=nearly_orthogonal_samples,
)  # fmt: skip
APART = SAMPLES.extended(
    "Lemma 15 for separated samples",
    assumptions=[
        HALVED_SIMILARITY,
        Assumption(
            "N d_s <= d, without which no samples meet the rest",
            sizes=lambda sizes: sizes["N"] * sizes["d_s"] <= sizes["d"],
        ),
    ],
)

EQ_41 = Claim(SAMPLES, "convergence.eq-41", label="Eq. (41)", name="feature eigenvalue of dissimilar samples",
    statement=r"""\lambda_{\min}(\Phi\Phi^\top)\ge\mathrm{Trace}(B_{kk}^\top C_{kk})-C_\lambda\|\beta_{1,k}\|_2^2
        \ge\lambda_{\min}(C_{kk})\mathrm{Trace}(B_{kk})-C_\lambda\|\beta_{1,k}\|_2^2
        =\lambda_{\min}(X_kX_k^\top)\|\beta_{1,k}\|_2^2-C_\lambda\|\beta_{1,k}\|_2^2
        \ge\Theta(\|\beta_{1,k}\|_2^2)\ge\Theta(1/d_s)""",
    assumptions=[SIMILARITY, Assumption("c > 0, the constant hidden in Theta", positive=lambda c: c)],
    relation=AtMost(ascent=False, signed=True), expects="refuted", severity="error",
    correction="convergence.eq-41-halved",
    note=r"""$\lambda_{\min}(X_k X_k^\top) - C_\lambda$ may be 0, since $C_\lambda$ is nothing but a lower bound of it.
        Two equal unit vectors with $C_\lambda = 1$ meet everything that is assumed, and $\Phi \Phi^\top$ is singular. A
        smaller $t$, such as a quarter of the printed one, repairs the step. $C_\lambda$ is 'some positive constant'
        below all $\lambda_{\min}(X_k X_k^\top)$. Chosen below them by a margin, say half of the least, it makes the
        step right; nothing printed asks for the margin.""")  # fmt: skip


def _chain_41(X: Any, W_Q: Any, W_K: Any, tau_0: Any, C_lambda: Any, c: Any) -> list[list[Any]]:
    """For every sample k: the members of Eq. (41) from the second on."""
    chain = []
    for k, beta in enumerate(attention_of_first_tokens(X, W_Q, W_K, tau_0)):
        square, phi = (beta * beta).sum(), beta.T @ X[k]
        lost = C_lambda * square
        eigenvalue = smallest_eigenvalue(X[k] @ X[k].T)
        chain.append(
            [(phi * phi).sum() - lost, eigenvalue * square - lost, c * square, c * square * 0 + c / X.shape[1]]
        )
    return chain


def _negated(chain: list[list[Any]], first: int) -> Any:
    """Minus the members `first`, ... of every sample's chain; three of them each."""
    return stacked([-member for members in chain for member in members[first : first + 3]])


@EQ_41.formula
def printed_lower_bounds(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, tau_0: Scale, C_lambda: Scale,
                         c: Hidden) -> Any:  # fmt: skip
    """Minus the smaller member of each comparison: the first over the best k, then three for every k (Eq. (41))."""
    chain = _chain_41(X, W_Q, W_K, tau_0, C_lambda, c)
    best = maximum(stacked([-members[0] for members in chain]))
    return concatenate([stacked([best]).reshape(1, 1), _negated(chain, 1).reshape(1, -1)], axis=1)


@EQ_41.oracle
def larger_members(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, tau_0: Scale, C_lambda: Scale, c: Hidden) -> Any:
    Phi = first_features(X, W_Q, W_K, tau_0)
    chain = _chain_41(X, W_Q, W_K, tau_0, C_lambda, c)
    first = stacked([-smallest_eigenvalue(Phi @ Phi.T)]).reshape(1, 1)
    return concatenate([first, _negated(chain, 0).reshape(1, -1)], axis=1)


EQ_41.mutant("C_lambda subtracted twice", "C_lambda -> C_lambda * 2")
EQ_41.mutant("hidden constant doubled", "c -> c * 2")


def _equal_samples(c: str) -> dict[str, Any]:
    return {
        "X": [[[1, 0]], [[1, 0]]], "W_Q": [[0, 0]], "W_K": [[0, 0]], "tau_0": 1, "C_lambda": 1, "c": c,
    }  # fmt: skip


EQ_41.counterexample("d_s = 1, both samples e_1, C_lambda = 1: Phi Phi^T is singular; hidden constant 10^-3",
    lambda: _equal_samples("1/1000"))  # fmt: skip


EQ_41_HALVED = Claim(APART, "convergence.eq-41-halved", label="Eq. (41), with half the similarity",
    statement=r"""\langle X_k^\top X_k,X_j^\top X_j\rangle^{1/2}\le\|\beta_{1,k}\|_2\frac{C_\lambda}{2(N-1)}\ \forall
        j\ne k\ \Rightarrow\ \lambda_{\min}(\Phi\Phi^\top)\ge\frac{C_\lambda}{2d_s}""",
    name="feature eigenvalue of dissimilar samples, corrected", relation=AtMost(left="min_k lambda_min(X_k X_k^T)"),
    uses=("convergence.eq-39-absolute-values", "convergence.eq-40"), corrects="convergence.eq-41", of_project=True,
)  # fmt: skip


@EQ_41_HALVED.formula
def scaled_eigenvalue_of_features(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, tau_0: Scale) -> Any:
    """2 d_s lambda_min(Phi Phi^T), a scalar; it is at least C_lambda."""
    Phi = first_features(X, W_Q, W_K, tau_0)
    return smallest_eigenvalue(Phi @ Phi.T) * (2 * X.shape[1])


EQ_41_HALVED.oracle(lambda X: -maximum(-row_grams(X)))
EQ_41_HALVED.mutant("no factor 1/d_s", "2 * X.shape[1] -> 1")
EQ_41_HALVED.mutant("constant 4 in place of 1/2", "2 * X.shape[1] -> rational(X.shape[1], 4)")


SEPARATED = Claim(APART, "convergence.lemma-15-separated", label="Lemma 15, for separated data",
    statement=r"""\langle X_k^\top X_k,X_j^\top X_j\rangle^{1/2}\le\|\beta_{1,k}\|_2\frac{C_\lambda}{2(N-1)}\ \forall
        j\ne k\ \Rightarrow\ \lambda_0\ge\frac{\eta_VC_\lambda}{8d_s}""",
    name="expected Gram matrix of separated samples", relation=AtMost(left="min_k lambda_min(X_k X_k^T)"),
    uses=("convergence.eq-38", "convergence.eq-41-halved"), corrects="convergence.lemma-15", of_project=True,
    note=r"""The premise needs $N d_s \le d$: the $N$ row spaces, of dimension $d_s$ each, are then linearly
        independent.""",
    loose=r"""Where the weighted tokens $\phi_k$ of the samples are orthogonal and of equal length, $\lambda_0$ is $(1/2 -
        1/(2\pi))\,\eta_V\|\phi_k\|^2$, about $0.34$ of $\eta_V\|\phi_k\|^2$; Eq. (38) keeps a quarter, and half of that is left
        for the similarity that the premise allows.""")  # fmt: skip


def _lambda_0_of_data(X: Any, W_Q: Any, W_K: Any, tau_0: Any, eta_V: Any) -> Any:
    return lambda_0(first_features(X, W_Q, W_K, tau_0), eta_V)


@SEPARATED.formula
def scaled_lambda_0(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, tau_0: Scale, eta_V: Variance) -> Any:
    """8 d_s lambda_0 / eta_V, a scalar; it is at least C_lambda."""
    return _lambda_0_of_data(X, W_Q, W_K, tau_0, eta_V) * (8 * X.shape[1]) / eta_V


SEPARATED.oracle(lambda X: -maximum(-row_grams(X)))
SEPARATED.mutant("mu^2 = 1: constant 1/2", "8 -> 2")
SEPARATED.mutant("constant 1", "8 * X.shape[1] -> X.shape[1]")
