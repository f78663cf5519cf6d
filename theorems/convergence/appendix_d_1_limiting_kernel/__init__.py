"""Appendix D.1, the proof of Lemma 1: the blocks of the limiting kernel, Eqs. (63) and (64)."""
