"""Section 2, Orthogonal self-attention, Eqs. (1)-(5): the layer and its symmetries, its scale, several heads.

`layer`: S skew, A in SO(N), permutations of the tokens, the scale 1 / sqrt(d_v) (Eq. (5) and the text below).
`heads`: the sum over heads (Eqs. (3)-(4)) concatenated, and merged into one product with the tokens.
"""
