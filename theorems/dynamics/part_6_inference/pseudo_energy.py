"""Section 6.3: the pseudo-energy along AKOrN, and as a quadratic form.

Surprising: with Delta X of Eq. (7), as it is defined, it is 0 at every state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from theorems.shared import reached
from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import (
    Beta, Heads, QueryWeights, SquareWeights, Tokens, multi_head_attention, projection, unit_rows,
)  # fmt: skip
from theorems.dynamics.part_3_preliminaries.oscillator_update import akorn_increment
from theorems.dynamics.part_c_details.oscillators import (
    ANTISYMMETRIC_BLOCKS, UNIT_OSCILLATORS, Frequencies, Stacked, antisymmetric_blocks, oscillator_normalisation, split,
)  # fmt: skip
from theorems.dynamics.settings import HEADS_FIT, Width
from theorems.shared.matrices import orthogonal_matrix
from verify.matrix import concatenate, diag, eye, hadamard, rational, row_sums, trace, vec_r
from verify.oracles import jacobian
from verify.vocabulary import (
    Assumption, AtMost, Claim, Definition, Equal, HasStructure, Reading, Real, Setting, Shape, realises,
)  # fmt: skip
from verify.vocabulary.hypotheses import skew_blocks, unit_parts

Step = Annotated[Any, Real(0.0, 2.0)]
Coupling = Annotated[Any, Shape("n", "n")]
Eigenvalues = Annotated[Any, Shape("1", "n")]
Vector = Annotated[Any, Shape("n", "1")]


def pseudo_energy(X: Any, increment: Any) -> Any:
    """-Tr(X^T Delta X), shape (1, 1) (Section 6.3)."""
    return -(vec_r(X).T @ vec_r(increment))


# -- the definition ----------------------------------------------------------------------------------------------------


@realises({"oscillator has unit norm": reached.UNIT_ROWS, "Omega_j anti-symmetric": reached.SKEW})
def akorn(
    directions: Tokens, C: Tokens, G: Frequencies, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights,
    W_O: SquareWeights, beta: Beta, eta: Step, H: Heads,
) -> dict[str, Any]:  # fmt: skip
    """Unit oscillators X (S, D), anti-symmetric Omega_j, input and weights as drawn."""
    N = G.shape[2]
    X = unit_rows(split(directions, N)).reshape(*directions.shape)
    Omega = antisymmetric_blocks(G)
    weights = {"W_Q": W_Q, "W_K": W_K, "W_V": W_V, "W_O": W_O, "beta": beta, "H": H}
    return {"X": X, "C": C, "Omega": Omega, "eta": eta, "N": N, **weights}


AKORN = Setting(
    DYNAMICS,
    "Section 6.3, AKOrN",
    assumptions=[
        UNIT_OSCILLATORS,
        ANTISYMMETRIC_BLOCKS,
        HEADS_FIT,
        Assumption("D = JN", sizes=lambda sizes: sizes["D"] == sizes["J"] * sizes["N"]),
        Definition(r"\Delta X from Eq. (7), X^{(t+1)} from Eq. (8)", by=akorn_increment),
    ],
    sizes={"S": (1, 3), "D": (1, 4), "J": (1, 2), "N": (1, 3), "H": (1, 2)},
    inputs=akorn,
    hypotheses=(
        unit_parts("X", "N", stated=UNIT_OSCILLATORS.text), skew_blocks("Omega", stated=r"\Omega_j anti-symmetric"),
    ),
)  # fmt: skip

PSEUDO = Claim(AKORN, "dynamics.sec-6.3-pseudo", label="Section 6.3, definition",
    statement=r"""E_{\text{pseudo}}(t):=-\operatorname{Tr}(X^{(t)\top}\Delta X^{(t)})\text{ is a quantity that AKOrN
        (updates (7)-(8)) approximately decreases}""",
    assumptions=[Assumption(r"\eta > 0", positive=lambda eta: eta)],
    relation=AtMost(signed=True, ascent=False, left="E_pseudo after the step", right="E_pseudo before, less a trifle"),
    name="pseudo-energy decreased by AKOrN", expects="refuted", severity="slip",
    correction="dynamics.sec-6.3-pseudo-drive",
    reading=Reading("approximately decreases", r"""falls in steps that move the state: $E(t+1) \le E(t) -
            \kappa\|X^{(t+1)}-X^{(t)}\|_F^2$ for some $\kappa > 0$, tested at $2^{-20}$"""),
    consequence=r"""Computed with the $\Delta X$ of AKOrN the pseudo-energy is 0 at every state and monitors nothing;
        use $-\operatorname{Tr}(X^\top(C+\operatorname{MSA}(X)))$, which can rise (dynamics.sec-6.3-pseudo-drive).""",
    note=r"""With $\Delta X$ of Eq. (7) the quantity is 0 at every state (dynamics.sec-6.3-pseudo-zero): Omg and Proj
        both produce tangent vectors, orthogonal to the unit oscillators.
        No other meaning saves it: what is 0 at every state does not decrease, not even approximately, and a model cannot
        predict better 'with a lower pseudo-energy'. The text goes on with
        $-\operatorname{Tr}(X^\top\operatorname{MSA}(X))$, 'neglecting a constant term $C$', so $\Delta X$ is meant as
        in Eq. (9), $C + \operatorname{MSA}(X)$, without Omg and Proj. That this falls is reported of trained models; it
        need not: at the state of dynamics.sec-6.3-kuramoto, AKOrN with one token, it rises.""")  # fmt: skip


def _after(X: Any, C: Any, Omega: Any, attended: Callable[[Any], Any], eta: Any, N: int) -> Any:
    """The next state (8), shape (S, D)."""
    return oscillator_normalisation(X + akorn_increment(X, C, Omega, attended(X), N) * eta, N)


def _attention(*weights: Any) -> Callable[[Any], Any]:
    return lambda X: multi_head_attention(X, *weights)


def _allowed(
    X: Any, C: Any, Omega: Any, attended: Callable[[Any], Any], eta: Any, N: int, kappa: Any, projected: bool = True
) -> Any:
    """E(t) - kappa |X(t+1) - X(t)|^2, shape (1, 1)."""
    moved = vec_r(_after(X, C, Omega, attended, eta, N) - X)
    increment = akorn_increment(X, C, Omega, attended(X), N) if projected else C + attended(X)
    return pseudo_energy(X, increment) - moved.T @ moved * kappa


@PSEUDO.formula
def pseudo_energy_less_a_share_of_the_move(
    X: Tokens, C: Tokens, Omega: Stacked, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    beta: Beta, eta: Step, H: Heads, N: int,
) -> Any:  # fmt: skip
    """E_pseudo(t) - 2^-20 |X(t+1) - X(t)|_F^2, shape (1, 1)."""
    return _allowed(X, C, Omega, _attention(W_Q, W_K, W_V, W_O, beta, H), eta, N, rational(1, 2**20))


@PSEUDO.oracle
def pseudo_energy_after_a_step(
    X: Any, C: Any, Omega: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, beta: Any, eta: Any, H: int, N: int
) -> Any:
    attended = _attention(W_Q, W_K, W_V, W_O, beta, H)
    Y = _after(X, C, Omega, attended, eta, N)
    return pseudo_energy(Y, akorn_increment(Y, C, Omega, attended(Y), N))


@PSEUDO.counterexample("one oscillator in the plane, driven by its input alone")
def _() -> dict[str, Any]:
    """(1, 0) moves to (4/5, 3/5), and the pseudo-energy is 0 at both."""
    O = [[0, 0], [0, 0]]
    weights = {"W_Q": O, "W_K": O, "W_V": O, "W_O": O, "beta": 1, "H": 1}
    return {"X": [[1, 0]], "C": [[1, 1]], "Omega": O, "eta": "3/4", "N": 2, **weights}


@PSEUDO.counterexample("two oscillators that attend to one another")
def _() -> dict[str, Any]:
    """(1, 0) and (0, 1) approach each other by uniform attention, and the pseudo-energy stays 0."""
    O, identity = [[0, 0], [0, 0]], [[1, 0], [0, 1]]
    weights = {"W_Q": O, "W_K": O, "W_V": identity, "W_O": identity, "beta": 1, "H": 1}
    return {"X": identity, "C": O, "Omega": O, "eta": "3/2", "N": 2, **weights}


PSEUDO.mutant("C + MSA(X) in place of Delta X", projected=False)
PSEUDO.mutant("kappa = 1", kappa=1)


PSEUDO_ZERO = Claim(AKORN, "dynamics.sec-6.3-pseudo-zero",
    label="Section 6.3, the pseudo-energy with Delta X of Eq. (7)", name="pseudo-energy of AKOrN vanishes",
    statement=r"""E_{\text{pseudo}}(t)=-\operatorname{Tr}(X^{(t)\top}\Delta X^{(t)})=0\ \text{at every state of unit
        oscillators}""",
    relation=HasStructure(), all_sizes=True, exact=True, of_project=True, uses=("dynamics.eq-97",))  # fmt: skip


@PSEUDO_ZERO.formula
def akorn_increment_of_attention(
    X: Tokens, C: Tokens, Omega: Stacked, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    beta: Beta, H: Heads, N: Width,
) -> Any:  # fmt: skip
    """Delta X, shape (S, D) (Eq. (7))."""
    return akorn_increment(X, C, Omega, multi_head_attention(X, W_Q, W_K, W_V, W_O, beta, H), N)


PSEUDO_ZERO.part("structure", lambda value, X: -trace(X.T @ value))
PSEUDO_ZERO.mutant("without Omg and Proj, as in Eq. (9)",
    lambda X, C, W_Q, W_K, W_V, W_O, beta, H: C + multi_head_attention(X, W_Q, W_K, W_V, W_O, beta, H))  # fmt: skip
PSEUDO_ZERO.mutant(
    "whole tokens projected, without Omg",
    lambda X, C, W_Q, W_K, W_V, W_O, beta, H: projection(
        X * 2, C + multi_head_attention(X, W_Q, W_K, W_V, W_O, beta, H)
    ),
)


PSEUDO_DRIVE = Claim(AKORN, "dynamics.sec-6.3-pseudo-drive", label="Section 6.3, the pseudo-energy without Proj",
    statement=r"""E(X):=-\operatorname{Tr}\big(X^\top(C+\operatorname{MSA}(X))\big)\ \Rightarrow\
        \frac{dE}{dt}=-\operatorname{ Tr}\big((C+\operatorname{MSA}(X)+J^\top X)^\top\Delta X\big)\text{ along }\Delta
        X\text{ of (7)},\ J=\partial\operatorname{MSA}/\partial X""",
    name="rate of the pseudo-energy without projection",
    general="It is the product rule, for every differentiable function in the place of MSA.",
    relation=Equal(), all_sizes=True, of_project=True,
    corrects="dynamics.sec-6.3-pseudo",
    note=r"""This $E$, with $\Delta X$ as in Eq. (9), is the quantity that the text goes on with. It is not 0, and it
        can rise: it falls where $J^\top X = \operatorname{MSA}(X)$ and $\Omega = O$, up to the factor 2 that $C$ lacks
        (dynamics.sec-6.3-kuramoto-input), and at the state $X = (1, 0)$, $C = (0, 3)$, $J = [[0, -2], [-2, 0]]$ of one
        token its rate is 1. No energy of AKOrN with attention is known.""")  # fmt: skip


@PSEUDO_DRIVE.formula
def rate_of_unprojected_pseudo_energy(
    X: Tokens, C: Tokens, Omega: Stacked, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights,
    beta: Beta, H: Heads, N: Width,
) -> Any:  # fmt: skip
    """-Tr((C + MSA(X) + J^T X)^T Delta X), shape (1, 1)."""
    attended = multi_head_attention(X, W_Q, W_K, W_V, W_O, beta, H)
    J = jacobian(multi_head_attention, "X")(X, W_Q, W_K, W_V, W_O, beta, H)
    return -(vec_r(C + attended) + J.T @ vec_r(X)).T @ vec_r(akorn_increment(X, C, Omega, attended, N))


@PSEUDO_DRIVE.oracle
def rate_by_differentiation(
    X: Any, C: Any, Omega: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, beta: Any, H: int, N: int
) -> Any:
    increment = akorn_increment(X, C, Omega, multi_head_attention(X, W_Q, W_K, W_V, W_O, beta, H), N)

    def moved(s: Any) -> Any:
        Y = X + increment * s
        return pseudo_energy(Y, C + multi_head_attention(Y, W_Q, W_K, W_V, W_O, beta, H))

    return jacobian(moved, "s")(beta * 0).reshape(1, 1)


PSEUDO_DRIVE.mutant("J^T X left out", "J.T @ vec_r(X) -> 0 * vec_r(X)")
PSEUDO_DRIVE.mutant("J not transposed", "J.T -> J")


# -- as a quadratic form -----------------------------------------------------------------------------------------------

QUADRATIC = Claim(AKORN, "dynamics.sec-6.3-quadratic", label="Section 6.3, text",
    statement=r"\operatorname{vec}(\operatorname{MSA}(X))\approx J_tx_t,\ C\text{ neglected}\ \Rightarrow\ E_{"
    r"\text{pseudo}}=-x_t^\top S_tx_t/2,\ S_t=J_t+J_t^\top",
    assumptions=[
        Assumption(
            r"the approximation is an equality: vec(MSA(X)) = J_t x_t",
            zero=lambda X, W_Q, W_K, W_V, W_O, beta, H: _misalignment(X, W_Q, W_K, W_V, W_O, beta, H),
        ),
        Assumption("C neglected: C = O", zero=lambda C: C),
    ],
    name="pseudo-energy as a quadratic form", relation=Equal(), expects="refuted", severity="slip",
    repeats="dynamics.sec-6.3-pseudo",
    correction="dynamics.sec-6.3-quadratic-drive", presumes=("dynamics.sec-6.3-pseudo",),
    note=r"""With $\Delta X$ of Eq. (7), that of AKOrN, $E_{\text{pseudo}}$ is 0 with or without $C$
        (dynamics.sec-6.3-pseudo-zero), the form is not. That $C$ is 'a constant term in $\Delta X$' shows that $\Delta
        X$ is meant as in Eq. (9), without Omg and Proj. Drawn with $W^Q = O$, for which MSA is linear and the
        approximation exact.""")  # fmt: skip


@QUADRATIC.inputs
@realises(
    {
        "oscillator has unit norm": reached.UNIT_ROWS,
        "Omega_j anti-symmetric": reached.SKEW,
        "the approximation is an equality": "with W^Q = O attention is uniform, hence linear",
        "C = O": "C is 0",
    }
)
def akorn_without_input(
    directions: Tokens, C: Tokens, G: Frequencies, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights,
    W_O: SquareWeights, beta: Beta, eta: Step, H: Heads,
) -> dict[str, Any]:  # fmt: skip
    """As in `akorn`, with C = O and W_Q = O: uniform attention, which is linear."""
    return akorn(directions, C * 0, G, W_Q * 0, W_K, W_V, W_O, beta, eta, H)


def _misalignment(X: Any, *weights: Any) -> Any:
    """vec(MSA(X)) - J x, shape (S D, 1)."""
    J = jacobian(multi_head_attention, "X")(X, *weights)
    return vec_r(multi_head_attention(X, *weights)) - J @ vec_r(X)


@QUADRATIC.formula
def quadratic_form_of_the_jacobian(
    X: Tokens, W_Q: QueryWeights, W_K: SquareWeights, W_V: SquareWeights, W_O: SquareWeights, beta: Beta, H: Heads
) -> Any:
    """-x^T (J + J^T) x / 2, shape (1, 1)."""
    J, x = jacobian(multi_head_attention, "X")(X, W_Q, W_K, W_V, W_O, beta, H), vec_r(X)
    return -(x.T @ (J + J.T) @ x) * rational(1, 2)


QUADRATIC.oracle(
    lambda X, C, Omega, W_Q, W_K, W_V, W_O, beta, H, N: pseudo_energy(
        X, akorn_increment(X, C, Omega, multi_head_attention(X, W_Q, W_K, W_V, W_O, beta, H), N)
    )
)


@QUADRATIC.counterexample("one oscillator in the plane, all weights I")
def _() -> dict[str, Any]:
    """By hand: MSA(X) = X, J = I and the form is -1; Proj removes X, so that E_pseudo = 0."""
    O, identity = [[0, 0], [0, 0]], [[1, 0], [0, 1]]
    weights = {"W_Q": identity, "W_K": identity, "W_V": identity, "W_O": identity, "beta": 1, "H": 1}
    return {"X": [[1, 0]], "C": [[0, 0]], "Omega": O, "eta": 1, "N": 2, **weights}


QUADRATIC.mutant("without one half", numerator=2)
QUADRATIC.mutant("sign", lambda value: -value)


QUADRATIC_DRIVE = Claim(DYNAMICS, "dynamics.sec-6.3-quadratic-drive",
    label="Section 6.3, the quadratic form of -Tr(X^T MSA(X))", name="quadratic form of the attention drive",
    statement=r"\operatorname{vec}(\operatorname{MSA}(X))=J_tx_t\ \Rightarrow\ -\operatorname{Tr}(X^\top"
    r"\operatorname{MSA}(X))=-x_t^\top S_tx_t/2,\ S_t=J_t+J_t^\top,\ J_t=\partial\operatorname{MSA}(X)/\partial X",
    assumptions=[
        HEADS_FIT,
        Definition(
            r"the approximation taken as an equality: MSA(X) replaced by J_t x_t; \Delta X = MSA(X), Eq. (9) without C",
            by=multi_head_attention,
        ),
    ],
    general="It holds of every function in the place of MSA: the hypothesis is put in.",
    relation=Equal(), all_sizes=True, sizes={"S": (1, 3), "D": (1, 4), "H": (1, 2)}, exact=True,
    of_project=True, corrects="dynamics.sec-6.3-quadratic",
    note=r"""How good the approximation is: dynamics.b.5-alignment gives $Jx - \operatorname{vec}(
        \operatorname{MSA}(X))$ exactly.""")  # fmt: skip


QUADRATIC_DRIVE.formula(quadratic_form_of_the_jacobian)


@QUADRATIC_DRIVE.oracle
def pseudo_energy_of_the_linearisation(X: Any, W_Q: Any, W_K: Any, W_V: Any, W_O: Any, beta: Any, H: int) -> Any:
    """-Tr(X^T Delta X) with Delta X the derivative of MSA along X."""
    along = jacobian(lambda s: multi_head_attention(X + X * s, W_Q, W_K, W_V, W_O, beta, H), "s")(beta * 0)
    return vec_r(X)[:1] * 0 - trace(X.T @ along.reshape(*X.shape))


QUADRATIC_DRIVE.mutant("without one half", numerator=2)
QUADRATIC_DRIVE.mutant("anti-symmetric part", "J + J.T -> J - J.T")
QUADRATIC_DRIVE.mutant("MSA(X) itself",
    lambda X, W_Q, W_K, W_V, W_O, beta, H: pseudo_energy(X, multi_head_attention(X, W_Q, W_K, W_V, W_O, beta, H))
)  # fmt: skip


BASIS = Claim(DYNAMICS, "dynamics.sec-6.3-basis", label="Section 6.3, text",
    statement=r"""x_t=\sum_{k=1}^{DS}a_t^kv_t^k\ (v_t^k\text{ orthonormal eigenvectors of }S_t),\
        \lambda_t^1\ge\cdots\ge\lambda_t^{DS};\ \text{contribution index }\sum_{k\le0.02DS}(a_t^k)^2/
        \sum_{k=1}^{DS}(a_t^k)^2""",
    assumptions=[
        Assumption("S_t symmetric", zero=lambda S: S - S.T),
        Assumption("V is orthogonal", zero=lambda V: V.T @ V - eye(V.shape[0])),
        Assumption("the columns of V are eigenvectors of S_t", zero=lambda S, V, eigenvalues: S @ V - V * eigenvalues),
        Assumption("x does not vanish", positive=lambda x: x.T @ x),
    ],
    name="contribution index of leading eigenvectors", relation=Equal(), at_sizes=True, sizes={"n": (1, 4)}, exact=True,
    note=r"""Checked: $-x^\top Sx/2 = -\sum_k\lambda_k a_k^2/2$ with the coefficients $a_k$ of the state, Parseval,
        and the index for every number of leading
        eigenvectors as the squared share of the projection of $x$; so it lies in $[0, 1]$. It depends on the
        eigenvalues alone, and not on the choice of eigenvectors, only if no eigenvalue is repeated across the cut. For
        $DS < 50$ the sum over $k \le 0.02DS$ is empty.""")  # fmt: skip


@BASIS.inputs
@realises(
    {
        "S_t symmetric": reached.SPECTRAL,
        "V is orthogonal": reached.ROTATIONS,
        "columns of V are eigenvectors of S_t": reached.SPECTRAL,
    }
)
def known_eigenvectors(G: Coupling, steps: Eigenvalues, x: Vector) -> dict[str, Any]:
    """V orthogonal, eigenvalues descending by squares, repeated ones included, and S = V diag(lambda) V^T."""
    V, n = orthogonal_matrix(G), G.shape[0]
    drops = steps * steps
    columns = [drops[:, :1] * 3 - row_sums(drops[:, 1 : k + 1] if k else drops[:, :1] * 0) for k in range(n)]
    eigenvalues = concatenate(columns, axis=1)
    return {"V": V, "eigenvalues": eigenvalues, "S": V @ diag(eigenvalues) @ V.T, "x": x}


@BASIS.formula
def energy_and_contribution_by_coefficients(V: Coupling, eigenvalues: Eigenvalues, x: Vector) -> Any:
    """-sum lambda_k a_k^2 / 2, sum a_k^2, and the contribution indices; shape (n + 2, 1)."""
    squares = hadamard(V.T @ x, V.T @ x)
    norm, n = squares.sum(0).reshape(1, 1), squares.shape[0]
    order = [squares[k : k + 1] for k in range(n)]
    leading = [sum(order[: k + 1]) / norm for k in range(n)]
    return concatenate([-(eigenvalues @ squares) * rational(1, 2), norm, *leading], axis=0)


@BASIS.oracle
def energy_and_contribution_by_projection(S: Coupling, V: Coupling, x: Vector) -> Any:
    norm = x.T @ x
    shares = []
    for k in range(1, V.shape[0] + 1):
        y = V[:, :k] @ (V[:, :k].T @ x)
        shares.append(y.T @ y / norm)
    return concatenate([-(x.T @ S @ x) * rational(1, 2), norm, *shares], axis=0)


BASIS.mutant("rows of V for the eigenvectors", "V -> V.T")
BASIS.mutant("without one half", numerator=2)
BASIS.mutant("trailing eigenvectors", "order[: k + 1] -> order[n - 1 - k :]")
