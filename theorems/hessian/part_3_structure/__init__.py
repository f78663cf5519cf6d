"""Section 3, exact structure of the self-attention Hessian.

Theorem 3.1 (`outer_product`), Theorem 3.2 (`functional`), all blocks at once with footnotes 1 and 2 (`whole_hessian`), and
what the section says of the blocks in words (`block_structure`).  Section 3.1 with Eq. (5): `data_growth`,
`data_dependence`, `measured_growth`.  Section 3.2 with Definition 3.1 and Remark 3.1: `moments`, `attention_scores`.
Section 3.3: `weight_dependence`.
"""
