"""Theorems 1 and 2 (global convergence), why Assumption 3 does not carry them, and what does hold for one token.

Two samples on one direction keep the loss above 0 at any width, and the printed probability does not exclude them.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import (
    WEIGHTS, KeyWeights, Labels, OutputWeights, QueryWeights, Samples, ValueWeights, outputs, squared_loss,
)  # fmt: skip
from theorems.convergence.part_b_background.sub_exponential import logarithm
from theorems.convergence.part_c_1_lemmas.constants import (
    NOT_NARROW, ROOM_ONE, TINY, Bounds, Scalars, sample_bound, stacked,
)  # fmt: skip
from theorems.convergence.part_d_1_limiting_kernel.gradients import Tokens
from theorems.convergence.settings import Dimension, Positive, SampleCount, Width, drawn
from verify.matrix import exp, maximum, rational, spectral_norm, sqrt, stack_rows
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Real, Setting, Shape, checked, realises

Small = Annotated[Any, Real(0.0078125, 0.125)]
Errors = Annotated[Any, Shape("2", "1")]


def all_distinct(N: int, d: int) -> Fraction:
    """The probability that N uniform draws among d directions all differ, by enumeration."""
    outcomes = list(itertools.product(range(d), repeat=N))
    return Fraction(sum(len(set(outcome)) == N for outcome in outcomes), len(outcomes))


def powers_of_alpha(least: Any, d_m: Any, share: Any) -> Any:
    squared = d_m * least * share
    return stacked([squared, squared * sqrt(squared)])


# -- Theorems 1 and 2 --------------------------------------------------------------------------------------------------

EQUAL_SAMPLES = Claim(CONVERGENCE, "convergence.equal-samples-loss", label="Equal samples with different labels",
    statement=r"X_1=X_2\ \Rightarrow\ \ell(\theta)\ge\tfrac14(y_1-y_2)^2\ \text{for all }\theta",
    name="loss floor of equal samples", assumptions=[
        Definition("f as in Eqs. (1.1)-(1.2)", by=outputs),
        Assumption("N = 2 samples, X_1 = X_2", zero=lambda X: X[0] - X[1]),
    ],
    general="It holds of every network: equal samples have equal outputs.",
    relation=AtMost(left="(y_1 - y_2)^2 / 4", ascent=False), sizes={"d_s": (1, 3), "d": (1, 2), "d_m": (1, 3)},
    of_project=True,
    note="$f(X_1) = f(X_2)$, and $((f - y_1)^2 + (f - y_2)^2) / 2$ is least where $f$ is the mean of both labels.",
)  # fmt: skip


def _of_two(X: Any, errors: Any, weights: list[Any], tau_0: Any, tau_1: Any) -> dict[str, Any]:
    """Two samples and weights, with labels that make `errors` the errors of the outputs."""
    network = {**dict(zip(WEIGHTS, weights, strict=True)), "tau_0": tau_0, "tau_1": tau_1}
    return {"X": X, "y": outputs(X, **network) - errors, **network}


@EQUAL_SAMPLES.inputs
@realises({"X_1 = X_2": "one sample is taken twice"})
def one_sample_twice(X: Tokens, errors: Errors, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights,
                     w_O: OutputWeights, tau_0: Positive, tau_1: Positive) -> dict[str, Any]:  # fmt: skip
    twice = stack_rows([X.reshape(1, -1), X.reshape(1, -1)]).reshape(2, *X.shape)
    return _of_two(twice, errors, [W_Q, W_K, W_V, w_O], tau_0, tau_1)


@EQUAL_SAMPLES.domain("opposite errors")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Where f is the mean of both labels."""
    arrays["errors"][:, 1] = -arrays["errors"][:, 0]


EQUAL_SAMPLES.oracle(lambda y: (y[0, 0] - y[1, 0]) * (y[0, 0] - y[1, 0]) * rational(1, 4))

