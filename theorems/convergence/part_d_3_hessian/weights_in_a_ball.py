"""Weights in a ball around their initialisation: Lemma 20 and the exact tail behind it."""

from __future__ import annotations

import math
from typing import Annotated, Any

import flint

from theorems.convergence import CONVERGENCE
from theorems.convergence.settings import GAUSSIAN, Width, drawn
from verify.arithmetics import is_tensor
from verify.matrix import exp, rational
from verify.oracles import LawTest, at_most_probability, standard_normal
from verify.vocabulary import Assumption, AtMost, Claim, Definition, FollowsLaw, Real

Radius = Annotated[Any, Real(0.0, 8.0)]
Amount = Annotated[Any, Real(0.0, 8.0)]


def leaving_the_ball(formula: Any, generator: Any, samples: int, d_m: Width, R: Radius) -> list[LawTest]:
    """How often the farthest point of the ball exceeds the bound, at the drawn sizes and at the telling ones."""
    tests = []
    for width, radius in dict.fromkeys([(d_m, float(R)), (2, 0.0), (3, 8.0), (12, 0.5), (12, 8.0)]):
        w = standard_normal(generator, None, samples, width)
        farthest = w * (1 + radius / w.norm(dim=1, keepdim=True))
        bound, probability = formula(width, radius)
        failed = farthest.norm(dim=1) > bound
        tests.append(at_most_probability(f"d_m = {width}, R = {radius}", int(failed.sum()), len(failed), probability))
    return tests


LEMMA_20 = Claim(CONVERGENCE, "convergence.lemma-20", label="Lemma 20", name="norm of weights in a ball",
    statement=r"""w\in\mathbb R^{d_m}\text{ iid }\mathcal N(0,1),\ \|\tilde w-w\|_2\le R\Rightarrow\text{with
        probability at least }1-2\exp(-d_m/2):\ \|\tilde w\|_2\le R+3\sqrt{d_m}""",
    assumptions=[
        GAUSSIAN, Assumption("R >= 0", nonnegative=lambda R: R),
        Definition("for all w~ in the ball at once: for the one farthest from 0", by=leaving_the_ball),
    ],
    relation=FollowsLaw(samples=4000, instances=8), sizes={"d_m": (1, 12)},
    uses=("convergence.lemma-6", "convergence.lemma-20-tail"),
    note=r"""Tested at the $\tilde w$ of the ball that is farthest from 0, $w (1 + R/\|w\|)$. Far from tight: the exact
        probability of the exception is that of $\chi^2 > 9 d_m$ (convergence.lemma-20-tail). At $d_m = 1$, where Lemma
        6 needs $d_m > d$, the stated probability is negative and nothing is said.""")  # fmt: skip


@LEMMA_20.formula
def norm_in_the_ball(d_m: Width, R: Radius) -> tuple[float, float]:
    """R + 3 sqrt(d_m), and the probability 2 exp(-d_m/2) of exceeding it (Lemma 20)."""
    return R + 3 * math.sqrt(d_m), 2 * math.exp(-d_m / 2)


LEMMA_20.part("laws", leaving_the_ball)
LEMMA_20.mutant("R dropped", "R -> 0")
LEMMA_20.mutant("sqrt(d_m) without the 3", "3 -> 1")
LEMMA_20.mutant("maximum in place of the sum", "R + 3 * math.sqrt(d_m) -> max(R, 3 * math.sqrt(d_m))")


FOUR = Claim(CONVERGENCE, "convergence.d3-four-norms", label="D.3, the norms of the four weights",
    statement=r"""\text{According to initialization of }w_O,w_V,w_Q,w_K\text{ and Lemma 20, with probability at least
        }1-8e^{-d_m/2}\text{, we have }\|w_V\|_2\le3\sqrt{\eta_Vd_m}+R,\ \|w_O\|_2\le3\sqrt{\eta_Od_m}+R,\
        \|w_Q\|_2\le3\sqrt{\eta_Qd_m}+R,\ \|w_K\|_2\le3\sqrt{\eta_Kd_m}+R""",
    name="norms of all four weights in a ball", relation=FollowsLaw(samples=4000, instances=4), sizes={"d_m": (5, 12)},
    assumptions=[
        Definition("the four weights at distance R at most from independent centred Gaussian ones of variances eta; tested at the "
                   "farthest points of the ball, with the variances 1, 2, 1/4, 1/d_m", by=at_most_probability),
        Assumption("R >= 0", nonnegative=lambda R: R),
    ],
    uses=("convergence.lemma-20",),
    note="""Four events of Lemma 20, each failing with probability at most 2 exp(-d_m/2). For d_m <= 4 the stated probability is
        not positive.""",
)  # fmt: skip


