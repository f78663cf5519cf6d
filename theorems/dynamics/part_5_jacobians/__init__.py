"""Section 5: the Jacobian of one update.

5.1 (spectral norm): Proposition 5.1, Eqs. (14)-(15), Figure 1; 5.2 (oscillations): Eqs. (16)-(18) and stability; 5.3: Lyapunov
exponents, Figure 3.
"""
