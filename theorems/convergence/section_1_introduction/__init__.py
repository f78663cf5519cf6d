"""Section 1: the two forms of self-attention, the scalings tau_0 = d_m^{-1/2} and 1/d_m, attention as a pooling layer."""
