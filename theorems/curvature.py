"""Hessians and Jacobians of softmax self-attention in its weights, in closed form (Hessian paper; row-major vec)."""

from __future__ import annotations

from theorems.hessian.part_3_structure import functional, outer_product, whole_hessian
from theorems.hessian.part_b_derivatives import jacobians
from theorems.reference import certified, over_batches

# Dense Kronecker factors make these references to compare with, not functions for long sequences.
outer_product_hessian_value = certified(
    over_batches(outer_product.outer_product_hessian_value, ["hessian.thm-3.1-vv"]),
    "curvature", "Theorem 3.1, (V, V)", ["hessian.thm-3.1-vv"], 2_219, (8, 8),
)  # fmt: skip
outer_product_hessian_query = certified(
    over_batches(outer_product.outer_product_hessian_query, ["hessian.thm-3.1-qq"]),
    "curvature", "Theorem 3.1, (Q, Q)", ["hessian.thm-3.1-qq"], 156_555, (8, 8),
)  # fmt: skip
outer_product_hessian_value_query = certified(
    over_batches(outer_product.outer_product_hessian_value_query, ["hessian.thm-3.1-vq"]),
    "curvature", "Theorem 3.1, (V, Q)", ["hessian.thm-3.1-vq"], 142_642, (8, 8),
)  # fmt: skip
outer_product_hessian_query_key = certified(
    over_batches(outer_product.outer_product_hessian_query_key, ["hessian.thm-3.1-qk"]),
    "curvature", "Theorem 3.1, (Q, K)", ["hessian.thm-3.1-qk"], 157_707, (8, 8),
)  # fmt: skip
functional_hessian_query = certified(
    over_batches(functional.functional_hessian_query, ["hessian.thm-3.2-qq"]),
    "curvature", "Theorem 3.2, (Q, Q)", ["hessian.thm-3.2-qq"], 8_086_199, (8, 8),
)  # fmt: skip
functional_hessian_value_query = certified(
    over_batches(functional.functional_hessian_value_query, ["hessian.thm-3.2-vq"]),
    "curvature", "Theorem 3.2, (V, Q)", ["hessian.thm-3.2-vq"], 708_183, (8, 8),
)  # fmt: skip
functional_hessian_query_key = certified(
    over_batches(functional.functional_hessian_query_key, ["hessian.thm-3.2-qk"]),
    "curvature", "Theorem 3.2, (Q, K)", ["hessian.thm-3.2-qk"], 6_196_127, (8, 8),
)  # fmt: skip
loss_hessian_query_key = certified(
    over_batches(whole_hessian.loss_hessian_query_key, ["hessian.loss-hessian-qk"]),
    "curvature", "Eq. (2), (Q, K)", ["hessian.loss-hessian-qk", "hessian.eq-2"], 6_353_903, (8, 8),
)  # fmt: skip
attention_jacobian_wrt_key = certified(
    over_batches(jacobians.attention_jacobian_wrt_key, ["hessian.jacobian-key"]),
    "curvature", "Lemma B.1, key weights", ["hessian.jacobian-key"], 321_035, (8, 8),
)  # fmt: skip
