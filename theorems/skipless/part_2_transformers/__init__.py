"""Section 2, terminology and notation: Eqs. (1)-(4), with the first display of Section 4.3, in `sub_blocks`."""
