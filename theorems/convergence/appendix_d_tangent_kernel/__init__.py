"""Appendix D, proofs for the tangent kernel: the gradients of D.1 and the proof of Theorem 3 in D.3, Eqs. (71) to (74).

`gradients` has the closed forms of D.1 (`network_gradients`, `network_jacobian`); `hessian_width` Theorem 3 (stated in
Section 4.3, and kept here) and its remark; `hessian_blocks`, `hessian_entries`, `hessian_norms`, `hessian_orders` the blocks
of the Hessian; `softmax_slopes` and `softmax_covariance` Gamma_i, Eq. (74) and the norm of diag(beta) - beta beta^T.
"""