PROPORTIONAL = Claim(CONVERGENCE, "convergence.proportional-samples-loss", label="Proportional samples of one token",
    statement=r"""d_s=1,\ X_2=cX_1,\ c>0\ \Rightarrow\ \ell(\theta)\ge\frac{(cy_1-y_2)^2}{2(1+c^2)}\ \text{for all
        }\theta""",
    name="loss floor of proportional samples",
    assumptions=[
        Definition("f as in Eqs. (1.1)-(1.2)", by=outputs),
        Assumption("N = 2 samples of one token each, X_2 = c X_1", zero=lambda X, c: X[1] - X[0] * c),
        Assumption("c > 0", positive=lambda c: c),
    ], general="Of the network only $f(cX) = cf(X)$ enters.",
    relation=AtMost(ascent=False),
    sizes={"d": (1, 3), "d_m": (1, 3)}, of_project=True,
    note="""A single token gets all attention, so that $f(cX) = c f(X)$, and $((f - y_1)^2 + (c f - y_2)^2) / 2$ is
        least at $f = (y_1 + c y_2) / (1 + c^2)$. Independent continuous labels keep it above 0 almost surely.""",
)  # fmt: skip


@PROPORTIONAL.inputs
@realises({"X_2 = c X_1": "the second sample is computed as c times the first"})
def one_sample_and_its_multiple(X: Annotated[Any, Shape("1", "d")], c: Positive, errors: Errors, W_Q: QueryWeights,
                                W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights, tau_0: Positive,
                                tau_1: Positive) -> dict[str, Any]:  # fmt: skip
    both = stack_rows([X, X * c]).reshape(2, *X.shape)
    return {**_of_two(both, errors, [W_Q, W_K, W_V, w_O], tau_0, tau_1), "c": c}


@PROPORTIONAL.domain("where f is best")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Errors proportional to c and -1."""
    arrays["errors"][:, 0, 0] = arrays["c"] * arrays["errors"][:, 1, 0]
    arrays["errors"][:, 1, 0] *= -1


@PROPORTIONAL.oracle
def least_loss_of_proportional_samples(y: Labels, c: Positive) -> Any:
    gap = c * y[0, 0] - y[1, 0]
    return gap * gap / (2 * (1 + c * c))


@checked
def loss_of_two_samples(X: Samples, y: Labels, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights,
                        w_O: OutputWeights, tau_0: Positive, tau_1: Positive) -> Any:  # fmt: skip
    """l(theta), a scalar."""
    return squared_loss(X, y, W_Q, W_K, W_V, w_O, tau_0, tau_1)


THREE_SAMPLES = Claim(CONVERGENCE, "convergence.three-samples-loss", label="Three samples in one dimension",
    statement=r"""d=d_s=1,\ N=3,\ x_1,x_2>0>x_3\ \Rightarrow\ f(x)=a\sigma_r(x)+b\sigma_r(-x)\text{ for some }a,b;\
        \ell(\theta)\ge\frac{(x_2y_1- x_1y_2)^2}{2(x_1^2+x_2^2)}\ \text{for all }\theta\text{ of any width}""",
    assumptions=[
        Definition("f as in Eqs. (1.1)-(1.2)", by=outputs),
        Assumption("x_1, x_2, -x_3 > 0", positive=lambda X: stacked([X[0, 0, 0], X[1, 0, 0], -X[2, 0, 0]])),
    ],
    name="loss floor of three scalar samples", relation=AtMost(ascent=False), sizes={"d_m": (1, 4)}, of_project=True,
    note=r"""A single token gets all attention and $\mathrm{relu}(m v) = \mathrm{relu}(m) \mathrm{relu}(v) +
        \mathrm{relu}(-m) \mathrm{relu}(-v)$, so that $f(x_1)/x_1 = f(x_2)/x_2$. For 9/10, 1/2, -2/5 with labels 1, -1,
        3/10 the bound is 49/53.""")  # fmt: skip


@THREE_SAMPLES.inputs
def two_positive_and_one_negative(first: Positive, second: Positive, third: Positive,
                                  errors: Annotated[Any, Shape("3", "1")], W_Q: Annotated[Any, Shape("d_m", "1")],
                                  W_K: Annotated[Any, Shape("d_m", "1")], W_V: Annotated[Any, Shape("d_m", "1")],
                                  w_O: OutputWeights, tau_0: Positive, tau_1: Positive) -> dict[str, Any]:  # fmt: skip
    return _of_two(stacked([first, second, -third]).reshape(3, 1, 1), errors, [W_Q, W_K, W_V, w_O], tau_0, tau_1)


@THREE_SAMPLES.domain("where f is best")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Errors proportional to x_2 and -x_1, none at the third sample."""
    arrays["errors"][:, 0, 0] = arrays["second"]
    arrays["errors"][:, 1, 0] = -arrays["first"]
    arrays["errors"][:, 2, 0] = 0.0


