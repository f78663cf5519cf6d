"""Attention moments: Definition 3.1, and how Z_1 and Z_2 turn into them (Remark 3.1, Appendix C.2)."""

from __future__ import annotations

from typing import Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import Logits, Tokens, first_moment, second_central_moments, third_central_moments
from verify.claims import Claim
from verify.derivatives import hessian, jacobian
from verify.matrix import (
    basis_matrix,
    basis_vector,
    block_diag,
    commutation_matrix,
    concatenate,
    diag,
    eye,
    khatri_rao,
    kron,
    softmax,
)
from verify.relations import Equal

Matrix = Any
SMALL = {"L": (1, 3), "d_V": (1, 3)}
SOFTMAX = "A is the row-wise softmax of T"


def row(X: Matrix, i: int) -> Matrix:
    """X_{i,:} in column format, shape (d_V, 1)."""
    return X[i].reshape(-1, 1)


# -- Definition 3.1 ----------------------------------------------------------------------------------------------------

DEFINITION_31 = Claim(
    HESSIAN,
    "hessian.def-3.1",
    label="Definition 3.1",
    statement=r"M_1 := AX = [A_{i,:}^\top X]_{1\le i\le L} \in \mathbb{R}^{L\times d_V};\quad M_2 := \Big[\sum_j A_{i,j}"
    r"(X_{j,:}-[M_1]_{i,:})(X_{j,:}-[M_1]_{i,:})^\top\Big]_{1\le i\le L} \in \mathbb{R}^{L d_V\times d_V};\quad"
    r" M_3 := \Big[\sum_j A_{i,j}(X_{j,:}-[M_1]_{i,:})\otimes(X_{j,:}-[M_1]_{i,:})(X_{j,:}-[M_1]_{i,:})^\top"
    r"\Big]_{1\le i\le L} \in \mathbb{R}^{L d_V^2\times d_V}",
    assumptions=[SOFTMAX, "X_{j,:} and [M_1]_{i,:} are column vectors"],
    relation=Equal(),
    sizes=SMALL,
    exact=True,
    note="Checked to be the first moment and the second and third central moments of token j with probability A_{i,j},"
    " flattened with the last index as the column.",
)


@DEFINITION_31.formula
def attention_moments(X: Tokens, T: Logits) -> Any:
    """M_1, M_2 and M_3 on top of each other, shape (L (1 + d_V + d_V^2), d_V) (Definition 3.1)."""
    A = softmax(T)
    return concatenate([first_moment(A, X), *second_central_moments(A, X), *third_central_moments(A, X)], axis=0)


def _raw(A: Matrix, X: Matrix, i: int, *indices: int) -> Matrix:
    """E[x_a x_b ...] for the token x under row i of A, shape (1, 1)."""
    product = X[:, indices[0] : indices[0] + 1]
    for index in indices[1:]:
        product = product * X[:, index : index + 1]
    return A[i : i + 1] @ product


def covariance(A: Matrix, X: Matrix, i: int) -> Matrix:
    """E[x_a x_b] - E[x_a] E[x_b], shape (d_V, d_V)."""
    d = range(X.shape[1])

    def E(*indices: int) -> Matrix:
        return _raw(A, X, i, *indices)

    return concatenate([concatenate([E(a, b) - E(a) * E(b) for b in d], axis=1) for a in d], axis=0)


def third_cumulant(A: Matrix, X: Matrix, i: int) -> Matrix:
    """E[x_a x_b x_c] - (three products of a mean and a second moment) + 2 E[x_a] E[x_b] E[x_c], shape (d_V^2, d_V)."""
    d = range(X.shape[1])

    def entry(a: int, b: int, c: int) -> Matrix:
        def E(*indices: int) -> Matrix:
            return _raw(A, X, i, *indices)

        return E(a, b, c) - E(a) * E(b, c) - E(b) * E(a, c) - E(c) * E(a, b) + 2 * E(a) * E(b) * E(c)

    return concatenate([concatenate([entry(a, b, c) for c in d], axis=1) for a in d for b in d], axis=0)


@DEFINITION_31.oracle
def cumulants_from_raw_moments(X: Tokens, T: Logits) -> Any:
    A, (L, d) = softmax(T), X.shape
    means = [concatenate([_raw(A, X, i, a) for a in range(d)], axis=1) for i in range(L)]
    seconds = [covariance(A, X, i) for i in range(L)]
    return concatenate([*means, *seconds, *(third_cumulant(A, X, i) for i in range(L))], axis=0)


