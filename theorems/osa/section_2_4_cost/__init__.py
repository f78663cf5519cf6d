"""Section 2.4 (and the costs in Section 2.1): operations and memory, and the forms of the layer that reach them."""
