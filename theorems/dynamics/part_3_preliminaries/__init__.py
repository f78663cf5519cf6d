"""Section 3: the operators, Eqs. (1)-(2), (5)-(6); symmetric self-attention, Eqs. (3)-(4); the update of AKOrN, Eqs. (7)-(8)."""
