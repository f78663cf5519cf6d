"""Eq. (10) and the text after it: the Jacobian of self-attention by its input, and the two products it depends on."""

from __future__ import annotations

from typing import Any

from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import QueryWeights, Tokens, Weights, attention_matrix, self_attention
from theorems.skipless.quantities import COLUMN_MAJOR, attention_slope, input_jacobian
from verify.matrix import COLUMN, ROW, concatenate, eye, hadamard, inverse, kron, not_later, vec_r
from verify.oracles import jacobian
from verify.vocabulary import Claim, Definition, Doubt, Equal

EQ_10 = Claim(SKIPLESS, "skipless.eq-10", label="Eq. (10)", name="input Jacobian of self-attention",
    statement=r"""
        \mathbf{K}_\ell=(\hat{\mathbf{X}}_{\ell-1}\mathbf{W}_\ell^V\mathbf{W}_\ell^O\otimes\mathbf{I}_n)^\top\mathbf{A}'_\ell+(\mathbf{W}_\ell^V\mathbf{W}_\ell^O)^\top\otimes\mathbf{A}_\ell,
        \text{ where }\mathbf{A}_\ell\in\mathbb{R}^{n\times n}\text{ is the attention matrix, and
        }\mathbf{A}'_\ell\in\mathbb{R}^{n^2\times nd}\text{ is the derivative of the attention matrix with respect to
        the input }\hat{\mathbf{x}}^{(\ell-1)}=\mathrm{vec}(\hat{\mathbf{X}}_{\ell-1})""",
    assumptions=[
        Definition("SA(X) = A X W_V W_O, single head, A = softmax(X W_Q W_K^T X^T)", by=self_attention),
        COLUMN_MAJOR,
    ],
    relation=Equal(), all_sizes=True, sizes={"n": (1, 4), "d": (1, 3)}, exact=True,
    proof=("skipless.eq-12-line-4", "skipless.eq-13-line-7"), corrects="skipless.prop-2-split",
    note="""Three lines of the derivation in Eq. (13) lack transposes that Eq. (12) before them and Eq. (10) after them
        have; the third is a misprint whatever its transposes.""")  # fmt: skip


@EQ_10.formula
def self_attention_jacobian(X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights) -> Any:
    """K = (X W_V W_O (x) I_n)^T A' + (W_V W_O)^T (x) A, shape (n d, n d) (Eq. (10))."""
    A, I_n = attention_matrix(X, W_Q, W_K), eye(X.shape[0])
    slope = jacobian(attention_matrix, "X", layout=COLUMN)(X, W_Q, W_K)
    return kron(X @ W_V @ W_O, I_n).T @ slope + kron((W_V @ W_O).T, A)


EQ_10.oracle(input_jacobian)
EQ_10.mutant("W_V W_O not transposed in the second term", "(W_V @ W_O).T -> W_V @ W_O")
EQ_10.mutant("factors of the second Kronecker product exchanged", "kron((W_V @ W_O).T, A) -> kron(A, (W_V @ W_O).T)")
EQ_10.mutant("attention matrix transposed in the second term", "A -> A.T")
EQ_10.mutant("attention matrix taken as constant", "slope -> 0 * slope")
EQ_10.mutant("W_O W_V instead of W_V W_O", "W_V -> W_O; W_O -> W_V")
EQ_10.mutant("A' under row-major vec", layout=ROW)


# -- the two products --------------------------------------------------------------------------------------------------

PRODUCTS_ONLY = Claim(SKIPLESS, "skipless.sec5-products-only", label="Section 5, text after Eq. (10)",
    statement=r"""\mathbf{W}_\ell^V\mathbf{W}_\ell^O\text{ appears in both term and
        }\mathbf{W}_\ell^Q\mathbf{W}_\ell^K\text{ appears in the }\mathbf{A}_\ell\text{ and }\mathbf{A}'_\ell""",
    assumptions=[Definition("single-head attention of Eq. (3)", by=self_attention)],
    name="products that determine the Jacobian", relation=Equal(), all_sizes=True,
    sizes={"n": (1, 3), "d": (1, 3)}, exact=True,
    doubt=Doubt(r"\mathbf{W}_\ell^Q \mathbf{W}_\ell^K$ appears in the", r"""a transpose on $W^K$ is missing; the heading
            of Section 5.2 and Eq. (11) print the product with it, $W^QW^{K\top}$, which is taken. $A$ is no function of
            $W^QW^K$: for $W^QG$, $G^{-1}W^K$ it changes."""),
    note=r"""Checked by a stronger fact: $\mathrm{SA}$, $A$, $A'$ and $K$ depend on the four weights through
        $W^QW^{K\top}$ and $W^VW^O$ only, for they are the same for $W^QG$, $W^KG^{-\top}$, $W^VH$, $H^{-1}W^O$ with any
        invertible $G$ and $H$. With several heads the products are $W_i^QW_i^{K\top}$ and $W_i^VW_i^O$ of each head,
        not those of the $d \times d$ weights.""")  # fmt: skip


def invertible(M: Any) -> Any:
    """(I + S)(I + T) for the skew S = M_ - M_^T and T = M^_, M_ and M^_ the strict triangles of M (d, d): invertible."""
    d = M.shape[0]
    lower = not_later(d, d, -1)
    below, above = hadamard(lower, M), hadamard(lower.T, M)
    return (eye(d) + below - below.T) @ (eye(d) + above)


def _attention_and_jacobians(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any) -> Any:
    """SA(X), A, A' and K, all entries in one column."""
    slope, K = attention_slope(X, W_Q, W_K), input_jacobian(X, W_Q, W_K, W_V, W_O)
    parts = [self_attention(X, W_Q, W_K, W_V, W_O), attention_matrix(X, W_Q, W_K), slope, K]
    return concatenate([vec_r(part) for part in parts], axis=0)


@PRODUCTS_ONLY.formula
def with_other_factors(
    X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights, G: Weights, H: Weights
) -> Any:
    """SA(X), A, A' and K at other factors of the same two products, one column."""
    G, H = invertible(G), invertible(H)
    return _attention_and_jacobians(X, W_Q @ G, W_K @ inverse(G).T, W_V @ H, inverse(H) @ W_O)


PRODUCTS_ONLY.oracle(lambda X, W_Q, W_K, W_V, W_O: _attention_and_jacobians(X, W_Q, W_K, W_V, W_O))
PRODUCTS_ONLY.mutant("W_K G instead of W_K G^-T", "inverse(G).T -> G")
PRODUCTS_ONLY.mutant("H W_O instead of H^-1 W_O", "inverse(H) -> H")
