"""The limiting tangent kernel under NTK initialisation and tau_0 = 1/d_m: Lemma 1, for either pooling."""

from __future__ import annotations

from typing import Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import (
    Samples, expected_relu_products, expected_step_products, mean_tokens, pooling_weight, tangent_kernel,
)  # fmt: skip
from theorems.convergence.settings import WIDTHS
from verify.oracles import standard_normal
from verify.matrix import hadamard
from verify.vocabulary import Claim, Definition, Doubt, PowerRate, Setting, TendsTo


def sampled_kernel(X: Any, width: int, generator: Any, pooling: str) -> Any:
    """The tangent kernel (N, N) of the network of Eqs. (1.1)-(1.2) at one draw of weights of the given width."""
    d = X.shape[2]
    W_Q, W_K, W_V, w_O = (standard_normal(generator, X, width, columns) for columns in (d, d, d, 1))
    return tangent_kernel(X, W_Q, W_K, W_V, w_O, 1 / width, width**-0.5, pooling)


SUMS = Setting(
    CONVERGENCE,
    "Section 4.3: Lemma 1",
    assumptions=[
        Definition(
            "W_Q, W_K, W_V, w_O with independent N(0, 1) entries, tau_1 = d_m^{-1/2} (NTK, Table 1), tau_0 = d_m^{-1}",
            by=sampled_kernel,
        ),
        Definition("K is the limit of the tangent kernel as d_m tends to infinity", by=tangent_kernel),
    ],
    sizes={"N": (1, 3), "d_s": (1, 3), "d": (1, 3)},
)
MEANS = SUMS.extended(
    assumptions=[Definition("f as in Eqs. (1.1)-(1.2), with column-wise average pooling", by=pooling_weight)]
)
RATE = TendsTo(WIDTHS, PowerRate(0.5), instances=5)


def relu_term(X: Samples) -> Any:
    """E relu(Phi^* w) relu(Phi^* w)^T, shape (N, N)."""
    return expected_relu_products(mean_tokens(X), mean_tokens(X))


def step_term(X: Samples) -> Any:
    """E relu'(Phi^* w) relu'(Phi^* w)^T o Phi^* Phi^{*T}, shape (N, N)."""
    Phi = mean_tokens(X)
    return hadamard(expected_step_products(Phi, Phi), Phi @ Phi.T)


def _step_term_by_matrices(X: Any) -> Any:
    Phi = mean_tokens(X)
    return expected_step_products(Phi, Phi) @ (Phi @ Phi.T)


LEMMA_1 = Claim(MEANS, "convergence.lemma-1", label="Lemma 1", name="limiting tangent kernel",
    statement=r"""\Phi^*:=[\tfrac1{d_s}X_1^\top\mathbf 1_{d_s},...,\tfrac1{d_s}X_N^\top\mathbf 1_{d_s}]^\top,\quad
        K=d_s^2\,\mathbb E_{w\sim N(0,I)}(\sigma_r(\Phi^*w)\sigma_r(\Phi^*w)^\top)+d_s^2\,\mathbb E_{w\sim
        N(0,I)}(\dot\sigma_r(\Phi^*w)\dot\sigma_r(\Phi^*w)^\top)(\Phi^*\Phi^{*\top})""",
    relation=RATE, expects="refuted", severity="error", correction="convergence.lemma-1-average-pooling",
    proof=("convergence.c2-reformulation", "convergence.eq-63", "convergence.d1-limit-wq", "convergence.eq-64"),
    doubt=Doubt(r"\right) \left(\boldsymbol{\Phi}^* \boldsymbol{\Phi}^{*\top} \right)", """No operator is legible
            between the last two factors; the derivation in Appendix D.1 (Eq. (64)) makes it the entrywise product. The
            counterexamples have $N = 1$, where both readings agree."""),
    consequence="""The kernel of the network with average pooling is $d_s^2$ times smaller than printed, and so are
        rates computed from it; use convergence.lemma-1-average-pooling.""",
    note="""A clash of normalisations: Eq. (1.2) pools by the average, the proofs (C.2, D.1) by the sum. For the average
        the kernel is $1/d_s^2$ times the printed one; for the sum the printed one is right
        (convergence.lemma-1-sum-pooling). Where all tokens of the only sample are equal to $x$, attention returns $x$
        at every width and the expected kernel is $|x|^2$ exactly, before any limit. Compared is the kernel of ever
        wider networks.""")  # fmt: skip


@LEMMA_1.formula
def printed_limiting_kernel(X: Samples) -> Any:
    """K as printed, shape (N, N): d_s^2 times the sum of both expectations (Lemma 1)."""
    return (relu_term(X) + step_term(X)) * X.shape[1] ** 2


