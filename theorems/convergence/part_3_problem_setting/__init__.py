"""Section 3: Algorithm 1 and the initialisations of Table 1 (`model`); the network itself is in `definitions`."""
