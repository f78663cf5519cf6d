"""Second derivatives of the row softmax and where they stand: Lemma C.1 with Eq. (23), and its proof.

`entry_hessian` is the Hessian of one entry.  Of two sentences on the non-zero columns, one is misprinted.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import row_softmax, softmax_second_derivative
from theorems.hessian.part_3_structure.moments import row
from theorems.hessian.settings import LAYOUT, ROW_SOFTMAX, SOFTMAX_OF_T, Logits, Tokens, ValueWeights
from verify.matrix import (
    basis_matrix, basis_vector, block_diag, column, concatenate, diag, each, eye, khatri_rao, kron, mapped, parts, softmax,
    zeros,
)  # fmt: skip
from verify.oracles import hessian, jacobian
from verify.vocabulary import Claim, Convention, Definition, Equal, Setting, Shape, checked

Row = Annotated[Any, Shape("1", "L", role="query")]

LEMMA_C1_ENTRY = Claim(SOFTMAX_OF_T, "hessian.lem-C.1-entry", label="Lemma C.1, single-entry second derivative",
    statement=r"""
        \frac{\partial^2 A_{i,j}}{\partial T_{i,:}\partial T_{i,:}} = A_{i,j}\big(2A_{i,:}A_{i,:}^\top + E_{j,j}^{L,L} -
        \operatorname{diag}(A_{i,:}) - e_j A_{i,:}^\top - A_{i,:}e_j^\top\big) \in \mathbb{R}^{L\times L}""",
    name="second derivative of a softmax entry", relation=Equal(), all_sizes=True, sizes={"L": (1, 5)})  # fmt: skip


@LEMMA_C1_ENTRY.formula
def softmax_entry_hessians(t: Row) -> Any:
    """Hessians of the entries of softmax(t), t of shape (1, L), stacked to shape (L^2, L) (Lemma C.1)."""
    a, L = softmax(t).T, t.shape[1]

    def of_entry(j: int) -> Any:
        e = basis_vector(L, j)
        return (2 * (a @ a.T) + e @ e.T - diag(a) - e @ a.T - a @ e.T) * a[j, 0]

    return concatenate(each(L, of_entry), axis=0)


LEMMA_C1_ENTRY.oracle(lambda t: hessian(row_softmax, ("T", "T"))(t))
LEMMA_C1_ENTRY.mutant("rank-one term without its factor 2", "2 -> 1")
LEMMA_C1_ENTRY.mutant("one mixed term dropped", "a @ e.T -> 0")
LEMMA_C1_ENTRY.mutant("diagonal with the wrong sign", "diag(a) -> -diag(a)")


def entry_hessian(a: Any, j: int) -> Any:
    """d^2A_ij/dT_i dT_i for the row a of A, shape (L, L) (Lemma C.1)."""
    L = a.shape[0]
    e = basis_vector(L, j)
    return (2 * (a @ a.T) + basis_matrix(L, L, j, j) - diag(a) - e @ a.T - a @ e.T) * a[j, 0]


LEMMA_C1_STRUCTURE = Claim(SOFTMAX_OF_T, "hessian.lem-C.1-structure", label="Lemma C.1, structure and eq. (23)",
    statement=r"""\frac{\partial^2 F}{\partial T\partial T} = \operatorname{blockdiag} D_i \in \mathbb{R}^{L^4\times
        L^2},\ D_i = \begin{bmatrix}D_{i,1}\\ \vdots\\ D_{i,L}\end{bmatrix} \in \mathbb{R}^{L^3\times L},\ D_{i,j} =
        e_i\otimes\frac{\partial^2 A_{i,j}}{\partial T_{i,:}\partial T_{i,:}};\quad \frac{\partial^2 A_{i,:}}{\partial
        T_{i,:}\partial T_{i,:}} = \Big[\frac{\partial^2 A_{i,1}}{\partial T_{i,:}\partial
        T_{i,:}},\dots,\frac{\partial^2 A_{i,L}}{\partial T_{i,:}\partial T_{i,:}}\Big]^\top,\ D_i =
        \Big((\mathbb{1}_{L,1}\otimes e_i) *\frac{\partial^2 A_{i,:}}{\partial T_{i,:}\partial T_{i,:}}\Big)""",
    assumptions=[
        Convention("second derivatives in the layout of Eq. (4)", by=hessian),
        Definition("F = A X W_V is the layer, L x d_V, which the symbol F denotes throughout", by=softmax),
    ],
    name="block structure of second softmax derivatives", relation=Equal(), sizes={"L": (1, 3), "d_V": (1, 3)},
    expects="refuted", severity="slip", correction="hessian.lem-C.1-structure-corrected",
    proof=("hessian.lem-C.1-proof", "hessian.lem-C.1-proof-columns"),
    consequence=r"""Read $A$ for $F$: the matrix is $\partial^2A/\partial T\partial T$, and the layer's own second
        derivative has other sizes (hessian.lem-C.1-structure-corrected).""",
    note=r"""$F$ stands for $A$, here, in Remark C.1 and in the proof. Judged by size: $\partial^2F/\partial T\partial
        T$ has $Ld_VL^2$ rows, not $L^4$, unless $d_V = L$. The words 'second derivative of the row-wise softmax' and
        the proof, which differentiates $A$, show what was meant.""")  # fmt: skip


@LEMMA_C1_STRUCTURE.formula
def printed_size_of_the_second_derivative(X: Tokens, T: Logits, W_V: ValueWeights) -> Any:
    """Rows and columns of blockdiag D_i, shape (2, 1) (Lemma C.1)."""
    return column(T.shape[0] ** 4, T.shape[0] ** 2)


def layer_of_logits(T: Any, X: Any, W_V: Any) -> Any:
    """F as a function of T."""
    return softmax(T) @ X @ W_V


LEMMA_C1_STRUCTURE.oracle(lambda X, T, W_V: column(*hessian(layer_of_logits, ("T", "T"))(T, X, W_V).shape))
LEMMA_C1_STRUCTURE.mutant("L^3 x L, the size of one D_i", "4 -> 3; 2 -> 1")
LEMMA_C1_STRUCTURE.mutant("L^4 x L", "2 -> 1")
LEMMA_C1_STRUCTURE.counterexample(
    "one token in the plane: d^2F/dT dT is 2 x 1, not 1 x 1", X=[[1, 1]], T=[[0]], W_V=[[1, 0], [0, 1]]
)

LEMMA_C1_STRUCTURE_CORRECTED = Claim(SOFTMAX_OF_T, "hessian.lem-C.1-structure-corrected",
    label="Lemma C.1, structure and eq. (23), of A", name="block structure of second softmax derivatives, corrected",
    statement=r"""\frac{\partial^2 A}{\partial T\partial T} = \operatorname{blockdiag} D_i \in \mathbb{R}^{L^4\times
        L^2},\ D_i = \begin{bmatrix}D_{i,1}\\ \vdots\\ D_{i,L}\end{bmatrix} \in \mathbb{R}^{L^3\times L},\ D_{i,j} =
        e_i\otimes\frac{\partial^2 A_{i,j}}{\partial T_{i,:}\partial T_{i,:}};\ D_i = (\mathbb{1}_{L,1}\otimes e_i)
        *\frac{\partial^2 A_{i,:}}{\partial T_{i,:}\partial T_{i,:}}, \text{ the last being the } \frac{\partial^2
        A_{i,j}}{\partial T_{i,:}\partial T_{i,:}} \text{ of Lemma C.1, one under the other for } j = 1,\dots,L""",
    assumptions=[Convention("second derivatives in the layout of Eq. (4)", by=hessian)],
    relation=Equal(), all_sizes=True, sizes=("L",), uses=("hessian.lem-C.1-entry", "hessian.eq-4-layout"),
    corrects="hessian.lem-C.1-structure", of_project=True)  # fmt: skip


def _both_forms(T: Any, unit: Any, product: Any = kron) -> Any:
    """blockdiag D_i from the D_{i,j} on top of that from Eq. (23); `unit(i, j)` is the index of the unit vector."""
    A, L = softmax(T), T.shape[0]

    def stack(i: Any) -> Any:
        return concatenate(each(L, lambda j: product(basis_vector(L, unit(i, j)), entry_hessian(row(A, i), j))), axis=0)

    def khatri_rao_product(i: Any) -> Any:
        units = each(L, lambda j: basis_vector(L, unit(i, 0)))
        return khatri_rao(units, each(L, lambda j: entry_hessian(row(A, i), j)))

    return concatenate([block_diag(each(L, stack)), block_diag(each(L, khatri_rao_product))], axis=0)


@LEMMA_C1_STRUCTURE_CORRECTED.formula
def second_softmax_derivative_by_blocks(T: Logits) -> Any:
    """blockdiag D_i in both forms, shape (2 L^4, L^2) (Lemma C.1)."""
    return _both_forms(T, unit=lambda i, j: i)


LEMMA_C1_STRUCTURE_CORRECTED.oracle(lambda T: concatenate([hessian(row_softmax, ("T", "T"))(T)] * 2, axis=0))
LEMMA_C1_STRUCTURE_CORRECTED.mutant("e_j instead of e_i in D_{i,j}", unit=lambda i, j: j)
LEMMA_C1_STRUCTURE_CORRECTED.mutant("Hessian (x) e_i instead of e_i (x) Hessian", product=lambda e, H: kron(H, e))

LEMMA_C1_PROOF = Claim(SOFTMAX_OF_T, "hessian.lem-C.1-proof",
    label="Proof of Lemma C.1, first and second derivative steps", name="second derivative of a softmax entry, steps",
    statement=r"""\frac{\partial A_{i,j}}{\partial T_{i,:}} = (e_j - A_{i,:})^\top A_{i,j};\quad \frac{\partial^2
        A_{i,j}}{\partial T_{i,:}\partial T_{i,:}} = -\frac{\partial A_{i,:}}{\partial T_{i,:}}A_{i,j} + (e_j -
        A_{i,:})\frac{\partial A_{i,j}}{\partial T_{i,:}} = -(\operatorname{diag}(A_{i,:}) - A_{i,:}A_{i,:}^\top)A_{i,j}
        + (e_j - A_{i,:})(e_j - A_{i,:})^\top A_{i,j}""",
    relation=Equal(), all_sizes=True, sizes={"L": (1, 5)}, uses=("hessian.lem-B.1",))  # fmt: skip


@LEMMA_C1_PROOF.formula
def derivative_steps(t: Row) -> Any:
    """First derivatives, then both forms of the second, for a row t of shape (1, L); shape (L + 2 L^2, L)."""
    a, L = softmax(t).T, t.shape[1]
    units = each(L, lambda j: basis_vector(L, j))
    first = each(L, lambda j: (basis_vector(L, j) - a).T * a[j, 0])
    slope = concatenate(first, axis=0)
    chained = each(L, lambda j: (units[j] - a) @ first[j] - slope * a[j, 0])
    plugged = each(L, lambda j: ((units[j] - a) @ (units[j] - a).T - (diag(a) - a @ a.T)) * a[j, 0])
    return concatenate([first, chained, plugged], axis=0)


@LEMMA_C1_PROOF.oracle
def derivatives_of_the_row(t: Row) -> Any:
    second = hessian(row_softmax, ("T", "T"))(t)
    return concatenate([jacobian(row_softmax, "T")(t), second, second], axis=0)


LEMMA_C1_PROOF.mutant("first derivative with the wrong sign", "basis_vector(L, j) - a -> a - basis_vector(L, j)")
LEMMA_C1_PROOF.mutant("product rule with the wrong sign", "units[j] - a -> a - units[j]")
LEMMA_C1_PROOF.mutant("A_{i,:} missing in the first derivative", "basis_vector(L, j) - a -> basis_vector(L, j)")

# -- columns of the stacked Hessians -----------------------------------------------------------------------------------

FROM_ONE = Setting(HESSIAN, "proof of Lemma C.1", assumptions=[ROW_SOFTMAX, LAYOUT], exact=True)


def _kept(T: Any, first: Any) -> Any:
    """The stacked Hessians with all columns set to zero but L of them from `first(i, L)` on, for i and columns from 1."""
    L, stack = T.shape[0], softmax_second_derivative(softmax(T))
    parts = []
    for i in range(1, L + 1):
        rows = stack[(i - 1) * L**3 : i * L**3]
        start = max(first(i, L) - 1, 0)
        start, end = min(start, L * L), min(max(first(i, L) - 1 + L, 0), L * L)
        pieces = [zeros(L**3, start), rows[:, start:end], zeros(L**3, L * L - end)]
        parts.append(concatenate([piece + 0 * rows[:1, :1] for piece in pieces if piece.shape[1]], axis=1))
    return concatenate(parts, axis=0)


COLUMNS = Claim(FROM_ONE, "hessian.lem-C.1-proof-columns",
    label="Proof of Lemma C.1, block-diagonal structure paragraph", name="columns of the stacked softmax Hessians",
    statement=r"""\text{``For any integer } i\text{ such that } 1\le i\le L\text{ when } (i-1)L+1\le J\le iL\text{ we
        have possible non-zero values only in columns } iL\text{ to } (i+1)L-1\text{ inclusive''; ``the whole such block
        corresponding to } A_{i,:}\text{ has possible non-zero entries only in columns from } (i-1)L+1\text{ to }
        iL\text{ inclusive''}""",
    assumptions=[Convention("indices from 1", by=_kept)],
    relation=Equal(), sizes={"L": (2, 3)}, expects="refuted", severity="slip",
    correction="hessian.lem-C.1-proof-columns-corrected",
    note="""The two sentences contradict each other: the second one, $(i-1)L+1$ to $iL$, is right. For $i = L$ the first
        names columns beyond $L^2$. Counted from 0, with $i$ from 0, it would be right.""")  # fmt: skip


@COLUMNS.formula
def hessians_in_the_printed_columns(T: Logits) -> Any:
    """d^2A/dT^2 with everything outside columns iL to (i+1)L-1 set to zero, shape (L^4, L^2) (proof of Lemma C.1)."""
    return _kept(T, lambda i, L: i * L)


COLUMNS.oracle(lambda T: hessian(softmax, ("T", "T"))(T))
COLUMNS.mutant("one block to the right", first=lambda i, L: i * L + 1)
COLUMNS.mutant("the second sentence", first=lambda i, L: (i - 1) * L + 1)
COLUMNS.counterexample(
    "two tokens, rows (1, 0) and (0, 0): the Hessian of A_11 has a non-zero entry in column 1", T=[[1, 0], [0, 0]]
)


@checked
def hessians_in_their_columns(T: Logits) -> Any:
    """d^2A/dT^2 with everything outside columns (i-1)L+1 to iL set to zero, shape (L^4, L^2)."""
    L = T.shape[0]
    blocks = parts(softmax_second_derivative(softmax(T)), L, 0)
    kept = each(L, lambda i: kron(basis_vector(L, i) @ basis_vector(L, i).T, eye(L)))
    return concatenate(mapped(lambda block, columns: block @ columns, blocks, kept), axis=0)


COLUMNS_CORRECTED = COLUMNS.corrected("hessian.lem-C.1-proof-columns-corrected",
    label="Proof of Lemma C.1, columns of the stacked Hessians",
    statement=r"""\text{for } (i-1)L+1\le J\le iL \text{ the Hessian number } J \text{ vanishes outside columns and rows
        } (i-1)L+1\text{ to } iL""", name="columns of the stacked softmax Hessians, corrected",
    assumptions=[Convention("indices from 1, where the code counts from 0", by=hessians_in_their_columns)],
    all_sizes=True, sizes={"L": (1, 4)}, uses=("hessian.lem-C.1-structure-corrected",))  # fmt: skip


COLUMNS_CORRECTED.formula(hessians_in_their_columns)
COLUMNS_CORRECTED.mutant("the first sentence", hessians_in_the_printed_columns)
COLUMNS_CORRECTED.mutant("the first column of each L", "eye(L) -> basis_vector(L, 0) @ basis_vector(L, 0).T")
