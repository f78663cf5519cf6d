"""Appendix D, Sampling: uniform points of the Stiefel manifold.

`algorithm_1`: Algorithm 1 and footnote 5.
"""
