"""Theorems 1 and 2 and what is said about their assumptions, probabilities and step sizes."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import (
    KeyWeights,
    Labels,
    OutputWeights,
    QueryWeights,
    Samples,
    ValueWeights,
    outputs,
    squared_loss,
)
from theorems.convergence.appendix_c_1_lemmas.constants import stacked
from theorems.convergence.appendix_c_1_lemmas.constants import Scalars
from theorems.convergence.appendix_d_tangent_kernel.gradients import Tokens
from verify.claims import Assumption, Claim
from verify.matrix import exp, maximum, rational, sqrt, stack_rows
from verify.relations import AtMost
from verify.shapes import Real, Shape, Size

Positive = Annotated[Any, Real(0.0625, 2.0)]
Small = Annotated[Any, Real(0.0078125, 0.125)]
Middle = Annotated[Any, Real(0.5, 3.0)]
N_samples = Annotated[int, Size("N")]
Directions = Annotated[int, Size("d")]
Width = Annotated[int, Size("d_m")]
Length = Annotated[int, Size("d_s")]

# -- Theorems 1 and 2 --------------------------------------------------------------------------------------------------

EQUAL_SAMPLES = Claim(
    CONVERGENCE,
    "convergence.equal-samples-loss",
    label="Equal samples with different labels",
    statement=r"X_1=X_2\ \Rightarrow\ \ell(\theta)\ge\tfrac14(y_1-y_2)^2\ \text{for all }\theta",
    assumptions=["f as in Eqs. (1.1)-(1.2), N = 2 samples, both equal to X"],
    relation=AtMost(ascent=False),
    sizes={"d_s": (1, 2), "d": (1, 2), "d_m": (1, 3)},
    of_project=True,
    note="f(X_1) = f(X_2), and ((f - y_1)^2 + (f - y_2)^2) / 2 is least where f is the mean of both labels.",
)


@EQUAL_SAMPLES.inputs
def one_sample_twice(
    X: Tokens, errors: Annotated[Any, Shape("2", "1")], W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights,
    w_O: OutputWeights, tau_0: Positive, tau_1: Positive,
) -> dict[str, Any]:  # fmt: skip
    twice = stack_rows([X.reshape(1, -1), X.reshape(1, -1)]).reshape(2, *X.shape)
    y = outputs(twice, W_Q, W_K, W_V, w_O, tau_0, tau_1) - errors
    return {"X": twice, "y": y, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "w_O": w_O, "tau_0": tau_0, "tau_1": tau_1}


@EQUAL_SAMPLES.domain("opposite errors")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Where f is the mean of both labels."""
    arrays["errors"][:, 1] = -arrays["errors"][:, 0]


@EQUAL_SAMPLES.formula
def loss_of_equal_samples(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: Positive, tau_1: Positive,
) -> Any:  # fmt: skip
    """l(theta), a scalar."""
    return squared_loss(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1)


EQUAL_SAMPLES.oracle(lambda y: (y[0, 0] - y[1, 0]) * (y[0, 0] - y[1, 0]) * rational(1, 4))
EQUAL_SAMPLES.mutant("half of the loss", lambda value: value * rational(1, 2))


@EQUAL_SAMPLES.mutant("loss of the second sample alone")
def _(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: Positive, tau_1: Positive,
) -> Any:  # fmt: skip
    error = outputs(X, W_Q, W_K, W_V, w_O, tau_0, tau_1) - y
    return error[1, 0] * error[1, 0] * rational(1, 2)


PROPORTIONAL = Claim(
    CONVERGENCE,
    "convergence.proportional-samples-loss",
    label="Proportional samples of one token",
    statement=r"d_s=1,\ X_2=cX_1,\ c>0\ \Rightarrow\ \ell(\theta)\ge\frac{(cy_1-y_2)^2}{2(1+c^2)}\ \text{for all }\theta",
    assumptions=["f as in Eqs. (1.1)-(1.2), N = 2 samples of one token each", "c > 0"],
    relation=AtMost(ascent=False),
    sizes={"d": (1, 3), "d_m": (1, 3)},
    of_project=True,
    note="A single token gets all attention, so that f(c X) = c f(X), and ((f - y_1)^2 + (c f - y_2)^2) / 2 is least at f ="
    " (y_1 + c y_2) / (1 + c^2). Independent continuous labels keep it above 0 almost surely.",
)


