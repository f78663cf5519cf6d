"""Section 2.2, Kernel analysis, Eq. (8): the kernel of the tokens from layer to layer.

`theorem_2_2`: Theorem 2.2.  Its proof is F.2.
"""
