"""Section 6.2: does R_E-multi put the constraints of Proposition 4.2 into practice, and does R_Spec bound the Jacobian?

Surprising: with orthogonal W^V and W^O, as they are implemented, no head can meet the condition (13).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from theorems.shared import reached
from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import (
    Beta, Heads, QueryWeights, SquareWeights, Tokens, multi_head_attention,
)  # fmt: skip
from theorems.dynamics.part_3_preliminaries.operators import summed_heads
from theorems.dynamics.part_4_energy.multi_head import (
    ORTHONORMAL_BLOCKS, WHOLE_BLOCKS, SharedBasis, multi_head_energy, pairs_of_blocks, products, symmetric_parts,
)  # fmt: skip
from theorems.dynamics.part_6_inference.regularisers import (
    MULTI_VANISHES, ORTHOGONAL, SYMMETRIC_PRODUCT_REACHED, Signs, asymmetry, head_products, squared_norm,
    symmetric_orthogonal_product,
)  # fmt: skip
from theorems.dynamics.numerics import loss_along, no_loss
from theorems.dynamics.settings import HEADS_FIT, POSITIVE_BETA, InverseTemperature
from theorems.shared.matrices import orthogonal_matrix
from verify.matrix import (
    absolute, added, concatenate, each, eye, mapped, maximum, ones, parts, rational, row_norms, spectral_norm, sqrt,
)  # fmt: skip
from verify.oracles import jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, HasStructure, Reading, Setting, realises
from verify.vocabulary.hypotheses import orthonormal_columns


IDENTITY = [[1, 0], [0, 1]]


def heads_of(W_Q: Any, W_K: Any, H: int) -> list[Any]:
    """A_h = W_h^Q W_h^{K T}, each of shape (D, D); head h has columns h of W_Q and W_K."""
    return mapped(lambda Q, K: Q @ K.T, parts(W_Q, H, 1), parts(W_K, H, 1))


# -- the constraints of Proposition 4.2 --------------------------------------------------------------------------------

#: Each W_h^V of Proposition 4.2 is read as W_h^V W_h^O.
DRIVE_THROUGH_OUTPUT = Definition(
    r"dX/dt = \sum_h softmax(\beta X A_h X^\top) X W_h^V W_h^O, A_h = W_h^Q W_h^{K\top}", by=summed_heads
)
ENERGY_12 = Definition("the energy (12)", by=multi_head_energy)

CONSTRAINTS_ANY = Claim(DYNAMICS, "dynamics.sec-6.2-energy-constraints-any", label="Energy where R_E-multi vanishes",
    statement=r"R_{\text{E-multi}}=0\ \Rightarrow\ \frac{dE_{\text{multi}}}{dt}\le0",
    assumptions=[
        ORTHOGONAL,
        MULTI_VANISHES,
        POSITIVE_BETA,
        HEADS_FIT,
        DRIVE_THROUGH_OUTPUT,
        ENERGY_12,
    ],
    name="energy where the multi-head regulariser vanishes",
    relation=AtMost(signed=True, left="0, the least that a falling energy loses", right="-dE/dt here"),
    sizes={"S": (1, 3), "D": (1, 4), "H": (1, 2)}, expects="refuted", severity="error", of_project=True,
    correction="dynamics.sec-6.2-energy-constraints-all",
    note=r"""$R_{\text{E-multi}}$ contains neither $W^Q$ nor $W^K$, and Proposition 4.2 constrains $W_h^QW_h^{K\top}$ and
        ties the values to it. Where it vanishes the energy can have either sign of slope: with $W^V = W^O = I$ and $A = -I$ a
        single token moves along itself and its energy grows. The paper does not print the implication
        (dynamics.sec-6.2-energy-constraints).""")  # fmt: skip


@CONSTRAINTS_ANY.inputs
@realises(SYMMETRIC_PRODUCT_REACHED)
def regularised_weights(
    X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, G: SquareWeights, K: SquareWeights, signs: Signs,
    beta: InverseTemperature, H: Heads,
) -> dict[str, Any]:  # fmt: skip
    """W^V and W^O orthogonal with a symmetric product, the rest as drawn."""
    return {**symmetric_orthogonal_product(G, K, signs, H), "X": X, "W_Q": W_Q, "W_K": W_K, "beta": beta}


@CONSTRAINTS_ANY.formula
def loss_under_the_regulariser(
    X: Tokens,
    W_Q: QueryWeights,
    W_K: SquareWeights,
    W_V: SquareWeights,
    W_O: SquareWeights,
    beta: InverseTemperature,
    H: Heads,
) -> Any:
    """-dE_multi/dt and its scale, shape (2, 1)."""
    velocity = summed_heads(X, W_Q, W_K, W_V, W_O, beta, H)
    return loss_along(lambda X: multi_head_energy(X, heads_of(W_Q, W_K, H), beta), X, velocity)


CONSTRAINTS_ANY.oracle(no_loss)
CONSTRAINTS_ANY.counterexample("one token and one head, A = -I",  # by hand: the token grows, and dE/dt = 2/e
    X=[[1, 0]], W_Q=[[-1, 0], [0, -1]], W_K=IDENTITY, W_V=IDENTITY, W_O=IDENTITY, beta=1, H=1)  # fmt: skip
CONSTRAINTS_ANY.counterexample("one token and two heads, A_1 = -E_11 and A_2 = -E_22",
    X=[[1, 1]], W_Q=[[-1, 0], [0, -1]], W_K=IDENTITY, W_V=IDENTITY, W_O=IDENTITY, beta=1, H=2)  # fmt: skip
CONSTRAINTS_ANY.mutant("sign of the values", "W_V -> -W_V")
CONSTRAINTS_ANY.mutant("values without output weights", "summed_heads -> _without_output")


def _without_output(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, beta: Any, H: int) -> Any:
    return multi_head_attention(X, W_Q, W_K, W_V, W_O * 0 + eye(W_O.shape[0]), beta, H)


def _pairwise(heads: list[Any], pair: Callable[[Any, Any], Any]) -> Any:
    """The sum of pair(A_h, A_k) over h < k, and 0 for one head; shape (1, 1)."""
    zero = squared_norm(heads[0]) * 0
    return sum((pair(heads[h], heads[k]) for h in range(len(heads)) for k in range(h + 1, len(heads))), zero)


def energy_regulariser(W_Q: Any, W_K: Any, W_V: Any, W_O: Any, H: int) -> Any:
    """sum_h |M_h - A_h|^2 + |A_h - A_h^T|^2, plus sum_{h < h'} |A_h A_h'|^2, M_h = W_h^V W_h^O; shape (1, 1)."""
    A, M = heads_of(W_Q, W_K, H), head_products(W_V, W_O, H)
    single = added([squared_norm(M[h] - A[h]) + asymmetry(A[h]) for h in range(H)])
    return single + _pairwise(A, lambda first, second: squared_norm(first @ second))


@realises(
    {
        "U is orthogonal": reached.ROTATIONS,
        "N is symmetric": reached.SYMMETRIC,
        "the weights are as stated": "the weights are computed as stated",
    }
)
def weights_with_an_energy(G: SharedBasis, M: SharedBasis, H: Heads) -> dict[str, Any]:
    """W_h^Q = W_h^V = U_h N_h, W_h^K = W_h^O^T = U_h, the blocks U_h of an orthogonal U and N_h of the symmetric N."""
    U, N = orthogonal_matrix(G), M + M.T
    bases, rows = parts(U, H, 1), parts(N, H, 0)
    queries = concatenate(each(H, lambda h: bases[h] @ parts(rows[h], H, 1)[h]), axis=1)
    return {"W_Q": queries, "W_K": U, "W_V": queries, "W_O": U.T, "U": U, "N": N, "H": H}


def _distance_from_weights_with_an_energy(W_Q: Any, W_K: Any, W_V: Any, W_O: Any, U: Any, N: Any, H: int) -> Any:
    bases, rows = parts(U, H, 1), parts(N, H, 0)
    queries = concatenate(each(H, lambda h: bases[h] @ parts(rows[h], H, 1)[h]), axis=1)
    return concatenate([W_Q - queries, W_V - queries, W_K - U, W_O - U.T], axis=0)


@realises(
    {
        "U is orthogonal": reached.ROTATIONS,
        "N is symmetric": reached.SYMMETRIC,
        "the weights are as stated": "the weights are computed as stated",
    }
)
def weights_with_an_energy_and_tokens(
    X: Tokens, G: SharedBasis, M: SharedBasis, beta: InverseTemperature, H: Heads
) -> dict[str, Any]:
    """Tokens as drawn, and weights that meet all constraints."""
    return {**weights_with_an_energy(G, M, H), "X": X, "beta": beta}


WITH_AN_ENERGY = [
    HEADS_FIT,
    Assumption("U is orthogonal", zero=lambda U: U.T @ U - eye(U.shape[0])),
    Assumption("N is symmetric", zero=lambda N: N - N.T),
    Assumption("the weights are as stated, N_h block h of N", zero=_distance_from_weights_with_an_energy),
]

CONSTRAINTS = Claim(DYNAMICS, "dynamics.sec-6.2-energy-constraints", label="Section 6.2, Method (i)",
    statement=r"""\text{``we consider applying the constraints identified in the proposition as a regularization term'',
        ``which can be interpreted as an approximation of energy-based SA models''}""",
    assumptions=[
        *WITH_AN_ENERGY,
        POSITIVE_BETA,
        Definition(r"U = [U_1, ..., U_H], W_h^Q = W_h^V = U_h N_h and W_h^K = W_h^{O\top} = U_h", by=weights_with_an_energy),
        DRIVE_THROUGH_OUTPUT,
        ENERGY_12,
    ],
    name="regularised attention as an energy-based model", relation=AtMost(signed=True, left="0", right="-dE/dt"),
    sizes={"S": (1, 3), "D": (1, 4), "H": (1, 2)}, expects="gap",
    correction="dynamics.sec-6.2-energy-constraints-all",
    presumes=("dynamics.sec-6.2-energy-constraints-any", "dynamics.prop-4.2"), uses=("dynamics.prop-4.2-symmetric",),
    missing=r"the values are tied to queries and keys, $W_h^VW_h^O = A_h = A_h^\top$ and $A_hA_{h'} = O$, $A_h = W_h^QW_h^{K\top}$",
    reading=Reading("an approximation of energy-based SA models",
        "where the constraints are met the model is one: the energy of Proposition 4.2 falls"),
    consequence="""E-multi tests no energy-based model, so that its lower accuracy says nothing about them; a regulariser
        has to tie values to queries and keys (dynamics.sec-6.2-energy-constraints-all).""",
    note=r"""'An approximation' has no definite meaning. In its weakest sense, that one of the constraints is imposed, the
        sentence is true: where $R_{\text{E-multi}} = 0$ the paper says only that $W_h^VW_h^O$ becomes symmetric. The model has
        an energy where the other constraints hold too, and that is checked here. $R_{\text{E-multi}}$ does not contain them,
        and without them the energy can rise (dynamics.sec-6.2-energy-constraints-any). Section 6.2 concludes from
        the accuracy of such models that 'energy-based regularization may be unnecessary'.""")  # fmt: skip
CONSTRAINTS.inputs(weights_with_an_energy_and_tokens)


CONSTRAINTS.formula(loss_under_the_regulariser)
CONSTRAINTS.oracle(no_loss)
CONSTRAINTS.mutant("sign of the values", "W_V -> -W_V")
CONSTRAINTS.mutant("sign of the keys", "W_K -> -W_K")


CONSTRAINTS_ALL = Claim(DYNAMICS, "dynamics.sec-6.2-energy-constraints-all", label="Section 6.2, with all constraints",
    statement=r"""R=\sum_h\big(\|W_h^VW_h^O-A_h\|_F^2+\|A_h-A_h^\top\|_F^2\big)+\sum_{h<h'}\|A_hA_{h'}\|_F^2,\
        A_h=W_h^QW_h^{K\top}\text{, is 0 exactly if }W_h^VW_h^O=A_h=A_h^\top\text{ and }A_hA_{h'}=O\text{, where
        }E_{\text{multi}}\text{ falls; so at }W_h^Q=W_h^V=U_hN_h,\ W_h^K=W_h^{O\top}=U_h\text{ for orthonormal }U=[U_1,
        \ldots,U_H]\text{ and symmetric }N_h""",
    assumptions=WITH_AN_ENERGY,
    name="regulariser of weights with an energy", relation=HasStructure(), sizes={"D": (1, 4), "H": (1, 2)},
    exact=True, of_project=True,
    corrects=("dynamics.sec-6.2-energy-constraints", "dynamics.sec-6.2-energy-constraints-any"),
    uses=("dynamics.prop-4.2-symmetric",),
    note="""Checked is that the stated weights make it 0; that the energy falls there is dynamics.prop-4.2-symmetric.
        They have orthonormal keys and outputs, and values of any eigenvalues.""")  # fmt: skip
CONSTRAINTS_ALL.inputs(weights_with_an_energy)


@CONSTRAINTS_ALL.formula
def regulariser_of_weights_with_an_energy(
    W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights, H: Heads
) -> Any:
    """R, shape (1, 1)."""
    return energy_regulariser(W_Q, W_K, W_V, W_O, H)


CONSTRAINTS_ALL.part("structure", lambda value: value)
CONSTRAINTS_ALL.mutant("values of the wrong sign", "W_V -> -W_V")
CONSTRAINTS_ALL.mutant("keys for the queries", "W_Q -> W_K")


# -- orthogonal factors ------------------------------------------------------------------------------------------------


@realises({r"U_{k,h}^\top": reached.ROTATIONS, "W^V and W^O are orthogonal": reached.ROTATIONS})
def blocks_and_orthogonal_weights(G: SharedBasis, V: SharedBasis, O: SharedBasis, H: Heads) -> dict[str, Any]:
    """U, W^V and W^O orthogonal, the Cayley transforms of G, V and O."""
    return {"U": orthogonal_matrix(G), "W_V": orthogonal_matrix(V), "W_O": orthogonal_matrix(O), "H": H}


BLOCKS = Setting(
    DYNAMICS,
    "Section 6.2, orthogonal weights beside the condition (13)",
    assumptions=[
        ORTHONORMAL_BLOCKS,
        WHOLE_BLOCKS,
        Definition(r"A_h = U_{1,h}U_{2,h}^\top, W_h^V of (13) symmetrised: (A_h + A_h^\top)/2", by=symmetric_parts),
    ],
    sizes={"D": (2, 4), "H": (1, 2)},
    exact=True,
)

FACTORS = Claim(BLOCKS, "dynamics.sec-6.2-orthogonal-factors", label="Orthogonal weights beside the condition (13)",
    statement=r"""W^V,W^O\text{ orthogonal},\ W_h^VW_h^O=(A_h+A_h^\top)/2\text{ in the place of the }W_h^V\text{ of (13)},\
        A_h=U_{1,h}U_{2,h}^\top\text{, can hold together: }\|W_h^VW_h^O\|_F^2=\|(A_h+A_h^\top)/2\|_F^2""",
    assumptions=[ORTHOGONAL],
    name="orthogonal factors of the values of Proposition 4.2", relation=Equal(), expects="refuted", severity="error",
    correction="dynamics.sec-6.2-orthogonal-factors-halved", presumes=("dynamics.eq-13-form",), of_project=True,
    note=r"""Section 6.2 implements $W^V$ and $W^O$ as orthogonal matrices and takes $W_h^VW_h^O$ for the $W_h^V$ of Proposition
        4.2. These are decisions; that (13) holds then is printed nowhere. It cannot: for orthogonal matrices $W_h^VW_h^O$ has
        $D/H$ singular values 1, whatever they are, and $(A_h + A_h^\top)/2$ of (13) has $D/H$ eigenvalues $\pm\frac12$.
        $R_{\text{E-multi}}$, which asks for symmetry alone, does not see the factor. Whoever wants (13) halves one of the
        factors. With the literal $W_h^{Q\top}W_h^K$ of (13) the shapes do not fit either (dynamics.eq-13-form).""")  # fmt: skip
FACTORS.inputs(blocks_and_orthogonal_weights)


@FACTORS.formula
def squared_norms_of_values(U: SharedBasis, H: Heads) -> Any:
    """|(A_h + A_h^T)/2|_F^2 for every head, shape (H, 1)."""
    return concatenate(mapped(squared_norm, symmetric_parts(products(U, H))), axis=0)


FACTORS.oracle(lambda W_V, W_O, H: concatenate(mapped(squared_norm, head_products(W_V, W_O, H)), axis=0))
FACTORS.counterexample("identities, one head", U=[[1, 0], [0, 1]], W_V=[[1, 0], [0, 1]], W_O=[[1, 0], [0, 1]], H=1)
FACTORS.mutant("without one half", lambda value: value * 4)
FACTORS.mutant("half the square", lambda value: value / 2)


HALVED = Claim(BLOCKS, "dynamics.sec-6.2-orthogonal-factors-halved", label="Orthogonal factors of the condition (13)",
    statement=r"""W_h^V=[U_{1,h},U_{2,h}],\ W_h^O=\tfrac12[U_{2,h},U_{1,h}]^\top\ \Rightarrow\
        W_h^VW_h^O=(A_h+A_h^\top)/2,\ A_h=U_{1,h}U_{2,h}^\top\text{, with }W^V\text{ and }2W^O\text{ orthogonal}""",
    name="orthogonal factors of the values, halved", relation=Equal(), all_sizes=True,
    hypotheses=(orthonormal_columns("U", stated=ORTHONORMAL_BLOCKS.text),), of_project=True,
    corrects="dynamics.sec-6.2-orthogonal-factors",
    note="For an energy the heads have to be symmetric besides (dynamics.prop-4.2-symmetric), which (13) excludes.",
)  # fmt: skip


@HALVED.inputs
@realises({r"U_{k,h}^\top": reached.ROTATIONS})
def orthonormal_blocks_of_heads(G: SharedBasis, H: Heads) -> dict[str, Any]:
    """U = [U_11, U_21, ..., U_1H, U_2H], orthogonal."""
    return {"U": orthogonal_matrix(G), "H": H}


@HALVED.formula
def products_of_halved_factors(U: SharedBasis, H: Heads) -> Any:
    """[U_1h, U_2h] [U_2h, U_1h]^T / 2 for every head, stacked, shape (H D, D)."""
    firsts, seconds = pairs_of_blocks(U, H)

    def product(first: Any, second: Any) -> Any:
        return concatenate([first, second], axis=1) @ concatenate([second, first], axis=1).T * rational(1, 2)

    return concatenate(mapped(product, firsts, seconds), axis=0)


HALVED.oracle(lambda U, H: concatenate(symmetric_parts(products(U, H)), axis=0))
HALVED.mutant("not halved", numerator=2)
HALVED.mutant(
    "blocks in the same order", "concatenate([second, first], axis=1).T -> concatenate([first, second], axis=1).T"
)


# -- the spectrum of the Jacobian --------------------------------------------------------------------------------------


def of_norm_one(W: Any) -> Any:
    """W over its largest singular value, shape that of W: every matrix whose largest singular value is 1 arises."""
    return W / spectral_norm(W)


def largest_token(X: Any) -> Any:
    """r = max_i |X_i|, shape (1, 1)."""
    return ones(1, 1) * maximum(row_norms(X))


SPECTRUM = Claim(DYNAMICS, "dynamics.sec-6.2-jacobian-spectrum", label="Section 6.2, on spectral regularization",
    statement=r"""\text{``Spectral regularization addresses this issue by directly constraining the Jacobian
        spectrum''}""",
    assumptions=[
        POSITIVE_BETA,
        HEADS_FIT,
        Assumption("no weight matrix vanishes", positive=lambda W_Q, W_K, W_V, W_O: (
            maximum(absolute(W_Q)) * maximum(absolute(W_K)) * maximum(absolute(W_V)) * maximum(absolute(W_O)))),
        Definition("every weight matrix is divided by its largest singular value, so that R_Spec vanishes", by=of_norm_one),
        Definition("r is the largest norm of a token", by=largest_token),
    ],
    name="Jacobian of attention under spectral regularisation", relation=AtMost(ascent=False, left="|J_MSA(X)|_2"),
    sizes={"S": (1, 3), "D": (1, 3), "H": (1, 2)}, expects="reading", uses=("dynamics.eq-15-squared",),
    reading=Reading("constraining the Jacobian spectrum", r"""where $R_{\text{Spec}} = 0$, $\|J_{\text{MSA}}(X)\|_2\le
            H\sqrt3\sqrt{\beta^2r^4(S+1)+S}$, a bound without the weights, for tokens of norm at most $r$"""),
    note=r"""Of the weights, not directly: the bound is dynamics.eq-15-squared with norms of 1. The spectrum still
        depends on the tokens and grows with them, like $\beta r^2$ for steep balanced logits, whatever
        $R_{\text{Spec}}$ is.""")  # fmt: skip


@SPECTRUM.formula
def bound_without_weights(
    X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights, beta: Beta, H: Heads
) -> Any:
    """H sqrt(3) sqrt(beta^2 r^4 (S + 1) + S), shape (1, 1)."""
    steepness = largest_token(X) * largest_token(X) * beta
    return sqrt((steepness * steepness * (X.shape[0] + 1) + X.shape[0]) * 3) * H


@SPECTRUM.oracle
def norm_of_the_jacobian(
    X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights, beta: Beta, H: Heads
) -> Any:
    weights = [of_norm_one(W) for W in (W_Q, W_K, W_V, W_O)]
    return ones(1, 1) * spectral_norm(jacobian(multi_head_attention, "X")(X, *weights, beta, H))


SPECTRUM.mutant("a tenth of the bound", lambda value: value / 10)
SPECTRUM.mutant("independent of the number of tokens: below 1", lambda value: value * 0 + rational(1, 2))