@PROPORTIONAL.inputs
def one_sample_and_its_multiple(
    X: Annotated[Any, Shape("1", "d")], c: Positive, errors: Annotated[Any, Shape("2", "1")], W_Q: QueryWeights,
    W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights, tau_0: Positive, tau_1: Positive,
) -> dict[str, Any]:  # fmt: skip
    both = stack_rows([X, X * c]).reshape(2, *X.shape)
    y = outputs(both, W_Q, W_K, W_V, w_O, tau_0, tau_1) - errors
    return {
        "X": both, "c": c, "y": y, "W_Q": W_Q, "W_K": W_K, "W_V": W_V, "w_O": w_O, "tau_0": tau_0, "tau_1": tau_1,
    }  # fmt: skip


@PROPORTIONAL.domain("where f is best")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Errors proportional to c and -1."""
    arrays["errors"][:, 0, 0] = arrays["c"] * arrays["errors"][:, 1, 0]
    arrays["errors"][:, 1, 0] *= -1


@PROPORTIONAL.formula
def loss_of_proportional_samples(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: Positive, tau_1: Positive,
) -> Any:  # fmt: skip
    """l(theta), a scalar."""
    return squared_loss(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1)


@PROPORTIONAL.oracle
def least_loss_of_proportional_samples(y: Labels, c: Positive) -> Any:
    gap = c * y[0, 0] - y[1, 0]
    return gap * gap / (2 * (1 + c * c))


PROPORTIONAL.mutant("half of the loss", lambda value: value * rational(1, 2))


@PROPORTIONAL.mutant("loss of the second sample alone")
def _(
    X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
    tau_0: Positive, tau_1: Positive,
) -> Any:  # fmt: skip
    error = outputs(X, W_Q, W_K, W_V, w_O, tau_0, tau_1) - y
    return error[1, 0] * error[1, 0] * rational(1, 2)


def _assumption_3(d: int, s: Any) -> Any:
    """exp(-s) - 1/d: the pair's inner product is s with probability 1/d, and 0 otherwise."""
    return exp(-s) - s * 0 - rational(1, d)


_PROBABILITY = r"1-8e^{-d_m/2}-\delta-\exp(-\Omega((N-1)^{-\hat c}d_s^{-1}))"
_DATA: list[str | Assumption] = [
    "iid samples: X uniform among d orthogonal directions of squared norm sqrt(s), d_s = 1; labels N(0, 1), independent",
    "Assumption 1 with C_x^2 = sqrt(s); Assumption 2: a nonzero row has full row rank",
    Assumption("Assumption 3 with c^ = 1: 1/d <= exp(-t) for all t <= s", nonnegative=_assumption_3),
    "the hidden constant c_0 of Omega positive, d_m >= d as large as one likes",
]
_READING_NOTE = (
    "Read as: with the stated probability the loss tends to 0, as Eq. (4) says wherever alpha > 0. The bound is the"
    " probability that all samples differ: two equal samples have labels that differ almost surely, and then l >= (y_1 -"
    " y_2)^2 / 4 at all weights of any width (convergence.equal-samples-loss). With N > d it is 0, while the stated one"
    " tends to 1 - exp(-c_0 / (N - 1)) > 0 as d_m grows and delta falls, whatever c_0 > 0 is. Nothing hinges on equal samples:"
    " stretched by independent factors from [1, 1 + epsilon] all samples differ almost surely, and two on one direction keep"
    " the loss above 0 as well (convergence.proportional-samples-loss). Assumption 3 speaks of one"
    " pair, and Lemma 15 uses it for all of them without the factor N(N - 1)/2. For N = 1 the term is exp(-infinity); for"
    " N or d_s large the stated probability is negative and says nothing."
)
_READING_DOUBT = (
    "Taken literally a global minimum may have a positive loss, and with alpha = 0 Eq. (4) forbids nothing but growth: then the"
    " counterexample, where gradient descent may well reach the best fit, decides nothing. A loss that tends to 0 is what the"
    " paper means: Proposition 1 has 'converges to a global minimum as follows: (4)', its proof sketch 'will drive the loss to"
    " zero', and the"
    " proof ends with 'the conditions ... are satisfied', which takes alpha > 0 unless l(theta^0) = 0."
)


def _theorem(
    id: str, label: str, statement: str, assumptions: list[str], note: str, steps: tuple[str, ...], correction: str,
    doubt: str = _READING_DOUBT,
) -> Claim:  # fmt: skip
    return Claim(
        CONVERGENCE,
        id,
        label=label,
        statement=statement,
        assumptions=[*assumptions, *_DATA],
        relation=AtMost(signed=True),
        sizes={"N": (2, 3), "d": (2, 3), "d_m": (48, 64)},
        expects="refuted",
        severity="error",
        uses=("convergence.equal-samples-loss", "convergence.proportional-samples-loss"),
        proof=("convergence.prop-1", *steps),
        correction=correction,
        doubt=doubt,
        note=note,
    )


