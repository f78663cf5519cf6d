"""Evidence: checks run, their records kept, verdicts computed from them.

runner    one check, one record; fingerprints     parallel  many checks, in worker processes
store     append-only records                     verdicts  verdicts from records
failure   what a failing check prints             replay    both sides again, at given inputs
"""
