"""Limitations: the bound that the text refers to, and how loose that of Proposition 5.1 is.

Surprising: Proposition 4.1, which is named, bounds no Jacobian; the bound (14) can be off by any factor, and is attained too.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.shared import reached
from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import Beta, SquareWeights, Tokens, unit_rows
from theorems.dynamics.part_3_preliminaries.symmetric_attention import energy_loss
from theorems.dynamics.part_5_jacobians.normalisation_bound import update_jacobian_bound, update_jacobian_norm
from theorems.dynamics.settings import ENERGY
from verify.matrix import absolute, eye, rational, row_sums, zeros
from verify.vocabulary import Assumption, AtMost, Claim, Equal, Reading, Real, Shape, realises

REFERENCE = Claim(ENERGY, "dynamics.sec-7-reference", label="Limitations, text",
    statement=r"""\text{``the upper bound provided by Proposition 4.1 provides a conservative upper bound that is looser
        than empirical observations''}""",
    assumptions=[
        Assumption("A = W^V = W^Q is symmetric, W^K = I: the case of Proposition 4.1 that holds", zero=lambda A: A - A.T),
    ],
    name="looseness of the bound of Proposition 4.1",
    relation=AtMost(signed=True, ascent=False, left="0", right="-dE/dt here, less 10^-6"),
    sizes={"S": (1, 3), "D": (1, 3)}, expects="refuted", severity="slip", correction="dynamics.sec-7-looseness",
    presumes=("dynamics.prop-4.1",),
    reading=Reading("a conservative upper bound that is looser than empirical observations",
        r"""the only upper bound in Proposition 4.1 is $dE/dt \le 0$; loose would mean that it is never attained, $dE/dt
            < -\kappa$ with some $\kappa > 0$, tested at $10^{-6}$"""),
    note="""Proposition 4.1 bounds no Jacobian. Its 0 is attained at every fixed point, so it is not loose. No
        other meaning saves it: a rate that was observed to lie below 0 is compared with no analysis of Jacobians, and the sentence
        goes on with 'existing analyses of SA's Jacobians without normalization', that is Eq. (15), beside which stands
        Proposition 5.1: it is meant. Its bound (14) can be loose by any factor (dynamics.sec-7-looseness), and it is
        also attained (see dynamics.prop-5.1).""")  # fmt: skip


@REFERENCE.inputs
@realises({r"|X_{[i,:]}\| = 1": reached.UNIT_ROWS, "A = W^V = W^Q is symmetric": reached.SYMMETRIC})
def symmetric_unit_tokens(directions: Tokens, B: SquareWeights, beta: Beta) -> dict[str, Any]:
    """Unit tokens and A = B + B^T."""
    return {"X": unit_rows(directions), "A": B + B.T, "beta": beta}


@REFERENCE.formula
def loss_beyond_a_margin(X: Tokens, A: SquareWeights, beta: Beta) -> Any:
    """-dE/dt - 10^-6 along (3) with W^V = A, shape (1, 1): nonnegative if the bound 0 is never nearly attained."""
    return energy_loss(X, A, A * 0 + eye(A.shape[0]), A, beta)[:1] - rational(1, 10**6)


REFERENCE.oracle(lambda: zeros(1, 1))
REFERENCE.counterexample("a single token on an axis, A = I: a fixed point", X=[[1, 0]], A=[[1, 0], [0, 1]], beta=1)
REFERENCE.mutant("a margin of 1", lambda value: value - 1)
REFERENCE.mutant("a negative margin", lambda value: value + rational(2, 10**6))


LOOSENESS = Claim(DYNAMICS, "dynamics.sec-7-looseness", label="Limitations, how loose the bound of Proposition 5.1 is",
    statement=r"""S=1,\ D\ge2,\ \|x\|=1,\ K,\eta>0,\ W^VW^O=Kx^\top x,\ \gamma=\mathbf 1,\ C=0:\quad\frac{\text{bound
        (14)}}{\|\partial
        \operatorname{RMSNorm}(X+\eta\Delta X)/\partial X\|_2}=1+|\eta|K""",
    assumptions=[
        Assumption("D >= 2", sizes=lambda sizes: sizes["D"] >= 2),
        Assumption("the token has unit norm", zero=lambda X: row_sums(X * X) - 1),
        Assumption("K > 0", positive=lambda K: K),
        Assumption("C = O", zero=lambda C: C),
        Assumption(r"\gamma = (1, ..., 1)", zero=lambda gamma: gamma - 1),
        Assumption("W^V W^O = K x^T x", zero=lambda X, W_V, W_O, K: W_V @ W_O - X.T @ X * K),
        Assumption(r"\eta > 0", positive=lambda eta: eta),
    ],
    name="looseness of the normalised Jacobian bound", relation=Equal(), sizes={"D": (2, 3)}, of_project=True,
    corrects="dynamics.sec-7-reference", uses=("dynamics.prop-5.1",),
    note="""Attention amplifies $x$, the direction that normalisation removes; across it nothing is amplified. So no
        constant factor turns the bound into an estimate from below.""")  # fmt: skip


@LOOSENESS.inputs
@realises(
    {
        "token has unit norm": reached.UNIT_ROWS,
        "C = O": "C is 0",
        r"\gamma = (1": "gamma is (1, ..., 1)",
        "W^V W^O = K x^T x": "W^V is computed so, with W^O = I",
    },
    but=(
        "the queries and keys vanish, W^O = I, beta = 1, and there is one head; for one token softmax is 1, and update and"
        " bound read only W^V W^O of all these"
    ),
)
def amplified_direction(
    direction: Annotated[Any, Shape("1", "D")],
    K: Annotated[Any, Real(0.125, 8.0)],
    eta: Annotated[Any, Real(0.125, 2.0)],
) -> dict[str, Any]:
    """One unit token x, W^V = K x^T x, W^O = I, W^Q = W^K = O, gamma = 1."""
    X = unit_rows(direction)
    D = X.shape[1]
    O = X.T @ X * 0
    weights = {"W_Q": O, "W_K": O, "W_V": X.T @ X * K, "W_O": O + eye(D), "beta": K * 0 + 1, "H": 1}
    return {"X": X, "C": X * 0, "gamma": X[0] * 0 + 1, "K": K, "eta": eta, **weights}


@LOOSENESS.formula
def overestimate(K: Any, eta: Any) -> Any:
    """1 + |eta| K, a scalar."""
    return 1 + absolute(eta) * K


@LOOSENESS.oracle
def bound_over_norm(
    X: Any, C: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, gamma: Any, beta: Any, eta: Any, H: int
) -> Any:
    arguments = (X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)
    return update_jacobian_bound(*arguments) / update_jacobian_norm(*arguments)


LOOSENESS.mutant("no loss", lambda K, eta: 1 + absolute(eta) * K * 0)
LOOSENESS.mutant("K alone", lambda K: 1 + K)