THM_1 = _theorem(
    "convergence.thm-1",
    "Theorem 1",
    r"\text{LeCun/He, Assumptions 1-3, } d_m\ge d,\ \tau_0=d_m^{-1/2},\ d_m=\tilde\Omega(N^3):\ \text{with probability at"
    r" least }"
    + _PROBABILITY
    + r"\text{ for proper }\delta\text{, the GD training of Transformer converges to a global minimum with sufficiently small step"
    r" size }\gamma\text{ as in (4).}",
    ["LeCun or He initialisation", "tau_0 = d_m^{-1/2}"],
    _READING_NOTE,
    (
        "convergence.lemma-15",
        "convergence.lemma-5",
        "convergence.eq-45-46",
        "convergence.eq-47-psd-sum",
        "convergence.eq-48",
        "convergence.loss-init-sqrt-n",
    ),
    "convergence.thm-1-one-token",
    _READING_DOUBT
    + " 'Proper delta' is read as any delta in (0, 1), on which the width depends through a logarithm, as in the proof; if it may"
    " be as large as one likes, nothing is stated.",
)
THM_2 = _theorem(
    "convergence.thm-2",
    "Theorem 2",
    r"\text{NTK initialisation, Assumptions 1-3, } d_m=\tilde\Omega(N):\ \text{with probability at least }"
    + _PROBABILITY
    + r"\text{ GD with sufficiently small }\gamma\text{ converges to a global minimum as in (4).}",
    ["NTK initialisation", "tau_0 = d_m^{-1}"],
    _READING_NOTE
    + " Besides, Eqs. (60) and (61) have d_m lambda_0 / 4 for alpha^2 although tau_1^2 = 1/d_m: both sides of Eqs. (2) and"
    " (3) are of order 1 in d_m, and no width makes them hold.",
    ("convergence.lemma-15", "convergence.eq-47-psd-sum", "convergence.eq-57-58", "convergence.eq-60-61"),
    "convergence.thm-2-all-pairs",
)


def _distinct(N: int, d: int) -> Fraction:
    """The probability that N uniform draws among d directions all differ, by enumeration."""
    outcomes = list(itertools.product(range(d), repeat=N))
    return Fraction(sum(len(set(outcome)) == N for outcome in outcomes), len(outcomes))


def _constant(value: Fraction, like: Any) -> Any:
    return like * 0 + rational(value.numerator, value.denominator)


def _stated(N: int, d_m: int, delta: Any, c_0: Any) -> Any:
    """1 - 8 exp(-d_m / 2) - delta - exp(-c_0 (N - 1)^{-c^} / d_s) with c^ = d_s = 1."""
    return 1 - exp(delta * 0 - rational(d_m, 2)) * 8 - delta - exp(-c_0 / (N - 1))


def _three_samples(delta: Fraction, c_0: Fraction) -> dict[str, Any]:
    return {"N": 3, "d": 2, "d_m": 64, "s": Fraction(1, 100), "delta": delta, "c_0": c_0}


@THM_1.inputs
def data_of_theorem_1(N: N_samples, d: Directions, d_m: Width, s: Small, delta: Small, c_0: Positive) -> dict[str, Any]:
    return {"N": N, "d": d, "d_m": d_m, "s": s, "delta": delta, "c_0": c_0}


@THM_1.formula
def attainable_probability_of_theorem_1(N: N_samples, d: Directions, s: Small, delta: Small) -> Any:
    """P(no two of the N samples are equal), which bounds the probability that the loss tends to 0; a scalar."""
    return _constant(_distinct(N, d), delta)


THM_1.oracle(lambda N, d_m, delta, c_0: _stated(N, d_m, delta, c_0))
THM_1.mutant("the first two samples differ", N=2)
THM_1.mutant("not all samples are equal", lambda N, d, delta: _constant(1 - Fraction(1, d ** (N - 1)), delta))
THM_1.counterexample(
    "3 samples from 2 directions: two of them are equal; stated with probability above 0.38",
    lambda: _three_samples(Fraction(1, 100), Fraction(1)),
)
THM_1.counterexample(
    "the same with c_0 = 1/50, delta = 1/1000: still stated with positive probability",
    lambda: _three_samples(Fraction(1, 1000), Fraction(1, 50)),
)


@THM_2.inputs
def data_of_theorem_2(N: N_samples, d: Directions, d_m: Width, s: Small, delta: Small, c_0: Positive) -> dict[str, Any]:
    return {"N": N, "d": d, "d_m": d_m, "s": s, "delta": delta, "c_0": c_0}


@THM_2.formula
def attainable_probability_of_theorem_2(N: N_samples, d: Directions, s: Small, delta: Small) -> Any:
    """P(no two of the N samples are equal), which bounds the probability that the loss tends to 0; a scalar."""
    return _constant(_distinct(N, d), delta)


