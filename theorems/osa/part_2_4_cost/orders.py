"""Operations and memory of whole layers: Sections 2.1 and 2.4.

Counts are compared with the printed orders along the normals of their Newton polygons and of those of their mutants, which
suffices for polynomials in N and d.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from theorems.osa import OSA
from theorems.osa.definitions import queries_and_keys
from theorems.osa.part_2_4_cost.basis_layer import (
    count_of_layer, naive_orthogonal_attention, newton_schulz, orthogonal_attention, orthonormal_basis, scores,
    softmax_attention,
)  # fmt: skip
from theorems.osa.shapes import Length, Rank, Width
from verify.matrix import expm
from verify.oracles import Count, count, without_numbers
from verify.vocabulary import Claim, Convention, Definition, OrderOfGrowth, Reading, Setting

FIXED_EXPONENTIAL = (
    "an exponential takes a fixed number of matrix products, as it does while the norm of S is bounded: each doubling of it"
    " costs a squaring more"
)
SINGLE_HEAD = Definition("h = 1, so d_v = d, and B has r = 2d columns", by=without_numbers)
WITHOUT_BASIS = Definition("h = 1, so d_v = d", by=without_numbers)

COUNTED = Setting(OSA, "Section 2.4", sizes={"N": (4, 9), "d": (2, 4)})
ONE_HEAD = COUNTED.extended(assumptions=[SINGLE_HEAD])

# -- the naive layer, and what Theorem 2.1 saves -----------------------------------------------------------------------

NAIVE_COST = Claim(OSA, "osa.naive-cost", label="Section 2.1, text", name="cost of the naive layer",
    statement=r"""\text{a naive implementation of OSA has computational complexity of } O(N^3)\text{ due to the matrix
        exponential}""",
    assumptions=[WITHOUT_BASIS],
    relation=OrderOfGrowth(along=("N", "N d")), all_sizes=True, sizes={"N": (8, 12), "d": (2, 4)},
    where=lambda sizes: sizes["d"] <= sizes["N"], expects="reading",
    reading=Reading(
        "computational complexity of $O(N^3)$",
        f"the order in $N$ for $d \\le N$, where projections ($N d^2$) do not dominate; {FIXED_EXPONENTIAL}",
    ),
)  # fmt: skip


@NAIVE_COST.formula
def naive_cost(N: Length, d: Width) -> int:
    """N^3 (Section 2.1)."""
    return N**3


NAIVE_COST.part("cost", lambda N, d: count_of_layer(naive_orthogonal_attention, N, d).operations)
NAIVE_COST.part("constant", lambda: 42)
NAIVE_COST.mutant("N^2", lambda N: N**2)
NAIVE_COST.mutant("N^2 d, as for softmax attention", lambda N, d: N**2 * d)

REDUCED_EXPONENTIAL_COST = Claim(OSA, "osa.thm-2.1-cost", label="Section 2.1, text after Theorem 2.1",
    statement=r"""\text{This reduces the problem of computing } \exp(\mathbf{S}) \text{ to computing } \exp[\mathbf{S}]
        \text{ which has a computational complexity of } O(r^3) \ll O(N^3)""",
    name="cost of the reduced exponential", relation=OrderOfGrowth(along=("r", "N", "N r")), all_sizes=True,
    sizes={"N": (16, 20), "r": (2, 4)}, uses=("osa.thm-2.1",), expects="reading",
    reading=Reading(
        r"computational complexity of $O(r^3) \ll O(N^3)$",
        rf"the order of $\exp[\mathbf{{S}}]$ alone, from $[\mathbf{{S}}]$, whatever $N$; {FIXED_EXPONENTIAL}. The products with"
        r" $B$ that Eq. (6) needs besides are counted in Section 2.4",
    ),
)  # fmt: skip


@REDUCED_EXPONENTIAL_COST.formula
def reduced_exponential_cost(r: Rank) -> int:
    """r^3 (Section 2.1)."""
    return r**3


REDUCED_EXPONENTIAL_COST.inputs(N=Length, r=Rank)


REDUCED_EXPONENTIAL_COST.part("cost", lambda r: count(expm, without_numbers(r, r)).operations)
REDUCED_EXPONENTIAL_COST.part("constant", lambda: 26)
REDUCED_EXPONENTIAL_COST.mutant("r^2", lambda r: r**2)
REDUCED_EXPONENTIAL_COST.mutant("r^3 / N", lambda N, r: Fraction(1) * r**3 / N)

# -- the whole layer ---------------------------------------------------------------------------------------------------

COST = Claim(ONE_HEAD, "osa.cost-osa", label="Section 2.4 and Abstract", name="operations of the layer",
    statement=r"""\text{by exploiting the low-rank structure of } \mathbf{S}, \text{ the computational complexity of OSA
        is } O(Nd^2 + d^3) \text{ and the memory cost is } O(Nd + d^2) \text{ which scales linearly with } N""",
    assumptions=[
        Definition("a fixed number K of Newton-Schulz steps, or a QR", by=(newton_schulz, orthonormal_basis))
    ],
    relation=OrderOfGrowth(along=("N", "d", "N d", "N N d")), all_sizes=True, uses=("osa.thm-2.1-any-basis", "osa.counted-layer"),
    expects="reading",
    reading=Reading("the computational complexity of OSA", FIXED_EXPONENTIAL),
    note="""The first half; the second is osa.mem-osa. $r = 2d$ is the number of columns of $B$; as the rank of $S$ no
        input has it (osa.sec-2.4-r). For both bases, at $N$ above and below $2d$. Reached only by
        products in the order of the formula: see osa.cost-eq-6-formed.""",
)  # fmt: skip


def _both_bases(N: int, d: int) -> list[Count]:
    return [count_of_layer(orthogonal_attention(basis), N, d) for basis in (orthonormal_basis, newton_schulz)]


@COST.formula
def cost_of_layer(N: Length, d: Width) -> list[int]:
    """N d^2 + d^3, for the QR basis and for Newton-Schulz (Section 2.4)."""
    return [N * d**2 + d**3] * 2


COST.part("cost", lambda N, d: [found.operations for found in _both_bases(N, d)])
COST.part("constant", lambda: 243)
COST.mutant("d^3 dropped", lambda N, d: [N * d**2] * 2)
COST.mutant("N d instead of N d^2", lambda N, d: [N * d + d**3] * 2)
COST.mutant("N d^2 dropped", lambda d: [d**3] * 2)

MEMORY = Claim(ONE_HEAD, "osa.mem-osa", label="Section 2.4 and Abstract", name="memory of the layer",
    statement=r"\text{the memory cost is } O(Nd + d^2) \text{ which scales linearly with } N",
    assumptions=[Definition("no N x N matrix formed", by=orthogonal_attention)],
    relation=OrderOfGrowth(along=("N", "d", "N d", "N N d")), all_sizes=True, uses=("osa.counted-layer",),
    note="""Entries alive at a time, for both bases. Forming $A$ by Eq. (6) before it is applied needs $N^2$: see
        osa.cost-eq-6-formed.""",
)  # fmt: skip


@MEMORY.formula
def memory_of_layer(N: Length, d: Width) -> list[int]:
    """N d + d^2, for the QR basis and for Newton-Schulz (Section 2.4)."""
    return [N * d + d**2] * 2


MEMORY.part("cost", lambda N, d: [found.memory for found in _both_bases(N, d)])
MEMORY.part("constant", lambda: 16)
MEMORY.mutant("d^2 dropped", lambda N, d: [N * d] * 2)
MEMORY.mutant("N + d^2", lambda N, d: [N + d**2] * 2)
MEMORY.mutant("d^2 alone", lambda d: [d**2] * 2)

FORMED = Claim(ONE_HEAD, "osa.cost-eq-6-formed", label="Eqs. (6) and (7) with their N x N matrices formed",
    statement=r"""\text{With } \mathbf{S} \text{ formed for } [\mathbf{S}] = \mathbf{B}^\top\mathbf{S}\mathbf{B} \text{
        and } \mathbf{A} \text{ by Eq. (6) before it is applied, OSA takes } O(N^2d + Nd^2 + d^3) \text{ operations and
        memory } O(N^2 + Nd + d^2), \text{ and no less: quadratic in } N""",
    assumptions=[Convention(FIXED_EXPONENTIAL, by=count)],
    name="cost with the attention matrix formed", relation=OrderOfGrowth(along=("N", "d", "N d")), all_sizes=True,
    of_project=True,
    note="The orders of Section 2.4, which are among the mutants, are those of the products taken from right to left.",
)  # fmt: skip


def orthogonal_attention_formed(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any) -> Any:
    """Eqs. (6) and (7) as they stand, up to the identity added to the applied product, shape (N, d)."""
    B = newton_schulz(queries_and_keys(X, W_Q, W_K))
    exponential = expm(B.T @ scores(X @ W_Q, X @ W_K) @ B)
    V = X @ W_V @ W_O
    return V + (B @ exponential @ B.T - B @ B.T) @ V


@FORMED.formula
def cost_and_memory_formed(N: Length, d: Width) -> list[int]:
    """Operations N^2 d + N d^2 + d^3, and entries alive N^2 + N d + d^2."""
    return [N**2 * d + N * d**2 + d**3, N**2 + N * d + d**2]


@FORMED.part("cost")
def counts_formed(N: int, d: int) -> list[int]:
    found = count_of_layer(orthogonal_attention_formed, N, d)
    return [found.operations, found.memory]


FORMED.part("constant", lambda: [211, 12])
FORMED.part("constant from below", lambda: [18, 3])
FORMED.mutant("operations N d^2 + d^3, as in Section 2.4", lambda N, d: [N * d**2 + d**3, N**2 + N * d + d**2])
FORMED.mutant("memory N d + d^2, as in Section 2.4", lambda N, d: [N**2 * d + N * d**2 + d**3, N * d + d**2])

SOFTMAX_COST = Claim(COUNTED, "osa.cost-ssa", label="Section 2.4", name="cost of softmax attention",
    statement=r"\text{the computational complexity of SSA is } O(N^2 d) \text{ and the memory cost is } O(N^2)",
    assumptions=[WITHOUT_BASIS],
    relation=OrderOfGrowth(along=("N", "N d")), all_sizes=True, where=lambda sizes: sizes["d"] <= sizes["N"], expects="reading",
    reading=Reading(("$O(N^2d)$", "$O(N^2)$"), r"""the orders for $d \le N$, where the $N \times N$ matrix of scores
        dominates. For $d$ above $N$ the projections take $N d^2$ operations and $Q, K, V$ alone $N d$ entries: see
        osa.cost-ssa-wide"""),
)  # fmt: skip


@SOFTMAX_COST.formula
def cost_and_memory_of_softmax_attention(N: Length, d: Width) -> list[int]:
    """Operations N^2 d, and entries alive N^2 (Section 2.4)."""
    return [N**2 * d, N**2]


@SOFTMAX_COST.part("cost")
def counts_of_softmax_attention(N: int, d: int) -> list[int]:
    found = count_of_layer(softmax_attention, N, d)
    return [found.operations, found.memory]


SOFTMAX_COST.part("constant", lambda: [14, 3])
SOFTMAX_COST.mutant("operations N d^2, linear in N", lambda N, d: [N * d**2, N**2 + N * d])
SOFTMAX_COST.mutant("memory N d, linear in N", lambda N, d: [N**2 * d + N * d**2, N * d])

SOFTMAX_COST_WIDE = Claim(COUNTED, "osa.cost-ssa-wide", label="Section 2.4, softmax attention at any width",
    statement=r"\text{SSA with its projections takes } O(N^2 d + Nd^2) \text{ operations and memory } O(N^2 + Nd)",
    assumptions=[WITHOUT_BASIS],
    name="cost of softmax attention at any width", relation=OrderOfGrowth(along=("N", "d", "N d")), all_sizes=True, of_project=True,
    note="""$W^VW^O$ is applied from left to right, to the tokens first; multiplied with each other first they would
        take $d^3$.""",
)  # fmt: skip


@SOFTMAX_COST_WIDE.formula
def cost_and_memory_of_wide_softmax_attention(N: Length, d: Width) -> list[int]:
    """Operations N^2 d + N d^2, and entries alive N^2 + N d."""
    return [N**2 * d + N * d**2, N**2 + N * d]


SOFTMAX_COST_WIDE.part("cost", lambda N, d: counts_of_softmax_attention(N, d))
SOFTMAX_COST_WIDE.part("constant", lambda: [8, 3])
SOFTMAX_COST_WIDE.mutant("operations N d^2, linear in N", lambda N, d: [N * d**2, N**2 + N * d])
SOFTMAX_COST_WIDE.mutant("memory N d, linear in N", lambda N, d: [N**2 * d + N * d**2, N * d])
SOFTMAX_COST_WIDE.mutant("operations N^2 d, memory N^2, as printed for all d", lambda N, d: [N**2 * d, N**2])
