"""Rotary tables: positions that begin anywhere, and angles b^(-k/p) of a base b."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.transformer import TRANSFORMER
from theorems.transformer.definitions import rotary
from theorems.transformer.encodings import Base, Offset, TurnedRows, frequencies, rotary_table
from verify.matrix import concatenate, cos, ones, sin  # noqa: F401  (mutants name concatenate)
from verify.vocabulary import Assumption, Claim, Definition, Equal, Setting, Shape, Size

OtherRows = Annotated[Any, Shape("m", "d")]
OtherOffset = Annotated[int, Size("u")]
Moved = Annotated[int, Size("s")]

TABLES = Setting(
    TRANSFORMER, "Rotary tables", sizes={"n": (1, 3), "m": (1, 3), "d": (2, 6), "o": (0, 9), "u": (0, 9), "s": (0, 5)},
    where=lambda sizes: sizes["d"] % 2 == 0,
    assumptions=[
        Definition("R_o turns the pair k of row i by the angle (o + i) b^(-k/p), i and k from 0", by=rotary_table),
        Assumption("d is even", sizes=lambda sizes: sizes["d"] % 2 == 0),
    ],
)  # fmt: skip

STEPS = Claim(TABLES, "transformer.rotary-table-steps", label="The next position is one turn more",
    statement=r"R_{o+1}X = R_{\cos\theta,\,\sin\theta}R_oX,\quad \theta_k = b^{-k/p}",
    name="rotary tables, a position at a time", relation=Equal(), uses=("transformer.rotary-composes",))  # fmt: skip


@STEPS.formula
def one_turn_more(X: TurnedRows, b: Base, o: Offset) -> Any:
    """Rows at the positions o, o + 1, ..., all turned once more, shape (n, d)."""
    n, p = X.shape[0], X.shape[1] // 2
    angles = ones(n, 1) @ frequencies(p, X[:1, :1] * 0 + b)
    return rotary(rotary_table(X, b, o), cos(angles), sin(angles))


STEPS.oracle(lambda X, b, o: rotary_table(X, b, o + 1))
STEPS.mutant("no turn", "rotary(rotary_table(X, b, o), cos(angles), sin(angles)) -> rotary_table(X, b, o)")
STEPS.mutant("backwards", "sin(angles) -> 0 - sin(angles)")
STEPS.mutant("positions from zero", "rotary_table(X, b, o) -> rotary_table(X, b, 0)")
STEPS.mutant("angles b^(-2k/p)", "X[:1, :1] * 0 + b -> (X[:1, :1] * 0 + b) * b")

DIFFERENCES = Claim(TABLES, "transformer.rotary-table-differences", label="Offsets count by their difference alone",
    statement=r"\langle (R_{o+s}Q)_i, (R_{u+s}K)_j\rangle = \langle (R_oQ)_i, (R_uK)_j\rangle",
    name="scores of rotary tables under a common shift", relation=Equal(), uses=("transformer.rotary-scores",),
    note="Queries behind a cache of $o$ tokens begin at position $o$: turned from 0 they have other scores.",
    general="It holds as well of functions that do not depend on the offset: it says that equal shifts cancel.")  # fmt: skip


@DIFFERENCES.formula
def scores_of_tables(Q: TurnedRows, K: OtherRows, b: Base, o: Offset, u: OtherOffset) -> Any:
    """Products of turned queries and keys, shape (n, m)."""
    return rotary_table(Q, b, o) @ rotary_table(K, b, u).T


DIFFERENCES.oracle(lambda Q, K, b, o, u, s: rotary_table(Q, b, o + s) @ rotary_table(K, b, u + s).T)
DIFFERENCES.mutant("queries from zero", "rotary_table(Q, b, o) -> rotary_table(Q, b, 0)")
DIFFERENCES.mutant("keys not turned", "rotary_table(K, b, u) -> K")
DIFFERENCES.mutant("another base", "rotary_table(K, b, u) -> rotary_table(K, b * 4, u)")
DIFFERENCES.inputs(Q=TurnedRows, K=OtherRows, b=Base, o=Offset, u=OtherOffset, s=Moved)
