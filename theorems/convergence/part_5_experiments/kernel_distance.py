"""Section 5.1: the distance of two kernels, half the squared distance of their directions."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.convergence import CONVERGENCE
from theorems.convergence.part_c_1_lemmas.constants import stacked
from verify.matrix import frobenius_norm, rational, total, trace
from verify.vocabulary import Assumption, Claim, Construction, Doubt, Equal, Shape

Factor = Annotated[Any, Shape("N", "p")]

DISTANCE = Claim(CONVERGENCE, "convergence.kernel-distance", label="Section 5.1, Distance(K, K~)",
    statement=r"""\text{Distance}(K,\tilde K)=1-\frac{\mathrm{Tr}(K\tilde
        K^\top)}{\sqrt{\mathrm{Tr}(KK^\top)}}\sqrt{\mathrm{Tr}( \tilde K\tilde K^\top)}""",
    assumptions=[
        Construction("K = A A^T and K~ = B B^T, which every PSD matrix is", shapes={"A": ("N", "p"), "B": ("N", "p")}),
        Assumption("K, K~ nonzero", positive=lambda A, B: stacked([total(A * A), total(B * B)])),
    ],
    name="distance of kernels by relative rotation", relation=Equal(), all_sizes=True, sizes={"N": (1, 3), "p": (1, 3)},
    doubt=Doubt(
        r"}{\sqrt{\operatorname{Tr}\left(\boldsymbol{K} \boldsymbol{K}^{\top}\right)}} "
        r"\sqrt{\operatorname{Tr}\left(\widetilde{\boldsymbol{K}} \widetilde{\boldsymbol{K}}^{\top}\right)}",
        r"""The second root stands beside the fraction, where $\text{Distance}(K, K)$ would be $1 - \mathrm{Tr}(K
            K^\top)$, no distance; the extraction has the scope of roots and fractions wrong elsewhere (Eq. (7)). With
            both roots below the bar it is the relative rotation that the text calls it."""),
    note=r"""Half the squared Frobenius distance of $K / \|K\|_F$ and $\tilde K / \|\tilde K\|_F$, hence 0 exactly for
        $\tilde K = c K$ with $c > 0$, and at most 1 for PSD kernels.""")  # fmt: skip


@DISTANCE.formula
def kernel_distance(A: Factor, B: Factor) -> Any:
    """1 - Tr(K K~^T) / (sqrt(Tr(K K^T)) sqrt(Tr(K~ K~^T))) for K = A A^T, K~ = B B^T, a scalar (Section 5.1)."""
    K, L = A @ A.T, B @ B.T
    return 1 - trace(K @ L.T) / (frobenius_norm(K) * frobenius_norm(L))


@DISTANCE.oracle
def half_squared_distance_of_directions(A: Factor, B: Factor) -> Any:
    K, L = A @ A.T, B @ B.T
    gap = K * (1 / frobenius_norm(K)) - L * (1 / frobenius_norm(L))
    return total(gap * gap) * rational(1, 2)


DISTANCE.mutant("second root beside the fraction",
    "frobenius_norm(K) * frobenius_norm(L) -> frobenius_norm(K) / frobenius_norm(L)")  # fmt: skip
DISTANCE.mutant("squared cosine", lambda value: 1 - (1 - value) ** 2)
