"""Derivatives of products, Kronecker products and transposes, and the commutation matrix: Appendix A, Eqs. (15)-(18)."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian.part_a_kronecker_products.products import MbyN, NbyR, RbyT, stacked
from theorems.hessian.settings import IDENTITIES, LAYOUT
from verify.matrix import COLUMN, commutation_matrix, concatenate, each, eye, indexed, kron, transpose, vec_c, vec_r
from verify.oracles import jacobian
from verify.vocabulary import Claim, Construction, Convention, Equal, Shape

# -- Eqs. (15)-(18): derivatives ---------------------------------------------------------------------------------------

DERIVATIVES = IDENTITIES.extended("Appendix A, derivatives", assumptions=[LAYOUT])

EQUATION_15 = Claim(DERIVATIVES, "hessian.eq-15", label="Eq. (15)", name="derivative of a matrix product",
    statement=r"F(X) = AXB \Rightarrow \nabla_X F = A\otimes B^\top",
    relation=Equal(), all_sizes=True, sizes={"m": (1, 3), "n": (1, 4), "r": (1, 3), "t": (1, 3)})  # fmt: skip


@EQUATION_15.formula
def product_jacobian(A: MbyN, B: RbyT) -> Any:
    """d(A X B)/dX = A (x) B^T, shape (m t, n r) (Eq. (15))."""
    return kron(A, B.T)


def _product(X: Any, A: Any, B: Any) -> Any:
    return A @ X @ B


EQUATION_15.inputs(A=MbyN, X=NbyR, B=RbyT)


EQUATION_15.oracle(lambda A, X, B: jacobian(_product, "X")(X, A, B))
EQUATION_15.mutant("B^T (x) A, the column-major form", lambda A, B: kron(B.T, A))
EQUATION_15.mutant("B not transposed", lambda A, B: kron(A, B.reshape(B.shape[1], B.shape[0])))

EQUATIONS_16_17 = Claim(IDENTITIES, "hessian.eq-16-17", label="Eqs. (16), (17) with proof",
    statement=r"""F = X\otimes Y:\ \nabla_X F = (I_n\otimes K_{p,q}\otimes I_r)(I_{nq}\otimes\operatorname{vec}_r
        Y),\quad \nabla_Y F = (I_n\otimes K_{p,q}\otimes I_r)(\operatorname{vec}_r X\otimes I_{pr});\ \text{column-wise}
        (I_q\otimes K_{r,n}\otimes I_p)(I_{nq}\otimes\operatorname{vec}_c Y)\text{ and }(I_q\otimes K_{r,n}\otimes
        I_p)(\operatorname{vec}_c X\otimes I_{pr})""",
    assumptions=[
        Construction("X in R^{n x q}, Y in R^{p x r}", shapes={"X": ("n", "q"),
        "Y": ("p", "r")}),
        Convention("row-major vec_r, numerator layout, Eq. (4); vec_c in the proof", by=(vec_r, vec_c)),
    ],
    name="derivative of a Kronecker product", relation=Equal(), all_sizes=True,
    sizes={"n": (1, 3), "q": (1, 3), "p": (1, 2), "r": (1, 2)})  # fmt: skip

NbyQ = Annotated[Any, Shape("n", "q")]
PbyR = Annotated[Any, Shape("p", "r")]


@EQUATIONS_16_17.formula
def kronecker_jacobians(X: NbyQ, Y: PbyR) -> Any:
    """d(X (x) Y)/dX and d(X (x) Y)/dY, row-wise and column-wise, all entries in one column (Eqs. (16), (17))."""
    (n, q), (p, r) = X.shape, Y.shape
    K, J = commutation_matrix(p, q), commutation_matrix(r, n)
    by_rows, by_columns = kron(eye(n), K, eye(r)), kron(eye(q), J, eye(p))
    return stacked(
        by_rows @ kron(eye(n * q), vec_r(Y)),
        by_rows @ kron(vec_r(X), eye(p * r)),
        by_columns @ kron(eye(n * q), vec_c(Y)),
        by_columns @ kron(vec_c(X), eye(p * r)),
    )


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


EQUATIONS_16_17.mutant("K_{q,p} instead of K_{p,q}", "K -> K.T; J -> J.T")
EQUATIONS_16_17.mutant("vec_c in the row-wise formulas", "vec_r -> vec_c")
EQUATIONS_16_17.mutant("no commutation matrices", "K -> eye(p * q); J -> eye(r * n)")

EQUATION_18 = Claim(DERIVATIVES, "hessian.eq-18", label="Eq. (18) and commutation matrix (Appendix B.1)",
    statement=r"\nabla_X(X^\top) = K_{q,n},\ X\in\mathbb{R}^{n\times q};\quad K_{N,M}\operatorname{vec}_r A = "
    r"\operatorname{vec}_r(A^\top),\ A\in\mathbb{R}^{M\times N};\ [K_{N,M}a]_{(n,m)} = [a]_{(m,n)};\ "
    r" [K_{N,M}]_{(n,m),(m',n')} = \delta_{n,n'}\delta_{m,m'}",
    name="derivative of a transposition, commutation matrix", relation=Equal(), all_sizes=True,
    sizes={"m": (1, 4), "n": (1, 4)},
    note="$M = m$ and $N = n$; Eq. (18) is the same statement for $X = A$, of shape $(M, N)$, its $n$ and $q$.",
)  # fmt: skip


def _by_deltas(N: int, M: int) -> Any:
    """K_{N,M} from its entries delta_{n,n'} delta_{m,m'} at ((n, m), (m', n')), shape (M N, M N)."""
    return indexed("nk,mi->(n m)(i k)", eye(N), eye(M))


@EQUATION_18.formula
def transposition_matrix(A: MbyN) -> Any:
    """K_{N,M} by its entries, the primitive, and K_{N,M} vec_r A as a row, shape (2 M N + 1, M N) (Eq. (18))."""
    (M, N), K = A.shape, _by_deltas(A.shape[1], A.shape[0])
    return concatenate([K, commutation_matrix(N, M), (K @ vec_r(A)).T], axis=0)


@EQUATION_18.oracle
def transposition_differentiated(A: MbyN) -> Any:
    by_columns = concatenate(each(A.shape[1], lambda j: A[:, j].reshape(1, -1)), axis=1)
    return concatenate([jacobian(transpose, "A")(A), jacobian(transpose, "A")(A), by_columns], axis=0)


EQUATION_18.mutant("K_{M,N}", "K -> K.T; N -> M; M -> N")
EQUATION_18.mutant("the identity", "K -> eye(M * N); commutation_matrix(N, M) -> eye(M * N)")
