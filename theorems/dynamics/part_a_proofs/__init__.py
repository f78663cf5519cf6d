"""Appendix A: lemmas A.1-A.3, Eqs. (21)-(29), and the printed proofs.

A.2: Proposition 4.1, Eqs. (30)-(45); A.3: Proposition 4.2, Eqs. (46)-(66); A.4: Proposition 5.1, Eqs. (67)-(76);
A.5: the eigenvalue bound of Section 5.2, Eqs. (77)-(87).
"""