@THREE_SAMPLES.oracle
def least_loss_of_three_samples(X: Samples, y: Labels) -> Any:
    first, second = X[0, 0, 0], X[1, 0, 0]
    gap = second * y[0, 0] - first * y[1, 0]
    return gap * gap / (2 * (first * first + second * second))


for claim in (EQUAL_SAMPLES, PROPORTIONAL, THREE_SAMPLES):
    claim.formula(loss_of_two_samples)
    claim.mutant("half of the loss", lambda value: value * rational(1, 2))
    claim.mutant("loss of the other samples than the first", "X -> X[1:]; y -> y[1:]")


def _assumption_3(s: Any) -> Any:
    """exp(-s) - P(U U' >= s) at a level 0 < s < 1."""
    return exp(-s) - (1 - s + s * logarithm(s))


_DATA: list[Assumption | Definition] = [
    Definition(
        "iid samples: d = d_s = 1, X = sqrt(U) or -sqrt(U) with equal probability, U uniform on [0, 1]; labels N(0, 1), "
        "independent. They meet Assumption 1 with C_x = 1, and Assumption 2 with probability 1",
        by=all_distinct,
    ),
    Assumption(
        "Assumption 3 with c^ = 1: <X^T X, X'^T X'> = U U', and P(U U' >= s) = 1 - s + s log s <= exp(-s)",
        nonnegative=_assumption_3,
    ),
    Assumption(
        "the hidden constant c_0 of Omega positive, delta > 0", positive=lambda c_0, delta: stacked([c_0, delta])
    ),
]
READING_NOTE = r"""With the stated probability the loss tends to 0, as Eq. (4) says wherever $\alpha > 0$. The bound is the
    probability that no two samples have one sign, 0 from $N = 3$ on: $f(x) = a\,\mathrm{relu}(x) +
    b\,\mathrm{relu}(-x)$ at every width, with some $a$ and $b$, so two samples $x_1$, $x_2$ of one sign keep $\ell
    \ge (x_2 y_1 - x_1 y_2)^2 / (2 (x_1^2 + x_2^2))$ at all
    weights (convergence.three-samples-loss), and labels that are independent of them make this positive almost surely: 49/53
    for the samples 9/10, 1/2, -2/5 and labels 1, -1, 3/10. No two samples coincide. The stated probability tends to $1 -
    \exp(-c_0 / (N - 1)) > 0$ as $d_m$ grows and $\delta$ falls, whatever $c_0 > 0$ is. In $d$ dimensions one token
    stretched at random along $d$ orthogonal directions does the same from $N = d + 1$ on
    (convergence.proportional-samples-loss), and so do equal samples (convergence.equal-samples-loss). With factors
    uniform on [1/2, 1] and $d \ge 2$ every such sample has $XX^\top \ge 1/4$, so that Assumption 2 holds with one constant
    $C_\lambda$ and not only with probability 1, and Assumption 3 holds with $\hat c = 1$. Assumption 3 speaks of
    one pair, and Lemma 15 uses it for all of them without the factor $N(N - 1)/2$. For $N = 1$ the term is $\exp(-\infty)$;
    for $N$ or $d_s$ large the stated probability is negative and says nothing. Taken literally a global minimum may have a
    positive loss, and with $\alpha = 0$ Eq. (4) forbids nothing but growth: then the counterexample, where gradient descent
    may well reach the best fit, decides nothing. A loss that tends to 0 is what the paper means: Proposition 1 has 'converges
    to a global minimum as follows: (4)', its proof sketch 'will drive the loss to zero', and the proof ends with 'the
    conditions ... are satisfied', which takes $\alpha > 0$ unless $\ell(\theta^0) = 0$."""


def data_under(scheme: str) -> list[Assumption | Definition]:
    """What a statement about these data assumes; what it says of the weights and the width is met at all of them."""
    met = "; the bound of the probability holds at all weights and widths, as large as one likes"
    return [Definition(scheme + met, by=all_distinct), *_DATA]


