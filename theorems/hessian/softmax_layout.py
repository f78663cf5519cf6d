"""Where the second derivatives of the row softmax stand, and how they are found: Lemma C.1 and its proof."""

from __future__ import annotations

from typing import Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import Logits, row_softmax
from theorems.hessian.moments import SOFTMAX, entry_hessian, row
from theorems.hessian.softmax import Row
from verify.matrix import basis_vector, block_diag, concatenate, diag, khatri_rao, kron, ones, softmax
from verify.oracles import hessian, jacobian
from verify.vocabulary import Claim, Equal

Matrix = Any

LEMMA_C1_STRUCTURE = Claim(
    HESSIAN,
    "hessian.lem-C.1-structure",
    label="Lemma C.1, structure and eq. (23)",
    statement=r"\frac{\partial^2 A}{\partial T\partial T} = \operatorname{blockdiag} D_i \in \mathbb{R}^{L^4\times L^2},\ D_i"
    r" = \begin{bmatrix}D_{i,1}\\ \vdots\\ D_{i,L}\end{bmatrix} \in \mathbb{R}^{L^3\times L},\ D_{i,j} = e_i\otimes"
    r"\frac{\partial^2 A_{i,j}}{\partial T_{i,:}\partial T_{i,:}};\ D_i = \Big((\mathbb{1}_{L,1}\otimes e_i) *"
    r"\frac{\partial^2 A_{i,:}}{\partial T_{i,:}\partial T_{i,:}}\Big)",
    assumptions=[SOFTMAX, "second derivatives in the layout of Eq. (4)"],
    relation=Equal(),
    sizes={"L": (1, 3)},
    uses=("hessian.lem-C.1-entry", "hessian.eq-4-layout"),
    doubt="The lemma writes d^2F/dT dT for the second derivative of the softmax; its proof says that A is differentiated.",
    proof=("hessian.lem-C.1-proof", "hessian.lem-C.1-proof-columns"),
    exact=True,
)


def _both_forms(T: Matrix, unit: Any, product: Any = kron) -> Matrix:
    """blockdiag D_i from the D_{i,j} on top of that from Eq. (23); `unit(i, j)` is the index of the unit vector."""
    A, L = softmax(T), T.shape[0]
    stacks, products = [], []
    for i in range(L):
        curved = [entry_hessian(row(A, i), j) for j in range(L)]
        stacks.append(concatenate([product(basis_vector(L, unit(i, j)), curved[j]) for j in range(L)], axis=0))
        units = kron(ones(L, 1), basis_vector(L, unit(i, 0)))
        products.append(khatri_rao([units[j * L : (j + 1) * L] for j in range(L)], curved))
    return concatenate([block_diag(stacks), block_diag(products)], axis=0)


@LEMMA_C1_STRUCTURE.formula
def second_softmax_derivative_by_blocks(T: Logits) -> Any:
    """blockdiag D_i in both forms, shape (2 L^4, L^2) (Lemma C.1)."""
    return _both_forms(T, unit=lambda i, j: i)


LEMMA_C1_STRUCTURE.oracle(lambda T: concatenate([hessian(row_softmax, ("T", "T"))(T)] * 2, axis=0))
LEMMA_C1_STRUCTURE.mutant("e_j instead of e_i in D_{i,j}", unit=lambda i, j: j)
LEMMA_C1_STRUCTURE.mutant("Hessian (x) e_i instead of e_i (x) Hessian", product=lambda e, H: kron(H, e))


LEMMA_C1_PROOF = Claim(
    HESSIAN,
    "hessian.lem-C.1-proof",
    label="Proof of Lemma C.1, first and second derivative steps",
    statement=r"\frac{\partial A_{i,j}}{\partial T_{i,:}} = (e_j - A_{i,:})^\top A_{i,j};\quad \frac{\partial^2 A_{i,j}}"
    r"{\partial T_{i,:}\partial T_{i,:}} = -\frac{\partial A_{i,:}}{\partial T_{i,:}}A_{i,j} + (e_j - A_{i,:})"
    r"\frac{\partial A_{i,j}}{\partial T_{i,:}} = -(\operatorname{diag}(A_{i,:}) - A_{i,:}A_{i,:}^\top)A_{i,j} +"
    r" (e_j - A_{i,:})(e_j - A_{i,:})^\top A_{i,j}",
    assumptions=[SOFTMAX],
    relation=Equal(),
    sizes={"L": (1, 5)},
    uses=("hessian.lem-B.1",),
    exact=True,
)


def _steps(t: Matrix, first: Any, sign: int = 1) -> Matrix:
    """`first(a, e_j, a_j)` for every j, then both forms of the second derivatives for every j."""
    a, L = softmax(t).T, t.shape[1]
    units = [basis_vector(L, j) for j in range(L)]
    slopes = [first(a, units[j], a[j, 0]) for j in range(L)]
    slope = concatenate(slopes, axis=0)
    chained = [(units[j] - a) @ slopes[j] * sign - slope * a[j, 0] for j in range(L)]
    plugged = [((units[j] - a) @ (units[j] - a).T - (diag(a) - a @ a.T)) * a[j, 0] for j in range(L)]
    return concatenate([*slopes, *chained, *plugged], axis=0)


@LEMMA_C1_PROOF.formula
def derivative_steps(t: Row) -> Any:
    """First derivatives, then both forms of the second, for a row t of shape (1, L); shape (L + 2 L^2, L)."""
    return _steps(t, first=lambda a, e, a_j: (e - a).T * a_j)


@LEMMA_C1_PROOF.oracle
def derivatives_of_the_row(t: Row) -> Any:
    second = hessian(row_softmax, ("T", "T"))(t)
    return concatenate([jacobian(row_softmax, "T")(t), second, second], axis=0)


LEMMA_C1_PROOF.mutant("first derivative with the wrong sign", first=lambda a, e, a_j: (a - e).T * a_j)
LEMMA_C1_PROOF.mutant("product rule with the wrong sign", sign=-1)
LEMMA_C1_PROOF.mutant("A_{i,:} missing in the first derivative", first=lambda a, e, a_j: e.T * a_j)
