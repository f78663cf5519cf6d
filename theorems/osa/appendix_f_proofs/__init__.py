"""Appendix F, Eqs. (17)-(99): the steps of the printed proofs, a module or two for each of F.1 to F.7."""
