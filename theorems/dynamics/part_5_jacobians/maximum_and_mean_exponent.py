"""Section 5.3, Figure 3: the maximum and the mean Lyapunov exponent of normalised updates.

Surprising: normalisation makes one exponent per token -infinity, and so the mean, whatever the maximum is.
"""

from __future__ import annotations

from math import prod
from typing import Annotated, Any

from theorems.dynamics.definitions import Beta, Gain, Heads, QueryWeights, SquareWeights, Tokens
from theorems.dynamics.part_5_jacobians.discrete_update import normalised_step_matrix, step_matrix
from theorems.dynamics.part_5_jacobians.exponents_and_normalisation import AT_REST
from theorems.dynamics.part_5_jacobians.normalisation_bound import itrsa_step, two_step_jacobian, updated
from theorems.dynamics.part_5_jacobians.normalised_oscillations import normalised_step
from theorems.dynamics.settings import (
    ONE_FREQUENCY_REACHED, TURNING_STATE, UPDATE, Frequency, Generator, Row, Step, equal_frequencies,
)  # fmt: skip
from verify.matrix import block_diag, determinant, each, eye, log, rational, row_sums, spectral_norm, sqrt, trace
from verify.oracles import jacobian
from verify.vocabulary import Assumption, AtMost, Claim, Definition, Equal, HasStructure, Reading, Size, realises

Times = Annotated[int, Size("T")]

NO_VANISHING_GAIN = Assumption(
    r"\gamma_j \ne 0; a vanishing \gamma_j costs further exponents", positive=lambda gamma: gamma * gamma
)


# -- maximum and mean exponent -----------------------------------------------------------------------------------------

MEAN = Claim(UPDATE, "dynamics.sec-5.3-mean", label="Section 5.3 text / Figure 3",
    statement=r"\text{``The maximum and mean exponents display nearly identical behaviors''}",
    assumptions=[
        Definition("Lyapunov spectrum by (89)-(90), of the derivative of two steps", by=two_step_jacobian),
        NO_VANISHING_GAIN,
    ],
    name="maximum and mean Lyapunov exponents alike",
    relation=AtMost(ascent=False, left="(tr Lambda / n)^n, at most the maximum", right="10^6 det Lambda, of the mean"),
    sizes={"S": (1, 3), "D": (1, 2), "H": (1, 1)}, expects="refuted", severity="error",
    correction="dynamics.sec-5.3-mean-rank", uses=("dynamics.eq-90-chain",),
    reading=Reading("display nearly identical behaviors", r"""two sequences that behave alike stay within a constant:
            $\lambda_{\max} \le m + \ln K$ for the mean $m$ of all exponents, tested at $T = 2$ as
            $(\operatorname{tr}\Lambda/n)^n \le K^{4n}\det\Lambda$ with $n = SD$ and $K^{4n} = 10^6$"""),
    consequence=r"""The mean exponent of a normalised update is $-\infty$, one direction per token being lost; average
        over tangent directions, or look at the maximum alone.""",
    note=r"""No other meaning saves it: with a normalisation layer the mean of the exponents (89) is $-\infty$ whatever the
        weights, and the maximum may be finite, so that no $K$ and no $T$ makes them alike. The Jacobian of a normalised
        update is singular: the state cannot leave the sphere, or for RMSNorm an ellipsoid. So $\det\Lambda^{(T)} = 0$
        for every $T$, and at least one exponent per token (AKOrN: per oscillator) is $-\infty$. The sentence describes
        Figure 3, all models, those with normalisation layers too: trained, $T = 16$, floating point. Of the plotted
        numbers nothing is denied. But those of models with normalisation layers are not means of the exponents (89), which
        is the only definition given: what a plot shows in place of $-\infty$ is rounding error, or an average that leaves
        the vanishing eigenvalues out. No statement about maximum and mean of trained models is known to put in its place:
        dynamics.sec-5.3-mean-rank says which exponents an average has to leave out. Over tangent directions the sentence
        is true of one token at rest (dynamics.sec-5.3-mean-at-rest) and of (18) at equal frequencies
        (dynamics.sec-5.3-mean-tangent).""",
)  # fmt: skip


