"""Two subjects of other papers, as claims of a package of its own: rank collapse, and random features for attention.

The statements are written for this example.  They are about what Dong, Cordonnier and Loukas (2021) and Choromanski and
others (2021) prove, but they are not quotations, and constants and norms differ where the modules say so.
"""

from verify.vocabulary import Paper

COLLAPSE = Paper(
    key="collapse",
    title="Rank collapse of pure attention",
    citation="after Dong, Cordonnier and Loukas, 2021, in our own words",
    vec="row-major",
    of_project=True,
)
FEATURES = Paper(
    key="features",
    title="Random features for softmax attention",
    citation="after Choromanski and others, 2021, in our own words",
    vec="row-major",
    of_project=True,
)
