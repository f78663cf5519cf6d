"""Low-rank values W_V = W_O W_U, as multi-head layers have them: the blocks in W_O and W_U (Appendix E.1)."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.hessian import HESSIAN
from theorems.hessian.definitions import attention, attention_matrix, square_loss
from theorems.hessian.part_3_structure.functional import (
    functional_hessian_key, functional_hessian_query, functional_hessian_query_key,
)  # fmt: skip
from theorems.hessian.part_3_structure.outer_product import (
    outer_product_hessian_key, outer_product_hessian_query, outer_product_hessian_query_key,
)  # fmt: skip
from theorems.hessian.part_a_kronecker_products.products import stacked
from theorems.hessian.settings import LAYOUT, SQUARE_LOSS, KeyWeights, Labels, QueryWeights, Tokens, loss_normalisation
from verify.matrix import commutation_matrix, eye, kron, rational, total
from verify.oracles import hessian, jacobian
from verify.vocabulary import Claim, Construction, Equal, Reading, Real, Setting, Shape, subject

OutputWeights = Annotated[Any, Shape("d_V", "d_K")]
InputWeights = Annotated[Any, Shape("d_K", "d_V")]
Moment = Annotated[Any, Shape("L", "d_V")]
Scale = Annotated[Any, Real(-2.0, 2.0)]


@subject("hessian.low_rank_attention")
def low_rank_attention(X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_O: OutputWeights, W_U: InputWeights) -> Any:
    """F = M_1 W_O W_U, shape (L, d_V) (Eq. (24))."""
    return attention(X, W_Q, W_K, W_O @ W_U)


def _loss(X: Any, W_Q: Any, W_K: Any, W_O: Any, W_U: Any, Y: Any) -> Any:
    return square_loss(low_rank_attention(X, W_Q, W_K, W_O, W_U), Y)


# -- structure ---------------------------------------------------------------------------------------------------------

LOW_RANK_VALUES = Setting(
    HESSIAN,
    "Appendix E.1",
    assumptions=[
        Construction(
            "F = M_1 W_O W_U with M_1 = A X, W_O in R^{d_V x d_K}, W_U in R^{d_K x d_V}",
            shapes={"W_O": ("d_V", "d_K"), "W_U": ("d_K", "d_V")},
        ),
        SQUARE_LOSS,
        LAYOUT,
    ],
    exact=True,
)

STRUCTURE = Claim(LOW_RANK_VALUES, "hessian.sec-E.1-structure", label="Appendix E.1, eq. (24) and text",
    statement=r"""F^h(X) = A^h(X)XW_O^hW_U^h = M_1W_O^hW_U^h;\ \text{``the only self-attention Hessian blocks that get
        affected are the ones w.r.t. } W_O^h\text{ or } W_U^h\text{''; ``resembles a two-layer linear MLP if we treated
        } M_1\text{ as a single input matrix''; ``its diagonal consists entirely of the outer-product Hessian entries,
        since its functional Hessian counterpart has a block-hollow structure''; ``the outer-product Hessian block
        w.r.t. the value matrices } W_O^h\text{ and } W_U^h\text{ has an extra quadratic dependence on the selected
        value matrices themselves and on the first moment matrix } M_1\text{''}""",
    name="low-rank value matrices, block structure", relation=Equal(), all_sizes=True,
    sizes={"L": (1, 3), "d_V": (1, 2), "d_K": (1, 2)},
    where=lambda sizes: sizes["L"] * sizes["d_V"] * sizes["d_K"] <= 8,
    uses=(
        "hessian.eq-2", "hessian.thm-3.1-qq", "hessian.thm-3.1-qk", "hessian.thm-3.2-qq", "hessian.thm-3.2-qk",
        "hessian.outer-key-key", "hessian.functional-key-key",
    ),
    note=r"""With $c = 2/(Ld_V)$: $H(O,O) = cM_1^\top M_1 \otimes W_UW_U^\top$, $H(U,U) = cW_O^\top M_1^\top M_1W_O
        \otimes I$, $H_o(O,U) = cM_1^\top M_1W_O \otimes W_U$; the first two both of the whole Hessian and of $H_o$.
        $H(Q,Q)$, $H(Q,K)$ and $H(K,K)$ are those of Theorems 3.1 and 3.2 and their key counterparts at $W_V = W_OW_U$.
        One head: the outputs of the others hold none of its weights and are part of $Y$. Quadratic means of degree two
        in $W_O$ and $W_U$ together, and in $M_1$: visible in these formulas.""")  # fmt: skip


def _value_blocks(M_1: Any, W_O: Any, W_U: Any, exchanged: bool = False) -> list[Any]:
    """H(O,O), H(U,U), the same of H_o, and H_o(O,U); a mutant exchanges the factors of the last one."""
    L, d_V = M_1.shape
    gram, c = M_1.T @ M_1, (2 * loss_normalisation(L, d_V))
    mixed = kron(W_U, gram @ W_O) if exchanged else kron(gram @ W_O, W_U)
    diagonal = [kron(gram, W_U @ W_U.T) * c, kron(W_O.T @ gram @ W_O, eye(d_V)) * c]
    return [*diagonal, *diagonal, mixed * c]


def _query_blocks(X: Any, W_Q: Any, W_K: Any, W_V: Any, Y: Any) -> list[Any]:
    """H(Q,Q), H(Q,K) and H(K,K) of the layer with values W_V."""
    diagonal = outer_product_hessian_query(X, W_Q, W_K, W_V) + functional_hessian_query(X, W_Q, W_K, W_V, Y)
    mixed = outer_product_hessian_query_key(X, W_Q, W_K, W_V) + functional_hessian_query_key(X, W_Q, W_K, W_V, Y)
    key = outer_product_hessian_key(X, W_Q, W_K, W_V) + functional_hessian_key(X, W_Q, W_K, W_V, Y)
    return [diagonal, mixed, key]


@STRUCTURE.formula
def low_rank_blocks(
    X: Tokens, W_Q: QueryWeights, W_K: KeyWeights, W_O: OutputWeights, W_U: InputWeights, Y: Labels
) -> Any:
    """H and H_o of (O,O) and (U,U), H_o(O,U), H(Q,Q), H(Q,K), H(K,K), all entries in one column (Appendix E.1)."""
    M_1 = attention_matrix(X, W_Q, W_K) @ X
    return stacked(*_value_blocks(M_1, W_O, W_U), *_query_blocks(X, W_Q, W_K, W_O @ W_U, Y))


@STRUCTURE.oracle
def low_rank_blocks_by_differentiation(X: Any, W_Q: Any, W_K: Any, W_O: Any, W_U: Any, Y: Any) -> Any:
    weights = X, W_Q, W_K, W_O, W_U
    J_O, J_U = (jacobian(low_rank_attention, name)(*weights) for name in ("W_O", "W_U"))
    outer = [J.T @ K * (2 * loss_normalisation(*X.shape)) for J, K in ((J_O, J_O), (J_U, J_U), (J_O, J_U))]
    diagonal = [hessian(_loss, (name, name))(*weights, Y) for name in ("W_O", "W_U")]
    pairs = (("W_Q", "W_Q"), ("W_Q", "W_K"), ("W_K", "W_K"))
    return stacked(*diagonal, *outer, *(hessian(_loss, pair)(*weights, Y) for pair in pairs))


STRUCTURE.mutant("factors of H_o(O,U) exchanged", exchanged=True)
STRUCTURE.mutant("tokens instead of M_1", "M_1 -> X")
STRUCTURE.mutant("query blocks with the transposed values", "W_O @ W_U -> (W_O @ W_U).T")

# -- the functional part of the mixed block ----------------------------------------------------------------------------

FUNCTIONAL = Claim(LOW_RANK_VALUES, "hessian.sec-E.1-functional-m1", label="Appendix E.1, text",
    statement=r"""\text{``For the MSE loss, the functional part of these blocks has a quadratic dependence on the first
        moment matrix } M_1 \text{, as both the derivative of the loss w.r.t. the model output } \partial\ell/\partial
        F\text{, and the mixed second derivative matrix of } F^h\text{ w.r.t. } W_O^h\text{ and } W_U^h\text{ (see eq.
        (2)) depend on it linearly''}""",
    name="low-rank value matrices, functional block", relation=Equal(), all_sizes=True,
    sizes={"L": (1, 6), "d_V": (1, 3), "d_K": (1, 4)},
    where=lambda sizes: sizes["L"] * sizes["d_V"] * sizes["d_K"] <= 24, expects="reading",
    uses=("hessian.eq-2", "hessian.sec2-loss-derivatives"),
    reading=Reading(("quadratic dependence", "depend on it linearly"), r"""a polynomial of degree two: $H_f(O,U)$ at
            $sM_1$ is $s^2c(M_1^\top M_1W_OW_U \otimes I)K - sc(M_1^\top Y \otimes I)K$, with $c = 2/(Ld_V)$; not
            homogeneous, since $\partial\ell/\partial F$ is affine in $M_1$ and linear for $Y = 0$ only"""),
    note=r"""Entry $((a,b),(e,f))$ is $c\,\delta_{be}[M_1^\top(F - Y)]_{af}$. $K = K_{d_V,d_K}$ turns the columns of
        $W_U^\top$ into those of $W_U$.""")  # fmt: skip


@FUNCTIONAL.formula
def low_rank_functional_block(s: Scale, M_1: Moment, W_O: OutputWeights, W_U: InputWeights, Y: Labels) -> Any:
    """H_f(W_O, W_U) at the first moment s M_1, shape (d_V d_K, d_K d_V) (Appendix E.1)."""
    (L, d_V), d_K = M_1.shape, W_O.shape[1]
    K, linear = commutation_matrix(d_V, d_K), kron(M_1.T @ Y, eye(d_K)) * s
    quadratic = kron(M_1.T @ M_1 @ W_O @ W_U, eye(d_K)) * (s * s)
    return (quadratic @ K - linear @ K) * (2 * loss_normalisation(L, d_V))


@FUNCTIONAL.oracle
def low_rank_functional_block_by_differentiation(s: Any, M_1: Any, W_O: Any, W_U: Any, Y: Any) -> Any:
    gradient = (M_1 * s @ W_O @ W_U - Y) * rational(2, M_1.shape[0] * M_1.shape[1])

    def paired(W_O: Any, W_U: Any) -> Any:
        return total(gradient * (M_1 * s @ W_O @ W_U))

    return hessian(paired, ("W_O", "W_U"))(W_O, W_U)


FUNCTIONAL.mutant("homogeneous of degree two", "linear -> 0 * linear")
FUNCTIONAL.mutant("columns in the order of W_U^T", "K -> eye(d_V * d_K)")
FUNCTIONAL.mutant("linear in M_1", "s * s -> s")
