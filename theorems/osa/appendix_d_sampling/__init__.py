"""Appendix D: uniform points of the Stiefel manifold (Algorithm 1, footnote 5)."""
