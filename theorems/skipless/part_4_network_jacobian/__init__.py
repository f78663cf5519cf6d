"""Section 4, the Jacobian of the network by its parameters and its conditioning.

`parameter_jacobian`: Section 4.1, Eq. (5), and the displays of Section 4.2.  `worst_block`: Eq. (6), the text below it, and
the stacking of samples after Eq. (9).  `chain_rule`: Eqs. (7)-(9).  `identity_shift`: the texts of Sections 4.2 and 4.3 on
skips and on self-attention beside the MLP.
"""