@LEMMA_1.oracle
def limit_under_average_pooling(X: Samples) -> Any:
    """The law of large numbers, token by token: f = sum_i p tau_1 w_O . relu(W_V c_i) with p = 1/d_s.

    In the limit attention is uniform, so that every c_i is the mean token. Each pair (i, j) of tokens contributes
    p^2 (E relu relu + E relu' relu' c_i . c_j), and the terms of W_Q and W_K vanish; shape (N, N).
    """
    d_s = X.shape[1]
    p = pooling_weight("average", d_s)
    attended = [mean_tokens(X)] * d_s
    pairs = [(c_i, c_j) for c_i in attended for c_j in attended]
    return sum(
        (expected_relu_products(c_i, c_j) + expected_step_products(c_i, c_j) * (c_i @ c_j.T)) * p * p
        for c_i, c_j in pairs
    )


LEMMA_1.part("sequence", lambda X, scale, generator: sampled_kernel(X, scale, generator, "average"))
LEMMA_1.mutant("d_s instead of d_s^2", "X.shape[1] ** 2 -> X.shape[1]")
LEMMA_1.mutant("second expectation dropped", "relu_term(X) + step_term(X) -> relu_term(X)")
LEMMA_1.counterexample(
    "one sample of two equal tokens: the expected kernel is 1 at every width, printed 4", X=[[[1], [1]]]
)
LEMMA_1.counterexample("one sample X = I_2, of full row rank: 1/2, printed 2", X=[[[1, 0], [0, 1]]])


AVERAGE_POOLING = Claim(MEANS, "convergence.lemma-1-average-pooling",
    label="Lemma 1, for the average pooling of Eq. (1.2)", name="limiting tangent kernel, average pooling",
    statement=r"""\Phi^*=[\tfrac1{d_s}X_1^\top\mathbf 1_{d_s},...,\tfrac1{d_s}X_N^\top\mathbf 1_{d_s}]^\top,\quad
        \lim_{d_m\to\infty}K=\mathbb E_{w\sim\mathcal N(0,I)}(\sigma_r(\Phi^*w)\sigma_r(\Phi^*w)^\top) +\mathbb E_{w\sim\mathcal
        N(0,I)}(\dot\sigma_r(\Phi^*w)\dot\sigma_r(\Phi^*w)^\top)\circ(\Phi^*\Phi^{*\top})""",
    relation=RATE, corrects="convergence.lemma-1", of_project=True)  # fmt: skip


@AVERAGE_POOLING.formula
def limiting_kernel(X: Samples) -> Any:
    """The limiting tangent kernel of the network of Eqs. (1.1)-(1.2), shape (N, N)."""
    return relu_term(X) + step_term(X)


AVERAGE_POOLING.part("sequence", lambda X, scale, generator: sampled_kernel(X, scale, generator, "average"))
AVERAGE_POOLING.mutant("factor d_s^2, as printed", lambda value, X: value * X.shape[1] ** 2)
AVERAGE_POOLING.mutant("second expectation dropped", "relu_term(X) + step_term(X) -> relu_term(X)")
AVERAGE_POOLING.mutant("second expectation halved", "step_term(X) -> step_term(X) / 2")
AVERAGE_POOLING.mutant("matrix product instead of entrywise product", "step_term -> _step_term_by_matrices")


SUM_POOLING = Claim(SUMS, "convergence.lemma-1-sum-pooling",
    label="Lemma 1, for the sum over tokens used in the proofs", name="limiting tangent kernel, sum pooling",
    statement=r"""\lim_{d_m\to\infty}K=d_s^2\,\mathbb E_{w\sim
        N(0,I)}(\sigma_r(\Phi^*w)\sigma_r(\Phi^*w)^\top)+d_s^2\,\mathbb E_{w\sim
        N(0,I)}(\dot\sigma_r(\Phi^*w)\dot\sigma_r(\Phi^*w)^\top)\circ(\Phi^*\Phi^{*\top})""",
    assumptions=[
        Definition(
            "f(X) = tau_1 w_O^T sum_i sigma_r(W_V X^T beta_i), as at the beginning of Appendix C.2", by=pooling_weight
        ),
    ],
    relation=RATE, of_project=True)  # fmt: skip


@SUM_POOLING.formula
def limiting_kernel_of_sums(X: Samples) -> Any:
    """d_s^2 times the kernel of the average, shape (N, N)."""
    return (relu_term(X) + step_term(X)) * X.shape[1] ** 2


SUM_POOLING.part("sequence", lambda X, scale, generator: sampled_kernel(X, scale, generator, "sum"))
SUM_POOLING.mutant("no factor d_s^2", "X.shape[1] ** 2 -> 1")
SUM_POOLING.mutant("factor on the first expectation only", lambda X: relu_term(X) * X.shape[1] ** 2 + step_term(X))
SUM_POOLING.mutant("matrix product instead of entrywise product", "step_term -> _step_term_by_matrices")
