"""Evidence: checks run, their records kept, verdicts computed from them.

runner    one check, one record                   parallel  many checks, in worker processes
sources   source files taken apart                fingerprints  what code evidence is about
store     append-only records                     verdicts  verdicts from records
failure   what a failing check prints             replay    both sides again, at given inputs
"""