THEOREMS = Setting(CONVERGENCE, "Theorems 1 and 2", sizes={"N": (2, 4), "d_m": (48, 64)})
ON_SAMPLES = (
    "convergence.three-samples-loss", "convergence.equal-samples-loss", "convergence.proportional-samples-loss",
)  # fmt: skip

THM_1 = Claim(THEOREMS, "convergence.thm-1", label="Theorem 1",
    statement=r"""\text{Under the setting of LeCun/He initialization in Table 1 and Assumptions 1 to 3, suppose }d_m\ge
        d\text{, and given }\tau_0=d_m^{-1/2},\ d_m=\tilde\Omega(N^3)\text{, then with probability at least
        }1-8e^{-d_m/2}-\delta-\exp(-\Omega((N-1)^{-\hat c}d_s^{-1}))\text{ for proper }\delta\text{, the GD training of
        Transformer converges to a global minimum with sufficiently small step size }\gamma\text{ as in Eq. (4).}""",
    assumptions=data_under("LeCun or He initialisation, tau_0 = d_m^{-1/2}"),
    name="global convergence under LeCun and He initialisation",
    relation=AtMost(left="the stated probability", signed=True), expects="refuted",
    severity="error", correction="convergence.thm-1-one-token", uses=ON_SAMPLES,
    proof=(
        "convergence.prop-1", "convergence.lemma-15", "convergence.lemma-5", "convergence.eq-45-46",
        "convergence.eq-47-psd-sum", "convergence.eq-48", "convergence.loss-init-sqrt-n",
    ),
    consequence=r"""No width guarantees convergence on data that merely satisfy Assumptions 1 to 3; for given samples
        with $\lambda_0 > 0$ and one token use the explicit width of convergence.thm-1-one-token.""",
    note=READING_NOTE + r""" 'Proper delta' is any $\delta \in (0, 1)$, on which the width depends through a logarithm,
        as in the proof; if it may be as large as one likes, nothing is stated.""")  # fmt: skip
THM_2 = Claim(THEOREMS, "convergence.thm-2", label="Theorem 2", name="global convergence under NTK initialisation",
    statement=r"""\text{Under the setting of NTK initialization in Table 1 and Assumptions 1 to 3, suppose
        }d_m=\tilde\Omega(N)\text{, then with probability at least }1-8e^{-d_m/2}-\delta-\exp(-\Omega((N-1)^{-\hat
        c}d_s^{-1}))\text{, the GD training of Transformer converges to a global minimum with sufficiently small
        }\gamma\text{ as in Eq. (4).}""",
    assumptions=data_under("NTK initialisation, tau_0 = d_m^{-1}"),
    relation=AtMost(left="the stated probability", signed=True), expects="refuted",
    severity="error", correction="convergence.thm-2-one-token", uses=ON_SAMPLES,
    proof=(
        "convergence.prop-1", "convergence.lemma-15", "convergence.eq-47-psd-sum", "convergence.eq-57-58",
        "convergence.eq-60-61",
    ),
    note=READING_NOTE + r""" Besides, Eqs. (60) and (61) have $d_m \lambda_0 / 4$ for $\alpha^2$ although $\tau_1^2 =
        1/d_m$: both sides of Eqs. (2) and (3) are of order 1 in $d_m$, and no width makes them hold.""",
    consequence="""Neither Assumptions 1 to 3 nor any width guarantee that training from NTK initialisation
        converges; check that the initial loss is small enough, as convergence.thm-2-one-token states it.""",
)  # fmt: skip


def _constant(value: Fraction, like: Any) -> Any:
    return like * 0 + rational(value.numerator, value.denominator)


def _stated(N: int, d_m: int, delta: Any, c_0: Any) -> Any:
    """1 - 8 exp(-d_m / 2) - delta - exp(-c_0 (N - 1)^{-c^} / d_s) with c^ = d_s = 1."""
    return 1 - exp(delta * 0 - rational(d_m, 2)) * 8 - delta - exp(-c_0 / (N - 1))


def _three_samples(delta: Fraction, c_0: Fraction) -> dict[str, Any]:
    return {"N": 3, "d_m": 64, "s": Fraction(1, 100), "delta": delta, "c_0": c_0}


