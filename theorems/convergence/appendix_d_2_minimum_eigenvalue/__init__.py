"""Appendix D.2, the minimum eigenvalue of the kernel: Lemmas 16-19 and Eqs. (65)-(68)."""
