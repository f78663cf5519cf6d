"""Proposition 4.2 with Eqs. (12) and (13): the energy of several heads, its condition, and what holds in their place.

Surprising: the orthogonality in (13) forces every head to be asymmetric, for which the energy may grow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from theorems.shared import reached
from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import Beta, Heads, Tokens, rate_along
from theorems.dynamics.numerics import STEPS, energy_lost, loss_along, no_loss
from theorems.dynamics.part_4_energy.single_head import printed_values, symmetrised_values
from theorems.dynamics.settings import POSITIVE_BETA, Factor
from theorems.shared.matrices import orthogonal_matrix
from verify.arithmetics import Constant
from verify.matrix import added, concatenate, each, exp, eye, mapped, parts, row_sums, softmax, total, zeros
from verify.vocabulary import (
    Assumption, AtMost, Claim, Construction, Definition, Equal, HasStructure, Setting, Shape, realises,
)  # fmt: skip
from verify.vocabulary.hypotheses import orthonormal_columns, symmetric

SharedBasis = Annotated[Any, Shape("D", "D")]

ORTHONORMAL_BLOCKS = Assumption(
    r"U_{k,h}^\top U_{k',h'} = \delta_{hh'}\delta_{kk'} I_{D/(2H)}", zero=lambda U: U.T @ U - eye(U.shape[1])
)


def whole_blocks(sizes: Mapping[str, int]) -> bool:
    """Whether 2 H divides D."""
    return bool(sizes["D"] % (2 * sizes["H"]) == 0)


WHOLE_BLOCKS = Assumption("2 H divides D", sizes=whole_blocks)


@realises({r"U_{k,h}^\top": reached.ROTATIONS})
def orthonormal_heads(X: Tokens, G: SharedBasis, beta: Beta, H: Heads) -> dict[str, Any]:
    """Tokens as drawn, and U = [U_11, U_21, ..., U_1H, U_2H] (D, D), the Cayley transform of G."""
    return {"X": X, "U": orthogonal_matrix(G), "beta": beta, "H": H}


@realises({r"U_{k,h}^\top": reached.ROTATIONS, "Q is orthogonal": reached.ROTATIONS})
def orthonormal_heads_and_keys(X: Tokens, G: SharedBasis, K: SharedBasis, beta: Beta, H: Heads) -> dict[str, Any]:
    """Tokens as drawn, U and the keys Q orthogonal."""
    return {**orthonormal_heads(X, G, beta, H), "Q": orthogonal_matrix(K)}


def pairs_of_blocks(U: Any, H: int) -> tuple[list[Any], list[Any]]:
    """U_11, ..., U_1H and U_21, ..., U_2H, each of shape (D, D/(2H))."""
    heads = parts(U, H, 1)
    return mapped(lambda both: parts(both, 2, 1)[0], heads), mapped(lambda both: parts(both, 2, 1)[1], heads)


def products(U: Any, H: int) -> list[Any]:
    """A_h = U_1h U_2h^T for h = 1, ..., H, each of shape (D, D)."""
    return mapped(lambda first, second: first @ second.T, *pairs_of_blocks(U, H))


def printed_head_values(products: list[Any], Q: Any) -> list[Any]:
    """W_h^V = (W_h^Q^T W_h^K + W_h^Q W_h^K^T)/2 for W_h^Q = A_h Q and W_h^K = Q, each of shape (D, D) (Eqs. (13), (47))."""
    return [printed_values(A @ Q, Q) for A in products]


MULTI_HEAD_ATTENTION = Setting(
    DYNAMICS,
    "Section 4, Proposition 4.2",
    assumptions=[
        ORTHONORMAL_BLOCKS,
        POSITIVE_BETA,
        WHOLE_BLOCKS,
        Definition(
            r"A_h = W_h^QW_h^{K\top} = U_{1,h}U_{2,h}^\top, U_{1(2),h} \in R^{D x D/(2H)}; no constraint on the tokens",
            by=products,
        ),
    ],
    sizes={"S": (1, 3), "D": (2, 4), "H": (1, 2)},
    inputs=orthonormal_heads,
)


#: The condition (13) as it is printed, on the values too.
PRINTED_VALUES = MULTI_HEAD_ATTENTION.extended(
    assumptions=[
        Definition(
            r"D_H = D, without which the summands of W_h^V have different shapes; W_h^Q = A_hQ and W_h^K = Q with one"
            r" orthogonal Q, so that W_h^QW_h^{K\top} = A_h",
            by=printed_head_values,
        ),
        Assumption("Q is orthogonal", zero=lambda Q: Q.T @ Q - eye(Q.shape[0])),
    ],
    inputs=orthonormal_heads_and_keys,
)


def two_tokens_one_head() -> dict[str, Any]:
    """Two tokens, H = 1, U_1 = e_1, U_2 = e_2, so that A = E_12; W^Q = A, W^K = I realise it."""
    return {"X": [[-4, 1], [1, 1]], "U": [[1, 0], [0, 1]], "Q": [[1, 0], [0, 1]], "beta": 1, "H": 1}


def two_tokens_two_heads() -> dict[str, Any]:
    """The same tokens in the first plane of R^4, H = 2, A_1 = E_12, A_2 = E_34: the second head sees nothing."""
    identity = [[int(i == j) for j in range(4)] for i in range(4)]
    return {"X": [[-4, 1, 0, 0], [1, 1, 0, 0]], "U": identity, "Q": identity, "beta": 1, "H": 2}


def multi_head_energy(X: Any, products: list[Any], beta: Any) -> Any:
    """E_multi(X) = -sum_h sum_ij exp(beta x_i^T A_h x_j), a scalar (Eq. (12))."""
    return -total(added(mapped(lambda A: exp(X @ A @ X.T * beta), products)))


def head_outputs(X: Any, products: list[Any], values: list[Any], beta: Any) -> list[Any]:
    """SA_h(X) = softmax(beta X A_h X^T) X W_h^V, each of shape (S, D) (Eq. (2))."""
    return mapped(lambda A, V: softmax(X @ A @ X.T * beta) @ X @ V, products, values)


def symmetric_parts(products: list[Any]) -> list[Any]:
    """W_h^V = (A_h^T + A_h)/2, each of shape (D, D)."""
    return mapped(lambda A: symmetrised_values(A, eye(A.shape[0])), products)


def multi_head_rate(X: Any, products: list[Any], values: list[Any], beta: Any) -> Any:
    """dE_multi/dt along dX/dt = sum_h SA_h(X), a scalar, by differentiating E along the flow."""
    velocity = added(head_outputs(X, products, values, beta))
    return rate_along(lambda X: multi_head_energy(X, products, beta), X, velocity, beta * 0)


def multi_head_loss_of(X: Any, products: list[Any], values: list[Any], beta: Any) -> Any:
    """-dE_multi/dt and its scale, shape (2, 1)."""
    velocity = added(head_outputs(X, products, values, beta))
    return loss_along(lambda X: multi_head_energy(X, products, beta), X, velocity)


# -- Proposition 4.2 ---------------------------------------------------------------------------------------------------


def opposite_tokens(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """U = Q = I, tokens near (-4, 1) and (1, 1) in the plane of the first head, beta = 1: there (13) lets the energy grow."""
    for name in ("G", "K"):
        if name in arrays:
            arrays[name][:] = 0.0
    X, width = arrays["X"], sizes["D"] // (2 * sizes["H"])
    X[:] = rng.integers(-2, 3, X.shape) / 16
    X[:, ::2, 0] -= 4.0
    X[:, 1::2, 0] += 1.0
    X[:, :, width] += 1.0
    arrays["beta"][:] = 1.0


PROPOSITION_42 = Claim(PRINTED_VALUES, "dynamics.prop-4.2",
    label="Proposition 4.2 (Eqs. (12)-(13), restated (46)-(47))", name="energy of multi-head attention",
    statement=r"""dX/dt=\sum_{h=1}^H SA_h(X),\quad E_{\text{multi}}(X):=-\sum_h\sum_{i,j}\exp\left(\beta X_{[i,:]}^\top
        W_h^QW_h^{K\top}X_{[j,:]}\right)\text{ is monotonically decreasing as }dE_{\text{multi}}(X)/dt\le0\text{ under
        the condition }W_h^V=(W_h^{Q\top}W_h^K+W_h^QW_h^{K\top})/2,\ W_h^QW_h^{K\top}=U_{1,h}U_{2,h}^\top,\text{ where
        }U_{1(2),h}\in\mathbb R^{D\times D/(2H)}\ (h\in[1,H])\text{ satisfies }U_{k,h}^\top U_{k',h'}=\delta_{hh'}
        \delta_{kk'}I_{D/(2H)}""",
    relation=AtMost(signed=True, left="0, the least that a falling energy loses", right="-dE/dt here"),
    expects="refuted", severity="error", correction="dynamics.prop-4.2-symmetric",
    presumes=("dynamics.eq-13-form", "dynamics.eq-13-orthogonality"),
    proof=(
        "dynamics.eq-48", "dynamics.eq-49", "dynamics.eq-52", "dynamics.eq-52-53", "dynamics.eq-53",
        "dynamics.eq-53-54", "dynamics.eq-54-56", "dynamics.eq-56", "dynamics.eq-58-59", "dynamics.eq-66-thus",
        "dynamics.eq-66",
    ),
    consequence="""The energy of several heads can grow under the condition (13), which no symmetric head meets; use
        symmetric heads $A_h = W_h^V$ with $A_hA_{h'} = O$ (dynamics.prop-4.2-symmetric), or equal ones
        (dynamics.sec-4-equal-heads).""",
    note=r"""The orthogonality condition forces every $A_h$ to be asymmetric (it squares to zero and is not zero), and
        the gradient of the energy is then not Eq. (48). The condition on $W_h^V$ is taken as printed, with $D_H = D$,
        where both summands are $D \times D$ (dynamics.eq-13-form); the counterexamples have $W_h^K = I$, where
        $W_h^{Q\top}W_h^K$ and $W_h^KW_h^{Q\top}$ agree. Only few states, about one in 500 drawn at random, break the
        statement.""")  # fmt: skip


@PROPOSITION_42.formula
def multi_head_loss(X: Tokens, U: SharedBasis, Q: SharedBasis, beta: Beta, H: Heads) -> Any:
    """-dE_multi/dt with W_h^V of (13) for W_h^Q = A_h Q, W_h^K = Q, and its scale; shape (2, 1)."""
    A = products(U, H)
    return multi_head_loss_of(X, A, printed_head_values(A, Q), beta)


PROPOSITION_42.oracle(no_loss)
PROPOSITION_42.domain("opposite tokens in the plane of a head")(opposite_tokens)


@PROPOSITION_42.counterexample("two tokens, one head, A = E_12")
def _() -> dict[str, Any]:
    """By hand: dE/dt = e/2 - 7/e^4 = 1.23..."""
    return two_tokens_one_head()


PROPOSITION_42.counterexample("two tokens, two heads, A_1 = E_12 and A_2 = E_34")(two_tokens_two_heads)
PROPOSITION_42.mutant("W_h^V = A_h", "printed_head_values(A, Q) -> A")
PROPOSITION_42.mutant("sign of W_h^V", "printed_head_values(A, Q) -> [-V for V in printed_head_values(A, Q)]")


def symmetric_products(U: Any, H: int) -> list[Any]:
    """A_h = U_1h U_1h^T - U_2h U_2h^T, each of shape (D, D): symmetric, indefinite, with A_h A_h' = 0."""
    return mapped(lambda first, second: first @ first.T - second @ second.T, *pairs_of_blocks(U, H))


def orthogonal_products(U: Any, N: Any, H: int) -> list[Any]:
    """A_h = U_h N_h U_h^T, each of shape (D, D): symmetric where N is, with A_h A_h' = 0; of any rank up to D/H."""
    bases, rows = parts(U, H, 1), parts(N, H, 0)
    return each(H, lambda h: bases[h] @ parts(rows[h], H, 1)[h] @ bases[h].T)


SYMMETRIC_HEADS: list[Assumption | Definition] = [
    ORTHONORMAL_BLOCKS,
    POSITIVE_BETA,
    WHOLE_BLOCKS,
    Definition(
        r"A_h = W_h^V = U_{1,h}U_{1,h}^\top - U_{2,h}U_{2,h}^\top: symmetric heads with A_h A_{h'} = O for h \ne h'",
        by=symmetric_products,
    ),
]


@realises({r"U_{k,h}^\top": reached.ROTATIONS, "N is symmetric": reached.SYMMETRIC})
def heads_of_any_eigenvalues(X: Tokens, G: SharedBasis, M: SharedBasis, beta: Beta, H: Heads) -> dict[str, Any]:
    """Tokens as drawn, U orthogonal, and N = M + M^T."""
    return {**orthonormal_heads(X, G, beta, H), "N": M + M.T}


ORTHOGONAL_HEADS = Setting(
    DYNAMICS,
    "Proposition 4.2 for symmetric heads",
    assumptions=[
        ORTHONORMAL_BLOCKS,
        POSITIVE_BETA,
        WHOLE_BLOCKS,
        Definition(
            r"A_h = W_h^V = U_hN_hU_h^\top with U_h = [U_{1,h}, U_{2,h}], the blocks N_h of D/H rows of the symmetric N on its"
            r" diagonal: symmetric heads of any eigenvalues with A_h A_{h'} = O for h \ne h'",
            by=orthogonal_products,
        ),
        Assumption("N is symmetric", zero=lambda N: N - N.T),
    ],
    sizes=MULTI_HEAD_ATTENTION.sizes,
    inputs=heads_of_any_eigenvalues,
)

PROPOSITION_42_SYMMETRIC = Claim(ORTHOGONAL_HEADS, "dynamics.prop-4.2-symmetric",
    label="Proposition 4.2 for symmetric heads", name="energy of multi-head attention, symmetric heads",
    statement=r"""E_{\text{multi}}(X)=-\sum_h\sum_{i,j}\exp(\beta X_{[i,:]}^\top A_hX_{[j,:]})\text{ has
        }\frac{dE_{\text{multi}}(X)}{dt}\le0\text{ along }dX/dt=\sum_h\operatorname{softmax}(\beta
        XA_hX^\top)XW_h^V\text{ when }A_h=A_h^\top=W_h^V,\ A_hA_{h'}=O\ (h\ne h')""",
    general="""For other heads the energy falls at most states too, so that a search by chance hardly sees that the
        condition is needed.""",
    relation=AtMost(signed=True), of_project=True, corrects="dynamics.prop-4.2", proof=("dynamics.eq-56-symmetric",),
)  # fmt: skip


@PROPOSITION_42_SYMMETRIC.formula
def symmetric_heads_loss(X: Tokens, U: SharedBasis, N: SharedBasis, beta: Beta, H: Heads) -> Any:
    """-dE_multi/dt for symmetric heads, and its scale; shape (2, 1)."""
    A = values = orthogonal_products(U, N, H)
    return multi_head_loss_of(X, A, values, beta)


PROPOSITION_42_SYMMETRIC.oracle(no_loss)


@PROPOSITION_42_SYMMETRIC.domain("rotations by the identity, small tokens")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """U = I, integer weights."""
    arrays["G"][:] = 0.0
    arrays["M"][:] = rng.integers(-2, 3, arrays["M"].shape)
    arrays["X"][:] = rng.integers(-3, 4, arrays["X"].shape) / 4


PROPOSITION_42_SYMMETRIC.domain("opposite tokens in the plane of a head")(opposite_tokens)
PROPOSITION_42_SYMMETRIC.mutant("sign of W_h^V", "values -> [-V for V in values]")
PROPOSITION_42_SYMMETRIC.mutant("symmetric heads that are not orthogonal",
    "A -> [*A, -A[0] / 2]; values -> [*values, -A[0] / 2]")  # fmt: skip
PROPOSITION_42_SYMMETRIC.mutant("W_h^V the identity", "values -> [eye(U.shape[0])] * H")


WIDTH_OF_A_HEAD = Assumption("D_H = D/H", sizes=lambda sizes: sizes["D"] == sizes["D_H"] * sizes["H"])


# -- the condition (13) ------------------------------------------------------------------------------------------------

EQ_13_FORM = Claim(DYNAMICS, "dynamics.eq-13-form", label="Eq. (13), first condition",
    statement=r"W_h^V=(W_h^{Q\top}W_h^K+W_h^QW_h^{K\top})/2\ \text{with the shapes needed by}\ dX/dt=\sum_hSA_h(X)",
    assumptions=[WIDTH_OF_A_HEAD, Construction(r"W_h^Q, W_h^K \in R^{D x D_H}", shapes={"W_Q": ("D", "D_H"), "W_K": ("D", "D_H")})],
    name="shapes in the multi-head weight condition", relation=Equal(), sizes={"D": (1, 4), "D_H": (1, 4), "H": (1, 4)},
    expects="refuted", severity="slip", repeats="dynamics.sec-4-symmetric-constraint",
    correction="dynamics.eq-13-symmetrised",
    note=r"""Shapes, not values. Already for $H = 2$ the summands do not add up. With $W_h^K W_h^{Q\top}$ for
        $W_h^{Q\top}W_h^K$ they do, and $W_h^V$ is $D \times D$, as $\sum_h SA_h(X)$ needs, though not $D \times D_H$.
        """)  # fmt: skip


def shape_of(matrix: Any) -> Constant:
    """(rows, columns) of a matrix, shape (1, 2)."""
    return Constant([list(matrix.shape)])


@EQ_13_FORM.formula
def shapes_of_summands(W_Q: Factor, W_K: Factor, H: Heads) -> Any:
    """The shapes of W_h^Q^T W_h^K and of W_h^Q W_h^K^T, shape (2, 2)."""
    return concatenate([shape_of(W_Q.T @ W_K), shape_of(W_Q @ W_K.T)], axis=0)


@EQ_13_FORM.oracle
def shapes_needed(W_Q: Factor, W_K: Factor, H: Heads) -> Any:
    """D x D for both: SA_h(X) has the shape of X."""
    D = W_Q.shape[0]
    return Constant([[D, D], [D, D]])


EQ_13_FORM.counterexample("two heads of dimension 1", W_Q=[[1], [0]], W_K=[[0], [1]], H=2)
EQ_13_FORM.mutant("first summand W^K W^{Q T}", "W_Q.T @ W_K -> W_K @ W_Q.T")
EQ_13_FORM.mutant("second summand W^{K T} W^Q", "W_Q @ W_K.T -> W_K.T @ W_Q")


EQ_13_SYMMETRISED = Claim(DYNAMICS, "dynamics.eq-13-symmetrised", label="Eq. (13) with W^K W^{Q T}",
    statement=r"W_h^V=(W_h^QW_h^{K\top}+W_h^KW_h^{Q\top})/2\in\mathbb R^{D\times D}\ \text{is symmetric, so that}"
    r"\ SA_h(X)\in\mathbb R^{S\times D}",
    assumptions=[WIDTH_OF_A_HEAD, Construction(r"W_h^Q, W_h^K \in R^{D x D_H}", shapes={"W_Q": ("D", "D_H"), "W_K": ("D", "D_H")})],
    name="multi-head weight condition, symmetrised", relation=HasStructure(), all_sizes=True,
    sizes={"D": (1, 4), "D_H": (1, 4), "H": (1, 4)},
    exact=True, of_project=True, corrects="dynamics.eq-13-form")  # fmt: skip


@EQ_13_SYMMETRISED.formula
def head_values(W_Q: Factor, W_K: Factor) -> Any:
    """(W_h^Q W_h^K^T + W_h^K W_h^Q^T)/2, shape (D, D)."""
    return symmetrised_values(W_Q, W_K)


@EQ_13_SYMMETRISED.part("structure")
def skew_part_and_shape(value: Any, W_Q: Factor) -> Any:
    """The skew part of W_h^V, and how far its shape is from (D, D); shape (D + 1, D)."""
    D = W_Q.shape[0]
    excess = value[:1] * 0 + (value.shape[0] - D) ** 2 + (value.shape[1] - D) ** 2
    return concatenate([value - value.T, excess], axis=0)


EQ_13_SYMMETRISED.mutant("not symmetrised", lambda W_Q, W_K: W_Q @ W_K.T)
EQ_13_SYMMETRISED.mutant("minus between the summands", lambda W_Q, W_K: W_Q @ W_K.T - W_K @ W_Q.T)


EQ_13_ORTHOGONALITY = Claim(DYNAMICS, "dynamics.eq-13-orthogonality", label="Eq. (13), orthogonality condition",
    statement=r"""U_{k,h}\in\mathbb R^{D\times D/(2H)},\ U_{k,h}^\top U_{k',h'}=\delta_{hh'}\delta_{kk'}I_{D/(2H)}\
        \text{is satisfiable: the }2H\text{ blocks form an orthonormal basis of }\mathbb R^D""",
    assumptions=[WHOLE_BLOCKS],
    name="orthonormal blocks of the heads exist", relation=HasStructure(), all_sizes=True,
    sizes={"D": (2, 4), "H": (1, 2)}, exact=True,
    note=r"""The Cayley transform of any matrix has such blocks. Then $A_h^2 = O$ and $A_h \ne O$, so that no $A_h$ is
        symmetric.""")  # fmt: skip


@EQ_13_ORTHOGONALITY.formula
def orthonormal_blocks(G: SharedBasis, H: Heads) -> Any:
    """U = [U_11, U_21, ..., U_1H, U_2H], shape (D, D)."""
    return orthogonal_matrix(G)


@EQ_13_ORTHOGONALITY.part("structure")
def gram_defects(value: Any, H: Heads) -> Any:
    """U_{k,h}^T U_{k',h'} - delta I block by block, then U U^T - I and A_h^2; shape ((2 + H) D, D)."""
    blocks, unit = parts(value, 2 * H, 1), eye(value.shape[0])
    rows = mapped(lambda left: concatenate(mapped(lambda right: left.T @ right, blocks), axis=1), blocks)
    squares = concatenate(mapped(lambda A: A @ A, products(value, H)), axis=0)
    return concatenate([concatenate(rows, axis=0) - unit, value @ value.T - unit, squares], axis=0)


EQ_13_ORTHOGONALITY.mutant("columns scaled by 2", lambda value: value * 2)
EQ_13_ORTHOGONALITY.mutant("G itself", lambda G: G)
EQ_13_ORTHOGONALITY.mutant("first column repeated", lambda value: concatenate([value[:, :1], value[:, :-1]], axis=1))


# -- dE/dt for symmetric heads -----------------------------------------------------------------------------------------

EQ_56_SYMMETRIC = Claim(ORTHOGONAL_HEADS, "dynamics.eq-56-symmetric", label="Eq. (56) for symmetric heads",
    statement=r"""\frac{dE_{\text{multi}}(X)}{dt}=-2\beta\sum_i\sum_hZ_{h,i}\|\Delta_{h[i,:]}\|^2\text{ along
        }dX/dt=\sum_h\Delta_h,\ \Delta_h=\operatorname{softmax}(\beta XA_hX^\top)XA_h,\ Z_{h,i}=\sum_j\exp(\beta
        X_{[i,:]}^\top A_hX_{[j,:]})""",
    hypotheses=(orthonormal_columns("U", stated=ORTHONORMAL_BLOCKS.text), symmetric("N", stated="N is symmetric")),
    name="rate of the multi-head energy, symmetric heads", relation=Equal(), all_sizes=True, exact=True,
    of_project=True, corrects="dynamics.eq-56")  # fmt: skip


def sum_of_squares(X: Any, products: list[Any], values: list[Any], beta: Any, normalised: bool = True) -> Any:
    """sum_i sum_h Z_hi |Delta_hi|^2, a scalar; Z_hi left out unless `normalised`."""

    def squares(A: Any, output: Any) -> Any:
        found = row_sums(output * output)
        return total(found * row_sums(exp(X @ A @ X.T * beta)) if normalised else found)

    return added(mapped(squares, products, head_outputs(X, products, values, beta)))


@EQ_56_SYMMETRIC.formula
def symmetric_heads_rate(X: Tokens, U: SharedBasis, N: SharedBasis, beta: Beta, H: Heads) -> Any:
    """-2 beta sum_i sum_h Z_hi |Delta_hi|^2, a scalar."""
    A = orthogonal_products(U, N, H)
    return -2 * beta * sum_of_squares(X, A, A, beta)


@EQ_56_SYMMETRIC.oracle
def symmetric_heads_rate_differentiated(X: Tokens, U: SharedBasis, N: SharedBasis, beta: Beta, H: Heads) -> Any:
    A = orthogonal_products(U, N, H)
    return multi_head_rate(X, A, A, beta)


@EQ_56_SYMMETRIC.domain("small tokens")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """Exponents of order 1, where float32 has its digits."""
    arrays["X"][:] = rng.integers(-3, 4, arrays["X"].shape) / 4
    arrays["M"][:] = rng.integers(-2, 3, arrays["M"].shape) / 4
    arrays["beta"][:] = 1.0 + rng.integers(0, 5, len(arrays["beta"])) / 4


EQ_56_SYMMETRIC.mutant("without beta, as Eq. (56) is printed", "-2 * beta -> -2")
EQ_56_SYMMETRIC.mutant("Z_hi dropped", normalised=False)
EQ_56_SYMMETRIC.mutant("first head only", "orthogonal_products(U, N, H) -> orthogonal_products(U, N, H)[:1]")


MULTI_HEAD = Claim(DYNAMICS, "dynamics.prop-4.2-integrated",
    label="Proposition 4.2 for symmetric heads, integrated forward",
    statement=r"""
        A_h=A_h^\top=W_h^V,\ A_hA_{h'}=O\ \Rightarrow\ E_{\text{multi}}(X(\tau))-E_{\text{multi}}(X(0))\le\text{
        the change when the step is halved, for a time }\tau>0""",
    assumptions=[*SYMMETRIC_HEADS, STEPS],
    name="multi-head energy along integrated trajectories", relation=AtMost(signed=True, ascent=False),
    sizes={"S": (1, 3), "D": (2, 4), "H": (1, 2)}, of_project=True, uses=("dynamics.prop-4.2-symmetric",))  # fmt: skip
MULTI_HEAD.inputs(orthonormal_heads)


def _multi_head_loss(X: Any, heads: list[Any], values: list[Any], beta: Any) -> Any:
    # |A_h| = 1, and the logits of a head change by 2 beta |X| for a unit change of X
    time = 1 / (4 * (1 + len(heads) * (1 + beta * (X * X).sum())))
    return energy_lost(
        lambda Y: sum(head_outputs(Y, heads, values, beta)), lambda Y: multi_head_energy(Y, heads, beta), X, time
    )


@MULTI_HEAD.formula
def multi_head_energy_lost(X: Tokens, U: SharedBasis, beta: Beta, H: Heads) -> Any:
    """E(0) - E(tau) plus the change by halving the step for symmetric heads, shape (1, 1)."""
    heads = values = symmetric_products(U, H)
    return _multi_head_loss(X, heads, values, beta)


MULTI_HEAD.oracle(lambda: zeros(1, 1))
MULTI_HEAD.domain("opposite tokens in the plane of a head")(opposite_tokens)
MULTI_HEAD.mutant("values of the wrong sign", "values -> [-A for A in values]")
MULTI_HEAD.mutant("the asymmetric heads of Eq. (13)",
    "heads -> products(U, H); values -> symmetric_parts(products(U, H))")  # fmt: skip
