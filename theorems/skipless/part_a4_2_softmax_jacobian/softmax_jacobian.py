"""Eq. (22) and the text before it: the Jacobian of softmax by its logits, block by block, and its norm.

Under the column-major vec of the paper it is not block diagonal; with rows in order it is, and norms are the same.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.skipless import SKIPLESS
from verify.matrix import (
    COLUMN, ROW, Layout, block_diag, commutation_matrix, concatenate, diag, each, exp, frobenius_norm, mapped, maximum,
    ones, softmax, spectral_norm, without_column,
)  # fmt: skip
from verify.oracles import closed_form, jacobian
from verify.vocabulary import Claim, Convention, Definition, Equal, Setting, Shape, checked

Logits = Annotated[Any, Shape("n", "n", role="query")]
#: W_Q W_K^T as a whole: only the product enters the logits.
Product = Annotated[Any, Shape("d", "d", role="query")]

SOFTMAX = Setting(SKIPLESS, "Section A.4.2", assumptions=[Definition("A = softmax(M), row by row", by=softmax)],
    sizes={"n": (1, 3)})  # fmt: skip
EXACTLY = SOFTMAX.extended("Eq. (22)", sizes={"n": (1, 4)}, exact=True)
IN_COLUMNS = EXACTLY.extended("Section A.4.2, vec",
    assumptions=[Convention("column-major vec, as in Eqs. (10)-(13), numerator layout", by=COLUMN)])  # fmt: skip


def scalar(x: Any) -> Any:
    """A scalar as a matrix of shape (1, 1)."""
    return ones(1, 1) * x


def attention(X: Any, W: Any) -> Any:
    """softmax(X W X^T), shape (n, n)."""
    return softmax(X @ W @ X.T)


def slope_by_tokens(X: Any, W: Any) -> Any:
    """d vec A / d vec X, shape (n^2, n d)."""
    return jacobian(attention, "X", COLUMN)(X, W)


def norm_by_tokens(X: Any, W: Any) -> Any:
    """|d vec A / d vec X|_2, a scalar."""
    return spectral_norm(slope_by_tokens(X, W))


def slope_by_logits(M: Any, layout: Layout = COLUMN) -> Any:
    """d vec A / d vec M, shape (n^2, n^2)."""
    return jacobian(softmax, "T", layout)(M)


def softmax_block(A: Any, i: int) -> Any:
    """diag(a) - a^T a for row i of A, shape (n, n)."""
    a = A[i : i + 1]
    return diag(a) - a.T @ a


def softmax_row(t: Any) -> Any:
    """softmax of one row t, shape (1, n)."""
    return softmax(t)


@closed_form(softmax_row, "t", "skipless.eq-22")
def covariance(t: Any) -> Any:
    """diag(a) - a^T a for a = softmax(t), shape (n, n)."""
    return softmax_block(softmax(t), 0)


def differentiated_block(M: Any, i: int) -> Any:
    """d A_ij / d M_ik by differentiation, shape (n, n)."""
    return jacobian(softmax_row, "t", ROW)(M[i : i + 1])


#: What Eqs. (22)-(29) call a block.
BLOCK = Definition("(J_{A,i})_{jk} = dA_ij / dM_ik", by=differentiated_block)


def printed_blocks(A: Any) -> list[Any]:
    """J_{A,i} of Eq. (22) for all i, each of shape (n, n)."""
    return each(A.shape[0], lambda i: softmax_block(A, i))


def differentiated_blocks(M: Any) -> list[Any]:
    """J_{A,i} for all i by differentiation, each of shape (n, n)."""
    return each(M.shape[0], lambda i: differentiated_block(M, i))


@checked
def largest_block_norm(M: Logits) -> Any:
    """max_i |J_{A,i}|_2, a scalar."""
    return maximum(column_of(mapped(spectral_norm, printed_blocks(softmax(M)))))


def weights_norm(X: Any, W: Any) -> Any:
    """|X W|_2 + |X W^T|_2, which bounds the derivative of the logits by the tokens."""
    return spectral_norm(X @ W) + spectral_norm(X @ W.T)


def smallest_gap(M: Any) -> Any:
    """gamma = min over i and j != i of M_ii - M_ij, a scalar; n >= 2."""
    return -maximum(column_of(each(M.shape[0], lambda i: maximum(_relative_logits(M[i : i + 1], i)))))


def _relative_logits(t: Any, i: int) -> Any:
    """t_j - t_i for j != i, shape (1, n - 1), for a row t."""
    return without_column(t, i) - t[:, i : i + 1] @ ones(1, t.shape[1] - 1)


def column_of(scalars: Any) -> Any:
    """Scalars over an index as a column."""
    return concatenate(mapped(scalar, scalars), axis=0)


@checked
def attention_lost(M: Logits) -> Any:
    """(n - 1) e^-gamma / (1 + (n - 1) e^-gamma), a scalar: no row gives more than that away; 0 for one token."""
    return lost_by_gap(M, M.shape[0] - 1)


def lost_by_gap(M: Any, others: int, decay: int = 1) -> Any:
    """others e^(-decay gamma) / (1 + others e^(-decay gamma)), a scalar; 0 for one token."""
    if M.shape[0] == 1:
        return 0 * M[0, 0]
    leak = others * exp(-decay * smallest_gap(M))
    return leak / (1 + leak)


# -- the blocks --------------------------------------------------------------------------------------------------------

EQ_22 = Claim(EXACTLY, "skipless.eq-22", label="Eq. (22)", name="softmax Jacobian, row by row",
    statement=r"(\mathbf{J}_{\mathbf{A},i})_{jk}=\mathbf{A}_{ij}(\delta_{jk}-\mathbf{A}_{ik})",
    assumptions=[BLOCK],
    relation=Equal(), all_sizes=True)  # fmt: skip


@EQ_22.formula
def softmax_blocks(M: Logits) -> Any:
    """All blocks on top of each other, shape (n^2, n) (Eq. (22))."""
    A = softmax(M)
    return concatenate(each(A.shape[0], lambda i: softmax_block(A, i)), axis=0)


@EQ_22.oracle
def softmax_blocks_differentiated(M: Logits) -> Any:
    return concatenate(differentiated_blocks(M), axis=0)


EQ_22.mutant("sign of the rank-one term", "softmax_block(A, i) -> diag(A[i]) + A[i:i + 1].T @ A[i:i + 1]")
EQ_22.mutant("rows of A mixed up with columns", "softmax(M) -> softmax(M).T")
EQ_22.mutant("rank-one term dropped", "softmax_block(A, i) -> diag(A[i])")

STRUCTURE = Claim(IN_COLUMNS, "skipless.eq-22-structure", label="Text before Eq. (22)",
    statement=r"""\text{Since softmax is a row normalization, the Jacobian
        }\mathbf{J}_{\mathbf{A}}=\partial\mathrm{vec}(
        \mathbf{A})/\partial\mathrm{vec}(\mathbf{M})\in\mathbb{R}^{n^2\times n^2}\text{ is a block diagonal matrix}""",
    name="softmax Jacobian as a block diagonal", relation=Equal(), expects="refuted", severity="slip",
    uses=("skipless.eq-22",), correction="skipless.eq-22-structure-rows",
    note="""Under the column-major vec of Eqs. (10)-(13) the entries of one row are $n$ places apart, and no entry $(i,
        j)$, $(i, k)$ lies in a diagonal block. The matrix is block diagonal under row-major vec, to which it is similar
        by a permutation; norms, which is all that the proof takes from it, are the same. The paper defines vec nowhere
        but by these equations.""")  # fmt: skip


@STRUCTURE.formula
def block_diagonal_jacobian(M: Logits) -> Any:
    """block_diag(J_{A,1}, ..., J_{A,n}), shape (n^2, n^2)."""
    A = softmax(M)
    return block_diag(each(A.shape[0], lambda i: softmax_block(A, i)))


STRUCTURE.oracle(lambda M: slope_by_logits(M))
STRUCTURE.counterexample("n = 2, all logits zero", M=[[0, 0], [0, 0]])
STRUCTURE.mutant("blocks without the rank-one term", "softmax_block(A, i) -> diag(A[i])")
STRUCTURE.mutant("blocks of twice the size", lambda value: 2 * value)

BY_ROWS = STRUCTURE.corrected("skipless.eq-22-structure-rows", label="Text before Eq. (22), corrected",
    statement=r"""\mathbf{K}\,\partial\mathrm{vec}(\mathbf{A})/\partial\mathrm{vec}(\mathbf{M})\,\mathbf{K}^\top=
        \mathrm{blockdiag}(\mathbf{J}_{\mathbf{A},1},\dots,\mathbf{J}_{\mathbf{A},n}),\quad\mathbf{K}\text{ the
        commutation matrix: row-major order}""", name="softmax Jacobian, row-major", all_sizes=True,
    uses=("skipless.eq-22",))  # fmt: skip


@BY_ROWS.formula
def softmax_jacobian_in_columns(M: Logits) -> Any:
    """d vec A / d vec M = K^T block_diag(J_{A,1}, ..., J_{A,n}) K, shape (n^2, n^2), column-major vec."""
    A, K = softmax(M), commutation_matrix(*M.shape)
    return K.T @ block_diag(each(A.shape[0], lambda i: softmax_block(A, i))) @ K


BY_ROWS.mutant("without reordering, as printed", block_diagonal_jacobian)
BY_ROWS.mutant("blocks in reverse order", "softmax_block(A, i) -> softmax_block(A, A.shape[0] - 1 - i)")
BY_ROWS.mutant("sign of the rank-one term", "softmax_block(A, i) -> diag(A[i]) + A[i:i + 1].T @ A[i:i + 1]")

NORM_OF_BLOCKS = Claim(IN_COLUMNS.extended(sizes=SOFTMAX.sizes, exact=False), "skipless.eq-29-logits",
    label="Eq. (29), by the logits", name="norm of the softmax Jacobian",
    statement=r"""
        \left\|\frac{\partial\mathrm{vec}(\mathbf{A})}{\partial\mathrm{vec}(\mathbf{M})}\right\|_2=\max_i\|\mathbf{J}_{
        \mathbf{A},i}\|_2""",
    relation=Equal(), of_project=True, corrects="skipless.eq-29", uses=("skipless.eq-22-structure-rows",))  # fmt: skip

NORM_OF_BLOCKS.formula(largest_block_norm)
NORM_OF_BLOCKS.oracle(lambda M: spectral_norm(slope_by_logits(M)))
NORM_OF_BLOCKS.mutant("Frobenius norm of the blocks together", lambda M: frobenius_norm(softmax_blocks(M)))
NORM_OF_BLOCKS.mutant("norm of the first block", lambda M: spectral_norm(softmax_block(softmax(M), 0)))
