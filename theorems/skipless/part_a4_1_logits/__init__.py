"""Section A.4.1, the logits of Gaussian tokens under the proposed and the default initialisation.

`simulation`: Fig. 5.  `gram_and_noise`: Eqs. (14)-(17).  `logits`: Eqs. (18)-(20).  `dominance`: text after Eq. (20).
`default_initialisation`: text after Eq. (19).  `enumeration`: the expectations behind them, no claims.
"""
