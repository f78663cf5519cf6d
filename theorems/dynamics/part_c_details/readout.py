"""Appendix C.2, Eq. (98): AKOrN's readout, and in which sense it is independent of the phase.

Surprising: not of a common phase of the oscillators, unless the readout matrices are multiples of one isometry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from theorems.shared import reached
from theorems.dynamics import DYNAMICS
from theorems.dynamics.part_c_details.oscillators import Oscillators
from theorems.shared.matrices import orthogonal_matrix
from verify.matrix import concatenate, each, eye, ones, row_sums, summed, vec_r
from verify.vocabulary import Assumption, Claim, Definition, Equal, Shape, realises
from verify.vocabulary.hypotheses import orthonormal_columns

Readout = Annotated[Any, Shape("S", "J", "M", "N")]
Coefficients = Annotated[Any, Shape("S", "J")]
Rotation = Annotated[Any, Shape("N", "N")]
Isometry = Annotated[Any, Shape("M", "N")]
TurnOfReadout = Annotated[Any, Shape("M", "M")]


# -- Eq. (98) ----------------------------------------------------------------------------------------------------------


def readout(X: Any, U: Any, of: Callable[[Any], Any] = lambda row: row) -> Any:
    """z_k = sum_ij U_kij x_ij as a row (1, M), or the sum of a function of these rows; X (S, J, N), U (S, J, M, N)."""
    S, J, N = X.shape
    return summed(S, lambda i: summed(J, lambda j: of(X[i, j].reshape(1, N) @ U[i, j].T)))


def squared_length(z: Any) -> Any:
    """|z|^2 of a row z (1, M), shape (1, 1)."""
    return z @ z.T


EQ_98_FORM = Claim(DYNAMICS, "dynamics.eq-98-form", label="Eq. (98)", name="readout of AKOrN",
    statement=r"C'=g(m)\in\mathbb R^{D\times N},\ m_k=\|z_k\|,\ z_k=\sum_iU_{kij}\tilde X_{i,j}\in\mathbb R^{N'},"
    r"\ U_{kij}\in\mathbb R^{N'\times N},\ k=1\cdots DN",
    assumptions=[
        Definition("one k", by=readout),
        Assumption("D/N > 1 oscillators per token", sizes=lambda sizes: sizes["J"] >= 2),
    ],
    relation=Equal(), sizes={"S": (1, 2), "J": (2, 3), "N": (1, 2), "M": (1, 2)}, exact=True, expects="refuted",
    severity="slip", correction="dynamics.eq-98-summed",
    note=r"""Squares $m_k^2$ are compared. The printed sum runs over $i$ only, so $m_k$ has as many values as there
        are $j$. A sum over $i$ and $j$
        gives it one. The shape $D \times N$ of $C'$ is not that of $C$, $S \times D$, although $C'$ is to take the
        place of $C$ in the next layer.""")  # fmt: skip


@EQ_98_FORM.formula
def readout_for_each_free_index(X: Oscillators, U: Readout) -> Any:
    """m_k^2 for j = 1, ..., J, shape (J, 1) (Eq. (98))."""
    each_j = each(X.shape[1], lambda j: squared_length(readout(X[:, j : j + 1], U[:, j : j + 1])))
    return concatenate(each_j, axis=0)


@EQ_98_FORM.oracle
def readout_as_one_number(X: Oscillators, U: Readout) -> Any:
    """m_k^2 as the left-hand side has it: whatever j, that of j = 1."""
    z = sum(X[i, 0].reshape(1, -1) @ U[i, 0].T for i in range(X.shape[0]))
    return ones(X.shape[1], 1) @ (z @ z.T)


EQ_98_FORM.counterexample("one token, two oscillators of dimension 1", X=[[[1], [1]]], U=[[[[1]], [[2]]]])
EQ_98_FORM.mutant("sum over i and j", "readout(X[:, j : j + 1], U[:, j : j + 1]) -> readout(X, U)")
EQ_98_FORM.mutant("sum over i of squares, doubled",
    "squared_length(readout(X[:, j : j + 1], U[:, j : j + 1])) -> "
    "2 * readout(X[:, j : j + 1], U[:, j : j + 1], squared_length)")  # fmt: skip


EQ_98_SUMMED = Claim(DYNAMICS, "dynamics.eq-98-summed", label="Eq. (98), summed over both indices",
    statement=r"m_k=\|z_k\|,\ z_k=\sum_{i,j}U_{kij}\tilde X_{i,j}=[U_{k11},U_{k12},\ldots]\operatorname{vec}(X)",
    name="readout of AKOrN, summed over both indices", relation=Equal(), all_sizes=True,
    sizes={"S": (1, 2), "J": (1, 3), "N": (1, 3), "M": (1, 2)}, exact=True, of_project=True,
    corrects="dynamics.eq-98-form", note="Squares $m_k^2$ are compared.")  # fmt: skip


@EQ_98_SUMMED.formula
def squared_readout(X: Oscillators, U: Readout) -> Any:
    """m_k^2 = |sum_ij U_kij x_ij|^2, shape (1, 1)."""
    return squared_length(readout(X, U))


@EQ_98_SUMMED.oracle
def squared_readout_by_one_matrix(X: Oscillators, U: Readout) -> Any:
    S, J, _ = X.shape
    rows = each(S, lambda i: concatenate(each(J, lambda j: U[i, j]), axis=1))
    whole = concatenate(rows, axis=1)
    z = whole @ vec_r(X.reshape(S * J, -1))
    return z.T @ z


EQ_98_SUMMED.mutant("sum over i only", lambda X, U: squared_length(readout(X[:, :1], U[:, :1])))
EQ_98_SUMMED.mutant("lengths summed", lambda X, U: readout(X, U, squared_length))


# -- independence of the phase -----------------------------------------------------------------------------------------

ROTATION = Assumption("R is orthogonal", zero=lambda R: R.T @ R - eye(R.shape[0]))

PHASE = Claim(DYNAMICS, "dynamics.c.2-phase", label="C.2, text", name="readout independent of the phase",
    statement=r"\text{``AKOrN then uses a readout module to read out patterns independent of the phase'': }m_k=\|z_k\|",
    assumptions=[
        ROTATION,
        Assumption("Q_k is orthogonal", zero=lambda Q: Q.T @ Q - eye(Q.shape[1])),
        Definition(
            r"a common phase is one rotation R of all oscillators; readout (98), summed over i and j, with U_{kij} ="
            r" u_{kij} Q_k",
            by=squared_length,
        ),
    ],
    hypotheses=(orthonormal_columns("R", stated="R is orthogonal"), orthonormal_columns("Q", stated="Q_k is orthogonal")),
    relation=Equal(), all_sizes=True, sizes={"S": (1, 2), "J": (1, 2), "N": (1, 3)}, exact=True, expects="gap",
    presumes=("dynamics.c.2-phase-common",), uses=("dynamics.c.2-phase-scalar",),
    missing=r"$U_{kij} = u_{kij}Q_k$ with orthogonal $Q_k$",
    consequence="""AKOrN learns its readout matrices freely, and such a readout does see the phase of the oscillators. If
        it has to be independent of it, learn coefficients $u_{kij}$ instead of matrices.""",
    note=r"""Squares $m_k^2$ are compared. The text is about oscillators. That $m_k$ discards the direction of $z_k$
        is no more than the definition of
        a norm, and does not make it independent of their phase: for $N = 2$ and the single readout matrix $U = (1, 0)$
        an oscillator at the angle $a$ gives $m = |\cos a|$.""")  # fmt: skip


@PHASE.inputs
@realises({"R is orthogonal": reached.ROTATIONS, "Q_k is orthogonal": reached.ROTATIONS})
def scalar_readouts(X: Oscillators, u: Coefficients, G: Rotation, K: Rotation) -> dict[str, Any]:
    """Oscillators, coefficients u_ij, the orthogonal Q_k and the rotation R by Cayley transforms."""
    return {"X": X, "u": u, "Q": orthogonal_matrix(K), "R": orthogonal_matrix(G)}


def _readout_of_multiples(X: Any, u: Any, Q: Any) -> Any:
    """|sum_ij u_ij Q x_ij|^2, the readout (98) term by term, shape (1, 1)."""
    S, J, N = X.shape
    return squared_length(summed(S, lambda i: summed(J, lambda j: X[i, j].reshape(1, N) @ (Q * u[i, j]).T)))


@PHASE.formula
def squared_readout_of_multiples(X: Oscillators, u: Coefficients, Q: Rotation) -> Any:
    """m_k^2 at U_kij = u_kij Q_k, shape (1, 1) (Eq. (98), summed over i and j)."""
    return _readout_of_multiples(X, u, Q)


@PHASE.oracle
def squared_readout_of_rotated_multiples(X: Oscillators, u: Coefficients, Q: Rotation, R: Rotation) -> Any:
    """m_k^2 of the oscillators R x_ij: Q R x_ij of all of them, weighted and summed at once."""
    S, J, N = X.shape
    z = u.reshape(1, S * J) @ (X.reshape(S * J, N) @ R.T @ Q.T)
    return z @ z.T


PHASE.mutant("one oscillator turned, the others not", lambda X, u, Q, R: _readout_with_one_turned(X, u, Q, R))
PHASE.mutant("Q with one row left out", lambda X, u, Q: _readout_of_multiples(X, u, Q[1:]))


def _readout_with_one_turned(X: Any, u: Any, Q: Any, R: Any) -> Any:
    S, J, N = X.shape
    rows = X.reshape(S * J, N)
    return _readout_of_multiples(concatenate([rows[:1] @ R.T, rows[1:]], axis=0).reshape(S, J, N), u, Q)


PHASE_COMMON = Claim(DYNAMICS, "dynamics.c.2-phase-common", label="C.2, a common phase of the oscillators",
    statement=r"""\|\textstyle\sum_{i,j}U_{kij}R\tilde X_{i,j}\|=\|\sum_{i,j}U_{kij}\tilde X_{i,j}\|\text{ for every
        rotation }R\text{ and all }U_{kij}""",
    assumptions=[
        ROTATION,
        Definition(r"readout (98), summed over i and j, U_{kij} \in R^{N' \times N} arbitrary, as when learned", by=readout),
        Definition("a common phase is one rotation R of all oscillators", by=orthogonal_matrix),
    ],
    name="readout under a common phase of the oscillators", relation=Equal(),
    sizes={"S": (1, 2), "J": (1, 2), "N": (2, 3), "M": (1, 3)}, expects="refuted", severity="error",
    correction="dynamics.c.2-phase-scalar", of_project=True,
    note="""Squares $m_k^2$ are compared. $U_{kij}R$ and $R'U_{kij}$ need not agree for any isometry $R'$. A readout
        that looks at one coordinate of
        one oscillator sees its phase. For numbers $a_{kij}$, $b_{kij}$, $u_{kij}$ and any $Q_k$ with orthonormal
        columns it is invariant for $N = 2$ if $U_{kij} = Q_k(a_{kij}I + b_{kij}[[0,-1],[1,0]])$; for every $N$ if
        $U_{kij} = u_{kij}Q_k$.""",
)  # fmt: skip


@PHASE_COMMON.inputs
@realises({"R is orthogonal": reached.ROTATIONS})
def rotated_oscillators(X: Oscillators, U: Readout, G: Rotation) -> dict[str, Any]:
    """Oscillators, readout matrices and a rotation R, the Cayley transform of G."""
    return {"X": X, "U": U, "R": orthogonal_matrix(G)}


PHASE_COMMON.formula(squared_readout)


@PHASE_COMMON.oracle
def squared_readout_after_rotation(X: Oscillators, U: Readout, R: Rotation) -> Any:
    S, J, N = X.shape
    Y = X.reshape(S * J, N) @ R.T
    z = sum(Y[i * J + j].reshape(1, N) @ U[i, j].T for i in range(S) for j in range(J))
    return z @ z.T


# By hand: m_k is 2 before and 0 after
PHASE_COMMON.counterexample("one oscillator in the plane, twice whose first coordinate is read, turned by a right angle",
    X=[[[1, 0]]], U=[[[[2, 0]]]], R=[[0, -1], [1, 0]])  # fmt: skip
PHASE_COMMON.mutant("oscillators summed without U_kij",
    lambda X: squared_length(X.reshape(-1, X.shape[2]).sum(0).reshape(1, -1)))  # fmt: skip
PHASE_COMMON.mutant("sum of the coordinates of z_k, not squared", lambda X, U: row_sums(readout(X, U)))


PHASE_SCALAR = Claim(DYNAMICS, "dynamics.c.2-phase-scalar", label="C.2, readouts that are independent of the phase",
    statement=r"""U_{kij}=u_{kij}Q_k\in\mathbb R^{N'\times N},\ Q_k^\top Q_k=I_N\ \Rightarrow\ m_k\text{ is invariant
        under a common rotation of all oscillators, and }m_k=\|\textstyle\sum_{i,j}u_{kij}\tilde X_{i,j}\|""",
    assumptions=[
        ROTATION,
        Assumption("Q_k^T Q_k = I", zero=lambda Q: Q.T @ Q - eye(Q.shape[1])),
        Assumption("N' >= N, without which there is no such Q_k", sizes=lambda sizes: sizes["N"] <= sizes["M"]),
    ],
    hypotheses=(orthonormal_columns("R", stated="R is orthogonal"), orthonormal_columns("Q", stated="Q_k^T Q_k = I")),
    name="readouts invariant under a common phase", relation=Equal(), all_sizes=True,
    sizes={"S": (1, 2), "J": (1, 2), "N": (1, 3), "M": (1, 4)}, exact=True, of_project=True, corrects="dynamics.c.2-phase-common",
    note="Squares $m_k^2$ are compared. $N'$, here $M$, may exceed $N$; no smaller $N'$ has such a $Q_k$.")  # fmt: skip


@PHASE_SCALAR.inputs
@realises({"R is orthogonal": reached.ROTATIONS, "Q_k^T Q_k = I": reached.FRAMES})
def isometric_readouts(X: Oscillators, u: Coefficients, G: Rotation, K: TurnOfReadout) -> dict[str, Any]:
    """Oscillators, coefficients u_ij, N columns of an orthogonal matrix of order N', and the rotation R."""
    return {"X": X, "u": u, "Q": orthogonal_matrix(K)[:, : X.shape[2]], "R": orthogonal_matrix(G)}


@PHASE_SCALAR.formula
def squared_length_of_weighted_sum(X: Oscillators, u: Coefficients) -> Any:
    """|sum_ij u_ij x_ij|^2, shape (1, 1): what m_k^2 is at U_kij = u_kij Q_k."""
    S, J, N = X.shape
    return squared_length(u.reshape(1, S * J) @ X.reshape(S * J, N))


@PHASE_SCALAR.oracle
def squared_readout_of_rotated_oscillators(X: Oscillators, u: Coefficients, Q: Isometry, R: Rotation) -> Any:
    """m_k^2 of the oscillators R x_ij, the readout (98) term by term."""
    S, J, N = X.shape
    return _readout_of_multiples((X.reshape(S * J, N) @ R.T).reshape(S, J, N), u, Q)


PHASE_SCALAR.mutant("one oscillator turned, the others not", lambda X, u, Q, R: _readout_with_one_turned(X, u, Q, R))
PHASE_SCALAR.mutant("Q with one row left out", lambda X, u, Q: _readout_of_multiples(X, u, Q[1:]))
