"""The softmax: its norm (Lemma 8), its derivative (Lemma 11), and how far it moves (the step of Lemma 7, sharp constants)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import TokenLogits, attention_weights
from theorems.convergence.part_c_1_lemmas.constants import stacked
from verify.matrix import (
    absolute, concatenate, diag, diag_part, exp, eye, frobenius_norm, maximum, rational, sqrt, total,
)  # fmt: skip
from verify.oracles import jacobian
from verify.vocabulary import AtMost, Claim, Construction, Doubt, Equal, Setting

SOFTMAX = Setting(
    CONVERGENCE,
    "Softmax(u)",
    assumptions=[Construction("u in R^{d_s}", shapes={"u": ("1", "d_s")})],
    sizes={"d_s": (1, 6)},
)

LEMMA_8 = Claim(SOFTMAX, "convergence.lemma-8", label="Lemma 8", name="Euclidean norm of the softmax output",
    statement=r"v=\mathrm{Softmax}(u)\in\mathbb R^{d_s}\Rightarrow1/\sqrt{d_s}\le\|v\|_2\le1",
    relation=AtMost(), all_sizes=True,
    note="""Equality on the left at equal logits; on the right at $d_s = 1$, and in the limit of one dominating logit.
        The inequality that the proof calls that of arithmetic and geometric means is the one of Cauchy and Schwarz.""",
)  # fmt: skip


@LEMMA_8.formula
def larger_sides(u: TokenLogits) -> Any:
    """(||v||_2, 1): the right-hand sides of 1/sqrt(d_s) <= ||v||_2 and ||v||_2 <= 1, shape (2,) (Lemma 8)."""
    norm = frobenius_norm(attention_weights(u))
    return stacked([norm, norm * 0 + 1])


@LEMMA_8.oracle
def smaller_sides(u: TokenLogits) -> Any:
    v = attention_weights(u)
    return stacked([total(v) / sqrt(u.shape[1]), sqrt(total(v * v))])


LEMMA_8.mutant("squared norm in place of the norm", "[norm, norm * 0 + 1] -> [norm**2, norm * 0 + 1]")
LEMMA_8.mutant("the norm of equal weights as an upper bound", "norm * 0 + 1 -> norm * 0 + 1 / sqrt(u.shape[1])")


LEMMA_11 = Claim(SOFTMAX, "convergence.lemma-11", label="Lemma 11", name="softmax Jacobian",
    statement=r"v=\mathrm{Softmax}(u)\Rightarrow\frac{\partial v}{\partial u}=\mathrm{diag}(v)-vv^\top",
    relation=Equal(), all_sizes=True, exact=True,
    doubt=Doubt(r"-\exp\left(\boldsymbol{u}^{(j)}\right) - \exp\left(\boldsymbol{u}^{(k)}\right)",
        """In the proof, a minus sign where the quotient rule gives the product; it may be a lost dot. The lemma does
            not depend on it."""))  # fmt: skip


@LEMMA_11.formula
def softmax_jacobian(u: TokenLogits) -> Any:
    """diag(v) - v v^T, shape (d_s, d_s), for logits u of shape (1, d_s) (Lemma 11)."""
    v = attention_weights(u).T
    return diag(v) - v @ v.T


LEMMA_11.oracle(lambda u: jacobian(attention_weights, "u")(u))
LEMMA_11.mutant("sign of the rank-one term", "diag(v) - v @ v.T -> diag(v) + v @ v.T")
LEMMA_11.mutant("rank-one term dropped", lambda u: diag(attention_weights(u)))
LEMMA_11.mutant("identity instead of diag(v)", lambda value, u: value - diag(attention_weights(u).T) + eye(u.shape[1]))
LEMMA_11.mutant("rank-one term doubled", "v @ v.T -> 2 * (v @ v.T)")


QUOTIENT = Claim(SOFTMAX, "convergence.lemma-11-quotient", label="Proof of Lemma 11, case j != k",
    statement=r"""\frac{\partial v^{(j)}}{\partial
        u^{(k)}}=\frac{-\exp(u^{(j)})-\exp(u^{(k)})}{(\sum_{i=1}^{d_s}\exp(u^{(i)}))^2} \ (j\ne k),\qquad
        \frac{\exp(u^{(k)})\sum_i\exp(u^{(i)})-(\exp(u^{(k)}))^2}{(\sum_i\exp(u^{(i)}))^2}\ (j=k)""",
    name="softmax Jacobian by the quotient rule", relation=Equal(), all_sizes=True, sizes={"d_s": (1, 5)}, exact=True,
    doubt=Doubt(r"-\exp\left(\boldsymbol{u}^{(j)}\right) - \exp\left(\boldsymbol{u}^{(k)}\right)",
        """A second minus sign stands where the product has its dot; the line after it, $-v^{(j)} v^{(k)}$, is that of
            the product. With a minus sign the entry would be false: at two equal logits it is -1/2, the derivative
            -1/4."""),
    note="The next line of the proof, $-v^{(j)} v^{(k)}$ and $v^{(k)} - v^{(j)} v^{(k)}$, is checked with it.",
)  # fmt: skip


def _by_cases(mixed: Any, equal: Any) -> Any:
    """The matrix of `mixed` off the diagonal, its own diagonal ignored, and of `equal` on it."""
    return mixed - diag(diag_part(mixed).reshape(-1, 1)) + diag(equal)


def _quotient(u: Any, off_diagonal: Callable[[Any], Any] = lambda e: -(e @ e.T)) -> Any:
    """The quotient rule's numerators over the squared sum; `off_diagonal` gives those for j != k."""
    e = exp(u).T
    S = total(e)
    return _by_cases(off_diagonal(e), e * S - e * e) / S**2


