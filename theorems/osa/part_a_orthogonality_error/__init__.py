"""Appendix A, Extra results on basis computation, Eqs. (10)-(11): how far Eq. (6) is from orthogonal before convergence.

`theorem_a_1`: Theorem A.1, for any factor, and what the text says it shows.  Its proof is F.3.
"""
