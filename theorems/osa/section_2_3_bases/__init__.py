"""Section 2.3, Eq. (9): bases of span[Q, K] by reduced QR and by Newton-Schulz, and gradients through either."""
