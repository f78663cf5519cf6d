"""The query-key part of the Hessian, split at the logits T instead of at F: Remark D.1 and the text after it.

`gauss_newton_at_logits` differentiates, `split_in_closed_form` does not.  The remark drops the factor of the loss and
exchanges the weights: they are stacked as [W_K; W_Q] in what holds, and as [W_Q; W_K] in what is printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from theorems.hessian.definitions import (
    Z_1, attention, attention_logits, attention_matrix, duplicated_residual, shuffling_matrix, square_loss,
)  # fmt: skip
from theorems.hessian.part_3_structure.functional import functional_hessian_query_key
from theorems.hessian.part_3_structure.outer_product import outer_product_hessian_query_key
from theorems.hessian.part_4_design.single_matrix import logit_curvature
from theorems.hessian.part_a_kronecker_products.products import stacked
from theorems.hessian.settings import (
    ATTENTION_LOSS, KeyWeights, Labels, QueryWeights, Tokens, ValueWeights, zero_residual,
)  # fmt: skip
from verify.matrix import commutation_matrix, concatenate, eye, kron, rational, softmax, sqrt, total, vec_r, zeros
from verify.oracles import hessian, jacobian
from verify.vocabulary import Claim, Definition, Equal


def cheap(sizes: Mapping[str, int]) -> bool:
    """Whether d^2A/dT^2, of L^6 entries, and the Hessian in 2 d_V d_K weights both stay small."""
    L, d_V, d_K = sizes["L"], sizes["d_V"], sizes["d_K"]
    return bool(d_V * d_K <= 8 and L * d_V * d_K <= 12 and (L <= 3 or L * d_V <= 6))


# -- definitions -------------------------------------------------------------------------------------------------------


def V_matrix(W_Q: QueryWeights, W_K: KeyWeights) -> Any:
    """V = [(W_Q (x) I) K_{d_K,d_V}, I (x) W_K], shape (d_V^2, 2 d_V d_K) (Remark D.1)."""
    d_V, d_K = W_Q.shape
    return concatenate([kron(W_Q, eye(d_V)) @ commutation_matrix(d_K, d_V), kron(eye(d_V), W_K)], axis=1)


def U_matrix(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """U, shape (d_V^2, d_V^2) (Remark D.1)."""
    residual = attention(X, W_Q, W_K, W_V) - Y
    return logit_curvature(X, attention_matrix(X, W_Q, W_K), W_V, residual)


def logit_slope(X: Any, A: Any, W_V: Any, residual: Any) -> Any:
    """B = R_{d_V}(I_L (x) W_V^T (x) I)(Z_1 (x) I) S for any attention matrix and residual, shape (d_V, d_V) (Remark D.1)."""
    L, d_V = X.shape
    left = duplicated_residual(residual, d_V) @ kron(eye(L), W_V.T, eye(d_V))
    return left @ kron(Z_1(A, X), eye(d_V)) @ shuffling_matrix(d_V)


def B_matrix(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """B at the layer's own attention and residual, shape (d_V, d_V) (Remark D.1)."""
    return logit_slope(X, attention_matrix(X, W_Q, W_K), W_V, attention(X, W_Q, W_K, W_V) - Y)


def hollow(B: Any, d_K: int) -> Any:
    """[[0, B^T], [B, 0]] (x) I_{d_K} / sqrt(d_K), shape (2 d_V d_K, 2 d_V d_K) (Remark D.1)."""
    d_V = B.shape[0]
    upper = concatenate([zeros(d_V, d_V), B.T], axis=1)
    lower = concatenate([B, zeros(d_V, d_V)], axis=1)
    return kron(concatenate([upper, lower], axis=0), eye(d_K)) / sqrt(d_K)


def logits_of_stack(W: Any, X: Any) -> Any:
    """T for the weights W = [W_K; W_Q], shape (L, L)."""
    d_V = X.shape[1]
    return attention_logits(X, W[d_V:], W[:d_V])


def loss_of_logits(T: Any, X: Any, W_V: Any, Y: Any) -> Any:
    """The square loss as a function of the logits, a scalar."""
    return square_loss(softmax(T) @ X @ W_V, Y)