THM_2.oracle(lambda N, d_m, delta, c_0: _stated(N, d_m, delta, c_0))
THM_2.mutant("the first two samples differ", N=2)
THM_2.mutant("not all samples are equal", lambda N, d, delta: _constant(1 - Fraction(1, d ** (N - 1)), delta))
THM_2.counterexample(
    "3 samples from 2 directions: two of them are equal; stated with probability above 0.38",
    lambda: _three_samples(Fraction(1, 100), Fraction(1)),
)
THM_2.counterexample(
    "the same with c_0 = 1/50, delta = 1/1000: still stated with positive probability",
    lambda: _three_samples(Fraction(1, 1000), Fraction(1, 50)),
)


ONE_TOKEN = Claim(
    CONVERGENCE,
    "convergence.thm-1-one-token",
    label="Theorem 1, for one token and given samples: the width that Eqs. (2) and (3) need",
    statement=r"d_s=1,\ \lambda_0>0,\ \text{LeCun},\ \tau_0=d_m^{-1/2},\ d_m\ge\max\Big(d,\ w_{48},\ \Big(\frac{32NC_xmE}"
    r"{\lambda_0}\Big)^2,\ \frac{(1024N^{3/2}C_x^2BE)^2}{\lambda_0^3}\Big),\ m=\max\Big(\frac4{\sqrt d},\frac{128C_x^2}d\Big),\ "
    r"B=1+\frac{2048C_x^4}{d^2}\ \Rightarrow\ (2),(3)\text{ with probability at least }1-8e^{-d_m/2}-\delta_1-\delta_2,\text{ and"
    r" (4) while no ReLU changes its state}",
    assumptions=[
        "samples given; for d_s = 1 F_pre is tau_1 relu(Phi W_V^T), for the average as for the sum",
        "the event of Eq. (44) with the constant 4, which fails with probability at most 8 exp(-d_m/2)",
        "the event alpha^2 >= d_m lambda_0 / 4 of Eq. (48), which fails with probability at most delta_1 from the width w_48 of"
        " convergence.eq-48 on, which is at least N",
        "the event sqrt(2 l(theta^0)) <= sqrt(N) E, E = C_y + (v/delta_2)^{1/2}, which fails with probability at most delta_2",
        "C_Q = C_K = C_V = C_O = 1",
        Assumption("lambda_0, C_x, E > 0", positive=lambda least, C_x, E: stacked([least, C_x, E])),
    ],
    relation=AtMost(),
    sizes={"N": (1, 4), "d": (1, 4)},
    uses=(
        "convergence.eq-44",
        "convergence.eq-48",
        "convergence.loss-init-sqrt-n",
        "convergence.prop-1-fixed-pattern",
    ),
    corrects="convergence.thm-1",
    of_project=True,
    note="Decided on the three events, with every norm at its bound. The width is of order N^3 / lambda_0^3, as the paper's is"
    " where lambda_0 does not depend on N; what it cannot have from Assumption 3 is lambda_0 > 0. That gradient descent then"
    " converges is known while no ReLU changes its state (convergence.prop-1-fixed-pattern); for more tokens F_pre is no sum of"
    " positive semidefinite parts (convergence.eq-47-psd-sum).",
)


def _sufficient_width(N: int, d: int, least: Any, C_x: Any, E: Any) -> Any:
    """The last two members of the maximum, which Eqs. (2) and (3) ask for."""
    m = maximum(stacked([4 / sqrt(least * 0 + d), C_x**2 * rational(128, d)]))
    B = 1 + C_x**4 * rational(2048, d * d)
    second = (C_x * m * E * (32 * N) / least) ** 2
    third = (C_x**2 * B * E * 1024) ** 2 * N**3 / least**3
    return maximum(stacked([second, third]))


@ONE_TOKEN.inputs
def width_for_one_token(
    N: N_samples, d: Directions, least: Positive, C_x: Positive, E: Positive, extra: Annotated[Any, Real(0.0, 2.0)]
) -> dict[str, Any]:
    width = maximum(stacked([_sufficient_width(N, d, least, C_x, E), least * 0 + d]))
    return {"N": N, "d": d, "least": least, "C_x": C_x, "E": E, "d_m": width * (1 + extra)}


def _powers_of_alpha(least: Any, d_m: Any, share: Any) -> Any:
    squared = d_m * least * share
    return stacked([squared, squared * sqrt(squared)])


@ONE_TOKEN.formula
def least_powers_of_alpha(least: Positive, d_m: Positive) -> Any:
    """alpha^2 and alpha^3 at alpha^2 = d_m lambda_0 / 4, shape (2,)."""
    return _powers_of_alpha(least, d_m, rational(1, 4))


