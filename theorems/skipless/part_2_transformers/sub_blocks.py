"""Eqs. (1)-(4): the sub-blocks with their skips, in matrix and in vector form, and attention with several heads."""

from __future__ import annotations

from typing import Any

from theorems.skipless import SKIPLESS
from theorems.skipless.definitions import (
    AttentionWeights, FeedForwardWeights, HeadQueryWeights, HeadWeights, Tokens, Weights, activation, attention_matrix,
    multi_head_attention, on_top, self_attention, states_of_blocks,
)  # fmt: skip
from verify.matrix import (
    COLUMN, ROW, Layout, concatenate, eye, kron, parts, softmax, summed, unvec_r, vec_c, vec_r, visited,
)  # fmt: skip
from verify.vocabulary import Assumption, Claim, Convention, Definition, Equal

EQ_1_2 = Claim(SKIPLESS, "skipless.eq-1-2", label="Eqs. (1)-(2) and the first display of Section 4.3",
    statement=r"""\mathbf{X}_\ell=\hat{\mathbf{X}}_{\ell-1}+\mathrm{SA}(\hat{\mathbf{X}}_{\ell-1}) \text{ and }
        \hat{\mathbf{X}}_\ell=\mathbf{X}_\ell+\mathrm{MLP}(\mathbf{X}_\ell);\quad
        \mathbf{x}^{(\ell)}=f_{\mathrm{SA}}(\hat{\mathbf{x}}^{(\ell-1)};\theta^{(\ell)})+\hat{\mathbf{x}}^{(\ell-1)}\in\mathbb{R}^{nd},\quad
        \hat{\mathbf{x}}^{(\ell)}=f_{\mathrm{MLP}}(\mathbf{x}^{(\ell)};\hat\theta^{(\ell)})+\mathbf{x}^{(\ell)}\in\mathbb{R}^{nd}
        """,
    assumptions=[
        Definition("X-hat_0 = X_0 is the token embedding; no normalisation layer, as in Eqs. (1)-(2)", by=states_of_blocks),
        Convention("column-major vec", by=vec_c),
    ],
    name="residual blocks in matrix and vector form", relation=Equal(), all_sizes=True,
    sizes={"L": (1, 2), "n": (1, 3), "d": (1, 3), "d_f": (1, 2)}, exact=True,
    note="""The activation of the MLP is not printed; that of the definitions is taken, with a free exponential in exact
        arithmetic, so that nothing about it matters.""")  # fmt: skip


def _vector_form(X: Any, W: Any, U: Any, *, sa_skip: int = 1, from_input: bool = False, layout: Layout = COLUMN) -> Any:
    """x^(1), ..., x^(L), then x-hat^(1), ..., each from the vector before it by Kronecker products, on top of each other."""
    n, d = X.shape

    def product(P: Any, A: Any) -> Any:
        """The matrix of X -> A X P."""
        return kron(P.T, A) if layout is COLUMN else kron(A, P.T)

    def block(k: int, before: Any, x: Any) -> tuple[Any, Any]:
        W_l, U_l = W[k], U[k]
        tokens = unvec_r(before, d, n).T if layout is COLUMN else unvec_r(before, n, d)
        A = attention_matrix(tokens, W_l[0], W_l[1])
        x = product(W_l[2] @ W_l[3], A) @ before + before * sa_skip
        hidden = activation(product(U_l[0].T, eye(n)) @ x)
        return product(U_l[1], eye(n)) @ hidden + (before if from_input else x), x

    x = vec_c(X) if layout is COLUMN else vec_r(X)
    after, between = visited(W.shape[0], block, x, x * 0)
    return concatenate([between, after], axis=0)


@EQ_1_2.formula
def states_in_vector_form(X: Tokens, W: AttentionWeights, U: FeedForwardWeights) -> Any:
    """x^(1), ..., x^(L), then x-hat^(1), ..., x-hat^(L), shape (2 L n d, 1) (Section 4.3)."""
    return _vector_form(X, W, U)


@EQ_1_2.oracle
def states_in_matrix_form(X: Tokens, W: AttentionWeights, U: FeedForwardWeights) -> Any:
    """vec of X_1, ..., X_L, then of X-hat_1, ..., X-hat_L of Eqs. (1)-(2)."""
    return on_top(*states_of_blocks(X, W, U))


