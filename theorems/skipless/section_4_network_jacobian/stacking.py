"""Text after Eq. (9): samples on top of each other, whose condition numbers do not bound that of the stack."""

from __future__ import annotations

from typing import Any

from theorems.skipless.definitions import AttentionWeights, Batch, FeedForwardWeights, parameters
from theorems.skipless.quantities import flatness, least
from theorems.skipless.section_4_network_jacobian.parameter_jacobian import block_of_jacobian
from theorems.skipless.section_4_network_jacobian.worst_block import CONDITIONING, THREE_WIDE, First, Second, Third
from verify.claims import Claim
from verify.matrix import concatenate
from verify.relations import AtMost

STACKING = Claim(
    CONDITIONING,
    "skipless.sec4.3-row-stacking",
    label="Section 4.3, text after Eq. (9)",
    statement=r"\mathbf{J}_\ell\in\mathbb{R}^{mnd\times p_\ell}\text{ is the concatenation of }\partial f(\mathbf{x};"
    r"\theta)/\partial"
    r"\theta^{(\ell)}\in\mathbb{R}^{nd\times p_\ell}\text{ for }m\text{ samples. By assumption i), we have }\kappa(\mathbf{J}_\ell)"
    r"\text{ is bounded by the largest }\kappa(\partial f(\mathbf{x};\theta)/\partial\theta^{(\ell)})\text{ for }m\text{ samples}",
    relation=AtMost(),
    sizes={"L": (1, 1), "m": (1, 2), "n": (1, 2), "d": (1, 2), "d_f": (1, 1)},
    expects="refuted",
    severity="error",
    uses=("skipless.eq-5-jacobian",),
    correction="skipless.sec4.3-row-stacking-tall",
    doubt="The text draws this from 'assumption i)', that is Eq. (6), which it assumes of blocks side by side.  Eq. (6) is met at"
    " both examples, max kappa being infinite there.  If i) is meant of blocks in any arrangement, the sentence repeats an"
    " assumption, and one that fails for every batch with mn > 2d whose samples have a finite kappa.",
    note="Stacking is vertical, Eq. (6) is about blocks side by side.  Two equal samples make J_l singular, whatever the"
    " samples' own kappa; and for mn > 2d it always is.  The largest singular value obeys |J_l| <= sqrt(m) max |J_l(x)|, the"
    " smallest has no lower bound.",
)


def _samples(X: Any, W: Any, U: Any) -> list[Any]:
    """df(x)/dtheta^(1) of each sample."""
    return [block_of_jacobian(x, parameters(W, U), 0) for x in X]


@STACKING.formula
def flatness_of_stack(X: Batch, W: AttentionWeights, U: FeedForwardWeights) -> Any:
    """1 / kappa(J_1), a scalar."""
    return flatness(concatenate(_samples(X, W, U), axis=0))


STACKING.oracle(lambda X, W, U: least(*[flatness(J) for J in _samples(X, W, U)]))
STACKING.counterexample(
    "two samples, one token of dimension 1: a 2 x 4 matrix of rank 1, rows with kappa = 1",
    X=[[[1]], [[2]]],
    W=[[[[1]], [[1]], [[1]], [[1]]]],
    U=[[[[1]], [[1]]]],
)


@STACKING.counterexample("mn <= 2d, finite: kappa = 1 for both samples, (3 + sqrt(5)) / 2 for the stack")
def _() -> dict[str, Any]:
    one, zero = [[1, 0], [0, 1]], [[0, 0], [0, 0]]
    return {"X": [[[1, 0]], [[1, 1]]], "W": [[zero, zero, one, one]], "U": [[[[1, 0]], [[0, 0]]]]}


STACKING.mutant("first sample alone", lambda X, W, U: flatness(_samples(X, W, U)[0]))
STACKING.mutant("samples side by side", axis=1)

TALL = Claim(
    THREE_WIDE,
    "skipless.sec4.3-row-stacking-tall",
    label="Stacking of matrices with at least as many rows as columns",
    statement=r"\mathbf{M}=[\mathbf{M}_1;\dots;\mathbf{M}_m],\ \text{every}\ \mathbf{M}_i\in\mathbb{R}^{n_i\times p}\ \text{with}"
    r"\ n_i\ge p\ \Rightarrow\ \kappa(\mathbf{M})\le\max_i\kappa(\mathbf{M}_i)",
    assumptions=["n_i >= p for each sample; three are tried"],
    relation=AtMost(),
    of_project=True,
    corrects="skipless.sec4.3-row-stacking",
    uses=("skipless.eq-6-wide",),
    note="Eq. (6) for blocks with at least as many columns as rows, transposed.  The attention blocks of samples with"
    " nd >= 4 d^2 have an infinite kappa by their null directions, so that it says nothing about them.",
)


@TALL.formula
def flatness_of_tall_stack(A: First, B: Second, C: Third) -> Any:
    """1 / kappa of A^T, B^T, C^T on top of each other, a scalar."""
    return flatness(concatenate([A.T, B.T, C.T], axis=0))


TALL.oracle(lambda A, B, C: least(flatness(A.T), flatness(B.T), flatness(C.T)))

TALL.mutant("condition number of J^T J", lambda value: value * value)
TALL.mutant("half of 1/kappa", lambda value: value / 2)
