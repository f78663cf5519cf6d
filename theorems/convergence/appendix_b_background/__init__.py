"""Appendix B: training in the kernel regime (B.1, Eq. (5)) and sub-exponential variables (B.2, Lemmas 2-4)."""
