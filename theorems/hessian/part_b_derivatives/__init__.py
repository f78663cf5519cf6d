"""Appendix B, Jacobian and Hessian expressions.

Lemma B.1 with Eq. (19) (`jacobians`), Lemmas B.2 and B.3 with Eq. (20) (`commutation`), Theorem 3.1 as restated and its
proof (`outer_product_proof`), the proof of Theorem 3.2 with Eq. (21) (`functional_proof`), Appendix B.1.1
(`jacobian_scaling`).  Eq. (22) of Appendix B.2 stands with its lemma, in Section 4.2.
"""
