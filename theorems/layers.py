"""Layers for models: attention with derivatives of every order; the OSA paper's attention, bases and initialisation."""

from __future__ import annotations

from theorems.osa.fast import layers as osa
from theorems.osa.part_d_sampling import algorithm_1 as initialisation
from theorems.reference import certified, over_batches
from theorems.transformer.fast import attention as with_derivatives

attention = certified(
    with_derivatives.attention,
    "layers", "Attention layers, part 5",
    ["transformer.gradient-query", "transformer.gradient-key", "transformer.gradient-value", "transformer.gradient-bias",
     "transformer.differential", "transformer.second-differential-query", "transformer.second-differential-key",
     "transformer.second-differential-value", "transformer.second-differential-bias"], 1_024, (8, 8),
)  # fmt: skip
orthogonal_self_attention = certified(
    osa.orthogonal_self_attention,
    "layers", "Eqs. (3)-(5)",
    ["osa.push-through-layer", "osa.push-through-low-rank", "osa.multi-head-push-through"], 3_034, (32, 128),
)  # fmt: skip
attention_through_basis = certified(
    over_batches(osa.attention_through_basis, ["osa.low-rank-layer"]),
    "layers", "Section 2.4", ["osa.low-rank-layer"], 3_319, (8, 8),
)  # fmt: skip
newton_schulz = certified(
    osa.newton_schulz,
    "layers", "Eq. (9)", ["osa.ns-convergence"], 3_028, (8, 8),
)  # fmt: skip
stiefel_uniform = certified(initialisation.stiefel_uniform, "layers", "Algorithm 1", ["osa.alg-1"], 501, None)
initialise = certified(osa.initialise, "layers", "Appendix C", ["osa.alg-1", "osa.thm-c.2"], 446, None)
