"""Operations and memory: Sections 2.1 and 2.4, Table 1.

What is counted is the code below, run on torch's meta device: it has all shapes and no numbers.  Counts are compared with
the printed orders along the normals of their Newton polygons and of those of their mutants, which suffices for
polynomials in N and d.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from theorems.osa import OSA
from theorems.osa.definitions import (
    Alpha,
    KeyWeights,
    OutputWeights,
    QueryWeights,
    Tokens,
    ValueWeights,
    attention,
    queries_and_keys,
)
from theorems.osa.low_rank import (
    CONTAINS_QUERIES_AND_KEYS,
    ORTHONORMAL,
    Basis,
    Coordinates,
    Frame,
    tokens_with_wide_basis,
)
from verify.matrix import expm, softmax, sqrt
from verify.oracles import Count, count
from verify.vocabulary import Claim, Equal, OrderOfGrowth, Size

Length = Annotated[int, Size("N")]
Width = Annotated[int, Size("d")]
Rank = Annotated[int, Size("r")]

#: h = 1, so d_v = d.  Newton-Schulz steps, any fixed number.
STEPS = 6

FIXED_EXPONENTIAL = (
    "an exponential takes a fixed number of matrix products, as it does while ||S|| is bounded: each doubling of the norm"
    " costs a squaring more"
)
SINGLE_HEAD = (
    "h = 1, so d_v = d; r = 2d taken as the number of columns of B (as rank S, no input has it: osa.sec-2.4-r)"
)


# -- the implementation that is counted --------------------------------------------------------------------------------


def orthonormal_basis(M: Any) -> Any:
    """B (N, min(N, m)) for M (N, m): the orthonormal factor of a reduced QR."""
    import torch

    return torch.linalg.qr(M).Q


def newton_schulz(M: Any) -> Any:
    """M_K (N, m) by Eq. (9) from M / (||M||_F + 1), with M_k^T M_k (m, m) formed first."""
    M = M / ((M * M).sum().sqrt() + 1)
    for _ in range(STEPS):
        M = (3 * M - M @ (M.T @ M)) / 2
    return M


def reduced_scores(B: Any, Q: Any, K: Any, alpha: Any) -> Any:
    """[S] = B^T S B (r, r) from B^T Q and B^T K, without S (N, N)."""
    Q, K = B.T @ Q * (alpha / sqrt(Q.shape[1])), B.T @ K
    return Q @ K.T - K @ Q.T


def applied(B: Any, exponential: Any, X: Any, W_V: Any, W_O: Any) -> Any:
    """Eq. (6) applied to X W_V W_O, shape (N, d): from right to left, without A (N, N)."""
    V = X @ W_V @ W_O
    U = B.T @ V
    return V + B @ (exponential @ U - U)


def orthogonal_attention(basis: Callable[[Any], Any]) -> Callable[..., Any]:
    """The layer through a basis of [Q, K], as a function of X and the weights, with alpha = 1."""

    def layer(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any) -> Any:
        B = basis(queries_and_keys(X, W_Q, W_K))
        return applied(B, expm(reduced_scores(B, X @ W_Q, X @ W_K, 1)), X, W_V, W_O)

    return layer


def naive_orthogonal_attention(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any) -> Any:
    """exp(S) X W_V W_O, shape (N, d), with S (N, N) formed (Eq. (5))."""
    return expm(scores(X @ W_Q, X @ W_K)) @ (X @ W_V @ W_O)


def scores(Q: Any, K: Any) -> Any:
    """S (N, N) with alpha = 1."""
    Q = Q * (1 / sqrt(Q.shape[1]))
    return Q @ K.T - K @ Q.T


def softmax_attention(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any) -> Any:
    """softmax(Q K^T / sqrt(d_v)) X W_V W_O, shape (N, d)."""
    return softmax(X @ W_Q @ (X @ W_K).T * (1 / sqrt(W_Q.shape[1]))) @ (X @ W_V @ W_O)


def _empty(*shape: int) -> Any:
    import torch

    return torch.empty(shape, device="meta", dtype=torch.float64)


def _of_layer(layer: Callable[..., Any], N: int, d: int) -> Count:
    """What a layer with one head does on N tokens of dimension d."""
    return count(layer, _empty(N, d), *(_empty(d, d) for _ in range(4)))


def _of_components(N: int, d: int) -> list[Count]:
    """What the rows of Table 1 do: QR, Newton-Schulz, [S], exp[S], and Eq. (6) applied to X W_V W_O."""
    M, Q, small, weights = _empty(N, 2 * d), _empty(N, d), _empty(2 * d, 2 * d), _empty(d, d)
    return [
        count(orthonormal_basis, M),
        count(newton_schulz, M),
        count(lambda B, Q, K: reduced_scores(B, Q, K, 1), M, Q, Q),
        count(expm, small),
        count(applied, M, small, Q, weights, weights),
    ]


COUNTED_LAYER = Claim(
    OSA,
    "osa.counted-layer",
    label="Section 2.4, the implementation that is counted",
    statement=r"\mathbf{V} + \mathbf{B}(\exp[\mathbf{S}]\,\mathbf{U} - \mathbf{U}) = \mathrm{OSA}(\mathbf{X}), \quad"
    r" \mathbf{V} = \mathbf{X}\mathbf{W}^V\mathbf{W}^O,\ \mathbf{U} = \mathbf{B}^\top\mathbf{V}",
    assumptions=[ORTHONORMAL, CONTAINS_QUERIES_AND_KEYS],
    relation=Equal(),
    sizes={"N": (2, 5), "d": (2, 4), "d_v": (1, 4), "r": (2, 5)},
    where=lambda sizes: sizes["r"] <= sizes["N"] and sizes["d_v"] <= sizes["d"],
    uses=("osa.thm-2.1-any-basis",),
    exact=True,
    of_project=True,
    note="Without it, a count of operations would say nothing about the layer.",
)


@COUNTED_LAYER.inputs
def tokens_and_weights(
    frame: Frame,
    C: Coordinates,
    W_Q: QueryWeights,
    W_K: KeyWeights,
    W_V: ValueWeights,
    W_O: OutputWeights,
    alpha: Alpha,
) -> Any:
    return {**tokens_with_wide_basis(frame, C, W_Q, W_K, alpha), "W_V": W_V, "W_O": W_O}


@COUNTED_LAYER.formula
def counted_layer(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_O: OutputWeights, alpha: Alpha, B: Basis
) -> Any:
    """OSA(X), shape (N, d), from the functions counted here, for B (N, r) whose span contains Q and K."""
    return applied(B, expm(reduced_scores(B, X @ W_Q, X @ W_K, alpha)), X, W_V, W_O)


COUNTED_LAYER.oracle(lambda X, W_Q, W_K, W_V, W_O, alpha: attention(X, W_Q, W_K, W_V, W_O, alpha))


@COUNTED_LAYER.mutant("U not subtracted")
def _(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, W_O: OutputWeights, alpha: Alpha, B: Basis
) -> Any:
    V = X @ W_V @ W_O
    return V + B @ (expm(reduced_scores(B, X @ W_Q, X @ W_K, alpha)) @ (B.T @ V))


COUNTED_LAYER.mutant("query and key exchanged", "W_Q -> W_K; W_K -> W_Q")


# -- the naive layer, and what Theorem 2.1 saves -----------------------------------------------------------------------

NAIVE_COST = Claim(
    OSA,
    "osa.naive-cost",
    label="Section 2.1, text",
    statement=r"\text{a naive implementation of OSA has computational complexity } O(N^3)\text{ due to the matrix exponential}",
    assumptions=["h = 1, so d_v = d"],
    relation=OrderOfGrowth(along=("N", "N d")),
    sizes={"N": (8, 12), "d": (2, 4)},
    where=lambda sizes: sizes["d"] <= sizes["N"],
    expects="reading",
    reading=f"the order in N for d <= N, where projections (N d^2) do not dominate; {FIXED_EXPONENTIAL}",
)


@NAIVE_COST.formula
def naive_cost(N: Length, d: Width) -> int:
    """N^3 (Section 2.1)."""
    return N**3


NAIVE_COST.part("cost", lambda N, d: _of_layer(naive_orthogonal_attention, N, d).operations)
NAIVE_COST.mutant("N^2", lambda N: N**2)
NAIVE_COST.mutant("N^2 d, as for softmax attention", lambda N, d: N**2 * d)


REDUCED_EXPONENTIAL_COST = Claim(
    OSA,
    "osa.thm-2.1-cost",
    label="Section 2.1, text after Theorem 2.1",
    statement=r"\text{computing } \exp(\mathbf{S}) \text{ reduces to computing } \exp[\mathbf{S}], \text{ with complexity }"
    r" O(r^3) \ll O(N^3)",
    assumptions=["r << N"],
    relation=OrderOfGrowth(along=("r", "N", "N r")),
    sizes={"N": (16, 20), "r": (2, 4)},
    uses=("osa.thm-2.1",),
    expects="reading",
    reading=f"the order of exp[S] alone, from [S] (r, r), whatever N; {FIXED_EXPONENTIAL}.  The products with B that Eq. (6)"
    " needs besides are counted in Section 2.4.",
)


@REDUCED_EXPONENTIAL_COST.formula
def reduced_exponential_cost(r: Rank) -> int:
    """r^3 (Section 2.1)."""
    return r**3


@REDUCED_EXPONENTIAL_COST.inputs
def length_and_rank(N: Length, r: Rank) -> Any:
    return {"N": N, "r": r}


REDUCED_EXPONENTIAL_COST.part("cost", lambda r: count(expm, _empty(r, r)).operations)
REDUCED_EXPONENTIAL_COST.mutant("r^2", lambda r: r**2)


@REDUCED_EXPONENTIAL_COST.mutant("r^3 / N")
def _(N: Length, r: Rank) -> Any:
    from fractions import Fraction

    return Fraction(r**3, N)


# -- the whole layer ---------------------------------------------------------------------------------------------------

COST = Claim(
    OSA,
    "osa.cost-osa",
    label="Section 2.4 and Abstract",
    statement=r"\text{computational complexity of OSA is } O(Nd^2 + d^3), \text{ linear in } N",
    assumptions=[SINGLE_HEAD, "a fixed number K of Newton-Schulz steps, or a QR"],
    relation=OrderOfGrowth(along=("N", "d", "N d", "N N d")),
    sizes={"N": (4, 9), "d": (2, 4)},
    uses=("osa.thm-2.1-any-basis", "osa.counted-layer"),
    expects="reading",
    reading=FIXED_EXPONENTIAL,
    note="For both bases, at N above and below 2d.  Reached only by products in the order of the formula: see"
    " osa.cost-eq-6-formed.",
)


def _both_bases(N: int, d: int) -> list[Count]:
    return [_of_layer(orthogonal_attention(basis), N, d) for basis in (orthonormal_basis, newton_schulz)]


@COST.formula
def cost_of_layer(N: Length, d: Width) -> list[int]:
    """N d^2 + d^3, for the QR basis and for Newton-Schulz (Section 2.4)."""
    return [N * d**2 + d**3] * 2


COST.part("cost", lambda N, d: [found.operations for found in _both_bases(N, d)])
COST.mutant("d^3 dropped", lambda N, d: [N * d**2] * 2)
COST.mutant("N d instead of N d^2", lambda N, d: [N * d + d**3] * 2)
COST.mutant("N d^2 dropped", lambda d: [d**3] * 2)


MEMORY = Claim(
    OSA,
    "osa.mem-osa",
    label="Section 2.4 and Abstract",
    statement=r"\text{memory cost of OSA is } O(Nd + d^2), \text{ linear in } N",
    assumptions=[SINGLE_HEAD, "no N x N matrix formed"],
    relation=OrderOfGrowth(along=("N", "d", "N d", "N N d")),
    sizes={"N": (4, 9), "d": (2, 4)},
    uses=("osa.counted-layer",),
    note="Entries alive at a time, for both bases.  Forming A by Eq. (6) before it is applied needs N^2: see"
    " osa.cost-eq-6-formed.",
)


@MEMORY.formula
def memory_of_layer(N: Length, d: Width) -> list[int]:
    """N d + d^2, for the QR basis and for Newton-Schulz (Section 2.4)."""
    return [N * d + d**2] * 2


MEMORY.part("cost", lambda N, d: [found.memory for found in _both_bases(N, d)])
MEMORY.mutant("d^2 dropped", lambda N, d: [N * d] * 2)
MEMORY.mutant("N + d^2", lambda N, d: [N + d**2] * 2)
MEMORY.mutant("d^2 alone", lambda d: [d**2] * 2)


FORMED = Claim(
    OSA,
    "osa.cost-eq-6-formed",
    label="Eqs. (6) and (7) with their N x N matrices formed",
    statement=r"\text{With } \mathbf{S} \text{ formed for } [\mathbf{S}] = \mathbf{B}^\top\mathbf{S}\mathbf{B} \text{ and }"
    r" \mathbf{A} \text{ by Eq. (6) before it is applied, OSA takes } O(N^2d + Nd^2 + d^3) \text{ operations and memory }"
    r" O(N^2 + Nd + d^2), \text{ and no less: quadratic in } N",
    assumptions=[SINGLE_HEAD],
    relation=OrderOfGrowth(along=("N", "d", "N d")),
    sizes={"N": (4, 9), "d": (2, 4)},
    of_project=True,
    expects="reading",
    reading=FIXED_EXPONENTIAL,
    note="The orders of Section 2.4, which are among the mutants, are those of the products taken from right to left.",
)


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
    found = _of_layer(orthogonal_attention_formed, N, d)
    return [found.operations, found.memory]


FORMED.mutant("operations N d^2 + d^3, as in Section 2.4", lambda N, d: [N * d**2 + d**3, N**2 + N * d + d**2])
FORMED.mutant("memory N d + d^2, as in Section 2.4", lambda N, d: [N**2 * d + N * d**2 + d**3, N * d + d**2])


SOFTMAX_COST = Claim(
    OSA,
    "osa.cost-ssa",
    label="Section 2.4",
    statement=r"\text{computational complexity of SSA is } O(N^2 d) \text{ and memory cost } O(N^2)",
    assumptions=["h = 1"],
    relation=OrderOfGrowth(along=("N", "N d")),
    sizes={"N": (4, 9), "d": (2, 4)},
    where=lambda sizes: sizes["d"] <= sizes["N"],
    expects="reading",
    reading="for d <= N, where the N x N matrix of scores dominates.  For d above N the projections take N d^2 operations"
    " and Q, K, V alone N d entries: see osa.cost-ssa-wide.",
)


@SOFTMAX_COST.formula
def cost_and_memory_of_softmax_attention(N: Length, d: Width) -> list[int]:
    """Operations N^2 d, and entries alive N^2 (Section 2.4)."""
    return [N**2 * d, N**2]


@SOFTMAX_COST.part("cost")
def counts_of_softmax_attention(N: int, d: int) -> list[int]:
    found = _of_layer(softmax_attention, N, d)
    return [found.operations, found.memory]


def _linear_in_length(claim: Claim) -> None:
    """What the contrast with OSA would lose: orders linear in N."""

    @claim.mutant("operations N d^2, linear in N")
    def _(N: Length, d: Width) -> list[int]:
        return [N * d**2, N**2 + N * d]

    @claim.mutant("memory N d, linear in N")
    def _(N: Length, d: Width) -> list[int]:
        return [N**2 * d + N * d**2, N * d]


_linear_in_length(SOFTMAX_COST)

SOFTMAX_COST_WIDE = Claim(
    OSA,
    "osa.cost-ssa-wide",
    label="Section 2.4, softmax attention at any width",
    statement=r"\text{SSA with its projections takes } O(N^2 d + Nd^2) \text{ operations and memory } O(N^2 + Nd)",
    assumptions=["h = 1"],
    relation=OrderOfGrowth(along=("N", "d", "N d")),
    sizes={"N": (4, 9), "d": (2, 4)},
    of_project=True,
    note="W^V W^O is applied from left to right, to the tokens first; multiplied with each other first they would take d^3.",
)


@SOFTMAX_COST_WIDE.formula
def cost_and_memory_of_wide_softmax_attention(N: Length, d: Width) -> list[int]:
    """Operations N^2 d + N d^2, and entries alive N^2 + N d."""
    return [N**2 * d + N * d**2, N**2 + N * d]


SOFTMAX_COST_WIDE.part("cost", lambda N, d: counts_of_softmax_attention(N, d))


_linear_in_length(SOFTMAX_COST_WIDE)


SOFTMAX_COST_WIDE.mutant("operations N^2 d, memory N^2, as printed for all d", lambda N, d: [N**2 * d, N**2])


# -- Table 1 -----------------------------------------------------------------------------------------------------------

TABLE_OPERATIONS = Claim(
    OSA,
    "osa.table-1-flops",
    label='Table 1, column "Complexity"',
    statement=r"\text{QR: } O(Nd^2);\ \text{Newton-Schulz: } O(Nd^2);\ [\mathbf{S}]: O(Nd^2+d^3);\ \exp[\mathbf{S}]: O(d^3);\ "
    r"\text{Eq. (6) and applying } \mathbf{X}\mathbf{W}^V\mathbf{W}^O: O(Nd^2+d^3)",
    assumptions=[SINGLE_HEAD, "K fixed"],
    relation=OrderOfGrowth(along=("N", "d", "N d")),
    sizes={"N": (4, 9), "d": (2, 4)},
    uses=("osa.counted-layer",),
    expects="reading",
    reading=FIXED_EXPONENTIAL,
)


@TABLE_OPERATIONS.formula
def operations_of_components(N: Length, d: Width) -> list[int]:
    """One row each for QR, Newton-Schulz, [S], exp[S], and Eq. (6) applied to X W_V W_O (Table 1)."""
    return [N * d**2, N * d**2, N * d**2 + d**3, d**3, N * d**2 + d**3]


TABLE_OPERATIONS.part("cost", lambda N, d: [found.operations for found in _of_components(N, d)])
TABLE_OPERATIONS.mutant("QR: N d", lambda N, d: [N * d, N * d**2, N * d**2 + d**3, d**3, N * d**2 + d**3])
TABLE_OPERATIONS.mutant("Newton-Schulz: N d", lambda N, d: [N * d**2, N * d, N * d**2 + d**3, d**3, N * d**2 + d**3])
TABLE_OPERATIONS.mutant("[S]: N d^2", lambda N, d: [N * d**2, N * d**2, N * d**2, d**3, N * d**2 + d**3])
TABLE_OPERATIONS.mutant("exp[S]: d^2", lambda N, d: [N * d**2, N * d**2, N * d**2 + d**3, d**2, N * d**2 + d**3])
TABLE_OPERATIONS.mutant("Eq. (6): N d^2", lambda N, d: [N * d**2, N * d**2, N * d**2 + d**3, d**3, N * d**2])


TABLE_MEMORY = Claim(
    OSA,
    "osa.table-1-memory",
    label='Table 1, column "Memory"',
    statement=r"\text{QR: } O(Nd);\ \text{Newton-Schulz: } O(Nd);\ [\mathbf{S}]: O(Nd);\ \exp[\mathbf{S}]: O(d^2);\ "
    r"\text{Eq. (6) and applying } \mathbf{X}\mathbf{W}^V\mathbf{W}^O: O(Nd)",
    assumptions=[SINGLE_HEAD],
    relation=OrderOfGrowth(along=("N", "N d")),
    sizes={"N": (4, 9), "d": (2, 4)},
    where=lambda sizes: 2 * sizes["d"] <= sizes["N"],
    expects="reading",
    reading="for 2d <= N, as Section 2.3 usually has it.  M_k^T M_k, [S] and B^T X W^V W^O have order d^2 entries, which N d"
    " does not bound while d outgrows N: see osa.table-1-memory-wide.",
)


@TABLE_MEMORY.formula
def memory_of_components(N: Length, d: Width) -> list[int]:
    """One row each for QR, Newton-Schulz, [S], exp[S], and Eq. (6) applied to X W_V W_O (Table 1)."""
    return [N * d, N * d, N * d, d**2, N * d]


@TABLE_MEMORY.part("cost")
def counted_memory_of_components(N: int, d: int) -> list[int]:
    return [found.memory for found in _of_components(N, d)]


TABLE_MEMORY.mutant("exp[S]: d", lambda N, d: [N * d, N * d, N * d, d, N * d])
TABLE_MEMORY.mutant("QR and Newton-Schulz: N", lambda N, d: [N, N, N * d, d**2, N * d])
TABLE_MEMORY.mutant("Eq. (6): d^2", lambda N, d: [N * d, N * d, N * d, d**2, d**2])


TABLE_MEMORY_WIDE = Claim(
    OSA,
    "osa.table-1-memory-wide",
    label='Table 1, column "Memory", at any width',
    statement=r"\text{QR: } O(Nd);\ \text{Newton-Schulz},\ [\mathbf{S}], \text{ Eq. (6) and applying }"
    r" \mathbf{X}\mathbf{W}^V\mathbf{W}^O: O(Nd + d^2);\ \exp[\mathbf{S}]: O(d^2), \text{ for } N \text{ and } d"
    r" \text{ in any proportion}",
    assumptions=[SINGLE_HEAD],
    relation=OrderOfGrowth(along=("N", "d", "N d")),
    sizes={"N": (4, 9), "d": (2, 4)},
    of_project=True,
    note="A reduced QR of an M with more columns than rows has factors (N, N) and (N, 2d), so its row needs no d^2.",
)


@TABLE_MEMORY_WIDE.formula
def memory_of_components_at_any_width(N: Length, d: Width) -> list[int]:
    """One row each for QR, Newton-Schulz, [S], exp[S], and Eq. (6) applied to X W_V W_O."""
    return [N * d, N * d + d**2, N * d + d**2, d**2, N * d + d**2]


TABLE_MEMORY_WIDE.part("cost", lambda N, d: counted_memory_of_components(N, d))
TABLE_MEMORY_WIDE.mutant(
    "Newton-Schulz: N d, as printed", lambda N, d: [N * d, N * d, N * d + d**2, d**2, N * d + d**2]
)
TABLE_MEMORY_WIDE.mutant("[S]: N d, as printed", lambda N, d: [N * d, N * d + d**2, N * d, d**2, N * d + d**2])
TABLE_MEMORY_WIDE.mutant("Eq. (6): N d, as printed", lambda N, d: [N * d, N * d + d**2, N * d + d**2, d**2, N * d])
