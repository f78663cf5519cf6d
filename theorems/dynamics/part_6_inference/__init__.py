"""Section 6: the regularisers (19)-(20) of 6.2, and the pseudo-energy of 6.3 with Figure 6."""
