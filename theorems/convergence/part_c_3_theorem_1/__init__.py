"""Appendix C.3, the proof of Theorem 1: Lemma 15 and Eqs. (38) to (55).

`minimum_eigenvalue` has Eqs. (38)-(40), (42), (43) and the objects of Lemma 15, `dissimilar_data` the lemma itself, the
choice of t and Eq. (41); `norms_and_widths` Eqs. (44)-(46), (49)-(52), (54) and (55); `hidden_layer` Eqs. (47) and (48) and
the loss at initialisation.
"""
