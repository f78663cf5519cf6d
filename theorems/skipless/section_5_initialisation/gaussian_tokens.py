"""Proposition 2 for the Gaussian tokens of Section A.4.1: true at the printed dimensions, false at small ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from theorems.skipless.sampling import (
    batched_input_jacobian,
    conditions,
    gap_of_logits,
    normal,
    query_key_product,
    wrong_products,
)
from theorems.skipless.section_5_initialisation.initialisation import value_output_weights
from theorems.skipless.settings import AT_PRINTED_DIMENSIONS, BY_DIMENSION, LENGTH
from verify.claims import Claim
from verify.relations import FollowsLaw, at_least_probability
from verify.relations.follows_law import LawTest

if TYPE_CHECKING:
    import torch

#: Tokens and their dimension where Proposition 2 fails.
SMALL = 8
#: c of Sections 6.1 and 6.2.
SCALE = 3.0

GAUSSIAN = Claim(
    AT_PRINTED_DIMENSIONS,
    "skipless.prop-2-gaussian",
    label="Proposition 2 for Gaussian tokens",
    statement=r"\mathbf{X}\sim\mathcal{N}(0,\mathbf{I}):\quad P(\kappa(\mathbf{K})\le1.01)\ge\tfrac9{10}\ \text{at}\ n=197,\ "
    r"d=384,768;\qquad P(\kappa(\mathbf{K})>1000)\ge\tfrac12\ \text{at}\ n=d=8",
    assumptions=[
        "one head, W_V = c U, W_O = c V^T with c = 3, W_Q W_K^T = alpha Z + beta I",
        "(alpha, beta) = (1.8, 1) at d = 384, (2, 0.6) at d = 768, as printed, and both at n = d = 8; n = 197 is not stated",
    ],
    relation=FollowsLaw(samples=60, instances=2),
    of_project=True,
    uses=("skipless.prop-2-dominant-logits",),
    note="kappa(K) at n = 197 by the bound (1 + e) / (1 - e) of skipless.prop-2-dominant-logits, with Frobenius norms; at n = d = 8"
    " itself, medians 2e5 and 5e5 of 40 draws.  The dimension decides, not alpha and beta: at n = 8, d = 64 with (2, 0.6)"
    " kappa was above 1000 in all of six draws.",
)
GAUSSIAN.formula(query_key_product)
wrong_products(GAUSSIAN)
GAUSSIAN.mutant("alpha Z forgotten", lambda Z, alpha, beta: query_key_product(0 * Z, alpha, beta))


@GAUSSIAN.part("laws")
def laws_of_jacobian(formula: Callable[..., Any], generator: torch.Generator, samples: int, d: int) -> list[LawTest]:
    import torch

    alpha, beta = BY_DIMENSION[d]
    near_one = 0
    for _ in range(samples):
        X, Z = (normal(generator, rows, d, single=True) for rows in (LENGTH, d))
        W = formula(Z / math.sqrt(d), alpha, beta)
        gap = gap_of_logits((X @ W @ X.T).double())
        norms = 1 + 2 * float(X.square().sum()) * float(W.square().sum().sqrt())
        near_one += math.log(2 * (LENGTH - 1) * norms) - gap <= -math.log(201)  # e <= 1/201
    X, Z, Q = (normal(generator, samples, SMALL, SMALL) for _ in range(3))
    U, V_T = value_output_weights(Q, SCALE)
    W = torch.stack([formula(z / math.sqrt(SMALL), alpha, beta) for z in Z])
    large = int((conditions(batched_input_jacobian(X, W, U @ V_T)) > 1000).sum())
    return [
        at_least_probability(f"kappa(K) <= 1.01, n = {LENGTH}, d = {d}", near_one, samples, 0.9),
        at_least_probability(f"kappa(K) > 1000, n = d = {SMALL}, ({alpha}, {beta})", large, samples, 0.5),
    ]
