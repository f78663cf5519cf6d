"""The proof of Remark 3.1 in Appendix C.2: how Z_1 and Z_2 turn into attention moments, step by step.

A transpose in the mixed product and the size of X * X^T * M_3 are misprinted; N = M_3 and the block formulas are right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import second_central_moments, third_central_moments
from theorems.hessian.part_3_structure.moments import Z_2_by_differentiation, covariance, row, third_cumulant
from theorems.hessian.part_c_moments.softmax import entry_hessian
from theorems.hessian.settings import SOFTMAX_OF_T, Logits, Tokens
from verify.matrix import (
    basis_vector, block_diag, column, commutation_matrix, concatenate, diag, each, eye, indexed, khatri_rao, kron, softmax,
    summed,
)  # fmt: skip
from verify.oracles import jacobian
from verify.vocabulary import Claim, Construction, Definition, Equal, Setting, Shape

# -- Z_1 ---------------------------------------------------------------------------------------------------------------

PROOF_Z1 = Claim(SOFTMAX_OF_T, "hessian.rem-3.1-proof-z1", label="Appendix C.2, proof for Z_1",
    statement=r"""Z_1 = (I_L\otimes X^\top)\frac{\partial A}{\partial T}(X\otimes X) =
        \operatorname{blockdiag}\Big(X^\top\frac{ \partial A_{i,:}}{\partial T_{i,:}}\Big)(X\otimes X) =
        \Big[X_{i,:}^\top\otimes X^\top\frac{\partial A_{i,:}}{\partial T_{i,:}^\top} X\Big]_{1\le i\le L} = X * M_2""",
    name="first softmax derivatives, block by block", relation=Equal(), all_sizes=True,
    sizes={"L": (1, 4), "d_V": (1, 3)}, uses=("hessian.lem-B.1", "hessian.eq-14", "hessian.def-3.1"))  # fmt: skip


def _slope(a: Any) -> Any:
    return diag(a) - a @ a.T


@PROOF_Z1.formula
def members_for_z1(X: Tokens, T: Logits) -> Any:
    """The last three members for Z_1, shape (3 L d_V, d_V^2) (Appendix C.2)."""
    A, L = softmax(T), X.shape[0]
    slopes, tokens = each(L, lambda i: _slope(row(A, i))), each(L, lambda i: X[i : i + 1])
    members = [
        block_diag(each(L, lambda i: X.T @ slopes[i])) @ kron(X, X),
        each(L, lambda i: kron(tokens[i], X.T @ slopes[i] @ X)),
        khatri_rao(tokens, second_central_moments(A, X)),
    ]
    return concatenate(members, axis=0)


@PROOF_Z1.oracle
def z1_by_differentiation(X: Tokens, T: Logits) -> Any:
    product = kron(eye(X.shape[0]), X.T) @ jacobian(softmax, "T")(T) @ kron(X, X)
    return concatenate([product] * 3, axis=0)


PROOF_Z1.mutant("dA_i/dT_i without its rank-one term", "_slope -> diag")
PROOF_Z1.mutant("moments not centred", "second_central_moments(A, X) -> each(L, lambda i: X.T @ diag(A[i]) @ X)")

# -- the steps of the proof for Z_2 ------------------------------------------------------------------------------------

PROOF_Z2I = Claim(SOFTMAX_OF_T, "hessian.rem-3.1-proof-z2i", label="Appendix C.2, proof for Z_2: block formula",
    statement=r"""Z_{2;i} = (X^\top\otimes X^\top\otimes X^\top) D_i (X_{i,:}^\top\otimes X) = \sum_{j=1}^L
        X_{j,:}\otimes X_{i,:}X_{i,:}^\top\otimes X^\top\frac{\partial^2 A_{i,j}}{\partial T_{i,:}\partial T_{i,:}} X =
        (K_{d_V,d_V}\otimes I_{d_V})\Big(X_{i,:}X_{i,:}^\top\otimes\sum_{j=1}^LX_{j,:}\otimes X^\top\frac{\partial^2
        A_{i,j}}{\partial T_{i,:}\partial T_{i,:}} X\Big)""",
    name="second softmax derivatives, block by block", relation=Equal(), all_sizes=True,
    uses=("hessian.eq-14", "hessian.lem-C.1-structure-corrected", "hessian.lem-C.1-entry"))  # fmt: skip


@PROOF_Z2I.formula
def members_for_z2(X: Tokens, T: Logits) -> Any:
    """The three members, each for every i, shape (3 L d_V^3, d_V^2) (Appendix C.2)."""
    A, (L, d) = softmax(T), X.shape

    def square(i: int) -> Any:
        return row(X, i) @ row(X, i).T

    def curved(i: int, j: int) -> Any:
        return entry_hessian(row(A, i), j)

    def first(i: int) -> Any:
        D_i = concatenate(each(L, lambda j: kron(basis_vector(L, i), curved(i, j))), axis=0)
        return kron(X.T, X.T, X.T) @ D_i @ kron(X[i : i + 1], X)

    def second(i: int) -> Any:
        return summed(L, lambda j: kron(row(X, j), square(i), X.T @ curved(i, j) @ X))

    def third(i: int) -> Any:
        inner = summed(L, lambda j: kron(row(X, j), X.T @ curved(i, j) @ X))
        return kron(commutation_matrix(d, d), eye(d)) @ kron(square(i), inner)

    return concatenate([each(L, first), each(L, second), each(L, third)], axis=0)


PROOF_Z2I.oracle(lambda X, T: concatenate([Z_2_by_differentiation(X, T)] * 3, axis=0))
PROOF_Z2I.mutant("no commutation matrix", "commutation_matrix(d, d) -> eye(d * d)")
PROOF_Z2I.mutant("e_j instead of e_i in D_{i,j}", "basis_vector(L, i) -> basis_vector(L, j)")

Token = Annotated[Any, Shape("d_V", "1")]

# -- 'the last equality follows from' ----------------------------------------------------------------------------------

VECTORS = Setting(
    HESSIAN,
    "Appendix C.2",
    assumptions=[
        Construction("X_{j,:} in R^{d_V} is a column vector, X in R^{L x d_V}, e_i in R^L", shapes={"X": ("L", "d_V")})
    ],
    sizes=SOFTMAX_OF_T.sizes,
    exact=True,
)

PROOF_STEP = Claim(VECTORS, "hessian.rem-3.1-proof-step", label="Appendix C.2, 'the last equality follows from'",
    statement=r"""(X_{j,:}\otimes X^\top) e_i X_{i,:}^\top = (X_{j,:}^\top\otimes X^\top)(1\otimes e_i X_{i,:}^\top) =
        X_{j,:}\otimes X^\top e_i X_{i,:}^\top = X_{j,:}\otimes X_{i,:}X_{i,:}^\top""",
    name="mixed product with a unit vector", relation=Equal(), expects="refuted", severity="slip",
    correction="hessian.rem-3.1-proof-step-corrected",
    note=r"""The transpose of $X_{j,:}$ in the second member stands alone: the members on either side have none. Judged
        by the inner sizes of the second member: $X_{j,:}^\top \otimes X^\top$ has $Ld_V$ columns, its partner $L$ rows.
        Without the transpose, as in the members around it, every step holds.""")  # fmt: skip


@PROOF_STEP.formula
def columns_of_the_left_factor(X: Tokens) -> Any:
    """The number of columns of X_{j,:}^T (x) X^T, shape (1, 1) (Appendix C.2)."""
    return column(kron(X[:1], X.T).shape[1])


PROOF_STEP.oracle(lambda X: column(kron(eye(1), basis_vector(X.shape[0], 0) @ X[:1]).shape[0]))
PROOF_STEP.mutant("both factors transposed", lambda X: column(kron(X[:1], X).shape[1]))
PROOF_STEP.mutant("X_{i,:} once more", lambda X: column(kron(X[:1], X[:1], X.T).shape[1]))
PROOF_STEP.counterexample("one token in the plane: two columns meet one row", X=[[1, 1]])

PROOF_STEP_CORRECTED = Claim(VECTORS, "hessian.rem-3.1-proof-step-corrected",
    label="Appendix C.2, the step without the transpose", name="mixed product with a unit vector, corrected",
    statement=r"""(X_{j,:}\otimes X^\top) e_i X_{i,:}^\top = (X_{j,:}\otimes X^\top)(1\otimes e_i X_{i,:}^\top) =
        X_{j,:}\otimes X^\top e_i X_{i,:}^\top = X_{j,:}\otimes X_{i,:}X_{i,:}^\top \in \mathbb{R}^{d_V^2\times d_V}""",
    relation=Equal(), all_sizes=True, uses=("hessian.eq-6-10",), corrects="hessian.rem-3.1-proof-step",
    of_project=True)  # fmt: skip


@PROOF_STEP_CORRECTED.formula
def mixed_product_step(x: Token, X: Tokens) -> Any:
    """The four members, each for every i, shape (4 L d_V^2, d_V); x is an arbitrary X_{j,:}."""
    L = X.shape[0]

    def placed(i: int) -> Any:
        return basis_vector(L, i) @ X[i : i + 1]

    members = [
        each(L, lambda i: kron(x, X.T) @ placed(i)),
        each(L, lambda i: kron(x, X.T) @ kron(eye(1), placed(i))),
        each(L, lambda i: kron(x, X.T @ placed(i))),
        each(L, lambda i: kron(x, row(X, i) @ row(X, i).T)),
    ]
    return concatenate(members, axis=0)


@PROOF_STEP_CORRECTED.oracle
def products_of_three_entries(x: Token, X: Tokens) -> Any:
    members = each(X.shape[0], lambda i: indexed("a,b,c->(a b)(c)", x[:, 0], X[i], X[i]))
    return concatenate([members] * 4, axis=0)


PROOF_STEP_CORRECTED.mutant(
    "factors exchanged in the third member", "kron(x, X.T @ placed(i)) -> kron(X.T @ placed(i), x)"
)
PROOF_STEP_CORRECTED.mutant("another unit vector", "basis_vector(L, i) -> basis_vector(L, 0)")

# -- N = M_3 -----------------------------------------------------------------------------------------------------------

PROOF_MOMENT = Claim(SOFTMAX_OF_T, "hessian.rem-3.1-proof-moment", label="Appendix C.2, N = M_3",
    statement=r"""N = \sum_{j=1}^LX_{j,:}\otimes X^\top A_{i,j}(2A_{i,:}A_{i,:}^\top + E_{j,j}^{L,L} -
        \operatorname{diag}(A_{i,:}) - e_j A_{i,:}^\top - A_{i,:}e_j^\top) X = [M_1]_{i,:}
        \otimes([M_1]_{i,:}[M_1]_{i,:}^\top - X^\top\operatorname{diag}(A_{i,:})X) + \sum_{j=1}^LA_{i,j}X_{j,:}
        \otimes([M_1]_{i,:}-X_{j,:})([M_1]_{i,:}-X_{j,:})^\top = [M_3]_{i,:};\ (X^\top\operatorname{diag}(A_{i,:})X -
        [M_1]_{i,:}[M_1]_{i,:}^\top) = \sum_{j=1}^LA_{i,j}([M_1]_{i,:}-X_{j,:})([M_1]_{i,:}-X_{j,:})^\top""",
    name="third central moment from softmax derivatives", relation=Equal(), all_sizes=True,
    uses=("hessian.def-3.1", "hessian.lem-C.1-entry", "hessian.eq-6-10"))  # fmt: skip


@PROOF_MOMENT.formula
def members_for_third_moment(X: Tokens, T: Logits) -> Any:
    """Four members of N and the helper identity each for every i, shape (L (4 d_V^2 + d_V), d_V)."""
    A, L = softmax(T), X.shape[0]
    mean = A @ X

    def second(i: int) -> Any:
        return X.T @ diag(A[i]) @ X

    def weighted(i: int, of: Callable[[Any], Any]) -> Any:
        return summed(L, lambda j: of(row(X, j)) * A[i, j])

    def by_hessians(i: int) -> Any:
        return summed(L, lambda j: kron(row(X, j), X.T @ entry_hessian(row(A, i), j) @ X))

    def expanded(i: int) -> Any:
        mu, square = row(mean, i), second(i)
        return weighted(i, lambda x: kron(x, 2 * (mu @ mu.T) + x @ x.T - square - x @ mu.T - mu @ x.T))

    def by_covariance(i: int) -> Any:
        mu = row(mean, i)
        return kron(mu, mu @ mu.T - second(i)) + weighted(i, lambda x: kron(x, (mu - x) @ (mu - x).T))

    def centred(i: int) -> Any:
        mu = row(mean, i)
        return weighted(i, lambda x: kron(x - mu, (mu - x) @ (mu - x).T))

    def helper(i: int) -> Any:
        return second(i) - row(mean, i) @ row(mean, i).T

    return concatenate([each(L, member) for member in (by_hessians, expanded, by_covariance, centred, helper)], axis=0)


@PROOF_MOMENT.oracle
def cumulants(X: Tokens, T: Logits) -> Any:
    A, L = softmax(T), X.shape[0]
    third, second = each(L, lambda i: third_cumulant(A, X, i)), each(L, lambda i: covariance(A, X, i))
    return concatenate([*[third] * 4, second], axis=0)


PROOF_MOMENT.mutant("the covariance with the wrong sign",
    "kron(mu, mu @ mu.T - second(i)) -> kron(mu, second(i) - mu @ mu.T)")  # fmt: skip
PROOF_MOMENT.mutant("the square of the mean once instead of twice", "2 -> 1")
PROOF_MOMENT.mutant("attention transposed", "T -> T.T")

# -- the size of X * X^T * M_3 -----------------------------------------------------------------------------------------

THIRD_MOMENTS = Setting(
    HESSIAN,
    "Appendix C.2",
    assumptions=[
        Definition("M_3 of Definition 3.1, of size L d_V^2 x d_V, split into L blocks", by=third_central_moments)
    ],
    sizes={"L": (1, 4), "d_V": (1, 4)},
    exact=True,
)

SIZE = Claim(THIRD_MOMENTS, "hessian.rem-3.1-proof-size", label="Appendix C.2, last display",
    statement=r"""
        X * X^\top * M_3 = [X_{i,:}X_{i,:}^\top\otimes[M_3]_{i,:}]_{1\le i\le L} \in \mathbb{R}^{Ld_V^2\times d_V}""",
    name="size of the third-moment product", relation=Equal(), expects="refuted", severity="slip",
    correction="hessian.rem-3.1-proof-size-corrected",
    note=r"""The blocks $X_iX_i^\top \otimes M_{3,i}$ are $d_V^3 \times d_V^2$; the printed size is that of $M_3$.
        Theorem 3.2 gives $Z_2$, the same rows in another order, the right size. That $X * X^\top * M_3$ is this matrix
        at all needs the columns of $X^\top$ one under the other in its place (hessian.rem-3.1-z2).""")  # fmt: skip


def _size_of_the_product(X: Any) -> Any:
    L = X.shape[0]
    third = third_central_moments(softmax(X @ X.T), X)
    blocks = each(L, lambda i: kron(row(X, i) @ X[i : i + 1], third[i]))
    return column(*concatenate(blocks, axis=0).shape)


@SIZE.formula
def printed_size(X: Tokens) -> Any:
    """Rows and columns of X * X^T * M_3, shape (2, 1) (Appendix C.2)."""
    L, d_V = X.shape
    return column(L * d_V**2, d_V)


SIZE.oracle(lambda X: _size_of_the_product(X))
SIZE.mutant("L d_V^3 x d_V", lambda X: column(X.shape[0] * X.shape[1] ** 3, X.shape[1]))
SIZE.mutant("L d_V x d_V^2, the size of Z_1", lambda X: column(X.shape[0] * X.shape[1], X.shape[1] ** 2))
SIZE.counterexample("one token in the plane: 8 x 4, not 4 x 2", X=[[1, 0]])

SIZE_CORRECTED = SIZE.corrected("hessian.rem-3.1-proof-size-corrected",
    label="Appendix C.2, last display, with the right size", name="size of the third-moment product, corrected",
    statement=r"""X * \operatorname{vec}_r(X) * M_3 = [X_{i,:}X_{i,:}^\top\otimes[M_3]_{i,:}]_{1\le i\le L} \in
        \mathbb{R}^{Ld_V^3\times d_V^2}, \text{ with } X \text{ split into its rows and } \operatorname{vec}_r(X) \text{
        into the } L \text{ columns } X_{i,:}""", general="It holds of any matrix in the place of $M_3$.",
    all_sizes=True)  # fmt: skip


@SIZE_CORRECTED.formula
def size_of_the_third_moment_product(X: Tokens) -> Any:
    """Rows and columns of X * vec_r(X) * M_3, shape (2, 1)."""
    L, d_V = X.shape
    return column(L * d_V**3, d_V**2)


SIZE_CORRECTED.mutant("the printed size", lambda X: column(X.shape[0] * X.shape[1] ** 2, X.shape[1]))
SIZE_CORRECTED.mutant("one power of d_V more", lambda X: column(X.shape[0] * X.shape[1] ** 4, X.shape[1] ** 2))