Inside = Annotated[Any, Real(0.0078125, 0.9921875)]
data_of_the_theorems = drawn(N=SampleCount, d_m=Width, s=Inside, delta=Small, c_0=Positive)


@checked
def attainable_probability(N: SampleCount, delta: Small) -> Any:
    """P(no two of the N samples have one sign), which bounds the probability that the loss tends to 0; a scalar."""
    return _constant(all_distinct(N, 2), delta)


def refuted_by_three_samples(claim: Claim) -> None:
    """Inputs, formula and counterexamples of a statement that training converges with the probability of Theorem 1."""
    claim.inputs(data_of_the_theorems)
    claim.formula(attainable_probability)
    claim.oracle(lambda N, d_m, delta, c_0: _stated(N, d_m, delta, c_0))
    claim.mutant("the first two samples have different signs", N=2)
    claim.mutant("not all samples have one sign", lambda N, delta: _constant(1 - Fraction(1, 2 ** (N - 1)), delta))
    claim.counterexample(
        "3 samples of R: two of them have one sign; stated with probability above 0.38",
        lambda: _three_samples(Fraction(1, 100), Fraction(1)),
    )
    claim.counterexample(
        "the same with c_0 = 1/50, delta = 1/1000: still stated with positive probability",
        lambda: _three_samples(Fraction(1, 1000), Fraction(1, 50)),
    )


for claim in (THM_1, THM_2):
    refuted_by_three_samples(claim)


ONE_TOKEN = Claim(CONVERGENCE, "convergence.thm-1-one-token",
    label="Theorem 1 under LeCun initialisation, for one token and given samples: the width that Eqs. (2) and (3) need",
    statement=r"""d_s=1,\ \lambda_0>0,\ \text{LeCun},\ \tau_0=d_m^{-1/2},\ d_m\ge\max\Big(d,\ w_{48},\
        \Big(\frac{32NC_xmE}{\lambda_0}\Big)^2,\ \frac{(1024N^{3/2}C_x^2BE)^2}{\lambda_0^3}\Big),\
        m=\max\Big(\frac4{\sqrt d},\frac{128C_x^2}d\Big),\ B=1+\frac{2048C_x^4}{d^2}\ \Rightarrow\ (2),(3)\text{ with
        probability at least }1-8e^{-d_m/2}-\delta_1-\delta_2,\text{ and (4) while no ReLU changes its state}""",
    assumptions=[
        Definition(
            "samples given; for d_s = 1 F_pre is tau_1 relu(Phi W_V^T), for the average as for the sum; alpha^2 at the bound "
            "d_m lambda_0 / 4 of Eq. (48), an event that fails with probability at most delta_1 from the width w_48 of "
            "convergence.eq-48 on, which is at least N",
            by=powers_of_alpha,
        ),
        Definition(
            "the norms at the bounds of Eq. (44) with the constant 4, an event that fails with probability at most 8 exp(-d_m/2); "
            "C_Q = C_K = C_V = C_O = 1",
            by=Scalars,
        ),
        Definition(
            "sqrt(2 l(theta^0)) at the bound sqrt(N) E, E = C_y + (v/delta_2)^{1/2}, an event that fails with probability at most "
            "delta_2",
            by=sqrt,
        ),
        Assumption("lambda_0, C_x, E > 0", positive=lambda least, C_x, E: stacked([least, C_x, E])),
        Assumption(
            "d_m is at least d and the last two members of the maximum",
            nonnegative=lambda N, d, least, C_x, E, d_m: stacked(
                [d_m - d, d_m - _sufficient_width(N, d, least, C_x, E)]
            ),
        ),
    ],
    name="sufficient width for one token, LeCun", relation=AtMost(), all_sizes=True, sizes={"N": (1, 4), "d": (1, 4)},
    uses=("convergence.eq-44", "convergence.eq-48", "convergence.loss-init-sqrt-n", "convergence.prop-1-fixed-pattern"),
    corrects="convergence.thm-1", of_project=True,
    note=r"""Decided on the three events, with every norm at its bound. The width is of order $N^3 / \lambda_0^3$, as
        the paper's is where $\lambda_0$ does not depend on $N$; what it cannot have from Assumption 3 is $\lambda_0 >
        0$. That gradient descent then converges is known while no ReLU changes its state, for the step sizes of
        convergence.prop-1-fixed-pattern; for more tokens $F_{pre}$ is no sum of positive semidefinite parts
        (convergence.eq-47-psd-sum).""")  # fmt: skip


