"""Derivatives of matrix products and the commutation matrix: Eqs. (15)-(18) and Lemmas B.2 and B.3."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.kronecker import Column as ColumnVector
from theorems.hessian.kronecker import MbyN, NbyR, OtherColumn, RbyT, stacked
from verify.claims import Claim
from verify.derivatives import jacobian
from verify.matrix import COLUMN, commutation_matrix, concatenate, eye, kron, stack_rows, transpose, vec_c, vec_r, zeros
from verify.relations import Equal
from verify.shapes import Shape

Matrix = Any

# -- Eqs. (15)-(18): derivatives ---------------------------------------------------------------------------------------

EQUATION_15 = Claim(
    HESSIAN,
    "hessian.eq-15",
    label="Eq. (15)",
    statement=r"F(X) = AXB \Rightarrow \nabla_X F = A\otimes B^\top",
    assumptions=["row-major vec_r, numerator layout, Eq. (4)"],
    relation=Equal(),
    sizes={"m": (1, 3), "n": (1, 4), "r": (1, 3), "t": (1, 3)},
    exact=True,
)


@EQUATION_15.formula
def product_jacobian(A: MbyN, B: RbyT) -> Any:
    """d(A X B)/dX = A (x) B^T, shape (m t, n r) (Eq. (15))."""
    return kron(A, B.T)


def _product(X: Any, A: Any, B: Any) -> Any:
    return A @ X @ B


@EQUATION_15.inputs
def with_a_point(A: MbyN, X: NbyR, B: RbyT) -> dict[str, Any]:
    return {"A": A, "X": X, "B": B}


EQUATION_15.oracle(lambda A, X, B: jacobian(_product, "X")(X, A, B))
EQUATION_15.mutant("B^T (x) A, the column-major form", lambda A, B: kron(B.T, A))
EQUATION_15.mutant("B not transposed", lambda A, B: kron(A, B.reshape(B.shape[1], B.shape[0])))


EQUATIONS_16_17 = Claim(
    HESSIAN,
    "hessian.eq-16-17",
    label="Eqs. (16), (17) with proof",
    statement=r"F = X\otimes Y:\ \nabla_X F = (I_n\otimes K_{p,q}\otimes I_r)(I_{nq}\otimes\operatorname{vec}_r Y),\quad"
    r" \nabla_Y F = (I_n\otimes K_{p,q}\otimes I_r)(\operatorname{vec}_r X\otimes I_{pr});\ \text{column-wise}"
    r" (I_q\otimes K_{r,n}\otimes I_p)(I_{nq}\otimes\operatorname{vec}_c Y)\text{ and }(I_q\otimes K_{r,n}\otimes I_p)"
    r"(\operatorname{vec}_c X\otimes I_{pr})",
    assumptions=["X in R^{n x q}, Y in R^{p x r}", "row-major vec_r, numerator layout, Eq. (4); vec_c in the proof"],
    relation=Equal(),
    sizes={"n": (1, 3), "q": (1, 3), "p": (1, 2), "r": (1, 2)},
    exact=True,
)

NbyQ = Annotated[Any, Shape("n", "q")]
PbyR = Annotated[Any, Shape("p", "r")]


def _kronecker_jacobians(X: Matrix, Y: Matrix, K: Any = commutation_matrix, vec: Any = vec_r) -> Matrix:
    """Jacobians in X and Y, row-wise and column-wise, all entries in one column; mutants change K_{m,n} or vec_r."""
    (n, q), (p, r) = X.shape, Y.shape
    by_rows, by_columns = kron(eye(n), K(p, q), eye(r)), kron(eye(q), K(r, n), eye(p))
    return stacked(
        by_rows @ kron(eye(n * q), vec(Y)),
        by_rows @ kron(vec(X), eye(p * r)),
        by_columns @ kron(eye(n * q), vec_c(Y)),
        by_columns @ kron(vec_c(X), eye(p * r)),
    )


@EQUATIONS_16_17.formula
def kronecker_jacobians(X: NbyQ, Y: PbyR) -> Any:
    """d(X (x) Y)/dX and d(X (x) Y)/dY, row-wise and column-wise, all entries in one column (Eqs. (16), (17))."""
    return _kronecker_jacobians(X, Y)


def _kronecker(X: Any, Y: Any) -> Any:
    return kron(X, Y)


@EQUATIONS_16_17.oracle
def kronecker_differentiated(X: NbyQ, Y: PbyR) -> Any:
    return stacked(
        jacobian(_kronecker, "X")(X, Y),
        jacobian(_kronecker, "Y")(X, Y),
        jacobian(_kronecker, "X", COLUMN)(X, Y),
        jacobian(_kronecker, "Y", COLUMN)(X, Y),
    )


EQUATIONS_16_17.mutant("K_{q,p} instead of K_{p,q}", K=lambda m, n: commutation_matrix(n, m))
EQUATIONS_16_17.mutant("vec_c in the row-wise formulas", vec=vec_c)
EQUATIONS_16_17.mutant("no commutation matrices", K=lambda m, n: eye(m * n))

EQUATION_18 = Claim(
    HESSIAN,
    "hessian.eq-18",
    label="Eq. (18) and commutation matrix (Appendix B.1)",
    statement=r"\nabla_X(X^\top) = K_{q,n},\ X\in\mathbb{R}^{n\times q};\quad K_{N,M}\operatorname{vec}_r A ="
    r" \operatorname{vec}_r(A^\top),\ A\in\mathbb{R}^{M\times N};\ [K_{N,M}a]_{(n,m)} = [a]_{(m,n)};\ "
    r" [K_{N,M}]_{(n,m),(m',n')} = \delta_{n,n'}\delta_{m,m'}",
    assumptions=["row-major vec_r, numerator layout, Eq. (4)"],
    relation=Equal(),
    sizes={"m": (1, 4), "n": (1, 4)},
    exact=True,
    note="M = m and N = n; Eq. (18) is the same statement for X = A, of shape (M, N), its n and q.",
)


def _by_deltas(N: int, M: int) -> Matrix:
    """K_{N,M} from its entries delta_{n,n'} delta_{m,m'} at ((n, m), (m', n')), shape (M N, M N)."""
    one, none = eye(1), zeros(1, 1)
    return concatenate(
        [
            concatenate([one if (n, m) == (k, i) else none for i in range(M) for k in range(N)], axis=1)
            for n in range(N)
            for m in range(M)
        ],
        axis=0,
    )


@EQUATION_18.formula
def transposition_matrix(A: MbyN) -> Any:
    """K_{N,M} by its entries, the primitive, and K_{N,M} vec_r A as a row, shape (2 M N + 1, M N) (Eq. (18))."""
    M, N = A.shape
    return _with_image(_by_deltas(N, M), commutation_matrix(N, M), A)


def _with_image(K: Matrix, primitive: Matrix, A: Matrix) -> Matrix:
    return concatenate([K, primitive, (K @ vec_r(A)).T], axis=0)


@EQUATION_18.oracle
def transposition_differentiated(A: MbyN) -> Any:
    by_columns = concatenate([A[:, j].reshape(1, -1) for j in range(A.shape[1])], axis=1)
    return concatenate([jacobian(transpose, "A")(A), jacobian(transpose, "A")(A), by_columns], axis=0)


EQUATION_18.mutant("K_{M,N}", "N -> M; M -> N")
EQUATION_18.mutant("the identity", "_by_deltas(N, M) -> eye(M * N); commutation_matrix(N, M) -> eye(M * N)")

# -- Lemmas B.2 and B.3 ------------------------------------------------------------------------------------------------

LEMMA_B2 = Claim(
    HESSIAN,
    "hessian.lem-B.2",
    label="Lemma B.2, eq. (20), with the index formula of its proof",
    statement=r"(I_M\otimes K_{N,M})(\operatorname{vec}_r I_M\otimes I_N) = (K_{M,N}\otimes I_M)(I_N\otimes\operatorname{vec}_r"
    r" I_M),\ \text{both with entries } \delta_{m_1,m_2}\delta_{n_1,n_2} \text{ at } ((m_1,n_1,m_2),n_2)",
    assumptions=["K_{N,M} in R^{MN x MN} is the commutation matrix"],
    relation=Equal(),
    sizes={"n": (1, 4), "m": (1, 4)},
    uses=("hessian.eq-18",),
    exact=True,
    note="Both matrices are applied to an arbitrary vector of length N, which is as much as comparing them.  M = N gives the"
    " two forms of S.",
)


def _both_sides(b: Matrix, M: int, left: Matrix, right: Matrix) -> Matrix:
    """(I (x) `left`)(vec_r I (x) I) b on top of (`right` (x) I)(I (x) vec_r I) b."""
    N = b.shape[0]
    diagonal = vec_r(eye(M))
    return concatenate(
        [kron(eye(M), left) @ kron(diagonal, eye(N)) @ b, kron(right, eye(M)) @ kron(eye(N), diagonal) @ b], axis=0
    )


@LEMMA_B2.inputs
def vector_and_size(b: OtherColumn, a: ColumnVector) -> dict[str, Any]:
    return {"b": b, "M": a.shape[0]}


@LEMMA_B2.formula
def shuffled_diagonals(b: Any, M: int) -> Any:
    """Both sides of Eq. (20) applied to b, shape (2 M^2 N, 1) (Lemma B.2)."""
    K, J = commutation_matrix(b.shape[0], M), commutation_matrix(M, b.shape[0])
    return _both_sides(b, M, left=K, right=J)


@LEMMA_B2.oracle
def deltas_applied(b: Any, M: int) -> Any:
    rows = [b[n : n + 1] for n in range(b.shape[0])]
    side = concatenate([row if i == j else 0 * row for i in range(M) for row in rows for j in range(M)], axis=0)
    return concatenate([side, side], axis=0)


LEMMA_B2.mutant("commutation matrices transposed", "K -> J; J -> K")
LEMMA_B2.mutant("no commutation matrix on the left", "K -> eye(M * b.shape[0])")


LEMMA_B3 = Claim(
    HESSIAN,
    "hessian.lem-B.3",
    label="Lemma B.3 and its chain",
    statement=r"(I_m\otimes K_{m,n})(\operatorname{vec}_r A\otimes A) = (I_m\otimes K_{m,n})(A\otimes I_n\otimes A)"
    r"(\operatorname{vec}_r I_n\otimes I_n) = (A\otimes K_{m,n}(I_n\otimes A))(\operatorname{vec}_r I_n\otimes I_n)"
    r" = (A\otimes(A\otimes I_n) K_{n,n})(\operatorname{vec}_r I_n\otimes I_n) = (A\otimes A\otimes I_n)(I_n\otimes K_{n,n})"
    r"(\operatorname{vec}_r I_n\otimes I_n)",
    assumptions=["A in R^{m x n}"],
    relation=Equal(),
    sizes={"m": (1, 4), "n": (1, 3)},
    uses=("hessian.eq-13", "hessian.eq-6-10", "hessian.eq-18"),
    exact=True,
)


def _shuffled(A: Matrix, K: Matrix, inner: Matrix) -> Matrix:
    """The five members, on top of each other: `K` is K_{m,n}, `inner` K_{n,n}."""
    m, n = A.shape
    diagonal = kron(vec_r(eye(n)), eye(n))
    members = [
        kron(eye(m), K) @ kron(vec_r(A), A),
        kron(eye(m), K) @ kron(A, eye(n), A) @ diagonal,
        kron(A, K @ kron(eye(n), A)) @ diagonal,
        kron(A, kron(A, eye(n)) @ inner) @ diagonal,
        kron(A, A, eye(n)) @ kron(eye(n), inner) @ diagonal,
    ]
    return concatenate(members, axis=0)


@LEMMA_B3.formula
def shuffled_square(A: MbyN) -> Any:
    """The members of the chain on top of each other, shape (5 m^2 n, n) (Lemma B.3)."""
    m, n = A.shape
    return _shuffled(A, commutation_matrix(m, n), commutation_matrix(n, n))


@LEMMA_B3.oracle
def products_of_entries(A: MbyN) -> Any:
    m, n = A.shape
    member = stack_rows([A[j] * A[i, k] for i in range(m) for j in range(m) for k in range(n)])
    return concatenate([member] * 5, axis=0)


LEMMA_B3.mutant("K_{n,m} instead of K_{m,n}", "commutation_matrix(m, n) -> commutation_matrix(n, m)")
LEMMA_B3.mutant("no K_{n,n}", "commutation_matrix(n, n) -> eye(n * n)")