@FOUR.formula
def norms_of_four_weights(d_m: Width, R: Radius, eta: float) -> tuple[float, float]:
    """3 sqrt(eta d_m) + R, and the probability 8 exp(-d_m/2) that one of the four is larger (Appendix D.3)."""
    return 3 * math.sqrt(eta * d_m) + R, 8 * math.exp(-d_m / 2)


@FOUR.part("laws")
def one_of_four_leaving_the_ball(formula: Any, generator: Any, samples: int, d_m: Width, R: Radius) -> list[LawTest]:
    """How often one of the four farthest points exceeds its bound."""
    import torch

    tests = []
    for width, radius in dict.fromkeys([(d_m, float(R)), (5, 0.0), (12, 0.5)]):
        failed = torch.zeros(samples, dtype=torch.bool, device=generator.device)
        for eta in (1.0, 2.0, 0.25, 1 / width):
            w = standard_normal(generator, None, samples, width) * math.sqrt(eta)
            bound, probability = formula(width, radius, eta)
            failed |= (w * (1 + radius / w.norm(dim=1, keepdim=True))).norm(dim=1) > bound
        tests.append(at_most_probability(f"d_m = {width}, R = {radius}", int(failed.sum()), samples, probability))
    return tests


FOUR.inputs(drawn(d_m=Width, R=Radius))
FOUR.mutant("R dropped", "R -> 0")
FOUR.mutant("without the 3", "3 * math.sqrt(eta * d_m) -> math.sqrt(eta * d_m)")
FOUR.mutant("without eta", "eta * d_m -> d_m / 16")


def chi_square_tail(degrees: int, threshold: Any) -> Any:
    """P(chi^2_degrees > threshold), for a tensor or a ball."""
    if is_tensor(threshold):
        import torch

        half = torch.full_like(threshold, degrees / 2)
        return torch.special.gammaincc(half, threshold / 2)
    return (flint.arb(threshold) / 2).gamma_upper(flint.arb(degrees) / 2, 1)


TAIL = Claim(CONVERGENCE, "convergence.lemma-20-tail", label="Lemma 20, by the exact tail",
    statement=r"\Pr(\|w\|_2>3\sqrt{d_m})=\Pr(\chi^2_{d_m}>9d_m)\le2e^{-d_m/2}",
    assumptions=[Definition("entries of w independent standard normal", by=chi_square_tail)],
    name="chi-square tail of Gaussian norms", relation=AtMost(left="P(chi^2_{d_m} > 9 d_m)", ascent=False),
    sizes={"d_m": (1, 50)}, of_project=True,
    note=r"""Chernoff: $P(\chi^2_k > 9k) \le (9 e^{-8})^{k/2} = e^{-2.9 k}$. Widths 1 to 50; the amount only fills the
        row.""",
    loose="The probability is the one that Lemma 20 states; the exact tail has almost six times its exponent.")  # fmt: skip


@TAIL.formula
def stated_probability(d_m: Width, amount: Amount) -> Any:
    """2 exp(-d_m/2), a scalar (Lemma 20)."""
    return exp(amount * 0 - rational(d_m, 2)) * 2


TAIL.oracle(lambda d_m, amount: chi_square_tail(d_m, amount * 0 + 9 * d_m))
TAIL.mutant("exp(-4 d_m)", lambda d_m, amount: exp(amount * 0 - 4 * d_m) * 2)
TAIL.mutant("exp(-d_m^2/2)", lambda d_m, amount: exp(amount * 0 - rational(d_m * d_m, 2)) * 2)
