"""Inputs: what is drawn, from which named domains, and how a violation is shrunk.

generators  named domains, draws, sizes
shrinking   a violation made small enough to read
"""