EQ_1_2.mutant("no skip around self-attention", sa_skip=0)
EQ_1_2.mutant("second skip from the input of the block", from_input=True)
EQ_1_2.mutant("row-major vec", layout=ROW)


EQ_3_4 = Claim(SKIPLESS, "skipless.eq-3-4", label="Eqs. (3)-(4), Section 2",
    statement=r"""\mathrm{SA}(\mathbf{X})=\mathbf{A}\mathbf{V}\mathbf{W}^O, \text{ where }
        \mathbf{Q}=\mathbf{X}\mathbf{W}^Q, \mathbf{K}=\mathbf{X}\mathbf{W}^K, \mathbf{V}=\mathbf{X}\mathbf{W}^V, \text{
        and the attention matrix is } \mathbf{A}=\eta(\mathbf{Q}\mathbf{K}^\top);\quad
        \mathbf{W}_i^Q,\mathbf{W}_i^K,\mathbf{W}_i^V\in\mathbb{R}^{d\times d_h},\ d_h=\frac dh,\quad
        \mathbf{A}_i=\eta(\mathbf{Q}_i\mathbf{K}_i^\top),\quad
        \mathrm{SA}(\mathbf{X})=\mathrm{Concat}(\mathbf{A}_1\mathbf{V}_1,\dots,\mathbf{A}_h\mathbf{V}_h)\mathbf{W}^O""",
    assumptions=[
        Assumption("d_h = d / h", sizes=lambda sizes: sizes["d"] == sizes["h"] * sizes["d_h"]),
        Definition("eta is the row-wise softmax", by=softmax),
        Definition("A_i = eta(Q_i K_i^T) without a scale factor 1/sqrt(d_h)", by=multi_head_attention),
    ],
    name="self-attention with one and several heads", relation=Equal(), all_sizes=True,
    sizes={"n": (1, 4), "d": (1, 4), "h": (1, 4), "d_h": (1, 3)},
    exact=True,
    note=r"""Checked as: Eq. (4) is the sum over heads of Eq. (3), with the weights of head $i$ filled up by zeros to $d
        \times d$ and $W^O$ cut to its rows of head $i$. For $h = 1$ nothing is filled up, and Eq. (4) is Eq. (3).""",
)  # fmt: skip


@EQ_3_4.formula
def concatenated_heads(X: Tokens, W_Q: HeadQueryWeights, W_K: HeadWeights, W_V: HeadWeights, W_O: Weights) -> Any:
    """Concat(A_1 V_1, ..., A_h V_h) W_O, shape (n, d) (Eq. (4))."""
    return multi_head_attention(X, W_Q, W_K, W_V, W_O)


@EQ_3_4.oracle
def sum_of_single_heads(X: Tokens, W_Q: HeadQueryWeights, W_K: HeadWeights, W_V: HeadWeights, W_O: Weights) -> Any:
    h, d, d_h = W_Q.shape
    fill, rows = eye(d)[:d_h], parts(W_O, h, 0)
    return summed(h, lambda i: self_attention(X, W_Q[i] @ fill, W_K[i] @ fill, W_V[i] @ fill, fill.T @ rows[i]))


@EQ_3_4.mutant("heads concatenated in reverse")
def _(X: Tokens, W_Q: HeadQueryWeights, W_K: HeadWeights, W_V: HeadWeights, W_O: Weights) -> Any:
    heads = [softmax(X @ q @ k.T @ X.T) @ (X @ v) for q, k, v in zip(W_Q, W_K, W_V, strict=True)]
    return concatenate(heads[::-1], axis=1) @ W_O if len(heads) > 1 else heads[0] @ W_O * 2


@EQ_3_4.mutant("attention matrix of the first head for all")
def _(X: Tokens, W_Q: HeadQueryWeights, W_K: HeadWeights, W_V: HeadWeights, W_O: Weights) -> Any:
    A = softmax(X @ W_Q[0] @ W_K[0].T @ X.T)
    return concatenate([A @ (X @ v) for v in W_V], axis=1) @ W_O


EQ_3_4.mutant("W_O transposed", lambda X, W_Q, W_K, W_V, W_O: multi_head_attention(X, W_Q, W_K, W_V, W_O.T))
