"""Jacobians by their inputs: of softmax, of attention layers, of normalisation layers."""

from __future__ import annotations

from theorems.convergence.part_c_1_lemmas import softmax
from theorems.dynamics.part_a_proofs import lemmas as dynamics_lemmas
from theorems.osa.part_c_initialisation import c1_jacobian_and_values as initialisation
from theorems.reference import certified, over_batches
from theorems.skipless.part_5_initialisation import input_jacobian

softmax_jacobian = certified(
    over_batches(softmax.softmax_jacobian, ["convergence.lemma-11"]),
    "jacobians", "convergence paper, Lemma 11", ["convergence.lemma-11"], 394, (8, 8),
)  # fmt: skip
self_attention_jacobian = certified(
    over_batches(input_jacobian.self_attention_jacobian, ["skipless.eq-10"]),
    "jacobians", "skipless paper, Eq. (10)", ["skipless.eq-10"], 255_979, (8, 8),
)  # fmt: skip
attention_jacobian = certified(
    over_batches(initialisation.attention_jacobian, ["osa.thm-c.1"]),
    "jacobians", "OSA paper, Theorem C.1", ["osa.thm-c.1"], 408_855, (32, 32),
)  # fmt: skip
normalisation_jacobian = certified(
    over_batches(dynamics_lemmas.normalisation_jacobian, ["dynamics.lemma-a.2"]),
    "jacobians", "dynamics paper, Lemma A.2", ["dynamics.lemma-a.2"], 4_793, (8, 8),
)  # fmt: skip
rms_norm_jacobian = certified(
    over_batches(dynamics_lemmas.rms_norm_jacobian, ["dynamics.lemma-a.3"]),
    "jacobians", "dynamics paper, Lemma A.3", ["dynamics.lemma-a.3"], 6_202, (8, 8),
)  # fmt: skip
