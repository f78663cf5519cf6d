"""Sections 4.4, C.5 and C.6: which scaling and which initialisation is said to train faster, and what is compared for it.

Every comparison is one of lower bounds of alpha; that alpha obeys them is refuted (convergence.c6-alpha-chain).
"""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import (
    KeyWeights, OutputWeights, QueryWeights, Samples, ValueWeights, last_hidden_layer, outputs,
)  # fmt: skip
from theorems.convergence.part_c_1_lemmas.constants import Scalars, stacked
from theorems.convergence.part_c_3_theorem_1.dissimilar_data import APART, row_grams
from theorems.convergence.part_c_3_theorem_1.minimum_eigenvalue import (
    attention_of_first_tokens, first_features, lambda_0, smallest_eigenvalue,
)  # fmt: skip
from theorems.convergence.part_d_1_limiting_kernel.gradients import attention_row
from theorems.convergence.settings import (
    Features, Hidden, Length, Positive, SampleCount, Scale, Tokens, Variance, Width, drawn,
)  # fmt: skip
from verify.matrix import maximum, rational, relu, smallest_singular_value, spectral_norm, sqrt
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, Reading

# -- the chain for alpha -----------------------------------------------------------------------------------------------


def _least_square(X: Any, W_Q: Any, W_K: Any, tau_0: Any) -> Any:
    """min_k |beta_{1,k}|^2, a scalar."""
    betas = attention_of_first_tokens(X, W_Q, W_K, tau_0)
    return -maximum(stacked([-(beta * beta).sum() for beta in betas]))


ALPHA_CHAIN = Claim(CONVERGENCE, "convergence.c6-alpha-chain", label="C.6, the chain for alpha",
    statement=r"""\text{In Appendix C.3, we have proved that under the LeCun initialization, one has
        }\alpha^2\ge d_m\lambda_0/4\ge d_m\eta_V\mu(\sigma_r)^2\Theta(\|\beta_{1,k}\|_2^2).\text{ Note that this bound holds for
        these two different scaling, which is inside }\beta\text{.}""",
    name="lower bound of the hidden-layer singular value by attention", relation=AtMost(ascent=False, signed=True),
    assumptions=[
        Assumption("Assumption 2: every X_n has full row rank", positive=lambda X: row_grams(X)),
        Assumption("c > 0, the constant hidden in Theta; eta_V > 0; tau_0 > 0, either scaling",
                   positive=lambda c, eta_V, tau_0: stacked([c, eta_V, tau_0])),
        Definition("|beta_{1,k}|^2 the least over k; mu = 1/2", by=_least_square),
        Definition("alpha of F_pre with the sum over tokens, tau_1 = 1; for the average it is smaller", by=last_hidden_layer),
    ],
    sizes={"N": (1, 3), "d_s": (1, 2), "d": (1, 2), "d_m": (1, 3)}, expects="refuted", severity="error",
    correction="convergence.c6-lambda-separated",
    proof=("convergence.eq-47-psd-sum", "convergence.eq-48", "convergence.eq-38", "convergence.eq-41"),
    consequence="""Which scaling or initialisation trains faster cannot be read off this chain; for given separated samples
        convergence.c6-lambda-separated bounds its middle member.""",
    note=r"""Three samples in one dimension have $\lambda_0 = 0$ and $\alpha = 0$ at every width, whatever the scaling and the
        weights (convergence.lemma-15-one-dimension, convergence.cor-1-rank-two), while $\|\beta_{1,k}\|_2 = 1$.
        Appendix C.3 has its bounds with a probability, which saves nothing: any three such samples break the chain, and
        those of convergence.thm-1 are drawn from a law that meets Assumptions 1 to 3. Both the first and the middle member
        are compared with the last. Lemma 15 is where the last step comes from.""",
)  # fmt: skip


@ALPHA_CHAIN.formula
def alpha_and_quarter_of_lambda_0(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, tau_0: Scale,
                                  eta_V: Variance) -> Any:  # fmt: skip
    """alpha^2 and d_m lambda_0 / 4, shape (2,) (Appendix C.6)."""
    alpha = smallest_singular_value(last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_0 * 0 + 1, "sum"))
    least = lambda_0(first_features(X, W_Q, W_K, tau_0), eta_V)
    return stacked([alpha * alpha, least * rational(W_V.shape[0], 4)])


