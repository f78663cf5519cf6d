"""Attention and its gradients as the width grows: the scalings of Section 1, pooling, Eq. (63), the block of W_Q in D.1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import expected_relu_products
from theorems.convergence.appendix_d_tangent_kernel.gradients import Tokens, attention_rows, output_weight_gradient
from verify.claims import Claim
from verify.matrix import concatenate, eye, ones, rational
from verify.relations import FollowsLaw, Moments, PowerRate, TendsTo, moment_test
from verify.relations.follows_law import SMALLEST_P, LawTest, two_sided_p
from verify.shapes import Shape, Size

if TYPE_CHECKING:
    import torch

Width = Annotated[int, Size("d_m")]
Dimension = Annotated[int, Size("d")]
Square = Annotated[Any, Shape("d", "d")]
ValueRows = Annotated[Any, Shape("d_v", "d")]

STANDARD = "entries of W_Q and W_K independent N(0, 1)"
NTK = ["NTK initialisation (Table 1): standard normal weights, tau_1 = d_m^{-1/2}", "tau_0 = d_m^{-1}", "X, X' fixed"]
WIDTHS = (64, 256, 1024, 4096, 16384)


def _normal(generator: Any, like: Any, *shape: int) -> torch.Tensor:
    import torch

    return torch.randn(*shape, generator=generator, dtype=like.dtype, device=like.device)


# -- tau_0 W_Q^T W_K ---------------------------------------------------------------------------------------------------

HALF_VARIANCE = Claim(
    CONVERGENCE,
    "convergence.tau0-half-variance",
    label="Section 1, first bullet",
    statement=r"\tau_0=d_m^{-1/2},\ W_Q,W_K \text{ standard Gaussian: each element of } \tau_0W_Q^\top W_K \text{ has mean }0"
    r"\text{ and variance }1.",
    assumptions=[STANDARD, "tau_0 = d_m^{-1/2}"],
    relation=FollowsLaw(),
    sizes={"d_m": (1, 12), "d": (1, 3)},
    note="The element (i, j) is tau_0 sum_q W_Q^(q,i) W_K^(q,j), a sum of d_m independent products of mean 0 and variance"
    " 1, at every width.",
)


@HALF_VARIANCE.formula
def element_moments(d_m: Width, d: Dimension) -> tuple[float, float]:
    """Mean and variance of an element of d_m^{-1/2} W_Q^T W_K (Section 1)."""
    return 0.0, 1.0


@HALF_VARIANCE.part("laws")
def moments_of_elements(formula: Any, generator: Any, samples: int, d_m: Width, d: Dimension) -> list[LawTest]:
    """Both moments of the first diagonal element and of the last one in the first row."""
    import torch

    W_Q, W_K = torch.randn(2, samples, d_m, d, generator=generator, device=generator.device, dtype=torch.float64)
    elements = (torch.einsum("sqi,sqj->sij", W_Q, W_K) / math.sqrt(d_m)).cpu()
    stated = Moments(*formula(d_m, d))
    return stated.tests("first element", elements[:, 0, 0]) + stated.tests("last of the first row", elements[:, 0, -1])


HALF_VARIANCE.mutant("variance d_m, as without tau_0", lambda d_m: (0.0, float(d_m)))
HALF_VARIANCE.mutant("variance 1/d_m, as with tau_0 = 1/d_m", lambda d_m: (0.0, 1 / d_m))
HALF_VARIANCE.mutant("mean 1, as with W_K = W_Q", lambda: (1.0, 1.0))


LAW_OF_LARGE_NUMBERS = Claim(
    CONVERGENCE,
    "convergence.tau0-one-lln",
    label="Section 1, second bullet",
    statement=r"\tau_0=d_m^{-1}:\quad \lim_{d_m\to\infty}\tau_0[W_Q^\top W_K]^{(ij)}=0",
    assumptions=[STANDARD, "tau_0 = d_m^{-1}"],
    relation=TendsTo(WIDTHS, PowerRate(0.5), instances=4),
    sizes={"d": (1, 3)},
    uses=("convergence.tau0-half-variance",),
    note="The deviation of each element is exactly d_m^{-1/2}, by convergence.tau0-half-variance.",
)


@LAW_OF_LARGE_NUMBERS.formula
def limiting_elements(template: Square) -> Any:
    """The limit of W_Q^T W_K / d_m, shape (d, d); of `template` only the shape matters (Section 1)."""
    return template * 0


@LAW_OF_LARGE_NUMBERS.part("sequence")
def elements_at_width(template: Square, scale: int, generator: Any) -> Any:
    d = template.shape[0]
    return _normal(generator, template, scale, d).T @ _normal(generator, template, scale, d) / scale


LAW_OF_LARGE_NUMBERS.mutant("identity, as with W_K = W_Q", lambda value, template: value + eye(template.shape[0]))
LAW_OF_LARGE_NUMBERS.mutant(
    "one tenth in every element", lambda value, template: value + ones(*template.shape) * rational(1, 10)
)


# -- pooling -----------------------------------------------------------------------------------------------------------

POOLING = Claim(
    CONVERGENCE,
    "convergence.softmax-pooling",
    label="Section 1; Remark after Lemma 1; Section 4.4; C.8",
    statement=r"\tau_0=d_m^{-1},\ d_m\to\infty:\ \text{softmax degenerates to pooling, } \text{Self-attention}(X)\to"
    r"\tfrac1{d_s}\mathbf 1_{d_s\times d_s}XW_V^\top",
    assumptions=["NTK initialisation; for LeCun and He the logits have a further factor 1/d or 2/d", "X fixed"],
    relation=TendsTo(WIDTHS, PowerRate(0.5), instances=4),
    sizes={"d_s": (2, 4), "d": (1, 3), "d_v": (1, 2)},
    uses=("convergence.tau0-one-lln",),
    note="Checked for the weights themselves and for any fixed rows of W_V. The rate is d_m^{-1/2}. With tau_0 ="
    " d_m^{-1/2} the elements of tau_0 W_Q^T W_K keep variance 1, and nothing degenerates.",
)


def _weights_and_values(S: Any, X: Any, W_V: Any) -> Any:
    """The attention matrix beside its product with the values, shape (d_s, d_s + d_v)."""
    return concatenate([S, S @ X @ W_V.T], axis=1)


@POOLING.formula
def pooled(X: Tokens, W_V: ValueRows) -> Any:
    """1/d_s in every entry, and (1/d_s) 1 X W_V^T, side by side, shape (d_s, d_s + d_v)."""
    d_s = X.shape[0]
    return _weights_and_values((X @ X.T) * 0 + ones(d_s, d_s) * rational(1, d_s), X, W_V)


@POOLING.part("sequence")
def attention_at_width(X: Tokens, W_V: ValueRows, scale: int, generator: Any) -> Any:
    W_Q, W_K = (_normal(generator, X, scale, X.shape[1]) for _ in range(2))
    S = concatenate(attention_rows(X, W_Q, W_K, 1 / scale), axis=1).T
    return _weights_and_values(S, X, W_V)


POOLING.mutant("sum in place of mean", "ones(d_s, d_s) * rational(1, d_s) -> ones(d_s, d_s)")
POOLING.mutant(
    "each token attends to itself", lambda X, W_V: _weights_and_values(X @ X.T * 0 + eye(X.shape[0]), X, W_V)
)


# -- Eq. (63) ----------------------------------------------------------------------------------------------------------

TWO_SAMPLES = {"d_s": (1, 3), "d": (1, 3)}

EQ_63 = Claim(
    CONVERGENCE,
    "convergence.eq-63",
    label="Eq. (63)",
    statement=r"\lim_{d_m\to\infty}\Big\langle\frac{\partial f(X)}{\partial w_O},\frac{\partial f(X')}{\partial w_O}"
    r"\Big\rangle=\tau_1^2\sum_{i,j}\lim(\sigma_r(W_VX'^\top\beta'_j))^\top\sigma_r(W_VX^\top\beta_i)=d_s^2\,\mathbb"
    r" E_{w\sim N(0,I)}\sigma_r(w^\top X'^\top\mathbf 1_{d_s})\sigma_r(w^\top X^\top\mathbf 1_{d_s})",
    assumptions=[*NTK, "f with the sum over tokens, as in C.2"],
    relation=TendsTo(WIDTHS, PowerRate(0.5), instances=5),
    sizes=TWO_SAMPLES,
    expects="refuted",
    severity="slip",
    correction="convergence.eq-63-mean-tokens",
    note="beta_i tends to 1/d_s in every entry, so the tokens are averaged: 1/d_s is missing in both arguments, a factor"
    " d_s^2 in all. Lemma 1 has it, with Phi^* made of X^T 1/d_s; only if 1_{d_s} meant the vector with entries 1/d_s"
    " would the line be right, against Lemma 1 and Section 1. tau_1^2 = 1/d_m belongs under the limit.",
)


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
    W_Q, W_K, W_V = (_normal(generator, X, width, X.shape[1]) for _ in range(3))
    slopes = [output_weight_gradient(tokens, W_Q, W_K, W_V, 1 / width, width**-0.5) for tokens in (X, X_2)]
    return slopes[0].T @ slopes[1]


EQ_63.part("sequence", lambda X, X_2, scale, generator: _output_block(X, X_2, scale, generator))
EQ_63.mutant("d_s in place of d_s^2", "d_s ** 2 -> d_s")
EQ_63.mutant("first token in place of the sum", lambda X, X_2: expected_relu_products(X[:1], X_2[:1]) * X.shape[0] ** 2)
EQ_63.counterexample("both samples of two tokens equal to 1: the limit is 2, printed 8", X=[[1], [1]], X_2=[[1], [1]])


MEAN_TOKENS = Claim(
    CONVERGENCE,
    "convergence.eq-63-mean-tokens",
    label="Eq. (63), with the mean tokens of Lemma 1",
    statement=r"\lim_{d_m\to\infty}\Big\langle\frac{\partial f(X)}{\partial w_O},\frac{\partial f(X')}{\partial w_O}"
    r"\Big\rangle=d_s^2\,\mathbb E_{w\sim N(0,I)}\sigma_r(\tfrac1{d_s}w^\top X'^\top\mathbf 1)\sigma_r(\tfrac1{d_s}w^\top"
    r" X^\top\mathbf 1)",
    assumptions=[*NTK, "f with the sum over tokens, as in C.2; for the average of Eq. (1.2) without the factor d_s^2"],
    relation=TendsTo(WIDTHS, PowerRate(0.5), instances=5),
    sizes=TWO_SAMPLES,
    uses=("convergence.softmax-pooling",),
    corrects="convergence.eq-63",
    of_project=True,
)


@MEAN_TOKENS.formula
def output_block(X: Tokens, X_2: Tokens) -> Any:
    """d_s^2 E relu(w^T X'^T 1/d_s) relu(w^T X^T 1/d_s), shape (1, 1)."""
    d_s = X.shape[0]
    mean = ones(1, d_s) * rational(1, d_s)
    return expected_relu_products(mean @ X, mean @ X_2) * d_s**2


MEAN_TOKENS.part("sequence", lambda X, X_2, scale, generator: _output_block(X, X_2, scale, generator))


@MEAN_TOKENS.mutant("sums of tokens in place of means, as printed")
def _(X: Tokens, X_2: Tokens) -> Any:
    d_s = X.shape[0]
    return expected_relu_products(ones(1, d_s) @ X, ones(1, d_s) @ X_2) * d_s**2


@MEAN_TOKENS.mutant("no factor d_s^2, as for the average")
def _(X: Tokens, X_2: Tokens) -> Any:
    mean = ones(1, X.shape[0]) * rational(1, X.shape[0])
    return expected_relu_products(mean @ X, mean @ X_2)


# -- D.1: the blocks of W_Q and W_K ------------------------------------------------------------------------------------

VANISHING_BLOCKS = Claim(
    CONVERGENCE,
    "convergence.d1-limit-wq",
    label="D.1, W_Q and W_K inner products",
    statement=r"\lim\tau_0\tau_1X^\top(\mathrm{diag}(\beta_i)-\beta_i\beta_i^\top)XW_V^\top(w_O\circ\dot\sigma_r(W_VX^\top"
    r"\beta_i))=X^\top(\mathrm{diag}(\mathbf 1_{d_s})-\mathbf 1_{d_s}\mathbf 1_{d_s}^\top)X\,[0,...,0]^\top=0;\quad"
    r"\lim_{d_m\to\infty}\Big\langle\frac{\partial f(X)}{\partial W_Q},\frac{\partial f(X')}{\partial W_Q}\Big\rangle=0,\ "
    r"\text{same for }W_K",
    assumptions=[*NTK, "f with the sum over tokens, as in C.2"],
    relation=FollowsLaw(samples=300, instances=6),
    sizes={"d_s": (1, 3), "d": (1, 3), "d_m": (1, 16)},
    uses=("convergence.d1-gradients", "convergence.gradient-wk"),
    note="The limits hold in mean, by bounds at every width, which the tests attack: with v_i the vector of the first"
    " display, E|v_i|^2 <= |X|_F^4 / (8 d_m^2), E|df/dW_Q|_F^2 <= d d_s |X|_F^6 / (8 d_m), E|df/dW_K|_F^2 <="
    " d_s |X|_F^6 / (8 d_m). Proof: v_i = tau_0 tau_1 A_i g_i with |A_i|_F <= |X|_F^2 / 2, since the norm of diag(beta)"
    " - beta beta^T is at most 1/2. Given W_Q and W_K, g_i = W_V^T (w_O o relu') has mean 0 and, by the symmetry of w,"
    " covariance d_m I / 2 (or 0 where X^T beta_i = 0). Take E|A_i g_i|^2 = d_m |A_i|_F^2 / 2, E|W_K|_F^2 = d d_m and"
    " E|W_Q x_i|^2 = d_m |x_i|^2 and add by Cauchy and Schwarz. Inner products are at most products of norms. The matrix"
    " in the middle of the first display should have 1/d_s for 1; it is multiplied by 0.",
)


@VANISHING_BLOCKS.formula
def second_moment_bounds(X: Tokens, d_m: Width) -> tuple[float, float, float]:
    """Bounds of E|v_i|^2, E|df/dW_Q|_F^2 and E|df/dW_K|_F^2 at width d_m."""
    d_s, d = X.shape
    size = float((X * X).sum())
    return size**2 / (8 * d_m**2), d * d_s * size**3 / (8 * d_m), d_s * size**3 / (8 * d_m)


def mean_at_most(name: str, samples: np.ndarray, bound: float) -> LawTest:
    """One-sided Student test that independent samples have a mean of at most `bound`; errs to the safe side for squares."""
    n, mean, error = len(samples), float(samples.mean()), float(samples.std(ddof=1)) / math.sqrt(len(samples))
    if mean <= bound * (1 + 1e-12):
        return LawTest(name, 1.0, n)
    return LawTest(name, max(two_sided_p((mean - bound) / error, degrees=n - 1) / 2 if error else 0.0, SMALLEST_P), n)


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


@VANISHING_BLOCKS.mutant("d_m^{-3} for |v_i|^2")
def _(X: Tokens, d_m: Width) -> tuple[float, float, float]:
    first, second, third = second_moment_bounds(X, d_m)
    return first / d_m, second, third


@VANISHING_BLOCKS.mutant("d_m^{-2} for the gradients")
def _(X: Tokens, d_m: Width) -> tuple[float, float, float]:
    first, second, third = second_moment_bounds(X, d_m)
    return first, second / d_m, third / d_m
