"""Lemma 1, by the gap of the logits, at the dimensions of the paper: what is printed fails there at alpha = 0."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from theorems.skipless.sampling import gap_of_logits, normal, query_key_product
from theorems.skipless.settings import AT_PRINTED_DIMENSIONS, PRINTED_SCALES
from verify.claims import Claim
from verify.relations import FollowsLaw
from verify.relations.follows_law import SMALLEST_P, LawTest

if TYPE_CHECKING:
    import torch

#: Tokens in the simulation, for which the Jacobian has n^2 rows and n d columns.
FEW = 6

LEMMA_AT_SIZE = Claim(
    AT_PRINTED_DIMENSIONS,
    "skipless.lemma-1-at-size",
    label="Lemma 1, by the gap of the logits, at the dimensions of the paper",
    statement=r"\left\|\frac{\partial\mathrm{vec}(\mathbf{A})}{\partial\mathrm{vec}(\mathbf{X})}\right\|_2\le"
    r"2(n-1)e^{-\gamma}\left(\|\mathbf{X}\mathbf{W}\|_2+\|\mathbf{X}\mathbf{W}^\top\|_2\right)",
    assumptions=[
        f"X ~ N(0, I) with n = {FEW} rows, d = 384 and 768, W = alpha Z + beta I",
        "(alpha, beta) = (2, 0.6), (1.8, 1) and (0, 0.5)",
    ],
    relation=FollowsLaw(samples=6, instances=2),
    of_project=True,
    uses=("skipless.lemma-1-gap",),
    note="The statement is certain, not probable: every draw must satisfy it. A mutant has 10^6 alpha e^-beta: no bound at"
    " alpha = 0.",
)


@LEMMA_AT_SIZE.formula
def bound_at_size(gap: float, norms: float, alpha: float, beta: float) -> float:
    """2 (n - 1) e^-gamma (|X W|_2 + |X W^T|_2)."""
    return 2 * (FEW - 1) * math.exp(-gap) * norms


@LEMMA_AT_SIZE.part("laws")
def laws_of_derivative(
    formula: Callable[..., float], generator: torch.Generator, samples: int, d: int
) -> list[LawTest]:
    import torch

    tests = []
    for alpha, beta in PRINTED_SCALES:
        below = 0
        for _ in range(samples // 3):
            X, Z = normal(generator, FEW, d), normal(generator, d, d) / math.sqrt(d)
            W = query_key_product(Z, alpha, beta)
            slope = torch.func.jacrev(lambda T, W=W: (T @ W @ T.T).softmax(-1))(X).reshape(FEW, FEW, FEW * d)
            for i in range(FEW):  # where A_ii rounds to 1 its derivative is lost; rows of A sum to 1
                slope[i, i] = slope[i, i] - slope[i].sum(0)
            norms = float(torch.linalg.matrix_norm(X @ W, 2) + torch.linalg.matrix_norm(X @ W.T, 2))
            norm = float(torch.linalg.matrix_norm(slope.reshape(FEW * FEW, -1), 2))
            below += norm <= formula(gap_of_logits(X @ W @ X.T), norms, alpha, beta)
        name = f"alpha = {alpha}, beta = {beta}, d = {d}"
        tests.append(LawTest(name, 1.0 if below == samples // 3 else SMALLEST_P, samples // 3))
    return tests


LEMMA_AT_SIZE.mutant("10^6 alpha e^-beta, as in Lemma 1", lambda gap, norms, alpha, beta: 1e6 * alpha * math.exp(-beta))
LEMMA_AT_SIZE.mutant("e^(-2 gamma)", "-gap -> -2 * gap")
