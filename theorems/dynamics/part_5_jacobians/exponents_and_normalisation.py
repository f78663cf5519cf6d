"""Sections 5.1 and 5.3, Figure 3: what normalisation does to Lyapunov exponents, and what symmetric attention has for exponents.

Surprising: normalisation can take an exponent from 0 to -4.6; Proposition 5.1 bounds exponents from above only.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from theorems.shared import reached
from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import (
    Beta, Gain, Heads, QueryWeights, SquareWeights, Tokens, flow, rms_norm,
    unit_rows,
)  # fmt: skip
from theorems.dynamics.part_3_preliminaries.symmetric_attention import PlanarDirection, PlanarTokens
from theorems.dynamics.part_5_jacobians.discrete_update import NO_ZERO_INPUT, normalised_step_matrix, step_matrix
from theorems.dynamics.part_5_jacobians.normalisation_bound import (
    itrsa_step, squared_radii, two_step_jacobian, update_jacobian_bound,
)  # fmt: skip
from theorems.dynamics.settings import POSITIVE_BETA, UPDATE, InverseTemperature, Row, Step
from verify.arithmetics import Constant
from verify.matrix import (
    absolute, block_diag, eigenvalues, eye, log, maximum, ones, rational, row_norms, row_sums, spectral_norm, trace,
)  # fmt: skip
from verify.oracles import jacobian
from verify.vocabulary import (
    Assumption, AtMost, Claim, Construction, Definition, Equal, Reading, Real, Setting, Size, realises,
)  # fmt: skip

Amplification = Annotated[Any, Real(0.0, 4.0)]
Drive = Annotated[Any, Real(0.0, 100.0)]
PositiveStep = Annotated[Any, Real(0.125, 2.0)]
Stiffness = Annotated[Any, Real(0.125, 4.0)]
Excess = Annotated[Any, Real(0.125, 4.0)]

NO_ZERO_NEXT_INPUT = Assumption(
    "nor of the input of the normalisation in the next step",
    positive=lambda X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H: squared_radii(
        itrsa_step(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H), C, W_Q, W_K, W_V, W_O, beta, eta, H
    ),
)


# -- towards zero ------------------------------------------------------------------------------------------------------


#: How a token at rest meets the assumptions of `AT_REST`.
AT_REST_REACHED = {
    "SA(X) = mX": "W^V = m I and W^O = I; the update reads only their product",
    "C = cX": "C is computed so",
    "gamma = ": "gamma is (1, ..., 1)",
    "fixed point of (9)": "C = c x keeps the direction of the unit token x",
    "token has unit norm": reached.UNIT_ROWS,
}


@realises(
    AT_REST_REACHED,
    but=(
        "the queries and keys vanish, W^V = m I, W^O = I, beta = 1, and there is one head; for one token softmax is 1, and the"
        " update reads only W^V W^O of all these"
    ),
)
def amplified_token_at_rest(direction: Row, m: Amplification, c: Drive, eta: PositiveStep) -> dict[str, Any]:
    """One unit token x, C = c x, W^V = m I, W^O = I, gamma = 1: x is a fixed point of (9), and attention is linear."""
    X = unit_rows(direction)
    D, one = X.shape[1], m * 0 + 1
    O = X.T @ X * 0
    identity = O + eye(D)
    weights = {"W_Q": O, "W_K": O, "W_V": identity * m, "W_O": identity, "beta": one, "H": 1}
    return {"X": X, "C": X * c, "gamma": X[0] * 0 + 1, "eta": eta, "m": m, "c": c, **weights}


AT_REST = Setting(
    DYNAMICS,
    "Section 5.3, one amplified token at rest",
    assumptions=[
        Assumption("D >= 2, without which a normalised token cannot move", sizes=lambda sizes: sizes["D"] >= 2),
        Construction("one token: X in R^{1 x D}", shapes={"X": ("1", "D")}),
        Assumption("attention is SA(X) = mX for every token X: W^V W^O = m I", zero=lambda W_V, W_O, m: (
            W_V @ W_O - m * eye(W_V.shape[0]))),
        Assumption("C = cX", zero=lambda X, C, c: C - X * c),
        Assumption(r"\gamma = \mathbf 1", zero=lambda gamma: gamma - 1),
        Assumption(r"m \ge 0", nonnegative=lambda m: m),
        Assumption(r"c \ge 0", nonnegative=lambda c: c),
        Assumption("X is a fixed point of (9)", zero=lambda X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H: (
            itrsa_step(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H) - X)),
        Assumption("the token has unit norm", zero=lambda X: row_sums(X * X) - 1),
    ],
    sizes={"D": (2, 3)},
    inputs=amplified_token_at_rest,
)  # fmt: skip


@realises(
    {**AT_REST_REACHED, "c is at most": "c is a share of m (1 + eta m)"},
    but="the share is s/(1 + s) for s >= 0, so that the bound itself, at which both sides agree, is a limit",
)
def small_input_at_rest(direction: Row, m: Amplification, s: Drive, eta: PositiveStep) -> dict[str, Any]:
    """The token of `amplified_token_at_rest` with an input of at most m (1 + eta m) times the token."""
    return amplified_token_at_rest(direction, m, m * (1 + eta * m) * s / (1 + s), eta)


SMALL_INPUT = Assumption(r"c is at most m(1 + \eta m)", nonnegative=lambda m, c, eta: m * (1 + eta * m) - c)
TOWARD_ZERO = Claim(AT_REST.extended(inputs=small_input_at_rest), "dynamics.sec-5.3-toward-zero",
    label="Figure 3, Section 5.3 and the abstract",
    statement=r"""\text{``Normalization drives the Lyapunov exponents toward zero'' (Figure 3); ``In models with
        normalization layers, the exponent tends to concentrate around zero, indicating the criticality''; ``forcing the
        dynamics close to a critical state'' (abstract)}""",
    assumptions=[
        SMALL_INPUT,
        Definition("updates with RMSNorm", by=normalised_step_matrix),
        Definition("and without", by=step_matrix),
    ],
    name="normalisation and Lyapunov exponents near zero",
    relation=AtMost(ascent=False, left="with normalisation", right="without it"), expects="gap",
    presumes=("dynamics.sec-5.3-toward-zero-any",), correction="dynamics.sec-5.3-toward-zero-above",
    uses=("dynamics.prop-5.1", "dynamics.eq-89"),
    missing=r"""the input $C$ is not large beside what attention adds: for one token at rest with $\operatorname{SA}(X) = mX$ and
        $C = cX$, $c \le m(1+\eta m)$""",
    reading=Reading("toward zero", r"""the largest exponent of the update (9) is no farther from 0 than that of the same
            update without RMSNorm: $|\lambda_{\max}|$ with normalisation is at most $|\lambda_{\max}|$ without"""),
    consequence="""Normalisation alone gives no criticality: it bounds exponents from above
        (dynamics.sec-5.3-toward-zero-above), and a large input or small gains make them as negative as one likes.""",
    note=r"""The caption and the sentence of Section 5.3 report what was observed of trained models; of that nothing is denied.
        The abstract says that normalisation forces it, and the text derives it from Proposition 5.1 and Section 5.2.
        Proposition 5.1 is an upper bound; nothing in it keeps exponents away from $-\infty$. Checked at a fixed point
        where it is so. Its Jacobian is constant and symmetric: the exponents are $\ln(1+\eta m)$ without normalisation,
        and with it $\ln\frac{1+\eta m}{1+\eta m+\eta c}$, $D - 1$ times, and $-\infty$. For $m = 0$ and $\eta c = 99$ the first
        is 0, the other $-4.6$ (dynamics.sec-5.3-toward-zero-any).""")  # fmt: skip


@TOWARD_ZERO.formula
def exponent_without_normalisation(
    X: Row, C: Row, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    beta: Beta, eta: PositiveStep, H: int,
) -> Any:  # fmt: skip
    """|ln |I + eta J_MSA|_2|, a scalar."""
    return absolute(log(spectral_norm(step_matrix(X, C, W_Q, W_K, W_V, W_O, beta, eta, H))))


@TOWARD_ZERO.oracle
def exponent_with_normalisation(
    X: Any, C: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, gamma: Any, beta: Any, eta: Any, H: int
) -> Any:
    return absolute(log(spectral_norm(normalised_step_matrix(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H))))


TOWARD_ZERO.mutant("half the exponent", lambda value: value / 2)
TOWARD_ZERO.mutant("its square", lambda value: value * value)


def no_attention() -> dict[str, Any]:
    """By hand: the exponents are 0 without normalisation and -ln 100 with it."""
    O, identity = [[0, 0], [0, 0]], [[1, 0], [0, 1]]
    weights = {"W_Q": O, "W_K": O, "W_V": O, "W_O": identity, "beta": 1, "H": 1}
    return {"X": [[1, 0]], "C": [[99, 0]], "gamma": [1, 1], "eta": 1, "m": 0, "c": 99, **weights}


def attention_to_itself() -> dict[str, Any]:
    """By hand: ln 2 without normalisation, ln(2/20) with it."""
    O, identity = [[0, 0], [0, 0]], [[1, 0], [0, 1]]
    weights = {"W_Q": O, "W_K": O, "W_V": identity, "W_O": identity, "beta": 1, "H": 1}
    return {"X": [[1, 0]], "C": [[18, 0]], "gamma": [1, 1], "eta": 1, "m": 1, "c": 18, **weights}


TOWARD_ZERO_ANY = TOWARD_ZERO.without(SMALL_INPUT, "dynamics.sec-5.3-toward-zero-any",
    {"no attention, an input 99 times the token": no_attention,
     "attention SA(X) = X, an input 18 times the token": attention_to_itself},
    setting=AT_REST, label="Exponents nearer to zero, whatever the input",
    statement=r"""|\lambda_{\max}|\text{ of the update (9) is at most }|\lambda_{\max}|\text{ of the same update without RMSNorm:
        for one token at rest with }\operatorname{SA}(X)=mX,\ C=cX""",
    name="exponents nearer to zero by normalisation, any input", uses=("dynamics.eq-89",),
    note=r"""For $m = 0$ and $\eta c = 99$ the exponent is 0 without normalisation and $-4.6$ with it.""")  # fmt: skip
TOWARD_ZERO_ABOVE = Claim(UPDATE, "dynamics.sec-5.3-toward-zero-above", label="Section 5.3, exponents bounded from above",
    statement=r"""\frac12\ln\Big\|\frac{dX^{(2)}}{dX^{(0)}}\Big\|_2\le\frac12\sum_{t<2}\ln\Big(\frac{\max_j|\gamma_j|}{R_t}
        \big(1+|\eta|\,\|J_{\text{MSA}}(X^{(t)})\|_2\big)\Big),\quad R_t=\min_i\|X^{(t)}_{[i,:]}+\eta\Delta
        X^{(t)}_{[i,:]}\|,\text{ and so for }T\text{ steps: }\lambda_{\max}\text{ is at most the time average}""",
    assumptions=[NO_ZERO_INPUT, NO_ZERO_NEXT_INPUT, Definition("the update (9) with RMSNorm (6)", by=itrsa_step)],
    name="Lyapunov exponents bounded by gains and radii", relation=AtMost(ascent=False, left="|dX^(2)/dX^(0)|_2"),
    sizes={"S": (1, 2), "D": (1, 2), "H": (1, 2)}, of_project=True, corrects="dynamics.sec-5.3-toward-zero",
    uses=("dynamics.prop-5.1",),
    note="""Proposition 5.1 for each step and the norm of a product. Compared without the logarithms, for two steps; longer
        products by induction.""")  # fmt: skip


@TOWARD_ZERO_ABOVE.formula
def product_of_update_bounds(
    X: Tokens, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    gamma: Gain, beta: Beta, eta: Step, H: Heads,
) -> Any:  # fmt: skip
    """The bound (14) at X^(0) times that at X^(1), a scalar."""
    rest = (C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)
    return update_jacobian_bound(X, *rest) * update_jacobian_bound(itrsa_step(X, *rest), *rest)


@TOWARD_ZERO_ABOVE.oracle
def norm_over_two_steps(
    X: Any, C: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, gamma: Any, beta: Any, eta: Any, H: int
) -> Any:
    return spectral_norm(two_step_jacobian(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H))


@TOWARD_ZERO_ABOVE.domain("equal tokens, identity values")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """As for Proposition 5.1: equality at D > 1 where the input is a multiple of the state."""
    arrays["W_Q"][:] = 0.0
    arrays["W_V"][:] = arrays["W_O"][:] = np.eye(sizes["D"])
    arrays["X"][:] = arrays["X"][:, :1, :]
    arrays["C"][:] = arrays["X"]
    arrays["gamma"][:] = 1.0
    arrays["eta"][:] = abs(arrays["eta"])


TOWARD_ZERO_ABOVE.mutant("a tenth of the bound", lambda value: value / 10)
TOWARD_ZERO_ABOVE.mutant("the first step alone, twice", "itrsa_step(X, *rest) -> X")


# -- explosion ---------------------------------------------------------------------------------------------------------

EXPLOSION = Claim(UPDATE, "dynamics.sec-5.1-signal-explosion", label="Section 5.1, text after Proposition 5.1",
    statement=r"""\text{``This effect appears to be particularly significant for preventing signal explosion in looped
        architectures, where the same operation is repeatedly applied''}""",
    assumptions=[NO_ZERO_INPUT, NO_ZERO_NEXT_INPUT, Definition("the update (9) with RMSNorm (6)", by=rms_norm)],
    name="normalised signals do not explode", relation=AtMost(left="norms of the tokens after two steps"),
    sizes={"S": (1, 3), "D": (1, 3), "H": (1, 2)}, expects="reading", uses=("dynamics.eq-6-rmsnorm",),
    reading=Reading("preventing signal explosion", r"""after any number of updates every token has a norm of at most
            $\max_j|\gamma_j|$, whatever the state, the input and the weights are; computed after two"""),
    note=r"""What does it is the division by the norm, at every step anew. The effect of which the sentence speaks, the
        factor $1/R$ of the bound (14), bounds the derivative: for $R$ below $\max_j|\gamma_j|$ it prevents
        nothing (dynamics.sec-5.1-suppress).""")  # fmt: skip


@EXPLOSION.formula
def largest_gain(X: Tokens, gamma: Gain) -> Any:
    """max_j |gamma_j| for every token, shape (S, 1)."""
    return ones(X.shape[0], 1) * maximum(absolute(gamma))


@EXPLOSION.oracle
def norms_after_two_steps(
    X: Tokens, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    gamma: Gain, beta: Beta, eta: Step, H: Heads,
) -> Any:  # fmt: skip
    rest = (C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)
    return row_norms(itrsa_step(itrsa_step(X, *rest), *rest))


EXPLOSION.mutant("largest gain without the absolute value", "absolute(gamma) -> gamma")
EXPLOSION.mutant("half the gain", lambda value: value / 2)


# -- symmetric attention -----------------------------------------------------------------------------------------------

QUARTER_TURN = Constant([[0, 1], [-1, 0]])
TokenCount = Annotated[int, Size("S")]


def consensus(direction: Any, S: int, a: Any, b: Any, beta: Any) -> dict[str, Any]:
    """S tokens at the unit vector e in the plane, A = a e^T e + b f^T f with f across e."""
    e = unit_rows(direction)
    f = e @ QUARTER_TURN
    return {"X": ones(S, 1) @ e, "A": e.T @ e * a + f.T @ f * b, "a": a, "b": b, "beta": beta}


def decay_at_rest(X: Any, A: Any, beta: Any) -> Any:
    """Minus the largest real part of an eigenvalue of the linearisation of (3) in the angles of the tokens, shape (1, 1)."""
    tangents = X @ QUARTER_TURN
    T = block_diag([tangents[i : i + 1].T for i in range(X.shape[0])])
    J = T.T @ jacobian(flow, "X")(X, A, eye(2), A, beta) @ T
    return ones(1, 1) * -maximum(eigenvalues(J)[:, 0])


#: What is reached where all tokens are one eigenvector of A, in the plane.
CONSENSUS_REACHED = {
    "A is symmetric": reached.SYMMETRIC,
    "rest point of (3) with": reached.SPECTRAL_PLANE,
    "all tokens are the same": reached.SPECTRAL_PLANE,
    "they have unit norm": reached.UNIT_ROWS,
    "they are an eigenvector of A for the eigenvalue a": reached.SPECTRAL_PLANE,
    "b is the other eigenvalue of A": reached.SPECTRAL_PLANE,
}


@realises(CONSENSUS_REACHED)
def simple_top_eigenvalue(
    direction: PlanarDirection,
    S: TokenCount,
    b: Annotated[Any, Real(-4.0, 4.0)],
    excess: Excess,
    beta: InverseTemperature,
) -> dict[str, Any]:
    """Consensus on an eigenvector of A, whose eigenvalue a exceeds the other eigenvalue b, and 0, by `excess`."""
    return consensus(direction, S, (b + absolute(b)) * rational(1, 2) + excess, b, beta)


@realises(CONSENSUS_REACHED)
def any_top_eigenvalue(
    direction: PlanarDirection,
    S: TokenCount,
    b: Stiffness,
    gap: Annotated[Any, Real(0.0, 4.0)],
    beta: InverseTemperature,
) -> dict[str, Any]:
    """Consensus on an eigenvector of the largest eigenvalue of A, which may be a double one."""
    return consensus(direction, S, b + gap, b, beta)


CONSENSUS = Setting(
    DYNAMICS,
    "Section 5.3, symmetric attention in consensus",
    assumptions=[
        Assumption("A is symmetric", zero=lambda A: A - A.T),
        Assumption(
            "X is a rest point of (3) with W^Q W^{K T} = W^V = A", zero=lambda X, A, beta: flow(X, A, eye(2), A, beta)
        ),
        POSITIVE_BETA,
        Assumption("all tokens are the same", zero=lambda X: X - ones(X.shape[0], 1) @ X[:1]),
        Assumption("they have unit norm", zero=lambda X: row_sums(X * X) - 1),
        Assumption("they are an eigenvector of A for the eigenvalue a", zero=lambda X, A, a: X @ A - X * a),
        Assumption("b is the other eigenvalue of A", zero=lambda A, a, b: trace(A) - a - b),
        Definition(
            "all tokens are one eigenvector of A, in the plane; exponents of (3), per unit of time", by=decay_at_rest
        ),
    ],
    sizes={"S": (1, 4)},
)

NEGATIVE = Claim(CONSENSUS, "dynamics.sec-5.3-negative", label="Section 5.3, text",
    statement=r"""\text{``In contrast, energy-based symmetric SA models show negative exponents, consistent with their
        Lyapunov stability''}""",
    assumptions=[
        Assumption("the eigenvalue a of the tokens exceeds the other one, b", positive=lambda a, b: a - b),
        Assumption("a > 0", positive=lambda a: a),
    ],
    name="exponents of symmetric attention", relation=AtMost(signed=True, ascent=False), expects="gap",
    presumes=("dynamics.sec-5.3-negative-any",), correction="dynamics.sec-5.3-negative-simple",
    missing=r"the largest eigenvalue of $W^QW^{K\top}$ is simple",
    consequence="""A Lyapunov stable rest point has exponents of at most 0; they are negative only where no rotation of all
        tokens leaves the energy as it is, which excludes the second case of Eq. (4).""",
    note=r"""Decided at consensus, the state of least energy for positive definite $A$, in the plane. There the largest
        exponent is $\max(b, 0) - a$ (dynamics.sec-5.3-negative-simple), tested is half of that. For $A = I$, the second
        case of Eq. (4), turning all tokens together costs no energy, and the largest exponent is 0
        (dynamics.sec-5.3-negative-any). At a rest point that is not stable it is positive: $a - b$ for one token on the
        other eigenvector. Of the models in Figure 3, which update in discrete time and were trained for
        one epoch, nothing is denied.""")  # fmt: skip
NEGATIVE.inputs(simple_top_eigenvalue)


@NEGATIVE.formula
def decay_of_consensus(X: PlanarTokens, A: Any, beta: InverseTemperature) -> Any:
    """Minus the largest exponent, shape (1, 1)."""
    return decay_at_rest(X, A, beta)


@NEGATIVE.oracle
def half_the_decay(a: Any, b: Any) -> Any:
    """(a - max(b, 0)) / 2, shape (1, 1)."""
    return ones(1, 1) * (a - (b + absolute(b)) * rational(1, 2)) * rational(1, 2)


NEGATIVE.mutant("time reversed", "decay_at_rest -> _decay_in_opposite_time")
NEGATIVE.mutant("a third of it", lambda value: value / 3)


def _decay_in_opposite_time(X: Any, A: Any, beta: Any) -> Any:
    return -decay_at_rest(X, A, beta)


NEGATIVE_ANY = Claim(CONSENSUS, "dynamics.sec-5.3-negative-any", label="Negative exponents of symmetric attention",
    statement=r"""W^QW^{K\top}=W^V=A=A^\top\ \Rightarrow\ \text{every exponent of (3) at a consensus on an eigenvector
        of the largest, positive eigenvalue of }A\text{ is below }-2^{-20}""",
    assumptions=[
        Assumption("the eigenvalue a of the tokens is the largest one", nonnegative=lambda a, b: a - b),
        Assumption("a > 0", positive=lambda a: a),
    ],
    name="negative exponents of symmetric attention without exception", relation=AtMost(left="2^-20", signed=True, ascent=False),
    expects="refuted", severity="error", of_project=True,
    note="A common rotation of all tokens neither grows nor decays.")  # fmt: skip
NEGATIVE_ANY.inputs(any_top_eigenvalue)


NEGATIVE_ANY.formula(decay_of_consensus)


NEGATIVE_ANY.oracle(lambda a: ones(1, 1) * (a * 0 + rational(1, 2**20)))
NEGATIVE_ANY.counterexample("two equal tokens and A = I", X=[[1, 0], [1, 0]], A=[[1, 0], [0, 1]], a=1, b=1, beta=1)
NEGATIVE_ANY.mutant("time reversed", "decay_at_rest -> _decay_in_opposite_time")
NEGATIVE_ANY.mutant("less 1", lambda value: value - 1)


NEGATIVE_SIMPLE = Claim(CONSENSUS, "dynamics.sec-5.3-negative-simple", label="Exponents of symmetric attention in consensus",
    statement=r"""W^QW^{K\top}=W^V=A=a\,ee^\top+b\,ff^\top,\ e,f\text{ orthonormal in the plane, }S\ge2\
        \Rightarrow\ \text{the largest exponent of (3) at }X=\mathbf 1e^\top\text{ is }\max(b,0)-a""",
    assumptions=[
        Assumption("S >= 2; for one token it is b - a", sizes=lambda sizes: sizes["S"] >= 2),
        Definition("A = a e^T e + b f^T f", by=consensus),
    ],
    name="exponents of symmetric attention in consensus", relation=Equal(), of_project=True,
    corrects="dynamics.sec-5.3-negative",
    note=r"""So all exponents are negative exactly if $a > \max(b, 0)$. Along a common rotation it is $b - a$, across it
        $-a$, $S - 1$ times.""")  # fmt: skip


@NEGATIVE_SIMPLE.inputs
@realises(CONSENSUS_REACHED)
def any_consensus(
    direction: PlanarDirection, S: TokenCount, a: Annotated[Any, Real(-4.0, 4.0)], b: Annotated[Any, Real(-4.0, 4.0)],
    beta: InverseTemperature,
) -> dict[str, Any]:  # fmt: skip
    """Consensus on any eigenvector of any symmetric A."""
    return consensus(direction, S, a, b, beta)


@NEGATIVE_SIMPLE.formula
def decay_by_eigenvalues(a: Any, b: Any) -> Any:
    """a - max(b, 0), shape (1, 1)."""
    return ones(1, 1) * (a - (b + absolute(b)) * rational(1, 2))


NEGATIVE_SIMPLE.oracle(decay_at_rest)
NEGATIVE_SIMPLE.mutant("the common rotation alone", "(b + absolute(b)) * rational(1, 2) -> b")
NEGATIVE_SIMPLE.mutant("the tokens apart alone", "(b + absolute(b)) * rational(1, 2) -> b * 0")
