"""What Section 3 says of the blocks in words: key against query, value against an MLP, and the moments that enter."""

from __future__ import annotations

from typing import Any

from theorems.hessian.definitions import (
    Z_1, Z_2, attention, attention_matrix, duplicated_residual, outer_product_hessian, shuffling_matrix,
)  # fmt: skip
from theorems.hessian.part_3_structure.whole_hessian import (
    all_jacobians_squared, attention_moments, curvature_and_slope, logit_factors, outer_product_blocks,
    paired_layer_twice_differentiated,
)  # fmt: skip
from theorems.hessian.part_a_kronecker_products.products import stacked
from theorems.hessian.settings import (
    ATTENTION_LOSS, SECOND_DERIVATIVES, KeyWeights, Labels, QueryWeights, Tokens, ValueWeights, loss_normalisation,
)  # fmt: skip
from verify.matrix import commutation_matrix, eye, kron, rational, sqrt
from verify.vocabulary import Claim, Equal, Reading

# -- 'essentially symmetric to the ones w.r.t. the query weight matrix' -------------------------------------------------

KEY_BLOCKS = Claim(SECOND_DERIVATIVES, "hessian.sec3-key-blocks", label="Section 3, text before Theorem 3.1",
    statement=r"""\text{``we omit the blocks w.r.t. the key weight matrix as they are essentially symmetric to the ones
        w.r.t. the query weight matrix (modulo differences in arrangement)'': }H_o(W_K,W_K),\ H_o(W_V,W_K),\
        H_f(W_K,W_K),\ H_f(W_V,W_K)""",
    name="key blocks from query blocks", relation=Equal(), all_sizes=True, expects="reading",
    uses=(
        "hessian.outer-key-key", "hessian.outer-value-key", "hessian.functional-key-key",
        "hessian.functional-value-key",
    ),
    reading=Reading(
        "essentially symmetric to the ones w.r.t. the query weight matrix (modulo differences in arrangement)",
        r"""each of the four key blocks is the printed query block with $(W_Q \otimes I_{d_V})K_{d_K,d_V}$ in the place
            of $I_{d_V} \otimes W_K$, on either side. Not symmetric in the sense that exchanging the values of $W_Q$ and
            $W_K$ would turn one into the other: the softmax acts on rows, so logits transposed give another attention
            matrix"""))  # fmt: skip


