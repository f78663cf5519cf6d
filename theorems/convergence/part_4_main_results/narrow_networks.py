"""Section 4.4 and Table 3: widths that are said to be required, and data that two neurons fit for any number of samples."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any


from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import gradient_descent, squared_loss
from theorems.convergence.part_c_1_lemmas.constants import stacked
from theorems.convergence.part_c_3_theorem_1.norms_and_widths import Bound, printed_width_orders, smallest_widths
from theorems.convergence.settings import Dimension, Hidden, Length, SampleCount
from verify.matrix import absolute, column, maximum, rational, relu, sqrt, step, zeros
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, OrderOfGrowth, Real, Setting, Shape
from verify.vocabulary.assumptions import Stated

Points = Annotated[Any, Shape("N", "1")]
#: The smaller of the two weights of a neuron, which is at most 1, as their product is.
Smaller = Annotated[Any, Real(0.0009765625, 1.0)]
Start = Annotated[Any, Real(0.0009765625, 2.25)]
Sign = Annotated[Any, Real(-1.0, 1.0)]
Share = Annotated[Any, Real(0.0, 1.0)]
#: Bounds of the start and of the step, under which both neurons learn their half of |x|.
LONGEST_STEP, WIDEST_GAP = rational(1, 16), 4


def two_neurons(v_1: Any, v_2: Any, w_1: Any, w_2: Any) -> dict[str, Any]:
    """W_V = (v_1, -v_2)^T, w_O = (w_1, w_2)^T, and W_Q = W_K = 0, which play no part for one token."""
    return {"W_Q": zeros(2, 1), "W_K": zeros(2, 1), "W_V": column(v_1, -v_2), "w_O": column(w_1, w_2)}


def _squares(x: Any) -> list[Any]:
    """The sums of x^2 over the positive and over the negative samples."""
    return [(relu(x) * relu(x)).sum(), (relu(-x) * relu(-x)).sum()]


def _room(x: Any, v_1: Any, v_2: Any, w_1: Any, w_2: Any, gamma: Any) -> Any:
    """What the start and the step leave of their bounds."""
    gaps = [WIDEST_GAP - absolute(w * w - v * v) for w, v in ((w_1, v_1), (w_2, v_2))]
    return stacked([1 - w_1 * v_1, 1 - w_2 * v_2, *gaps, LONGEST_STEP - gamma * (x * x).sum()])


LEARNT: list[Stated] = [
    Definition("f as in Eqs. (1.1)-(1.2) with d = d_s = 1, d_m = 2, tau_1 = 1, samples x_n, labels |x_n|, "
               "W_V = (v_1, -v_2)^T, w_O = (w_1, w_2)^T", by=two_neurons),
    Assumption("v_1, v_2, w_1, w_2, gamma > 0", positive=lambda v_1, v_2, w_1, w_2, gamma: stacked([v_1, v_2, w_1, w_2, gamma])),
    Assumption("w_k v_k <= 1, |w_k^2 - v_k^2| <= 4 for k = 1, 2, gamma sum_n x_n^2 <= 1/16", nonnegative=_room),
]  # fmt: skip
ON_THE_LINE = Setting(CONVERGENCE, "Two neurons in one dimension", assumptions=LEARNT, sizes={"N": (1, 4)})

TWO = Claim(ON_THE_LINE, "convergence.width-two-converges", label="Two neurons fit any number of samples of |x|",
    statement=r"""d=d_s=1,\ d_m=2,\ \tau_1=1,\ y_n=|x_n|,\ W_V^t=(v_1,-v_2)^\top,\ w_O^t=(w_1,w_2)^\top,\ v_k,w_k,\gamma>0,\
        p_k=w_kv_k\le1,\ |w_k^2-v_k^2|\le4,\ \gamma\sum_nx_n^2\le\tfrac1{16}\ \Rightarrow\text{ the same holds at
        }t+1,\ p_k^{t+1}\ge p_k\text{ and }\ell(\theta^{t+1})\le\sum_k\tfrac12S_k(1-2\gamma S_kp_k)^2(1-p_k)^2,\
        S_1=\sum_{x_n>0}x_n^2,\ S_2=\sum_{x_n<0}x_n^2""",
    name="training of two neurons on the absolute value", relation=AtMost(ascent=False, signed=True),
    corrects="convergence.sec-4.4-required", of_project=True,
    note=r"""So gradient descent brings the loss to 0 at a linear rate from these weights, which have a positive probability
        under LeCun and He initialisation, free of $N$. Under NTK initialisation $\tau_1 = 2^{-1/2}$ multiplies $p_k$,
        $w_k^2 - v_k^2$ and $\gamma$ where they occur, and the same holds. With $e_k = p_k - 1$ and $A = w_k^2 + v_k^2 \le 5$ a step
        multiplies $e_k$ by $1 - \gamma S_k A + \gamma^2 S_k^2 e_k p_k$, between 1/2 and $1 - 2 \gamma S_k p_k$, and
        $w_k^2 - v_k^2$ by $1 - \gamma^2 S_k^2 e_k^2$.""",
)  # fmt: skip


def _with_a_larger_one(smaller: Any, share: Any, sign: Any) -> tuple[Any, Any]:
    """Two weights, the larger a share of the way up to where their product is 1 or their squares are `WIDEST_GAP` apart."""
    most = -maximum(stacked([-1 / smaller, -sqrt(smaller * smaller + WIDEST_GAP)]))
    excess = (most - smaller) * share
    return smaller + excess * step(sign), smaller + excess * (1 - step(sign))


@TWO.inputs
def two_neurons_at_the_start(
    x: Points,
    small_1: Smaller,
    small_2: Smaller,
    share_1: Share,
    share_2: Share,
    sign_1: Sign,
    sign_2: Sign,
    share: Share,
) -> dict[str, Any]:
    """All weights from 2^-10 on and all steps that are admitted, but the longest step is so up to a part of 2^20."""
    (w_1, v_1), (w_2, v_2) = _with_a_larger_one(small_1, share_1, sign_1), _with_a_larger_one(small_2, share_2, sign_2)
    gamma = LONGEST_STEP * share / ((x * x).sum() + rational(1, 2**20))
    return {"x": x, "v_1": v_1, "v_2": v_2, "w_1": w_1, "w_2": w_2, "gamma": gamma}


def _after_one_step(x: Any, v_1: Any, v_2: Any, w_1: Any, w_2: Any, gamma: Any) -> dict[str, Any]:
    X, y = x.reshape(x.shape[0], 1, 1), relu(x) + relu(-x)
    theta = {name: W + gamma * 0 for name, W in two_neurons(v_1, v_2, w_1, w_2).items()}
    one = gamma * 0 + 1
    theta = gradient_descent(X, y, **theta, tau_0=one, tau_1=one, gamma=gamma, steps=1)[1]
    return {"loss": squared_loss(X, y, **theta, tau_0=one, tau_1=one), **theta}


@TWO.formula
def bounds_after_one_step(x: Points, v_1: Start, v_2: Start, w_1: Start, w_2: Start, gamma: Any) -> Any:
    """The bound of the loss, then p_1, p_2 after the step, twice 1, and |w_k^2 - v_k^2| before the step; shape (7,)."""
    bound = sum(
        S * (1 - 2 * gamma * S * w * v) ** 2 * (1 - w * v) ** 2 * rational(1, 2)
        for S, w, v in zip(_squares(x), (w_1, w_2), (v_1, v_2), strict=True)
    )
    after = _after_one_step(x, v_1, v_2, w_1, w_2, gamma)
    products = [after["w_O"][0, 0] * after["W_V"][0, 0], -after["w_O"][1, 0] * after["W_V"][1, 0]]
    gaps = [absolute(w * w - v * v) for w, v in ((w_1, v_1), (w_2, v_2))]
    return stacked([bound, *products, gamma * 0 + 1, gamma * 0 + 1, *gaps])


@TWO.oracle
def state_after_one_step(x: Points, v_1: Start, v_2: Start, w_1: Start, w_2: Start, gamma: Any) -> Any:
    """By differentiation: the loss, p_1, p_2 before the step, p_1, p_2 after it, and |w_k^2 - v_k^2| after it."""
    after = _after_one_step(x, v_1, v_2, w_1, w_2, gamma)
    w, v = after["w_O"], after["W_V"]
    products = [w[0, 0] * v[0, 0], -w[1, 0] * v[1, 0]]
    gaps = [absolute(w[k, 0] * w[k, 0] - v[k, 0] * v[k, 0]) for k in (0, 1)]
    return stacked([after["loss"], w_1 * v_1, w_2 * v_2, *products, *gaps])


TWO.mutant("twice the rate", "2 * gamma -> 4 * gamma")
TWO.mutant("rate of one neuron on all samples", lambda value: value * rational(9, 10))
TWO.mutant("squares of weights at most 1 apart", "absolute(w * w - v * v) -> gamma * 0 + 1")


# -- what is said to be required ---------------------------------------------------------------------------------------

REQUIRED = Claim(ON_THE_LINE, "convergence.sec-4.4-required", label="Section 4.4, scaling schemes and architectures",
    statement=r"""\text{we can prove that quadratic (cubic) over-parameterization is required for }d_m^{-1}\ (d_m^{-1/2})\text{
        scaling. \dots\ Our result proves that a cubic (quadratic) over-parameterization condition is required for
        }d_m^{-1/2}\ (d_m^{-1})\text{ under LeCun initialization.}""",
    name="widths said to be required", relation=AtMost(left="c N^2 and c N^3", ascent=False),
    assumptions=[
        Definition("the width at which training converges: 2, by convergence.width-two-converges", by=two_neurons),
        Assumption("c > 0, the constant hidden in Omega", positive=lambda c: c),
    ],
    uses=("convergence.width-two-converges",), expects="refuted", severity="error",
    correction="convergence.width-two-converges",
    consequence="""The widths of the paper are said to suffice, and nothing in it bounds a width from below; plan a width by the
        data, not by a power of the number of samples.""",
    note=r"""Read as: where training converges, $d_m \ge c N^2$ at $\tau_0 = 1/d_m$, and $d_m \ge c N^3$ at $d_m^{-1/2}$, $c$
        free of $N$. The proofs are of sufficient widths only. For the labels $|x_n|$ of any number of samples on the line two
        neurons do, from weights of positive probability; a scaling plays no part, as a single token gets all attention. The
        paper's own Figure 2 has $N = 100$ samples and reports convergence at $d_m = 100$. The text goes on that the
        requirement 'could be relaxed if a better relationship is given': a width that its proof technique needs is all that it
        can mean, and that such a width suffices is what Theorem 1 and Appendix C.3 claim (convergence.thm-1,
        convergence.c3-inverse-width).""",
)  # fmt: skip


@REQUIRED.inputs
def convergent_training(
    x: Points, small_1: Smaller, small_2: Smaller, share_1: Share, share_2: Share, sign_1: Sign, sign_2: Sign, share: Share,
    c: Hidden,
) -> dict[str, Any]:  # fmt: skip
    return {**two_neurons_at_the_start(x, small_1, small_2, share_1, share_2, sign_1, sign_2, share), "c": c}


@REQUIRED.formula
def width_that_converges(v_1: Start, v_2: Start, w_1: Start, w_2: Start) -> Any:
    """d_m of the two neurons, twice, shape (2,) (Section 4.4)."""
    d_m = two_neurons(v_1, v_2, w_1, w_2)["W_V"].shape[0]
    return stacked([v_1 * 0 + d_m, v_1 * 0 + d_m])


REQUIRED.oracle(lambda x, c: stacked([c * x.shape[0] ** 2, c * x.shape[0] ** 3]))
REQUIRED.mutant("one neuron", lambda value: value / 2)
REQUIRED.mutant("no neuron", lambda value: value * 0)


def _on_the_line(N: int, c: Fraction) -> dict[str, Any]:
    half = Fraction(1, 2)
    x = [[Fraction((-1) ** n * (n + 1), N)] for n in range(N)]
    return {"x": x, "v_1": half, "v_2": half, "w_1": half, "w_2": half, "gamma": Fraction(1, 16 * N), "c": c}


REQUIRED.counterexample("4 samples, c = 1: two neurons against 16 and 64", lambda: _on_the_line(4, Fraction(1)))
REQUIRED.counterexample("15 samples, c = 1/100: two neurons against 2.25 and 33.75",
    lambda: _on_the_line(15, Fraction(1, 100)))  # fmt: skip


# -- Table 3 -----------------------------------------------------------------------------------------------------------

TABLE_3 = Claim(CONVERGENCE, "convergence.table-3-own-width", label="Table 3, last row",
    statement=r"""\text{Our: Transformer, Shallow, [initialization:] Table 1, Softmax+ReLU, [width:] }\Omega(N)""",
    name="width of the paper's own row in its comparison", relation=Equal(),
    assumptions=[
        Definition("the widths that Appendix C.3 arrives at under LeCun initialisation, with one hidden constant c",
                   by=printed_width_orders)
    ],
    sizes={"N": (1, 6)}, expects="refuted", severity="slip",
    correction="convergence.table-3-widths-of-the-proofs",
    consequence=r"""The comparison with other networks in Table 3 does not stand: the row has the width of Theorem 2 for all
        initialisations, and that of LeCun and He initialisation is $N^2$ or $N^3$.""",
    note=r"""The row names all of Table 1. Theorem 1 has $\tilde\Omega(N^3)$ for LeCun and He initialisation at $\tau_0 =
        d_m^{-1/2}$, Appendix C.3 $\tilde\Omega(N^2)$ at $1/d_m$; $\tilde\Omega(N)$ is that of NTK initialisation alone
        (Theorem 2). None of them is proved (convergence.thm-1, convergence.c3-inverse-width, convergence.thm-2).""",
)  # fmt: skip


@TABLE_3.formula
def widths_of_table_3(N: SampleCount, c: Hidden) -> Any:
    """c N for both scalings, shape (2,) (Table 3)."""
    return stacked([c * N, c * N])


TABLE_3.oracle(lambda N, c: stacked([c * width for width in printed_width_orders(N, 1, 1, 1)]))
TABLE_3.mutant("N^2 for both", "N -> N ** 2")
TABLE_3.mutant("N^3 for both", "N -> N ** 3")
TABLE_3.counterexample("2 samples: 2 c against 8 c and 4 c", N=2, c=1)


WIDTHS_OF_PROOFS = Claim(CONVERGENCE, "convergence.table-3-widths-of-the-proofs",
    label="Table 3, the widths that Eqs. (49), (50), (54) and (55) ask for",
    statement=r"""\lambda_0=\frac1{dd_s}\ \Rightarrow\text{ the least widths that meet (49), (50) and (54), (55) with hidden
        constants 1 are }\mathcal O(N^3)\text{ and }\mathcal O(N^2)\text{, and no smaller power of }N\text{ bounds them}""",
    name="widths that the conditions of the proofs ask for", relation=OrderOfGrowth(along=("N",)),
    assumptions=[Definition("the least widths at lambda_0 = 1/(d d_s), d, d_s, C_x fixed", by=smallest_widths)],
    sizes={"N": (2, 5), "d_s": (1, 3), "C_x": (1, 2), "d": (1, 3)},
    corrects="convergence.table-3-own-width", of_project=True,
    note="""The least widths over these powers of N neither grow nor fall; both are compared. That lambda_0 keeps this size for
        growing N is what Lemma 15 fails to give.""",
)  # fmt: skip


@WIDTHS_OF_PROOFS.formula
def powers_of_the_proofs(N: SampleCount, d_s: Length, C_x: Bound, d: Dimension) -> list[Fraction]:
    """N^3, N^2, and the least widths themselves."""
    return [Fraction(N**3), Fraction(N**2), *smallest_widths(N, d_s, C_x, d)]


WIDTHS_OF_PROOFS.part("cost", lambda N, d_s, C_x, d: [*smallest_widths(N, d_s, C_x, d), Fraction(N**3), Fraction(N**2)])
WIDTHS_OF_PROOFS.mutant("N, as Table 3 has it", "N ** 3 -> N; N ** 2 -> N")
WIDTHS_OF_PROOFS.mutant("N^2 for both", "N ** 3 -> N ** 2")
