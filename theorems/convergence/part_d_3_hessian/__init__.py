"""Appendix D.3, the proof of Theorem 3: Lemma 20, Eqs. (69) to (74), and the Hessian of the network, block by block.

`weights_in_a_ball` has Lemma 20; `hessian_width` Theorem 3 itself (stated in Section 4.3, and kept here) and the remark after
it; `hessian_blocks` Eqs. (71) and (73), `hessian_entries` the entries of the blocks, `hessian_norms` and `hessian_orders`
their norms and orders; `softmax_slopes` Gamma_i and Eq. (74), `softmax_covariance` the norm of diag(beta) - beta beta^T.
"""