@KEY_BLOCKS.formula
def key_blocks(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """H_o(K,K), H_o(V,K), H_f(K,K), H_f(V,K), all entries in one column (Section 3)."""
    (L, d_V), d_K, A = X.shape, W_Q.shape[1], attention_matrix(X, W_Q, W_K)
    R, Z, factor = attention(X, W_Q, W_K, W_V) - Y, Z_1(A, X), logit_factors(W_Q, W_K)["K"]
    squared, root = rational(2, L * d_V * d_K), (2 * loss_normalisation(L, d_V)) / sqrt(d_K)
    return stacked(
        factor.T @ Z.T @ kron(eye(L), W_V @ W_V.T) @ Z @ factor * squared,
        kron((A @ X).T, W_V.T) @ Z @ factor * root,
        duplicated_residual(R, d_V * d_K) @ kron(eye(L), W_V.T, factor.T) @ Z_2(A, X) @ factor * squared,
        duplicated_residual(R, d_V**2) @ kron(eye(L), shuffling_matrix(d_V)) @ Z @ factor * root,
    )


@KEY_BLOCKS.oracle
def key_blocks_by_differentiation(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    outer = all_jacobians_squared(X, W_Q, W_K, W_V)
    functional = paired_layer_twice_differentiated(X, W_Q, W_K, W_V, Y)
    n = W_Q.shape[0] * W_Q.shape[1]
    key, value = slice(n, 2 * n), slice(2 * n, None)
    return stacked(*(H[rows, key] for H in (outer, functional) for rows in (key, value)))


KEY_BLOCKS.mutant("query blocks at exchanged weights", 'W_Q -> W_K; W_K -> W_Q; "K" -> "Q"')
KEY_BLOCKS.mutant("I (x) W_Q", "factor -> kron(eye(d_V), W_Q)")
KEY_BLOCKS.mutant("no commutation matrix", "factor -> kron(W_Q, eye(d_V))")

# -- which moment enters where -----------------------------------------------------------------------------------------

MOMENT_DEPENDENCE = Claim(ATTENTION_LOSS, "hessian.sec3.2-moment-dependence", label="Section 3.2, text",
    statement=r"""\text{``the value outer-product Hessian depends on the first moment, while the query-key outer-product
        Hessians are influenced by the second central moment. The query-key functional Hessian even exhibits a
        dependency on the third central moment''}""",
    name="attention moments in the Hessian blocks", relation=Equal(), all_sizes=True,
    sizes={"L": (1, 3), "d_V": (1, 2), "d_K": (1, 4)}, uses=("hessian.rem-3.1-z1",),
    note="""In the strongest sense: apart from tokens, weights and residual, $H_o(V,V)$ is a function of $M_1$, the
        query-key blocks of $H_o$ of $M_2$, those of $H_f$ of $M_3$ and, for $(Q,K)$ alone, $M_2$; no other property of
        the attention matrix enters.""")  # fmt: skip


def _with_raw_moments(X: Any, W_Q: Any, W_K: Any, order: int) -> tuple[Any, ...]:
    """The attention moments, those of order 2 or 3 not centred, as mutants have them."""
    A, L = attention_matrix(X, W_Q, W_K), X.shape[0]
    moments, tokens = list(attention_moments(X, W_Q, W_K)), [X[j : j + 1] for j in range(L)]
    raw = [x.T @ x if order == 2 else kron(x.T, x.T @ x) for x in tokens]
    moments[order - 1] = [sum(raw[j] * A[i, j] for j in range(L)) for i in range(L)]
    return tuple(moments)


@MOMENT_DEPENDENCE.formula
def blocks_from_attention_moments(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """H_o(V,V), then (Q,Q), (Q,K), (K,K) of H_o and of H_f, all entries in one column (Section 3.2)."""
    (M_1, M_2, M_3), factor = attention_moments(X, W_Q, W_K), logit_factors(W_Q, W_K)
    outer = outer_product_blocks(M_1, M_2, X, W_Q, W_K, W_V)
    curvature, B = curvature_and_slope(M_2, M_3, X, W_Q, W_V, attention(X, W_Q, W_K, W_V) - Y)
    pairs = (("Q", "Q"), ("Q", "K"), ("K", "K"))
    bent = {(i, j): factor[i].T @ curvature @ factor[j] for i, j in pairs}
    bent["Q", "K"] = bent["Q", "K"] + kron(B, eye(W_Q.shape[1]))
    return stacked(outer["V", "V"], *(outer[pair] for pair in pairs), *(bent[pair] for pair in pairs))


@MOMENT_DEPENDENCE.oracle
def blocks_by_differentiation(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    outer = all_jacobians_squared(X, W_Q, W_K, W_V)
    functional = paired_layer_twice_differentiated(X, W_Q, W_K, W_V, Y)
    n = W_Q.shape[0] * W_Q.shape[1]
    return stacked(
        outer[2 * n :, 2 * n :], *(H[rows, columns] for H in (outer, functional) for rows, columns in _corners(n))
    )


def _corners(n: int) -> list[tuple[slice, slice]]:
    """Where (Q,Q), (Q,K) and (K,K) stand in the whole matrix."""
    query, key = slice(0, n), slice(n, 2 * n)
    return [(query, query), (query, key), (key, key)]


MOMENT_DEPENDENCE.mutant("(Q,K) functional block from the third moment alone", "kron(B, eye(W_Q.shape[1])) -> 0")
MOMENT_DEPENDENCE.mutant("third moments not centred",
    "attention_moments(X, W_Q, W_K) -> _with_raw_moments(X, W_Q, W_K, order=3)")  # fmt: skip
MOMENT_DEPENDENCE.mutant("second moments not centred",
    "attention_moments(X, W_Q, W_K) -> _with_raw_moments(X, W_Q, W_K, order=2)")  # fmt: skip

# -- 'structurally identical to an MLP's outer-product Hessian' ---------------------------------------------------------

VALUE_BLOCK_MLP = Claim(ATTENTION_LOSS, "hessian.sec3-value-block-mlp", label="Section 3, text after Theorem 3.1",
    statement=r"""\text{``We note that the value diagonal block is structurally identical to an MLP's outer-product
        Hessian, while the query diagonal and the mixed query-key blocks display similar Kronecker structures, but with
        varying weight matrices''}""",
    name="Kronecker structure of attention and MLP blocks", relation=Equal(), at_sizes={"L": 2, "d_V": 2, "d_K": 2},
    expects="reading", uses=("hessian.thm-3.1-vv", "hessian.thm-3.1-qq", "hessian.thm-3.1-qk"),
    reading=Reading(("structurally identical", "similar Kronecker structures"), r"""$H_o(V,V)$ is, for $W_V$ stacked by
            columns, the outer-product Hessian $(2/d_V) I \otimes \Sigma$ of the one-layer network $m \mapsto W_V^\top
            m$ on the $L$ inputs $m_i$, the rows of $M_1$, with $\Sigma = M_1^\top M_1/L$. The other two are sums over
            tokens, $\sum_i x_ix_i^\top \otimes W_K^\top N_iW_K$ and $\sum_i (x_ix_i^\top W_Q \otimes W_K^\top
            N_i)K_{d_K,d_V}$ with $N_i = M_{2,i}W_VW_V^\top M_{2,i}$, of Kronecker products; a single product like the
            MLP's only if $N_i$ does not depend on $i$, as under uniform attention"""))  # fmt: skip


@VALUE_BLOCK_MLP.formula
def blocks_as_sums_of_kronecker_products(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """H_o(V,V), H_o(Q,Q), H_o(Q,K), all entries in one column (Section 3)."""
    (L, d_V), d_K, order = X.shape, W_Q.shape[1], commutation_matrix(X.shape[1], X.shape[1])
    M_1, M_2, _ = attention_moments(X, W_Q, W_K)
    network = kron(eye(d_V), M_1.T @ M_1 * rational(1, L)) * rational(2, d_V)
    N, squares = [C @ W_V @ W_V.T @ C for C in M_2], [X[i : i + 1].T @ X[i : i + 1] for i in range(L)]
    query = sum(kron(square, W_K.T @ N_i @ W_K) for square, N_i in zip(squares, N, strict=True))
    mixed = sum(kron(square @ W_Q, W_K.T @ N_i) for square, N_i in zip(squares, N, strict=True))
    scale = rational(2, L * d_V * d_K)
    return stacked(order.T @ network @ order, query * scale, mixed @ commutation_matrix(d_K, d_V) * scale)


@VALUE_BLOCK_MLP.oracle
def outer_blocks_by_differentiation(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    pairs = (("W_V", "W_V"), ("W_Q", "W_Q"), ("W_Q", "W_K"))
    return stacked(*(outer_product_hessian(X, W_Q, W_K, W_V, pair) for pair in pairs))


VALUE_BLOCK_MLP.mutant("I (x) Sigma for W_V stacked by rows", "order -> eye(d_V * d_V)")
VALUE_BLOCK_MLP.mutant("a single product with N_i averaged over the tokens", "N -> [sum(N) * rational(1, L)] * L")
