"""Section 6.1, Figure 4, Tables S.1 and S.2: what the gains gamma do to the Jacobian, and which updates have oscillators.

Surprising: without an input C smaller gains change nothing, since the states shrink with them.
"""

from __future__ import annotations

from typing import Annotated, Any

from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import (
    Beta, Gain, Heads, QueryWeights, SquareWeights, Tokens, multi_head_attention, rms_norm, unit_rows,
)  # fmt: skip
from theorems.dynamics.part_5_jacobians.discrete_update import NO_ZERO_INPUT, normalised_step_matrix
from theorems.dynamics.part_5_jacobians.normalisation_bound import update_jacobian_norm
from theorems.dynamics.part_c_details.oscillators import oscillator_rms_norm
from theorems.dynamics.settings import NO_ZERO_ROW, UPDATE, Width
from verify.arithmetics import Constant
from verify.matrix import absolute, maximum, ones, rational, row_norms, row_sums, spectral_norm
from verify.oracles import jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, Real, Setting, Shape, Size, realises

PositiveStep = Annotated[Any, Real(0.125, 2.0)]
PositiveScale = Annotated[Any, Real(0.125, 4.0)]
Gains = Annotated[Any, Shape("1", "D")]

NO_ZERO_GAIN = Assumption("no gain vanishes", positive=lambda gamma: gamma * gamma)
MADE_BY_THE_UPDATE = Assumption(
    r"X is a state as (9) makes it: \sum_j (X_{ij}/\gamma_j)^2 = 1 for every token i",
    zero=lambda X, gamma: row_sums((X / gamma.reshape(1, -1)) * (X / gamma.reshape(1, -1))) - 1,
)


def room_for_attention(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, gamma: Any, beta: Any, eta: Any, H: int) -> Any:
    """max_j |gamma_j| + |eta| max_i |MSA(X)_i|, by how much states and attention can shorten eta C, shape (1, 1)."""
    attended = multi_head_attention(X, W_Q, W_K, W_V, W_O, beta, H)
    return ones(1, 1) * (maximum(absolute(gamma)) + absolute(eta) * maximum(row_norms(attended)))


def radius_from_the_input(
    X: Any, C: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, gamma: Any, beta: Any, eta: Any, H: int
) -> Any:
    """R_0 = |eta| min_i |C_i| - max_j |gamma_j| - |eta| max_i |MSA(X)_i|, at most R, shape (1, 1)."""
    smallest = -maximum(-row_norms(C))
    return absolute(eta) * smallest - room_for_attention(X, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)


# -- gains and the Jacobian --------------------------------------------------------------------------------------------

GAMMA = Claim(UPDATE, "dynamics.sec-6.1-gamma", label="Section 6.1, text, and Section 3",
    statement=r"""\text{``The learned scaling parameter }\gamma\text{ prevents the Jacobian from becoming excessively
        large''; ``the trainable parameter }\gamma\text{ plays an important role in stabilizing Jacobians''}""",
    assumptions=[
        MADE_BY_THE_UPDATE,
        NO_ZERO_GAIN,
        Assumption(
            r"R_0 = |\eta| \min_i \|C_i\| - \max_j |\gamma_j| - |\eta| \max_i \|MSA(X)_i\| > 0",
            positive=radius_from_the_input,
        ),
    ],
    name="small gains and the Jacobian of the update", relation=AtMost(ascent=False, left="norm of the Jacobian of (9)"),
    sizes={"S": (1, 2), "D": (1, 3), "H": (1, 1)}, expects="gap", presumes=("dynamics.sec-6.1-gamma-any",),
    uses=("dynamics.prop-5.1",), missing=r"the input $C$ keeps $R$ away from 0",
    consequence=r"""Small gains alone do not make the Jacobian small, since states and $R$ shrink with them; they do beside
        an input $C$ that is large against the states.""",
    note=r"""Checked is how it can be so: the states of (9) are no longer than $\max_j|\gamma_j|$, and where $C$ outweighs
        them and the attention, $R \ge R_0$ and the bound (14) gives $\max_j|\gamma_j|(1+|\eta|\|J_{\text{MSA}}\|_2)/R_0$,
        which vanishes with $\gamma$. Nothing says that $C$ does; without it $R$ shrinks as fast as $\gamma$, and the
        Jacobian stays (dynamics.sec-6.1-gamma-any).""")  # fmt: skip