@ONE_TOKEN.oracle
def largest_right_sides(N: int, d: int, C_x: Positive, E: Positive, d_m: Positive) -> Any:
    """The right-hand sides of Eqs. (2) and (3) with the norms of Eq. (44), shape (2,)."""
    norm, one = 4 * sqrt(d_m / d), C_x * 0 + 1
    b = Scalars(N, 1, 1 / sqrt(d_m), one, C_x, norm, norm, norm, 4 * one)
    error = sqrt(one * N) * E
    return stacked([b.condition_2() * error, b.condition_3(b.Q) * error])


ONE_TOKEN.mutant("d_m lambda_0 / 8", share=rational(1, 8))
ONE_TOKEN.mutant("lambda_0 / 4, as under NTK initialisation", "d_m -> d_m / d_m")
ONE_TOKEN.mutant("lambda_0^2 for lambda_0", lambda least, d_m: _powers_of_alpha(least * least, d_m, rational(1, 4)))


THM_2_PAIRS = Claim(
    CONVERGENCE,
    "convergence.thm-2-all-pairs",
    label="Theorems 1 and 2, the probability that Assumption 3 gives for all pairs at once",
    statement=r"\mathbb P(\langle X_n^\top X_n,X_{n'}^\top X_{n'}\rangle<t\ \forall n\ne n')\ge1-\tfrac{N(N-1)}2e^{-t"
    r"^{\hat c}};\ \text{given this event, (2), (3), and no ReLU that changes its state, (4) holds}",
    assumptions=["data as in the counterexample to the theorem, t <= s, with P(<.,.> >= t) = 1/d for exp(-t^c^)"],
    relation=AtMost(signed=True),
    sizes={"N": (2, 4), "d": (2, 5)},
    uses=("convergence.prop-1-fixed-pattern",),
    corrects="convergence.thm-2",
    of_project=True,
    note="The union bound over pairs, against enumeration; equality for N = 2. What follows deterministically is"
    " convergence.prop-1-fixed-pattern; for NTK initialisation no width makes its hypotheses likely (convergence.eq-60-61).",
)


def _union_bound(N: int, d: int, s: Any) -> Any:
    return _constant(1 - Fraction(N * (N - 1), 2 * d), s)


@THM_2_PAIRS.formula
def probability_of_dissimilar_pairs(N: N_samples, d: Directions, s: Small) -> Any:
    """P(no two of N uniform draws among d directions are equal), by enumeration; a scalar."""
    return _constant(_distinct(N, d), s)


THM_2_PAIRS.oracle(lambda N, d, s: _union_bound(N, d, s))
THM_2_PAIRS.mutant("one sample more", lambda N, d, s: _constant(_distinct(N + 1, d), s))
THM_2_PAIRS.mutant("pairs of equal samples", lambda N, d, s: _constant(1 - _distinct(N, d), s))


# -- the probability ---------------------------------------------------------------------------------------------------

PROB_SMALL = Claim(
    CONVERGENCE,
    "convergence.thm-1-prob-small",
    label="Remark after Theorem 1",
    statement=r"\text{The quantity }\exp(-\Omega((N-1)^{-\hat c}d_s^{-1}))\text{ can be small for a small enough }\hat c\text{ as"
    r" discussed in Assumption 3.}",
    assumptions=[
        "the hidden constant c_0 of Omega is fixed, N >= 2",
        Assumption("epsilon, c_0 > 0", positive=lambda epsilon, c_0: stacked([epsilon, c_0])),
    ],
    relation=AtMost(signed=True),
    sizes={"d_s": (1, 4)},
    expects="refuted",
    severity="error",
    correction="convergence.thm-1-prob-bounded-below",
    note="Read as: for every epsilon > 0 some c^ > 0 makes it at most epsilon, that is, inf over c^ of it is at most epsilon."
    " (N - 1)^{-c^} is at most 1 for N >= 2, so the infimum, reached as c^ tends to 0, is exp(-c_0 / d_s) > 0. Nor does the"
    " proof give more: its exp(-t^c^) at a fixed t tends to 1/e as c^ tends to 0. The quantity tends"
    " to 1 with d_s, and for any fixed c^ with N: there the stated probability of Theorem 1 is vacuous. A smaller c^ does make"
    " the quantity smaller, and where c_0 is many times d_s its limit is small; but then c_0 does it, not c^.",
)


@PROB_SMALL.formula
def any_bound(d_s: Length, c_0: Positive, epsilon: Small) -> Any:
    """epsilon."""
    return epsilon


@PROB_SMALL.oracle
def infimum_over_c_hat(d_s: Length, c_0: Positive) -> Any:
    """The limit of exp(-c_0 (N - 1)^{-c^} / d_s) as c^ tends to 0."""
    return exp(-c_0 / d_s)


