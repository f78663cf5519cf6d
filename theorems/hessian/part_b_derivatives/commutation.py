"""Two identities of the commutation matrix that give the two forms of S: Lemma B.2 with Eq. (20), and Lemma B.3."""

from __future__ import annotations

from typing import Any

from theorems.hessian.part_a_kronecker_products.products import Column as ColumnVector
from theorems.hessian.part_a_kronecker_products.products import MbyN, OtherColumn
from theorems.hessian.settings import IDENTITIES
from verify.matrix import commutation_matrix, concatenate, eye, indexed, kron, vec_r
from verify.vocabulary import Claim, Construction, Definition, Equal

# -- Lemmas B.2 and B.3 ------------------------------------------------------------------------------------------------

LEMMA_B2 = Claim(IDENTITIES, "hessian.lem-B.2", label="Lemma B.2, eq. (20), with the index formula of its proof",
    statement=r"""(I_M\otimes K_{N,M})(\operatorname{vec}_r I_M\otimes I_N) = (K_{M,N}\otimes
        I_M)(I_N\otimes\operatorname{vec}_r I_M),\ \text{both with entries } \sum_{m_1',m_2',n_1'}
        \delta_{m_1',m_1,m_2',m_2}\delta_{n_1',n_1,n_2} \text{ at } ((m_1,n_1,m_2),n_2)""",
    assumptions=[Definition("K_{N,M} in R^{MN x MN} is the commutation matrix", by=commutation_matrix)],
    name="commutation matrix beside a vectorised identity", relation=Equal(), all_sizes=True,
    sizes={"n": (1, 4), "m": (1, 4)}, uses=("hessian.eq-18",),
    note=r"""The sum is $\delta_{m_1,m_2}\delta_{n_1,n_2}$. Both matrices are applied to an arbitrary vector of length
        $N$, which is as much as comparing them. $M = N$ gives the two forms of $S$.""")  # fmt: skip


@LEMMA_B2.inputs
def vector_and_size(b: OtherColumn, a: ColumnVector) -> dict[str, Any]:
    return {"b": b, "M": a.shape[0]}


@LEMMA_B2.formula
def shuffled_diagonals(b: Any, M: int) -> Any:
    """Both sides of Eq. (20) applied to b, shape (2 M^2 N, 1) (Lemma B.2)."""
    N, diagonal = b.shape[0], vec_r(eye(M))
    K, J = commutation_matrix(N, M), commutation_matrix(M, N)
    left, right = kron(eye(M), K) @ kron(diagonal, eye(N)), kron(J, eye(M)) @ kron(eye(N), diagonal)
    return concatenate([left @ b, right @ b], axis=0)


@LEMMA_B2.oracle
def deltas_applied(b: Any, M: int) -> Any:
    side = indexed("n,ij->(i n j)()", b.reshape(-1), eye(M))
    return concatenate([side, side], axis=0)


LEMMA_B2.mutant("commutation matrices transposed", "K -> J; J -> K")
LEMMA_B2.mutant("no commutation matrix on the left", "K -> eye(M * N)")

LEMMA_B3 = Claim(IDENTITIES, "hessian.lem-B.3", label="Lemma B.3 and its chain",
    statement=r"""(I_m\otimes K_{m,n})(\operatorname{vec}_r A\otimes A) = (I_m\otimes K_{m,n})((A\otimes
        I_n)\operatorname{vec}_r I_n\otimes A) = (I_m\otimes K_{m,n})(A\otimes I_n\otimes A)(\operatorname{vec}_r
        I_n\otimes I_n) = (A\otimes K_{m,n}(I_n\otimes A))(\operatorname{vec}_r I_n\otimes I_n) = (A\otimes(A\otimes
        I_n) K_{n,n})(\operatorname{vec}_r I_n\otimes I_n) = (A\otimes A\otimes I_n)(I_n\otimes
        K_{n,n})(\operatorname{vec}_r I_n\otimes I_n)""",
    assumptions=[Construction("A in R^{m x n}", shapes={"A": ("m", "n")})],
    name="commutation matrix and a repeated matrix", relation=Equal(), all_sizes=True, sizes={"m": (1, 4), "n": (1, 3)},
    uses=("hessian.eq-13", "hessian.eq-6-10", "hessian.eq-18"))  # fmt: skip


@LEMMA_B3.formula
def shuffled_square(A: MbyN) -> Any:
    """The members of the chain on top of each other, shape (6 m^2 n, n) (Lemma B.3)."""
    (m, n), K, square = A.shape, commutation_matrix(*A.shape), commutation_matrix(A.shape[1], A.shape[1])
    diagonal = kron(vec_r(eye(n)), eye(n))
    members = [
        kron(eye(m), K) @ kron(vec_r(A), A),
        kron(eye(m), K) @ kron(kron(A, eye(n)) @ vec_r(eye(n)), A),
        kron(eye(m), K) @ kron(A, eye(n), A) @ diagonal,
        kron(A, K @ kron(eye(n), A)) @ diagonal,
        kron(A, kron(A, eye(n)) @ square) @ diagonal,
        kron(A, A, eye(n)) @ kron(eye(n), square) @ diagonal,
    ]
    return concatenate(members, axis=0)


