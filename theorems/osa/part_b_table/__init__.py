"""Appendix B, Extra details on complexity and memory: Table 1.

`table_1`: its two columns, and the memory column at any width.
"""
