"""Appendix B.5, Eq. (94): when may the attention matrix be taken as constant?  Alignment, dominance, drift.

Surprising: perfect alignment of J x with the output says nothing about the derivative of P.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from theorems.shared import reached
from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import (
    Beta, Heads, QueryWeights, SquareWeights, Tokens, attention_head, multi_head_attention, unit_rows,
)  # fmt: skip
from theorems.dynamics.part_b_experiments.attention_jacobian import (
    ALL_HEADS, attention_weights, head_slices, output_values,
)  # fmt: skip
from theorems.dynamics.settings import HEADS_FIT, POSITIVE_BETA, SPHERE, Factor, HeadQueries
from verify.matrix import (
    added, basis_vector, concatenate, eye, frobenius_norm, hadamard, kron, mapped, maximum, ones, rational, row_sums,
    softmax, spectral_norm, sqrt, vec_r,
)  # fmt: skip
from verify.oracles import jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, Reading, Setting, Shape, realises

Column = Annotated[Any, Shape("S", "1")]
Direction = Annotated[Any, Shape("D", "1")]


# -- what alignment of J x with the output says ------------------------------------------------------------------------


def misalignment(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    """J x - vec(SA(X)) for one head with beta = 1/sqrt(D_H), shape (S D, 1)."""
    beta = rational(1) / sqrt(W_Q.shape[1])
    J = jacobian(attention_head, "X")(X, W_Q, W_K, W_V, beta)
    return J @ vec_r(X) - vec_r(attention_head(X, W_Q, W_K, W_V, beta))


def output_size(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    """|SA(X)|_F^2, shape (1, 1)."""
    y = vec_r(attention_head(X, W_Q, W_K, W_V, rational(1) / sqrt(W_Q.shape[1])))
    return y.T @ y


B5_DOMINANCE = Claim(DYNAMICS, "dynamics.b.5-dominance", label="B.5, text",
    statement=r"""\text{``we observed that }Jx\text{ aligns well with }\operatorname{vec}(\operatorname{MSA}(X))
        \text{''; this ``implies that in the Jacobian (92), the last term is dominant''; ``In other words, the
        derivative of the attention matrix }P\text{ is small''}""",
    assumptions=[
        Assumption(r"Jx = \operatorname{vec}(\operatorname{SA}(X)): they align perfectly", zero=misalignment),
        Assumption("SA(X) does not vanish", positive=output_size),
        Definition("one head, W^O = I", by=attention_weights),
    ],
    name="alignment and dominance of the value term",
    relation=AtMost(left="norm of the term with dP/dX", right="norm of the value term"),
    sizes={"S": (1, 3), "D": (2, 3)}, expects="refuted", severity="error", correction="dynamics.b.5-alignment",
    uses=("dynamics.eq-92", "dynamics.b.5-vec"),
    reading=Reading("the last term is dominant", r"""in the weakest sense: $\|(I_S\otimes W^{V\top}X^\top)\partial
            P/\partial X\|_2\le\|P\otimes W^{V\top}\|_2$"""),
    consequence="""That $Jx$ aligns with the output says nothing of the size of the derivative of $P$; measure that
        derivative, or use the exact difference (dynamics.b.5-alignment).""",
    note=r"""Judged as the implication that is printed, at a single state. No other meaning saves it: that the last term
        dominates in the product $Jx$ alone is what the alignment says already, but the text goes on with 'that is' and
        (93), an equality of matrices, and with a small derivative of $P$. The observation is of trained models
        throughout their iterations, where Figure S.2 looks at (93) itself; that (93) is close there is not denied. $Jx$
        sees the derivative of $P$ in the single direction $x$, along which it can vanish while it is as large as one
        likes across: tokens on one axis and $A = KE_{12}$ leave all logits 0, so $Jx = \operatorname{vec}(
        \operatorname{SA}(X))$ for every $K$, and the first term grows like $K$.""")  # fmt: skip


@B5_DOMINANCE.inputs
@realises({"Jx = ": "tokens r e_1^T and A = e_1 v^T with v across e_1: all logits vanish"})
def tokens_on_an_axis(r: Column, v: Direction, W_V: SquareWeights) -> dict[str, Any]:
    """X = r e_1^T, A = W^Q W^K^T = e_1 v^T with v orthogonal to e_1: nilpotent, and all logits are 0."""
    D = v.shape[0]
    e, across = basis_vector(D, 0), v - basis_vector(D, 0) * v[0, 0]
    return {"X": r @ e.T, "W_Q": v @ e.T * 0 + e @ e.T, "W_K": across @ e.T, "W_V": W_V}


@B5_DOMINANCE.formula
def norm_of_last_term(X: Tokens, W_Q: SquareWeights, W_K: SquareWeights, W_V: SquareWeights) -> Any:
    """|P (x) W_V^T|_2 = |P|_2 |W_V|_2, a scalar."""
    P = attention_weights(X, W_Q, W_K, rational(1) / sqrt(W_Q.shape[1]))
    return spectral_norm(P) * spectral_norm(W_V)


@B5_DOMINANCE.oracle
def norm_of_first_term(X: Any, W_Q: Any, W_K: Any, W_V: Any) -> Any:
    dP = jacobian(lambda X: softmax(X @ W_Q @ W_K.T @ X.T / sqrt(W_Q.shape[1])), "X")(X)
    return spectral_norm(kron(eye(X.shape[0]), W_V.T @ X.T) @ dP)


# By hand: P has the entries 1/3, and the norms of the two terms are 2 and 1.  Unit tokens, as AKOrN has them (N = D)
B5_DOMINANCE.counterexample("three unit tokens on an axis, A = 3 E_12",
    X=[[1, 0], [1, 0], [-1, 0]], W_Q=[[1, 0], [0, 0]], W_K=[[0, 0], [3, 0]], W_V=[[1, 0], [0, 1]])  # fmt: skip
B5_DOMINANCE.mutant("P not normalised: S times as large", lambda value, X: value * X.shape[0])
B5_DOMINANCE.mutant("largest entry of P for its norm", "spectral_norm(P) -> maximum(P)")


B5_ALIGNMENT = Claim(ALL_HEADS, "dynamics.b.5-alignment", label="B.5, what alignment measures",
    statement=r"""J_{\text{MSA}}x=\operatorname{vec}\sum_h\big[P_h+2P_h\circ(L_h-\ell_h\mathbf
        1^\top)\big]XW_h^VW_h^O,\quad L_h=\beta XW_h^QW_h^{K\top}X^\top,\ P_h=\operatorname{softmax}(L_h),\
        \ell_h=\operatorname{rowsum}(P_h\circ L_h),\ x=\operatorname{vec}X""",
    name="linearised output of multi-head attention", relation=Equal(), all_sizes=True, of_project=True,
    corrects="dynamics.b.5-dominance",
    note=r"""$Jx$ is the derivative of $\operatorname{MSA}(sX)$ at $s = 1$, and the logits grow like $s^2$. So $Jx$ is
        close to $\operatorname{MSA}(X)$ exactly when the covariance of logits and values under $P$ is small, which is
        the case for small logits and for saturated attention.""")  # fmt: skip


def jacobian_times_state(
    X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, beta: Any, H: int, factor: int = 2, centred: bool = True
) -> Any:
    """J_MSA x as a matrix, shape (S, D), by the covariance of logits and values."""

    def of_head(Q: Any, K: Any, M: Any) -> Any:
        L = X @ Q @ K.T @ X.T * beta
        P = softmax(L)
        mean = row_sums(hadamard(P, L))
        return (P + hadamard(P, L - mean if centred else L) * factor) @ X @ M

    return added(mapped(of_head, head_slices(W_Q, H), head_slices(W_K, H), output_values(W_V, W_O, H)))


@B5_ALIGNMENT.formula
def jacobian_times_state_by_covariance(
    X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights, beta: Beta, H: Heads
) -> Any:
    """J_MSA x, shape (S D, 1)."""
    return vec_r(jacobian_times_state(X, W_Q, W_K, W_V, W_O, beta, H))


B5_ALIGNMENT.oracle(
    lambda X, W_Q, W_K, W_V, W_O, beta, H: (
        jacobian(multi_head_attention, "X")(X, W_Q, W_K, W_V, W_O, beta, H) @ vec_r(X)
    )
)
B5_ALIGNMENT.mutant("logits taken as linear in X: factor 1", factor=1)
B5_ALIGNMENT.mutant("logits not centred", centred=False)
B5_ALIGNMENT.mutant("the value part alone, Eq. (93)", factor=0)


# -- Eq. (94) ----------------------------------------------------------------------------------------------------------

TWO_STATES = Setting(
    DYNAMICS, "Appendix B.5, Eq. (94)", assumptions=[POSITIVE_BETA], sizes={"S": (1, 3), "D": (1, 3), "D_H": (1, 3)}
)

EQ_94 = Claim(SPHERE, "dynamics.eq-94", label="Eq. (94) and text", name="attention stays close to its initialisation",
    statement=r"""\text{``if the derivative of the attention matrix }P\text{ is sufficiently small over the whole time,
        the Lipschitz continuity implies that }P\text{ remains close to its initialization''}:\
        J_t\approx\sum_{h=1}^HP_h^{(0)}\otimes W_h^{V\top}""",
    assumptions=[
        Definition(
            "the whole time of a discrete iteration is its visited states: here X, and the next one Y", by=attention_weights
        ),
        Assumption(r"\|Y_{[i,:]}\| = 1 for every token of the next state Y", zero=lambda Y: row_sums(Y * Y) - 1),
        POSITIVE_BETA,
        HEADS_FIT,
        Definition(r"W_h^V \in R^{D x D_H}; for H = 1 the text, for H > 1 the shapes of the display", by=head_slices),
    ],
    relation=AtMost(ascent=False, left="how far P moves", right="largest |dP/dX| times the distance"),
    sizes={"S": (1, 3), "D": (1, 4), "H": (1, 2)}, expects="refuted", severity="error",
    correction="dynamics.eq-94-segment", uses=("dynamics.eq-93",),
    consequence="""A small derivative of $P$ at the visited states does not keep $P$ near its start; bound it on the
        segments between them (dynamics.eq-94-segment).""",
    note=r"""Encoded: $\|P(Y)-P(X)\|_F\le\max\big(\|\partial P/\partial X\|_F(X),\|\partial P/\partial
        X\|_F(Y)\big)\|Y-X\|_F$ for each head, and that both sides of the display have $SD$ rows. Between two saturated
        states $P$ can jump from one token to another: at the first counterexample $\|\partial P/\partial X\|_F$ is
        0.0107 at both states, and $P$ moves by 1.9987. The two states follow one another under (9) with $\gamma =
        \mathbf 1$, $\eta = 1$ and $C = Y - X - \operatorname{MSA}(X)$. What holds needs a small derivative on the
        segment between the states. The display lacks $W_h^O$, as Eq. (93) does.""")  # fmt: skip


@EQ_94.inputs
@realises({r"|X_{[i,:]}\| = 1": reached.UNIT_ROWS, r"|Y_{[i,:]}\| = 1": reached.UNIT_ROWS})
def two_states_of_unit_tokens(
    directions: Tokens, others: Tokens, W_Q: QueryWeights, W_K: SquareWeights, beta: Beta, H: Heads
) -> dict[str, Any]:
    """Unit tokens X and Y, weights of all heads as drawn."""
    return {"X": unit_rows(directions), "Y": unit_rows(others), "W_Q": W_Q, "W_K": W_K, "beta": beta, "H": H}


@EQ_94.formula
def derivative_at_the_states(X: Tokens, Y: Tokens, W_Q: SquareWeights, W_K: SquareWeights, beta: Beta, H: Heads) -> Any:
    """max over both states of |dP_h/dX|_F times |X - Y|_F for each head, then the rows of the display, shape (H + 1, 1)."""
    rows = []
    for Q, K in zip(head_slices(W_Q, H), head_slices(W_K, H), strict=True):
        derivatives = [vec_r(jacobian(attention_weights, "X")(Z, Q, K, beta)) for Z in (X, Y)]
        squares = concatenate([dP.T @ dP for dP in derivatives], axis=0)
        rows.append(ones(1, 1) * (sqrt(maximum(squares)) * frobenius_norm(X - Y)))
    return concatenate([*rows, ones(1, 1) * (beta * 0 + X.shape[0] * X.shape[1] // H)], axis=0)


@EQ_94.oracle
def drift_and_rows(X: Tokens, Y: Tokens, W_Q: SquareWeights, W_K: SquareWeights, beta: Beta, H: Heads) -> Any:
    """|P_h(Y) - P_h(X)|_F for each head, then S D, shape (H + 1, 1)."""
    heads = zip(head_slices(W_Q, H), head_slices(W_K, H), strict=True)
    drifts = [ones(1, 1) * _drift(X, Y, Q, K, beta) for Q, K in heads]
    return concatenate([*drifts, ones(1, 1) * (beta * 0 + X.shape[0] * X.shape[1])], axis=0)


@EQ_94.counterexample("two tokens on the axes change places")
def _() -> dict[str, Any]:
    """Logits (8, 0) in both rows become (0, 8): P goes from one token to the other."""
    identity, exchanged = [[1, 0], [0, 1]], [[0, 1], [1, 0]]
    return {"X": identity, "Y": exchanged, "W_Q": [[8, 0], [8, 0]], "W_K": identity, "beta": 1, "H": 1}


@EQ_94.counterexample("one token of dimension 2, two heads: the display has one row, J_t two")
def _() -> dict[str, Any]:
    identity = [[1, 0], [0, 1]]
    return {"X": [[1, 0]], "Y": [[0, 1]], "W_Q": identity, "W_K": identity, "beta": 1, "H": 2}


@EQ_94.domain("saturated states that change places")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Two tokens near the axes that change places, logits about 8."""
    D = sizes["D"]
    noise = rng.integers(-1, 2, arrays["directions"].shape) / 64
    # unit_rows reflects e_1: the direction e_1 - e_2 gives e_2, and e_1 gives -e_1
    for name, shift in (("directions", 0), ("others", 1)):
        arrays[name][:] = noise
        arrays[name][:, :, 0] += 1.0
        if D > 1:
            arrays[name][:, shift::2, 1] -= 1.0
    arrays["W_Q"][:] = 0.0
    arrays["W_Q"][:, :2, 0] = 8.0
    arrays["W_Q"][:, :1, 0] = -8.0
    arrays["W_K"][:] = np.eye(D)
    arrays["beta"][:] = 1.0