def gauss_newton_at_logits(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels
) -> tuple[Any, Any]:
    """T-outer-product and T-functional Hessian in [W_K; W_Q] by differentiation, each (2 d_V d_K, 2 d_V d_K) (Remark D.1)."""
    W, T = concatenate([W_K, W_Q], axis=0), attention_logits(X, W_Q, W_K)
    J = jacobian(logits_of_stack, "W")(W, X)
    slope = jacobian(loss_of_logits, "T")(T, X, W_V, Y)

    def paired(W: Any) -> Any:
        return total(slope @ vec_r(logits_of_stack(W, X)))

    curvature = hessian(loss_of_logits, ("T", "T"))(T, X, W_V, Y)
    return J.T @ curvature @ J, hessian(paired, ("W", "W"))(W)


def query_key_loss(W: Any, X: Any, W_V: Any, Y: Any) -> Any:
    """The loss as a function of [W_K; W_Q], a scalar."""
    return loss_of_logits(logits_of_stack(W, X), X, W_V, Y)


# -- Remark D.1 --------------------------------------------------------------------------------------------------------

QUERY_KEY = ATTENTION_LOSS.extended("Appendix D", sizes={"L": (1, 6)}, where=cheap)
SPLIT = QUERY_KEY.extended(
    assumptions=[Definition("Z_1, Z_2, R_m and S as in Theorems 3.1 and 3.2; delta_XY = vec_r(F - Y)", by=attention)]
)
SPLIT_ANYWHERE = SPLIT.extended(special_domains={"zero residual": zero_residual})

REMARK_D1 = Claim(SPLIT, "hessian.rem-D.1", label="Remark D.1", name="query-key Hessian split at the logits",
    statement=r"""H = H_o^T + H_f^T,\ H_o^T(W_{QK},W_{QK}) = \frac{1}{d_K}V^\top\underbrace{\Big(Z_1^\top(I_L\otimes W_V
        W_V^\top) Z_1 + (\delta_{XY}^\top(I_L\otimes W_V^\top)\otimes I_{d_V^2}) Z_2\Big)}_U V,\ H_f^T(W_{QK},W_{QK}) =
        \frac{1}{\sqrt{d_K}}\begin{bmatrix}0&B^\top\otimes I_{d_K}\\B\otimes I_{d_K}&0\end{bmatrix} =
        \frac{1}{\sqrt{d_K}}\begin{bmatrix}0&B^\top\\B&0\end{bmatrix}\otimes I_{d_K},\ W_{QK} :=
        \begin{bmatrix}W_Q\\W_K\end{bmatrix},\ V := \begin{bmatrix}(W_Q\otimes I_{d_V})K_{d_K,d_V} & I_{d_V}\otimes
        W_K\end{bmatrix},\ B := R_{d_V}(I_L\otimes W_V^\top\otimes I_{d_V})(Z_1\otimes I_{d_V})S""",
    relation=Equal(), expects="refuted", severity="error", correction="hessian.rem-D.1-corrected",
    consequence="""Assembled as printed the query-key Hessian has the wrong scale and the query and key blocks
        exchanged; take hessian.rem-D.1-corrected, in either order of the weights.""",
    note=r"""Two things are to be mended. The factor $2/(Ld_V)$ of the square loss, which Theorems 3.1 and 3.2 have, is
        missing in both summands. And $V$, $B$ are written for the weights in the order $[W_K; W_Q]$: the first block of
        $V$ is the derivative of $T$ in $W_K$, and the block $(Q, K)$ is $B \otimes I$, not $B^\top \otimes I$. Each of
        the two counterexamples shows one of them alone.""")  # fmt: skip


def _printed(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any, sign: int = 1) -> Any:
    V, d_K = V_matrix(W_Q, W_K), W_Q.shape[1]
    outer = V.T @ U_matrix(X, W_Q, W_K, W_V, Y) @ V * rational(1, d_K)
    return outer + hollow(B_matrix(X, W_Q, W_K, W_V, Y), d_K) * sign