def _with_third(X: Matrix, T: Matrix, third: Any) -> Matrix:
    """The moments with A_{i,j} `third(X_j, X_j - [M_1]_i)` summed to M_3."""
    A, L = softmax(T), X.shape[0]
    mean = A @ X
    blocks = [sum(third(row(X, j), row(X, j) - row(mean, i)) * A[i, j] for j in range(L)) for i in range(L)]
    return concatenate([mean, *second_central_moments(A, X), *blocks], axis=0)


DEFINITION_31.mutant(
    "third moment with one factor not centred", lambda X, T: _with_third(X, T, lambda x, y: kron(x, y @ y.T))
)
DEFINITION_31.mutant("third moment with the wrong sign", lambda X, T: _with_third(X, T, lambda x, y: -kron(y, y @ y.T)))
DEFINITION_31.mutant("attention transposed", lambda X, T: attention_moments(X, T.T))


# -- Z_1 ---------------------------------------------------------------------------------------------------------------

PROOF_Z1 = Claim(
    HESSIAN,
    "hessian.rem-3.1-proof-z1",
    label="Appendix C.2, proof for Z_1",
    statement=r"Z_1 = (I_L\otimes X^\top)\frac{\partial A}{\partial T}(X\otimes X) = \operatorname{blockdiag}\Big(X^\top"
    r"\frac{\partial A_{i,:}}{\partial T_{i,:}}\Big)(X\otimes X) = \Big[X_{i,:}^\top\otimes X^\top"
    r"\frac{\partial A_{i,:}}{\partial T_{i,:}} X\Big]_i = X * M_2",
    assumptions=[SOFTMAX],
    relation=Equal(),
    sizes={"L": (1, 4), "d_V": (1, 3)},
    uses=("hessian.lem-B.1", "hessian.eq-14", "hessian.def-3.1"),
    exact=True,
)


def _members_of_z1(X: Matrix, T: Matrix, slope: Any, moment: Any) -> Matrix:
    """The last three members on top of each other; `slope(a)` is dA_i/dT_i, `moment(A, i)` the block of M_2."""
    A, L = softmax(T), X.shape[0]
    slopes = [slope(row(A, i)) for i in range(L)]
    return concatenate(
        [
            block_diag([X.T @ S for S in slopes]) @ kron(X, X),
            *(kron(X[i : i + 1], X.T @ slopes[i] @ X) for i in range(L)),
            khatri_rao([X[i : i + 1] for i in range(L)], [moment(A, i) for i in range(L)]),
        ],
        axis=0,
    )


def _slope(a: Matrix) -> Matrix:
    return diag(a) - a @ a.T


@PROOF_Z1.formula
def members_for_z1(X: Tokens, T: Logits) -> Any:
    """The last three members for Z_1, shape (3 L d_V, d_V^2) (Appendix C.2)."""
    return _members_of_z1(X, T, _slope, lambda A, i: second_central_moments(A, X)[i])


@PROOF_Z1.oracle
def z1_by_differentiation(X: Tokens, T: Logits) -> Any:
    product = kron(eye(X.shape[0]), X.T) @ jacobian(softmax, "T")(T) @ kron(X, X)
    return concatenate([product] * 3, axis=0)


PROOF_Z1.mutant("dA_i/dT_i without its rank-one term", slope=diag)
PROOF_Z1.mutant("moments not centred", lambda X, T: _members_of_z1(X, T, _slope, lambda A, i: X.T @ diag(A[i]) @ X))


# -- Z_2 ---------------------------------------------------------------------------------------------------------------

REMARK_31_Z2 = Claim(
    HESSIAN,
    "hessian.rem-3.1-z2",
    label="Remark 3.1, Z_2",
    statement=r"Z_2 = (I_L\otimes K_{d_V,d_V}\otimes I_{d_V})(X * X^\top * M_3)",
    assumptions=[
        SOFTMAX,
        "M_3 holds the third central moments of Definition 3.1",
        "X split row-wise, M_3 block-row-wise",
    ],
    relation=Equal(),
    sizes=SMALL,
    expects="reading",
    reading="block i of X * X^T * M_3 is X_i X_i^T (x) M_{3,i}, as the last display of Appendix C.2 has it: X^T enters by its"
    " columns, one under the other, and not as a block row, which Definition A.2 could not pair with the others",
    uses=("hessian.def-3.1", "hessian.lem-C.1-structure", "hessian.eq-14"),
    proof=(
        "hessian.rem-3.1-proof-z2i",
        "hessian.rem-3.1-proof-step",
        "hessian.rem-3.1-proof-moment",
        "hessian.rem-3.1-proof-size",
    ),
    exact=True,
)