EQ_94.mutant("half the bound", lambda value: value / 2)
EQ_94.mutant("no distance", lambda value: value * 0)


EQ_94_SEGMENT = Claim(TWO_STATES, "dynamics.eq-94-segment", label="Eq. (94), derivative along the segment",
    statement=r"""
        \|P(X^{(t)})-P(X^{(0)})\|_F\le\int_0^1\Big\|\frac{\partial P}{\partial X}(X^{(0)}+s(X^{(t)}-X^{(0)}))\Big\|_2ds\,
        \|X^{(t)}-X^{(0)}\|_F\le\tfrac12\beta\|A\|_2\big(\|X^{(t)}\|_2+\|X^{(0)}\|_2\big)\|X^{(t)}-X^{(0)}\|_F,\quad
        P(X)=\operatorname{softmax}(\beta XAX^\top),\ A=W^QW^{K\top}""",
    assumptions=[Definition("two states X^(0) and X^(t), one head", by=softmax)],
    name="change of attention along a segment", relation=AtMost(), all_sizes=True,
    of_project=True, corrects="dynamics.eq-94",
    note=r"""Checked between the two ends. The derivative has to be small on the segment between the states, not only
        at them; its average there is at
        most the constant on the right. Softmax is 1/2-Lipschitz, and $dL = dX\,AX^\top + XA\,dX^\top$; the bound is
        attained in the limit of small opposite tokens. Then $J_t \approx \sum_h P_h^{(0)} \otimes (W_h^V W_h^O)^\top$,
        with the output weights (dynamics.eq-93-output), wherever the derivative of $P$ is small at $X^{(t)}$ too.""",
)  # fmt: skip


