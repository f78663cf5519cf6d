"""Appendix D, more on the query-key Hessian block.

Remark D.1 (`split_at_logits`), Lemmas D.1 and D.2 (`ranks`), and the text on eigenvalues (`spectrum`).
"""
