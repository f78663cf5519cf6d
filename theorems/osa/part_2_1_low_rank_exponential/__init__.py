"""Section 2.1, Implementation details, Eqs. (6)-(7): exp(S) through a small basis.

`theorem_2_1`: Theorem 2.1, for any basis and with its r; the rank of S (the text of Sections 2.1 and 2.4).
Its proof is F.1, the cost O(r^3) stands with Section 2.4.
"""