PROB_SMALL.mutant("2 epsilon", lambda epsilon: 2 * epsilon)
PROB_SMALL.mutant("1 - epsilon", lambda epsilon: 1 - epsilon)
PROB_SMALL.counterexample(
    "c_0 = 1, d_s = 2, epsilon = 1/10: the quantity is above 0.6 for every c^ and N",
    d_s=2,
    c_0=Fraction(1),
    epsilon=Fraction(1, 10),
)


PROB_BELOW = Claim(
    CONVERGENCE,
    "convergence.thm-1-prob-bounded-below",
    label="The quantity of Theorem 1, from below",
    statement=r"\exp(-c_0d_s^{-1})\le\exp(-c_0(N-1)^{-\hat c}d_s^{-1})\quad\forall\hat c>0,\ N\ge2",
    assumptions=["p = (N - 1)^{-c^} in (0, 1]"],
    relation=AtMost(),
    sizes={"d_s": (1, 4)},
    corrects="convergence.thm-1-prob-small",
    of_project=True,
)


@PROB_BELOW.formula
def quantity_of_theorem_1(d_s: Length, c_0: Positive, p: Annotated[Any, Real(0.0625, 1.0)]) -> Any:
    """exp(-c_0 p / d_s), p = (N - 1)^{-c^}."""
    return exp(-c_0 * p / d_s)


PROB_BELOW.oracle(lambda d_s, c_0: exp(-c_0 / d_s))
PROB_BELOW.mutant("d_s dropped", lambda c_0, p: exp(-c_0 * p * 1))
PROB_BELOW.mutant("p doubled", lambda d_s, c_0, p: exp(-c_0 * p * 2 / d_s))


# -- Assumption 3 ------------------------------------------------------------------------------------------------------

C_HAT = Claim(
    CONVERGENCE,
    "convergence.assumption-3-chat",
    label="Remark after Assumption 3",
    statement=r"\mathbb P(|\langle X_n^\top X_n,X_{n'}^\top X_{n'}\rangle|\ge t)\le\exp(-t^{\hat c}):\ \text{A larger }\hat c\text{"
    r" results in less separable data. Our assumption has no requirement on }\hat c\text{ such that }\hat c\text{ can be small"
    r" enough, which allows for a general data distribution.}",
    assumptions=[
        "c^ in {1/2, 1, 2}, and c^ -> 0, t = r^2",
        "general data: also a law on one sample alone, <X^T X, X^T X> = t",
        Assumption("t > 0", positive=lambda r: r),
    ],
    relation=AtMost(),
    expects="refuted",
    severity="error",
    correction="convergence.assumption-3-below-one",
    note="Read as: the allowed probability of large similarity, exp(-t^c^), grows with c^ for every t. It does for t < 1 and"
    " falls for t > 1; Lemma 15 needs it for t < 1 only. But no c^ admits general data: exp(-t^c^) < 1 for t > 0, so pairs whose"
    " inner product is bounded below by any positive number almost surely are excluded for every c^; as c^ tends to 0 the"
    " bound tends to 1/e for all t, so that dissimilar pairs need a probability of at least 1 - 1/e at every level. The first"
    " sentence can be kept by looking at t < 1 alone, as for normalised data; but there a smaller c^ asks for more, and the second"
    " sentence turns into its opposite.",
)


@C_HAT.formula
def allowed_at_larger_exponents(r: Annotated[Any, Real(0.0625, 3.0)]) -> Any:
    """exp(-t^c^) at c^ = 1 and 2, t = r^2, and its limit 1/e as c^ -> 0, shape (3,)."""
    return stacked([exp(-(r**2)), exp(-(r**4)), exp(r * 0 - 1)])


@C_HAT.oracle
def allowed_at_smaller_exponents(r: Annotated[Any, Real(0.0625, 3.0)]) -> Any:
    """exp(-t^c^) at c^ = 1/2 and 1, and the probability 1 of an inner product t if there is one sample only."""
    return stacked([exp(-r), exp(-(r**2)), r * 0 + 1])


C_HAT.mutant("exp(t^c^)", lambda r: stacked([exp(r**2), exp(r**4), exp(r * 0 + 1)]))
C_HAT.mutant("exponents doubled", lambda r: stacked([exp(-(r**4)), exp(-(r**8)), exp(r * 0 - 1)]))
C_HAT.counterexample(
    "t = 4: exp(-2) at c^ = 1/2, exp(-4) at c^ = 1; equal samples have 1, small c^ allow 1/e", r=Fraction(2)
)


