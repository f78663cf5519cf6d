"""Appendix B: Eq. (5) and kernel regression (B.1, `kernel_regime`), Lemmas 2-4 (B.2, `sub_exponential`)."""