@GAMMA.inputs
@realises(
    {"X is a state as (9) makes it": "unit rows, which may be any, times the gains"},
    but=(
        "all rows of C have one length, the gains are positive and at least 1/8; the bound reads only the shortest row, and a"
        " longer one makes its rows of the Jacobian smaller. Signs of gains change no norm. With gains, X and C c times as"
        " large, and W^Q and W^K divided by c, the Jacobian and the bound are the same"
    ),
)
def state_and_strong_input(
    directions: Tokens, inputs: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    g: Gains, beta: Beta, eta: PositiveStep, spare: PositiveScale, H: Heads,
) -> dict[str, Any]:  # fmt: skip
    """Gains of at least 1/8 in size, a state on their ellipsoids, and rows of C that are longer than what acts on them."""
    gamma = ((g * g) + rational(1, 8)).reshape(-1)
    X = unit_rows(directions) * gamma.reshape(1, -1)
    room = room_for_attention(X, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)
    C = unit_rows(inputs) * ((room + spare) / eta)
    weights = {"W_Q": W_Q, "W_K": W_K, "W_V": W_V, "W_O": W_O}
    return {"X": X, "C": C, **weights, "gamma": gamma, "beta": beta, "eta": eta, "H": H}


@GAMMA.formula
def bound_by_gains_and_input(
    X: Tokens, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    gamma: Gain, beta: Beta, eta: PositiveStep, H: Heads,
) -> Any:  # fmt: skip
    """max_j |gamma_j| (1 + |eta| |J_MSA|_2) / R_0, shape (1, 1)."""
    J = jacobian(multi_head_attention, "X")(X, W_Q, W_K, W_V, W_O, beta, H)
    gain = maximum(absolute(gamma)) * (1 + absolute(eta) * spectral_norm(J))
    return ones(1, 1) * gain / radius_from_the_input(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)


GAMMA.oracle(update_jacobian_norm)
GAMMA.mutant("R_0 without what attention takes: a hundred times as large", lambda value: value / 100)
GAMMA.mutant("a thousandth", lambda value: value / 1000)


@realises({"X is a state as (9) makes it": "unit rows, which may be any, times the gains"})
def state_of_gains(
    directions: Tokens, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    g: Gains, beta: Beta, eta: PositiveStep, H: Heads,
) -> dict[str, Any]:  # fmt: skip
    """Gains of at least 1/8, a state on their ellipsoids, the rest as drawn."""
    gamma = ((g * g) + rational(1, 8)).reshape(-1)
    weights = {"W_Q": W_Q, "W_K": W_K, "W_V": W_V, "W_O": W_O}
    X = unit_rows(directions) * gamma.reshape(1, -1)
    return {"X": X, "C": C, **weights, "gamma": gamma, "beta": beta, "eta": eta, "H": H}


GAMMA_ANY = Claim(UPDATE, "dynamics.sec-6.1-gamma-any", label="Smaller gains, whatever the input",
    statement=r"""\Big\|\frac{\partial\operatorname{RMSNorm}(X+\eta\Delta X)}{\partial X}\Big\|_2\text{ at the state
        }X/2\text{ and the gains }\gamma/2\text{ is at most }\tfrac34\text{ of that at }X\text{ and }\gamma\text{, for
        every input }C""",
    assumptions=[MADE_BY_THE_UPDATE, NO_ZERO_GAIN, NO_ZERO_INPUT, Definition("the update (9) with RMSNorm (6)", by=rms_norm)],
    name="smaller gains and the Jacobian, whatever the input", relation=AtMost(ascent=False, left="the norm at half the gains"),
    sizes={"S": (1, 2), "D": (1, 3), "H": (1, 1)}, expects="refuted", severity="error", of_project=True,
    correction="dynamics.sec-6.1-gamma-homogeneous",
    note="Half the gains make states of half the length. Without an input and with uniform attention nothing changes.",
)  # fmt: skip
GAMMA_ANY.inputs(state_of_gains)


