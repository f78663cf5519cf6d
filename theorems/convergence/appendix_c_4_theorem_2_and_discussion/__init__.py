"""Appendix C.4, the proof of Theorem 2 (Eqs. (56)-(61)), and the discussions of C.5, C.6 and C.7 (Eq. (62))."""
