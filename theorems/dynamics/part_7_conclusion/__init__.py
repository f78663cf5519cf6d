"""Section 7: the limitations."""
