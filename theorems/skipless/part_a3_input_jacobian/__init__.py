"""Section A.3, the Jacobian of self-attention by its input: Eqs. (12)-(13), in `derivation`."""