BELOW_ONE = Claim(
    CONVERGENCE,
    "convergence.assumption-3-below-one",
    label="The tail of Assumption 3 for t <= 1",
    statement=r"0<t\le1,\ \hat c\le\hat c'\Rightarrow\exp(-t^{\hat c})\le\exp(-t^{\hat c'});\qquad\exp(-t^{\hat c})\le\tfrac1"
    r"{1+t^{\hat c}}<1\quad\forall t,\hat c>0",
    assumptions=["c^ in {1/2, 1, 2}, t = r^2", Assumption("0 < t <= 1", positive=lambda r: r)],
    relation=AtMost(),
    corrects="convergence.assumption-3-chat",
    of_project=True,
    note="t^c^ falls with c^ for t <= 1, the range in which Lemma 15 uses Assumption 3; exp(x) >= 1 + x gives the rest.",
)


@BELOW_ONE.formula
def tails_below_one(r: Annotated[Any, Real(0.0625, 1.0)]) -> Any:
    """exp(-t^c^) at c^ = 1 and 2, then 1 / (1 + t^c^) at c^ = 1/2, shape (3,)."""
    return stacked([exp(-(r**2)), exp(-(r**4)), 1 / (1 + r)])


BELOW_ONE.oracle(lambda r: stacked([exp(-r), exp(-(r**2)), exp(-r)]))
BELOW_ONE.mutant("exponents the other way round", lambda r: stacked([exp(-r), exp(-r), 1 / (1 + r)]))
BELOW_ONE.mutant("1 - t^c^", lambda r: stacked([exp(-(r**2)), exp(-(r**4)), 1 - r]))


# -- step sizes of initialisations -------------------------------------------------------------------------------------

INIT_STEPSIZE = Claim(
    CONVERGENCE,
    "convergence.init-stepsize",
    label="Section 4.4 / C.5-C.6",
    statement=r"\text{the NTK initialization scheme allows for a larger step size than LeCun/He initialization for training}",
    assumptions=[
        "tau_0 = 1/d_m, as in Section 4.3; the same Gaussian draws and l(theta^0) for all three",
        "norms of the standard Gaussian draws between sqrt(d_m)/2 and 3 sqrt(d_m), as Lemma 5 has them for d_m >= d from above",
        "d_m >= max(d, 4 d A / (N d_s^3 C_x^2)), A = C of Eq. (37) at tau_0 = tau_1 = 1 and all lambdas 4, free of d_m",
    ],
    relation=AtMost(),
    sizes={"N": (1, 4), "d_s": (1, 3), "d": (1, 4)},
    expects="reading",
    reading="the largest step that Eq. (37) allows, gamma = 1/C, for wide networks at tau_0 = 1/d_m: C under NTK initialisation"
    " is at most C under LeCun and under He initialisation with the same Gaussian draws, C_Q = C_K = C_V = C_O = 1",
    doubt="The sentence names neither tau_0 nor a width. At tau_0 = d_m^{-1/2} for all three, as Figure 5 seems to have it, 1/C"
    " can be the larger under LeCun and He: eta = 1/d makes their logits smaller. At N = d_s = C_x = l(theta^0) = 1, norms"
    " sqrt(d_m) + sqrt(d) and widths from 100 to 10^7 it is under LeCun from d = 2 on, under He from d = 4 on. At d = 1 NTK has"
    " the larger one at every width and tau_0 (convergence.init-stepsize-one-dimension).",
    note="tau_1 = d_m^{-1/2} against 1: at tau_0 = 1/d_m C stays bounded under NTK as d_m grows, by A, and is at least"
    " c_1 c_2 >= rho^2 lambda_V^2, of order d_m / d, under LeCun and He. That 1/C is an admissible step at all is what Eq. (37)"
    " fails to give.",
    uses=("convergence.eq-44",),
)


def _C_of(
    N: int, d_s: int, tau_0: Any, tau_1: Any, C_x: Any, Q: Any, K: Any, V: Any, O: Any, loss: Any
) -> tuple[Any, Any]:
    b = Scalars(N, d_s, tau_0, tau_1, C_x, Q + 1, K + 1, V + 1, O + 1)
    return b.c_1() * b.c_2(), 2 * b.c_3() * loss


def _wide_constants(
    N: int, d_s: int, d: int, d_m: Any, tau_0: Any, tau_1: Any, C_x: Any, Q: Any, K: Any, V: Any, g: Any, loss: Any
) -> Any:
    """C of Eq. (37) under LeCun and under He, whose weights are sqrt(2) times as large; shape (2,)."""
    constants = []
    for gain in (1, 2):
        of_tokens, of_output = sqrt(loss * 0 + rational(gain, d)), sqrt((loss * 0 + gain) / d_m)
        norms = (Q * of_tokens, K * of_tokens, V * of_tokens, g * of_output)
        constants.append(sum(_C_of(N, d_s, tau_0, tau_1, C_x, *norms, loss)))
    return stacked(constants)


