"""Newton-Schulz iterates and their limit: Section 2.3."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.osa import OSA
from theorems.osa.definitions import cayley, newton_schulz_iterate
from verify.matrix import diag, frobenius_norm, rational, singular_values, spectral_norm
from verify.vocabulary import Assumption, Claim, QuadraticRate, Shape, TendsTo

LeftFrame = Annotated[Any, Shape("N", "N")]
RightFrame = Annotated[Any, Shape("m", "m")]
Parameters = Annotated[Any, Shape("k", "1")]
LeftVectors = Annotated[Any, Shape("N", "k")]
RightVectors = Annotated[Any, Shape("m", "k")]
SingularValues = Annotated[Any, Shape("k", "1")]

NEWTON_SCHULZ = Claim(
    OSA,
    "osa.ns-convergence",
    label="Section 2.3, Eq. (9)",
    statement=r"\mathbf{M}_{k+1} = \tfrac12\mathbf{M}_k(3\mathbf{I}_{2d_v} - \mathbf{M}_k^\top\mathbf{M}_k).\ \text{When }"
    r" \mathbf{M} \text{ is full rank and } \sigma_i(\mathbf{M}) < \sqrt3 \text{ for all } i,\ \mathbf{M}_K \to \mathbf{U},"
    r" \text{ the matrix of orthonormal basis elements of the polar decomposition of } \mathbf{M}",
    assumptions=[
        Assumption("M in R^{N x 2 d_v} has full rank", positive=lambda M: singular_values(M)[-1]),
        Assumption("the singular values of M are below sqrt(3)", positive=lambda M: 3 - spectral_norm(M) ** 2),
    ],
    # 33 steps lift a singular value of 1.6e-6 (or 3 - sigma^2 of that size) to about 1, the rest see it squared away
    relation=TendsTo(scales=tuple(range(49)), rate=QuadraticRate(), bits=2000),
    sizes={"N": (1, 5), "m": (2, 4), "k": (1, 4)},
    # m = 2 d_v
    where=lambda sizes: sizes["m"] % 2 == 0 and sizes["k"] == min(sizes["N"], sizes["m"]),
    note="The columns of U are orthonormal for N >= 2 d_v; for N < 2 d_v its rows are.",
)


@NEWTON_SCHULZ.inputs
def matrix_with_known_polar_factor(left: LeftFrame, right: RightFrame, x: Parameters) -> Any:
    P, R = cayley(left)[:, : x.shape[0]], cayley(right)[:, : x.shape[0]]
    # in (0, 168/97] with 168/97 = sqrt(3) - 9e-5: close to sqrt(3) at x = 0, to 0 at large x
    s = rational(168, 97) / (1 + x * x)
    return {"P": P, "s": s, "R": R, "M": P @ diag(s) @ R.T}


@NEWTON_SCHULZ.formula
def polar_factor(P: LeftVectors, R: RightVectors) -> Any:
    """U = P R^T, shape (N, m), for M = P diag(s) R^T with orthonormal columns in P (N, k) and R (m, k), s > 0."""
    return P @ R.T


NEWTON_SCHULZ.part("sequence", lambda scale, M: newton_schulz_iterate(M, scale))
NEWTON_SCHULZ.mutant("M divided by its Frobenius norm", lambda M: M / frobenius_norm(M))
NEWTON_SCHULZ.mutant("one singular direction reversed", lambda value, P, R: value - 2 * P[:, :1] @ R[:, :1].T)
NEWTON_SCHULZ.mutant(
    "one singular direction lost", lambda P, R: P[:, 1:] @ R[:, 1:].T if P.shape[1] > 1 else 0 * P @ R.T
)
NEWTON_SCHULZ.mutant("squares of the singular values kept", lambda P, s, R: P @ diag(s * s) @ R.T)
