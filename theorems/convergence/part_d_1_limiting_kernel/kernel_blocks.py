"""The blocks of the limiting kernel, one per weight: Eq. (63) for w_O, those of W_Q and W_K, Eq. (64) for W_V.

Both equations are printed with sums of tokens where the limit has their means: d_s^2 too large.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import expected_relu_products, expected_step_products, pooling_weight
from theorems.convergence.part_d_1_limiting_kernel.gradients import Tokens, output_weight_gradient, value_gradient
from theorems.convergence.settings import WIDTHS, Width
from verify.matrix import hadamard, ones, rational
from verify.oracles import SMALLEST_P, LawTest, moment_test, two_sided_p, standard_normal
from verify.vocabulary import Claim, Definition, Doubt, FollowsLaw, PowerRate, Setting, TendsTo

NTK = Definition(
    "NTK initialisation (Table 1): standard normal weights, tau_1 = d_m^{-1/2}; tau_0 = 1/d_m; X and X' fixed",
    by=standard_normal,
)
SIZES = {"d_s": (1, 3), "d": (1, 3)}
OUTPUT_BLOCK = Setting(CONVERGENCE, "Eq. (63)", assumptions=[NTK], sizes=SIZES)
VALUE_BLOCK = Setting(CONVERGENCE, "Eq. (64)", assumptions=[NTK], sizes=SIZES)
SUMS = Definition("f with the sum over tokens, as in C.2", by=pooling_weight)


EQ_63 = Claim(OUTPUT_BLOCK, "convergence.eq-63", label="Eq. (63)", name="kernel block of the output weights",
    statement=r"""\lim_{d_m\to\infty}\Big\langle\frac{\partial f(X)}{\partial w_O},\frac{\partial f(X')}{\partial
        w_O}\Big\rangle=\tau_1^2\sum_{i,j}\lim(\sigma_r(W_VX'^\top\beta'_j))^\top\sigma_r(W_VX^\top\beta_i)=d_s^2\,
        \mathbb E_{w\sim N(0,I)}\sigma_r(w^\top X'^\top\mathbf 1_{d_s})\sigma_r(w^\top X^\top\mathbf 1_{d_s})""",
    assumptions=[SUMS], relation=TendsTo(WIDTHS, PowerRate(0.5), instances=5), expects="refuted", severity="slip",
    repeats="convergence.sec-4.4-all-one",
    correction="convergence.eq-63-mean-tokens",
    note=r"""$\beta_i$ tends to $1/d_s$ in every entry, so the tokens are averaged: $1/d_s$ is missing in both
        arguments, a factor $d_s^2$ in all. Lemma 1 has it, with $\Phi^*$ made of $X^\top 1/d_s$; only if $1_{d_s}$
        meant the vector with entries $1/d_s$ would the line be right, against Lemma 1 and Section 1. $\tau_1^2 = 1/d_m$
        belongs under the limit.""",
)  # fmt: skip


@EQ_63.formula
def printed_output_block(X: Tokens, X_2: Tokens) -> Any:
    """d_s^2 E relu(w^T X'^T 1) relu(w^T X^T 1), shape (1, 1) (Eq. (63))."""
    d_s = X.shape[0]
    return expected_relu_products(ones(1, d_s) @ X, ones(1, d_s) @ X_2) * d_s**2


def _block_of_sums(X: Any, X_2: Any) -> Any:
    """The law of large numbers for the sum: each pair of tokens contributes E relu(w.c) relu(w.c'), c the mean token."""
    d_s = X.shape[0]
    uniform = ones(d_s, d_s) * rational(1, d_s)
    products = expected_relu_products(uniform @ X, uniform @ X_2)
    return ones(1, d_s) @ products @ ones(d_s, 1)


EQ_63.oracle(lambda X, X_2: _block_of_sums(X, X_2))


def _output_block(X: Any, X_2: Any, width: int, generator: Any) -> Any:
    """The inner product of the gradients in w_O at one draw of the weights, shape (1, 1)."""
    W_Q, W_K, W_V = (standard_normal(generator, X, width, X.shape[1]) for _ in range(3))
    slopes = [output_weight_gradient(tokens, W_Q, W_K, W_V, 1 / width, width**-0.5) for tokens in (X, X_2)]
    return slopes[0].T @ slopes[1]


EQ_63.part("sequence", lambda X, X_2, scale, generator: _output_block(X, X_2, scale, generator))
EQ_63.mutant("d_s in place of d_s^2", "d_s ** 2 -> d_s")
EQ_63.mutant("first token in place of the sum", lambda X, X_2: expected_relu_products(X[:1], X_2[:1]) * X.shape[0] ** 2)
EQ_63.counterexample("both samples of two tokens equal to 1: the limit is 2, printed 8", X=[[1], [1]], X_2=[[1], [1]])


MEAN_TOKENS = Claim(OUTPUT_BLOCK, "convergence.eq-63-mean-tokens", label="Eq. (63), with the mean tokens of Lemma 1",
    statement=r"""\lim_{d_m\to\infty}\Big\langle\frac{\partial f(X)}{\partial w_O},\frac{\partial f(X')}{\partial
        w_O}\Big\rangle=d_s^2\,\mathbb E_{w\sim N(0,I)}\sigma_r(\tfrac1{d_s}w^\top X'^\top\mathbf
        1)\sigma_r(\tfrac1{d_s}w^\top X^\top\mathbf 1)""",
    assumptions=[SUMS], note="For the average of Eq. (1.2) without the factor $d_s^2$.",
    name="kernel block of the output weights, corrected", relation=TendsTo(WIDTHS, PowerRate(0.5), instances=5),
    uses=("convergence.softmax-pooling",), corrects="convergence.eq-63", of_project=True)  # fmt: skip


@MEAN_TOKENS.formula
def output_block(X: Tokens, X_2: Tokens) -> Any:
    """d_s^2 E relu(w^T X'^T 1/d_s) relu(w^T X^T 1/d_s), shape (1, 1)."""
    d_s = X.shape[0]
    mean = ones(1, d_s) * rational(1, d_s)
    return expected_relu_products(mean @ X, mean @ X_2) * d_s**2


MEAN_TOKENS.part("sequence", lambda X, X_2, scale, generator: _output_block(X, X_2, scale, generator))
MEAN_TOKENS.mutant("sums of tokens in place of means, as printed", "ones(1, d_s) * rational(1, d_s) -> ones(1, d_s)")
MEAN_TOKENS.mutant("no factor d_s^2, as for the average", "d_s ** 2 -> 1")


def mean_at_most(name: str, samples: np.ndarray, bound: float) -> LawTest:
    """One-sided Student test that independent samples have a mean of at most `bound`; errs to the safe side for squares."""
    n, mean, error = len(samples), float(samples.mean()), float(samples.std(ddof=1)) / math.sqrt(len(samples))
    if mean <= bound * (1 + 1e-12):
        return LawTest(name, 1.0, n)
    return LawTest(name, max(two_sided_p((mean - bound) / error, degrees=n - 1) / 2 if error else 0.0, SMALLEST_P), n)


VANISHING_BLOCKS = Claim(CONVERGENCE, "convergence.d1-limit-wq", label="D.1, W_Q and W_K inner products",
    statement=r"""\lim\tau_0\tau_1X^\top(\mathrm{diag}( \beta_i)-\beta_i \beta_i^\top)XW_V^\top(w_O\circ\dot
        \sigma_r(W_VX^\top \beta_i))=X^\top(\mathrm{diag}(\mathbf 1_{d_s})-\mathbf 1_{d_s}\mathbf
        1_{d_s}^\top)X\,[0,...,0]^\top=0;\quad \lim_{d_m\to\infty}\Big\langle\frac{\partial f(X)}{\partial
        W_Q},\frac{\partial f(X')}{\partial W_Q}\Big\rangle=0,\ \text{same for }W_K""",
    name="kernel blocks of query and key weights", assumptions=[
        Definition(
            "NTK initialisation (Table 1), tau_0 = 1/d_m; X and X' fixed; f with the sum over tokens, as in C.2; means over "
            "draws of the weights", by=mean_at_most,
        ),
    ], relation=FollowsLaw(samples=300, instances=6),
    sizes={**SIZES, "d_m": (1, 16)}, uses=("convergence.d1-gradients", "convergence.gradient-wk"),
    note=r"""The limits hold in mean, by bounds at every width, which the tests attack: with $v_i$ the vector of the
        first display, $E|v_i|^2 \le |X|_F^4 / (8 d_m^2)$, $E|df/dW_Q|_F^2 \le d d_s |X|_F^6 / (8 d_m)$, $E|df/dW_K|_F^2
        \le d_s |X|_F^6 / (8 d_m)$. Proof: $v_i = \tau_0 \tau_1 A_i g_i$ with $A_i = X^\top(\mathrm{diag}(\beta_i)
        - \beta_i \beta_i^\top)X$, $|A_i|_F \le |X|_F^2 / 2$, since the norm
        of $\mathrm{diag}(\beta) - \beta \beta^\top$ is at most 1/2. Given $W_Q$ and $W_K$, $g_i = W_V^\top (w_O \circ
        \mathrm{relu}')$ has mean 0 and, by the symmetry of $w$, covariance $d_m I / 2$ (or 0 where $X^\top \beta_i =
        0$). Take $E|A_i g_i|^2 = d_m |A_i|_F^2 / 2$, $E|W_K|_F^2 = d d_m$ and $E|W_Q x_i|^2 = d_m |x_i|^2$ and add by
        Cauchy and Schwarz. Inner products are at most products of norms. Tested are the means over draws, with
        these bounds. The matrix in the middle of the first display
        should have $1/d_s$ for 1; it is multiplied by 0.""",
)  # fmt: skip


@VANISHING_BLOCKS.formula
def second_moment_bounds(X: Tokens, d_m: Width) -> tuple[float, float, float]:
    """Bounds of E|v_i|^2, E|df/dW_Q|_F^2 and E|df/dW_K|_F^2 at width d_m."""
    d_s, d = X.shape
    size = float((X * X).sum())
    return size**2 / (8 * d_m**2), d * d_s * size**3 / (8 * d_m), d_s * size**3 / (8 * d_m)


@VANISHING_BLOCKS.part("laws")
def second_moments(formula: Any, generator: Any, samples: int, X: Any, d_m: Width) -> list[LawTest]:
    """Means of v_1 and second moments of v_1 and of both gradients, at the drawn width, at 16 and at 1024."""
    import torch

    X = torch.as_tensor(X, device=generator.device)
    d = X.shape[1]
    tests = []
    for width in dict.fromkeys([d_m, 16, 1024]):
        W_Q, W_K, W_V = torch.randn(3, samples, width, d, generator=generator, device=X.device, dtype=X.dtype)
        w_O = torch.randn(samples, width, generator=generator, device=X.device, dtype=X.dtype)
        logits = (X @ W_Q.transpose(1, 2)) @ (W_K @ X.T) / width
        beta = torch.softmax(logits, dim=-1)  # (samples, d_s, d_s)
        covariance = torch.diag_embed(beta) - beta[..., :, None] * beta[..., None, :]
        A = X.T @ covariance @ X  # (samples, d_s, d, d)
        active = (beta @ X @ W_V.transpose(1, 2) > 0).to(X.dtype)  # (samples, d_s, width)
        g = (w_O[:, None] * active) @ W_V  # (samples, d_s, d)
        v = torch.einsum("snij,snj->sni", A, g) / width**1.5
        of_queries = torch.einsum("smi,sni,nj->smj", W_K, v, X)
        of_keys = torch.einsum("smj,nj,sni->smi", W_Q, X, v)
        bounds = formula(X, width)
        squares = [v[:, 0].square().sum(-1), of_queries.square().sum((1, 2)), of_keys.square().sum((1, 2))]
        names = ("|v_1|^2", "|df/dW_Q|^2", "|df/dW_K|^2")
        tests += [
            mean_at_most(f"{name}, width {width}", square.cpu().numpy(), bound)
            for name, square, bound in zip(names, squares, bounds, strict=True)
        ]
        tests.append(moment_test(f"mean of v_1, width {width}", v[:, 0, 0].cpu().numpy(), 0.0))
    return tests


VANISHING_BLOCKS.mutant("d_m^{-3} for |v_i|^2", "d_m ** 2 -> d_m ** 3")
VANISHING_BLOCKS.mutant("d_m^{-2} for the gradients", "8 * d_m -> 8 * d_m ** 2")


EQ_64 = Claim(VALUE_BLOCK, "convergence.eq-64", label="Eq. (64)", name="kernel block of the value weights",
    statement=r"""\lim\Big\langle\frac{\partial f(X)}{\partial W_V},\frac{\partial f(X')}{\partial
        W_V}\Big\rangle=\lim\tau_1^2
        \sum_{i,j}\sum_{k=1}^{d_m}(w_O^{(k)})^2\sigma_r(W_V^{(k,:)}X'^\top\beta'_j)\sigma_r(W_V^{(k,:)}X^\top
        \beta_i)\beta_i^\top XX'^\top\beta'_j=d_s^2\,\mathbb E_w(\sigma_r(w^\top X'^\top\mathbf
        1_{d_s}))(\sigma_r(w^\top X^\top\mathbf 1_{d_s}))(\mathbf 1_{d_s}^\top XX'^\top\mathbf 1_{d_s})""",
    assumptions=[SUMS], relation=TendsTo(WIDTHS, PowerRate(0.5), instances=3), expects="refuted", severity="slip",
    repeats="convergence.sec-4.4-all-one",
    correction="convergence.eq-64-mean-tokens",
    doubt=Doubt(r"(\boldsymbol{w}_{O}^{(k)})^{2} \boldsymbol{\sigma}_{r} \left(\boldsymbol{W}_{V}^{(k,:)}",
        r"""The dots of $\sigma_r$ are lost, which Lemma 1 has; with relu instead of $\mathrm{relu}'$ already the first
            equality would fail."""),
    note=r"""$\beta_i$ tends to $1/d_s$ in every entry, so $1_{d_s}^\top X X'^\top 1_{d_s}$ stands for $d_s^2$ times the
        product of the mean tokens: the line is $d_s^2$ too large. Lemma 1, with $\Phi^*$ made of $X^\top 1/d_s$, has it
        right. Were $1_{d_s}$ the limit of $\beta_i$ here, with entries $1/d_s$, the line would be right too, against
        Lemma 1 and Section 1.""",
)  # fmt: skip


def _value_block(X: Any, Y: Any, like_ones: Any, products: Any = expected_step_products) -> Any:
    """E relu'(w.x) relu'(w.y) x.y for the rows x, y that `like_ones` makes of X and Y, shape (1, 1)."""
    x, y = like_ones @ X, like_ones @ Y
    return products(x, y) * (x @ y.T)


@EQ_64.formula
def printed_value_block(X: Tokens, Y: Tokens) -> Any:
    """d_s^2 E relu' relu' 1^T X X'^T 1, shape (1, 1) (Eq. (64))."""
    d_s = X.shape[0]
    return _value_block(X, Y, ones(1, d_s)) * d_s**2


def _limit_by_pairs(X: Any, Y: Any) -> Any:
    """The law of large numbers for every pair of tokens, each attending uniformly; shape (1, 1)."""
    d_s = X.shape[0]
    uniform = ones(d_s, d_s) * rational(1, d_s)
    A, B = uniform @ X, uniform @ Y
    return ones(1, d_s) @ hadamard(expected_step_products(A, B), A @ B.T) @ ones(d_s, 1)


EQ_64.oracle(lambda X, Y: _limit_by_pairs(X, Y))


def _sampled_value_block(X: Any, Y: Any, width: int, generator: Any) -> Any:
    """The inner product of the gradients in W_V at one draw of the weights, shape (1, 1)."""
    d = X.shape[1]
    W_Q, W_K, W_V, w_O = (standard_normal(generator, X, width, columns) for columns in (d, d, d, 1))
    slopes = [value_gradient(S, W_Q, W_K, W_V, w_O, 1 / width, width**-0.5) for S in (X, Y)]
    return (slopes[0] * slopes[1]).sum().reshape(1, 1)


EQ_64.part("sequence", lambda X, Y, scale, generator: _sampled_value_block(X, Y, scale, generator))
EQ_64.mutant("d_s for d_s^2", "d_s ** 2 -> d_s")
EQ_64.mutant("relu for relu', as extracted", products=expected_relu_products)
EQ_64.counterexample("X = X' = (1, 1), d = 1: the limit is 2, printed 8", X=[[1], [1]], Y=[[1], [1]])


EQ_64_MEANS = Claim(VALUE_BLOCK, "convergence.eq-64-mean-tokens", label="Eq. (64), with the mean tokens of Lemma 1",
    statement=r"""\lim\Big\langle\frac{\partial f(X)}{\partial W_V},\frac{\partial f(X')}{\partial
        W_V}\Big\rangle=\mathbb E_w\dot\sigma_r(w^\top X'^\top\mathbf 1)\dot\sigma_r(w^\top X^\top\mathbf 1)\,\mathbf
        1^\top XX'^\top\mathbf 1""",
    assumptions=[SUMS], note="For the average of Eq. (1.2) $1/d_s^2$ times this.",
    name="kernel block of the value weights, corrected", relation=TendsTo(WIDTHS, PowerRate(0.5), instances=3),
    corrects="convergence.eq-64", of_project=True)  # fmt: skip


@EQ_64_MEANS.formula
def value_block(X: Tokens, Y: Tokens) -> Any:
    """E relu' relu' 1^T X X'^T 1, shape (1, 1)."""
    return _value_block(X, Y, ones(1, X.shape[0]))


EQ_64_MEANS.part("sequence", lambda X, Y, scale, generator: _sampled_value_block(X, Y, scale, generator))
EQ_64_MEANS.mutant("d_s^2 times this, as printed", lambda value, X: value * X.shape[0] ** 2)
EQ_64_MEANS.mutant("gates dropped", lambda X, Y: ones(1, X.shape[0]) @ X @ (ones(1, X.shape[0]) @ Y).T)