def _drift(X: Any, Y: Any, W_Q: Any, W_K: Any, beta: Any) -> Any:
    return frobenius_norm(softmax(Y @ W_Q @ W_K.T @ Y.T * beta) - softmax(X @ W_Q @ W_K.T @ X.T * beta))


@EQ_94_SEGMENT.formula
def bound_on_drift_of_weights(X: Tokens, Y: Tokens, W_Q: HeadQueries, W_K: Factor, beta: Beta) -> Any:
    """beta |A|_2 (|X|_2 + |Y|_2) |X - Y|_F / 2, a scalar."""
    sizes = spectral_norm(X) + spectral_norm(Y)
    return spectral_norm(W_Q @ W_K.T) * sizes * frobenius_norm(X - Y) * beta * rational(1, 2)


EQ_94_SEGMENT.oracle(_drift)


@EQ_94_SEGMENT.domain("opposite tokens that stretch")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: np.random.Generator) -> None:
    """Small X with rows +-x, and Y = 2 X: the bound is nearly attained by two tokens, weights of rank one along x."""
    signs = np.where(np.arange(sizes["S"]) % 2, -1.0, 1.0)
    for name in ("X", "Y", "W_Q", "W_K"):
        arrays[name][:] = 0.0
    arrays["X"][:, :, 0] = signs * 2.0**-4
    arrays["Y"][:] = 2 * arrays["X"]
    arrays["W_Q"][:, 0, 0] = arrays["W_K"][:, 0, 0] = 2.0 ** -rng.integers(0, 6, len(arrays["X"]))


