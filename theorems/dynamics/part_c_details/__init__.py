"""Appendix C.2: AKOrN's oscillators, Eq. (97), and its readout, Eq. (98)."""
