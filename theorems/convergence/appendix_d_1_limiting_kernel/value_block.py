"""The block of the weights W_V in the limiting kernel: Eq. (64)."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import (
    expected_relu_products,
    expected_step_products,
)
from theorems.convergence.appendix_d_tangent_kernel.gradients import value_gradient
from verify.claims import Claim
from verify.matrix import (
    hadamard,
    ones,
    rational,
)
from verify.relations import PowerRate, TendsTo
from verify.shapes import Shape

Tokens = Annotated[Any, Shape("d_s", "d")]

WIDTHS = (64, 256, 1024, 4096, 16384)
NTK = ["NTK initialisation (Table 1): standard normal weights, tau_1 = d_m^{-1/2}", "tau_0 = 1/d_m", "X, X' fixed"]


# -- Eq. (64) ----------------------------------------------------------------------------------------------------------

EQ_64 = Claim(
    CONVERGENCE,
    "convergence.eq-64",
    label="Eq. (64)",
    statement=r"\lim\Big\langle\frac{\partial f(X)}{\partial W_V},\frac{\partial f(X')}{\partial W_V}\Big\rangle=\lim\tau_1^2\sum"
    r"_{i,j}\sum_{k=1}^{d_m}(w_O^{(k)})^2\dot\sigma_r(W_V^{(k,:)}X'^\top\beta'_j)\dot\sigma_r(W_V^{(k,:)}X^\top\beta_i)\beta_i"
    r"^\top XX'^\top\beta'_j=d_s^2\,\mathbb E_w(\dot\sigma_r(w^\top X'^\top\mathbf 1_{d_s}))(\dot\sigma_r(w^\top X^\top\mathbf"
    r" 1_{d_s}))(\mathbf 1_{d_s}^\top XX'^\top\mathbf 1_{d_s})",
    assumptions=[*NTK, "f with the sum over tokens, as in C.2"],
    relation=TendsTo(WIDTHS, PowerRate(0.5), instances=3),
    sizes={"d_s": (1, 3), "d": (1, 3)},
    expects="refuted",
    severity="slip",
    correction="convergence.eq-64-mean-tokens",
    doubt="The extraction shows no dots on sigma_r here; with relu instead of relu' already the first equality would fail.",
    note="beta_i tends to 1/d_s in every entry, so 1_{d_s}^T X X'^T 1_{d_s} stands for d_s^2 times the product of the mean"
    " tokens: the line is d_s^2 too large. Lemma 1, with Phi^* made of X^T 1/d_s, has it right. Were 1_{d_s} the limit of beta_i"
    " here, with entries 1/d_s, the line would be right too, against Lemma 1 and Section 1.",
)


def _value_block(X: Any, Y: Any, like_ones: Any) -> Any:
    """E relu'(w.x) relu'(w.y) x.y for the rows x, y that `like_ones` makes of X and Y, shape (1, 1)."""
    x, y = like_ones @ X, like_ones @ Y
    return expected_step_products(x, y) * (x @ y.T)


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
    import torch

    d = X.shape[1]
    W_Q, W_K, W_V, w_O = (
        torch.randn(width, columns, generator=generator, dtype=X.dtype, device=X.device) for columns in (d, d, d, 1)
    )
    slopes = [value_gradient(S, W_Q, W_K, W_V, w_O, 1 / width, width**-0.5) for S in (X, Y)]
    return (slopes[0] * slopes[1]).sum().reshape(1, 1)


EQ_64.part("sequence", lambda X, Y, scale, generator: _sampled_value_block(X, Y, scale, generator))
EQ_64.mutant("d_s for d_s^2", lambda X, Y: _value_block(X, Y, ones(1, X.shape[0])) * X.shape[0])


@EQ_64.mutant("relu for relu', as extracted")
def _(X: Tokens, Y: Tokens) -> Any:
    x, y = ones(1, X.shape[0]) @ X, ones(1, X.shape[0]) @ Y
    return expected_relu_products(x, y) * (x @ y.T) * X.shape[0] ** 2


EQ_64.counterexample("X = X' = (1, 1), d = 1: the limit is 2, printed 8", X=[[1], [1]], Y=[[1], [1]])


EQ_64_MEANS = Claim(
    CONVERGENCE,
    "convergence.eq-64-mean-tokens",
    label="Eq. (64), with the mean tokens of Lemma 1",
    statement=r"\lim\Big\langle\frac{\partial f(X)}{\partial W_V},\frac{\partial f(X')}{\partial W_V}\Big\rangle=\mathbb E_w"
    r"\dot\sigma_r(w^\top X'^\top\mathbf 1)\dot\sigma_r(w^\top X^\top\mathbf 1)\,\mathbf 1^\top XX'^\top\mathbf 1",
    assumptions=[*NTK, "f with the sum over tokens, as in C.2; for the average of Eq. (1.2) 1/d_s^2 times this"],
    relation=TendsTo(WIDTHS, PowerRate(0.5), instances=3),
    sizes={"d_s": (1, 3), "d": (1, 3)},
    corrects="convergence.eq-64",
    of_project=True,
)


@EQ_64_MEANS.formula
def value_block(X: Tokens, Y: Tokens) -> Any:
    """E relu' relu' 1^T X X'^T 1, shape (1, 1)."""
    return _value_block(X, Y, ones(1, X.shape[0]))


EQ_64_MEANS.part("sequence", lambda X, Y, scale, generator: _sampled_value_block(X, Y, scale, generator))
EQ_64_MEANS.mutant("d_s^2 times this, as printed", lambda value, X: value * X.shape[0] ** 2)
EQ_64_MEANS.mutant("gates dropped", lambda X, Y: ones(1, X.shape[0]) @ X @ (ones(1, X.shape[0]) @ Y).T)
