"""Section 2.2, Eq. (8): the kernel of the tokens from layer to layer (Theorem 2.2)."""