@REMARK_D1.formula
def query_key_hessian_as_printed(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """H_o^T + H_f^T as printed, for [W_Q; W_K], shape (2 d_V d_K, 2 d_V d_K) (Remark D.1)."""
    return _printed(X, W_Q, W_K, W_V, Y)


def _query_first_loss(W: Any, X: Any, W_V: Any, Y: Any) -> Any:
    """The loss as a function of [W_Q; W_K]."""
    d_V = X.shape[1]
    return loss_of_logits(attention_logits(X, W[:d_V], W[d_V:]), X, W_V, Y)


REMARK_D1.oracle(
    lambda X, W_Q, W_K, W_V, Y: hessian(_query_first_loss, ("W", "W"))(concatenate([W_Q, W_K], axis=0), X, W_V, Y)
)
REMARK_D1.mutant("T-functional part with the wrong sign", sign=-1)
REMARK_D1.mutant("no T-functional part", sign=0)
REMARK_D1.counterexample("the factor: tokens 0, 0, 3 and W_Q = W_K = 0, so that only B is left, 6 instead of 4",
    X=[[0], [0], [3]], W_Q=[[0]], W_K=[[0]], W_V=[[1]], Y=[[0], [0], [0]])  # fmt: skip
REMARK_D1.counterexample("the order: L d_V = 2, where the factor is 1; W_Q = 0, so (Q, Q) is not zero and (K, K) is",
    X=[[0], [2]], W_Q=[[0]], W_K=[[1]], W_V=[[1]], Y=[[1], [1]])  # fmt: skip

REMARK_D1_CORRECTED = Claim(SPLIT_ANYWHERE, "hessian.rem-D.1-corrected",
    label="Remark D.1, with the factor of the loss and the order of the weights",
    statement=r"""\frac{\partial^2(\ell\circ F)}{\partial W\partial W} = \frac{2}{L d_V}\Big(\frac{1}{d_K}V^\top U V +
        \frac{1}{\sqrt{d_K}}\begin{bmatrix}0&B^\top\\B&0\end{bmatrix}\otimes I_{d_K}\Big),\quad W =
        \begin{bmatrix}W_K\\W_Q\end{bmatrix},\ V = \begin{bmatrix}(W_Q\otimes I_{d_V})K_{d_K,d_V} & I_{d_V}\otimes
        W_K\end{bmatrix},\ U = Z_1^\top(I_L\otimes W_V W_V^\top) Z_1 + (\delta_{XY}^\top(I_L\otimes W_V^\top)\otimes
        I_{d_V^2}) Z_2,\ B = R_{d_V}(I_L\otimes W_V^\top\otimes I_{d_V})(Z_1\otimes I_{d_V})S;\quad\text{ in the printed
        order } W = \begin{bmatrix}W_Q\\W_K\end{bmatrix} \text{ the same with } V = \begin{bmatrix}I_{d_V}\otimes W_K &
        (W_Q\otimes I_{d_V})K_{d_K,d_V}\end{bmatrix} \text{ and } \begin{bmatrix}0&B\\B^\top&0\end{bmatrix}""",
    name="query-key Hessian split at the logits, corrected", relation=Equal(), all_sizes=True,
    uses=("hessian.thm-3.1-qq", "hessian.thm-3.1-qk", "hessian.thm-3.2-qq", "hessian.thm-3.2-qk"),
    corrects="hessian.rem-D.1", of_project=True,
    note="""Both orders are checked. That the two summands are the outer-product and the functional Hessian at T is
        hessian.rem-D.1-gn-at-T.""")  # fmt: skip


def split_in_closed_form(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any, factor: Any = V_matrix, turned: bool = False
) -> tuple[Any, Any]:
    """Both parts in [W_K; W_Q]; mutants replace V or transpose B."""
    (L, d_V), d_K = X.shape, W_Q.shape[1]
    V, B = factor(W_Q, W_K), B_matrix(X, W_Q, W_K, W_V, Y)
    outer = V.T @ U_matrix(X, W_Q, W_K, W_V, Y) @ V * rational(2, L * d_V * d_K)
    return outer, hollow(B.T if turned else B, d_K) * rational(2, L * d_V)


def _exchanged(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any, factor: Any = V_matrix, turned: bool = False) -> Any:
    """The whole in [W_Q; W_K], with the blocks of V and of the hollow matrix exchanged."""
    (L, d_V), d_K = X.shape, W_Q.shape[1]
    V, B, n = factor(W_Q, W_K), B_matrix(X, W_Q, W_K, W_V, Y), W_Q.shape[0] * W_Q.shape[1]
    V = concatenate([V[:, n:], V[:, :n]], axis=1)
    outer = V.T @ U_matrix(X, W_Q, W_K, W_V, Y) @ V * rational(2, L * d_V * d_K)
    return outer + hollow(B if turned else B.T, d_K) * rational(2, L * d_V)


@REMARK_D1_CORRECTED.formula
def query_key_hessian(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """The loss Hessian in [W_K; W_Q] on top of that in [W_Q; W_K], shape (4 d_V d_K, 2 d_V d_K) (Remark D.1, corrected)."""
    outer, functional = split_in_closed_form(X, W_Q, W_K, W_V, Y)
    return concatenate([outer + functional, _exchanged(X, W_Q, W_K, W_V, Y)], axis=0)


@REMARK_D1_CORRECTED.oracle
def query_key_hessian_in_both_orders(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any) -> Any:
    keys_first = hessian(query_key_loss, ("W", "W"))(concatenate([W_K, W_Q], axis=0), X, W_V, Y)
    return concatenate(
        [keys_first, hessian(_query_first_loss, ("W", "W"))(concatenate([W_Q, W_K], axis=0), X, W_V, Y)], axis=0
    )


REMARK_D1_CORRECTED.mutant("B transposed", turned=True)
REMARK_D1_CORRECTED.mutant("the factor 1 / (L d_V)", lambda value: value * rational(1, 2))
REMARK_D1_CORRECTED.mutant("V without its commutation matrix",
    factor=lambda W_Q, W_K: concatenate([kron(W_Q, eye(W_Q.shape[0])), kron(eye(W_Q.shape[0]), W_K)], axis=1)
)  # fmt: skip

# -- 'the Gauss-Newton decomposition at T' -----------------------------------------------------------------------------

AT_LOGITS = Claim(SPLIT_ANYWHERE, "hessian.rem-D.1-gn-at-T", label="Remark D.1, last sentence, and section D text",
    statement=r"""\text{``This decomposition can be thought of as a Gauss-Newton decomposition when we split the
        function composition } \ell\circ(A\mapsto AXW_V)\circ a\circ T\text{ at the level of } T(X) = XW_QW_K^\top
        X^\top/\sqrt{d_K}\text{''; ``The mixed query-key block of the Hessian consists of three summands—one
        coming from the } F\text{-outer-product Hessian and two from the } F\text{-functional Hessian''}""",
    name="Gauss-Newton decomposition at the logits", relation=Equal(), all_sizes=True, expects="gap",
    presumes=("hessian.rem-D.1",), uses=("hessian.rem-D.1-corrected", "hessian.thm-3.1-qk", "hessian.thm-3.2-qk"),
    consequence="""The interpretation stands for the corrected summands, with the factor $2/(Ld_V)$ and the weights in
        the right order (hessian.rem-D.1-corrected).""",
    note="""With the factor $2/(Ld_V)$ and in the order $[W_K; W_Q]$. The first two of the three summands make the mixed
        block of $H_o^T$, the third is that of $H_f^T$.""")  # fmt: skip


@AT_LOGITS.formula
def split_at_logits(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """H_o^T, H_f^T, and the summands of their (Q, K) blocks, all entries in one column (Remark D.1)."""
    (L, d_V), d_K = X.shape, W_Q.shape[1]
    outer, functional = split_in_closed_form(X, W_Q, W_K, W_V, Y)
    first = outer_product_hessian_query_key(X, W_Q, W_K, W_V)
    third = kron(B_matrix(X, W_Q, W_K, W_V, Y), eye(d_K)) * (rational(2, L * d_V) / sqrt(d_K))
    second = functional_hessian_query_key(X, W_Q, W_K, W_V, Y) - third
    parts = [first + second, third]
    return stacked(outer, functional, *parts)


@AT_LOGITS.oracle
def split_by_differentiation(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    outer, functional = gauss_newton_at_logits(X, W_Q, W_K, W_V, Y)
    n = W_Q.shape[0] * W_Q.shape[1]
    return stacked(outer, functional, outer[n:, :n], functional[n:, :n])


AT_LOGITS.mutant("split at F: both functional summands in H_f^T", "parts -> [first, second + third]")
AT_LOGITS.mutant("third summand in H_o^T", "parts -> [first + second + third, 0 * third]")
AT_LOGITS.mutant("B transposed", turned=True)
