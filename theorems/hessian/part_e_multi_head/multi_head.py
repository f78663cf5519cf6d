"""Multi-head self-attention: its Jacobians (Remark E.1), blocks between heads, and how sparse the functional Hessian is."""

from __future__ import annotations

from typing import Annotated, Any

import flint
import numpy as np

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import attention, attention_matrix, square_loss
from theorems.hessian.part_2_background.gauss_newton import SIDE_BY_SIDE, AllWeights, layer_of_stack
from theorems.hessian.part_b_derivatives.jacobians import attention_jacobian_wrt_query, attention_jacobian_wrt_value
from theorems.hessian.settings import LAYOUT, Labels, Tokens
from verify.arithmetics import Constant, is_tensor
from verify.matrix import (
    concatenate, each, eye, kron, mapped, parts, rational, softmax, sqrt, summed, total, vec_r, zeros,
)  # fmt: skip
from verify.oracles import hessian, jacobian
from verify.vocabulary import Assumption, Claim, Definition, Equal, Reading, Setting, Shape, Size, subject

HeadQueries = Annotated[Any, Shape("H", "d_V", "d_K", role="query")]
HeadKeys = Annotated[Any, Shape("H", "d_V", "d_K")]
HeadValues = Annotated[Any, Shape("H", "d_V", "d_V")]
OneEntry = Annotated[Any, Shape("1", "1")]
Dimension = Annotated[int, Size("d_V")]
Heads = Annotated[int, Size("H")]


@subject("hessian.multi_head_attention")
def multi_head_attention(X: Tokens, W_Q: HeadQueries, W_K: HeadKeys, W_V: HeadValues) -> Any:
    """F = sum_h F^h, shape (L, d_V); weights of the heads on top of each other, first index h (Appendix E)."""
    return summed(W_Q.shape[0], lambda h: attention(X, W_Q[h], W_K[h], W_V[h]))


# -- Remark E.1 --------------------------------------------------------------------------------------------------------

HEADS = Setting(
    HESSIAN,
    "Appendix E",
    assumptions=[
        Definition(
            "F = sum_h A^h X W_V^h with A^h = softmax(X W_Q^h W_K^hT X^T / sqrt(d_K)), row-wise; heads do not share weights",
            by=attention,
        ),
        LAYOUT,
    ],
    exact=True,
)

REMARK_E1 = Claim(HEADS, "hessian.rem-E.1", label="Remark E.1", name="multi-head attention, Jacobians",
    statement=r"""\frac{\partial F}{\partial W_V^h} = \frac{\partial F^h}{\partial W_V^h} = \operatorname{softmax}\Big(
        \frac{XW_Q^hW_K^{h\top}X^\top}{\sqrt{d_K}}\Big)X\otimes I_{d_V},\quad \frac{\partial F}{\partial W_Q^h} =
        \frac{\partial F^h}{\partial W_Q^h} = (I_L\otimes W_V^{h\top}X^\top)\frac{\partial A^h}{\partial
        T^h}\Big(\frac{X\otimes XW_K^h}{\sqrt{d_K}}\Big)""",
    relation=Equal(), all_sizes=True, sizes={"L": (1, 4), "d_V": (1, 3), "d_K": (1, 4), "H": (1, 3)},
    where=lambda sizes: sizes["H"] * sizes["d_V"] * sizes["d_K"] <= 9, uses=("hessian.lem-B.1",))  # fmt: skip


def _query_jacobian(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, h: int, values: int | None = None, rank_one: bool = True
) -> Any:
    """dF^h/dW_Q^h; mutants take the values of another head, or add up the rank-one terms of dA/dT."""
    query = attention_jacobian_wrt_query(X, W_Q[h], W_K[h], W_V[h if values is None else values])
    if not rank_one:
        A = attention_matrix(X, W_Q[h], W_K[h])
        slope = kron(eye(A.shape[0]), A.T @ A) @ kron(X, X @ W_K[h]) / sqrt(W_Q.shape[2])
        query = query + kron(eye(A.shape[0]), W_V[h].T @ X.T) @ slope
    return query


@REMARK_E1.formula
def multi_head_jacobians(X: Tokens, W_Q: HeadQueries, W_K: HeadKeys, W_V: HeadValues) -> Any:
    """dF/dW_V^h, dF^h/dW_V^h, dF/dW_Q^h, dF^h/dW_Q^h, each for every head, all entries in one column (Remark E.1)."""
    H = W_Q.shape[0]
    values = each(H, lambda h: vec_r(attention_jacobian_wrt_value(X, W_Q[h], W_K[h])))
    queries = each(H, lambda h: vec_r(_query_jacobian(X, W_Q, W_K, W_V, h)))
    return concatenate([values, values, queries, queries], axis=0)


