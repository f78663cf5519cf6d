"""Operations and memory of the parts of the layer: Table 1, whose memory column forgets terms d^2 once d outgrows N."""

from __future__ import annotations

from theorems.osa.part_2_4_cost.basis_layer import counts_of_components, newton_schulz
from theorems.osa.part_2_4_cost.orders import FIXED_EXPONENTIAL, ONE_HEAD
from theorems.osa.shapes import Length, Width
from verify.vocabulary import Claim, Definition, OrderOfGrowth, Reading

TABLE_OPERATIONS = Claim(ONE_HEAD, "osa.table-1-flops", label='Table 1, column "Complexity"',
    statement=r"""\text{Reduced QR on } \mathbf{M}: O(Nd^2);\ \text{Newton-Schultz on } \mathbf{M}: O(Nd^2);\
        \text{Computing } [\mathbf{S}]: O(Nd^2+d^3);\ \text{Computing } \exp[\mathbf{S}]: O(d^3);\ \text{Computing Eq
        (6) and applying } \mathbf{X}\mathbf{W}^V\mathbf{W}^O: O(Nd^2+d^3)""",
    assumptions=[Definition("K fixed", by=newton_schulz)],
    name="operations by component", relation=OrderOfGrowth(along=("N", "d", "N d")), all_sizes=True, uses=("osa.counted-layer",),
    expects="reading",
    reading=Reading("Complexity", FIXED_EXPONENTIAL),
)  # fmt: skip


@TABLE_OPERATIONS.formula
def operations_of_components(N: Length, d: Width) -> list[int]:
    """One row each for QR, Newton-Schulz, [S], exp[S], and Eq. (6) applied to X W_V W_O (Table 1)."""
    return [N * d**2, N * d**2, N * d**2 + d**3, d**3, N * d**2 + d**3]


TABLE_OPERATIONS.part("cost", lambda N, d: [found.operations for found in counts_of_components(N, d)])
TABLE_OPERATIONS.part("constant", lambda: [25, 139, 22, 208, 13])
TABLE_OPERATIONS.mutant("QR: N d", lambda N, d: [N * d, N * d**2, N * d**2 + d**3, d**3, N * d**2 + d**3])
TABLE_OPERATIONS.mutant("Newton-Schulz: N d", lambda N, d: [N * d**2, N * d, N * d**2 + d**3, d**3, N * d**2 + d**3])
TABLE_OPERATIONS.mutant("[S]: N d^2", lambda N, d: [N * d**2, N * d**2, N * d**2, d**3, N * d**2 + d**3])
TABLE_OPERATIONS.mutant("exp[S]: d^2", lambda N, d: [N * d**2, N * d**2, N * d**2 + d**3, d**2, N * d**2 + d**3])
TABLE_OPERATIONS.mutant("Eq. (6): N d^2", lambda N, d: [N * d**2, N * d**2, N * d**2 + d**3, d**3, N * d**2])

TABLE_MEMORY = Claim(ONE_HEAD, "osa.table-1-memory", label='Table 1, column "Memory"', name="memory by component",
    statement=r"""\text{Reduced QR on } \mathbf{M}: O(Nd);\ \text{Newton-Schultz on } \mathbf{M}: O(Nd);\
        \text{Computing } [\mathbf{S}]: O(Nd);\ \text{Computing } \exp[\mathbf{S}]: O(d^2);\ \text{Computing Eq (6) and
        applying } \mathbf{X}\mathbf{W}^V\mathbf{W}^O: O(Nd)""",
    relation=OrderOfGrowth(along=("N", "N d")), all_sizes=True, where=lambda sizes: 2 * sizes["d"] <= sizes["N"], expects="reading",
    reading=Reading("$O(Nd)$", r"""the order for $2d \le N$, as Section 2.3 usually has it. $M_k^\top M_k$, $[S]$ and
        $B^\top XW^VW^O$ have order $d^2$ entries, which $N d$ does not bound while $d$ outgrows $N$: see
        osa.table-1-memory-wide"""),
)  # fmt: skip


@TABLE_MEMORY.formula
def memory_of_components(N: Length, d: Width) -> list[int]:
    """One row each for QR, Newton-Schulz, [S], exp[S], and Eq. (6) applied to X W_V W_O (Table 1)."""
    return [N * d, N * d, N * d, d**2, N * d]


@TABLE_MEMORY.part("cost")
def counted_memory_of_components(N: int, d: int) -> list[int]:
    return [found.memory for found in counts_of_components(N, d)]


TABLE_MEMORY.part("constant", lambda: [4, 8, 8, 8, 4])
TABLE_MEMORY.mutant("exp[S]: d", lambda N, d: [N * d, N * d, N * d, d, N * d])
TABLE_MEMORY.mutant("QR and Newton-Schulz: N", lambda N, d: [N, N, N * d, d**2, N * d])
TABLE_MEMORY.mutant("Eq. (6): d^2", lambda N, d: [N * d, N * d, N * d, d**2, d**2])

TABLE_MEMORY_WIDE = Claim(ONE_HEAD, "osa.table-1-memory-wide", label='Table 1, column "Memory", at any width',
    statement=r"""\text{QR: } O(Nd);\ \text{Newton-Schulz},\ [\mathbf{S}], \text{ Eq. (6) and applying }
        \mathbf{X}\mathbf{W}^V\mathbf{W}^O: O(Nd + d^2);\ \exp[\mathbf{S}]: O(d^2), \text{ for } N \text{ and } d \text{
        in any proportion}""",
    name="memory by component at any width", relation=OrderOfGrowth(along=("N", "d", "N d")), all_sizes=True, of_project=True,
    note="""A reduced QR of an $M$ with more columns than rows has factors $(N, N)$ and $(N, 2d)$, so its row needs no
        $d^2$.""",
)  # fmt: skip


@TABLE_MEMORY_WIDE.formula
def memory_of_components_at_any_width(N: Length, d: Width) -> list[int]:
    """One row each for QR, Newton-Schulz, [S], exp[S], and Eq. (6) applied to X W_V W_O."""
    return [N * d, N * d + d**2, N * d + d**2, d**2, N * d + d**2]


TABLE_MEMORY_WIDE.part("cost", lambda N, d: counted_memory_of_components(N, d))
TABLE_MEMORY_WIDE.part("constant", lambda: [4, 8, 16, 8, 6])
TABLE_MEMORY_WIDE.mutant("Newton-Schulz: N d, as printed",
    lambda N, d: [N * d, N * d, N * d + d**2, d**2, N * d + d**2])  # fmt: skip
TABLE_MEMORY_WIDE.mutant("[S]: N d, as printed", lambda N, d: [N * d, N * d + d**2, N * d, d**2, N * d + d**2])
TABLE_MEMORY_WIDE.mutant("Eq. (6): N d, as printed", lambda N, d: [N * d, N * d + d**2, N * d + d**2, d**2, N * d])
