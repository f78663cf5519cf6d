"""Largest entries of products, by largest row and column sums and by softmax rows."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.norms.settings import RULES, SMALL, Logits, Matrix, Next, RowLogits, largest
from verify.matrix import (
    absolute, block_diag, column, concatenate, diag, each, eye, kron, maximum, rational, row_sums, softmax,
)  # fmt: skip
from verify.vocabulary import AtMost, Claim, Equal, Shape

PRODUCT = Claim(RULES, "norms.largest-entry-of-a-product", label="Largest entry of a product",
    statement=r"""\max|AB| \le n\max|A|\max|B|,\ \|A\|_\infty\max|B|,\ \max|A|\,\|B\|_1,\quad A \in \mathbb{R}^{m\times n},\
        \|A\|_\infty = \max_i\sum_j|A_{ij}|,\ \|B\|_1 = \max_j\sum_i|B_{ij}|""", sizes=("m", "n", "p"),
    name="largest entry of a product", relation=AtMost(left="max|AB|"))  # fmt: skip


def largest_row_sum(A: Any) -> Any:
    """The largest sum of absolute values in a row, a scalar."""
    return maximum(row_sums(absolute(A)))


@PRODUCT.formula
def products_of_entries_and_sums(A: Matrix, B: Next) -> Any:
    """n max|A| max|B|, ||A||_inf max|B| and max|A| ||B||_1, shape (3, 1)."""
    return column(
        largest(A) * largest(B) * A.shape[1], largest_row_sum(A) * largest(B), largest(A) * largest_row_sum(B.T)
    )


PRODUCT.oracle(lambda A, B: column(*[largest(A @ B)] * 3))
PRODUCT.mutant("no size", "largest(A) * largest(B) * A.shape[1] -> largest(A) * largest(B)")
PRODUCT.mutant("columns of the first", "largest_row_sum(A) -> largest_row_sum(A.T)")
PRODUCT.mutant("rows of the second", "largest_row_sum(B.T) -> largest_row_sum(B)")

AVERAGE = Claim(RULES, "norms.average-of-rows", label="Averages of rows", name="largest entry of averages of rows",
    statement=r"\max|\operatorname{softmax}(T)B| \le \max|B|", relation=AtMost(left="max|softmax(T) B|"),
    sizes=("m", "n", "p"))  # fmt: skip


@AVERAGE.formula
def largest_entry_averaged(T: Logits, B: Next) -> Any:
    """max|B|, a scalar."""
    return largest(B)


AVERAGE.oracle(lambda T, B: largest(softmax(T) @ B))
AVERAGE.mutant("nine tenths", lambda value: value * rational(9, 10))
AVERAGE.mutant("the first row", "largest(B) -> largest(B[:1])")

COVARIANCE = Claim(RULES, "norms.covariance-of-entries", label="Covariances of bounded columns",
    statement=r"\max|A^\top(\operatorname{diag}p - pp^\top)B| \le \max|A|\max|B|", name="covariances under a softmax row",
    relation=AtMost(left="max|A^T (diag(p) - p p^T) B|"), sizes={"n": (1, 4), "p": (1, 2)})  # fmt: skip


@COVARIANCE.formula
def products_of_largest_entries(u: RowLogits, A: Next, B: Next) -> Any:
    """max|A| max|B|, a scalar; p is the softmax of u."""
    return largest(A) * largest(B)


@COVARIANCE.oracle
def largest_covariance(u: Any, A: Any, B: Any) -> Any:
    p = softmax(u)
    return largest(A.T @ (diag(p[0]) - p.T @ p) @ B)


COVARIANCE.mutant("nine tenths", lambda value: value * rational(9, 10))
COVARIANCE.mutant("half, as of the spectral norm", lambda value: value * rational(1, 2))

BLOCKS = Claim(SMALL, "norms.blocks-of-rows", label="Blocks of rows", name="blocks of rows of a product with diagonal blocks",
    statement=r"""(I\otimes C)\operatorname{blockdiag}(S_1, \dots, S_m)(P\otimes Q)\text{ has the blocks of rows }P_i\otimes
        CS_iQ""",
    relation=Equal(), sizes=("m", "n", "p"), exact=True, all_sizes=True)  # fmt: skip


def _inner(T: Any, U: Any, i: Any) -> Any:
    """S_i = t_i u_i^T for the rows of T and U, shape (n, n)."""
    return T[i : i + 1].T @ U[i : i + 1]


@BLOCKS.formula
def blocks_on_top_of_each_other(
    C: Annotated[Any, Shape("p", "n")], T: Matrix, U: Matrix, P: Annotated[Any, Shape("m", "p")], Q: Next
) -> Any:
    """P_i (x) C S_i Q for all i, shape (m p, p p); S_i = t_i u_i^T."""
    return concatenate(each(T.shape[0], lambda i: kron(P[i : i + 1], C @ _inner(T, U, i) @ Q)), axis=0)


BLOCKS.oracle(
    lambda C, T, U, P, Q: (
        kron(eye(T.shape[0]), C) @ block_diag(each(T.shape[0], lambda i: _inner(T, U, i))) @ kron(P, Q)
    )
)
BLOCKS.mutant("one row of P for all", "P[i:i + 1] -> P[:1]")
BLOCKS.mutant("one block for all", "_inner(T, U, i) -> _inner(T, U, 0)")
