"""Appendix C, Extra details on initialisation, Eqs. (12)-(16): the Jacobian of the layer and its conditioning.

`c1_jacobian_and_values`: Theorem C.1, and kappa(W^V W^O) = 1 (C.1).
`c2_queries_and_keys`: 2 d_v <= d, Theorem C.2, and the Jacobian as a function of W~ (C.2).
`c3_theorem_c_3`: the setting of C.3, Theorem C.3, Newton-Schulz differentials, A near I.
`c3_theorem_c_4`: Theorem C.4, kappa(J_2), footnote 4 and Remark C.5.
`footnote_2`: the conditioning of a network of blocks; attention against MLP.
`footnote_3`: matrices of low rank.
"""