EQ_94_SEGMENT.mutant("factor 4/9 for the 1/2 of softmax", numerator=4, denominator=9)
EQ_94_SEGMENT.mutant("the later state only", "spectral_norm(X) + spectral_norm(Y) -> spectral_norm(Y)")


EQ_94_LOGITS = Claim(TWO_STATES, "dynamics.eq-94-logits", label="Eq. (94), from the logits of the two states",
    statement=r"\|P(X^{(t)})-P(X^{(0)})\|_F\le\tfrac12\|L(X^{(t)})-L(X^{(0)})\|_F,\quad L(X)=\beta XW^QW^{K\top}X^\top",
    name="change of attention from the logits", relation=AtMost(), all_sizes=True, of_project=True,
    note=r"""Uses both states and nothing between them. At a row $p$ of weights the Jacobian of softmax,
        $\operatorname{diag}(p) - pp^\top$, has norm at most 1/2, attained at two equal weights.""")  # fmt: skip


@EQ_94_LOGITS.formula
def half_the_change_of_logits(X: Tokens, Y: Tokens, W_Q: HeadQueries, W_K: Factor, beta: Beta) -> Any:
    """|L(Y) - L(X)|_F / 2, a scalar."""
    change = Y @ W_Q @ W_K.T @ Y.T - X @ W_Q @ W_K.T @ X.T
    return frobenius_norm(change * beta) * rational(1, 2)


EQ_94_LOGITS.oracle(_drift)
EQ_94_LOGITS.domain("opposite tokens that stretch")(EQ_94_SEGMENT.special_domains["opposite tokens that stretch"])
EQ_94_LOGITS.mutant("4/9 for 1/2", numerator=4, denominator=9)
EQ_94_LOGITS.mutant("one token moved at a time: change of the left factor only",
    "change -> (Y - X) @ W_Q @ W_K.T @ X.T")  # fmt: skip
