"""Section 3 and Appendix E, experiments: the untrained network, and what is said of the trained ones.

`token_count`: the number of its tokens, and the head size; its sizes and values are `theorems.osa.settings.UNTRAINED`.
`paper_scale`: Theorems C.3 and C.4 for it, and attention against MLP, by whole Jacobians (claims of this project).
`table_2`: the test accuracies against the text.
"""
