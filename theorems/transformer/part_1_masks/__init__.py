"""Part 1, masks.

The softmax under a mask and its derivatives (`softmax`), attention of queries to other tokens under a mask, with all first
and second derivatives (`attention`), the Hessian of its square loss in blocks (`loss`), what padding and order do (`keys`),
causal masks (`causal`).
"""
