"""Appendix C.1, auxiliary lemmas: Lemmas 5 to 14 and Eqs. (6) to (24), the steps of the proof of Lemma 14 among them.

`constants` has Assumption 1, rho, z, c_1, c_2, c_3, C and weights as one matrix; `extreme_inputs` the domains of generators;
`gaussian_matrices` Lemmas 5 and 6; `softmax` Lemmas 8 and 11; `lipschitz` Lemmas 7, 9, 10; `gradient_bounds` Lemma 12;
`jacobian_bounds` Lemma 13; `gradient_lipschitz` Lemma 14, and `gradient_change`, `gradient_factors`,
`gradient_change_of_attention` its proof.  What is surprising: relu' is treated as Lipschitz (Eq. (19)), on which Lemma 14
falls.
"""
