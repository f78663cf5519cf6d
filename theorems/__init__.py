"""The mathematics: one package per paper, each with its definitions, its claims in the paper's order, its formulas."""
