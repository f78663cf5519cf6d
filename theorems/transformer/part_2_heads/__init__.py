"""Part 2, batches and heads.

Attention in batches, with keys and values that groups of heads share (`batches`), and the layer of projections around it
(`layer`).
"""
