"""Appendix F, Proofs, Eqs. (17)-(99): the steps of the printed proofs.

`f1_theorem_2_1` (17)-(18), `f2_theorem_2_2` (19), `f3_theorem_a_1` (20)-(46), `f4_f5_theorems_c_1_and_c_2` (47)-(53).
`f6_lemmas_f_1_to_f_3` (54)-(63), `f6_footnote_6`, `f6_lemmas_f_4_and_f_5` (64)-(76), `f6_lemmas_f_6_to_f_8` (77)-(83).
`f6_theorem_c_3_differentials` (84), (86), (93), `f6_theorem_c_3` (87)-(97), `f7_theorem_c_4` (98)-(99).
"""
