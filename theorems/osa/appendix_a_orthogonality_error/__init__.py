"""Appendix A, Eqs. (10)-(11): how far Eq. (6) is from orthogonal when Newton-Schulz has not converged (Theorem A.1)."""
