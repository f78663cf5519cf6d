"""Which part of the Hessian is definite (Section 1), and what Section 3 says in passing of rows of A and layout matrices."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import attention, row_softmax, shuffling_matrix
from theorems.hessian.part_3_structure.whole_hessian import (
    layer_of_column,
    all_jacobians_squared, full_functional_hessian, full_outer_product_hessian, paired_layer_twice_differentiated,
    stacked_weights,
)  # fmt: skip
from theorems.hessian.part_a_kronecker_products.products import Column as ColumnVector
from theorems.hessian.part_a_kronecker_products.products import OtherColumn, stacked
from theorems.hessian.part_d_query_key.spectra_and_ranks import rationals
from theorems.hessian.settings import KeyWeights, Labels, Logits, QueryWeights, Tokens, ValueWeights
from verify.matrix import (
    absolute, column, commutation_matrix, concatenate, exp, hadamard, kron, ones, rational, relu, softmax,
    vec_r,
)  # fmt: skip
from verify.oracles import hessian, jacobian
from verify.vocabulary import AtMost, Claim, Convention, Definition, Equal, Setting, Shape

LAYER = Definition(
    "F is classical self-attention, A X W_V with A = softmax(X W_Q W_K^T X^T / sqrt(d_K)), row-wise", by=attention
)
ALL_WEIGHTS = Setting(
    HESSIAN,
    "Section 1",
    assumptions=[LAYER, Definition("the weights are W_Q, W_K, W_V, in this order", by=stacked_weights)],
    sizes={"L": (1, 3), "d_V": (1, 2), "d_K": (1, 2)},
)
Gauge = Annotated[Any, Shape("d_K", "d_K")]
ValueDirection = Annotated[Any, Shape("d_V", "d_V")]

# -- 'positive-definite and indefinite parts' --------------------------------------------------------------------------

DEFINITE_PARTS = Claim(ALL_WEIGHTS, "hessian.sec1-definite-parts", label="Section 1, contribution (i)",
    statement=r"""\text{``We derive the Hessian of a single self-attention layer and exhibit the structure contained
        within its well-known positive-definite and indefinite parts (theorems 3.1 and 3.2)''}:\ w^\top H_ow > 0 \text{
        for every } w\ne0""",
    assumptions=[Definition("H_o = J^T (d^2 loss/dF^2) J with J = dF/d(W_Q, W_K, W_V), for the square loss", by=jacobian)],
    name="definiteness of the outer-product Hessian", relation=Equal(), batched=False, expects="refuted",
    severity="slip", correction="hessian.outer-product-semidefinite",
    uses=("hessian.thm-3.1-vv", "hessian.outer-product-semidefinite"),
    consequence="""The outer-product Hessian is singular at every point: Gauss-Newton steps and Cholesky factors of it
        need damping or a pseudoinverse (hessian.outer-product-semidefinite).""",
    note=r"""Positive semidefinite was meant, as Section 4.1 says of the diagonal blocks of $H_o$. Judged by the rank: a
        positive-definite matrix has the rank $n = 2d_Vd_K + d_V^2$, the number of weights. $H_o =
        \frac2{Ld_V}J^\top J$ has at most that of $J$, which has $Ld_V$ rows. More tokens do not help: for any $M$,
        moving $W_Q$ along $W_QM$ and $W_K$ along $-W_KM^\top$ leaves $F$ as it is to first order. That $H_f$ is
        indefinite is right wherever the block $H_f((W_Q, W_K), W_V)$ is not zero (hessian.functional-indefinite).""")  # fmt: skip


@DEFINITE_PARTS.formula
def rank_of_a_definite_matrix(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """The number of weights, the rank of a positive-definite H_o, shape (1, 1) (Section 1)."""
    d_V, d_K = W_Q.shape
    return column(2 * d_V * d_K + d_V * d_V)


@DEFINITE_PARTS.oracle
def rank_of_the_jacobian(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    J = jacobian(layer_of_column, "w")(stacked_weights(W_Q, W_K, W_V), X)
    return column(int(rationals(J).rank()))


DEFINITE_PARTS.mutant("query and key weights alone", "column(2 * d_V * d_K + d_V * d_V) -> column(2 * d_V * d_K)")
DEFINITE_PARTS.mutant("one more", "column(2 * d_V * d_K + d_V * d_V) -> column(2 * d_V * d_K + d_V * d_V + 1)")
DEFINITE_PARTS.counterexample(
    "two tokens 1 and 2 on a line, all weights 1: three weights, but two rows of J", X=[[1], [2]], W_Q=[[1]], W_K=[[1]],
    W_V=[[1]]
)  # fmt: skip

SEMIDEFINITE = Claim(ALL_WEIGHTS, "hessian.outer-product-semidefinite",
    label="Section 1, the outer-product Hessian is semidefinite and never definite",
    statement=r"""H_o = \frac{2}{Ld_V}J^\top J \text{ with } J = \frac{\partial F}{\partial(W_Q,W_K,W_V)}, \text{ so that
        } w^\top H_ow \ge 0 \text{ for all } w, \text{ and } H_o[W_QM;\,-W_KM^\top;\,0] = 0 \text{ for all }
        M\in\mathbb{R}^{d_K\times d_K}, \text{ a direction of } [W_Q;\,W_K;\,W_V]""",
    assumptions=[Definition("the loss is ||F - Y||_F^2 / (L d_V)", by=all_jacobians_squared)],
    name="null directions of the outer-product Hessian", relation=Equal(), exact=True, all_sizes=True,
    uses=("hessian.full-outer-product", "hessian.lem-D.2-null-vectors"), corrects="hessian.sec1-definite-parts",
    of_project=True,
    note=r"""The directions are not all zero unless $W_Q = W_K = 0$, where every direction of the two is a null
        direction. Where $W_Q$ and $W_K$ have full rank, they span $2d_Vd_K - \operatorname{rk}V$ dimensions
        (hessian.lem-D.2-rank-of-v).""")  # fmt: skip


@SEMIDEFINITE.formula
def outer_product_and_its_null_directions(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, M: Gauge
) -> Any:
    """H_o beside zeros, shape (n, n + 1) with n = 2 d_V d_K + d_V^2."""
    H = full_outer_product_hessian(X, W_Q, W_K, W_V)
    return concatenate([H, 0 * stacked(W_Q, W_K, W_V)], axis=1)


@SEMIDEFINITE.oracle
def gram_matrix_along_the_directions(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, M: Gauge) -> Any:
    H = all_jacobians_squared(X, W_Q, W_K, W_V)
    direction = stacked(W_Q @ M, -(W_K @ M.T), 0 * W_V)
    return concatenate([H, H @ direction], axis=1)


SEMIDEFINITE.mutant("not a null direction", "0 * stacked(W_Q, W_K, W_V) -> stacked(W_Q, W_K, W_V)")
SEMIDEFINITE.mutant("query and key weights exchanged",
    "full_outer_product_hessian(X, W_Q, W_K, W_V) -> full_outer_product_hessian(X, W_K, W_Q, W_V)")  # fmt: skip

INDEFINITE = Claim(ALL_WEIGHTS, "hessian.functional-indefinite",
    label="Section 1, where the functional Hessian is indefinite",
    statement=r"""(w_+^\top H_fw_+)(w_-^\top H_fw_-) \le -\tfrac{15}{4}t^2|g|^4 \text{ with } w_\pm = (\pm tg, v),\ g =
        H_f((W_Q,W_K),W_V)v,\ a = g^\top H_f((W_Q,W_K),(W_Q,W_K))g,\ t = \frac{|g|^2}{1 + a^2}, \text{ for all }
        v\in\mathbb{R}^{d_V^2}, \text{ the direction of } W_V""",
    assumptions=[
        Definition("the loss is ||F - Y||_F^2 / (L d_V)", by=paired_layer_twice_differentiated)
    ],
    name="both signs of the functional Hessian", relation=AtMost(signed=True), uses=("hessian.thm-3.2-vv",
        "hessian.full-functional"), of_project=True,
    note=r"""The quadratic form is $t^2a \pm 2t|g|^2$, as $H_f(W_V,W_V) = 0$, and $|ta| \le |g|^2/2$. So $H_f$ has
        eigenvalues of both signs wherever the mixed block is not zero, whatever the loss.""")  # fmt: skip


@INDEFINITE.formula
def bound_of_the_two_values(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels, D: ValueDirection
) -> Any:
    """-15/4 t^2 |g|^4, shape (1, 1)."""
    _, _, b, t = _along(full_functional_hessian(X, W_Q, W_K, W_V, Y), W_Q, D)
    return t * t * b * b * rational(-15, 4)


def _along(H: Any, W_Q: Any, D: Any) -> tuple[Any, Any, Any, Any]:
    """w_+ and w_- as columns, |g|^2 and t, each of shape (1, 1)."""
    n, v = 2 * W_Q.shape[0] * W_Q.shape[1], vec_r(D)
    g = H[:n, n:] @ v
    a, b = g.T @ H[:n, :n] @ g, g.T @ g
    t = b / (1 + a * a)
    return concatenate([g * t, v], axis=0), concatenate([g * (-t), v], axis=0), b, t


@INDEFINITE.oracle
def product_of_the_two_values(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels, D: ValueDirection
) -> Any:
    H = paired_layer_twice_differentiated(X, W_Q, W_K, W_V, Y)
    plus, minus, _, _ = _along(H, W_Q, D)
    return (plus.T @ H @ plus) @ (minus.T @ H @ minus)


INDEFINITE.mutant("one hundred times as far below zero", "rational(-15, 4) -> rational(-375)")
INDEFINITE.mutant("five times", "rational(-15, 4) -> rational(-75, 4)")

# -- rows of A ---------------------------------------------------------------------------------------------------------

ROWS = Claim(HESSIAN, "hessian.sec3.2-rows", label="Section 3.2, text",
    statement=r"""\text{``Each row of the self-attention matrix } A(X)\text{ is a normalized distribution over the input
        tokens''}:\ \sum_jA_{ij} = 1,\ A_{ij}\ge0""",
    assumptions=[Definition("A is the row-wise softmax of T", by=row_softmax)],
    name="rows of attention are distributions", relation=Equal(), all_sizes=True, sizes={"L": (1, 5)})  # fmt: skip


@ROWS.formula
def normalised_rows(T: Logits) -> Any:
    """Ones, and |A|, shape (L, L + 1) (Section 3.2)."""
    return concatenate([ones(T.shape[0], 1), absolute(row_softmax(T))], axis=1)


@ROWS.oracle
def attention_and_its_row_sums(T: Logits) -> Any:
    A = row_softmax(T)
    return concatenate([A @ ones(T.shape[0], 1), A], axis=1)


ROWS.mutant("exponentials that are not normalised",
    lambda T: concatenate([ones(T.shape[0], 1), exp(T)], axis=1))  # fmt: skip
ROWS.mutant("rows that sum to L", "ones(T.shape[0], 1) -> ones(T.shape[0], 1) * (T.shape[0] + 1)")

# -- the softmax is not piecewise linear -------------------------------------------------------------------------------

CURVED = Claim(HESSIAN, "hessian.sec1-softmax-curved", label="Section 1, text",
    statement=r"""\text{``Secondly, the softmax nonlinearity inside self-attention differs from the piece-wise linear
        activations, like ReLU''}:\ \frac{\partial^2a_j}{\partial t_j^2} = a_j(1-a_j)(1-2a_j),\
        \frac{\partial^2\operatorname{ReLU}(t_j)}{\partial t_j^2} = 0""",
    assumptions=[
        Definition("a is the softmax of the row t", by=softmax),
        Convention("relu'(0) = 0", by=relu),
    ],
    name="second derivatives of softmax and ReLU", relation=Equal(), sizes={"L": (1, 4)},
    uses=("hessian.lem-C.1-entry",),
    note=r"""For two tokens and more $0 < a_j < 1$, so that the second derivative of the softmax is zero only where
        $a_j = 1/2$: on no open set.""")  # fmt: skip


@CURVED.formula
def own_second_derivatives(T: Logits) -> Any:
    """a_j (1 - a_j)(1 - 2 a_j) for the first row of T, on top of zeros, shape (2 L, 1) (Section 1)."""
    a = softmax(T[:1]).T
    return concatenate([a * (1 - a) * (1 - 2 * a), 0 * a], axis=0)


def _rectified(T: Any) -> Any:
    return relu(T)


@CURVED.oracle
def own_second_derivatives_by_differentiation(T: Logits) -> Any:
    t, L = T[:1], T.shape[1]
    found = []
    for activation in (row_softmax, _rectified):
        H = hessian(activation, ("T", "T"))(t)
        found += [H[L * j + j : L * j + j + 1, j : j + 1] for j in range(L)]
    return concatenate(found, axis=0)


CURVED.mutant("1 - a_j in the place of 1 - 2 a_j", "2 -> 1")
CURVED.mutant("piecewise linear: no curvature", "a * (1 - a) * (1 - 2 * a) -> 0 * a")

# -- layout matrices ---------------------------------------------------------------------------------------------------

LAYOUT_MATRICES = Claim(HESSIAN, "hessian.sec3-layout-matrices", label="Section 3, categorizing the terms",
    statement=r"""\text{``the least important are layout matrices that copy or shuffle entries via Kronecker products with
        an identity or permutation matrix''}:\ K_{m,n} \text{ and } S \text{ have entries 0 and 1},\ K_{m,n}^\top
        K_{m,n} = I,\ S^\top S = d_VI""",
    assumptions=[Definition("K_{m,n} is the commutation matrix, S that of Theorem 3.2", by=(commutation_matrix,
        shuffling_matrix))],
    name="layout matrices copy and permute", relation=Equal(), all_sizes=True, sizes={"m": (1, 3), "n": (1, 3)}, exact=True,
    uses=("hessian.eq-18", "hessian.thm-3.2-sizes"),
    note=r"""With $d_V = m$. An entry $x$ is 0 or 1 exactly if $x^2 = x$. $K$ permutes; $S$ writes each of the $d_V$
        entries of a vector to $d_V$ places, and zeros elsewhere. Matrices are applied to arbitrary vectors.""",
)  # fmt: skip


@LAYOUT_MATRICES.formula
def copied_entries(a: ColumnVector, b: OtherColumn) -> Any:
    """K c, c, S a, d_V a for c = b (x) a, all in one column (Section 3)."""
    d, c = a.shape[0], kron(b, a)
    K, S = commutation_matrix(a.shape[0], b.shape[0]), shuffling_matrix(d)
    return concatenate([K @ c, c, S @ a, a * d], axis=0)


@LAYOUT_MATRICES.oracle
def squares_of_entries_and_gram_matrices(a: ColumnVector, b: OtherColumn) -> Any:
    c = kron(b, a)
    K, S = commutation_matrix(a.shape[0], b.shape[0]), shuffling_matrix(a.shape[0])
    return concatenate([hadamard(K, K) @ c, K.T @ (K @ c), hadamard(S, S) @ a, S.T @ (S @ a)], axis=0)


LAYOUT_MATRICES.mutant("entries doubled", "K @ c -> 2 * K @ c")
LAYOUT_MATRICES.mutant("each entry copied once", "a * d -> a * 1 + 0 * d")
