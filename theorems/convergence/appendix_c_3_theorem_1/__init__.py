"""Appendix C.3, the proof of Theorem 1: Lemma 15 with Eqs. (38)-(43), Eqs. (44)-(46), (47)-(52), (54) and (55)."""
