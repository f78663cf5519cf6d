"""Appendix C.2, the proof of Proposition 1 (stated in Section 4.1, and kept here): Eqs. (2) to (4) and (25) to (37).

`reformulation` has f with the sum over tokens; `proposition_1` the proposition, its counterexample and the form that holds;
`induction` Eqs. (26) to (34), z and the remark on the step size; `smoothness` Eqs. (35) to (37); `descent_chain` the last
chain; `rate` its last line, the PL inequality of the sketch in Section 4.1, and `proposition_1_conditions`, to import.
"""
