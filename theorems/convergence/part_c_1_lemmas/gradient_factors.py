"""The factors U and h of the gradient in W_Q: the steps of the proof of Lemma 14 that bound them and their changes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import KeyWeights, OutputWeights, QueryWeights, ValueWeights
from theorems.convergence.part_c_1_lemmas.constants import (
    ASSUMPTION_1, NORMS, NormBounds, PositiveScale, Weights, at_both_ends, by_name, distance, stacked,
)  # fmt: skip
from theorems.convergence.part_c_1_lemmas.extreme_inputs import (
    across_a_kink, balanced_attention, close_pairs, value_crosses_zero, zero_pre_activations,
)  # fmt: skip
from theorems.convergence.part_c_1_lemmas.gradient_lipschitz import SAME_SIGNS
from theorems.convergence.part_d_1_limiting_kernel.gradients import (
    Tokens, attention_rows, gated_output_weights, softmax_covariance,
)  # fmt: skip
from verify.matrix import each, frobenius_norm, spectral_norm, sqrt, step
from verify.vocabulary import AtMost, Claim, Convention, Doubt, Setting

ONE_SAMPLE = Setting(
    CONVERGENCE,
    "Proof of Lemma 14, U and h",
    assumptions=[ASSUMPTION_1, NORMS],
    sizes={"d_s": (1, 3), "d": (1, 2), "d_m": (1, 2)},
)


def covariance_of_attention(X: Tokens, W_K: KeyWeights, beta: Any) -> Any:
    """U_i = W_K X^T (diag(beta_i) - beta_i beta_i^T) X, shape (d_m, d) (proof of Lemma 14)."""
    return W_K @ X.T @ softmax_covariance(beta) @ X


def gated_values(X: Tokens, W_V: ValueWeights, w_O: OutputWeights, beta: Any) -> Any:
    """h_i = W_V^T (w_O o relu'(W_V X^T beta_i)), shape (d, 1) (proof of Lemma 14)."""
    return W_V.T @ gated_output_weights(w_O, W_V @ X.T @ beta)


U_AND_H = Claim(ONE_SAMPLE, "convergence.lemma-14-u-h", label="Proof of Lemma 14, bounds on U and h",
    statement=r"""\|U_{i,n}^{t'}\|_2 \le\|W_K^{t'}\|_2\|X_n\|_2^2\| \mathrm{diag}(\beta_{i,n}^{t'})-
        \beta_{i,n}^{t'}\beta_{i,n}^{t'}\|_2\le2 \bar\lambda_Kd_sC_x^2,\qquad
        \|h_{i,n}^t\|_2\le\|W_V^t\|_2\|w_O^t\|_2\le\bar\lambda_V\bar\lambda_O""",
    name="factors of the query gradient", relation=AtMost(ascent=False), all_sizes=True, uses=("convergence.lemma-8",),
    doubt=Doubt((
        r"\boldsymbol{h}_{i,n}^{t} &= \boldsymbol{W}_{V}^{t^{\top}} \left( \boldsymbol{w}_{O}^{t} \circ "
        r"\boldsymbol{\sigma}_{r} \left(",
        r"\boldsymbol{\beta}_{i,n}^{t'} \boldsymbol{\beta}_{i,n}^{t'}\right\|_{2} \leq 2\bar{\lambda}_{K}",
    ),
        r"""The dot of $\mathrm{relu}'$ is lost where $h_{i,n}$ is introduced; the bound on its change has it, and
            with relu in its place there would be no such bound. The transpose of $\beta \beta^\top$ is lost, which
            the definition of $U_{i,n}^t$ has."""),
    note=r"""$\|\mathrm{diag}(\beta) - \beta \beta^\top\|_2 \le 1/2$ is sharp where the proof uses 2; $h$ reaches its
        bound.""")  # fmt: skip
U_AND_H.domain("all pre-activations zero", zero_pre_activations)
U_AND_H.domain("balanced attention", balanced_attention)


def _norm_product(X: Any, W_K: Any, beta: Any) -> Any:
    return spectral_norm(W_K) * spectral_norm(X) ** 2 * spectral_norm(softmax_covariance(beta))


@U_AND_H.formula
def bounds_of_u_and_h(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                      tau_0: PositiveScale) -> Any:  # fmt: skip
    """For every token the product of norms, then 2 lambda_K d_s C_x^2, then lambda_V lambda_O, shape (3 d_s,)."""
    b = NormBounds(X.reshape(1, *X.shape), [by_name(W_Q, W_K, W_V, w_O)], tau_0, 1)
    betas, last = attention_rows(X, W_Q, W_K, tau_0), b.K * b.C_x**2 * (b.d_s * 2)
    of_U = each(b.d_s, lambda i: _norm_product(X, W_K, betas[i]))
    return stacked([of_U, each(b.d_s, lambda i: last), each(b.d_s, lambda i: b.V * b.O)])


@U_AND_H.oracle
def norms_of_u_and_h(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, tau_0: Any) -> Any:
    betas, d_s = attention_rows(X, W_Q, W_K, tau_0), X.shape[0]
    of_U = each(d_s, lambda i: spectral_norm(covariance_of_attention(X, W_K, betas[i])))
    products = each(d_s, lambda i: _norm_product(X, W_K, betas[i]))
    return stacked([of_U, products, each(d_s, lambda i: frobenius_norm(gated_values(X, W_V, w_O, betas[i])))])


U_AND_H.mutant("C_x in place of its square", "b.C_x ** 2 -> b.C_x")
U_AND_H.mutant("lambda_O dropped", "b.V * b.O -> b.V")


H_DIFFERENCE = Claim(ONE_SAMPLE, "convergence.lemma-14-h-diff", label="Proof of Lemma 14, bound on h difference",
    statement=r"""\|h_{i,n}^{t'}-h_{i,n}^t\|_2
        \le\|W_V^{t'}\|_2\|w_O^{t'}\circ\dot\sigma_r(W_V^{t'}X_n^\top\beta_{i,n}^{t'}) -w_O^t\circ\dot\sigma_r(\tilde
        W_V^tX_n^\top\beta_{i,n}^t)\|_2+\|W_V^{t'}-W_V^t\|_2\|w_O\|_2
        \le[\bar\lambda_V(\bar\lambda_OC_x\sqrt{d_s}(1+\bar\lambda_Vz)+1)+\bar\lambda_O]\|\theta^{t'}-\theta^t\|_2""",
    name="change of the gated values", assumptions=[Convention("relu'(0) = 0", by=step)],
    relation=AtMost(ascent=False), expects="refuted",
    severity="error", correction="convergence.lemma-14-h-diff-fixed-pattern",
    note=r"""$h_{i,n}$ contains $\mathrm{relu}'$, which jumps where a pre-activation changes its sign, however
        short the step. Judged are the first member and the last; the tilde over $W_V^t$ in the second means
        nothing in the paper, where $\tilde W_V$ occurs nowhere else.""",
)  # fmt: skip


def _h_bound(X: Any, ends: tuple[Weights, Weights], tau_0: Any, gate: Any = 1, output: Any = 1) -> Any:
    b = NormBounds(X.reshape(1, *X.shape), list(ends), tau_0, 1)
    moved_gate = b.O * b.C_x * sqrt(b.d_s) * (1 + b.V * b.slope) * gate
    return (b.V * (moved_gate + 1) + b.O * output) * distance(*ends)


@H_DIFFERENCE.formula
def printed_bound_of_h(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                       W_Q_0: QueryWeights, W_K_0: KeyWeights, W_V_0: ValueWeights, w_O_0: OutputWeights,
                       tau_0: PositiveScale) -> Any:  # fmt: skip
    """The printed right-hand side, a scalar (proof of Lemma 14)."""
    return _h_bound(X, at_both_ends(W_Q, W_K, W_V, w_O, W_Q_0, W_K_0, W_V_0, w_O_0), tau_0)


@H_DIFFERENCE.oracle
def changes_of_h(X: Any, W_Q: Any, W_K: Any, W_V: Any, w_O: Any, W_Q_0: Any, W_K_0: Any, W_V_0: Any, w_O_0: Any,
                 tau_0: Any) -> Any:  # fmt: skip
    """||h_i - h_i^0||_2 for every token i."""
    betas, betas_0 = attention_rows(X, W_Q, W_K, tau_0), attention_rows(X, W_Q_0, W_K_0, tau_0)

    def change(i: Any) -> Any:
        return frobenius_norm(gated_values(X, W_V, w_O, betas[i]) - gated_values(X, W_V_0, w_O_0, betas_0[i]))

    return stacked([each(X.shape[0], change)])


H_DIFFERENCE.domain("value crosses zero")(value_crosses_zero)
H_DIFFERENCE.domain("across a kink")(across_a_kink)
H_DIFFERENCE.at_scale("two tokens across a kink", d_s=2, d=2, d_m=2)(across_a_kink)
H_DIFFERENCE.mutant("term of relu' dropped", gate=0)
H_DIFFERENCE.mutant("last lambda_O dropped", output=0)


@H_DIFFERENCE.counterexample(
    "scalar weights, tokens 1 and -1: W_Q crosses zero, each token turns to itself, h jumps by 1"
)
def _() -> dict[str, Any]:
    one, e = [[1]], Fraction(1, 1000)
    return {
        "X": [[1], [-1]], "W_Q": [[e]], "W_K": one, "W_V": one, "w_O": one,
        "W_Q_0": [[-e]], "W_K_0": one, "W_V_0": one, "w_O_0": one, "tau_0": 1,
    }  # fmt: skip


@H_DIFFERENCE.counterexample("one token (0, 1): W_V moves from (1, -1/1000) to (1, 1/1000), and h from 0 to W_V")
def _() -> dict[str, Any]:
    zero, e = [[0, 0]], Fraction(1, 1000)
    return {
        "X": [[0, 1]], "W_Q": zero, "W_K": zero, "W_V": [[1, e]], "w_O": [[1]],
        "W_Q_0": zero, "W_K_0": zero, "W_V_0": [[1, -e]], "w_O_0": [[1]], "tau_0": 1,
    }  # fmt: skip


H_OF_FIXED_PATTERN = Claim(CONVERGENCE, "convergence.lemma-14-h-diff-fixed-pattern",
    label="Bound on the h difference while no ReLU differs in state", name="change of the gated values, fixed pattern",
    statement=r"""\text{If no pre-activation differs in sign,
        }h_i=W_V^\top(w_O\circ\dot\sigma_r(W_VX^\top\beta_i)):\
        \|h_i^{t'}-h_i^t\|_2\le(\bar\lambda_V+\bar\lambda_O)\|\theta^{t'}- \theta^t\|_2""",
    assumptions=[NORMS, SAME_SIGNS],
    relation=AtMost(), all_sizes=True, sizes=ONE_SAMPLE.sizes, corrects="convergence.lemma-14-h-diff", of_project=True,
)  # fmt: skip
H_OF_FIXED_PATTERN.domain("close pairs", close_pairs)


@H_OF_FIXED_PATTERN.formula
def bound_of_h_of_fixed_pattern(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, w_O: OutputWeights,
                                W_Q_0: QueryWeights, W_K_0: KeyWeights, W_V_0: ValueWeights, w_O_0: OutputWeights,
                                tau_0: PositiveScale) -> Any:  # fmt: skip
    """(lambda_V + lambda_O) ||theta - theta_0||_2, a scalar."""
    return _h_bound(X, at_both_ends(W_Q, W_K, W_V, w_O, W_Q_0, W_K_0, W_V_0, w_O_0), tau_0, gate=0)


H_OF_FIXED_PATTERN.oracle(changes_of_h)
H_OF_FIXED_PATTERN.mutant("lambda_O dropped", output=0)
H_OF_FIXED_PATTERN.mutant("half of the bound", lambda value: value / sqrt(4))
