"""Section 1, Introduction: the rank of the representation, causality, and the collapse under softmax.

`rank_and_causality`: osa.intro-rank, -head and -head-gram; osa.noncausal; osa.ssa-collapse.
"""