@ALPHA_CHAIN.oracle
def bound_by_attention(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, tau_0: Scale, eta_V: Variance,
                       c: Hidden) -> Any:  # fmt: skip
    bound = _least_square(X, W_Q, W_K, tau_0) * c * eta_V * rational(W_V.shape[0], 4)
    return stacked([bound, bound])


ALPHA_CHAIN.inputs(
    drawn(X=Samples, W_Q=QueryWeights, W_K=KeyWeights, W_V=ValueWeights, tau_0=Scale, eta_V=Variance, c=Hidden)
)
ALPHA_CHAIN.mutant("twice the width", lambda value: value * 2 + 1)
ALPHA_CHAIN.mutant("nothing", lambda value: value * 0 - 1)


def _three_in_one_dimension(tau_0: Fraction, c: Fraction) -> dict[str, Any]:
    return {
        "X": [[["9/10"]], [["1/2"]], [["-2/5"]]], "W_Q": [[1], [0], [2], [1]], "W_K": [[1], [1], [0], [-1]],
        "W_V": [[1], [-1], [2], [-2]], "tau_0": tau_0, "eta_V": 1, "c": c,
    }  # fmt: skip


ALPHA_CHAIN.counterexample("three samples in one dimension, tau_0 = d_m^{-1/2}, d_m = 4: alpha = lambda_0 = 0, c = 10^-9",
    lambda: _three_in_one_dimension(Fraction(1, 2), Fraction(1, 10**9)))  # fmt: skip
ALPHA_CHAIN.counterexample(
    "the same with tau_0 = 1/d_m", lambda: _three_in_one_dimension(Fraction(1, 4), Fraction(1, 10**9))
)


SEPARATED = Claim(APART, "convergence.c6-lambda-separated", label="C.6, the middle member for separated samples",
    statement=r"""\langle X_k^\top X_k,X_j^\top X_j\rangle^{1/2}\le\|\beta_{1,k}\|_2\frac{C_\lambda}{2(N-1)}\ \forall
        j\ne k,\ \lambda_{\min}(X_kX_k^\top)\ge C_\lambda>0\ \forall k\ \Rightarrow\
        \lambda_0\ge\frac{\eta_VC_\lambda}8\min_k\|\beta_{1,k}\|_2^2""",
    name="expected Gram matrix and attention of separated samples",
    relation=AtMost(left="C_lambda times the least square of a difference of weighted tokens", ascent=False),
    uses=("convergence.eq-38", "convergence.eq-39-absolute-values", "convergence.eq-40"),
    corrects="convergence.c6-alpha-chain", of_project=True,
    note=r"""At least as good as convergence.lemma-15-separated, since $\|\beta_{1,k}\|_2^2 \ge 1/d_s$. It holds at both
        scalings, with the attention of each.""",
    loose=r"As in convergence.lemma-15-separated, a quarter of about $0.34$ is kept, and half of that.")  # fmt: skip


@SEPARATED.formula
def scaled_lambda_0_of_samples(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, tau_0: Scale, eta_V: Variance) -> Any:
    """8 lambda_0 / eta_V, a scalar; it is at least C_lambda min_k |beta_{1,k}|^2."""
    return lambda_0(first_features(X, W_Q, W_K, tau_0), eta_V) * 8 / eta_V


SEPARATED.oracle(lambda X, W_Q, W_K, tau_0, C_lambda: _least_square(X, W_Q, W_K, tau_0) * C_lambda)
SEPARATED.mutant("mu^2 = 1: constant 1/2", "8 -> 2")
SEPARATED.mutant("constant 1", "8 -> 1")


# -- the scalings ------------------------------------------------------------------------------------------------------


def _squared_attention(X: Any, W_Q: Any, W_K: Any, tau_0: Any) -> Any:
    beta = attention_row(X, W_Q, W_K, tau_0, 0)
    return (beta * beta).sum()


