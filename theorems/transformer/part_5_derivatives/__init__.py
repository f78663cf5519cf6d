"""Part 5, derivatives by products.

With a scale, a bias and a mask: the gradient of <W, F> and the differential of F (`first`), and the differential of that
gradient, which is the product of the Hessian of <W, F> with a direction (`second`).
"""