@MEAN.formula
def mean_times_constant(
    X: Tokens, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    gamma: Gain, beta: Beta, eta: Step, H: Heads,
) -> Any:  # fmt: skip
    """10^6 det Lambda^(2), a scalar."""
    J = two_step_jacobian(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)
    det = determinant(J)
    return det * det * 10**6


@MEAN.oracle
def maximum_from_below(
    X: Any, C: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, gamma: Any, beta: Any, eta: Any, H: int
) -> Any:
    """(tr Lambda^(2) / n)^n with n = S D, at most alpha_max^n."""
    J = two_step_jacobian(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)
    mean = trace(J.T @ J) / J.shape[0]
    return prod([mean] * J.shape[0])


@MEAN.counterexample("two tokens on the axes, all weights I")
def _() -> dict[str, Any]:
    """By hand: the second token moves the first across its sphere, so Lambda is not 0, but its determinant is."""
    identity = [[1, 0], [0, 1]]
    return {
        "X": identity, "C": [[0, 0], [0, 0]], "W_Q": identity, "W_K": identity, "W_V": identity, "W_O": identity,
        "gamma": [1, 1], "beta": 1, "eta": 1, "H": 1,
    }  # fmt: skip


MEAN.mutant(
    "without normalisation",
    "two_step_jacobian(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)"
    " -> jacobian(updated, 'X')(X, C, W_Q, W_K, W_V, W_O, beta, eta, H)",
)
MEAN.mutant("trace for determinant", "det * det -> trace(J.T @ J)")


MEAN_AT_REST = Claim(AT_REST, "dynamics.sec-5.3-mean-at-rest", label="Section 5.3, one token at rest",
    statement=r"""\lambda_{\max}=\frac1{2(D-1)}\ln\det(J^\top J+X^\top X)\text{ for the Jacobian }J\text{ of (9) at its fixed
        point }X:\text{ the mean of the exponents over the }D-1\text{ tangent directions}""",
    assumptions=[
        Definition("the Jacobian of (9) at its fixed point X, the same at every time", by=normalised_step_matrix),
    ],
    name="maximum and mean exponent of one token at rest", relation=Equal(), of_project=True, uses=("dynamics.eq-90-chain",),
    note=r"""$J$ is a multiple of the projection onto the complement of the token, which is the direction that is
        lost.""")  # fmt: skip


@MEAN_AT_REST.formula
def maximum_exponent(
    X: Row, C: Row, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights, gamma: Gain,
    beta: Beta, eta: Any, H: int,
) -> Any:  # fmt: skip
    """log sigma_max(J), a scalar."""
    return log(spectral_norm(normalised_step_matrix(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)))


@MEAN_AT_REST.oracle
def mean_over_tangent_directions(
    X: Any, C: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, gamma: Any, beta: Any, eta: Any, H: int
) -> Any:
    """log det(J^T J + x^T x) / (2 (D - 1)), a scalar: x is the direction that is lost."""
    J = normalised_step_matrix(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)
    return log(determinant(J.T @ J + X.T @ X)) * rational(1, 2 * (X.shape[1] - 1))


MEAN_AT_REST.mutant("half of it", lambda value: value / 2)
MEAN_AT_REST.mutant("without normalisation", lambda X, C, W_Q, W_K, W_V, W_O, beta, eta, H: (
    log(spectral_norm(step_matrix(X, C, W_Q, W_K, W_V, W_O, beta, eta, H)))))  # fmt: skip


TANGENT = Claim(TURNING_STATE, "dynamics.sec-5.3-mean-tangent",
    label="Section 5.3, the spectrum of (18) with equal frequencies",
    statement=r"\Lambda^{(T)}=I_D-xx^\top\ \text{for every }T:\ D-1\text{ exponents are }0\text{ and one is }-\infty",
    name="Lyapunov spectrum of normalised oscillations", relation=Equal(), at_sizes=True,
    sizes={"D": (2, 4), "T": (1, 6)}, of_project=True, uses=("dynamics.eq-82",),
    note=r"""$I + \eta\Omega = \|y\| Q$ with $Q$ orthogonal, so $J(x) = Q (I - x x^\top)$, and the next state is $Qx$.
        Maximum and mean over the tangent space of the sphere are both exactly 0. That argument is for every $T$; computed
        are $T = 1$ to 6.""")  # fmt: skip


