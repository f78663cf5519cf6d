"""What several papers share: matrices that their inputs are made from, linear operators, words on how inputs are reached."""
