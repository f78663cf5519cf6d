"""Section 2.1, Eqs. (6)-(7): exp(S) through a small basis (Theorem 2.1), and the rank r of S."""