@GAMMA_ANY.formula
def three_quarters_of_the_norm(
    X: Tokens, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    gamma: Gain, beta: Beta, eta: PositiveStep, H: Heads,
) -> Any:  # fmt: skip
    """3/4 |J|_2 at X and gamma, a scalar."""
    return spectral_norm(normalised_step_matrix(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)) * rational(3, 4)


@GAMMA_ANY.oracle
def norm_at_half_the_gains(
    X: Any, C: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, gamma: Any, beta: Any, eta: Any, H: int
) -> Any:
    half = rational(1, 2)
    return update_jacobian_norm(X * half, C, W_Q, W_K, W_V, W_O, gamma * half, beta, eta, H)


@GAMMA_ANY.counterexample("one token, no attention, no input: the norm is 1 for every gain")
def _() -> dict[str, Any]:
    O = [[0, 0], [0, 0]]
    weights = {"W_Q": O, "W_K": O, "W_V": O, "W_O": O, "beta": 1, "H": 1}
    return {"X": [[1, 0]], "C": [[0, 0]], "gamma": [1, 1], "eta": 1, **weights}


GAMMA_ANY.mutant("half", lambda value: value * 2 / 3)
GAMMA_ANY.mutant("a quarter", lambda value: value / 3)


NO_INPUT = Assumption("C = O", zero=lambda C: C)
UNIFORM = Assumption("W^Q = O: uniform attention, which is linear", zero=lambda W_Q: W_Q)

HOMOGENEOUS = Claim(UPDATE, "dynamics.sec-6.1-gamma-homogeneous", label="Smaller gains without an input",
    statement=r"""C=O,\ W^Q=O,\ c>0\ \Rightarrow\ \frac{\partial\operatorname{RMSNorm}(X+\eta\Delta X)}{\partial
        X}\text{ at }(cX,c\gamma)\text{ is what it is at }(X,\gamma)""",
    assumptions=[
        NO_ZERO_INPUT,
        Assumption("c > 0", positive=lambda c: c),
        NO_INPUT,
        UNIFORM,
        Definition("the update (9) with RMSNorm (6)", by=rms_norm),
    ],
    name="gains and states scaled together", relation=Equal(), all_sizes=True, hypotheses=(NO_INPUT, UNIFORM),
    sizes={"S": (1, 2), "D": (1, 3), "H": (1, 2)}, of_project=True, corrects="dynamics.sec-6.1-gamma-any",
    note=r"""The states that the gains $c\gamma$ make are $c$ times those that $\gamma$ makes, so that $\max_j|\gamma_j|/R$
        in the bound (14) does not change either. With attention it is so in the limit of small states, whose attention
        is uniform.""")  # fmt: skip


@HOMOGENEOUS.inputs
@realises({"C = O": "C is 0", "W^Q = O": "W^Q is 0"})
def state_without_input(
    X: Tokens, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights, gamma: Gain, beta: Beta, eta: PositiveStep,
    c: PositiveScale, H: Heads,
) -> dict[str, Any]:  # fmt: skip
    """Everything as drawn, C = W_Q = O."""
    weights = {"W_Q": W_K * 0, "W_K": W_K, "W_V": W_V, "W_O": W_O}
    return {"X": X, "C": X * 0, **weights, "gamma": gamma, "beta": beta, "eta": eta, "c": c, "H": H}


@HOMOGENEOUS.formula
def jacobian_of_the_update(
    X: Tokens, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    gamma: Gain, beta: Beta, eta: PositiveStep, H: Heads,
) -> Any:  # fmt: skip
    """dRMSNorm(X + eta Delta X)/dX, shape (S D, S D)."""
    return normalised_step_matrix(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)


@HOMOGENEOUS.oracle
def jacobian_at_scaled_gains(
    X: Any, C: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, gamma: Any, beta: Any, eta: Any, c: Any, H: int
) -> Any:
    def step(X: Any) -> Any:
        return rms_norm(X + (C + multi_head_attention(X, W_Q, W_K, W_V, W_O, beta, H)) * eta, gamma * c)

    return jacobian(step, "X")(X * c)


