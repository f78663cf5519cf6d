"""Section 1: self-attention in its two forms, the scalings tau_0 = d_m^{-1/2} and 1/d_m, and attention as pooling.

At tau_0 = 1/d_m softmax attention tends to the mean over the tokens; at d_m^{-1/2} its logits keep variance 1.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import KeyWeights, QueryWeights, ValueWeights, self_attention
from theorems.convergence.part_d_1_limiting_kernel.gradients import Tokens
from theorems.convergence.settings import WIDTHS, Dimension, Scale, Square, Width
from verify.matrix import concatenate, eye, ones, rational, softmax, total
from verify.oracles import LawTest, Moments, standard_normal
from verify.vocabulary import (
    Assumption, Claim, Construction, Definition, Equal, FollowsLaw, PowerRate, Setting, Shape, TendsTo,
)  # fmt: skip

ValueRows = Annotated[Any, Shape("d_v", "d")]

GAUSSIAN_QUERIES_AND_KEYS = Definition("entries of W_Q and W_K independent N(0, 1)", by=standard_normal)
STANDARD = Setting(CONVERGENCE, "Section 1", assumptions=[GAUSSIAN_QUERIES_AND_KEYS])


# -- self-attention ----------------------------------------------------------------------------------------------------

TWO_FORMS = Claim(CONVERGENCE, "convergence.sa-two-forms", label="Section 1, display of Self-attention(X)",
    statement=r"""\text{Self-attention}(X)\triangleq\sigma_s\big(\tau_0(XW_Q^\top)(XW_K^\top)^\top\big)(XW_V^\top)
        =\sigma_s(\tau_0XW_Q^\top W_KX^\top)(XW_V^\top)""",
    name="self-attention in two forms", assumptions=[
        Definition("sigma_s is the softmax of each row", by=softmax),
        Assumption("tau_0 > 0", positive=lambda tau_0: tau_0),
    ],
    relation=Equal(), all_sizes=True, sizes={"d_s": (1, 4), "d": (1, 3), "d_m": (1, 4)}, exact=True,
)  # fmt: skip


@TWO_FORMS.formula
def attention_by_bilinear_form(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, tau_0: Scale) -> Any:
    """softmax(tau_0 X W_Q^T W_K X^T) X W_V^T, shape (d_s, d_m) (Section 1)."""
    return softmax(X @ W_Q.T @ W_K @ X.T * tau_0) @ (X @ W_V.T)


TWO_FORMS.oracle(lambda X, W_Q, W_K, W_V, tau_0: self_attention(X, W_Q, W_K, W_V, tau_0))
TWO_FORMS.mutant("queries and keys exchanged", "W_Q -> W_K; W_K -> W_Q")
TWO_FORMS.mutant("softmax of each column",
    lambda X, W_Q, W_K, W_V, tau_0: softmax(X @ W_K.T @ W_Q @ X.T * tau_0).T @ (X @ W_V.T))  # fmt: skip
TWO_FORMS.mutant("scale outside the softmax", "X @ W_Q.T -> X @ W_Q.T / tau_0; X @ W_V.T -> X @ W_V.T * tau_0")


# -- tau_0 W_Q^T W_K ---------------------------------------------------------------------------------------------------

HALF_VARIANCE = Claim(STANDARD, "convergence.tau0-half-variance", label="Section 1, first bullet",
    statement=r"""\tau_0=d_m^{-1/2}:\ \text{given }W_Q\text{ and }W_K\text{ initialized by standard Gaussian, each
        element in }\tau_0W_Q^\top W_K\text{ is a random variable with mean }0\text{ and variance }1.""",
    name="mean and variance of scaled query-key products", relation=FollowsLaw(), sizes={"d_m": (1, 12), "d": (1, 3)},
    note=r"""The element $(i, j)$ is $\tau_0 \sum_q W_Q^{(q,i)} W_K^{(q,j)}$, a sum of $d_m$ independent products of
        mean 0 and variance 1, at every width.""")  # fmt: skip


@HALF_VARIANCE.formula
def element_moments(d_m: Width, d: Dimension) -> tuple[float, float]:
    """Mean and variance of an element of d_m^{-1/2} W_Q^T W_K (Section 1)."""
    return 0.0, 1.0


@HALF_VARIANCE.part("laws")
def moments_of_elements(formula: Any, generator: Any, samples: int, d_m: Width, d: Dimension) -> list[LawTest]:
    """Both moments of the first diagonal element and of the last one in the first row."""
    import torch

    W_Q, W_K = standard_normal(generator, None, 2, samples, d_m, d)
    elements = (torch.einsum("sqi,sqj->sij", W_Q, W_K) / math.sqrt(d_m)).cpu()
    stated = Moments(*formula(d_m, d))
    return stated.tests("first element", elements[:, 0, 0]) + stated.tests("last of the first row", elements[:, 0, -1])


HALF_VARIANCE.mutant("variance d_m, as without tau_0", "1.0 -> float(d_m)")
HALF_VARIANCE.mutant("variance 1/d_m, as with tau_0 = 1/d_m", "1.0 -> 1 / d_m")
HALF_VARIANCE.mutant("mean 1, as with W_K = W_Q", "0.0 -> 1.0")


LAW_OF_LARGE_NUMBERS = Claim(STANDARD, "convergence.tau0-one-lln", label="Section 1, second bullet",
    statement=r"\tau_0=d_m^{-1}:\quad \lim_{d_m\to\infty}\tau_0[W_Q^\top W_K]^{(ij)}=0",
    name="query-key products vanish at inverse-width scaling", relation=TendsTo(WIDTHS, PowerRate(0.5), instances=4),
    all_sizes=True, sizes={"d": (1, 3)}, uses=("convergence.tau0-half-variance",),
    note="The deviation of each element is exactly $d_m^{-1/2}$, by convergence.tau0-half-variance.")  # fmt: skip


@LAW_OF_LARGE_NUMBERS.formula
def limiting_elements(template: Square) -> Any:
    """The limit of W_Q^T W_K / d_m, shape (d, d); of `template` only the shape matters (Section 1)."""
    return template * 0


@LAW_OF_LARGE_NUMBERS.part("sequence")
def elements_at_width(template: Square, scale: int, generator: Any) -> Any:
    d = template.shape[0]
    W_Q, W_K = (standard_normal(generator, template, scale, d) for _ in range(2))
    return W_Q.T @ W_K * rational(1, scale)


LAW_OF_LARGE_NUMBERS.part("rate", lambda d, scale: Fraction(1) * d**2 / scale)
LAW_OF_LARGE_NUMBERS.mutant("identity, as with W_K = W_Q", lambda value, template: value + eye(template.shape[0]))
LAW_OF_LARGE_NUMBERS.mutant("one tenth in every element", "template * 0 -> template * 0 + rational(1, 10)")


# -- pooling -----------------------------------------------------------------------------------------------------------

POOLING = Claim(CONVERGENCE, "convergence.softmax-pooling", label="Section 1; Remark after Lemma 1; Section 4.4; C.8",
    statement=r"""\tau_0=d_m^{-1}:\ \text{the input of softmax is zero and the softmax degenerates to a pooling layer};\
        \text{the self-attention layer degenerates as }\tfrac1{d_s}\mathbf 1_{d_s\times d_s}XW_V^\top""",
    assumptions=[GAUSSIAN_QUERIES_AND_KEYS, Construction("X fixed as d_m grows", shapes={"X": ("d_s", "d")})],
    name="wide attention degenerates to average pooling", relation=TendsTo(WIDTHS, PowerRate(0.5), instances=4),
    all_sizes=True, sizes={"d_s": (2, 4), "d": (1, 3), "d_v": (1, 2)}, uses=("convergence.tau0-one-lln",),
    note=r"""Checked for the weights themselves and for any fixed rows of $W_V$, with the variances of NTK
        initialisation; for LeCun and He the logits have a further factor $1/d$ or $2/d$. The rate is $d_m^{-1/2}$. With $\tau_0
        = d_m^{-1/2}$ the elements of $\tau_0 W_Q^\top W_K$ keep variance 1, and nothing degenerates.""")  # fmt: skip


def _weights_and_values(S: Any, X: Any, W_V: Any) -> Any:
    """The attention matrix beside its product with the values, shape (d_s, d_s + d_v)."""
    return concatenate([S, S @ X @ W_V.T], axis=1)


@POOLING.formula
def pooled(X: Tokens, W_V: ValueRows) -> Any:
    """1/d_s in every entry, and (1/d_s) 1 X W_V^T, side by side, shape (d_s, d_s + d_v)."""
    d_s = X.shape[0]
    return _weights_and_values((X @ X.T) * 0 + ones(d_s, d_s) * rational(1, d_s), X, W_V)


def _logits(X: Any, scale: Any, generator: Any) -> Any:
    """X W_Q^T W_K X^T / d_m, shape (d_s, d_s), at one draw of the weights."""
    W_Q, W_K = (standard_normal(generator, X, scale, X.shape[1]) for _ in range(2))
    return X @ W_Q.T @ W_K @ X.T * rational(1, scale)


@POOLING.part("sequence")
def attention_at_width(X: Tokens, W_V: ValueRows, scale: int, generator: Any) -> Any:
    return _weights_and_values(softmax(_logits(X, scale, generator)), X, W_V)


def _with_values(square: Any, X: Any, W_V: Any) -> Any:
    """Bound of ||[E, E X W_V^T]||_F^2 for E of squared norm `square` * 4."""
    return square * (total((X @ W_V.T) * (X @ W_V.T)) + 1) * rational(1, 4)


@POOLING.part("square")
def squared_logits(X: Tokens, W_V: ValueRows, scale: int, generator: Any) -> Any:
    """(1 + ||X W_V^T||_F^2) / 4 times the sum of the squared logits, since the softmax is 1/2-Lipschitz."""
    T = _logits(X, scale, generator)
    return _with_values(total(T * T), X, W_V)


POOLING.part("factor", lambda X, W_V: _with_values(total(X * X) * total(X * X), X, W_V))
POOLING.part("rate", lambda scale: Fraction(1) / scale)
POOLING.mutant("sum in place of mean", "ones(d_s, d_s) * rational(1, d_s) -> ones(d_s, d_s)")
POOLING.mutant("each token attends to itself", lambda X, W_V: _weights_and_values((X @ X.T) * 0 + eye(len(X)), X, W_V))