@INIT_STEPSIZE.inputs
def wide_networks(
    N: N_samples, d_s: Length, d: Directions, C_x: Positive, q: Middle, k: Middle, v: Middle, o: Middle, loss: Positive,
    extra: Annotated[Any, Real(0.0, 2.0)],
) -> dict[str, Any]:  # fmt: skip
    """Q, K, V, g: norms of standard Gaussian draws, in units of sqrt(d_m) between 1/2 and 3."""
    one, three = loss * 0 + 1, loss * 0 + 3
    A = sum(_C_of(N, d_s, one, one, C_x, three, three, three, three, loss))
    d_m = maximum(stacked([one * d, A * (4 * d) / (C_x**2 * (N * d_s**3))])) * (1 + extra)
    norms = {name: share * sqrt(d_m) for name, share in (("Q", q), ("K", k), ("V", v), ("g", o))}
    return {"N": N, "d_s": d_s, "d": d, "d_m": d_m, "C_x": C_x, **norms, "loss": loss}


@INIT_STEPSIZE.formula
def C_under_LeCun_and_He(N: N_samples, d_s: Length, d: Directions, d_m: Positive, C_x: Positive, Q: Positive,
                         K: Positive, V: Positive, g: Positive, loss: Positive) -> Any:  # fmt: skip
    """C of Eq. (37) for tau_1 = 1, tau_0 = 1/d_m, weights over sqrt(d) and w_O over sqrt(d_m), times sqrt(2) for He."""
    return _wide_constants(N, d_s, d, d_m, 1 / d_m, loss * 0 + 1, C_x, Q, K, V, g, loss)


@INIT_STEPSIZE.oracle
def C_under_NTK(N: N_samples, d_s: Length, d_m: Positive, C_x: Positive, Q: Positive, K: Positive, V: Positive,
                g: Positive, loss: Positive) -> Any:  # fmt: skip
    return stacked([sum(_C_of(N, d_s, 1 / d_m, 1 / sqrt(d_m), C_x, Q, K, V, g, loss))] * 2)


INIT_STEPSIZE.mutant("scaling factor of NTK for all", "loss * 0 + 1 -> 1 / sqrt(d_m)")
INIT_STEPSIZE.mutant("d_m less in C", lambda value, d_m: value / d_m)


STEPSIZE_AT_D_1 = Claim(
    CONVERGENCE,
    "convergence.init-stepsize-one-dimension",
    label="Section 4.4 / C.5-C.6, at d = 1",
    statement=r"d=1:\ C\text{ under NTK initialisation is at most }C\text{ under LeCun and He initialisation, at every width and"
    r" }\tau_0",
    assumptions=[
        "d = 1, where eta_Q, eta_K, eta_V agree for LeCun and NTK and are 2 for He",
        "the same Gaussian draws, tau_0, l(theta^0)",
    ],
    relation=AtMost(),
    sizes={"N": (1, 4), "d_s": (1, 3), "d_m": (2, 64)},
    of_project=True,
    note="With g = ||w_O|| / sqrt(eta_O): every term of c_1, c_2 and c_3 under NTK has tau_1 = d_m^{-1/2} against 1, and"
    " (g + 1) / sqrt(d_m) <= g / sqrt(d_m) + 1.",
)


@STEPSIZE_AT_D_1.formula
def C_under_LeCun_and_He_at_d_1(N: N_samples, d_s: Length, d_m: Width, tau_0: Positive, C_x: Positive, Q: Positive,
                                K: Positive, V: Positive, g: Positive, loss: Positive) -> Any:  # fmt: skip
    """C of Eq. (37) for tau_1 = 1 and ||w_O|| = g / sqrt(d_m), and with all norms times sqrt(2); shape (2,)."""
    return _wide_constants(N, d_s, 1, d_m, tau_0, rational(1), C_x, Q, K, V, g, loss)


@STEPSIZE_AT_D_1.oracle
def C_under_NTK_at_d_1(N: N_samples, d_s: Length, d_m: Width, tau_0: Positive, C_x: Positive, Q: Positive, K: Positive,
                       V: Positive, g: Positive, loss: Positive) -> Any:  # fmt: skip
    return stacked([sum(_C_of(N, d_s, tau_0, 1 / sqrt(d_m), C_x, Q, K, V, g, loss))] * 2)


STEPSIZE_AT_D_1.mutant("scaling factor of NTK for all", "rational(1) -> 1 / sqrt(d_m)")
STEPSIZE_AT_D_1.mutant("d_m^2 less in C", lambda value, d_m: value / (d_m * d_m))
