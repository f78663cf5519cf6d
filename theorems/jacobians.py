"""Jacobians by their inputs: of softmax, of attention layers, of normalisation layers."""

from __future__ import annotations

from theorems.convergence.part_c_1_lemmas import softmax
from theorems.dynamics.part_a_proofs import lemmas as dynamics_lemmas
from theorems.osa.part_c_initialisation import c1_jacobian_and_values as initialisation
from theorems.reference import certified, over_batches
from theorems.skipless.part_5_initialisation import input_jacobian

SOFTMAX = "v = softmax(u).  Entry (j, k) is the derivative of v_j by u_k."
SOFTMAX_LAYER = """
The derivative of SA(X) = A X W_V W_O by the tokens X, with A = softmax(X W_Q W_K^T X^T), shape (n, n), without a scale
factor.  A' is the derivative of A by X, and (x) is the Kronecker product.  vec is column-major: the entry (i, j) of a matrix with
n rows has the number j n + i.
"""
ORTHOGONAL_LAYER = """
The derivative of OSA(X) = A X W_V W_O by the tokens X, with A = exp(S), shape (N, N), and S = alpha / sqrt(d_v) (Q K^T - K Q^T)
for Q = X W_Q and K = X W_K.  (x) is the Kronecker product.  vec is column-major: the entry (i, j) of a matrix with N rows has
the number j N + i.
"""
ROWS = """
Pi(Y) is Y with every row divided by its Euclidean norm.  vec is row-major: the entry (i, j) of Y has the number i D + j.  So the
Jacobian has a block for each row on its diagonal, and zeros elsewhere.
"""
GAIN = "RMSNorm(Y) is Pi(Y) with column j multiplied by gamma_j: rows of norm 1, not of mean square 1."

softmax_jacobian = certified(
    over_batches(softmax.softmax_jacobian, ["convergence.lemma-11"], "jacobians", (3, 3), SOFTMAX),
    "jacobians", "convergence paper, Lemma 11", ["convergence.lemma-11"], 394, (8, 8),
)  # fmt: skip
self_attention_jacobian = certified(
    over_batches(input_jacobian.self_attention_jacobian, ["skipless.eq-10"], "jacobians", (6, 6), SOFTMAX_LAYER),
    "jacobians", "skipless paper, Eq. (10)", ["skipless.eq-10"], 255_979, (8, 8),
)  # fmt: skip
attention_jacobian = certified(
    over_batches(initialisation.attention_jacobian, ["osa.thm-c.1"], "jacobians", (6, 6), ORTHOGONAL_LAYER),
    "jacobians", "OSA paper, Theorem C.1", ["osa.thm-c.1"], 408_855, (32, 32),
)  # fmt: skip
normalisation_jacobian = certified(
    over_batches(dynamics_lemmas.normalisation_jacobian, ["dynamics.lemma-a.2"], "jacobians", (6, 6), ROWS),
    "jacobians", "dynamics paper, Lemma A.2", ["dynamics.lemma-a.2"], 4_793, (8, 8),
)  # fmt: skip
rms_norm_jacobian = certified(
    over_batches(dynamics_lemmas.rms_norm_jacobian, ["dynamics.lemma-a.3"], "jacobians", (6, 6), ROWS + GAIN),
    "jacobians", "dynamics paper, Lemma A.3", ["dynamics.lemma-a.3"], 6_202, (8, 8),
)  # fmt: skip
