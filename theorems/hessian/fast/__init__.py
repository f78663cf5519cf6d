"""The Hessian of the attention loss at the speed of its products: as a matrix (`dense`) and as an operator (`operators`).

Both are certified by hessian.full-outer-product, hessian.full-functional and hessian.full-gauss-newton.
"""
