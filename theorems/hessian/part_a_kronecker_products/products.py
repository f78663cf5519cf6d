"""Kronecker products and vectorisations: Appendix A, Eqs. (6)-(14)."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian.settings import IDENTITIES
from verify.matrix import block_diag, commutation_matrix, concatenate, each, eye, kron, stack_rows, vec_c, vec_r
from verify.vocabulary import Claim, Construction, Convention, Doubt, Equal, Real, Shape

MbyN = Annotated[Any, Shape("m", "n")]
PbyQ = Annotated[Any, Shape("p", "q")]
NbyR = Annotated[Any, Shape("n", "r")]
QbyS = Annotated[Any, Shape("q", "s")]
Scalar = Annotated[Any, Real(avoid_zero=True)]


def stacked(*parts: Any) -> Any:
    """All entries of some matrices in one column, row by row."""
    return concatenate([vec_r(part) for part in parts], axis=0)


def by_entries(A: Any, B: Any) -> Any:
    """A (x) B assembled from its blocks a_ij B (Definition A.1)."""
    rows = each(A.shape[0], lambda i: concatenate(each(A.shape[1], lambda j: B * A[i, j]), axis=1))
    return concatenate(rows, axis=0)


# -- Eqs. (6)-(12): products -------------------------------------------------------------------------------------------

EQUATIONS_6_10 = Claim(IDENTITIES, "hessian.eq-6-10", label="Eqs. (6)-(10)", name="Kronecker product properties",
    statement=r"""A\otimes(B+C) = A\otimes B + A\otimes C,\ (B+C)\otimes A = B\otimes A + C\otimes A;\ (kA)\otimes B =
        A\otimes(kB) = k(A\otimes B);\ (A\otimes B)\otimes C = A\otimes(B\otimes C);\ (A\otimes B)(C\otimes D) =
        (AC)\otimes(BD);\ (A\otimes B)^\top = A^\top\otimes B^\top""",
    assumptions=[
        Construction("sizes for which the operations exist", shapes={"A": ("m", "n"),
        "B": ("p", "q"),
        "C": ("n", "r"),
        "D": ("q", "s")}),
    ], at_sizes=True,
    relation=Equal(), sizes={"m": (1, 3), "n": (1, 2), "p": (1, 2), "q": (1, 3), "r": (1, 2), "s": (1, 2)},
    note="""$B$ and $B'$ have one shape, and so have $AC$ and $BD$ where they are multiplied. Left sides are assembled
        from blocks $a_{ij}B$ (Definition A.1).""")  # fmt: skip


@EQUATIONS_6_10.formula
def kronecker_rules(A: MbyN, B: PbyQ, E: PbyQ, C: NbyR, D: QbyS, k: Scalar) -> Any:
    """The right sides of Eqs. (6)-(10), all entries in one column; E stands for the summand C of Eq. (6)."""
    return stacked(
        kron(A, B) + kron(A, E),
        kron(B, A) + kron(E, A),
        kron(A, B * k),
        kron(A, B) * k,
        kron(A, kron(B, C)),
        kron(A @ C, B @ D),
        kron(A.T, B.T),
    )


@EQUATIONS_6_10.oracle
def left_sides_by_blocks(A: MbyN, B: PbyQ, E: PbyQ, C: NbyR, D: QbyS, k: Scalar) -> Any:
    return stacked(
        by_entries(A, B + E),
        by_entries(B + E, A),
        by_entries(A * k, B),
        by_entries(A * k, B),
        by_entries(by_entries(A, B), C),
        by_entries(A, B) @ by_entries(C, D),
        by_entries(A, B).T,
    )


EQUATIONS_6_10.mutant("factors of the second summand exchanged in Eq. (6)", "kron(A, E) -> kron(E, A)")
EQUATIONS_6_10.mutant("factors exchanged in Eq. (9)", "kron(A @ C, B @ D) -> kron(B @ D, A @ C)")
EQUATIONS_6_10.mutant("factors exchanged in Eq. (10)", "kron(A.T, B.T) -> kron(B.T, A.T)")
EQUATIONS_6_10.mutant("scalar squared in Eq. (7)", "k -> k * k")

Column = Annotated[Any, Shape("m", "1")]
OtherColumn = Annotated[Any, Shape("n", "1")]

EQUATIONS_11_12 = Claim(IDENTITIES, "hessian.eq-11-12", label="Eqs. (11), (12)",
    statement=r"""a^\top\otimes b = b a^\top = b\otimes a^\top;\qquad A(v^\top\otimes B) = (1\otimes A)(v^\top\otimes B)
        = (v^\top\otimes AB)""",
    assumptions=[
        Construction("a, b, v are column vectors", shapes={"a": ("m", "1"),
        "b": ("n", "1")}),
        Construction("A and B can be multiplied", shapes={"A": ("m", "n"),
        "B": ("n", "r")}),
    ],
    name="Kronecker products of vectors and matrices", relation=Equal(), all_sizes=True,
    sizes={"m": (1, 4), "n": (1, 4), "r": (1, 3)}, uses=("hessian.eq-6-10",))  # fmt: skip


@EQUATIONS_11_12.formula
def vector_kronecker_rules(a: Column, b: OtherColumn, A: MbyN, B: NbyR) -> Any:
    """The three members of Eq. (11) and, with v = a, of Eq. (12), all entries in one column."""
    outer, spread = b @ a.T, kron(a.T, A @ B)
    return stacked(kron(a.T, b), outer, kron(b, a.T), A @ kron(a.T, B), kron(eye(1), A) @ kron(a.T, B), spread)


@EQUATIONS_11_12.oracle
def vector_rules_by_entries(a: Column, b: OtherColumn, A: MbyN, B: NbyR) -> Any:
    products = stack_rows(each(b.shape[0], lambda i: a.reshape(-1) * b[i, 0]))
    spread = concatenate(each(a.shape[0], lambda i: A @ B * a[i, 0]), axis=1)
    return stacked(products, products, products, spread, spread, spread)


EQUATIONS_11_12.mutant("a b^T instead of b a^T", "b @ a.T -> a @ b.T")
EQUATIONS_11_12.mutant("A B (x) v^T instead of v^T (x) A B", "kron(a.T, A @ B) -> kron(A @ B, a.T)")

# -- Eqs. (13), (14): vectorisation, block-diagonal factors ------------------------------------------------------------

EQUATION_13 = Claim(IDENTITIES, "hessian.eq-13", label="Eq. (13) with proof",
    statement=r"""\operatorname{vec}_r A = (A\otimes I_n)\operatorname{vec}_r I_n;\ \operatorname{vec}_c B = (I_q\otimes
        B)\operatorname{vec}_c I_q;\ \operatorname{vec}_r A = K_{m,n}\operatorname{vec}_c A = K_{m,n}(I_n\otimes
        A)\operatorname{vec}_c I_n = (A\otimes I_n) K_{n,n}\operatorname{vec}_c I_n = (A\otimes I_n)\operatorname{vec}_r
        I_n""",
    assumptions=[Construction("A in R^{m x n}, B in R^{p x q}", shapes={"A": ("m", "n"), "B": ("p", "q")})],
    name="vectorisation as a Kronecker product", relation=Equal(), all_sizes=True,
    sizes={"m": (1, 4), "n": (1, 4), "p": (1, 3), "q": (1, 3)})  # fmt: skip


@EQUATION_13.formula
def vectorisations(A: MbyN, B: PbyQ) -> Any:
    """vec_r A, vec_c B and three more members for vec_r A, in one column (Eq. (13))."""
    n, q, first, K = A.shape[1], B.shape[1], kron(A, eye(A.shape[1])), commutation_matrix(*A.shape)
    members = [
        first @ vec_r(eye(n)),
        kron(eye(q), B) @ vec_c(eye(q)),
        K @ vec_c(A),
        K @ kron(eye(n), A) @ vec_c(eye(n)),
        kron(A, eye(n)) @ commutation_matrix(n, n) @ vec_c(eye(n)),
    ]
    return concatenate(members, axis=0)


@EQUATION_13.oracle
def entries_in_order(A: MbyN, B: PbyQ) -> Any:
    by_rows = concatenate(each(A.shape[0], lambda i: A[i].reshape(-1, 1)), axis=0)
    by_columns = concatenate(each(B.shape[1], lambda j: B[:, j].reshape(-1, 1)), axis=0)
    return concatenate([by_rows, by_columns, by_rows, by_rows, by_rows], axis=0)


EQUATION_13.mutant("I (x) A instead of A (x) I, which column-stacks", "first -> kron(eye(n), A)")
EQUATION_13.mutant("K_{n,m} instead of K_{m,n}", "K -> K.T")

Blocks = Annotated[Any, Shape("m", "q", "r")]
RbyT = Annotated[Any, Shape("r", "t")]

EQUATION_14 = Claim(IDENTITIES, "hessian.eq-14", label="Eq. (14)", name="block-diagonal matrix times Kronecker product",
    statement=r"\operatorname{blockdiag}(A_i)(B\otimes C) = \begin{bmatrix}A_1(B_{1,:}^\top\otimes C)\\ \vdots"
    r"\\ A_m(B_{m,:}^\top\otimes C)\end{bmatrix} = \begin{bmatrix}B_{1,:}^\top\otimes A_1 C\\ \vdots\\ B_{m,:}^\top"
    r"\otimes A_m C\end{bmatrix}",
    assumptions=[
        Construction("A_i in R^{q x r} for i = 1..m, B in R^{m x n}, C in R^{r x t}",
            shapes={"A": ("m", "q", "r"), "B": ("m", "n"), "C": ("r", "t")}),
        Convention("B_{i,:} is the i-th row as a column", by=kron),
    ],
    relation=Equal(), all_sizes=True, sizes={"m": (1, 3), "n": (1, 3), "q": (1, 3), "r": (1, 3), "t": (1, 2)},
    uses=("hessian.eq-11-12",),
    doubt=Doubt(r"\mathbf{A}_{m} (\mathbf{B}_{1,:}^{\top} \otimes \mathbf{C})", r"""The display is damaged: stacks are
            repeated, one row shows $A_m(B_{1,:}^\top \otimes C)$, and the last stack has lost its $A_i$. The index that
            follows the rows, and the $A_i$ that Eq. (12), named beside it, carries into the product, are read."""),
)  # fmt: skip


@EQUATION_14.formula
def block_rows(A: Blocks, B: MbyN, C: RbyT) -> Any:
    """[A_i (B_i^T (x) C)]_i on top of [B_i^T (x) A_i C]_i, shape (2 m q, n t) (Eq. (14))."""
    m = B.shape[0]
    left = each(m, lambda i: A[i] @ kron(B[i : i + 1], C))
    return concatenate([left, each(m, lambda i: kron(B[i : i + 1], A[i] @ C))], axis=0)


@EQUATION_14.oracle
def block_diagonal_times_kronecker(A: Blocks, B: MbyN, C: RbyT) -> Any:
    product = block_diag(each(B.shape[0], lambda i: A[i])) @ by_entries(B, C)
    return concatenate([product, product], axis=0)


EQUATION_14.mutant("the first row of B in every block", "kron(B[i : i + 1], C) -> kron(B[:1], C)")
EQUATION_14.mutant("A_i C (x) B_i^T instead of B_i^T (x) A_i C",
    "kron(B[i : i + 1], A[i] @ C) -> kron(A[i] @ C, B[i : i + 1])")  # fmt: skip
