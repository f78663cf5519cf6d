"""Section A.4.2, Lemma 1 and its proof.

`softmax_jacobian`: Eq. (22), the text before it, and Eq. (29) by the logits.  `lemma_1`: Lemma 1 and Eqs. (21), (23)-(29) as
printed.  `bounds_by_gap`: what holds in their place.  `larger_beta`: the parenthesis before Eq. (23).
"""
