"""Section 4: Propositions 4.1 and 4.2, Eqs. (10)-(13), and what their text says of symmetric weights."""
