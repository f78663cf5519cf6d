"""Without the softmax: linear self-attention, Table 1, the uniform dependence on data and weights, and indefiniteness."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import attention, attention_logits, square_loss
from theorems.hessian.part_3_structure.data_growth import Scale, power
from theorems.hessian.part_3_structure.whole_hessian import assembled, logit_factors, separate_weights, stacked_weights
from theorems.hessian.part_4_design.linear_attention import linear_attention
from theorems.hessian.part_a_kronecker_products.products import stacked
from theorems.hessian.settings import (
    LAYOUT, SIZES, SQUARE_LOSS, KeyWeights, Labels, QueryWeights, Tokens, ValueWeights, loss_normalisation,
)  # fmt: skip
from verify.matrix import commutation_matrix, concatenate, eye, kron, rational, sqrt, total, zeros
from verify.oracles import hessian, jacobian
from verify.vocabulary import Claim, Convention, Definition, Equal, Reading, Real, Setting

LINEAR: list[Definition | Convention] = [
    Definition("linear self-attention: a = id, F = T X W_V with T = X W_Q W_K^T X^T / sqrt(d_K)", by=attention_logits),
    SQUARE_LOSS,
    LAYOUT,
]


def _layer(w: Any, X: Any) -> Any:
    """The linear layer as a function of all weights in one column."""
    return linear_attention(X, *separate_weights(w, X.shape[1]))


def linear_outer_by_differentiation(w: Any, X: Any) -> Any:
    """J^T (2 / (L d_V)) J over all weights."""
    J = jacobian(_layer, "w")(w, X)
    return J.T @ J * (2 * loss_normalisation(*X.shape))


def linear_functional_by_differentiation(w: Any, X: Any, R: Any) -> Any:
    """The Hessian of <2 R / (L d_V), F> over all weights, R fixed."""

    def paired(w: Any) -> Any:
        return total(R * _layer(w, X)) * (2 * loss_normalisation(*X.shape))

    return hessian(paired, ("w", "w"))(w)


# -- Table 1 -----------------------------------------------------------------------------------------------------------

WITHOUT_SOFTMAX = Setting(HESSIAN, "Section 4.1", assumptions=LINEAR, sizes=SIZES, exact=True)

TABLE_1 = Claim(WITHOUT_SOFTMAX, "hessian.table-1", label="Table 1", name="linear attention, dependence on covariances",
    statement=r"""
        H_o:\ \text{MLP/CNN } O(\Sigma_{XX}),\ \text{Transformer } O(\Sigma_{XX}^3);\quad H_f:\ \text{MLP/CNN }
        O(\Omega_{xy}),\ \text{Transformer } O(\Omega_{xy}\Sigma_{XX}),\quad \Omega_{xy} := \tfrac1L X^\top(F(X)-Y)""",
    relation=Equal(), all_sizes=True, expects="reading",
    uses=(
        "hessian.sec2-mlp-outer", "hessian.sec2-mlp-hollow", "hessian.eq-18", "hessian.rem-4.1-outer",
        "hessian.rem-4.1-functional-vq", "hessian.rem-4.1-functional-qk",
    ),
    reading=Reading("matrix big-O notation", r"""apart from $L$, the weights and constants every block is a function of
            $\Sigma_{XX}$ and $\Omega_{xy}$ alone: $H_o$ a polynomial with each term of degree 3 in $\Sigma_{XX}$, $H_f$
            with each term of degree 1 in $\Omega_{xy}$ and 1 in $\Sigma_{XX}$. $\Omega_{xy}$ counts as a datum of its
            own, although $F - Y$ holds three more factors $X$. MLP column: hessian.sec2-mlp-outer,
            hessian.sec2-mlp-hollow"""),
    note="The MLP is the linear one of Section 2; convolutions are compared in hessian.table-1-cnn.")  # fmt: skip


def _linear_outer(S: Any, W_Q: Any, W_K: Any, W_V: Any, L: int) -> Any:
    """H_o of linear self-attention from S = Sigma_XX, shape (n, n)."""
    d_V, d_K = W_Q.shape
    K, P, inner = commutation_matrix(d_K, d_V), W_Q @ W_K.T, S @ W_V @ W_V.T @ S
    left = S @ P.T @ S
    blocks = {
        ("Q", "Q"): kron(S, W_K.T @ inner @ W_K),
        ("Q", "K"): kron(S @ W_Q, W_K.T @ inner) @ K,
        ("K", "K"): K.T @ kron(W_Q.T @ S @ W_Q, inner) @ K,
        ("V", "Q"): kron(left, W_V.T @ S @ W_K),
        ("V", "K"): kron(left @ W_Q, W_V.T @ S) @ K,
        ("V", "V"): kron(left @ P @ S, eye(d_V)),
    }
    return assembled(blocks) * rational(2 * L * L, d_V * d_K)


def _linear_functional(S: Any, O: Any, W_Q: Any, W_K: Any, W_V: Any, L: int) -> Any:
    """H_f of linear self-attention from S = Sigma_XX and O = Omega_xy, shape (n, n)."""
    d_V, d_K = W_Q.shape
    n = d_V * d_K
    blocks = {
        ("Q", "Q"): zeros(n, n),
        ("K", "K"): zeros(n, n),
        ("V", "V"): zeros(d_V * d_V, d_V * d_V),
        ("Q", "K"): kron(O @ W_V.T @ S, eye(d_K)),
        ("V", "Q"): kron(S @ W_K, O.T) @ commutation_matrix(d_K, d_V),
        ("V", "K"): kron(S, O.T @ W_Q),
    }
    return assembled(blocks) * (rational(2 * L, d_V) / sqrt(d_K))


def _covariances(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any) -> tuple[Any, Any]:
    """Sigma_XX and Omega_xy, both of shape (d_V, d_V)."""
    scale = rational(1, X.shape[0])
    return X.T @ X * scale, X.T @ (linear_attention(X, W_Q, W_K, W_V) - Y) * scale


@TABLE_1.formula
def hessians_from_covariances(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    """H_o and H_f over (W_Q, W_K, W_V) from Sigma_XX and Omega_xy, all entries in one column (Table 1)."""
    (S, O), L = _covariances(X, W_Q, W_K, W_V, Y), X.shape[0]
    return stacked(_linear_outer(S, W_Q, W_K, W_V, L), _linear_functional(S, O, W_Q, W_K, W_V, L))


@TABLE_1.oracle
def hessians_by_differentiation(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, Y: Labels) -> Any:
    w = stacked_weights(W_Q, W_K, W_V)
    R = linear_attention(X, W_Q, W_K, W_V) - Y
    return stacked(linear_outer_by_differentiation(w, X), linear_functional_by_differentiation(w, X, R))


TABLE_1.mutant("input-residual covariance transposed", "O -> O.T")
TABLE_1.mutant("degree 1 in the covariance, as for the MLP", "S -> S * 0 + eye(S.shape[0])")
TABLE_1.mutant("labels left out of the residual", "Y -> 0 * Y")

# -- 'more uniform across blocks' --------------------------------------------------------------------------------------

Factor = Annotated[Any, Real(-2.0, 2.0, avoid_zero=True)]

UNIFORM_DEPENDENCE = Claim(WITHOUT_SOFTMAX, "hessian.sec4.1-uniform-dependence", label="Section 4.1, text",
    statement=r"""\text{``All blocks of the outer-product Hessian depend cubically on } \Sigma_{XX} \text{, while the
        non-zero functional Hessian blocks depend linearly on } X\otimes\Sigma_{XX}\text{. Similarly, the number of
        weight matrices entering the expressions for the blocks for the Hessian without softmax is the same for the
        outer-product Hessian and across non-zero blocks of the functional Hessian''}""",
    name="linear attention, uniform dependence of the blocks", relation=Equal(), all_sizes=True, expects="reading",
    uses=("hessian.table-1", "hessian.rem-4.1-outer", "hessian.rem-4.1-functional-vq", "hessian.rem-4.1-functional-qk"),
    reading=Reading(("depend cubically on", "depend linearly on", "number of weight matrices entering the expressions"),
        r"""of the expressions in Remark 4.1, in which the residual $\delta_{XY}$ is a symbol of its own, although $F$
            in it holds three more factors $X$ and three more weight matrices"""),
    note=r"""$X \to \sigma X$ and all weights times $w$ multiply every block of $H_o$ by $\sigma^6w^4$ and every block
        of $H_f$ by $\sigma^3w$: four weight matrices in each block of $H_o$, one in each non-zero block of $H_f$.""",
)  # fmt: skip


@UNIFORM_DEPENDENCE.formula
def parts_times_powers(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_V: ValueWeights, R: Labels, s: Scale, w: Factor
) -> Any:
    """sigma^6 w^4 H_o and sigma^3 w H_f, all entries in one column (Section 4.1)."""
    L, scale = X.shape[0], rational(1, X.shape[0])
    S, O = X.T @ X * scale, X.T @ R * scale
    outer = _linear_outer(S, W_Q, W_K, W_V, L) * (power(s, 6) * power(w, 4))
    return stacked(outer, _linear_functional(S, O, W_Q, W_K, W_V, L) * (power(s, 3) * w))


@UNIFORM_DEPENDENCE.oracle
def parts_of_scaled_inputs(X: Any, W_Q: Any, W_K: Any, W_V: Any, R: Any, s: Any, w: Any) -> Any:
    weights = stacked_weights(W_Q, W_K, W_V) * w
    outer = linear_outer_by_differentiation(weights, X * s)
    return stacked(outer, linear_functional_by_differentiation(weights, X * s, R))


UNIFORM_DEPENDENCE.mutant("three weight matrices in H_o", "power(w, 4) -> power(w, 3)")
UNIFORM_DEPENDENCE.mutant("quadratic in the covariance in H_o", "power(s, 6) -> power(s, 4)")
UNIFORM_DEPENDENCE.mutant("degree 2 in H_f, without X", "power(s, 3) -> power(s, 2)")

# -- 'Softmax makes the Hessian diagonal blocks more indefinite' -------------------------------------------------------

Weight = Annotated[Any, Real(0.5, 2.0)]

SOFTMAX_INDEFINITE = Claim(HESSIAN, "hessian.sec4.1-softmax-indefinite", label="Section 4.1, text",
    statement=r"""\text{``Softmax makes the Hessian diagonal blocks more indefinite. When we remove the softmax from the
        self-attention definition, the functional Hessian has a block-hollow structure with zero blocks on the diagonal.
        This means that the Hessian blocks are fully defined by the outer-product Hessian, which ensures that they are
        positive-semidefinite''}""",
    assumptions=[
        Definition("square loss", by=square_loss), LINEAR[0],
        Definition("for the softmax: classical self-attention, three tokens, W_Q = 0", by=attention),
    ],
    name="softmax and indefinite diagonal blocks", relation=Equal(), all_sizes=True,
    sizes={"L": (1, 3), "d_V": (1, 2), "d_K": (1, 4)},
    expects="reading", uses=("hessian.eq-2", "hessian.full-functional", "hessian.rem-4.1-hollow-psd"), exact=True,
    reading=Reading("more indefinite", r"""without softmax the diagonal blocks are Gram matrices $\frac2{Ld_V}J^\top J$,
            never indefinite; with it the query block has a negative eigenvalue for some inputs: for $X = \sigma(-1, -1,
            2)^\top$, $d_V = d_K = 1$, $W_Q = 0$, $W_K = k$, $W_V = v$ and labels $r$ it is $8\sigma^5vk^2(2\sigma v -
            r)$, negative for $r > 2\sigma v$. The value block is positive semidefinite with softmax too"""),
)  # fmt: skip
SOFTMAX_INDEFINITE.inputs(
    X=Tokens, W_Q=QueryWeights, W_K=KeyWeights, W_V=ValueWeights, Y=Labels, s=Weight, k=Weight, v=Weight, r=Factor
)


def _gram_blocks(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    """2/(L d_V) J_i^T J_i of the linear layer for i = Q, K, V, with J in closed form, all entries in one column."""
    L, d_V = X.shape
    T, factor = attention_logits(X, W_Q, W_K), logit_factors(W_Q, W_K)
    scale, through = (2 * loss_normalisation(L, d_V)), kron(X, (X.T @ X @ W_V).T) / sqrt(W_Q.shape[1])
    jacobians = [through @ factor["Q"], through @ factor["K"], kron(T @ X, eye(d_V))]
    return stacked(*(J.T @ J * scale for J in jacobians))


@SOFTMAX_INDEFINITE.formula
def eigenvalue_and_gram_matrices(X: Any, W_Q: Any, W_K: Any, W_V: Any, s: Any, k: Any, v: Any, r: Any) -> Any:
    """The query block of the family with softmax, then the diagonal blocks of a linear layer, in one column."""
    eigenvalue = power(s, 5) * v * k * k * (2 * s * v - r) * 8
    return concatenate([0 * X[:1, :1] + eigenvalue, _gram_blocks(X, W_Q, W_K, W_V)], axis=0)


@SOFTMAX_INDEFINITE.oracle
def blocks_by_differentiation(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any, s: Any, k: Any, v: Any, r: Any) -> Any:
    zero = zeros(3, 1) + 0 * X[:1, :1]

    def softmax_loss(W_Q: Any) -> Any:
        rows = eye(3)
        tokens = zero + (3 * rows[:, 2:] - rows[:, :1] - rows[:, 1:2] - rows[:, 2:]) * s
        return square_loss(attention(tokens, W_Q, zero[:1] + k, zero[:1] + v), zero + r)

    def loss(W_Q: Any, W_K: Any, W_V: Any) -> Any:
        return square_loss(linear_attention(X, W_Q, W_K, W_V), Y)

    blocks = [hessian(loss, (name, name))(W_Q, W_K, W_V) for name in ("W_Q", "W_K", "W_V")]
    return stacked(hessian(softmax_loss, ("W_Q", "W_Q"))(zero[:1]), *blocks)


SOFTMAX_INDEFINITE.mutant("outer product alone, with softmax too", "2 * s * v - r -> 2 * s * v")
SOFTMAX_INDEFINITE.mutant("W_V transposed in the linear layer", "W_V -> W_V.T")
