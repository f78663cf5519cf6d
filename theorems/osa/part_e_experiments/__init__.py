"""Appendix E, Experimental details: the untrained network.

`untrained`: its sizes and values, at which other claims are decided too, and the number of tokens.
`paper_scale`: Theorems C.3 and C.4 for it, by whole Jacobians (claims of this project).
"""
