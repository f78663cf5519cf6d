"""Appendix D.2, the minimum eigenvalue of the kernel: Lemmas 16 to 19 and Eqs. (65) to (68).

`limiting_attention` has Eqs. (65)-(68), `feature_gram` Lemma 16, `many_samples` Lemmas 17 and 18, `kernel_eigenvalues`
Lemma 19 and the remark after it.
"""
