"""Section 4, impact of Transformer design components on the Hessian.

Section 4.1, softmax: Remark 4.1 (`linear_attention`), Table 1 and the text around it (`linear_growth`), depth with Figure 8
(`depth`).  Section 4.2, query-key parameterisation: Lemma 4.1 with Eq. (22) of Appendix B.2 (`single_matrix`), and what one
matrix instead of two changes (`function_class`).  Section 4.3: `temperature`.  Figures 1, 3 and 4: `gpt2_block`.
"""