@LEMMA_B3.oracle
def products_of_entries(A: MbyN) -> Any:
    member = indexed("ik,jl->(i j k)(l)", A, A)
    return concatenate([member] * 6, axis=0)


LEMMA_B3.mutant("K_{n,m} instead of K_{m,n}", "K -> commutation_matrix(n, m)")
LEMMA_B3.mutant("no K_{n,n}", "square -> eye(n * n)")

# -- the proof of Lemma B.2, in index notation -------------------------------------------------------------------------

LEMMA_B2_STEPS = Claim(IDENTITIES, "hessian.lem-B.2-proof", label="Proof of Lemma B.2, the lines in index notation",
    statement=r"""[(I_M\otimes K_{N,M})(\operatorname{vec}_rI_M\otimes I_N)]_{(m_1,n_1,m_2),n_2} =
        \sum_{m_1',m_2',n_1'}[I_M\otimes
        K_{N,M}]_{(m_1,n_1,m_2),(m_1',m_2',n_1')}[\operatorname{vec}_rI_M\otimes I_N]_{(m_1',m_2',n_1'),n_2} =
        \sum_{m_1',m_2',n_1'}\delta_{m_1,m_1'}\delta_{m_2,m_2'}\delta_{n_1,n_1'}\delta_{m_1',m_2'}\delta_{n_1',n_2};\
        [(K_{M,N}\otimes I_M)(I_N\otimes\operatorname{vec}_rI_M)]_{(m_1,n_1,m_2),n_2} =
        \sum_{m_1',m_2',n_1'}[K_{M,N}\otimes
        I_M]_{(m_1,n_1,m_2),(n_1',m_1',m_2')}[I_N\otimes\operatorname{vec}_rI_M]_{(n_1',m_1',m_2'),n_2} =
        \sum_{m_1',m_2',n_1'}\delta_{m_1,m_1'}\delta_{n_1,n_1'}\delta_{m_2,m_2'}\delta_{n_1',n_2}\delta_{m_1',m_2'}""",
    assumptions=[Definition("K_{N,M} in R^{MN x MN} is the commutation matrix", by=commutation_matrix)],
    name="commutation matrix beside a vectorised identity, steps", relation=Equal(), all_sizes=True,
    sizes={"n": (1, 3), "m": (1, 3)}, uses=("hessian.eq-18",),
    note=r"""Both factors of either side as products of deltas, and the two sums of five deltas. Matrices are applied
        to arbitrary vectors: the left factors to $a\otimes c\otimes b$ and $b\otimes a\otimes c$, of which all vectors
        are sums.""")  # fmt: skip


@LEMMA_B2_STEPS.formula
def sides_by_deltas(a: ColumnVector, c: ColumnVector, b: OtherColumn) -> Any:
    """The factors and sums of both sides by deltas, applied to vectors, all in one column (proof of Lemma B.2)."""
    I, J = eye(a.shape[0]), eye(b.shape[0])  # indices m, indices n
    entries = indexed("i,j,k->(i j k)()", a[:, 0], c[:, 0], b[:, 0])
    turned = indexed("k,i,j->(k i j)()", b[:, 0], a[:, 0], c[:, 0])
    members = [
        indexed("ai,bj,ck->(a c b)(i j k)", I, I, J) @ entries,
        indexed("ij,kl->(i j k)(l)", I, J) @ b,
        indexed("ai,bj,ck,ij,kl->(a c b)(l)", I, I, J, I, J) @ b,
        indexed("ai,ck,bj->(a c b)(k i j)", I, J, I) @ turned,
        indexed("kl,ij->(k i j)(l)", J, I) @ b,
        indexed("ai,ck,bj,kl,ij->(a c b)(l)", I, J, I, J, I) @ b,
    ]
    return concatenate(members, axis=0)


@LEMMA_B2_STEPS.oracle
def sides_by_kronecker_products(a: ColumnVector, c: ColumnVector, b: OtherColumn) -> Any:
    M, N = a.shape[0], b.shape[0]
    left, right = kron(eye(M), commutation_matrix(N, M)), kron(vec_r(eye(M)), eye(N))
    other, diagonal = kron(commutation_matrix(M, N), eye(M)), kron(eye(N), vec_r(eye(M)))
    members = [left @ kron(a, c, b), right @ b, left @ right @ b, other @ kron(b, a, c), diagonal @ b]
    return concatenate([*members, other @ diagonal @ b], axis=0)


LEMMA_B2_STEPS.mutant("m_1' and m_2' exchanged on the left",
    '"ai,bj,ck->(a c b)(i j k)" -> "aj,bi,ck->(a c b)(i j k)"')  # fmt: skip
LEMMA_B2_STEPS.mutant("m_1' and m_2' exchanged on the right",
    '"ai,ck,bj->(a c b)(k i j)" -> "aj,ck,bi->(a c b)(k i j)"')  # fmt: skip
LEMMA_B2_STEPS.mutant("n_1' last in the second right factor", '"kl,ij->(k i j)(l)" -> "kl,ij->(i j k)(l)"')
