"""What a claim says, beside what its checks look at: what tests over all claims ask.

displayed_signs    the relation that a statement displays, beside the one that is compared
introduced         the symbols that a formula, a note or an assumption introduces itself
defined_symbols    the symbols of a claim that neither it nor a table defines
assumed            assumptions of no known kind, and what they name but no function of the claim reaches
undrawn            sizes that no assumption excludes and no check draws
emptiness          claims that cannot fail
duplicates         claims that say what another says
quantifiers        numbers that the checks fix, and levels of probability that they try
"""
