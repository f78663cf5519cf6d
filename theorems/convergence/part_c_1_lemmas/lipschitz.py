"""How far attention, the last hidden layer and the output move with the weights: Lemmas 7, 9 and 10.

Weights at t' are written W_Q, ..., those at t W_Q_0, ...
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import (
    KeyWeights, OutputWeights, QueryWeights, Samples, ValueWeights, last_hidden_layer, pooling_weight,
)  # fmt: skip
from theorems.convergence.part_c_1_lemmas.constants import (
    ASSUMPTION_1, NORMS, NormBounds, PositiveScale, Weights, at_both_ends, by_name, stacked,
)  # fmt: skip
from theorems.convergence.part_c_1_lemmas.extreme_inputs import (
    close_pairs, dominating_token, from_zero, zero_pre_activations,
)  # fmt: skip
from theorems.convergence.part_d_1_limiting_kernel.gradients import Tokens, attention_rows, output_weight_gradient
from verify.matrix import each, frobenius_norm, rational, relu, spectral_norm, sqrt, summed
from verify.vocabulary import AtMost, Claim, Construction, Definition, Doubt, Setting

SUM = Definition("F_pre with the sum over tokens, as in the proof; the average is d_s times smaller", by=pooling_weight)
SIZES = {"N": (1, 3), "d_s": (1, 3), "d": (1, 3), "d_m": (1, 3)}

TWO_ENDS = Setting(
    CONVERGENCE,
    "Appendix C.1, weights at t' and t",
    assumptions=[ASSUMPTION_1, NORMS],
    sizes=SIZES,
    special_domains={"weights zero at t": from_zero, "close pairs": close_pairs},
)
SUMMED = TWO_ENDS.extended(
    assumptions=[SUM],
    special_domains={"all pre-activations zero": zero_pre_activations, "dominating token": dominating_token},
)


def _moved(theta: Weights, theta_0: Weights) -> dict[str, Any]:
    """||W^{t'} - W^t||_2 for each weight."""
    return {name: spectral_norm(theta[name] - theta_0[name]) for name in theta}


LEMMA_7 = Claim(TWO_ENDS, "convergence.lemma-7", label="Lemma 7", name="Lipschitz bound of the attention weights",
    statement=r"""\|\beta_i^{t'}-\beta_i^t\|_2\le2\tau_0C_x^2d_s\big(\bar\lambda_Q\|W_K^{t'}-W_K^t\|_2+\bar\lambda_K
        \|W_Q^{t'}-W_Q^t\|_2\big)""",
    relation=AtMost(), all_sizes=True, sizes={"d_s": (1, 4), "d": (1, 3), "d_m": (1, 3)},
    proof=("convergence.lemma-7-edelman",),
    note=r"""Far from tight: the sharp constant of the softmax is 1/2 of the one used in the 1-norm, and the largest
        products of two tokens are half of $d_s C_x^2$ where they differ. The scalar tokens 1 and $1 - \sqrt2$ at equal
        weights reach $(2 + \sqrt2)/16 = 0.213$ of the bound. A quarter of the bound holds
        (convergence.lemma-7-quarter).""")  # fmt: skip


@LEMMA_7.domain("two tokens at equal weights")
def two_tokens_at_equal_weights(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Tokens 1 and 1 - sqrt 2, W_Q a short step away from 0: the largest ratio known."""
    if sizes["d_s"] != 2:
        return
    for values in arrays.values():
        if values.ndim > 1:
            values[:] = 0.0
    arrays["X"][:, :, 0] = 1.0, 1.0 - math.sqrt(2)
    arrays["W_K"][:, 0, 0] = arrays["W_K_0"][:, 0, 0] = 1.0
    arrays["W_Q"][:, 0, 0] = 2.0**-10


def _attention_bound(X: Any, ends: tuple[Weights, Weights], tau_0: Any, keys: Any = 1, queries: Any = 1,
                     power: int = 2) -> Any:  # fmt: skip
    b, moved = NormBounds(X.reshape(1, *X.shape), list(ends), tau_0, 1), _moved(*ends)
    return tau_0 * b.C_x**power * (2 * b.d_s) * (b.Q * moved["W_K"] * keys + b.K * moved["W_Q"] * queries)


@LEMMA_7.formula
def attention_moves_at_most(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_Q_0: QueryWeights, W_K_0: KeyWeights,
                            tau_0: PositiveScale) -> Any:  # fmt: skip
    """2 tau_0 C_x^2 d_s (lambda_Q ||W_K - W_K_0||_2 + lambda_K ||W_Q - W_Q_0||_2), a scalar (Lemma 7)."""
    return _attention_bound(X, at_both_ends(W_Q, W_K, W_Q_0, W_K_0), tau_0)


@LEMMA_7.oracle
def movements_of_attention(X: Any, W_Q: Any, W_K: Any, W_Q_0: Any, W_K_0: Any, tau_0: Any) -> Any:
    """||beta_i^{t'} - beta_i^t||_2 for every token i."""
    betas, betas_0 = attention_rows(X, W_Q, W_K, tau_0), attention_rows(X, W_Q_0, W_K_0, tau_0)
    return stacked([each(X.shape[0], lambda i: frobenius_norm(betas[i] - betas_0[i]))])


LEMMA_7.mutant("a fifth of the bound", lambda value: value * rational(1, 5))
LEMMA_7.mutant("movement of W_Q dropped", queries=0)
LEMMA_7.mutant("movement of W_K dropped", keys=0)
LEMMA_7.mutant("C_x in place of its square", power=1)


LEMMA_7_QUARTER = Claim(TWO_ENDS, "convergence.lemma-7-quarter", label="Lemma 7, a quarter of it",
    statement=r"""\|\beta_i^{t'}-\beta_i^t\|_2\le\tfrac12\tau_0C_x^2d_s\big(\bar\lambda_Q\|W_K^{t'}-W_K^t\|_2+\bar\lambda_K
        \|W_Q^{t'}-W_Q^t\|_2\big)""",
    name="Lipschitz bound of the attention weights, four times smaller", relation=AtMost(), all_sizes=True,
    sizes={"d_s": (1, 4), "d": (1, 3), "d_m": (1, 3)}, of_project=True, uses=("convergence.lemma-7",),
    note=r"""$\|\mathrm{diag}(\beta) - \beta \beta^\top\|_2 \le 1/2$, and the 2-norm throughout. Of this bound the scalar
        tokens 1 and $1 - \sqrt2$ reach $(2 + \sqrt2)/4 = 0.854$.""")  # fmt: skip


@LEMMA_7_QUARTER.formula
def attention_moves_at_most_a_quarter(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_Q_0: QueryWeights,
                                      W_K_0: KeyWeights, tau_0: PositiveScale) -> Any:  # fmt: skip
    """A quarter of the bound of Lemma 7, a scalar."""
    return attention_moves_at_most(X, W_Q, W_K, W_Q_0, W_K_0, tau_0) * rational(1, 4)


LEMMA_7_QUARTER.oracle(movements_of_attention)
LEMMA_7_QUARTER.domain("two tokens at equal weights")(two_tokens_at_equal_weights)
LEMMA_7_QUARTER.mutant("a fifth of the printed bound", "rational(1, 4) -> rational(1, 5)")
LEMMA_7_QUARTER.mutant("d_s dropped", lambda value, X: value / X.shape[0])


LEMMA_9 = Claim(SUMMED, "convergence.lemma-9", label="Lemma 9", name="Lipschitz bound of the last hidden layer",
    statement=r"""\|F_{pre}^{t'}-F_{pre}^t\|_F\le\rho \Big(\|W_V^{t'}-W_V^t\|_2+\bar\lambda_V2
        \tau_0C_x^2d_s(\bar\lambda_Q \|W_K^{t'}-W_K^t\|_2+\bar\lambda_K\|W_Q^{t'}-W_Q^t\|_2)\Big)""",
    relation=AtMost(), all_sizes=True,
    proof=("convergence.lemma-9-split", "convergence.lemma-8", "convergence.lemma-7"),
    note="""Checked for the sum over tokens and for the average of Eq. (1.2) side by side. Nearly attained by the sum,
        where one token carries the norm and all others attend to it.""")  # fmt: skip


def _hidden(X: Any, theta: Weights, tau_0: Any, tau_1: Any, pooling: str = "sum") -> Any:
    return last_hidden_layer(X, theta["W_Q"], theta["W_K"], theta["W_V"], tau_0, tau_1, pooling)


def _hidden_layer_bound(X: Any, ends: tuple[Weights, Weights], tau_0: Any, tau_1: Any, values: Any = 1,
                        attention: Any = 1) -> Any:  # fmt: skip
    b, moved = NormBounds(X, list(ends), tau_0, tau_1), _moved(*ends)
    betas = b.kappa * (b.Q * moved["W_K"] + b.K * moved["W_Q"])
    return b.rho * (moved["W_V"] * values + b.V * betas * attention)


@LEMMA_9.formula
def hidden_layer_moves_at_most(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_Q_0: QueryWeights,
                               W_K_0: KeyWeights, W_V_0: ValueWeights, tau_0: PositiveScale,
                               tau_1: PositiveScale) -> Any:  # fmt: skip
    """The right-hand side of Lemma 9, a scalar, with rho = N^{1/2} d_s^{3/2} tau_1 C_x."""
    return _hidden_layer_bound(X, at_both_ends(W_Q, W_K, W_V, W_Q_0, W_K_0, W_V_0), tau_0, tau_1)


@LEMMA_9.oracle
def movements_of_the_hidden_layer(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_Q_0: Any, W_K_0: Any, W_V_0: Any, tau_0: Any,
                                  tau_1: Any) -> Any:  # fmt: skip
    """||F_pre^{t'} - F_pre^t||_F for the sum over tokens and for the average."""
    theta, theta_0 = at_both_ends(W_Q, W_K, W_V, W_Q_0, W_K_0, W_V_0)
    layers = ([_hidden(X, W, tau_0, tau_1, pooling) for W in (theta, theta_0)] for pooling in ("sum", "average"))
    return stacked([frobenius_norm(F - F_0) for F, F_0 in layers])


LEMMA_9.mutant("movement of W_V dropped", values=0)
LEMMA_9.mutant("movement of attention dropped", attention=0)
LEMMA_9.mutant("d_s in place of d_s^{3/2} in rho", lambda value, X: value / sqrt(X.shape[1]))
LEMMA_9.mutant("N^{1/2} dropped in rho", lambda value, X: value / sqrt(X.shape[0]))


SPLIT = Claim(CONVERGENCE, "convergence.lemma-9-split", label="Proof of Lemma 9, third line",
    statement=r"""\le\tau_1\sum_{i=1}^{d_s} \Big(\|(W_V^{t'}-W_V^t)X^\top \beta_i^{t'}\|_2+\|W_V^tX(\beta_i^{t'}-
        \beta_i^t)\|_2\Big)""",
    name="change of the hidden layer, split", assumptions=[Construction("X in R^{d_s x d}, W_V in R^{d_m x d}",
        shapes={"X": ("d_s", "d"), "W_V": ("d_m", "d")})],
    relation=AtMost(), all_sizes=True, sizes={"d_s": (1, 3), "d": (1, 3), "d_m": (1, 3)},
    doubt=Doubt(
        r"\left\| \boldsymbol{W}_{V}^{t} \boldsymbol{X} (\boldsymbol{\beta}_{i}^{t'}-\boldsymbol{\beta}_{i}^{t}) "
        r"\right\|_{2}",
        r"""$X$ has lost its transpose, which all other factors of the display have. $W_V X (\beta' - \beta)$ exists for
            $d = d_s$ only, and the inequality fails there: for $X = [[1, 1], [0, 0]]$ and $W_V = [1, 0]$ at both ends
            the third line is 0, as $X (\beta' - \beta)$ is, and the first is not. A mutant shows it."""),
    note="""The two lines before it, the definition of $f_{pre}$ and the Lipschitz continuity of relu, are checked with
        it.""",
)  # fmt: skip
SPLIT.domain("weights zero at t", from_zero)
SPLIT.domain("close pairs", close_pairs)


def lines_of_the_chain(X: Any, ends: tuple[Weights, Weights], tau_0: Any, tau_1: Any, transposed: Any = lambda X: X.T,
           start: bool = False) -> list[Any]:  # fmt: skip
    """The first three lines of the chain: the change of f_pre, the sum of changes, and the sum of both terms."""
    V, V_0 = (W["W_V"] for W in ends)
    bs, bs_0 = (attention_rows(X, W["W_Q"], W["W_K"], tau_0) for W in ends)
    first = frobenius_norm(summed(X.shape[0], lambda i: relu(V @ X.T @ bs[i]) - relu(V_0 @ X.T @ bs_0[i])))
    second = summed(X.shape[0], lambda i: frobenius_norm(V @ X.T @ bs[i] - V_0 @ X.T @ bs_0[i]))
    third = summed(
        X.shape[0],
        lambda i: (
            frobenius_norm((V - V_0) @ X.T @ (bs_0 if start else bs)[i])
            + frobenius_norm(V_0 @ transposed(X) @ (bs[i] - bs_0[i]))
        ),
    )
    return [first * tau_1, second * tau_1, third * tau_1]


@SPLIT.formula
def larger_lines(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_Q_0: QueryWeights,
                 W_K_0: KeyWeights, W_V_0: ValueWeights, tau_0: PositiveScale,
                 tau_1: PositiveScale) -> Any:  # fmt: skip
    """The second and third lines of the chain for ||f_pre^{t'} - f_pre^t||_2, shape (2,) (proof of Lemma 9)."""
    return stacked(lines_of_the_chain(X, at_both_ends(W_Q, W_K, W_V, W_Q_0, W_K_0, W_V_0), tau_0, tau_1)[1:])


@SPLIT.oracle
def smaller_lines(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_Q_0: Any, W_K_0: Any, W_V_0: Any, tau_0: Any,
                  tau_1: Any) -> Any:  # fmt: skip
    """The change of f_pre from the network itself, and the sum of the changes of its summands."""
    ends = at_both_ends(W_Q, W_K, W_V, W_Q_0, W_K_0, W_V_0)
    f, f_0 = (_hidden(X.reshape(1, *X.shape), W, tau_0, tau_1) for W in ends)
    return stacked([frobenius_norm(f - f_0), lines_of_the_chain(X, ends, tau_0, tau_1)[1]])


SPLIT.mutant(
    "X not transposed where d = d_s, as the extraction shows",
    transposed=lambda X: X if X.shape[0] == X.shape[1] else X.T,
)
SPLIT.mutant("beta_i^t in both terms", start=True)


LEMMA_10 = Claim(SUMMED, "convergence.lemma-10", label="Lemma 10", name="Lipschitz bound of the network output",
    statement=r"\|f^{t'}-f^t\|_2\le\rho\bar\lambda_V\|w_O^{t'}-w_O^t\|_2+\bar\lambda_O\|F_{pre}^{t'}-F_{pre}^t\|_F",
    relation=AtMost(), all_sizes=True, proof=("convergence.lemma-10-fnorm",),
    doubt=Doubt(r"\max(\|\boldsymbol{w}_Q^t\|_2, \|\boldsymbol{w}_Q^{t'}\|_2) \leq \bar{\lambda}_O",
        r"""$w_Q$ stands for $w_O$, whose bound $\lambda_O$ is."""),
    note="""Checked for the sum over tokens and for the average of Eq. (1.2) side by side, $F_{pre}$ and $f$ taken
        alike.""")  # fmt: skip


def _output_bound(X: Any, ends: tuple[Weights, Weights], tau_0: Any, tau_1: Any, output: Any = 1,
                  hidden: Any = 1) -> Any:  # fmt: skip
    """The right-hand sides for the sum over tokens and for the average, shape (2,)."""
    b, moved, sides = NormBounds(X, list(ends), tau_0, tau_1), _moved(*ends)["w_O"], []
    for pooling in ("sum", "average"):
        F, F_0 = (_hidden(X, W, tau_0, tau_1, pooling) for W in ends)
        sides.append(b.rho * b.V * moved * output + b.O * frobenius_norm(F - F_0) * hidden)
    return stacked(sides)


@LEMMA_10.formula
def output_moves_at_most(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                         W_Q_0: QueryWeights, W_K_0: KeyWeights, W_V_0: ValueWeights, w_O_0: OutputWeights,
                         tau_0: PositiveScale, tau_1: PositiveScale) -> Any:  # fmt: skip
    """rho lambda_V ||w_O - w_O_0||_2 + lambda_O ||F_pre - F_pre_0||_F for sum and average, shape (2,) (Lemma 10)."""
    return _output_bound(X, at_both_ends(W_Q, W_K, W_V, w_O, W_Q_0, W_K_0, W_V_0, w_O_0), tau_0, tau_1)


@LEMMA_10.oracle
def movement_of_the_output(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, W_Q_0: Any, W_K_0: Any, W_V_0: Any,
                           w_O_0: Any, tau_0: Any, tau_1: Any) -> Any:  # fmt: skip
    ends = at_both_ends(W_Q, W_K, W_V, w_O, W_Q_0, W_K_0, W_V_0, w_O_0)
    outputs = ([_hidden(X, W, tau_0, tau_1, pooling) @ W["w_O"] for W in ends] for pooling in ("sum", "average"))
    return stacked([frobenius_norm(f - f_0) for f, f_0 in outputs])


LEMMA_10.mutant("movement of w_O dropped", output=0)
LEMMA_10.mutant("movement of the hidden layer dropped", hidden=0)


FROBENIUS = Claim(CONVERGENCE, "convergence.lemma-10-fnorm", label="Proof of Lemma 10, second display",
    statement=r"""\|F_{pre}^{t'}\|_2\le\|F_{pre}^{t'}\|_F =\Big\|\Big[\tau_1\sum_i \sigma_r(W_V^{t'}X_1^\top
        \beta_{i,1}^{t'}),\dots,\tau_1\sum_i \sigma_r(W_V^{t'}X_N^\top \beta_{i,N}^{t'})\Big]\Big\|_F \le\tau_1\sqrt
        Nd_s^{3/2}C_x\|W_V^{t'}\|_2=\rho\|W_V^{t'}\|_2""",
    assumptions=[ASSUMPTION_1, SUM],
    name="Frobenius norm of the hidden layer", relation=AtMost(), all_sizes=True, sizes=SIZES)  # fmt: skip
FROBENIUS.domain("all pre-activations zero", zero_pre_activations)
FROBENIUS.domain("dominating token", dominating_token)


@FROBENIUS.formula
def larger_norms(X: Samples, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, tau_0: PositiveScale,
                 tau_1: PositiveScale) -> Any:  # fmt: skip
    """(||F_pre||_F, rho ||W_V||_2): the larger sides of both inequalities, shape (2,) (proof of Lemma 10)."""
    b = NormBounds(X, [by_name(W_Q, W_K, W_V)], tau_0, tau_1)
    return stacked([frobenius_norm(last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_1, "sum")), b.rho * b.V])


@FROBENIUS.oracle
def smaller_norms(X: Any, W_Q: Any, W_K: Any, W_V: Any, tau_0: Any, tau_1: Any) -> Any:
    rows = each(X.shape[0], lambda n: output_weight_gradient(X[n], W_Q, W_K, W_V, tau_0, tau_1))
    F = last_hidden_layer(X, W_Q, W_K, W_V, tau_0, tau_1, "sum")
    return stacked([spectral_norm(F), sqrt(summed(X.shape[0], lambda n: (rows[n] * rows[n]).sum()))])


FROBENIUS.mutant("d_s in place of d_s^{3/2} in rho", "b.rho -> b.rho / sqrt(X.shape[1])")
FROBENIUS.mutant("N^{1/2} dropped in rho", "b.rho -> b.rho / sqrt(X.shape[0])")
