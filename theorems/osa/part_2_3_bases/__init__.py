"""Section 2.3, Basis computation, Eq. (9): bases of span[Q, K], and gradients through them.

`bases`: reduced QR; Newton-Schulz: convergence, pre-normalisation, the polynomial h, the polar factor U, stability.
`costs`: operations of Newton-Schulz, unrolled and against a reduced QR.
`gradients`: gradients through QR, through Newton-Schulz and with a basis held constant (claims of this project).
"""
