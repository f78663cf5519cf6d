"""Section A.4.4, the condition number of two blocks side by side.

`rayleigh_quotients`: Eqs. (32)-(36).  `condition_number`: Eq. (37), the last sentence, and the objects of the section.
"""
