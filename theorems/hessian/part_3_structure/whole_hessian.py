"""The whole Hessian over (W_Q, W_K, W_V): every block of Eq. (3) from attention moments, their sum and their symmetry.

Also the mixed query-key block of the loss from Theorems 3.1 and 3.2, and batches and last layers (footnotes 1 and 2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from theorems.hessian.definitions import (
    attention, attention_matrix, first_moment, loss_hessian, second_central_moments, square_loss, third_central_moments,
)  # fmt: skip
from theorems.hessian.part_3_structure.functional import (
    functional_hessian_key, functional_hessian_query, functional_hessian_query_key, functional_hessian_value_key,
    functional_hessian_value_query,
)  # fmt: skip
from theorems.hessian.part_3_structure.outer_product import (
    outer_product_hessian_key, outer_product_hessian_query, outer_product_hessian_query_key,
    outer_product_hessian_value, outer_product_hessian_value_key, outer_product_hessian_value_query,
)  # fmt: skip
from theorems.hessian.part_a_kronecker_products.products import stacked
from theorems.hessian.settings import (
    ATTENTION_LOSS, CLOSED_FORMS, KeyWeights, Labels, QueryWeights, Tokens, ValueWeights, loss_normalisation,
)  # fmt: skip
from verify.matrix import commutation_matrix, concatenate, eye, kron, rational, sqrt, summed, total, vec_r, zeros
from verify.oracles import hessian, jacobian
from verify.vocabulary import Claim, Definition, Equal, HasStructure

Blocks = dict[tuple[str, str], Any]
#: The order of the blocks in Eq. (3).
WEIGHTS = ("Q", "K", "V")
#: Sizes at which the whole Hessian, of 2 d_V d_K + d_V^2 rows, is checked.


# -- the blocks as functions of the moments ----------------------------------------------------------------------------


def logit_factors(W_Q: Any, W_K: Any) -> dict[str, Any]:
    """d vec_r(W_Q W_K^T) in W_Q, I (x) W_K, and in W_K, (W_Q (x) I) K_{d_K,d_V}; each of shape (d_V^2, d_V d_K)."""
    d_V, d_K = W_Q.shape
    return {"Q": kron(eye(d_V), W_K), "K": kron(W_Q, eye(d_V)) @ commutation_matrix(d_K, d_V)}


def _rows_of(A: Any) -> Callable[[int], Any]:
    """Row i of A as a matrix with one row."""
    return lambda i: A[i : i + 1]


def outer_product_blocks(M_1: Any, M_2: list[Any], X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Blocks:
    """The blocks of H_o on and below the diagonal of Eq. (3), from the first two attention moments.

    With x_i, m_i, C_i the tokens, means and covariances of the L rows of attention: H_o(V,V) is made of m_i m_i^T,
    H_o(V,Q) of m_i x_i^T (x) W_V^T C_i, and the query-key blocks of x_i x_i^T (x) C_i W_V W_V^T C_i.
    """
    (L, d_V), d_K = X.shape, W_Q.shape[1]
    factor, W = logit_factors(W_Q, W_K), W_V @ W_V.T
    x, m = _rows_of(X), _rows_of(M_1)
    core = summed(L, lambda i: kron(x(i).T @ x(i), M_2[i] @ W @ M_2[i])) * rational(2, L * d_V * d_K)
    mixed = summed(L, lambda i: kron(m(i).T @ x(i), W_V.T @ M_2[i])) * ((2 * loss_normalisation(L, d_V)) / sqrt(d_K))
    blocks = {(i, j): factor[i].T @ core @ factor[j] for i in "QK" for j in "QK"}
    blocks |= {("V", j): mixed @ factor[j] for j in "QK"}
    return blocks | {("V", "V"): kron(M_1.T @ M_1, eye(d_V)) * (2 * loss_normalisation(L, d_V))}


def curvature_and_slope(M_2: list[Any], M_3: list[Any], X: Any, W_Q: Any, W_V: Any, R: Any) -> tuple[Any, Any]:
    """The second and first derivatives of <2 R / (L d_V), F> in W_Q W_K^T / sqrt(d_K), shapes (d_V^2, d_V^2) and (d_V, d_V).

    R = F - Y, of shape (L, d_V).  Tokens enter twice and the third moment once, tokens once and the second moment once.
    """
    (L, d_V), d_K = X.shape, W_Q.shape[1]
    x, r = _rows_of(X), _rows_of(R)
    curvature = summed(L, lambda i: kron(x(i).T @ x(i), kron(r(i) @ W_V.T, eye(d_V)) @ M_3[i]))
    slope = summed(L, lambda i: x(i).T @ (M_2[i] @ W_V @ r(i).T).T)
    return curvature * rational(2, L * d_V * d_K), slope * ((2 * loss_normalisation(L, d_V)) / sqrt(d_K))


def functional_blocks(M_2: list[Any], M_3: list[Any], X: Any, W_Q: Any, W_K: Any, W_V: Any, R: Any) -> Blocks:
    """The blocks of H_f on and above the diagonal of Eq. (3), from the second and third moments and R = F - Y."""
    (L, d_V), d_K = X.shape, W_Q.shape[1]
    factor = logit_factors(W_Q, W_K)
    curvature, slope = curvature_and_slope(M_2, M_3, X, W_Q, W_V, R)
    scale = (2 * loss_normalisation(L, d_V)) / sqrt(d_K)
    x, r = _rows_of(X), _rows_of(R)
    return {
        ("Q", "Q"): factor["Q"].T @ curvature @ factor["Q"],
        ("Q", "K"): factor["Q"].T @ curvature @ factor["K"] + kron(slope, eye(d_K)),
        ("K", "K"): factor["K"].T @ curvature @ factor["K"],
        ("Q", "V"): summed(L, lambda i: kron(x(i).T, W_K.T @ M_2[i], r(i))) * scale,
        ("K", "V"): summed(L, lambda i: kron(M_2[i], (x(i) @ W_Q).T, r(i))) * scale,
        ("V", "V"): zeros(d_V * d_V, d_V * d_V),
    }


def assembled(blocks: Mapping[tuple[str, str], Any]) -> Any:
    """The matrix of Eq. (3); a missing block is the transpose of the one across the diagonal."""
    rows = [[blocks[i, j] if (i, j) in blocks else blocks[j, i].T for j in WEIGHTS] for i in WEIGHTS]
    return concatenate([concatenate(row, axis=1) for row in rows], axis=0)


def attention_moments(X: Any, W_Q: Any, W_K: Any) -> tuple[Any, list[Any], list[Any]]:
    """M_1 of shape (L, d_V), the blocks of M_2, each (d_V, d_V), and of M_3, each (d_V^2, d_V)."""
    A = attention_matrix(X, W_Q, W_K)
    return first_moment(A, X), second_central_moments(A, X), third_central_moments(A, X)


# -- the whole matrices by differentiation -----------------------------------------------------------------------------


def stacked_weights(W_Q: Any, W_K: Any, W_V: Any) -> Any:
    """All weights in one column, shape (2 d_V d_K + d_V^2, 1)."""
    return concatenate([vec_r(W_Q), vec_r(W_K), vec_r(W_V)], axis=0)


def separate_weights(w: Any, d_V: int) -> tuple[Any, Any, Any]:
    """W_Q, W_K, W_V from one column; d_K from its length."""
    n = (w.shape[0] - d_V * d_V) // 2
    return w[:n].reshape(d_V, -1), w[n : 2 * n].reshape(d_V, -1), w[2 * n :].reshape(d_V, d_V)


def layer_of_column(w: Any, X: Any) -> Any:
    """The layer as a function of all weights in one column."""
    return attention(X, *separate_weights(w, X.shape[1]))


def _loss(w: Any, X: Any, Y: Any) -> Any:
    return square_loss(layer_of_column(w, X), Y)


#: The whole Hessian has 2 d_V d_K + d_V^2 rows.
ALL_BLOCKS = ATTENTION_LOSS.extended("Eq. (3)", sizes={"d_V": (1, 2)})

FULL_OUTER = Claim(ALL_BLOCKS, "hessian.full-outer-product", label="Eq. (3), the whole outer-product Hessian",
    statement=r"""H_o = \big[H_o(W_i,W_j)\big]_{i,j\in\{Q,K,V\}},\ H_o(W_i,W_j) = \frac{2}{L d_V d_K}E_i^\top\Big(\sum_l
        x_l x_l^\top\otimes M_{2,l}W_V W_V^\top M_{2,l}\Big)E_j \text{ for } i,j\in\{Q,K\},\ H_o(W_V,W_j) = \frac{2}{L
        d_V\sqrt{d_K}}\Big(\sum_l m_l x_l^\top\otimes W_V^\top M_{2,l}\Big)E_j,\ E_Q = I_{d_V}\otimes W_K,\ E_K =
        (W_Q\otimes I_{d_V})K_{d_K,d_V}""",
    assumptions=[
        Definition(
            "x_l token l, m_l and M_{2,l} mean and covariance of the tokens under row l of A",
            by=attention_moments,
        ),
    ],
    name="whole outer-product Hessian in closed form", relation=Equal(), all_sizes=True,
    uses=("hessian.outer-key-key", "hessian.outer-value-key", "hessian.rem-3.1-z1"), of_project=True)  # fmt: skip


@FULL_OUTER.formula
def full_outer_product_hessian(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    """H_o over (W_Q, W_K, W_V), shape (n, n) with n = 2 d_V d_K + d_V^2 (Eq. (3))."""
    M_1, M_2, _ = attention_moments(X, W_Q, W_K)
    return assembled(outer_product_blocks(M_1, M_2, X, W_Q, W_K, W_V))


@FULL_OUTER.oracle
def all_jacobians_squared(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights) -> Any:
    J = jacobian(layer_of_column, "w")(stacked_weights(W_Q, W_K, W_V), X)
    return J.T @ J * (2 * loss_normalisation(*X.shape))


FULL_OUTER.mutant("tokens instead of means in the value blocks", "M_1 -> X")
FULL_OUTER.mutant("query and key weights exchanged in the factors",
    "outer_product_blocks(M_1, M_2, X, W_Q, W_K, W_V) -> outer_product_blocks(M_1, M_2, X, W_K, W_Q, W_V)")  # fmt: skip
FULL_OUTER.mutant("W_V transposed", "W_V -> W_V.T")

FULL_FUNCTIONAL = Claim(ALL_BLOCKS, "hessian.full-functional", label="Eq. (3), the whole functional Hessian",
    statement=r"""H_f = \big[H_f(W_i,W_j)\big]_{i,j\in\{Q,K,V\}},\ H_f(W_i,W_j) = E_i^\top C E_j + [i\ne j]\,(B\otimes
        I_{d_K}) \text{ for } (i,j) = (Q,Q),(Q,K),(K,K);\ H_f(W_Q,W_V) = \frac{2}{L d_V\sqrt{d_K}}\sum_l x_l\otimes
        W_K^\top M_{2,l}\otimes \delta_l^\top,\ H_f(W_K,W_V) = \frac{2}{L d_V\sqrt{d_K}}\sum_l M_{2,l}\otimes W_Q^\top
        x_l\otimes\delta_l^\top;\ C = \frac{2}{L d_V d_K}\sum_l x_l x_l^\top\otimes\big((W_V\delta_l)^\top\otimes
        I_{d_V}\big)M_{3,l},\ B = \frac{2}{L d_V\sqrt{d_K}}\sum_l x_l\delta_l^\top W_V^\top M_{2,l}""",
    assumptions=[
        Definition(
            "delta_l row l of F - Y as a column; E_Q, E_K, x_l, M_{2,l}, M_{3,l} as for H_o",
            by=functional_blocks,
        ),
    ],
    name="whole functional Hessian in closed form", relation=Equal(), all_sizes=True,
    uses=("hessian.functional-key-key", "hessian.functional-value-key", "hessian.thm-3.2-vv"), of_project=True,
)  # fmt: skip


def _functional(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any, slope: Any = None) -> Blocks:
    """The blocks of H_f; mutants have `slope(B)` for B in the product-rule term of the query-key block."""
    (_, M_2, M_3), R = attention_moments(X, W_Q, W_K), attention(X, W_Q, W_K, W_V) - Y
    blocks = functional_blocks(M_2, M_3, X, W_Q, W_K, W_V, R)
    if slope is not None:
        B = curvature_and_slope(M_2, M_3, X, W_Q, W_V, R)[1]
        blocks["Q", "K"] = blocks["Q", "K"] + kron(slope(B) - B, eye(W_Q.shape[1]))
    return blocks


@FULL_FUNCTIONAL.formula
def full_functional_hessian(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """H_f over (W_Q, W_K, W_V), shape (n, n) with n = 2 d_V d_K + d_V^2 (Eq. (3))."""
    return assembled(_functional(X, W_Q, W_K, W_V, Y))


@FULL_FUNCTIONAL.oracle
def paired_layer_twice_differentiated(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any) -> Any:
    w = stacked_weights(W_Q, W_K, W_V)
    gradient = (layer_of_column(w, X) - Y) * (2 * loss_normalisation(*X.shape))

    def paired(w: Any) -> Any:
        return total(gradient * layer_of_column(w, X))

    return hessian(paired, ("w", "w"))(w)


FULL_FUNCTIONAL.mutant("product-rule term of the query-key block dropped", slope=lambda B: 0 * B)
FULL_FUNCTIONAL.mutant("product-rule term transposed", slope=lambda B: B.T)
FULL_FUNCTIONAL.mutant("residual with the wrong sign", lambda value: -value)
FULL_FUNCTIONAL.mutant("labels left out of the residual", "Y -> 0 * Y")

FULL_HESSIAN = Claim(ALL_BLOCKS, "hessian.full-gauss-newton", label="Eq. (2) for all weights at once, in closed form",
    statement=r"""\frac{\partial^2(\ell\circ F)}{\partial(W_Q,W_K,W_V)^2} = H_o + H_f \text{ with the closed forms of
        all blocks}""",
    name="whole loss Hessian in closed form", relation=Equal(), all_sizes=True,
    uses=("hessian.full-outer-product", "hessian.full-functional", "hessian.eq-2"), of_project=True)  # fmt: skip


@FULL_HESSIAN.formula
def full_hessian(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """The Hessian of the loss over (W_Q, W_K, W_V), shape (n, n) with n = 2 d_V d_K + d_V^2."""
    outer, functional = full_outer_product_hessian(X, W_Q, W_K, W_V), full_functional_hessian(X, W_Q, W_K, W_V, Y)
    return outer + functional


FULL_HESSIAN.oracle(lambda X, W_Q, W_K, W_V, Y: hessian(_loss, ("w", "w"))(stacked_weights(W_Q, W_K, W_V), X, Y))
FULL_HESSIAN.mutant("outer product alone", "functional -> 0 * functional")
FULL_HESSIAN.mutant("functional part subtracted", "functional -> -functional")
FULL_HESSIAN.mutant("half of the outer product, as Appendix B.1 scales the value block",
    "outer -> outer * rational(1, 2)")  # fmt: skip

FULL_SYMMETRY = Claim(CLOSED_FORMS, "hessian.full-symmetry", label="Eq. (3), text below, for the closed forms",
    statement=r"""
        H_o = H_o^\top,\ H_f = H_f^\top \text{ for the matrices assembled from the closed forms of all nine blocks}""",
    name="symmetry of the closed forms", relation=HasStructure(), all_sizes=True,
    sizes={"L": (1, 3), "d_V": (1, 2), "d_K": (1, 4)},
    uses=("hessian.eq-3-symmetry", "hessian.full-outer-product", "hessian.full-functional"), of_project=True,
    note="""No block is filled in by transposition. On and to one side of the diagonal stand the formulas of Theorems
        3.1 and 3.2 with $Z_1$, $Z_2$, $S$ and their key counterparts, on the other side the products of moments,
        derived in the other order.""")  # fmt: skip


def _nine_blocks_twice(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any, sign: int = 1, turn: Any = None) -> Any:
    """H_o beside H_f, shape (n, 2 n), every block by a formula of its own; mutants change a sign or turn a block."""
    M_1, M_2, M_3 = attention_moments(X, W_Q, W_K)
    moments = outer_product_blocks(M_1, M_2, X, W_Q, W_K, W_V)
    outer = {
        ("Q", "Q"): outer_product_hessian_query(X, W_Q, W_K, W_V),
        ("K", "K"): outer_product_hessian_key(X, W_Q, W_K, W_V),
        ("V", "V"): outer_product_hessian_value(X, W_Q, W_K, W_V),
        ("Q", "K"): outer_product_hessian_query_key(X, W_Q, W_K, W_V),
        ("K", "Q"): moments["K", "Q"],
        ("V", "Q"): outer_product_hessian_value_query(X, W_Q, W_K, W_V),
        ("V", "K"): outer_product_hessian_value_key(X, W_Q, W_K, W_V),
        ("Q", "V"): moments["V", "Q"].T,
        ("K", "V"): moments["V", "K"].T,
    }
    R = attention(X, W_Q, W_K, W_V) - Y
    curvature, slope = curvature_and_slope(M_2, M_3, X, W_Q, W_V, R)
    factor, other = logit_factors(W_Q, W_K), functional_blocks(M_2, M_3, X, W_Q, W_K, W_V, R)
    turned = slope.T if turn is None else turn(slope)
    functional = {
        ("Q", "Q"): functional_hessian_query(X, W_Q, W_K, W_V, Y),
        ("K", "K"): functional_hessian_key(X, W_Q, W_K, W_V, Y),
        ("V", "V"): other["V", "V"],
        ("Q", "K"): other["Q", "K"],
        ("K", "Q"): factor["K"].T @ curvature @ factor["Q"] + kron(turned, eye(W_Q.shape[1])),
        ("V", "Q"): functional_hessian_value_query(X, W_Q, W_K, W_V, Y) * sign,
        ("V", "K"): functional_hessian_value_key(X, W_Q, W_K, W_V, Y),
        ("Q", "V"): other["Q", "V"],
        ("K", "V"): other["K", "V"],
    }
    return concatenate([assembled(outer), assembled(functional)], axis=1)


@FULL_SYMMETRY.formula
def both_hessians(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """H_o beside H_f, shape (n, 2 n)."""
    return _nine_blocks_twice(X, W_Q, W_K, W_V, Y)


@FULL_SYMMETRY.part("structure")
def skew_parts(value: Any) -> Any:
    n = value.shape[0]
    return concatenate([value[:, :n] - value[:, :n].T, value[:, n:] - value[:, n:].T], axis=0)


FULL_SYMMETRY.mutant("product-rule term of the key-query block not transposed", turn=lambda slope: slope)
FULL_SYMMETRY.mutant("value-query block with the wrong sign", sign=-1)

LOSS_HESSIAN = Claim(ATTENTION_LOSS, "hessian.loss-hessian-qk",
    label="Eq. (2) with Theorems 3.1 and 3.2, mixed query-key block of the loss", name="loss Hessian, query-key block",
    statement=r"\frac{\partial^2(\ell\circ F)}{\partial W_Q\partial W_K} = H_o(W_Q,W_K) + H_f(W_Q,W_K)",
    relation=Equal(), all_sizes=True, sizes={"L": (1, 3), "d_V": (1, 3), "d_K": (1, 3)},
    uses=("hessian.eq-2", "hessian.thm-3.1-qk", "hessian.thm-3.2-qk"), of_project=True)  # fmt: skip


@LOSS_HESSIAN.formula
def loss_hessian_query_key(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """The block (W_Q, W_K) of the Hessian of the square loss, shape (d_V d_K, d_V d_K) (Eq. (2))."""
    outer, functional = (
        outer_product_hessian_query_key(X, W_Q, W_K, W_V),
        functional_hessian_query_key(X, W_Q, W_K, W_V, Y),
    )
    return outer + functional


LOSS_HESSIAN.oracle(lambda X, W_Q, W_K, W_V, Y: loss_hessian(X, W_Q, W_K, W_V, Y, wrt=("W_Q", "W_K")))
LOSS_HESSIAN.mutant("no functional Hessian", "functional -> 0 * functional")
LOSS_HESSIAN.mutant("no outer-product Hessian", "outer -> 0 * outer")
LOSS_HESSIAN.mutant("functional Hessian subtracted", "functional -> -functional")

FOOTNOTES = Claim(ATTENTION_LOSS, "hessian.fn-1-2", label="Footnotes 1 and 2",
    statement=r"""\text{``our insights translate directly into a batch setting—one just needs to average the
        Hessian formulas over the data points''; ``Theorems 3.1 and 3.2 directly generalize to the last layer of any
        deep self-attention network if we replace the data matrix } X \text{ with the output from the penultimate
        layer''}""",
    name="batches and deep networks, last layer", relation=Equal(), all_sizes=True,
    sizes={"L": (1, 3), "d_V": (1, 2), "d_K": (1, 2)}, where=lambda sizes: sizes["L"] * sizes["d_V"] * sizes["d_K"] <= 6,
    uses=tuple(f"hessian.thm-3.{n}-{block}" for n in (1, 2) for block in ("vv", "qq", "vq", "qk")),
    note="""Both at once: two sequences of a batch through two layers, whose first shares the weights of the second
        transposed in their roles; the blocks $(V,V)$, $(Q,Q)$, $(V,Q)$, $(Q,K)$ in the weights of the second layer.""",
)  # fmt: skip


BLOCKS: list[tuple[str, str]] = [("W_V", "W_V"), ("W_Q", "W_Q"), ("W_V", "W_Q"), ("W_Q", "W_K")]


def first_layer(X: Any, P_Q: Any, P_K: Any, P_V: Any) -> Any:
    """The output of the penultimate layer, shape (L, d_V)."""
    return attention(X, P_Q, P_K, P_V)


def _closed_blocks(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any) -> Any:
    """H = H_o + H_f of Theorems 3.1 and 3.2 for each of the blocks, all entries in one column."""
    return stacked(
        outer_product_hessian_value(X, W_Q, W_K, W_V),
        outer_product_hessian_query(X, W_Q, W_K, W_V) + functional_hessian_query(X, W_Q, W_K, W_V, Y),
        outer_product_hessian_value_query(X, W_Q, W_K, W_V) + functional_hessian_value_query(X, W_Q, W_K, W_V, Y),
        outer_product_hessian_query_key(X, W_Q, W_K, W_V) + functional_hessian_query_key(X, W_Q, W_K, W_V, Y),
    )


@FOOTNOTES.formula
def averaged_last_layer_hessian(
    X_1: Tokens, X_2: Tokens, P: ValueWeights, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels
) -> Any:
    """The average over two sequences of Theorems 3.1 and 3.2 at the output of the first layer, all entries in one column."""
    first, second = (first_layer(X, W_K, W_Q, P) for X in (X_1, X_2))
    both = _closed_blocks(first, W_Q, W_K, W_V, Y) + _closed_blocks(second, W_Q, W_K, W_V, -Y)
    return both * rational(1, 2)


def batch_loss(Z_1: Any, Z_2: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any) -> Any:
    """The mean loss of two sequences Z_1, Z_2 that reach the last layer, with labels Y and -Y."""
    losses = square_loss(attention(Z_1, W_Q, W_K, W_V), Y) + square_loss(attention(Z_2, W_Q, W_K, W_V), -Y)
    return losses * rational(1, 2)


@FOOTNOTES.oracle
def batch_hessian_by_differentiation(X_1: Any, X_2: Any, P: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any) -> Any:
    inner = [first_layer(X, W_K, W_Q, P) for X in (X_1, X_2)]
    return stacked(*(hessian(batch_loss, wrt)(*inner, W_Q, W_K, W_V, Y) for wrt in BLOCKS))


FOOTNOTES.mutant("sum over the batch", "rational(1, 2) -> 1")
FOOTNOTES.mutant("input of the network instead of the penultimate output", "first_layer(X, W_K, W_Q, P) -> X")
FOOTNOTES.mutant("the formulas at the average sequence",
    "first -> (first + second) / 2; second -> (first + second) / 2; Y -> 0 * Y")  # fmt: skip
