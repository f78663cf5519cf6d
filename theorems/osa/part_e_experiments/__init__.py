"""Appendix E, Experimental details: the untrained network.

`token_count`: the number of its tokens; its sizes and values are `theorems.osa.settings.UNTRAINED`.
`paper_scale`: Theorems C.3 and C.4 for it, by whole Jacobians (claims of this project).
"""
