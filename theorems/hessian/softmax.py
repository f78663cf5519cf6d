"""Derivatives of the row softmax and the moments they turn into: Lemma C.1 and Remark 3.1."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import SIZES, Z_1, Logits, Tokens, row_softmax, second_central_moments
from verify.claims import Claim
from verify.derivatives import hessian
from verify.matrix import basis_vector, concatenate, diag, khatri_rao, softmax
from verify.relations import Equal
from verify.shapes import Shape

Row = Annotated[Any, Shape("1", "L", role="query")]

LEMMA_C1_ENTRY = Claim(
    HESSIAN,
    "hessian.lem-C.1-entry",
    label="Lemma C.1, single-entry second derivative",
    statement=r"\frac{\partial^2 A_{i,j}}{\partial T_{i,:}\partial T_{i,:}} = A_{i,j}\big(2A_{i,:}A_{i,:}^\top"
    r" + E_{j,j}^{L,L} - \operatorname{diag}(A_{i,:}) - e_j A_{i,:}^\top - A_{i,:}e_j^\top\big) \in \mathbb{R}^{L\times L}",
    assumptions=["A is the row-wise softmax of T"],
    relation=Equal(),
    sizes={"L": (1, 5)},
    exact=True,
)


def _entry_hessians(t: Any, curvature: Any) -> Any:
    """`curvature(a, j)` for the softmax row a (L, 1) of t and every j, stacked to shape (L^2, L)."""
    a = softmax(t).T
    return concatenate([curvature(a, j, basis_vector(t.shape[1], j)) for j in range(t.shape[1])], axis=0)


@LEMMA_C1_ENTRY.formula
def softmax_entry_hessians(t: Row) -> Any:
    """Hessians of the entries of softmax(t), t of shape (1, L), stacked to shape (L^2, L) (Lemma C.1)."""
    return _entry_hessians(t, lambda a, j, e: (2 * (a @ a.T) + e @ e.T - diag(a) - e @ a.T - a @ e.T) * a[j, 0])


LEMMA_C1_ENTRY.oracle(lambda t: hessian(row_softmax, ("T", "T"))(t))
LEMMA_C1_ENTRY.mutant("rank-one term without its factor 2", "2 -> 1")
LEMMA_C1_ENTRY.mutant("one mixed term dropped", "a @ e.T -> 0")
LEMMA_C1_ENTRY.mutant(
    "diagonal with the wrong sign",
    curvature=lambda a, j, e: (2 * (a @ a.T) + e @ e.T + diag(a) - e @ a.T - a @ e.T) * a[j, 0],
)

REMARK_31_Z1 = Claim(
    HESSIAN,
    "hessian.rem-3.1-z1",
    label="Remark 3.1, Z_1",
    statement=r"Z_1 = X * M_2, \text{ with } * \text{ the Khatri-Rao product of } X \text{ split row-wise}"
    r" \text{ and } M_2 \text{ split block-row-wise}",
    assumptions=["A is the row-wise softmax of T", "M_2 holds the second central moments of Definition 3.1"],
    relation=Equal(),
    sizes={"L": SIZES["L"], "d_V": SIZES["d_V"]},
    exact=True,
)


@REMARK_31_Z1.formula
def Z_1_by_moments(X: Tokens, T: Logits) -> Any:
    """X * M_2, shape (L d_V, d_V^2) (Remark 3.1)."""
    tokens, M_2 = [X[i : i + 1] for i in range(X.shape[0])], second_central_moments(softmax(T), X)
    return khatri_rao(tokens, M_2)


REMARK_31_Z1.oracle(lambda X, T: Z_1(softmax(T), X))
REMARK_31_Z1.mutant("moments not centred", "M_2 -> [X.T @ diag(a) @ X for a in softmax(T)]")
REMARK_31_Z1.mutant("factors of the Kronecker products exchanged", "tokens -> M_2; M_2 -> tokens")
REMARK_31_Z1.mutant("attention transposed", "T -> T.T")
