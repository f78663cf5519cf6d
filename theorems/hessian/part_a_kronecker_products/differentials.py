"""The proofs of Eqs. (16)-(18): differentials in a direction, member by member, read as Jacobians."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian.part_a_kronecker_products.derivatives import NbyQ, PbyR
from theorems.hessian.part_a_kronecker_products.products import MbyN, stacked
from theorems.hessian.settings import IDENTITIES
from verify.matrix import commutation_matrix, eye, kron, transpose, vec_c, vec_r
from verify.oracles import jacobian
from verify.vocabulary import Claim, Definition, Equal, Shape

DirectionOfX = Annotated[Any, Shape("n", "q")]
DirectionOfY = Annotated[Any, Shape("p", "r")]
DirectionOfA = Annotated[Any, Shape("m", "n")]

CHAINS = Claim(IDENTITIES, "hessian.eq-16-17-proof", label="Eqs. (16), (17), the two chains of the proof",
    statement=r"""d(\operatorname{vec}_r(X\otimes Y)) = d(\operatorname{vec}_c(X\otimes Y)^\top) =
        d(\operatorname{vec}_c(X^\top\otimes Y^\top)) = (I_n\otimes K_{p,q}\otimes
        I_r)(I_{nq}\otimes\operatorname{vec}_cY^\top)d(\operatorname{vec}_cX^\top) = (I_n\otimes K_{p,q}\otimes
        I_r)(I_{nq}\otimes\operatorname{vec}_rY)d(\operatorname{vec}_rX);\ \text{and } = (I_n\otimes K_{p,q}\otimes
        I_r)(\operatorname{vec}_cX^\top\otimes I_{pr})d(\operatorname{vec}_cY^\top) = (I_n\otimes K_{p,q}\otimes
        I_r)(\operatorname{vec}_rX\otimes I_{pr})d(\operatorname{vec}_rY);\ \text{``so again by the first identification
        theorem, we obtain eq. (16)''}""",
    assumptions=[Definition("d is the differential, the Jacobian of Eq. (4) applied to a direction", by=jacobian)],
    name="differential of a Kronecker product", relation=Equal(), all_sizes=True,
    sizes={"n": (1, 3), "q": (1, 3), "p": (1, 2), "r": (1, 2)}, uses=("hessian.eq-16-17", "hessian.eq-18"),
    note=r"""Every member is compared, in arbitrary directions $dX$ and $dY$, with the Jacobian applied to the direction.
        That the same matrix serves every direction is what the first identification theorem asks for: it then is the
        Jacobian.""")  # fmt: skip


@CHAINS.formula
def differential_chains(X: NbyQ, Y: PbyR, dX: DirectionOfX, dY: DirectionOfY) -> Any:
    """The members of both chains but the first, all entries in one column (proof of Eqs. (16), (17))."""
    (n, q), (p, r) = X.shape, Y.shape
    shuffle = kron(eye(n), commutation_matrix(p, q), eye(r))
    in_X = [
        vec_c(kron(dX, Y).T),
        vec_c(kron(dX.T, Y.T)),
        shuffle @ kron(eye(n * q), vec_c(Y.T)) @ vec_c(dX.T),
        shuffle @ kron(eye(n * q), vec_r(Y)) @ vec_r(dX),
    ]
    in_Y = [
        vec_c(kron(X, dY).T),
        vec_c(kron(X.T, dY.T)),
        shuffle @ kron(vec_c(X.T), eye(p * r)) @ vec_c(dY.T),
        shuffle @ kron(vec_r(X), eye(p * r)) @ vec_r(dY),
    ]
    return stacked(*in_X, *in_Y)


def _kronecker(X: Any, Y: Any) -> Any:
    return kron(X, Y)


@CHAINS.oracle
def jacobians_along_directions(X: NbyQ, Y: PbyR, dX: DirectionOfX, dY: DirectionOfY) -> Any:
    first, second = jacobian(_kronecker, "X")(X, Y) @ vec_r(dX), jacobian(_kronecker, "Y")(X, Y) @ vec_r(dY)
    return stacked(*[first] * 4, *[second] * 4)


CHAINS.mutant("K_{q,p} instead of K_{p,q}", "commutation_matrix(p, q) -> commutation_matrix(q, p)")
CHAINS.mutant("not transposed before the columns are stacked", "vec_c -> vec_r")
CHAINS.mutant("no commutation matrix", "commutation_matrix(p, q) -> eye(p * q)")

TRANSPOSITION = Claim(IDENTITIES, "hessian.eq-18-proof", label="Eq. (18), the line above it",
    statement=r"""d\operatorname{vec}_rF(X) = d\operatorname{vec}_rX^\top = K_{q,n}\,d\operatorname{vec}_rX
        \text{ for } F(X) = X^\top,\ X\in\mathbb{R}^{n\times q}""",
    assumptions=[Definition("d is the differential, the Jacobian of Eq. (4) applied to a direction", by=jacobian)],
    name="differential of a transposition", relation=Equal(), all_sizes=True, sizes={"m": (1, 4), "n": (1, 4)},
    uses=("hessian.eq-18",), note="$X$ has the shape $m \\times n$ here, in the place of $n \\times q$.")  # fmt: skip


@TRANSPOSITION.formula
def transposed_direction(A: MbyN, dA: DirectionOfA) -> Any:
    """vec_r(dA^T) and K_{n,m} vec_r(dA), all entries in one column (above Eq. (18))."""
    m, n = A.shape
    return stacked(dA.T, commutation_matrix(n, m) @ vec_r(dA))


TRANSPOSITION.oracle(lambda A, dA: stacked(*[jacobian(transpose, "A")(A) @ vec_r(dA)] * 2))
TRANSPOSITION.mutant("K_{n,q}", "commutation_matrix(n, m) -> commutation_matrix(m, n)")
TRANSPOSITION.mutant("not transposed", "dA.T -> dA")
