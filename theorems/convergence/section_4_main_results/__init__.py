"""Section 4: Lemma 1, Theorems 1 and 2, Corollary 1, and the remarks on their assumptions and step sizes.

Proposition 1 and Theorem 3 stand with their proofs, in Appendices C.2 and D.3.
"""
