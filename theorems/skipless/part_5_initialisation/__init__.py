"""Section 5, the proposed initialisation.

`input_jacobian`: Eq. (10) and the text after it.  `initialisation`: Section 5.1 and Eq. (11).  Section 5.2: `heads` (Eq. (11)
with several heads), `query_key_dominance` (text after Eq. (11) and after Proposition 1), `proposition_1`, `dominant_term`
(the split of Proposition 2 and the text after it), `proposition_2` (with the text before it).
"""
