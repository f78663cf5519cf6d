"""Section 1: what orthogonal attention does to the rank of the representation, causality, and the collapse under softmax."""
