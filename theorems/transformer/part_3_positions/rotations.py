"""Rotary positions: a group of rotations that keeps norms and lets scores depend on differences of positions alone."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.transformer import TRANSFORMER
from theorems.transformer.definitions import rotary
from verify.matrix import concatenate, eye, indexed, ones, row_sums
from verify.oracles import jacobian
from verify.vocabulary import Assumption, Claim, Definition, Equal, Setting, Shape, realises


def both(A: Any, B: Any) -> Any:
    """Rows of width 2 p from their halves."""
    return concatenate([A, B], axis=1)


#: Both halves of rows of width 2 p, and numbers from which points on the circle are made.
Half = Annotated[Any, Shape("n", "p")]
OtherHalf = Annotated[Any, Shape("m", "p")]
Step = Annotated[Any, Shape("1", "p")]
SIZES = {"n": (1, 3), "m": (1, 3), "p": (1, 3)}

ROTATIONS = Setting(TRANSFORMER, "Rotary positions", exact=True, sizes=SIZES,
    assumptions=[
        Definition("a row of width 2 p consists of halves A and B, whose entries A_k and B_k make one pair", by=both),
        Definition("R_{C,S} makes A_k C_k - B_k S_k and B_k C_k + A_k S_k of each pair, C and S a row for each row", by=rotary),
    ])  # fmt: skip
CIRCLE = Assumption("c^2 + s^2 = 1, the same rotation of every row", zero=lambda c, s: c * c + s * s - 1)


def on_the_circle(t: Step) -> tuple[Any, Any]:
    """Cosines and sines (1 - t^2) / (1 + t^2) and 2 t / (1 + t^2), rational where t is, each of shape (1, p)."""
    return (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)


COMPOSED = Claim(ROTATIONS, "transformer.rotary-composes", label="Rotations compose by adding angles",
    statement=r"R_{C',S'}R_{C,S}X = R_{C'C-S'S,\,S'C+C'S}X",
    name="composition of rotary positions", relation=Equal(), all_sizes=True)  # fmt: skip


@COMPOSED.formula
def turned_once(A: Half, B: Half, C: Half, S: Half, D: Half, T: Half) -> Any:
    """Rows turned by the sum of two angles, shape (n, 2 p)."""
    return rotary(both(A, B), D * C - T * S, T * C + D * S)


COMPOSED.oracle(lambda A, B, C, S, D, T: rotary(rotary(both(A, B), C, S), D, T))
COMPOSED.mutant("the difference of the angles", "D * C - T * S -> D * C + T * S; T * C + D * S -> D * S - T * C")
COMPOSED.mutant("cosines multiplied", "D * C - T * S -> D * C; T * C + D * S -> T * S")

CIRCLE_REACHED = {
    "c^2 + s^2 = 1": "the stereographic parameters of a circle reach all of it but one point, the half turn, which is their limit"
}  # fmt: skip

NORMS = Claim(ROTATIONS, "transformer.rotary-norms", label="Rotations keep norms",
    statement=r"\|R_{c,s}X_i\| = \|X_i\|", assumptions=[CIRCLE], hypotheses=[CIRCLE], name="norms under rotary positions",
    relation=Equal(), all_sizes=True)  # fmt: skip


@NORMS.inputs
@realises(CIRCLE_REACHED)
def rows_and_rotation(A: Half, B: Half, t: Step) -> dict[str, Any]:
    c, s = on_the_circle(t)
    return {"A": A, "B": B, "c": c, "s": s}


@NORMS.formula
def squared_norms(A: Half, B: Half, c: Step, s: Step) -> Any:
    """|X_i|^2, shape (n, 1)."""
    return row_sums(A * A) + row_sums(B * B)


def _turned(A: Any, B: Any, c: Any, s: Any) -> Any:
    """Rows, all turned by the same angles."""
    return rotary(both(A, B), ones(A.shape[0], 1) @ c, ones(A.shape[0], 1) @ s)


NORMS.oracle(lambda A, B, c, s: row_sums(_turned(A, B, c, s) * _turned(A, B, c, s)))
NORMS.mutant("one half", "row_sums(B * B) -> 0 * row_sums(B * B)")
NORMS.mutant("scaled by the cosine", "row_sums(A * A) -> row_sums(A * A * c)")

SCORES = Claim(ROTATIONS, "transformer.rotary-scores", label="Scores depend on differences of positions",
    statement=r"\langle R_{c,s}R_{C_i,S_i}Q_i, R_{c,s}R_{D_j,T_j}K_j\rangle = \langle R_{C_i,S_i}Q_i, R_{D_j,T_j}K_j\rangle",
    assumptions=[CIRCLE], hypotheses=[CIRCLE], name="scores under a common shift of positions", relation=Equal(),
    all_sizes=True, uses=("transformer.rotary-composes",),
    note="Moving all positions by the same amount composes every rotation with one and the same.")  # fmt: skip


@SCORES.inputs
@realises(CIRCLE_REACHED)
def positions(
    A: Half, B: Half, C: Half, S: Half, E: OtherHalf, F: OtherHalf, D: OtherHalf, T: OtherHalf, t: Step
) -> dict[str, Any]:
    c, s = on_the_circle(t)
    return {"A": A, "B": B, "C": C, "S": S, "E": E, "F": F, "D": D, "T": T, "c": c, "s": s}


@SCORES.formula
def scores_where_they_are(
    A: Half, B: Half, C: Half, S: Half, E: OtherHalf, F: OtherHalf, D: OtherHalf, T: OtherHalf, c: Step, s: Step
) -> Any:
    """Products of rotated queries (A, B) and keys (E, F), shape (n, m)."""
    return rotary(both(A, B), C, S) @ rotary(both(E, F), D, T).T


def _moved(A: Any, B: Any, C: Any, S: Any, c: Any, s: Any) -> Any:
    """Rows turned by C, S and then all by c, s."""
    c, s = ones(A.shape[0], 1) @ c, ones(A.shape[0], 1) @ s
    return rotary(both(A, B), c * C - s * S, s * C + c * S)


SCORES.oracle(lambda A, B, C, S, E, F, D, T, c, s: _moved(A, B, C, S, c, s) @ _moved(E, F, D, T, c, s).T)
SCORES.mutant("keys not turned", "rotary(both(E, F), D, T) -> both(E, F)")
SCORES.mutant("keys turned backwards", "rotary(both(E, F), D, T) -> rotary(both(E, F), D, -T)")
SCORES.mutant("halves exchanged", "both(E, F) -> both(F, E)")

LINEAR = Claim(ROTATIONS, "transformer.rotary-jacobian", label="Derivative of the rotation",
    statement=r"""\frac{\partial R_{C,S}X}{\partial A} =
        \operatorname{blockdiag}_i\begin{bmatrix}\operatorname{diag}(C_i)\\ \operatorname{diag}(S_i)\end{bmatrix}""",
    name="derivative of rotary positions", relation=Equal(), all_sizes=True)  # fmt: skip


@LINEAR.formula
def rotary_jacobian(A: Half, B: Half, C: Half, S: Half) -> Any:
    """Derivatives of both halves of the result in the first half of the rows, on top of each other, shape (2 n p, n p)."""
    n, p = A.shape
    return concatenate([indexed("ik,ij,kl->(i k)(j l)", part, eye(n), eye(p)) for part in (C, S)], axis=0)


def _half_of(A: Any, B: Any, C: Any, S: Any, second: bool) -> Any:
    turned, p = rotary(both(A, B), C, S), A.shape[1]
    return turned[:, p:] if second else turned[:, :p]


LINEAR.oracle(
    lambda A, B, C, S: concatenate([jacobian(_half_of, "A")(A, B, C, S, second) for second in (False, True)], axis=0)
)
LINEAR.mutant("turned backwards", "(C, S) -> (C, -S)")
LINEAR.mutant("sines and cosines exchanged", "(C, S) -> (S, C)")
