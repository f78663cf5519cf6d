"""Section A.4.4, the condition number of two blocks side by side.

`rayleigh_quotients`: Eqs. (32)-(36).  `eq_37`: Eq. (37), and the objects of the section.  `limit`: the last sentence.
"""
