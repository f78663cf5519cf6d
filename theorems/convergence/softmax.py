"""The derivative of the softmax: Lemma 11."""

from __future__ import annotations

from typing import Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.definitions import TokenLogits, attention_weights
from verify.matrix import diag, eye
from verify.oracles import jacobian
from verify.vocabulary import Claim, Equal

LEMMA_11 = Claim(
    CONVERGENCE,
    "convergence.lemma-11",
    label="Lemma 11",
    statement=r"v=\mathrm{Softmax}(u)\Rightarrow\frac{\partial v}{\partial u}=\mathrm{diag}(v)-vv^\top",
    assumptions=["u in R^{d_s}"],
    relation=Equal(),
    sizes={"d_s": (1, 6)},
    exact=True,
    doubt="In the proof, the numerator of the case j != k reads -exp(u^(j)) - exp(u^(k)), where the quotient rule gives"
    " the product; the second minus sign may be a lost dot. The lemma does not depend on it.",
)


@LEMMA_11.formula
def softmax_jacobian(u: TokenLogits) -> Any:
    """diag(v) - v v^T, shape (d_s, d_s), for logits u of shape (1, d_s) (Lemma 11)."""
    v = attention_weights(u).T
    return diag(v) - v @ v.T


LEMMA_11.oracle(lambda u: jacobian(attention_weights, "u")(u))
LEMMA_11.mutant("sign of the rank-one term", "diag(v) - v @ v.T -> diag(v) + v @ v.T")
LEMMA_11.mutant("rank-one term dropped", lambda u: diag(attention_weights(u)))


@LEMMA_11.mutant("identity instead of diag(v)")
def _(u: TokenLogits) -> Any:
    v = attention_weights(u).T
    return eye(u.shape[1]) - v @ v.T


LEMMA_11.mutant("rank-one term doubled", "v @ v.T -> 2 * (v @ v.T)")