@REMARK_E1.oracle
def multi_head_layer_differentiated(X: Tokens, W_Q: HeadQueries, W_K: HeadKeys, W_V: HeadValues) -> Any:
    H, d_V, d_K = W_Q.shape

    def layer(X: Any, Q: Any, V: Any) -> Any:
        return multi_head_attention(X, Q.reshape(H, d_V, d_K), W_K, V.reshape(H, d_V, d_V))

    flat = X, W_Q.reshape(H * d_V, d_K), W_V.reshape(H * d_V, d_V)
    whole = {"W_V": jacobian(layer, "V")(*flat), "W_Q": jacobian(layer, "Q")(*flat)}

    def own(name: str) -> list[Any]:
        return each(H, lambda h: vec_r(jacobian(attention, name)(X, W_Q[h], W_K[h], W_V[h])))

    pairs = [(mapped(vec_r, parts(slope, H, 1)), own(name)) for name, slope in whole.items()]
    return concatenate([family for pair in pairs for family in pair], axis=0)


REMARK_E1.mutant("queries and keys exchanged", "W_Q -> W_K; W_K -> W_Q")
REMARK_E1.mutant("values of the first head in every query Jacobian", values=0)
REMARK_E1.mutant("softmax derivative without its rank-one terms", rank_one=False)

# -- blocks between heads ----------------------------------------------------------------------------------------------


def mixed_loss(F: Any, Y: Any) -> Any:
    """The square loss, plus the fourth powers of the residual, plus <softmax(F), Y>; a scalar."""
    squares = (F - Y) * (F - Y)
    return square_loss(F, Y) + total(squares * squares) + total(softmax(F) * Y)


INTER_HEAD = Claim(HEADS, "hessian.sec-E-inter-head", label="Appendix E, text and display",
    statement=r"""H_f(W_c^{h_i},W_t^{h_j}) = \Big(\frac{\partial\ell}{\partial F}(F(\cdot))\otimes I_{p_cq_c}\Big)
        \underbrace{\frac{\partial^2F}{\partial W_c^{h_i}\partial W_t^{h_j}}}_{=0,\text{ when }h_i\ne h_j} = 0;\
        \text{``the mixed inter-head terms of the Hessian are fully defined by the outer-product Hessian part''; ``this
        observation holds irrespective of the loss function used''}""",
    assumptions=[Definition("a twice differentiable loss whose Hessian is dense", by=mixed_loss),
        Assumption("[W_Q, W_K, W_V] of a head has 2 d_K + d_V columns, d_K >= 1", sizes=SIDE_BY_SIDE.sizes)],
    name="multi-head attention, blocks between heads", general="It holds of any sum of functions of separate weights.",
    relation=Equal(),
    sizes={"L": (1, 3), "d_V": (1, 2), "all": (3, 5)},
    uses=("hessian.eq-2", "hessian.rem-E.1"),
    note=r"""The functional block is formed with an arbitrary matrix $G$ in the place of $\partial\ell/\partial F$,
        hence for every loss at once; the Hessian for the square loss plus fourth powers of the residual plus a softmax
        of the outputs paired with the labels. Two heads: others only add to $F$.""")  # fmt: skip


@INTER_HEAD.formula
def inter_head_blocks(W_1: AllWeights, W_2: AllWeights, X: Tokens, Y: Labels, G: Labels) -> Any:
    """J_1^T (d^2 loss/dF^2) J_2 on top of the vanishing functional block, shape (2 n, n) for n weights of a head."""
    J_1, J_2 = jacobian(layer_of_stack, "W")(W_1, X), jacobian(layer_of_stack, "W")(W_2, X)
    F = layer_of_stack(W_1, X) + layer_of_stack(W_2, X)
    block = J_1.T @ hessian(mixed_loss, ("F", "F"))(F, Y) @ J_2
    return concatenate([block, zeros(block.shape[0], block.shape[1])], axis=0)


@INTER_HEAD.oracle
def inter_head_blocks_by_differentiation(W_1: AllWeights, W_2: AllWeights, X: Tokens, Y: Labels, G: Labels) -> Any:
    def composed(W_1: Any, W_2: Any) -> Any:
        return mixed_loss(layer_of_stack(W_1, X) + layer_of_stack(W_2, X), Y)

    def paired(W_1: Any, W_2: Any) -> Any:
        return total(G * (layer_of_stack(W_1, X) + layer_of_stack(W_2, X)))

    wrt = ("W_1", "W_2")
    return concatenate([hessian(composed, wrt)(W_1, W_2), hessian(paired, wrt)(W_1, W_2)], axis=0)


INTER_HEAD.mutant("curvature of the square loss for every loss", "mixed_loss -> square_loss")
INTER_HEAD.mutant("no blocks between heads at all", lambda value: 0 * value)
INTER_HEAD.mutant("curvature at the output of the first head", "F -> layer_of_stack(W_1, X)")

