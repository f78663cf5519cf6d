"""Linear self-attention F = T X W_V: every block of its Hessian (Remark 4.1), and why its diagonal blocks are definite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import attention_logits, shuffling_matrix, square_loss
from theorems.hessian.part_a_kronecker_products.products import stacked
from theorems.hessian.settings import (
    LAYOUT, SQUARE_LOSS, KeyWeights, Labels, QueryWeights, Tokens, ValueWeights, zero_residual, loss_normalisation,
)  # fmt: skip
from verify.matrix import commutation_matrix, eye, kron, rational, sqrt, total, vec_r, zeros
from verify.oracles import hessian, jacobian
from verify.vocabulary import Claim, Convention, Definition, Doubt, Equal, Setting, subject

Block = tuple[str, str]
RESIDUAL = Definition("delta_XY = vec_r(F - Y); S = (I (x) K_{d_V,d_V})(vec_r I (x) I)", by=vec_r)
#: Six tokens are reached where the weights are small.
LONG = {"L": (1, 6), "d_V": (1, 3), "d_K": (1, 4)}
DIAGONAL: list[Block] = [("W_Q", "W_Q"), ("W_K", "W_K"), ("W_V", "W_V")]
OUTER: list[Block] = [("W_V", "W_V"), ("W_Q", "W_Q"), ("W_V", "W_Q"), ("W_Q", "W_K")]


def within_reach(sizes: Mapping[str, int]) -> bool:
    """Whether L d_V d_K is at most 24, so that second derivatives in balls stay cheap."""
    return bool(sizes["L"] * sizes["d_V"] * sizes["d_K"] <= 24)


@subject("hessian.linear_attention")
def linear_attention(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """F = T X W_V, shape (L, d_V): Eq. (1) with a = id (Section 4.1)."""
    return attention_logits(X, W_Q, W_K) @ X @ W_V


def intra_sequence_covariance(X: Tokens) -> Any:
    """Sigma_XX = X^T X / L, uncentred, shape (d_V, d_V) (Remark 4.1)."""
    return X.T @ X * rational(1, X.shape[0])


def linear_outer_product(X: Any, W_Q: Any, W_K: Any, W_V: Any, wrt: Block) -> Any:
    """Block `wrt` of the outer-product Hessian by differentiation: J_i^T (d^2 loss/dF^2) J_j (Eq. (2))."""
    J_i, J_j = (jacobian(linear_attention, name)(X, W_Q, W_K, W_V) for name in wrt)
    return J_i.T @ J_j * (2 * loss_normalisation(*X.shape))


def linear_functional(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any, wrt: Block) -> Any:
    """Block `wrt` of the functional Hessian by differentiation: that of <dloss/dF, F> with dloss/dF frozen (Eq. (2))."""
    gradient = (linear_attention(X, W_Q, W_K, W_V) - Y) * (2 * loss_normalisation(*X.shape))

    def paired(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
        return total(gradient * linear_attention(X, W_Q, W_K, W_V))

    return hessian(paired, wrt)(X, W_Q, W_K, W_V)


# -- the outer-product blocks ------------------------------------------------------------------------------------------

LINEAR_ATTENTION = Setting(
    HESSIAN,
    "Remark 4.1",
    assumptions=[
        Definition(
            "linear self-attention F = T X W_V with T = X W_Q W_K^T X^T / sqrt(d_K), that is a = id",
            by=linear_attention,
        ),
        SQUARE_LOSS,
        LAYOUT,
    ],
    sizes=LONG,
    where=within_reach,
    exact=True,
)
WITH_RESIDUAL = LINEAR_ATTENTION.extended(assumptions=[RESIDUAL], special_domains={"zero residual": zero_residual})

OUTER_BLOCKS = Claim(LINEAR_ATTENTION, "hessian.rem-4.1-outer", label="Remark 4.1, outer-product blocks",
    statement=r"""H_o(W_V,W_V) = \frac{2L^2}{d_V d_K}\Sigma_{XX} W_K W_Q^\top\Sigma_{XX} W_Q W_K^\top\Sigma_{XX}\otimes
        I_{d_V},\ H_o(W_Q,W_Q) = \frac{2L^2}{d_V d_K}\Sigma_{XX}\otimes W_K^\top\Sigma_{XX} W_V W_V^\top\Sigma_{XX}
        W_K,\ H_o(W_V,W_Q) = \frac{2L^2}{d_V d_K}(\Sigma_{XX} W_K W_Q^\top\Sigma_{XX}\otimes W_V^\top\Sigma_{XX} W_K),\
        H_o(W_Q,W_K) = \frac{2L^2}{d_V d_K}(\Sigma_{XX} W_Q\otimes W_K^\top\Sigma_{XX} W_V W_V^\top\Sigma_{XX})
        K_{d_K,d_V},\quad \Sigma_{XX} := X^\top X/L""",
    name="linear attention, outer-product blocks", relation=Equal(), all_sizes=True, uses=("hessian.eq-2",),
)  # fmt: skip


@OUTER_BLOCKS.formula
def linear_outer_product_hessian(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """H_o(V,V), H_o(Q,Q), H_o(V,Q), H_o(Q,K), all entries in one column (Remark 4.1)."""
    (d_V, d_K), L, S, G = W_Q.shape, X.shape[0], intra_sequence_covariance(X), W_V @ W_V.T
    blocks = [
        kron(S @ W_K @ W_Q.T @ S @ W_Q @ W_K.T @ S, eye(d_V)),
        kron(S, W_K.T @ S @ G @ S @ W_K),
        kron(S @ W_K @ W_Q.T @ S, W_V.T @ S @ W_K),
        kron(S @ W_Q, W_K.T @ S @ G @ S) @ commutation_matrix(d_K, d_V),
    ]
    return stacked(*blocks) * rational(2 * L * L, d_V * d_K)


OUTER_BLOCKS.oracle(lambda X, W_Q, W_K, W_V: stacked(*(linear_outer_product(X, W_Q, W_K, W_V, wrt) for wrt in OUTER)))
OUTER_BLOCKS.mutant("W_V^T W_V instead of W_V W_V^T", "W_V @ W_V.T -> W_V.T @ W_V")
OUTER_BLOCKS.mutant("no commutation matrix", "commutation_matrix(d_K, d_V) -> eye(d_V * d_K)")
OUTER_BLOCKS.mutant("commutation matrix transposed", "commutation_matrix(d_K, d_V) -> commutation_matrix(d_V, d_K)")
OUTER_BLOCKS.mutant("factor L instead of L^2", lambda value, X: value * rational(1, X.shape[0]))
OUTER_BLOCKS.mutant("query and key weights exchanged", "W_Q -> W_K; W_K -> W_Q")

# -- the functional blocks ---------------------------------------------------------------------------------------------

FUNCTIONAL_VQ = Claim(WITH_RESIDUAL, "hessian.rem-4.1-functional-vq", label="Remark 4.1, H_f(V,Q)",
    statement=r"""H_f(W_V,W_Q) = \frac{2}{d_V\sqrt{d_K}}(\delta_{XY}^\top\otimes I_{d_V^2})(I_L\otimes
        S)(X\otimes\Sigma_{XX}W_K)""",
    name="linear attention, functional value-query block", relation=Equal(), all_sizes=True,
    uses=("hessian.eq-2", "hessian.eq-16-17"))  # fmt: skip


@FUNCTIONAL_VQ.formula
def linear_functional_hessian_value_query(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels
) -> Any:
    """H_f(W_V, W_Q), shape (d_V^2, d_V d_K) (Remark 4.1)."""
    (L, d_V), d_K, S = X.shape, W_Q.shape[1], shuffling_matrix(X.shape[1])
    delta = vec_r(linear_attention(X, W_Q, W_K, W_V) - Y)
    right = kron(X, intra_sequence_covariance(X) @ W_K)
    return kron(delta.T, eye(d_V**2)) @ kron(eye(L), S) @ right * (rational(2, d_V) / sqrt(d_K))


FUNCTIONAL_VQ.oracle(lambda X, W_Q, W_K, W_V, Y: linear_functional(X, W_Q, W_K, W_V, Y, ("W_V", "W_Q")))
FUNCTIONAL_VQ.mutant("S without its commutation matrix", "S -> kron(vec_r(eye(d_V)), eye(d_V))")
FUNCTIONAL_VQ.mutant("query instead of key weights", "right -> kron(X, intra_sequence_covariance(X) @ W_Q)")
FUNCTIONAL_VQ.mutant("X^T X instead of X^T X / L", "right -> kron(X, X.T @ X @ W_K)")

FUNCTIONAL_QK = Claim(WITH_RESIDUAL, "hessian.rem-4.1-functional-qk", label="Remark 4.1, H_f(Q,K)",
    statement=r"""H_f(W_Q,W_K) = \frac{2}{d_V\sqrt{d_K}}\big(\delta_{XY}^\top(X\otimes W_V^\top\Sigma_{XX})\otimes
        I_{d_V}\big) S\otimes I_{d_K}""",
    assumptions=[
        Convention(
            "matrix products bind tighter than the final (x) I_{d_K}, the only reading with matching sizes",
            by=kron,
        ),
    ],
    name="linear attention, functional query-key block", relation=Equal(), all_sizes=True,
    uses=("hessian.eq-2", "hessian.thm-3.2-qk"))  # fmt: skip


@FUNCTIONAL_QK.formula
def linear_functional_hessian_query_key(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels
) -> Any:
    """H_f(W_Q, W_K), shape (d_V d_K, d_V d_K) (Remark 4.1)."""
    (d_V, d_K), delta = W_Q.shape, vec_r(linear_attention(X, W_Q, W_K, W_V) - Y)
    row = delta.T @ kron(X, W_V.T @ intra_sequence_covariance(X))
    slope = kron(row, eye(d_V)) @ shuffling_matrix(d_V) * (rational(2, d_V) / sqrt(d_K))
    return kron(slope, eye(d_K))


FUNCTIONAL_QK.oracle(lambda X, W_Q, W_K, W_V, Y: linear_functional(X, W_Q, W_K, W_V, Y, ("W_Q", "W_K")))
FUNCTIONAL_QK.mutant("I_{d_K} on the left", "slope -> eye(d_K); eye(d_K) -> slope")
FUNCTIONAL_QK.mutant("W_V not transposed", "W_V.T -> W_V")
FUNCTIONAL_QK.mutant("transposed in d_V", "slope -> slope.T")

# -- block-hollow, and definite on the diagonal ------------------------------------------------------------------------

HOLLOW = Claim(WITH_RESIDUAL, "hessian.rem-4.1-hollow-psd", label="Remark 4.1 and section 4.1, text",
    statement=r"""\text{``the first and second derivatives of } A \text{ w.r.t. } T \text{ are } I_{L^2}\text{ and 0,
        respectively''; ``only the off-diagonal functional Hessian blocks are non-zero''; ``the Hessian blocks are fully
        defined by the outer-product Hessian, which ensures that they are positive-semidefinite''}""",
    name="linear attention, block-hollow and semidefinite", relation=Equal(), all_sizes=True,
    where=lambda sizes: sizes["L"] * sizes["d_V"] * sizes["d_K"] <= 8, uses=("hessian.rem-4.1-outer",),
    doubt=Doubt(r"\mathbf{I}_{d_{L}^{2}}^{2}", r"""Damaged: the derivative of the activation id on $L \times L$ matrices
            is $I_{L^2}$, which eq. (4) gives the size $L^2 \times L^2$ and which is taken."""),
    note=r"""The formula is a Gram matrix $\frac2{Ld_V}J^\top J$ with the Jacobian $J$ in closed form, so equality with
        the loss Hessian shows that each diagonal block is positive-semidefinite, without computing an eigenvalue.""",
)  # fmt: skip


def _gram_matrices(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, sign: int = 1, order: Any = (0, 1, 2), root: Any = sqrt
) -> list[Any]:
    """2/(L d_V) J^T J for Q, K, V; J_Q = X (x) W_V^T X^T X W_K / sqrt(d_K), J_K likewise, J_V = T X (x) I.

    Mutants change the sign, the order of the blocks, or the root.
    """
    (L, d_V), d_K, gram = X.shape, W_Q.shape[1], X.T @ X
    J_Q = kron(X, W_V.T @ gram @ W_K) / root(d_K)
    J_K = kron(X @ W_Q, W_V.T @ gram) @ commutation_matrix(d_K, d_V) / root(d_K)
    J_V = kron(attention_logits(X, W_Q, W_K) @ X, eye(d_V))
    return [J.T @ J * rational(2 * sign, L * d_V) for J in ((J_Q, J_K, J_V)[i] for i in order)]


def _hollow(X: Any, blocks: list[Any]) -> Any:
    """The derivatives of the activation, the functional blocks and the diagonal blocks, in one column."""
    L = X.shape[0]
    vanishing = [zeros(block.shape[0], block.shape[1]) for block in blocks]
    return stacked(eye(L * L), zeros(L**4, L * L), *vanishing, *blocks)


@HOLLOW.formula
def diagonal_blocks_as_gram_matrices(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels
) -> Any:
    """I_{L^2}, 0, three vanishing functional blocks, and the diagonal blocks for Q, K, V, all entries in one column."""
    return _hollow(X, _gram_matrices(X, W_Q, W_K, W_V))


def _linear_loss(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any) -> Any:
    return square_loss(linear_attention(X, W_Q, W_K, W_V), Y)


def _identity(T: Any) -> Any:
    """The activation of linear self-attention."""
    return T * 1


@HOLLOW.oracle
def diagonal_blocks_by_differentiation(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any) -> Any:
    T = attention_logits(X, W_Q, W_K)
    return stacked(
        jacobian(_identity, "T")(T),
        hessian(_identity, ("T", "T"))(T),
        *(linear_functional(X, W_Q, W_K, W_V, Y, wrt) for wrt in DIAGONAL),
        *(hessian(_linear_loss, wrt)(X, W_Q, W_K, W_V, Y) for wrt in DIAGONAL),
    )


HOLLOW.mutant("negative semidefinite", sign=-1)
HOLLOW.mutant("query and key blocks exchanged", order=(1, 0, 2))
HOLLOW.mutant("d_K instead of its root in the Jacobians", root=lambda d_K: d_K)
