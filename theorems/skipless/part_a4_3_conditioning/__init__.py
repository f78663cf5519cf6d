"""Section A.4.3, the proof of Proposition 2.

`attention_condition`: its first sentence.  `perturbation`: Eq. (30) and the text after it.  `conclusion`: Eq. (31) and the last
sentences.
"""
