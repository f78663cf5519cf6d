"""How large the softmax and its changes are: Lemma 8, the quotient of Lemma 11, the step of Lemma 7, and sharp constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import TokenLogits, attention_weights
from theorems.convergence.descent import stacked
from verify.matrix import (
    absolute,
    concatenate,
    diag,
    diag_part,
    exp,
    eye,
    frobenius_norm,
    maximum,
    rational,
    sqrt,
    total,
)
from verify.oracles import jacobian
from verify.vocabulary import AtMost, Claim, Equal

# -- Lemma 8 -----------------------------------------------------------------------------------------------------------

LEMMA_8 = Claim(
    CONVERGENCE,
    "convergence.lemma-8",
    label="Lemma 8",
    statement=r"v=\mathrm{Softmax}(u)\in\mathbb R^{d_s}\Rightarrow1/\sqrt{d_s}\le\|v\|_2\le1",
    assumptions=["u in R^{d_s}"],
    relation=AtMost(),
    sizes={"d_s": (1, 6)},
    note="Equality on the left at equal logits; on the right at d_s = 1, and in the limit of one dominating logit. The"
    " inequality that the proof calls that of arithmetic and geometric means is the one of Cauchy and Schwarz.",
)


def _ordered(u: Any, power: int = 1) -> Any:
    """The larger sides: ||v||_2^power of the left inequality and 1 of the right one."""
    norm = frobenius_norm(attention_weights(u))
    return stacked([norm**power, norm * 0 + 1])


@LEMMA_8.formula
def larger_sides(u: TokenLogits) -> Any:
    """(||v||_2, 1): the right-hand sides of 1/sqrt(d_s) <= ||v||_2 and ||v||_2 <= 1, shape (2,) (Lemma 8)."""
    return _ordered(u)


@LEMMA_8.oracle
def smaller_sides(u: TokenLogits) -> Any:
    v = attention_weights(u)
    return stacked([total(v) / sqrt(u.shape[1]), sqrt(total(v * v))])


LEMMA_8.mutant("squared norm in place of the norm", power=2)


@LEMMA_8.mutant("the norm of equal weights as an upper bound")
def _(u: TokenLogits) -> Any:
    norm = frobenius_norm(attention_weights(u))
    return stacked([norm, norm * 0 + 1 / sqrt(u.shape[1])])


# -- Lemma 11 ----------------------------------------------------------------------------------------------------------

QUOTIENT = Claim(
    CONVERGENCE,
    "convergence.lemma-11-quotient",
    label="Proof of Lemma 11, case j != k",
    statement=r"\frac{\partial v^{(j)}}{\partial u^{(k)}}=\frac{-\exp(u^{(j)})-\exp(u^{(k)})}"
    r"{(\sum_{i=1}^{d_s}\exp(u^{(i)}))^2}\ (j\ne k),\qquad \frac{\exp(u^{(k)})\sum_i\exp(u^{(i)})-(\exp(u^{(k)}))^2}"
    r"{(\sum_i\exp(u^{(i)}))^2}\ (j=k)",
    assumptions=["u in R^{d_s}"],
    relation=Equal(),
    sizes={"d_s": (1, 5)},
    expects="reading",
    exact=True,
    reading="the numerator for j != k is the product -exp(u^(j)) exp(u^(k))",
    doubt="The extraction shows a second minus sign between the two exponentials, where a centred dot may have stood."
    " With a minus sign the entry would be false: at two equal logits it is -1/2, the derivative -1/4.",
    note="The next line of the proof, -v^(j) v^(k) and v^(k) - v^(j) v^(k), is checked with it.",
)


def _quotient(u: Any, off_diagonal: Any) -> Any:
    """The quotient rule's numerators over the squared sum; `off_diagonal` gives those for j != k, its diagonal ignored."""
    e = exp(u).T
    S = total(e)
    identity = eye(u.shape[1])
    mixed = off_diagonal(e)
    return (mixed - diag(_diagonal(mixed)) + diag(e * S - e * e) @ identity) / S**2


def _diagonal(A: Any) -> Any:
    return diag_part(A).reshape(-1, 1)


@QUOTIENT.formula
def quotient_rule(u: TokenLogits) -> Any:
    """dv/du by the quotient rule and as products of the weights, on top of each other, shape (2 d_s, d_s) (Lemma 11)."""
    v = attention_weights(u).T
    products = -(v @ v.T)
    by_weights = products - diag(_diagonal(products)) + diag(v - v * v)
    return concatenate([_quotient(u, lambda e: -(e @ e.T)), by_weights], 0)


