"""Appendix C.4, the proof of Theorem 2, and the discussions of C.5, C.6 and C.7.

`ntk_initialisation` has Eqs. (56)-(58), (60) and (61); `scalings` alpha (C.5) and attention (C.6) under both scalings;
`residual_transformer` C.7 with Eq. (62).
"""