HOMOGENEOUS.mutant("proportional to the gains", lambda value, c: value * (1 + c))
HOMOGENEOUS.mutant("sign", lambda value: -value)


# -- oscillators -------------------------------------------------------------------------------------------------------

ROWS_AND_GAIN = Setting(
    DYNAMICS, "Section 6.1, oscillator-wise RMSNorm", assumptions=[NO_ZERO_ROW], sizes={"S": (1, 2), "D": (1, 4)}
)

WHOLE_TOKENS = Claim(ROWS_AND_GAIN, "dynamics.fig-4-whole-tokens", label="Figure 4, caption",
    statement=r"""\text{``Note that }N=512\text{ corresponds to the setting where tokens are not split into oscillators'':
        }\operatorname{RMSNorm}^{(osc)}=\operatorname{RMSNorm}\text{ for }N=D""",
    assumptions=[Definition("the oscillator-wise RMSNorm of Section 6.1", by=oscillator_rms_norm)],
    name="oscillator-wise RMSNorm of whole tokens", relation=Equal(), all_sizes=True, exact=True,
    note="Table S.1 has $D = 512$ for Sudoku.")  # fmt: skip


@WHOLE_TOKENS.formula
def oscillators_as_long_as_tokens(Y: Tokens, gamma: Gain) -> Any:
    """RMSNorm^(osc) with N = D, shape (S, D)."""
    return oscillator_rms_norm(Y, gamma, Y.shape[1])


WHOLE_TOKENS.oracle(rms_norm)
WHOLE_TOKENS.mutant("gain dropped", lambda Y, gamma: oscillator_rms_norm(Y, gamma * 0 + 1, Y.shape[1]))
WHOLE_TOKENS.mutant("sign", lambda value: -value)


ANY_DIMENSION = Setting(
    DYNAMICS,
    "Table S.2, oscillator-wise RMSNorm",
    assumptions=[
        Assumption("no oscillator of Y vanishes", positive=lambda Y, N: row_sums(Y.reshape(-1, N) * Y.reshape(-1, N))),
        Assumption("N divides D", sizes=lambda sizes: sizes["D"] % sizes["N"] == 0),
    ],
    sizes={"S": (1, 2), "D": (1, 6), "N": (1, 6)},
)

TABLE_DIMENSION = Claim(ANY_DIMENSION, "dynamics.table-s2-dimension", label="Table S.2, heading, and Section 3",
    statement=r"""\text{``Since ItrSA does not involve oscillator-wise operations'' (Section 3); ``Table S.2 presents the
        values of the }\gamma\text{ parameter learned by ItrSA'', }\gamma\text{ ``with different }N\text{'': the RMSNorm
        of (9) is that of oscillators of every dimension }N""",
    assumptions=[Definition("the oscillator-wise RMSNorm of Section 6.1", by=oscillator_rms_norm)],
    name="oscillator dimension of an update without oscillators", relation=Equal(), expects="refuted", severity="slip",
    correction="dynamics.table-s2-dimension-norms",
    consequence="""The models of Table S.2 and Figure 4 that have an $N$ below $D$ are not the update (9), of which
        Proposition 5.1 speaks; with $R$ the least norm of an oscillator its bound holds of that update too.""",
    note="""(9) has no $N$, so that a table of its gains can have none. What is meant is said in Section 6.1: 'we use
        oscillator-wise RMS normalization'; for $N < D$ that is another update. The lengths in Table S.2 are then those of
        one oscillator, or of a token; the table does not say.""")  # fmt: skip


@TABLE_DIMENSION.formula
def rms_norm_of_oscillators(Y: Tokens, gamma: Gain, N: Width) -> Any:
    """RMSNorm^(osc)(Y), shape (S, D)."""
    return oscillator_rms_norm(Y, gamma, N)


TABLE_DIMENSION.oracle(lambda Y, gamma: rms_norm(Y, gamma))
TABLE_DIMENSION.counterexample("one token of two oscillators", Y=[[3, 4, 6, 8]], gamma=[1, 1, 1, 1], N=2)
TABLE_DIMENSION.mutant("whole tokens", lambda Y, gamma: rms_norm(Y, gamma))
TABLE_DIMENSION.mutant("half of it", lambda value: value / 2)


