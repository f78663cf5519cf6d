"""Appendix C, Eqs. (12)-(16): the Jacobian of the layer (Theorem C.1), the weights (C.1, C.2) and its conditioning (C.3)."""
