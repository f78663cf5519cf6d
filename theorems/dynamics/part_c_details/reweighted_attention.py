"""Appendix C.2, Eq. (96): the update of Yang et al. [2022] beside self-attention with symmetric weights."""

from __future__ import annotations

from typing import Annotated, Any

from theorems.shared import reached
from theorems.dynamics import DYNAMICS
from theorems.dynamics.definitions import SquareWeights, Tokens, attention_head
from verify.matrix import concatenate, exp, eye, row_sums, softmax
from verify.vocabulary import Assumption, Claim, Definition, Equal, Real, Shape, realises

Exponents = Annotated[Any, Shape("1", "S")]
Coefficient = Annotated[Any, Real(-2.0, 2.0)]


def reweighted_softmax(L: Any, coefficients: Any) -> Any:
    """softmax_beta(L)_ij = beta_j exp(L_ij) / sum_k beta_k exp(L_ik) for positive coefficients beta (1, S); shape (S, S)."""
    E = exp(L) * coefficients
    return E / row_sums(E)


EQ_96 = Claim(DYNAMICS, "dynamics.eq-96", label="Eq. (96) and Section 3", name="reweighted attention with symmetric weights",
    statement=r"""X^{(t+1)}=\operatorname{softmax}_\beta(X^{(t)}W^sX^{(t)\top})X^{(t)}W^s,\ W^s\in\mathbb R^{D\times
        D}\text{ ``is a symmetric matrix and }\operatorname{softmax}_\beta\text{ is a function reweighted with
        coefficient vector }\beta\text{''; ``Yang et al. (2022) also formalized updates of SA using a symmetric
        matrix''}""",
    assumptions=[
        Assumption("W^s is symmetric", zero=lambda W: W - W.T),
        Definition(r"softmax_\beta weighs column j with \beta_j = e^{b_j} > 0", by=reweighted_softmax),
    ],
    relation=Equal(), all_sizes=True, sizes={"S": (1, 3), "D": (1, 3)},
    note=r"""Two things are compared: with any positive coefficients (96) is attention with the logits $XW^sX^\top +
        \mathbf 1b^\top$, $b = \ln\beta$; and with equal ones it is SA of Eq. (2) with $\beta = 1$ and $W^QW^{K\top} =
        W^V = W^s$, the first case of Eq. (4). Yang et al. are not at hand; that they have this update is not checked.
        """)  # fmt: skip


@EQ_96.inputs
@realises({"W^s is symmetric": reached.SYMMETRIC})
def symmetric_matrix_and_coefficients(X: Tokens, B: SquareWeights, b: Exponents, c: Coefficient) -> dict[str, Any]:
    """Tokens, logarithms of unequal coefficients, and of one for all, as drawn; W^s = B + B^T."""
    return {"X": X, "W": B + B.T, "b": b, "c": c}


@EQ_96.formula
def reweighted_updates(X: Tokens, W: SquareWeights, b: Exponents, c: Coefficient) -> Any:
    """Eq. (96) with the coefficients exp(b), above it with all of them exp(c), shape (2 S, D)."""
    L = X @ W @ X.T
    return concatenate([reweighted_softmax(L, exp(b)) @ X @ W, reweighted_softmax(L, exp(b * 0 + c)) @ X @ W], axis=0)


@EQ_96.oracle
def symmetric_attention_updates(X: Tokens, W: SquareWeights, b: Exponents, c: Coefficient) -> Any:
    shifted = softmax(X @ W @ X.T + X[:, :1] * 0 + b) @ X @ W
    return concatenate([shifted, attention_head(X, W, eye(W.shape[0]), W, c * 0 + 1)], axis=0)


@EQ_96.domain("weights and tokens of moderate size")
def _(arrays: dict[str, Any], sizes: dict[str, int], rng: Any) -> None:
    """Exponents of order 1, where float32 has its digits."""
    arrays["X"][:] = rng.integers(-3, 4, arrays["X"].shape) / 4
    arrays["B"][:] = rng.integers(-2, 3, arrays["B"].shape) / 4
    arrays["b"][:] = rng.integers(-3, 4, arrays["b"].shape) / 4


EQ_96.mutant("coefficients of the rows", "reweighted_softmax -> _weighted_rows")
EQ_96.mutant("values dropped", lambda X: concatenate([X, X], axis=0))
EQ_96.mutant(
    "not reweighted",
    lambda X, W, b: concatenate(
        [softmax(X @ W @ X.T) @ X @ W, reweighted_softmax(X @ W @ X.T, b * 0 + 1) @ X @ W], axis=0
    ),
)


def _weighted_rows(L: Any, coefficients: Any) -> Any:
    return softmax(L) * coefficients.T
