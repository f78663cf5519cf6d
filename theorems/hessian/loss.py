"""The Hessian of the loss itself, assembled from the closed forms of Theorems 3.1 and 3.2."""

from __future__ import annotations

from typing import Any

from theorems.hessian import HESSIAN
from theorems.hessian.blocks import SETUP, functional_hessian_query_key, outer_product_hessian_query_key
from theorems.hessian.definitions import KeyWeights, Labels, QueryWeights, Tokens, ValueWeights, loss_hessian
from verify.claims import Claim
from verify.relations import Equal

LOSS_HESSIAN = Claim(
    HESSIAN,
    "hessian.loss-hessian-qk",
    label="Eq. (2) with Theorems 3.1 and 3.2, mixed query-key block of the loss",
    statement=r"\frac{\partial^2(\ell\circ F)}{\partial W_Q\partial W_K} = H_o(W_Q,W_K) + H_f(W_Q,W_K)",
    assumptions=SETUP,
    relation=Equal(),
    sizes={"L": (1, 3), "d_V": (1, 3), "d_K": (1, 3)},
    uses=("hessian.eq-2", "hessian.thm-3.1-qk", "hessian.thm-3.2-qk"),
    exact=True,
    of_project=True,
)


@LOSS_HESSIAN.formula
def loss_hessian_query_key(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """The block (W_Q, W_K) of the Hessian of the square loss, shape (d_V d_K, d_V d_K) (Eq. (2))."""
    outer, functional = (
        outer_product_hessian_query_key(X, W_Q, W_K, W_V),
        functional_hessian_query_key(X, W_Q, W_K, W_V, Y),
    )
    return outer + functional


LOSS_HESSIAN.oracle(lambda X, W_Q, W_K, W_V, Y: loss_hessian(X, W_Q, W_K, W_V, Y, wrt=("W_Q", "W_K")))
LOSS_HESSIAN.mutant("no functional Hessian", "functional -> 0 * functional")
LOSS_HESSIAN.mutant("no outer-product Hessian", "outer -> 0 * outer")
LOSS_HESSIAN.mutant("functional Hessian subtracted", "functional -> -functional")