@QUOTIENT.oracle
def slopes_of_the_softmax(u: TokenLogits) -> Any:
    J = jacobian(attention_weights, "u")(u)
    return concatenate([J, J], 0)


@QUOTIENT.mutant("a minus sign in place of the dot, as the extraction shows")
def _(u: TokenLogits) -> Any:
    row = u * 0 + 1

    def difference(e: Any) -> Any:
        return -(e @ row) - row.T @ e.T

    J = _quotient(u, difference)
    return concatenate([J, J], 0)


@QUOTIENT.mutant("square of the sum dropped")
def _(u: TokenLogits) -> Any:
    J = _quotient(u, lambda e: -(e @ e.T)) * total(exp(u))
    return concatenate([J, J], 0)


@QUOTIENT.mutant("sign of the mixed terms")
def _(u: TokenLogits) -> Any:
    J = _quotient(u, lambda e: e @ e.T)
    return concatenate([J, J], 0)


# -- Lipschitz constants -----------------------------------------------------------------------------------------------


def _nearby(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Two logits near balance or all equal, and changes of a few ulps to a few units in opposite directions."""
    a, b = arrays["a"], arrays["b"]
    a *= rng.choice([0.0, 2.0**-6, 1.0], (len(a), 1, 1))
    b[:] = a
    size = 2.0 ** -rng.integers(0, 24, len(a)).astype(float)
    b[:, 0, 0] += size
    if sizes["d_s"] > 1:
        b[:, 0, 1:] -= size[:, None]


def _change(a: Any, b: Any) -> Any:
    return attention_weights(a) - attention_weights(b)


EDELMAN = Claim(
    CONVERGENCE,
    "convergence.lemma-7-edelman",
    label="Proof of Lemma 7, second inequality (Edelman et al., Cor. A.7)",
    statement=r"\|\mathrm{softmax}(a)-\mathrm{softmax}(b)\|_1\le2\|a-b\|_\infty",
    assumptions=["a, b in R^{d_s}"],
    relation=AtMost(),
    sizes={"d_s": (1, 6)},
    note="The factor 2 can be dropped: convergence.softmax-lipschitz has the sharp constant 1.",
)


@EDELMAN.formula
def printed_lipschitz_bound(a: TokenLogits, b: TokenLogits) -> Any:
    """2 ||a - b||_inf, a scalar (proof of Lemma 7)."""
    return maximum(absolute(a - b)) * 2


EDELMAN.oracle(lambda a, b: total(absolute(_change(a, b))))


EDELMAN.domain("nearly equal")(_nearby)


EDELMAN.mutant("half the distance", lambda a, b: maximum(absolute(a - b)) * rational(1, 2))
EDELMAN.mutant("squared distance", lambda a, b: maximum(absolute(a - b)) ** 2 * 2)
EDELMAN.mutant("mean distance", lambda a, b: total(absolute(a - b)) * rational(2, a.shape[1] ** 2))


SHARP = Claim(
    CONVERGENCE,
    "convergence.softmax-lipschitz",
    label="Lipschitz constants of the softmax",
    statement=r"\|\mathrm{softmax}(a)-\mathrm{softmax}(b)\|_1\le\|a-b\|_\infty,\qquad"
    r"\|\mathrm{softmax}(a)-\mathrm{softmax}(b)\|_2\le\tfrac12\|a-b\|_2",
    assumptions=["a, b in R^{d_s}"],
    relation=AtMost(),
    sizes={"d_s": (1, 6)},
    uses=("convergence.lemma-11",),
    of_project=True,
    note="Along the segment the change is (diag(v) - v v^T) h. Its 1-norm is E|h - E h| under the weights v, at most the"
    " standard deviation of h, hence at most max |h|; and by Gershgorin diag(v) - v v^T has norm at most"
    " max 2 v(1 - v) <= 1/2. Both are attained in the limit at two equal logits that move in opposite directions.",
)


@SHARP.formula
def lipschitz_bounds(a: TokenLogits, b: TokenLogits) -> Any:
    """(||a - b||_inf, ||a - b||_2 / 2), shape (2,)."""
    return stacked([maximum(absolute(a - b)), frobenius_norm(a - b) * rational(1, 2)])


@SHARP.oracle
def changes_of_the_weights(a: TokenLogits, b: TokenLogits) -> Any:
    change = _change(a, b)
    return stacked([total(absolute(change)), frobenius_norm(change)])


SHARP.domain("nearly equal")(_nearby)


SHARP.mutant(
    "nine tenths of the first constant", "maximum(absolute(a - b)) -> maximum(absolute(a - b)) * rational(9, 10)"
)
SHARP.mutant("nine tenths of the second constant", numerator=9, denominator=20)
