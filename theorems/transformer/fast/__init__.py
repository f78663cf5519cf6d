"""Attention for models, with derivatives of every order in memory O(N d): `attention`.

`attention`: the function and its arguments.  `functions`: its derivatives as torch sees them.  `blocks`: values, first and
second derivatives by blocks of rows.  `formulas`: the same as plain torch, whose derivatives are the third and higher ones.
"""

#: Its modules import torch and declare no claims, so that whoever lists claims leaves them alone.
DECLARES_CLAIMS = False
