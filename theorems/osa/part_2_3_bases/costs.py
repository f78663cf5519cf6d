"""What bases cost in operations (Section 2.3): Newton-Schulz as iterates, as one polynomial of M^T M, and against a reduced QR.

Counted as in Section 2.4: torch code on the meta device, which has all shapes and no numbers.
"""

from __future__ import annotations

from typing import Any

from theorems.osa import OSA
from theorems.osa.part_2_4_cost.basis_layer import STEPS, newton_schulz, orthonormal_basis
from theorems.osa.shapes import Factor
from verify.oracles import count, without_numbers
from verify.vocabulary import Assumption, AtMost, Claim, Reading, Setting

TALL = Assumption("N >= 2 d_v", sizes=lambda sizes: sizes["m"] <= sizes["N"])
BASES = Setting(OSA, "Section 2.3, operations", sizes={"N": (1, 12), "m": (1, 6)})


def unrolled(M: Any) -> Any:
    """M h(M^T M), shape that of M (N, m), for K steps: h composed step by step, in 3 products of (m, m) each but the first."""
    import torch

    G = M.T @ M
    identity = torch.eye(M.shape[1], dtype=M.dtype, device=M.device)
    h = (3 * identity - G) / 2
    for _ in range(STEPS - 1):
        h = (3 * h - h @ (h @ h @ G)) / 2
    return M @ h


UNROLLED_COST = Claim(BASES, "osa.ns-unroll-cost", label="Section 2.3, text, of what unrolling is for",
    statement=r"""\text{there exists further efficiency gains that could be explored } \dots \text{ noticing that we can
        unroll the repeated application of Newton-Schulz iterates to express } \mathbf{M}_K \text{ in terms of }
        \mathbf{M}h(\mathbf{M}^\top \mathbf{M}) \dots \text{ in order to reduce the computational complexity required}""",
    assumptions=[Assumption("N >= 3 d_v (the reading)", sizes=lambda sizes: 3 * sizes["m"] <= 2 * sizes["N"])],
    name="operations of unrolled Newton-Schulz", relation=AtMost(ascent=False), expects="reading",
    reading=Reading("further efficiency gains that could be explored", r"""$6$ steps take fewer operations in the form
        $Mh(M^\top M)$ wherever $N \ge 3 d_v$, with $h$ composed from the steps"""),
    uses=("osa.ns-unroll",),
    note=r"""For $m = 2 d_v$ columns $K$ iterates take $4KNm^2$ operations in their products, the unrolled form $4Nm^2 +
        6(K-1)m^3$: they break even at $N = 3 d_v$, and below that unrolling takes more. At the sizes of Appendix E, $N = 50$
        and $d_v = 16$, it saves 4 percent; for $N$ large against $d_v$ it saves a factor of $K$.""",
)  # fmt: skip


@UNROLLED_COST.formula
def operations_of_iterates(M: Factor) -> int:
    """Operations of the iterates (9) on M (N, m) with K = 6, pre-normalised."""
    return count(newton_schulz, without_numbers(*M.shape)).operations


@UNROLLED_COST.oracle
def operations_unrolled(M: Factor) -> int:
    return count(unrolled, without_numbers(*M.shape)).operations


UNROLLED_COST.mutant("iterates without their products with M_k", lambda M: 2 * STEPS * M.shape[0] * M.shape[1] ** 2)
UNROLLED_COST.mutant("one step", lambda value: value // STEPS)

AGAINST_QR = Claim(BASES, "osa.ns-against-qr", label="Section 2.3, Newton-Schulz against QR, in operations",
    statement=r"""K = 6, N \ge 2 d_v: \quad K \text{ Newton-Schulz steps on } [\mathbf{Q},\mathbf{K}] \in \mathbb{R}^{N\times
        2d_v} \text{ take at least } K \text{ times the operations of a reduced QR decomposition}""",
    assumptions=[TALL],
    name="operations of Newton-Schulz and of QR", relation=AtMost(ascent=False), of_project=True,
    note=r"""So if Newton-Schulz is more efficient than QR, as Section 2.3 says, it is by the use that it makes of hardware
        alone, as the paper has it. For $m = 2 d_v$ columns Householder's QR with its orthonormal factor formed takes $4m^2(N -
        m/3)$ operations, a step $4Nm^2$.""",
)  # fmt: skip


@AGAINST_QR.formula
def operations_of_newton_schulz(M: Factor) -> int:
    """Operations of six Newton-Schulz steps on M (N, m)."""
    return count(newton_schulz, without_numbers(*M.shape)).operations


@AGAINST_QR.oracle
def operations_of_as_many_decompositions(M: Factor) -> int:
    return STEPS * count(orthonormal_basis, without_numbers(*M.shape)).operations


AGAINST_QR.mutant("one step", lambda value: value // STEPS)
AGAINST_QR.mutant("half the operations of the products", lambda M: 2 * STEPS * M.shape[0] * M.shape[1] ** 2)
