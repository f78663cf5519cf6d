"""Section 3.3: the degrees in which the weight matrices enter the blocks, beyond their influence on the attention scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from theorems.hessian.part_3_structure.data_growth import (
    PAIRS, frozen_functional_blocks, frozen_functional_hessian, frozen_outer_blocks, frozen_outer_product_hessian,
    picked, power,
)  # fmt: skip
from theorems.hessian.part_a_kronecker_products.products import stacked
from theorems.hessian.settings import ATTENTION_LOSS, KeyWeights, Labels, Logits, QueryWeights, Tokens, ValueWeights
from verify.matrix import softmax
from verify.vocabulary import Claim, Definition, Equal, Reading, Real

Factor = Annotated[Any, Real(-2.0, 2.0, avoid_zero=True)]
Degrees = Mapping[tuple[str, str], tuple[int, int, int]]


def monomial(q: Any, k: Any, v: Any, degrees: tuple[int, int, int]) -> Any:
    """q^a k^b v^c for degrees (a, b, c)."""
    result: Any = 1
    for factor, degree in zip((q, k, v), degrees, strict=True):
        result = result * power(factor, degree) if degree else result
    return result


#: Degrees in W_Q, W_K, W_V.
OUTER: Degrees = {
    ("Q", "Q"): (0, 2, 2),
    ("Q", "K"): (1, 1, 2),
    ("K", "K"): (2, 0, 2),
    ("V", "Q"): (0, 1, 1),
    ("V", "K"): (1, 0, 1),
    ("V", "V"): (0, 0, 0),
}
FUNCTIONAL: Degrees = {
    ("Q", "Q"): (0, 2, 1),
    ("K", "K"): (2, 0, 1),
    ("Q", "V"): (0, 1, 0),
    ("K", "V"): (1, 0, 0),
    ("V", "V"): (0, 0, 0),
}
SCORES_FIXED = ATTENTION_LOSS.extended(
    "Section 3.3",
    assumptions=[
        Definition("attention matrix held fixed: 'beyond their influence through the attention scores'", by=softmax)
    ],
    sizes={"d_V": (1, 2)},
)

WEIGHTS_OUTER = Claim(SCORES_FIXED, "hessian.sec3.3-weights-outer", label="Section 3.3, text (outer-product Hessian)",
    statement=r"""\text{``Among the terms on the diagonal of the outer-product Hessian, only the query and key
        components explicitly (and quadratically) depend on the weights beyond their influence through the attention
        scores. This dependence is on both the value weight matrix and one of the key and query matrices. The mixed
        terms involving queries and keys depend linearly on the keys and queries weights and quadratically on the value
        weights. Finally, the mixed terms involving values depend linearly on the selected weight matrices''}""",
    name="weights in the outer-product Hessian", relation=Equal(), all_sizes=True, uses=("hessian.full-outer-product",),
    note=r"""A degree is read off by scaling: when $W_Q$, $W_K$ and $W_V$ are each multiplied by a number, a block
        is multiplied by a power of each. 'Selected' in the mixed value terms: $W_V$ and $W_K$ for $(V,Q)$, $W_V$
        and $W_Q$ for $(V,K)$.""",
)  # fmt: skip


@WEIGHTS_OUTER.formula
def outer_blocks_times_monomials(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, B: Logits, q: Factor, k: Factor, v: Factor
) -> Any:
    """q^a k^b v^c H_o block by block, all entries in one column (Section 3.3)."""
    blocks = frozen_outer_blocks(X, W_Q, W_K, W_V, softmax(B))
    return stacked(*(blocks[pair] * monomial(q, k, v, OUTER[pair]) for pair in PAIRS["outer"]))


@WEIGHTS_OUTER.oracle
def outer_blocks_of_scaled_weights(X: Any, W_Q: Any, W_K: Any, W_V: Any, B: Any, q: Any, k: Any, v: Any) -> Any:
    H = frozen_outer_product_hessian(X, W_Q * q, W_K * k, W_V * v, B)
    return picked(H, PAIRS["outer"], W_Q.shape[0] * W_Q.shape[1])


WEIGHTS_OUTER.mutant("query block quadratic in W_Q instead of W_K", "OUTER -> OUTER | {('Q', 'Q'): (2, 0, 2)}")
WEIGHTS_OUTER.mutant("query-key block linear in W_V", "OUTER -> OUTER | {('Q', 'K'): (1, 1, 1)}")
WEIGHTS_OUTER.mutant("value-query block linear in W_Q instead of W_K", "OUTER -> OUTER | {('V', 'Q'): (1, 0, 1)}")
WEIGHTS_OUTER.mutant("value block quadratic in W_V", "OUTER -> OUTER | {('V', 'V'): (0, 0, 2)}")

WEIGHTS_FUNCTIONAL = Claim(SCORES_FIXED, "hessian.sec3.3-weights-functional",
    label="Section 3.3, text (functional Hessian)", name="weights in the functional Hessian",
    statement=r"""\text{``the diagonal value functional Hessian block is always zero. Furthermore, the diagonal query
        block depends quadratically on the key weight matrix and linearly on the value weight matrix. The mixed
        value-query block depends only linearly on the key weight matrix''}""",
    relation=Equal(), all_sizes=True, expects="reading", uses=("hessian.full-functional", "hessian.thm-3.2-vv"),
    reading=Reading(
        (
            "depends quadratically on the key weight matrix and linearly on the value weight matrix",
            "depends only linearly on the key weight matrix",
        ),
        """of the expressions of Theorem 3.2 as they stand, in which the residual $F - Y$ is a symbol of its own, as in
            Eq. (5); $F = AXW_V$ put in for it would add terms of one degree more in $W_V$ to all but the zero
            block"""),
    note="""Checked with the key blocks, of degrees $(2, 0, 1)$ and $(1, 0, 0)$ in $(W_Q, W_K, W_V)$. $(Q,K)$ has two
        terms, of degrees $(1, 1, 1)$ and $(0, 0, 1)$; the paper says nothing of it here.""")  # fmt: skip


@WEIGHTS_FUNCTIONAL.formula
def functional_blocks_times_monomials(
    X: Tokens,
    W_Q: QueryWeights,
    W_K: KeyWeights,
    W_V: ValueWeights,
    B: Logits,
    R: Labels,
    q: Factor,
    k: Factor,
    v: Factor,
) -> Any:
    """q^a k^b v^c H_f block by block, but for (Q,K), all entries in one column (Section 3.3)."""
    blocks = frozen_functional_blocks(X, W_Q, W_K, W_V, softmax(B), R)
    return stacked(*(blocks[pair] * monomial(q, k, v, FUNCTIONAL[pair]) for pair in FUNCTIONAL))


@WEIGHTS_FUNCTIONAL.oracle
def functional_blocks_of_scaled_weights(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, B: Any, R: Any, q: Any, k: Any, v: Any
) -> Any:
    H = frozen_functional_hessian(X, W_Q * q, W_K * k, W_V * v, B, R)
    return picked(H, FUNCTIONAL, W_Q.shape[0] * W_Q.shape[1])


WEIGHTS_FUNCTIONAL.mutant("query block quadratic in W_V, as in H_o",
    "FUNCTIONAL -> FUNCTIONAL | {('Q', 'Q'): (0, 2, 2)}")  # fmt: skip
WEIGHTS_FUNCTIONAL.mutant("query block linear in W_K", "FUNCTIONAL -> FUNCTIONAL | {('Q', 'Q'): (0, 1, 1)}")
WEIGHTS_FUNCTIONAL.mutant("value-query block linear in W_V too", "FUNCTIONAL -> FUNCTIONAL | {('Q', 'V'): (0, 1, 1)}")
