"""Section 4: Lemma 1, Theorems 1 and 2, Corollary 1, and the remarks on their assumptions and step sizes.

`theorems_1_and_2` has the theorems, `remarks` those after Theorem 1 and Assumption 3, `limiting_kernel` Lemma 1,
`vector_input` Corollary 1 and the remark after it, `step_sizes` what Section 4.4 says about initialisations.
Proposition 1 and Theorem 3 stand with their proofs, in Appendices C.2 and D.3.
"""
