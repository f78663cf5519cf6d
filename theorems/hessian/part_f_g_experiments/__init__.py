"""Appendices F and G, experiments: number addition and two layers (`networks`), Figure 7 (`deep_linear_slopes`).

Figures 1, 3 and 4 stand with the text that they illustrate, in `part_4_design.gpt2_block`.
"""
