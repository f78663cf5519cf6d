"""Hessians and Jacobians of softmax self-attention in its weights, in closed form (Hessian paper; row-major vec)."""

from __future__ import annotations

from theorems.hessian import blocks, functional, jacobian, loss, outer_product
from theorems.reference import certified, over_batches

# Dense Kronecker factors make these references to compare with, not functions for long sequences.
outer_product_hessian_value = certified(
    over_batches(outer_product.outer_product_hessian_value, ["hessian.thm-3.1-vv"]),
    "curvature", "Theorem 3.1, (V, V)", ["hessian.thm-3.1-vv"], 3_115, (8, 8),
)  # fmt: skip
outer_product_hessian_query = certified(
    over_batches(outer_product.outer_product_hessian_query, ["hessian.thm-3.1-qq"]),
    "curvature", "Theorem 3.1, (Q, Q)", ["hessian.thm-3.1-qq"], 389_771, (8, 8),
)  # fmt: skip
outer_product_hessian_value_query = certified(
    over_batches(outer_product.outer_product_hessian_value_query, ["hessian.thm-3.1-vq"]),
    "curvature", "Theorem 3.1, (V, Q)", ["hessian.thm-3.1-vq"], 376_498, (8, 8),
)  # fmt: skip
outer_product_hessian_query_key = certified(
    over_batches(blocks.outer_product_hessian_query_key, ["hessian.thm-3.1-qk"]),
    "curvature", "Theorem 3.1, (Q, K)", ["hessian.thm-3.1-qk"], 390_923, (8, 8),
)  # fmt: skip
functional_hessian_query = certified(
    over_batches(functional.functional_hessian_query, ["hessian.thm-3.2-qq"]),
    "curvature", "Theorem 3.2, (Q, Q)", ["hessian.thm-3.2-qq"], 276_738_871, (8, 8),
)  # fmt: skip
functional_hessian_value_query = certified(
    over_batches(functional.functional_hessian_value_query, ["hessian.thm-3.2-vq"]),
    "curvature", "Theorem 3.2, (V, Q)", ["hessian.thm-3.2-vq"], 942_423, (8, 8),
)  # fmt: skip
functional_hessian_query_key = certified(
    over_batches(blocks.functional_hessian_query_key, ["hessian.thm-3.2-qk"]),
    "curvature", "Theorem 3.2, (Q, K)", ["hessian.thm-3.2-qk"], 277_465_375, (8, 8),
)  # fmt: skip
loss_hessian_query_key = certified(
    over_batches(loss.loss_hessian_query_key, ["hessian.loss-hessian-qk"]),
    "curvature", "Eq. (2), (Q, K)", ["hessian.loss-hessian-qk", "hessian.eq-2"], 277_856_751, (8, 8),
)  # fmt: skip
attention_jacobian_wrt_key = certified(
    over_batches(jacobian.attention_jacobian_wrt_key, ["hessian.jacobian-key"]),
    "curvature", "Lemma B.1, key weights", ["hessian.jacobian-key"], 326_795, (8, 8),
)  # fmt: skip