DIMENSION_NORMS = Claim(ANY_DIMENSION, "dynamics.table-s2-dimension-norms", label="Token norms of oscillator-wise RMSNorm",
    statement=r"""\sum_j\frac{\operatorname{RMSNorm}^{(osc)}(Y)_{[i,j]}^2}{\gamma_j^2}=\frac DN\text{ for every token
        }i\text{, and 1 for each of its oscillators; for the RMSNorm of (9) it is 1}""",
    assumptions=[NO_ZERO_GAIN, Definition("the oscillator-wise RMSNorm of Section 6.1", by=oscillator_rms_norm)],
    name="norms of tokens made of normalised oscillators", relation=Equal(), all_sizes=True, of_project=True,
    corrects="dynamics.table-s2-dimension",
    note=r"So at $\gamma = \mathbf 1$ tokens have the norm $\sqrt{D/N}$: 11.3 for $D = 512$, $N = 4$.")  # fmt: skip


@DIMENSION_NORMS.formula
def number_of_oscillators(Y: Tokens, gamma: Gain, N: Width) -> Any:
    """D/N for every token, shape (S, 1)."""
    return row_sums(Y * 0) + Y.shape[1] // N


@DIMENSION_NORMS.oracle
def squared_norms_over_gains(Y: Tokens, gamma: Gain, N: Width) -> Any:
    scaled = oscillator_rms_norm(Y, gamma, N) / gamma.reshape(1, -1)
    return row_sums(scaled * scaled)


DIMENSION_NORMS.mutant("1, as for whole tokens", lambda value: value * 0 + 1)
DIMENSION_NORMS.mutant("D", lambda value, N: value * (N + 1))


# -- Table S.1 ---------------------------------------------------------------------------------------------------------

#: Hidden dimension, number of heads and dimension of oscillators: Table S.1 with N = 4 of Appendix B.1; Figure S.1; Table S.2.
CONFIGURATIONS = (
    (512, 8, 4), (384, 8, 4), (512, 1, 4), (512, 2, 4), (512, 16, 4), (512, 8, 8), (512, 8, 16), (512, 8, 32),
    (512, 8, 64), (512, 8, 128), (512, 8, 256), (512, 8, 512),
)  # fmt: skip
Configuration = Annotated[int, Size("row")]

TABLE_S1 = Claim(DYNAMICS, "dynamics.table-s1", label="Table S.1",
    statement=r"""\text{``Hidden dimension }D\text{: 512, 384''; ``Number of heads }H\text{: 8, 8''}:\ D_H=D/H\text{,
        the blocks of }D/(2H)\text{ columns of (13) and the }D/N\text{ oscillators of (97) are whole, for the }N\text{ of
        Appendix B.1 and Table S.2 and the }H\text{ of Figure S.1 too}""",
    name="sizes of the trained models",
    relation=Equal(), sizes={"row": (1, len(CONFIGURATIONS))}, exact=True,
    note="Each count of columns times its number of blocks is compared with $D$.")  # fmt: skip


@TABLE_S1.inputs
def configuration(row: Configuration, unit: PositiveScale) -> dict[str, Any]:
    """D, H and N of one configuration, by number from 1, and the unit in which columns are counted."""
    D, H, N = CONFIGURATIONS[row - 1]
    return {"D": D, "H": H, "N": N, "unit": unit}


@TABLE_S1.formula
def columns_in_whole_blocks(D: int, H: int, N: int, unit: PositiveScale) -> Any:
    """H floor(D/H), 2H floor(D/2H) and N floor(D/N) units, shape (1, 3)."""
    return Constant([[H * (D // H), 2 * H * (D // (2 * H)), N * (D // N)]]) * unit


TABLE_S1.oracle(lambda D, unit: Constant([[D, D, D]]) * unit)
TABLE_S1.mutant("one head more", "H * (D // H) -> (H + 1) * (D // (H + 1))")
TABLE_S1.mutant("oscillators of dimension N + 1", "N * (D // N) -> (N + 1) * (D // (N + 1))")
