"""Appendix D.1, the proof of Lemma 1: the gradients of f, and the blocks of the limiting kernel, Eqs. (63) and (64).

`gradients` has the closed forms (`network_gradients`, `network_jacobian`, to import), `kernel_blocks` the limits.
"""