def _sufficient_width(N: int, d: int, least: Any, C_x: Any, E: Any) -> Any:
    """The last two members of the maximum, which Eqs. (2) and (3) ask for."""
    m = maximum(stacked([4 / sqrt(least * 0 + d), C_x**2 * rational(128, d)]))
    B = 1 + C_x**4 * rational(2048, d * d)
    second = (C_x * m * E * (32 * N) / least) ** 2
    third = (C_x**2 * B * E * 1024) ** 2 * N**3 / least**3
    return maximum(stacked([second, third]))


@ONE_TOKEN.inputs
def width_for_one_token(N: SampleCount, d: Dimension, least: Positive, C_x: Positive, E: Positive,
                        extra: Annotated[Any, Real(0.0, 2.0)]) -> dict[str, Any]:  # fmt: skip
    width = maximum(stacked([_sufficient_width(N, d, least, C_x, E), least * 0 + d]))
    return {"N": N, "d": d, "least": least, "C_x": C_x, "E": E, "d_m": width * (1 + extra)}


@ONE_TOKEN.formula
def least_powers_of_alpha(least: Positive, d_m: Positive) -> Any:
    """alpha^2 and alpha^3 at alpha^2 = d_m lambda_0 / 4, shape (2,)."""
    return powers_of_alpha(least, d_m, rational(1, 4))


@ONE_TOKEN.oracle
def largest_right_sides(N: int, d: int, C_x: Positive, E: Positive, d_m: Positive) -> Any:
    """The right-hand sides of Eqs. (2) and (3) with the norms of Eq. (44), shape (2,)."""
    norm, one = 4 * sqrt(d_m / d), C_x * 0 + 1
    b = Scalars(N, 1, 1 / sqrt(d_m), one, C_x, norm, norm, norm, 4 * one)
    error = sqrt(one * N) * E
    return stacked([b.condition_2() * error, b.condition_3(b.Q) * error])


ONE_TOKEN.mutant("d_m lambda_0 / 8", share=rational(1, 8))
ONE_TOKEN.mutant("lambda_0 / 4, as under NTK initialisation", "d_m -> d_m / d_m")
ONE_TOKEN.mutant("lambda_0^2 for lambda_0", "least -> least * least")


THM_2_PAIRS = Claim(CONVERGENCE, "convergence.thm-2-all-pairs",
    label="Theorems 1 and 2, the probability that Assumption 3 gives for all pairs at once",
    statement=r"""\text{If }\mathbb P(|\langle X_n^\top X_n,X_{n'}^\top X_{n'}\rangle|\ge t)\le e^{-t^{\hat c}}\text{ for each
        pair }n\ne n'\text{ (Assumption 3), then }\mathbb P(|\langle X_n^\top X_n,X_{n'}^\top X_{n'}\rangle|<t\text{ for all
        }n\ne n')\ge1-\tfrac{N(N-1)}2e^{-t^{\hat c}}""",
    assumptions=[
        Definition(
            "samples of one token, independent and uniform on d orthogonal directions of squared norm sqrt(s), t <= s: each pair"
            " has P(|<.,.>| >= t) = 1/d, which stands for exp(-t^c^)",
            by=all_distinct,
        ),
    ],
    name="probability that all pairs are dissimilar", relation=AtMost(left="the union bound over pairs", signed=True),
    sizes={"N": (1, 4), "d": (1, 5)}, of_project=True,
    note="""The union bound over pairs, against enumeration; equality for $N \\le 2$. With or without this event, Eq. (4)
        follows from Eqs. (2) and (3), a step size of at most $1/C'$, and that no ReLU changes its state
        (convergence.prop-1-fixed-pattern); for NTK initialisation no width makes these hypotheses likely
        (convergence.eq-60-61).""")  # fmt: skip


def _union_bound(N: int, d: int, s: Any) -> Any:
    return _constant(1 - Fraction(N * (N - 1), 2 * d), s)


@THM_2_PAIRS.formula
def probability_of_dissimilar_pairs(N: SampleCount, d: Dimension, s: Small) -> Any:
    """P(no two of N uniform draws among d directions are equal), by enumeration; a scalar."""
    return _constant(all_distinct(N, d), s)


