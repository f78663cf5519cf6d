"""Part 3, positions.

Rotary positions: what rotations keep, that scores depend on differences of positions alone (`rotations`).
"""
