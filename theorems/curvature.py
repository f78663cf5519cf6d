"""Hessians and Jacobians of softmax self-attention in its weights, in closed form (Hessian paper; row-major vec)."""

from __future__ import annotations

from theorems.hessian.part_3_structure import functional, outer_product, whole_hessian
from theorems.hessian.part_b_derivatives import jacobians
from theorems.reference import certified, over_batches

JACOBIAN = """
F = A X W_V is the output of the layer, shape (L, d_V), with A = softmax(X W_Q W_K^T X^T / sqrt(d_K)), shape (L, L), for L
tokens.  vec is row-major: row i d_V + j belongs to F_ij, and column k d_K + l to the entry (k, l) of the weights.
"""
BLOCK = """
F = A X W_V is the output of the layer, shape (L, d_V), with A = softmax(X W_Q W_K^T X^T / sqrt(d_K)), shape (L, L), for L
tokens.  The loss is l = |F - Y|_F^2 / (L d_V).  Its Hessian in the weights is H = H_o + H_f: the outer-product part H_o =
(dF/dW)^T (d^2 l/dF^2) (dF/dW), which does not depend on Y, and the functional part H_f, the second derivative of F weighted
with dl/dF.  A block has a row for each entry of the first weight matrix and a column for each entry of the second.  vec is
row-major: the entry (k, l) of a matrix with n columns has the number k n + l.
"""

# Dense Kronecker factors make these references to compare with, not functions for long sequences.
outer_product_hessian_value = certified(
    over_batches(outer_product.outer_product_hessian_value, ["hessian.thm-3.1-vv"], "curvature", (4, 4), BLOCK),
    "curvature", "Theorem 3.1, (V, V)", ["hessian.thm-3.1-vv"], 2_219, (8, 8),
)  # fmt: skip
outer_product_hessian_query = certified(
    over_batches(outer_product.outer_product_hessian_query, ["hessian.thm-3.1-qq"], "curvature", (8, 8), BLOCK),
    "curvature", "Theorem 3.1, (Q, Q)", ["hessian.thm-3.1-qq"], 156_555, (8, 8),
)  # fmt: skip
outer_product_hessian_value_query = certified(
    over_batches(outer_product.outer_product_hessian_value_query, ["hessian.thm-3.1-vq"], "curvature", (4, 8), BLOCK),
    "curvature", "Theorem 3.1, (V, Q)", ["hessian.thm-3.1-vq"], 142_642, (8, 8),
)  # fmt: skip
outer_product_hessian_query_key = certified(
    over_batches(outer_product.outer_product_hessian_query_key, ["hessian.thm-3.1-qk"], "curvature", (8, 8), BLOCK),
    "curvature", "Theorem 3.1, (Q, K)", ["hessian.thm-3.1-qk"], 157_707, (8, 8),
)  # fmt: skip
functional_hessian_query = certified(
    over_batches(functional.functional_hessian_query, ["hessian.thm-3.2-qq"], "curvature", (8, 8), BLOCK),
    "curvature", "Theorem 3.2, (Q, Q)", ["hessian.thm-3.2-qq"], 8_086_199, (8, 8),
)  # fmt: skip
functional_hessian_value_query = certified(
    over_batches(functional.functional_hessian_value_query, ["hessian.thm-3.2-vq"], "curvature", (4, 8), BLOCK),
    "curvature", "Theorem 3.2, (V, Q)", ["hessian.thm-3.2-vq"], 708_183, (8, 8),
)  # fmt: skip
functional_hessian_query_key = certified(
    over_batches(functional.functional_hessian_query_key, ["hessian.thm-3.2-qk"], "curvature", (8, 8), BLOCK),
    "curvature", "Theorem 3.2, (Q, K)", ["hessian.thm-3.2-qk"], 6_196_127, (8, 8),
)  # fmt: skip
loss_hessian_query_key = certified(
    over_batches(whole_hessian.loss_hessian_query_key, ["hessian.loss-hessian-qk"], "curvature", (8, 8), BLOCK),
    "curvature", "Eq. (2), (Q, K)", ["hessian.loss-hessian-qk", "hessian.eq-2"], 6_353_903, (8, 8),
)  # fmt: skip
attention_jacobian_wrt_key = certified(
    over_batches(jacobians.attention_jacobian_wrt_key, ["hessian.jacobian-key"], "curvature", (6, 8), JACOBIAN),
    "curvature", "Lemma B.1, key weights", ["hessian.jacobian-key"], 321_035, (8, 8),
)  # fmt: skip
