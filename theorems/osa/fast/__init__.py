"""Functions for models, made for speed; each calls, or is compared with, what a claim certifies.

`layers`: the layer, its Jacobian, bases and initialisation, with arguments checked.
`linear_cost`: the layer at the speed of its two large products.  `exponential`: exp and phi of small float matrices.
"""
