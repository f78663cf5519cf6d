"""Appendix B: the single-head regulariser (88) of B.2, the Lyapunov spectrum (89)-(91) of B.3, and B.5.

B.5 holds the Jacobian of attention at constant attention weights, Eqs. (92)-(95), and the gains of Table S.2.
"""