FASTER = Claim(CONVERGENCE, "convergence.sec-4.4-faster-scaling", label="Sections 1 and 4.4, comparison of scaling schemes; C.6",
    statement=r"""\text{for a large enough }d_m\text{, the }\tau_0=d_m^{-1/2}\text{ scaling admits a faster convergence rate of
        Transformers than that of }\tau_0=d_m^{-1}\text{ due to a more tight estimation of the lower bound of }\alpha\text{, see
        Appendix C.6 for details. [C.6:] as the width increases, the convergence speed of }\tau_0=d_m^{-1/2}\text{ could be
        faster.}""",
    name="estimated rates at both scalings", relation=AtMost(ascent=False), all_sizes=True, expects="gap",
    assumptions=[
        Assumption("c > 0, the constant hidden in Theta, the same for both scalings; eta_V > 0",
                   positive=lambda c, eta_V: stacked([c, eta_V])),
        Definition("beta the attention of the first token, at either scaling with the same weights", by=attention_row),
    ],
    presumes=("convergence.c6-alpha-chain",), uses=("convergence.c6-beta-inverse-width",),
    reading=Reading("admits a faster convergence rate of Transformers than that of",
        r"""the rate $\gamma\alpha^2/2$ of Eq. (4), with the estimate of Appendix C.6, $d_m\eta_V\mu(\sigma_r)^2\Theta(
            \|\beta_{1,k}\|_2^2)$, in the place of $\alpha^2$, is at one step size at least as large at $\tau_0 =
            d_m^{-1/2}$ as at $1/d_m$"""),
    sizes={"d_s": (1, 4), "d": (1, 3), "d_m": (1, 4)},
    consequence=r"""The estimate says nothing about which scaling trains faster, for it is no lower bound of $\alpha$, and
        $\alpha$ itself can be the smaller one at $d_m^{-1/2}$ at every width (convergence.c6-alpha-by-scaling).""",
    note=r"""The estimate is compared, not $\alpha$: a rate that is faster 'due to a more tight estimation of the lower bound', and
        in C.6 'could be faster', is an estimated one. The estimate is the larger one at every width, not at large ones
        alone: $\|\mathrm{softmax}(s u)\|_2^2$ does not fall as $s \ge 0$ grows, its derivative being twice the
        covariance of $\beta$ and $u$ under the weights $\beta$. What is presumed is that it bounds $\alpha^2$ from below, which
        is false (convergence.c6-alpha-chain). Of $\alpha$ itself the sentence would be false
        (convergence.c6-alpha-by-scaling). At one token both scalings are the same network. The longest step $1/C$ is the
        shorter one at $d_m^{-1/2}$ (convergence.c6-step-sizes).""",
)  # fmt: skip


FASTER.inputs(drawn(X=Tokens, W_Q=QueryWeights, W_K=KeyWeights, eta_V=Variance, c=Hidden))


def _estimate(X: Any, W_Q: Any, W_K: Any, tau_0: Any, eta_V: Any, c: Any) -> Any:
    """d_m eta_V mu^2 c |beta_1|^2 with mu = 1/2, a scalar."""
    return _squared_attention(X, W_Q, W_K, tau_0) * c * eta_V * rational(W_Q.shape[0], 4)


@FASTER.formula
def estimate_at_inverse_root(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, eta_V: Variance, c: Hidden) -> Any:
    """The lower bound of alpha^2 in Appendix C.6 at tau_0 = d_m^{-1/2}, a scalar."""
    one = (W_Q * 0).sum() + 1
    return _estimate(X, W_Q, W_K, 1 / sqrt(one * W_Q.shape[0]), eta_V, c)


@FASTER.oracle
def estimate_at_inverse_width(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, eta_V: Variance, c: Hidden) -> Any:
    return _estimate(X, W_Q, W_K, rational(1, W_Q.shape[0]), eta_V, c)


FASTER.mutant("tau_0 = d_m^{-2}", "1 / sqrt(one * W_Q.shape[0]) -> one / W_Q.shape[0] ** 2")
FASTER.mutant("pooling", "1 / sqrt(one * W_Q.shape[0]) -> one * 0")


