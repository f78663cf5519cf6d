"""What Appendix D quotes of spectra and ranks: Kronecker products, symmetric matrices, products of matrices."""

from __future__ import annotations

from typing import Annotated, Any

import flint

from theorems.hessian.part_d_query_key.split_at_logits import V_matrix
from theorems.hessian.settings import IDENTITIES, KeyWeights, QueryWeights
from verify.arithmetics import Constant, exact_scalar
from verify.matrix import column, kron, trace
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, Shape, realises

SquareM = Annotated[Any, Shape("m", "m")]
SquareN = Annotated[Any, Shape("n", "n")]
Tall = Annotated[Any, Shape("n", "a")]
Inner = Annotated[Any, Shape("a", "a")]
Left = Annotated[Any, Shape("d_VV", "a")]
Right = Annotated[Any, Shape("a", "d_VV")]

# -- eigenvalues of a Kronecker product --------------------------------------------------------------------------------

KRONECKER_EIGENVALUES = Claim(IDENTITIES, "hessian.sec-D-kronecker-eigenvalues", label="Appendix D, text",
    statement=r"""\text{``by theorem 2.1 from Magnus \& Neudecker (2019) eigenvalues of the Kronecker product are products
        of the factor matrices' eigenvalues''}""",
    assumptions=[Definition("A, B square; eigenvalues with multiplicity, by the sums of their powers", by=trace)],
    name="eigenvalues of a Kronecker product", relation=Equal(), sizes={"m": (1, 3), "n": (1, 2)},
    uses=("hessian.eq-6-10",),
    note=r"""With $A \in \mathbb{R}^{m\times m}$ and $B \in \mathbb{R}^{n\times n}$ the sums $\sum_{i,j}(\lambda_i\mu_j)^k
        = \operatorname{tr}A^k\operatorname{tr}B^k$ are compared with $\operatorname{tr}(A\otimes B)^k$ for $k = 1,
        \ldots, mn$. They determine the $mn$ eigenvalues with their multiplicities (Newton).""")  # fmt: skip


def _powers(A: Any, count: int) -> list[Any]:
    """tr A, ..., tr A^count, each of shape (1, 1)."""
    power, traces = A, []
    for _ in range(count):
        traces.append(trace(power))
        power = power @ A
    return traces


@KRONECKER_EIGENVALUES.formula
def power_sums_of_products(A: SquareM, B: SquareN) -> Any:
    """tr A^k tr B^k for k = 1, ..., mn, shape (mn, 1) (Appendix D)."""
    count = A.shape[0] * B.shape[0]
    return column(*(a * b for a, b in zip(_powers(A, count), _powers(B, count), strict=True)))


KRONECKER_EIGENVALUES.oracle(lambda A, B: column(*_powers(kron(A, B), A.shape[0] * B.shape[0])))
KRONECKER_EIGENVALUES.mutant("sums in the place of products", "a * b -> a + b")
KRONECKER_EIGENVALUES.mutant("eigenvalues of the first factor alone", "a * b -> a * B.shape[0]")

# -- rank and non-zero eigenvalues -------------------------------------------------------------------------------------


def asymmetry(M: Any) -> Any:
    """M - M^T, zero for symmetric M."""
    return M - M.T


def rationals(A: Any) -> flint.fmpq_mat:
    """The entries of A as they are: floats are rationals, balls stand for their midpoints."""
    array = A.array if isinstance(A, Constant) else A
    return flint.fmpq_mat([[_rational(entry) for entry in line] for line in array.tolist()])


def _rational(entry: Any) -> flint.fmpq:
    if isinstance(entry, flint.arb):
        mantissa, exponent = entry.mid().man_exp()
        return flint.fmpq(mantissa) * flint.fmpq(2) ** int(exponent)
    return exact_scalar(entry)


def nonzero_eigenvalues(M: Any) -> int:
    """How many eigenvalues of M, with multiplicity, are not zero: n minus the order of 0 as a root of det(x - M)."""
    coefficients = rationals(M).charpoly().coeffs()
    return len(coefficients) - 1 - next(k for k, c in enumerate(coefficients) if c != 0)


