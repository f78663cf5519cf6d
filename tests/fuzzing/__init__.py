"""A fuzzer of the provers: random false statements, of which none may be proved.

True claims are broken in one place, and random formulas and inequalities are made up.  Numbers decide which of them are false; both
provers are asked for all.  What is false and proved is a failure.  `docs/fuzzing.md` says how to run it and what it found.
"""
