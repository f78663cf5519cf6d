"""Appendix B: operations and memory of the parts of the layer (Table 1)."""