ALPHA_BY_SCALING = Claim(CONVERGENCE, "convergence.c6-alpha-by-scaling", label="C.6, of alpha itself",
    statement=r"""\alpha=\sigma_{\min}(F_{\mathrm{pre}})\text{ of Eq. (4), at }\tau_0=d_m^{-1/2}\text{, is at least as large as
        at }\tau_0=d_m^{-1}\text{ with the same weights, once }d_m\text{ is large enough}""",
    name="hidden-layer singular value at both scalings",
    relation=AtMost(left="alpha at tau_0 = 1/d_m", right="alpha at the inverse root of d_m", ascent=False),
    assumptions=[
        Assumption("Assumption 2: every X_n has full row rank", positive=lambda X: row_grams(X)),
        Definition("alpha of F_pre with the average over tokens, tau_1 = 1", by=last_hidden_layer),
    ],
    sizes={"N": (2, 2), "d_s": (2, 2), "d": (2, 4), "d_m": (2, 4)}, expects="refuted", severity="error", of_project=True,
    correction="convergence.c6-alpha-between-scalings",
    note=r"""Attention to a token that two samples share makes them alike. Let the samples be $(u, v_1)$ and $(u, v_2)$ with $u =
        (1, 1, 0, 0)$, $v_1 = (1, 0, 1, 0)$, $v_2 = (1, 0, 0, 1)$, all rows of $W_Q$ and $W_K$ $(1, 1, 0, 0)$, and $W_V$
        the identity above zeros. Then for every $d_m \ge 4$ $\alpha = 1 - p$, where $p = (\sigma(2 d_m\tau_0) +
        \sigma(d_m\tau_0))/2$ is the mean weight of $u$ and $\sigma$ the logistic function. It falls as $\tau_0$ grows:
        at $1/d_m$ $\alpha = 0.194$ at every width, and at $d_m^{-1/2}$ it is 0.069, 0.0092 and 0.00017 for the widths
        4, 16 and 64, and tends to 0. So no width is large enough for all weights. With these samples and
        weights from LeCun initialisation $\alpha$ was smaller at $d_m^{-1/2}$ in 41 to 49 % of 400 draws at each of the
        widths 16, 256, 1024 and 4096. In the set-up of Section 5.1 ($N = 100$, $d_s = 10$, $d = 100$, standard
        Gaussian tokens, LeCun initialisation) it was smaller there in 6 of 6 draws at $d_m = 1000$ and in 6 of 6 at 4000,
        by factors between 0.8 and 0.9.""",
)  # fmt: skip


