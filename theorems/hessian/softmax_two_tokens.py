"""The softmax for two tokens, entry by entry (Remark C.1), and two sizes and indices misprinted in Appendix C."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import Logits, Tokens, softmax_second_derivative, third_central_moments
from verify.claims import Claim
from verify.derivatives import hessian, jacobian
from verify.matrix import column, concatenate, kron, ones, softmax, stack_rows, zeros
from verify.relations import Equal
from verify.shapes import Shape

Matrix = Any
TwoByTwo = Annotated[Any, Shape("2", "2", role="query")]

TWO_TOKENS = ["L = 2, A = [a_ij] is the row-wise softmax of T", "row-major vec_r, numerator layout, Eq. (4)"]

# -- the Jacobian ------------------------------------------------------------------------------------------------------

JACOBIAN = Claim(
    HESSIAN,
    "hessian.rem-C.1-jacobian",
    label="Remark C.1, Jacobian for L=2",
    statement=r"\frac{\partial A}{\partial T} = \begin{bmatrix}a_{1,1}-a_{1,1}^2&-a_{1,1}a_{1,2}&0&0\\-a_{1,1}a_{1,2}&a_{1,2}-"
    r"a_{1,2}^2&0&0\\0&0&a_{2,1}-a_{2,1}^2&-a_{2,1}a_{2,2}\\0&0&-a_{2,1}a_{2,1}&a_{2,2}-a_{2,2}^2\end{bmatrix}",
    assumptions=TWO_TOKENS,
    relation=Equal(),
    sizes={"L": (2, 2)},
    expects="refuted",
    severity="slip",
    correction="hessian.rem-C.1-jacobian-corrected",
    exact=True,
    doubt="The index in -a_{2,1}a_{2,1} at (4, 3) is clear in the extraction, and only there.  The brackets of the display are"
    " damaged, its entries are not; Lemma B.1, to which the remark refers, has the right entry.",
    note="Entry (4, 3) is -a_{2,1}a_{2,2}, the mirror image of (3, 4); the other fifteen entries are right.",
)


def _assembled(entries: list[list[Any]]) -> Matrix:
    """A matrix from rows of scalars, shape as listed."""
    return stack_rows([concatenate([entry.reshape(1, 1) for entry in row], axis=1) for row in entries])


def _scalars(T: Matrix) -> tuple[Any, ...]:
    """a_11, a_12, a_21, a_22 and a zero, each of shape (1, 1)."""
    A = softmax(T)
    a, b, c, d = (A[i : i + 1, j : j + 1] for i in range(2) for j in range(2))
    return a, b, c, d, 0 * a


def _jacobian(T: Matrix, lower: Any) -> Matrix:
    """The matrix with `lower(a_21, a_22)` at (4, 3)."""
    a, b, c, d, o = _scalars(T)
    return _assembled(
        [
            [a - a * a, -a * b, o, o],
            [-a * b, b - b * b, o, o],
            [o, o, c - c * c, -c * d],
            [o, o, lower(c, d), d - d * d],
        ]
    )


@JACOBIAN.formula
def jacobian_for_two_tokens_as_printed(T: TwoByTwo) -> Any:
    """dA/dT, shape (4, 4) (Remark C.1)."""
    return _jacobian(T, lambda c, d: -c * c)


JACOBIAN.oracle(lambda T: jacobian(softmax, "T")(T))
JACOBIAN.mutant("the wrong sign at (4, 3)", lower=lambda c, d: c * d)
JACOBIAN.mutant("zero at (4, 3)", lower=lambda c, d: 0 * c)
JACOBIAN.counterexample("second row of T = (1, 0), so that a_21 is not a_22", T=[[0, 0], [1, 0]])


JACOBIAN_CORRECTED = Claim(
    HESSIAN,
    "hessian.rem-C.1-jacobian-corrected",
    label="Remark C.1, Jacobian for L=2, entry (4, 3)",
    statement=r"\Big[\frac{\partial A}{\partial T}\Big]_{4,3} = -a_{2,1}a_{2,2},\text{ all other entries as printed}",
    assumptions=TWO_TOKENS,
    relation=Equal(),
    sizes={"L": (2, 2)},
    uses=("hessian.lem-B.1",),
    corrects="hessian.rem-C.1-jacobian",
    exact=True,
    of_project=True,
)


@JACOBIAN_CORRECTED.formula
def jacobian_for_two_tokens(T: TwoByTwo) -> Any:
    """dA/dT, shape (4, 4) (Remark C.1, corrected)."""
    return _jacobian(T, lambda c, d: -c * d)


JACOBIAN_CORRECTED.oracle(lambda T: jacobian(softmax, "T")(T))
JACOBIAN_CORRECTED.mutant("as printed", lower=lambda c, d: -c * c)
JACOBIAN_CORRECTED.mutant("the wrong sign at (4, 3)", lower=lambda c, d: c * d)


# -- the second derivative ---------------------------------------------------------------------------------------------

SECOND = Claim(
    HESSIAN,
    "hessian.rem-C.1-second",
    label="Remark C.1, second derivative for L=2",
    statement=r"b_{i,j} = 1-2a_{i,j}:\ \begin{bmatrix}(a_{11}-a_{11}^2)b_{11}&-a_{11}a_{12}b_{11}\\-a_{11}a_{12}b_{11}&-a_{11}"
    r"a_{12}b_{12}\end{bmatrix},\ \begin{bmatrix}-a_{11}a_{12}b_{11}&-a_{11}a_{12}b_{12}\\-a_{11}a_{12}b_{12}&(a_{12}-a_{12}^2)"
    r"b_{12}\end{bmatrix} \text{ in columns 1, 2, then } \begin{bmatrix}(a_{21}-a_{21}^2)b_{21}&-a_{21}a_{22}b_{21}\\-a_{21}"
    r"a_{22}b_{21}&-a_{21}a_{22}b_{22}\end{bmatrix},\ \begin{bmatrix}-a_{21}a_{22}b_{21}&-a_{21}a_{22}b_{22}\\-a_{21}a_{22}b_{22}&"
    r"(a_{22}-a_{22}^2)b_{22}\end{bmatrix} \text{ in columns 3, 4, with rows of zeros between}",
    assumptions=TWO_TOKENS,
    relation=Equal(),
    sizes={"L": (2, 2)},
    uses=("hessian.eq-4-layout", "hessian.lem-C.1-structure"),
    exact=True,
    doubt="The extraction has lost rows of zeros: it shows ten rows where 16 x 4 is meant, the non-zero ones of each pair of"
    " columns without a gap.  The zeros are read where Eq. (4), the remark's own recipe and Lemma C.1 have them: below each of"
    " the first two blocks and above each of the last two.  The matrix is labelled d^2F/dT dT, read as that of A.",
)


def _second_derivative(T: Matrix, gaps: bool = True, swapped: bool = False) -> Matrix:
    """The 16 x 4 matrix; mutants leave no gaps between non-zero rows, or exchange b_11 and b_12."""
    a, b, c, d, o = _scalars(T)
    one = ones(1, 1)
    weights = [one - 2 * x for x in (a, b, c, d)]
    if swapped:
        weights[0], weights[1] = weights[1], weights[0]
    p, q, r, s = weights
    first = [[(a - a * a) * p, -a * b * p], [-a * b * p, -a * b * q]]
    second = [[-a * b * p, -a * b * q], [-a * b * q, (b - b * b) * q]]
    third = [[(c - c * c) * r, -c * d * r], [-c * d * r, -c * d * s]]
    fourth = [[-c * d * r, -c * d * s], [-c * d * s, (d - d * d) * s]]
    empty = [[o] * 4] * 2
    upper = [[[*row, o, o] for row in block] for block in (first, second)]
    lower = [[[o, o, *row] for row in block] for block in (third, fourth)]
    if gaps:
        rows = [*upper[0], *empty, *upper[1], *empty, *empty, *lower[0], *empty, *lower[1]]
    else:
        rows = [*upper[0], *upper[1], *empty, *empty, *empty, *empty, *lower[0], *lower[1]]
    return _assembled(rows)


@SECOND.formula
def second_derivative_for_two_tokens(T: TwoByTwo) -> Any:
    """d^2A/dT^2, shape (16, 4) (Remark C.1)."""
    return _second_derivative(T)


SECOND.oracle(lambda T: hessian(softmax, ("T", "T"))(T))
SECOND.mutant("non-zero rows without gaps, as extracted", gaps=False)
SECOND.mutant("b_11 and b_12 exchanged", swapped=True)


# -- columns of the stacked Hessians -----------------------------------------------------------------------------------

COLUMNS = Claim(
    HESSIAN,
    "hessian.lem-C.1-proof-columns",
    label="Proof of Lemma C.1, block-diagonal structure paragraph",
    statement=r"\text{the Hessian number } J \text{ of the } L^2 \text{ stacked ones, } (i-1)L+1\le J\le iL \text{, has non-zero}"
    r"\text{ values only in columns } iL \text{ to } (i+1)L-1;\text{ the block of } A_{i,:} \text{ only in columns } (i-1)L+1"
    r"\text{ to } iL",
    assumptions=["indices from 1", "A is the row-wise softmax of T", "row-major vec_r, numerator layout, Eq. (4)"],
    relation=Equal(),
    sizes={"L": (2, 3)},
    expects="refuted",
    severity="slip",
    correction="hessian.lem-C.1-proof-columns-corrected",
    exact=True,
    note="The two sentences contradict each other: the second one, (i-1)L+1 to iL, is right.  For i = L the first names columns"
    " beyond L^2.  Counted from 0, with i from 0, it would be right.",
)


def _kept(T: Matrix, first: Any) -> Matrix:
    """The stacked Hessians with all columns set to zero but L of them from `first(i, L)` on, for i and columns from 1."""
    L, stack = T.shape[0], softmax_second_derivative(softmax(T))
    parts = []
    for i in range(1, L + 1):
        rows = stack[(i - 1) * L**3 : i * L**3]
        start = max(first(i, L) - 1, 0)
        start, end = min(start, L * L), min(max(first(i, L) - 1 + L, 0), L * L)
        pieces = [zeros(L**3, start), rows[:, start:end], zeros(L**3, L * L - end)]
        parts.append(concatenate([piece + 0 * rows[:1, :1] for piece in pieces if piece.shape[1]], axis=1))
    return concatenate(parts, axis=0)


@COLUMNS.formula
def hessians_in_the_printed_columns(T: Logits) -> Any:
    """d^2A/dT^2 with everything outside columns iL to (i+1)L-1 set to zero, shape (L^4, L^2) (proof of Lemma C.1)."""
    return _kept(T, lambda i, L: i * L)


COLUMNS.oracle(lambda T: hessian(softmax, ("T", "T"))(T))
COLUMNS.mutant("one block to the right", first=lambda i, L: i * L + 1)
COLUMNS.mutant("the second sentence", first=lambda i, L: (i - 1) * L + 1)
COLUMNS.counterexample(
    "two tokens, rows (1, 0) and (0, 0): the Hessian of A_11 has a non-zero entry in column 1", T=[[1, 0], [0, 0]]
)


COLUMNS_CORRECTED = Claim(
    HESSIAN,
    "hessian.lem-C.1-proof-columns-corrected",
    label="Proof of Lemma C.1, columns of the stacked Hessians",
    statement=r"\text{for } (i-1)L+1\le J\le iL \text{ the Hessian number } J \text{ vanishes outside columns and rows } (i-1)L+1"
    r"\text{ to } iL",
    assumptions=COLUMNS.assumptions,
    relation=Equal(),
    sizes={"L": (1, 4)},
    uses=("hessian.lem-C.1-structure",),
    corrects="hessian.lem-C.1-proof-columns",
    exact=True,
    of_project=True,
)


@COLUMNS_CORRECTED.formula
def hessians_in_their_columns(T: Logits) -> Any:
    """d^2A/dT^2 with everything outside columns (i-1)L+1 to iL set to zero, shape (L^4, L^2)."""
    return _kept(T, lambda i, L: (i - 1) * L + 1)


COLUMNS_CORRECTED.oracle(lambda T: hessian(softmax, ("T", "T"))(T))
COLUMNS_CORRECTED.mutant("the first sentence", first=lambda i, L: i * L)
COLUMNS_CORRECTED.mutant("one column to the left", first=lambda i, L: (i - 1) * L)


# -- the size of X * X^T * M_3 -----------------------------------------------------------------------------------------

SIZE = Claim(
    HESSIAN,
    "hessian.rem-3.1-proof-size",
    label="Appendix C.2, last display",
    statement=r"X * X^\top * M_3 = [X_{i,:}X_{i,:}^\top\otimes[M_3]_{i,:}]_{1\le i\le L} \in \mathbb{R}^{Ld_V^2\times d_V}",
    assumptions=["M_3 of Definition 3.1, of size L d_V^2 x d_V, split into L blocks"],
    relation=Equal(),
    sizes={"L": (1, 4), "d_V": (1, 4)},
    expects="refuted",
    severity="slip",
    correction="hessian.rem-3.1-proof-size-corrected",
    exact=True,
    note="The blocks X_i X_i^T (x) M_{3,i} are d_V^3 x d_V^2; the printed size is that of M_3.  Theorem 3.2 gives Z_2, the same"
    " rows in another order, the right size.",
)


def _size_of_the_product(X: Matrix) -> Matrix:
    L = X.shape[0]
    third = third_central_moments(softmax(X @ X.T), X)
    blocks = [kron(X[i].reshape(-1, 1) @ X[i : i + 1], third[i]) for i in range(L)]
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


SIZE_CORRECTED = Claim(
    HESSIAN,
    "hessian.rem-3.1-proof-size-corrected",
    label="Appendix C.2, last display, with the right size",
    statement=r"X * X^\top * M_3 = [X_{i,:}X_{i,:}^\top\otimes[M_3]_{i,:}]_{1\le i\le L} \in \mathbb{R}^{Ld_V^3\times d_V^2}",
    assumptions=SIZE.assumptions,
    relation=Equal(),
    sizes={"L": (1, 4), "d_V": (1, 4)},
    corrects="hessian.rem-3.1-proof-size",
    exact=True,
    of_project=True,
)


@SIZE_CORRECTED.formula
def size_of_the_third_moment_product(X: Tokens) -> Any:
    """Rows and columns of X * X^T * M_3, shape (2, 1)."""
    L, d_V = X.shape
    return column(L * d_V**3, d_V**2)


SIZE_CORRECTED.oracle(lambda X: _size_of_the_product(X))
SIZE_CORRECTED.mutant("the printed size", lambda X: column(X.shape[0] * X.shape[1] ** 2, X.shape[1]))
SIZE_CORRECTED.mutant("one power of d_V more", lambda X: column(X.shape[0] * X.shape[1] ** 4, X.shape[1] ** 2))