SYMMETRIC_RANK = Claim(IDENTITIES, "hessian.sec-D-symmetric-rank", label="Appendix D, text before Lemma D.1",
    statement=r"\text{``rank is equal to the number of non-zero eigenvalues for symmetric matrices''}",
    assumptions=[Assumption("M is symmetric", zero=asymmetry)],
    name="rank of a symmetric matrix", relation=Equal(), sizes={"n": (1, 4), "a": (1, 4)}, batched=False,
    note=r"""Rank and eigenvalues are computed exactly, from the entries as drawn: the eigenvalues are the roots of the
        characteristic polynomial. $M = P(Q + Q^\top)P^\top$ takes every rank. Symmetry is needed: $\begin{bmatrix}0&1
        \\0&0\end{bmatrix}$ has rank 1 and no eigenvalue but 0.""")  # fmt: skip


@SYMMETRIC_RANK.inputs
@realises(
    {"M is symmetric": ("P S P^T with a symmetric S: with as many columns of P as M has rank, every symmetric M")},
    but="a product with few inner columns has a low rank; up to the full rank, all numbers of inner columns are drawn",
)
def symmetric_of_any_rank(P: Tall, Q: Inner) -> dict[str, Any]:
    """M = P (Q + Q^T) P^T, its upper triangle mirrored."""
    M = P @ (Q + Q.T) @ P.T
    return {"M": (M + M.T) / 2}


@SYMMETRIC_RANK.formula
def number_of_nonzero_eigenvalues(M: SquareN) -> Any:
    """The number of non-zero eigenvalues of M with multiplicity, shape (1, 1) (Appendix D)."""
    return column(nonzero_eigenvalues(M))


SYMMETRIC_RANK.oracle(lambda M: column(int(rationals(M).rank())))
SYMMETRIC_RANK.mutant("all eigenvalues", lambda M: column(M.shape[0]))
SYMMETRIC_RANK.mutant("one of them", lambda M: column(1))

# -- the first chain of the proof of Lemma D.2 -------------------------------------------------------------------------

PRODUCT_RANK = Claim(IDENTITIES, "hessian.lem-D.2-proof-product", label="Proof of Lemma D.2, first chain",
    statement=r"""\operatorname{rk}\left(H_o^T(W_{QK},W_{QK})\right) = \operatorname{rk}\left(\frac{1}{d_K}V^\top
        UV\right)\le\min\left(\operatorname{rk}(U),\operatorname{rk}(V^\top)\right)\le\operatorname{rk}(V^\top)""",
    assumptions=[
        Definition("V of Remark D.1", by=V_matrix),
        Assumption("U is any d_V^2 x d_V^2 matrix", sizes=lambda sizes: sizes["d_VV"] == sizes["d_V"] ** 2),
    ],
    name="rank of the outer-product Hessian at the logits, first chain", general="It holds of any matrices: the rank of a product.",
    relation=AtMost(ascent=False),
    sizes={"d_V": (1, 2), "d_K": (1, 3), "a": (1, 4), "d_VV": (1, 4)}, batched=False,
    uses=("hessian.rem-D.1-corrected",),
    note=r"""Products and ranks are computed exactly, from the entries as drawn. The $U$ of Remark D.1 is one of the matrices that
        are tried, products of two factors of any rank; the factor of the loss that the remark drops does not change a
        rank.""")  # fmt: skip


@PRODUCT_RANK.inputs
@realises(
    but="a product with few inner columns has a low rank; up to the full rank, all numbers of inner columns are drawn"
)
def factors_of_any_rank(P: Left, R: Right, W_Q: QueryWeights, W_K: KeyWeights) -> dict[str, Any]:
    """U = P R beside the weights."""
    return {"U": P @ R, "W_Q": W_Q, "W_K": W_K}


@PRODUCT_RANK.formula
def ranks_of_the_factors(U: Any, W_Q: QueryWeights, W_K: KeyWeights) -> Any:
    """min(rk U, rk V^T) and rk V^T, shape (2, 1) (proof of Lemma D.2)."""
    u, v = (int(rationals(A).rank()) for A in (U, V_matrix(W_Q, W_K).T))
    return column(min(u, v), v)


@PRODUCT_RANK.oracle
def rank_of_the_product(U: Any, W_Q: QueryWeights, W_K: KeyWeights) -> Any:
    middle, V = rationals(U), rationals(V_matrix(W_Q, W_K))
    product = V.transpose() * middle * V
    return column(int(product.rank()), min(int(middle.rank()), int(V.rank())))


PRODUCT_RANK.mutant("one less than both", "column(min(u, v), v) -> column(min(u, v) - 1, v)")
PRODUCT_RANK.mutant("one less than the rank of V", "column(min(u, v), v) -> column(min(u, v), v - 1)")
