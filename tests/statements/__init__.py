"""What the texts of claims have to do: display the relation that is compared, and define their symbols.

displayed_signs    the relation that a statement displays, beside the one that is compared
introduced         the symbols that a formula, a note or an assumption introduces itself
defined_symbols    the symbols of a claim that neither it nor a table defines
"""
