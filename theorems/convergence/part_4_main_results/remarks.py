"""The remarks after Theorem 1 (its probability) and after Assumption 3 (the exponent c_hat), both refuted."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.part_4_main_results.theorems_1_and_2 import Small
from theorems.convergence.part_c_1_lemmas.constants import stacked
from theorems.convergence.settings import Length, Positive
from verify.matrix import exp
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Real, checked

# -- the probability ---------------------------------------------------------------------------------------------------


def infimum_over_c_hat(d_s: Length, c_0: Positive) -> Any:
    """The limit of exp(-c_0 (N - 1)^{-c^} / d_s) as c^ tends to 0."""
    return exp(-c_0 / d_s)


PROB_SMALL = Claim(CONVERGENCE, "convergence.thm-1-prob-small", label="Remark after Theorem 1",
    statement=r"""\text{The quantity }\exp(-\Omega((N-1)^{-\hat c}d_s^{-1}))\text{ can be small for a small enough }\hat
        c\text{ as discussed in Assumption 3.}""",
    assumptions=[
        Definition(
            "c_0, the constant hidden in Omega, is fixed and N >= 2; what the quantity can be made is its infimum over c^ > 0",
            by=infimum_over_c_hat,
        ),
        Assumption("epsilon, c_0 > 0", positive=lambda epsilon, c_0: stacked([epsilon, c_0])),
    ],
    name="small probability term of Theorem 1", relation=AtMost(signed=True), sizes={"d_s": (1, 4)}, expects="refuted",
    severity="error", correction="convergence.thm-1-prob-bounded-below",
    note=r"""Read as: for every $\epsilon > 0$ some $\hat c > 0$ makes it at most $\epsilon$, that is, inf over $\hat c$
        of it is at most $\epsilon$. $(N - 1)^{-\hat c}$ is at most 1 for $N \ge 2$, so the infimum, reached as $\hat c$
        tends to 0, is $\exp(-c_0 / d_s) > 0$. Nor does the proof give more: its $\exp(-t^{\hat c})$ at a fixed $t$
        tends to $1/e$ as $\hat c$ tends to 0. The quantity tends to 1 with $d_s$, and for any fixed $\hat c$ with $N$:
        there the stated probability of Theorem 1 is vacuous. A smaller $\hat c$ does make the quantity smaller, and
        where $c_0$ is many times $d_s$ its limit is small; but then $c_0$ does it, not $\hat c$.""")  # fmt: skip


@PROB_SMALL.formula
def any_bound(d_s: Length, c_0: Positive, epsilon: Small) -> Any:
    """epsilon."""
    return epsilon


PROB_SMALL.oracle(infimum_over_c_hat)
PROB_SMALL.mutant("2 epsilon", "epsilon -> 2 * epsilon")
PROB_SMALL.mutant("1 - epsilon", "epsilon -> 1 - epsilon")
PROB_SMALL.counterexample("c_0 = 1, d_s = 2, epsilon = 1/10: the quantity is above 0.6 for every c^ and N", d_s=2,
    c_0=Fraction(1), epsilon=Fraction(1, 10))  # fmt: skip


PROB_BELOW = Claim(CONVERGENCE, "convergence.thm-1-prob-bounded-below", label="The quantity of Theorem 1, from below",
    statement=r"\exp(-c_0d_s^{-1})\le\exp(-c_0(N-1)^{-\hat c}d_s^{-1})\quad\forall c_0>0,\ \hat c>0,\ N\ge2",
    name="probability term of Theorem 1, lower bound",
    assumptions=[
        Assumption("c_0 > 0", positive=lambda c_0: c_0),
        Assumption("p = (N - 1)^{-c^} in (0, 1]", positive=lambda p: p, nonnegative=lambda p: 1 - p),
    ],
    relation=AtMost(left="exp(-c_0 / d_s)"), all_sizes=True,
    sizes={"d_s": (1, 4)}, corrects="convergence.thm-1-prob-small", of_project=True,
)  # fmt: skip


@PROB_BELOW.formula
def quantity_of_theorem_1(d_s: Length, c_0: Positive, p: Annotated[Any, Real(0.0625, 1.0)]) -> Any:
    """exp(-c_0 p / d_s), p = (N - 1)^{-c^}."""
    return exp(-c_0 * p / d_s)


PROB_BELOW.oracle(lambda d_s, c_0: exp(-c_0 / d_s))
PROB_BELOW.mutant("d_s dropped", lambda c_0, p: exp(-c_0 * p * 1))
PROB_BELOW.mutant("p doubled", lambda d_s, c_0, p: exp(-c_0 * p * 2 / d_s))


@checked
def allowed_at_larger_exponents(r: Annotated[Any, Real(0.0625, 3.0)]) -> Any:
    """exp(-t^c^) at c^ = 1 and 2, t = r^2, and its limit 1/e as c^ -> 0, shape (3,)."""
    return stacked([exp(-(r**2)), exp(-(r**4)), exp(r * 0 - 1)])


def allowed_at_smaller_exponents(r: Annotated[Any, Real(0.0625, 3.0)]) -> Any:
    """exp(-t^c^) at c^ = 1/2 and 1, and the probability 1 of an inner product t if there is one sample only."""
    return stacked([exp(-r), exp(-(r**2)), r * 0 + 1])


C_HAT = Claim(CONVERGENCE, "convergence.assumption-3-chat", label="Remark after Assumption 3",
    statement=r"""\mathbb P(|\langle X_n^\top X_n,X_{n'}^\top X_{n'}\rangle|\ge t)\le\exp(-t^{\hat c}):\ \text{A larger
        }\hat c\text{ results in less separable data. Our assumption has no requirement on }\hat c\text{ such that }\hat
        c\text{ can be small enough, which allows for a general data distribution.}""",
    assumptions=[
        Definition("decided at c^ = 1 against 1/2, at 2 against 1, and as c^ -> 0; t = r^2", by=allowed_at_larger_exponents),
        Definition("general data: also a law on one sample alone, <X^T X, X^T X> = t", by=allowed_at_smaller_exponents),
        Assumption("t > 0", positive=lambda r: r),
    ],
    name="exponent of the dissimilarity assumption", relation=AtMost(), expects="refuted", severity="error",
    correction="convergence.assumption-3-below-one",
    note=r"""$\exp(-t^{\hat c})$ falls in $\hat c$ for $t > 1$ and rises for $t < 1$: no single range of $t$ keeps both
        sentences. For $t < 1$, where Lemma 15 uses the assumption and normalised data live, a larger $\hat c$ does
        allow more similar data, and a smaller one asks for more: the second sentence turns into its opposite. For $t >
        1$ the first is false. Nor does any $\hat c$ admit general data: $\exp(-t^{\hat c}) < 1$ for $t > 0$, so pairs
        whose inner product is bounded below by any positive number almost surely are excluded for every $\hat c$; as
        $\hat c$ tends to 0 the bound tends to $1/e$ for all $t$, so that dissimilar pairs need a probability of at
        least $1 - 1/e$ at every level.""")  # fmt: skip


C_HAT.formula(allowed_at_larger_exponents)
C_HAT.oracle(allowed_at_smaller_exponents)
C_HAT.mutant("exp(t^c^)", lambda r: stacked([exp(r**2), exp(r**4), exp(r * 0 + 1)]))
C_HAT.mutant("exponents doubled", lambda r: stacked([exp(-(r**4)), exp(-(r**8)), exp(r * 0 - 1)]))
C_HAT.counterexample(
    "t = 4: exp(-2) at c^ = 1/2, exp(-4) at c^ = 1; equal samples have 1, small c^ allow 1/e", r=Fraction(2)
)


@checked
def tails_below_one(r: Annotated[Any, Real(0.0625, 1.0)], q: Annotated[Any, Real(0.0625, 8.0)]) -> Any:
    """exp(-t^c^) at c^ = 1 and 2 for t = r^2, then 1 / (1 + q), shape (3,)."""
    return stacked([exp(-(r**2)), exp(-(r**4)), 1 / (1 + q)])


BELOW_ONE = Claim(CONVERGENCE, "convergence.assumption-3-below-one", label="The tail of Assumption 3 for t <= 1",
    statement=r"""0<t\le1,\ \hat c\le\hat c'\Rightarrow\exp(-t^{\hat c})\le\exp(-t^{\hat c'});\qquad\exp(-t^{\hat
        c})\le\tfrac1{1+t^{\hat c}}<1\quad\forall t,\hat c>0""",
    assumptions=[
        Definition(
            "the first decided at c^ = 1/2 against 1 and at 1 against 2, t = r^2; q stands for t^c^ in the second",
            by=tails_below_one,
        ),
        Assumption("0 < t <= 1 in the first", positive=lambda r: r, nonnegative=lambda r: 1 - r),
        Assumption("q > 0", positive=lambda q: q),
    ],
    name="dissimilarity tail at small levels", relation=AtMost(left="exp(-t^c^) at c^ = 1/2 and 1, exp(-q)"), all_sizes=True,
    corrects="convergence.assumption-3-chat", of_project=True,
    note=r"""$t^{\hat c}$ falls with $\hat c$ for $t \le 1$, the range in which Lemma 15 uses Assumption 3; $\exp(x) \ge
        1 + x$ gives the rest.""")  # fmt: skip


BELOW_ONE.formula(tails_below_one)
BELOW_ONE.oracle(lambda r, q: stacked([exp(-r), exp(-(r**2)), exp(-q)]))
BELOW_ONE.mutant("exponents the other way round", lambda r, q: stacked([exp(-r), exp(-r), 1 / (1 + q)]))
BELOW_ONE.mutant("1 - t^c^", lambda r, q: stacked([exp(-(r**2)), exp(-(r**4)), 1 - q]))
BELOW_ONE.mutant("1 / (1 + t^c^)^2, which serves for t <= 1", "1 / (1 + q) -> 1 / (1 + q) ** 2")
