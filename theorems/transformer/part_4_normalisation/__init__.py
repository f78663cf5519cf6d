"""Part 4, normalisation.

LayerNorm and RMSNorm: what they do not see, and their derivatives (`layers`).
"""