def _z2_from(X: Matrix, thirds: list[Matrix], K: Matrix, product: Any = kron) -> Matrix:
    """(I_L (x) `K` (x) I)[X_i X_i^T (x) block i of `thirds`]_i; a mutant takes another `product`."""
    L, d = X.shape
    squares = khatri_rao([X[i : i + 1] for i in range(L)], [row(X, i) for i in range(L)])
    blocks = [product(squares[i * d : (i + 1) * d], thirds[i]) for i in range(L)]
    return kron(eye(L), K, eye(d)) @ concatenate(blocks, axis=0)


@REMARK_31_Z2.formula
def Z_2_by_moments(X: Tokens, T: Logits) -> Any:
    """(I_L (x) K (x) I)(X * X^T * M_3), shape (L d_V^3, d_V^2) (Remark 3.1)."""
    d = X.shape[1]
    return _z2_from(X, third_central_moments(softmax(T), X), commutation_matrix(d, d))


def _z2_differentiated(X: Any, T: Any) -> Any:
    return kron(eye(X.shape[0]), X.T, X.T, X.T) @ hessian(softmax, ("T", "T"))(T) @ kron(X, X)


REMARK_31_Z2.oracle(lambda X, T: _z2_differentiated(X, T))
REMARK_31_Z2.mutant("no commutation matrix", "commutation_matrix(d, d) -> eye(d * d)")
REMARK_31_Z2.mutant("factors of the Kronecker products exchanged", product=lambda square, third: kron(third, square))
REMARK_31_Z2.mutant("attention transposed", "T -> T.T")


# -- the steps of the proof for Z_2 ------------------------------------------------------------------------------------

PROOF_Z2I = Claim(
    HESSIAN,
    "hessian.rem-3.1-proof-z2i",
    label="Appendix C.2, proof for Z_2: block formula",
    statement=r"Z_{2;i} = (X^\top\otimes X^\top\otimes X^\top) D_i (X_{i,:}^\top\otimes X) = \sum_{j=1}^L X_{j,:}\otimes"
    r" X_{i,:}X_{i,:}^\top\otimes X^\top\frac{\partial^2 A_{i,j}}{\partial T_{i,:}\partial T_{i,:}} X ="
    r" (K_{d_V,d_V}\otimes I_{d_V})\Big(X_{i,:}X_{i,:}^\top\otimes\sum_j X_{j,:}\otimes X^\top"
    r"\frac{\partial^2 A_{i,j}}{\partial T_{i,:}\partial T_{i,:}} X\Big)",
    assumptions=[SOFTMAX],
    relation=Equal(),
    sizes=SMALL,
    uses=("hessian.eq-14", "hessian.lem-C.1-structure", "hessian.lem-C.1-entry"),
    exact=True,
)


def entry_hessian(a: Matrix, j: int) -> Matrix:
    """d^2A_ij/dT_i dT_i for the row a of A, shape (L, L) (Lemma C.1)."""
    L = a.shape[0]
    e = basis_vector(L, j)
    return (2 * (a @ a.T) + basis_matrix(L, L, j, j) - diag(a) - e @ a.T - a @ e.T) * a[j, 0]


def _members_of_z2(X: Matrix, T: Matrix, K: Matrix, unit: Any) -> Matrix:
    """The three members for every i; `unit(i, j)` is the index of the unit vector in D_{i,j}."""
    A, (L, d) = softmax(T), X.shape
    first, second, third = [], [], []
    for i in range(L):
        curved = [entry_hessian(row(A, i), j) for j in range(L)]
        D_i = concatenate([kron(basis_vector(L, unit(i, j)), curved[j]) for j in range(L)], axis=0)
        square = row(X, i) @ row(X, i).T
        first.append(kron(X.T, X.T, X.T) @ D_i @ kron(X[i : i + 1], X))
        second.append(sum(kron(row(X, j), square, X.T @ curved[j] @ X) for j in range(L)))
        inner = sum(kron(row(X, j), X.T @ curved[j] @ X) for j in range(L))
        third.append(kron(K, eye(d)) @ kron(square, inner))
    return concatenate([*first, *second, *third], axis=0)


@PROOF_Z2I.formula
def members_for_z2(X: Tokens, T: Logits) -> Any:
    """The three members, each for every i, shape (3 L d_V^3, d_V^2) (Appendix C.2)."""
    d = X.shape[1]
    return _members_of_z2(X, T, commutation_matrix(d, d), unit=lambda i, j: i)


PROOF_Z2I.oracle(lambda X, T: concatenate([_z2_differentiated(X, T)] * 3, axis=0))
PROOF_Z2I.mutant("no commutation matrix", "commutation_matrix(d, d) -> eye(d * d)")
PROOF_Z2I.mutant("e_j instead of e_i in D_{i,j}", unit=lambda i, j: j)
