"""Section 2, setup and background: what a second derivative of the layer is, and the networks the paper compares with.

Eqs. (2)-(4) with Figure 2 and the derivatives of the loss (`gauss_newton`); the Hessian of linear MLPs, which the section
recalls (`linear_mlps`), and what it says of piecewise nonlinearities (`piecewise_mlps`).
"""