def _twice(J: Any) -> Any:
    return concatenate([J, J], 0)


@QUOTIENT.formula
def quotient_rule(u: TokenLogits) -> Any:
    """dv/du by the quotient rule and as products of the weights, on top of each other, shape (2 d_s, d_s) (Lemma 11)."""
    v = attention_weights(u).T
    return concatenate([_quotient(u), _by_cases(-(v @ v.T), v - v * v)], 0)


QUOTIENT.oracle(lambda u: _twice(jacobian(attention_weights, "u")(u)))
QUOTIENT.mutant("a minus sign in place of the dot, as the extraction shows",
    lambda u: _twice(_quotient(u, lambda e: -e - e.T)))  # fmt: skip
QUOTIENT.mutant("square of the sum dropped", lambda u: _twice(_quotient(u) * total(exp(u))))
QUOTIENT.mutant("sign of the mixed terms", lambda u: _twice(_quotient(u, lambda e: e @ e.T)))


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


PAIR = Setting(
    CONVERGENCE,
    "Softmax at two points",
    assumptions=[Construction("a, b in R^{d_s}", shapes={"a": ("1", "d_s"), "b": ("1", "d_s")})],
    sizes={"d_s": (1, 6)},
    special_domains={"nearly equal": _nearby},
)

EDELMAN = Claim(PAIR, "convergence.lemma-7-edelman",
    label="Proof of Lemma 7, second inequality (Edelman et al., Cor. A.7)", name="Lipschitz bound of the softmax",
    statement=r"""\|\beta_i^{t'}-\beta_i^t\|_1
        \le2\|\tau_0X^{(i,:)}W_Q^{t'\top}W_K^{t'}X^\top-\tau_0X^{(i,:)}W_Q^{t\top}W_K^tX^\top\|_\infty\ (\text{By
        Corollary A.7 in Edelman et al. [2022]})""",
    relation=AtMost(left="||softmax(a) - softmax(b)||_1"), all_sizes=True,
    note="""Decided for any vectors $a$, $b$ in the place of the logits at two steps. The factor 2 can be dropped:
        convergence.softmax-lipschitz has the sharp constant 1.""",
)  # fmt: skip


@EDELMAN.formula
def printed_lipschitz_bound(a: TokenLogits, b: TokenLogits) -> Any:
    """2 ||a - b||_inf, a scalar (proof of Lemma 7)."""
    return maximum(absolute(a - b)) * 2


EDELMAN.oracle(lambda a, b: total(absolute(attention_weights(a) - attention_weights(b))))
EDELMAN.mutant("half the distance", "2 -> rational(1, 2)")
EDELMAN.mutant("squared distance", lambda a, b: maximum(absolute(a - b)) ** 2 * 2)
EDELMAN.mutant("mean distance", lambda a, b: total(absolute(a - b)) * rational(2, a.shape[1] ** 2))


SHARP = Claim(PAIR, "convergence.softmax-lipschitz", label="Lipschitz constants of the softmax",
    statement=r"""\|\mathrm{softmax}(a)- \mathrm{softmax}(b)\|_1 \le\|a-b\|_\infty,\qquad\|
        \mathrm{softmax}(a)-\mathrm{softmax}(b) \|_2\le\tfrac12\|a-b\|_2""",
    name="sharp Lipschitz constants of the softmax", relation=AtMost(),
    uses=("convergence.lemma-11",), of_project=True,
    note=r"""Along the segment the change is $(\mathrm{diag}(v) - v v^\top) h$. For a step $h$ of the logits its
        1-norm is $E|h - E h|$ under the weights $v$, at most the standard deviation of $h$, hence at most $\max
        |h|$; and by Gershgorin
        $\mathrm{diag}(v) - v v^\top$ has norm at most $\max 2 v (1 - v) \le 1/2$. Both are attained in the limit at two
        equal logits that move in opposite directions.""")  # fmt: skip


@SHARP.formula
def lipschitz_bounds(a: TokenLogits, b: TokenLogits) -> Any:
    """(||a - b||_inf, ||a - b||_2 / 2), shape (2,)."""
    return stacked([maximum(absolute(a - b)), frobenius_norm(a - b) * rational(1, 2)])


@SHARP.oracle
def changes_of_the_weights(a: TokenLogits, b: TokenLogits) -> Any:
    change = attention_weights(a) - attention_weights(b)
    return stacked([total(absolute(change)), frobenius_norm(change)])


SHARP.mutant("nine tenths of the first constant",
    "maximum(absolute(a - b)) -> maximum(absolute(a - b)) * rational(9, 10)")  # fmt: skip
SHARP.mutant("nine tenths of the second constant", "rational(1, 2) -> rational(9, 20)")