THM_2_PAIRS.oracle(lambda N, d, s: _union_bound(N, d, s))
THM_2_PAIRS.mutant("one sample more", "all_distinct(N, d) -> all_distinct(N + 1, d)")
THM_2_PAIRS.mutant("pairs of equal samples", "all_distinct(N, d) -> 1 - all_distinct(N, d)")


# -- NTK initialisation ------------------------------------------------------------------------------------------------

NTK_ONE_TOKEN = Claim(CONVERGENCE, "convergence.thm-2-one-token",
    label="Theorem 2, for one token and given samples: the initial loss that Eqs. (2) and (3) allow",
    statement=r"""d_s=1,\ \lambda_0>0,\ \text{NTK},\ \tau_0=d_m^{-1},\ d_m\ge\max(d,w_{48}),\
        \sqrt{2\ell(\theta^0)}\le\min\Big(\frac{\lambda_0}{128\sqrt NC_x\max(1,32C_x^2)},\
        \frac{(\lambda_0/4)^{3/2}\sqrt{d_m}}{128NC_x^2(1+2048C_x^4)}\Big)\ \Rightarrow\ (2),(3)\text{ with probability
        at least }1-8e^{-d_m/2}-\delta_1,\text{ and (4) while no ReLU changes its state}""",
    assumptions=[
        Definition(
            "samples given; for d_s = 1 F_pre is tau_1 relu(Phi W_V^T), for the average as for the sum; lambda_0 at eta_V = 1; "
            "alpha^2 at the bound lambda_0 / 4, an event that fails with probability at most delta_1 from the width w_48 of "
            "convergence.eq-60-61-scaled on",
            by=powers_of_alpha,
        ),
        Definition(
            "the event of Lemma 6: the four weights have norms at most 3 sqrt(d_m), hence lambda <= 4 sqrt(d_m) with "
            "C_Q = C_K = C_V = C_O = 1",
            by=Scalars,
        ),
        Assumption("lambda_0, C_x > 0", positive=lambda least, C_x: stacked([least, C_x])),
        Assumption(
            "sqrt(2 l(theta^0)) is at most both members of the minimum",
            nonnegative=lambda N, d_m, least, C_x, error: stacked(
                [allowed - error for allowed in _allowed_errors(N, d_m, least, C_x)]
            ),
        ),
    ],
    name="sufficient initial loss for one token, NTK", relation=AtMost(), all_sizes=True, sizes={"N": (1, 4), "d_m": (1, 6)},
    uses=("convergence.eq-60-61-scaled", "convergence.prop-1-initial-margin"), corrects="convergence.thm-2",
    of_project=True,
    note=r"""Decided on the two events, with every norm at its bound. Unlike under LeCun initialisation no width brings
        (2) about: it bounds the initial loss whatever the width (convergence.thm-2-loss-allowed), while labels of order
        1 give $\sqrt{2 \ell}$ of order $\sqrt{N}$.""")  # fmt: skip


def _allowed_errors(N: int, d_m: int, least: Any, C_x: Any) -> list[Any]:
    """The two members of the minimum, which Eqs. (2) and (3) ask for."""
    one, quarter = least * 0 + 1, least * rational(1, 4)
    first = least / (C_x * maximum(stacked([one, 32 * C_x**2])) * sqrt(one * N) * 128)
    return [first, quarter * sqrt(quarter) * sqrt(one * d_m) / (C_x**2 * (1 + 2048 * C_x**4) * (128 * N))]


@NTK_ONE_TOKEN.inputs
def loss_for_one_token(N: SampleCount, d_m: Width, least: Positive, C_x: Positive,
                       share: Annotated[Any, Real(0.5, 1.0)]) -> dict[str, Any]:  # fmt: skip
    error = -maximum(stacked([-allowed for allowed in _allowed_errors(N, d_m, least, C_x)])) * share
    return {"N": N, "d_m": d_m, "least": least, "C_x": C_x, "error": error}


@NTK_ONE_TOKEN.formula
def least_powers_of_alpha_ntk(least: Positive) -> Any:
    """alpha^2 and alpha^3 at alpha^2 = lambda_0 / 4, shape (2,)."""
    return powers_of_alpha(least, 1, rational(1, 4))