@ALPHA_BY_SCALING.formula
def alpha_at_inverse_root(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """alpha at tau_0 = d_m^{-1/2}, a scalar (Eq. (4))."""
    one = (W_Q * 0).sum() + 1
    return smallest_singular_value(last_hidden_layer(X, W_Q, W_K, W_V, 1 / sqrt(one * W_Q.shape[0]), rational(1)))


@ALPHA_BY_SCALING.oracle
def alpha_at_inverse_width(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    return smallest_singular_value(last_hidden_layer(X, W_Q, W_K, W_V, rational(1, W_Q.shape[0]), rational(1)))


ALPHA_BY_SCALING.mutant("halved", lambda value: value * rational(1, 2))
ALPHA_BY_SCALING.mutant("nothing", lambda value: value * 0)


def _sharing_a_token(d_m: int) -> dict[str, Any]:
    u, v_1, v_2 = [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]
    identity = [[int(i == j) for j in range(4)] for i in range(d_m)]
    return {"X": [[u, v_1], [u, v_2]], "W_Q": [u] * d_m, "W_K": [u] * d_m, "W_V": identity}


for _width in (4, 16, 64):
    ALPHA_BY_SCALING.counterexample(
        f"two samples that share a token, d_m = {_width}", functools.partial(_sharing_a_token, _width)
    )


BETWEEN_SCALINGS = ALPHA_BY_SCALING.corrected("convergence.c6-alpha-between-scalings", label="C.6, of alpha itself, by Weyl",
    statement=r"""\text{With }F\text{ and }F'\text{ the last hidden layers at }\tau_0=d_m^{-1/2}\text{ and }d_m^{-1}\text{, with the
        same weights: }\sigma_{\min}(F')\le\sigma_{\min}(F)+\|F-F'\|_2""",
    name="hidden-layer singular values between the scalings",
    sizes={"N": (1, 3), "d_s": (1, 3), "d": (1, 4), "d_m": (1, 4)},
    note="By Weyl's inequality, and the same with the two exchanged. Which is larger depends on the weights.")  # fmt: skip


@BETWEEN_SCALINGS.formula
def alpha_and_distance_of_layers(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """sigma_min(F) + ||F - F'||_2, a scalar, for the layers F and F' at d_m^{-1/2} and 1/d_m."""
    one = (W_Q * 0).sum() + 1
    F = last_hidden_layer(X, W_Q, W_K, W_V, 1 / sqrt(one * W_Q.shape[0]), rational(1))
    other = last_hidden_layer(X, W_Q, W_K, W_V, rational(1, W_Q.shape[0]), rational(1))
    return smallest_singular_value(F) + spectral_norm(F - other)


BETWEEN_SCALINGS.mutant("without the distance", "spectral_norm(F - other) -> 0")
BETWEEN_SCALINGS.mutant("a quarter of both", lambda value: value * rational(1, 4))


SMALL = Claim(CONVERGENCE, "convergence.sec-4.4-small-width", label="Sections 1 and 4.4, comparison of scaling schemes",
    statement=r"""\text{for a small }d_m\text{, there is no significant difference between these two scaling schemes on the
        convergence}""",
    name="both scalings at width one", relation=Equal(), expects="reading", all_sizes=True,
    assumptions=[
        Definition("f as in Eqs. (1.1)-(1.2)", by=outputs), Assumption("d_m = 1", sizes=lambda sizes: sizes["d_m"] == 1),
    ],
    reading=Reading("for a small d_m , there is no significant difference",
        r"""at $d_m = 1$ the two are one: $d_m^{-1/2} = d_m^{-1}$, so that networks, gradients and steps agree"""),
    sizes={"N": (1, 2), "d_s": (1, 3), "d": (1, 3), "d_m": (1, 1)},
    note=r"""The logits at the two scalings differ by the factor $\sqrt{d_m}$, which is 4 at the width 16 that Section 5.2 calls
        small. How much of a difference is significant the paper does not say.""",
)  # fmt: skip


@SMALL.formula
def outputs_at_inverse_root(
    X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights
) -> Any:
    """f at tau_0 = d_m^{-1/2}, shape (N, 1) (Section 4.4)."""
    one = (W_Q * 0).sum() + 1
    return outputs(X, W_Q, W_K, W_V, w_O, 1 / sqrt(one * W_Q.shape[0]), rational(1))


SMALL.oracle(lambda X, W_Q, W_K, W_V, w_O: outputs(X, W_Q, W_K, W_V, w_O, rational(1, W_Q.shape[0]), rational(1)))
SMALL.mutant("half of the scale", "1 / sqrt(one * W_Q.shape[0]) -> one / 2")
SMALL.mutant("pooling", "1 / sqrt(one * W_Q.shape[0]) -> one * 0")


STEPS = Claim(CONVERGENCE, "convergence.c6-step-sizes", label="C.6, last sentence",
    statement=r"""\text{Lastly, we remark on the difference in the step size for these two scales, which can be seen from the
        definition of }C\text{ and its corresponding }c_1,c_2,c_3\text{ in Appendix C.2.}""",
    name="step sizes at both scalings", relation=AtMost(ascent=False), all_sizes=True,
    assumptions=[
        Definition("gamma = 1/C, C = c_1 c_2 + 2 c_3 l(theta^0) of Eqs. (11), (14), (36), (37), all else equal", by=Scalars),
        Assumption("norms, C_x, tau_1, l(theta^0) > 0",
                   positive=lambda C_x, Q, K, V, O, tau_1, loss: stacked([C_x, Q, K, V, O, tau_1, loss])),
    ],
    sizes={"N": (1, 3), "d_s": (1, 3), "d_m": (1, 6)},
    note=r"""$C$ grows with $\tau_0$, so $1/d_m$ allows the longer step for $d_m \ge 2$: compared is $C(d_m^{-1/2}) \ge C(1/d_m) + 2
        \rho \lambda_O \lambda_V C_x^2 d_s (\lambda_Q + \lambda_K) (d_m^{-1/2} - d_m^{-1}) c_2$, the change of $c_1 c_2$ by its
        $c_1$. That $1/C$ is an admissible step is what Eq. (37) fails to give.""",
)  # fmt: skip


def _constants(N: int, d_s: int, d_m: int, power: int, C_x: Any, Q: Any, K: Any, V: Any, O: Any, tau_1: Any) -> Scalars:
    """The constants at tau_0 = d_m^{-power / 2}."""
    root = 1 / sqrt(C_x * 0 + d_m)
    return Scalars(N, d_s, root**power, tau_1, C_x, Q, K, V, O)


@STEPS.formula
def C_at_inverse_root(N: SampleCount, d_s: Length, d_m: Width, C_x: Positive, Q: Positive, K: Positive, V: Positive, O: Positive,
                      tau_1: Positive, loss: Positive) -> Any:  # fmt: skip
    """C at tau_0 = d_m^{-1/2}, a scalar (Appendices C.2 and C.6)."""
    b = _constants(N, d_s, d_m, 1, C_x, Q, K, V, O, tau_1)
    return b.c_1() * b.c_2() + 2 * b.c_3() * loss


@STEPS.oracle
def C_at_inverse_width_and_more(N: int, d_s: int, d_m: int, C_x: Positive, Q: Positive, K: Positive, V: Positive, O: Positive,
                                tau_1: Positive, loss: Positive) -> Any:  # fmt: skip
    b = _constants(N, d_s, d_m, 2, C_x, Q, K, V, O, tau_1)
    root = 1 / sqrt(C_x * 0 + d_m)
    more = b.rho * O * V * C_x**2 * (2 * d_s) * (Q + K) * (root - root * root)
    return (b.c_1() + more) * b.c_2() + 2 * b.c_3() * loss


STEPS.mutant("no difference", power=2)
STEPS.mutant("exchanged", power=3)


# -- the initialisations -----------------------------------------------------------------------------------------------

INITIALISATION = Claim(CONVERGENCE, "convergence.c5-faster-initialisation", label="Sections 1 and 4.4, initialisations; C.5",
    statement=r"""\text{Thus, the convergence speed of LeCun initialization and He initialization is faster than NTK
        initialization. As a result, faster step-size is required for NTK initialization.}""",
    name="rates by initialisation at one step size", relation=AtMost(ascent=False), all_sizes=True, expects="gap",
    presumes=("convergence.c5-alpha",),
    assumptions=[
        Assumption("d_m >= d, as in Theorem 1", sizes=lambda sizes: sizes["d_m"] >= sizes["d"]),
        Definition("alpha^2 = lambda_min(F F^T) of the layer of the first token, with the same features Phi and the same "
                   "standard Gaussian draw G of W_V for all three", by=smallest_eigenvalue),
    ],
    reading=Reading("the convergence speed of LeCun initialization and He initialization is faster than NTK initialization",
        r"""at one step size the rate $\gamma \alpha^2 / 2$ of Eq. (4) is at least as large, $\alpha^2$ taken of the layer of the
            first token as in Appendix C.5; 'required' for the same rate"""),
    sizes={"N": (1, 3), "d": (1, 2), "d_m": (1, 4)},
    note=r"""$\alpha^2$ is $d_m / d$ times as large under LeCun and $2 d_m / d$ under He, for $\tau_1^2 \eta_V d_m$ is $d_m
        / d$, $2 d_m
        / d$ and 1. The same rate then needs a step $d_m / d$ times as long under NTK, and $1/C$ is longer there by about as
        much (convergence.init-stepsize): at the longest admissible steps nothing is faster. That $F_{pre}$ may be replaced by
        the layer of its first token is refuted (convergence.eq-47-psd-sum), and so are the orders in $N$ of
        convergence.c5-alpha.""",
)  # fmt: skip


@INITIALISATION.formula
def alpha_under_LeCun_and_He(Phi: Features, G: ValueWeights) -> Any:
    """alpha^2 for W_V = G / sqrt(d) and sqrt(2) times it, tau_1 = 1, shape (2,) (Appendix C.5)."""
    layers = [relu(Phi @ G.T) * sqrt((Phi * 0).sum() + rational(gain, Phi.shape[1])) for gain in (1, 2)]
    return stacked([smallest_eigenvalue(F @ F.T) for F in layers])


@INITIALISATION.oracle
def alpha_under_NTK(Phi: Features, G: ValueWeights) -> Any:
    F = relu(Phi @ G.T) / sqrt((Phi * 0).sum() + G.shape[0])
    return stacked([smallest_eigenvalue(F @ F.T)] * 2)


INITIALISATION.mutant("tau_1 of NTK for all", lambda value, G: value / G.shape[0] / 2)
INITIALISATION.mutant("a quarter", lambda value: value * rational(1, 4))
