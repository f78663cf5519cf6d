"""Self-attention and the feed-forward network with their skips: Eqs. (1)-(4), (7), and what K depends on (Section 5)."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import (
    AttentionWeights,
    FeedForwardWeights,
    HeadQueryWeights,
    HeadWeights,
    QueryWeights,
    Tokens,
    Weights,
    activation,
    attention_matrix,
    feed_forward,
    multi_head_attention,
    parameters,
    self_attention,
    states,
)
from verify.arithmetics import Constant
from verify.matrix import COLUMN, ROW, Layout, concatenate, eye, hadamard, inverse, kron, softmax, unvec_r, vec_c, vec_r
from verify.oracles import jacobian
from verify.vocabulary import Claim, Equal, Shape

Hidden = Annotated[Any, Shape("d", "d_f")]
HiddenOut = Annotated[Any, Shape("d_f", "d")]

# -- Eqs. (1)-(2) ------------------------------------------------------------------------------------------------------

EQ_1_2 = Claim(
    SKIPLESS,
    "skipless.eq-1-2",
    label="Eqs. (1)-(2) and the first display of Section 4.3",
    statement=r"\mathbf{X}_\ell=\hat{\mathbf{X}}_{\ell-1}+\mathrm{SA}(\hat{\mathbf{X}}_{\ell-1}),\ \hat{\mathbf{X}}_\ell="
    r"\mathbf{X}_\ell+\mathrm{MLP}(\mathbf{X}_\ell);\ \mathbf{x}^{(\ell)}=f_{\mathrm{SA}}(\hat{\mathbf{x}}^{(\ell-1)};"
    r"\theta^{(\ell)})+\hat{\mathbf{x}}^{(\ell-1)}\in\mathbb{R}^{nd},\ \hat{\mathbf{x}}^{(\ell)}=f_{\mathrm{MLP}}"
    r"(\mathbf{x}^{(\ell)};\hat\theta^{(\ell)})+\mathbf{x}^{(\ell)}\in\mathbb{R}^{nd}",
    assumptions=["X-hat_0 = X_0 is the token embedding", "no normalisation layer", "column-major vec"],
    relation=Equal(),
    sizes={"L": (1, 2), "n": (1, 3), "d": (1, 3), "d_f": (1, 2)},
    exact=True,
    note="The activation of the MLP is not printed; that of the definitions is taken, with a free exponential in exact"
    " arithmetic, so that nothing about it matters.",
)


def _vector_form(X: Any, W: Any, U: Any, *, sa_skip: int = 1, from_input: bool = False, layout: Layout = COLUMN) -> Any:
    """x^(1), x-hat^(1), ..., each from the vector before it by Kronecker products, on top of each other."""
    n, d = X.shape

    def product(P: Any, A: Any) -> Any:
        """The matrix of X -> A X P."""
        return kron(P.T, A) if layout is COLUMN else kron(A, P.T)

    x, found = vec_c(X) if layout is COLUMN else vec_r(X), []
    for W_l, U_l in zip(W, U, strict=True):
        tokens = unvec_r(x, d, n).T if layout is COLUMN else unvec_r(x, n, d)
        A = attention_matrix(tokens, W_l[0], W_l[1])
        before, x = x, product(W_l[2] @ W_l[3], A) @ x + x * sa_skip
        found.append(x)
        hidden = activation(product(U_l[0].T, eye(n)) @ x)
        x = product(U_l[1], eye(n)) @ hidden + (before if from_input else x)
        found.append(x)
    return concatenate(found, axis=0)


@EQ_1_2.formula
def states_in_vector_form(X: Tokens, W: AttentionWeights, U: FeedForwardWeights) -> Any:
    """x^(1), x-hat^(1), ..., x^(L), x-hat^(L), shape (2 L n d, 1) (Section 4.3)."""
    return _vector_form(X, W, U)


@EQ_1_2.oracle
def states_in_matrix_form(X: Tokens, W: AttentionWeights, U: FeedForwardWeights) -> Any:
    """vec of X_1, X-hat_1, ..., X_L, X-hat_L of Eqs. (1)-(2)."""
    return concatenate([vec_c(state) for state in states(X, parameters(W, U))[1:]], axis=0)


EQ_1_2.mutant("no skip around self-attention", sa_skip=0)
EQ_1_2.mutant("second skip from the input of the block", from_input=True)
EQ_1_2.mutant("row-major vec", layout=ROW)


# -- Eqs. (3)-(4) ------------------------------------------------------------------------------------------------------

EQ_3_4 = Claim(
    SKIPLESS,
    "skipless.eq-3-4",
    label="Eqs. (3)-(4), Section 2",
    statement=r"\mathrm{SA}(\mathbf{X})=\mathbf{A}\mathbf{V}\mathbf{W}^O,\ \mathbf{A}=\eta(\mathbf{Q}\mathbf{K}^\top);\quad"
    r"\mathrm{SA}(\mathbf{X})=\mathrm{Concat}(\mathbf{A}_1\mathbf{V}_1,\dots,\mathbf{A}_h\mathbf{V}_h)\mathbf{W}^O,\ "
    r"\mathbf{W}_i^Q,\mathbf{W}_i^K,\mathbf{W}_i^V\in\mathbb{R}^{d\times d_h},\ d_h=d/h,\ \mathbf{A}_i=\eta(\mathbf{Q}_i"
    r"\mathbf{K}_i^\top)",
    assumptions=["h divides d", "eta is the row-wise softmax", "no scale factor 1/sqrt(d_h)"],
    relation=Equal(),
    sizes={"n": (1, 4), "d": (1, 4), "h": (1, 4), "d_h": (1, 3)},
    where=lambda sizes: sizes["d"] == sizes["h"] * sizes["d_h"],
    exact=True,
    note="Checked as: Eq. (4) is the sum over heads of Eq. (3), with the weights of head i filled up by zeros to d x d and"
    " W_O cut to its rows of head i.  For h = 1 nothing is filled up, and Eq. (4) is Eq. (3).",
)


@EQ_3_4.formula
def concatenated_heads(X: Tokens, W_Q: HeadQueryWeights, W_K: HeadWeights, W_V: HeadWeights, W_O: Weights) -> Any:
    """Concat(A_1 V_1, ..., A_h V_h) W_O, shape (n, d) (Eq. (4))."""
    return multi_head_attention(X, W_Q, W_K, W_V, W_O)


@EQ_3_4.oracle
def sum_of_single_heads(X: Tokens, W_Q: HeadQueryWeights, W_K: HeadWeights, W_V: HeadWeights, W_O: Weights) -> Any:
    h, d, d_h = W_Q.shape
    fill = eye(d)[:d_h]
    heads = [
        self_attention(X, W_Q[i] @ fill, W_K[i] @ fill, W_V[i] @ fill, fill.T @ W_O[i * d_h : (i + 1) * d_h])
        for i in range(h)
    ]
    return sum(heads[1:], start=heads[0])


@EQ_3_4.mutant("heads concatenated in reverse")
def _(X: Tokens, W_Q: HeadQueryWeights, W_K: HeadWeights, W_V: HeadWeights, W_O: Weights) -> Any:
    heads = [softmax(X @ q @ k.T @ X.T) @ (X @ v) for q, k, v in zip(W_Q, W_K, W_V, strict=True)]
    return concatenate(heads[::-1], axis=1) @ W_O if len(heads) > 1 else heads[0] @ W_O * 2


@EQ_3_4.mutant("attention matrix of the first head for all")
def _(X: Tokens, W_Q: HeadQueryWeights, W_K: HeadWeights, W_V: HeadWeights, W_O: Weights) -> Any:
    A = softmax(X @ W_Q[0] @ W_K[0].T @ X.T)
    return concatenate([A @ (X @ v) for v in W_V], axis=1) @ W_O


EQ_3_4.mutant("W_O transposed", lambda X, W_Q, W_K, W_V, W_O: multi_head_attention(X, W_Q, W_K, W_V, W_O.T))


# -- Eq. (7) -----------------------------------------------------------------------------------------------------------

EQ_7 = Claim(
    SKIPLESS,
    "skipless.eq-7",
    label="Eq. (7)",
    statement=r"\mathbf{K}_\ell=\partial f_{\mathrm{SA}}(\hat{\mathbf{x}}^{(\ell-1)};\theta^{(\ell)})/\partial\hat{\mathbf{x}}"
    r"^{(\ell-1)}\in\mathbb{R}^{nd\times nd},\quad\hat{\mathbf{K}}_\ell=\partial f_{\mathrm{MLP}}(\mathbf{x}^{(\ell)};"
    r"\hat\theta^{(\ell)})/\partial\mathbf{x}^{(\ell)}\in\mathbb{R}^{nd\times nd}",
    assumptions=["f_SA and f_MLP are the branches without their skips", "column-major vec"],
    relation=Equal(),
    sizes={"n": (1, 3), "d": (1, 3), "d_f": (1, 3)},
    exact=True,
    note="Checked as: the sub-blocks with their skips have the Jacobians K + I and K-hat + I of order n d.",
)


def _with_skips(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, W_1: Any, W_2: Any, shift: Any) -> Any:
    """K + shift above K-hat + shift."""
    K = jacobian(self_attention, "X", COLUMN)(X, W_Q, W_K, W_V, W_O)
    K_hat = jacobian(feed_forward, "X", COLUMN)(X, W_1, W_2)
    return concatenate([K + shift, K_hat + shift], axis=0)


@EQ_7.formula
def sub_block_jacobians(
    X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights, W_1: Hidden, W_2: HiddenOut
) -> Any:
    """K + I above K-hat + I, shape (2 n d, n d) (Eq. (7))."""
    return _with_skips(X, W_Q, W_K, W_V, W_O, W_1, W_2, eye(X.shape[0] * X.shape[1]))


@EQ_7.oracle
def sub_blocks_differentiated(
    X: Tokens, W_Q: QueryWeights, W_K: Weights, W_V: Weights, W_O: Weights, W_1: Hidden, W_2: HiddenOut
) -> Any:
    def first(X: Any) -> Any:
        return X + self_attention(X, W_Q, W_K, W_V, W_O)

    def second(X: Any) -> Any:
        return X + feed_forward(X, W_1, W_2)

    return concatenate([jacobian(f, "X", COLUMN)(X) for f in (first, second)], axis=0)


EQ_7.mutant("K without the identity", "eye(X.shape[0] * X.shape[1]) -> 0 * eye(X.shape[0] * X.shape[1])")
EQ_7.mutant("K - I", "eye(X.shape[0] * X.shape[1]) -> -eye(X.shape[0] * X.shape[1])")


# -- the two products --------------------------------------------------------------------------------------------------

PRODUCTS_ONLY = Claim(
    SKIPLESS,
    "skipless.sec5-products-only",
    label="Section 5, text after Eq. (10)",
    statement=r"\mathbf{W}_\ell^V\mathbf{W}_\ell^O\text{ appears in both terms of }\mathbf{K}_\ell\text{ and }\mathbf{W}_\ell^Q"
    r"\mathbf{W}_\ell^{K\top}\text{ appears in }\mathbf{A}_\ell\text{ and }\mathbf{A}'_\ell",
    assumptions=["single-head attention of Eq. (3)"],
    relation=Equal(),
    sizes={"n": (1, 3), "d": (1, 3)},
    exact=True,
    reading="SA, A, A' and K depend on the four weights through these two products only: they are the same for W_Q G,"
    " W_K G^-T, W_V H, H^-1 W_O with any invertible G and H",
    expects="reading",
    note="With several heads the products are W_Q_i W_K_i^T and W_V_i W_O_i of each head, not those of the d x d weights.",
)


def invertible(M: Any) -> Any:
    """(I + S)(I + T) for the skew S = M_ - M_^T and T = M^_, M_ and M^_ the strict triangles of M (d, d): invertible."""
    d = M.shape[0]
    lower = Constant([[int(i > j) for j in range(d)] for i in range(d)])
    below, above = hadamard(lower, M), hadamard(lower.T, M)
    return (eye(d) + below - below.T) @ (eye(d) + above)


def _attention_and_jacobians(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any) -> Any:
    """SA(X), A, A' and K, all entries in one column."""
    slope = jacobian(attention_matrix, "X", COLUMN)(X, W_Q, W_K)
    K = jacobian(self_attention, "X", COLUMN)(X, W_Q, W_K, W_V, W_O)
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
