"""Appendix E: the untrained network, its tokens, and Theorems C.3 and C.4 at its sizes."""