@TANGENT.inputs
@realises(ONE_FREQUENCY_REACHED)
def equal_frequencies_and_time(G: Generator, direction: Row, omega: Frequency, eta: Step, T: Times) -> dict[str, Any]:
    """The oscillation of `equal_frequencies`, run for T steps."""
    return {**equal_frequencies(G, direction, omega, eta), "T": T}


@TANGENT.formula
def tangent_projection(x: Row) -> Any:
    """I - x x^T, shape (D, D): Lambda^(T) for every T."""
    return eye(x.shape[1]) - x.T @ x


@TANGENT.oracle
def lambda_differentiated(x: Row, Omega: Generator, eta: Step, T: Times) -> Any:
    def steps(x: Any) -> Any:
        for _ in range(T):
            x = normalised_step(x, Omega, eta)
        return x

    J = jacobian(steps, "x")(x)
    return J.T @ J


TANGENT.mutant("no direction lost", lambda x: eye(x.shape[1]) + x.T @ x * 0)
TANGENT.mutant("the direction of y lost", "x -> normalised_step(x, Omega, eta)")


RANK = Claim(UPDATE, "dynamics.sec-5.3-mean-rank", label="Section 5.3, exponents lost to the normalisation of ItrSA",
    statement=r"""
        \sum_j\frac{X'_{[i,j]}}{\gamma_j^2}\frac{\partial X'_{[i,j]}}{\partial X}=0\ \text{for every token }i\text{ of
        }X'=\operatorname{RMSNorm}(X+\eta\Delta X):\ \text{at least }S\text{ of the }SD\text{ exponents are }-\infty""",
    assumptions=[NO_VANISHING_GAIN],
    name="Lyapunov exponents lost to RMSNorm", relation=HasStructure(), all_sizes=True,
    sizes={"S": (1, 2), "D": (1, 3), "H": (1, 2)}, of_project=True,
    corrects="dynamics.sec-5.3-mean",
    note=r"""The update ends on the ellipsoids $\sum_j (X_{ij}/\gamma_j)^2 = 1$, and the derivative is orthogonal to
        their normals. For AKOrN it is the same with one sphere per oscillator: at least $SD/N$ exponents are $-\infty$.
        """)  # fmt: skip


def _damped_step(
    X: Any, C: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, gamma: Any, beta: Any, eta: Any, H: int
) -> Any:
    Y = updated(X, C, W_Q, W_K, W_V, W_O, beta, eta, H)
    return Y / sqrt(1 + row_sums(Y * Y)) * gamma.reshape(1, -1)


@RANK.formula
def itrsa_jacobian(
    X: Tokens, C: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    gamma: Gain, beta: Beta, eta: Step, H: Heads,
) -> Any:  # fmt: skip
    """dX'/dX for one update (9), shape (S D, S D)."""
    return jacobian(itrsa_step, "X")(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H)


@RANK.part("structure")
def along_the_normals(
    value: Any, X: Any, C: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, gamma: Any, beta: Any, eta: Any, H: int
) -> Any:
    normals = itrsa_step(X, C, W_Q, W_K, W_V, W_O, gamma, beta, eta, H) / (gamma * gamma).reshape(1, -1)
    return block_diag(each(X.shape[0], lambda i: normals[i : i + 1])) @ value


RANK.mutant("without normalisation",
    lambda X, C, W_Q, W_K, W_V, W_O, beta, eta, H: jacobian(updated, "X")(X, C, W_Q, W_K, W_V, W_O, beta, eta, H)
)  # fmt: skip
RANK.mutant("rows divided by (1 + norm^2)^(1/2)", "itrsa_step -> _damped_step")