# -- sparsity ----------------------------------------------------------------------------------------------------------


def _fixed(rows: int, columns: int, salt: int, like: Any) -> Any:
    """A generic matrix with entries below 1, in the arithmetic of `like`."""
    entries = [
        [flint.fmpq((7 * i * i + 3 * j * j + 5 * i * j + salt) % 11 - 5, 8) for j in range(columns)]
        for i in range(rows)
    ]
    entries = [[x + flint.fmpq(1, 16) for x in row] for row in entries]
    return Constant(np.array(entries, dtype=object)) + 0 * like


def nonzero_entries(A: Any) -> Any:
    """How many entries are not zero identically, a scalar; an enclosure of zero with a radius counts."""
    if is_tensor(A):
        return (A != 0).sum()
    return sum(not bool(entry == 0) for entry in A.flat)


def entries_counted(d_V: Dimension, H: Heads, unused: OneEntry) -> Any:
    d_K = d_V // H
    X, G = _fixed(3, d_V, 1, unused), _fixed(3, d_V, 2, unused)
    W_1, W_2 = (_fixed(d_V, 2 * d_K + d_V, salt, unused) for salt in (3, 4))

    def paired(W_1: Any, W_2: Any) -> Any:
        return total(G * (layer_of_stack(W_1, X) + layer_of_stack(W_2, X)))

    own = nonzero_entries(hessian(paired, ("W_1", "W_1"))(W_1, W_2))
    between = nonzero_entries(hessian(paired, ("W_1", "W_2"))(W_1, W_2))
    weights = concatenate([eye(1), eye(1) * rational(1, (H * d_V**2 + 2 * d_V**2) ** 2)], axis=0)
    return (weights + 0 * unused) * (H * own + H * (H - 1) * between)


SPARSITY = Claim(HEADS, "hessian.sec-E-sparsity", label="Appendix E, text",
    statement=r"""\text{``for a fixed } d_V \text{ and } d_K = d_V/H \text{, the functional Hessian becomes increasingly
        sparse as the number of heads grows. This leads to most entries of the Hessian being fully defined by the
        outer-product Hessian''}""",
    assumptions=[Definition("W_V^h in R^{d_V x d_V}; W_Q^h, W_K^h in R^{d_V x d_V/H}", by=entries_counted),
        Assumption("H divides d_V", sizes=lambda sizes: sizes["d_V"] % sizes["H"] == 0)],
    name="multi-head attention, sparsity of the functional Hessian", relation=Equal(),
    sizes={"d_V": (1, 3), "H": (1, 3)},
    expects="reading",
    uses=("hessian.sec-E-inter-head", "hessian.thm-3.2-vv"),
    reading=Reading(("increasingly sparse", "most entries"), """sparsity is the share of entries of $H_f$ that are not
            zero identically, $4(H + 1)/(H(H + 2)^2)$: 8/9, 3/8, 16/75 and 5/36 for $H = 1, 2, 3, 4$, below one half
            from $H = 2$ on and falling like $4/H^2$"""),
    note="""A head has $n = d_V^2(1 + 2/H)$ weights, of whose $n^2$ pairs the $d_V^4$ value pairs vanish; pairs of
        different heads vanish all. Counted at one fixed generic point with $L = 3$, for one head and one pair of
        heads.""")  # fmt: skip


def _counts(d_V: int, H: int, pairs: int, hollow: int) -> Any:
    """The entries of `pairs` pairs of heads but for `hollow` pairs of values, and their share of all (H d_V^2 + 2 d_V^2)^2."""
    entries, whole = pairs * (d_V**2 + 2 * d_V * (d_V // H)) ** 2 - hollow * d_V**4, (H * d_V**2 + 2 * d_V**2) ** 2
    return concatenate([eye(1) * entries, eye(1) * rational(entries, whole)], axis=0)


@SPARSITY.formula
def nonzero_functional_entries(d_V: Dimension, H: Heads, unused: OneEntry) -> Any:
    """4 d_V^4 (H + 1) / H and 4 (H + 1) / (H (H + 2)^2), shape (2, 1)."""
    share = eye(1) * rational(4 * (H + 1), H * (H + 2) ** 2)
    return concatenate([eye(1) * rational(4 * d_V**4 * (H + 1), H), share], axis=0) + 0 * unused


SPARSITY.oracle(entries_counted)
SPARSITY.mutant("value pairs counted too", lambda d_V, H, unused: _counts(d_V, H, H, 0) + 0 * unused)
SPARSITY.mutant("blocks between heads counted too", lambda d_V, H, unused: _counts(d_V, H, H * H, H) + 0 * unused)
