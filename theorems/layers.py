"""Layers for models: attention with derivatives of every order; the OSA paper's attention, bases and initialisation."""

from __future__ import annotations

from theorems.osa.fast import layers as osa
from theorems.osa.part_d_sampling import algorithm_1 as initialisation
from theorems.reference import certified, over_batches
from theorems.transformer.fast import attention as with_derivatives

THROUGH_BASIS = """
OSA(X) = exp(S) X W_V W_O with S = alpha / sqrt(d_v) (Q K^T - K Q^T), Q = X W_Q and K = X W_K.  The columns of B are not
checked: if they are not orthonormal, or do not span Q and K, the result is another matrix.
"""

attention = certified(
    with_derivatives.attention,
    "layers", "Attention layers, part 5",
    ["transformer.gradient-query", "transformer.gradient-key", "transformer.gradient-value", "transformer.gradient-bias",
     "transformer.differential", "transformer.second-differential-query", "transformer.second-differential-key",
     "transformer.second-differential-value", "transformer.second-differential-bias"], 1_120, (8, 8),
    dict.fromkeys(("query", "key", "value"), (8, 4)),
)  # fmt: skip
orthogonal_self_attention = certified(
    osa.orthogonal_self_attention,
    "layers", "Eqs. (3)-(5)",
    ["osa.push-through-layer", "osa.push-through-low-rank", "osa.multi-head-push-through"], 3_034, (32, 128),
    {"X": (8, 4), **dict.fromkeys(("W_Q", "W_K", "W_V"), (2, 4, 2)), "W_O": (2, 2, 4)},
)  # fmt: skip
attention_through_basis = certified(
    over_batches(osa.attention_through_basis, ["osa.low-rank-layer"], "layers", (3, 2), THROUGH_BASIS,
                 "B = torch.linalg.qr(torch.cat([X @ W_Q, X @ W_K], 1)).Q"),
    "layers", "Section 2.4", ["osa.low-rank-layer"], 3_319, (8, 8),
)  # fmt: skip
newton_schulz = certified(
    osa.newton_schulz,
    "layers", "Eq. (9)", ["osa.ns-convergence"], 3_028, (8, 8), {"M": (8, 4), "steps": 5},
)  # fmt: skip
stiefel_uniform = certified(
    initialisation.stiefel_uniform, "layers", "Algorithm 1", ["osa.alg-1"], 501, None, {"n": 8, "m": 4}
)
initialise = certified(
    osa.initialise, "layers", "Appendix C", ["osa.alg-1", "osa.thm-c.2"], 446, None, {"d": 4, "h": 2}
)
