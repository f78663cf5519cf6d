"""Where the rules of the provers must not fire: one table for each prover, in which every rule has an entry."""
