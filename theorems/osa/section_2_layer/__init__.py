"""Section 2, Eqs. (1)-(5): the layer and its symmetries, the scale of its dot products, and several heads."""