@NTK_ONE_TOKEN.oracle
def right_sides_of_ntk(N: int, d_m: int, C_x: Positive, error: Positive) -> Any:
    """The right-hand sides of Eqs. (2) and (3) with all norms at 4 sqrt(d_m), shape (2,)."""
    one = C_x * 0 + 1
    norm = 4 * sqrt(one * d_m)
    b = Scalars(N, 1, one / d_m, 1 / sqrt(one * d_m), C_x, norm, norm, norm, norm)
    return stacked([b.condition_2() * error, b.condition_3(b.Q) * error])


NTK_ONE_TOKEN.mutant("lambda_0 / 8", share=rational(1, 8))
NTK_ONE_TOKEN.mutant("lambda_0^2", "least -> least * least / 4")


LOSS_ALLOWED = Claim(CONVERGENCE, "convergence.thm-2-loss-allowed",
    label="Eq. (2) under NTK initialisation bounds the initial loss at every width",
    statement=r"""\tau_0=d_m^{-1},\ \tau_1=d_m^{-1/2},\ C_O=1,\ d_m\ge N,\ \|X_n\|_F\le\sqrt{d_s}C_x,\ C_x>0:\quad(2)\ \Rightarrow\
        \sqrt{2\ell(\theta^0)}\le\frac{d_s^{3/2}C_x}{8\sqrt N}\frac{\|W_V^0\|_2}{\sqrt{d_m}}""",
    assumptions=[
        Definition("tau_0 = 1/d_m, tau_1 = d_m^{-1/2}", by=Bounds), ROOM_ONE, NOT_NARROW,
        Definition("Assumption 1 with a C_x > 0, which is the least, or near 0 where all tokens are 0: with a larger C_x (2) asks"
                   " for more, and more is allowed", by=sample_bound),
    ],
    name="upper bound of the allowed initial loss", relation=AtMost(),
    sizes={"N": (1, 3), "d_s": (1, 3), "d": (1, 2), "d_m": (1, 4)},
    of_project=True,
    note=r"""$N \alpha^2 \le \|F_{pre}\|_F^2 \le (\rho \|W_V\|_2)^2$, and $\lambda_V > \|W_V\|_2$; $\|W_V\|_2 \le 3
        \sqrt{d_m}$ by Lemma 6. For the sum over tokens; the average leaves $d_s^2$ less.""")  # fmt: skip


@LOSS_ALLOWED.formula
def loss_that_condition_2_may_allow(X: Samples, W_V: ValueWeights) -> Any:
    """d_s^{3/2} C_x ||W_V||_2 / (8 sqrt(N d_m)), a scalar."""
    N, d_s = X.shape[:2]
    return (
        sample_bound(X) * spectral_norm(W_V) * sqrt(X.sum() * 0 + d_s**3) / (8 * sqrt(X.sum() * 0 + N * W_V.shape[0]))
    )


@LOSS_ALLOWED.oracle
def loss_that_condition_2_allows(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights,
                                 w_O: OutputWeights) -> Any:  # fmt: skip
    """alpha^2 over the factor of sqrt(2 l) in Eq. (2), alpha for the sum over tokens."""
    one = X.sum() * 0 + 1
    b = Bounds(X, W_Q, W_K, W_V, w_O, one / W_V.shape[0], 1 / sqrt(one * W_V.shape[0]), sample_bound(X) + TINY)
    return (b.alpha * X.shape[1]) ** 2 / b.condition_2()


LOSS_ALLOWED.inputs(drawn(X=Samples, W_Q=QueryWeights, W_K=KeyWeights, W_V=ValueWeights, w_O=OutputWeights))


@LOSS_ALLOWED.domain("one large active neuron")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """One sample of one token and one neuron of large weight, where the bound is nearly attained."""
    arrays["X"][:] = 0.0
    arrays["X"][..., 0] = 2.0**-6
    for name in ("W_Q", "W_K", "W_V", "w_O"):
        arrays[name][:] = 0.0
    arrays["W_V"][:, 0, 0] = rng.choice([64.0, 256.0], len(arrays["X"]))


LOSS_ALLOWED.mutant("half", lambda value: value * rational(1, 2))
LOSS_ALLOWED.mutant("16 for 8", "8 -> 16")
