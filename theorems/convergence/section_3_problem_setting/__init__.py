"""Section 3: the model of Eqs. (1.1) and (1.2), Algorithm 1, the initialisations of Table 1."""
