"""Section 1: self-attention in two forms, the scalings tau_0 = d_m^{-1/2} and 1/d_m, attention as pooling (`scalings`)."""
