"""Appendix C, self-attention moment matrices.

Appendix C.1: Lemma C.1 with Eq. (23) and its proof (`softmax`), Remark C.1 (`two_tokens`).  Appendix C.2: the proof of
Remark 3.1 (`moment_proofs`); the remark itself stands in Section 3.2.
"""
