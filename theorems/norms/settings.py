"""What claims about norms share: operands, orthogonal matrices, several numbers in a column."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.norms import NORMS
from theorems.shared import reached
from theorems.shared.matrices import orthogonal_matrix
from verify.matrix import absolute, column, eye, frobenius_norm, maximum, spectral_norm, total
from verify.vocabulary import Assumption, Real, Setting, Shape, Size, realises

Matrix = Annotated[Any, Shape("m", "n")]
Next = Annotated[Any, Shape("n", "p")]
Other = Annotated[Any, Shape("p", "q")]
Square = Annotated[Any, Shape("n", "n")]
Tall = Annotated[Any, Shape("m", "m")]
Column = Annotated[Any, Shape("n", "1")]
Row = Annotated[Any, Shape("1", "n")]
Logits = Annotated[Any, Shape("m", "n", role="query")]
RowLogits = Annotated[Any, Shape("1", "n", role="query")]
Factor = Annotated[Any, Real(0.0, 4.0)]
Share = Annotated[Any, Real(0.0, 1.0)]
Steps = Annotated[int, Size("K")]

RULES = Setting(NORMS, "Rules for norms", sizes={"m": (1, 3), "n": (1, 4), "p": (1, 3), "q": (1, 2)})


@realises({"W has orthonormal columns": reached.FRAMES})
def orthonormal_columns(G: Tall, A: Matrix) -> dict[str, Any]:
    """As many orthonormal columns as A has."""
    return {"W": orthogonal_matrix(G)[:, : A.shape[1]]}


#: Of matrices with orthonormal columns.
FRAMES = RULES.extended(
    sizes={"m": (1, 4), "n": (1, 3)},
    assumptions=[
        Assumption("W has orthonormal columns", zero=lambda W: W.T @ W - eye(W.shape[1])),
        Assumption("at most as many columns as rows", sizes=lambda sizes: sizes["n"] <= sizes["m"]),
    ],
    inputs=orthonormal_columns,
)
SKEW = Assumption("S is skew", zero=lambda S: S + S.T)
#: Of matrices whose norms are enclosed slowly, as Jacobians and exponentials are.
SMALL = Setting(NORMS, "Rules for norms", sizes={"m": (1, 2), "n": (1, 3), "p": (1, 2), "K": (0, 3)})


def largest(A: Any) -> Any:
    """max|A_ij|, a scalar."""
    return maximum(absolute(A))


def three_norms(A: Any) -> Any:
    """||A||_2, ||A||_F and max|A|, shape (3, 1)."""
    return column(spectral_norm(A), frobenius_norm(A), largest(A))


def two_norms(A: Any) -> Any:
    """||A||_2 and ||A||_F, shape (2, 1)."""
    return column(spectral_norm(A), frobenius_norm(A))


def number(value: Any, A: Any) -> Any:
    """A number in the arithmetic of the matrix A."""
    return value + 0 * total(A)
